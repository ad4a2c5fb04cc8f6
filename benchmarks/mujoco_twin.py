"""A robot of ours as a MuJoCo model: the same tree, inertias, contact spheres and PD servos.

A body with a surface of boxes has these as geoms instead of its spheres, as a passive box has. The
friction coefficient of a contact is that of the touched surface, as ours: by the priority of geoms.
"""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pinocchio as pin

from nmdp_pin._robot import Robot
from nmdp_pin._terrain import Box

Reference = Callable[[float], tuple[np.ndarray, np.ndarray]]


def mjcf(robot: Robot, height: float, friction: float, kp: float, kd: float) -> str:
    """The robot on a plane, in MuJoCo's language.

    Args:
        robot: hinges and slides behind a fixed, planar or free-flyer base, and free boxes.
        height: of the plane [m].
        friction: coefficient of its contacts.
        kp: position gain of the driven joints [N m/rad].
        kd: velocity gain [N m s/rad].
    """
    model = robot.model
    children: dict[int, list[int]] = {j: [] for j in range(model.njoints)}
    for j in range(1, model.njoints):
        children[int(model.parents[j])].append(j)
    geoms = {j: [_box(shape) for shape in surface.shapes] for j, surface in robot.surfaces.items()}
    points, n = robot.contact_points, robot.contact_points.n_terrain
    for j, p, r in zip(points.joints[:n], points.positions[:n], points.radii[:n], strict=True):
        if int(j) not in robot.surfaces:
            size = max(float(r), 1e-4)
            geoms.setdefault(int(j), []).append(
                f'<geom type="sphere" size="{size}" pos="{_text(p)}" mass="0" contype="1" '
                'conaffinity="0"/>'
            )

    def body(j: int) -> str:
        M, joint = model.jointPlacements[j], model.joints[j]
        if joint.nv == 3 and joint.nq == 3:  # translation, with the spherical joint behind it
            (spherical,) = children[j]
            return f"<body><freejoint/>{inside(spherical)}</body>"
        return (
            f'<body pos="{_text(M.translation)}" quat="{_quaternion(M.rotation)}">'
            f"{_joint(model, j)}{inside(j)}</body>"
        )

    def inside(j: int) -> str:
        inertia = model.inertias[j]
        own = ""
        if inertia.mass > 0.0:
            I = inertia.inertia
            full = _text([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
            own = (
                f'<inertial pos="{_text(inertia.lever)}" mass="{inertia.mass}" '
                f'fullinertia="{full}"/>'
            )
        return own + "".join(geoms.get(j, [])) + "".join(map(body, children[j]))

    driven = set(np.asarray(robot.driven).tolist())
    servos = "".join(
        f'<general joint="{model.names[j]}" gainprm="{kp}" biastype="affine" '
        f'biasprm="0 {-kp} {-kd}"/>'
        for j in range(1, model.njoints)
        if model.joints[j].nv == 1 and model.joints[j].idx_v in driven
    )
    return (
        '<mujoco><compiler angle="radian" inertiafromgeom="false" balanceinertia="true" '
        'boundmass="1e-9" boundinertia="1e-12"/>'
        '<option integrator="implicitfast" cone="elliptic" iterations="100" tolerance="1e-10" '
        f'gravity="{_text(model.gravity.linear)}"/>'
        f'<worldbody><geom type="plane" size="0 0 1" pos="0 0 {height}" contype="0" '
        f'conaffinity="1" priority="2" friction="{friction} 0.005 0.0001"/>'
        f"{''.join(map(body, children[0]))}</worldbody><actuator>{servos}</actuator></mujoco>"
    )


class Twin:
    """A MuJoCo simulation of a robot that follows a reference.

    Args:
        robot: see `mjcf`.
        reference: targets (nq,) and rates (nv,) at a time.
        height: of the plane [m].
        friction: coefficient of its contacts.
        kp: position gain [N m/rad].
        kd: velocity gain [N m s/rad].

    Attributes:
        model: of MuJoCo.
        velocities: our indices of the velocities of the servos, in MuJoCo's order.
    """

    def __init__(
        self,
        robot: Robot,
        reference: Reference,
        *,
        height: float,
        friction: float,
        kp: float,
        kd: float,
    ) -> None:
        self.model = mujoco.MjModel.from_xml_string(mjcf(robot, height, friction, kp, kd))
        joints = [j for j in list(robot.model.joints)[1:] if j.nv == 1]
        driven = set(np.asarray(robot.driven).tolist())
        served = [j for j in joints if j.idx_v in driven]
        self._q = np.array([j.idx_q for j in served])
        self.velocities = np.array([j.idx_v for j in served])
        self._reference, self._ratio = reference, kd / kp
        self._order = np.arange(robot.model.nq)  # of our configuration in MuJoCo's
        for joint in list(robot.model.joints)[1:]:
            if (joint.nq, joint.nv) == (4, 3):  # x, y, z, w here, w first there
                i = joint.idx_q
                self._order[i : i + 4] = [i + 3, i, i + 1, i + 2]

    def controls(self, h: float, steps: int) -> np.ndarray:
        """Servo targets at the ends of the steps, moved so that rates are tracked too."""
        rows = []
        for k in range(steps):
            q, v = self._reference((k + 1) * h)
            rows.append(q[self._q] + self._ratio * v[self.velocities])
        return np.array(rows)

    def state(self, q: np.ndarray) -> mujoco.MjData:
        """The state at a configuration of ours, at rest."""
        data = mujoco.MjData(self.model)
        data.qpos[:] = q[self._order]
        return data

    def configuration(self, data: mujoco.MjData) -> np.ndarray:
        """The configuration as ours, shape (nq,)."""
        q = np.empty_like(data.qpos)
        q[self._order] = data.qpos
        return q


def _joint(model: pin.Model, j: int) -> str:
    """A hinge or a slide."""
    data = model.createData()
    q = pin.neutral(model)
    pin.computeJointJacobians(model, data, q)
    joint = model.joints[j]
    if joint.nv != 1:
        raise ValueError(f"joint {model.names[j]} has {joint.nv} freedoms: only 1 is known here")
    motion = data.oMi[j].actInv(pin.Motion(data.J[:, joint.idx_v]))
    hinge = np.abs(motion.angular).max() > 0.5
    axis = motion.angular if hinge else motion.linear
    kind = "hinge" if hinge else "slide"
    damping, armature = model.damping[joint.idx_v], model.armature[joint.idx_v]
    return (
        f'<joint name="{model.names[j]}" type="{kind}" axis="{_text(axis)}" damping="{damping}" '
        f'armature="{armature}"/>'
    )


def _box(shape: object) -> str:
    """A box of the surface of a body."""
    if not isinstance(shape, Box):
        raise ValueError(f"surface of {type(shape).__name__}: only boxes are known here")
    half, place = np.array(shape.size) / 2.0, shape.position
    turn = _quaternion(pin.rpy.rpyToMatrix(*shape.rpy))
    return (
        f'<geom type="box" size="{_text(half)}" pos="{_text(place)}" quat="{turn}" mass="0" '
        f'contype="1" conaffinity="1" priority="1" friction="{shape.coefficient} 0.005 0.0001"/>'
    )


def _text(values: object) -> str:
    return " ".join(repr(float(x)) for x in values)  # type: ignore[attr-defined]


def _quaternion(R: np.ndarray) -> str:
    q = pin.Quaternion(R)
    return _text([q.w, q.x, q.y, q.z])
