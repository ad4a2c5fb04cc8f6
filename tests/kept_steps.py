"""Steps of pairs of shapes by seven methods, kept so that a change of one is noticed.

    python tests/kept_steps.py       # writes tests/data/kept_steps.json anew

A shape comes down on another one, which is fixed or moves, on a mesh, on a height field or into a
groove, turned at random; what two steps do is kept. As in `kept_values`, these figures only say
what is.
"""

from __future__ import annotations

import functools
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from benchmark_modules import benchmark
from kept_values import Kept, differences, figures, text

from nmdp_pin import DryFriction, Penalty, Simulator, State, Terrain, step_derivatives
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._robot import free_body, together, touching
from nmdp_pin._terrain import HeightField, Mesh, Plane
from nmdp_pin._terrain.shape import Solid
from nmdp_pin.errors import DerivativeError

STEPS = Path(__file__).parent / "data/kept_steps.json"
NUMBER = 150  # of scenes
WORLDS = (*("fixed",) * 5, *("free",) * 3, "mesh", "field", "groove")
METHODS = (*("ne-nmdp",) * 5, *("pbd-nmdp",) * 3, "ne-zonmdp", "pbd", "pbfd", "ne-ncp", "ne-mdp")
TIGHT = ViNewton(tolerance=1e-9, slip=1e-9)
LAWS = {"pbd": Penalty(), "pbfd": Penalty(), "ne-ncp": DryFriction()}
ABOVE, FALL = 4e-4, 0.3  # [m], [m/s]: 1 to 6 mm deep at the end of a step
NUDGE, MOVED = 1e-11, 1e-7  # [m/s]; of the figures, more than which hangs on rounding


def world(rng: np.random.Generator, kind: str) -> tuple[list[Solid], Solid | None]:
    """The shapes that are fixed, and one that moves below."""
    falls = benchmark("falls")
    if kind == "mesh":
        corners = [(-0.2, -0.2, 0.0), (0.2, -0.2, 0.02), (0.2, 0.2, -0.03), (-0.2, 0.2, 0.0)]
        corners += [(*rng.uniform(-0.03, 0.03, 2), 0.05), (0.0, 0.0, -0.3)]
        top = [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)]
        return [Mesh(vertices=corners, faces=[*top, *((b, a, 5) for a, b, _ in top)])], None
    if kind == "field":
        seed, size = int(rng.integers(1000)), (0.3, 0.3)
        return [HeightField(roughness=0.03, seed=seed, size=size, spacing=(0.05, 0.06))], None
    if kind == "groove":
        angle = rng.uniform(0.3, 1.2)
        return [Plane(normal=(s * np.sin(angle), 0.1, np.cos(angle))) for s in (-1.0, 1.0)], None
    shape = falls.solid(rng, str(rng.choice(falls.KINDS)), rpy=falls.pose(rng))
    return ([shape], None) if kind == "fixed" else ([Plane(height=-1.0)], shape)


def scene(number: int) -> tuple[Simulator, State, float]:
    """Simulator, start and step size [s] of a number."""
    falls, rng = benchmark("falls"), np.random.default_rng([11, number])
    method, kind = str(rng.choice(METHODS)), str(rng.choice(WORLDS))
    fixed, moving = world(rng, kind)
    top = falls.solid(rng, str(rng.choice(falls.KINDS)))
    turned = pin.Quaternion(pin.rpy.rpyToMatrix(*falls.pose(rng))).coeffs()
    q = np.array([*rng.uniform(-falls.ASIDE, falls.ASIDE, 2), 0.5, *turned])
    falls.come_near(fixed if moving is None else [moving], top, q, ABOVE)
    v = np.array([*rng.normal(0.0, 0.2, 3), *rng.normal(0.0, 3.0, 3)])
    v[:3] += pin.Quaternion(turned).matrix().T @ (0.0, 0.0, -FALL)
    robot = free_body("top", top, mass=falls.MASS)
    if moving is not None:
        below = free_body("below", moving, mass=2.0 * falls.MASS)
        robot = touching(together(robot, [below]), [("top", "below")])
        at = pin.SE3ToXYZQUAT(pin.SE3.Identity())
        q, v = np.concatenate([q, at]), np.concatenate([v, rng.normal(0.0, 0.1, 6)])
    law: Any = LAWS.get(method, falls.LAW)
    options: dict[str, Any] = {}
    if method.endswith("nmdp"):
        options = {"vi_newton": TIGHT}
        if method != "ne-zonmdp":
            options["order"] = int(rng.integers(1, 3))
    h = float(rng.choice(falls.STEPS))
    return Simulator(robot, Terrain(fixed), law, method, **options), State(0.0, q, v), h


def of_step(number: int, nudge: float = 0.0) -> Kept:
    """Figures of two steps, and of the derivatives of the second one.

    Args:
        number: of the scene.
        nudge: added to all velocities at the start, to see how much rounding grows.
    """
    simulator, state, h = scene(number)
    first = simulator.step(State(state.t, state.q, state.v + nudge), None, h)
    second = simulator.step(first.state, None, h)
    results = first, second
    kept = {
        "status": figures([r.status.ok for r in results]),
        "evaluations": figures([r.evaluations for r in results]),
        "q": figures([r.state.q for r in results]),
        "v": figures([r.state.v for r in results]),
        "force": figures([r.contact_forces.sum(axis=0) for r in results]),
        "depth": figures([r.max_penetration for r in results]),
    }
    with suppress(DerivativeError):  # the method, or a step that failed, has none
        kept["dx_dx"] = figures(step_derivatives(simulator, first.state, None, h).dx_dx)
    return kept


@functools.cache
def kept_steps() -> dict[str, Kept]:
    """What was kept, by the number of the scene."""
    return json.loads(STEPS.read_text(encoding="utf-8"))


def main() -> None:
    """Keep the figures of today, where shapes touch, and a nudge changes nothing."""
    kept = {}
    for number in range(NUMBER):
        now, nudged = of_step(number), of_step(number, NUDGE)
        touch = any(now["force"][1:])
        if touch and set(now) == set(nudged) and not differences(now, nudged, {"": MOVED}):
            kept[str(number)] = now
    print(f"{len(kept)} of {NUMBER} kept")
    STEPS.write_text(text(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
