"""Closed loops of a robot as arrays for the kernels."""

import numpy as np
import pinocchio as pin

from nmdp_pin._contact.friction_cone import STANDARD_GRAVITY
from nmdp_pin._control.controller import Command
from nmdp_pin._kernels.tree.loops import COUPLING, DISTANCE, POINT, WELD, Loops
from nmdp_pin._robot import Robot
from nmdp_pin._robot.loop import Connect, Coupling, Distance, Grip, Loop, Weld
from nmdp_pin.errors import ControlError

_GIVES = 1e-9  # [m, rad] that a rigid loop gives under the weight of what it holds
_GRIP_GIVES = 1e-12  # the same of a grip, which keeps what it gave in the step before
_LEAST = 1e-6  # compliance of a gap that nothing changes, as a share of the loop's largest
_KINDS = {Connect: POINT, Weld: WELD, Grip: WELD, Distance: DISTANCE, Coupling: COUPLING}


def loops_of(robot: Robot, first: int) -> Loops:
    """The loops of a robot.

    Rigid ones give a little, since loops may hold the same, and not quite: a planar linkage in
    space, whose axes are parallel to their last digits only, is closed by forces as small as that.

    Args:
        robot: the robot.
        first: number of the rows of joints before those of the loops.
    """
    model, loops = robot.model, robot.loops
    n, frames = len(loops), np.zeros((len(loops), 2, 4, 3))
    bodies, coordinates = np.zeros((n, 2), dtype=np.int64), np.full((n, 2), -1, dtype=np.int64)
    polynomials, moving = np.zeros((n, 5)), list[list[tuple[int, float, int]]]()
    owners = np.repeat(np.arange(1, model.njoints), [joint.nv for joint in model.joints[1:]])
    for x, loop in enumerate(loops):
        if isinstance(loop, Coupling):
            names = [loop.joint, *([loop.primary] if loop.primary else [])]
            joints = [model.getJointId(name) for name in names]
            polynomials[x, : len(loop.polynomial)] = loop.polynomial
            coordinates[x, : len(joints)] = [model.joints[joint].idx_q for joint in joints]
            bodies[x, : len(joints)] = joints
            moving.append([(model.joints[joint].idx_v, 1.0, joint) for joint in joints])
            continue
        ends = loop.attached(model)  # type: ignore[attr-defined]
        bodies[x] = [end.joint for end in ends]
        frames[x] = [np.vstack([end.place.rotation.T, end.place.translation]) for end in ends]
        above = [set(model.supports[end.joint]) for end in ends]
        moving.append(
            [
                (dof, 1.0 if owner in above[0] else -1.0, owner)
                for dof, owner in enumerate(owners.tolist())
                if (owner in above[0]) != (owner in above[1])
            ]
        )
    dofs = [row for rows in moving for row in rows]
    return Loops(
        first=first + np.cumsum([0, *(loop.rows for loop in loops)], dtype=np.int64),
        kinds=np.array([_KINDS[type(loop)] for loop in loops], dtype=np.int64),
        bodies=bodies,
        frames=frames,
        lengths=np.array([getattr(loop, "length", 0.0) for loop in loops], dtype=float),
        coordinates=coordinates,
        polynomials=polynomials,
        compliance=_compliances(robot),
        springs=np.array([loop.compliance > 0.0 for loop in loops], dtype=bool),
        grips=np.array([isinstance(loop, Grip) for loop in loops], dtype=bool),
        dof_ranges=np.cumsum([0, *map(len, moving)], dtype=np.int64),
        dofs=np.array([row[0] for row in dofs], dtype=np.int64),
        signs=np.array([row[1] for row in dofs], dtype=float),
        carriers=np.array([row[2] for row in dofs], dtype=np.int64),
    )


def forces_of_gaps(loops: Loops, held: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Forces of the rows of loops that give, 0 of those that do not hold, shape (rows,)."""
    return np.where(held.repeat(np.diff(loops.first)), -gaps / loops.compliance, 0.0)


def held_loops(robot: Robot, command: Command) -> list[bool]:
    """Whether each loop holds in a step: those that are no grips, and grips that are attached.

    Raises:
        ControlError: there is no grip of a pair.
    """
    grips = [loop for loop in robot.loops if isinstance(loop, Grip)]
    known, attached = {(grip.first, grip.second) for grip in grips}, {*command.attached}
    for pair in attached - known:
        raise ControlError(
            f"{pair} cannot be attached: these have a Grip: {sorted(known) or 'none'}"
        )
    return [not isinstance(x, Grip) or (x.first, x.second) in attached for x in robot.loops]


def _compliances(robot: Robot) -> np.ndarray:
    """Compliances of the rows of all loops, shape (rows,)."""
    if not robot.loops:
        return np.zeros(0)
    model, q, rows = robot.model, robot.standing, list[np.ndarray]()
    data = model.createData()
    M = np.triu(pin.crba(model, data, q))
    M += np.triu(M, 1).T
    pin.computeJointJacobians(model, data, q)
    for loop in robot.loops:
        if loop.compliance > 0.0:
            rows.append(np.full(loop.rows, loop.compliance))
            continue
        gives = _GRIP_GIVES if isinstance(loop, Grip) else _GIVES
        rows.append(gives / STANDARD_GRAVITY * _mobilities(loop, model, data, q, M))
    return np.concatenate(rows)


def _mobilities(
    loop: Loop, model: pin.Model, data: pin.Data, q: np.ndarray, M: np.ndarray
) -> np.ndarray:
    """Accelerations of the gaps of a loop by unit forces: the largest of each three rows."""
    _, J = loop.gaps(model, data, q)
    own = np.einsum("ij,ji->i", J, np.linalg.solve(M, J.T))
    for part in (own[:3], own[3:]):
        part[:] = part.max(initial=0.0)
    result: np.ndarray = np.maximum(own, _LEAST * own.max())
    return result
