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

from nmdp_pin._kernels.algebra.linear import clear_matrix, copy_matrix, copy_vector
from nmdp_pin._kernels.algebra.manifold import (
    add_multiplied_groups,
    add_rows,
    difference,
    difference_derivative,
)
from nmdp_pin._kernels.compiler.callbacks import (
    call_inverse_dynamics,
    call_kinematics,
    call_momentum,
)
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, vector
from nmdp_pin._kernels.step.contact_jacobians import linearise_contacts
from nmdp_pin._kernels.step.contact_rows import subtract_contacts
from nmdp_pin._kernels.step.inertia import material_inertia
from nmdp_pin._kernels.step.joint_rows import linearise_joints, subtract_joints
from nmdp_pin._kernels.step.loop_rows import linearise_loops, subtract_loops
from nmdp_pin._kernels.step.scripts import hold_script, linearise_script
from nmdp_pin._kernels.step.stage_records import (
    GAP,
    NEWTON_EULER,
    RESIDUAL,
    SLIP,
    VELOCITIES,
    Dynamics,
    Stage,
    StageIterate,
    StageJacobians,
    System,
)
from nmdp_pin._kernels.tree.joints import gains, interval, saturate
from nmdp_pin._kernels.tree.springs import add_springs
from nmdp_pin._kernels.tree.tree import body_twists, turn_dofs


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
    hold_script(system, stage, at)
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
    subtract_contacts(system, stage, at)
    subtract_joints(system, stage, at)
    if system.joints.loops.kinds.size > 0:
        subtract_loops(system, stage, at)


@jit
def finish(system: System, stage: Stage, at: StageIterate, residual: float) -> None:
    """Write kinematics and forces at `at.q` and `at.w`, whose residual is known well enough.

    What is left of an evaluation is the inertia, without which G says nothing but of scripts.
    """
    if system.scripted.size > 0:
        evaluate(system, stage, at, False)
        return
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
    _copy_kinematics(dynamics, at)


@jit
def _copy_kinematics(dynamics: Dynamics, at: StageIterate) -> None:
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
        if stage.form == VELOCITIES:
            call_momentum(dynamics.handle, derived)
        else:
            call_kinematics(dynamics.handle)
        _copy_kinematics(dynamics, at)
        material_inertia(system, stage, derived, at)
        return
    call_inverse_dynamics(dynamics.handle, derived)
    copy_vector(dynamics.tau, at.G)
    _copy_kinematics(dynamics, at)
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
def touches(system: System, at: StageIterate, n: int, i: int) -> bool:
    """Whether active row i, of n contacts and then joints, can apply a force."""
    if not system.forces:
        return True
    if i < n:
        holds: bool = at.places.depth[i] > 0.0 or at.w[i, 2] > 0.0
        return holds
    return interval(system.joints, i - n, at.q)[1] > 0.0


@jit
def linearise(system: System, stage: Stage, at: StageIterate, linear: StageJacobians) -> None:
    """Derivatives of the equations at an evaluated point; in zeroth order those of V are others."""
    linearise_unscripted(system, stage, at, linear)
    linearise_script(system, at, linear)


@jit
def linearise_unscripted(
    system: System, stage: Stage, at: StageIterate, linear: StageJacobians
) -> None:
    """Derivatives of the equations as if nothing were scripted, with the motions of all dofs."""
    _linearise_apart(system, stage, at, linear)
    linearise_contacts(system, stage, at, linear)


@jit
def straighten(system: System, stage: Stage, at: StageIterate, linear: StageJacobians) -> None:
    """Leave the derivatives of the contacts' forces out of A, after `linearise`.

    What a force turns with its body makes A indefinite where it is as stiff as the inertia.
    """
    _linearise_apart(system, stage, at, linear)
    linearise_script(system, at, linear)


@jit
def _linearise_apart(
    system: System, stage: Stage, at: StageIterate, linear: StageJacobians
) -> None:
    """Write A of the inertia, the joints and the loops, and the rows of these."""
    copy_matrix(at.A, linear.A)
    linearise_joints(system, stage, at, linear)
    if system.joints.loops.kinds.size > 0:
        linearise_loops(system, stage, at, linear)
