"""Recordings: what is kept, what is refused, and that files are whole."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import threading
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from sample_motion import LEG, hop_recorder, hop_recording, hop_result, hop_state, hopper

from nmdp_pin import Scenario, run
from nmdp_pin._cli import main
from nmdp_pin._files.journal import Journal, journal_path
from nmdp_pin._files.output_file import check_writable, write_whole
from nmdp_pin._runs.recorder import Recorder, base_frame
from nmdp_pin._runs.recording import ROWS, Recording
from nmdp_pin._runs.run_summary import summary
from nmdp_pin._state.status import Status
from nmdp_pin.errors import RecordingError

# Kinematics repeats a handful of rotations and sums: far below this, far above rounding.
_ROUNDING = 1e-12
_PATIENCE = 60.0  # [s] for a thread of a busy machine

ARRAYS = tuple(ROWS)
INTEGERS = {name for name, (kind, *_) in ROWS.items() if kind is int}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "run.npz"
    hop_recorder().save(path)
    return path


def test_round_trip_is_exact(tmp_path: Path) -> None:
    """A recording read back holds the same bits and the same facts."""
    recording = hop_recording()
    path = tmp_path / "run.npz"
    recording.save(path)
    loaded = Recording.load(path)
    for name in ARRAYS:
        before, after = getattr(recording, name), getattr(loaded, name)
        assert before.dtype == after.dtype
        assert before.tobytes() == after.tobytes(), name
    assert loaded.meta == recording.meta


def test_fields_and_file_agree() -> None:
    """The arrays of the file are the fields of the class."""
    assert {f.name for f in dataclasses.fields(Recording)} == {*ROWS, "meta", "readings"}


def test_first_row_is_the_initial_state() -> None:
    """The first row has the initial state, its energies, no force and no objective."""
    robot, recording = hopper(), hop_recording()
    state = hop_state(robot, 0.0)
    assert recording.t[0] == 0.0
    np.testing.assert_array_equal(recording.q[0], state.q)
    np.testing.assert_array_equal(recording.v[0], state.v)
    assert not recording.contact_forces[0].any()
    assert recording.kinetic_energy[0] == pytest.approx(0.5 * 12.0 * 0.5**2)
    data = robot.model.createData()
    energy = pin.computePotentialEnergy(robot.model, data, state.q)
    assert recording.potential_energy[0] == energy
    assert np.isnan(recording.objective[0])


def test_rows_are_the_results() -> None:
    """Every row holds what its step left, beyond the first block of memory too."""
    robot = hopper()
    recording = hop_recording(duration=50.0)
    assert recording.n == 1001
    for k in (1, 10, 255, 256, 257, 1000):
        result = hop_result(robot, k * 0.05)
        assert recording.t[k] == result.state.t
        np.testing.assert_array_equal(recording.q[k], result.state.q)
        np.testing.assert_array_equal(recording.tau[k], result.tau)
        np.testing.assert_array_equal(recording.contact_forces[k], result.contact_forces)
        np.testing.assert_array_equal(recording.contact_depths[k], result.contact_depths)
        assert recording.objective[k] == result.objective
        assert recording.iterations[k] == result.iterations
        assert recording.evaluations[k] == result.evaluations
        assert recording.step_size[k] == min(result.step_sizes)
        assert recording.halvings[k] == result.halvings


def test_work_of_the_solver_is_recorded() -> None:
    """Residual, rejected and discarded tries, conditioning and error are those of the result."""
    robot = hopper()
    recorder = Recorder(robot, hop_state(robot, 0.0))
    figures = {"rejected": 2, "discarded": 3, "condition": 1e4, "error": 0.7}
    recorder.record(dataclasses.replace(hop_result(robot, 0.05), **figures), 0.001)
    recording = recorder.recording()
    for name, value in {**figures, "residual": 1e-9}.items():
        column = getattr(recording, name)
        assert column[1] == value
        assert column[0] == 0 if name in INTEGERS else np.isnan(column[0])


def test_summary_figures() -> None:
    """Duration, usual step and real-time factor follow from the rows."""
    recording = hop_recording(duration=2.0, dt=0.05)
    assert recording.duration == pytest.approx(2.0)
    assert recording.dt == pytest.approx(0.05)
    assert recording.real_time_factor == pytest.approx(0.05 / 0.002)
    robot = hopper()
    alone = Recorder(robot, hop_state(robot, 0.0)).recording()
    assert (alone.n, alone.dt, alone.duration, alone.real_time_factor) == (1, 0.0, 0.0, 0.0)


def test_the_row_of_a_run() -> None:
    """Depths of all steps, the tilt at the end in degrees; a step that failed buries nothing."""
    words = ["duration=0.06", "integrator.dt=0.02"]
    scenario = Scenario.load("sliding-box", overrides=words)
    made = run(scenario)
    q, status, turned = made.q.copy(), made.status.copy(), made.base_rotation.copy()
    depths = np.zeros_like(made.contact_depths)
    q[-1, 2], status[-1], depths[1, 0] = -1.0, 1, 0.02
    turned[-1] = pin.rpy.rpyToMatrix(0.3, 0.0, 1.0)
    changed = dataclasses.replace(
        made, q=q, status=status, contact_depths=depths, base_rotation=turned
    )
    row = summary(changed, scenario.build(visuals=False))
    assert row["max_penetration"] == 0.02
    assert row["tilt"] == pytest.approx(np.degrees(0.3))
    assert row["buried"] < 0.01


def test_kinematics_of_base_and_feet() -> None:
    """Base pose and contact points in the world are those of the closed form."""
    recording = hop_recording()
    robot = hopper()
    for k in (0, 7, 40):
        q = recording.q[k]
        pitch = 0.1 * np.sin(2 * np.pi * recording.t[k])
        rotation = pin.rpy.rpyToMatrix(0.0, pitch, 0.0)
        np.testing.assert_allclose(recording.base_position[k], q[:3], atol=_ROUNDING)
        np.testing.assert_allclose(recording.base_rotation[k], rotation, atol=_ROUNDING)
        leg = pin.rpy.rpyToMatrix(0.0, q[7], 0.0) @ np.array([0.0, 0.0, -LEG])
        foot = q[:3] + rotation @ (np.array([0.25, 0.0, -0.1]) + leg)
        np.testing.assert_allclose(recording.contact_positions[k, 0], foot, atol=_ROUNDING)
    assert base_frame(robot.model) == robot.model.getFrameId("torso")


def test_base_of_a_sliding_base_is_its_first_heavy_link() -> None:
    """Massless links of sliders before the torso are not taken for the base."""
    model = pin.Model()
    slide = model.addJoint(0, pin.JointModelPX(), pin.SE3.Identity(), "root_x")
    model.addBodyFrame("carriage", slide, pin.SE3.Identity(), 0)
    turn = model.addJoint(slide, pin.JointModelRY(), pin.SE3.Identity(), "root_pitch")
    model.appendBodyToJoint(turn, pin.Inertia.FromSphere(2.0, 0.1), pin.SE3.Identity())
    model.addBodyFrame("torso", turn, pin.SE3.Identity(), 0)
    assert base_frame(model) == model.getFrameId("torso")


def test_meta_states_what_is_needed_to_repeat_the_run() -> None:
    """Scenario, versions and names are in the file."""
    meta = hop_recording().meta
    assert meta["scenario"] == {"integrator": {"dt": 0.05}}
    assert meta["versions"]["pin"] == pin.__version__
    assert meta["versions"]["numpy"] == np.__version__
    assert set(meta["versions"]) == {"nmdp-pin", "pin", "coal", "proxsuite", "numpy"}
    assert meta["robot"] == "hopper"
    assert meta["joints"] == ["root", "front_hip", "rear_hip"]
    assert meta["contacts"] == ["front_foot", "rear_foot"]
    assert meta["statuses"][Status.SINGULAR.code] == Status.SINGULAR.value


def test_failed_step_is_recorded() -> None:
    """The status of a step that failed is kept."""
    robot = hopper()
    recorder = Recorder(robot, hop_state(robot, 0.0))
    recorder.record(hop_result(robot, 0.05, status=Status.NOT_FINITE), 0.001)
    assert recorder.recording().status.tolist() == [0, Status.NOT_FINITE.code]


def test_recorder_copies_what_it_is_given() -> None:
    """Arrays that change after a record do not change the recording."""
    robot = hopper()
    recorder = Recorder(robot, hop_state(robot, 0.0))
    result = hop_result(robot, 0.05)
    recorder.record(result, 0.001)
    result.state.q[:] = 7.0
    first = recorder.recording()
    assert not (first.q == 7.0).any()
    first.q[:] = 9.0
    assert not (recorder.recording().q == 9.0).any()


def test_interrupted_record_leaves_whole_rows() -> None:
    """An interrupt in the middle of a record loses that row only."""
    recorder = hop_recorder()
    before = recorder.recording()

    class Interrupting:
        """A result that is interrupted while it is read."""

        def __getattr__(self, name: str) -> object:
            if name == "contact_forces":
                raise KeyboardInterrupt
            return getattr(hop_result(hopper(), 9.0), name)

    with pytest.raises(KeyboardInterrupt):
        recorder.record(Interrupting(), 0.001)  # type: ignore[arg-type]
    after = recorder.recording()
    assert after.n == before.n
    assert after.t[-1] == before.t[-1]


def test_meta_that_is_no_json_is_refused_before_the_run() -> None:
    """A run does not find out at its end that it cannot be saved."""
    robot = hopper()
    with pytest.raises(RecordingError, match="JSON"):
        Recorder(robot, hop_state(robot, 0.0), {"scenario": object()})


def test_no_such_file(tmp_path: Path) -> None:
    """A recording that does not exist is named."""
    with pytest.raises(RecordingError, match=r"there is no recording '.*absent\.npz'"):
        Recording.load(tmp_path / "absent.npz")
    with pytest.raises(RecordingError, match="is a folder"):
        Recording.load(tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.7, 0.99])
def test_truncated_file_is_refused(saved: Path, share: float) -> None:
    """A file that ends early is refused wherever it ends."""
    whole = saved.read_bytes()
    saved.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(RecordingError, match="truncated"):
        Recording.load(saved)


def test_flipped_bytes_are_refused(saved: Path) -> None:
    """Damage inside the file is found by its checksums, wherever it is."""
    whole = saved.read_bytes()
    with zipfile.ZipFile(saved) as archive:
        offsets = [info.header_offset + 80 for info in archive.infolist()]
    for offset in offsets:
        damaged = bytearray(whole)
        damaged[offset] ^= 0xFF
        saved.write_bytes(bytes(damaged))
        with pytest.raises(RecordingError, match=r"damaged|meta data|lacks|shape|type"):
            Recording.load(saved)


def test_other_files_are_refused(tmp_path: Path) -> None:
    """Text, an archive of something else and pickled objects are no recordings."""
    text = tmp_path / "text.npz"
    text.write_text("no archive")
    with pytest.raises(RecordingError, match="not a recording"):
        Recording.load(text)
    other = tmp_path / "other.npz"
    np.savez(other, a=np.zeros(3))
    with pytest.raises(RecordingError, match="lacks meta"):
        Recording.load(other)
    objects = tmp_path / "objects.npz"
    np.savez(objects, t=np.array([{"code": "runs"}], dtype=object))
    with pytest.raises(RecordingError, match="damaged"):
        Recording.load(objects)


def _rewrite(path: Path, **changes: np.ndarray | None) -> None:
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays = {k: v for k, v in (arrays | changes).items() if v is not None}
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tau": None}, "lacks tau"),
        ({"tau": np.zeros((3, 2))}, r"tau has shape \(3, 2\), expected \(41, 8\)"),
        ({"t": np.zeros((2, 2))}, r"t has shape \(2, 2\)"),
        ({"t": np.zeros(0)}, r"t has shape \(0,\)"),
        ({"status": np.zeros(41)}, "status has the type float64"),
        ({"q": np.full((41, 9), "x")}, "q has the type <U1"),
        ({"meta": np.array("{")}, "meta data"),
        ({"meta": np.array("[1]")}, "meta data"),
        ({"meta": np.array('{"format": 4}')}, "meta data"),
    ],
)
def test_wrong_content_is_named(
    saved: Path, changes: dict[str, np.ndarray | None], message: str
) -> None:
    """An array that is missing or wrong is named, with what was expected."""
    _rewrite(saved, **changes)
    with pytest.raises(RecordingError, match=message):
        Recording.load(saved)


@pytest.mark.parametrize(
    "changes",
    [
        {"contacts": ["one", "more", "than", "it", "has"]},
        {"contacts": []},
        {"contacts": [1, 2]},
        {"sizes": {"nq": 9, "nv": 8, "nc": -1}},
    ],
    ids=lambda changes: str(changes),
)
def test_meta_data_that_disagree_are_refused(saved: Path, changes: dict[str, object]) -> None:
    """There are as many names as contact points."""
    with np.load(saved) as archive:
        meta = json.loads(str(archive["meta"]))
    assert len(meta["contacts"]) not in (0, 5)
    _rewrite(saved, meta=np.array(json.dumps(meta | changes)))
    with pytest.raises(RecordingError, match="meta data"):
        Recording.load(saved)


@pytest.mark.parametrize("version", [-1, 0, 3, 99])
def test_other_formats_are_refused(saved: Path, version: int) -> None:
    """A file of another version names it, whatever its arrays are called."""
    with np.load(saved) as archive:
        meta = json.loads(str(archive["meta"]))
    _rewrite(saved, contact_forces=None, meta=np.array(json.dumps(meta | {"format": version})))
    with pytest.raises(RecordingError, match=f"has format {version}"):
        Recording.load(saved)


def test_unwritable_paths_are_refused_before_the_run(tmp_path: Path) -> None:
    """A missing folder, a folder in place of the file and a file in place of the folder."""
    with pytest.raises(RecordingError, match=r"no folder '.*absent'; create it first"):
        check_writable(tmp_path / "absent" / "run.npz")
    with pytest.raises(RecordingError, match="it is a folder"):
        check_writable(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match="create it first"):
        check_writable(tmp_path / "file" / "run.npz")
    with pytest.raises(RecordingError, match=r"cannot write /proc/run\.npz"):
        check_writable("/proc/run.npz")  # not writable even for the superuser
    with pytest.raises(RecordingError, match=r"cannot write /proc/run\.npz"):
        hop_recorder(duration=0.1).save("/proc/run.npz")


def test_check_leaves_nothing_behind(tmp_path: Path, saved: Path) -> None:
    """Asking whether a file can be written neither makes one nor touches the old one."""
    before = saved.read_bytes()
    check_writable(saved)
    check_writable(tmp_path / "new.npz")
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.npz"]
    assert saved.read_bytes() == before


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_file_is_whole_or_the_old_one(tmp_path: Path, error: BaseException) -> None:
    """Where writing breaks off, the old file stays and no scrap is left."""
    path = tmp_path / "run.npz"
    path.write_bytes(b"old")

    def break_off(file: object) -> None:
        file.write(b"half")  # type: ignore[attr-defined]
        raise error

    expected = RecordingError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write_whole(path, break_off)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["run.npz"]


def _record_half(out: Path, steps: int) -> Recorder:
    """A recorder that keeps its journal after every step, and is not closed."""
    robot = hopper()
    recorder = Recorder(robot, hop_state(robot, 0.0), {"scenario": {}}, out=out)
    for k in range(1, steps + 1):
        recorder.record(hop_result(robot, 0.05 * k), 0.001)
    return recorder


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row goes to the journal at once."""
    monkeypatch.setattr("nmdp_pin._runs.recorder._INTERVAL", -1.0)


