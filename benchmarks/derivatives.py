"""How right the derivatives of steps are, and what they cost beside the steps.

    OMP_NUM_THREADS=1 python benchmarks/derivatives.py [--skip accuracy|cost] [--steps 60]

Accuracy: the largest error of the Jacobians against central differences of the step, relative to
the largest entry, velocities counted as motions over a step. Taylor remainders must fall with the
square. The scenes are those of the tests. Cost: medians of processor times over a run in which
every step is followed by its derivative; only ratios mean something.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nmdp_pin._control import Command
from nmdp_pin._integrators import integrator_named
from nmdp_pin._scenario import Scenario
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin.derivatives import StepDifferentiator, step_derivatives

# The scenes are those of the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import adapter_scenes as robots
import derivative_scenes as scenes

H = scenes.H
SIZES = 10.0 ** np.arange(-6, 0)  # of small changes of a standing robot
STEPS = (1e-6, 1e-7, 1e-8)  # of differences; the best counts, others may cross a switch
SLIDING, JOINTS = np.geomspace(3e-5, 1e-3, 5), np.geomspace(1e-7, 1e-5, 5)  # of Taylor remainders
COSTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ne-nmdp", {"order": 1}),
    ("ne-nmdp", {"order": 2}),
    ("ne-nmdp", {"order": 1, "objective": "kinetic"}),
    ("ne-nmdp", {"order": 1, "objective": "end_effector"}),
    ("ne-zonmdp", {"order": 1}),
    ("pbd-nmdp", {"order": 1}),
    ("pbd-nmdp", {"order": 2}),
    ("pbd", {}),
    ("pbfd", {}),
)


def error_of(simulator: Simulator, state: State, command: Command, h: float) -> str:
    """Largest relative error of the Jacobians of one step, in x and u."""
    result = simulator.step(state, command, h)
    if len(result.step_sizes) > 1:
        return "halved"  # the solver does not get to its last digits: differences mean nothing
    found = StepDifferentiator(simulator)(state, command, h, result=result)
    of_x, of_u = scenes.differences(simulator, state, command, h, result=result)
    errors = [scenes.error(found.dx_dx, of_x, h)]
    if of_u.size:
        errors.append(scenes.error(found.dx_du, of_u, h, of_state=False))
    return f"{max(errors):.0e}"


def of_the_box() -> Iterator[list[str]]:
    """Errors and orders of a box on a floating base, one row a method."""
    for method in scenes.METHODS:
        cells = [f"`{method}`"]
        for order in (1, 2):
            made = (scenes.box(method, regime, order) for regime in scenes.REGIMES)
            cells += [error_of(*scene, Command(), H) for scene in made]
        order = scenes.taylor_order(*scenes.box(method, "sliding", 2), Command(), H, SLIDING)
        yield [*cells, f"{order:.2f}"]


def of_robosimian() -> Iterator[list[str]]:
    """Under PD at 20 ms: many joints, redundant feet."""
    for base in ("planar", "free-flyer"):
        for method, order in (("ne-nmdp", 1), ("ne-nmdp", 2), ("pbd-nmdp", 2)):
            cells = [base, f"`{method}`, order {order}"]
            for pushed in (False, True):
                simulator, state, command = scenes.standing(base, method, pushed, order)
                cells.append(error_of(simulator, state, command, 2 * H))
            simulator, state, command = scenes.standing(base, method, False, order)
            slope = scenes.taylor_order(simulator, state, command, 2 * H, JOINTS)
            yield [*cells, f"{slope:.2f}"]


def of_small_motions() -> Iterator[list[str]]:
    """A hopper near its standing pose, at usual tolerances: worst error, and kinks reported."""
    for base in ("fixed", "planar", "free-flyer"):
        for method in ("ne-nmdp", "pbd-nmdp", "ne-zonmdp"):
            name, tight = scenes.METHODS[method]
            usual = robots.simulator("hopper", name, base)
            fine = robots.simulator("hopper", name, base, **tight)
            rng, worst, kinks, count = np.random.default_rng(1), 0.0, 0, 0
            for size in SIZES:
                state = usual.vector.unpack(robots.near(usual, 0, size))
                command = usual.checked_command(rng.uniform(-5.0, 5.0, len(usual.robot.driven)))
                found = StepDifferentiator(usual)(state, command, 2 * H)
                if len(found.result.step_sizes) > 1:
                    continue
                errors = []
                for step in STEPS:
                    of_x, _ = scenes.differences(
                        fine, state, command, 2 * H, result=found.result, step=step
                    )
                    errors.append(scenes.error(found.dx_dx, of_x, 2 * H))
                worst, kinks = max(worst, min(errors)), kinks + bool(found.one_sided)
                count += 1
            yield [base, f"`{method}`", f"{worst:.0e}", f"{kinks} of {count}"]


def of_a_switch() -> None:
    """A contact between holding and leaving: both sides, and what is reported."""
    simulator, state = scenes.weightless_ball()
    found, v, sides = step_derivatives(simulator, state, None, H), np.zeros(6), []
    for step in (1e-4, -1e-4):
        v[2] = step
        sides.append(simulator.step(replace(state, v=v.copy()), None, H).state.v[2] / step)
    kinds = ", ".join(f"{kink.kind} of contact {kink.contact}" for kink in found.one_sided)
    print(
        f"\na ball at rest in the ground, without weight: dv1/dv0 is {sides[0]:.3f} upwards and "
        f"{sides[1]:.3f} downwards; found {found.dx_dx[8, 8]:.3f}, one-sided: {kinds}"
    )


def cost(name: str, method: str, options: dict[str, Any], h: float, steps: int) -> str:
    """Processor time of a derivative over that of its step, in one run."""
    rate = ["contact.recovery=0"] * ("objective" in options)
    made = Scenario.load(name, overrides=rate).build(visuals=False)
    plain = made.simulator
    kind = integrator_named(method).law_type
    law = plain.contact if isinstance(plain.contact, kind) else kind()
    simulator = Simulator(plain.robot, plain.terrain, law, method, **options)
    differentiate, state = StepDifferentiator(simulator), made.state
    times = []
    for _ in range(steps):
        command = made.controller.command(state, h)
        t0 = time.process_time()
        result = simulator.step(state, command, h)
        t1 = time.process_time()
        found = differentiate(state, command, h, result=result)
        t2 = time.process_time()
        if not found.status.ok:
            break
        if len(result.step_sizes) == 1:
            times.append((t1 - t0, t2 - t1))
        state = result.state
    step, derivative = np.median(times, axis=0)
    return f"{derivative / step:.1f}"


def label(method: str, options: dict[str, Any]) -> str:
    """Name of a row."""
    words = (f"order {value}" if key == "order" else f"`{value}`" for key, value in options.items())
    return ", ".join([f"`{method}`", *words])


def table(title: str, head: list[str], rows: Iterator[list[str]]) -> None:
    """Print a table as its rows come."""
    print(f"\n{title}\n\n| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def accuracy() -> None:
    """All tables of errors."""
    head = ["method", *scenes.REGIMES, *(f"{regime}, order 2" for regime in scenes.REGIMES)]
    table("a box on a floating base, 10 ms", [*head, "Taylor, sliding"], of_the_box())
    head = ["base", "method", "standing", "pushed", "Taylor, standing"]
    table("Robosimian under PD, 20 ms", head, of_robosimian())
    head = ["base", "method", "worst error", "one-sided"]
    table("a hopper, 1e-6 to 1e-1 from standing, 20 ms", head, of_small_motions())
    of_a_switch()


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skip", choices=["accuracy", "cost"])
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args()
    if arguments.skip != "accuracy":
        accuracy()
    if arguments.skip != "cost":
        names = ("robosimian-walk", "spider-walk")
        rows = (
            [
                label(method, options),
                *(cost(name, method, options, 2 * H, arguments.steps) for name in names),
            ]
            for method, options in COSTS
        )
        table("time of a derivative over that of its step, 20 ms", ["method", *names], rows)


if __name__ == "__main__":
    main()
