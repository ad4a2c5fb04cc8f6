"""Equations 0 = G(q, w) of one stage of a step, their values and their derivatives.

A stage is an implicit step from a reference (q_ref, v_ref): v = rate difference(q_ref, q),
a = rate (v - v_ref), and

    G(q, w) = inertia - sum J' V(q) w - tau(q, v)            ([N] eq. 6 and 12).

The rows of w are those of the contacts, then those of the joints with a stop or dry friction and of
closed loops, of which the first entry alone counts. Of friction cones w is the force in the frame
of the contact, V, whose third axis is the normal, and of joints and loops the force: G knows no
stiffness, which bounds the set of w alone. Of other contact laws w are the weights of the vertices
V.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.linear import clear_matrix, clear_vector, copy_matrix, copy_vector
from nmdp_pin._kernels.algebra.manifold import (
    add_multiplied_groups,
    add_multiplied_rows,
    add_rows,
    difference,
    difference_derivative,
)
from nmdp_pin._kernels.algebra.vector3 import cross_into, place
from nmdp_pin._kernels.compiler.callbacks import (
    call_inverse_dynamics,
    call_kinematics,
    call_material_inertia,
    call_vertex_derivative,
    call_vertices,
)
from nmdp_pin._kernels.compiler.jit import Array, inlined, jit
from nmdp_pin._kernels.compiler.record import (
    indices,
    matrix,
    record,
    vector,
    zero_matrix,
    zero_vector,
)
from nmdp_pin._kernels.contact.contact_motion import (
    displacement,
    motion_at,
    stiffness_at_origin,
    turn_back,
    velocity_motion,
    wrench_at_origin,
)
from nmdp_pin._kernels.contact.friction_cone import (
    Cone,
    add_frame_derivative,
    cone_derivative,
    cone_vertices,
    largest_force,
    tangent_frame,
)
from nmdp_pin._kernels.geometry.contacts import ContactFrames, ContactPairs, Contacts
from nmdp_pin._kernels.geometry.planes import bend_contacts, place_contacts
from nmdp_pin._kernels.tree.joints import (
    LEAST_SHARE,
    Joints,
    Torque,
    gains,
    interval,
    saturate,
)
from nmdp_pin._kernels.tree.loops import (
    MOST,
    add_curvature,
    add_velocity_rates,
    gaps_of,
    gradients_of,
)
from nmdp_pin._kernels.tree.springs import add_springs
from nmdp_pin._kernels.tree.tree import (
    Tree,
    add_children,
    add_pairs,
    body_twists,
    project_stiffness,
    project_wrenches,
    second_tree,
    subtract_from_bodies,
    turn_dofs,
)

# Forms of the dynamics: inverse dynamics, and material points compared by positions or velocities.
NEWTON_EULER, POSITIONS, VELOCITIES = range(3)

# The derivative of the contact model: exact, left out, or estimated ([N] eq. 10, 11).
EXACT, LEFT_OUT, SECANT = range(3)

RESIDUAL, GAP, SLIP = range(3)  # sums of a point
_NO_FORCE = 1e-9  # of the weight; what weaker contacts do is not felt
_NOTHING = 1e-15  # of the weight; weaker contacts, as at touch, have works of rounding errors alone
_LEAST_MOVE = 1e-10  # [m]; shorter differences say nothing about a derivative


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
        q_ref: configuration from which the velocity counts, shape (nq,).
        v_ref: velocity from which the acceleration counts, shape (nv,).
        rate: rate of the velocity and of the acceleration [1/s].
        target: of POSITIONS, placements that the bodies would reach without forces, of VELOCITIES
            their rates, shape (n, 4, 3).
        torque: torque of the joints.
        contacts: contacts of the step.
    """

    form: int
    displaced: bool
    closes: bool
    gaps: Array
    q_ref: Array
    v_ref: Array
    rate: float
    target: Array
    torque: Torque
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
    """Derivatives at a point: dG/dq = A, -dG/dw = J_force' V, du/dq = J_motion, du/ds = lift.

    Args:
        A: shape (nv, nv).
        J_force: Jacobians on which the wrenches of the active rows work, shape (k + r, rows, nv).
        J_motion: derivatives of their motions, shape (k + r, rows, nv).
        lift: derivatives of their motions by their loads, the normal forces or the sums s of their
            weights, shape (k + r, rows).
        rho: stiffnesses of all rows in the step, 0: unknown [N/m], shape (k + r,).
    """

    A: Array
    J_force: Array
    J_motion: Array
    lift: Array
    rho: Array


