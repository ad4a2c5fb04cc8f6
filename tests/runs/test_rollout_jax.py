"""Rollouts by JAX agree with those of the compiled pbfd."""

import subprocess
import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pinocchio as pin
import pytest
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
from nmdp_pin._jax import compiled_contacts, roller, schedule
from nmdp_pin._jax.compiled_scene import scene_of
from nmdp_pin._jax.manifold import difference, integrate
from nmdp_pin._jax.step import begin, evaluate
from nmdp_pin._robot import ContactPoints, Mimic, together, touching
from nmdp_pin.control import ExternalWrench
from nmdp_pin.derivatives import step_derivatives
from nmdp_pin.device import SCHEDULES, Commands, DeviceScene, device_scene, roll, trajectory
from nmdp_pin.errors import ControlError, IntegratorError, StateError, WorkerError
from nmdp_pin.rollout import Jax, rollout
from nmdp_pin.terrain import Box, Capsule, HeightField, Sphere

TOLERANCE = 1e-8  # relative to the sizes of q and v; both solve to 1e-8 of the weight
FAST = 1e6  # times the speed of lanes that fail
STEPS = 50  # on hills


def check_values(found, expected):
    """Positions, velocities, statuses and numbers of steps of two rollouts."""
    np.testing.assert_array_equal(found.status, expected.status)
    np.testing.assert_array_equal(found.steps, expected.steps)
    np.testing.assert_allclose(found.x, expected.x, rtol=TOLERANCE, atol=TOLERANCE)


def check_agreement(simulator, x0, command, u, h):
    """Positions, velocities, statuses and numbers of steps are those of compiled steps."""
    expected = rollout(simulator, x0, u, h=h, command=command)
    found = rollout(simulator, x0, u, h=h, command=command, backend=Jax())
    check_values(found, expected)
    assert [s.t for s in found.final] == [s.t for s in expected.final]
    return expected


def test_agrees_with_compiled_steps(tmp_path, monkeypatch):
    """Of slide, ball, hinge and a free body: springs, a copy, a stop, dry friction, a weak motor.

    Of three points of the free body one lands; a lane that is too fast fails as it does compiled.
    """
    pytest.importorskip("mujoco", reason="needs mujoco: extra 'mjcf'")
    monkeypatch.setattr(compiled_contacts, "MOST_CONTACTS", 1)
    robot = load_robot(write(tmp_path, BALLS, "balls.xml"), contacts=[])
    model, rng = robot.model, np.random.default_rng(0)
    slide, hinge = (model.joints[model.getJointId(name)] for name in ("slide", "hinge"))
    own = np.arange(model.nv) == slide.idx_v
    limits = replace(
        robot.limits,
        mimics=(Mimic("hinge", "slide", -2.0, 0.5),),
        upper=np.where(own, 0.1, np.inf),
        effort=np.where(own, 2.0, np.inf),
        friction=0.5 * own,
    )
    places = np.array([(0.1, 0.2, 5.0), (0.1, 0.2, 6.0), (0.1, -0.2, -0.05)])
    last = model.njoints - 1
    points = ContactPoints(("a", "b", "c"), np.full(3, last), places, np.full(3, 0.02))
    held = replace(
        robot, limits=limits, contact_points=points, driven=np.flatnonzero(own), surfaces={}
    )
    q = [pin.integrate(model, robot.standing, 0.1 * rng.normal(size=model.nv)) for _ in range(5)]
    x0 = np.concatenate([q, 0.5 * rng.normal(size=(5, model.nv))], axis=1)
    x0[:, hinge.idx_q] = 0.5 - 2.0 * x0[:, slide.idx_q]
    up = model.joints[model.getJointId("float")].idx_q + 2
    bottoms = [points.bottoms(model, x[: model.nq])[2] for x in x0]
    x0[:, up] -= bottoms + 1e-4 * np.arange(5)
    x0[4, model.nq :] *= FAST
    ground = Terrain([Plane(friction=0.7)])
    simulator = Simulator(held, ground, Penalty(), "pbfd", control=Fixed())
    made = check_agreement(simulator, x0, None, 3.0 * rng.normal(size=(5, 5, 1)), 0.01)
    assert made.ok.tolist() == [True] * 4 + [False]
    off = made.x[:4, :, hinge.idx_q] + 2.0 * made.x[:4, :, slide.idx_q] - 0.5
    assert np.abs(off[:, -1]).max() < 1e-3


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
    return replace(scene, structure=replace(scene.structure, planes=False))


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


