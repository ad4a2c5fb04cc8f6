"""Static geometry of a compiled MJCF file as terrain, and how its geometry touches."""

from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._robot.body_surfaces import hull_arrays, shape_of
from nmdp_pin._robot.mjcf_model import MjcfModel, placement, solid_of
from nmdp_pin._terrain import HeightField, Mesh, Plane, Shape
from nmdp_pin._terrain.coal_mesh import mesh_vertices
from nmdp_pin._terrain.shape import masks_of
from nmdp_pin.errors import TerrainError

_SHOWN = 5  # names in a sentence
_ROUGHEST = 10.0  # [-] largest friction coefficient


class MjcfWorld:
    """What the geometry of a model is to what moves.

    Args:
        m: compiled model (`mujoco.MjModel`).
        tree: its bodies.
        touching: whether each <geom> may touch, (ngeom,).

    Attributes:
        options: friction, mask and surface velocity of the shapes of what touches, by name.
        shapes: what stands still and may touch what moves, by name; meshes are their convex hulls,
            as in MuJoCo.
        left_out: what is not simulated, one sentence each.
    """

    def __init__(self, m: Any, tree: MjcfModel, touching: np.ndarray) -> None:
        self._m, self._tree = m, tree
        meets, still = _meetings(m), ~tree.moving[m.geom_bodyid]
        met = touching & still & meets[:, touching & ~still].any(axis=1)
        rows = np.flatnonzero(touching)
        masks = masks_of(meets[np.ix_(rows, rows)])
        friction = np.where(m.geom_condim == 1, 0.0, m.geom_friction[:, 0])
        self.options = {
            tree.geoms[k]: {"friction": float(min(friction[k], _ROUGHEST)), "mask": mask}
            | _surface_motion(m.geom_surfacevel[k])
            for k, mask in zip(rows.tolist(), masks, strict=True)
        }
        self.shapes, faults = dict[str, Shape](), list[str]()
        for k in np.flatnonzero(met).tolist():
            name = tree.geoms[k]
            try:
                self.shapes[name] = self._shape(k, self.options[name])
            except TerrainError as error:
                faults.append(f"'{name}' ({error})")
                del self.options[name]
        felt = met | (touching & ~still)
        slippery, rough = felt & (m.geom_condim == 1), felt & (m.geom_condim != 1)
        lost = m.geom_friction[:, 0][:, None] > m.geom_friction[:, 0]
        lost &= meets & slippery[:, None] & rough & ~(still[:, None] & still)
        said = {
            "torsional and rolling friction (condim 4 and 6), of": m.geom_condim > 3,
            f"friction above {_ROUGHEST:g}, which is taken as that, of": friction > _ROUGHEST,
            "friction of geometry of condim 1 on what has less of condim 3, of": lost.any(axis=1),
        }
        self.left_out = [
            f"not simulated: {what} {_listed([tree.geoms[k] for k in np.flatnonzero(rows)])}"
            for what, which in said.items()
            if (rows := which & felt).any()
        ]
        if faults:
            self.left_out.append(f"<geom> of the world left out: {', '.join(faults)}")

    def _shape(self, k: int, options: dict[str, Any]) -> Shape:
        """The shape of a <geom> that stands still."""
        from mujoco import mjtGeom

        m = self._m
        place = self._tree.still_place(int(m.geom_bodyid[k]))
        place = place * placement(m.geom_pos[k], m.geom_quat[k])
        pose: dict[str, Any] = {
            "position": tuple(place.translation.tolist()),
            "rpy": tuple(pin.rpy.matrixToRpy(place.rotation).tolist()),
            **options,
        }
        if m.geom_type[k] == mjtGeom.mjGEOM_PLANE:
            normal = place.rotation[:, 2]
            level = float(normal @ place.translation)
            # a plane has the world's frame
            moved = _surface_motion(place.act(pin.Motion(m.geom_surfacevel[k])).vector)
            return Plane(normal=tuple(normal.tolist()), offset=level, **options | moved)
        if m.geom_type[k] == mjtGeom.mjGEOM_HFIELD:
            field = int(m.geom_dataid[k])
            rows, columns = int(m.hfield_nrow[field]), int(m.hfield_ncol[field])
            begin, (x, y, top, base) = int(m.hfield_adr[field]), m.hfield_size[field].tolist()
            heights = top * m.hfield_data[begin : begin + rows * columns].reshape(rows, columns)
            thickness = base + float(heights.min())
            return HeightField(heights=heights, size=(2 * x, 2 * y), thickness=thickness, **pose)
        solid = solid_of(m, k)
        if m.geom_type[k] in (mjtGeom.mjGEOM_MESH, mjtGeom.mjGEOM_SDF):
            vertices, faces = hull_arrays(mesh_vertices(solid))
            return Mesh(vertices=vertices, faces=faces, **pose)
        return shape_of(pin.GeometryObject("", 0, place, solid), options)[0]


def _surface_motion(twist: np.ndarray) -> dict[str, Any]:
    """Options of a shape whose surface has a twist, linear, then angular, shape (6,)."""
    velocity, angular = tuple(twist[:3].tolist()), tuple(twist[3:].tolist())
    found = {"surface_velocity": velocity, "surface_angular_velocity": angular}
    return found if twist.any() else {}


def _meetings(m: Any) -> np.ndarray:
    """Whether pairs of <geom> of different bodies may touch, by masks, <exclude> and <pair>."""
    meets: np.ndarray = (m.geom_contype[:, None] & m.geom_conaffinity) != 0
    meets |= meets.T
    for bodies in zip(*np.divmod(m.exclude_signature, 1 << 16), strict=True):
        first, second = (m.geom_bodyid == body for body in bodies)
        meets[np.ix_(first, second)] = meets[np.ix_(second, first)] = False
    meets[m.pair_geom1, m.pair_geom2] = meets[m.pair_geom2, m.pair_geom1] = True
    return meets


def _listed(names: list[str]) -> str:
    """Some names, and how many there are more."""
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" * (len(names) > _SHOWN))
