"""Description of a robot from an MJCF file, as MuJoCo compiles it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nmdp_pin.errors import RobotError
from nmdp_pin.robot.description import Description
from nmdp_pin.robot.joint_limits import Mimic
from nmdp_pin.robot.mjcf_file import compile_mjcf
from nmdp_pin.robot.mjcf_left_out import left_out
from nmdp_pin.robot.mjcf_motors import motors_of
from nmdp_pin.robot.mjcf_shapes import shapes_of
from nmdp_pin.robot.mjcf_tree import SLIDE, MjcfTree
from nmdp_pin.robot.urdf import MAX_LINKS, MAX_MOVING

_MAX_SHAPES = 5000
# Places, masses and meshes beyond this are mistakes: MuJoCo stops a simulation at such numbers.
_LARGEST = 1e10
_SHOWN = 3  # the first groups of geometry, which MuJoCo's viewer shows


def read_mjcf(path: Path, package_dirs: Sequence[Path], *, visuals: bool) -> Description:
    """Description of an MJCF file.

    A free joint of the only body of the world that moves becomes a floating base; those of several
    become a translation and a rotation each, the axes of the base. The joints of a body that has
    several become a chain. Geometry that no joint moves is left out, unless it belongs to a body
    that carries others that move.

    Args:
        path: the file.
        package_dirs: folders in which its files may lie, besides its package.
        visuals: whether what it looks like is read too.

    Raises:
        RobotError: the file cannot be read, or holds what is not supported; says what.
        MissingExtra: mujoco is not installed.
    """
    m = compile_mjcf(path, package_dirs)
    _refuse(m, str(path))
    try:
        tree = MjcfTree(m)
        motors = motors_of(m, tree.joints)
        tree.set_bounds(motors)
    except ValueError as error:
        raise RobotError(f"pinocchio cannot read it: {error}", file=str(path)) from error
    tree.model.gravity.linear = _gravity(m)
    posture, root = tree.posture(m.key_qpos[0] if m.nkey else m.qpos0)
    mimics, others = _mimics(m, tree.joints, motors.driven)
    touching = (m.geom_contype != 0) | (m.geom_conaffinity != 0)
    touching[[*m.pair_geom1, *m.pair_geom2]] = True
    gains = [
        {name: float(values[v]) for name, v in _dofs(m, tree.joints) if values[v] > 0.0}
        for values in (motors.kp, motors.kd)
    ]
    said = [f"joint '{old}' is called '{new}' here" for old, new in tree.renamed.items()]
    still = sum(int(body) == 0 or int(body) not in tree.at for body in m.geom_bodyid)
    if still:
        said.append(f"{still} <geom> of the world left out; the ground is the scenario's terrain")
    return Description(
        path,
        m.names.split(b"\0")[0].decode() or path.stem,
        tree.model,
        shapes_of(m, tree, m.geom_group < _SHOWN) if visuals else None,
        shapes_of(m, tree, touching),
        hinges=list(tree.model.names)[1:],
        motors=[tree.joints[j] for j in motors.driven] if m.nactuator else None,
        base="free-flyer" if tree.floats else "fixed",
        root=root,
        mimics=mimics,
        posture=posture,
        kp=gains[0],
        kd=gains[1],
        warnings=(*said, *motors.left_out, *others, *left_out(m, floats=tree.floats)),
    )


def _refuse(m: Any, file: str) -> None:
    """Refuse what is too large, and numbers that are none.

    Raises:
        RobotError: the first of them.
    """
    for count, most, what in (
        (m.nbody - 1, MAX_LINKS, "bodies"),
        (m.njnt, MAX_MOVING, "joints"),
        (m.ngeom, _MAX_SHAPES, "geometries"),
    ):
        if count > most:
            raise RobotError(f"has {count} {what}; at most {most} are read", file=file)
    if m.nbody == 1:
        raise RobotError("has no <body> in its <worldbody>", file=file)
    if m.nflex:
        raise RobotError("holds <flex>; soft bodies are not simulated", file=file)
    places = ("body_pos", "body_mass", "body_ipos", "body_inertia", "jnt_pos", "qpos0", "key_qpos")
    shapes = ("geom_pos", "geom_size", "site_pos", "mesh_vert")
    dofs = ("dof_armature", "dof_damping", "dof_frictionloss")
    ranges = ("jnt_range", "jnt_actfrcrange")
    motors = ("gear", "armature", "damping", "gainprm", "biasprm", "forcerange", "ctrlrange")
    values = {key: getattr(m, key) for key in (*places, *shapes, *dofs, *ranges)}
    values |= {f"actuator_{key}": getattr(m, f"actuator_{key}") for key in motors}
    values |= {"eq_data": m.eq_data, "gravity": m.opt.gravity}
    for key, numbers in values.items():
        largest = _LARGEST if key in (*places, *shapes, "gravity") else np.finfo(float).max
        if not (np.abs(numbers) <= largest).all():
            raise RobotError(f"must hold numbers of at most {largest:.3g}", file=file, element=key)
        if key in (*dofs, "actuator_armature", "actuator_damping") and (numbers < 0.0).any():
            raise RobotError("must be >= 0", file=file, element=key)


def _gravity(m: Any) -> np.ndarray:
    """Acceleration of gravity [m/s^2], shape (3,)."""
    from mujoco import mjtDisableBit

    return np.zeros(3) if m.opt.disableflags & mjtDisableBit.mjDSBL_GRAVITY else m.opt.gravity


def _dofs(m: Any, names: Sequence[str]) -> list[tuple[str, int]]:
    """Name and dof of each hinge and slide."""
    return [(names[j], int(m.jnt_dofadr[j])) for j in np.flatnonzero(m.jnt_type >= SLIDE).tolist()]


def _mimics(
    m: Any, names: Sequence[str], driven: Sequence[int]
) -> tuple[tuple[Mimic, ...], list[str]]:
    """Equalities that make a joint copy another, and a sentence on all others.

    Of the two joints of an equality that one is the primary which has a motor.
    """
    from mujoco import mjtEq

    found, others = [], []
    for e in np.flatnonzero(m.eq_active0).tolist():
        a, b = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        offset, slope, *curved = m.eq_data[e, :5].tolist()
        if m.eq_type[e] != mjtEq.mjEQ_JOINT or b < 0 or any(curved):
            kind = mjtEq(m.eq_type[e]).name.removeprefix("mjEQ_").lower()
            others.append(f"'{m.equality(e).name or e}' ({kind})")
            continue
        offset += float(m.qpos0[m.jnt_qposadr[a]] - slope * m.qpos0[m.jnt_qposadr[b]])
        if a in driven and b not in driven and slope != 0.0:
            a, b, slope, offset = b, a, 1.0 / slope, -offset / slope
        found.append(Mimic(names[a], names[b], slope, offset))
    said = f"not simulated: equalities that are no mimic joint: {', '.join(others)}"
    return tuple(found), [said] if others else []
