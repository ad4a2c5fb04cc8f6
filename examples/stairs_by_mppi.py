"""Go2 climbs three stairs of 8 cm: MPPI changes a trot on the way, every 80 ms."""

import numpy as np

from nmdp_pin import Command, Halving, Penalty, Plane, Simulator, Terrain, load_robot
from nmdp_pin.planning import Problem, mppi
from nmdp_pin.terrain import Box

FIRST, TREAD, RISE, GOAL = 0.45, 0.3, 0.08, 1.3  # [m] of the stairs, and x of the trunk
H, HELD, AHEAD, CYCLE = 0.02, 4, 5, 6  # [s], steps of a knot, knots planned and of the trot
SPEED, HEIGHT, LIFT, LEG = 0.4, 0.27, 0.14, 0.213  # [m/s], [m]


def trot(knot: int) -> np.ndarray:
    """Angles of the joints: two legs swing, the two others push back."""
    angles = []
    for start in (0.0, 0.5, 0.5, 0.0):  # FL, FR, RL, RR
        phase = (knot / CYCLE + start) % 1.0
        s, swings = 2.0 * phase, phase < 0.5
        x = SPEED * CYCLE * HELD * H / 2.0 * (s * s * (3.0 - 2.0 * s) - 0.5 if swings else 1.5 - s)
        z = HEIGHT - (LIFT * np.sin(np.pi * s) ** 0.6 if swings else 0.0)
        knee = np.arccos(np.hypot(x, z) / (2.0 * LEG))
        angles += [0.0, np.arctan2(-x, z) + knee, -2.0 * knee]
    return np.array(angles)


def posture(x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Height over the slope of the stairs, place to the side, quaternion, rates of roll, pitch."""
    parts = np.concatenate([x[..., 1:6], x[..., 22:24]], axis=-1)
    parts[..., 1] -= HEIGHT + RISE * np.clip((x[..., 0] - FIRST) / TREAD + 1.0, 0.0, 3.0)
    return parts * [4.0, 15.0, 12.0, 5.0, 8.0, 0.3, 0.3]


def walk() -> np.ndarray:
    """[q; v] after each knot, until the trunk has passed the stairs or 60 knots are over."""
    robot = load_robot("go2", contacts="feet", visuals=False)
    places = [(FIRST + TREAD * k + 2.0, 0.0, RISE * (k + 0.5)) for k in range(3)]
    stairs = [Box(size=(4.0, 2.0, RISE), position=p, friction=0.8) for p in places]
    ground, law = Terrain([Plane(friction=0.8), *stairs]), Penalty(slip_speed=0.1)
    simulator = Simulator(robot, ground, law, "pbfd", control=Halving(min_step=2e-3))
    kp, zero = np.zeros(18), robot.standing.copy()
    kp[robot.driven], zero[7:] = 150.0, 0.0  # [N m/rad], of targets that are angles
    hold = {"command": Command(kp=kp, kd=kp / 37.5, q_target=zero), "targets": True, "held": HELD}
    problem = Problem(
        simulator=simulator, h=H, running=posture, final=lambda x: 8.0 * (1.5 - x[..., :1]), **hold
    )
    state, u, way = simulator.state(), np.array([trot(k) for k in range(AHEAD)]), []
    while state.q[0] < GOAL and len(way) < 60:
        u = mppi(problem, state, u, spread=0.12, temperature=0.02, samples=32, seed=len(way)).u
        for _ in range(HELD):
            state = simulator.step(state, problem.commanded(u[0]), H).state
        u = np.vstack([u[1:], trot(len(way) + AHEAD)])
        way.append(simulator.vector.pack(state))
    return np.array(way)


if __name__ == "__main__":
    end, time = (way := walk())[-1], HELD * H * len(way)
    print(f"after {time:.1f} s the trunk is at x = {end[0]:.2f} m, z = {end[2]:.2f} m")