@jit
def evaluate(system: System, stage: Stage, at: StageIterate, derived: bool) -> None:
    """Evaluate the equations at `at.q` and `at.w`; the rest of the point is written.

    What only `linearise` reads, D, E, A and turns, is written where `derived` is true: pinocchio's
    derivatives cost most of an evaluation, and those of the last point of a stage are not read.
    """
    space, rate = system.tree.space, stage.rate
    difference(space, stage.q_ref, at.q, at.v)
    if derived and not space.flat:
        difference_derivative(space, at.v, at.D)
    for l in range(at.v.size):
        at.v[l] *= rate
    _add_inertia(system, stage, at, derived)
    _subtract_forces(system, stage, at, derived)
    if derived:
        turn_dofs(system.tree, at.S, at.twists, at.joint_axis_rates)
    square = 0.0
    for l in range(at.G.size):
        square += at.G[l] * at.G[l]
    at.sums[RESIDUAL] = math.sqrt(square)


@jit
def _subtract_forces(system: System, stage: Stage, at: StageIterate, derived: bool) -> None:
    """Subtract the forces of motors, springs, contacts and joints from G."""
    body_twists(system.tree, at.S, at.v, at.twists)
    _subtract_torque(system, stage, at, derived)
    add_springs(system.joints.springs, at.q, at.G, at.A if derived else matrix(0, 0))
    at.sums[GAP] = at.sums[SLIP] = 0.0
    at.n_active[0] = 0
    _subtract_contacts(system, stage, at)
    _subtract_joints(system, stage, at)
    _subtract_loops(system, stage, at)


@jit
def finish(system: System, stage: Stage, at: StageIterate, residual: float) -> None:
    """Write kinematics and forces at `at.q` and `at.w`, whose residual is known well enough.

    What is left of an evaluation is the inertia, without which G says nothing.
    """
    difference(system.tree.space, stage.q_ref, at.q, at.v)
    for l in range(at.v.size):
        at.v[l] *= stage.rate
    kinematics(system, at.q, at)
    _subtract_forces(system, stage, at, False)
    at.sums[RESIDUAL] = residual


@jit
def saturate_at(system: System, stage: Stage, at: StageIterate) -> None:
    """Write the signs of the motors that are saturated at a configuration."""
    space = system.tree.space
    difference(space, stage.q_ref, at.q, at.v)
    for l in range(at.v.size):
        at.v[l] *= stage.rate
    difference(space, stage.torque.q_target, at.q, at.error)
    saturate(system.joints, stage.torque, at.error, at.v, False)


@jit
def kinematics(system: System, q: Array, at: StageIterate) -> None:
    """Placements and motions at a configuration, written into a point."""
    dynamics = system.dynamics
    copy_vector(q, dynamics.q)
    call_kinematics(dynamics.handle)
    copy_kinematics(dynamics, at)


@jit
def copy_kinematics(dynamics: Dynamics, at: StageIterate) -> None:
    """Copy the placements and motions that pinocchio has written into a point."""
    for j in range(dynamics.P.shape[0]):
        copy_matrix(dynamics.P[j], at.P[j])
    copy_matrix(dynamics.S, at.S)


