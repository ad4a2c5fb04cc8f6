"""Records of a stage: its statement, its equations at a point, and their derivatives."""

from __future__ import annotations

from nmdp_pin._kernels.compiler.jit import Array, inlined, jit
from nmdp_pin._kernels.compiler.record import record
from nmdp_pin._kernels.contact.friction_cone import Cone
from nmdp_pin._kernels.geometry.contacts import ContactFrames, ContactPairs, Contacts
from nmdp_pin._kernels.tree.joints import LEAST_SHARE, Joints, Torque
from nmdp_pin._kernels.tree.tree import Tree

# Forms of the dynamics: inverse dynamics, and material points compared by positions or velocities.
NEWTON_EULER, POSITIONS, VELOCITIES = range(3)


# The derivative of the contact model: exact, left out, or estimated ([N] eq. 10, 11).
EXACT, LEFT_OUT, SECANT = range(3)
RESIDUAL, GAP, SLIP = range(3)  # sums of a point


@record
class Dynamics:
    """Arguments and results of pinocchio's algorithms, which Python calls.

    Args:
        handle: number of the object that calls them.
        q: configuration, shape (nq,).
        v: velocity, shape (nv,).
        a: acceleration, shape (nv,).
        P: placements of all joints, shape (n + 1, 4, 3).
        S: motions of the dofs at the world's origin, shape (nv, 6).
        tau: inverse dynamics, or momentum, shape (nv,).
        M: mass matrix, symmetric, shape (nv, nv).
        of_q: derivative of tau by q, shape (nv, nv).
        of_v: derivative of tau by v, shape (nv, nv).
    """

    handle: int
    q: Array
    v: Array
    a: Array
    P: Array
    S: Array
    tau: Array
    M: Array
    of_q: Array
    of_v: Array


@record
class System:
    """What all steps of a simulator share.

    Args:
        tree: joints and bodies.
        dynamics: pinocchio's algorithms.
        joints: bounds of the joints.
        candidates: pairs that may touch.
        surfaces: twists of the surfaces of both bodies of each in their frames, which belts and
            turntables have (`surface_motion`), shape (k, 2, 6), or (0, 2, 6): all are zero.
        scripted: whether commands state the motion of a dof (`scripts`), shape (nv,), or (0,): of
            none.
        idle: whether nothing moves the bodies of a candidate but scripts, shape (k,), or (0,).
        forces: whether w are forces.
        scales: forces that give the dofs the acceleration of gravity [N, N m], shape (nv,).
        inertias: sums of the rows of the mass matrix [kg, kg m, kg m^2], shape (nv,).
        cone: parameters of friction cones; of contact models in Python its exponent alone.
        called: number of the object that has the contact model in Python, 0 for friction cones.
        rows: components of a vertex, 3 or 6.
        derivative: EXACT, LEFT_OUT or SECANT.
        saturating: whether motors are at their limits where commands ask for more, in every
            evaluation; else as the signs of the torque say.
        recovery: rate rho of stops, the largest of those of contacts [1/s]. Motions count from one
            that recovers, u' = u - h (rho / p) d (1 - s) n with s the sum of the weights, p = 1 of
            stops: what is deeper than its load needs rises, what needs its largest force rests.
    """

    tree: Tree
    dynamics: Dynamics
    joints: Joints
    candidates: ContactPairs
    surfaces: Array
    scripted: Array
    idle: Array
    forces: bool
    scales: Array
    inertias: Array
    cone: Cone
    called: int
    rows: int
    derivative: int
    saturating: bool
    recovery: float


@record
class Stage:
    """Statement of a stage.

    Args:
        form: NEWTON_EULER, POSITIONS or VELOCITIES.
        displaced: whether motions are displacements since the reference; else they are the
            velocity at the end times the length of the stage.
        closes: whether closed loops hold positions, as at the end of a step; else their velocities,
            since in an earlier stage the way along a chord is not that of the velocity at its end,
            with which the gaps at the start of the step would close.
        gaps: these gaps, of g rows of loops [m, rad], shape (g,).
        held: whether each loop holds, as all but grips do, shape (c,).
        frames: frames of loops on their bodies, of grips as they are at the start of the step,
            shape (c, 2, 4, 3).
        q_ref: configuration from which the velocity counts, shape (nq,).
        v_ref: velocity from which the acceleration counts, shape (nv,).
        rate: rate of the velocity and of the acceleration [1/s].
        target: of POSITIONS, placements that the bodies would reach without forces, of VELOCITIES
            their rates, shape (n, 4, 3).
        torque: torque of the joints.
        script: motions of the scripted dofs in the stage, difference(q_ref, q), shape (nv,).
        contacts: contacts of the step.
    """

    form: int
    displaced: bool
    closes: bool
    frames: Array
    gaps: Array
    held: Array
    q_ref: Array
    v_ref: Array
    rate: float
    target: Array
    torque: Torque
    script: Array
    contacts: Contacts


