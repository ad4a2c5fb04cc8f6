"""Scripted bodies and joints: what commands move, whatever acts on it."""

import derivative_scenes
import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin import (
    Command,
    Simulator,
    free_body,
    load_robot,
    step_derivatives,
    together,
    touching,
)
from nmdp_pin._control.scripted import spread
from nmdp_pin.contact import FrictionCone, Penalty
from nmdp_pin.control import BodyMotion, Scripted, scripted
from nmdp_pin.errors import ControlError, DerivativeError, IntegratorError, RobotError
from nmdp_pin.terrain import Box, Plane, Sphere, Terrain

G, MU = 9.81, 0.5
METHODS = [("ne-nmdp", 1), ("ne-nmdp", 2), ("pbd-nmdp", 1), ("pbd-nmdp", 2)]
LAW = FrictionCone(stiffness=1e6, power=1)
LEVEL = np.eye(3)
GROUND = Terrain(Plane(friction=MU))


def box_on(slab, above=0.1):
    """A box of 2 kg, and a scripted slab below it."""
    box = free_body(
        "box", Box(size=(0.1, 0.1, 0.04), friction=MU), mass=2.0, position=(0, 0, above + 0.02)
    )
    body = scripted(free_body("slab", slab, mass=5.0, position=(0, 0, above - 0.05)))
    return touching(together(box, [body]), [("box", "slab")])


def made(scene, motions, method, order, duration, h):
    """Results of a run from where the script begins."""
    sim = Simulator(scene, GROUND, LAW, method, order=order)
    controller = Scripted(scene, motions)
    state, results = controller.on(sim.state()), []
    for _ in range(round(duration / h)):
        results.append(sim.step(state, controller, h))
        state = results[-1].state
        assert results[-1].status.ok
    return results


def along_x(a):
    """A platform at 0.05 m that accelerates."""
    return lambda t: (pin.SE3(LEVEL, np.array([a * t * t / 2, 0, 0.05])), [a * t, 0, 0, 0, 0, 0])


SLAB = Box(size=(2, 1, 0.1), friction=MU)


@pytest.mark.parametrize("h", [0.01, 0.02, 0.05])
@pytest.mark.parametrize(("method", "order"), METHODS)
def test_a_platform_that_accelerates(method, order, h):
    """A box rides along below mu g, with F = m a; beyond, it is pulled with mu m g."""
    for a in (0.6 * MU * G, 1.6 * MU * G):
        results = made(box_on(SLAB), {"slab": along_x(a)}, method, order, 0.2, h)
        end, felt = results[-1], min(a, MU * G)
        t = end.state.t
        mean = 0.5 * h if order == 1 else 0.0  # the velocity of first order is that half a step ago
        assert end.state.q[7] == pytest.approx(0.5 * a * t * t, abs=1e-12)
        assert end.state.v[6] == pytest.approx(a * (t - mean), rel=1e-9)
        # of first order the first velocity of the platform, a h / 2, is below mu g h
        lost = mean if a < MU * G else mean * (2.0 - a / (MU * G))
        assert end.state.v[0] == pytest.approx(felt * (t - lost), rel=3e-3)
        # the force that moves the slab moves the box, too
        assert end.tau[6] == pytest.approx(5.0 * a + 2.0 * felt, rel=3e-3)
        assert end.tau[8] == pytest.approx(7.0 * G, rel=3e-3)


@pytest.mark.parametrize(("method", "order"), METHODS)
def test_a_piston_lifts_a_body(method, order):
    """A slab that lifts a box at 0.5 m/s, with a weight of both; energies balance."""
    lift = lambda t: (pin.SE3(LEVEL, np.array([0, 0, 0.05 + 0.5 * t])), [0, 0, 0.5, 0, 0, 0])  # noqa: E731
    results = made(box_on(SLAB), {"slab": lift}, method, order, 0.4, 0.02)
    end = results[-1]
    assert end.state.q[2] == pytest.approx(0.12 + 0.5 * end.state.t, abs=1e-4)
    assert end.state.v[2] == pytest.approx(0.5, rel=1e-3)
    work = sum(r.tau[8] * r.state.v[8] * 0.02 for r in results[10:])
    before, after = results[9], end
    gained = after.kinetic_energy + after.potential_energy
    gained -= before.kinetic_energy + before.potential_energy
    assert gained == pytest.approx(work, rel=1e-3)
    assert gained == pytest.approx(7.0 * G * 0.1, rel=1e-3)


