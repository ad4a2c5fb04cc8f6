"""The campaigns in small: damaged inputs, interrupted programs, and that findings are seen."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pages import ROOT, page

from nmdp_pin._state.status import Status
from nmdp_pin.papers.data_file import read_data
from tools.campaigns import __main__ as campaigns
from tools.campaigns import inputs, interruptions, systems
from tools.campaigns.child import Child
from tools.campaigns.ledger import Ledger
from tools.results.page_tables import printed_tables

INPUTS = 60
SYSTEMS = 8  # one of each method
LONG = 600.0  # [s]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with good samples of all kinds of files."""
    folder = tmp_path_factory.mktemp("samples")
    inputs.prepare(folder)
    return folder


@pytest.mark.parametrize("kind", inputs.INPUTS, ids=lambda kind: kind.name)
def test_samples_without_damage_are_accepted(samples: Path, kind: inputs.Input) -> None:
    """What is refused in a campaign is refused for its damage."""
    folder = samples / kind.name
    names = json.loads((folder / "samples.json").read_text())
    assert names
    for name in names:
        copy = folder / f"copy{Path(name).suffix}"
        shutil.copy(folder / name, copy)
        kind.read(copy)


def test_damaged_inputs_are_refused_or_accepted(tmp_path: Path) -> None:
    """A typed error, or a result: no other exception, no crash, no hang, no file believed."""
    ledger = Ledger(tmp_path / "ledger")
    campaigns.campaign("inputs", tmp_path / "inputs", ledger, seconds=LONG, most=INPUTS)
    ledger.close()
    assert ledger.findings() == []
    assert len(ledger.outcomes) == INPUTS
    outcomes = {outcome for _, _, _, outcome in ledger.outcomes}
    assert outcomes == {"accepted", "refused"}


def test_steps_of_random_systems_end(tmp_path: Path) -> None:
    """Each within a second, with finite numbers, or as a failure that keeps its start."""
    ledger = Ledger(tmp_path / "ledger")
    campaigns.campaign("systems", tmp_path / "systems", ledger, seconds=LONG, most=SYSTEMS)
    ledger.close()
    assert ledger.findings() == []
    assert {outcome for _, _, _, outcome in ledger.outcomes} <= {"accepted", "refused"}
    assert len(ledger.outcomes) == SYSTEMS


@pytest.mark.parametrize("broken", ["start", "state", "numbers"])
def test_a_step_that_breaks_its_promise_is_a_finding(broken: str) -> None:
    """A start that changed, a failed step that moved, a number that is not finite."""
    simulator, state, command, h = systems.system(np.random.default_rng(15), "pbfd")
    before = state.q.copy(), state.v.copy()
    result = simulator.step(state, command, h)
    assert result.status.ok
    systems.check(state, before, result)
    if broken == "start":
        state.v[0] += 1.0
    elif broken == "state":
        result = replace(result, status=Status.STALLED)
    else:
        result = replace(result, tau=np.full_like(result.tau, np.nan))
    with pytest.raises(AssertionError):
        systems.check(state, before, result)


# Killed runs and sweeps have tests of their own: tests/cli, tests/runs.
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, where a test imported it
@pytest.mark.parametrize("kind", ["full disk", "two writers", "closed folder"])
def test_interrupted_programs_lose_nothing(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One attempt of each kind of interruption."""
    monkeypatch.setattr(interruptions, "_SPACE", (500_000, 1_000_000))
    interruptions.KINDS[kind](tmp_path, np.random.default_rng(0))


def fall(folder: Path, number: int) -> str:
    """An attempt that falls in a way that its number says."""
    if number == 0:
        raise KeyError("a")
    if number == 1:
        os._exit(7)
    if number == 2:
        bytearray(2**36)
    return "accepted"


def test_findings_are_seen_and_kept(tmp_path: Path) -> None:
    """Exceptions, crashes and bombs of the child are outcomes; the ledger goes on after a stop."""
    ledger = Ledger(tmp_path / "ledger")
    with Child(fall, tmp_path) as child:
        for number in range(4):
            ledger.add("a", number, "kind", child.outcome(number))
    ledger.close()
    again = Ledger(tmp_path / "ledger")
    again.close()
    assert again.next_number("a") == 4
    assert again.table().splitlines()[2] == "| a | kind | 4 | 1 | 0 | 3 |"
    said = "\n".join(again.findings())
    for part in ("KeyError", "exit code 7", "MemoryError"):
        assert part in said


def test_table_of_the_ledger(tmp_path):
    """A row a kind, or a row a campaign, with the sums."""
    ledger = Ledger(tmp_path / "ledger")
    for number, (kind, outcome) in enumerate((("urdf", "accepted"), ("mesh", "refused"))):
        ledger.add("inputs", number, kind, outcome)
    ledger.add("systems", 0, "pbd", "took 2 s")
    ledger.close()
    assert ledger.table().splitlines()[2:] == [
        "| inputs | mesh | 1 | 0 | 1 | 0 |",
        "| inputs | urdf | 1 | 1 | 0 | 0 |",
        "| systems | pbd | 1 | 0 | 0 | 1 |",
    ]
    assert ledger.table(kinds=False).splitlines()[2:] == [
        "| inputs | 2 | 1 | 1 | 0 |",
        "| systems | 1 | 0 | 0 | 1 |",
    ]


def test_the_page_has_the_figures_of_the_last_campaign() -> None:
    """Each kind of attempt is in the row of one promise, whose figures are their sums."""
    data = read_data(ROOT / "docs/results/campaigns-kinds.csv")
    kinds = {}
    for row in data:
        kind = "systems" if row["campaign"] == "systems" else row["kind"]
        kinds.setdefault(kind, np.zeros(2, int))
        kinds[kind] += int(row["tried"]), int(row["not allowed"])
    (promises, *_) = printed_tables(page("reliability.md"))
    for _, attempts, *figures in promises[1:]:
        named = attempts.partition(":")[0].split(", ")
        assert [int(text) for text in figures] == sum(kinds.pop(name) for name in named).tolist()
    assert not kinds