@record
class StageIterate:
    """The equations at a point (q, w), of k contacts at most and r joints.

    Args:
        q: configuration, shape (nq,).
        w: forces [N, N m] or weights, shape (k + r, m).
        v: velocity, shape (nv,).
        error: difference(q_target, q), shape (nv,).
        D: derivative of difference(q_ref, q), shape (nv, nv).
        E: derivative of the error, shape (nv, nv).
        P: placements of all joints, shape (n + 1, 4, 3).
        S: motions of the dofs, shape (nv, 6).
        twists: motions of the bodies at the world's origin, shape (n + 1, 6).
        joint_axis_rates: motions of the dofs crossed with those of the joints before them, (nv, 6).
        tau: joint torque [N m or N], shape (nv,).
        G: residual [N or N m], shape (nv,).
        A: dG/dq without the contacts' part, shape (nv, nv).
        places: the contacts.
        V: frames of the contacts, or vertices of the wrench spaces, shape (k + r, rows, m).
        wrench: wrenches V w, shape (k + r, rows).
        motion: motions u on which the wrenches work, shape (k + r, rows).
        work: V' u, motions along forces [m] or works of vertices [J], shape (k + r, m).
        origin: wrenches of the contacts at the world's origin, shape (k, 6).
        loads: minus their sums over the subtrees of the bodies, shape (n, 6).
        active: indices of the rows that act, ascending, shape (k + r,).
        n_active: number of these, and of those that are contacts, shape (2,).
        sums: norm of G; the gap, which is the work that other weights could save [J]; the slip, the
            largest motion that they could save at a contact, its gap over its force [m]; (3,).
        slopes: estimates of dV/dx by the secants so far, shape (k, rows, m, 3).
    """

    q: Array
    w: Array
    v: Array
    error: Array
    D: Array
    E: Array
    P: Array
    S: Array
    twists: Array
    joint_axis_rates: Array
    tau: Array
    G: Array
    A: Array
    places: ContactFrames
    V: Array
    wrench: Array
    motion: Array
    work: Array
    origin: Array
    loads: Array
    active: Array
    n_active: Array
    sums: Array
    slopes: Array


@record
class StageJacobians:
    """Derivatives at a point: dG/dq = A, -dG/dw = J_force' V, du/dq = J_motion, du/ds = of_load.

    Args:
        A: shape (nv, nv).
        dofs: those on which each active row acts or depends, shape (k + r, d).
        n_dofs: their numbers, shape (k + r,).
        J_force: Jacobians on which the wrenches of the active rows work, in the columns of their
            dofs, shape (k + r, rows, d).
        J_motion: derivatives of their motions, likewise, shape (k + r, rows, d).
        of_load: derivatives of their motions by their loads, the normal forces or the sums s of
            their weights, shape (k + r, rows).
        rho: stiffnesses of all rows in the step, 0: unknown [N/m], shape (k + r,).
    """

    A: Array
    dofs: Array
    n_dofs: Array
    J_force: Array
    J_motion: Array
    of_load: Array
    rho: Array


@jit
def force_of(at: StageIterate, i: int) -> float:
    """Force by which works of row i count as slips: its own, or a share of its largest one [N]."""
    force = 0.0
    for a in range(at.V.shape[1]):
        force = max(force, abs(at.wrench[i, a]))
        for e in range(at.V.shape[2]):
            force = max(force, LEAST_SHARE * abs(at.V[i, a, e]))
    return force


@inlined
def count_rows(system: System, stage: Stage) -> int:
    """Number of the contacts, and of the rows of joints and loops after them."""
    number: int = stage.contacts.n[0] + system.joints.dofs.size
    return number
