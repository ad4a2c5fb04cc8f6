"""Failed steps in files: whole, checked, and repeated to the bit."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from contracts.integrator import assert_same_bits

from nmdp_pin._cli import main
from nmdp_pin._control import Command
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._runs.failed_step import FIGURES, FailedStep, figures
from nmdp_pin._runs.recording import Recording
from nmdp_pin._scenario import Scenario
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._simulator.step_control import Halving, StepFailed
from nmdp_pin._state.status import Status
from nmdp_pin.errors import NmdpError, RecordingError, ScenarioError, StateError

JUMP = ["integrator.name=pbd-nmdp", "integrator.order=2", "integrator.dt=0.02"]
# One iteration does not get that far; two halvings are tried.
HOPELESS = [
    "integrator.vi_newton.max_iterations=1",
    "integrator.vi_newton.tolerance=1e-10",
    "integrator.control.min_step=0.005",
]
PATIENCE = 60  # [s] for another process on a machine that is busy


@pytest.fixture(scope="module")
def failed() -> FailedStep:
    """A step that fails in the middle of a jump: with warm start and PD targets."""
    setup = Scenario.load("robosimian-jump-paper", overrides=JUMP).build(visuals=False)
    run = setup.simulator.run(setup.state, setup.controller, dt=0.02, duration=0.1)
    middle = list(run)[-1].state
    assert middle.warm is not None
    scenario = Scenario.load("robosimian-jump-paper", overrides=[*JUMP, *HOPELESS])
    simulator = scenario.build(visuals=False).simulator
    middle = replace(middle, h_next=0.01)
    with pytest.raises(StepFailed) as caught:
        list(simulator.run(middle, setup.controller, dt=0.02, duration=0.1, on_failure="raise"))
    assert caught.value.result.state is middle
    return FailedStep.of(caught.value, scenario)


@pytest.fixture
def saved(failed, tmp_path):
    """The file of that step."""
    path = tmp_path / "failed.npz"
    failed.save(path)
    return path


def command(*words) -> int:
    """Exit code of a command run in this process."""
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    return int(end.value.code or 0)


def same(a: dict, b: dict) -> bool:
    """Whether the figures are the same to the bit, NaN included."""
    return json.dumps(a) == json.dumps(b)


def test_round_trip_is_exact(failed, saved):
    """State, warm start, command and length come back with the same bits."""
    loaded = FailedStep.load(saved)
    a, b = failed.state, loaded.state
    pairs = [(a.q, b.q), (a.v, b.v)]
    pairs += [(getattr(a.warm, n), getattr(b.warm, n)) for n in ("contacts", "w", "joints", "a")]
    pairs += [
        (getattr(failed.command, n), getattr(loaded.command, n))
        for n in ("kp", "kd", "q_target", "v_target")
    ]
    pairs += [(a.t, b.t), (a.h_next, b.h_next), (a.warm.gamma, b.warm.gamma), (failed.h, loaded.h)]
    for before, after in pairs:
        assert np.asarray(before).tobytes() == np.asarray(after).tobytes()
    assert loaded.command.tau is None
    assert same(failed.outcome, loaded.outcome)
    assert (loaded.versions, loaded.scenario) == (failed.versions, failed.scenario)


def test_repeat_is_exact_in_another_process(failed, saved):
    """A fresh process makes the step again: the same status, counters and residual, to the bit."""
    code = (
        "import json, sys; from nmdp_pin._runs.failed_step import FailedStep, figures; "
        "print(json.dumps(figures(FailedStep.load(sys.argv[1]).repeat())))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(saved)],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    again = json.loads(done.stdout)
    assert same(again, failed.outcome)
    assert again["status"] == Status.ITERATION_LIMIT.value
    assert again["evaluations"] > 0
    assert again["residual"] > 0.0
    assert again["discarded"] == 3  # 20, 10 and 5 ms
    assert set(again) == {"status", "step_sizes", *FIGURES}


def test_repeat_with_other_options(saved):
    """A change to the scenario shows whether it helps; the file's own scenario stays."""
    loaded = FailedStep.load(saved)
    assert (
        loaded.repeat(overrides=["integrator.vi_newton.max_iterations=100"]).status
        is Status.CONVERGED
    )
    assert not loaded.repeat().status.ok
    shorter = loaded.repeat(overrides=["integrator.control.min_step=1e-4"])  # as the help has it
    assert shorter.status is Status.CONVERGED
    with pytest.raises(ScenarioError, match="max_iterations"):
        loaded.repeat(overrides=["integrator.vi_newton.max_iterations=0"])


