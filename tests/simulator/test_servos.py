"""Servos of velocities, angles of continuous joints, and what a state says of a robot."""

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin import (
    FrictionCone,
    Plane,
    Scenario,
    Simulator,
    StablePD,
    State,
    Terrain,
    load_robot,
    run,
)
from nmdp_pin._robot.gait import Gait
from nmdp_pin.control import MotorModel, VelocityServo
from nmdp_pin.errors import ControlError, RobotError

URDF = """<robot name="spindle">
  <link name="base"/>
  <link name="disc">
    <inertial><mass value="2"/><inertia ixx="0.02" iyy="0.02" izz="0.04" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="wheel" type="continuous">
    <parent link="base"/><child link="disc"/><axis xyz="0 0 1"/>
    <limit effort="100" velocity="100"/>
  </joint>
</robot>"""


@pytest.fixture
def robot(tmp_path):
    """A disc on a continuous joint, whose axis is vertical."""
    path = tmp_path / "spindle.urdf"
    path.write_text(URDF)
    return load_robot(path, base="fixed")


def simulate(robot, controller, *, duration):
    """State at the end of a run in steps of 10 ms."""
    sim = Simulator(robot, Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e5, power=2))
    *_, result = sim.run(sim.state(), controller, dt=0.01, duration=duration)
    return result.state


def test_a_wheel_at_a_velocity(robot):
    """A servo brings a continuous joint to its velocity as exp(-kd t / I)."""
    state = simulate(robot, VelocityServo(robot, kd=0.2, velocity={"wheel": 7.0}), duration=0.3)
    assert state.v[0] == pytest.approx(7.0 * (1.0 - np.exp(-0.3 * 0.2 / 0.04)), rel=1e-3)


ASKED, INERTIA = 0.8, 0.04  # [N m], [kg m^2]
EXACT = 1e-9  # impulses are exact, up to the tolerance of steps


def test_motors_lag(robot):
    """A constant torque arrives as 1 - exp(-t / lag): its impulse is exact."""
    motors = MotorModel(robot, lambda state, h: np.array([ASKED]), lag=0.05)
    for _ in range(2):  # a second run is a new one
        state = simulate(robot, motors, duration=0.1)
        impulse = ASKED * (0.1 - 0.05 * (1.0 - np.exp(-2.0)))
        assert state.v[0] == pytest.approx(impulse / INERTIA, rel=EXACT)


def test_motors_are_late(robot):
    """Nothing arrives for 25 ms, which are three steps; then what was asked for so long before."""
    motors = MotorModel(robot, lambda state, h: np.array([ASKED * state.t]), delay=0.025)
    state = simulate(robot, motors, duration=0.1)
    impulse = 0.01 * sum(ASKED * 0.01 * k for k in range(7))
    assert state.v[0] == pytest.approx(impulse / INERTIA, rel=EXACT)


def test_motors_lose_torque_with_speed(robot):
    """A torque that is far too large drives along the line of the motor, to its free speed."""
    asks = StablePD(robot, kp=0.0, kd=1e3, gait=lambda t: (robot.standing, np.array([90.0])))
    motors = MotorModel(robot, asks, free_speed={"wheel": 20.0}, stall_torque=0.8)
    state = simulate(robot, motors, duration=0.5)
    rate = 0.8 / 20.0 / INERTIA  # [1/s]
    assert state.v[0] == pytest.approx(20.0 * (1.0 - np.exp(-0.5 * rate)), rel=1e-3)
    below = simulate(robot, MotorModel(robot, asks, stall_torque=0.3), duration=0.5)
    assert below.v[0] == pytest.approx(0.3 * 0.5 / INERTIA, rel=EXACT)


def test_motors_that_cannot_be(robot):
    """Joints that are none, and speeds without a torque."""
    with pytest.raises(ControlError, match="no driven joint 'tyre'"):
        MotorModel(robot, None, free_speed={"tyre": 2.0})
    chain = load_robot("gripper", limits=False)
    with pytest.raises(ControlError, match="needs a stall_torque"):
        MotorModel(chain, None, free_speed=1.0)


def test_velocities_are_those_of_the_joints_that_are_named():
    """On a floating base, whose configuration is longer than its velocity."""
    spider = load_robot("spider", visuals=False)
    joint = spider.model.names[-1]
    servo = VelocityServo(spider, kd=0.2, velocity={joint: 7.0})
    command = servo.command(
        Simulator(spider, Terrain(Plane()), FrictionCone(stiffness=1e5, power=2)).state(), 0.01
    )
    expected = np.zeros(spider.model.nv)
    expected[spider.model.joints[spider.model.getJointId(joint)].idx_v] = 1.0
    np.testing.assert_array_equal(command.v_target, 7.0 * expected)
    np.testing.assert_array_equal(command.kd, 0.2 * expected)


