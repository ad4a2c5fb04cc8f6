"""Cost of a frame of the live viewer: what the step loop pays, and what the server takes.

python benchmarks/viewer_frame.py [ROBOT]
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pinocchio as pin

from nmdp_pin.robot import load_robot
from nmdp_pin.viz.meshcat_viewer import MeshcatViewer

FRAMES = 300


def main(name: str) -> None:
    """Draw a robot that moves with every frame, all contact points pushing."""
    robot = load_robot(name)
    rng = np.random.default_rng(1)
    speed = rng.normal(size=robot.model.nv)
    force = rng.normal(loc=(0.0, 0.0, 50.0), size=(len(robot.contact_points), 3))
    pay, serve = [], []
    with MeshcatViewer(robot, None) as viewer:
        for k in range(FRAMES):
            q = pin.integrate(robot.model, robot.standing, 0.002 * k * speed)
            start = time.perf_counter()
            viewer.draw(q, force * (1.0 + 0.01 * k))
            handed_over = time.perf_counter()
            viewer.flush()
            pay.append(handed_over - start)
            serve.append(time.perf_counter() - start)
    print(f"{name}: {robot.model.njoints - 1} joints, {len(robot.contact_points)} contact points")
    for what, times in (("the step loop pays", pay), ("until the server has it", serve)):
        median, worst = 1e3 * np.median(times), 1e3 * np.quantile(times, 0.99)
        print(f"  {what}: {median:.2f} ms a frame, 99 % below {worst:.2f} ms")
    print(f"  at 30 frames a second: {100 * 30 * np.median(pay):.1f} % of the time")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "robosimian")
