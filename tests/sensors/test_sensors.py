"""Rates, delays, noise and bias of sensors, and what is refused."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from nmdp_pin import FrictionCone, Plane, Sensors, Simulator, State, Status, Terrain, load_robot
from nmdp_pin._integrators.outcome import failed_step
from nmdp_pin.errors import SensorError
from nmdp_pin.sensors import (
    Accelerometer,
    ContactWrench,
    Gyroscope,
    JointPositions,
    JointWrench,
    Rays,
    Sensor,
    Touch,
)


@dataclass(frozen=True)
class Clock(Sensor):
    """The time, as a sensor of the user."""

    kind: ClassVar[str] = "clock"

    def shape(self, robot):
        return (2,)

    def measure(self, at):
        return np.array([at.state.t, 0.0])


ROBOT = load_robot("hopper")


def readings(sensor: Sensor, *, steps: int = 50, h: float = 0.01, seed: int = 0) -> np.ndarray:
    """What a sensor of the standing hopper reads at the ends of steps from t = 0 on."""
    sensors = Sensors(ROBOT, [sensor])
    read, rows = None, []
    for k in range(steps + 1):
        state = State(k * h, ROBOT.standing, np.zeros(ROBOT.model.nv))
        read = sensors.read(state, read, seed=seed if read is None else None)
        rows.append(read[sensor.key])
    return np.array(rows)


def test_each_step_is_read():
    """Without a rate and a delay readings are those of the end of the step."""
    assert readings(Clock())[:, 0] == pytest.approx(0.01 * np.arange(51))


def test_rate():
    """A sensor of 20 Hz holds its readings for 0.05 s."""
    expected = 0.05 * np.floor(np.arange(51) / 5.0 + 1e-9)
    assert readings(Clock(rate=20.0))[:, 0] == pytest.approx(expected)


def test_delay():
    """What was measured is read later; the first measurement stands for what was before it."""
    expected = np.maximum(0.01 * np.arange(51) - 0.03, 0.0)
    assert readings(Clock(delay=0.03))[:, 0] == pytest.approx(expected)


def test_rate_and_delay():
    """Measurements of 0.05 s are read 0.02 s later."""
    expected = 0.05 * np.floor(np.maximum(np.arange(51) - 2, 0) / 5.0 + 1e-9)
    assert readings(Clock(rate=20.0, delay=0.02))[:, 0] == pytest.approx(expected)


def test_noise_and_bias():
    """Noise has its deviation and follows from the seed; the bias is that of all readings."""
    sensor = Clock(noise=(0.0, 0.3), bias=(0.0, 2.0))
    found = readings(sensor, steps=2000)
    assert found[:, 0] == pytest.approx(0.01 * np.arange(2001))
    assert found[:, 1].mean() == pytest.approx(2.0, abs=4.0 * 0.3 / np.sqrt(2000))
    assert found[:, 1].std() == pytest.approx(0.3, rel=0.1)
    again, other = readings(sensor, steps=9), readings(sensor, steps=9, seed=1)
    assert np.array_equal(again, found[:10])
    assert not (other[:, 1] == again[:, 1]).any()


def test_sensors_do_not_share_noise():
    """Two sensors of the same kind have errors of their own."""
    sensors = Sensors(ROBOT, [Clock(noise=1.0), Clock(noise=1.0, name="other")])
    read = sensors.read(State(0.0, ROBOT.standing, np.zeros(ROBOT.model.nv)))
    assert not (read["clock"] == read["other"]).any()
    assert read.vector.tolist() == [*read["clock"], *read["other"]]
    assert dict(read).keys() == sensors.shapes.keys()
    assert len(read) == 2


def test_reading_is_pure():
    """The same arguments give the same bits, in any order."""
    sensors = Sensors(ROBOT, [Clock(noise=1.0, rate=30.0, delay=0.01)])
    states = [State(0.01 * k, ROBOT.standing, np.zeros(ROBOT.model.nv)) for k in range(20)]
    chain = [sensors.read(states[0], seed=4)]
    for state in states[1:]:
        chain.append(sensors.read(state, chain[-1]))
    for k in (13, 5, 19, 5):
        assert np.array_equal(sensors.read(states[k], chain[k - 1]).vector, chain[k].vector)


def test_a_step_that_failed_is_not_read():
    """Readings stay; first readings are those of its start."""
    sensors = Sensors(ROBOT, [Clock(), Accelerometer()])
    state = State(0.5, ROBOT.standing, np.zeros(ROBOT.model.nv))
    failed = failed_step(
        state,
        Status.STALLED,
        n_contacts=len(ROBOT.contact_points),
        h=0.1,
        iterations=1,
        evaluations=1,
        work=1,
    )
    before = sensors.read(state)
    assert sensors.read(failed, before) is before
    assert np.array_equal(sensors.read(failed).vector, before.vector)


def test_before_the_first_step_the_robot_is_held():
    """The accelerometer feels gravity, and no foot touches, though the robot stands."""
    foot = ROBOT.contact_points.links[0]
    sensors = Sensors(ROBOT, [Accelerometer(), Touch(foot), ContactWrench(foot)])
    read = sensors.read(State(0.0, ROBOT.standing, np.zeros(ROBOT.model.nv)))
    assert np.linalg.norm(read["accelerometer"]) == pytest.approx(9.81)
    assert not read["touch"].any()
    assert not read["contact_wrench"].any()


@pytest.mark.parametrize(
    ("sensor", "words"),
    [
        (Gyroscope("trunc"), "'trunc' is not a link or frame of the robot"),
        (JointWrench("none"), "'none' is not a joint"),
        (JointPositions(("none",)), "'none' is not a joint"),
        (Touch("base"), "is not a link with contact points"),
        (Gyroscope(noise=(1.0, 2.0)), "noise has 2 components"),
        (Gyroscope(bias=(1.0,)), "bias has 1 components"),
        (Rays(((0.0, 0.0, 0.0),)), "must not be"),
    ],
)
def test_what_the_robot_lacks(sensor, words):
    """Sensors are refused when they are put on a robot."""
    if sensor == Touch("base"):
        bare = {frame.name for frame in ROBOT.model.frames} - set(ROBOT.contact_points.links)
        sensor = Touch(sorted(bare)[0])
    with pytest.raises(SensorError, match=words):
        Sensors(ROBOT, [sensor])


def test_two_of_a_name():
    """Readings need distinct names."""
    with pytest.raises(SensorError, match="give them a name="):
        Sensors(ROBOT, [Clock(), Clock()])


@pytest.mark.parametrize(
    "options", [{"rate": 0.0}, {"delay": -1.0}, {"noise": -1.0}, {"bias": "a"}]
)
def test_options_out_of_range(options):
    """They are refused with their name."""
    with pytest.raises(SensorError, match=f"^{next(iter(options))}"):
        Gyroscope(**options)


def test_wrong_readings_before():
    """Readings of other sensors, of a later time, or beside a seed are refused."""
    sensors, still = Sensors(ROBOT, [Clock()]), np.zeros(ROBOT.model.nv)
    read = sensors.read(State(1.0, ROBOT.standing, still))
    with pytest.raises(SensorError, match="the readings before are of t = 1 s"):
        sensors.read(State(0.0, ROBOT.standing, still), read)
    with pytest.raises(SensorError, match="leave out one"):
        sensors.read(State(1.1, ROBOT.standing, still), read, seed=1)
    with pytest.raises(SensorError, match="not of"):
        Sensors(ROBOT, [Accelerometer()]).read(State(1.1, ROBOT.standing, still), read)
    with pytest.raises(SensorError, match="coordinates"):
        sensors.read(State(1.0, np.zeros(1), np.zeros(1)))


def test_readings_of_a_run():
    """The encoders of a run read its states."""
    sim = Simulator(ROBOT, Terrain(Plane()), FrictionCone(stiffness=1e5, power=2))
    sensors = Sensors(ROBOT, [JointPositions(), JointPositions(delay=0.02, name="late")])
    state, rows = sim.state(), []
    read = sensors.read(state)
    for _ in range(4):
        result = sim.step(state, None, 0.01)
        state, read = result.state, sensors.read(result, read)
        rows.append(read)
    assert np.array_equal(rows[3]["late"], rows[1]["joint_positions"])
    assert rows[3]["joint_positions"].shape == (len(ROBOT.driven),)
