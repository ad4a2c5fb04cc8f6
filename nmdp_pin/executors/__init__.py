"""Where independent pieces of work are done: here, in processes, on a Ray cluster."""

from nmdp_pin.executors.executor import Executor
from nmdp_pin.executors.processes import Processes
from nmdp_pin.executors.ray_cluster import RayCluster
from nmdp_pin.executors.serial import Serial

__all__ = ["Executor", "Processes", "RayCluster", "Serial"]
