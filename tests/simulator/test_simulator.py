"""The simulator: refused input, runs, failures, pickling, replay."""

import copy
import gc
import pickle
import weakref
from dataclasses import replace

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest
from contact_laws import law_for
from contracts.integrator import assert_same_bits, assert_sound
from pairwise import spread

from nmdp_pin._contact import FrictionCone
from nmdp_pin._control import Command, Controller, Passive, StablePD, TorqueFunction
from nmdp_pin._control.controller import CommandSource
from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._robot import load_robot
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._simulator.step_control import ErrorControl, Fixed, Halving, StepFailed
from nmdp_pin._state.state import State, WarmStart
from nmdp_pin._state.status import Status
from nmdp_pin._terrain import Cylinder, Plane, Sphere, Terrain
from nmdp_pin.errors import (
    ControlError,
    IntegratorError,
    NmdpError,
    RobotError,
    StateError,
    TerrainError,
)
from nmdp_pin.papers.methods.projected_gradient import ProjectedGradient

CONE = FrictionCone(stiffness=1e6, power=2)
GROUND = Terrain([Plane(height=-0.8)])


@pytest.fixture
def simulator():
    """The planar Robosimian on flat ground."""
    return Simulator(samples.robot("robosimian planar"), GROUND, CONE)


@pytest.fixture
def floating():
    """The floating Spider on flat ground."""
    return Simulator(samples.robot("spider"), Terrain([Plane(height=-0.43)]), CONE)


