"""Height fields: ground given by heights on a grid."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import coal
import numpy as np
from pydantic import Field

from nmdp_pin._files.array_file import read_npy
from nmdp_pin._files.input_file import read_text
from nmdp_pin._options import Count, FilePath, Positive
from nmdp_pin._terrain.coal_mesh import triangle_geometry
from nmdp_pin._terrain.shape import Solid, Table, checked_table
from nmdp_pin.errors import TerrainError

_MOST_SAMPLES = 4_000_000  # a hierarchy of their triangles takes about a gigabyte
_LARGEST = 2**28  # [bytes] of a file of text
_DELIMITERS = {".csv": ",", ".txt": None}  # None: white space


@dataclass(frozen=True, kw_only=True, eq=False)
class HeightField(Solid):
    """Block of ground whose top is a grid of heights with two triangles a cell.

    The sample heights[j, i] lies at x = (i - (nx - 1) / 2) dx, y = (j - (ny - 1) / 2) dy of the
    shape's frame, so the frame is at the centre of the rectangle. The ground is solid down to
    `thickness` below the lowest sample and ends at vertical walls. Cells are split along the
    diagonal from (j, i) to (j + 1, i + 1).

    Args:
        heights: heights [m], shape (ny, nx), at least 2 by 2.
        path: .npy, .csv (commas) or .txt (white space) file with the heights, instead of `heights`.
        roughness: upper bound of uniformly random heights [m], instead of `heights`; requires
            `size` and `spacing`.
        seed: seed of the random heights, an integer >= 0.
        size: lengths of the rectangle along x and y [m].
        spacing: distance between samples along x and y [m], instead of `size`.
        thickness: thickness of the ground below the lowest sample [m].
        position: position of the rectangle's centre at height 0 [m].
    """

    heights: Table | None = None
    path: FilePath | None = None
    roughness: Positive | None = None
    seed: Annotated[Count, Field(ge=0)] = 0
    size: tuple[Positive, Positive] | None = None
    spacing: tuple[Positive, Positive] | None = None
    thickness: Positive = 1.0
    samples: np.ndarray = field(init=False, repr=False)

    def _check(self) -> None:
        sources = (self.heights, self.path, self.roughness)
        if sum(source is not None for source in sources) != 1:
            raise TerrainError("HeightField: give either heights or path, or roughness")
        given = {"size": self.size, "spacing": self.spacing}
        lengths = {option: value for option, value in given.items() if value is not None}
        if len(lengths) != (1 if self.roughness is None else 2):
            which = "either size or spacing" if self.roughness is None else "both size and spacing"
            raise TerrainError(f"HeightField: give {which}, two lengths [m]")
        table = self.heights if self.path is None else _read(Path(self.path))
        if self.roughness is not None:
            table = self._drawn(lengths["size"], lengths["spacing"])
        samples = checked_table(self, "heights", table, None)
        if samples.size > _MOST_SAMPLES:
            raise TerrainError(
                f"HeightField: heights have shape {samples.shape}; at most {_MOST_SAMPLES} "
                "samples are taken"
            )
        if min(samples.shape) < 2:
            raise TerrainError(
                f"HeightField: heights must be at least 2 by 2 samples, got {samples.shape}"
            )
        self._set(samples=samples)

    def _drawn(self, size: tuple[float, ...], spacing: tuple[float, ...]) -> np.ndarray:
        """Random heights at as many whole cells as are nearest to `size`, shape (ny, nx)."""
        cells = [length / step for length, step in zip(size, spacing, strict=True)]
        if (cells[0] + 1.0) * (cells[1] + 1.0) > _MOST_SAMPLES:
            raise TerrainError(
                f"HeightField: size {size} at spacing {spacing} makes {cells[0]:.3g} x "
                f"{cells[1]:.3g} cells; at most {_MOST_SAMPLES} samples are made"
            )
        nx, ny = (max(round(count), 1) + 1 for count in cells)
        draws = np.random.default_rng(self.seed).random((ny, nx))
        return (self.roughness or 0.0) * draws

    @property
    def steps(self) -> tuple[float, float]:
        """Distance between samples along x and y [m]."""
        if self.spacing is not None:
            return self.spacing
        ny, nx = self.samples.shape
        width, depth = self.size or (0.0, 0.0)
        return width / (nx - 1), depth / (ny - 1)

    @property
    def base(self) -> float:
        """Height of the bottom in the shape's frame [m]."""
        return float(self.samples.min() - self.thickness)

    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """Vertices of the block in the shape's frame [m] and its faces: top, walls, bottom."""
        ny, nx = self.samples.shape
        dx, dy = self.steps
        x, y = (np.arange(nx) - (nx - 1) / 2.0) * dx, (np.arange(ny) - (ny - 1) / 2.0) * dy
        top = np.stack([*np.meshgrid(x, y), self.samples], axis=2).reshape(-1, 3)
        index = np.arange(nx * ny).reshape(ny, nx)
        a, b = index[:-1, :-1].ravel(), index[:-1, 1:].ravel()
        c, d = index[1:, 1:].ravel(), index[1:, :-1].ravel()
        # The border, anticlockwise from above, and its shadow on the bottom.
        rim = np.concatenate([index[0, :-1], index[:-1, -1], index[-1, :0:-1], index[:0:-1, 0]])
        bottom = top[rim] * [1.0, 1.0, 0.0] + [0.0, 0.0, self.base]
        low = len(top) + np.arange(len(rim))
        middle = np.full(len(rim), len(top) + len(rim))
        following, low_following = np.roll(rim, -1), np.roll(low, -1)
        walls = np.stack([(rim, low, low_following), (rim, low_following, following)])
        faces = [
            (a, b, c),
            (a, c, d),
            tuple(walls.transpose(1, 2, 0).reshape(3, -1)),
            (low_following, low, middle),
        ]
        vertices = np.concatenate([top, bottom, [[0.0, 0.0, self.base]]])
        return vertices, np.concatenate([np.stack(part, axis=1) for part in faces])

    def collision_geometry(self) -> coal.BVHModelOBBRSS:
        """A new bounding-volume hierarchy of the block, in the shape's frame.

        coal's own HeightField has no distance query (coal 3.0.3).
        """
        return triangle_geometry(*self.triangles())


def _read(path: Path) -> np.ndarray:
    """A table of numbers from a file."""
    suffix = path.suffix.lower()
    if suffix != ".npy" and suffix not in _DELIMITERS:
        formats = ", ".join([".npy", *_DELIMITERS])
        raise TerrainError(f"HeightField {path}: not one of the formats {formats}")
    if suffix == ".npy":
        return read_npy(path, "height field", error=TerrainError)
    text = read_text(path, "height field", largest=_LARGEST, error=TerrainError)
    lines = [line for line in text.splitlines() if line.partition("#")[0].strip()]
    if not lines:
        raise TerrainError(f"HeightField {path}: holds no numbers")
    try:
        return np.loadtxt(lines, delimiter=_DELIMITERS[suffix], ndmin=2)
    except ValueError as error:
        raise TerrainError(f"HeightField {path}: cannot be read as numbers: {error}") from None
