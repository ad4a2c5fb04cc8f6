"""Inputs: files with random damage are refused with a typed error, or accepted and simulated."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import struct
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import nmdp_pin._runs.recorder as recorder_module
from nmdp_pin._files import array_cache
from nmdp_pin._files.journal import journal_path
from nmdp_pin._runs.failed_step import FailedStep
from nmdp_pin._runs.motion import motion_in
from nmdp_pin._runs.recorder import Recorder
from nmdp_pin._runs.recording import Recording
from nmdp_pin._runs.run import run
from nmdp_pin._runs.run_summary import account, compare_table
from nmdp_pin._runs.state_file import load_state, save_state
from nmdp_pin._scenario import Scenario
from nmdp_pin._terrain import HeightField, Mesh
from nmdp_pin.contact import LimitSurface, OnnxVertices, SlidingSamples, WrenchSamples
from nmdp_pin.errors import StateError
from tools.campaigns import texts
from tools.campaigns.mutation import (
    mutated_archive,
    mutated_bytes,
    mutated_text,
    mutated_xml,
)

_SHORT = ("duration=0.05", "integrator.dt=0.01")
_STEPS = 2  # of what is accepted
_NEEDED = {"onnx": "onnx", "mjcf": "mujoco", "scene": "mujoco"}  # packages of kinds of files


@dataclass(frozen=True)
class Input:
    """A kind of file.

    Args:
        name: of the kind.
        prepare: writes good samples into a folder, and returns them.
        read: reads a file, and simulates what is accepted.
        mutate: changes what the bytes mean; others change the bytes.
    """

    name: str
    prepare: Callable[[Path], list[Path]]
    read: Callable[[Path], None]
    mutate: Callable[[bytes, np.random.Generator], bytes]


def prepare(folder: Path) -> None:
    """Write the samples of all kinds."""
    for kind in INPUTS:
        samples = folder / kind.name
        shutil.rmtree(samples, ignore_errors=True)
        samples.mkdir(parents=True)
        names = [path.name for path in kind.prepare(samples)]
        (samples / "samples.json").write_text(json.dumps(names))


def attempt(folder: Path, number: int) -> str:
    """Damage a sample and read it; the same number damages the same sample the same way."""
    kind = INPUTS[number % len(INPUTS)]
    rng = np.random.default_rng(number)
    samples = folder / kind.name
    names = json.loads((samples / "samples.json").read_text())
    name = names[int(rng.integers(0, len(names)))]
    content = (samples / name).read_bytes()
    mutate = kind.mutate if rng.random() < 0.6 else mutated_bytes
    path = samples / f"damaged{Path(name).suffix}"
    path.write_bytes(mutate(content, rng))
    try:
        kind.read(path)
    finally:
        path.unlink(missing_ok=True)
    return "accepted"


def kind_of(number: int) -> str:
    """Name of the kind of file of an attempt."""
    return INPUTS[number % len(INPUTS)].name


def _simulate(scenario: Scenario) -> None:
    setup = scenario.build(visuals=False)
    state = setup.state
    for _ in range(_STEPS):
        h = min(scenario.integrator.dt, 0.1)
        state = setup.simulator.step(state, setup.controller.command(state, h), h).state
    if not (np.isfinite(state.q).all() and np.isfinite(state.v).all()):
        raise AssertionError("a step left numbers that are not finite")


def _recording(folder: Path) -> list[Path]:
    """Of a scenario, of a scene, and of a program, which holds its robot and terrain."""
    run(Scenario.load("sliding-box", overrides=_SHORT), out=folder / "box.npz")
    paths = [folder / "box.npz", folder / "own.npz"]
    if importlib.util.find_spec("mujoco") is not None:
        _, table = _scenes(folder)
        run(Scenario.load(table), out=folder / "scene.npz")
        paths.append(folder / "scene.npz")
    setup = Scenario.load("go2-stairs", overrides=_SHORT).build()
    with Recorder(setup.robot, setup.state, terrain=setup.terrain, out=paths[1]) as recorder:
        recorder.record(setup.simulator.step(setup.state, None, 0.01), 0.001)
    return paths


def _read_recording(path: Path) -> None:
    recording = Recording.load(path)
    compare_table([recording])
    recording.scene()
    table = recording.meta.get("scenario")
    if isinstance(table, dict):
        scenario = Scenario.from_dict(table)
        account(recording, motion_in(recording, scenario)[0])
        _simulate(scenario)


@contextlib.contextmanager
def _replaced(module: ModuleType, name: str, value: Any) -> Iterator[None]:
    """A name of a module that has another value for a while."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def _journal(folder: Path) -> list[Path]:
    setup = Scenario.load("sliding-box", overrides=_SHORT).build(visuals=False)
    recorder = Recorder(setup.robot, setup.state, out=folder / "box.npz")
    results = setup.simulator.run(setup.state, setup.controller, dt=0.01, duration=0.2)
    with _replaced(recorder_module, "_INTERVAL", -1.0):  # a chunk a row
        for result in results:
            recorder.record(result, 0.001)
    left = journal_path(folder / "box.npz")
    shutil.copy(left, folder / "box.unfinished")
    recorder.close()
    return [folder / "box.unfinished"]


