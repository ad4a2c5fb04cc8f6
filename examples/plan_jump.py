"""Robosimian jumps from rest: FDDP through contact, with knots of 50 ms.

python examples/plan_jump.py                # writes jump.npz, jump.png and jump.html
python examples/plan_jump.py --h 0.005      # the same problem with ten times the knots
python examples/plan_jump.py --view         # the motion of each iteration in meshcat

Nobody says which foot leaves the ground when: contacts are those of the simulator's steps, and so
are the derivatives. Error control divides a knot where one step would be wrong, as FDDP would make
use of the error. FDDP begins with a robot that stands still. The torques that it finds are then
replayed in steps of at most 2 ms, each held for as long as in the plan.
"""

import argparse
import math
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pinocchio as pin

from nmdp_pin import (
    Command,
    ErrorControl,
    FrictionCone,
    Plane,
    Recorder,
    Recording,
    Simulator,
    Terrain,
    load_robot,
)
from nmdp_pin.contact import stiffness_for_static_depth
from nmdp_pin.control import StablePD
from nmdp_pin.errors import MissingExtra
from nmdp_pin.viz.replay import Replay
from nmdp_pin.viz.style import COLORS, new_figure, save_figure
from nmdp_pin.viz.viewer import Viewer

try:
    import crocoddyl

    from nmdp_pin.adapters.crocoddyl import StepAction, VectorState
except ImportError as error:
    raise MissingExtra("crocoddyl", "crocoddyl") from error

GROUND = -0.808  # [m] below the torso of the standing robot, whose feet are then 3.4 mm deep
STATIC_DEPTH = 0.0035  # [m] of four feet under the weight
DAMPING = 10.0  # [N m s/rad] of the joints, beside the torques that are planned
KP, KD = 1000.0, 50.0  # [N m/rad], [N m s/rad] of settling before the plan and landing after it

DURATION, LANDING = 0.6, 0.8  # [s] from rest to the apex, and what is simulated after it
FINE = 0.002  # [s] longest steps of the replay, and about the shortest in a knot
TOLERANCE = 0.3  # of the velocity: what a step in a knot may err

# The planar base is x, z and pitch; then come the joints. The end of the plan shall be the standing
# pose at rest, but higher than it gets, so that height always pays.
RISE = 0.6  # [m]
END = {"base": (1.0, 100.0, 10.0), "joints": 1.0, "base speed": 5.0, "joint speed": 0.02}
WAY = {"base": (0.0, 0.0, 0.01), "joints": 0.01, "base speed": 0.0, "joint speed": 0.02}
EFFORT = 1e-4  # [1/(N m)^2]; costs on the way count per second

SMOOTHING = (0.1, 0.0)  # averages over switches of contacts find the way, exact derivatives the end
ENOUGH = 1e-3  # share of the cost that a full Newton step may still promise to save


@dataclass(frozen=True)
class Scene:
    """The robot at rest on the ground: x0 = [q; v], and the command that keeps it there."""

    simulator: Simulator
    x0: np.ndarray
    hold: Command


@dataclass(frozen=True)
class Plan:
    """What FDDP found with knots of h: states x (n + 1, nx), added torques u (n, nu), and how."""

    h: float
    x: np.ndarray
    u: np.ndarray
    iterations: int
    cost: float
    promised: float
    seconds: float

    @property
    def converged(self) -> bool:
        """Whether exact derivatives promise next to nothing more."""
        return self.promised < ENOUGH * self.cost


def scene(kp: float = 0.0, rtol: float = TOLERANCE) -> Scene:
    """Robosimian in the plane, settled under stiff PD; then torques carry its weight.

    Args:
        kp: of springs towards the pose that it settled in [N m/rad].
        rtol: tolerance of the steps, relative to the speed and to 1 rad/s.
    """
    robot = load_robot("robosimian", base="planar")
    mass = float(pin.computeTotalMass(robot.model))
    stiffness = stiffness_for_static_depth(mass, 4, STATIC_DEPTH, 2)
    cone = FrictionCone(stiffness=stiffness, power=2, recovery=0.0)
    ground = Terrain([Plane(height=GROUND, friction=0.7)])
    # A wild trial of the solver shall fail, not be simulated in ever smaller steps.
    control = ErrorControl(rtol=rtol, min_step=FINE)
    simulator = Simulator(robot, ground, cone, "ne-nmdp", control=control)
    stiff = StablePD(robot, kp=KP, kd=KD)
    for result in simulator.run(simulator.state(), stiff, dt=0.05, duration=3.0):
        rest = result.state.q
    tau, gains, kd = np.zeros((3, robot.model.nv))
    tau[robot.driven] = KP * (robot.standing - rest)[robot.driven]
    gains[robot.driven], kd[robot.driven] = kp, DAMPING
    x0 = np.concatenate([rest, np.zeros(robot.model.nv)])
    return Scene(simulator, x0, Command(tau=tau, kp=gains, kd=kd, q_target=rest))