def turned(rate):
    """A door whose hinge is at the origin, 0.4 m wide, which opens at a rate."""

    def motion(t):
        R = pin.utils.rotate("z", rate * t)
        centre = R @ np.array([0.2, 0.0, 0.11])
        return pin.SE3(R, centre), [*np.cross([0, 0, rate], centre), 0, 0, rate]

    return motion


@pytest.mark.parametrize(("method", "order"), METHODS)
def test_a_door_pushes_a_box(method, order):
    """A door swings against a box on the ground and pushes it along its arc."""
    door = scripted(free_body("door", Box(size=(0.4, 0.02, 0.2), friction=0.0), mass=3.0))
    box = free_body("box", Box(size=(0.1, 0.1, 0.1)), mass=1.0, position=(0.3, 0.08, 0.05))
    scene = touching(together(box, [door]), [("box", "door")])
    results = made(scene, {"door": turned(1.5)}, method, order, 0.6, 0.02)
    end = results[-1].state
    hinge = turned(1.5)(end.t)[0]
    np.testing.assert_allclose(end.q[7:14], pin.SE3ToXYZQUAT(hinge), atol=1e-12)
    corners = np.array([[x, y, 0.0] for x in (-0.05, 0.05) for y in (-0.05, 0.05)])
    R = pin.Quaternion(end.q[3:7]).toRotationMatrix()
    seen = (corners @ R.T + end.q[:3] - hinge.translation) @ hinge.rotation
    assert np.abs(seen[:, 1]).min() == pytest.approx(0.01, abs=1e-3), "it touches the door"
    assert (seen[:, 1] > 0.008).all(), "it is not in the door"
    assert results[-1].tau[11] > 0.0, "the door is held back"


def test_a_scripted_joint_of_a_robot():
    """A finger whose slide is scripted pushes a ball away, without a motor."""
    finger = load_robot("finger")
    slide = str(finger.model.names[1])
    robot = scripted(finger, [slide])
    assert 0 not in robot.driven
    controller = Scripted(robot, {slide: lambda t: (0.1 * t, 0.1)})
    sim = Simulator(robot, GROUND, LAW)
    state = controller.on(sim.state())
    for _ in range(10):
        state = sim.step(state, controller, 0.02).state
    assert state.q[0] == pytest.approx(0.02, abs=1e-12)
    assert state.v[0] == pytest.approx(0.1, abs=1e-9)


def pushed_ball(method, order):
    """A ball between the ground and a scripted ball that moves and turns."""
    ball = free_body("ball", Sphere(radius=0.1, friction=MU), mass=1.0, position=(0.0, 0.02, 0.095))
    hand = scripted(
        free_body("hand", Sphere(radius=0.08, friction=MU), mass=0.4, position=(0.05, 0, 0.26))
    )
    scene = touching(together(ball, [hand]), [("ball", "hand")])
    law = FrictionCone(stiffness=1e4, power=2)
    return Simulator(scene, GROUND, law, method, order=order)


@pytest.mark.parametrize(("method", "order"), METHODS)
def test_derivatives(method, order):
    """Derivatives by the state, that of the script too, against central differences."""
    sim = pushed_ball(method, order)
    rng = np.random.default_rng(2)
    v = 0.3 * rng.standard_normal(sim.robot.model.nv)
    state = sim.state(v=v)
    step = 0.01 * rng.standard_normal(sim.robot.model.nv)
    target = pin.integrate(sim.robot.model, state.q, 0.5 * step)
    command = Command(q_target=target, v_target=50.0 * step)
    found = derivative_scenes.check(sim, state, sim.checked_command(command), 0.01)
    nv = sim.robot.model.nv
    assert np.abs(found.dx_dx[6:nv]).max() < 1e-12, "where a script ends does not depend on states"