def _state(folder: Path) -> list[Path]:
    overrides = [*_SHORT, "integrator.order=2"]
    setup = Scenario.load("sliding-box", overrides=overrides).build(visuals=False)
    *_, last = setup.simulator.run(setup.state, setup.controller, dt=0.01, duration=0.05)
    save_state(folder / "state.npz", last.state)
    return [folder / "state.npz"]


def _read_state(path: Path) -> None:
    state = load_state(path)
    setup = Scenario.load("sliding-box", overrides=["integrator.order=2"]).build(visuals=False)
    setup.simulator.step(state, None, 0.01)


def _failed_step(folder: Path) -> list[Path]:
    hopeless = [
        "integrator.vi_newton.max_iterations=1",
        "integrator.control.min_step=0.05",
        "integrator.dt=0.05",
    ]
    scenario = Scenario.load("robosimian-jump", overrides=["duration=1.0", *hopeless])
    run(scenario, dump=folder / "failed.npz")
    return [folder / "failed.npz"]


def _columns(names: list[str], values: np.ndarray, folder: Path) -> list[Path]:
    lines = [",".join(names), *(",".join(map(repr, row)) for row in values.tolist())]
    (folder / "samples.csv").write_text("\n".join(lines) + "\n")
    np.savez(folder / "samples.npz", **dict(zip(names, values.T, strict=True)))
    return [folder / "samples.csv", folder / "samples.npz"]


def _wrenches(folder: Path) -> list[Path]:
    rng = np.random.default_rng(0)
    depths = np.repeat([0.01, 0.02, 0.03], 12)
    forces = 1e3 * depths[:, None] * rng.normal([0.0, 0.0, 3.0], 1.0, (36, 3))
    names = ["depth [m]", "fx [N]", "fy [N]", "fz [N]"]
    return _columns(names, np.column_stack([depths, forces]), folder)


def _slides(folder: Path) -> list[Path]:
    rng = np.random.default_rng(0)
    twists = rng.standard_normal((30, 3))
    names = ["vx [m/s]", "vy [m/s]", "omega [rad/s]", "fx [N]", "fy [N]", "tau [N m]", "normal [N]"]
    return _columns(names, np.column_stack([twists, 2.0 * twists, np.full(30, 9.0)]), folder)


def _mutated_table(content: bytes, rng: np.random.Generator) -> bytes:
    mutate = mutated_archive if content.startswith(b"PK") else mutated_text
    return mutate(content, rng)


def _limit_surface(folder: Path) -> list[Path]:
    LimitSurface.ellipsoid((1.0, 2.0, 0.5), length=0.1).save(folder / "surface.json")
    return [folder / "surface.json"]


def _cache(folder: Path) -> list[Path]:
    with _replaced(array_cache, "cache_folder", lambda: folder / "cache"):
        array_cache.cached_array("a", "key", lambda: np.ones((2, 3)))
    (kept,) = (folder / "cache").iterdir()
    shutil.copy(kept, folder / "a.array")
    return [folder / "a.array"]


def _read_cache(path: Path) -> None:
    (kept,) = (path.parent / "cache").iterdir()
    shutil.copy(path, kept)
    with _replaced(array_cache, "cache_folder", lambda: path.parent / "cache"):
        found = array_cache.cached_array("a", "key", lambda: np.ones((2, 3)))
    if not np.array_equal(found, np.ones((2, 3))):
        raise AssertionError("a damaged cache was used")


def _heights(folder: Path) -> list[Path]:
    heights = np.random.default_rng(0).random((4, 5))
    np.save(folder / "h.npy", heights)
    np.savetxt(folder / "h.csv", heights, delimiter=",")
    return [folder / "h.npy", folder / "h.csv"]


def _read_heights(path: Path) -> None:
    HeightField(path=str(path), spacing=(0.1, 0.1)).triangles()


def _scenarios(folder: Path) -> list[Path]:
    source = Path(str(resources.files("nmdp_pin.scenarios")))
    names = ("sliding-box", "falling-box-stairs", "finger-block", "robosimian-walk", "ski-slope")
    return [Path(shutil.copy(source / f"{name}.toml", folder)) for name in names]


def _read_scenario(path: Path) -> None:
    _simulate(Scenario.load(path))


def _scenes(folder: Path) -> list[Path]:
    (folder / "scene.xml").write_text(texts.SCENE)
    (folder / "scene.toml").write_text(texts.SCENARIO)
    return [folder / "scene.xml", folder / "scene.toml"]


def _read_scene(path: Path) -> None:
    """A scenario of a scene, or of the file alone with the controls and motions of the sample."""
    if path.suffix == ".toml":
        _simulate(Scenario.load(path))
        return
    table = tomllib.loads(texts.SCENARIO)
    given = {key: table[key] for key in ("controller", "motions", "attachments", "objects")}
    _simulate(Scenario.from_dict(Scenario.load(path).resolved() | given))


