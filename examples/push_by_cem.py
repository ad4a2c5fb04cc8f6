"""A fingertip pushes a box to a pose: the cross-entropy method finds the path of the fingertip.

python examples/push_by_cem.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from nmdp_pin import Command, FrictionCone, Simulator, load_scene
from nmdp_pin.planning import Plan, Problem, cem

SCENE = """<mujoco><worldbody>
  <geom name="floor" type="plane" size="1 1 1" friction="0.4"/>
  <body pos="0 0 0.05"><joint name="x" type="slide" axis="1 0 0"/>
    <joint name="y" type="slide" axis="0 1 0"/><geom type="sphere" size="0.02" mass="0.5"/></body>
  <body pos="0.13 0 0.05">
    <freejoint/><geom type="box" size="0.1 0.1 0.05" mass="1" friction="0.3"/></body>
</worldbody><actuator><motor joint="x"/><motor joint="y"/></actuator></mujoco>"""
GOAL = np.array([0.2, 0.06, 0.5])  # x, y [m] and angle [rad] of the box from its start
TOLERANCE = np.array([0.01, 0.01, 0.05])  # [m, m, rad]
H, HELD, KNOTS = 0.04, 5, 8  # steps of 40 ms, and a target of the fingertip every 0.2 s


def pose(x: np.ndarray) -> np.ndarray:
    """x, y and angle of the box in states (..., nx), from its start."""
    angle = 2.0 * np.arctan2(x[..., 7], x[..., 8])
    return np.stack([x[..., 2] - 0.13, x[..., 3], angle], axis=-1)


def plan() -> Plan:
    """Samples around a straight push; the fingertip shall be close to its targets."""
    with TemporaryDirectory() as folder:
        (path := Path(folder) / "scene.xml").write_text(SCENE, encoding="utf-8")
        robot, ground = load_scene(path)
    law = FrictionCone(stiffness=1e8, power=2)
    kp = np.zeros(robot.model.nv)
    kp[robot.driven] = 2000.0  # [N/m]
    problem = Problem(
        simulator=Simulator(robot, ground, law, "ne-nmdp", order=1),
        h=H,
        running=lambda x, u: 2.0 * (x[..., :2] - u),
        final=lambda x: (pose(x) - GOAL) / TOLERANCE,
        command=Command(kp=kp, kd=0.1 * kp, q_target=robot.standing),
        targets=True,
        held=HELD,
    )
    way = np.linspace(0.0, 1.0, KNOTS + 1)[1:, None] * GOAL[:2]
    return cem(problem, problem.simulator.state(), way, spread=0.05, samples=60, rounds=9)


if __name__ == "__main__":
    print("x = {:.3f} m, y = {:.3f} m, turned by {:.3f} rad".format(*pose(plan().x[-1])))
