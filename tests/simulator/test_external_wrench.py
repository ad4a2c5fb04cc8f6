"""Forces from outside on links, and what is accepted where a controller is."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin import (
    Command,
    FailedStep,
    FrictionCone,
    Penalty,
    Plane,
    Sensors,
    Simulator,
    Status,
    StepFailed,
    Terrain,
    free_body,
    rollout,
    step_derivatives,
)
from nmdp_pin._control.push import Push, Pushed
from nmdp_pin._integrators.outcome import failed_step
from nmdp_pin.control import ExternalWrench, Passive, TorqueFunction
from nmdp_pin.errors import ControlError
from nmdp_pin.sensors import Accelerometer, JointWrench
from nmdp_pin.terrain import Box

AIR = Terrain(Plane(height=-100.0))
CONE = FrictionCone(stiffness=1e5, power=2)
BODY = free_body("box", Box(size=(0.2, 0.2, 0.2)), mass=2.0)
H, SOLVED = 0.01, 1e-6


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp", "pbfd", "ne-mdp"])
def test_a_force_off_the_centre(method):
    """It accelerates the body by f / m and turns it by r x f / I, in the world frame."""
    simulator = Simulator(BODY, AIR, Penalty() if method == "pbfd" else CONE, method)
    up = 2.0 * 9.81
    pull = ExternalWrench(force=(1.0, 0.0, up), torque=(0.0, 0.0, 0.02), point=(0.0, 0.1, 0.0))
    result = simulator.step(simulator.state(), Command(wrenches=(pull,)), H)
    inertia = 2.0 * 0.2**2 / 6.0
    moment = np.array([0.1 * up, 0.0, 0.02 - 0.1 * 1.0])
    turned = np.abs(moment / inertia * H).max() * H  # [rad], by which the axes turn
    assert result.state.v[:3] == pytest.approx([0.5 * H, 0.0, 0.0], abs=1e-5 + 10 * turned * H)
    assert result.state.v[3:] == pytest.approx(moment / inertia * H, rel=0.02, abs=0.02 * H)
    assert result.external == (pull,)


def test_reactions_know_forces_from_outside():
    """A hanging pendulum whose bob is pulled down pulls at its hinge; commands of sources too."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRY(), pin.SE3.Identity(), "hinge")
    bob = np.array([0.0, 0.0, -0.5])
    model.appendBodyToJoint(joint, pin.Inertia(2.0, bob, np.zeros((3, 3))), pin.SE3.Identity())
    model.addBodyFrame("bob", joint, pin.SE3(np.eye(3), bob), 0)
    robot = replace(
        BODY,
        name="pendulum",
        model=model,
        standing=np.zeros(1),
        surfaces={},
        contact_points=replace(
            BODY.contact_points,
            names=(),
            links=(),
            joints=np.zeros(0, int),
            positions=np.zeros((0, 3)),
            radii=np.zeros(0),
            touches=np.zeros(0, int),
            semi_axes=np.zeros((0, 3, 3)),
        ),
        limits=None,
        visual_model=None,
        collision_model=None,
    )
    simulator = Simulator(robot, AIR, CONE)
    sensors = Sensors(robot, [JointWrench("hinge")])
    down = Command(wrenches=(ExternalWrench(force=(0.0, 0.0, -5.0), frame="bob"),))
    read = sensors.read(simulator.step(simulator.state(), down, H))["joint_wrench"]
    assert read == pytest.approx([0.0, 0.0, 2.0 * 9.81 + 5.0, 0.0, 0.0, 0.0], abs=1e-4)
    push = Pushed(None, robot, [Push(force=(0.0, 0.0, -5.0), start=0.0, duration=1.0, frame="bob")])
    (result,) = simulator.run(simulator.state(), push, dt=H, duration=H)
    assert sensors.read(result)["joint_wrench"] == pytest.approx(read, abs=1e-9)


def test_wrenches_in_rollouts_and_derivatives():
    """Rollouts take them; derivatives count their generalised forces as constants."""
    command = Command(wrenches=(ExternalWrench(force=(1.0, 0.0, 0.0)),))
    for method, law in (("ne-nmdp", CONE), ("pbfd", Penalty())):
        simulator = Simulator(BODY, AIR, law, method)
        state = simulator.state()
        found = rollout(simulator, state, h=H, steps=3, command=command)
        for k in range(3):
            state = simulator.step(state, command, H).state
            assert np.array_equal(found.x[0, k], simulator.vector.pack(state))
        held = Command(force=np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
        found, expected = (step_derivatives(simulator, state, c, H) for c in (command, held))
        np.testing.assert_allclose(found.dx_dx, expected.dx_dx, atol=1e-12)


@pytest.mark.parametrize("wrench", [ExternalWrench(frame="none"), (1.0, 2.0, 3.0)])
def test_wrong_wrenches(wrench):
    """A link that is not there, or a bare force, is refused."""
    simulator = Simulator(BODY, AIR, CONE)
    with pytest.raises(ControlError, match="wrench"):
        simulator.step(simulator.state(), Command(wrenches=(wrench,)), H)
    with pytest.raises(ControlError, match=r"force\.2"):
        ExternalWrench(force=(1.0, 2.0))


def test_what_stands_for_a_controller():
    """Functions, commands and None are taken where a controller is."""
    simulator = Simulator(BODY, AIR, CONE)
    state = simulator.state()

    def ends(controller):
        return [x.state.v for x in simulator.run(state, controller, dt=H, duration=3 * H)]

    lift = np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0])
    expected = ends(TorqueFunction(lambda state, h: lift))
    assert np.array_equal(ends(lambda state, h: lift), expected)
    assert np.array_equal(ends(Command(tau=lift)), expected)
    assert np.array_equal(ends(None), ends(Passive()))
    assert np.array_equal(ends(lambda state, h: None), ends(Passive()))
    for one in (TorqueFunction(lambda state, h: lift), lambda state, h: lift):
        assert np.array_equal(simulator.step(state, one, H).state.v, expected[0])
    with pytest.raises(ControlError, match="expected a Controller, a function"):
        next(simulator.run(state, "hold", dt=H, duration=H))
    accelerated = Sensors(BODY, [Accelerometer()]).read(simulator.step(state, lift, H))
    assert accelerated["accelerometer"] == pytest.approx([0.0, 0.0, 2.5], abs=SOLVED)


def test_failed_steps_keep_wrenches(tmp_path):
    """A step that failed is repeated with the forces that acted on links."""
    simulator, pull = Simulator(BODY, AIR, CONE), ExternalWrench(force=(1.0, 0.0, 0.0))
    command, state = Command(wrenches=(pull,)), simulator.state()
    counts = {"iterations": 1, "evaluations": 1, "work": 1}
    failed = failed_step(state, Status.STALLED, n_contacts=8, h=H, **counts)
    FailedStep.of(StepFailed(failed, command, H)).save(tmp_path / "step.npz")
    loaded = FailedStep.load(tmp_path / "step.npz")
    assert loaded.command.wrenches == (pull,)
    again = simulator.step(loaded.state, loaded.command, H)
    assert again.state.v[0] == pytest.approx(0.5 * H, rel=1e-3)