@jit
def _add_inertia(system: System, stage: Stage, at: StageIterate, derived: bool) -> None:
    """Kinematics, and the inertia of the form in G, with its derivative in A."""
    dynamics, nv = system.dynamics, at.v.size
    copy_vector(at.q, dynamics.q)
    copy_vector(at.v, dynamics.v)
    for l in range(nv):
        dynamics.a[l] = stage.rate * (at.v[l] - stage.v_ref[l])
    if stage.form != NEWTON_EULER:
        call_material_inertia(dynamics.handle, stage.form == VELOCITIES, derived, stage, at)
        return
    call_inverse_dynamics(dynamics.handle, derived)
    copy_vector(dynamics.tau, at.G)
    copy_kinematics(dynamics, at)
    if not derived:
        return
    of_v, groups = np.empty((nv, nv)), system.tree.groups
    if groups.size > 2:  # between trees there are springs alone
        clear_matrix(at.A)
    for g in range(groups.size - 1):
        for k in range(groups[g], groups[g + 1]):
            for l in range(groups[g], groups[g + 1]):
                at.A[k, l] = dynamics.of_q[k, l]
                of_v[k, l] = dynamics.of_v[k, l] + stage.rate * dynamics.M[k, l]
    add_multiplied_groups(system.tree.space, groups, of_v, at.D, stage.rate, at.A)


@jit
def _subtract_torque(system: System, stage: Stage, at: StageIterate, derived: bool) -> None:
    """Subtract the torque of the joints from G, and its derivative from A."""
    space, nv = system.tree.space, at.v.size
    kp, kd = vector(nv), vector(nv)
    difference(space, stage.torque.q_target, at.q, at.error)
    if system.saturating:
        saturate(system.joints, stage.torque, at.error, at.v, False)
    for l in range(nv):
        constant, kp[l], kd[l] = gains(system.joints, stage.torque, l)
        at.tau[l] = constant - kp[l] * at.error[l] - kd[l] * at.v[l]
        at.G[l] -= at.tau[l]
    if not derived:
        return
    add_rows(space, kd, at.D, stage.rate, at.A)
    if not space.flat:
        difference_derivative(space, at.error, at.E)
    add_rows(space, kp, at.E, 1.0, at.A)


@jit
def update_cones(system: System, contacts: Contacts, at: StageIterate) -> None:
    """Places of the contacts and vertices of their wrench spaces at a point."""
    places, n = at.places, contacts.n[0]
    place_contacts(system.candidates, contacts, at.P, places)
    if system.called:
        call_vertices(system.called, contacts.index[:n], places, at.V)
    for i in range(n):
        if system.forces:
            tangent_frame(places.normal[i], at.V[i])
        elif not system.called:
            cone_vertices(
                system.cone, places.depth[i], places.normal[i], places.friction[i], at.V[i]
            )
        if places.on_internal_edge[i]:
            at.V[i].fill(0.0)


@jit
def _subtract_contacts(system: System, stage: Stage, at: StageIterate) -> None:
    """Wrenches V w, motions u and works V'u; the generalised force is subtracted from G."""
    tree, places, contacts = system.tree, at.places, stage.contacts
    n, rows, m, h = contacts.n[0], system.rows, at.w.shape[1], 1.0 / stage.rate
    update_cones(system, contacts, at)
    point = vector(3)
    clear_matrix(at.loads)
    k = 0
    for i in range(n):
        a, b = contacts.bodies[i, 0], contacts.bodies[i, 1]
        for j in range(3):
            point[j] = places.centre[i, j] + (places.arm[i, j] if rows == 3 else 0.0)
        if stage.displaced:
            displacement(
                places.placements[i],
                contacts.reference[i],
                places.centre[i],
                places.arm[i],
                at.motion[i],
            )
        else:
            velocity_motion(at.P, at.twists, a, b, point, h, at.motion[i])
        rate = system.candidates.rise[contacts.index[i]]
        if rate > 0.0 and places.depth[i] > 0.0:
            rise = h * rate * places.depth[i] * (1.0 - share_of_load(system, at, i))
            for j in range(3):
                at.motion[i, j] -= rise * places.normal[i, j]
        clear_vector(at.origin[i])
        if not _weigh(system, at, i, rows, m):
            continue
        at.active[k] = i
        k += 1
        wrench_at_origin(at.P, b, point, at.wrench[i], at.origin[i])
    at.n_active[0] = at.n_active[1] = k
    if k > 0:
        subtract_from_bodies(contacts.bodies, at.origin, n, -1.0, at.loads)
        add_children(tree.parents, at.loads)
        force = vector(at.G.size)
        project_wrenches(at.S, tree.first_dofs, at.loads, force)
        for l in range(at.G.size):
            at.G[l] += force[l]


