"""Meshes and height fields against brute force, boxes and finite differences."""

import pickle
import time
from pathlib import Path

import numpy as np
import pytest
import trimesh

from nmdp_pin._files import limited_process
from nmdp_pin._terrain import Box, HeightField, Mesh, Terrain
from nmdp_pin._terrain.triangles import _morton
from nmdp_pin.errors import TerrainError

ROUNDING = 2e-14  # [m] of coordinates of about 3 m, through products and a root
STEP = 1e-6  # [m] of the central differences
HESSIAN = 1e-6  # [1/m] STEP^2 / r^3 and rounding / (STEP r) at r >= 0.01 m
SWITCH = 1e-4  # [m] points nearer to a change of feature are left out of differences

RPY = (0.4, -0.7, 1.1)
POSITION = (0.3, -0.2, 0.5)

BOX_VERTICES = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.3, 0.3) for z in (-0.2, 0.2)])
BOX_FACES = np.array(
    [
        *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]),
        *([2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
    ]
)


def ell() -> tuple[np.ndarray, np.ndarray]:
    """An L-shaped prism: convex and concave edges, convex and mixed vertices."""
    outline = np.array([[0, 0], [1, 0], [1, 0.4], [0.4, 0.4], [0.4, 1], [0, 1]]) - 0.3
    vertices = np.array([[x, y, z] for z in (-0.25, 0.25) for x, y in outline])
    top = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]])
    i = np.arange(6)
    j = (i + 1) % 6
    sides = [np.stack([i, j, j + 6], axis=1), np.stack([i, j + 6, i + 6], axis=1)]
    return vertices, np.concatenate([top[:, ::-1], top + 6, *sides])


def hills() -> HeightField:
    """A height field of 9 by 7 samples with slopes both ways."""
    x, y = np.linspace(-1.0, 1.0, 9), np.linspace(-0.8, 0.8, 7)
    heights = 0.2 * np.sin(3.0 * x)[None, :] * np.cos(2.0 * y)[:, None] + 0.05 * x[None, :]
    return HeightField(
        heights=heights, size=(2.0, 1.6), thickness=0.3, position=POSITION, rpy=RPY, friction=0.4
    )


def ell_mesh() -> Mesh:
    vertices, faces = ell()
    return Mesh(vertices=vertices, faces=faces, position=POSITION, rpy=RPY, friction=0.4)


SHAPES = {"mesh": ell_mesh, "height field": hills}
SHAPE = pytest.mark.parametrize("name", SHAPES)


def triangles(shape: Mesh | HeightField) -> np.ndarray:
    """Corners of all triangles in the world, read back from the coal geometry, (f, 3, 3)."""
    geometry, M = shape.collision_geometry(), shape.placement
    points = np.array([geometry.vertex(i) for i in range(geometry.num_vertices)])
    corners = [geometry.tri_indices(i) for i in range(geometry.num_tris)]
    faces = np.array([[corner[k] for k in range(3)] for corner in corners])
    return (points @ M.rotation.T + M.translation)[faces]


def distance_to_triangles(p: np.ndarray, corners: np.ndarray) -> float:
    """Smallest distance to triangles: to the plane where it projects inside, else to an edge."""
    edges = np.roll(corners, -1, axis=1) - corners
    normal = np.cross(edges[:, 0], edges[:, 1])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    to_point = p - corners
    within = (np.cross(normal[:, None, :], edges) * to_point).sum(axis=2).min(axis=1) >= 0.0
    height = np.abs((to_point[:, 0] * normal).sum(axis=1))
    along = (to_point * edges).sum(axis=2) / (edges * edges).sum(axis=2)
    gap = to_point - np.clip(along, 0.0, 1.0)[:, :, None] * edges
    to_edges = np.sqrt((gap * gap).sum(axis=2)).min(axis=1)
    return float(np.where(within, np.minimum(height, to_edges), to_edges).min())


def winding(p: np.ndarray, corners: np.ndarray) -> float:
    """Times the triangles wrap around p: solid angle / 4 pi, 1 inside and 0 outside."""
    a, b, c = (corners - p).transpose(1, 0, 2)
    la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
    volume = (a * np.cross(b, c)).sum(axis=1)
    dots = [(x * y).sum(axis=1) * z for x, y, z in ((a, b, lc), (b, c, la), (c, a, lb))]
    return float(np.arctan2(volume, la * lb * lc + sum(dots)).sum() / (2.0 * np.pi))


