"""Rollouts by JAX agree with those of the compiled pbfd."""

import subprocess
import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pinocchio as pin
import pytest
from benchmark_modules import benchmark
from joint_scenes import BALLS
from urdf_samples import write

from nmdp_pin import (
    Command,
    Fixed,
    Halving,
    Penalty,
    Plane,
    Simulator,
    Terrain,
    free_body,
    load_robot,
    with_frictions,
)
from nmdp_pin._jax import roller
from nmdp_pin._jax.compiled_scene import scene_of
from nmdp_pin._jax.manifold import difference, integrate
from nmdp_pin._jax.scene import BOX, CAPSULE, PLANE, SPHERE
from nmdp_pin._robot import Mimic, together, touching
from nmdp_pin.control import ExternalWrench
from nmdp_pin.derivatives import step_derivatives
from nmdp_pin.device import SCHEDULES, Commands, DeviceScene, device_scene, roll, trajectory
from nmdp_pin.errors import ControlError, IntegratorError, StateError, WorkerError
from nmdp_pin.rollout import rollout
from nmdp_pin.terrain import Box, Capsule, HeightField, Sphere

TOLERANCE = 1e-8  # relative to the sizes of q and v; both solve to 1e-8 of the weight
STEPS, MANY_STEPS = 50, 10
FAST = 1e6  # times the speed of lanes that fail
KINDS = (PLANE, BOX, SPHERE, CAPSULE)


def scene(name, K, seed=0):
    """Simulator, starts, command and torques of K trajectories, and the length of a step."""
    rng = np.random.default_rng(seed)
    if name == "chain":
        batch = benchmark("batch")
        robot, h = batch.chain(10), 0.005
        x0 = batch.starts(robot, K)
    else:
        contacts = {"go2": "feet", "anymal": "feet"}.get(name)
        keywords = {} if contacts is None else {"contacts": contacts}
        robot, h = load_robot(name, visuals=False, **keywords), 0.01 if "gym" in name else 0.02
        model = robot.model
        x0 = np.array([
            np.concatenate([
                pin.integrate(model, robot.standing, 0.02 * rng.normal(size=model.nv)),
                0.1 * rng.normal(size=model.nv),
            ])
            for _ in range(K)
        ])  # fmt: skip
    gain, torque = (0.0, 0.01) if name == "chain" else (60.0, 3.0)  # [N m/rad], [N m]
    nv, gains = robot.model.nv, np.zeros(robot.model.nv)
    gains[robot.driven] = gain
    command = Command(kp=gains, kd=gains / 30.0, q_target=robot.standing, tau=np.zeros(nv))
    u = torque * rng.normal(size=(K, STEPS, len(robot.driven)))
    law, ground = Penalty(), Terrain([Plane(friction=0.7)])
    simulator = Simulator(robot, ground, law, "pbfd", control=Fixed())
    return simulator, x0, command, u, h


def check_values(found, expected):
    """Positions, velocities, statuses and numbers of steps of two rollouts."""
    np.testing.assert_array_equal(found.status, expected.status)
    np.testing.assert_array_equal(found.steps, expected.steps)
    np.testing.assert_allclose(found.x, expected.x, rtol=TOLERANCE, atol=TOLERANCE)


def check_agreement(simulator, x0, command, u, h):
    """Positions, velocities, statuses and numbers of steps are those of compiled steps."""
    expected = rollout(simulator, x0, u, h=h, command=command)
    found = rollout(simulator, x0, u, h=h, command=command, backend="jax")
    check_values(found, expected)
    assert [s.t for s in found.final] == [s.t for s in expected.final]
    return expected


@pytest.mark.parametrize("name", ["go2", "chain"])
@pytest.mark.filterwarnings("ignore::nmdp_pin.errors.RobotWarning")
def test_agrees_with_compiled_steps(name):
    """Of legs under a free body and of a fixed chain, also where trajectories fail."""
    made = check_agreement(*scene(name, 7))
    assert made.steps.sum() > 7


def test_agrees_in_a_thousand_lanes_by_each_schedule():
    """Lanes that go on at once need fewer calls of the device than lanes that wait.

    Some of them are damped, some have missed contacts, and some fail.
    """
    simulator, x0, command, u, h = scene("gym-hopper", 1024)
    x0[::100, simulator.vector.nq :] *= FAST
    u = u[:, :MANY_STEPS]
    expected = rollout(simulator, x0, u, h=h, command=command)
    assert not expected.ok[::100].any()
    device = roller.DeviceRoller(simulator, command, "cpu", "float64")
    starts = [simulator.state(x[: simulator.vector.nq], x[simulator.vector.nq :]) for x in x0]
    with jax.enable_x64(True):
        arguments = device.arguments(starts, u, h)
        own, waiting = (roll(*arguments, steps=MANY_STEPS, schedule=name) for name in SCHEDULES)
    check_values(own._replace(x=np.moveaxis(own.x, 2, 0)), expected)
    np.testing.assert_array_equal(own.x, waiting.x)
    np.testing.assert_array_equal(own.iterations, waiting.iterations)
    assert int(own.iterations.max()) <= int(own.calls) < int(waiting.calls)


