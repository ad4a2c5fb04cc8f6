"""Arguments of another class: a sentence that says what was given and what is allowed."""

import copy
import pickle

import numpy as np
import pytest

from nmdp_pin import (
    Command,
    Controller,
    FrictionCone,
    Plane,
    Recorder,
    Scenario,
    Sensors,
    Simulator,
    StablePD,
    Terrain,
    check_robot,
    free_body,
    horizon_derivatives,
    load_robot,
    load_state,
    motion_of,
    run,
    save_state,
    together,
    touching,
    with_loops,
)
from nmdp_pin.control import (
    Attached,
    ExternalWrench,
    MotorModel,
    Scripted,
    VelocityServo,
    hold,
    scripted,
)
from nmdp_pin.derivatives import StepDifferentiator
from nmdp_pin.errors import NmdpError
from nmdp_pin.rollout import rollout
from nmdp_pin.sensors import Gyroscope
from nmdp_pin.terrain import Box

ROBOT = load_robot("hopper", visuals=False)
SIMULATOR = Simulator(ROBOT, Terrain(Plane()), FrictionCone(stiffness=1e5, power=2))
STATE, H = SIMULATOR.state(), 0.01
CRATE = free_body("crate", Box(size=(1, 1, 1)), mass=1.0)
LIFT = scripted(free_body("lift", Box(size=(1, 1, 0.1)), mass=1.0))


def command(**given):
    return SIMULATOR.step(STATE, Command(**given), H)


def ran(controller):
    return list(SIMULATOR.run(STATE, controller, dt=H, duration=H))


def lifted(made):
    return Scripted(LIFT, {"lift": lambda t: made}).on(
        Simulator(LIFT, Terrain(Plane(height=-9)), FrictionCone(stiffness=1e5)).state()
    )


