"""Figures of robots and runs, kept so that a change of one is noticed.

    python tests/kept_values.py      # writes tests/data/kept_*.json anew

What is right is tested elsewhere; these figures only say what is. Remake them where a change is
meant, and say why in the commit.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nmdp_pin import State, bundled_robots, example_robots, load_robot, step_derivatives
from nmdp_pin._robot import Robot
from nmdp_pin._scenario import Scenario, bundled_scenarios
from nmdp_pin.errors import DerivativeError

ROBOTS = Path(__file__).parent / "data/kept_robots.json"
RUNS = Path(__file__).parent / "data/kept_runs.json"

Kept = dict[str, list[float]]

# Robots whose files are like those of others; most of them are large, and take seconds to load.
ALIKE = {
    *("g1", "g1_with_hands", "human", "so101", "centauro", "romeo", "alexander", "alex_nub_hands"),
    *("alex_psyonic_hands", "alex_sake_hands", "talos", "talos_arm", "talos_box", "talos_full"),
    *("talos_full_box", "talos_legs", "tiago_pro", "tiago_dual", "tiago_no_hand", "kinova", "z1"),
    *("ur3", "ur3_gripper", "ur3_limited", "ur5", "ur5_limited", "ur10", "ur10_limited", "bolt"),
    *("falcon_bravo7_gripper", "falcon_bravo7_no_ee", "bluevolta_bravo7_no_ee", "bravo7_no_ee"),
    *("anymal_kinova", "b1_z1", "icub_reduced", "solo8", "double_pendulum"),
}

# Solved to rounding, so that another processor's rounding changes little.
TIGHT = ("integrator.vi_newton.tolerance=1e-9", "integrator.vi_newton.slip=1e-9")
STEPS = 60
_LEAST = 1e-3  # sum of sizes below which figures are compared absolutely
METHODS = ("pbd-nmdp", "ne-zonmdp", "ne-mdp", "pbd", "pbfd", "ne-ncp")
WITH_METHODS = ("chain-ground", "falling-box-slope", "finger-block", "robosimian-walk")


def figures(values: Any) -> list[float]:
    """Of an array: size, number of infinite entries, sum, sum of sizes, sum with a place each."""
    flat = np.asarray(values, dtype=float).ravel()
    finite = np.where(np.isfinite(flat), flat, 0.0)
    places = np.cos(1.0 + np.arange(len(flat)))
    sums = finite.sum(), np.abs(finite).sum(), finite @ places
    return [float(len(flat)), float(np.isinf(flat).sum()), *(float(f"{s:.11g}") for s in sums)]


def of_robot(robot: Robot) -> Kept:
    """Figures of a robot that is loaded."""
    model, points, limits = robot.model, robot.contact_points, robot.limits
    inertias, places = list(model.inertias), list(model.jointPlacements)
    kept = {
        "sizes": figures([model.nq, model.nv, model.njoints, len(robot.gaits)]),
        "masses": figures([i.mass for i in inertias]),
        "centres": figures([i.lever for i in inertias]),
        "inertias": figures([i.inertia for i in inertias]),
        "placements": figures([p.homogeneous for p in places]),
        "armature": figures(model.armature),
        "damping": figures(model.damping),
        "standing": figures(robot.standing),
        "driven": figures(robot.driven),
        "mimics": figures([(m.multiplier, m.offset) for m in limits.mimics]),
        "gains": figures([*robot.kp.values(), *robot.kd.values()]),
        "disabled": figures(sorted(robot.disabled)),
        "surfaces": figures([(k, len(t.shapes)) for k, t in robot.surfaces.items()]),
        "remarks": figures([len(robot.notes), len(robot.warnings)]),
    }
    for name in ("lower", "upper", "effort", "friction"):
        kept[name] = figures(getattr(limits, name))
    for name in ("joints", "positions", "radii", "touches", "semi_axes"):
        kept[f"contacts {name}"] = figures(getattr(points, name))
    for kind, numbers in _numbers_of_shapes(robot).items():
        kept[f"shapes {kind}"] = figures(numbers)
    return kept


def _numbers_of_shapes(robot: Robot) -> dict[str, list[float]]:
    """Numbers of the fields of the shapes of all bodies, by the name of their class."""
    numbers: dict[str, list[float]] = {}
    for terrain in robot.surfaces.values():
        for shape in (surface.shape for surface in terrain.shapes):
            own = numbers.setdefault(type(shape).__name__, [])
            for field in dataclasses.fields(shape):
                value = getattr(shape, field.name)
                if not isinstance(value, str | None):
                    own.extend(np.asarray(value, dtype=float).ravel())
    return numbers


def of_run(name: str, overrides: Iterable[str] = (), nudge: float = 0.0) -> Kept:
    """Figures of the first steps of a scenario, and of the derivatives of the last one.

    Args:
        name: of the scenario.
        overrides: settings in place of the file's.
        nudge: added to all velocities at the start, to see how much rounding grows.
    """
    scenario = Scenario.load(name, overrides=[*overrides])
    setup = scenario.build(visuals=False)
    dt, simulator = scenario.integrator.dt, setup.simulator
    start = State(setup.state.t, setup.state.q, setup.state.v + nudge)
    results = list(simulator.run(start, setup.controller, dt=dt, duration=STEPS * dt))
    last = results[-1]
    kept = {
        "steps": figures([len(results), *(r.status.ok for r in results)]),
        "q": figures([r.state.q for r in results]),
        "v": figures([r.state.v for r in results]),
        "tau": figures([r.tau for r in results]),
        "force": figures([r.contact_forces.sum(axis=0) for r in results]),
        "depth": figures([r.max_penetration for r in results]),
        "energy": figures([r.kinetic_energy + r.potential_energy for r in results]),
        "error": figures([r.local_error for r in results if r.local_error is not None]),
        "order": figures([r.order for r in results]),
    }
    if last.status.ok:
        before = results[-2].state
        command = setup.controller.command(before, dt)
        try:
            rates = step_derivatives(simulator, before, command, dt)
        except DerivativeError:  # the method has none
            return kept
        kept["dx_dx"], kept["dx_du"] = figures(rates.dx_dx), figures(rates.dx_du)
    return kept


def runs() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Scenario and settings of each run, by the name of the run."""
    made = {name: (name, _tight(name)) for name in sorted(bundled_scenarios())}
    for name in WITH_METHODS:
        made[f"{name} order 1"] = (name, (*TIGHT, "integrator.order=1"))
        for method in METHODS:
            tight = TIGHT if method.endswith("nmdp") else ()
            made[f"{name} {method}"] = (name, (f'integrator.name="{method}"', *tight))
    # Rounding decides how many steps are of order 1, and which feet bear the weight.
    del made["chain-ground ne-zonmdp"], made["robosimian-walk ne-mdp"]
    return made


