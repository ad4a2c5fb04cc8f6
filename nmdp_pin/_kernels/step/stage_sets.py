"""The sets of the variational inequality of one iteration: their kinds, stiffnesses and bounds."""

from __future__ import annotations

import math

from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.contact.friction_cone import depth_of_force
from nmdp_pin._kernels.solver.affine_vi import AffineVI
from nmdp_pin._kernels.solver.force_sets import INTERVAL, POLYHEDRAL_CONE, ROUND_CONE, SIMPLEX
from nmdp_pin._kernels.step.stage_records import Stage, StageIterate, System, force_of

_LEAST_SCALE = 1e-9  # least curvature of a block of weights, relative to the largest one
_FAR_STOP = 1e9  # [rad, m] of a joint that has none on one side
_LEAST_DEPTH = 1e-12  # [m] at which the tangent of a bound is taken at least
_OF_DEPTH, _OF_SLIP = 1e-6, 0.1  # shares of the depth and the slip that an inequality leaves
_OF_DEPTH_ROUGHLY = 2e-5  # the same of redundant forces: an error of 1e-4 of the force at most
_ROUNDING = 3e-15  # share of the largest motion of an inequality, to which it is solved at best


@jit
def compliance_of(R: Array, J: Array, n_dofs: int, e: int) -> float:
    """Motion along coordinate e of a block by its own force, whose response is R, as J."""
    total = 0.0
    for s in range(n_dofs):
        total += J[e, s] * R[e, s]
    return total


@jit
def state_sets(
    system: System,
    stage: Stage,
    at: StageIterate,
    slip: float,
    R: Array,
    motions: Array,
    vi: AffineVI,
) -> None:
    """Write kinds, stiffnesses and bounds of the sets of the active rows.

    Args:
        system: what all steps share.
        stage: equations of the stage.
        at: the point.
        slip: bound on the slip of the stage [m].
        R: responses of the dofs of the blocks to their forces, shape (blocks, m, k).
        motions: motions with the forces as they are, and without those of the rows, shape (nv, 2).
        vi: output, whose other arrays are written.
    """
    sets, n, largest = vi.sets, stage.contacts.n[0], 0.0
    k = at.n_active[0]
    for b in range(sets.kind.size):
        begin, end, softest = sets.first[b], sets.first[b + 1], 0.0
        for e in range(end - begin):
            c = compliance_of(R[b], vi.J_motion[b], vi.n_dofs[b], e)
            c += vi.of_load[b, e] if not system.forces or e == end - begin - 1 else 0.0
            softest = max(softest, abs(c))
        sets.rho[b] = softest
        largest = max(largest, softest)
    for b in range(sets.kind.size):
        row = at.active[b] if b < k else -1
        softest = max(sets.rho[b], _LEAST_SCALE * largest if not system.forces else 0.0)
        sets.rho[b] = 1.0 / softest if softest > 0.0 else 1.0
        vi.length[b] = 1.0 / sets.rho[b]
        vi.enough[b] = _OF_SLIP * slip
        if row < 0:
            sets.kind[b] = INTERVAL
        elif not system.forces:
            sets.kind[b] = SIMPLEX
            force = force_of(at, row)
            vi.length[b] /= max(force, _LEAST_SCALE * system.tree.weight)
        elif row < n:
            sets.kind[b] = POLYHEDRAL_CONE if system.cone.sides > 0 else ROUND_CONE
            _state_cone(system, at, b, R, motions, vi)
        else:
            _state_interval(system, at, b, row - n, vi)
    largest = _ROUNDING * _largest_motion(vi, motions[:, 1])
    for b in range(sets.kind.size):
        if sets.offset[b] > 0.0:
            vi.enough[b] = min(vi.enough[b], _OF_DEPTH * sets.offset[b])
        vi.rounding[b] = largest / vi.length[b]
        vi.enough[b] = max(vi.enough[b] / vi.length[b], vi.rounding[b])
        _leave_roughly(slip, b, vi)


@jit
def _leave_roughly(slip: float, b: int, vi: AffineVI) -> None:
    """Write what redundant forces of a block may leave: of contacts a slip that does not matter."""
    sets = vi.sets
    contact = sets.kind[b] == ROUND_CONE or sets.kind[b] == POLYHEDRAL_CONE
    for e in range(sets.first[b], sets.first[b + 1]):
        vi.rough[e] = vi.enough[b]
        if contact:
            most = _OF_SLIP * slip
            if e == sets.first[b + 1] - 1 and sets.offset[b] > 0.0:
                most = min(most, _OF_DEPTH_ROUGHLY * sets.offset[b])
            vi.rough[e] = max(vi.enough[b], most / vi.length[b])


@jit
def _largest_motion(vi: AffineVI, free: Array) -> float:
    """The largest motion that an inequality knows of, whose rounding errors it has [m]."""
    most = 0.0
    for b in range(vi.n_dofs.size):
        for e in range(vi.motion.shape[1]):
            moved = abs(vi.motion[b, e])
            for s in range(vi.n_dofs[b]):
                moved += abs(vi.J_motion[b, e, s] * free[vi.dofs[b, s]])
            most = max(most, moved * (vi.length[b] * vi.sets.rho[b]))
    return most


@jit
def _state_cone(
    system: System, at: StageIterate, b: int, R: Array, motions: Array, vi: AffineVI
) -> None:
    """Friction and bound of a contact: the tangent of k d^p at a depth from below the solution's.

    It is the depth of the force, but not beyond that of the force that would stop what falls
    freely, or what the other forces press, which is the largest of those that could be the
    solution. What is apart is not pressed yet.
    """
    row, cone, sets = at.active[b], system.cone, vi.sets
    depth, stiffness = at.places.depth[row], at.places.stiffness[row]
    sets.friction[b], vi.depth[b] = at.places.friction[row], depth
    pressed, falling = depth, depth
    for s in range(vi.n_dofs[b]):
        vi.of_depth[b, s] = -vi.J_force[b, 2, s]
        pressed += vi.of_depth[b, s] * motions[vi.dofs[b, s], 0]
        falling += vi.of_depth[b, s] * motions[vi.dofs[b, s], 1]
    if depth > 0.0:
        falling = max(falling, pressed)
    if not stiffness < math.inf:
        return
    load = max(at.w[row, 2], 0.0)
    give = compliance_of(R[b], vi.J_force[b], vi.n_dofs[b], 2)
    stopping = max(falling, 0.0) / give if give > 0.0 else 0.0
    most = depth_of_force(cone, stiffness, max(load, stopping))
    chosen = min(max(depth, depth_of_force(cone, stiffness, load)), most) if depth > 0.0 else most
    chosen = max(chosen, _LEAST_DEPTH)
    sets.compliance[b] = 1.0 / (cone.power * stiffness * chosen ** (cone.power - 1))
    sets.offset[b] = chosen * (1.0 - 1.0 / cone.power)


@jit
def _state_interval(system: System, at: StageIterate, b: int, j: int, vi: AffineVI) -> None:
    """Dry friction and stops of a joint."""
    joints, sets = system.joints, vi.sets
    sets.kind[b], sets.friction[b] = INTERVAL, joints.friction[j]
    for s in range(vi.n_dofs[b]):
        vi.of_depth[b, s] = vi.J_force[b, 0, s]
    if joints.coordinates[j] < 0:
        return
    x = at.q[joints.coordinates[j]]
    sets.stops[b, 0] = joints.stiffness[j]
    sets.stops[b, 1] = max(joints.lower[j] - x, -_FAR_STOP)
    sets.stops[b, 2] = max(x - joints.upper[j], -_FAR_STOP)
