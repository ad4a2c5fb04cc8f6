"""Robots whose bodies touch each other: material for the tests of contacts between bodies."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import core_samples as samples
import numpy as np
import pinocchio as pin

from nmdp_pin._contact import WrenchSpace
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.system import System
from nmdp_pin._robot import Robot, free_body, together, touching
from nmdp_pin._terrain import Box, Capsule, Cylinder, Plane, Sphere, Terrain

FAR = Terrain([Plane(height=-100.0)])
# Large, so that a random place of a sphere lies in them; the depths differ, none is rounding.
SURFACES = {
    "box": Box(size=(0.6, 0.5, 0.7)),
    "sphere": Sphere(radius=0.35),
    "cylinder": Cylinder(radius=0.3, length=0.7),
    "capsule": Capsule(radius=0.25, length=0.3),
}
KINDS = (*SURFACES, "link")


@functools.cache
def robot(kind: str, base: str = "free-flyer") -> Robot:
    """Wheels beside a free body of that kind; "link": an arm against a link of its own tree."""
    wheels = samples.robot("wheels")
    if kind == "link":
        model = wheels.model
        slide = model.frames[model.getFrameId("slide")].parentJoint
        surface = Terrain(
            [Box(size=(0.7, 0.8, 0.9), position=(0.4, 0.2, 0.1), rpy=(0.3, -0.2, 0.5))]
        )
        alone = replace(wheels, surfaces={int(slide): surface}, collision_model=pin.GeometryModel())
        return touching(alone, [("arm", "slide"), ("wheel", "slide")])
    body = free_body("body2", SURFACES[kind], mass=2.0, base=base)
    points = wheels.contact_points
    return touching(together(wheels, [body]), [(link, "body2") for link in points.names])


def in_contact(
    kind: str,
    space: WrenchSpace,
    *,
    base: str = "free-flyer",
    seed: int = 0,
    h: float = 0.05,
    form: Callable[..., CompiledSystem] = samples.FORMS["ne"],
    order: int = 1,
    **options: Any,
) -> tuple[samples.Problem, np.ndarray, np.ndarray]:
    """The equations of a step, a random end of it where bodies touch, and weights."""
    scene = robot(kind, base)
    model = scene.model
    rng = np.random.default_rng(seed)
    made = form(System(scene, FAR, space), **options)
    w = samples.weights(*made.shape, rng)
    for _ in range(200):
        q0 = samples.configuration(model, rng, 0.3)
        v0 = rng.standard_normal(model.nv)
        q = pin.integrate(model, q0, h * (v0 + rng.standard_normal(model.nv)))
        problem = samples.Problem(made, q0, v0, samples.command(model, rng), h, order, rng)
        depth = problem.evaluate(q, w).record.places.depth
        if (depth > 0.01).sum() >= 2 and np.abs(depth).min() > 1e-3:
            return problem, q, w
    raise RuntimeError("no configuration in contact was found")