@jit
def share_of_load(system: System, at: StageIterate, i: int) -> float:
    """Share s of its largest force that a contact applies, at most 1."""
    if system.forces:
        most = largest_force(system.cone, at.places.depth[i])
        return min(at.w[i, 2] / most, 1.0) if at.w[i, 2] > 0.0 and most > 0.0 else 0.0
    total = 0.0
    for e in range(at.w.shape[1]):
        total += at.w[i, e]
    return total


@jit
def force_of(at: StageIterate, i: int) -> float:
    """Force by which works of row i count as slips: its own, or a share of its largest one [N]."""
    force = 0.0
    for a in range(at.V.shape[1]):
        force = max(force, abs(at.wrench[i, a]))
        for e in range(at.V.shape[2]):
            force = max(force, LEAST_SHARE * abs(at.V[i, a, e]))
    return force


@jit
def _weigh(system: System, at: StageIterate, i: int, rows: int, m: int) -> bool:
    """Wrench and works of a contact, of weights its part of the gap and the slip; does it act?

    With forces all contacts of a step do, also those that are apart.
    """
    largest, weight = 0.0, system.tree.weight
    clear_vector(at.work[i])
    for a in range(rows):
        total = 0.0
        for e in range(m):
            x = at.V[i, a, e]
            if x != 0.0:
                largest = max(largest, abs(x))
                total += x * at.w[i, e]
                at.work[i, e] += x * at.motion[i, a]
        at.wrench[i, a] = total
    if largest == 0.0 or system.forces:
        return largest > 0.0
    gap, least = 0.0, 0.0
    for e in range(m):
        gap += at.work[i, e] * at.w[i, e]
        least = min(least, at.work[i, e])
    gap -= least
    at.sums[GAP] += gap
    at.sums[SLIP] = max(at.sums[SLIP], gap / max(force_of(at, i), _NO_FORCE * weight))
    return largest > _NOTHING * weight


@jit
def _subtract_joints(system: System, stage: Stage, at: StageIterate) -> None:
    """Append the joints that act to the active rows; their forces are subtracted from G.

    The force is w, or least + w width, with w the first entry of the row.
    """
    joints, n, h = system.joints, stage.contacts.n[0], 1.0 / stage.rate
    k = at.n_active[0]
    for j in range(joints.loops.first[0]):
        i, l = n + j, joints.dofs[j]
        least, width, _, d_width = interval(joints, j, at.q)
        for a in range(at.wrench.shape[1]):
            at.wrench[i, a] = at.motion[i, a] = 0.0
            for e in range(at.work.shape[1]):
                at.V[i, a, e] = at.work[i, e] = 0.0
        at.motion[i, 0] = h * at.v[l]
        if d_width != 0.0 and system.recovery > 0.0:
            beyond = (width - 2.0 * joints.friction[j]) / abs(d_width)
            missing = share_of_interval(system, at, i, least, width)
            missing -= 1.0 if d_width < 0.0 else 0.0  # of the stop's largest force
            at.motion[i, 0] += h * system.recovery * beyond * missing
        if system.forces:
            at.V[i, 0, 0], at.work[i, 0], at.wrench[i, 0] = 1.0, at.motion[i, 0], at.w[i, 0]
            at.G[l] -= at.w[i, 0]
            at.active[k] = i
            k += 1
            continue
        at.V[i, 0, 0] = width
        at.work[i, 0] = width * at.motion[i, 0]
        if width == 0.0:
            continue
        at.active[k] = i
        k += 1
        at.wrench[i, 0] = least + at.w[i, 0] * width
        at.G[l] -= at.wrench[i, 0]
        gap = at.work[i, 0] * at.w[i, 0] - min(at.work[i, 0], 0.0)
        at.sums[GAP] += gap
        at.sums[SLIP] = max(at.sums[SLIP], gap / force_of(at, i))
    at.n_active[0] = k


