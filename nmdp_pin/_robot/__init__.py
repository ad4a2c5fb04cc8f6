"""Robots: from a URDF or a name to what a simulation needs."""

from nmdp_pin._robot.body_contacts import touching
from nmdp_pin._robot.body_surfaces import surface_names
from nmdp_pin._robot.catalog import (
    RobotSource,
    bundled_robots,
    example_robots,
    is_mjcf,
    is_robot,
    stands_at_zero,
)
from nmdp_pin._robot.check import RobotReport, check_robot
from nmdp_pin._robot.contact_points import ContactPoints
from nmdp_pin._robot.free_body import free_body, together
from nmdp_pin._robot.joint_limits import JointLimits, Mimic
from nmdp_pin._robot.loading import load_robot
from nmdp_pin._robot.loop import Connect, Coupling, Distance, Loop, Weld
from nmdp_pin._robot.loop_closure import with_loops
from nmdp_pin._robot.pair_tables import with_frictions, with_stiffnesses
from nmdp_pin._robot.robot import Robot
from nmdp_pin._robot.scene import load_scene, robot_of_scene
from nmdp_pin._robot.scripted import scripted
from nmdp_pin._robot.settings import Base, ContactPoint
from nmdp_pin._robot.surface_points import ContactCount

__all__ = [
    "Base",
    "Connect",
    "ContactCount",
    "ContactPoint",
    "ContactPoints",
    "Coupling",
    "Distance",
    "JointLimits",
    "Loop",
    "Mimic",
    "Robot",
    "RobotReport",
    "RobotSource",
    "Weld",
    "bundled_robots",
    "check_robot",
    "example_robots",
    "free_body",
    "is_mjcf",
    "is_robot",
    "load_robot",
    "load_scene",
    "robot_of_scene",
    "scripted",
    "stands_at_zero",
    "surface_names",
    "together",
    "touching",
    "with_frictions",
    "with_loops",
    "with_stiffnesses",
]