SHAPES = {
    "box": Box(size=(0.3, 0.3, 0.2), position=(0.0, 0.0, -0.1), friction=0.5),
    "sphere": Sphere(radius=0.5, position=(0.02, 0.0, -0.5), friction=0.5),
    "capsule": Capsule(radius=0.2, length=0.4, position=(0.0, 0.03, -0.4), friction=0.5),
}
TOUCHING = ("ball", "terrain")
PUSHED = Command(wrenches=(ExternalWrench(force=(1.0, 0.0, 0.0)),))
BALL = free_body("ball", Sphere(radius=0.1), mass=1.0, position=(0.0, 0.0, 0.1))


def ball_on(shape, **options):
    """Simulator of a ball on a shape."""
    law = Penalty(normal_stiffness=1e6)
    return Simulator(BALL, Terrain([shape]), law, "pbfd", control=Fixed(), **options)


def every_kind(scene):
    """A scene whose program knows every kind of shape, so that it is compiled once for all."""
    return replace(scene, structure=replace(scene.structure, kinds=KINDS))


@pytest.fixture
def one_program(monkeypatch):
    """One program for scenes that differ in their shapes."""
    monkeypatch.setattr(roller, "scene_of", lambda simulator: every_kind(scene_of(simulator)))


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.usefixtures("one_program")
def test_round_and_edged_ground(name):
    """A ball in the middle, at an edge, at a corner, and one that rolls."""
    simulator = ball_on(SHAPES[name])
    x0 = np.tile(np.concatenate([BALL.standing, np.zeros(6)]), (4, 1))
    x0[:, 2] += 0.01
    x0[1, :2], x0[2, :2], x0[3, 7:10] = (0.16, 0.1), (0.17, 0.165), (1.0, 0.5, -1.0)
    made = check_agreement(simulator, x0, None, np.zeros((4, 12, 0)), 0.01)
    assert made.ok.all()


HILLS = HeightField(
    heights=0.08 * np.random.default_rng(3).random((7, 9)),
    spacing=(0.15, 0.12),
    position=(0.0, 0.0, -0.05),
    friction=0.5,
)


def test_height_fields():
    """Balls fall on faces, ridges and peaks, lie in pits, and roll off the field."""
    rng, n = np.random.default_rng(0), 12
    x0 = np.tile(np.concatenate([BALL.standing, np.zeros(6)]), (n, 1))
    x0[:, :2] += rng.uniform(-0.3, 0.3, (n, 2))
    x0[:, 2], x0[:, 7:10] = 0.14, rng.normal(size=(n, 3))
    x0[0, :2], x0[0, 7:10] = (0.45, 0.0), 0.0  # in the middle of nine samples by 15 cm
    made = check_agreement(ball_on(HILLS), x0, None, np.zeros((n, STEPS, 0)), 0.01)
    assert made.ok.all()


def test_boxes_and_balls_on_bodies():
    """Boxes on a box, whose corners touch faces and whose edges cross, and a ball on both."""
    box, ball = Box(size=(0.1, 0.1, 0.1), friction=0.6), Sphere(radius=0.04, friction=0.4)
    parts = (
        free_body("a", box, mass=1.0, position=(0.0, 0.0, 0.05)),
        free_body("b", box, mass=1.0, position=(0.01, 0.0, 0.151), rpy=(0.0, 0.0, 0.5)),
        free_body("c", ball, mass=0.5, position=(0.01, 0.01, 0.242)),
    )
    robot, law = touching(together(parts[0], parts[1:])), Penalty(normal_stiffness=1e6)
    simulator = Simulator(robot, Terrain([Plane(friction=0.6)]), law, "pbfd", control=Fixed())
    nv, rng = robot.model.nv, np.random.default_rng(0)
    x0 = np.tile(np.concatenate([robot.standing, np.zeros(nv)]), (4, 1))
    x0[:, -nv:] += 0.3 * rng.normal(size=(4, nv))
    x0[3, -6:-3] = 3.0, 0.0, -2.0  # the ball hits the box
    made = check_agreement(simulator, x0, None, np.zeros((4, 40, 0)), 0.005)
    assert made.ok[[0, 1, 3]].all()
    assert device_scene(simulator).structure.of_bodies


