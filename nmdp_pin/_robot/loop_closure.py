"""Closing of loops: loops added to robots, and configurations moved to where they are closed."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
import scipy  # whose parts are imported when they are used

from nmdp_pin._options import check_part, check_parts
from nmdp_pin._robot.feasibility import joints_beyond_range
from nmdp_pin._robot.joint_limits import dofs_of, simple_joints
from nmdp_pin._robot.loop import Connect, Coupling, Distance, Grip, Loop, Weld
from nmdp_pin._robot.model import LARGEST_NUMBER
from nmdp_pin._robot.robot import Robot
from nmdp_pin.errors import RobotError, RobotWarning

LOOPS = (Connect, Weld, Distance, Coupling, Grip)
OPEN = 1e-6  # [m, rad] of a loop that counts as open
_CLOSED = 1e-12  # [m, rad] by which loops may be open where they are
_MOST = 100  # iterations
_LONGEST = 0.2  # [rad, m] of a step
_DAMPING = 1e-6  # [-] of steps between stops, which makes the least of equal ones the only one


@dataclass(frozen=True)
class Closure:
    """A configuration that is moved to where loops are closed.

    Args:
        q: the configuration, shape (nq,).
        gap: the largest gap that is left [m, rad].
        loop: name of its loop.
        strained: sentences on joints beyond their ranges or off what they follow, without which
            the loops do not close.
    """

    q: np.ndarray
    gap: float = 0.0
    loop: str = ""
    strained: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence where joints are strained."""
        said = "; ".join(self.strained)
        return (f"loops do not close unless {said}",) if said else ()


