"""A gripper picks up a cube: the cross-entropy method finds when to close and how far to lift.

python examples/pick_by_cem.py
"""

import numpy as np

from nmdp_pin import Command, Scenario
from nmdp_pin.planning import Plan, Problem, cem

HEIGHT = 0.15  # [m] at which the cube shall be
H, HELD, KNOTS = 0.02, 10, 6  # steps of 20 ms, and a target every 0.2 s


def problem() -> Problem:
    """The cube at rest at its height; on the way, fingers that do not press for nothing."""
    scenario = Scenario.load("gripper-pick", overrides=["integrator.order=1"])
    simulator = scenario.build(visuals=False).simulator
    robot = simulator.robot
    cube = robot.model.getFrameId("cube")
    joint = robot.model.frames[cube].parentJoint
    z = robot.model.joints[joint - 1].idx_q + 2  # the translation, then the rotation
    vz = robot.model.nq + robot.model.joints[joint - 1].idx_v + 2
    kp, kd = np.zeros((2, robot.model.nv))
    kp[robot.driven] = 600.0, 3000.0  # [N/m]; a lift that is slow beside the fingers
    kd[robot.driven] = 150.0, 150.0  # [N s/m]

    def final(x):
        return np.stack([(x[..., z] - HEIGHT) / 0.01, x[..., vz] / 0.05], axis=-1)

    return Problem(
        simulator=simulator,
        h=H,
        running=lambda x, u: 3.0 * (x[..., z : z + 1] - HEIGHT),
        final=final,
        command=Command(kp=kp, kd=kd, q_target=robot.standing),
        targets=True,
        held=HELD,
        low=0.0,
        high=np.array([0.3, 0.05]),
    )


def plan() -> Plan:
    """Samples around a gripper that stays open beside the cube."""
    picking = problem()
    begin = np.tile([0.1, 0.025], (KNOTS, 1))
    return cem(picking, picking.simulator.state(), begin, spread=(0.1, 0.02), samples=40, rounds=6)


if __name__ == "__main__":
    found = plan()
    print("targets of the lift and the fingers [m]:", found.u.round(3).tolist())
    print(f"the cube is at {found.x[-1, 5]:.3f} m")