def broken(size, value=np.nan):
    """Zeros with one entry that is not a number."""
    array = np.zeros(size)
    array[size // 2] = value
    return array


BAD_STATES = {
    "nan in q": ({"q": broken(15)}, "q must hold finite numbers"),
    "inf in v": ({"v": broken(15, np.inf)}, "v must hold finite numbers"),
    "short q": ({"q": np.zeros(14)}, r"q has shape \(14,\), expected \(15,\)"),
    "matrix v": ({"v": np.zeros((15, 1))}, r"v has shape \(15, 1\), expected \(15,\)"),
    "number q": ({"q": 0.0}, r"q has shape \(\)"),
    "text q": ({"q": "standing"}, "q must be an array of numbers, got the text 'standing'"),
    "ragged v": ({"v": [[1.0], [1.0, 2.0]]}, "v must be an array of numbers"),
    "nan time": ({"t": np.nan}, "t must be a finite time"),
    "text time": ({"t": "now"}, "t must be a finite time"),
}


@pytest.mark.parametrize(("bad", "message"), BAD_STATES.values(), ids=BAD_STATES)
def test_bad_states(simulator, bad, message):
    """`state` refuses what is not a state, and says what it got."""
    with pytest.raises(StateError, match=message):
        simulator.state(**bad)


W = np.zeros((4, 6))  # of four feet


def warm(**changes):
    """A warm start of four feet on the ground and twelve joints with stops, with changes."""
    return replace(WarmStart(np.arange(4), W, np.full(12, 0.5), np.zeros(15)), **changes)


BAD_STEPS = {
    "no state": (None, "expected a State, got NoneType"),
    "array": (np.zeros(15), "expected a State, got ndarray"),
    "lists": (State(0.0, [0.0] * 15, [0.0] * 15), "q must be an array of floats"),
    "integers": (State(0.0, np.zeros(15), np.zeros(15, int)), "v must be an array of floats"),
    "nan": (State(0.0, np.zeros(15), broken(15)), "v must hold finite numbers"),
    "weights of another model": (warm(w=np.zeros((4, 8))), r"w .*\(4, 8\), expected \(4, 6\)"),
    "weights of other contacts": (warm(w=W[:2]), r"w .*\(2, 6\), expected \(4, 6\)"),
    "contacts of another model": (warm(contacts=np.array([0, 1, 2, 4])), "contacts"),
    "contacts in a list": (warm(contacts=[0, 1, 2, 3]), "contacts"),
    "contacts in disorder": (warm(contacts=np.array([0, 2, 1, 3])), "ascending indices"),
    "joints of another model": (warm(joints=np.zeros(8)), r"joints .*\(8,\), expected \(12,\)"),
    "acceleration of another model": (warm(a=np.zeros(18)), r"a .*\(18,\), expected \(15,\)"),
    "nan weights": (warm(w=W + np.nan), r"w .*, finite"),
    "negative weights": (warm(w=W - 0.1), "weights >= 0"),
    "negative weights of joints": (warm(joints=np.full(12, -0.1)), "weights >= 0"),
    "too much weight": (warm(w=W + 0.5), "sum is <= 1"),
    "too much weight of a joint": (warm(joints=np.full(12, 1.1)), "sum is <= 1"),
    "nan acceleration": (warm(a=broken(15)), r"a .*, finite"),
    "gamma zero": (warm(gamma=0.0), "gamma > 0"),
    "gamma nan": (warm(gamma=np.nan), "gamma > 0"),
}


@pytest.mark.parametrize(("bad", "message"), BAD_STEPS.values(), ids=BAD_STEPS)
def test_bad_states_of_steps(simulator, bad, message):
    """`step` refuses states and warm starts that are none, made without `state`."""
    state = bad
    if isinstance(bad, WarmStart):
        state = replace(simulator.state(), warm=bad)
    with pytest.raises(StateError, match=message):
        simulator.step(state, None, 0.01)


@pytest.mark.parametrize("q", [np.zeros(19), np.r_[np.zeros(3), 0, 0, 0, 1.01, np.zeros(12)]])
def test_quaternions_have_unit_length(floating, q):
    """A quaternion that is no rotation is refused, as state and as target; the message helps."""
    with pytest.raises(StateError, match=r"pinocchio\.normalize"):
        floating.state(q)
    with pytest.raises(ControlError, match="q_target is not a configuration"):
        floating.step(floating.state(), Command(kp=np.ones(18), q_target=q), 0.01)


@pytest.mark.parametrize("name", ["kp", "kd"])
@pytest.mark.parametrize("base", ["planar", "free-flyer"])
def test_gains_on_floating_bases_are_asked_for(simulator, floating, base, name):
    """A base has no motor: a gain on it is refused unless it is meant to be held from outside."""
    sim, n = (simulator, 3) if base == "planar" else (floating, 6)
    q, nv = sim.robot.standing, sim.robot.model.nv
    gains = np.zeros(nv)
    gains[n:] = 10.0
    assert sim.step(sim.state(), Command(**{name: gains}, q_target=q), 0.01).status.ok
    gains[n - 1] = 10.0
    with pytest.raises(ControlError, match=rf"{name} acts on a floating base .* 0, .*base_gains"):
        sim.step(sim.state(), Command(**{name: gains}, q_target=q), 0.01)
    held = Command(kp=np.full(nv, 1e6), q_target=q, base_gains=True)
    state = sim.state()
    state.v[2] = 0.1
    assert sim.step(state, held, 0.01).status.ok


class Late(Controller):
    """Gains on all velocities from 15 ms on, as data or as what follows the time."""

    def __init__(self, robot, follows_time):
        self.robot, self.follows_time = robot, follows_time

    def command(self, state, h):
        return self.within(state, h, h)

    def within(self, state, t, h):
        gains = np.full(self.robot.model.nv, 10.0 if state.t + t > 0.015 else 0.0)
        return Command(kp=gains, kd=gains, q_target=self.robot.standing)


@pytest.mark.parametrize("follows_time", [False, True])
def test_later_gains_on_floating_bases_are_asked_for(floating, follows_time):
    """Those of a source, and those that a controller gives in its second step."""
    run = floating.run(floating.state(), Late(floating.robot, follows_time), dt=0.01, duration=0.03)
    assert next(run).status.ok
    with pytest.raises(ControlError, match="kp acts on a floating base"):
        next(run)

    class Source(CommandSource):
        def at(self, t):
            return Late(floating.robot, True).within(floating.state(), t, 0.01)

    assert floating.step(floating.state(), Source(), 0.01).status.ok
    with pytest.raises(ControlError, match="kp acts on a floating base"):
        floating.step(floating.state(), Source(), 0.02)


@pytest.mark.parametrize("h", [0.0, -0.01, np.nan, np.inf, 1.0001, 10.0, 50, "0.01", None, 1j])
def test_bad_step_lengths(simulator, h):
    """Lengths of steps are in (0, 1] s; in `step` and in `run` alike."""
    with pytest.raises(StateError, match=r"the step must be in \(0, 1\] s"):
        simulator.step(simulator.state(), None, h)
    with pytest.raises(StateError, match=r"the step must be in \(0, 1\] s"):
        next(simulator.run(simulator.state(), Passive(), dt=h, duration=1.0))


def test_milliseconds_are_suspected(simulator):
    """A step of 50 s was meant as 50 ms."""
    with pytest.raises(StateError, match=r"did you mean 0.05 s \(milliseconds\)"):
        simulator.step(simulator.state(), None, 50)


BAD_COMMANDS = {
    "nan torque": (broken(15), "tau must hold finite numbers"),
    "short torque": (np.zeros(11), r"tau has shape \(11,\), expected \(15,\)"),
    "text": ("push", "tau must be an array of numbers"),
    "nan kp": (Command(kp=broken(15), q_target=np.zeros(15)), "kp must hold finite numbers"),
    "negative kp": (Command(kp=-np.ones(15), q_target=np.zeros(15)), "kp must not be negative"),
    "negative kd": (Command(kd=broken(15, -1.0)), "kd must not be negative"),
    "short kd": (Command(kd=np.ones(14)), r"kd has shape \(14,\)"),
    "kp without target": (Command(kp=np.ones(15)), "kp is given without q_target"),
    "target nan": (Command(kp=np.ones(15), q_target=broken(15)), "q_target must hold finite"),
    "target shape": (Command(kp=np.ones(15), q_target=np.zeros(16)), r"q_target has shape \(16,\)"),
    "rate shape": (Command(kd=np.ones(15), v_target=np.zeros(16)), r"v_target has shape \(16,\)"),
    "words in tau": (Command(tau=["a"] * 15), "tau must be an array of numbers"),
}


@pytest.mark.parametrize(("bad", "message"), BAD_COMMANDS.values(), ids=BAD_COMMANDS)
def test_bad_commands(simulator, bad, message):
    """Torques, gains and targets that cannot be used are named."""
    with pytest.raises(ControlError, match=message):
        simulator.step(simulator.state(), bad, 0.01)


BAD_SIMULATORS = {
    "method": ({"method": "euler"}, r"'euler' is not known; choose from \['ne-mdp', "),
    "no method": ({"method": None}, "'None' is not known; choose from"),
    "option": ({"ordre": 1}, "has no option 'ordre'; choose from .*'order'"),
    "baseline has one": (
        {"method": "ne-mdp", "order": 1},
        "no option 'order'; choose from \\['pd', 'qp_solver'\\]",
    ),
    "order": ({"order": 3}, "order must be 1 or 2, got 3"),
    "budget": ({"max_work": 0}, "max_work must be >= 1, got 0"),
    "unknown key": ({"vi_newton": {"tol": 1e-6}}, "vi_newton.tol is not an option"),
    "step control": ({"control": "halving"}, "control must be Halving.*, got the text"),
    "a list of methods": ({"method": ["ne-nmdp"]}, "is not known; choose from"),
    "type": ({"max_work": "few"}, "max_work must be a whole number, got the text 'few'"),
    "options of the other solver": (
        {"projected_gradient": ProjectedGradient()},
        "'dissipation' is not solved by ProjectedGradient: leave out its options",
    ),
    "options of the principle": (
        {"objective": "kinetic", "vi_newton": ViNewton()},
        "'kinetic' is not solved by ViNewton",
    ),
    "objective": ({"objective": "x"}, "'x' is not known; choose from .*'kinetic'"),
    "qp of the baseline": (
        {"method": "ne-mdp", "qp_solver": "osqp"},
        "qp_solver must be 'proxqp' or 'daqp', got 'osqp'",
    ),
    "qp of the principle": (
        {"projected_gradient": ProjectedGradient(qp_solver="daqp")},
        "'dissipation' is not solved by ProjectedGradient: leave out its options",
    ),
    "min_step is step control's": ({"min_step": 1e-3}, "has no option 'min_step'"),
}


def test_other_things_than_robots_and_terrains():
    """A shape or a model in place of a terrain or a robot is named, with what is expected."""
    robot = load_robot("box")
    law = FrictionCone(stiffness=1e6)
    with pytest.raises(TerrainError, match=r"expected a Terrain, such as .*, got Plane"):
        Simulator(robot, Plane(), law)
    with pytest.raises(RobotError, match=r"expected a Robot, .*, got Model"):
        Simulator(robot.model, Terrain(Plane()), law)


@pytest.mark.parametrize(("bad", "message"), BAD_SIMULATORS.values(), ids=BAD_SIMULATORS)
def test_bad_simulators(bad, message):
    """Unknown methods and options list the known ones."""
    with pytest.raises(IntegratorError, match=message):
        Simulator(samples.robot("robosimian planar"), GROUND, CONE, **bad)


def test_standing_state(simulator):
    """Without arguments the state stands at rest, and its arrays are its own."""
    state = simulator.state()
    np.testing.assert_array_equal(state.q, simulator.robot.standing)
    assert not state.v.any()
    assert state.t == 0.0
    assert state.warm is None
    q = np.array(simulator.robot.standing)
    kept = simulator.state(q, t=3)
    q[0] = 9.0
    assert kept.q[0] != 9.0
    assert kept.t == 3
    state.q[0] += 1.0
    assert simulator.state().q[0] == simulator.robot.standing[0]


def test_states_from_lists(simulator):
    """Lists of numbers are as good as arrays."""
    state = simulator.state(list(simulator.robot.standing), [0] * 15)
    assert simulator.step(state, Command(tau=[0] * 15), 0.01).status is Status.CONVERGED


def test_torques_of_driven_joints(simulator):
    """Twelve torques are those of the driven joints; fifteen those of all velocities."""
    torque = np.linspace(-5.0, 5.0, 12)
    full = np.zeros(15)
    full[simulator.robot.driven] = torque
    result = simulator.step(simulator.state(), torque, 0.01)
    np.testing.assert_array_equal(result.tau, full)
    assert_same_bits(result, simulator.step(simulator.state(), full, 0.01))
    assert_same_bits(result, simulator.step(simulator.state(), Command(tau=full), 0.01))
    none = simulator.step(simulator.state(), None, 0.01)
    assert_same_bits(none, simulator.step(simulator.state(), Command(), 0.01))


@pytest.mark.parametrize(
    ("duration", "lengths"),
    [(0.05, [0.02, 0.02, 0.01]), (0.04, [0.02, 0.02]), (0.01, [0.01]), (0.0, []), (0, [])],
)
def test_run_ends_at_the_duration(simulator, duration, lengths):
    """The last step is shorter where dt does not divide the duration; none for 0 s."""
    state = simulator.state(t=5.0)
    results = list(simulator.run(state, Passive(), dt=0.02, duration=duration))
    np.testing.assert_allclose([sum(r.step_sizes) for r in results], lengths, atol=1e-12)
    if results:
        assert results[-1].state.t == pytest.approx(5.0 + duration, abs=1e-12)


def test_run_does_not_add_a_sliver(simulator):
    """0.3 s in steps of 0.1 s are three steps, though 0.3 / 0.1 < 3 in floating point."""
    for dt, n in ((0.1, 3), (0.05, 7), (1e-3, 10)):
        results = list(simulator.run(simulator.state(), Passive(), dt=dt, duration=dt * n))
        assert len(results) == n


def test_run_with_the_longest_step():
    """Rounding of the time does not make the last step longer than the longest allowed."""
    robot = samples.robot("no-contact")
    simulator = Simulator(robot, GROUND, CONE, "ne-mdp")
    for t in (0.1, 0.7, 1e4 + 0.3):
        last = list(simulator.run(simulator.state(t=t), Passive(), dt=1.0, duration=3.0))[-1]
        assert last.state.t == pytest.approx(t + 3.0)


@pytest.mark.parametrize("duration", [-1.0, np.nan, np.inf, "1", None])
def test_bad_durations(simulator, duration):
    """A duration is a finite number of seconds, at least 0."""
    with pytest.raises(StateError, match="duration must be a finite number of seconds >= 0"):
        next(simulator.run(simulator.state(), Passive(), dt=0.01, duration=duration))


def test_run_asks_the_controller_before_each_step(simulator):
    """The controller sees the state at the start of each step and its length."""
    seen = []
    controller = TorqueFunction(lambda state, h: seen.append((state.t, h)) or np.zeros(15))
    for _ in simulator.run(simulator.state(), controller, dt=0.02, duration=0.05):
        pass
    np.testing.assert_allclose(seen, [(0.0, 0.02), (0.02, 0.02), (0.04, 0.01)], atol=1e-12)


def test_bad_commands_of_controllers(simulator):
    """A controller's NaN is the user's mistake, not a failed step."""
    controller = TorqueFunction(lambda state, h: broken(15))
    with pytest.raises(ControlError, match="tau must hold finite numbers"):
        next(simulator.run(simulator.state(), controller, dt=0.02, duration=0.05))


def failing():
    """A simulator that fails soon: one iteration is not enough when feet come down."""
    robot = samples.robot("robosimian planar")
    return Simulator(
        robot,
        GROUND,
        CONE,
        vi_newton=ViNewton(max_iterations=1, tolerance=1e-14),
        control=Halving(min_step=0.02),
    )


def test_on_failure_stop():
    """The failed result is the last one, with the state that went in."""
    simulator = failing()
    state = simulator.state(v=np.full(15, -0.5))
    results = list(simulator.run(state, Passive(), dt=0.02, duration=1.0))
    assert [r.status.ok for r in results[:-1]] == [True] * (len(results) - 1)
    assert not results[-1].status.ok
    before = results[-2].state if len(results) > 1 else state
    assert results[-1].state is before


def test_on_failure_raise():
    """The error carries the failed result and says when and why."""
    simulator = failing()
    with pytest.raises(
        StepFailed, match=r"the step at t = .* s failed: .*try a smaller dt"
    ) as caught:
        list(
            simulator.run(
                simulator.state(v=np.full(15, -0.5)),
                Passive(),
                dt=0.02,
                duration=1.0,
                on_failure="raise",
            )
        )
    assert not caught.value.result.status.ok
    assert caught.value.h == 0.02
    assert isinstance(caught.value.command, Command)
    assert isinstance(caught.value, NmdpError)


def test_unknown_on_failure(simulator):
    """Anything but stop and raise is refused."""
    with pytest.raises(IntegratorError, match="on_failure must be 'stop' or 'raise', got 'ignore'"):
        next(simulator.run(simulator.state(), Passive(), dt=0.1, duration=1, on_failure="ignore"))


@spread(
    {
        "clone": [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))],
        "method": sorted(INTEGRATORS),
    }
)
def test_copies_step_alike(method, clone):
    """A copy, by pickle too, gives the same bits, options and terrain included."""
    terrain = Terrain(
        [Plane(height=-0.8), Sphere(radius=0.4, position=(0.5, 0.5, -1.1), friction=0.3)]
    )
    robot = samples.robot("robosimian planar")
    options = {"objective": "end_effector"} if method == "ne-nmdp" else {}
    law = law_for(method, replace(CONE, recovery=0.0))
    original = Simulator(robot, terrain, law, method, control=Halving(min_step=1e-3), **options)
    controller = StablePD(robot, kp=1000.0, kd=1.0, gait="jump")
    state = original.state()
    for result in original.run(state, controller, dt=0.005, duration=0.02):
        state = result.state
    copied = clone(original)
    command = controller.command(state, 0.005)
    assert_same_bits(copied.step(state, command, 0.005), original.step(state, command, 0.005))
    assert (copied.control, copied.options) == (Halving(min_step=1e-3), options)