@pytest.mark.parametrize(("method", "order"), METHODS)
@pytest.mark.parametrize("radius", [0.1, None])
def test_derivatives_of_what_a_slab_carries(method, order, radius):
    """What starts 5 mm deep gets out as fast as it recovers from the slab, wherever that starts."""
    shape = Box(size=(0.2, 0.2, 0.2)) if radius is None else Sphere(radius=radius)
    body = free_body("body", shape, mass=2.0, position=(0.0, 0.0, 0.145))
    scene = touching(together(body, [scripted(free_body("slab", SLAB, mass=10.0))]))
    law = FrictionCone(stiffness=1e6, power=2)
    sim = Simulator(scene, Terrain(Plane(height=-1.0)), law, method, order=order)
    still = Command(q_target=scene.standing, v_target=np.zeros(scene.model.nv))
    state = sim.state(v=0.01 * np.eye(scene.model.nv)[0])
    for _ in range(8):
        state = sim.step(state, still, 0.01).state
    derivative_scenes.check(sim, state, sim.checked_command(still), 0.01)


def test_equal_steps():
    """A script is data of a step: nothing else decides it, also where steps are halved."""
    scene = box_on(SLAB)
    sim = Simulator(scene, GROUND, LAW)
    controller = Scripted(scene, {"slab": along_x(2.0)})
    state = controller.on(sim.state())
    held = controller.command(state, 0.02)
    one, other = sim.step(state, controller, 0.02), sim.step(state, held, 0.02)
    np.testing.assert_array_equal(one.state.q, other.state.q)
    np.testing.assert_array_equal(one.state.v, other.state.v)
    source = spread(scene, held, state, 0.02)
    for s in (0.005, 0.01, 0.02):  # a parabola is what the script is
        found, expected = source.at(state.t + s), controller.within(state, s, 0.02)
        np.testing.assert_allclose(found.q_target, expected.q_target, atol=1e-15)
        np.testing.assert_allclose(found.v_target, expected.v_target, atol=1e-14)
    still = sim.step(state, None, 0.02)
    np.testing.assert_array_equal(still.state.q[7:], state.q[7:])


def test_what_is_refused():
    """Typed errors of joints, methods and commands."""
    slab = free_body("slab", SLAB, mass=1.0)
    with pytest.raises(RobotError, match="'knee'"):
        scripted(slab, ["knee"])
    with pytest.raises(IntegratorError, match="scripted joints"):
        Simulator(scripted(slab), GROUND, Penalty(), "pbfd")
    with pytest.raises(ControlError, match="scripted joint or body"):
        Scripted(slab, {"slab": along_x(1.0)})
    sim = Simulator(scripted(slab), GROUND, LAW)
    with pytest.raises(ControlError, match="v_target"):
        sim.step(sim.state(), Command(q_target=sim.robot.standing), 0.01)
    with pytest.raises(DerivativeError, match="scripted joints"):
        step_derivatives(sim, sim.state(), None, 0.01, with_respect_to=("q_target",))


def test_a_body_through_knots():
    """The velocity is the derivative of the pose; at knots the body rests, and loops repeat."""
    motion = BodyMotion(
        times=(0.0, 1.0, 2.0),
        positions=((0, 0, 1), (0.5, 0.2, 1), (0, 0, 1)),
        rpy=((0, 0, 0), (0.3, -0.4, 2.0), (0, 0, 0)),
        pivot=(0.4, 0.0, -0.1),
        loop=(0.0, 2.0),
    )
    for t in (0.3, 1.6):
        (before, _), (at, v), (after, _) = (motion(t + dt) for dt in (-1e-6, 0.0, 1e-6))
        moved = (after.translation - before.translation) / 2e-6
        np.testing.assert_allclose(v[:3], moved, atol=1e-8)
        turned = pin.log3(after.rotation @ before.rotation.T) / 2e-6
        np.testing.assert_allclose(v[3:], turned, atol=1e-8)
        np.testing.assert_allclose(motion(t + 4.0)[0].homogeneous, at.homogeneous, atol=1e-12)
    pose, v = motion(1.0)
    np.testing.assert_allclose(pose.act(np.array([0.4, 0.0, -0.1])), [0.5, 0.2, 1.0], atol=1e-12)
    assert np.abs(v).max() < 1e-12
    with pytest.raises(ControlError, match="as many"):
        BodyMotion(times=(0.0, 1.0), positions=((0, 0, 0), (0, 0, 1)), rpy=((0, 0, 0),))
