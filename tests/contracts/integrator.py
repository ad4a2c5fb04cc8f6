"""The contract of integrators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._contact import WrenchSpace
from nmdp_pin._control import Command, StablePD
from nmdp_pin._integrators import Integrator, StepResult
from nmdp_pin._robot import Robot
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin._terrain import Plane, Sphere, Terrain

MOST_EVALUATIONS = 20_000  # of one step: 3 starts x 100 outer x (15 Newton x 5 halvings), rarely

Make = Callable[[Robot, Terrain, WrenchSpace], Integrator]
PASSIVE = Command()


class IntegratorContract:
    """Needs the fixture `make`: a function of robot, terrain and contact law."""

    def test_shapes(self, make: Make) -> None:
        """Every array of a result has the shape that StepResult states."""
        for name in ("robosimian planar", "wheels", "pendulum", "no-contact"):
            robot, integrator, state = self._standing(make, name)
            result = integrator.step(state, PASSIVE, 0.005)
            n, nv = len(robot.contact_points), robot.model.nv
            assert result.status is Status.CONVERGED
            assert result.state.q.shape == (robot.model.nq,)
            assert result.state.v.shape == result.tau.shape == (nv,)
            assert result.contact_forces.shape == (n, 3)
            assert result.wrenches.shape == (n, 6)
            assert result.contact_depths.shape == (n,)
            assert np.array_equal(result.wrenches[:, :3], result.contact_forces)
            assert result.step_sizes == (0.005,)
            assert result.state.t == state.t + 0.005
            assert result.evaluations > 0
            assert result.iterations >= 0
            assert result.max_penetration == result.contact_depths.max(initial=0.0)
            assert pin.isNormalized(robot.model, result.state.q, 1e-9)

    def test_pure(self, make: Make) -> None:
        """A step gives the same bits before and after other steps, and in another integrator."""
        robot, integrator, state = self._standing(make, "robosimian planar")
        command = StablePD(robot, kp=1000.0, kd=1.0, gait="jump").command(state, 0.01)
        first = integrator.step(state, command, 0.01)
        second = integrator.step(first.state, command, 0.01)
        for odd in self._extremes(robot, state):
            integrator.step(odd[0], odd[1], odd[2])
        assert_same_bits(integrator.step(first.state, command, 0.01), second)
        assert_same_bits(integrator.step(state, command, 0.01), first)
        assert_same_bits(
            self._standing(make, "robosimian planar")[1].step(state, command, 0.01), first
        )

    def test_results_are_kept(self, make: Make) -> None:
        """A result is not overwritten by the next step, nor are the arguments."""
        robot, integrator, state = self._standing(make, "spider")
        command = samples.command(robot.model, np.random.default_rng(0))
        arguments = [state.q, state.v, command.tau, command.kp, command.kd, command.q_target]
        before = [np.copy(a) for a in arguments]
        result = integrator.step(state, command, 0.01)
        kept = snapshot(result)
        integrator.step(result.state, PASSIVE, 0.005)
        assert snapshot(result) == kept
        assert all(np.array_equal(a, b) for a, b in zip(arguments, before, strict=True))

    def test_warm_start_is_optional(self, make: Make) -> None:
        """With and without warm start a step of free flight is the same; both ones work."""
        _, integrator, state = self._standing(make, "robosimian planar")
        warm = integrator.step(state, PASSIVE, 0.002).state
        result = integrator.step(replace(warm, warm=None), PASSIVE, 0.002)
        assert result.status is Status.CONVERGED
        again = integrator.step(warm, PASSIVE, 0.002)
        # [m/s] two solves of one step differ by the solver's own tolerance
        np.testing.assert_allclose(result.state.v, again.state.v, atol=2e-2)

    def test_without_contact_points(self, make: Make) -> None:
        """A robot without contact points moves: one step of a hanging chain falls."""
        robot, integrator, state = self._standing(make, "no-contact")
        result = integrator.step(state, PASSIVE, 1e-3)
        assert result.status is Status.CONVERGED
        assert result.contact_forces.shape == (0, 3)
        assert result.potential_energy < pin.computePotentialEnergy(
            robot.model, robot.model.createData(), state.q
        )

    def test_free_fall(self, make: Make) -> None:
        """Far above the ground, v = v0 + g h and the forces are zero."""
        _, integrator, state = self._standing(make, "robosimian planar")
        q = state.q.copy()
        q[1] += 50.0
        result = integrator.step(State(0.0, q, np.zeros(15)), PASSIVE, 0.01)
        expected = np.zeros(15)
        expected[1] = -9.81 * 0.01
        # [m/s] the projection stops at 1e-8 of the weight: 1e-9 m/s at this h
        np.testing.assert_allclose(result.state.v, expected, atol=1e-8)
        assert not result.contact_forces.any()
        assert result.max_penetration == 0.0

    def test_forces_change_the_momentum(self, make: Make) -> None:
        """Contact forces and weight over time are the change of linear momentum; feet only push."""
        robot, integrator, state = self._standing(make, "robosimian planar")
        command = StablePD(robot, kp=1000.0, kd=20.0).command(state, 0.005)
        weight = np.array([0.0, 0.0, -9.81 * pin.computeTotalMass(robot.model)])
        impulse = np.zeros(3)
        for _ in range(40):
            result = integrator.step(state, command, 0.005)
            assert result.status is Status.CONVERGED
            assert (result.contact_forces[:, 2] >= 0.0).all()
            impulse += 0.005 * (result.contact_forces.sum(axis=0) + weight)
            state = result.state
        data = robot.model.createData()
        momentum = pin.computeCentroidalMomentum(robot.model, data, state.q, state.v).linear
        # first-order methods: a few per cent of the weight's own impulse at 5 ms
        np.testing.assert_allclose(impulse[[0, 2]], momentum[[0, 2]], atol=0.03 * 0.2 * -weight[2])
        pushed = impulse[2] - 0.2 * weight[2]
        assert pushed > 0.5 * 0.2 * -weight[2]  # not a fall: the feet carry a good part

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    @pytest.mark.parametrize("name", ["robosimian planar", "wheels", "no-contact"])
    def test_extremes_end_with_a_status(self, make: Make, name: str) -> None:
        """Whatever comes in, a status comes out, nothing that is not finite, and soon."""
        robot, integrator, state = self._standing(make, name)
        for start, command, h in self._extremes(robot, state):
            result = integrator.step(start, command, h)
            assert_sound(result, start)
            assert result.evaluations <= MOST_EVALUATIONS

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    def test_no_inertia(self, make: Make) -> None:
        """A mass matrix that is singular (an arm without mass) gives a status, no exception."""
        robot = samples.robot("wheels")
        model = pin.Model(robot.model)
        model.inertias[int(model.getJointId("elbow"))] = pin.Inertia.Zero()
        massless = replace(robot, model=model)
        integrator = make(massless, Terrain([Plane(height=-9.0)]), samples.CONE)
        state = State(0.0, np.array(robot.standing), np.ones(model.nv))
        result = integrator.step(state, Command(tau=np.ones(model.nv)), 0.01)
        assert_sound(result, state)
        assert not result.status.ok

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    def test_not_a_number_is_a_failure(self, make: Make) -> None:
        """NaN in the state, which the simulator refuses, does not come out as success."""
        _, integrator, state = self._standing(make, "robosimian planar")
        for bad in (
            replace(state, q=np.full_like(state.q, np.nan)),
            replace(state, v=np.full_like(state.v, np.nan)),
            replace(state, v=np.full_like(state.v, 1e300)),
        ):
            result = integrator.step(bad, PASSIVE, 0.01)
            assert not result.status.ok
            assert result.state is bad
            assert np.isfinite(result.contact_forces).all()
        good = integrator.step(state, PASSIVE, 0.01)
        assert good.status is Status.CONVERGED

    def _standing(self, make: Make, name: str) -> tuple[Robot, Integrator, State]:
        """A robot that stands on, or hangs over, curved and flat ground."""
        robot = samples.robot(name)
        feet = samples.centres(robot, robot.standing)
        low = feet[:, 2].min() if len(feet) else 0.0
        height = float(low - robot.contact_points.radii.max(initial=0.0)) + 0.005
        terrain = Terrain([Plane(height=height), Sphere(radius=0.5, position=(9.0, 0.0, height))])
        space = samples.FrictionCone(stiffness=1e6, power=2)
        state = State(0.0, np.array(robot.standing), np.zeros(robot.model.nv))
        return robot, make(robot, terrain, space), state

    def _extremes(self, robot: Robot, state: State) -> list[tuple[State, Command, float]]:
        nv, rng = robot.model.nv, np.random.default_rng(0)
        deep = pin.integrate(robot.model, state.q, np.eye(nv)[min(2, nv - 1)] * -1.0)
        fast = 1e3 * rng.standard_normal(nv)
        torque = Command(tau=1e6 * rng.standard_normal(nv))
        stiff = Command(kp=np.full(nv, 1e9), kd=np.full(nv, 1e6), q_target=np.array(deep))
        return [
            (replace(state, v=fast), Command(), 0.01),
            (replace(state, v=fast), Command(), 1.0),
            (replace(state, q=deep), Command(), 0.01),
            (replace(state, q=deep, v=fast), torque, 0.05),
            (state, torque, 0.01),
            (state, torque, 1.0),
            (state, stiff, 0.05),
            (state, Command(), 1.0),
            (state, Command(), 1e-9),
        ]


def assert_sound(result: StepResult, start: State) -> None:
    """The promises of StepResult: finite numbers, and the given state on failure."""
    assert isinstance(result.status, Status)
    if not result.status.ok:
        assert result.state is start
    unknown = {"condition", "error", "primal", "dual", "complementarity"}
    unknown |= set() if result.status.ok else {"residual"}
    for name, value in numbers(result).items():
        if name in unknown:
            continue
        assert np.isfinite(value).all(), f"{name} is not finite: {value} ({result.status})"


def numbers(result: StepResult) -> dict[str, np.ndarray]:
    """Everything in a result that is a number, by name."""
    found = {
        f.name: np.asarray(getattr(result, f.name), dtype=float)
        for f in fields(result)
        if f.name not in ("state", "status", "start", "parts", "external")
        and getattr(result, f.name) is not None
    }
    found |= {"t": np.array(result.state.t), "q": result.state.q, "v": result.state.v}
    warm = result.state.warm
    if warm is not None:
        found |= {name: getattr(warm, name) for name in ("contacts", "w", "joints", "a")}
        found["gamma"] = np.array(warm.gamma)
        if warm.forces is not None:
            found["forces"] = warm.forces
    return found


def snapshot(result: StepResult) -> list[tuple[str, bytes]]:
    """The bits of a result."""
    return [(name, value.tobytes()) for name, value in numbers(result).items()]


def assert_same_bits(a: StepResult, b: StepResult) -> None:
    """Two results are the same to the last bit."""
    assert a.status is b.status
    for (name, found), (_, expected) in zip(snapshot(a), snapshot(b), strict=True):
        assert found == expected, f"{name} differs"