def samples(shape: Mesh | HeightField, margin: float, n: int) -> np.ndarray:
    """Points in the world in a box around the shape's vertices."""
    M = shape.placement
    local = (triangles(shape).reshape(-1, 3) - M.translation) @ M.rotation
    low, high = local.min(axis=0) - margin, local.max(axis=0) + margin
    points = np.random.default_rng(11).uniform(low, high, (n, 3))
    return points @ M.rotation.T + M.translation


@SHAPE
@pytest.mark.parametrize("margin", [0.1, 2.0])
def test_distance_and_sign_by_brute_force(name: str, margin: float) -> None:
    """Distances are those to the nearest of all triangles; signs are those of winding numbers."""
    shape = SHAPES[name]()
    corners, points = triangles(shape), samples(shape, margin, 300)
    surface = Terrain([shape]).query(points)
    size = np.array([distance_to_triangles(p, corners) for p in points])
    inside = np.array([winding(p, corners) > 0.5 for p in points])
    if margin < 1.0:
        assert 50 < inside.sum() < 280
    np.testing.assert_allclose(
        surface.distance, np.where(inside, -size, size), rtol=0.0, atol=ROUNDING
    )
    assert (surface.friction == 0.4).all()


@SHAPE
def test_normal_leads_to_the_surface(name: str) -> None:
    """The point x - phi n lies on the surface and n has length one, so n is the gradient of phi."""
    shape = SHAPES[name]()
    points = samples(shape, 0.3, 300)
    terrain = Terrain([shape])
    surface = terrain.query(points)
    np.testing.assert_allclose(np.linalg.norm(surface.normal, axis=1), 1.0, atol=1e-13)
    feet = points - surface.distance[:, None] * surface.normal
    np.testing.assert_allclose(terrain.query(feet).distance, 0.0, rtol=0.0, atol=ROUNDING)


@SHAPE
def test_curvature_is_the_derivative_of_the_normal(name: str) -> None:
    """The curvature is that of central differences, away from switches between features."""
    shape = SHAPES[name]()
    terrain = Terrain([shape])
    points = samples(shape, 0.3, 600)
    points = points[np.abs(terrain.query(points).distance) > 0.02]
    curvature = terrain.query(points).curvature
    assert curvature is not None
    kept = np.ones(len(points), dtype=bool)
    for e in SWITCH * np.array(np.meshgrid(*3 * [[-1, 1]])).reshape(3, -1).T:
        near = terrain.query(points + e).curvature
        assert near is not None
        size = np.abs(curvature).max(axis=(1, 2))
        kept &= np.abs(near - curvature).max(axis=(1, 2)) <= 0.1 * size
    for k, e in enumerate(STEP * np.eye(3)):
        slope = (terrain.query(points + e).normal - terrain.query(points - e).normal) / (2.0 * STEP)
        np.testing.assert_allclose(curvature[kept, :, k], slope[kept], rtol=0.0, atol=HESSIAN)
    rank = np.linalg.matrix_rank(curvature[kept], tol=1e-3)
    below = terrain.query(points[kept]).distance < 0.0
    assert all((rank == r).sum() > 5 for r in (0, 1, 2))  # faces, edges, vertices
    assert (below & (rank == 0)).sum() > 5
    if name == "mesh":
        assert (below & (rank == 1)).any()  # the concave edge seen from inside


