"""What sensors measure, against closed forms."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin import (
    Command,
    DryFriction,
    FrictionCone,
    Penalty,
    Plane,
    Robot,
    Sensors,
    Simulator,
    Terrain,
    free_body,
    load_robot,
    together,
    touching,
)
from nmdp_pin._contact import stiffness_for_static_depth
from nmdp_pin._robot import ContactPoints
from nmdp_pin._simulator.step_control import merged
from nmdp_pin.control import ExternalWrench, Passive
from nmdp_pin.sensors import (
    Accelerometer,
    CentreOfPressure,
    ContactWrench,
    FramePose,
    FrameVelocity,
    Gyroscope,
    JointPositions,
    JointVelocities,
    JointWrench,
    MotorTorques,
    Rays,
    Touch,
)
from nmdp_pin.terrain import Box, Sphere

G = 9.81  # [m/s^2]
METHODS = {
    "ne-nmdp, order 1": ("ne-nmdp", {"order": 1}),
    "ne-nmdp, order 2": ("ne-nmdp", {"order": 2}),
    "pbd-nmdp": ("pbd-nmdp", {"order": 1}),
    "pbfd": ("pbfd", {}),
    "ne-mdp": ("ne-mdp", {}),
    "ne-ncp": ("ne-ncp", {}),
}
NEWTON_EULER = tuple(METHODS)[:2]  # whose equations are those of inverse dynamics
TABLE = """<robot name="table"><link name="ground"/><link name="table">
<inertial><mass value="3"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="1 1 0.1"/></geometry></collision></link>
<joint name="hinge" type="continuous"><parent link="ground"/><child link="table"/>
<axis xyz="0 0 1"/></joint></robot>"""
SOLVED = 1e-6  # [-] of what is solved up to the tolerance of a step
DEPTH = 1e-4  # [m] at rest


def simulator(robot: Robot, method: str, *, terrain: Terrain | None = None) -> Simulator:
    """A simulator by one of METHODS; the ground is far below unless it is given."""
    name, options = METHODS[method]
    mass = pin.computeTotalMass(robot.model)
    law = FrictionCone(stiffness=stiffness_for_static_depth(mass, 4, DEPTH, 2, G), power=2)
    if name == "ne-ncp":
        law = DryFriction()
    elif name == "pbfd":
        law = Penalty()
    return Simulator(robot, terrain or Terrain(Plane(height=-100.0)), law, name, **options)


def pendulum(length: float = 0.5, mass: float = 2.0) -> Robot:
    """A point mass on a rod that turns about y and hangs at q = 0, with a frame at the mass."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRY(), pin.SE3.Identity(), "hinge")
    model.addJointFrame(joint)
    bob = np.array([0.0, 0.0, -length])
    model.appendBodyToJoint(joint, pin.Inertia(mass, bob, np.zeros((3, 3))), pin.SE3.Identity())
    model.addBodyFrame("bob", joint, pin.SE3(np.eye(3), bob), model.nframes - 1)
    points = ContactPoints((), np.zeros(0, int), np.zeros((0, 3)), np.zeros(0))
    return Robot("pendulum", model, points, np.array([0]), np.zeros(1))


def test_frames_that_are_turned():
    """A body that is held feels 9.81 m/s^2 along its own axes; a bob moves across its rod."""
    body = free_body("body", Sphere(radius=0.1), mass=1.0, rpy=(0.5, -0.8, 1.2))
    sim = simulator(body, "ne-nmdp, order 1")
    felt = Sensors(body, [Accelerometer("body")]).read(sim.state())["accelerometer"]
    upwards = pin.rpy.rpyToMatrix(0.5, -0.8, 1.2).T @ [0.0, 0.0, G]
    np.testing.assert_allclose(felt, upwards, atol=1e-12)
    turned, way = pin.rpy.rpyToMatrix(0.5, -0.8, 1.2), np.array([0.3, -0.2, -1.0])
    down = Sensors(body, [Rays((tuple(way),))], terrain=Terrain(Plane(height=-2.0)))
    assert down.read(sim.state())["rays"] == pytest.approx(
        [-2.0 * np.linalg.norm(way) / (turned @ way)[2]], abs=1e-5
    )
    swings = simulator(pendulum(), "ne-nmdp, order 1")
    state = swings.state(np.array([0.7]), np.array([2.0]))
    moves = Sensors(swings.robot, [FrameVelocity("bob")]).read(state)["velocity"]
    along = [-np.cos(0.7), 0.0, np.sin(0.7), 0.0, 2.0, 0.0]
    np.testing.assert_allclose(moves, along, atol=1e-12)


