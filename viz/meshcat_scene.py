"""A scene as a tree of meshcat: objects, and the nodes that move."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import trimesh
import umsgpack

from nmdp_pin.viz.body_shapes import Piece
from nmdp_pin.viz.colored_mesh import ColoredMesh, arrow
from nmdp_pin.viz.poses import rotated, upright_to
from nmdp_pin.viz.scene import ARROW_RADII, ARROW_TAPER, LONGEST_ARROW, TOUCHING, Scene

Json = dict[str, Any]

HIDDEN = 1e-6
"""Scale of a node that is not shown; zero has no rotation."""

_ARRAYS = {"Uint32Array": ("<u4", 0x16), "Float32Array": ("<f4", 0x17)}  # in messages to the page
_FEW = 9  # dots that are balls to the eye
_REPEAT = 1000  # wrapping of a texture in three.js
_CALM = 0.1  # how far the base may rise above the camera's height, in units of its size
_LABEL = 0.55, 0.3  # height of the time above the robot's middle, and size, likewise
_SUN, _SHADOW = (0.5, -0.9, 2.0), 1.6  # direction; reach of shadows, in units of the size
_POINT, _TOUCH, _FORCE, _CUT = 0xF2C14E, 0xE4572E, 0x2BA84A, 0xF07C12


class MeshcatScene:
    """Objects and nodes of a scene.

    A node is a path whose pose changes: position [m], quaternion (x, y, z, w) and scale. There is
    one for each joint of the scene, and for the dots at contact points on it; for each of these an
    arrow, an arrow that was cut and a
    mark, of which those that are not shown have a tiny scale; one for the time; and the world.

    Args:
        scene: the scene.
        root: path under which everything stands.
        world: path of a node above, whose origin is where the camera looks and which moves against
            the base, since meshcat's camera turns around the origin and cannot go; None: no node.

    Attributes:
        nodes: paths of the nodes.
        objects: path → object that stands there, the terrain last.
        forces: paths of the arrows and marks of contact points.
    """

    def __init__(self, scene: Scene, root: str, *, world: str | None) -> None:
        self._scene = scene
        points, size = scene.robot.contact_points, scene.size
        joints = [f"{root}/bodies/{_word(j, scene.robot.model.names[j])}" for j in scene.joints]
        self._marked = np.unique(scene.carriers)
        dots = {int(node): f"{root}/points/{node}" for node in self._marked}
        contacts = [f"{root}/contacts/{_word(k, name)}" for k, name in enumerate(points.names)]
        parts = [[f"{path}/{part}" for path in contacts] for part in ("force", "cut", "mark")]
        self.time_path = f"{root}/time"
        fixed = (*joints, *dots.values(), *parts[0], *parts[1], *parts[2])
        self.nodes = (*fixed, self.time_path, *(() if world is None else (world,)))
        self.forces = {path for part in parts for path in part}
        self._height: float | None = None

        bodies = [*joints, f"{root}/bodies/0 world"]
        drawn = (*bodies, *dots.values(), *parts[2], f"{root}/terrain")
        builders = {path: _Object() for path in drawn}
        for piece in scene.terrain:
            builders[f"{root}/terrain"].add_piece(piece)
        for piece in scene.bodies:
            builders[bodies[scene.rows[piece.joint]]].add_piece(piece)
        for node, path in dots.items():
            own = np.flatnonzero(scene.carriers == node)
            builders[path].add_dots(1.05 * scene.mark_radii[own], scene.positions[own])
        for k, radius in enumerate(scene.mark_radii):
            builders[parts[2][k]].add_ball(1.18 * radius, _TOUCH)
        self.objects = {path: builder.lower() for path, builder in builders.items()}
        meshes = arrow(*(length * size for length in ARROW_RADII))
        for paths, color in ((parts[0], _FORCE), (parts[1], _CUT)):
            shared = _Object()
            for mesh in meshes:
                shared.add_front(mesh, color)
            self.objects |= dict.fromkeys(paths, shared.lower())

    def label(self, t: float) -> Json:
        """Object that shows the time t [s] in words, and faces the camera."""
        size = _LABEL[1] * self._scene.size
        text: Json = {"uuid": "text", "type": "_text", "text": f"t = {t:.2f} s"}
        text |= {"font_size": 48, "font_face": "sans-serif"}
        look = {"uuid": "look", "type": "SpriteMaterial", "map": "text", "depthTest": False}
        label = {"type": "Sprite", "material": "look", "renderOrder": 2}
        label["matrix"] = np.diag([size, size, size, 1.0]).ravel().tolist()
        return {"textures": [text], "materials": [look], "object": label}

    def target(self, frame: np.ndarray) -> np.ndarray:
        """Point that the camera looks at in a frame [m], shape (3,)."""
        result: np.ndarray = self._targets(self._places(frame[None]))[0]
        return result

    def poses(self, frames: np.ndarray) -> np.ndarray:
        """Poses of the nodes in consecutive frames.

        Args:
            frames: results of `Scene.frame`, shape (m, frame_size).

        Returns:
            position, quaternion and scale of each node, shape (m, len(nodes), 10).
        """
        scene, places = self._scene, self._places(frames)
        m, n, dots = len(frames), len(scene.joints), len(self._marked)
        poses = np.zeros((m, len(self.nodes), 10))
        poses[..., 6:] = 1.0
        poses[:, :n, :7] = places[:, :n]
        poses[:, n : n + dots, :7] = places[:, self._marked]
        n += dots
        carriers = places[:, scene.carriers]
        arm = np.broadcast_to(scene.positions, carriers[..., :3].shape)
        place = carriers[..., :3] + rotated(carriers[..., 3:], arm)
        force = frames[:, 1 + 7 * scene.n_nodes :].reshape(m, -1, 3).astype(float)
        newtons = np.linalg.norm(force, axis=2)
        whole, longest = scene.arrow_scale * newtons, LONGEST_ARROW * scene.size
        length = np.minimum(whole, longest)
        width = np.clip(length / (ARROW_TAPER * scene.size), HIDDEN, 1.0)
        scales = np.stack([width, width, np.maximum(length, HIDDEN)], axis=2)
        cut = (whole > longest)[..., None]
        loaded = (whole > TOUCHING * scene.size)[..., None]
        c = len(scene.carriers)
        for k, scale in enumerate((np.where(cut, HIDDEN, scales), np.where(cut, scales, HIDDEN))):
            part = poses[:, n + k * c : n + (k + 1) * c]
            part[..., :3], part[..., 3:7], part[..., 7:] = place, upright_to(force), scale
        part = poses[:, n + 2 * c : n + 3 * c]
        part[..., :3], part[..., 7:] = place, np.where(loaded, 1.0, HIDDEN)
        target = self._targets(places)
        poses[:, n + 3 * c, :3] = target
        poses[:, n + 3 * c, 2] += _LABEL[0] * scene.size
        poses[:, n + 3 * c + 1 :, :3] = -target[:, None]
        return poses

    def clips(self, frames: np.ndarray) -> list[Json]:
        """Animations of the nodes that move in consecutive frames, from the first one's time on."""
        poses = self.poses(frames)
        times = _array("Float32Array", frames[:, 0] - frames[0, 0])["array"]
        clips = []
        for k in np.flatnonzero((poses[..., 9] > HIDDEN).any(axis=0)):
            path, tracks = self.nodes[k], []
            for name, kind, part in (
                (".position", "vector3", poses[:, k, :3]),
                (".quaternion", "quaternion", poses[:, k, 3:7]),
                (".scale", "vector3", poses[:, k, 7:]),
            ):
                if (part != part[0]).any():
                    values = _array("Float32Array", part)["array"]
                    tracks.append({"name": name, "type": kind, "times": times, "values": values})
            if tracks:
                clips.append({"path": path, "clip": {"name": "run", "fps": 1, "tracks": tracks}})
        return clips

    def _places(self, frames: np.ndarray) -> np.ndarray:
        """Poses of the nodes of the scene, and of the world, shape (m, n_nodes + 1, 7)."""
        n = self._scene.n_nodes
        places = frames[:, 1 : 1 + 7 * n].reshape(-1, n, 7).astype(float)
        places[..., 3:] /= np.linalg.norm(places[..., 3:], axis=2, keepdims=True)
        return np.insert(places, n, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], axis=1)

    def _targets(self, places: np.ndarray) -> np.ndarray:
        """Points beside which the camera stands; it follows the height of the base calmly."""
        scene = self._scene
        if scene.base is None:
            return np.tile(scene.center, (len(places), 1))
        base = places[:, scene.base, :3].copy()
        most = _CALM * scene.size
        for place in base:
            height = place[2] if self._height is None else self._height
            self._height = place[2] = np.clip(height, place[2] - most, place[2] + most)
        result: np.ndarray = base + scene.center
        return result


