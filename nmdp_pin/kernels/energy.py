"""Mechanical energy of a tree of bodies."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.contact_kinematics import cross_into, relative_twist
from nmdp_pin.kernels.jit import jit


@jit
def mechanical_energy(
    P: np.ndarray,
    S: np.ndarray,
    support: np.ndarray,
    masses: np.ndarray,
    levers: np.ndarray,
    inertias: np.ndarray,
    armature: np.ndarray,
    gravity: np.ndarray,
    v: np.ndarray,
) -> tuple[float, float]:
    """Kinetic energy and potential energy of gravity [J].

    Args:
        P: placements of all joints, shape (n_joints, 4, 3).
        S: motions of the dofs at the world's origin, shape (nv, 6).
        support: 1 for dofs that move a body, else 0, shape (n_bodies, nv).
        masses: masses of the bodies [kg], shape (n_bodies,).
        levers: centres of mass in the frames of the joints [m], shape (n_bodies, 3).
        inertias: inertias about these centres, in these frames [kg m^2], shape (n_bodies, 3, 3).
        armature: rotor inertias [kg m^2, kg], shape (nv,).
        gravity: acceleration of gravity [m/s^2], shape (3,).
        v: velocity, shape (nv,).
    """
    kinetic, potential = 0.0, 0.0
    twist, centre, x, local = np.empty(6), np.empty(3), np.empty(3), np.empty(3)
    for l in range(v.size):
        kinetic += 0.5 * armature[l] * v[l] * v[l]
    for b in range(masses.size):
        R = P[b + 1]
        for a in range(3):
            centre[a] = (
                R[3, a] + R[0, a] * levers[b, 0] + R[1, a] * levers[b, 1] + R[2, a] * levers[b, 2]
            )
            potential -= masses[b] * gravity[a] * centre[a]
        relative_twist(S, support[b], v, twist)
        cross_into(twist[3:], centre, x)
        for a in range(3):
            speed = twist[a] + x[a]
            kinetic += 0.5 * masses[b] * speed * speed
            local[a] = R[a, 0] * twist[3] + R[a, 1] * twist[4] + R[a, 2] * twist[5]
        for a in range(3):
            for c in range(3):
                kinetic += 0.5 * local[a] * inertias[b, a, c] * local[c]
    return kinetic, potential
