"""State between two steps: time, configuration, velocity, warm start."""

from dataclasses import dataclass

import numpy as np

from nmdp_pin._state.quick_record import quick


@quick
@dataclass(frozen=True, eq=False)
class WarmStart:
    """Warm start of a solver; part of the state, so that a replay is exact.

    Args:
        contacts: numbers of the pairs of a contact point and a shape that touch, or of features
            of two polytopes, ascending, shape (k,).
        w: weights of the wrench-space vertices of these contacts [-], shape (k, n_vertices), or
            (k, 0) where `forces` are given.
        joints: forces of the joints with a stop or dry friction [N m, N] where `forces` are given,
            else their weights [-], shape (n_joints,).
        a: acceleration at the end of the step, with which the next one is predicted [rad/s^2,
            m/s^2], shape (nv,).
        gamma: step-size parameter of the projected gradient method [-].
        forces: contact forces of methods that solve for forces, world frame [N], shape (k, 3).
        tau: joint torques at the end of the step; where a command asks for far others, the step
            before says nothing about the next one [N m, N], shape (nv,). None: no torques.
    """

    contacts: np.ndarray
    w: np.ndarray
    joints: np.ndarray
    a: np.ndarray
    gamma: float = 1.0
    forces: np.ndarray | None = None
    tau: np.ndarray | None = None


@quick
@dataclass(frozen=True, eq=False)
class State:
    """State of a robot at one time.

    Args:
        t: time [s].
        q: configuration, shape (nq,).
        v: tangent velocity, shape (nv,). The linear velocity of a floating base is in the world
            frame, its angular velocity in the frame of the base. `nmdp_pin.from_free_flyer` and
            `to_free_flyer` convert from and to Pinocchio's free-flyer, whose linear velocity is in
            the frame of the base.
        warm: warm start of the next step; None is always valid.
        h_next: length that error control tries next [s]; None: the whole step.
    """

    t: float
    q: np.ndarray
    v: np.ndarray
    warm: WarmStart | None = None
    h_next: float | None = None
