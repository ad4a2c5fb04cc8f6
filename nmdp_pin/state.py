"""State between two steps: time, configuration, velocity, warm start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class WarmStart:
    """Warm start of a solver; part of the state, so that a replay is exact.

    Args:
        w: weights of the wrench-space vertices [-]: contacts, then joints with a stop or dry
            friction, whose first weight counts, shape (n_contacts + n_joints, n_vertices).
        gamma: step-size parameter of the projected gradient method [-].
        forces: contact forces of methods that solve for forces instead of weights, world frame
            [N], shape (n_contacts, 3).
    """

    w: np.ndarray
    gamma: float
    forces: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class State:
    """State of a robot at one time.

    Args:
        t: time [s].
        q: configuration, shape (nq,).
        v: tangent velocity, shape (nv,). The linear velocity of a floating base is in the world
            frame, its angular velocity in the frame of the base. `nmdp_pin.free_flyer` converts
            from and to Pinocchio's free-flyer, whose linear velocity is in the frame of the base.
        warm: warm start of the next step; None is always valid.
        h_next: length that error control tries next [s]; None: the whole step.
    """

    t: float
    q: np.ndarray
    v: np.ndarray
    warm: WarmStart | None = None
    h_next: float | None = None
