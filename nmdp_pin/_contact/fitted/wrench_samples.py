"""Measurements of a contact: poses and wrenches."""

import os
from dataclasses import dataclass

import numpy as np

from nmdp_pin._files.sample_table import read_samples
from nmdp_pin.errors import ContactError

DEPTH = {"depth": "m"}
TILTS = {"tilt_x": "rad", "tilt_y": "rad"}
FORCES = {"fx": "N", "fy": "N", "fz": "N"}
MOMENTS = {"tx": "N m", "ty": "N m", "tz": "N m"}
_SAME = (1e-7, 1e-5, 1e-5)  # [m, rad, rad]; poses that agree to this are one
_FEWEST = 4  # samples of a pose; fewer span no hull of forces
_DEEPEST = 1.0  # [m]; deeper is a mistake in the unit
_SHALLOWEST = 1e-9  # [m]; a depth > 0 that is less is rounding
_STRONGEST = 1e9  # [N, N m]; more is a mistake in the unit
_APART = 0.02  # largest wrench out of contact, relative to the largest of all


@dataclass(frozen=True, eq=False, kw_only=True)
class WrenchSamples:
    """Wrenches of a contact at poses, each pose several times in different motions.

    Wrenches are in the frame of the patch: z is the outward normal of the terrain, x the projected
    x axis of the body. Forces act where the sphere touches; wrenches are (force, moment) about the
    centre of the sphere.

    Args:
        poses: depth [m], or depth, tilt_x and tilt_y [m, rad, rad], shape (n, 1) or (n, 3). The
            tilts are the angles from the body's z axis to the normal, in its x-z and y-z planes.
        wrenches: forces [N] (n, 3), or wrenches [N, N m] (n, 6).

    Raises:
        ContactError: a shape is wrong, a number is not finite, a pose has too few samples, poses do
            not vary, there are wrenches without contact, or units look wrong.
    """

    poses: np.ndarray
    wrenches: np.ndarray

    def __post_init__(self) -> None:
        poses, wrenches = np.asarray(self.poses, float), np.asarray(self.wrenches, float)
        if poses.ndim != 2 or poses.shape[1] not in (1, 3):
            raise ContactError(f"poses must have shape (n, 1) or (n, 3), got {poses.shape}")
        if wrenches.ndim != 2 or wrenches.shape[1] not in (3, 6) or len(wrenches) != len(poses):
            raise ContactError(
                f"wrenches must have shape ({len(poses)}, 3) or ({len(poses)}, 6), got "
                f"{wrenches.shape}"
            )
        if not (np.isfinite(poses).all() and np.isfinite(wrenches).all()):
            raise ContactError("poses and wrenches must be finite numbers; remove the others")
        _check_units(poses, wrenches)
        object.__setattr__(self, "poses", poses)
        object.__setattr__(self, "wrenches", wrenches)
        touching = poses[:, 0] > 0.0
        _check_apart(wrenches, touching)
        _check_poses(poses[touching])

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "WrenchSamples":
        """Read a CSV or npz file with columns titled "depth [m]", "fx [N]" and so on.

        depth, fx, fy and fz are required; tilt_x, tilt_y [rad] and tx, ty, tz [N m] are optional.

        Raises:
            ContactError: the file is no such table; see `read_samples`.
        """
        columns = read_samples(path, {**DEPTH, **FORCES}, TILTS, MOMENTS)
        pose = [*DEPTH, *TILTS] if "tilt_x" in columns else [*DEPTH]
        wrench = [*FORCES, *MOMENTS] if "tx" in columns else [*FORCES]
        try:
            return cls(
                poses=np.column_stack([columns[name] for name in pose]),
                wrenches=np.column_stack([columns[name] for name in wrench]),
            )
        except ContactError as error:
            raise ContactError(f"{path}: {error}") from None

    def by_pose(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Each pose in contact, shape (k,), with its wrenches, shape (m, rows); sorted."""
        touching = self.poses[:, 0] > 0.0
        poses, wrenches = self.poses[touching], self.wrenches[touching]
        group = _groups(poses)
        parts = [group == i for i in range(group.max() + 1)]
        return [(poses[part].mean(axis=0), wrenches[part]) for part in parts]


def _groups(poses: np.ndarray) -> np.ndarray:
    """Index of the pose that each sample has, shape (n,)."""
    cells = np.round(poses / np.array(_SAME[: poses.shape[1]])).astype(np.int64)
    index: np.ndarray = np.unique(cells, axis=0, return_inverse=True)[1].reshape(-1)
    return index


def _check_units(poses: np.ndarray, wrenches: np.ndarray) -> None:
    for what, values, most, unit in (
        ("force or moment", wrenches, _STRONGEST, "forces are in newtons"),
        ("depth", np.maximum(poses[:, 0], 0.0), _DEEPEST, "depths are in metres"),
        ("tilt", poses[:, 1:], np.pi, "tilts are in radians"),
    ):
        largest = np.abs(values).max(initial=0.0)
        if largest > most:
            raise ContactError(f"the largest {what} is {largest:g}, more than {most:g}; {unit}")
    touching = poses[poses[:, 0] > 0.0, 0]
    if touching.min(initial=_DEEPEST) < _SHALLOWEST:
        raise ContactError(
            f"the least depth in contact is {touching.min():g} m, less than {_SHALLOWEST:g} m; "
            "depths are in metres, and 0 is out of contact"
        )


def _check_apart(wrenches: np.ndarray, touching: np.ndarray) -> None:
    """Refuse wrenches without contact."""
    force = np.linalg.norm(wrenches[:, :3], axis=1)
    if not force[touching].any():
        raise ContactError("no sample in contact (depth > 0) has a force")
    apart = force[~touching].max(initial=0.0)
    if apart > _APART * force.max():
        raise ContactError(
            f"a sample with depth <= 0 has a force of {apart:g} N: out of contact there is none; "
            "check the zero of the depth"
        )


def _check_poses(poses: np.ndarray) -> None:
    """Check the number of samples of each pose, and that poses vary."""
    group = _groups(poses)
    counts = np.bincount(group)
    if counts.min() < _FEWEST:
        few = poses[group == counts.argmin()][0]
        raise ContactError(
            f"the pose {few.tolist()} has {counts.min()} samples; a hull needs at least {_FEWEST}"
        )
    if np.ptp(poses[:, 0]) <= _SAME[0]:
        raise ContactError(
            "depth is the same in all samples in contact, so nothing is known of its effect: "
            "vary it"
        )
    if poses.shape[1] == 3:
        spread = np.ptp(poses, axis=0)[1:] > np.array(_SAME[1:])
        if not spread.all():
            name = list(TILTS)[int(spread.argmin())]
            raise ContactError(
                f"{name} is the same in all samples, so nothing is known of its effect: vary both "
                "tilts, or leave both out"
            )
