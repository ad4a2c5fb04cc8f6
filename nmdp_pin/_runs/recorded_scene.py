"""Robots and terrains as JSON data in recordings: what is seen of them, and how they move."""

import base64
import zlib
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin._files.input_file import LARGEST
from nmdp_pin._robot import ContactPoints, Robot
from nmdp_pin._robot.contact_points import ARRAYS
from nmdp_pin._terrain import SHAPES, HeightField, Mesh, Shape, Terrain
from nmdp_pin._terrain.coal_mesh import mesh_arrays, surface_mesh, triangle_geometry
from nmdp_pin.errors import RecordingError

Json = dict[str, Any]

_ALIGNED = (
    *("RX", "RY", "RZ", "RUBX", "RUBY", "RUBZ", "PX", "PY", "PZ", "Translation"),
    *("Planar", "Spherical", "SphericalZYX", "FreeFlyer"),
)
_ALONG = ("RevoluteUnaligned", "PrismaticUnaligned")  # an axis of their own
_SOLIDS: dict[str, tuple[Any, Callable[[Any], Any]]] = {  # coal's class and the sizes that make it
    "box": (coal.Box, lambda x: 2.0 * x.halfSide),
    "sphere": (coal.Sphere, lambda x: [x.radius]),
    "cylinder": (coal.Cylinder, lambda x: [x.radius, 2.0 * x.halfLength]),
    "capsule": (coal.Capsule, lambda x: [x.radius, 2.0 * x.halfLength]),
    "cone": (coal.Cone, lambda x: [x.radius, 2.0 * x.halfLength]),
    "ellipsoid": (coal.Ellipsoid, lambda x: x.radii),
}
_TYPES = {"f": "<f8", "i": "<i8"}  # of arrays


def scene_table(robot: Robot, terrain: Terrain | None) -> Json:
    """The robot and its terrain as JSON data; under "missing" why a robot cannot be one.

    Meshes of files are named by their paths, others are kept whole.
    """
    try:
        return {"robot": _robot(robot), "terrain": terrain and [_shape(x) for x in terrain.shapes]}
    except ValueError as error:
        return {"missing": str(error)}


def scene_of(table: Any) -> tuple[Robot, Terrain | None]:
    """Robot and terrain of a table that `scene_table` has made; the data is not trusted.

    Raises:
        RecordingError: the table does not hold them.
    """
    if not isinstance(table, dict) or "missing" in table:
        why = table["missing"] if isinstance(table, dict) else "it was made without them"
        raise RecordingError(f"the recording does not hold its robot and terrain: {why}")
    try:
        shapes = table["terrain"]
        terrain = Terrain([_shape_of(dict(each)) for each in shapes]) if shapes else None
        return _robot_of(table["robot"]), terrain
    except Exception as error:  # damaged data makes pinocchio, coal and zlib raise many types
        raise RecordingError(f"the robot or terrain in the recording is damaged: {error}") from None


def _robot(robot: Robot) -> Json:
    model, points = robot.model, robot.contact_points
    geometry = next((g for g in (robot.visual_model, robot.collision_model) if g is not None), None)
    efforts = np.nan_to_num(model.upperEffortLimit, posinf=0.0)
    return {
        "name": robot.name,
        "joints": [_joint(model, k) for k in range(1, model.njoints)],
        "frames": [
            [f.name, int(f.parentJoint), _pose(f.placement), int(f.type)]
            for f in list(model.frames)[1:]
        ],
        "efforts": np.where(efforts < 1e12, efforts, 0.0).tolist(),  # 0: unknown
        "driven": robot.driven.tolist(),
        "standing": robot.standing.tolist(),
        "contacts": {
            "names": list(points.names),
            "links": list(points.links),
            **{name: getattr(points, name).tolist() for name in ARRAYS},
        },
        "shapes": [_geometry(g) for g in geometry.geometryObjects] if geometry else [],
    }


