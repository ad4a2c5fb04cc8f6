"""A robot, its ground and its penalty law as arrays, which can be saved and loaded."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

import jax
import numpy as np

from nmdp_pin.errors import StateError

REVOLUTE, UNBOUNDED, LINEAR, PLANAR, SPHERICAL, FREE = range(6)  # kinds of joints
PLANE, BOX, SPHERE, CAPSULE = 0, 1, 2, 4  # kinds of shapes
MINIMA = 4  # places at which a sphere touches a height field at once
CROSSINGS = 8  # places at which edges of two boxes do
FORMAT = 4  # of files


@dataclasses.dataclass(frozen=True)
class Structure:
    """What programs are compiled for: numbers that decide on loops and branches.

    Bodies are in the order of their levels: those on the world, those on these, and so on.

    Args:
        factors: kind, first coordinate, first dof and end of the dofs of each joint, in the order
            of coordinates.
        joints: joint of each body.
        levels: first body of each level, and the end.
        parents: parent of each body, -1: the world.
        dof_bodies: body that each dof moves.
        dofs: dofs with a stop or dry friction.
        stops: their coordinates, those without a stop any.
        carriers: body of each contact sphere, n: the world; those on the height field last, as
            often as they touch it.
        touched: body of the shape that each of them may touch, n: the world.
        planes: whether these shapes are planes alone.
        on_field: number of the spheres that may touch a height field.
        window: samples along x and y of the field that a sphere looks at.
        pairs: bodies of boxes that may touch each other.
        boxes: these boxes, as rows of `DeviceScene.boxes`.
        exponents: alpha, beta and gamma of the penalty law.
        from_terrain: whether friction is that of the terrain's coefficient.
        most: largest number of contacts that act at once.
        staged: whether programs are cut into stages, as those for CPUs have to be.
    """

    factors: tuple[tuple[int, int, int, int], ...]
    joints: tuple[int, ...]
    levels: tuple[int, ...]
    parents: tuple[int, ...]
    dof_bodies: tuple[int, ...]
    dofs: tuple[int, ...]
    stops: tuple[int, ...]
    carriers: tuple[int, ...]
    touched: tuple[int, ...]
    planes: bool
    on_field: int
    window: tuple[int, int]
    pairs: tuple[tuple[int, int], ...]
    boxes: tuple[tuple[int, int], ...]
    exponents: tuple[float, float, float]
    from_terrain: bool
    most: int
    staged: bool = True

    @property
    def nv(self) -> int:
        """Number of dofs."""
        return len(self.dof_bodies)

    @property
    def runs(self) -> tuple[tuple[int, int, int, int], ...]:
        """`factors`, with neighbours whose dofs are their coordinates as one joint."""
        found: list[tuple[int, int, int, int]] = []
        for kind, i, k, end in self.factors:
            own = LINEAR if kind == REVOLUTE else kind
            if found and own == found[-1][0] == LINEAR:
                found[-1] = (*found[-1][:3], end)
            else:
                found.append((own, i, k, end))
        return tuple(found)

    @property
    def of_bodies(self) -> bool:
        """Whether bodies touch each other."""
        return bool(self.pairs) or any(body < len(self.parents) for body in self.touched)

    @property
    def coordinates(self) -> tuple[int, ...]:
        """Coordinate of each dof; of joints with more coordinates than dofs any."""
        return tuple(i + x for _, i, k, end in self.factors for x in range(end - k))

    @property
    def ancestors(self) -> np.ndarray:
        """Whether body j is body i or one that carries it, shape (n, n)."""
        n = len(self.parents)
        found = np.eye(n, dtype=bool)
        for body, parent in enumerate(self.parents):
            if parent >= 0:
                found[body] |= found[parent]
        return found


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class DeviceScene:
    """What all steps share; lanes are not among the axes.

    Args:
        structure: what programs are compiled for.
        placements: placements of the joints in their parents' frames, shape (4, 3, n).
        motions: motions of the dofs in their bodies' frames (linear, angular), shape (6, nv).
        moments: second moments of the bodies about their joints [kg m^2, kg m, kg], (4, 4, n).
        rotors: inertia of the rotors [kg m^2, kg], shape (nv,).
        gravity: acceleration of the placements by gravity [m/s^2], shape (4, 3, n).
        sizes: weight [N] and largest entry of the mass matrix [kg m^2, kg], shape (2,).
        standing: standing pose, shape (nq,).
        stops: lower and upper stop [rad or m], their stiffness [N m/rad or N/m] and dry friction
            [N m or N] of the joints with bounds, shape (4, r).
        motors: limits of the motors [N m or N] and damping of the joints, shape (2, nv).
        factors: factors of the coordinates in the length of each spring, by dofs, shape (s, nv).
        springs: rest [rad or m] and stiffness [N m/rad or N/m] of the springs, shape (2, s).
        ball_rest: configuration in which springs of ball joints have no force, shape (nq,).
        ball_stiffness: their stiffness by dofs [N m/rad], shape (nv,), or (0,): there are none.
        points: centres of the contact spheres in their bodies' frames [m], shape (3, m).
        radii: radii of the spheres [m], shape (m,).
        shapes: what each sphere may touch: kind, position (3), rotation by rows (9), sizes (3) and
            friction, as in the kernels' `terrain`, shape (17, m).
        stiffness: normal stiffness of each sphere on it [N/m^alpha], shape (m,).
        heights: heights of the height field [m], shape (ny, nx), or (0, 0): there is none.
        grid: place of its first sample, and the distances between samples [m], shape (2, 3).
        boxes: boxes of bodies that touch others, as `shapes`, in their frames, shape (17, p).
        box_friction: friction of the pairs of boxes, shape (p,).
        box_stiffness: normal stiffness of these [N/m^alpha], shape (p,).
        law: friction stiffness and slip speed of the penalty law, shape (2,).
        options: tolerance and largest number of iterations, shape (2,).
    """

    structure: Structure = dataclasses.field(metadata={"static": True})
    placements: Any
    motions: Any
    moments: Any
    rotors: Any
    gravity: Any
    sizes: Any
    standing: Any
    stops: Any
    motors: Any
    factors: Any
    springs: Any
    ball_rest: Any
    ball_stiffness: Any
    points: Any
    radii: Any
    shapes: Any
    stiffness: Any
    heights: Any
    grid: Any
    boxes: Any
    box_friction: Any
    box_stiffness: Any
    law: Any
    options: Any

    def on(self, device: jax.Device, dtype: Any = np.float64) -> DeviceScene:
        """The same on a device, with arrays of a type."""
        structure = dataclasses.replace(self.structure, staged=device.platform == "cpu")
        cast = jax.tree.map(lambda array: np.asarray(array, dtype), self)
        with jax.enable_x64(np.dtype(dtype) == np.float64):
            placed: DeviceScene = jax.device_put(
                dataclasses.replace(cast, structure=structure), device
            )
        return placed

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an `.npz`, which is read where neither pinocchio nor numba is."""
        values = dataclasses.asdict(self)
        about = json.dumps({"format": FORMAT, **values.pop("structure")})
        np.savez_compressed(path, allow_pickle=False, structure=np.array(about), **values)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DeviceScene:
        """Read what `save` wrote.

        Raises:
            StateError: the file is no scene of this format.
        """
        try:
            with np.load(path, allow_pickle=False) as archive:
                values = dict(archive)
            about = json.loads(str(values.pop("structure")))
            if about.pop("format") != FORMAT:
                raise ValueError("another format")
            structure = Structure(**{name: _frozen(value) for name, value in about.items()})
            return cls(structure=structure, **values)
        except (KeyError, TypeError, ValueError, OSError) as error:
            raise StateError(
                f"'{os.fspath(path)}' is no scene for devices: {error}; write it with "
                "DeviceScene.save of this version"
            ) from error


def _frozen(value: Any) -> Any:
    """Lists as tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