def test_height_fields(monkeypatch):
    """Balls fall on faces, ridges and peaks, lie in pits, and roll off the field; 5 at a time."""
    monkeypatch.setattr(schedule, "LANES", 5)
    rng, n = np.random.default_rng(0), 12
    x0 = np.tile(np.concatenate([BALL.standing, np.zeros(6)]), (n, 1))
    x0[:, :2] += rng.uniform(-0.3, 0.3, (n, 2))
    x0[:, 2], x0[:, 7:10] = 0.14, rng.normal(size=(n, 3))
    x0[0, :2], x0[0, 7:10] = (0.45, 0.0), 0.0  # in the middle of nine samples by 15 cm
    made = check_agreement(ball_on(HILLS), x0, None, np.zeros((n, STEPS, 0)), 0.01)
    assert made.ok.all()


def stacked():
    """Simulator of boxes on a box, whose corners touch faces and whose edges cross, and a ball."""
    box = Box(size=(0.1, 0.1, 0.1), friction=0.6, stiffness=4e6)
    ball = Sphere(radius=0.04, friction=0.4, stiffness=2e5)
    parts = (
        free_body("a", box, mass=1.0, position=(0.0, 0.0, 0.05)),
        free_body("b", box, mass=1.0, position=(0.01, 0.0, 0.151), rpy=(0.0, 0.0, 0.5)),
        free_body("c", ball, mass=0.5, position=(0.01, 0.01, 0.242)),
    )
    robot, law = touching(together(parts[0], parts[1:])), Penalty(normal_stiffness=1e6)
    return Simulator(robot, Terrain([Plane(friction=0.6)]), law, "pbfd", control=Fixed())


def test_boxes_and_balls_on_bodies():
    """They fall, turn and slide on each other; a ball that hits them."""
    simulator, rng = stacked(), np.random.default_rng(0)
    robot, nv = simulator.robot, simulator.robot.model.nv
    x0 = np.tile(np.concatenate([robot.standing, np.zeros(nv)]), (4, 1))
    x0[:, -nv:] += 0.3 * rng.normal(size=(4, nv))
    x0[3, -6:-3] = 3.0, 0.0, -2.0  # the ball hits the box
    made = check_agreement(simulator, x0, None, np.zeros((4, 40, 0)), 0.005)
    assert made.ok[[0, 1, 3]].all()
    assert device_scene(simulator).structure.of_bodies


def test_the_derivative_is_that_of_the_residual():
    """Of boxes and a ball that lie on each other, and move the wrenches on each other."""
    simulator, h, rng = stacked(), 0.005, np.random.default_rng(0)
    x = rollout(simulator, simulator.state(), h=h, steps=40).x[0, -1]
    nq, nv = simulator.robot.model.nq, simulator.robot.model.nv
    with jax.enable_x64(True):
        scene = device_scene(simulator).on(jax.devices("cpu")[0])
        q, v = jnp.asarray(x[:nq])[:, None], jnp.asarray(x[nq:])[:, None]
        v, none = v + 0.01 * rng.normal(size=(nv, 1)), jnp.zeros((nv, 1))
        command = Commands(none, none, none, q, none, none)
        along = rng.normal(size=(nv, 1))

        @jax.jit
        def slopes(q, v):
            """The change of the residual, and what its derivative says."""
            start = begin(scene, q, v, command, h)
            end = integrate(scene.structure, q, h * v)
            near = lambda d: integrate(scene.structure, end, d)  # noqa: E731
            trial = lambda d: evaluate(scene, start, command, near(d), h)  # noqa: E731
            _, change, A = jax.jvp(
                lambda d: ((at := trial(d)).r, at.A), (none,), (along,), has_aux=True
            )
            return change[:, 0], A[:, :, 0] @ along[:, 0]

        change, found = slopes(q, v)
    np.testing.assert_allclose(found, change, rtol=0.0, atol=1e-9 * np.abs(change).max())


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
    """The reverse derivative, which JAX transposes from the forward one, of a ball that slides."""
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

        covector = np.arange(1.0, 2.0 * nv + 1.0)
        (found,) = jax.jit(lambda covector: jax.vjp(end, jnp.zeros(2 * nv))[1](covector))(covector)
    pulled = covector @ expected.dx_dx
    np.testing.assert_allclose(found, pulled, rtol=0.0, atol=1e-6 * np.abs(pulled).max())