@pytest.mark.usefixtures("eager")
def test_a_journal_is_the_recording_so_far(tmp_path: Path) -> None:
    """What a killed run leaves is read as a recording, to the bit; closing makes the recording."""
    out = tmp_path / "run.npz"
    recorder = _record_half(out, 7)
    assert os.listdir(tmp_path) == ["run.npz.unfinished"]
    half, truth = Recording.load(journal_path(out)), recorder.recording()
    assert half.n == 8
    for name in ARRAYS:
        assert getattr(half, name).tobytes() == getattr(truth, name).tobytes(), name
    assert half.meta == truth.meta
    with pytest.raises(RecordingError, match="recover"):
        Recording.load(out)
    recorder.close()
    assert os.listdir(tmp_path) == ["run.npz"]
    assert Recording.load(out).q.tobytes() == truth.q.tobytes()


@pytest.mark.usefixtures("eager")
def test_a_damaged_journal_is_read_up_to_the_damage(tmp_path: Path) -> None:
    """Wherever it is cut or a bit is flipped, whole rows before that place are read, or none."""
    out = tmp_path / "run.npz"
    recorder = _record_half(out, 5)
    path = journal_path(out)
    whole, truth = path.read_bytes(), recorder.recording()
    recorder.close()
    rng, counts = np.random.default_rng(0), []
    for place in rng.integers(0, len(whole), 60):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.integers(8)
        for content in (whole[:place], bytes(flipped)):
            path.write_bytes(content)
            try:
                found = Recording.load(path)
            except RecordingError:
                continue
            assert found.q.tobytes() == truth.q[: found.n].tobytes()
            counts.append(found.n)
    assert set(counts) == {1, 2, 3, 4, 5}