def test_a_wheel_by_its_angle(robot):
    """A motion of three turns is followed to its end, not to the nearest angle of the same look."""
    turns = Gait(
        name="turns",
        joints=("wheel",),
        times=np.array([0.0, 3.0]),
        positions=np.array([[0.0], [6.0 * np.pi + 1.0]]),
        loop=None,
    )
    sim = Simulator(robot, Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e5, power=2))
    controller, turned, state = StablePD(robot, kp=400.0, kd=8.0, gait=turns), 0.0, sim.state()
    for result in sim.run(state, controller, dt=0.01, duration=4.0):
        turned += 0.01 * result.state.v[0]
        state = result.state
    assert turned == pytest.approx(6.0 * np.pi + 1.0, rel=1e-2)
    assert state.q == pytest.approx([np.cos(1.0), np.sin(1.0)], abs=1e-4)
    q, v = controller.reference(1.5)
    assert q == pytest.approx([np.cos(3 * np.pi + 0.5), np.sin(3 * np.pi + 0.5)])
    assert v == pytest.approx([1.5 * (6.0 * np.pi + 1.0) / 3.0])


def test_wrong_servos(robot):
    """Unknown joints, and velocities without a gain, are refused."""
    with pytest.raises(ControlError, match="has no joint 'none'"):
        VelocityServo(robot, kd=1.0, velocity={"none": 1.0})
    with pytest.raises(ControlError, match="'wheel' needs both"):
        VelocityServo(robot, kd={}, velocity={"wheel": 1.0})
    with pytest.raises(ControlError, match="velocity"):
        VelocityServo(robot, kd=1.0, velocity={"wheel": np.nan})


def test_what_a_state_says():
    """Pose, velocity and Jacobian of a frame, and the mass matrix, agree with each other."""
    robot = load_robot("spider")
    rng = np.random.default_rng(3)
    nv = robot.model.nv
    state = State(
        0.0,
        pin.integrate(robot.model, robot.standing, rng.standard_normal(nv)),
        rng.standard_normal(nv),
    )
    h = 1e-6
    later = State(h, pin.integrate(robot.model, state.q, h * state.v), state.v)
    pose, moved = robot.pose(state, "FL_lower"), robot.pose(later, "FL_lower")
    velocity = robot.velocity(state, "FL_lower")
    assert (moved.translation - pose.translation) / h == pytest.approx(velocity[:3], abs=1e-4)
    turned = pin.log3(moved.rotation @ pose.rotation.T) / h
    assert turned == pytest.approx(velocity[3:], abs=1e-4)
    assert robot.jacobian(state, "FL_lower") @ state.v == pytest.approx(velocity)
    M, data = robot.mass_matrix(state), robot.model.createData()
    gravity = pin.rnea(robot.model, data, state.q, 0 * state.v, 0 * state.v)
    force = pin.rnea(robot.model, data, state.q, 0 * state.v, state.v) - gravity
    assert M @ state.v == pytest.approx(force)
    assert np.array_equal(M, M.T)
    assert robot.pose(state).translation == pytest.approx(state.q[:3])
    with pytest.raises(RobotError, match="'tail' is not a link or frame"):
        robot.pose(state, "tail")


def test_a_wheel_of_a_scenario(tmp_path, robot):
    """A URDF's wheel is driven from a scenario, by its velocity and by its angle."""
    text = f"""
    duration = 1.0
    robot = {{ urdf = "{robot.source}", base = "fixed" }}
    terrain.shapes = [{{ kind = "plane", height = -9.0 }}]
    contact = {{ model = "friction-cone", static_depth = 0.001, power = 2 }}
    integrator = {{ dt = 0.01 }}
    """
    servo = 'controller = {kind = "velocity", kd = 2.0, velocity = {wheel = 7.0}}'
    motion = "motion = {joints = ['wheel'], times = [0.0, 0.8], positions = [[0.0], [7.0]]}"
    motion = f'controller = {{kind = "stable-pd", kp = 400.0, kd = 8.0, {motion}}}'
    for controller, check in ((servo, "v"), (motion, "q")):
        (tmp_path / "wheel.toml").write_text(text + controller)
        recording = run(Scenario.load(tmp_path / "wheel.toml"))
        if check == "v":
            assert recording.v[-1, 0] == pytest.approx(7.0, abs=1e-3)
        else:
            assert recording.q[-1] == pytest.approx([np.cos(7.0), np.sin(7.0)], abs=1e-3)
