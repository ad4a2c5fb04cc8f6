"""Sensors of robots: what they measure, with rates, delays, noise and bias."""

from nmdp_pin._sensors.contact_sensors import CentreOfPressure, ContactWrench, Touch
from nmdp_pin._sensors.frame_sensors import FramePose, FrameVelocity
from nmdp_pin._sensors.imu import Accelerometer, Gyroscope
from nmdp_pin._sensors.instant import Instant
from nmdp_pin._sensors.joint_sensors import (
    JointPositions,
    JointVelocities,
    JointWrench,
    MotorTorques,
)
from nmdp_pin._sensors.rays import Rays
from nmdp_pin._sensors.sensor import Sensor
from nmdp_pin._sensors.sensors import Readings, Sensors

__all__ = [
    "Accelerometer",
    "CentreOfPressure",
    "ContactWrench",
    "FramePose",
    "FrameVelocity",
    "Gyroscope",
    "Instant",
    "JointPositions",
    "JointVelocities",
    "JointWrench",
    "MotorTorques",
    "Rays",
    "Readings",
    "Sensor",
    "Sensors",
    "Touch",
]
