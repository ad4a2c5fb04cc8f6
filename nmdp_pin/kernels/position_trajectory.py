"""Trajectories of position-based dynamics, computed without holding a lock."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.dense import copy_vector
from nmdp_pin.kernels.ground import Ground
from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.levenberg_marquardt import CONVERGED, OUTCOME
from nmdp_pin.kernels.position_scene import Scene, StepStart
from nmdp_pin.kernels.position_solver import Limits, Memory, solve_step


@jit
def roll(
    scene: Scene,
    ground: Ground,
    start: StepStart,
    torques: np.ndarray,
    least: float,
    floor: float,
    max_iterations: int,
    weight: float,
    memory: Memory,
    x: np.ndarray,
) -> int:
    """Make steps, one after another, until one fails, and return their number.

    Args:
        scene: data that all steps share.
        ground: surfaces that the contacts touch.
        start: data of the first step; its state and torque are overwritten.
        torques: feed-forward torque of each step, shape (nt, nv).
        least: bound on |r| [N, N m].
        floor: least value of that bound, over 1 + |q0|_max.
        max_iterations: as in `Limits`.
        weight: as in `Limits`.
        memory: written.
        x: output, [q; v] at the ends of the steps as far as they are made, shape (nt, nq + nv).
    """
    nq = len(start.q0)
    for k in range(len(torques)):
        copy_vector(torques[k], start.tau)
        size = 1.0
        for i in range(nq):
            size = max(size, 1.0 + abs(start.q0[i]))
        limits = Limits(max(least, floor * size), max_iterations, weight)
        solve_step(scene, ground, start, limits, memory)
        if memory.account[OUTCOME] != CONVERGED:
            return k
        copy_vector(memory.q, start.q0)
        copy_vector(memory.point.v, start.v0)
        copy_vector(memory.q, x[k, :nq])
        copy_vector(memory.point.v, x[k, nq:])
    return len(torques)
