"""Springs of a robot's joints, of its mimic joints and tendons, as arrays for the kernels."""

import numpy as np
import pinocchio as pin

from nmdp_pin._kernels.tree.springs import Springs
from nmdp_pin._robot import Robot

_STATIC_ERROR = 1e-6  # [rad or m] by which the largest static load moves a joint off its primary


def springs_of(robot: Robot, loads: np.ndarray) -> Springs:
    """The springs of a robot.

    Stiff springs hold mimic joints and tendons: an implicit step is stable at any stiffness, and
    damps their oscillations.

    Args:
        robot: the robot.
        loads: largest static load of each dof [N m or N], shape (nv,).
    """
    rows: list[list[tuple[int, int, float]]] = []  # coordinate, dof and factor
    rest, stiffness = list[float](), list[float]()
    balls: list[tuple[int, int, np.ndarray, float]] = []
    for m in robot.limits.mimics:
        (q, v), (other, primary) = (_place(robot.model, name) for name in (m.joint, m.primary))
        rows.append([(q, v, 1.0), (other, primary, -m.multiplier)])
        rest.append(m.offset)
        stiffness.append(max(loads[v], loads[primary]) / _STATIC_ERROR)
    for t in robot.tendons:
        cells = [(*_place(robot.model, name), -arm) for name, arm in t.arms.items()]
        load = max(loads[v] / abs(arm) for _, v, arm in cells)
        if t.joint:
            cells.append((*_place(robot.model, t.joint), 1.0))
            load = max(load, loads[cells[-1][1]])
        rows.append(cells)
        rest.append(t.offset)
        stiffness.append(load / _STATIC_ERROR)
    for spring in robot.springs:
        (q, v), at = _place(robot.model, spring.joint), np.atleast_1d(spring.rest)
        if len(at) == 4:
            balls.append((q, v, at, spring.stiffness))
            continue
        for k, x in enumerate(at.tolist()):
            rows.append([(q + k, v + k, 1.0)])
            rest.append(x)
            stiffness.append(spring.stiffness)
    cells = [cell for row in rows for cell in row]
    return Springs(
        first=np.cumsum([0, *map(len, rows)], dtype=np.int64),
        coordinates=np.array([cell[0] for cell in cells], dtype=np.int64),
        dofs=np.array([cell[1] for cell in cells], dtype=np.int64),
        factors=np.array([cell[2] for cell in cells], dtype=float),
        rest=np.array(rest, dtype=float),
        stiffness=np.array(stiffness, dtype=float),
        ball_coordinates=np.array([ball[0] for ball in balls], dtype=np.int64),
        ball_dofs=np.array([ball[1] for ball in balls], dtype=np.int64),
        ball_rest=np.array([ball[2] for ball in balls], dtype=float).reshape(-1, 4),
        ball_stiffness=np.array([ball[3] for ball in balls], dtype=float),
    )


def _place(model: pin.Model, name: str) -> tuple[int, int]:
    """Indices of the first coordinate and the first dof of a joint."""
    joint = model.joints[model.getJointId(name)]
    return joint.idx_q, joint.idx_v