def test_springs_of_all_kinds_of_joints(tmp_path):
    """Of ball, slide, hinge and a free body, with one that holds the hinge to the slide."""
    pytest.importorskip("mujoco", reason="needs mujoco: extra 'mjcf'")
    robot = load_robot(write(tmp_path, BALLS, "balls.xml"), contacts=[])
    model, rng = robot.model, np.random.default_rng(0)
    limits = replace(robot.limits, mimics=(Mimic("hinge", "slide", -2.0, 0.5),))
    slide, hinge = (model.joints[model.getJointId(name)].idx_q for name in ("slide", "hinge"))
    held, law = replace(robot, limits=limits), Penalty()
    simulator = Simulator(held, Terrain([Plane(height=-10.0)]), law, "pbfd", control=Fixed())
    q = [pin.integrate(model, robot.standing, 0.3 * rng.normal(size=model.nv)) for _ in "abc"]
    x0 = np.concatenate([q, rng.normal(size=(3, model.nv))], axis=1)
    x0[:, hinge] = 0.5 - 2.0 * x0[:, slide]
    made = check_agreement(simulator, x0, None, np.zeros((3, STEPS, len(held.driven))), 0.01)
    assert made.ok.all()
    off = made.x[..., hinge] + 2.0 * made.x[..., slide] - 0.5
    assert np.abs(off[:, -1]).max() < 1e-4


@pytest.mark.parametrize(("body", "exceptions"), [(0.9, {}), (None, {}), (0.2, {TOUCHING: 0.1})])
@pytest.mark.usefixtures("one_program")
def test_a_pair_has_one_friction(body, exceptions):
    """The larger one of both, that of the ground alone, or that of the pair."""
    ball = free_body("ball", Sphere(radius=0.1, friction=body), mass=1.0, position=(0.0, 0.0, 0.1))
    law, ground = Penalty(normal_stiffness=1e6), Terrain([Plane(friction=0.5)])
    simulator = Simulator(with_frictions(ball, exceptions), ground, law, "pbfd", control=Fixed())
    x0 = np.tile(np.concatenate([ball.standing, [1.0, 0.5, 0.0, 0.0, 0.0, 0.0]]), (4, 1))
    check_agreement(simulator, x0, None, np.zeros((4, 12, 0)), 0.01)


def test_gradients_are_those_of_compiled_steps():
    """Forward and reverse derivatives of a rolling, sliding ball, by start and torque."""
    simulator, h, nv = ball_on(Plane(friction=0.5), tolerance=1e-12), 0.01, 6
    start = simulator.state(BALL.standing - [0, 0, 1e-3, 0, 0, 0, 0], [0.5, 0.1, -0.2, 1, 2, 3])
    expected = step_derivatives(simulator, start, None, h)
    with jax.enable_x64(True):
        scene = device_scene(simulator).on(jax.devices("cpu")[0])
        zeros = jnp.zeros((1, nv, 1))
        commands = Commands(
            zeros, zeros, zeros, jnp.asarray(BALL.standing)[None, :, None], zeros, zeros
        )

        def end(z):
            """Tangent of the end by tangents of the start."""
            q = integrate(scene.structure, jnp.asarray(start.q)[:, None], z[:nv, None])
            v = jnp.asarray(start.v)[:, None] + z[nv:, None]
            x, _ = trajectory(scene, q, v, commands, h, steps=1)
            q1 = x[-1, :7]
            dq = difference(scene.structure, jax.lax.stop_gradient(q1), q1)
            return jnp.concatenate([dq[:, 0], x[-1, 7:, 0]])

        direction, covector = np.linspace(-1.0, 1.0, 2 * nv), np.arange(1.0, 2.0 * nv + 1.0)
        none = jnp.zeros(2 * nv)

        def both(direction, covector):
            """By one linearisation, so that the step is compiled once."""
            _, along = jax.linearize(end, none)
            return along(direction), *jax.linear_transpose(along, none)(covector)

        forward, reverse = jax.jit(both)(direction, covector)
    pushed, pulled = expected.dx_dx @ direction, covector @ expected.dx_dx
    np.testing.assert_allclose(forward, pushed, rtol=0.0, atol=1e-6 * np.abs(pushed).max())
    np.testing.assert_allclose(reverse, pulled, rtol=0.0, atol=1e-6 * np.abs(pulled).max())


