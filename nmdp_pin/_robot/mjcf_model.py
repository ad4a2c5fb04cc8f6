"""Joints, bodies, geometry and motors of a compiled MJCF file as models of pinocchio."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin._robot.model import FREE_JOINTS, PLANAR_JOINTS
from nmdp_pin._terrain.coal_mesh import triangle_geometry

FREE, BALL, SLIDE = range(3)  # `mujoco.mjtJoint`; 3 is a hinge
_GREY = np.array([0.5, 0.5, 0.5, 1.0], dtype=np.float32)  # of geometry that has no color


@dataclass(frozen=True, eq=False)
class Motors:
    """What the actuators of an MJCF file do at its joints, in the order of MuJoCo's v, (nv,)."""

    driven: list[int]  # joints with a motor, as indices of MuJoCo
    effort: np.ndarray  # largest magnitude [N m or N]
    armature: np.ndarray  # of the rotors [kg m^2 or kg]
    damping: np.ndarray  # [N m s/rad or N s/m]
    kp: np.ndarray  # [N m/rad or N/m]
    kd: np.ndarray  # [N m s/rad or N s/m]
    left_out: list[str]  # what is not simulated, one sentence each


def motors_of(m: Any, names: Sequence[str]) -> Motors:
    """The motors of a model.

    An actuator of a hinge or slide has the force gear (gain u + bias), where gain and bias are
    those of a motor (torque u), or of a servo of position or velocity. The effort that bounds it
    follows from `forcerange`, from the `ctrlrange` of a motor and from `actuatorfrcrange`.
    """
    from mujoco import mjtBias, mjtDyn, mjtGain, mjtJoint, mjtTrn

    reach = np.zeros((m.nv, 2))  # least and largest effort
    armature, damping, kp, kd = np.zeros((4, m.nv))
    motors: dict[int, int] = {}  # joint by dof
    left_out: dict[str, list[str]] = {}
    for a in range(m.nactuator):
        name, joint = f"'{m.actuator(a).name or a}'", int(m.actuator_trnid[a, 0])
        gear, control = m.actuator_gear[m.actuator_outadr[a], 0], m.actuator_ctrladr[a]
        at_joint = m.actuator_trntype[a] <= int(mjtTrn.mjTRN_JOINTINPARENT)
        if not (at_joint and m.jnt_type[joint] >= int(mjtJoint.mjJNT_SLIDE) and gear != 0.0):
            left_out.setdefault("actuators that move no hinge or slide", []).append(name)
            continue
        v = int(m.jnt_dofadr[joint])
        motors[v] = joint
        armature[v] += gear**2 * m.actuator_armature[a]
        damping[v] += gear**2 * m.actuator_damping[a]
        fixed = m.actuator_gaintype[a] == mjtGain.mjGAIN_FIXED
        plain = m.actuator_dyntype[a] == mjtDyn.mjDYN_NONE and m.actuator_plugin[a] < 0
        biased = m.actuator_biastype[a] != mjtBias.mjBIAS_NONE
        bias, force = m.actuator_biasprm[a, :3], np.array([-np.inf, np.inf])
        if m.actuator_ctrlnum[a] and m.actuator_ctrllimited[control]:
            if fixed and plain and not biased:
                force = np.sort(m.actuator_gainprm[a, 0] * m.actuator_ctrlrange[control])
            else:
                what = "ranges of controls (ctrlrange) that are no torques, of"
                left_out.setdefault(what, []).append(name)
        affine = m.actuator_biastype[a] == mjtBias.mjBIAS_AFFINE
        if fixed and affine and bias[0] == 0.0 and (bias[1:] <= 0.0).all():
            kp[v] -= gear**2 * bias[1]
            kd[v] -= gear**2 * bias[2]
            biased = False
        if m.actuator_forcelimited[a]:
            force = np.clip(force, *m.actuator_forcerange[a])
        if not (fixed and plain) or biased or m.actuator_dampingpoly[a].any():
            what = "activations, gains and biases that are not those of a motor or servo, of"
            left_out.setdefault(what, []).append(name)
        reach[v] += np.sort(gear * force)
    for v, joint in motors.items():
        if m.jnt_actfrclimited[joint]:
            reach[v] = np.clip(reach[v], *m.jnt_actfrcrange[joint])
    effort = np.abs(reach).max(axis=1, initial=0.0)
    said = [f"not simulated: {what}: {', '.join(some)}" for what, some in left_out.items()]
    lopsided = [f"'{names[joint]}'" for v, joint in motors.items() if -reach[v, 0] != reach[v, 1]]
    if lopsided:
        said.append(
            "motors that are stronger in one direction are as strong in the other: "
            + ", ".join(lopsided)
        )
    driven = sorted(joint for v, joint in motors.items() if effort[v] > 0.0)
    return Motors(driven, effort, armature, damping, kp, kd, said)