def _mutated_scene(content: bytes, rng: np.random.Generator) -> bytes:
    return (mutated_xml if content.startswith(b"<") else mutated_text)(content, rng)


def _robot_settings(folder: Path) -> list[Path]:
    source = Path(str(resources.files("nmdp_pin.robots"))) / "robosimian"
    for path in source.glob("*.urdf"):
        shutil.copy(path, folder)
    return [Path(shutil.copy(source / "robot.toml", folder / "robot.toml"))]


def _read_robot(path: Path) -> None:
    _simulate(Scenario.load("sliding-box", overrides=[f'robot={{urdf="{path}"}}']))


def _read_robot_settings(path: Path) -> None:
    kept = path.rename(path.with_name("robot.toml.damaged"))
    folder = path.parent / "work"
    folder.mkdir(exist_ok=True)
    for urdf in path.parent.glob("*.urdf"):
        shutil.copy(urdf, folder)
    shutil.copy(kept, folder / "robot.toml")
    kept.unlink()
    _read_robot(folder / "robot.toml")


def _urdfs(folder: Path) -> list[Path]:
    source = Path(str(resources.files("nmdp_pin.robots")))
    names = ("box", "hopper", "finger", "chain")
    return [Path(shutil.copy(source / name / f"{name}.urdf", folder)) for name in names]


def _robot_meshes(folder: Path) -> list[Path]:
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=1, radius=0.1)
    paths = [folder / f"ball.{kind}" for kind in ("stl", "obj", "dae")]
    for path in paths:
        ball.export(path)
    return paths


def _read_robot_mesh(path: Path) -> None:
    path.with_suffix(".urdf").write_text(texts.MESH_ROBOT.format(path.name))
    _read_robot(path.with_suffix(".urdf"))


def _mjcfs(folder: Path) -> list[Path]:
    source = resources.files("mujoco") / "testdata" / "model.xml"
    (folder / "robot.xml").write_text(texts.MJCF)
    (folder / "all.xml").write_text(source.read_text())
    return [folder / "robot.xml", folder / "all.xml"]


def _meshes(folder: Path) -> list[Path]:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    stl = b" " * 80 + struct.pack("<I", 4)
    for face in faces:
        stl += struct.pack("<12f", 0, 0, 1, *corners[list(face)].ravel()) + b"\0\0"
    obj = "".join(f"v {x} {y} {z}\n" for x, y, z in corners.tolist())
    obj += "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in faces)
    (folder / "a.stl").write_bytes(stl)
    (folder / "a.obj").write_text(obj)
    return [folder / "a.stl", folder / "a.obj"]


def _read_mesh(path: Path) -> None:
    Mesh(path=str(path))


def _network(folder: Path) -> list[Path]:
    sys.path.insert(0, os.fspath(Path(__file__).resolve().parents[2] / "tests"))
    samples = importlib.import_module("onnx_samples")
    return [samples.write(folder / "net.onnx", samples.weights(6, 5, 3), 6)]


INPUTS = tuple(
    kind
    for kind in (
        Input("recording", _recording, _read_recording, mutated_archive),
        Input("journal", _journal, _read_recording, mutated_bytes),
        Input("state", _state, _read_state, mutated_archive),
        Input("failed-step", _failed_step, lambda p: _repeat(p), mutated_archive),
        Input("wrench-samples", _wrenches, lambda p: _load(WrenchSamples, p), _mutated_table),
        Input("sliding-samples", _slides, lambda p: _load(SlidingSamples, p), _mutated_table),
        Input("limit-surface", _limit_surface, lambda p: _load(LimitSurface, p), mutated_text),
        Input("cache", _cache, _read_cache, mutated_bytes),
        Input("height-field", _heights, _read_heights, mutated_text),
        Input("scenario", _scenarios, _read_scenario, mutated_text),
        Input("robot-settings", _robot_settings, _read_robot_settings, mutated_text),
        Input("urdf", _urdfs, _read_robot, mutated_text),
        Input("robot-mesh", _robot_meshes, _read_robot_mesh, mutated_text),
        Input("mjcf", _mjcfs, _read_robot, mutated_xml),
        Input("scene", _scenes, _read_scene, _mutated_scene),
        Input("mesh", _meshes, _read_mesh, mutated_text),
        Input("onnx", _network, lambda p: _load(OnnxVertices, p), mutated_bytes),
    )
    if kind.name not in _NEEDED or importlib.util.find_spec(_NEEDED[kind.name]) is not None
)


def _repeat(path: Path) -> None:
    FailedStep.load(path).repeat()


def _load(kind: type, path: Path) -> None:
    read = kind if kind is OnnxVertices else kind.load  # type: ignore[attr-defined]
    if read(path) is None:
        raise StateError("nothing was read")