@pytest.mark.parametrize("key", ["duration", "integrator.dt", "disturbances.0.start"])
def test_repeat_keeps_the_step(saved, key):
    """Its length, and the command that its push gave; the scenario's own are refused."""
    standing = Scenario.load("pushed-block").resolved()  # whose push does not follow the time
    step = replace(FailedStep.load(saved), scenario=standing)
    with pytest.raises(ScenarioError, match=f"{key}: a step is repeated with its length"):
        step.repeat(overrides=[f"{key}=0.5"])


def test_simulators_built_by_hand(failed, tmp_path):
    """Without a scenario the step is repeated with a simulator that is given."""
    setup = Scenario.load("robosimian-jump-paper", overrides=JUMP).build(visuals=False)
    alone = replace(failed, scenario=None)
    alone.save(tmp_path / "alone.npz")
    loaded = FailedStep.load(tmp_path / "alone.npz")
    assert loaded.scenario is None
    expected = setup.simulator.step(failed.state, failed.command, failed.h)
    assert_same_bits(loaded.repeat(setup.simulator), expected)
    with pytest.raises(RecordingError, match=r"repeat\(simulator\)"):
        loaded.repeat()


def test_a_bare_state_is_enough(tmp_path):
    """No warm start, no command: the file holds what there is."""
    setup = Scenario.load("robosimian-jump-paper").build(visuals=False)
    sim = Simulator(
        setup.robot,
        setup.terrain,
        setup.simulator.contact,
        control=Halving(min_step=0.05),
        vi_newton=ViNewton(max_iterations=1),
    )
    result = sim.step(setup.state, None, 0.05)
    assert not result.status.ok
    path = tmp_path / "bare.npz"
    FailedStep.of(StepFailed(result, Command(), 0.05)).save(path)
    loaded = FailedStep.load(path)
    assert (loaded.state.warm, loaded.state.h_next) == (None, None)
    assert same(figures(loaded.repeat(sim)), figures(result))


def test_another_robot_is_refused(failed):
    """A step is not taken over by a robot of another size."""
    setup = Scenario.load("sliding-box").build(visuals=False)
    with pytest.raises(StateError, match="q has shape"):
        failed.repeat(setup.simulator)


def rewrite(path, **changes) -> None:
    """The file with some arrays changed; None takes one out."""
    with np.load(path) as archive:
        arrays = dict(archive) | changes
    np.savez(path, **{k: v for k, v in arrays.items() if v is not None})


def edit(path, **changes) -> None:
    """The file with some meta data changed; None takes a key out."""
    with np.load(path) as archive:
        meta = json.loads(str(archive["meta"])) | changes
    meta = {k: v for k, v in meta.items() if v is not None}
    rewrite(path, meta=np.array(json.dumps(meta)))


@pytest.mark.parametrize(
    "changes",
    [
        {"meta": None},
        {"meta": np.array("{")},
        {"meta": np.array("[1]")},
        {"meta": np.array(1.0)},
        {"q": None},
        {"q": np.zeros((3, 3))},
        {"q": np.full(15, "x")},
        {"w": np.zeros(24)},
        {"contacts": None},
        {"contacts": np.zeros(4)},
    ],
)
def test_wrong_content_is_refused(saved, changes):
    """What is missing or of a wrong type is an error of ours, at the latest in the step."""
    rewrite(saved, **changes)
    with pytest.raises(NmdpError):
        FailedStep.load(saved).repeat()


