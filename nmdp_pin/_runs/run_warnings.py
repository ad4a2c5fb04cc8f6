"""Warnings about a run: at its start, and from its recording."""

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from nmdp_pin._contact import FrictionCone, WrenchSpace
from nmdp_pin._contact.wrench_space import ContactState
from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._kernels.geometry.shape_table import INDEX
from nmdp_pin._robot import Robot
from nmdp_pin._robot.contact_points import in_world
from nmdp_pin._robot.feasibility import efforts_beyond_limits, joints_beyond_range
from nmdp_pin._robot.overlaps import (
    GROUND,
    Overlap,
    OverlapCheck,
    contact_depth,
    overlap_sentences,
    through_ground,
)
from nmdp_pin._runs.recording import Recording
from nmdp_pin._scenario.scenario import Setup

# Sentences of a kind that are said; of the others only how many there are.
_SAID = 5
_DEEP = 0.005  # [m] of contacts at the start that are told
_WORDS = {
    "position": "the ranges of its joints",
    "effort": "the effort limits of its joints",
    "friction": "the dry friction of its joints",
    "mimic": "the joints that mimic others",
}


def start_warnings(setup: Setup) -> list[str]:
    """Warnings before the first step: the robot, its pose, bounds that are not enforced."""
    robot, q = setup.robot, setup.state.q[None]
    depth = float(contact_depth(robot, setup.terrain, q)[0])
    return [
        *_deep(depth, setup),
        *_some(robot.warnings),
        *_left_out(robot, setup.simulator.method),
        *_some(joints_beyond_range(robot, q)),
        *overlap_sentences(setup.overlap_check.deepest(q, depth), [setup.state.t]),
    ]


def recorded_warnings(setup: Setup, recording: Recording) -> list[str]:
    """Warnings about the motion: overlaps of bodies, joints and motors beyond their limits."""
    overlaps = recorded_overlaps(setup.overlap_check, recording)
    motors = recording.tau + setup.robot.model.damping * recording.v
    grounded = [overlap.first for overlap in overlaps if overlap.second == GROUND]
    return [
        *overlap_sentences(overlaps, recording.t),
        *through_ground(setup.robot, grounded),
        *_some(joints_beyond_range(setup.robot, recording.q)),
        *_some(efforts_beyond_limits(setup.robot, motors)),
    ]


def recorded_overlaps(check: OverlapCheck, recording: Recording) -> list[Overlap]:
    """The deepest overlaps that contacts do not explain, in all states of a recording."""
    depth = recording.contact_depths.max(axis=1, initial=0.0)
    depth[:1] = depth[:2].max()  # the first row, which no step has made, has no contacts
    return check.deepest(recording.q, depth)


def _deep(depth: float, setup: Setup) -> list[str]:
    """Contacts that are deep at the start, and lift the robot faster than it would fall."""
    weight = setup.robot.mass * float(np.linalg.norm(setup.robot.model.gravity.linear))
    if depth <= _DEEP or _push(setup) <= 2.0 * weight:
        return []
    return [
        f"contacts are {1e3 * depth:.0f} mm deep in the ground at the start: raise the robot by as "
        "much, or lower the terrain"
    ]


def _push(setup: Setup) -> float:
    """Largest normal forces of the contacts at the start in sum, infinite if unknown [N]."""
    law, points, model = setup.simulator.contact, setup.robot.contact_points, setup.robot.model
    if not isinstance(law, WrenchSpace):
        return np.inf
    data, n = model.createData(), points.n_terrain
    pin.forwardKinematics(model, data, setup.state.q)
    places = in_world(data, points.joints[:n], points.positions[:n])
    ground = setup.terrain.query(places)
    contacts = ContactState(
        position=places,
        rotation=np.array([data.oMi[int(joint)].rotation for joint in points.joints[:n]]),
        depth=points.radii[:n] - ground.distance,
        normal=ground.normal,
        curvature=ground.curvature,
        friction=ground.friction,
        radius=points.radii[:n],
        surface=ground.shape,
        contact=np.arange(n),
    ).take(points.radii[:n] > ground.distance)
    if type(law) is FrictionCone:
        stiffness = _stiffnesses(setup, points.joints[contacts.contact], contacts.surface)
        return float((stiffness * (contacts.depth**law.power + law.zeta)).sum())
    forces = law.vertices(contacts)[:, :3]
    return float(np.einsum("nc,ncm->nm", contacts.normal, forces).max(axis=1, initial=0.0).sum())


def _stiffnesses(setup: Setup, bodies: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """Stiffnesses of bodies on shapes of the terrain, by joints and indices [N/m^p], (n,).

    It is 0 where the two may not touch.
    """
    pairs = setup.simulator.integrator.candidates
    ends = zip(pairs.bodies.max(axis=1), pairs.kinds[pairs.surfaces, INDEX], strict=True)
    known = dict(zip(ends, pairs.stiffness, strict=True))
    return np.array([known.get(pair, 0.0) for pair in zip(bodies, shapes, strict=True)])


def _left_out(robot: Robot, method: str) -> list[str]:
    """Bounds of the joints that a method does not enforce."""
    enforced = INTEGRATORS[method].enforces
    left = [_WORDS[kind] for kind in robot.limits.kinds if kind not in enforced]
    if not left:
        return []
    return [f"{method} does not enforce what the robot's description gives: {', '.join(left)}"]


def _some(sentences: Sequence[str]) -> list[str]:
    """First sentences, and the number of further ones."""
    if len(sentences) <= _SAID:
        return list(sentences)
    return [*sentences[:_SAID], f"... and {len(sentences) - _SAID} more of this kind"]
