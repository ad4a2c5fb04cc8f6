"""A fingertip pushes a box to where it shall lie and how it shall be turned; OMPL plans it.

python examples/push_box_by_ompl.py             # writes push.html, .png, .npz and push-plan.npz
python examples/push_box_by_ompl.py --view      # what the planner tries, in meshcat

The planner knows nothing of pushing: it has a fingertip whose speed it chooses, and the simulator,
in steps of 50 ms, to tell where that leads. The plan is then repeated, in steps of 5 ms too.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from ompl import base, control, util

from nmdp_pin import (
    Command,
    FrictionCone,
    Plane,
    Recorder,
    Recording,
    Robot,
    Simulator,
    State,
    StepResult,
    Terrain,
    free_body,
    load_robot,
    together,
    touching,
)
from nmdp_pin.adapters.ompl import Propagator, simple_setup
from nmdp_pin.contact import stiffness_for_static_depth
from nmdp_pin.terrain import Box
from nmdp_pin.viz.replay import Replay
from nmdp_pin.viz.style import COLORS, new_figure, save_figure
from nmdp_pin.viz.viewer import Viewer

LARGE, SMALL = 0.05, 0.005  # [s] steps of the plan and of its replay
STATIC_DEPTH = 0.0005  # [m] of the box in the floor
BOX = (0.2, 0.2, 0.1)  # [m]
START = (0.15, 0.0, 0.05 - STATIC_DEPTH)  # [m] of its centre
DAMPING = 200.0  # [N s/m] of the motors towards their speed
SPEEDS = [(-0.1, 0.25), (-0.2, 0.2)]  # [m/s] along x, away from the start, and along y
AT_REST = 0.3  # [s] for which the fingertip stands still after the plan

# Where the box may lie (x, y [m] and angle [rad] from the start) and the fingertip may be.
TABLE = [(-0.2, 0.7), (-0.4, 0.4)]
TOLERANCE = np.array([0.03, 0.03, np.radians(15.0)])  # of x, y [m] and the angle [rad]

SLIDES = """<robot name="fingertip">
  <link name="stand"/>
  <link name="carriage">
    <inertial>
      <mass value="0.2"/> <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="tip">
    <inertial>
      <mass value="0.3"/> <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <visual><geometry><sphere radius="0.02"/></geometry></visual>
    <collision><geometry><sphere radius="0.02"/></geometry></collision>
  </link>
  <joint name="x" type="prismatic">
    <parent link="stand"/> <child link="carriage"/>
    <origin xyz="0 0 0.04"/> <axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="100" velocity="1"/>
  </joint>
  <joint name="y" type="prismatic">
    <parent link="carriage"/> <child link="tip"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="100" velocity="1"/>
  </joint>
</robot>"""


@dataclass(frozen=True)
class Plan:
    """What OMPL found.

    Args:
        states: after each control, the first one the start, shape (n + 1, 16); as OMPL has them.
        controls: speeds of the fingertip [m/s], shape (n, 2).
        steps: for how many steps each is kept, shape (n,).
        tried: steps that were simulated to find it.
    """

    states: np.ndarray
    controls: np.ndarray
    steps: np.ndarray
    tried: int


def scene() -> Simulator:
    """A box of 1 kg on a floor, and a fingertip on two slides beside it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fingertip.urdf"
        path.write_text(SLIDES, encoding="utf-8")
        fingertip = load_robot(path, base="fixed")
    box = free_body("box", Box(size=BOX, friction=0.3), mass=1.0, position=START)
    robot = touching(together(fingertip, [box]), [("tip", "box")])
    stiffness = stiffness_for_static_depth(1.0, 4, STATIC_DEPTH, 2)
    cone = FrictionCone(stiffness=stiffness, power=2, directions=8, recovery=0.0)
    return Simulator(robot, Terrain([Plane(friction=0.4)]), cone, "ne-nmdp")


def drive(state: State, u: np.ndarray, h: float) -> Command:
    """The fingertip's motors, told to move at the speed u [m/s]."""
    gains, speed = np.zeros_like(state.v), np.zeros_like(state.v)
    gains[:2], speed[:2] = DAMPING, u
    return Command(kd=gains, v_target=speed)


