"""Robots: from a URDF or a name to what a simulation needs."""

from nmdp_pin.robot.catalog import RobotSource, bundled_robots, example_robots
from nmdp_pin.robot.check import RobotReport, check_robot
from nmdp_pin.robot.contact_points import ContactPoints
from nmdp_pin.robot.robot import Robot, load_robot
from nmdp_pin.robot.settings import Base, ContactPoint
from nmdp_pin.robot.surface_points import MOST_CONTACT_POINTS

__all__ = [
    "MOST_CONTACT_POINTS",
    "Base",
    "ContactPoint",
    "ContactPoints",
    "Robot",
    "RobotReport",
    "RobotSource",
    "bundled_robots",
    "check_robot",
    "example_robots",
    "load_robot",
]
