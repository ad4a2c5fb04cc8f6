"""The step as a function of arrays, and rollouts with MuJoCo's arguments."""

import subprocess
import sys

import numpy as np
import pytest
from adapter_scenes import near, simulator, standing
from scipy.optimize import approx_fprime, least_squares
from tight_solves import TIGHT

from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._simulator.step_control import Halving
from nmdp_pin.adapters.function import StepFunction
from nmdp_pin.adapters.mujoco import rollout
from nmdp_pin.errors import ControlError, StateError
from nmdp_pin.rollout import rollout as roll_out

H = 0.02  # [s]
DISTURBANCE = 1e-7
AGREES = 2e-5  # forward differences, relative: truncation


@pytest.fixture(scope="module")
def hopper():
    """A hopper on the ground."""
    return simulator("hopper")


def test_function_broadcasts(hopper):
    """Leading axes of x and u broadcast, as numpy's do; each step is the simulator's."""
    f = StepFunction(hopper, H)
    xs = np.array([near(hopper, seed) for seed in range(2)])
    us = np.random.default_rng(0).uniform(-5.0, 5.0, (3, 1, 3))
    ends = f(xs, us)
    assert ends.shape == (3, 2, hopper.vector.nx)
    np.testing.assert_array_equal(ends[2, 1], hopper.step_x(xs[1], us[2, 0], H)[0])
    np.testing.assert_array_equal(f(xs[1], us[2, 0]), ends[2, 1])


def test_jacobians_are_scipys():
    """B is what SciPy's finite differences find."""
    hopper = simulator("hopper", vi_newton=TIGHT)
    f = StepFunction(hopper, H)
    x, u = near(hopper, 0), np.array([1.0, -2.0, 0.5])
    A, B = f.jacobians(x, u)
    assert A.shape == (12, 12)
    found = approx_fprime(u, lambda given: f(x, given), DISTURBANCE)
    assert np.abs(B - found).max() < AGREES * np.abs(found).max()


def test_scipy_finds_the_torque(hopper):
    """`least_squares` with our Jacobian finds the torque that led to a state."""
    f = StepFunction(hopper, H)
    x, wanted = near(hopper, 0), np.array([4.0, -3.0, 2.0])
    end = f(x, wanted)
    solved = least_squares(
        lambda u: hopper.vector.difference(end, f(x, u)),
        np.zeros(3),
        jac=lambda u: f.jacobians(x, u)[1],
        xtol=1e-12,
        gtol=1e-14,
    )
    np.testing.assert_allclose(solved.x, wanted, atol=1e-5)


def test_function_fails_with_nan(hopper):
    """A step that fails is NaN; what has no shape of a state is a typed error."""
    f = StepFunction(
        simulator("hopper", vi_newton=ViNewton(max_iterations=1), control=Halving(min_step=H)), H
    )
    assert np.isnan(f(near(hopper, 0, 0.1), np.full(3, 50.0))).all()
    with pytest.raises(StateError, match="expected"):
        f(np.zeros(3), np.zeros(3))
    with pytest.raises(StateError, match="do not fit"):
        f(np.zeros((2, 12)), np.zeros((3, 3)))
    with pytest.raises(ControlError, match="at least one axis"):
        f(np.zeros(12), 1.0)


def test_rollout_has_mujocos_shapes(hopper):
    """States are [t; q; v] without the first; singletons broadcast."""
    x0 = standing(hopper)
    control = np.random.default_rng(0).uniform(-5.0, 5.0, (2, 4, 3))
    state, sensordata = rollout(hopper, H, np.concatenate([[1.0], x0]), control)
    assert state.shape == (2, 4, 13)
    assert sensordata.shape == (2, 4, 0)
    np.testing.assert_allclose(state[:, :, 0], 1.0 + H * np.arange(1, 5)[None] * [[1], [1]])
    np.testing.assert_array_equal(state[:, :, 1:], roll_out(hopper, x0, control, h=H).x)
    again, heights = rollout(
        hopper, H, np.concatenate([[1.0], x0]), control, sensors=lambda s: s[2:3]
    )
    np.testing.assert_array_equal(again, state)
    np.testing.assert_array_equal(heights[:, :, 0], state[:, :, 2])
    one, _ = rollout(hopper, H, np.concatenate([[0.0], x0]), control[0, 0], nstep=2)
    assert one.shape == (1, 2, 13)


def test_rollout_by_processes(hopper):
    """Two processes give the same bits."""
    initial = np.array([np.r_[0.0, near(hopper, seed)] for seed in range(2)])
    control = np.zeros((1, 3, 3))
    expected, _ = rollout(hopper, H, initial, control)
    found, _ = rollout(hopper, H, initial, control, n_jobs=2)
    np.testing.assert_array_equal(found, expected)


def test_failed_rollouts_are_held():
    """What fails keeps its last good state and time."""
    sim = simulator("hopper", vi_newton=ViNewton(max_iterations=1), control=Halving(min_step=H))
    state, _ = rollout(sim, H, np.r_[0.5, near(sim, 0, 0.1)], np.full((1, 3, 3), 50.0))
    np.testing.assert_array_equal(state[0], np.tile(np.r_[0.5, near(sim, 0, 0.1)], (3, 1)))


def test_rollout_names_mistakes(hopper):
    """Shapes that do not fit raise typed errors that say what was expected."""
    x = np.r_[0.0, standing(hopper)]
    with pytest.raises(StateError, match="expected \\(nbatch, 13\\)"):
        rollout(hopper, H, x[1:])
    with pytest.raises(StateError, match="one for each"):
        rollout(hopper, H, x, initial_warmstart=[None, None])


EXTRAS = {
    "adapters.gymnasium": ("gymnasium", "gym"),
    "adapters.crocoddyl": ("crocoddyl", "crocoddyl"),
    "adapters.ompl": ("ompl", "ompl"),
    "testing": ("pytest", "testing"),
}
WITHOUT = f"""
import importlib, sys
from nmdp_pin.errors import MissingExtra
for module, (package, _) in {EXTRAS!r}.items():
    sys.modules[package] = None
    try:
        importlib.import_module(f"nmdp_pin.{{module}}")
    except MissingExtra as error:
        print(error)
"""


def test_missing_extras_are_named():
    """Without its package an adapter, and the suite for one's own models, name the extra."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=60
    )
    said = done.stdout.splitlines()
    for line, (_, extra) in zip(said, EXTRAS.values(), strict=True):
        assert f"pip install 'nmdp-pin[{extra}]'" in line, done.stderr


def test_simulators_and_steps_are_checked_when_they_are_given(hopper):
    """Not in the first call."""
    with pytest.raises(StateError, match="the step must be in"):
        StepFunction(hopper, -0.01)
    with pytest.raises(StateError, match="simulator must be of type Simulator"):
        StepFunction(hopper.robot, 0.01)
    with pytest.raises(StateError, match="simulator must be of type Simulator"):
        rollout(hopper.robot, 0.01, np.zeros(13))
    with pytest.raises(StateError, match="sensors must be of type Callable or None"):
        rollout(hopper, 0.01, np.zeros(13), sensors=3)
