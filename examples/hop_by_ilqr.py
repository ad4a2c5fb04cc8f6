"""A hopper rises by 0.2 m: iLQR on the derivatives of steps, from a robot that stands.

python examples/hop_by_ilqr.py
"""

import numpy as np

from nmdp_pin import Command, FrictionCone, Halving, Plane, Simulator, Terrain, load_robot
from nmdp_pin.planning import Problem, ilqr

RISE = 0.2  # [m]
H, KNOTS = 0.01, 40  # [s]

robot = load_robot("hopper", visuals=False)
cone = FrictionCone.for_robot(robot, static_depth=1e-3, recovery=0.0)
simulator = Simulator(
    robot, Terrain(Plane(friction=0.8)), cone, "ne-nmdp", order=1, control=Halving(min_step=1e-3)
)
STAND = np.array([0.0, robot.standing[1] + RISE, *robot.standing[2:], *np.zeros(6)])
END = np.array([1.0, 30.0, 3.0, 0.3, 0.3, 0.3, 1.0, 1.0, 1.0, 0.05, 0.05, 0.05])


def running(x, u):
    """Effort."""
    return 1e-3 * u


def final(x):
    """The standing pose, higher, and at rest: the top of a hop."""
    return END * (x - STAND)  # a planar base: all of q is in a vector space


def main() -> None:
    """Plan first with derivatives averaged over switches of contacts, then with exact ones."""
    settle = np.zeros(6)
    settle[robot.driven] = 1000.0  # [N m/rad]
    stand = Command(kp=settle, kd=0.1 * settle, q_target=robot.standing)
    *_, rest = simulator.run(simulator.state(), stand, dt=H, duration=0.5)
    state = simulator.state(rest.state.q)
    problem = Problem(simulator=simulator, h=H, running=running, final=final)
    weight = np.tile(rest.tau[robot.driven], (KNOTS, 1))
    plan = ilqr(problem, state, weight, smoothing=0.1)
    print(len(plan.history), plan.history[:3], plan.cost, plan.one_sided)
    plan = ilqr(problem, state, plan.u)
    print(len(plan.history), plan.cost, plan.one_sided)
    print(f"rise {plan.x[-1, 1] - state.q[1]:.3f} m, torques", abs(plan.u).max(0), problem.bounds)


if __name__ == "__main__":
    main()
