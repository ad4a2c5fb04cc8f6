"""Spider reaches over a gap with a front foot; the motion is found by sampling alone.

python examples/reach_by_sampling.py --workers 2      # writes reach.npz and reach.html
python examples/reach_by_sampling.py --ray local      # the same bits on Ray; or an address
python examples/reach_by_sampling.py --view           # the best motion of each round in meshcat

What is looked for are targets of the twelve motors at two instants, which PD control follows. The
cross-entropy method draws many of them, simulates each in steps of 50 ms, and goes on near the
best. The best motion is then simulated in steps of 5 ms.
"""

import argparse
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pinocchio as pin
from scipy.interpolate import PchipInterpolator

from nmdp_pin import (
    Command,
    FrictionCone,
    Halving,
    Recorder,
    Recording,
    Simulator,
    State,
    Terrain,
    load_robot,
    ray_cluster,
)
from nmdp_pin.contact import stiffness_for_static_depth
from nmdp_pin.errors import RobotWarning
from nmdp_pin.rollout import Rollout, rollout
from nmdp_pin.terrain import Box
from nmdp_pin.viz.replay import Replay
from nmdp_pin.viz.viewer import Viewer

STATIC_DEPTH = 0.003  # [m] of four feet under 100 kg
GROUND = -0.4392 + STATIC_DEPTH  # [m] height of the near bank under the standing robot
EDGE = 0.62  # [m] where the near bank ends, 8 cm beyond the centres of the feet
GAP, SMALL_GAP = 0.38, 0.22  # [m] of the search and of its short form
RISE = 0.15  # [m] of the far bank over the near one
FOOT = 0  # the contact point that reaches: front left

KNOTS = (0.5, 1.0)  # [s] when the motors have targets of their own; before: standing
DURATION = 2.0  # [s] the last targets are held from 1 s on
STAY = 0.5  # [s] at the end, for which the foot shall be at the target
LARGE, SMALL = 0.05, 0.005  # [s] steps of the search and of the replay
MIN_STEP = 0.002  # [s] a sample that needs shorter steps is given up
KP, KD = 3000.0, 150.0  # [N m/rad], [N m s/rad]
SPREAD = 0.3  # [rad] standard deviation of the first samples


@dataclass(frozen=True)
class Track:
    """What `rollout` makes commands with: u is the targets of the motors at the step's end."""

    standing: np.ndarray
    driven: np.ndarray

    def __call__(self, state: State, u: np.ndarray, h: float) -> Command:
        """PD towards u, inside the implicit step."""
        kp, target = np.zeros(6 + len(self.driven)), self.standing.copy()
        kp[self.driven] = KP
        target[7:] = u  # after the base's position and quaternion
        return Command(kp=kp, kd=KD / KP * kp, q_target=target)


@dataclass(frozen=True)
class Search:
    """How long the cross-entropy method looks."""

    samples: int = 40
    kept: int = 8
    rounds: int = 25
    seed: int = 5


SHORT = Search(samples=16, kept=4, rounds=4, seed=3)


@dataclass(frozen=True)
class Found:
    """What it found: the best sample, and for each round the costs of all, (rounds, samples)."""

    best: np.ndarray
    costs: np.ndarray


@dataclass(frozen=True)
class Reach:
    """What to do: bring the foot to the target [m], the centre of its sphere."""

    simulator: Simulator
    target: np.ndarray

    @property
    def track(self) -> Track:
        """What makes the commands."""
        return Track(self.simulator.robot.standing, self.simulator.robot.driven)

    def distance(self, q: np.ndarray) -> float:
        """From the foot to the target [m]."""
        robot = self.simulator.robot
        data, points = robot.model.createData(), robot.contact_points
        pin.forwardKinematics(robot.model, data, q)
        foot = data.oMi[int(points.joints[FOOT])].act(points.positions[FOOT])
        return float(np.linalg.norm(foot - self.target))

    def costs(self, made: Rollout) -> np.ndarray:
        """Of each trajectory: the largest distance while the foot shall stay there [m].

        A trajectory that failed is as bad as can be.
        """
        last = made.x[:, -round(STAY / LARGE) :, : self.simulator.vector.nq]
        result = np.array([max(self.distance(q) for q in states) for states in last])
        return np.where(made.ok, result, np.inf)


def reach_over(gap: float) -> Reach:
    """Spider before a gap [m] whose far bank is higher; the target is 10 cm behind its edge."""
    robot = load_robot("spider", base="free-flyer", contacts="all")
    near = Box(size=(2.0, 2.0, 0.5), position=(EDGE - 1.0, 0.0, GROUND - 0.25))
    far = Box(size=(1.0, 2.0, 0.5), position=(EDGE + gap + 0.5, 0.0, GROUND + RISE - 0.25))
    stiffness = stiffness_for_static_depth(100.0, 4, STATIC_DEPTH, 2)
    cone = FrictionCone(stiffness=stiffness, power=2, recovery=0.0)
    simulator = Simulator(
        robot, Terrain([near, far]), cone, "ne-nmdp", control=Halving(min_step=MIN_STEP)
    )
    radius = robot.contact_points.radii[FOOT]
    return Reach(simulator, np.array([EDGE + gap + 0.1, 0.45, GROUND + RISE + radius]))


