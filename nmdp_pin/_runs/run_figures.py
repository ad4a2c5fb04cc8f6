"""Figures that say how a run went, alone and against another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nmdp_pin._runs.recording import Recording
from nmdp_pin.errors import RecordingError

_FLIGHT = 0.1  # [s] without contact
_UPRIGHT, _FALLEN = 30.0, 70.0  # [deg] of tilt
_STILL = 1e-9  # [m], [-] below which a base does not move


def height(recording: Recording) -> np.ndarray:
    """Height of the base's origin above the world's [m], shape (n,)."""
    return recording.base_position[:, 2]


def distance(recording: Recording) -> np.ndarray:
    """Horizontal distance of the base from where it started [m], shape (n,)."""
    return np.linalg.norm(recording.base_position[:, :2] - recording.base_position[0, :2], axis=1)


def tilt(recording: Recording) -> np.ndarray:
    """Angle of the base's z axis from the vertical [°], shape (n,)."""
    axis = recording.base_rotation[:, :, 2]
    # Not the arc cosine, which loses half of the digits near upright.
    return np.degrees(np.arctan2(np.hypot(axis[:, 0], axis[:, 1]), axis[:, 2]))


def touches(recording: Recording) -> np.ndarray:
    """Whether something touches, shape (n,)."""
    return np.asarray(recording.contact_forces.any(axis=(1, 2)))


def lands(recording: Recording) -> bool:
    """Whether the robot touches the ground within 0.1 s of the end."""
    late = recording.t > recording.t[-1] - _FLIGHT
    return bool(touches(recording)[late].any())


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
