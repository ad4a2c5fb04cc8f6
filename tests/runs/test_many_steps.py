"""Many steps by one compiled call are the steps that `Simulator.step` makes, to the bit."""

import pickle
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin import (
    Command,
    ErrorControl,
    FrictionCone,
    Halving,
    Penalty,
    Plane,
    Simulator,
    Terrain,
    load_robot,
)
from nmdp_pin._control import Passive
from nmdp_pin._control.moved_target import MovedTarget
from nmdp_pin._integrators.nmdp import Nmdp
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._parallel.tasks import content_of
from nmdp_pin.errors import ControlError
from nmdp_pin.rollout import rollout

H, STEPS = 0.02, 12  # [s]
METHODS = (
    ("ne-nmdp", {"order": 1}),
    ("ne-nmdp", {"order": 2}),
    ("pbd-nmdp", {"order": 2}),
    ("ne-zonmdp", {"order": 1}),
    ("pbfd", {}),
)


def on_the_ground(name, method, options):
    """A robot on its feet."""
    robot = load_robot(name, contacts="feet", visuals=False)
    law = Penalty() if method == "pbfd" else FrictionCone.for_robot(robot, static_depth=1e-3)
    ground = Terrain(Plane(height=robot.lowest_point, friction=0.7))
    return Simulator(robot, ground, law, method, **options)


def dropped(control, iterations):
    """A box and its start: it turns and meets the ground, with few iterations a step."""
    robot = load_robot("box", base="free-flyer", visuals=False)
    law, solver = FrictionCone(stiffness=1e6, power=2), ViNewton(max_iterations=iterations)
    simulator = Simulator(
        robot, Terrain(Plane(friction=0.5)), law, "ne-nmdp", control=control, vi_newton=solver
    )
    q = robot.standing.copy()
    q[2] += 0.3
    return simulator, simulator.state(q, [1.0, 0.0, -3.0, 2.0, 0.0, 0.0])


def held(simulator):
    """A PD command at the standing pose."""
    gains = np.zeros(simulator.vector.nv)
    gains[simulator.robot.driven] = 60.0
    return Command(kp=gains, kd=0.05 * gains, q_target=simulator.robot.standing)


def assert_made_one_by_one(found, simulator, state, commands):
    """The first trajectory of a rollout, its end and warm start are those of single steps."""
    results = []
    for k, command in enumerate(commands):
        results.append(simulator.step(state, command, H))
        if not results[-1].status.ok:
            break
        state = results[-1].state
        assert np.array_equal(found.x[0, k], simulator.vector.pack(state))
    assert found.steps[0] == len(results) - (not results[-1].status.ok)
    assert found.status[0] == results[-1].status.code
    end = found.final[0]
    assert end.t == state.t
    if state.warm is not None:
        for name in ("contacts", "w", "joints", "a", "forces", "tau"):
            own, other = getattr(end.warm, name), getattr(state.warm, name)
            assert np.array_equal(own, other), name
    return results


@pytest.mark.parametrize("robot", ["hopper", "go2"])
@pytest.mark.parametrize(("method", "options"), METHODS)
def test_one_call_makes_the_steps(robot, method, options, monkeypatch):
    """Moves of targets and torques, from rest and from a warm start; Python makes none of them."""
    simulator = on_the_ground(robot, method, options)
    driven, nv = simulator.robot.driven, simulator.vector.nv
    u = 0.1 * np.random.default_rng(0).standard_normal((STEPS, len(driven)))
    command, shifts = held(simulator), np.zeros((STEPS, nv))
    shifts[:, driven] = u
    start = simulator.step(simulator.state(), command, H).state
    with monkeypatch.context() as patch:
        patch.delattr(Simulator, "step")
        moved = rollout(simulator, start, u, h=H, command=command, targets=True)
        torques = rollout(simulator, start, u[:5], h=H)
    targets = [pin.integrate(simulator.robot.model, command.q_target, each) for each in shifts]
    told = [replace(command, q_target=target) for target in targets]
    assert_made_one_by_one(moved, simulator, start, told)
    assert_made_one_by_one(torques, simulator, start, u[:5])


