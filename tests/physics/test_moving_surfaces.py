"""Belts and turntables: surfaces that move along themselves."""

import derivative_scenes
import numpy as np
import pytest

from nmdp_pin import Simulator, free_body, load_scene, together, touching
from nmdp_pin.contact import AnisotropicCone, DryFriction, FrictionCone, Penalty
from nmdp_pin.errors import IntegratorError
from nmdp_pin.terrain import Box, Cylinder, Plane, Sphere, Terrain

G, MU = 9.81, 0.5
BOX = Box(size=(0.1, 0.1, 0.04))
METHODS = [("ne-nmdp", 1), ("ne-nmdp", 2), ("pbd-nmdp", 1), ("pbd-nmdp", 2)]


def simulator(robot, ground, method, order):
    """A simulator on hard ground."""
    law = FrictionCone(stiffness=1e6, power=1)
    return Simulator(robot, Terrain(ground), law, method, order=order)


def after(sim, duration, h, v=None):
    """The state after some time."""
    state = sim.state(v=v)
    for _ in range(round(duration / h)):
        result = sim.step(state, None, h)
        assert result.status.ok
        assert len(result.step_sizes) == 1
        state = result.state
    return state


@pytest.mark.parametrize("h", [0.005, 0.02, 0.04])
@pytest.mark.parametrize(("method", "order"), METHODS)
def test_a_belt_takes_a_box_along(method, order, h):
    """A box reaches the speed v of a belt after v / (mu g), with a slip of v^2 / (2 mu g)."""
    speed = 0.8
    belt = Plane(friction=MU, surface_velocity=(0.0, speed, 0.0))
    body = free_body("box", BOX, mass=2.0, position=(0, 0, 0.02))
    sim, long = simulator(body, belt, method, order), speed / (MU * G)
    early = after(sim, 0.12, h)
    assert early.v[1] == pytest.approx(MU * G * early.t, rel=2e-3)
    state = after(sim, 0.4, h)
    assert state.v[1] == pytest.approx(speed, rel=1e-4)
    slip = speed * state.t - state.q[1]
    allowed = 0.02 * speed * long if order == 2 else speed * h  # of first order: a step
    assert slip == pytest.approx(speed * long / 2.0, abs=allowed)
    np.testing.assert_allclose(state.v[[0, 2, 3, 4, 5]], 0.0, atol=1e-3)


@pytest.mark.parametrize("h", [0.005, 0.02, 0.04])
def test_a_belt_with_viscous_friction(h):
    """With `pbfd` friction falls with the slip, which becomes 1 / (1 + mu g h / s) of it a step."""
    speed, slip_speed, steps = 0.8, 0.5, 10
    depth = np.sqrt(1e-6 / 4.0)  # of a quarter of the weight
    body = free_body("box", BOX, mass=2.0, position=(0, 0, 0.02 - depth))
    belt = Terrain(Plane(friction=MU, surface_velocity=(0.0, speed, 0.0)))
    state = after(Simulator(body, belt, Penalty(slip_speed=slip_speed), "pbfd"), steps * h, h)
    slip = speed * (1.0 + MU * G * h / slip_speed) ** -steps
    assert speed - state.v[1] == pytest.approx(slip, rel=1e-3)


@pytest.mark.parametrize(("method", "order"), METHODS)
def test_a_turntable_holds_a_box_up_to_a_radius(method, order):
    """A box rides along where w^2 r < mu g, and slides off where w^2 r is more."""
    rate = 4.0  # [rad/s]: up to 0.31 m
    table = Cylinder(
        radius=1.0,
        length=0.2,
        position=(0, 0, -0.1),
        friction=MU,
        surface_angular_velocity=(0.0, 0.0, rate),
    )
    small = Box(size=(0.02, 0.02, 0.01))
    for share, holds in ((0.9, True), (1.1, False)):
        radius = share * MU * G / rate**2
        body = free_body("box", small, mass=1.0, position=(radius, 0, 0.005))
        v = np.array([0.0, rate * radius, 0.0, 0.0, 0.0, rate])
        state = after(simulator(body, table, method, order), 0.3, 0.005, v)
        if holds:
            angle = np.arctan2(state.q[1], state.q[0])
            assert angle == pytest.approx(rate * state.t, abs=0.01)
            # implicit steps of first order lose (w h)^2 / 2 each
            assert np.hypot(*state.q[:2]) == pytest.approx(radius, rel=1e-3 if order > 1 else 0.02)
        else:
            assert np.hypot(*state.q[:2]) > 1.05 * radius


def test_a_belt_of_a_body_drives_it():
    """A box whose surface moves backwards drives on the ground, and pushes with mu m g."""
    belt = Box(size=(0.3, 0.2, 0.04), surface_velocity=(-0.5, 0.0, 0.0))
    body = free_body("crawler", belt, mass=2.0, position=(0, 0, 0.02))
    sim = simulator(body, Plane(friction=MU), "ne-nmdp", 2)
    assert after(sim, 0.08, 0.02).v[0] == pytest.approx(MU * G * 0.08, rel=2e-3)
    assert after(sim, 0.4, 0.02).v[0] == pytest.approx(0.5, rel=1e-4)


