"""Readings of sensors in recordings."""

import numpy as np
import pytest
from sample_motion import hop_result, hop_state, hopper

from nmdp_pin import Recorder, Recording, Sensors
from nmdp_pin.errors import RecordingError
from nmdp_pin.sensors import Accelerometer, JointPositions


def record(path=None, n: int = 5, seed: int = 0) -> Recording:
    """Recorded states of the standing hopper as a run would record them."""
    robot = hopper()
    sensors = Sensors(robot, [Accelerometer(noise=0.1), JointPositions(delay=0.1)])
    with Recorder(robot, hop_state(robot, 0.0), sensors=sensors, seed=seed, out=path) as recorder:
        for k in range(1, n + 1):
            recorder.record(hop_result(robot, 0.05 * k), 0.001)
    return recorder.recording()


def test_readings_are_recorded(tmp_path):
    """A row holds the readings at its time; the file holds the same bits."""
    path = tmp_path / "run.npz"
    recording = record(path)
    assert recording.readings["accelerometer"].shape == (6, 3)
    late = recording.readings["joint_positions"]
    hips = recording.q[:, -2:]
    assert np.array_equal(late, hips[[0, 0, 0, 1, 2, 3]])
    loaded = Recording.load(path)
    assert loaded.meta["sensors"] == {
        "accelerometer": ["float64", 3],
        "joint_positions": ["float64", 2],
    }
    for name, values in recording.readings.items():
        assert np.array_equal(loaded.readings[name], values)
    assert not (
        record(seed=1).readings["accelerometer"] == recording.readings["accelerometer"]
    ).any()


def test_tables_hold_readings(tmp_path):
    """The columns of a CSV file are called by sensor and component."""
    recording = record()
    recording.write_csv(tmp_path / "run.csv")
    head, *rows = (tmp_path / "run.csv").read_text().splitlines()
    column = head.split(",").index("sensors.accelerometer.2")
    values = [float(row.split(",")[column]) for row in rows]
    assert values == recording.readings["accelerometer"][:, 2].tolist()


def test_damaged_readings_are_refused(tmp_path):
    """Readings that are missing or of a wrong shape are named."""
    path = tmp_path / "run.npz"
    record(path)
    with np.load(path) as file:
        arrays = dict(file)
    del arrays["sensors.accelerometer"]
    np.savez(path, **arrays)
    with pytest.raises(RecordingError, match="lacks the readings of sensor 'accelerometer'"):
        Recording.load(path)
    np.savez(path, **arrays, **{"sensors.accelerometer": np.zeros((6, 2))})
    with pytest.raises(RecordingError, match="expected float64"):
        Recording.load(path)