@pytest.mark.parametrize("rpy", [(0.0, 0.0, 0.0), RPY])
def test_mesh_of_a_box_is_the_box(rpy: tuple[float, float, float]) -> None:
    """A box and the mesh of it agree in distance, normal and curvature, on both sides."""
    pose = {"position": POSITION, "rpy": rpy}
    exact = Terrain([Box(size=(1.0, 0.6, 0.4), **pose)])
    mesh = Terrain([Mesh(vertices=BOX_VERTICES, faces=BOX_FACES, **pose)])
    points = np.random.default_rng(2).uniform(-0.8, 0.8, (500, 3)) + POSITION
    a, b = exact.query(points), mesh.query(points)
    assert (a.distance < 0.0).sum() > 10
    np.testing.assert_allclose(b.distance, a.distance, rtol=0.0, atol=ROUNDING)
    near = np.abs(a.distance) > 1e-3  # rounding / distance is 1e-11 at the edges
    np.testing.assert_allclose(b.normal[near], a.normal[near], rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(b.curvature[near], a.curvature[near], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("height", [1e-9, 1e-3, 0.1, -1e-9, -1e-3])
def test_level_ground_is_flat_above_its_grid_lines(height: float) -> None:
    """Right above samples and edges of coplanar triangles there is no false curvature."""
    ground = HeightField(heights=np.zeros((5, 5)), size=(4.0, 4.0))
    grid = np.array([[x, y, height] for x in (-1.0, 0.0, 0.5) for y in (-1.0, -0.5, 0.0)])
    surface = Terrain([ground]).query(grid)
    assert surface.curvature is None
    assert (surface.distance == height).all()
    assert (surface.normal == [0.0, 0.0, 1.0]).all()


def test_ridge_bends_one_way_only() -> None:
    """Right above a sample on a straight ridge the ground is curved across the ridge, not along."""
    ridge = HeightField(heights=[[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]], size=(4, 2))
    for x in (0.0, 0.3, 1.0):
        curvature = Terrain([ridge]).query(np.array([[x, 0.0, 1.2]])).curvature
        assert curvature is not None
        np.testing.assert_allclose(curvature[0], np.diag([0.0, 5.0, 0.0]), atol=1e-9)


def test_height_field_rows_are_y_and_columns_are_x() -> None:
    """The sample [j, i] lies at the place that the documentation says, solid below, void beside."""
    heights = np.array([[0.0, 0.1, 0.2], [0.3, 0.5, 0.4]])
    terrain = Terrain([HeightField(heights=heights, spacing=(0.5, 0.8), position=(1.0, 2.0, 3.0))])
    for j in range(2):
        for i in range(3):
            point = np.array([[0.5 + 0.5 * i, 1.6 + 0.8 * j, 3.0 + heights[j, i]]])
            assert terrain.query(point).distance[0] == pytest.approx(0.0, abs=ROUNDING)
    centre, beside = [1.0, 2.0, 2.5], [2.5, 2.0, 2.5]
    distance = terrain.query(np.array([centre, beside])).distance
    assert distance[0] < -0.3
    assert distance[1] == pytest.approx(1.0, abs=ROUNDING)


def test_ground_is_smooth_through_zero() -> None:
    """Through a face the distance is linear to rounding: no kink and no noise at the surface."""
    terrain = Terrain([hills()])
    points = samples(hills(), 0.02, 200)
    surface = terrain.query(points)
    on_top = surface.distance > 0.0
    feet = (points - surface.distance[:, None] * surface.normal)[on_top]
    depth = np.array([-1e-5, -1e-8, -1e-12, 0.0, 1e-12, 1e-8, 1e-5])
    n_faces = 0
    for foot, normal in zip(feet, surface.normal[on_top], strict=True):
        line = terrain.query(foot + depth[:, None] * normal)
        if line.curvature is not None:  # an edge or a vertex is the closest somewhere on the line
            continue
        n_faces += 1
        np.testing.assert_allclose(line.distance - line.distance[3], depth, rtol=0.0, atol=1e-15)
    assert n_faces > 10


def stl(vertices: np.ndarray, faces: np.ndarray) -> str:
    """An STL text of triangles."""
    lines = ["solid s"]
    for face in faces:
        corners = [f"vertex {x:.17g} {y:.17g} {z:.17g}" for x, y, z in vertices[face]]
        lines += ["facet normal 0 0 0", "outer loop", *corners, "endloop", "endfacet"]
    return "\n".join([*lines, "endsolid s", ""])


def obj(vertices: np.ndarray, faces: np.ndarray) -> str:
    """An OBJ text of triangles."""
    lines = [f"v {x:.17g} {y:.17g} {z:.17g}" for x, y, z in vertices]
    return "\n".join([*lines, *(f"f {a} {b} {c}" for a, b, c in faces + 1), ""])


@pytest.mark.parametrize(("suffix", "text"), [(".stl", stl), (".obj", obj), (".STL", stl)])
@pytest.mark.parametrize("scale", [1.0, 0.001, (1.0, 2.0, 0.5)])
def test_mesh_file(tmp_path: Path, suffix: str, text, scale) -> None:
    """A mesh file gives the solid of the arrays in it, scaled; pickled it needs no file."""
    vertices, faces = ell()
    path = tmp_path / f"ell{suffix}"
    path.write_text(text(vertices, faces))
    mesh = Mesh(path=str(path), scale=scale)
    path.unlink()
    points = np.random.default_rng(5).uniform(-0.5, 0.8, (50, 3)) * scale
    loaded = Terrain([pickle.loads(pickle.dumps(mesh))]).query(points)
    given = Terrain([Mesh(vertices=vertices * scale, faces=faces)]).query(points)
    assert (given.distance < 0.0).any()
    # Files hold single precision.
    size = np.max(scale)
    np.testing.assert_allclose(loaded.distance, given.distance, rtol=0.0, atol=1e-7 * size)


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".txt"])
def test_height_file(tmp_path: Path, suffix: str) -> None:
    """Heights from a file are the heights of the array that was written."""
    heights = np.random.default_rng(1).uniform(0.0, 0.3, (4, 3))
    path = tmp_path / f"ground{suffix}"
    if suffix == ".npy":
        np.save(path, heights)
    else:
        np.savetxt(path, heights, delimiter="," if suffix == ".csv" else " ", fmt="%.17g")
    field = HeightField(path=str(path), size=(1.0, 1.0))
    assert (field.samples == heights).all()