def test_a_joint_bears_what_is_pulled_and_what_lies_on_it(tmp_path):
    """A pull at a point beside the frame has its arm; a plate on a joint bears its load as well."""
    sim = simulator(pendulum(), "ne-nmdp, order 1")
    pull = ExternalWrench(force=(0.0, 5.0, 0.0), frame="bob", point=(0.0, 0.0, -0.1))
    result = sim.step(sim.state(), Command(wrenches=(pull,)), 0.01)
    borne = Sensors(sim.robot, [JointWrench("hinge")]).read(result)["joint_wrench"]
    np.testing.assert_allclose(borne, [0.0, -5.0, 2.0 * G, -3.0, 0.0, 0.0], atol=1e-4)
    file = tmp_path / "table.urdf"
    file.write_text(TABLE)
    load = free_body("load", Box(size=(0.1, 0.1, 0.1)), mass=1.0, position=(0, 0, 0.1 - DEPTH))
    scene = touching(together(load_robot(file, base="fixed"), [load]), [("table", "load")])
    sim = simulator(scene, "ne-nmdp, order 1")
    (*_, last) = sim.run(sim.state(), Passive(), dt=0.02, duration=0.4)
    borne = Sensors(scene, [JointWrench("hinge")]).read(last)["joint_wrench"]
    assert borne[2] == pytest.approx((3.0 + 1.0) * G, rel=1e-3)


def test_wrenches_are_about_a_turned_frame():
    """Forces and moments of all contacts, as pinocchio adds them up."""
    body = free_body("body", Box(size=(0.2, 0.3, 0.1)), mass=1.0, rpy=(0.5, -0.8, 1.2))
    sim = simulator(body, "ne-nmdp, order 1")
    wrenches = np.random.default_rng(0).standard_normal((len(body.contact_points), 6))
    result = replace(sim.step(sim.state(), None, 0.01), wrenches=wrenches)
    place, total = body.pose(result.state, "body"), pin.Force.Zero()
    for point, wrench in zip(body.contact_points.positions, wrenches, strict=True):
        total += pin.SE3(np.eye(3), place.act(point)).act(pin.Force(wrench))
    read = Sensors(body, [ContactWrench("body")]).read(result)["contact_wrench"]
    np.testing.assert_allclose(read, place.actInv(total).vector, atol=1e-12)


def test_the_angle_of_a_continuous_joint(tmp_path):
    """In (-pi, pi], of a position that is a cosine and a sine."""
    (file := tmp_path / "table.urdf").write_text(TABLE)
    table = load_robot(file, base="fixed")
    sensors, sim = (
        Sensors(table, [JointPositions(("hinge",))]),
        simulator(table, "ne-nmdp, order 1"),
    )
    for angle in (0.7, -2.5):
        q = np.array([np.cos(angle), np.sin(angle)])
        assert sensors.read(sim.state(q))["joint_positions"] == pytest.approx([angle])


@pytest.mark.parametrize("method", METHODS)
def test_free_fall_weighs_nothing(method):
    """An accelerometer in free fall reads 0, also off the centre and in a body that turns."""
    body = free_body("box", Box(size=(0.2, 0.2, 0.2)), mass=1.0)
    sim = simulator(body, method)
    sensors = Sensors(body, [Accelerometer(), ContactWrench("box"), Touch("box")])
    read = sensors.read(sim.step(sim.state(v=np.array([1.0, 0, 2, 0, 0, 3])), None, 0.01))
    assert np.abs(read["accelerometer"]).max() < SOLVED * G
    assert not read["contact_wrench"].any()
    assert not read["touch"].any()


