"""Measurements of planar sliding: twists and loads of a patch."""

import os
from dataclasses import dataclass

import numpy as np

from nmdp_pin._files.sample_table import read_samples
from nmdp_pin.errors import ContactError

COLUMNS = {
    "vx": "m/s",
    "vy": "m/s",
    "omega": "rad/s",
    "fx": "N",
    "fy": "N",
    "tau": "N m",
    "normal": "N",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class SlidingSamples:
    """Twists and loads of a sliding patch, both at its centre and in its own frame.

    Loads drive the patch: they are minus the friction force, in the direction of the twist.

    Args:
        twists: (vx, vy, omega) [m/s, rad/s], shape (n, 3).
        loads: (Fx, Fy, tau) [N, N m], shape (n, 3).
        normal: load along the normal [N], shape (n,) or one number for all.

    Raises:
        ContactError: a shape is wrong, a number is not finite, the patch is at rest or without
            load, or loads have the sign of friction forces.
    """

    twists: np.ndarray
    loads: np.ndarray
    normal: np.ndarray | float

    def __post_init__(self) -> None:
        twists, loads = np.asarray(self.twists, float), np.asarray(self.loads, float)
        if twists.ndim != 2 or twists.shape[1] != 3 or twists.shape != loads.shape:
            raise ContactError(
                f"twists and loads must have one shape (n, 3), got {twists.shape} and {loads.shape}"
            )
        normal = np.asarray(self.normal, float)
        if normal.shape not in ((), (len(loads),)):
            raise ContactError(
                f"normal must be a number or have shape ({len(loads)},), got {normal.shape}"
            )
        normal = np.broadcast_to(normal, (len(loads),)).copy()
        if not all(np.isfinite(a).all() for a in (twists, loads, normal)):
            raise ContactError("twists, loads and normal must be finite numbers; remove the others")
        if not (normal > 0.0).all():
            raise ContactError(f"normal loads must be > 0 N, got {normal.min():g} N")
        for name, rows in (("twist", twists), ("load", loads)):
            zero = np.flatnonzero(~rows.any(axis=1))
            if zero.size:
                raise ContactError(f"sample {zero[0]} has no {name}; keep samples of sliding only")
        if (np.vecdot(twists, loads) < 0.0).mean() > 0.5:
            raise ContactError(
                "most loads oppose their twists: these are friction forces on the patch; give the "
                "loads that drive it, of the opposite sign"
            )
        for name, value in (("twists", twists), ("loads", loads), ("normal", normal)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.loads)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "SlidingSamples":
        """Read a CSV or npz file with the columns of `COLUMNS`, titled "vx [m/s]" and so on.

        Raises:
            ContactError: the file is no such table; see `read_samples`.
        """
        columns = read_samples(path, COLUMNS)
        try:
            return cls(
                twists=np.column_stack([columns[name] for name in ("vx", "vy", "omega")]),
                loads=np.column_stack([columns[name] for name in ("fx", "fy", "tau")]),
                normal=columns["normal"],
            )
        except ContactError as error:
            raise ContactError(f"{path}: {error}") from None