@jit
def _subtract_loops(system: System, stage: Stage, at: StageIterate) -> None:
    """Append the rows of closed loops to the active ones; their forces are subtracted from G."""
    if system.joints.loops.kinds.size == 0:
        return
    loops, n, h = system.joints.loops, stage.contacts.n[0], 1.0 / stage.rate
    A, B, g, W = matrix(4, 3), matrix(4, 3), vector(MOST), matrix(MOST, 6)
    J = np.empty((MOST, at.v.size))
    for x in range(loops.kinds.size):
        rows = gaps_of(loops, x, at.P, at.q, A, B, g, W)
        gradients_of(loops, x, rows, at.S, W, J)
        holds = stage.closes or loops.springs[x]
        for a in range(rows):
            i, k = n + loops.first[x] + a, at.n_active[0]
            clear_vector(at.wrench[i])
            clear_vector(at.motion[i])
            clear_vector(at.work[i])
            clear_matrix(at.V[i])
            row = loops.first[x] + a - loops.first[0]
            f, motion = at.w[i, 0], g[a] if holds else stage.gaps[row]
            for s in range(loops.felt[x], loops.felt[x + 1]):
                l, along = loops.dofs[s], J[a, s - loops.felt[x]]
                at.G[l] -= along * f
                motion += 0.0 if holds else h * along * at.v[l]
            motion += loops.compliance[row] * f
            at.V[i, 0, 0], at.wrench[i, 0] = 1.0, f
            at.motion[i, 0] = at.work[i, 0] = motion
            at.active[k], at.n_active[0] = i, k + 1


@jit
def _linearise_loops(
    system: System, stage: Stage, at: StageIterate, linear: StageJacobians
) -> None:
    """Subtract the derivatives of the loops' forces from A; write Jacobians of their rows."""
    if system.joints.loops.kinds.size == 0:
        return
    loops, n, h, nv = system.joints.loops, stage.contacts.n[0], 1.0 / stage.rate, at.v.size
    A, B, g, W, f = matrix(4, 3), matrix(4, 3), vector(MOST), matrix(MOST, 6), zero_vector(MOST)
    J, U, whole = np.empty((MOST, nv)), np.empty((MOST, nv)), indices(2)
    whole[0], whole[1] = 0, nv
    first = at.n_active[0] - loops.compliance.size
    for x in range(loops.kinds.size):
        rows = gaps_of(loops, x, at.P, at.q, A, B, g, W)
        gradients_of(loops, x, rows, at.S, W, J)
        holds = stage.closes or loops.springs[x]
        for a in range(rows):
            f[a] = at.w[n + loops.first[x] + a, 0]
        add_curvature(system.tree, loops, x, A, B, W, at.S, f, linear.A)
        if not holds:
            clear_matrix(U)
            add_velocity_rates(system.tree, loops, x, A, B, W, at.S, at.twists, at.v, U)
        for a in range(rows):
            row = first + loops.first[x] + a - loops.first[0]
            J_force, J_motion = linear.J_force[row], linear.J_motion[row]
            clear_matrix(J_force)
            clear_matrix(J_motion)
            clear_vector(linear.lift[row])
            linear.lift[row, 0] = loops.compliance[loops.first[x] + a - loops.first[0]]
            for s in range(loops.felt[x], loops.felt[x + 1]):
                l, e = loops.dofs[s], s - loops.felt[x]
                J_force[0, l] = J[a, e]
                J_motion[0, l] = J[a, e] if holds else h * U[a, e]
            if not holds:
                add_multiplied_rows(system.tree.space, J_force, at.D, 1.0, whole, J_motion)


@jit
def share_of_interval(
    system: System, at: StageIterate, i: int, least: float, width: float
) -> float:
    """Where in its interval the force of row i, a joint, is: 0 at its least, 1 at its largest."""
    if not system.forces:
        return at.w[i, 0]
    return min(max((at.w[i, 0] - least) / width, 0.0), 1.0) if width > 0.0 else 0.0


@jit
def touches(system: System, at: StageIterate, n: int, i: int) -> bool:
    """Whether active row i, of n contacts and then joints, can apply a force."""
    if not system.forces:
        return True
    if i < n:
        return at.places.depth[i] > 0.0 or at.w[i, 2] > 0.0
    return interval(system.joints, i - n, at.q)[1] > 0.0


@inlined
def count_rows(system: System, stage: Stage) -> int:
    """Number of the contacts, and of the rows of joints and loops after them."""
    return stage.contacts.n[0] + system.joints.dofs.size