class MjcfModel:
    """The bodies of a `mujoco.MjModel` that joints carry, and those between them and the world."""

    def __init__(self, m: Any) -> None:
        from mujoco import mjtDisableBit

        self.model, self._m = pin.Model(), m
        # joint and frame of each body, and its placement in the frame of that joint
        self.at: dict[int, tuple[int, int, pin.SE3]] = {0: (0, 0, pin.SE3.Identity())}
        given = [m.joint(j).name for j in range(m.njnt)]
        self.joints = _unique(given, "joint", ("universe", *FREE_JOINTS, *PLANAR_JOINTS))
        # joints of which the name was taken, and their new names
        self.renamed = {a: b for a, b in zip(given, self.joints, strict=True) if a and a != b}
        self._bodies = _unique([m.body(b).name for b in range(m.nbody)], "body", ("universe",))
        roots = {int(m.body_rootid[body]) for body in m.jnt_bodyid}
        # the only body of the world that moves has a free joint, which the model is without
        self.floats = len(roots) == 1 and m.jnt_type[0] == FREE
        for body in range(1, m.nbody):
            if not roots or int(m.body_rootid[body]) in roots:
                self._add_body(body)
        for k in range(m.nsite):
            name, body = m.site(k).name, int(m.site_bodyid[k])
            if name and body in self.at and not self.model.existFrame(name):
                joint, parent, place = self.at[body]
                place = place * _placement(m.site_pos[k], m.site_quat[k])
                self.model.addFrame(pin.Frame(name, joint, parent, place, pin.OP_FRAME))
        off = m.opt.disableflags & mjtDisableBit.mjDSBL_GRAVITY
        self.model.gravity.linear = np.zeros(3) if off else m.opt.gravity

    def set_bounds(self, motors: Motors) -> None:
        """Ranges, efforts, dry friction, damping and rotors of the joints, in place."""
        m, model = self._m, self.model
        moved = slice(6 if self.floats else 0, None)
        model.armature[:] = (m.dof_armature + motors.armature)[moved]
        model.damping[:] = (m.dof_damping + motors.damping)[moved]
        model.upperDryFrictionLimit[:] = m.dof_frictionloss[moved]
        model.lowerDryFrictionLimit[:] = -m.dof_frictionloss[moved]
        for j in np.flatnonzero(m.jnt_type >= SLIDE):
            joint = model.joints[model.getJointId(self.joints[j])]
            if m.jnt_limited[j]:
                model.lowerPositionLimit[joint.idx_q] = m.jnt_range[j, 0]
                model.upperPositionLimit[joint.idx_q] = m.jnt_range[j, 1]
            effort = motors.effort[m.jnt_dofadr[j]]
            if effort > 0.0:
                model.upperEffortLimit[joint.idx_v] = effort
                model.lowerEffortLimit[joint.idx_v] = -effort

    def posture(self, qpos: np.ndarray) -> tuple[dict[str, float | np.ndarray], pin.SE3]:
        """Positions of the joints by name, and the placement of a floating base, at qpos, (nq,)."""
        root, found = pin.SE3.Identity(), dict[str, float | np.ndarray]()
        for name, kind, k in zip(self.joints, self._m.jnt_type, self._m.jnt_qposadr, strict=True):
            if kind >= SLIDE:
                found[name] = float(qpos[k])
            elif kind == BALL:
                found[name] = _turn(qpos[k : k + 4]).coeffs()
            elif self.floats:
                root = _placement(qpos[k : k + 3], qpos[k + 3 : k + 7])
            else:
                found[name] = np.array(qpos[k : k + 3])
                turned = self.model.names[self.model.getJointId(name) + 1]
                found[str(turned)] = _turn(qpos[k + 3 : k + 7]).coeffs()
        return found, root

    def geometry(self, wanted: np.ndarray) -> pin.GeometryModel:
        """Geometry of the bodies that is wanted, (ngeom,), without planes and height fields."""
        m, shapes = self._m, pin.GeometryModel()
        names = _unique([m.geom(k).name for k in range(m.ngeom)], "geom")
        for k in np.flatnonzero(wanted & (m.geom_bodyid != 0)).tolist():
            solid = _solid(m, k) if int(m.geom_bodyid[k]) in self.at else None
            if solid is None:
                continue
            joint, frame, place = self.at[int(m.geom_bodyid[k])]
            place = place * _placement(m.geom_pos[k], m.geom_quat[k])
            shape = pin.GeometryObject(names[k], joint, frame, place, solid)
            color, material = m.geom_rgba[k], int(m.geom_matid[k])
            color = m.mat_rgba[material] if material >= 0 and (color == _GREY).all() else color
            shape.meshColor = np.array(color, dtype=float)
            shapes.addGeometryObject(shape)
        return shapes

    def _add_body(self, body: int) -> None:
        m, model, name = self._m, self.model, self._bodies[body]
        joint, carrier, place = self.at[int(m.body_parentid[body])]
        joints = range(m.body_jntadr[body], m.body_jntadr[body] + m.body_jntnum[body])
        if not (self.floats and 0 in joints):  # a floating base is where its pose says
            place = place * _placement(m.body_pos[body], m.body_quat[body])
            for j in joints:
                joint, place = self._add_joint(j, joint, place)
                carrier = model.getFrameId(model.names[joint], pin.JOINT)
        R = _turn(m.body_iquat[body]).matrix()
        tensor = R @ np.diag(m.body_inertia[body]) @ R.T
        inertia = pin.Inertia(m.body_mass[body], m.body_ipos[body], tensor)
        model.appendBodyToJoint(joint, inertia, place)
        self.at[body] = joint, model.addBodyFrame(name, joint, place, carrier), place

    def _add_joint(self, j: int, parent: int, place: pin.SE3) -> tuple[int, pin.SE3]:
        """Add a joint of a body; returns it, and the placement of the body in its frame."""
        m, name, axis = self._m, self.joints[j], self._m.jnt_axis[j]
        if m.jnt_type[j] == FREE:  # its position is that in the world
            moved = self._append(0, pin.JointModelTranslation(), pin.SE3.Identity(), name)
            (turned,) = _unique([f"{name}_rotation"], "", self.joints)
            moved = self._append(moved, pin.JointModelSpherical(), pin.SE3.Identity(), turned)
            return moved, pin.SE3.Identity()
        anchor, zero = pin.SE3(np.eye(3), m.jnt_pos[j]), pin.SE3.Identity()
        back = -m.qpos0[m.jnt_qposadr[j]] * axis
        if m.jnt_type[j] == BALL:
            kind = pin.JointModelSpherical()
        elif m.jnt_type[j] == SLIDE:
            kind, zero.translation = pin.JointModelPrismaticUnaligned(axis), back
        else:
            kind, zero.rotation = pin.JointModelRevoluteUnaligned(axis), pin.exp3(back)
        return self._append(parent, kind, place * anchor * zero, name), anchor.inverse()

    def _append(self, parent: int, kind: pin.JointModel, place: pin.SE3, name: str) -> int:
        joint = self.model.addJoint(parent, kind, place, name)
        self.model.addJointFrame(joint)
        return int(joint)