@pytest.mark.usefixtures("one_program")
def test_lanes_that_go_on_at_once_need_fewer_calls():
    """Both schedules make the same iterations; lanes that wait call the device more often."""
    simulator = ball_on(Plane(friction=0.5))
    lifted = [simulator.robot.standing + high * np.eye(7)[2] for high in (0.0, 0.06, 0.12, 0.18)]
    falling = [0.0, 0.0, -5.0, 0.0, 30.0, 0.0]  # they hit the ground in other steps
    starts = [simulator.state(q, falling) for q in lifted]
    device = roller.DeviceRoller(simulator, None, Jax("cpu"))
    with jax.enable_x64(True):
        arguments = device.arguments(starts, np.zeros((4, 12, 0)), 0.01)
        own, waiting = (roll(*arguments, steps=12, schedule=name) for name in SCHEDULES)
    np.testing.assert_array_equal(own.x, waiting.x)
    np.testing.assert_array_equal(own.iterations, waiting.iterations)
    assert int(own.iterations.max()) <= int(own.calls.max()) < int(waiting.calls.max())


RUN_ALONE = """
import sys
for name in ("pinocchio", "coal", "hppfcl", "numba"):
    sys.modules[name] = None
import jax, numpy as np, jax.numpy as jnp
from nmdp_pin.device import Commands, DeviceScene, roll
scene = DeviceScene.load(sys.argv[1]).on(jax.devices("cpu")[0], "float32")
q, none = jnp.asarray(scene.standing, "float32")[:, None], jnp.zeros((1, 6, 1))
commands = Commands(jnp.zeros((12, 6, 1)), none, none, q[None], none, none)
x = roll(scene, q, jnp.zeros((6, 1)), commands, 0.01, steps=12).x
assert x.dtype == "float32"
np.save(sys.argv[2], x)
"""


def test_a_saved_scene_needs_only_jax(tmp_path):
    """Without pinocchio, coal and numba it makes the same steps, in single precision to 1e-3."""
    simulator = ball_on(Plane(friction=0.5))
    device_scene(simulator).save(tmp_path / "scene.npz")
    words = [sys.executable, "-c", RUN_ALONE, tmp_path / "scene.npz", tmp_path / "x.npy"]
    subprocess.run(words, check=True)
    expected = rollout(simulator, simulator.state(), None, h=0.01, steps=12).x[0]
    np.testing.assert_allclose(np.load(tmp_path / "x.npy")[..., 0], expected, atol=1e-3)


def test_damaged_scenes_are_refused(tmp_path):
    """What is no scene is no scene."""
    np.savez(tmp_path / "scene.npz", structure=np.array("{}"))
    with pytest.raises(StateError, match="no scene for devices"):
        DeviceScene.load(tmp_path / "scene.npz")


def test_no_steps_and_no_lanes():
    """Nothing is made of nothing."""
    found = rollout(ball_on(Plane()), np.zeros((0, 13)), h=0.01, steps=3, backend=Jax())
    assert found.x.shape == (0, 3, 13)


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ({"backend": "jax"}, IntegratorError, "None .* or a Jax"),
        ({"backend": Jax(device="abacus")}, IntegratorError, "it has cpu:0"),
        ({"backend": Jax(dtype="float16")}, IntegratorError, "dtype must be one of"),
        ({"backend": Jax(), "n_jobs": 2}, WorkerError, "leave n_jobs out"),
        ({"backend": Jax(), "command": lambda *_: None}, ControlError, "no function"),
        ({"backend": Jax(), "command": PUSHED}, ControlError, "no wrenches"),
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
            rollout(simulator, start, h=0.01, steps=1, backend=Jax())


def test_a_missing_jax_names_the_extra():
    """The message says how to install it."""
    code = "import sys; sys.modules['jax'] = None; import nmdp_pin.device"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "nmdp-pin[jax]" in result.stderr
