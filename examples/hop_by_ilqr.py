"""A standing hopper rises by 0.2 m: iLQR finds the torques by derivatives through contact.

python examples/hop_by_ilqr.py
"""

import numpy as np

from nmdp_pin import Command, FrictionCone, Halving, Plane, Simulator, State, Terrain, load_robot
from nmdp_pin.planning import Plan, Problem, ilqr

RISE = 0.2  # [m] of the torso, after 0.4 s
H, KNOTS = 0.01, 40  # [s]
END = np.array([1.0, 30.0, 3.0, 0.3, 0.3, 0.3, 1.0, 1.0, 1.0, 0.05, 0.05, 0.05])  # weights


def scene() -> tuple[Problem, State, np.ndarray]:
    """The problem, the robot at rest, and the torques that hold it there."""
    robot = load_robot("hopper", visuals=False)
    simulator = Simulator(
        robot,
        Terrain(Plane(friction=0.8)),
        FrictionCone.for_robot(robot, static_depth=1e-3, recovery=0.0),  # gives nothing back
        "ne-nmdp",
        order=1,  # of which no end jumps where a foot lands
        control=Halving(min_step=1e-3),  # a wild trial fails at once
    )
    kp = np.zeros(6)
    kp[robot.driven] = 1000.0  # [N m/rad]
    stand = Command(kp=kp, kd=0.1 * kp, q_target=robot.standing)
    *_, rest = simulator.run(simulator.state(), stand, dt=H, duration=0.5)
    state = simulator.state(rest.state.q)
    top = np.concatenate([state.q, np.zeros(6)])
    top[1] += RISE
    problem = Problem(
        simulator=simulator,
        h=H,
        running=lambda x, u: 1e-3 * u,
        final=lambda x: END * (x - top),  # x, z and pitch of a planar base are numbers
    )
    return problem, state, np.tile(rest.tau[robot.driven], (KNOTS, 1))


def plan() -> Plan:
    """With derivatives averaged over switches of contacts first, then with exact ones."""
    problem, state, holding = scene()
    found = ilqr(problem, state, holding, smoothing=0.05)
    return ilqr(problem, state, found.u)


if __name__ == "__main__":
    found = plan()
    rise = found.x[-1, 1] - scene()[1].q[1]
    torques = abs(found.u).max(axis=0)
    print(f"the torso rises {rise:.3f} m, with at most {torques.round(1).tolist()} N m")