def broken(how: str) -> dict:
    """The mesh of a box with one fault."""
    faces = BOX_FACES.copy()
    if how == "open":
        faces = faces[1:]
    elif how == "mixed":
        faces[0] = faces[0, ::-1]
    elif how == "inwards":
        faces = faces[:, ::-1]
    elif how == "index":
        faces[0, 0] = 8
    elif how == "sliver":
        return {"vertices": [[0, 0, 0], [1, 0, 0], [2, 0, 0]], "faces": [[0, 1, 2], [2, 1, 0]]}
    return {"vertices": BOX_VERTICES, "faces": faces}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (broken("open"), "not closed.*3 edges.*Fill"),
        (broken("mixed"), "do not agree on what is outside"),
        (broken("inwards"), "inwards: reverse"),
        (broken("index"), "from 0 to 7"),
        (broken("sliver"), "no area"),
        ({"vertices": BOX_VERTICES, "faces": np.zeros((0, 3))}, "no faces"),
        ({"vertices": BOX_VERTICES, "faces": [[0, 0, 1]]}, "line or point"),
        ({"vertices": BOX_VERTICES * np.nan, "faces": BOX_FACES}, "vertices must be a table"),
        ({"vertices": BOX_VERTICES[:, :2], "faces": BOX_FACES}, "3 columns"),
        ({"vertices": "abc", "faces": BOX_FACES}, "vertices must be a table"),
        ({"vertices": BOX_VERTICES, "faces": BOX_FACES + 0.5}, "whole numbers"),
        (
            {"vertices": BOX_VERTICES, "faces": BOX_FACES, "scale": 0.0},
            "scale must be one factor > 0",
        ),
        (
            {"vertices": BOX_VERTICES, "faces": BOX_FACES, "scale": (1, -1, 1)},
            "scale.1 must be > 0",
        ),
        ({"vertices": BOX_VERTICES, "faces": BOX_FACES, "scale": (1, 1)}, "scale.2 is missing"),
        ({"vertices": BOX_VERTICES, "faces": BOX_FACES, "scale": "mm"}, "scale must be"),
        ({"vertices": BOX_VERTICES, "faces": BOX_FACES, "path": "a.stl"}, "either path"),
        ({"vertices": BOX_VERTICES}, "either path"),
        ({}, "either path"),
        ({"path": "/nowhere/rock.stl"}, "no such file.*nowhere"),
        ({"path": "rock.blend"}, r"formats .stl, .obj"),
    ],
)
def test_refused_meshes(options: dict, words: str) -> None:
    """A mesh that bounds no solid is refused with what to do about it."""
    with pytest.raises(TerrainError, match=f"(?s){words}"):
        Mesh(**options)


