"""The maximal dissipation principle: what a solved step fulfils."""

import core_samples as samples
import numpy as np
import physics_scenes
import pytest
from made_steps import stages_of
from pairwise import pairwise
from physics_experiments import stopping_distance
from physics_scenes import order

from nmdp_pin._contact import FrictionCone
from nmdp_pin._control import StablePD
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin._terrain import Plane, Terrain

# [m] for 1 N: the solver stops where the gap is 1e-6 m/s times the length of the stage.
SOLVER, LEFT = ViNewton(tolerance=1e-8, slip=1e-6), 1.01e-6
STEPS = (2e-3, 5e-3, 1e-2)  # [s]
# [m] by which four methods differ on the way of a sliding box over 0.1 m, over the step [s]: the
# explicit one lets the box land at first. Measured 0.07 at 10 ms.
APART = 0.1


def steps(method, dt, n, **options):
    """Starts, commands and results of Robosimian's jump from standing at kp = 1000."""
    robot = samples.robot("robosimian planar")
    terrain, space = Terrain([Plane(height=-0.8)]), FrictionCone(stiffness=1e6, power=2)
    integrator = INTEGRATORS[method](System(robot, terrain, space), **options)
    control = StablePD(robot, kp=1000.0, kd=1.0, gait="jump")
    state = State(0.0, robot.standing, np.zeros(15))
    for _ in range(n):
        command = control.command(state, dt)
        result = integrator.step(state, command, dt)
        assert result.status is Status.CONVERGED
        yield integrator, state, command, result
        state = result.state


@pairwise(
    {
        "method": ["ne-nmdp", "pbd-nmdp", "ne-zonmdp"],
        ("dt", "seconds"): [(0.005, 0.4), (0.05, 1.0)],
        "order": [1, 2],
    }
)
def test_the_solution_fulfils_the_principle(method, dt, seconds, order):
    """No feasible forces would save work, and contact forces do none: they only take."""
    rng, touched = np.random.default_rng(0), 0
    for integrator, start, command, result in steps(
        method, dt, round(seconds / dt), order=order, vi_newton=SOLVER
    ):
        equations, at = stages_of(integrator, start, command, dt, result)[-1]
        g, w, h = at.work, at.w, 1.0 / equations.rate
        np.testing.assert_array_equal(at.q, result.state.q)
        places, cone = at.record.places, equations.form.record.cone
        n = len(places.depth)
        largest = places.stiffness * np.maximum(places.depth, 0.0) ** cone.power
        tolerance = LEFT * h * largest.sum() + 1e-9
        for _ in range(20):
            other, angle = np.zeros_like(w), rng.uniform(0.0, 2.0 * np.pi, n)
            other[:n, 2] = largest * rng.choice([0.0, 1.0, rng.uniform()], n)
            slide = places.friction * other[:n, 2] * rng.choice([0.0, 1.0], n)
            other[:n, 0], other[:n, 1] = slide * np.cos(angle), slide * np.sin(angle)
            assert np.vdot(g, other - w) >= -tolerance
        works = (w * g).sum(axis=1)
        assert works.max() <= tolerance
        touched += bool(at.active.size)
    assert touched > 5


def test_a_sliding_box_is_the_same_by_every_objective_as_the_step_goes_to_zero(monkeypatch):
    """As h -> 0 the principle is MDP: all four methods slide as far, to first order."""
    methods = {
        "dissipation": ("ne-nmdp", {"objective": "dissipation", "order": 1}),
        "kinetic": ("ne-nmdp", {"objective": "kinetic", "order": 1}),
        "end_effector": ("ne-nmdp", {"objective": "end_effector", "order": 1}),
        "ne-mdp": ("ne-mdp", {}),
    }
    monkeypatch.setattr(physics_scenes, "EVERY", methods)
    mu = 0.5
    exact = 1.0 / (2.0 * mu * 9.81)
    ways = np.array([[stopping_distance(m, mu, h) for h in STEPS] for m in methods])
    assert (np.ptp(ways, axis=0) / STEPS).max() < APART
    assert order(STEPS, ways[0] - exact) == pytest.approx(1.0, abs=0.05)
    # Implicit steps agree far better than that: the objective decides nothing here.
    assert np.ptp(ways[:3], axis=0).max() < 1e-5