def carried_ball(method, order):
    """Balls whose surfaces move, one on the other and on a round turntable."""
    first = free_body(
        "first",
        Sphere(radius=0.1, surface_velocity=(0.2, -0.1, 0.3), surface_angular_velocity=(1, 2, -1)),
        mass=1.0,
        position=(0.03, 0.02, 0.095),
    )
    second = free_body(
        "second",
        Sphere(radius=0.08, surface_angular_velocity=(-1.5, 0.5, 2)),
        mass=0.5,
        position=(0.06, 0.02, 0.27),
    )
    robot = touching(together(first, [second]), [("first", "second")])
    hill = Sphere(
        radius=0.5,
        position=(0, 0, -0.5),
        friction=MU,
        surface_velocity=(0.2, 0, 0),
        surface_angular_velocity=(0.5, 0.2, 3.0),
    )
    if method == "pbfd":
        return Simulator(robot, Terrain(hill), Penalty(slip_speed=0.1), method, tolerance=1e-13)
    law = FrictionCone(stiffness=1e4, power=2)
    return Simulator(robot, Terrain(hill), law, method, order=order)


@pytest.mark.parametrize(("method", "order"), [*METHODS, ("pbfd", 1)])
def test_derivatives(method, order):
    """Derivatives where both surfaces move, against central differences."""
    sim = carried_ball(method, order)
    v = 0.3 * np.random.default_rng(2).standard_normal(sim.robot.model.nv)
    state = sim.state(v=v)
    command = sim.checked_command(None)
    derivative_scenes.check(sim, state, command, 0.01)


@pytest.mark.parametrize("method", ["pbd", "ne-ncp", "ne-mdp"])
def test_methods_that_refuse(method):
    """Methods without surfaces that move say so."""
    belt = Terrain(Plane(surface_velocity=(1.0, 0.0, 0.0)))
    laws = {"pbd": Penalty(), "ne-ncp": DryFriction()}
    law = laws.get(method, FrictionCone(stiffness=1e6, power=1))
    with pytest.raises(IntegratorError, match="surfaces that move"):
        Simulator(free_body("box", BOX, mass=1.0), belt, law, method)


def test_other_laws_slide_along():
    """A law with vertices takes the same box along."""
    law = AnisotropicCone(stiffness=1e6, power=1, along=1.0, across=1.0)
    belt = Terrain(Plane(surface_velocity=(0.3, 0.0, 0.0)))
    sim = Simulator(free_body("box", BOX, mass=1.0, position=(0, 0, 0.02)), belt, law)
    assert after(sim, 0.2, 0.02).v[0] == pytest.approx(0.3, rel=1e-3)


BELTS = """<mujoco><option cone="elliptic" impratio="100" timestep="0.001"/><worldbody>
<geom name="floor" type="plane" size="9 9 1" euler="0 0 70" friction="0.6"
 surfacevel="0 -0.2 0 0 0 0"/>
<geom name="table" type="cylinder" size="0.5 0.1" pos="3 0 0" euler="0 0 20"
 surfacevel="0.1 0 0 0 0 1.5" friction="0.6"/>
<body name="one" pos="0 0 0.05"><freejoint/>
<geom type="box" size=".1 .1 .05" friction="0.5"/></body>
<body name="two" pos="3.2 0 0.125"><freejoint/>
<geom type="box" size=".02 .02 .025" friction="0.5" surfacevel="0 0.05 0 0 0 0"/></body>
</worldbody></mujoco>"""


def test_belts_of_mjcf_files(tmp_path):
    """Attributes `surfacevel` of the world and of bodies: paths are MuJoCo's to 2 mm in 0.5 s."""
    mujoco = pytest.importorskip("mujoco", reason="needs mujoco: extra 'mjcf'")
    path = tmp_path / "belts.xml"
    path.write_text(BELTS, encoding="utf-8")
    robot, terrain = load_scene(path)
    assert not [said for said in robot.warnings if "surfacevel" in said]
    sim = Simulator(robot, terrain, FrictionCone(stiffness=1e6, power=1))
    state = after(sim, 0.5, 0.01)
    model = mujoco.MjModel.from_xml_string(BELTS)
    data = mujoco.MjData(model)
    while data.time < 0.5 - 1e-9:
        mujoco.mj_step(model, data)
    expected = data.qpos.reshape(2, 7)
    found = state.q.reshape(2, 7)
    assert np.abs(expected[:, :2] - model.qpos0.reshape(2, 7)[:, :2]).max() > 0.05, "they move"
    np.testing.assert_allclose(found[:, :3], expected[:, :3], atol=2e-3)