@pytest.mark.parametrize("method", METHODS)
def test_a_box_at_rest(method):
    """It feels 9.81 m/s^2 upwards, its weight at its middle, and touches."""
    body = free_body("box", Box(size=(0.2, 0.3, 0.1)), mass=3.0, position=(0.0, 0.0, 0.05))
    sim = simulator(body, method, terrain=Terrain(Plane(friction=0.5)))
    sensors = Sensors(
        body,
        [
            Accelerometer(),
            Gyroscope(),
            ContactWrench("box"),
            CentreOfPressure("box"),
            Touch("box"),
            FramePose(),
            FrameVelocity(),
        ],
    )
    *_, result = sim.run(sim.state(), Passive(), dt=0.01, duration=1.0)
    read = sensors.read(result)
    small = 2e-4 if method == "ne-mdp" else 1e-5  # [-] what still moves after a second
    assert read["accelerometer"] == pytest.approx([0, 0, G], abs=small * G)
    assert read["gyroscope"] == pytest.approx(np.zeros(3), abs=1e-4)
    assert read["contact_wrench"] == pytest.approx([0, 0, 3.0 * G, 0, 0, 0], abs=small * 3.0 * G)
    assert read["centre_of_pressure"][:2] == pytest.approx([0, 0], abs=1e-4)
    assert read["centre_of_pressure"][2] == pytest.approx(-0.05, abs=1e-9)
    assert read["touch"].tolist() == [1.0]
    assert read["pose"] == pytest.approx([0, 0, result.state.q[2], 0, 0, 0, 1], abs=1e-4)
    assert read["velocity"] == pytest.approx(np.zeros(6), abs=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_spinning(method):
    """A gyroscope on a hinge reads its rate, an accelerometer the centripetal acceleration."""
    robot, rate, length = pendulum(0.5), 4.0, 0.5
    robot.model.gravity = pin.Motion.Zero()
    sim = simulator(robot, method)
    sensors = Sensors(robot, [Gyroscope("bob"), Accelerometer("bob"), JointVelocities()])
    state = sim.state(np.array([0.3]), np.array([rate]))
    for _ in range(5):
        state = (result := sim.step(state, None, 0.01)).state
    read, (v,) = sensors.read(result), state.v
    centripetal = v**2 * length
    # material points lose speed in first order, the others none
    lost = 0.01 * rate * centripetal if method in ("pbd-nmdp", "pbfd") else 1e-5
    assert read["gyroscope"] == pytest.approx([0, v, 0])
    assert read["accelerometer"] == pytest.approx([0, 0, centripetal], abs=lost)
    assert read["accelerometer"][2] == pytest.approx(centripetal)
    assert read["joint_velocities"] == pytest.approx([v])
    assert v == pytest.approx(rate, rel=0.01 if lost > 1e-5 else SOLVED)


@pytest.mark.parametrize("method", METHODS)
def test_the_reaction_of_a_pendulum(method):
    """The rod pulls with m (g cos q + l v^2) at the end of a step, and has no torque."""
    robot, mass, length, h = pendulum(), 2.0, 0.5, 2e-3
    sim = simulator(robot, method)
    sensors = Sensors(robot, [JointWrench("hinge"), JointPositions()])
    state = sim.state(np.array([1.0]), np.zeros(1))
    for _ in range(100):
        state = (result := sim.step(state, None, h)).state
    (q,), (v,) = state.q, state.v
    force, torque = np.split(sensors.read(result)["joint_wrench"], 2)
    first = 3.0 * h * abs(v) * mass * G  # what a force of the weight changes by in a step, and more
    assert force[2] == pytest.approx(mass * (G * np.cos(q) + length * v**2), abs=first)
    assert force[:2] == pytest.approx([0.0, 0.0], abs=first)
    exact = method in NEWTON_EULER
    assert torque == pytest.approx(np.zeros(3), abs=SOLVED * mass * G if exact else first)


@pytest.mark.parametrize("order", [1, 2])
def test_reactions_hold_the_torques_of_motors(order):
    """About the axis a joint transmits the torque of its motor, to the tolerance of the step."""
    robot = pendulum()
    sim = simulator(robot, f"ne-nmdp, order {order}")
    sensors = Sensors(robot, [JointWrench("hinge"), MotorTorques()])
    result = sim.step(sim.state(np.array([0.4]), np.array([2.0])), np.array([1.5]), 0.02)
    read = sensors.read(result)
    assert read["motor_torques"] == pytest.approx([1.5])
    assert read["joint_wrench"][4] == pytest.approx(1.5, abs=SOLVED * 20.0)


def test_reactions_of_a_step_that_was_halved():
    """They are means over its parts, as if these had been steps."""
    robot = pendulum()
    sim = simulator(robot, "ne-nmdp, order 1")
    state = sim.state(np.array([0.4]), np.array([2.0]))
    a = sim.step(state, None, 0.01)
    b = sim.step(a.state, None, 0.01)
    sensors = Sensors(robot, [JointWrench("hinge"), Accelerometer("bob")])
    whole, parts = sensors.read(merged([a, b], [a, b], state)), [sensors.read(x) for x in (a, b)]
    for name in whole:
        assert whole[name] == pytest.approx(0.5 * (parts[0][name] + parts[1][name]))


def leg() -> Robot:
    """A thigh that slides vertically, and a ball of a foot below it on a slider along z."""
    model = pin.Model()
    root = model.addJoint(0, pin.JointModelPZ(), pin.SE3.Identity(), "rail")
    model.appendBodyToJoint(
        root, pin.Inertia(5.0, np.zeros(3), 0.01 * np.eye(3)), pin.SE3.Identity()
    )
    model.addBodyFrame("thigh", root, pin.SE3.Identity(), 0)
    knee = model.addJoint(root, pin.JointModelRY(), pin.SE3.Identity(), "knee")
    down = np.array([0.3, 0.0, -0.4])
    model.appendBodyToJoint(knee, pin.Inertia(1.0, down, 0.001 * np.eye(3)), pin.SE3.Identity())
    model.addBodyFrame("foot", knee, pin.SE3(np.eye(3), down), 0)
    points = ContactPoints(
        ("foot",), np.array([knee]), down[None], np.array([0.05]), links=("foot",)
    )
    return Robot("leg", model, points, np.array([1]), np.array([0.45, 0.0]))


@pytest.mark.parametrize("method", METHODS)
def test_a_leg_stands(method):
    """The knee carries the weight of the thigh, the foot that of both, the motor the torque."""
    robot = leg()
    sim = simulator(robot, method, terrain=Terrain(Plane(friction=1.0)))
    gains = Command(
        kp=np.array([0.0, 1e4]), kd=np.array([0.0, 100.0]), q_target=np.array([0.0, 0.0])
    )
    state = sim.state()
    for _ in range(200):
        state = (result := sim.step(state, gains, 0.01)).state
    read = Sensors(
        robot,
        [JointWrench("knee"), ContactWrench("foot"), CentreOfPressure("foot"), MotorTorques()],
    ).read(result)
    turn = np.array(
        [[np.cos(a := state.q[1]), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]]
    )
    friction = (turn @ read["contact_wrench"][:3])[0]
    assert turn @ read["contact_wrench"][:3] == pytest.approx([friction, 0, 6 * G], abs=0.05)
    # what the knee does to the foot carries its weight less the ground's force
    assert turn @ read["joint_wrench"][:3] == pytest.approx([-friction, 0, -5 * G], abs=0.05)
    assert read["joint_wrench"][4] == pytest.approx(read["motor_torques"][0], abs=0.05)
    below = turn @ read["centre_of_pressure"]
    assert below == pytest.approx([0.0, 0.0, -0.05], abs=2e-3)


@pytest.mark.parametrize("method", ["ne-nmdp, order 2", "pbfd", "ne-ncp"])
def test_a_foot_on_a_slope(method):
    """A box that sticks to a slope feels m g cos along its normal, m g sin along it."""
    angle, mass = 0.2, 2.0
    slope = Terrain(Plane(normal=(np.sin(angle), 0.0, np.cos(angle)), friction=0.8))
    up = 0.1 * np.array([np.sin(angle), 0.0, np.cos(angle)])
    body = free_body(
        "foot", Box(size=(0.4, 0.4, 0.2)), mass=mass, position=tuple(up), rpy=(0.0, angle, 0.0)
    )
    sim = simulator(body, method, terrain=slope)
    *_, result = sim.run(sim.state(), Passive(), dt=0.01, duration=0.5)
    read = Sensors(body, [ContactWrench("foot"), CentreOfPressure("foot")]).read(result)
    # the axes of the frame are those of the slope, whose x descends
    expected = mass * G * np.array([-np.sin(angle), 0.0, np.cos(angle)])
    assert read["contact_wrench"][:3] == pytest.approx(expected, abs=0.01 * mass * G)
    assert read["contact_wrench"][3:] == pytest.approx(np.zeros(3), abs=0.01 * mass * G)
    # the force passes through the centre of mass, 0.1 m above the slope
    assert read["centre_of_pressure"] == pytest.approx([0.1 * np.tan(angle), 0, -0.1], abs=1e-4)


def test_rays():
    """Distances to a slope, to a body and to a ball of the ground; none is felt inside the own."""
    ground = Terrain([Plane(), Sphere(radius=0.5, position=(3.0, 0.0, 1.0))])
    robot = free_body("drone", Box(size=(0.2, 0.2, 0.2)), mass=1.0, position=(0.0, 0.0, 1.0))
    ball = free_body("ball", Sphere(radius=0.3), mass=1.0, position=(0.0, 2.0, 1.2))
    both = together(robot, [ball])
    rays = Rays(
        ((0, 0, -2), (1, 0, -1), (1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1)), "drone", longest=5.0
    )
    sensors = Sensors(
        both, [rays, Rays(((0, 1, 0),), "drone", name="through", bodies=False)], terrain=ground
    )
    sim = Simulator(both, ground, FrictionCone(stiffness=1e6, power=2))
    read = sensors.read(sim.state())
    side = 2.0 - np.sqrt(0.3**2 - 0.2**2)
    expected = [1.0, np.sqrt(2.0), 2.5, side, 5.0, 5.0]
    assert read["rays"] == pytest.approx(expected, abs=1e-5)
    assert read["through"].tolist() == [10.0]
    alone = Sensors(both, [rays]).read(sim.state())["rays"]
    assert alone == pytest.approx([5.0, 5.0, 5.0, side, 5.0, 5.0], abs=1e-5)


def test_forces_of_bodies_on_each_other():
    """A ball on a box presses it with its weight; the ground carries both."""
    box = free_body("box", Box(size=(0.4, 0.4, 0.2)), mass=2.0, position=(0.0, 0.0, 0.1))
    ball = free_body("ball", Sphere(radius=0.1), mass=1.0, position=(0.0, 0.0, 0.3))
    both = touching(together(box, [ball]))
    sim = simulator(both, "ne-nmdp, order 2", terrain=Terrain(Plane()))
    *_, result = sim.run(sim.state(), Passive(), dt=0.01, duration=0.5)
    read = Sensors(
        both, [ContactWrench("box"), ContactWrench("ball", name="ball"), CentreOfPressure("ball")]
    ).read(result)
    assert read["ball"][:3] == pytest.approx([0, 0, G], abs=1e-3)
    assert read["contact_wrench"][:3] == pytest.approx([0, 0, 2 * G], abs=1e-3)
    assert read["centre_of_pressure"] == pytest.approx([0, 0, -0.1], abs=1e-4)