@jit
def clear_slopes(at: StageIterate) -> None:
    """Forget the estimates of dV/dx, at the first point of a stage."""
    for i in range(at.slopes.shape[0]):
        for a in range(at.slopes.shape[1]):
            clear_matrix(at.slopes[i, a])


@jit
def learn_slopes(contacts: Contacts, before: StageIterate, at: StageIterate) -> None:
    """Broyden's estimate of dV/dx for each contact on its own, within one stage.

    Two points give the change of V along the line between them; three independent directions
    determine dV/dx.

    Args:
        contacts: contacts of the step.
        before: point evaluated earlier.
        at: point whose slopes are written.
    """
    dx = vector(3)
    for i in range(contacts.n[0]):
        square = 0.0
        for c in range(3):
            dx[c] = at.places.centre[i, c] - before.places.centre[i, c]
            square += dx[c] * dx[c]
        far = square > _LEAST_MOVE**2
        for a in range(at.slopes.shape[1]):
            for e in range(at.slopes.shape[2]):
                T, old = at.slopes[i, a, e], before.slopes[i, a, e]
                missed = at.V[i, a, e] - before.V[i, a, e]
                for c in range(3):
                    missed -= old[c] * dx[c]
                for c in range(3):
                    T[c] = old[c] + (missed * dx[c] / square if far else 0.0)


@jit
def linearise(system: System, stage: Stage, at: StageIterate, linear: StageJacobians) -> None:
    """Derivatives of the equations at an evaluated point; in zeroth order those of V are others."""
    tree, places, contacts = system.tree, at.places, stage.contacts
    copy_matrix(at.A, linear.A)
    _linearise_joints(system, stage, at, linear)
    _linearise_loops(system, stage, at, linear)
    bend_contacts(system.candidates, contacts, places)  # compiled before the first touch
    touching = at.n_active[1]
    if touching == 0:
        return
    own = np.zeros((contacts.n[0], system.rows, 6))
    if system.called and system.derivative == EXACT:
        call_vertex_derivative(
            system.called, contacts.index, places, at.w, at.wrench, at.active[:touching], own
        )
    stiffness, sums = np.empty((touching, 36)), np.zeros((len(tree.parents), 36))
    origin, bodies = np.empty((touching, 6)), np.empty((touching, 2), np.int64)
    of_depth, D = vector(6), matrix(6, 6)
    for x in range(touching):
        i = at.active[x]
        N, L = places.N[i], places.L[i]
        for a in range(3):
            of_depth[a] = -places.normal[i, a]
        cross_into(places.normal[i], places.arm[i], of_depth[3:])
        _vertex_rates(system, at, i, of_depth, N, own[i])
        _wrench_rates(places.arm[i], L, at.wrench[i], own[i], D)
        bodies[x, 0], bodies[x, 1] = contacts.bodies[i, 0], contacts.bodies[i, 1]
        copy_vector(at.origin[i], origin[x])
        stiffness_at_origin(
            at.P, bodies[x, 1], places.centre[i], at.wrench[i], D, True, stiffness[x]
        )
        _contact_rows(system, stage, at, i, of_depth, N, L, linear.J_force[x], linear.J_motion[x])
        rise = system.candidates.rise[contacts.index[i]] * max(places.depth[i], 0.0)
        if system.forces:
            share = share_of_load(system, at, i)
            rise *= share / at.w[i, 2] if 0.0 < share < 1.0 else 0.0
        for a in range(system.rows):
            linear.lift[x, a] = rise / stage.rate * places.normal[i, a] if a < 3 else 0.0
    subtract_from_bodies(bodies, stiffness, touching, 1.0, sums)
    add_children(tree.parents, sums)
    project_stiffness(at.S, tree.parents, tree.first_dofs, sums, at.loads, linear.A)
    add_pairs(tree, at.S, bodies, stiffness, origin, touching, linear.A)