FLAT = b"v 0 0\nv 1 0\nv 0 1\nv 1 1\nf 1 2 3\nf 2 3 4\n"  # points of a plane


@pytest.mark.parametrize("suffix", [".stl", ".obj"])
@pytest.mark.parametrize("content", [b"", b"not a mesh", b"solid s\nfacet", b"\x00" * 200, FLAT])
def test_unreadable_mesh_file(tmp_path: Path, suffix: str, content: bytes) -> None:
    """A file that holds no triangles is refused, naming the file."""
    path = tmp_path / f"rock{suffix}"
    path.write_bytes(content)
    with pytest.raises(TerrainError, match="rock"):
        Mesh(path=str(path))


def test_a_mesh_file_that_takes_for_ever(tmp_path: Path, monkeypatch) -> None:
    """Parsers read within limits of time and memory."""
    monkeypatch.setattr(limited_process, "SECONDS", 1)
    monkeypatch.setattr("nmdp_pin._terrain.mesh._triangles", lambda *file: time.sleep(60.0))
    path = tmp_path / "rock.stl"
    path.write_text(stl(BOX_VERTICES, BOX_FACES))
    with pytest.raises(TerrainError, match=r"rock\.stl: cannot be read as STL: it takes more than"):
        Mesh(path=str(path))


@pytest.mark.parametrize("number", ["nan", "-inf", "1e400", "2.5E+12", "9" * 40])
@pytest.mark.parametrize(("suffix", "text"), [(".stl", stl), (".obj", obj)])
def test_numbers_out_of_range(
    tmp_path: Path, capfd: pytest.CaptureFixture, suffix: str, text, number: str
) -> None:
    """A mesh file with a coordinate that is no length is refused, without a word from coal."""
    path = tmp_path / f"rock{suffix}"
    path.write_text(text(BOX_VERTICES, BOX_FACES).replace("-0.5", number, 1))
    with pytest.raises(TerrainError, match=r"rock.*beyond 1e"):
        Mesh(path=str(path))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e30])
def test_numbers_out_of_range_in_binary_files(
    tmp_path: Path, capfd: pytest.CaptureFixture, number: float
) -> None:
    """The same of a binary STL file."""
    corners = BOX_VERTICES[BOX_FACES].astype("<f4")
    corners[3, 1, 2] = number
    content = [np.zeros(3, "<f4").tobytes() + face.tobytes() + bytes(2) for face in corners]
    path = tmp_path / "rock.stl"
    path.write_bytes(bytes(80) + np.uint32(len(corners)).tobytes() + b"".join(content))
    with pytest.raises(TerrainError, match=r"rock.*beyond 1e"):
        Mesh(path=str(path))
    assert capfd.readouterr() == ("", "")


def test_coordinates_with_many_digits(tmp_path: Path) -> None:
    """Digits after the point, and exponents below 10, are no reason to refuse a file."""
    path = tmp_path / "rock.obj"
    text = obj(BOX_VERTICES, BOX_FACES).replace("v 0.5", "v 0.50000000000000000000e+00")
    path.write_text(text.replace("v -0.5", "v -5.00000000000000e-01"))
    assert len(Mesh(path=str(path)).indices) == len(BOX_FACES)