def _robot_of(table: Json) -> Robot:
    model = pin.Model()
    model.name = str(table["name"])
    for kind, name, parent, pose, inertia, *axis in table["joints"]:
        if kind not in (*_ALIGNED, *_ALONG):
            raise ValueError(f"a joint is of the kind {kind!r}")
        joint = getattr(pin, f"JointModel{kind}")(*(_numbers(x, 3) for x in axis))
        index = model.addJoint(_index(parent, model.njoints), joint, _pose_of(pose), str(name))
        body = pin.Inertia.FromDynamicParameters(_numbers(inertia, 10))
        model.appendBodyToJoint(index, body, pin.SE3.Identity())
    for name, joint, pose, kind in table["frames"]:
        place, kind = _pose_of(pose), pin.FrameType.values[kind]
        frame = pin.Frame(str(name), _index(joint, model.njoints), 0, place, kind)
        model.addFrame(frame, False)
    model.upperEffortLimit = _numbers(table["efforts"], model.nv)
    shapes = pin.GeometryModel()
    for shape in table["shapes"]:
        shapes.addGeometryObject(_geometry_of(shape, model))
    contacts = dict(table["contacts"])
    names, links = (tuple(map(str, contacts.pop(key))) for key in ("names", "links"))
    points = ContactPoints(
        names,
        **{name: _rows(contacts[name], len(names)) for name in ARRAYS},
        links=links,
    )
    for joint in (*points.joints, *points.touches):
        _index(joint, model.njoints)
    return Robot(
        model.name,
        model,
        points,
        np.array([_index(k, model.nv) for k in table["driven"]], dtype=int),
        _numbers(table["standing"], model.nq),
        visual_model=shapes if table["shapes"] else None,
    )


def _joint(model: pin.Model, k: int) -> list[Any]:
    """Kind, name, parent, placement, inertia and, where it has one of its own, axis of a joint."""
    joint, inertia = model.joints[k], model.inertias[k]
    kind = joint.shortname().removeprefix("JointModel")
    if kind not in (*_ALIGNED, *_ALONG):
        raise ValueError(f"joint '{model.names[k]}' is of the kind {kind}")
    body = inertia.toDynamicParameters().tolist()
    axis = [joint.extract().axis.tolist()] if kind in _ALONG else []
    place = _pose(model.jointPlacements[k])
    return [kind, model.names[k], int(model.parents[k]), place, body, *axis]


def _geometry(item: pin.GeometryObject) -> Json:
    """A shape of a link; of a mesh of a file the box around it stands for what it cannot find."""
    table: Json = {
        "name": item.name,
        "joint": int(item.parentJoint),
        "pose": _pose(item.placement),
        "color": item.meshColor.tolist(),
    }
    for kind, (solid, sizes) in _SOLIDS.items():
        if isinstance(item.geometry, solid):
            return table | {"kind": kind, "sizes": list(map(float, sizes(item.geometry)))}
    if item.meshPath and not item.meshPath.isupper():
        item.geometry.computeLocalAABB()
        box = item.geometry.aabb_local
        table |= {"path": item.meshPath, "scale": np.array(item.meshScale).tolist()}
        table |= {"material": bool(item.overrideMaterial)}
        return table | {"kind": "file", "low": box.min_.tolist(), "high": box.max_.tolist()}
    if isinstance(item.geometry, coal.BVHModelBase):
        vertices, faces = mesh_arrays(item.geometry)
    else:
        mesh = surface_mesh(item.geometry)
        vertices, faces = np.array(mesh.vertices), np.array(mesh.faces)
    return table | {"kind": "mesh", "vertices": _packed(vertices), "faces": _packed(faces)}