WRONG = {
    "robot": (
        lambda: StablePD("hopper", kp=1.0, kd=1.0),
        "robot must be of type Robot, got",
    ),
    "robot of hold": (lambda: hold(ROBOT.model), "robot must be of type Robot"),
    "pose to hold": (lambda: hold(ROBOT, "down"), "q must be an array of numbers, got the text"),
    "robot of a law": (
        lambda: FrictionCone.for_robot("go2", static_depth=1e-3),
        "must be of type Robot",
    ),
    "depth": (lambda: FrictionCone.for_robot(ROBOT, static_depth="1"), "must be a number, got"),
    "state of a pose": (lambda: ROBOT.pose(STATE.q), "state must be of type State, got array"),
    "state of another": (lambda: ROBOT.mass_matrix(_state_of(CRATE)), r"q has shape \(7,\), exp"),
    "frame": (lambda: ROBOT.jacobian(STATE, 3), "a frame must be of type str, got 3"),
    "packed": (lambda: SIMULATOR.vector.pack(STATE.q), "state must be of type State"),
    "warm": (
        lambda: SIMULATOR.step_x(SIMULATOR.vector.pack(STATE), None, H, warm=1.0),
        "WarmStart",
    ),
    "wrench": (lambda: command(wrenches=ExternalWrench()), "wrenches must be a list of External"),
    "wrenches": (lambda: command(wrenches=[1.0]), r"wrenches\[0\] must be of type ExternalW"),
    "attached": (
        lambda: command(attached=("foot", "world")),
        r"attached\[0\] must be of type",
    ),
    "attached one": (lambda: command(attached=[("foot",)]), "attached must hold pairs of names"),
    "controller": (lambda: ran(lambda state, h: "go"), "a torque must be an array of numbers"),
    "torques": (
        lambda: ran(lambda state, h: np.zeros(4)),
        r"tau has shape \(4,\), expected",
    ),
    "sensor": (lambda: Sensors(ROBOT, Gyroscope()), "sensors must be a list of Sensor, got Gyro"),
    "sensors": (
        lambda: Sensors(ROBOT, [Gyroscope]),
        r"sensors\[0\] must be of type Sensor",
    ),
    "sensed": (lambda: Sensors(ROBOT, []).read(STATE.q), "of must be of type StepResult or State"),
    "seen": (
        lambda: Sensors(ROBOT, [], terrain=Plane()),
        "terrain must be of type Terrain",
    ),
    "rolled": (lambda: rollout(ROBOT, STATE, steps=1, h=H), "simulator must be of type Simulator"),
    "one set": (lambda: rollout(SIMULATOR, STATE, steps=1, h=H, parameters={}), "list of Mapping"),
    "rolled controller": (
        lambda: rollout(SIMULATOR, STATE, steps=1, h=H, command=hold(ROBOT)),
        "a StablePD has no u; give a function, such as",
    ),
    "rolled by name": (
        lambda: rollout(SIMULATOR, STATE, steps=1, h=H, command="hold"),
        "must be a",
    ),
    "differentiated": (lambda: StepDifferentiator(ROBOT), "simulator must be of type Simulator"),
    "smoothing": (
        lambda: StepDifferentiator(SIMULATOR)(STATE, None, H, smoothing="a"),
        ">= 0, got",
    ),
    "parameters": (
        lambda: StepDifferentiator(SIMULATOR)(STATE, None, H, with_respect_to="mass"),
        "with_respect_to must be a list of str, got the text 'mass'",
    ),
    "commands": (lambda: horizon_derivatives(SIMULATOR, STATE, Command(), H), "a list of commands"),
    "gradients": (lambda: _horizon().vjp(np.zeros(12)), r"gradients has shape \(12,\), expected"),
    "change": (lambda: _horizon().jvp(np.zeros(3)), r"dx0 has shape \(3,\), expected \(..., 12\)"),
    "recorded": (lambda: Recorder("hopper", STATE), "robot must be of type Robot"),
    "recorded state": (lambda: Recorder(ROBOT, STATE.q), "state0 must be of type State"),
    "facts": (lambda: Recorder(ROBOT, STATE, "facts"), "meta must be of type dict or None"),
    "motion": (lambda: motion_of("run.npz", ROBOT), "recording must be of type Recording"),
    "scenario": (lambda: run("sliding-box"), "scenario must be of type Scenario, got the text"),
    "source": (lambda: Scenario.load(None), "a robot must be of type str or PathLike, got None"),
    "override": (lambda: Scenario.load("sliding-box", overrides="a=1"), "overrides must be a list"),
    "loaded": (lambda: load_robot(3), "a robot must be of type str or PathLike, got 3"),
    "checked": (lambda: check_robot(None), "a robot must be of type str or PathLike"),
    "folder": (lambda: load_robot("hopper", package_dirs="/tmp"), "package_dirs must be a list of"),
    "file": (lambda: load_state(3), "must be of type str or PathLike, got 3"),
    "swapped": (lambda: save_state(STATE, "state.npz"), "path must be of type str or PathLike"),
    "one beside": (lambda: together(ROBOT, CRATE), "others must be a list of Robot"),
    "beside": (lambda: together(ROBOT, ["crate"]), r"others\[0\] must be of type Robot"),
    "pair": (lambda: touching(together(ROBOT, [CRATE]), ("foot", "crate")), "two names of links"),
    "loop": (lambda: with_loops(ROBOT, None), "loops must be a list of Connect or"),
    "scripted": (
        lambda: scripted(ROBOT, "hip"),
        "joints must be a list of str, got",
    ),
    "scripts": (lambda: Scripted(LIFT, ["lift"]), "motions must be of type Mapping"),
    "script": (lambda: Scripted(LIFT, {"lift": 1.0}), "'lift' must be of type Callable, got 1.0"),
    "place": (lambda: lifted(np.eye(4)), "must return a place and a velocity, got array"),
    "matrix": (lambda: lifted((np.eye(4), np.zeros(6))), "the pose of 'lift' must be of type SE3"),
    "attachments": (lambda: Attached(None, [("foot", "world")]), "must be of type Attachment, got"),
    "motors": (lambda: MotorModel(ROBOT, 1.0), "expected a Controller, a function"),
}