def box_pose(robot: Robot, x: np.ndarray) -> np.ndarray:
    """x, y [m] and angle [rad] of the box, from its start, in the state [q; v]."""
    moved = pin.difference(robot.model, robot.standing, x[: robot.model.nq])
    return moved[[2, 3, 7]]  # after the slides: three of the position, three of the rotation


class BoxAt(base.GoalRegion):
    """The states in which the box lies as it shall, wherever the fingertip is."""

    def __init__(self, information: control.SpaceInformation, wanted: np.ndarray) -> None:
        super().__init__(information)
        self.wanted = wanted
        self.setThreshold(1.0)

    def distanceGoal(self, state: base.State) -> float:
        """How far it is, in tolerances; what OMPL calls."""
        here = np.array([state[2], state[3], state[7]])
        return float(np.abs((here - self.wanted) / TOLERANCE).max())


class Counting(Propagator):
    """A propagator that knows how many steps it has made, and shows where they lead."""

    made = 0
    viewer: Viewer | None = None

    def __call__(self, start: Any, given: Any, duration: float, result: Any) -> None:
        """Propagate; what OMPL calls."""
        self.made += 1
        super().__call__(start, given, duration, result)
        if self.viewer is not None and self.is_valid(result):
            q = self.x_of(result)[: self.simulator.robot.model.nq]
            self.viewer.draw(self.made * LARGE, q)


def propagator_of(simulator: Simulator) -> Counting:
    """OMPL's view of the simulator; its states are seen from the start."""
    start = simulator.vector.pack(simulator.state())
    return Counting(simulator, h=LARGE, reference=start, command=drive, controls=2)


def plan(
    simulator: Simulator,
    wanted: np.ndarray,
    *,
    planner: str,
    most: int,
    viewer: Viewer | None = None,
) -> Plan | None:
    """Look for speeds of the fingertip that bring the box there; None where none were found.

    Args:
        simulator: of the scene.
        wanted: x, y [m] and angle [rad] of the box from its start.
        planner: "KPIECE1", "EST" or "RRT".
        most: steps to simulate at most.
        viewer: shows what is tried.
    """
    propagator = propagator_of(simulator)
    propagator.viewer = viewer
    level = [(-0.01, 0.01), (-0.1, 0.1), (-0.1, 0.1)]  # height [m], tilts [rad]
    rates = [(-0.3, 0.3)] * 4 + [(-0.1, 0.1), (-0.5, 0.5), (-0.5, 0.5), (-2.0, 2.0)]
    setup = simple_setup(
        propagator,
        bounds=[*TABLE, *TABLE, *level, (-2.0, 2.0), *rates],
        control_bounds=SPEEDS,
        steps=(2, 10),
    )
    space, information = setup.getStateSpace(), setup.getSpaceInformation()
    # Planners with a projection spread over the poses of the box: cells of 4 cm and 0.2 rad.
    space.registerDefaultProjection(
        base.RealVectorOrthogonalProjectionEvaluator(space, [0.04, 0.04, 0.2], [2, 3, 7])
    )
    start = space.allocState()
    propagator.write(start, propagator.reference)
    setup.setStartState(start)
    goal = BoxAt(information, wanted)
    setup.setGoal(goal)
    setup.setPlanner(getattr(control, planner)(information))
    # A number of steps, not a time: the same plan on every machine.
    enough = base.PlannerTerminationCondition(lambda: propagator.made >= most)
    if setup.solve(enough) != base.PlannerStatus.EXACT_SOLUTION:
        return None
    path = setup.getSolutionPath()
    count = range(path.getControlCount())
    return Plan(
        np.array([[state[i] for i in range(propagator.size)] for state in path.getStates()]),
        np.array([[path.getControl(k)[i] for i in range(2)] for k in count]),
        np.array([round(path.getControlDuration(k) / LARGE) for k in count]),
        propagator.made,
    )


def valid(simulator: Simulator, found: Plan) -> bool:
    """Whether each control leads from each state of the plan to the next, to the bit."""
    propagator = propagator_of(simulator)
    for k, u in enumerate(found.controls):
        state = found.states[k].copy()
        for _ in range(found.steps[k]):
            propagator(state, u, LARGE, state)
        if not np.array_equal(state, found.states[k + 1]):
            return False
    return True


