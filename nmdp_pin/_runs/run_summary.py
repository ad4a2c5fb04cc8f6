"""Figures and summary of a run: what happened, how it ended, what it took."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nmdp_pin._robot.feasibility import buried_depth
from nmdp_pin._runs.motion import Motion
from nmdp_pin._runs.recording import Recording
from nmdp_pin._runs.run_store import Summary
from nmdp_pin._runs.run_warnings import recorded_overlaps
from nmdp_pin._scenario.scenario import Setup
from nmdp_pin._state.status import Status
from nmdp_pin.errors import RecordingError

_FLIGHT = 0.1  # [s] without contact
_UPRIGHT, _FALLEN = 30.0, 70.0  # [deg] of tilt
_RISE = 0.01  # [m] of a jump
_STILL = 1e-9  # [m], [-] below which a base does not move


def height(recording: Recording) -> np.ndarray:
    """Height of the base's origin above the world's [m], shape (n,)."""
    return recording.base_position[:, 2]


def distance(recording: Recording) -> np.ndarray:
    """Horizontal distance of the base from where it started [m], shape (n,)."""
    result: np.ndarray = np.linalg.norm(
        recording.base_position[:, :2] - recording.base_position[0, :2], axis=1
    )
    return result


def tilt(recording: Recording) -> np.ndarray:
    """Angle of the base's z axis from the vertical [°], shape (n,)."""
    axis = recording.base_rotation[:, :, 2]
    # Not the arc cosine, which loses half of the digits near upright.
    result: np.ndarray = np.degrees(np.arctan2(np.hypot(axis[:, 0], axis[:, 1]), axis[:, 2]))
    return result


def touches(recording: Recording) -> np.ndarray:
    """Whether something touches, shape (n,)."""
    return np.asarray(recording.contact_forces.any(axis=(1, 2)))


def lands(recording: Recording) -> bool:
    """Whether the robot touches the ground within 0.1 s of the end."""
    late = recording.t > recording.t[-1] - _FLIGHT
    return bool(touches(recording)[late].any())


def landing(recording: Recording) -> float | None:
    """When a robot that started in the air landed [s]; None: it stood, or touched nothing."""
    touching = touches(recording)
    t = recording.t[np.argmax(touching)]
    late = touching.any() and t - recording.t[0] >= _FLIGHT
    return float(t) if late else None


def flights(recording: Recording) -> int:
    """How often the robot left what it touched for 0.1 s or more."""
    touching = touches(recording)
    if not touching.any():
        return 0
    count, t, left = 0, recording.t, None
    for k in range(int(np.argmax(touching)), recording.n):
        if touching[k]:
            left = k
        elif left is not None and t[k] - t[left] >= _FLIGHT:
            count, left = count + 1, None
    return count


def fall(recording: Recording) -> int | None:
    """First row in which a base that began upright lies on its side; None: it does not."""
    angle = tilt(recording)
    lies = np.flatnonzero(angle > _FALLEN)
    return int(lies[0]) if angle[0] < _UPRIGHT and len(lies) else None


def base_moves(recording: Recording) -> bool:
    """Whether the base of the robot moved."""
    turned = np.abs(recording.base_rotation - recording.base_rotation[0]).max()
    return bool(np.ptp(recording.base_position, axis=0).max() > _STILL or turned > _STILL)


