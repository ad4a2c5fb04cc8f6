"""Records of a step of position-based dynamics with penalty contacts."""

from __future__ import annotations

from nmdp_pin._kernels.compiler.jit import Array
from nmdp_pin._kernels.compiler.record import record
from nmdp_pin._kernels.contact.penalty import PenaltyLaw
from nmdp_pin._kernels.geometry.contacts import ContactFrames, ContactPairs, Contacts
from nmdp_pin._kernels.tree.joints import Commands, Joints, Torque
from nmdp_pin._kernels.tree.tree import Tree


@record
class Scene:
    """What all steps share.

    Args:
        tree: joints and bodies.
        candidates: pairs that may touch.
        surfaces: twists of the surfaces of both bodies of each, as in `stage_records.System`.
        joints: bounds of the joints.
        law: penalty law, whose kind makes the method pbfd or pbd.
        semidefinite: whether pbd uses the Gauss-Newton part of the Hessian.
    """

    tree: Tree
    candidates: ContactPairs
    surfaces: Array
    joints: Joints
    law: PenaltyLaw
    semidefinite: bool


@record
class StepStart:
    """Data of a step.

    Args:
        values: numbers of the arrays that follow, one after another.
        q0: configuration at its start, shape (nq,).
        v0: velocity there, shape (nv,).
        commands: command of the step.
        torque: its torque, which is written; the signs are the limits that act on the motors at
            the point accepted last.
        held: whether each of c loops holds in the step, shape (c,).
        h: length [s].
    """

    values: Array
    q0: Array
    v0: Array
    commands: Commands
    torque: Torque
    held: Array
    h: float


@record
class StepReference:
    """Quantities that follow from the start of a step; all arrays are written by `begin`.

    Args:
        P0: placements at q0, shape (n + 1, 4, 3).
        S0: motions of the dofs there, shape (nv, 6).
        twists: motions of the bodies there, shape (n + 1, 6).
        target: placements that the bodies reach without forces, shape (n, 4, 3).
        frames: frames of loops on their bodies, of grips as they are there, shape (c, 2, 4, 3).
        metric: M / h^2 + kd / h + kp, shape (nv, nv).
        U: upper factor of the metric, shape (nv, nv).
        kinetic: kinetic energy at q0 [J].
        potential: potential energy there [J].
        contacts: contacts of the step.
    """

    P0: Array
    S0: Array
    twists: Array
    target: Array
    frames: Array
    metric: Array
    U: Array
    kinetic: float
    potential: float
    contacts: Contacts


@record
class ContactForces:
    """The forces of all contacts; all arrays are written.

    Args:
        wrenches: wrenches about the centres, axes of the world [N, N m], shape (k, 6).
        origin: wrenches at the world's origin, shape (k, 6).
        stiffness: their derivatives by motions at the world's origin, shape (k, 36).
        stored: energy that the normal forces and stops store [J].
        friction: energy of conservative friction [J].
    """

    wrenches: Array
    origin: Array
    stiffness: Array
    stored: float
    friction: float


@record
class Trial:
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
        places: contacts.
        forces: forces of the contacts.
        wrenches: wrenches of inertia less contacts, summed over subtrees, shape (n, 6).
        stiffness: derivatives of these wrenches, shape (n, 36).
        r: residual [N, N m], shape (nv,).
        tau: torque of the command and the damping, shape (nv,).
        A: dr/dq, or its semidefinite part, shape (nv, nv).
        space: workspace, shape (4, nv).
    """

    q: Array
    v: Array
    y: Array
    e: Array
    D: Array
    D_t: Array
    P: Array
    S: Array
    places: ContactFrames
    forces: ContactForces
    wrenches: Array
    stiffness: Array
    r: Array
    tau: Array
    A: Array
    space: Array


@record
class PositionStep:
    """A step and the memory of its minimisation; what follows the trial is written.

    Args:
        scene: what all steps share.
        start: data of the step.
        tolerance: bound on |r| over the weight.
        max_iterations: largest number of linear solves.
        ref: quantities that follow from the start.
        trial: trial point.
        bound: bound on |r|, which is not below its rounding errors [N, N m].
        q: last accepted configuration, shape (nq,).
        r: residual at q, shape (nv,).
        F: last factorised matrix, shape (nv, nv).
        dx: solution of the linear system, shape (nv,).
        account: account of the minimisation.
        kinetic: kinetic energy at the end [J].
        potential: potential energy there [J].
        stored: energy that contacts and stops store at the start [J].
        pivots: ratio of the pivots of F.
        formed: whether the next two are those of the point accepted last.
        gram: X'X with X = U'^-1 A, upper triangle, shape (nv, nv).
        descent: -X'U'^-1 r, shape (nv,).
        freed: stiffness of motors that is in A beside the derivative, shape (nv,).
    """

    scene: Scene
    start: StepStart
    tolerance: float
    max_iterations: int
    ref: StepReference
    trial: Trial
    bound: float
    q: Array
    r: Array
    F: Array
    dx: Array
    account: Array
    kinetic: float
    potential: float
    stored: float
    pivots: float
    formed: bool
    gram: Array
    descent: Array
    freed: Array