RUN_ALONE = """
import sys
for name in ("pinocchio", "coal", "hppfcl", "numba"):
    sys.modules[name] = None
import jax, numpy as np, jax.numpy as jnp
from nmdp_pin.device import Commands, DeviceScene, roll
with jax.enable_x64(True):
    scene = DeviceScene.load(sys.argv[1]).on(jax.devices("cpu")[0])
    q, none = jnp.asarray(scene.standing)[:, None], jnp.zeros((1, 6, 1))
    commands = Commands(jnp.zeros((12, 6, 4)), none, none, q[None], none, none)
    start = jnp.tile(q, (1, 4)), jnp.zeros((6, 4))
    np.save(sys.argv[2], roll(scene, *start, commands, 0.01, steps=12).x)
"""


def test_a_saved_scene_needs_only_jax(tmp_path):
    """Loaded without pinocchio, coal and numba it makes the same steps."""
    simulator = ball_on(Plane(friction=0.5))
    every_kind(device_scene(simulator)).save(tmp_path / "scene.npz")  # a program of the cache
    words = [sys.executable, "-c", RUN_ALONE, tmp_path / "scene.npz", tmp_path / "x.npy"]
    subprocess.run(words, check=True)
    expected = rollout(simulator, simulator.state(), None, h=0.01, steps=12).x[0]
    np.testing.assert_allclose(np.load(tmp_path / "x.npy")[..., 0], expected, atol=TOLERANCE)


def test_damaged_scenes_are_refused(tmp_path):
    """What is no scene is no scene."""
    np.savez(tmp_path / "scene.npz", structure=np.array("{}"))
    with pytest.raises(StateError, match="no scene for devices"):
        DeviceScene.load(tmp_path / "scene.npz")


def test_float32():
    """Single precision is that of single precision: steps of the same trajectory to 1e-3."""
    simulator = ball_on(Plane(friction=0.5))
    start, h = simulator.state(), 0.01
    found = rollout(simulator, start, h=h, steps=12, backend="jax", dtype="float32")
    expected = rollout(simulator, start, h=h, steps=12)
    assert found.ok.all()
    np.testing.assert_allclose(found.x, expected.x, atol=1e-3)


def test_no_steps_and_no_lanes():
    """Nothing is made of nothing."""
    found = rollout(ball_on(Plane()), np.zeros((0, 13)), h=0.01, steps=3, backend="jax")
    assert found.x.shape == (0, 3, 13)


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ({"backend": "cuda"}, IntegratorError, "'compiled' or 'jax'"),
        ({"device": "cpu"}, IntegratorError, "options of backend='jax'"),
        ({"backend": "jax", "device": "abacus"}, IntegratorError, "it has cpu:0"),
        ({"backend": "jax", "dtype": "float16"}, IntegratorError, "dtype must be one of"),
        ({"backend": "jax", "n_jobs": 2}, WorkerError, "leave n_jobs out"),
        ({"backend": "jax", "command": lambda *_: None}, ControlError, "no function"),
        ({"backend": "jax", "command": PUSHED}, ControlError, "no wrenches"),
    ],
)
def test_mistakes(words, error, message):
    """Each is named, with what is allowed."""
    simulator = ball_on(Plane())
    with pytest.raises(error, match=message):
        rollout(simulator, simulator.state(), h=0.01, steps=1, **words)


def test_what_jax_lacks_is_refused():
    """Other methods, halved steps, and contacts of other kinds."""
    start = ball_on(Plane()).state()
    halved = Simulator(BALL, Terrain([Plane()]), Penalty(), "pbfd", control=Halving())
    other = Simulator(BALL, Terrain([Plane()]), Penalty(), "pbd", control=Fixed())
    two = Simulator(BALL, Terrain([Plane(), SHAPES["sphere"]]), Penalty(), "pbfd", control=Fixed())
    fine = ball_on(HeightField(heights=np.zeros((9, 9)), spacing=(0.04, 0.04)))
    tilted = ball_on(HeightField(heights=np.zeros((3, 3)), spacing=(1.0, 1.0), rpy=(0.1, 0.0, 0.0)))
    for simulator, message in (
        (halved, "control=Fixed"),
        (other, "steps of 'pbfd'"),
        (two, "one shape"),
        (tilted, "this scene has others"),
        (fine, "coarser field"),
    ):
        with pytest.raises(IntegratorError, match=message):
            rollout(simulator, start, h=0.01, steps=1, backend="jax")


def test_a_missing_jax_names_the_extra():
    """The message says how to install it."""
    code = "import sys; sys.modules['jax'] = None; import nmdp_pin.device"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "nmdp-pin[jax]" in result.stderr
