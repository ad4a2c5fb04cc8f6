"""Equalities of a compiled MJCF file as closed loops."""

from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._robot.loop import WORLD, Connect, Coupling, Loop, Weld
from nmdp_pin._robot.mjcf_model import MjcfModel, placement


def loops_of(m: Any, tree: MjcfModel, mimics: set[int]) -> tuple[tuple[Loop, ...], list[str]]:
    """Loops of a `mujoco.MjModel`, and a sentence on the equalities that are none.

    Args:
        m: the model.
        tree: its bodies.
        mimics: indices of the equalities that are mimic joints.
    """
    from mujoco import mjtEq

    found, others = list[Loop](), list[str]()
    for e in np.flatnonzero(m.eq_active0).tolist():
        kind = mjtEq(m.eq_type[e])
        if kind in (mjtEq.mjEQ_CONNECT, mjtEq.mjEQ_WELD):
            found.append(_frames(m, tree, e, kind == mjtEq.mjEQ_WELD))
        elif kind == mjtEq.mjEQ_JOINT and e not in mimics:
            found.append(_coupling(m, tree, e))
        elif kind not in (mjtEq.mjEQ_JOINT, mjtEq.mjEQ_TENDON):
            name = kind.name.removeprefix("mjEQ_").lower()
            others.append(f"'{m.equality(e).name or e}' ({name})")
    said = f"not simulated: equalities {', '.join(others)}"
    return tuple(found), [said] if others else []


def _frames(m: Any, tree: MjcfModel, e: int, welded: bool) -> Loop:
    """A connection of two points, or a weld: the second body in the first one."""
    from mujoco import mjtObj

    ids, data = (int(m.eq_obj1id[e]), int(m.eq_obj2id[e])), m.eq_data[e]
    if m.eq_objtype[e] == mjtObj.mjOBJ_SITE:
        places = [placement(m.site_pos[k], m.site_quat[k]) for k in ids]
        ids = int(m.site_bodyid[ids[0]]), int(m.site_bodyid[ids[1]])
        second_in_first = places[0] * places[1].inverse()
        points = [place.translation for place in places]
    else:
        points = [data[:3], data[3:6]]
        second_in_first = placement(data[3:6], data[6:10])
        second_in_first.translation -= second_in_first.rotation @ data[:3]
    (first, at_first), (second, at_second) = (_body(tree, body) for body in ids)
    if not welded:
        point, other = at_first.act(np.array(points[0])), at_second.act(np.array(points[1]))
        return Connect(first=first, second=second, point=_three(point), other=_three(other))
    place = at_first * second_in_first * at_second.inverse()
    rpy = pin.rpy.matrixToRpy(place.rotation)
    return Weld(first=second, second=first, position=_three(place.translation), rpy=_three(rpy))


def _three(x: np.ndarray) -> tuple[float, float, float]:
    a, b, c = x.tolist()
    return a, b, c


def _body(tree: MjcfModel, body: int) -> tuple[str, pin.SE3]:
    """Name of a body's frame, and where the body is in it; of those that stand still the world."""
    if body in tree.at and body > 0:
        return tree.bodies[body], pin.SE3.Identity()
    return WORLD, tree.still_place(body)


def _coupling(m: Any, tree: MjcfModel, e: int) -> Coupling:
    """A joint at a polynomial of another one, of positions instead of those from `qpos0`."""
    a, b = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
    start = m.qpos0[m.jnt_qposadr[[a, b]]]
    if b < 0:
        value = float(start[0] + m.eq_data[e, 0])
        return Coupling(joint=tree.joints[a], polynomial=(value,))
    shifted = np.poly1d(m.eq_data[e, 4::-1])(np.poly1d([1.0, -start[1]])) + start[0]
    polynomial = tuple(np.atleast_1d(shifted.coeffs)[::-1].tolist())
    return Coupling(joint=tree.joints[a], primary=tree.joints[b], polynomial=polynomial)
