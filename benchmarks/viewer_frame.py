"""Cost of the live view in meshcat: what the step loop pays for a frame.

python benchmarks/viewer_frame.py [ROBOT]

Robots are drawn into a meshcat server of their own, with and without a frame being due: 30 a second
of the clock are, whatever the length of a step.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pinocchio as pin

from nmdp_pin._robot import load_robot
from nmdp_pin.viz.viewer import FRAME_RATE, Viewer

FRAMES = 300


def main(name: str) -> None:
    """Draw a robot that moves with every frame, all contact points pushing."""
    robot = load_robot(name)
    rng = np.random.default_rng(1)
    speed = rng.normal(size=robot.model.nv)
    force = rng.normal(loc=(0.0, 0.0, 50.0), size=(len(robot.contact_points), 3))
    print(f"{name}: {robot.model.njoints - 1} joints, {len(robot.contact_points)} contact points")
    print("\n| drawing | median [ms] | 99 % below [ms] |\n|---|---|---|")
    with Viewer(robot, None) as viewer:
        for title, pause in (("a frame that is sent", 1.1 / FRAME_RATE), ("a step between", 0.0)):
            pay = []
            for k in range(FRAMES):
                q = pin.integrate(robot.model, robot.standing, 0.002 * k * speed)
                time.sleep(pause)
                start = time.perf_counter()
                viewer.draw(k / 500.0, q, force)
                pay.append(time.perf_counter() - start)
            median, worst = 1e3 * np.quantile(pay, [0.5, 0.99])
            print(f"| {title} | {median:.3f} | {worst:.3f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "robosimian")