def test_a_table_without_numbers(tmp_path: Path) -> None:
    """A height field's file of remarks alone is refused, without a warning."""
    path = tmp_path / "ground.csv"
    path.write_text("# heights of nothing\n\n")
    with pytest.raises(TerrainError, match="holds no numbers"):
        HeightField(path=str(path), size=(1, 1))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"heights": np.full((3, 3), 1e300), "size": (1, 1)}, "at most 1e"),
        ({"size": (1, 1)}, "either heights or path"),
        ({"heights": np.zeros((3, 3))}, "either size or spacing"),
        ({"heights": np.zeros((3, 3)), "size": (1, 1), "spacing": (1, 1)}, "either size"),
        ({"heights": np.zeros((3, 3)), "size": (1, 0)}, "size.1 must be > 0"),
        ({"heights": np.zeros((3, 3)), "size": 1.0}, "size must be a list"),
        (
            {"heights": np.zeros((3, 3)), "spacing": (1, np.inf)},
            "spacing.1 must be a finite number",
        ),
        ({"heights": np.zeros((1, 3)), "size": (1, 1)}, "at least 2 by 2"),
        ({"heights": np.zeros(3), "size": (1, 1)}, "table of finite numbers"),
        ({"heights": [[0, 1], [2]], "size": (1, 1)}, "table of finite numbers"),
        ({"heights": [[0, np.nan], [2, 1]], "size": (1, 1)}, "table of finite numbers"),
        ({"heights": np.zeros((3, 3)), "size": (1, 1), "thickness": 0.0}, "thickness must be > 0"),
        ({"path": "/nowhere/ground.npy", "size": (1, 1)}, "there is no height field"),
        ({"path": "ground.png", "size": (1, 1)}, "formats .npy, .csv, .txt"),
    ],
)
def test_refused_height_fields(options: dict, words: str) -> None:
    """A height field that is none is refused with what to do about it."""
    with pytest.raises(TerrainError, match=words):
        HeightField(**options)


@pytest.mark.parametrize("name", ["ground.npy", "ground.csv", "ground.txt"])
@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"\x93NUMPY\x01"])
def test_unreadable_height_file(tmp_path: Path, name: str, content: bytes) -> None:
    """A file that holds no table of numbers is refused, naming the file."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TerrainError, match=r"ground|table"):
        HeightField(path=str(path), size=(1.0, 1.0))


def test_pickled_objects_are_not_loaded(tmp_path: Path) -> None:
    """An .npy file with Python objects in it, which could run code, is refused."""
    path = tmp_path / "ground.npy"
    np.save(path, np.array([[print, 1], [2, 3]], dtype=object), allow_pickle=True)
    with pytest.raises(TerrainError, match="cannot be read"):
        HeightField(path=str(path), size=(1.0, 1.0))


def test_neighbours_are_neighbours_along_the_curve():
    """The bits of a place are those of its coordinates in turn, x last; wherever it lies."""
    last = 2**20 - 1
    corners = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=float)
    ones = int("1" * 20, 8)
    expected = [(x + 2 * y + 4 * z) * ones for x, y, z in corners.astype(int).tolist()]
    assert _morton(corners).tolist() == expected
    assert _morton(8.0 * corners - 3.0).tolist() == expected
    steps = np.vstack([corners, corners[1:2] / last])
    assert _morton(steps)[-1] == 1
    assert _morton(np.ones((3, 3))).tolist() == [0, 0, 0]


def test_cones_are_weighted_by_angles() -> None:
    """A corner of a box has a right angle on each side, however that is divided into triangles."""
    box = trimesh.creation.box((1.0, 2.0, 3.0))
    tables = Terrain(Mesh(vertices=box.vertices, faces=box.faces)).arrays.triangles
    expected = 0.5 * np.pi * np.sign(tables.vertices)
    np.testing.assert_allclose(tables.pseudonormals, expected, atol=1e-12)


@pytest.mark.parametrize("away", [0.0, 5.0, -5.0])
def test_ridges_are_the_convex_edges(away: float) -> None:
    """Those of an L-shaped prism but the one in its corner, along the products of the normals."""
    vertices, faces = ell()
    tables = Terrain(Mesh(vertices=vertices + away, faces=faces)).arrays.triangles
    ring = [(i, (i + 1) % 6) for i in range(6)]
    rims = [*ring, *((i + 6, j + 6) for i, j in ring)]
    edges = [*rims, *((i, i + 6) for i in range(6) if i != 3)]
    begin, end = (tables.vertices[tables.ridges[:, k]] for k in (0, 1))
    assert len(begin) == len(edges)
    off = 0.5 * (begin + end)[:, None] - vertices[edges].mean(axis=1) - away
    assert np.linalg.norm(off, axis=2).min(axis=0).max() < ROUNDING
    one, other = (tables.normals[tables.ridges[:, k]] for k in (2, 3))
    assert (np.vecdot(np.cross(one, other), end - begin) > 0.0).all()