def replay(simulator: Simulator, found: Plan, h: float) -> Recording:
    """The plan in steps of h from the start, and the fingertip at rest after it, recorded."""
    recorder = Recorder(simulator.robot, simulator.state(), terrain=simulator.terrain)
    for result in _replayed(simulator, found, h):
        recorder.record(result)
    return recorder.recording()


def _replayed(simulator: Simulator, found: Plan, h: float) -> Iterator[StepResult]:
    state = simulator.state()
    controls = [*found.controls, np.zeros(2)]
    for u, steps in zip(controls, [*found.steps, round(AT_REST / LARGE)], strict=True):
        for _ in range(round(steps * LARGE / h)):
            result = simulator.step(state, drive(state, u, h), h)
            yield result
            state = result.state


def draw(path: Path, recording: Recording, robot: Robot, wanted: np.ndarray) -> None:
    """A picture from above: the box every half second, the way of the fingertip, the goal."""
    half, start = BOX[0] / 2.0, np.array([START[0], START[1], 0.0])
    corners = half * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])

    def outline(pose: np.ndarray) -> np.ndarray:
        c, s = np.cos(pose[2]), np.sin(pose[2])
        return (corners @ np.array([[c, s], [-s, c]]) + pose[:2]).T

    figure = new_figure(6.0, 4.5)
    axis = figure.add_subplot()
    every = round(0.5 / SMALL)
    shown = [*recording.q[:-1:every], recording.q[-1]]
    for k, q in enumerate(shown):
        shade = str(0.8 - 0.7 * k / (len(shown) - 1))  # the later, the darker
        axis.plot(*outline(start + box_pose(robot, q)), color=shade)
    axis.plot(*outline(start + wanted), color=COLORS[1], linestyle="--", label="wanted")
    axis.plot(*recording.q[:, :2].T, color=COLORS[0], label="fingertip")
    axis.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    axis.legend(loc="upper left")
    save_figure(figure, path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Plan, repeat the plan, and say where the box comes to lie."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--goal", type=float, nargs=3, metavar=("X", "Y", "ANGLE"), default=[0.3, 0.1, 0.6]
    )
    parser.add_argument("--planner", choices=("KPIECE1", "EST", "RRT"), default="KPIECE1")
    parser.add_argument("--most", type=int, default=20_000, help="steps to simulate at most")
    parser.add_argument("--quick", action="store_true", help="a goal that is near")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--view", action="store_true", help="show the search in meshcat")
    parser.add_argument("--out", type=Path, default=Path("push"), help="name of the files")
    options = parser.parse_args(arguments)
    wanted = np.array([0.15, 0.03, 0.21] if options.quick else options.goal)
    util.setLogLevel(util.LogLevel.LOG_WARN)
    util.RNG.setSeed(options.seed)
    simulator = scene()
    scenery = simulator.robot, simulator.terrain
    viewer = Viewer(*scenery, open_browser=True) if options.view else None
    with viewer or nullcontext():
        found = plan(simulator, wanted, planner=options.planner, most=options.most, viewer=viewer)
    if found is None:
        raise SystemExit(f"no plan in {options.most} steps; try --most, --seed or --planner")
    print(
        f"{options.planner}: {len(found.steps)} controls, {LARGE * found.steps.sum():.2f} s, "
        f"after {found.tried} simulated steps; valid: {valid(simulator, found)}"
    )
    print(f"wanted: {described(wanted)}")
    for h in (LARGE, SMALL):
        recording = replay(simulator, found, h)
        pose = box_pose(simulator.robot, recording.q[-1])
        print(f"steps of {1e3 * h:g} ms: {described(pose)}")
    name = options.out
    np.savez(name.with_name(f"{name.name}-plan.npz"), **vars(found))
    recording.save(name.with_suffix(".npz"))
    draw(name.with_suffix(".png"), recording, simulator.robot, wanted)
    Replay(recording, *scenery).write_html(name.with_suffix(".html"))


def described(pose: np.ndarray) -> str:
    """A pose of the box in words."""
    return f"x {pose[0]:.3f} m, y {pose[1]:.3f} m, turned by {pose[2]:.3f} rad"


if __name__ == "__main__":
    main()
