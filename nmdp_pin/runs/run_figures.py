"""Figures that say how a run went, alone and against another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nmdp_pin.errors import RecordingError
from nmdp_pin.recording import Recording


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


@dataclass(frozen=True)
class RunFigures:
    """Figures of one run.

    Args:
        duration: simulated time [s].
        dt: usual time step [s].
        height_gain: largest rise of the base above its start [m].
        distance: horizontal distance of the base at the end [m].
        mean_tilt: mean angle of the base's z axis from the vertical [°].
        mean_iterations: mean of the outer iterations of a step; 0 without steps.
        halvings: sub-steps made beyond the first, all together.
        failed: steps that did not converge.
        real_time_factor: simulated time over computing time.
        height_difference: largest difference of the base height from that of the first run,
            over the time that both cover [m].
    """

    duration: float
    dt: float
    height_gain: float
    distance: float
    mean_tilt: float
    mean_iterations: float
    halvings: int
    failed: int
    real_time_factor: float
    height_difference: float


def compare_table(recordings: Sequence[Recording]) -> list[RunFigures]:
    """Figures of several runs, the last of them against the first run.

    Args:
        recordings: the runs, at least one.

    Raises:
        RecordingError: no recording is given.
    """
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
        mean_iterations=float(recording.outer_iterations[1:].mean()) if recording.n > 1 else 0.0,
        halvings=int(recording.halvings.sum()),
        failed=int(np.count_nonzero(recording.status)),
        real_time_factor=recording.real_time_factor,
        height_difference=_height_difference(recording, first),
    )


def _height_difference(recording: Recording, first: Recording) -> float:
    """Largest difference of height at the coarser rows, the finer run interpolated between."""
    coarse, fine = (recording, first) if recording.n <= first.n else (first, recording)
    shared = (coarse.t >= fine.t[0]) & (coarse.t <= fine.t[-1])
    at_coarse = np.interp(coarse.t[shared], fine.t, height(fine))
    return float(np.abs(height(coarse)[shared] - at_coarse).max(initial=0.0))