@jit
def _vertex_rates(
    system: System, at: StageIterate, i: int, of_depth: Array, N: Array, own: Array
) -> None:
    """Derivative of V w of contact i by a motion of its body, shape (rows, 6)."""
    if system.derivative == SECANT and not system.forces:
        for a in range(own.shape[0]):
            for c in range(3):
                for e in range(at.w.shape[1]):
                    own[a, c] += at.slopes[i, a, e, c] * at.w[i, e]
    elif system.forces and system.derivative == EXACT:
        w = at.w[i]
        add_frame_derivative(at.places.normal[i], w[0], w[1], w[2], N, own)
    elif system.derivative == EXACT and not system.called:
        places = at.places
        cone_derivative(
            system.cone,
            places.depth[i],
            places.normal[i],
            places.friction[i],
            at.w[i],
            at.wrench[i],
            of_depth,
            N,
            own,
        )


@jit
def _wrench_rates(arm: Array, L: Array, wrench: Array, own: Array, D: Array) -> None:
    """Derivative of a wrench about the centre by a motion of the body, shape (6, 6).

    Args:
        arm: arm of the force, shape (3,).
        L: derivative of the arm, shape (3, 6).
        wrench: V w, shape (rows,).
        own: derivative of V w, shape (rows, 6).
        D: output.
    """
    for k in range(6):
        for a in range(own.shape[0]):
            D[a, k] = own[a, k]
        if own.shape[0] == 3:
            for a in range(3):
                b, c = (a + 1) % 3, (a + 2) % 3
                D[3 + a, k] = arm[b] * own[c, k] - arm[c] * own[b, k]
                D[3 + a, k] += L[b, k] * wrench[c] - L[c, k] * wrench[b]


@jit
def _contact_rows(
    system: System,
    stage: Stage,
    at: StageIterate,
    i: int,
    of_depth: Array,
    N: Array,
    L: Array,
    J_force: Array,
    J_motion: Array,
) -> None:
    """Jacobians of contact i relative to the touched body, in its axes, shapes (rows, nv).

    The columns are linear in the motions of the dofs: with F, what the wrench works on, and X, the
    motion of the touching point, as maps of (dx, dphi), the derivative of a displacement is
    X + Q (F - X), Q = R_ref R' being the rotation back to the reference; that of the displacement
    at a velocity is

        h ([t] X - [w] F + [0, -[v]]) + F dv/dq - h F (S_l x T),

    where t is the relative angular velocity, w and v are the velocities of the carrier and of its
    touching point, and T is the motion of the joint that precedes dof l.
    """
    tree, places, h, rows = system.tree, at.places, 1.0 / stage.rate, J_force.shape[0]
    a, b = stage.contacts.bodies[i, 0], stage.contacts.bodies[i, 1]
    F, U, X = zero_matrix(rows, 6), zero_matrix(rows, 6), zero_matrix(3, 6)
    for j in range(rows):
        F[j, j] = 1.0
    if rows == 3:
        _subtract_cross(places.arm[i], F, 3)
    for j in range(3):
        for k in range(6):
            X[j, k] = (1.0 if j == k else 0.0) + (L[j, k] if rows == 3 else 0.0)
    if stage.displaced:
        _displacement_map(places.placements[i], stage.contacts.reference[i], F, X, U)
    else:
        _velocity_map(at, a, b, i, h, F, X, U)
    rate = system.candidates.rise[stage.contacts.index[i]]
    if rate > 0.0 and places.depth[i] > 0.0:
        load = share_of_load(system, at, i)
        missing = h * rate * (1.0 - load)
        share = missing
        if system.forces and load < 1.0:  # at the same force the load falls with the depth
            share += h * rate * system.cone.power * load
        for j in range(3):
            for k in range(6):
                U[j, k] -= share * places.normal[i, j] * of_depth[k]
                U[j, k] -= missing * places.depth[i] * N[j, k]
    c, moved, y = vector(3), vector(6), vector(6)
    place(at.P[b], places.centre[i], c)
    clear_matrix(J_force)
    clear_matrix(J_motion)
    for body in (a, second_tree(tree, a, b)):
        span = tree.spans[body]
        for l in range(span[0], span[1]):
            s = tree.moves[a, l] - tree.moves[b, l]
            if s == 0.0:
                continue
            motion_at(at.P[b], at.S[l], c, s, moved)
            if not stage.displaced:
                motion_at(at.P[b], at.joint_axis_rates[l], c, h * s, y)
            for j in range(rows):
                force, motion = 0.0, 0.0
                for k in range(6):
                    force += F[j, k] * moved[k]
                    motion += U[j, k] * moved[k]
                if not stage.displaced:
                    for k in range(6):
                        motion -= F[j, k] * y[k]
                J_force[j, l], J_motion[j, l] = force, motion
        if not stage.displaced:
            add_multiplied_rows(tree.space, J_force, at.D, 1.0, span, J_motion)