def problem(scene: Scene, h: float) -> crocoddyl.ShootingProblem:
    """Effort and speed on the way, height at the end."""
    model, nu = scene.simulator.robot.model, len(scene.simulator.robot.driven)
    space = VectorState(model)

    def distance(goal: np.ndarray, weights: dict) -> crocoddyl.CostModelResidual:
        joints = model.nv - 3
        each = [*weights["base"], *[weights["joints"]] * joints]
        each += [*[weights["base speed"]] * 3, *[weights["joint speed"]] * joints]
        squares = crocoddyl.ActivationModelWeightedQuad(np.array(each))
        return crocoddyl.CostModelResidual(
            space, squares, crocoddyl.ResidualModelState(space, goal, nu)
        )

    higher = scene.x0.copy()
    higher[1] += RISE
    effort = crocoddyl.CostModelResidual(space, crocoddyl.ResidualModelControl(space, nu))
    running, last = crocoddyl.CostModelSum(space, nu), crocoddyl.CostModelSum(space, nu)
    running.addCost("effort", effort, EFFORT)
    running.addCost("calm", distance(scene.x0, WAY), 1.0)
    last.addCost("height", distance(higher, END), 1.0)
    step = StepAction(scene.simulator, h, running, hold=scene.hold)
    end = StepAction(scene.simulator, h, last)
    return crocoddyl.ShootingProblem(scene.x0, [step] * round(DURATION / h), end)