def targets(knots: np.ndarray, h: float) -> np.ndarray:
    """Targets of the motors at the ends of all steps, (nb, nt, 12), from (nb, 2 * 12) knots."""
    at_knots = knots.reshape(len(knots), len(KNOTS), -1)
    standing = np.zeros_like(at_knots[:, :1])
    curve = PchipInterpolator((0.0, *KNOTS), np.concatenate([standing, at_knots], axis=1), axis=1)
    t = h * np.arange(1, round(DURATION / h) + 1)
    return np.asarray(curve(np.minimum(t, KNOTS[-1])))


def cross_entropy(
    cost: Callable[[np.ndarray], np.ndarray], least: np.ndarray, most: np.ndarray, search: Search
) -> Found:
    """Minimise: draw from a normal distribution, fit it to the best that were drawn, repeat."""
    random = np.random.default_rng(search.seed)
    mean, spread = np.zeros_like(least), np.full_like(least, SPREAD)
    best, lowest, history = mean, np.inf, []
    for k in range(search.rounds):
        drawn = mean + spread * random.standard_normal((search.samples, len(mean)))
        drawn = np.clip(drawn, least, most)
        drawn[0] = best  # so that no round ends worse than the one before
        found = cost(drawn)
        order = np.argsort(found, kind="stable")
        elite = drawn[order[: search.kept]]
        mean, spread = elite.mean(axis=0), 0.5 * spread + 0.5 * elite.std(axis=0)
        if found[order[0]] < lowest:
            best, lowest = drawn[order[0]], found[order[0]]
        history.append(found)
        failed = np.count_nonzero(np.isinf(found))
        print(f"round {k + 1}: best {lowest:.3f}, median {np.median(found):.3f}, {failed} failed")
    return Found(best, np.array(history))


def plan(
    reach: Reach, search: Search, n_jobs: int | None = None, viewer: Viewer | None = None
) -> Found:
    """Look for the motion; a viewer shows the best of each round."""
    simulator = reach.simulator
    start, model = simulator.state(), simulator.robot.model

    def cost(knots: np.ndarray) -> np.ndarray:
        u = targets(knots, LARGE)
        made = rollout(simulator, start, u, h=LARGE, command=reach.track, n_jobs=n_jobs)
        costs = reach.costs(made)
        if viewer is not None:
            show(viewer, made.x[np.argmin(costs), :, : model.nq])
        return costs

    least = np.tile(model.lowerPositionLimit[7:], len(KNOTS))
    most = np.tile(model.upperPositionLimit[7:], len(KNOTS))
    with warnings.catch_warnings():  # samples may fall with an edge between their contact points
        warnings.simplefilter("ignore", RobotWarning)
        return cross_entropy(cost, least, most, search)


def show(viewer: Viewer, path: np.ndarray) -> None:
    """Replay a motion (steps, nq), until the next one is shown."""
    for k, q in enumerate(path, start=1):
        viewer.draw(k * LARGE, q)
    viewer.finish()


def replay(reach: Reach, knots: np.ndarray, h: float) -> Recording:
    """The motion in steps of h, recorded."""
    simulator, track = reach.simulator, reach.track
    state = simulator.state()
    recorder = Recorder(simulator.robot, state, terrain=simulator.terrain)
    for u in targets(knots[None], h)[0]:
        result = simulator.step(state, track(state, u, h), h)
        recorder.record(result)
        state = result.state
    return recorder.recording()


def main(arguments: Sequence[str] | None = None) -> None:
    """Look for the motion, and say how near the foot comes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", type=int, help="processes, or workers of Ray")
    parser.add_argument("--ray", metavar="ADDRESS", help="simulate on Ray; 'local': on Ray here")
    parser.add_argument("--quick", action="store_true", help="a short search, over a small gap")
    parser.add_argument("--view", action="store_true", help="show the search in meshcat")
    parser.add_argument("--seed", type=int, help="of the samples")
    parser.add_argument("--out", type=Path, default=Path("reach"), help="name of both files")
    options = parser.parse_args(arguments)
    search, gap = (SHORT, SMALL_GAP) if options.quick else (Search(), GAP)
    if options.seed is not None:
        search = replace(search, seed=options.seed)
    reach = reach_over(gap)
    robot, terrain = reach.simulator.robot, reach.simulator.terrain
    cluster = ray_cluster(options.ray, n_jobs=options.workers or -1) if options.ray else None
    viewer = Viewer(robot, terrain, open_browser=True) if options.view else None
    with cluster or nullcontext(), viewer or nullcontext():
        found = plan(reach, search, options.workers, viewer)
    before = reach.distance(reach.simulator.robot.standing)
    print(f"standing: {100 * before:.1f} cm from the target")
    for h in (LARGE, SMALL):
        recording = replay(reach, found.best, h)
        print(
            f"steps of {1e3 * h:g} ms: {100 * reach.distance(recording.q[-1]):.1f} cm from the "
            f"target, {recording.contact_forces[-1, FOOT, 2]:.0f} N on the foot"
        )
    recording.save(options.out.with_suffix(".npz"))
    Replay(recording, robot, terrain).write_html(options.out.with_suffix(".html"))


if __name__ == "__main__":
    main()
