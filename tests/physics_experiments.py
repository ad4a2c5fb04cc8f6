"""What is measured against closed forms: each function runs one scene and returns its figures.

The tests hold them to tolerances; benchmarks/physics.py prints them.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from physics_scenes import (
    CUBE,
    SOFT,
    G,
    ball,
    block,
    cone,
    energies,
    flying,
    ground,
    path,
    resting,
    run,
    simulator,
    weightless,
)
from scipy.integrate import solve_ivp

from nmdp_pin._control import TorqueFunction
from nmdp_pin._robot import Robot, load_robot

SLOPE_FRICTION = 0.5
TORQUE = {"chain": 2e-4, "robosimian": 5.0}  # [N m]; moves the joints at some rad/s


def stopping_distance(
    method: str, mu: float, h: float, heading: float = 0.0, **options: Any
) -> float:
    """How far a slab sent at 1 m/s over level ground slides [m]; options are those of its cone."""
    slab = block()
    sim = simulator(slab, ground(mu), cone(slab, **options), method)
    v = np.zeros(6)
    v[:2] = np.cos(heading), np.sin(heading)
    last = run(sim, sim.state(resting(slab), v), h, 1.5 / (mu * G))[-1]
    return float(np.linalg.norm(last.state.q[:2]))


def slope_path(
    method: str, angle: float, h: float, duration: float, cone_angle: float = 0.0
) -> np.ndarray:
    """Way down a slope of a slab set down on it at rest, after each step [m].

    Args:
        method: of EVERY.
        angle: of the slope [rad].
        h: [s].
        duration: [s].
        cone_angle: from downhill to the first edge of the friction polytope [rad].
    """
    slab = block()
    sim = simulator(
        slab, ground(SLOPE_FRICTION, angle), cone(slab, angle=cone_angle, directions=6), method
    )
    state = sim.state(resting(slab, angle))
    downhill = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    return path(state, run(sim, state, h, duration))[:, :3] @ downhill


def sliding_acceleration(method: str, angle: float, h: float, cone_angle: float = 0.0) -> float:
    """Acceleration down the slope over 0.5 s [m/s^2]: speed at the end over time."""
    way = slope_path(method, angle, h, 0.5, cone_angle)
    return float((way[-1] - way[-2]) / h / 0.5)


def creep(method: str, h: float, share: float = 0.9) -> float:
    """Speed down a slope of `share` of the critical angle, from 1 s to 2 s [m/s]."""
    way = slope_path(method, share * np.arctan(SLOPE_FRICTION), h, 2.0)
    return float(way[-1] - way[len(way) // 2])


def critical_angle(method: str, h: float, cone_angle: float, friction: float) -> float:
    """Where the slab starts to slide: bisection between 0.8 and 1.2 of arctan(friction) [rad].

    It slides if it goes faster after 0.4 s than after 0.2 s, by a tenth of what a slope that is
    1 % too steep would give.
    """
    low, high = 0.8 * np.arctan(friction), 1.2 * np.arctan(friction)
    gain = 0.1 * 0.2 * G * 0.01
    while high - low > 1e-3 * low:
        middle = 0.5 * (low + high)
        speed = np.diff(slope_path(method, middle, h, 0.4, cone_angle)) / h
        if speed[-1] - speed[len(speed) // 2] > gain:
            high = middle
        else:
            low = middle
    return float(0.5 * (low + high))


def rolling_acceleration(method: str, angle: float, h: float, base: str) -> tuple[float, float]:
    """Acceleration of a ball that rolls down a rough slope for 0.5 s [m/s^2], and slip [m/s]."""
    sphere = ball(base=base)
    sim = simulator(sphere, ground(SLOPE_FRICTION, angle), cone(sphere, feet=1), method)
    state = sim.state(resting(sphere, angle))
    results = run(sim, state, h, 0.5)
    downhill = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    way = path(state, results)[:, :3] @ downhill
    speed = (way[-1] - way[-2]) / h
    return float(speed / results[-1].state.t), float(speed - 0.1 * results[-1].state.v[4])


def rolling_speed(method: str, h: float, base: str) -> float:
    """Speed of a ball 0.2 s after it was sent over level ground at 1 m/s without spin [m/s].

    It slides at first: until 2 v / (7 mu g) = 0.058 s.
    """
    sphere = ball(base=base)
    sim = simulator(sphere, ground(SLOPE_FRICTION), cone(sphere, feet=1), method)
    v = np.zeros(6)
    v[0] = 1.0
    state = sim.state(resting(sphere), v)
    way = path(state, run(sim, state, h, 0.2))[:, 0]
    return float((way[-1] - way[-2]) / h)


def spinning_flight(method: str, h: float, base: str) -> np.ndarray:
    """Displacement in 1 s of a ball thrown at 1 m/s along x that spins at 10 rad/s about y [m]."""
    sphere = ball(base=base)
    v = np.zeros(6)
    v[0], v[4] = 1.0, 10.0
    sim = flying(sphere, method)
    state = sim.state(v=v)
    return run(sim, state, h, 1.0)[-1].state.q[:3] - state.q[:3]


class Rest(NamedTuple):
    """A cube on the ground: where it goes in the given time [m], and the force on it [N]."""

    drift: float
    force: np.ndarray


def rest(method: str, h: float, duration: float, drop: float | None = None) -> Rest:
    """A cube at its static depth, or dropped from `drop` [m]; its drift once it has settled.

    Contacts of the cube that is dropped do not recover, so it stays as deep as it fell.

    Args:
        method: of EVERY.
        h: [s].
        duration: of the measurement [s].
        drop: height [m]; the box has half a second to settle.
    """
    cube = block(CUBE)
    law = cone(cube) if drop is None else cone(cube, recovery=0.0)
    sim = simulator(cube, ground(), law, method)
    state = sim.state(resting(cube))
    if drop is not None:
        state = sim.state(cube.standing + drop * np.eye(7)[2])
        state = run(sim, state, h, 0.5)[-1].state
    results = run(sim, state, h, duration)
    moved = np.abs(path(state, results) - state.q).max()
    return Rest(float(moved), results[-1].contact_forces.sum(axis=0))


class Impact(NamedTuple):
    """A cube that falls: energies [J] and lengths [m]."""

    energy_gain: float  # largest rise of kinetic + potential energy in a step, over m g height
    above_start: float  # largest of kinetic + potential energy minus the start's
    rebound: float  # highest that its lowest corner is once it has rested on the ground
    penetration: float
    speed: float  # at the end [m/s, rad/s]
    height: float  # of its centre at the end


def impact(
    method: str, h: float, height: float, rpy: tuple[float, float, float], depth: float
) -> Impact:
    """A cube falls from `height` (of its centre) [m] in the attitude `rpy` [rad], for 1.5 s.

    Its contacts do not recover, so none of their energy comes back.
    """
    cube = block(CUBE)
    sim = simulator(cube, ground(), cone(cube, depth=depth, recovery=0.0), method)
    R = pin.rpy.rpyToMatrix(*rpy)
    state = sim.state(pin.SE3ToXYZQUAT(pin.SE3(R, np.array([0.0, 0.0, height]))))
    results = run(sim, state, h, 1.5)
    E = np.concatenate([[G * height], energies(results)])
    lowest = np.array([_lowest(cube, result.state.q) for result in results])
    touched = np.argmax(lowest < 0.0)
    return Impact(
        float(np.diff(E).max() / (G * height)),
        float((E - E[0]).max()),
        float(lowest[touched:].max()),
        max(result.max_penetration for result in results),
        float(np.abs(results[-1].state.v).max()),
        float(results[-1].state.q[2]),
    )


def _lowest(robot: Robot, q: np.ndarray) -> float:
    """Height of the lowest contact point of a single body [m]."""
    pose = pin.XYZQUATToSE3(q)
    return float((robot.contact_points.positions @ pose.rotation.T + pose.translation)[:, 2].min())


def fast_landing(method: str, h: float, speed: float) -> float:
    """Depth to which a cube 1 mm above the ground gets in one step at `speed` downwards [m]."""
    cube = block(CUBE)
    sim = simulator(cube, ground(), cone(cube), method)
    state = sim.state(cube.standing + 1e-3 * np.eye(7)[2], -speed * np.eye(6)[2])
    result = run(sim, state, h, h)[-1]
    return -_lowest(cube, result.state.q)


def disagreement(quantity: str, h: float) -> float:
    """How far NE-NMDP (kinetic) and NE-MDP are apart [m].

    Args:
        quantity: "drop", the height at which cubes dropped from 4 to 6 cm come to rest (mean), or
            "slide", the way of a slab sent at 1 m/s.
        h: [s].
    """
    robot = block() if quantity == "slide" else block(CUBE)
    ends = []
    for method in ("ne-nmdp kinetic", "ne-mdp"):
        sim = simulator(robot, ground(), cone(robot, depth=SOFT, recovery=0.0), method)
        if quantity == "slide":
            state = sim.state(resting(robot, depth=SOFT), np.eye(6)[0])
            ends.append([run(sim, state, h, 0.3)[-1].state.q[0]])
        else:
            starts = [robot.standing + z * np.eye(7)[2] for z in (0.04, 0.05, 0.06)]
            ends.append([run(sim, sim.state(q), h, 0.15)[-1].state.q[2] for q in starts])
    return float(np.abs(np.subtract(*ends)).mean())


def chain_swing(
    method: str, h: float, duration: float, angle: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The fixed chain that swings from rest, straight.

    Args:
        method: name of the integrator.
        h: length of a step [s].
        duration: of the swing [s].
        angle: below level [rad].

    Returns:
        Energy less that at its start [J], after each step, and the last angles [rad].
    """
    chain = load_robot("chain", visuals=False)
    sim = flying(chain, method)
    q = chain.standing.copy()
    q[0] += angle
    start = pin.computePotentialEnergy(chain.model, chain.model.createData(), q)
    results = run(sim, sim.state(q), h, duration)
    return energies(results) - start, results[-1].state.q


