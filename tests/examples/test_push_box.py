"""A box pushed to its goal: OMPL's plan in its short form, and what the simulator says of it."""

import sys

import numpy as np
import pytest
from example_programs import EXAMPLES, output

pytest.importorskip("ompl")

from nmdp_pin import Recording
from nmdp_pin._state.status import Status

WANTED = np.array([0.15, 0.03, 0.21])  # of the short form [m], [m], [rad]
# The plan's states pass through OMPL's tangents, and steps are solved to a tolerance without the
# warm start that the replay has.
REPLAYED = 1e-4  # [m], [rad]
SMALL_STEPS = np.array([0.01, 0.01, 0.05])  # [m], [m], [rad] from the end of the plan
RESTING = 1e-3  # [m], [rad] by which the box settles before it is touched
TOUCHED = 0.1  # [N]


@pytest.fixture(scope="module")
def example():
    """The example as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        import push_box_by_ompl

        yield push_box_by_ompl
        sys.modules.pop("push_box_by_ompl")


@pytest.fixture(scope="module")
def simulator(example):
    """The box and the fingertip."""
    return example.scene()


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """What the short form prints, and its folder."""
    folder = tmp_path_factory.mktemp("push")
    return output("push_box_by_ompl", folder, "--quick").splitlines(), folder


@pytest.fixture(scope="module")
def found(example, short):
    """The plan of the short form."""
    with np.load(short[1] / "push-plan.npz") as file:
        return example.Plan(**file)


def pose(simulator, example, q):
    """x, y and angle of the box from its start."""
    return example.box_pose(simulator.robot, q)


def test_the_plan_is_valid(example, simulator, found, short):
    """Each control leads from state to state to the bit; another control does not."""
    assert "valid: True" in short[0][0]
    assert example.valid(simulator, found)
    controls = found.controls.copy()
    controls[-1, 0] += 1e-6
    changed = example.Plan(found.states, controls, found.steps, found.tried)
    assert not example.valid(simulator, changed)


def test_the_box_is_where_it_shall_be(example, simulator, found):
    """The last state is in the goal's region, the first far outside of it."""
    assert (np.abs(found.states[-1][[2, 3, 7]] - WANTED) <= example.TOLERANCE).all()
    assert (np.abs(found.states[0]) == 0.0).all()
    assert np.abs(WANTED / example.TOLERANCE).max() > 4.0


def test_replays_agree(example, simulator, found, short):
    """In large steps from the start the box ends as planned, in small ones not far from there."""
    planned = found.states[-1][[2, 3, 7]]
    large = example.replay(simulator, found, example.LARGE)
    end = large.q[found.steps.sum()]
    np.testing.assert_allclose(pose(simulator, example, end), planned, atol=REPLAYED)
    small = Recording.load(short[1] / "push.npz")
    assert small.dt == pytest.approx(example.SMALL)
    assert (small.status == Status.CONVERGED.code).all()
    assert (np.abs(pose(simulator, example, small.q[-1]) - planned) <= SMALL_STEPS).all()
    assert (short[1] / "push.html").stat().st_size > 1e5


def test_the_box_is_pushed(example, simulator, short):
    """It stays where it is until the fingertip touches it, and force of that contact moves it."""
    recording = Recording.load(short[1] / "push.npz")
    tip = recording.contact_names.index("tip on box")
    force = np.linalg.norm(recording.contact_forces[:, tip], axis=1)
    first = int(np.argmax(force > TOUCHED))
    assert 0 < first < recording.n
    moved = np.array([pose(simulator, example, q) for q in recording.q])
    assert np.abs(moved[: first - 1]).max() < RESTING
    assert np.linalg.norm(moved[-1, :2]) > 0.1


def test_the_search_is_shown(example, simulator):
    """A viewer gets the steps that are tried, in their order, where they lead somewhere."""
    shown = []

    class Window:
        def draw(self, t, q):
            shown.append((t, q))

    example.plan(simulator, WANTED, planner="KPIECE1", most=40, viewer=Window())
    times, poses = zip(*shown, strict=True)
    assert len(times) > 20
    assert list(times) == sorted(times)
    assert np.isfinite(poses).all()
    assert np.shape(poses)[1] == simulator.robot.model.nq
