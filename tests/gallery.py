"""A picture of every robot in meshcat: python tests/gallery.py FOLDER [ROBOT ...].

A headless Chromium draws. It fails where the window has an error, shows no robot, or has a body
whose meshes are not where Pinocchio has them; the pictures are for looking at. All together are
FOLDER/robots.png, which docs/images has.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
from browser import Browser
from PIL import Image

from nmdp_pin._robot import Robot, bundled_robots, example_robots, load_robot
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.errors import NmdpError
from nmdp_pin.viz.scene import Scene
from nmdp_pin.viz.viewer import Viewer

_SEEN = 0.005  # share of the pixels that the robot changes, at least
_APART = 1e-4  # [m] between a box that is drawn and the one of Pinocchio's meshes, at most
_SIZE = 480, 360
_COLUMNS, _SMALL, _BAR = 12, (125, 86), 30  # of the picture of all, without meshcat's bar
_DRAWN = ["meshcat", "nmdp_pin", "terrain"], ["Daylight"]  # last of all, as pictures take long
_BOXES = """(() => {
    const root = viewer.scene_tree.find(['meshcat', 'nmdp_pin']).object;
    viewer.scene.updateMatrixWorld(true);
    const home = root.matrixWorld.clone().invert();
    return root.children.find(node => node.name === 'bodies').children.map(body => {
        const box = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];
        body.traverse(mesh => {
            if (!mesh.isMesh) return;
            const m = home.clone().multiply(mesh.matrixWorld).elements;
            const points = mesh.geometry.attributes.position.array;
            for (let k = 0; k < points.length; k += 3) for (let i = 0; i < 3; ++i) {
                const x = m[i] * points[k] + m[4 + i] * points[k + 1]
                    + m[8 + i] * points[k + 2] + m[12 + i];
                box[i] = Math.min(box[i], x);
                box[3 + i] = Math.max(box[3 + i], x);
            }
        });
        return [body.name, box];
    });
})()"""


def main(folder: Path, names: list[str]) -> int:
    """Draw the robots; how many failed."""
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    with Browser(width=_SIZE[0], height=_SIZE[1]) as browser:
        for name in names:
            try:
                robot = load_robot(name, contacts=[])  # hundreds of marks are slow to draw
            except NmdpError as error:
                print(f"{name}: not loaded: {error}", flush=True)
                continue
            start = time.perf_counter()
            share, problems = _draw(browser, robot, folder / f"{name}.png")
            fine = share >= _SEEN and not problems
            failed += not fine
            print(
                f"{name}: {'fine' if fine else 'FAILED'}, {100 * share:.1f} % of the picture, "
                f"{time.perf_counter() - start:.1f} s {'; '.join(problems)}",
                flush=True,
            )
    sheet(folder, names)
    print(f"{len(names)} robots, {failed} failed")
    return failed


def sheet(folder: Path, names: list[str]) -> None:
    """Put the pictures of robots into one."""
    paths = [path for name in names if (path := folder / f"{name}.png").exists()]
    (width, height), rows = _SMALL, -(-len(paths) // _COLUMNS)
    whole = Image.new("RGB", (width * _COLUMNS, height * rows), "white")
    for k, path in enumerate(paths):
        with Image.open(path) as picture:
            scene = picture.convert("RGB").crop((0, _BAR, *_SIZE))
        small = scene.resize(_SMALL, Image.Resampling.LANCZOS)
        whole.paste(small, (k % _COLUMNS * width, k // _COLUMNS * height))
    whole.quantize(256).save(folder / "robots.png", optimize=True)


def _draw(browser: Browser, robot: Robot, path: Path) -> tuple[float, list[str]]:
    """Share of the pixels that show the robot, and what is wrong with its meshes."""
    with Viewer(robot, Terrain([Plane(height=_lowest(robot))])) as viewer:
        viewer.draw(0.0, robot.standing)
        browser.errors.clear()
        browser.open(viewer.url)
        find = "viewer.scene_tree.find({}).object"
        ready = [f"{find.format(place)}.children[0]?.children.length > 0" for place in _DRAWN]
        browser.wait_for(" && ".join(ready))
        picture = browser.screenshot(path)
        problems = _misplaced(robot, browser.evaluate(_BOXES))
        for place in ("bodies", "world", "contacts"):
            bodies = find.format(["meshcat", "nmdp_pin", place])
            browser.evaluate(f"{bodies}.visible = false, viewer.set_dirty()")
        browser.evaluate("new Promise(done => setTimeout(done, 500))")
        empty = browser.screenshot()
        problems += [*browser.errors, *viewer._scene.notes]
    return float((np.abs(picture - empty).max(axis=2) > 15).mean()), problems


def _misplaced(robot: Robot, drawn: list[tuple[str, list[float]]]) -> list[str]:
    """Bodies of meshes alone that do not fill the boxes of the meshes that Pinocchio has read."""
    boxes = {name.partition(" ")[0]: np.array(box).reshape(2, 3) for name, box in drawn}
    data, shapes = robot.model.createData(), robot.visual_model.geometryObjects
    pin.forwardKinematics(robot.model, data, robot.standing)
    wrong = []
    for joint in sorted({shape.parentJoint for shape in shapes}):
        own = [shape for shape in shapes if shape.parentJoint == joint]
        if not all(isinstance(shape.geometry, coal.BVHModelBase) for shape in own):
            continue
        places = [data.oMi[joint] * shape.placement for shape in own]
        points = np.vstack(
            [
                shape.geometry.vertices() @ place.rotation.T + place.translation
                for shape, place in zip(own, places, strict=True)
            ]
        )
        box = np.array([points.min(axis=0), points.max(axis=0)])
        if np.abs(box - boxes[str(joint)]).max() > _APART:
            wrong.append(f"{robot.model.names[joint]} is misplaced")
    return wrong


def _lowest(robot: Robot) -> float:
    """Height of the lowest corner of the standing robot [m]."""
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, robot.standing)
    heights = []
    for piece in Scene(robot, None).bodies:
        place = data.oMi[piece.joint].homogeneous @ piece.placement
        heights.append(float((piece.mesh.vertices @ place[2, :3]).min() + place[2, 3]))
    return min(heights, default=0.0)


if __name__ == "__main__":
    chosen = sys.argv[2:] or [*bundled_robots(), *example_robots()]
    sys.exit(1 if main(Path(sys.argv[1]), chosen) else 0)
