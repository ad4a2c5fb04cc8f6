"""A bar that follows a script sweeps a box aside, whatever force that takes."""

import numpy as np
import pinocchio as pin

from nmdp_pin import FrictionCone, Plane, Simulator, Terrain, free_body, together, touching
from nmdp_pin.control import Scripted, scripted
from nmdp_pin.terrain import Box

SPEED, WAY = 0.3, 0.5  # [m/s], [m] of the bar


def sweep() -> tuple[float, float]:
    """Where the box ends along y [m], and the largest force of the bar [N]."""
    bar = scripted(free_body("bar", Box(size=(1.0, 0.05, 0.1), friction=0.3), mass=5.0))
    box = free_body("box", Box(size=(0.2, 0.2, 0.2)), mass=2.0, position=(0.0, 0.3, 0.1))
    scene = touching(together(box, [bar]), [("box", "bar")])

    def moves(t):
        """Pose and velocity of the bar, which stops at the end of its way."""
        y = min(SPEED * t, WAY)
        return pin.SE3(np.eye(3), np.array([0.0, y, 0.1])), [0, SPEED * (y < WAY), 0, 0, 0, 0]

    script, ground = Scripted(scene, {"bar": moves}), Terrain(Plane(friction=0.5))
    simulator = Simulator(scene, ground, FrictionCone(stiffness=1e7, power=2))
    force, row = 0.0, scene.model.nv - 5  # along y, of the bar's six
    for result in simulator.run(script.on(simulator.state()), script, dt=0.01, duration=2.0):
        force = max(force, abs(result.tau[row]))
    return result.state.q[1], force


if __name__ == "__main__":
    print("the box ends at y = {:.3f} m, pushed by up to {:.1f} N".format(*sweep()))
