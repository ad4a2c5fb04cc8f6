"""Joints, bodies and geometry of a compiled MJCF file as models of pinocchio."""

import functools
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin._robot.lift import Lifted
from nmdp_pin._robot.mjcf_motors import Motors, unique
from nmdp_pin._robot.mjcf_tendons import BALL, FREE, SLIDE, Line
from nmdp_pin._robot.model import FREE_JOINTS, RESERVED
from nmdp_pin._robot.spring import Spring
from nmdp_pin._terrain.coal_mesh import triangle_geometry

_LIGHT = 1e-6  # mass of a tendon's slide, as a share of the inertia of the joints along it
_GREY = np.array([0.5, 0.5, 0.5, 1.0], dtype=np.float32)  # of geometry that has no color


class MjcfModel:
    """The bodies of a `mujoco.MjModel` that joints carry, and those between them and the world.

    Args:
        m: the model.
        mocap: whether its mocap bodies are bodies that may move; else they stand still.

    Attributes:
        scripted: joints of the mocap bodies.
        moving: whether a body may move, (nbody,).
    """

    def __init__(self, m: Any, *, mocap: bool = False) -> None:
        from mujoco import mjtDisableBit, mjtGeom

        self.model, self._m = pin.Model(), m
        self._solid_of = functools.cache(lambda k: solid_of(m, k))  # drawn and touching
        # joint and frame of each body, and its placement in the frame of that joint
        self.at: dict[int, tuple[int, int, pin.SE3]] = {0: (0, 0, pin.SE3.Identity())}
        given = [m.joint(j).name for j in range(m.njnt)]
        self.joints = unique(given, "joint", RESERVED)
        # joints of which the name was taken, and their new names
        self.renamed = {a: b for a, b in zip(given, self.joints, strict=True) if a and a != b}
        self.bodies = unique([m.body(b).name for b in range(m.nbody)], "body", ("universe",))
        hands = np.flatnonzero(m.body_mocapid >= 0).tolist() if mocap else []
        # joints of mocap bodies, by which `Scripted` finds them as free bodies
        self._hands = {k: [f"{self.bodies[k]}/{base}" for base in FREE_JOINTS] for k in hands}
        self.scripted = [name for names in self._hands.values() for name in names]
        self.geoms = unique([m.geom(k).name for k in range(m.ngeom)], "geom")
        self.moving = (m.body_treeid >= 0) | np.isin(m.body_rootid, hands)
        roots = {int(m.body_rootid[body]) for body in np.flatnonzero(self.moving)}
        # the only body of the world that moves has a free joint, which the model is without
        self.floats = len(roots) == 1 and m.njnt > 0 and m.jnt_type[0] == FREE
        # geometry that bodies cannot have here
        self.flat = np.isin(m.geom_type, [int(mjtGeom.mjGEOM_PLANE), int(mjtGeom.mjGEOM_HFIELD)])
        for body in range(1, m.nbody):
            if not roots or int(m.body_rootid[body]) in roots:
                self._add_body(body)
        for k in range(m.nsite):
            name, body = m.site(k).name, int(m.site_bodyid[k])
            if name and body in self.at and not self.model.existFrame(name):
                joint, parent, place = self.at[body]
                place = place * placement(m.site_pos[k], m.site_quat[k])
                self.model.addFrame(pin.Frame(name, joint, parent, place, pin.OP_FRAME))
        off = m.opt.disableflags & mjtDisableBit.mjDSBL_GRAVITY
        self.model.gravity.linear = np.zeros(3) if off else m.opt.gravity

    def set_bounds(self, motors: Motors) -> None:
        """Ranges, efforts, dry friction, damping and rotors of the joints, in place."""
        m, model = self._m, self.model
        for line in motors.lines:
            self._add_line(line)
        moved, own = slice(6 if self.floats else 0, None), np.ones(model.nv, dtype=bool)
        for name in [*self.scripted, *(line.tendon.joint for line in motors.lines)]:
            joint = model.joints[model.getJointId(name)]
            own[joint.idx_v : joint.idx_v + joint.nv] = False
        model.armature[own] = (m.dof_armature + motors.armature)[moved]
        model.damping[own] = (m.dof_damping + motors.damping)[moved]
        model.upperDryFrictionLimit[own] = m.dof_frictionloss[moved]
        model.lowerDryFrictionLimit[own] = -m.dof_frictionloss[moved]
        for j in np.flatnonzero((m.jnt_type >= SLIDE) & (m.jnt_limited != 0)):
            joint = model.joints[model.getJointId(self.joints[j])]
            model.lowerPositionLimit[joint.idx_q] = m.jnt_range[j, 0]
            model.upperPositionLimit[joint.idx_q] = m.jnt_range[j, 1]
        for name, effort in motors.effort.items():
            joint = model.joints[model.getJointId(name)]
            if effort > 0.0:
                model.upperEffortLimit[joint.idx_v] = effort
                model.lowerEffortLimit[joint.idx_v] = -effort

    def _add_line(self, line: Line) -> None:
        """Add a tendon's slide, across gravity, which does not pull along it."""
        m, model, g = self._m, self.model, self.model.gravity.linear
        axis = np.eye(3)[np.argmin(np.abs(g))]
        axis = axis - g * (g @ axis) / max(g @ g, np.finfo(float).tiny)
        kind = pin.JointModelPrismaticUnaligned(axis / np.linalg.norm(axis))
        joint = model.joints[self._append(0, kind, pin.SE3.Identity(), line.tendon.joint)]
        light = _LIGHT * min(
            m.dof_M0[m.jnt_dofadr[self.joints.index(name)]] / arm**2
            for name, arm in line.tendon.arms.items()
        )
        model.appendBodyToJoint(
            joint.id, pin.Inertia(light, np.zeros(3), np.zeros((3, 3))), pin.SE3.Identity()
        )
        model.lowerPositionLimit[joint.idx_q], model.upperPositionLimit[joint.idx_q] = line.range
        model.armature[joint.idx_v], model.damping[joint.idx_v] = line.rotor, line.damping
        model.upperDryFrictionLimit[joint.idx_v] = line.friction
        model.lowerDryFrictionLimit[joint.idx_v] = -line.friction

    def posture(self, qpos: np.ndarray) -> tuple[dict[str, float | np.ndarray], pin.SE3]:
        """Positions of the joints by name, and the placement of a floating base, at qpos, (nq,)."""
        root, found = pin.SE3.Identity(), dict[str, float | np.ndarray]()
        for name, kind, k in zip(self.joints, self._m.jnt_type, self._m.jnt_qposadr, strict=True):
            if kind >= SLIDE:
                found[name] = float(qpos[k])
            elif kind == BALL:
                found[name] = _turn(qpos[k : k + 4]).coeffs()
            elif self.floats:
                root = placement(qpos[k : k + 3], qpos[k + 3 : k + 7])
            else:
                found[name] = np.array(qpos[k : k + 3])
                turned = self.model.names[self.model.getJointId(name) + 1]
                found[str(turned)] = _turn(qpos[k + 3 : k + 7]).coeffs()
        return found, root

    def of_mocap(self, key: int | None) -> dict[str, np.ndarray]:
        """Positions of the joints of mocap bodies at a keyframe; None: as they are drawn."""
        m, found = self._m, dict[str, np.ndarray]()
        for body, names in self._hands.items():
            n, at, turn = m.body_mocapid[body], m.body_pos[body], m.body_quat[body]
            if key is not None:
                at, turn = m.key_mpos[key].reshape(-1, 3)[n], m.key_mquat[key].reshape(-1, 4)[n]
            found |= zip(names, (np.array(at), _turn(turn).coeffs()), strict=True)
        return found

    def springs(self) -> tuple[Spring, ...]:
        """Springs of the joints but for those of a floating base."""
        from mujoco import mjtDisableBit

        m, found = self._m, list[Spring]()
        if m.opt.disableflags & mjtDisableBit.mjDSBL_SPRING:
            return ()
        for j in np.flatnonzero(m.jnt_stiffness).tolist():
            name, k, at = self.joints[j], float(m.jnt_stiffness[j]), int(m.jnt_qposadr[j])
            rest = m.qpos_spring[at:]
            if m.jnt_type[j] >= SLIDE:
                found.append(Spring(name, k, float(rest[0])))
            elif m.jnt_type[j] == BALL:
                found.append(Spring(name, k, _turn(rest[:4]).coeffs()))
            elif not self.floats:
                turned = str(self.model.names[self.model.getJointId(name) + 1])
                found += (
                    Spring(name, k, rest[:3].copy()),
                    Spring(turned, k, _turn(rest[3:7]).coeffs()),
                )
        return tuple(found)

    def lifted(self) -> Lifted:
        """Masses of bodies that gravity does not pull."""
        m = self._m
        return {
            self.bodies[body]: (float(m.body_gravcomp[body] * m.body_mass[body]), m.body_ipos[body])
            for body in np.flatnonzero(m.body_gravcomp * m.body_mass).tolist()
            if body in self.at
        }

    def apart(self) -> frozenset[frozenset[str]]:
        """Pairs of bodies that never touch: by their masks, or since they are excluded."""
        m, types = self._m, self._m.body_contype[:, None]
        meets = types & m.body_conaffinity
        meets |= meets.T
        first, second = np.divmod(m.exclude_signature, 1 << 16)
        meets[[*first, *second], [*second, *first]] = 0
        first, second = m.geom_bodyid[m.pair_geom1], m.geom_bodyid[m.pair_geom2]
        meets[[*first, *second], [*second, *first]] = 1
        names = self.bodies
        return frozenset(frozenset({names[a], names[b]}) for a, b in np.argwhere(meets == 0))

    def geometry(self, wanted: np.ndarray) -> pin.GeometryModel:
        """Geometry of the bodies that is wanted, (ngeom,), without planes and height fields."""
        m, shapes = self._m, pin.GeometryModel()
        for k in np.flatnonzero(wanted & (m.geom_bodyid != 0)).tolist():
            solid = self._solid_of(k) if int(m.geom_bodyid[k]) in self.at else None
            if solid is None:
                continue
            joint, frame, place = self.at[int(m.geom_bodyid[k])]
            place = place * placement(m.geom_pos[k], m.geom_quat[k])
            shape = pin.GeometryObject(self.geoms[k], joint, frame, place, solid)
            color, material = m.geom_rgba[k], int(m.geom_matid[k])
            color = m.mat_rgba[material] if material >= 0 and (color == _GREY).all() else color
            shape.meshColor = np.array(color, dtype=float)
            shapes.addGeometryObject(shape)
        return shapes

    def sites(self) -> list[tuple[str, pin.SE3] | None]:
        """Body of each site, and where it is there; None where nothing moves it."""
        m = self._m
        return [
            (self.bodies[body], placement(m.site_pos[k], m.site_quat[k]))
            if body in self.at and self.moving[body]
            else None
            for k, body in enumerate(m.site_bodyid.tolist())
        ]

    def still_place(self, body: int) -> pin.SE3:
        """Placement in the world of a body that does not move."""
        m, place = self._m, pin.SE3.Identity()
        while body > 0:
            place = placement(m.body_pos[body], m.body_quat[body]) * place
            body = int(m.body_parentid[body])
        return place

    def _add_body(self, body: int) -> None:
        m, model, name = self._m, self.model, self.bodies[body]
        joint, carrier, place = self.at[int(m.body_parentid[body])]
        joints = range(m.body_jntadr[body], m.body_jntadr[body] + m.body_jntnum[body])
        if body in self._hands:
            joint, place = self._add_free(*self._hands[body]), pin.SE3.Identity()
            carrier = model.getFrameId(model.names[joint], pin.JOINT)
        elif not (self.floats and 0 in joints):  # a floating base is where its pose says
            place = place * placement(m.body_pos[body], m.body_quat[body])
            for j in joints:
                joint, place = self._add_joint(j, joint, place)
                carrier = model.getFrameId(model.names[joint], pin.JOINT)
        R = _turn(m.body_iquat[body]).matrix()
        tensor = R @ np.diag(m.body_inertia[body]) @ R.T
        inertia = pin.Inertia(m.body_mass[body], m.body_ipos[body], tensor)
        if body in self._hands and not m.body_mass[body] > 0.0:  # no force depends on it
            inertia = pin.Inertia.FromSphere(1.0, 0.1)
        model.appendBodyToJoint(joint, inertia, place)
        self.at[body] = joint, model.addBodyFrame(name, joint, place, carrier), place

    def _add_joint(self, j: int, parent: int, place: pin.SE3) -> tuple[int, pin.SE3]:
        """Add a joint of a body; returns it, and the placement of the body in its frame."""
        m, name, axis = self._m, self.joints[j], self._m.jnt_axis[j]
        if m.jnt_type[j] == FREE:  # its position is that in the world
            (turned,) = unique([f"{name}_rotation"], "", self.joints)
            return self._add_free(name, turned), pin.SE3.Identity()
        anchor, zero = pin.SE3(np.eye(3), m.jnt_pos[j]), pin.SE3.Identity()
        back = -m.qpos0[m.jnt_qposadr[j]] * axis
        if m.jnt_type[j] == BALL:
            kind = pin.JointModelSpherical()
        elif m.jnt_type[j] == SLIDE:
            kind, zero.translation = pin.JointModelPrismaticUnaligned(axis), back
        else:
            kind, zero.rotation = pin.JointModelRevoluteUnaligned(axis), pin.exp3(back)
        return self._append(parent, kind, place * anchor * zero, name), anchor.inverse()

    def _add_free(self, moves: str, turns: str) -> int:
        """Add the joints of a free body, of these names; returns the second one."""
        moved = self._append(0, pin.JointModelTranslation(), pin.SE3.Identity(), moves)
        return self._append(moved, pin.JointModelSpherical(), pin.SE3.Identity(), turns)

    def _append(self, parent: int, kind: pin.JointModel, place: pin.SE3, name: str) -> int:
        joint = self.model.addJoint(parent, kind, place, name)
        self.model.addJointFrame(joint)
        return int(joint)


