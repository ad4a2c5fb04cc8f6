"""Description of a robot from an MJCF file, as MuJoCo compiles it."""

import os
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from nmdp_pin._files.input_file import open_input
from nmdp_pin._files.limited_process import within_limits
from nmdp_pin._options import unknown
from nmdp_pin._robot.joint_limits import Mimic
from nmdp_pin._robot.mjcf_loops import loops_of
from nmdp_pin._robot.mjcf_model import MjcfModel
from nmdp_pin._robot.mjcf_motors import Motors
from nmdp_pin._robot.mjcf_tendons import BALL, FREE, SLIDE
from nmdp_pin._robot.mjcf_world import MjcfWorld
from nmdp_pin._robot.model import HELD, LARGEST_NUMBER, MAX_LINKS, MAX_MOVING, Description
from nmdp_pin._words import one_line
from nmdp_pin.errors import MissingExtra, RobotError

_LARGEST = 5_000_000  # [bytes] of a file
# Most of what is read, by the name of its number in MuJoCo's model.
_MOST = {"nbody": MAX_LINKS + 1, "njnt": MAX_MOVING, "ngeom": 5000, "nflex": 0}
# What is read of numbers of the file, before what MuJoCo computes from them.
_READ = (
    *("dof_armature", "dof_damping", "dof_frictionloss", "actuator_armature", "actuator_damping"),
    *("actuator_gear", "actuator_gainprm", "actuator_biasprm", "actuator_forcerange"),
    *("actuator_dynprm", "actuator_actrange", "tendon_", "wrap_prm", "key_act"),
    *(
        "actuator_ctrlrange",
        "eq_data",
        "qpos0",
        "qpos_spring",
        "key_qpos",
        "key_m",
        "jnt_",
        "site_",
        "geom_",
        "body_",
    ),
)
_SHOWN = 3  # the first groups of geometry, which MuJoCo's viewer shows
# Options that change the motion, and their MJCF elements where the names differ.
_CONTACT = (
    *("friction", "condim", "margin", "gap", "solref", "solimp", "solmix", "priority"),
    *("adhesion", "surfacevel"),
)
_JOINT = {
    "jnt_solref": "solref_limit",
    "jnt_solimp": "solimp_limit",
    "jnt_margin": "margin",
    "dof_solref": "solref_friction",
    "dof_solimp": "solimp_friction",
}
# Flags that change the motion; gravity's is simulated.
_FLAGS = (
    *("CONSTRAINT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "CONTACT", "DAMPER"),
    *("CLAMPCTRL", "FILTERPARENT", "ACTUATION"),
)


def describe_mjcf(
    path: Path, *, visuals: bool, keyframe: str | None = None, scene: bool = False
) -> Description:
    """Description of an MJCF file, in the pose of a keyframe, None: the first one.

    A free joint of the only body of the world that moves becomes a floating base; those of several
    become a translation and a rotation each, the axes of the base. The joints of a body that has
    several become a chain. Geometry that no joint moves is `Description.world` of a scene; else it
    is left out, unless it belongs to a body that carries others that move.
    """
    m = _compiled(path)
    held, key = _hold_damped(m), _keyframe(m, keyframe, str(path))
    _refuse(m, str(path))
    try:
        tree = MjcfModel(m, mocap=scene)
        mimics, copying = _mimics(m, tree.joints)
        motors = Motors(m, tree.joints, mimics, tree.sites(), key)
        tree.set_bounds(motors)
    except ValueError as error:
        raise RobotError(f"pinocchio cannot read it: {one_line(error)}", file=str(path)) from error
    posture, root = tree.posture(m.qpos0 if key is None else m.key_qpos[key])
    loops, others = loops_of(m, tree, copying)
    said = [f"joint '{old}' is called '{new}' here" for old, new in tree.renamed.items()]
    said += held
    touching = (m.geom_contype != 0) | (m.geom_conaffinity != 0)
    touching[[*m.pair_geom1, *m.pair_geom2]] = True
    world = MjcfWorld(m, tree, touching) if scene else None
    said += world.left_out if world else _world_left_out(m, tree)
    return Description(
        path,
        m.names.split(b"\0")[0].decode() or path.stem,
        tree.model,
        tree.geometry(m.geom_group < _SHOWN) if visuals else None,
        tree.geometry(touching),
        hinges=list(tree.model.names)[1:],
        motors=motors.driven if m.nactuator else None,
        base="free-flyer" if tree.floats else "fixed",
        held=_held(m, tree),
        root=root,
        mimics=mimics,
        springs=(*tree.springs(), *(line.spring for line in motors.lines if line.spring)),
        tendons=(*(line.tendon for line in motors.lines), *motors.held),
        lifted=tree.lifted(),
        loops=loops,
        scripted=frozenset(tree.scripted),
        posture=posture | tree.of_mocap(key),
        apart=tree.apart(),
        world=world.shapes if world else {},
        shapes=world.options if world else {},
        kp=motors.kp,
        kd=motors.kd,
        actuators=motors.actuators,
        notes=(*_other_poses(m, key), *_own_joints(motors)),
        warnings=(
            *said,
            *motors.left_out,
            *others,
            *_left_out(m, tree, touching, key, scene=scene),
        ),
    )


def _world_left_out(m: Any, tree: MjcfModel) -> list[str]:
    """A sentence on geometry that stands still and belongs to no body of the robot, if any."""
    here = np.isin(m.geom_bodyid, [body for body in tree.at if body]) & ~tree.flat
    still = np.count_nonzero((m.body_treeid[m.geom_bodyid] < 0) & ~here)
    said = f"{still} <geom> of the world left out, which `load_scene` and `run` take"
    return [said] if still else []


def _keyframe(m: Any, name: str | None, file: str) -> int | None:
    """Number of a keyframe by its name; None: there is none."""
    names = [m.key(k).name for k in range(m.nkey)]
    if name is None:
        return 0 if names else None
    if name not in names:
        raise RobotError(unknown(name, "a keyframe", names), file=file, element="keyframe")
    return names.index(name)


def _other_poses(m: Any, key: int | None) -> tuple[str, ...]:
    """A note on the keyframes besides the standing pose."""
    names = [f"'{m.key(k).name or k}'" for k in range(m.nkey) if k != key]
    return (f"other keyframes, for `keyframe`: {', '.join(names)}",) if names else ()


def _own_joints(motors: Motors) -> tuple[str, ...]:
    """A note on tendons that are joints of their own."""
    names = [line.tendon.joint for line in motors.lines]
    return (f"tendons that are joints of their own: {', '.join(names)}",) if names else ()


def _compiled(path: Path) -> Any:
    """MuJoCo's model (`mujoco.MjModel`), compiled within limits."""
    if find_spec("mujoco") is None:
        raise MissingExtra("mujoco", "mjcf")
    open_input(path, "robot description", largest=_LARGEST, error=RobotError).close()
    import mujoco

    with tempfile.TemporaryDirectory(prefix="nmdp-mjcf-") as folder:
        try:
            return within_limits(_compile, mujoco, str(path.absolute()), folder)
        except ValueError as error:
            raise RobotError(f"MuJoCo refuses it: {error}", file=str(path)) from error


def _compile(mujoco: Any, path: str, folder: str) -> Any:
    os.chdir(folder)  # MuJoCo writes a log there
    warnings.simplefilter("ignore")  # of attributes that a later MuJoCo will not have
    spec = mujoco.MjSpec.from_file(path)
    spec.memory = spec.njmax = spec.nconmax = -1  # of MuJoCo's own simulation
    return spec.compile()


def _refuse(m: Any, file: str) -> None:
    """Refuse what is too large, and numbers that are none."""
    for key, most in _MOST.items():
        if getattr(m, key) > most:
            count = getattr(m, key)
            raise RobotError(
                f"has {count}; at most {most} can be simulated", file=file, element=key
            )
    if m.nbody == 1:
        raise RobotError("has no <body> in its <worldbody>", file=file)
    for key in (key for part in _READ for key in dir(m) if key.startswith(part)):
        numbers = np.asarray(getattr(m, key), dtype=float)
        largest = np.finfo(float).max if "range" in key else LARGEST_NUMBER
        if not (np.abs(numbers) <= largest).all():
            raise RobotError(f"must hold numbers of at most {largest:.3g}", file=file, element=key)
        if (
            key.endswith(("armature", "damping", "frictionloss", "stiffness"))
            and (numbers < 0.0).any()
        ):
            raise RobotError("must be >= 0", file=file, element=key)


def _held(m: Any, tree: MjcfModel) -> str:
    """Why no base is put under what is not the only body that moves."""
    free = [f"'{n}'" for n, k in zip(tree.joints, m.jnt_type, strict=True) if k == FREE]
    if not free:
        return HELD
    return f"no base put under it: of several bodies that move, some are free: {', '.join(free)}"


def _hold_damped(m: Any) -> list[str]:
    """Lower dampings that are too large, in place, and say so: they hold a joint anyway."""
    stiff = np.flatnonzero(m.dof_damping > LARGEST_NUMBER)
    if not len(stiff):
        return []
    m.dof_damping[stiff] = LARGEST_NUMBER
    names = dict.fromkeys(f"'{m.joint(j).name or j}'" for j in m.dof_jntid[stiff].tolist())
    return [f"damping above {LARGEST_NUMBER:g} is taken as that, of joints {', '.join(names)}"]


def _mimics(m: Any, names: list[str]) -> tuple[tuple[Mimic, ...], set[int]]:
    """Linear equalities, which make a joint copy another, and their indices.

    Of the two joints of an equality that one is the primary which has a motor.
    """
    from mujoco import mjtEq, mjtTrn

    driven = m.actuator_trnid[m.actuator_trntype <= int(mjtTrn.mjTRN_JOINTINPARENT), 0].tolist()
    found, indices = [], set()
    for e in np.flatnonzero(m.eq_active0).tolist():
        a, b = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        offset, slope, *curved = m.eq_data[e, :5].tolist()
        if m.eq_type[e] != mjtEq.mjEQ_JOINT or b < 0 or any(curved):
            continue
        offset += float(m.qpos0[m.jnt_qposadr[a]] - slope * m.qpos0[m.jnt_qposadr[b]])
        if a in driven and b not in driven and slope != 0.0:
            a, b, slope, offset = b, a, 1.0 / slope, -offset / slope
        found.append(Mimic(names[a], names[b], slope, offset))
        indices.add(e)
    return tuple(found), indices


def _left_out(
    m: Any, tree: MjcfModel, touching: np.ndarray, key: int | None, *, scene: bool
) -> list[str]:
    """What is not simulated besides actuators and equalities, one sentence each."""
    import mujoco

    bits = mujoco.mjtDisableBit
    off = [key for key in _FLAGS if m.opt.disableflags & getattr(bits, f"mjDSBL_{key}")]
    base = [m.dof_armature[:6], m.dof_damping[:6], m.jnt_stiffness[:1]] if tree.floats else []
    dry = np.delete(m.dof_frictionloss, m.jnt_dofadr[m.jnt_type >= SLIDE])
    start = [
        name
        for name in ("qvel", "ctrl")
        if key is not None and getattr(m, f"key_{name}")[key].any()
    ]
    present = {
        "springs of joints that are not linear": m.jnt_stiffnesspoly.any(),
        "damping that is not linear": m.dof_dampingpoly.any(),
        "the rotors, the damping and the spring of the base": any(x.any() for x in base),
        "the dry friction of balls and free joints": dry.any(),
        "the ranges of ball joints": (m.jnt_limited & (m.jnt_type == BALL)).any(),
        "actuatorgravcomp, whose forces no motor limits": m.jnt_actgravcomp.any(),
        "the fluid around it (density, viscosity, wind)": m.opt.density
        or m.opt.viscosity
        or m.opt.wind.any(),
        "height fields on bodies": (tree.flat & tree.moving[m.geom_bodyid]).any(),
        f"skins ({m.nskin})": m.nskin,
        f"sensors ({m.nsensor})": m.nsensor,
        f"mocap bodies, which stand still without `load_scene` ({m.nmocap})": m.nmocap
        and not tree.scripted,
        f"plugins ({m.nplugin})": m.nplugin,
        f"{', '.join(start)} of the keyframe, which is a pose here": start,
        f"that flags switch off: {', '.join(off).lower()}": off,
    }
    sentences = [f"not simulated: {what}" for what, there in present.items() if there]
    options = _options(m, touching, scene=scene)
    if options:
        whose = "the contact law and" if scene else "the contact law, the terrain and"
        sentences.append(
            f"options of contacts and joints left out ({', '.join(options)}): {whose} the stops "
            "are the scenario's"
        )
    return sentences


def _options(m: Any, touching: np.ndarray, *, scene: bool) -> list[str]:
    """Options of geometry that touches, of joints and of equalities that are not the usual ones."""
    import mujoco

    usual = mujoco.MjSpec().default
    rows = {"jnt": m.jnt_limited != 0, "dof": m.dof_frictionloss > 0.0}
    # what shapes have is read
    contact = _CONTACT[2:-1] if scene else _CONTACT
    given = [(f"geom_{key}", touching, getattr(usual.geom, key)) for key in contact]
    given += [(k, rows[k[:3]], getattr(usual.joint, name)) for k, name in _JOINT.items()]
    given += [
        (f"eq_{key}", m.eq_active0 != 0, getattr(usual.equality, key))
        for key in ("solref", "solimp")
    ]
    found = [
        key for key, rows, value in given if not np.isclose(getattr(m, key)[rows], value).all()
    ]
    still = m.body_treeid[m.geom_bodyid] < 0
    types, affinities = m.geom_contype[:, None], m.geom_conaffinity
    ground = (types & affinities | (types & affinities).T)[still & touching][:, ~still & touching]
    if not scene and (ground == 0).any():
        found.append("contype and conaffinity against the ground")
    found += ["<option> o_..."] if m.opt.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE else []
    return found + (["<pair>"] if m.npair else [])