@pytest.mark.parametrize(
    "changes",
    [
        {"failed_step": None},
        {"failed_step": 99},
        {"h": None},
        {"h": "x"},
        {"gamma": None},
        {"outcome": None},
        {"scenario": 3},
    ],
)
def test_wrong_facts_are_refused(saved, changes):
    """So are facts that are missing, no numbers, or of a later version."""
    edit(saved, **changes)
    with pytest.raises(RecordingError):
        FailedStep.load(saved)


def test_other_files_are_refused(tmp_path):
    """No file, no archive, a recording and pickled objects are no failed steps."""
    with pytest.raises(RecordingError, match="there is no failed step"):
        FailedStep.load(tmp_path / "absent.npz")
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(RecordingError, match="not a failed step"):
        FailedStep.load(tmp_path / "text.npz")
    np.savez(tmp_path / "objects.npz", q=np.array([{"code": "runs"}], dtype=object))
    with pytest.raises(RecordingError, match="damaged"):
        FailedStep.load(tmp_path / "objects.npz")
    out = tmp_path / "box.npz"
    assert command("run", "sliding-box", "--duration", "0.01", "--out", out, "--quiet") == 0
    with pytest.raises(RecordingError, match="is not a failed step"):
        FailedStep.load(out)


def test_nonsense_that_fits_the_form_is_refused_by_the_step(saved):
    """Lengths and numbers out of range are found when the step is repeated."""
    edit(saved, h=-1.0)
    with pytest.raises(StateError, match="the step must be in"):
        FailedStep.load(saved).repeat()


def test_run_leaves_the_step_and_repeat_shows_it(tmp_path, capsys):
    """`run` writes the step beside --out or to --dump and says so; `repeat` compares."""
    words = [
        "run",
        "robosimian-jump-paper",
        "--set",
        "integrator.vi_newton.max_iterations=1",
        "--dt",
        "0.05",
    ]
    words += ["--set", "integrator.control.min_step=0.05"]
    out, dump = tmp_path / "jump.npz", tmp_path / "step.npz"
    assert command(*words, "--out", out) == 1
    beside = tmp_path / "jump-failed-step.npz"
    assert f"nmdp-pin repeat {beside}" in capsys.readouterr().err
    assert Recording.load(out).status[-1] == Status.ITERATION_LIMIT.code
    assert command(*words, "--dump", dump, "--quiet") == 1
    assert str(dump) in capsys.readouterr().err
    assert same(FailedStep.load(dump).outcome, FailedStep.load(beside).outcome)
    assert command("repeat", beside) == 1
    said = capsys.readouterr().out
    for word in ("residual", "condition", "iterations", "evaluations", "rejected"):
        assert word in said
    assert command("repeat", dump, "--set", "integrator.vi_newton.max_iterations=100") == 0
    assert "converged" in capsys.readouterr().out
    assert command(*words) == 1
    assert "--dump" in capsys.readouterr().err


def test_bad_dumps_are_refused_before_the_run(tmp_path):
    """A place that cannot be written to, and a file that is no failed step, are wrong input."""
    words = ["run", "sliding-box", "--duration", "0.01"]
    assert command(*words, "--dump", tmp_path / "absent" / "a.npz") == 2
    assert command(*words, "--dump", tmp_path / "a.txt") == 2
    assert command("repeat", tmp_path / "a.npz") == 2


def test_a_run_that_works_leaves_no_step(tmp_path):
    """Nothing is written beside a recording that ends well."""
    out = tmp_path / "box.npz"
    assert command("run", "sliding-box", "--duration", "0.01", "--out", out, "--quiet") == 0
    assert [path.name for path in tmp_path.iterdir()] == ["box.npz"]


def test_summary_tells_the_error(capsys):
    """With tolerances the summary has the accepted error and the number of sub-steps."""
    words = ["run", "sliding-box", "--duration", "0.05", "--set", "integrator.control.kind=error"]
    words += ["--set", "integrator.control.rtol=0.01"]
    assert command(*words) == 0
    said = capsys.readouterr()
    assert "sub-steps" in said.out
    assert "0 steps beyond" in said.out
    assert "rtol 0.01, atol 0.01" in said.err