def _solid(m: Any, k: int) -> coal.CollisionGeometry | None:
    """Geometry in its own frame; None: a plane or a height field."""
    from mujoco import mjtGeom

    x, y, z = m.geom_size[k].tolist()
    match m.geom_type[k]:
        case mjtGeom.mjGEOM_SPHERE:
            return coal.Sphere(x)
        case mjtGeom.mjGEOM_CAPSULE:
            return coal.Capsule(x, 2.0 * y)
        case mjtGeom.mjGEOM_CYLINDER:
            return coal.Cylinder(x, 2.0 * y)
        case mjtGeom.mjGEOM_BOX:
            return coal.Box(2.0 * x, 2.0 * y, 2.0 * z)
        case mjtGeom.mjGEOM_ELLIPSOID:
            return coal.Ellipsoid(x, y, z)
        case mjtGeom.mjGEOM_MESH | mjtGeom.mjGEOM_SDF:
            mesh = m.mesh(int(m.geom_dataid[k])).id
            first, begin = int(m.mesh_vertadr[mesh]), int(m.mesh_faceadr[mesh])
            vertices = m.mesh_vert[first : first + int(m.mesh_vertnum[mesh])]
            faces = m.mesh_face[begin : begin + int(m.mesh_facenum[mesh])]
            return triangle_geometry(np.array(vertices, dtype=float), faces)
    return None


def _placement(position: np.ndarray, turn: np.ndarray) -> pin.SE3:
    """Placement of a position and a quaternion (w, x, y, z)."""
    return pin.SE3(_turn(turn), np.array(position))


def _turn(values: np.ndarray) -> pin.Quaternion:
    """Unit quaternion of (w, x, y, z); that of no rotation for zeros, as MuJoCo has it."""
    return pin.Quaternion(*values).normalized() if values.any() else pin.Quaternion.Identity()


def _unique(given: list[str], word: str, taken: Sequence[str] = ()) -> list[str]:
    """The names, with others for those that are empty or taken."""
    known, found = {*given, *taken}, []
    for k, name in enumerate(given):
        new = name or f"{word}{k}"
        while new in known and (not name or name in taken):
            new += "_"
        found.append(new)
    return found
