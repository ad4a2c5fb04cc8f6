"""Executors of independent tasks: serial, threads, processes, Ray clusters."""

from nmdp_pin.executors.executor import Executor
from nmdp_pin.executors.processes import Processes
from nmdp_pin.executors.ray_cluster import RayCluster
from nmdp_pin.executors.serial import Serial
from nmdp_pin.executors.threads import Threads

__all__ = ["Executor", "Processes", "RayCluster", "Serial", "Threads"]
