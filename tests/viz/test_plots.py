"""Plots of recordings and the figures that compare runs."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from PIL import Image
from sample_motion import hop_recording, hop_result, hop_state, hopper
from urdf_samples import hinge, link, write
from urdf_samples import robot as urdf

from nmdp_pin._cli.recordings import run_labels
from nmdp_pin._control import StablePD
from nmdp_pin._robot import free_body, load_robot, together
from nmdp_pin._runs.motion import Motion, motion_of
from nmdp_pin._runs.recorder import Recorder
from nmdp_pin._runs.recording import Recording
from nmdp_pin._runs.run_summary import account, compare_table, distance, fall, flights, height, tilt
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin._terrain import Sphere
from nmdp_pin.errors import MissingExtra, RecordingError
from nmdp_pin.viz.panels import MAX_LINES, Panel, curve, motion_panels, run_panels
from nmdp_pin.viz.plots import _PANEL, _ROW, _title, plot_comparison, plot_recording
from nmdp_pin.viz.style import DPI

pytest.importorskip("matplotlib")

# Rounding of angles in degrees: a few units in the last place of 180.
_ROUNDING = 1e-12
# The interpolation of the hops' arcs between rows 0.05 s apart: h² / 8 · 0.2 π² m.
_INTERPOLATION = 1e-3
# Grey levels of 255: the palette is that of the whole picture, whose least shades it may move.
_SHADES = 60


def _hop_motion(recording: Recording) -> Motion:
    robot = hopper()
    return motion_of(recording, robot, StablePD(robot, kp=10.0, kd=1.0))


def _picture(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        assert image.format == "PNG"
        return np.asarray(image.convert("L")).astype(int)


def _panels(picture: np.ndarray, rows: int, columns: int) -> list[np.ndarray]:
    """The picture cut into its panels."""
    bands = np.array_split(picture, rows, axis=0)
    return [panel for band in bands for panel in np.array_split(band, columns, axis=1)]


def test_plot_follows_the_data(tmp_path: Path) -> None:
    """Twelve panels with a curve in each; another height changes the panel of the height only."""
    recording = hop_recording()
    lowered = dataclasses.replace(recording, base_position=recording.base_position.copy())
    lowered.base_position[10:15, 2] -= 0.05  # within the axis' limits: its labels stay as wide
    first, other = tmp_path / "first.png", tmp_path / "other.png"
    for run, path in ((recording, first), (lowered, other)):
        plot_recording(run, path, motion=_hop_motion(run))
    panels = _panels(_picture(first), 6, 2)
    for panel in panels:
        assert panel.shape[0] > 200
        assert panel.shape[1] > 400
        assert 0.005 < np.mean(panel < 200) < 0.3
    pairs = zip(panels, _panels(_picture(other), 6, 2), strict=True)
    changed = [bool((abs(before - after) > _SHADES).any()) for before, after in pairs]
    assert changed == [True] + [False] * 11


def _failed_run() -> Recording:
    robot = hopper()
    recorder = Recorder(robot, hop_state(robot, 0.0))
    recorder.record(hop_result(robot, 0.05), 0.001)
    recorder.record(hop_result(robot, 0.05, status=Status.NOT_FINITE), 0.001)
    return recorder.recording()


def _single_row() -> Recording:
    robot = hopper()
    return Recorder(robot, hop_state(robot, 0.0)).recording()


def _many_contacts() -> Recording:
    recording, n = hop_recording(), MAX_LINES + 3
    force = np.repeat(recording.contact_forces[:, :1], n, axis=1)
    meta = recording.meta | {"contacts": [f"point_{k}" for k in range(n)]}
    return dataclasses.replace(recording, contact_forces=force, meta=meta)


def _no_contact() -> Recording:
    recording = hop_recording()
    meta = recording.meta | {"contacts": []}
    return dataclasses.replace(recording, contact_forces=np.zeros((recording.n, 0, 3)), meta=meta)


@pytest.mark.parametrize("make", [_failed_run, _single_row, _many_contacts, _no_contact])
def test_unusual_runs_are_plotted(tmp_path: Path, make: object) -> None:
    """A failed run, a single row, many contacts and none: a figure without a warning."""
    path = tmp_path / "run.png"
    plot_recording(make(), path)  # type: ignore[operator]
    assert _picture(path).std() > 1.0


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_formats_of_figures(tmp_path: Path, ending: str) -> None:
    """Each is what its name says, and the same run gives the same bytes."""
    one, two = tmp_path / f"one.{ending}", tmp_path / f"two.{ending}"
    for path in (one, two):
        plot_recording(hop_recording(duration=0.2), path)
    assert {"png": b"PNG", "svg": b"<svg", "pdf": b"%PDF"}[ending] in one.read_bytes()[:1000]
    assert one.read_bytes() == two.read_bytes()


def test_other_formats_are_refused(tmp_path: Path) -> None:
    """The message says which there are."""
    with pytest.raises(RecordingError, match=r"\.png, \.svg or \.pdf"):
        plot_recording(hop_recording(duration=0.2), tmp_path / "run.jpg")


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    """Names of robots, joints and contacts are neither mathematics nor hidden nor commands."""
    names = [r"$\foo$", "$", r"\frac{", "_hidden", "a\x1b[31m\nb", "[red]x", ""]
    recording = hop_recording(duration=0.1)
    force = np.repeat(recording.contact_forces[:, :1], len(names), axis=1)
    meta = recording.meta | {"robot": names[0], "contacts": names}
    renamed = dataclasses.replace(recording, contact_forces=force, meta=meta)
    path = tmp_path / "run.svg"
    joint = _hop_motion(recording).joints[0]
    motion = Motion(tuple(dataclasses.replace(joint, name=name) for name in names))
    plot_recording(renamed, path, motion=motion)
    plot_comparison([renamed] * len(names), names, tmp_path / "compare.png")
    shown = path.read_text(encoding="utf-8").replace("&lt;", "<")
    for name in names:
        if name.isprintable() and name:
            assert shown.count(f"{name}</text>") >= 2


def test_joints_and_targets_are_those_of_the_run() -> None:
    """Angles and torques of the recording, targets of the controller, limits of the model."""
    recording, robot = hop_recording(), hopper()
    robot.model.upperEffortLimit[6] = 20.0
    targets = np.array([0.2, -0.1])

    def reference(t: float) -> tuple[np.ndarray, np.ndarray]:
        return np.concatenate([robot.standing[:7], targets * t]), np.zeros(8)

    motion = motion_of(recording, robot, StablePD(robot, kp=10.0, kd=1.0, gait=reference))
    assert [joint.name for joint in motion.joints] == ["front_hip", "rear_hip"]
    for k, joint in enumerate(motion.joints):
        np.testing.assert_array_equal(joint.q, recording.q[:, 7 + k])
        np.testing.assert_array_equal(joint.torque, recording.tau[:, 6 + k])
        np.testing.assert_allclose(joint.target[1:], targets[k] * recording.t[1:], atol=_ROUNDING)
        assert np.isnan(joint.target[0])
        assert joint.unit == "rad"
    assert motion.joints[0].effort == pytest.approx(np.abs(recording.tau[:, 6]).max() / 20.0)
    assert motion.joints[1].effort == 0.0
    assert motion.joints[0].travel == pytest.approx(0.6, rel=1e-3)
    unknown = motion_of(recording, robot)
    assert all(np.isnan(joint.target).all() for joint in unknown.joints)


def test_angles_of_wheels_have_no_jumps(tmp_path: Path) -> None:
    """A joint without ends has cosine and sine in q: its motion is the angle, turn after turn."""
    wheel = hinge("axle", "base", "wheel", kind="continuous")
    path = write(tmp_path, urdf('<link name="base"/>', link("wheel"), wheel))
    robot = load_robot(path, base="fixed", contacts=[])
    recording = Recorder(robot, State(0.0, robot.standing, np.zeros(1))).recording()
    angles = np.array([0.0, 2.0, 4.0, 6.5])
    turned = dataclasses.replace(
        recording,
        **{
            name: np.repeat(getattr(recording, name), 4, axis=0)
            for name in ("t", "v", "tau", "base_position", "base_rotation")
        },
        q=np.column_stack([np.cos(angles), np.sin(angles)]),
    )
    (axle,) = motion_of(turned, robot).joints
    np.testing.assert_allclose(axle.q, angles, atol=_ROUNDING)


def test_objects_are_followed() -> None:
    """A ball that is moved by 0.3 m and turned by 0.5 rad did so."""
    robot = together(hopper(), [free_body("ball", mass=1.0, shape=Sphere(radius=0.1))])
    q = robot.standing.copy()
    recorder = Recorder(robot, State(0.0, q, np.zeros(robot.model.nv)))
    v = np.zeros(robot.model.nv)
    v[-6:] = [0.3, 0.0, 0.0, 0.0, 0.5, 0.0]
    recording = recorder.recording()
    rows = np.array([q, pin.integrate(robot.model, q, v)])
    moved = dataclasses.replace(
        recording,
        **{
            name: np.repeat(getattr(recording, name), 2, axis=0)
            for name in ("t", "v", "tau", "base_position", "base_rotation")
        },
        q=rows,
    )
    (ball,) = motion_of(moved, robot).objects
    assert ball.name == "ball"
    np.testing.assert_allclose(ball.position[1] - ball.position[0], [0.3, 0, 0], atol=_ROUNDING)
    np.testing.assert_allclose(ball.turned, [0.0, 0.5], atol=_ROUNDING)


def test_free_bodies_of_a_file_are_objects(tmp_path: Path) -> None:
    """Those of an MJCF file and of a URDF, by the names of their links; a base is none."""
    pytest.importorskip("mujoco")
    body = '<body name="{}" pos="{} 0 1"><freejoint/><geom size="0.1"/></body>'
    scene = (
        f"<mujoco><worldbody>{body.format('cup', 0)}{body.format('die', 1)}</worldbody></mujoco>"
    )
    floating = (
        '<joint name="free" type="floating"><parent link="world"/><child link="ball"/></joint>'
    )
    files = {
        "scene.xml": (scene, ["die"]),
        "ball.urdf": (urdf(link("world"), link("ball"), floating), ["ball"]),
        "alone.urdf": (urdf(link("ball")), []),
    }
    for name, (text, expected) in files.items():
        robot = load_robot(write(tmp_path, text, name), visuals=False)
        recording = Recorder(
            robot, State(0.0, robot.standing, np.zeros(robot.model.nv))
        ).recording()
        assert [item.name for item in motion_of(recording, robot).objects] == expected


def test_time_that_nobody_measured_is_not_shown(tmp_path: Path) -> None:
    """A recording from Python without times of computing has no speed of 0."""
    robot = hopper()
    recording = Recorder(robot, State(0.0, robot.standing, np.zeros(robot.model.nv))).recording()
    assert _title(recording).endswith("0 s")
    measured = dataclasses.replace(recording, wall_time=np.array([2.0]))
    assert _title(measured).endswith("0 s in 2 s")


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    """Other robots, other joints, other times; the message says which run and why."""
    one = hop_recording(duration=0.2)
    for other, why in (
        (dataclasses.replace(one, meta=one.meta | {"robot": "cat"}), "of 'cat', not of 'hopper'"),
        (dataclasses.replace(one, meta=one.meta | {"joints": ["a"]}), "other joints or objects"),
        (dataclasses.replace(one, t=one.t + 10.0), "from 10 to 10.2 s"),
    ):
        with pytest.raises(RecordingError, match=rf"b cannot be compared with a: .*{why}"):
            plot_comparison([one, other], ["a", "b"], tmp_path / "compare.png")


def test_runs_are_called_by_what_differs() -> None:
    """Up to three settings that differ make the name; else the file does."""
    one, two = hop_recording(duration=0.2), hop_recording(duration=0.2, dt=0.025)
    paths = [Path("x/a.npz"), Path("y/a.npz")]
    assert run_labels([one, two], paths) == ["integrator.dt = 0.05", "integrator.dt = 0.025"]
    assert run_labels([one, one], paths) == ["x/a.npz", "y/a.npz"]
    assert run_labels([one, one], [Path("a.npz"), Path("b.npz")]) == ["a", "b"]


def test_comparison_shows_all_runs(tmp_path: Path) -> None:
    """A second run is seen in the plot."""
    one, two = hop_recording(duration=2.0), hop_recording(duration=1.0, dt=0.025)
    alone, both = tmp_path / "alone.png", tmp_path / "both.png"
    plot_comparison([one], ["50 ms"], alone)
    plot_comparison([one, two], ["50 ms", "25 ms"], both)
    assert (_picture(alone) != _picture(both)).any()


def test_comparison_needs_a_label_a_run(tmp_path: Path) -> None:
    """Labels that do not match and an empty list are refused."""
    path = tmp_path / "compare.png"
    with pytest.raises(RecordingError, match="1 recordings and 2 labels"):
        plot_comparison([hop_recording()], ["a", "b"], path)
    with pytest.raises(RecordingError, match="0 recordings"):
        plot_comparison([], [], path)
    with pytest.raises(RecordingError, match="none was given"):
        compare_table([])
    assert not path.exists()


def test_unwritable_path_is_refused(tmp_path: Path) -> None:
    """A folder that does not exist is named."""
    with pytest.raises(RecordingError, match="create it first"):
        plot_recording(hop_recording(), tmp_path / "absent" / "run.png")


def test_missing_matplotlib_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without matplotlib the error says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"nmdp-pin\[plots\]"):
        plot_recording(hop_recording(), tmp_path / "run.png")


def test_plots_leave_no_global_state() -> None:
    """Neither importing the plots nor plotting loads pyplot."""
    code = (
        "import sys, tempfile, os; sys.path.insert(0, sys.argv[1]);"
        "import nmdp_pin.viz.plots as p; assert 'matplotlib' not in sys.modules;"
        "from sample_motion import hop_recording;"
        "p.plot_recording(hop_recording(), os.path.join(tempfile.mkdtemp(), 'run.png'));"
        "assert 'matplotlib.figure' in sys.modules;"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(Path(__file__).parents[1])], check=True)


def test_height_distance_and_tilt_of_known_poses() -> None:
    """They are the closed forms, near upright and upside down too."""
    recording = hop_recording()
    np.testing.assert_array_equal(height(recording), recording.q[:, 2])
    np.testing.assert_allclose(distance(recording), 0.5 * recording.t, atol=_ROUNDING)
    angles = np.array([0.0, 1e-9, 1e-3, 1.0, np.pi / 2, 3.0, np.pi])
    rotations = np.array([pin.rpy.rpyToMatrix(a, 0.0, 0.7) for a in angles])
    turned = dataclasses.replace(recording, base_rotation=rotations)
    np.testing.assert_allclose(tilt(turned), np.degrees(angles), rtol=1e-6, atol=_ROUNDING)


def test_table_of_figures() -> None:
    """Each figure is that of the made-up motion."""
    fine, coarse = hop_recording(duration=2.0, dt=0.025), hop_recording(duration=1.0, dt=0.05)
    first, second = compare_table([fine, coarse])
    assert first.duration == pytest.approx(2.0)
    assert (first.dt, second.dt) == (pytest.approx(0.025), pytest.approx(0.05))
    assert first.height_gain == pytest.approx(0.2)
    assert first.distance == pytest.approx(1.0)
    assert second.distance == pytest.approx(0.5)
    assert first.mean_tilt == pytest.approx(np.degrees(0.1) * 2 / np.pi, rel=0.05)
    assert second.mean_iterations == pytest.approx(np.mean(coarse.iterations[1:]))
    assert first.halvings == fine.halvings.sum() > 0
    assert (first.failed, compare_table([_failed_run()])[0].failed) == (0, 1)
    assert second.real_time_factor == pytest.approx(0.05 / 0.002)
    assert first.height_difference == 0.0
    assert second.height_difference < _INTERPOLATION
    sunk = dataclasses.replace(fine, base_position=-fine.base_position)
    assert compare_table([sunk])[0].height_gain == 0.0
    assert "base: rose 0.000 m, sank 0.200 m" in account(sunk)


def test_difference_of_joints_is_found() -> None:
    """A joint that is elsewhere for one row, in the coarser or the finer run."""
    fine, coarse = hop_recording(dt=0.025), hop_recording(dt=0.05)
    bent = dataclasses.replace(coarse, q=coarse.q.copy())
    bent.q[20, -1] += 0.3
    for pair in ([fine, bent], [bent, fine]):
        assert compare_table(pair)[1].difference == pytest.approx(0.3, abs=_INTERPOLATION)


def test_forces_are_shown_where_something_touches() -> None:
    """Runs without contact have no empty panels of forces."""
    recording = hop_recording()
    apart = dataclasses.replace(recording, contact_forces=0.0 * recording.contact_forces)
    assert len(run_panels(recording)) == len(run_panels(apart)) + 2


def test_constant_panels_are_left_out(tmp_path: Path) -> None:
    """A tilt of 1e-13 degrees and equal iterations make none, unless runs differ in them."""
    recording = hop_recording()
    tilted = np.array([pin.rpy.rpyToMatrix(a, 0.0, 0.0) for a in 1e-15 * np.arange(recording.n)])
    flat = dataclasses.replace(recording, iterations=np.full(recording.n, 3), base_rotation=tilted)
    motion = _hop_motion(flat)
    panels = [*motion_panels(flat, motion), *run_panels(flat)]
    assert [panel.varies for panel in panels] == [True, False, *[True] * 8, False, True]
    figure = tmp_path / "figure.png"
    plot_recording(flat, figure, motion=motion)
    assert _picture(figure).shape[0] == pytest.approx(5 * _ROW * DPI, abs=1.0)
    for other, rows in ((flat, 1), (dataclasses.replace(flat, iterations=flat.iterations + 1), 2)):
        plot_comparison([flat, other], ["a", "b"], figure)
        assert _picture(figure).shape[0] == pytest.approx(rows * _PANEL * DPI, abs=1.0)


def test_horizontal_forces_cancel() -> None:
    """The resultant is the length of the sum of the vectors, not the sum of their lengths."""
    recording = hop_recording()
    force = np.zeros((recording.n, 2, 3))
    force[:, 0], force[:, 1] = [3.0, 4.0, 7.0], [-3.0, -1.0, 5.0]
    pushed = dataclasses.replace(
        recording,
        contact_forces=force,
        contact_depths=np.zeros((recording.n, 2)),
        meta=recording.meta | {"contacts": ["a", "b"]},
    )
    from matplotlib.figure import Figure

    figure, shown = Figure(), []
    for panel in run_panels(pushed)[:2]:
        axis = figure.add_subplot()
        panel.fill(axis)
        (total,) = (line for line in axis.lines if line.get_label() == "resultant")
        shown.append(total.get_ydata())
    np.testing.assert_allclose(shown[0], 12.0)
    np.testing.assert_allclose(shown[1], 3.0)


def test_an_axis_spans_no_noise() -> None:
    """A tilt of 1e-13 degrees does not fill a panel; motions that are seen do."""
    from matplotlib.figure import Figure

    def filled(values: list[float], least: float, *, zero: bool) -> tuple[float, float]:
        axis, y = Figure().add_subplot(), np.array(values)
        draw = partial(curve, t=np.arange(len(y)), y=y, name="")
        Panel(draw, [y], least, zero).fill(axis)
        return axis.get_ylim()

    assert filled([0.0, 1e-13, 5e-14], 0.1, zero=True) == (0.0, 0.1)
    low, high = filled([0.0, 30.0, 15.0], 0.1, zero=True)
    assert low == 0.0
    assert 30.0 < high < 40.0
    np.testing.assert_allclose(filled([0.8, 0.8 + 1e-12], 1e-3, zero=False), [0.7995, 0.8005])


def test_flights_and_falls_are_told() -> None:
    """Pauses of 0.1 s or more after contacts, and a base that comes to lie."""
    recording = hop_recording()
    n = recording.n
    force = np.zeros((n, *recording.contact_forces.shape[1:]))
    t = 0.06 * np.arange(n)
    assert n > 20
    force[[2, 3, 6, 8, 9, 14], 0, 2] = 1.0  # apart for two, one, four rows, and the rest
    upright = np.tile(np.eye(3), (n, 1, 1))
    lying = np.tile(pin.rpy.rpyToMatrix(1.5, 0.0, 0.0), (n, 1, 1))
    made = dataclasses.replace(recording, t=t, contact_forces=force, base_rotation=upright)
    assert flights(made) == 3
    assert flights(dataclasses.replace(made, contact_forces=0.0 * force)) == 0
    assert fall(made) is None
    fallen = np.concatenate([upright[:12], lying[12:]])
    made = dataclasses.replace(made, base_rotation=fallen)
    assert fall(made) == 12
    assert fall(dataclasses.replace(made, base_rotation=lying)) is None
    text = account(made)
    assert "jumped 3 times, highest" in text
    assert "in the air at the end; fell at 0.72 s: tilt up to 86 deg" in text
    level = np.tile(recording.base_position[:1], (n, 1))
    still = account(dataclasses.replace(made, base_position=level))
    assert ": left the ground 3 times; in the air at the end" in still
    force[-1, 0, 2] = 1.0
    assert "; landed; fell" in account(dataclasses.replace(made, contact_forces=force))
    force[:] = 0.0
    assert "touched nothing" in account(made)
    force[2:, 0, 2] = 1.0
    assert ": landed at 0.12 s; fell" in account(made)
    force[1, 0, 2] = 1.0
    assert ": fell at" in account(made)
    assert ": kept to the ground\n" in account(dataclasses.replace(made, base_rotation=upright))


def test_difference_of_height_is_found() -> None:
    """A bump in one run is its difference from the first, whichever is finer."""
    fine, coarse = hop_recording(dt=0.025), hop_recording(dt=0.05)
    bumped = dataclasses.replace(coarse, base_position=coarse.base_position.copy())
    bumped.base_position[20, 2] += 0.07
    for pair in ([fine, bumped], [bumped, fine]):
        assert compare_table(pair)[1].height_difference == pytest.approx(0.07, abs=_INTERPOLATION)