def daylight(size: float) -> Json:
    """Sky and sun for a robot of a size [m], with shadows around the origin."""
    sky = {"type": "HemisphereLight", "color": 0xFFFFFF, "groundColor": 0xCFC8BD, "intensity": 0.62}
    sun: Json = {
        "type": "DirectionalLight",
        "color": 0xFFFFFF,
        "intensity": 0.55,
        "castShadow": True,
    }
    reach = _SHADOW * size
    place = np.eye(4)
    place[:3, 3] = reach * np.array(_SUN)
    sun["matrix"] = place.ravel("F").tolist()
    box = {"left": -reach, "right": reach, "top": reach, "bottom": -reach}
    lens = {"type": "OrthographicCamera", **box, "near": 0.1 * reach, "far": 5.0 * reach}
    sun["shadow"] = {"bias": -0.001, "mapSize": [1024, 1024], "camera": lens}
    return {"object": {"type": "Group", "children": [sky, sun]}}


class _Object:
    """A group of meshes in the format of three.js' object loader."""

    def __init__(self) -> None:
        self._parts: dict[str, list[Json]] = {}
        self._children: list[Json] = []

    def lower(self) -> Json:
        return {**self._parts, "object": {"type": "Group", "children": self._children}}

    def add_piece(self, piece: Piece) -> None:
        mesh = piece.mesh
        specular = round(127.5 * mesh.gloss)
        material: Json = {
            "color": _rgb(mesh.color),
            "opacity": mesh.color[3],
            "transparent": mesh.color[3] < 1.0,
            "side": 2,
            "shininess": 5.0 + 60.0 * mesh.gloss,
            "specular": 0x010101 * specular,
        }
        if mesh.image:
            kind = "png" if mesh.image.startswith(b"\x89PNG") else "jpeg"
            url = f"data:image/{kind};base64,{base64.b64encode(mesh.image).decode()}"
            image = self._add("images", url=url)
            wrap = [_REPEAT, _REPEAT]
            material["map"] = self._add("textures", image=image, wrap=wrap, anisotropy=2)
        self._child(self._geometry(mesh), piece.placement, material)

    def add_ball(self, radius: float, color: int) -> None:
        ball = {"radius": float(radius), "widthSegments": 16, "heightSegments": 12}
        shape = self._add("geometries", type="SphereGeometry", **ball)
        self._child(shape, np.eye(4), {"color": color})

    def add_dots(self, radii: np.ndarray, centres: np.ndarray) -> None:
        """Balls as one mesh: a page without a graphics card takes 10 ms to draw another."""
        ball = trimesh.creation.icosphere(2 if len(radii) < _FEW else 0)
        vertices = ball.vertices * radii[:, None, None] + centres[:, None]
        faces = ball.faces + len(ball.vertices) * np.arange(len(radii))[:, None, None]
        mesh = ColoredMesh.welded(vertices, faces)
        self._child(self._geometry(mesh), np.eye(4), {"color": _POINT}, castShadow=False)

    def add_front(self, mesh: ColoredMesh, color: int) -> None:
        """Over all others, for a force often lies inside the leg that it pushes."""
        material = {"color": color, "depthTest": False}
        self._child(
            self._geometry(mesh),
            np.eye(4),
            material,
            renderOrder=1,
            castShadow=False,
            receiveShadow=False,
        )

    def _geometry(self, mesh: ColoredMesh) -> str:
        shading = mesh.shaded()
        attributes = {
            "position": {"itemSize": 3, **_array("Float32Array", shading.vertices)},
            "normal": {"itemSize": 3, **_array("Float32Array", shading.normals)},
        }
        if shading.uv is not None:
            attributes["uv"] = {"itemSize": 2, **_array("Float32Array", shading.uv)}
        data = {"attributes": attributes, "index": _array("Uint32Array", shading.faces)}
        return self._add("geometries", type="BufferGeometry", data=data)

    def _child(self, geometry: str, placement: np.ndarray, material: Json, **options: Any) -> None:
        child = {
            "type": "Mesh",
            "geometry": geometry,
            "material": self._add("materials", type="MeshPhongMaterial", **material),
            "matrix": placement.ravel("F").tolist(),
            "castShadow": True,
            "receiveShadow": True,
        }
        self._children.append(child | options)

    def _add(self, kind: str, **content: Any) -> str:
        """Number of a new geometry, material, texture or image."""
        known = self._parts.setdefault(kind, [])
        known.append({"uuid": str(len(known)), **content})
        return str(len(known) - 1)


def _array(kind: str, values: np.ndarray) -> Json:
    dtype, code = _ARRAYS[kind]
    return {"type": kind, "array": umsgpack.Ext(code, values.astype(dtype).tobytes())}


def _rgb(color: Sequence[float]) -> int:
    red, green, blue = (round(255.0 * min(max(part, 0.0), 1.0)) for part in color[:3])
    return red << 16 | green << 8 | blue


def _word(index: int, name: str) -> str:
    """Part of a path for a name, which may hold a slash, or be that of another."""
    return f"{index} {name.replace('/', '_')}"