def _geometry_of(table: Json, model: pin.Model) -> pin.GeometryObject:
    kind = table["kind"]
    if kind == "file":
        low, high = _numbers(table["low"], 3), _numbers(table["high"], 3)
        box = surface_mesh(coal.Box(high - low))
        solid = triangle_geometry(box.vertices + 0.5 * (low + high), box.faces)
    elif kind == "mesh":
        vertices, faces = _unpacked(table["vertices"]), _unpacked(table["faces"])
        if not (faces.min() >= 0 and faces.max() < len(vertices)):
            raise ValueError("a face names a corner that does not exist")
        solid = triangle_geometry(vertices.reshape(-1, 3), faces.reshape(-1, 3))
    else:
        solid = _SOLIDS[kind][0](*_numbers(table["sizes"]).tolist())
    joint = _index(table["joint"], model.njoints)
    item = pin.GeometryObject(str(table["name"]), joint, _pose_of(table["pose"]), solid)
    item.meshColor = _numbers(table["color"], 4)
    if kind == "file":
        item.meshPath, item.meshScale = str(table["path"]), _numbers(table["scale"], 3)
        item.overrideMaterial = bool(table["material"])
    return item


def _shape(shape: Shape) -> Json:
    """A shape of the terrain: its kind and its options, with what a file has held."""
    options = {field.name: getattr(shape, field.name) for field in fields(shape) if field.init}
    if isinstance(shape, HeightField):
        options |= {"heights": shape.samples, "spacing": shape.steps}
        options |= dict.fromkeys(("path", "roughness", "size"))
    elif isinstance(shape, Mesh):
        options |= {"vertices": shape.corners, "faces": shape.indices, "path": None, "scale": 1.0}
    kind = next(kind for kind, known in SHAPES.items() if type(shape) is known)
    given = {key: value for key, value in options.items() if value is not None}
    return {"kind": kind} | {
        key: _packed(x) if isinstance(x, np.ndarray) else x for key, x in given.items()
    }


def _shape_of(table: Json) -> Shape:
    kind: Any = SHAPES[table.pop("kind")]
    if "path" in table:
        raise ValueError("a shape names a file")
    options = {key: _unpacked(x) if isinstance(x, dict) else x for key, x in table.items()}
    shape: Shape = kind(**options)
    return shape


def _packed(array: np.ndarray) -> Json:
    kind = "f" if array.dtype.kind == "f" else "i"
    data = zlib.compress(np.ascontiguousarray(array, _TYPES[kind]).tobytes())
    return {"type": kind, "shape": list(array.shape), "data": base64.b64encode(data).decode()}


def _unpacked(table: Json) -> np.ndarray:
    shape = [int(n) for n in table["shape"]]
    kind, size = np.dtype(_TYPES[table["type"]]), int(np.prod(shape))
    if 8 * size > LARGEST:
        raise ValueError(f"an array of {8 * size} bytes is not read; the most are {LARGEST}")
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(base64.b64decode(table["data"]), 8 * size + 1)
    array = np.frombuffer(data, kind).reshape(shape).astype(float if kind.kind == "f" else int)
    if not np.isfinite(array).all():
        raise ValueError("it has numbers that are not finite")
    return array


def _pose(M: pin.SE3) -> list[float]:
    """Position [m] and quaternion (x, y, z, w)."""
    return [float(x) for x in pin.SE3ToXYZQUAT(M)]


def _pose_of(values: Any) -> pin.SE3:
    pose = _numbers(values, 7)
    pose[3:] /= np.linalg.norm(pose[3:])
    return pin.XYZQUATToSE3(pose)


def _numbers(values: Any, size: int | None = None) -> np.ndarray:
    """Finite numbers, (size,)."""
    array = np.array(values, dtype=float)
    if array.ndim != 1 or size not in (None, len(array)) or not np.isfinite(array).all():
        raise ValueError(f"{size or 'some'} finite numbers are expected, not {str(values)[:60]}")
    return array


def _rows(values: Sequence[Any], n: int) -> np.ndarray:
    """An array with n rows of finite numbers."""
    array = np.array(values)
    if len(array) != n or not np.isfinite(array).all():
        raise ValueError(f"{n} rows of finite numbers are expected")
    return array


def _index(value: Any, size: int) -> int:
    index = int(value)
    if not 0 <= index < size:
        raise ValueError(f"index {index} is not one of {size}")
    return index