@pytest.mark.parametrize("control", [Fixed(), ErrorControl(rtol=0.1, atol=0.2)])
def test_copies_control_steps_alike(control):
    """A pickled copy has the same step control."""
    original = Simulator(samples.robot("robosimian planar"), GROUND, CONE, control=control)
    copied = pickle.loads(pickle.dumps(original))
    assert copied.control == original.control
    state = original.state(v=np.full(15, -0.3))
    assert_same_bits(copied.step(state, None, 0.02), original.step(state, None, 0.02))


def test_replay(simulator):
    """A run from a pickled state in the middle gives the same bits as the first time."""
    controller = StablePD(simulator.robot, kp=1000.0, kd=1.0, gait="jump")
    first = list(simulator.run(simulator.state(), controller, dt=0.02, duration=0.2))
    middle = pickle.loads(pickle.dumps(first[4].state))
    again = list(simulator.run(middle, controller, dt=0.02, duration=0.1))
    for a, b in zip(first[5:], again, strict=True):
        assert np.array_equal(a.state.q, b.state.q)
        assert np.array_equal(a.state.v, b.state.v)
        assert np.array_equal(a.contact_forces, b.contact_forces)


def test_two_simulators_share_nothing():
    """Steps of another simulator of the same robot in between change no bit."""
    robot = samples.robot("wheels")
    ground = Terrain([Plane(height=-0.3)])
    one, two = (Simulator(robot, ground, CONE) for _ in range(2))
    state = one.state(v=np.full(robot.model.nv, 0.3))
    alone = one.step(state, None, 0.02)
    two.step(two.state(v=np.full(robot.model.nv, -2.0)), None, 0.05)
    assert_same_bits(one.step(state, None, 0.02), alone)