def chain_energy(method: str, h: float, duration: float, angle: float = 0.0) -> np.ndarray:
    """The energies of `chain_swing` [J]."""
    return chain_swing(method, h, duration, angle)[0]


def chain_error(method: str, h: float, duration: float, exact: np.ndarray) -> float:
    """Largest error of the fixed chain's angles after it has swung from level [rad]."""
    return float(np.abs(chain_swing(method, h, duration)[1] - exact).max())


@functools.cache
def chain_exact(duration: float) -> np.ndarray:
    """Angles of the fixed chain after it has swung from level, to 1e-9 rad."""
    model = load_robot("chain", visuals=False).model
    data, n = model.createData(), model.nv

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[n:], pin.aba(model, data, x[:n], x[n:], np.zeros(n))])

    solution = solve_ivp(rate, (0.0, duration), np.zeros(2 * n), "DOP853", rtol=1e-11, atol=1e-11)
    angles: np.ndarray = solution.y[:n, -1]
    return angles


def momentum(name: str, method: str, h: float) -> tuple[float, float]:
    """Linear [N s] and angular [N m s] momentum made in 0.5 s by internal torques alone.

    The floating chain, or Robosimian on its planar base, whose other directions are held.
    """
    planar = name == "robosimian"
    base = "planar" if planar else "free-flyer"
    robot = weightless(load_robot(name, base=base, limits=False, visuals=False))
    model, n_base = robot.model, 3 if planar else 6
    amplitude = np.zeros(model.nv)
    amplitude[n_base:] = TORQUE[name] * np.cos(np.arange(model.nv - n_base))
    torque = TorqueFunction(lambda state, h: amplitude * np.sin(2.0 * np.pi * (state.t + h)))
    sim = flying(robot, method)
    last = run(sim, sim.state(), h, 0.5, torque)[-1].state
    total = pin.computeCentroidalMomentum(model, model.createData(), last.q, last.v)
    linear, angular = total.linear, total.angular
    if planar:
        linear, angular = linear[[0, 2]], angular[[1]]
    return float(np.linalg.norm(linear)), float(np.linalg.norm(angular))