def apart(
    recording: Recording, first: Recording, values: Callable[[Recording], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The times that two runs cover, (m,), and their largest difference there, (m,).

    The values of a run are of shape (n, k); those of the finer one are interpolated.
    """
    coarse, fine = (recording, first) if recording.n <= first.n else (first, recording)
    shared = (coarse.t >= fine.t[0]) & (coarse.t <= fine.t[-1])
    t = coarse.t[shared]
    at_coarse = [np.interp(t, fine.t, column) for column in values(fine).T]
    return t, np.abs(values(coarse)[shared].T - at_coarse).max(axis=0, initial=0.0)


@dataclass(frozen=True)
class RunFigures:
    """Figures of one run, the last two against the first run over the time that both cover."""

    duration: float  # [s]
    dt: float  # [s]
    height_gain: float  # largest rise of the base above its start [m]
    distance: float  # of the base at the end, horizontal [m]
    mean_tilt: float  # of the base's z axis from the vertical [°]
    mean_iterations: float  # outer ones of a step
    halvings: int  # sub-steps beyond the first, all together
    failed: int  # steps that did not converge
    real_time_factor: float
    height_difference: float  # largest, of the base [m]
    difference: float  # largest, of a coordinate of q [rad, m]


def compare_table(recordings: Sequence[Recording]) -> list[RunFigures]:
    """Figures of several runs, the last of them against the first run."""
    if not recordings:
        raise RecordingError("a comparison needs at least one recording; none was given")
    return [_figures(recording, recordings[0]) for recording in recordings]


def _figures(recording: Recording, first: Recording) -> RunFigures:
    z = height(recording)
    return RunFigures(
        duration=recording.duration,
        dt=recording.dt,
        height_gain=float(z.max() - z[0]),
        distance=float(distance(recording)[-1]),
        mean_tilt=float(tilt(recording).mean()),
        mean_iterations=float(recording.iterations[1:].mean()) if recording.n > 1 else 0.0,
        halvings=int(recording.halvings.sum()),
        failed=int(np.count_nonzero(recording.status)),
        real_time_factor=recording.real_time_factor,
        height_difference=_most(apart(recording, first, lambda run: height(run)[:, None])),
        difference=_most(apart(recording, first, lambda run: run.q)),
    )


def _most(differences: tuple[np.ndarray, np.ndarray]) -> float:
    """Largest value of `apart`."""
    return float(differences[1].max(initial=0.0))


def summary(run: Recording, setup: Setup) -> Summary:
    """Row of a table of runs, as JSON data; see docs/rollouts.md."""
    overlaps = recorded_overlaps(setup.overlap_check, run)
    good = run.q[run.status == 0]
    figures = compare_table([run])[0]
    x, y, z = run.base_position[-1].tolist()
    return {
        "status": list(Status)[int(run.status[-1])].name.lower(),
        "t": float(run.t[-1]),
        "steps": run.n - 1 - figures.failed,
        "q": run.q[-1].tolist(),
        "v": run.v[-1].tolist(),
        "base_x": x,
        "base_y": y,
        "base_z": z,
        "tilt": float(tilt(run)[-1]),
        "height_gain": figures.height_gain,
        "distance": figures.distance,
        "max_penetration": float(run.contact_depths.max(initial=0.0)),
        "overlap": max((overlap.depth for overlap in overlaps), default=0.0),
        "buried": float(buried_depth(setup.robot, setup.terrain, good).max(initial=0.0)),
        "kinetic_energy": float(run.kinetic_energy[-1]),
        "potential_energy": float(run.potential_energy[-1]),
        "iterations": int(run.iterations.sum()),
        "evaluations": int(run.evaluations.sum()),
        "halvings": figures.halvings,
        "wall_time": float(run.wall_time.sum()),
    }


def account(recording: Recording, motion: Motion | None = None) -> str:
    """What happened in a run: a line each for events, base, joints, contacts and steps."""
    motion = motion or Motion()
    deepest = 1e3 * recording.contact_depths.max(initial=0.0)
    lines = [
        f"{recording.meta['robot']}: {'; '.join(_events(recording))}",
        *_movements(recording, motion),
        f"contacts: at most {deepest:.3g} mm deep",
        *_work(recording),
    ]
    return "\n".join(lines)


def _events(recording: Recording) -> Iterator[str]:
    """Flights, the fall and the failure."""
    figures, row, jumps = compare_table([recording])[0], fall(recording), flights(recording)
    if not base_moves(recording):
        yield "its base stood still"
    elif jumps:
        times = "once" if jumps == 1 else f"{jumps} times"
        if figures.height_gain >= _RISE:
            yield f"jumped {times}, highest {figures.height_gain:.2f} m above the start"
        else:
            yield f"left the ground {times}"
        yield "landed" if lands(recording) else "in the air at the end"
    elif (landed := landing(recording)) is not None:
        yield f"landed at {landed:.3g} s"
    elif not touches(recording).any():
        yield "touched nothing"
    elif row is None:
        yield "kept to the ground"
    if row is not None:
        angle = tilt(recording)[row:].max()
        yield f"fell at {recording.t[row]:.3g} s: tilt up to {angle:.0f} deg"
    if figures.failed:
        yield f"the step at {recording.t[-1]:.3g} s failed"


def _movements(recording: Recording, motion: Motion) -> Iterator[str]:
    """Motion of the base, the joints and the objects, a line each."""
    figures = compare_table([recording])[0]
    if base_moves(recording):
        z = height(recording)
        yield (
            f"base: rose {figures.height_gain:.3f} m, sank {z[0] - z.min():.3f} m, moved "
            f"{figures.distance:.3f} m, mean tilt {figures.mean_tilt:.2f} deg"
        )
    if motion.joints:
        far = max(motion.joints, key=lambda joint: joint.travel)
        line = f"joints: {far.name} moved the most, {far.travel:.3g} {far.unit}"
        off = max(motion.joints, key=lambda joint: joint.off_target)
        if off.off_target > 0.0:
            line += f"; {off.name} was {off.off_target:.3g} {off.unit} off its target"
        hard = max(motion.joints, key=lambda joint: joint.effort)
        if hard.effort > 0.0:
            line += f"; {hard.name} needed {100.0 * hard.effort:.3g} % of its torque"
        yield line
    for item in motion.objects:
        moved = np.linalg.norm(item.position[-1] - item.position[0])
        yield f"{item.name}: moved {moved:.3f} m, turned {np.degrees(item.turned[-1]):.3g} deg"


def _work(recording: Recording) -> Iterator[str]:
    """Steps, their errors under error control, and the speed, a line each."""
    steps, controlled = recording.n - 1, not np.isnan(recording.error).all()
    failed = int(np.count_nonzero(recording.status))
    halved = int(np.count_nonzero((recording.halvings > 0) & (recording.status == 0)))
    line = f"steps: {steps}, {failed} failed, {halved} {'divided' if controlled else 'halved'}"
    if steps:
        iterations = recording.iterations[1:]
        line += f"; {iterations.mean():.1f} iterations each, at most {iterations.max()}"
    yield line
    if controlled:
        errors, made = recording.error[1:], recording.halvings[1:].sum() + steps
        yield (
            f"errors over those allowed: {np.nanmean(errors):.2f}, at most {np.nanmax(errors):.2g}"
            f" ({np.count_nonzero(errors > 1.0)} steps beyond); {made}"
            f" sub-steps, {recording.discarded.sum()} discarded"
        )
    wall = recording.wall_time.sum()
    yield (
        f"speed: {recording.duration:.4g} s simulated in {wall:.3g} s, "
        f"{recording.real_time_factor:.1f} x real time, {1e3 * wall / max(steps, 1):.3g} ms a step"
    )