def _state_of(robot):
    return Simulator(robot, Terrain(Plane()), FrictionCone(stiffness=1e5)).state()


def _horizon():
    return horizon_derivatives(SIMULATOR, STATE, np.zeros((2, 3)), H)


@pytest.mark.parametrize(("call", "text"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said(call, text):
    """No mistake ends in an AttributeError or TypeError of the inside, or is taken for another."""
    with pytest.raises(NmdpError, match=text):
        call()


@pytest.mark.parametrize(
    ("made", "text"),
    [
        ((ROBOT.standing[:2], np.zeros(6)), r"q_target has shape \(2,\), expected \(6,\)"),
        (ROBOT.standing, "a motion must return a place and a velocity, got array"),
        (None, "a motion must return a place and a velocity, got None"),
    ],
)
def test_motions_are_checked_at_all_times(made, text):
    """What a function of time returns after the first step, too."""
    right = ROBOT.standing, np.zeros(6)
    motion = StablePD(ROBOT, kp=9.0, kd=1.0, gait=lambda t: right if t < 1.5 * H else made)
    with pytest.raises(NmdpError, match=text):
        list(SIMULATOR.run(STATE, motion, dt=H, duration=3 * H))


def test_controllers_that_follow_the_time_return_what_others_do():
    """Lists, and torques of the driven joints, at each stage of a step."""

    class Pulling(Controller):
        """Torques of a joint that grow."""

        follows_time = True

        def __init__(self, made):
            self.made = made

        def command(self, state, h):
            return self.made(np.array([0.0, state.t + h, 0.0]))

    def full(u):
        tau = np.zeros(ROBOT.model.nv)
        tau[ROBOT.driven] = u
        return Command(tau=tau)

    expected = list(SIMULATOR.run(STATE, Pulling(full), dt=H, duration=2 * H))
    assert expected[-1].tau[ROBOT.driven[1]] > H
    for made in (lambda u: u, lambda u: Command(tau=u), lambda u: Command(tau=u.tolist())):
        found = list(SIMULATOR.run(STATE, Pulling(made), dt=H, duration=2 * H))
        np.testing.assert_array_equal(found[-1].tau, expected[-1].tau)
        np.testing.assert_array_equal(found[-1].state.q, expected[-1].state.q)


def test_functions_return_torques_of_driven_joints():
    """As `step` takes them, behind motors too."""
    driven = ROBOT.driven
    some, full = np.array([1.0, -2.0, 3.0]), np.zeros(ROBOT.model.nv)
    full[driven] = some
    for wrap in (lambda f: f, lambda f: MotorModel(ROBOT, f, lag=0.01)):
        (of_some,), (of_full,) = (ran(wrap(lambda s, h, u=u: u)) for u in (some, full))
        np.testing.assert_array_equal(of_some.tau, of_full.tau)
        np.testing.assert_array_equal(of_some.state.q, of_full.state.q)
        assert np.abs(of_some.tau[driven]).min() > 0.0


@pytest.mark.parametrize(
    "controller",
    [
        hold(ROBOT),
        StablePD(ROBOT, kp=100.0, kd=5.0),
        VelocityServo(ROBOT, kd=1.0, velocity={"hip": 1.0}),
        MotorModel(ROBOT, Command(tau=np.ones(6)), lag=0.01),
    ],
    ids=lambda controller: type(controller).__name__,
)
def test_controllers_can_be_sent(controller):
    """Copies by pickle and deepcopy command the same."""
    (expected,) = ran(controller)
    for other in (pickle.loads(pickle.dumps(controller)), copy.deepcopy(controller)):
        np.testing.assert_array_equal(ran(other)[0].state.q, expected.state.q)


def test_scenarios_can_be_sent():
    """A copy by pickle is the same scenario, with its file in messages."""
    scenario = Scenario.load("sliding-box", overrides=["integrator.dt=0.02"])
    other = pickle.loads(pickle.dumps(scenario))
    assert other.resolved() == scenario.resolved()
    assert other._file == scenario._file
