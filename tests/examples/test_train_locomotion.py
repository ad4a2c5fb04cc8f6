"""The training example runs to its end in its short form, and its policies run anywhere."""

import csv
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

for package in ("gymnasium", "jax", "skrl"):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"needs {package}: extra 'rl'", allow_module_level=True)

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "locomotion"
# Least way in 8 s [m], half of what was measured, and bounds of the share of time in the air, which
# was 0.64 and 0.52.
GAITS = {"hopper": (5.2, (0.5, 0.8)), "walker": (3.0, (0.4, 0.65))}
CLEAR = 3e-3  # [m] of a sphere over the ground; far more than a hard contact leaves
SINGLE = 1e-5  # rounding of actions of order 1 in 32 bits, of which skrl's networks are


@pytest.fixture(autouse=True)
def _folder(monkeypatch):
    """The example's files import each other."""
    monkeypatch.syspath_prepend(str(EXAMPLE))


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The folder that the short form leaves, and what it prints."""
    folder = tmp_path_factory.mktemp("locomotion")
    words = ["hopper", "--quick", "--steps", "1024", "--out", str(folder)]
    command = [sys.executable, str(EXAMPLE / "train.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_it_is_tested_on_hard_contact(quick):
    """There is an episode of each method and step, and all of them are in the table."""
    folder, text = quick
    lines = [line for line in text.splitlines() if ": return" in line and " ms" in line]
    assert [tuple(line.split(":")[0].split()) for line in lines] == [
        ("pbfd", "20", "ms"),
        ("ne-ncp", "20", "ms"),
        ("pbfd", "5", "ms"),
        ("ne-ncp", "5", "ms"),
    ]
    with open(folder / "hopper-0-trials.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["pbfd", "ne-ncp"] * 2
    assert all(float(row["return"]) > 0.0 for row in rows)


def in_the_air(env):
    """Whether no contact point is within `CLEAR` of the ground."""
    robot, q = env.simulator.robot, env.state.q
    data, points = robot.model.createData(), robot.contact_points
    pin.forwardKinematics(robot.model, data, q)
    centres = zip(points.joints.tolist(), points.positions, strict=True)
    heights = np.array([data.oMi[joint].act(position)[2] for joint, position in centres])
    return (heights - points.radii).min() > CLEAR


@pytest.mark.parametrize("name", GAITS)
def test_the_kept_policies_go_forward(name):
    """On hard contact at 5 ms, which they were not trained with, one hops and one runs."""
    from policy import Policy
    from task import TASKS

    task, policy = TASKS[name], Policy.load(EXAMPLE / "policies" / f"{name}.npz")
    env = task.env(method="ne-ncp", h=0.005)
    observation, _ = env.reset(seed=1000)
    flights = []
    for _ in range(400):
        action = policy(observation)
        for _ in range(4):
            observation, _, terminated, _, _ = env.step(action)
            assert not terminated
        flights.append(in_the_air(env.unwrapped))
    least, (low, high) = GAITS[name]
    assert env.unwrapped.state.q[0] > least
    assert low <= np.mean(flights) <= high


def test_the_curve_is_kept(quick):
    """The table of the training has an episode a row, in the order in which they ended."""
    with open(quick[0] / "hopper-0-learning.csv", newline="") as file:
        rows = [[float(x) for x in row.values()] for row in csv.DictReader(file)]
    steps, returns, lengths = np.array(rows).T
    assert (np.diff(steps) >= 0.0).all()
    assert np.isfinite(returns).all()
    assert (lengths >= 1.0).all()


def test_it_is_drawn(quick, tmp_path):
    """The tables of one robot make a picture; a running mean needs more episodes than were made."""
    shutil.copy(quick[0] / "hopper-0-trials.csv", tmp_path)
    rows = "".join(f"{100 * k},{k},{k}\n" for k in range(1, 101))
    (tmp_path / "hopper-0-learning.csv").write_text(f"steps,return,length\n{rows}")
    picture = tmp_path / "locomotion.png"
    command = [sys.executable, str(EXAMPLE / "draw.py"), str(tmp_path), str(picture)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_policy_is_what_was_trained(tmp_path):
    """Written and read again, the plain arrays act as skrl's network does."""
    from learning import Actor, policy_of
    from policy import Policy
    from skrl.resources.preprocessors.jax import RunningStandardScaler
    from task import TASKS

    env, random = TASKS["hopper"].env(), np.random.default_rng(0)
    actor = Actor(0.5, observation_space=env.observation_space, action_space=env.action_space)
    actor.init_state_dict(role="policy")
    scaler = RunningStandardScaler(env.observation_space)
    seen = random.normal(1.0, 2.0, (50, 11)).astype(np.float32)
    scaler(seen, train=True)
    policy_of(SimpleNamespace(policy=actor, _observation_preprocessor=scaler)).save(
        tmp_path / "policy.npz"
    )
    policy = Policy.load(tmp_path / "policy.npz")
    mean = actor.act({"observations": scaler(seen)}, role="policy")[1]["mean_actions"]
    found = np.array([policy(observation) for observation in seen])
    assert np.ptp(found) > 10.0 * SINGLE
    np.testing.assert_allclose(found, np.clip(mean, -1.0, 1.0), atol=SINGLE)


@pytest.mark.parametrize("change", ["none", "kernel0", "bias1", "limit"])
def test_other_files_are_no_policies(tmp_path, change):
    """An array that is missing or does not fit is an error of ours."""
    from policy import Policy

    from nmdp_pin.errors import RecordingError

    path = tmp_path / "policy.npz"
    with np.load(EXAMPLE / "policies" / "hopper.npz") as file:
        arrays = dict(file)
    if change == "none":
        del arrays["mean"]
    else:
        arrays[change] = np.zeros((2, 3))
    np.savez(path, **arrays)
    with pytest.raises(RecordingError, match="not a policy"):
        Policy.load(path)