@dataclass(frozen=True)
class _Sum:
    """What holds a mimic joint or a tendon: a sum of positions and an offset that is 0."""

    name: str
    arms: Mapping[str, float]
    offset: float

    def gaps(
        self, model: pin.Model, data: pin.Data | None, q: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `Loop.gaps`."""
        gap, J = self.offset, np.zeros((1, model.nv))
        for name, arm in self.arms.items():
            joint = model.joints[model.getJointId(name)]
            gap += arm * q[joint.idx_q]
            J[0, joint.idx_v] = arm
        return np.array([gap]), J

    def strain(self, model: pin.Model, q: np.ndarray) -> str:
        """A sentence where it is off what it follows, else ""."""
        off = abs(float(self.gaps(model, None, q)[0][0]))
        return f"{self.name} is {off:.2g} off what it follows" if off > OPEN else ""


def with_loops(robot: Robot, loops: Iterable[Loop]) -> Robot:
    """Copy of a robot with closed loops, whose standing pose is moved to where all are closed.

    Args:
        robot: robot, with what is beside it.
        loops: loops in addition to those it has: `Connect`, `Weld`, `Distance` or `Coupling`.

    Warns:
        RobotWarning: they do not close within the ranges of the joints.

    Raises:
        RobotError: a name does not exist, a loop is within one body, or no pose near the standing
            one closes the loops.
    """
    check_part("robot", robot, Robot, RobotError)
    held = _with_loops(robot, check_parts("loops", loops, LOOPS, RobotError))
    for sentence in held.warnings[len(robot.warnings) :]:
        warnings.warn(f"{robot.name}: {sentence}", RobotWarning, stacklevel=2)
    return held


def _with_loops(robot: Robot, loops: Iterable[Loop]) -> Robot:
    model, data = robot.model, robot.model.createData()
    pin.forwardKinematics(model, data, robot.standing)
    added = []
    for loop in loops:
        added.append(loop.standing(model, data, robot.source))
    held = replace(robot, loops=(*robot.loops, *added))
    closure = closed(held, held.standing)
    if closure.gap > OPEN:
        raise RobotError(
            f"no pose near the standing one closes it: {closure.gap:.2g} m or rad are left; give "
            "a standing pose that nearly does",
            file=robot.source,
            element=closure.loop,
        )
    return replace(held, standing=closure.q, warnings=(*robot.warnings, *closure.warnings))


def closed(robot: Robot, q: np.ndarray) -> Closure:
    """A configuration that closes the loops of a robot, near one that need not.

    One that is moved stays within the ranges of the joints, with mimic joints and tendons where
    what they follow puts them and scripted joints where they are, if the loops close so.

    Args:
        robot: robot, whose loops leave nothing open.
        q: configuration, shape (nq,).
    """
    loops = [loop for loop in robot.loops if not isinstance(loop, Grip)]
    if not loops:
        return Closure(q)
    model, sums = robot.model, _sums(robot)
    scripts = np.flatnonzero(dofs_of(model, robot.scripted)).tolist()
    found = onto(model, loops, q)
    if np.abs(found.q - q).max() <= OPEN:
        return found
    ranges, free = _ranges(robot), (-np.inf, np.inf)
    firm = np.flatnonzero(model.damping >= LARGEST_NUMBER).tolist()  # no loop moves what it holds
    for rows, (low, high), held in (
        (sums, ranges, scripts + firm),
        (sums, ranges, firm),
        (sums, free, firm),
        (list[_Sum](), free, list[int]()),
    ):
        found = onto(model, [*loops, *rows], np.clip(q, low, high), low, high, held)
        if found.gap <= OPEN:
            break
    off = [rows.strain(model, found.q) for rows in sums]
    moved = np.abs(pin.difference(model, q, found.q)[scripts]).max(initial=0.0)
    off += ["scripted joints move"] if moved > OPEN else []
    beyond = joints_beyond_range(robot, found.q[None])
    return replace(found, strained=(*beyond, *(said for said in off if said)))


def onto(
    model: pin.Model,
    loops: Sequence[Loop | _Sum],
    q: np.ndarray,
    low: np.ndarray | float = -np.inf,
    high: np.ndarray | float = np.inf,
    held: Sequence[int] = (),
) -> Closure:
    """A configuration that closes loops, near one that need not, by Gauss and Newton's method.

    Args:
        model: of the robot.
        loops: loops, which leave nothing open.
        q: configuration, shape (nq,).
        low: least positions of hinges and slides [rad or m], shape (nq,).
        high: largest positions of them [rad or m], shape (nq,).
        held: velocity indices of what stays where it is.
    """
    data, best = model.createData(), Closure(q, np.inf)
    simple = simple_joints(model).values()
    at, dofs = [joint.idx_q for joint in simple], [joint.idx_v for joint in simple]
    low, high = (np.broadcast_to(bound, model.nq)[at] for bound in (low, high))
    for _ in range(_MOST if loops else 0):
        pin.computeJointJacobians(model, data, q)
        parts = [loop.gaps(model, data, q) for loop in loops]
        gaps, J = np.concatenate([g for g, _ in parts]), np.vstack([J for _, J in parts])
        J[:, [*held]] = 0.0  # the least steps leave it
        largest = float(np.abs(gaps).max())
        if largest < best.gap:
            worst = loops[int(np.argmax([np.abs(g).max() for g, _ in parts]))].name
            best = Closure(q, largest, worst)
        if largest <= _CLOSED:
            break
        dq = -np.linalg.lstsq(J, gaps, rcond=1e-9)[0]
        if (dq[dofs] < low - q[at]).any() or (dq[dofs] > high - q[at]).any():
            dq = _between(J, gaps, dofs, low - q[at], high - q[at])
        longest = np.abs(dq).max(initial=0.0)
        if longest <= _CLOSED:
            break
        q = pin.integrate(model, q, dq * min(1.0, _LONGEST / longest))
    return best


def _between(
    J: np.ndarray, gaps: np.ndarray, dofs: Sequence[int], low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """The step that closes linearised gaps best with some dofs between stops, (nv,)."""
    n = J.shape[1]
    least, largest = np.full(n, -np.inf), np.full(n, np.inf)
    # the method wants room between stops; a pose at a stop has none, but for rounding
    least[dofs], largest[dofs] = np.minimum(low, -_CLOSED), np.maximum(high, _CLOSED)
    damped, wanted = np.vstack([J, _DAMPING * np.eye(n)]), np.append(-gaps, np.zeros(n))
    return np.asarray(scipy.optimize.lsq_linear(damped, wanted, (least, largest), method="bvls").x)


def _sums(robot: Robot) -> list[_Sum]:
    """What holds the mimic joints and the tendons of a robot."""
    copies = [
        _Sum(f"joint '{m.joint}'", {m.joint: 1.0, m.primary: -m.multiplier}, -m.offset)
        for m in robot.limits.mimics
    ]
    return copies + [
        _Sum(
            f"tendon '{t.joint}'" if t.joint else f"the tendon of {', '.join(t.arms)}",
            {**({t.joint: -1.0} if t.joint else {}), **t.arms},
            t.offset,
        )
        for t in robot.tendons
    ]


def _ranges(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest positions of a robot's hinges and slides, infinite elsewhere, (nq,)."""
    model, limits = robot.model, robot.limits
    low, high = np.full(model.nq, -np.inf), np.full(model.nq, np.inf)
    for joint in simple_joints(model).values():
        low[joint.idx_q] = limits.lower[joint.idx_v]
        high[joint.idx_q] = limits.upper[joint.idx_v]
    return low, high


def loop_energy(robot: Robot, q: np.ndarray) -> float:
    """What loops with a compliance store at a configuration [J]."""
    model, data, energy = robot.model, robot.model.createData(), 0.0
    pin.computeJointJacobians(model, data, q)
    for loop in robot.loops:
        if loop.compliance > 0.0:
            gaps, _ = loop.gaps(model, data, q)
            energy += 0.5 * float(gaps @ gaps) / loop.compliance
    return energy


def with_loops_that_hold(robot: Robot, loops: Sequence[Loop]) -> Robot:
    """The robot with those loops whose ends move against each other."""
    holding = [loop for loop in loops if loop.holds(robot.model, robot.source)]
    held = _with_loops(robot, holding)
    if len(holding) == len(loops):
        return held
    idle = ", ".join(loop.name for loop in loops if loop not in holding)
    note = f"loops of what does not move against each other, left out: {idle}"
    return replace(held, notes=(*robot.notes, note))
