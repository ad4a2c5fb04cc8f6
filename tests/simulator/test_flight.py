"""Flight: thrusters that hold and move a drone."""

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin import FrictionCone, Plane, Simulator, Terrain, load_robot
from nmdp_pin.control import ExternalWrench, Flight
from nmdp_pin.errors import ControlError, RobotError


def test_a_drone_flies_to_a_point_and_hovers():
    """It ends there with its heading, in wind, with thrusts that carry it, and within ranges."""
    robot = load_robot("drone")
    simulator = Simulator(robot, Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e6))
    flight = Flight(robot, times=(0.0, 1.0), positions=((0.0, 0.0, 0.1), (0.3, -0.2, 0.6)), yaw=0.5)
    state, most = simulator.state(), 0.0
    for _ in range(400):
        command = flight.command(state, 0.01)
        result = simulator.step(state, flight, 0.01)
        most = max(most, *(wrench.force[2] for wrench in command.wrenches))
        assert all(0.0 <= wrench.force[2] <= 6.0 for wrench in command.wrenches)
        state = result.state
    np.testing.assert_allclose(state.q[:3], [0.3, -0.2, 0.6], atol=2e-3)
    yaw = pin.rpy.matrixToRpy(robot.pose(state).rotation)[2]
    assert yaw == pytest.approx(0.5, abs=1e-3)
    weight = robot.mass * 9.81
    assert sum(wrench.force[2] for wrench in result.external) == pytest.approx(weight, rel=1e-3)
    assert most > 0.25 * weight


def test_a_wrench_turns_with_its_link():
    """Along the axes of a link on its side, it pushes sideways."""
    robot = load_robot("drone")
    simulator = Simulator(robot, Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e6))
    side = pin.Quaternion(pin.rpy.rpyToMatrix(np.pi / 2, 0.0, 0.0)).coeffs()
    start = simulator.state(q=[0.0, 0.0, 1.0, *side])
    push = ExternalWrench(force=(0.0, 0.0, 1.2), turned=True)
    state = simulator.step(start, push_of(push), 0.01).state
    np.testing.assert_allclose(state.v[:3], [0.0, -0.01, -0.0981], atol=1e-9)


def push_of(wrench):
    """A command with one wrench."""
    from nmdp_pin import Command

    return Command(wrenches=(wrench,))


def test_what_cannot_fly(tmp_path):
    """Without thrusters, with a fixed base, or with thrusters that cannot turn it."""
    path = {"times": (0.0, 1.0), "positions": ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))}
    with pytest.raises(ControlError, match="needs a free-flyer base and thrusters"):
        Flight(load_robot("box"), **path)
    folder = tmp_path / "stone"
    folder.mkdir()
    urdf = (
        '<robot name="stone"><link name="stone"><inertial><mass value="1"/><inertia ixx="1" '
        'iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
    )
    (folder / "stone.urdf").write_text(urdf)
    table = (
        """urdf = "stone.urdf"
[[thrusters]]
name = "only"
link = "LINK"
wrench = [0, 0, 1, 0, 0, 0]
range = [0, 20]
""".replace("0,", "0.0,")
        .replace("0]", "0.0]")
        .replace("1,", "1.0,")
    )
    (folder / "robot.toml").write_text(table.replace("LINK", "stone"))
    with pytest.raises(ControlError, match="cannot carry and turn it"):
        Flight(load_robot(folder / "robot.toml"), **path)
    (folder / "robot.toml").write_text(table.replace("LINK", "wing"))
    with pytest.raises(RobotError, match="link 'wing' does not exist; links: stone"):
        load_robot(folder / "robot.toml")
