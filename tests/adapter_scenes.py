"""Simulators that the tests of adapters share."""

from typing import Any

import numpy as np
import pinocchio as pin
from contact_laws import law_for

from nmdp_pin import FrictionCone, Halving, Plane, Simulator, Terrain, load_robot
from nmdp_pin._contact import stiffness_for_static_depth
from nmdp_pin._contact.friction_cone import RECOVERY
from nmdp_pin._integrators.vi_newton import ViNewton

STATIC_DEPTH = 1e-3  # [m]
FRICTION = 0.7


def simulator(name: str, method: str = "ne-nmdp", base: Any = None, **options: Any) -> Simulator:
    """A bundled robot on level ground."""
    robot = load_robot(name, base=base)
    mass = float(pin.computeTotalMass(robot.model))
    k = stiffness_for_static_depth(mass, len(robot.contact_points), STATIC_DEPTH, 2)
    rate = 0.0 if "objective" in options else RECOVERY
    law = law_for(method, FrictionCone(stiffness=k, power=2, recovery=rate))
    return Simulator(robot, Terrain([Plane(friction=FRICTION)]), law, method, **options)


def standing(sim: Simulator) -> np.ndarray:
    """[q; v] of the standing robot."""
    return sim.vector.pack(sim.state())


def near(sim: Simulator, seed: int, size: float = 0.01) -> np.ndarray:
    """[q; v] somewhere near it."""
    dx = np.random.default_rng(seed).uniform(-size, size, sim.vector.ndx)
    return sim.vector.integrate(standing(sim), dx)


def unsolved_hopper() -> Any:
    """An environment of a hopper of which no step is solved."""
    from nmdp_pin.adapters.bundled_tasks import simulator_for  # which need gymnasium
    from nmdp_pin.adapters.gymnasium import Forward, SimulatorEnv

    unsolved = simulator_for(
        load_robot("hopper"),
        method="ne-nmdp",
        vi_newton=ViNewton(max_iterations=1),
        control=Halving(min_step=0.02),
    )
    return SimulatorEnv(unsolved, Forward(healthy_height=(0.0, np.inf), healthy_tilt=3.0))