def _tight(name: str) -> tuple[str, ...]:
    """`TIGHT`, but for the papers' objectives, which have another solver."""
    objective = Scenario.load(name).resolved()["integrator"].get("objective", "dissipation")
    return TIGHT if objective == "dissipation" else ()


def robots() -> list[str]:
    """Names of all robots but those like others."""
    return sorted({*bundled_robots(), *example_robots()} - ALIKE)


def differences(kept: Kept, now: Kept, tolerances: Mapping[str, float]) -> list[str]:
    """The figures that are not what was kept.

    Args:
        kept: of each name.
        now: likewise.
        tolerances: relative to the sum of sizes, by name; that of "" for the others.
    """
    if set(kept) != set(now):
        return [f"other figures: {sorted(set(kept) ^ set(now))}"]
    said = []
    for name, old in kept.items():
        allowed = tolerances.get(name, tolerances[""]) * max(old[3], _LEAST)
        if not np.allclose(old, now[name], rtol=0.0, atol=allowed):
            said.append(f"{name}: {old} kept, {now[name]} now")
    return said


def main() -> None:
    """Keep the figures of today."""
    kept = {name: of_robot(load_robot(name, visuals=False)) for name in robots()}
    ROBOTS.write_text(text(kept), encoding="utf-8")
    kept = {}
    for run, (name, settings) in runs().items():
        kept[run] = of_run(name, settings)
        for said in differences(kept[run], of_run(name, settings, 1e-11), {"": 1e-6}):
            print(f"{run}: a nudge changes {said}")
    RUNS.write_text(text(kept), encoding="utf-8")


def text(kept: Mapping[str, Kept]) -> str:
    """Figures as JSON, a line each."""
    return json.dumps(kept, indent=0).replace(",\n", ", ").replace("[\n", "[").replace("\n]", "]")


if __name__ == "__main__":
    main()
