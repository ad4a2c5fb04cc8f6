"""What a compiled MJCF file holds that is not simulated."""

from __future__ import annotations

from typing import Any

import numpy as np

from nmdp_pin.robot.mjcf_tree import BALL, SLIDE

# MuJoCo's defaults of what a contact takes from its geometry.
_CONTACT: dict[str, Any] = {
    "friction": [1.0, 0.005, 0.0001],
    "condim": 3,
    "margin": 0.0,
    "gap": 0.0,
    "solref": [0.02, 1.0],
    "solimp": [0.9, 0.95, 0.001, 0.5, 2.0],
    "solmix": 1.0,
    "priority": 0,
    "adhesion": 0.0,
    "surfacevel": 0.0,
}
# Flags that change the motion, besides that of gravity, which is simulated.
_FLAGS = (
    *("CONSTRAINT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "CONTACT", "SPRING", "DAMPER"),
    *("CLAMPCTRL", "FILTERPARENT", "ACTUATION"),
)


def left_out(m: Any, *, floats: bool) -> list[str]:
    """What is not simulated besides actuators and equalities, one sentence each.

    Args:
        m: the compiled model (`mujoco.MjModel`).
        floats: whether the first joint is a floating base.
    """
    from mujoco import mjtDisableBit as bits

    off = [key for key in _FLAGS if m.opt.disableflags & getattr(bits, f"mjDSBL_{key}")]
    base = [m.dof_armature[:6], m.dof_damping[:6]] if floats else []
    dry = np.delete(m.dof_frictionloss, m.jnt_dofadr[m.jnt_type >= SLIDE])
    fluid = m.opt.density or m.opt.viscosity or m.opt.wind.any()
    present = {
        f"tendons, with their springs and limits ({m.ntendon})": m.ntendon,
        "the springs of joints (stiffness)": m.jnt_stiffness.any() or m.jnt_stiffnesspoly.any(),
        "damping that is not linear": m.dof_dampingpoly.any(),
        "the rotors and the damping of the base": np.any(base),
        "the dry friction of balls and free joints": dry.any(),
        "the ranges of ball joints": (m.jnt_limited & (m.jnt_type == BALL)).any(),
        "forces against gravity (gravcomp)": m.body_gravcomp.any(),
        "the fluid around it (density, viscosity, wind)": fluid,
        f"sensors ({m.nsensor})": m.nsensor,
        f"mocap bodies, which stand still ({m.nmocap})": m.nmocap,
        f"plugins ({m.nplugin})": m.nplugin,
        f"keyframes behind the first, the standing pose ({m.nkey - 1})": m.nkey > 1,
        f"that flags switch off: {', '.join(off).lower()}": off,
    }
    sentences = [f"not simulated: {what}" for what, there in present.items() if there]
    touching = (m.geom_contype != 0) | (m.geom_conaffinity != 0)
    options = [
        key
        for key, usual in _CONTACT.items()
        if not np.isclose(getattr(m, f"geom_{key}")[touching], usual).all()
    ]
    options += [f"<{key}>" for key in ("pair", "exclude") if getattr(m, f"n{key}")]
    if options:
        sentences.append(
            f"options of contacts left out ({', '.join(options)}): "
            "the contact law and the terrain are the scenario's"
        )
    return sentences