@pytest.mark.parametrize("name", ["go2", "rover"])
def test_targets_are_moved_to_the_bit(name):
    """As one tangent after another moves them, of motors or of all that moves."""
    robot, rng = load_robot(name, contacts="feet", visuals=False), np.random.default_rng(0)
    model, motors = robot.model, np.zeros((3, robot.model.nv))
    motors[:, robot.driven] = rng.standard_normal((3, len(robot.driven)))
    for ways in (motors, rng.standard_normal((3, model.nv))):
        rows = np.full((3, model.nq), np.nan)
        MovedTarget.around(model, robot.standing).write(model, ways, rows)
        assert np.array_equal(rows, [pin.integrate(model, robot.standing, way) for way in ways])


@pytest.mark.parametrize(("iterations", "fails"), [(1, True), (3, False)])
def test_a_step_in_the_middle_fails(iterations, fails):
    """It is halved, and the call goes on from there; or the trajectory ends at its start."""
    simulator, start = dropped(Halving(min_step=1e-3), iterations)
    found = rollout(simulator, start, h=H, steps=STEPS)
    results = assert_made_one_by_one(found, simulator, start, [None] * STEPS)
    assert 0 < found.steps[0]
    assert (found.steps[0] < STEPS) == fails
    assert fails or any(result.halvings for result in results[1:-1])


def test_ctrl_c_ends_many_steps(monkeypatch):
    """It waits for few of them, and is itself where it comes while a kernel calls Python."""
    simulator, lengths, advance = on_the_ground("hopper", "ne-nmdp", {"order": 1}), [], Nmdp.advance

    def counting(self, *arguments):
        lengths.append(len(arguments[-1]))
        return advance(self, *arguments)

    def nothing(self, state, command, plan, first, h, x):
        return first, state

    def interrupted(*_, **__):
        raise SystemError from KeyboardInterrupt()  # as Numba has it

    u = 0.1 * np.random.default_rng(0).standard_normal((130, len(simulator.robot.driven)))
    monkeypatch.setattr(Nmdp, "advance", counting)
    found = rollout(simulator, simulator.state(), u, h=H)
    assert_made_one_by_one(found, simulator, simulator.state(), u)
    assert max(lengths) <= 100
    for name in ("advance", "step"):
        monkeypatch.setattr(Nmdp, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            rollout(simulator, simulator.state(), u, h=H)
        monkeypatch.setattr(Nmdp, "advance", nothing)


def test_error_control_looks_at_each_step():
    """Its sub-steps are those of single steps, with the lengths that they leave."""
    simulator, start = dropped(ErrorControl(rtol=1e-4), 20)
    found = rollout(simulator, start, h=H, steps=6)
    results = assert_made_one_by_one(found, simulator, start, [None] * 6)
    assert any(result.halvings for result in results)
    assert found.final[0].h_next == results[-1].state.h_next


def test_targets_need_a_command_that_has_them():
    """What u would move is told."""
    simulator, start = dropped(Halving(), 20)
    with pytest.raises(ControlError, match="needs a Command with kp and q_target"):
        rollout(simulator, start, np.zeros((1, 6)), h=H, targets=True)
    with pytest.raises(ControlError, match=r"a Passive has no u; give a function"):
        rollout(simulator, start, np.zeros((1, 6)), h=H, command=Passive())


def test_workers_get_no_meshes():
    """What a step does not need is not sent, whatever a function and a simulator hold of it."""
    simulator, _ = dropped(Halving(), 20)
    robot = load_robot("box", base="free-flyer")
    assert robot.visual_model is not None
    assert robot.collision_model is not None
    found = pickle.loads(content_of(lambda: robot, {"simulator": simulator, "robot": robot}))
    function, shared = found
    for own in (function(), shared["robot"], shared["simulator"].system.robot):
        assert own.visual_model is None
        assert own.collision_model is None
        assert np.array_equal(own.standing, robot.standing)