@jit
def _subtract_cross(a: Array, X: Array, first: int) -> None:
    """Subtract the matrix of a x from three columns of X."""
    for j in range(3):
        k, l = (j + 1) % 3, (j + 2) % 3
        X[k, first + j] -= a[l]
        X[l, first + j] += a[k]


@jit
def _displacement_map(placement: Array, reference: Array, F: Array, X: Array, U: Array) -> None:
    """U = X + Q (F - X); of wrenches that of the centre, and (tr(T) - T) / 2 with T = Q'."""
    Q = matrix(3, 3)
    turn_back(placement, reference, Q)
    if F.shape[0] == 6:
        for j in range(3):
            U[j, j] = 1.0
            for k in range(3):
                U[3 + j, 3 + k] = -0.5 * Q[k, j]
        for j in range(3):
            for k in range(3):
                U[3 + j, 3 + j] += 0.5 * Q[k, k]
        return
    for j in range(3):
        for k in range(6):
            U[j, k] = X[j, k]
            for l in range(3):
                U[j, k] += Q[j, l] * (F[l, k] - X[l, k])


@jit
def _velocity_map(
    at: StageIterate, a: int, b: int, i: int, h: float, F: Array, X: Array, U: Array
) -> None:
    """U = h ([t] X - [w] F + [0, -[v]]); of wrenches also -h [w] of the rotation."""
    x, y, carried, t = vector(3), vector(3), vector(6), vector(6)
    for j in range(3):
        x[j] = at.places.centre[i, j] + (at.places.arm[i, j] if F.shape[0] == 3 else 0.0)
    place(at.P[b], x, y)
    motion_at(at.P[b], at.twists[a], y, h, carried)
    motion_at(at.P[b], at.twists[b], y, h, t)
    for j in range(3):
        t[3 + j] = carried[3 + j] - t[3 + j]
    for k in range(6):
        for j in range(3):
            l, m = (j + 1) % 3, (j + 2) % 3
            U[j, k] = t[3 + l] * X[m, k] - t[3 + m] * X[l, k]
            U[j, k] -= carried[3 + l] * F[m, k] - carried[3 + m] * F[l, k]
    _subtract_cross(carried, U, 3)
    if F.shape[0] == 6:
        _subtract_cross(carried[3:], U[3:], 3)


@jit
def _linearise_joints(
    system: System, stage: Stage, at: StageIterate, linear: StageJacobians
) -> None:
    """Subtract the derivatives of the joints' forces from A; write Jacobians of active ones."""
    joints, n = system.joints, stage.contacts.n[0]
    for x in range(at.n_active[1], at.n_active[0] - joints.loops.compliance.size):
        j = at.active[x] - n
        l = joints.dofs[j]
        least, width, d_least, d_width = interval(joints, j, at.q)
        if not system.forces:
            linear.A[l, l] -= d_least + at.w[n + j, 0] * d_width
        clear_matrix(linear.J_force[x])
        clear_matrix(linear.J_motion[x])
        linear.J_force[x, 0, l] = linear.J_motion[x, 0, l] = 1.0
        clear_vector(linear.lift[x])
        if d_width != 0.0:
            share = system.recovery / stage.rate
            w = share_of_interval(system, at, n + j, least, width)
            beyond = (width - 2.0 * joints.friction[j]) / abs(d_width)
            linear.J_motion[x, 0, l] += share * (1.0 - w if d_width < 0.0 else w)
            linear.lift[x, 0] = share * beyond
            if system.forces:  # at the same force w changes with the interval
                inside = 0.0 < w < 1.0
                linear.lift[x, 0] = share * beyond / width if inside else 0.0
                if inside:
                    of_w = -(d_least + w * d_width) / width
                    linear.J_motion[x, 0, l] += share * beyond * of_w
