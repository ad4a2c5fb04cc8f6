"""Robots, grounds and starts for the tests of batches."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
import pinocchio as pin

from nmdp_pin.robot import ContactPoints, Robot, load_robot
from nmdp_pin.terrain import Plane, Terrain

SINK = 1e-3  # [m] how far the lowest point of the starts is below the ground


def _quick_options() -> dict[str, Any]:
    """Less work for the compiler, a quarter; batches as small as those of tests run no slower."""
    options = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
    try:
        jax.jit(lambda x: x + 1.0, compiler_options=options)(1.0)
    except Exception:  # a release of XLA that has not these flags
        return {}
    return options


QUICK = _quick_options()


@functools.cache
def robot(name: str, base: str) -> Robot:
    """A bundled robot."""
    return load_robot(name, base=base, visuals=False)  # type: ignore[arg-type]


def all_kinds(seed: int = 0) -> Robot:
    """A tree with every kind of joint that a batch takes, damping, rotors and contact spheres."""
    rng = np.random.default_rng(seed)
    pin.seed(seed)
    skew_axis = np.array([1.0, 2.0, 2.0]) / 3.0
    kinds = [
        pin.JointModelFreeFlyer(),
        pin.JointModelPlanar(),
        pin.JointModelRUBY(),
        pin.JointModelRevoluteUnaligned(*skew_axis),
        pin.JointModelPrismaticUnaligned(*skew_axis),
        pin.JointModelTranslation(),
        pin.JointModelSpherical(),
        pin.JointModelRZ(),
        pin.JointModelPX(),
        pin.JointModelRevoluteUnboundedUnaligned(),
    ]
    model = pin.Model()
    # depth first, as pinocchio's algorithms take it; some joints branch off above the last one
    parents = (0, 1, 2, 3, 3, 5, 6, 7, 6, 9)
    for i, (kind, parent) in enumerate(zip(kinds, parents, strict=True)):
        joint = model.addJoint(parent, kind, pin.SE3.Random(), f"joint{i}")
        model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Random())
    model.armature = rng.uniform(0.1, 0.3, model.nv)
    model.damping = rng.uniform(0.1, 0.3, model.nv)
    joints = np.array([1, 2, 4, 4, 7, 8, 10])
    points = ContactPoints(
        tuple(f"p{i}" for i in range(len(joints))),
        joints,
        0.3 * rng.normal(size=(len(joints), 3)),
        rng.uniform(0.05, 0.2, len(joints)),
    )
    return Robot("kinds", model, points, np.arange(model.nv), pin.neutral(model))


def starts(robot: Robot, K: int, size: float = 0.02) -> tuple[np.ndarray, np.ndarray]:
    """K configurations near the standing one, and slow velocities."""
    model, rng = robot.model, np.random.default_rng(0)
    q = [pin.integrate(model, robot.standing, size * rng.normal(size=model.nv)) for _ in range(K)]
    return np.array(q), 0.1 * rng.normal(size=(K, model.nv))


def ground_under(robot: Robot, starts: np.ndarray) -> Terrain:
    """Level ground that the lowest of the starts just touches."""
    points, data = robot.contact_points, robot.model.createData()
    lowest = np.inf
    for q in starts:
        pin.forwardKinematics(robot.model, data, q)
        for joint, position, radius in zip(
            points.joints, points.positions, points.radii, strict=True
        ):
            lowest = min(lowest, data.oMi[int(joint)].act(position)[2] - radius)
    return Terrain([Plane(height=float(lowest) + SINK)])