def test_rows_reach_the_journal_before_a_long_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row is in the file with the first one 20 ms later."""
    now = [0.0]
    monkeypatch.setattr("nmdp_pin._runs.recorder.time.monotonic", lambda: now[0])
    recorder = _record_half(tmp_path / "run.npz", 3)
    path = journal_path(tmp_path / "run.npz")
    assert Recording.load(path).n == 1
    for now[0], rows in ((0.021, 5), (0.03, 5), (0.042, 7)):
        recorder.record(hop_result(hopper(), 1.0), 0.001)
        assert Recording.load(path).n == rows
    recorder.close()


def test_rows_reach_the_disk_during_a_long_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is synchronised again and again while no row is added, until it is closed."""
    monkeypatch.setattr("nmdp_pin._runs.recorder._SYNC", 1e-3)
    again = threading.Semaphore(0)
    monkeypatch.setattr("nmdp_pin._files.journal.os.fsync", lambda file: again.release())
    threads = {*threading.enumerate()}  # some may end meanwhile
    recorder = _record_half(tmp_path / "run.npz", 3)
    assert all(again.acquire(timeout=_PATIENCE) for _ in range(10))
    recorder.close()
    assert {*threading.enumerate()} <= threads


def test_a_recorder_that_is_dropped_unlocks_its_journal(tmp_path: Path) -> None:
    """The thread that synchronises the file does not keep it open."""
    recorder = _record_half(tmp_path / "run.npz", 3)
    with warnings.catch_warnings(action="ignore"):  # a file that is not closed
        del recorder
    Journal(journal_path(tmp_path / "run.npz")).close()