def solid_of(m: Any, k: int) -> coal.CollisionGeometry | None:
    """Geometry in its own frame; None: a plane or a height field."""
    from mujoco import mjtGeom

    size, kind = m.geom_size[k], mjtGeom(m.geom_type[k])
    if kind in (mjtGeom.mjGEOM_MESH, mjtGeom.mjGEOM_SDF):
        mesh = m.mesh(int(m.geom_dataid[k])).id
        first, begin = int(m.mesh_vertadr[mesh]), int(m.mesh_faceadr[mesh])
        vertices = m.mesh_vert[first : first + int(m.mesh_vertnum[mesh])]
        faces = m.mesh_face[begin : begin + int(m.mesh_facenum[mesh])]
        return triangle_geometry(np.array(vertices, dtype=float), faces)
    primitives = {
        mjtGeom.mjGEOM_SPHERE: (coal.Sphere, size[:1]),
        mjtGeom.mjGEOM_CAPSULE: (coal.Capsule, size[:2] * [1.0, 2.0]),
        mjtGeom.mjGEOM_CYLINDER: (coal.Cylinder, size[:2] * [1.0, 2.0]),
        mjtGeom.mjGEOM_BOX: (coal.Box, size * 2.0),
        mjtGeom.mjGEOM_ELLIPSOID: (coal.Ellipsoid, size),
    }
    make, sizes = primitives.get(kind, (None, size))
    return make(*sizes.tolist()) if make else None


def placement(position: np.ndarray, turn: np.ndarray) -> pin.SE3:
    """Placement of a position and a quaternion (w, x, y, z)."""
    return pin.SE3(_turn(turn), np.array(position))


def _turn(values: np.ndarray) -> pin.Quaternion:
    """Unit quaternion of (w, x, y, z); that of no rotation for zeros, as MuJoCo has it."""
    return pin.Quaternion(*values).normalized() if values.any() else pin.Quaternion.Identity()
