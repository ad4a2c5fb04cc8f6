"""The state between two steps: time, configuration, velocity, warm start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class WarmStart:
    """What a solver wants to remember; part of the state, so that a replay is exact.

    Args:
        w: weights of the wrench-space vertices, shape (n_contacts, n_vertices) [-].
        gamma: step-size parameter of the projected gradient method [-].
        forces: of methods that solve for forces instead of weights, world frame [N], shape
            (n_contacts, 3).
    """

    w: np.ndarray
    gamma: float
    forces: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class MadeStep:
    """The step that led to a state: the history of methods of second order.

    Args:
        h: its length [s].
        q0: configuration at its start, shape (nq,).
        v0: velocity at its start, shape (nv,).
        q1: configuration at its end, shape (nq,).
        v1: velocity at its end, shape (nv,).
        rates: material velocities of the bodies at its start and at its end, of methods that
            difference positions; each body's is affine, shape (2, n_bodies, 4, 3): the rates of
            the rotation's columns and of the origin.
        smooth: False after an impact: what came before it says nothing of what follows.
    """

    h: float
    q0: np.ndarray
    v0: np.ndarray
    q1: np.ndarray
    v1: np.ndarray
    rates: np.ndarray | None = None
    smooth: bool = True

    def led_to(self, state: State) -> bool:
        """Whether the state is the one that this step ended with, not a changed one."""
        return np.array_equal(self.q1, state.q) and np.array_equal(self.v1, state.v)


@dataclass(frozen=True, eq=False)
class State:
    """State of a robot at one time.

    Args:
        t: time [s].
        q: configuration, shape (nq,).
        v: tangent velocity, shape (nv,); of a floating base the linear part in the world's frame,
            the angular part in the base's own. Pinocchio's free-flyer joint has the linear part in
            the base's frame: `nmdp_pin.free_flyer` converts both ways, and
            `Simulator.state(q, free_flyer_v=v)` takes it.
        warm: what the solver of the next step starts from; None is always valid.
        history: the step before, for methods of second order; None is always valid and makes
            the next step one of first order.
        h_next: length that error control tries next [s]; None: all that is asked for.
    """

    t: float
    q: np.ndarray
    v: np.ndarray
    warm: WarmStart | None = None
    history: MadeStep | None = None
    h_next: float | None = None