@pytest.mark.usefixtures("eager")
def test_an_error_in_a_run_keeps_its_rows(tmp_path: Path) -> None:
    """Whatever ends the block, the recording is written."""
    out = tmp_path / "run.npz"
    with pytest.raises(ZeroDivisionError), _record_half(out, 4):
        _ = 1 / 0
    assert Recording.load(out).n == 5


@pytest.mark.usefixtures("eager")
def test_a_full_disk_keeps_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full ends the run; the rows before stay readable, and are named."""
    monkeypatch.setattr("nmdp_pin._runs.recorder._SYNC", 1e-3)
    out, failed = tmp_path / "run.npz", threading.Semaphore(0)
    recorder = _record_half(out, 4)

    def full(*args: object) -> None:
        failed.release()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        for _ in range(2):  # the second call comes after the first
            assert failed.acquire(timeout=_PATIENCE)
        with pytest.raises(RecordingError, match="No space left"):
            recorder.record(hop_result(hopper(), 1.0), 0.001)
        with pytest.raises(RecordingError, match="nmdp-pin recover"):
            recorder.close()
    assert Recording.load(journal_path(out)).n == 5


@pytest.mark.usefixtures("eager")
def test_two_runs_do_not_share_a_file(tmp_path: Path, saved: Path) -> None:
    """Neither what is there, nor what a killed run left, nor what another writes is replaced."""
    before = saved.read_bytes()
    with pytest.raises(RecordingError, match="there already"):
        _record_half(saved, 1)
    assert saved.read_bytes() == before
    out = tmp_path / "other.npz"
    recorder = _record_half(out, 3)
    with pytest.raises(RecordingError, match="another process"):
        _record_half(out, 1)
    left = journal_path(out).read_bytes()
    recorder.close()
    out.unlink()
    journal_path(out).write_bytes(left)
    with pytest.raises(RecordingError, match="was killed"):
        _record_half(out, 1)
    assert Recording.load(journal_path(out)).n == 4
    robot = hopper()
    with Recorder(robot, hop_state(robot, 0.0), out=out, replace=True):
        pass
    assert Recording.load(out).n == 1


@pytest.mark.parametrize(
    "chunks",
    [
        [],
        [b"{}"],
        [b"[1]"],
        [b"\xff"],
        [json.dumps({"format": 4}).encode()],
        [json.dumps({"format": 4, "sizes": {"nq": 10**15, "nv": 1, "nc": 0}}).encode()],
    ],
)
def test_other_journals_are_refused(tmp_path: Path, chunks: list[bytes]) -> None:
    """A journal of something else is no recording."""
    path = tmp_path / "a.npz.unfinished"
    with Journal(path) as journal:
        for chunk in chunks:
            journal.append(chunk)
    with pytest.raises(RecordingError):
        Recording.load(path)


@pytest.mark.usefixtures("eager")
def test_rows_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """A chunk that is not a number of whole rows."""
    recorder = _record_half(tmp_path / "a.npz", 2)
    recorder.close()
    path = tmp_path / "b.npz.unfinished"
    with Journal(path) as journal:
        journal.append(json.dumps(recorder.recording().meta).encode())
        journal.append(b"123")
    with pytest.raises(RecordingError, match="not the journal of a recording"):
        Recording.load(path)


def test_a_sparse_journal_takes_no_memory(tmp_path: Path) -> None:
    """A terabyte of nothing behind the first bytes is not read, and is cut off by the next run."""
    path = tmp_path / "a.npz.unfinished"
    with Journal(path) as journal:
        journal.append(b"{}")
    with path.open("r+b") as file:
        file.truncate(2**40)
    with Journal(path) as journal:
        assert journal.chunks == [b"{}"]
    assert path.stat().st_size < 1000


def test_a_recording_is_exported_as_a_table(tmp_path: Path) -> None:
    """Each number has a column with its name, and statuses are words."""
    recording = hop_recording()
    recording.save(tmp_path / "run.npz")
    with pytest.raises(SystemExit, match="0"):
        main(["export", str(tmp_path / "run.npz"), str(tmp_path / "run.csv")])
    with (tmp_path / "run.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == recording.n
    name = recording.contact_names[0]
    names = ("t", "q.0", f"contact_forces.{name}.2")
    found = np.array([[float(row[name]) for name in names] for row in rows])
    np.testing.assert_array_equal(found[:, 0], recording.t)
    np.testing.assert_array_equal(found[:, 1], recording.q[:, 0])
    np.testing.assert_array_equal(found[:, 2], recording.contact_forces[:, 0, 2])
    assert {row["status"] for row in rows} == {"converged"}
