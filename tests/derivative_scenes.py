"""Steps to differentiate, and derivatives of steps by central differences."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import core_samples as samples
import numpy as np
import physics_scenes as scenes
import pinocchio as pin
from contact_laws import law_for

from nmdp_pin._contact import FrictionCone, stiffness_for_static_depth
from nmdp_pin._contact.friction_cone import RECOVERY
from nmdp_pin._control import Command
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._robot import load_robot
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.derivatives import StepDifferentiator
from nmdp_pin.papers.methods.projected_gradient import ProjectedGradient

H = 0.01  # [s]
DEPTH = 1e-3  # [m] at rest
STEP = 5e-7  # [rad, m] of the differences
RELATIVE = 2e-6  # error; steps are solved to 1e-12, so their differences are good to 1e-6
TORQUE_STEP = 1e-2  # [N m]; the motion of a step answers a torque with 1e-4 rad/(N m)

# The solvers are asked for all they can give, so that differences of steps mean something.
_SETTLED = ViNewton(tolerance=1e-8, slip=1e-6)
TIGHT = ViNewton(tolerance=1e-13, slip=3e-12)
_PRINCIPLE = {"vi_newton": TIGHT}
_PGM = ProjectedGradient(
    tolerance=1e-13,
    epsilon=1e-13,
    max_iterations=100,
    early_stop=False,
    gamma=1e6,
    qp_solver="daqp",
)
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, _PRINCIPLE) for name in ("ne-nmdp", "pbd-nmdp", "ne-zonmdp", "pbd-zonmdp")},
    **{
        f"{name} {objective}": (name, {"objective": objective, "projected_gradient": _PGM})
        for name in ("ne-nmdp", "pbd-nmdp")
        for objective in ("kinetic", "end_effector")
    },
}
PENALTIES = {"pbd": ("pbd", {"tolerance": 1e-10}), "pbfd": ("pbfd", {"tolerance": 1e-13})}
REGIMES = ("flight", "sticking", "sliding")


def simulator(robot, terrain, method, depth=DEPTH, recovery=0.0, **options):
    """A simulator of a robot that four contacts carry at `depth`; what sticks is still."""
    name, tight = (METHODS | PENALTIES)[method]
    if method in PENALTIES:
        options.pop("order", None)
    stiffness = stiffness_for_static_depth(pin.computeTotalMass(robot.model), 4, depth, 2)
    contact = FrictionCone(stiffness=stiffness, power=2, recovery=recovery)
    return Simulator(robot, terrain, law_for(name, contact), name, **(tight | options))


def box(method: str, regime: str, order: int = 1) -> tuple[Simulator, State]:
    """A box on a floating base in one of REGIMES."""
    robot = scenes.block()
    sim = simulator(robot, scenes.ground(0.5), method, order=order)
    rest = scenes.resting(robot, depth=DEPTH)
    if regime == "flight":
        q = pin.integrate(robot.model, rest, np.array([0.0, 0.0, 1.0, 0.3, -0.2, 0.5]))
        return sim, sim.state(q, np.array([1.0, 0.5, -0.3, 2.0, -1.0, 3.0]))
    if regime == "sticking":  # a bit deeper than at rest, where the contacts can hold more
        return sim, sim.state(pin.integrate(robot.model, rest, np.array([0, 0, -2e-4, 0, 0, 0])))
    state = sim.state(rest, np.array([1.0, 0.3, 0.0, 0.0, 0.0, 0.4]))
    return sim, settled(sim, state, Command(), H, 5)


@functools.cache
def standing(
    base: str, method: str, pushed: bool, order: int = 1
) -> tuple[Simulator, State, Command]:
    """Robosimian on its feet under PD control; pushed on slippery ground, they slide."""
    robot = load_robot("robosimian", base=base, visuals=False)
    lowest = (samples.centres(robot, robot.standing)[:, 2] - robot.contact_points.radii).min()
    ground = Terrain([Plane(height=float(lowest) + DEPTH, friction=0.1 if pushed else 0.7)])
    recovery = 0.0 if "objective" in (METHODS | PENALTIES)[method][1] else RECOVERY
    sim = simulator(robot, ground, method, order=order, recovery=recovery)
    kp, kd = np.zeros((2, robot.model.nv))
    kp[robot.driven], kd[robot.driven] = 1000.0, 10.0
    command = Command(kp=kp, kd=kd, q_target=robot.standing, v_target=np.zeros_like(kp))
    state = settled(sim, sim.state(), command, 2 * H, 4)
    if pushed:
        v = state.v.copy()
        v[0] += 0.8
        state = settled(sim, State(0.0, state.q, v, state.warm), command, 2 * H, 1)
    return sim, state, command


def chain(order: int = 1) -> tuple[Simulator, State]:
    """A chain that hangs from a fixed joint, part of it on the ground."""
    robot, rng = samples.robot("chain fixed"), np.random.default_rng(3)
    q = samples.configuration(robot.model, rng, 0.4)
    ground = samples.ground_through("flat", samples.centres(robot, q))
    sim = simulator(robot, ground, "ne-nmdp", depth=5e-3, order=order)
    state = sim.state(q, rng.standard_normal(robot.model.nv))
    return sim, settled(sim, state, Command(), H, 5)


def weightless_ball(order: int = 1) -> tuple[Simulator, State]:
    """A ball that rests in the ground, without weight: pushed down it is held, pulled up it goes.

    Its contact has neither a force nor anything that would call for one.
    """
    ball = scenes.weightless(scenes.ball())
    contact = FrictionCone(stiffness=1e9, power=2, recovery=0.0)
    sim = Simulator(ball, scenes.ground(0.5), contact, order=order, vi_newton=_SETTLED)
    q = ball.standing.copy()
    q[2] -= DEPTH
    return sim, sim.state(q)


def settled(sim, state, command, h, steps) -> State:
    """The state after some steps that all have to converge, solved well enough to be at rest."""
    name = sim.method
    options = {k: v for k, v in sim.options.items() if k in ("objective", "order")}
    if "vi_newton" in sim.options:
        options["vi_newton"] = _SETTLED
    sim = Simulator(sim.robot, sim.terrain, sim.contact, name, **options)
    for _ in range(steps):
        result = sim.step(state, command, h)
        assert result.status.ok
        state = result.state
    return State(0.0, state.q, state.v, state.warm)


def end(sim, state, command, h) -> np.ndarray:
    """End of a step as a vector."""
    result = sim.step(state, command, h)
    assert result.status.ok
    return sim.vector.pack(result.state)


def differences(
    sim, state, command, h, *, result, step: float = STEP
) -> tuple[np.ndarray, np.ndarray]:
    """dx1/dx0 and dx1/du by central differences of the step itself, solved from its end.

    Velocities differ by `step` in the motion of a step.
    """
    space, driven = sim.vector, sim.robot.driven
    x, x1, warm = space.pack(state), space.pack(result.state), result.state.warm
    unit = np.repeat([1.0, 1.0 / h], space.nv)

    def at(dx, du=None):
        dx = unit * dx
        start = replace(space.unpack(space.integrate(x, dx)), warm=warm)
        tau = np.zeros(space.nv) if command.tau is None else command.tau.copy()
        if du is not None:
            tau[driven] += du
        return space.difference(x1, end(sim, start, replace(command, tau=tau), h))

    still = np.zeros(space.ndx)
    of_x = samples.central_differences(at, space.ndx, step) / unit
    of_u = np.zeros((space.ndx, 0))
    if len(driven):
        of_u = samples.central_differences(lambda du: at(still, du), len(driven), TORQUE_STEP)
    return of_x, of_u


def error(found: np.ndarray, expected: np.ndarray, h: float, of_state: bool = True) -> float:
    """Largest error relative to the largest entry, velocities counted as motions over a step."""
    n = len(expected) // 2
    rows = np.repeat([1.0, h], n)[:, None]
    columns = np.repeat([1.0, 1.0 / h], n) if of_state else np.ones(expected.shape[1])
    scaled = rows * expected * columns
    return float(np.abs(rows * found * columns - scaled).max() / np.abs(scaled).max())


def taylor_order(sim, state, command, h, sizes) -> float:
    """With which power of s |x1(x + s d) - x1(x) - s J d| falls, d being random."""
    space = sim.vector
    result = sim.step(state, command, h)
    J = StepDifferentiator(sim)(state, command, h, result=result).dx_dx
    d = np.random.default_rng(0).standard_normal(space.ndx)
    x, x1 = space.pack(state), space.pack(result.state)
    remainders = []
    for s in sizes:
        start = replace(space.unpack(space.integrate(x, s * d)), warm=result.state.warm)
        moved = space.difference(x1, end(sim, start, command, h))
        remainders.append(np.linalg.norm(moved - s * (J @ d)))
    return scenes.order(sizes, remainders)


def solved_to_rounding(sim: Simulator) -> Simulator:
    """The simulator with a solver of which differences of steps mean something."""
    if sim.method not in METHODS or {"vi_newton", "objective"} & sim.options.keys():
        return sim
    options = {**sim.options, "vi_newton": TIGHT, "control": sim.control}
    return Simulator(sim.robot, sim.terrain, sim.contact, sim.method, **options)


def check(sim, state, command, h, *, step=STEP, tolerance=RELATIVE, of_command=RELATIVE):
    """Compare both Jacobians with differences; returns the derivatives."""
    sim = solved_to_rounding(sim)
    result = sim.step(state, command, h)
    found = StepDifferentiator(sim)(state, command, h, result=result)
    assert found.status.ok
    of_x, of_u = differences(sim, state, command, h, result=result, step=step)
    assert error(found.dx_dx, of_x, h) <= tolerance
    assert found.dx_du.shape == of_u.shape
    if of_u.size:
        assert error(found.dx_du, of_u, h, of_state=False) <= of_command
    return found