class Show(crocoddyl.CallbackAbstract):
    """Shows the motion of each iteration, which meshcat replays until the next one."""

    def __init__(self, viewer: Viewer, h: float) -> None:
        super().__init__()
        self.viewer, self.h = viewer, h

    def __call__(self, solver: crocoddyl.SolverAbstract) -> None:
        """Draw; what crocoddyl calls."""
        for k, x in enumerate(solver.xs.tolist()):
            self.viewer.draw(k * self.h, x[: len(x) // 2])  # the planar base has nq = nv
        self.viewer.finish()


def plan(
    scene: Scene,
    h: float,
    iterations: int,
    smoothings: Sequence[float] = SMOOTHING,
    viewer: Viewer | None = None,
) -> Plan:
    """Optimise from rest, first with smoothed derivatives, then with exact ones.

    Args:
        scene: what jumps.
        h: length of the knots [s].
        iterations: most of them, with each smoothing.
        smoothings: of the derivatives, one after the other.
        viewer: shows each iteration.
    """
    shooting = problem(scene, h)
    step, solver = shooting.runningModels[0], crocoddyl.SolverFDDP(shooting)
    if viewer is not None:
        solver.setCallbacks([Show(viewer, h)])
    x, u = [scene.x0] * (shooting.T + 1), [np.zeros(step.nu)] * shooting.T
    made, start = 0, time.perf_counter()
    for smoothing in smoothings:
        step.smoothing = smoothing
        # The start is a motion, and so is what the solver leaves: no gaps to close.
        solver.solve(x, u, iterations, True)
        x, u = solver.xs.tolist(), solver.us.tolist()
        made += solver.iter
    seconds = time.perf_counter() - start
    # The solver regularises where it is stuck; what an unregularised step promises says more.
    solver.preg = solver.dreg = solver.reg_min
    solver.computeDirection(True)
    promised = float(solver.stoppingCriteria())
    return Plan(h, np.array(x), np.array(u), made, solver.cost, promised, seconds)


def replay(scene: Scene, found: Plan, h: float) -> Recording:
    """The torques of a plan in steps of h, then the landing under PD."""
    simulator = scene.simulator
    robot, nq = simulator.robot, simulator.robot.model.nq
    step, stiff = StepAction(simulator, h, hold=scene.hold), StablePD(robot, kp=KP, kd=KD)
    state = simulator.state(scene.x0[:nq], scene.x0[nq:])
    recorder = Recorder(robot, state, terrain=simulator.terrain)
    commands = [step.command(u) for u in np.repeat(found.u, round(found.h / h), axis=0)]
    for command in commands + [stiff.command(state, h)] * round(LANDING / h):
        result = simulator.step(state, command, h)
        recorder.record(result)
        state = replace(result.state, warm=None, h_next=None)  # as in the plan
        if not result.status.ok:
            break
    return recorder.recording()


def rises(recording: Recording) -> np.ndarray:
    """How much higher the torso is than at the start [m], shape (n,)."""
    return recording.base_position[:, 2] - recording.base_position[0, 2]


def clearances(scene: Scene, recording: Recording) -> np.ndarray:
    """Gap between the ground and the lowest foot [m], shape (n,)."""
    model, points = scene.simulator.robot.model, scene.simulator.robot.contact_points
    data, result = model.createData(), []
    for q in recording.q:
        pin.forwardKinematics(model, data, q)
        feet = [
            data.oMi[int(joint)].act(position)[2] - radius
            for joint, position, radius in zip(
                points.joints, points.positions, points.radii, strict=True
            )
        ]
        result.append(min(feet) - GROUND)
    return np.array(result)


def whole(number: float) -> bool:
    """Whether a ratio is a whole number, but for rounding, and not zero."""
    return bool(np.rint(number) > 0.0 and np.isclose(number, np.rint(number), rtol=1e-9))


def draw(scene: Scene, found: Plan, coarse: Recording, fine: Recording, path: Path) -> None:
    """The plan and its replay, and the torques, as a picture."""
    figure = new_figure(8.0, 6.5)
    above, below = figure.subplots(2, 1, sharex=True)
    for recording, style, name in ((coarse, "o", "plan"), (fine, "-", "replay")):
        curves = {"torso's rise": rises(recording), "lowest foot": clearances(scene, recording)}
        for (label, z), color in zip(curves.items(), COLORS, strict=False):
            label = f"{label}, {name} at {1e3 * recording.t[1]:g} ms"
            above.plot(recording.t, z, style, color=color, label=label, markersize=3.5)
    above.axvline(DURATION, color="0.6", linewidth=1.0)
    above.set_ylabel("height [m]")
    above.legend(frameon=False)
    torques = found.u[:, :3] + scene.hold.tau[scene.simulator.robot.driven[:3]]
    edges = found.h * np.arange(len(found.u) + 1)
    for torque, color, name in zip(
        torques.T, COLORS[2:], ("joint 2", "joint 4", "joint 6"), strict=False
    ):
        below.stairs(torque, edges, color=color, label=name, linewidth=1.5, baseline=None)
    below.set_ylabel("torque, right front limb [N m]")
    below.set_xlabel("time [s]")
    below.legend(frameon=False)
    save_figure(figure, path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Plan the jump, replay it in short steps, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--h", type=float, default=0.05, help="length of the knots [s]")
    parser.add_argument("--iterations", type=int, default=25, help="with each smoothing")
    parser.add_argument(
        "--smoothing", type=float, nargs="+", default=SMOOTHING, help="of derivatives, in turn"
    )
    parser.add_argument("--kp", type=float, default=0.0, help="springs beside torques [N m/rad]")
    parser.add_argument("--rtol", type=float, default=TOLERANCE, help="tolerance of the steps")
    parser.add_argument("--quick", action="store_true", help="few iterations, a lower jump")
    parser.add_argument("--view", action="store_true", help="show the search in meshcat")
    parser.add_argument("--out", type=Path, default=Path("jump"), help="name of the files")
    options = parser.parse_args(arguments)
    if not (options.h > 0.0 and whole(DURATION / options.h)):
        parser.error(f"--h must divide {DURATION} s")
    jumper = scene(options.kp, options.rtol)
    robot, ground = jumper.simulator.robot, jumper.simulator.terrain
    iterations = 8 if options.quick else options.iterations
    viewer = Viewer(robot, ground, open_browser=True) if options.view else None
    with viewer or nullcontext():
        found = plan(jumper, options.h, iterations, options.smoothing, viewer)
    coarse = replay(jumper, found, options.h)
    fine = replay(jumper, found, options.h / math.ceil(options.h / FINE - 1e-9))
    knots = len(found.u)
    steps = knots + int(coarse.halvings[: knots + 1].sum())
    print(
        f"{knots} knots of {1e3 * options.h:g} ms, {steps} steps, {found.iterations} iterations in "
        f"{found.seconds:.1f} s: cost {found.cost:.4f}, still promised {found.promised:.1e}, "
        + ("converged" if found.converged else "not converged")
    )
    planned = rises(coarse).max()
    for name, recording in (("plan", coarse), ("replay", fine)):
        apex = int(rises(recording).argmax())
        print(
            f"{name} in steps of {1e3 * recording.t[1]:.3g} ms: the torso rises "
            f"{rises(recording)[apex]:.4f} m in {recording.t[apex]:.3f} s, feet "
            f"{clearances(jumper, recording)[apex]:.3f} m above the ground"
        )
    print(f"error of the height: {100.0 * (rises(fine).max() / planned - 1.0):+.1f} %")
    fine.save(options.out.with_suffix(".npz"))
    draw(jumper, found, coarse, fine, options.out.with_suffix(".png"))
    Replay(fine, robot, ground).write_html(options.out.with_suffix(".html"))


if __name__ == "__main__":
    main()
