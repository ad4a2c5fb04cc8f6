"""Records of position-based steps: shared data, the start of a step, and its evaluation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin.kernels.penalty import Law
from nmdp_pin.kernels.tree import Tree


class Contacts(NamedTuple):
    """The contact points of a robot.

    Args:
        joints: placements that carry the spheres, shape (m,).
        touched: placements whose surfaces they touch, shape (m,).
        local: centres in the frames of the joints [m], shape (m, 3).
        radii: radii of the contact spheres [m], shape (m,).
    """

    joints: np.ndarray
    touched: np.ndarray
    local: np.ndarray
    radii: np.ndarray


class Surfaces(NamedTuple):
    """Surfaces at the centres of the contacts; all arrays are written.

    Args:
        centre: centres of the spheres in the frames of the touched bodies [m], shape (m, 3).
        distance: signed distance of the centres [m], shape (m,).
        normal: normals of the surfaces, shape (m, 3).
        curvature: curvatures of the surfaces [1/m], shape (m, 3, 3).
        friction: friction coefficients of the surfaces, shape (m,).
        shape: indices of the touched shapes, shape (m,).
        curved: flag, 1 where some curvature is not zero, shape (1,).
    """

    centre: np.ndarray
    distance: np.ndarray
    normal: np.ndarray
    curvature: np.ndarray
    friction: np.ndarray
    shape: np.ndarray
    curved: np.ndarray


class ContactForces(NamedTuple):
    """The forces of all contacts; all arrays are written.

    Args:
        wrenches: wrenches about the spheres' centres, axes of the world [N, N m], shape (m, 6).
        origin: wrenches at the world's origin, shape (m, 6).
        stiffness: their derivatives by motions at the world's origin, shape (m, 36).
        energies: stored by the normal forces and by conservative friction [J], shape (2,).
    """

    wrenches: np.ndarray
    origin: np.ndarray
    stiffness: np.ndarray
    energies: np.ndarray


class JointLaw(NamedTuple):
    """Forces of the joints besides the command's, by dof, and the springs of mimic joints.

    Args:
        coordinates: index of the dof in q, -1 where it is not that of a simple joint, shape (nv,).
        lower: position of the lower stop [rad or m], shape (nv,).
        upper: position of the upper stop [rad or m], shape (nv,).
        stiffness: stiffness of the stops [N m/rad or N/m], shape (nv,).
        friction: dry friction [N m or N], shape (nv,).
        creep: speed up to which dry friction is viscous [rad/s or m/s].
        effort: limit of the motor [N m or N], shape (nv,).
        mimics: arguments of `joint_springs`, from `coordinates` to `stiffness`.
    """

    coordinates: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    stiffness: np.ndarray
    friction: np.ndarray
    creep: float
    effort: np.ndarray
    mimics: tuple[np.ndarray, ...]


class Scene(NamedTuple):
    """Data that all steps share.

    Args:
        tree: joints and bodies.
        contacts: contact points.
        joints: forces of the joints.
        law: penalty law, whose kind makes the method pbfd or pbd.
        semidefinite: whether pbd uses the Gauss-Newton part of the Hessian.
    """

    tree: Tree
    contacts: Contacts
    joints: JointLaw
    law: Law
    semidefinite: bool


class StepStart(NamedTuple):
    """Data of a step.

    Args:
        q0: configuration at its start, shape (nq,).
        v0: velocity there, shape (nv,).
        tau: feed-forward torque and kd v_target [N m, N], shape (nv,).
        kp: position gains, shape (nv,).
        kd: velocity gains and damping of the joints, shape (nv,).
        q_target: target of kp, shape (nq,); q0 where there is none.
        h: length [s].
        rate: rate of differences of velocities [1/s]; 1 / h in the consistent form.
    """

    q0: np.ndarray
    v0: np.ndarray
    tau: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    q_target: np.ndarray
    h: float
    rate: float


class StepReference(NamedTuple):
    """Quantities that follow from the start of a step; all arrays are written by `begin`.

    Args:
        P0: placements at q0, shape (n + 1, 4, 3).
        target: placements that the bodies reach without forces, shape (n, 4, 3).
        carriers: `relative_placements` at q0, shape (m, 4, 3).
        metric: M rate / h + kd / h + kp, shape (nv, nv).
        U: upper factor of the metric, shape (nv, nv).
        energies: kinetic, potential [J], shape (2,).
    """

    P0: np.ndarray
    target: np.ndarray
    carriers: np.ndarray
    metric: np.ndarray
    U: np.ndarray
    energies: np.ndarray


class Point(NamedTuple):
    """A step evaluated at one configuration; all arrays are written.

    Args:
        q: configuration, shape (nq,).
        v: velocity, shape (nv,).
        y: difference(q0, q), shape (nv,).
        e: difference(q_target, q), shape (nv,).
        D: derivative of y, shape (nv, nv).
        D_t: derivative of e, shape (nv, nv).
        P: placements, shape (n + 1, 4, 3).
        S: motions of the dofs, shape (nv, 6).
        frames: `relative_placements`, shape (m, 4, 3).
        surfaces: surfaces at the contacts.
        forces: forces of the contacts.
        wrenches: wrenches of inertia less contacts, summed over subtrees, shape (n, 6).
        stiffness: derivatives of these wrenches, shape (n, 36).
        r: residual [N, N m], shape (nv,).
        tau: torque of the command and the damping, shape (nv,).
        A: dr/dq, or its semidefinite part, shape (nv, nv).
        work: workspace, shape (4, nv).
    """

    q: np.ndarray
    v: np.ndarray
    y: np.ndarray
    e: np.ndarray
    D: np.ndarray
    D_t: np.ndarray
    P: np.ndarray
    S: np.ndarray
    frames: np.ndarray
    surfaces: Surfaces
    forces: ContactForces
    wrenches: np.ndarray
    stiffness: np.ndarray
    r: np.ndarray
    tau: np.ndarray
    A: np.ndarray
    work: np.ndarray