FUZZ_ROBOTS = ("robosimian planar", "wheels", "pendulum", "spider", "no-contact")


@spread({"speed": [1e70, 1e100, 1e150, 1e200, 1e300], "method": sorted(INTEGRATORS)})
def test_overflow_is_a_failure(speed, method):
    """Energies and torques beyond the range of numbers never come out of a step that is ok."""
    for name in ("spider", "wheels+damping", "no-contact"):
        simulator = Simulator(
            samples.robot(name),
            GROUND,
            law_for(method, CONE),
            method,
            control=Halving(min_step=0.01),
        )
        nv = simulator.robot.model.nv
        state = simulator.state(v=speed * np.random.default_rng(0).standard_normal(nv))
        assert_sound(simulator.step(state, None, 0.01), state)


@spread({"name": FUZZ_ROBOTS, "method": sorted(INTEGRATORS)})
def test_fuzz(name, method):
    """Random states, commands, lengths and grounds: a status, finite numbers, no exception."""
    robot, rng = samples.robot(name), np.random.default_rng(len(name))
    model = robot.model
    grounds = (
        Terrain([Plane(height=-0.5)]),
        Terrain([Plane(normal=(0.3, 0.2, -1.0), offset=0.2), Sphere(radius=1.0)]),
        Terrain([Cylinder(radius=0.5, length=3.0, position=(0.0, 0.0, -0.6))]),
    )
    options = {"vi_newton": ViNewton(max_iterations=20)} if method == "ne-nmdp" else {}
    for terrain in grounds:
        simulator = Simulator(
            robot, terrain, law_for(method, CONE), method, control=Halving(min_step=0.02), **options
        )
        for _ in range(3):
            size = 10.0 ** rng.uniform(-3, 3)
            state = simulator.state(
                samples.configuration(model, rng), size * rng.standard_normal(model.nv)
            )
            command = samples.command(model, rng)
            scale = 10.0 ** rng.uniform(-2, 4)
            command = replace(command, tau=scale * command.tau, kp=scale * command.kp)
            result = simulator.step(state, command, 10.0 ** rng.uniform(-4, 0))
            assert_sound(result, state)
            assert pin.isNormalized(model, result.state.q, 1e-6)


def test_a_simulator_that_nobody_holds_is_freed():
    """Nothing outlives a simulator: sweeps make thousands."""
    simulator = Simulator(samples.robot("pendulum"), GROUND, CONE)
    simulator.step(State(0.0, np.zeros(1), np.zeros(1)), Command(), 0.01)
    held = weakref.ref(simulator)
    del simulator
    gc.collect()
    assert held() is None
