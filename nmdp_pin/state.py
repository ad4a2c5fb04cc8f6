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
        h_next: length that error control tries next [s]; None: all that is asked for.
    """

    t: float
    q: np.ndarray
    v: np.ndarray
    warm: WarmStart | None = None
    h_next: float | None = None
