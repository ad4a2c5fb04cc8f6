"""Commands on recordings: `nmdp-pin plot`, `compare`, `recover` and `repeat`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from nmdp_pin._cli.terminal import (
    FAILED,
    PLOTS,
    RECORDINGS,
    TEXTS,
    WIDTH,
    Force,
    StepOverrides,
    check_outputs,
    note,
    printable,
)
from nmdp_pin._files.journal import Journal, journal_path
from nmdp_pin._runs.failed_step import FailedStep, figures
from nmdp_pin._runs.motion import motion_in
from nmdp_pin._runs.recorder import versions
from nmdp_pin._runs.recording import Recording
from nmdp_pin._runs.run_store import leaves
from nmdp_pin._runs.run_summary import RunFigures, account
from nmdp_pin._scenario import Scenario
from nmdp_pin.errors import NmdpError, RecordingError

_MOST_SETTINGS = 3  # that differ and still make a label
_MOST_OVERLAPS = 3
_RUN: dict[str, Callable[[RunFigures], str]] = {
    "dt [ms]": lambda f: f"{1e3 * f.dt:.4g}",
    "duration [s]": lambda f: f"{f.duration:.4g}",
}
_BASE: dict[str, Callable[[RunFigures], str]] = {
    "height gain [m]": lambda f: f"{f.height_gain:.4f}",
    "distance [m]": lambda f: f"{f.distance:.4f}",
    "mean tilt [°]": lambda f: f"{f.mean_tilt:.3f}",
    "height off first [m]": lambda f: f"{f.height_difference:.4f}",
}
_FIXED: dict[str, Callable[[RunFigures], str]] = {
    "q off first [rad, m]": lambda f: f"{f.difference:.4g}"
}
_WORK: dict[str, Callable[[RunFigures], str]] = {
    "iterations": lambda f: f"{f.mean_iterations:.1f}",
    "halvings": lambda f: str(f.halvings),
    "failed": lambda f: str(f.failed),
    "x real time": lambda f: f"{f.real_time_factor:.1f}" if f.real_time_factor else "",
}


def plot(
    recording: Annotated[Path, typer.Argument(help="Recording (.npz).")],
    out: Annotated[
        Path | None, typer.Option(help="Figure (.png, .svg, .pdf); default: beside the recording.")
    ] = None,
    force: Force = False,
) -> None:
    """Plot base, joints, torques, objects, sensors, forces, energy and solver work."""
    target = out or recording.with_suffix(".png")
    check_outputs((target, PLOTS), force=force)
    from nmdp_pin.viz.plots import plot_recording

    loaded = Recording.load(recording)
    motion, problem = motion_in(loaded, scenario_in(loaded, recording))
    if problem:
        note(problem)
    plot_recording(loaded, target, motion=motion)
    print(f"wrote {target}")


def scenario_in(recording: Recording, path: Path) -> Scenario | None:
    """Scenario of a recording; None of one from Python, which holds its robot and terrain."""
    table = recording.meta.get("scenario")
    return Scenario.from_dict(table, file=str(path)) if isinstance(table, dict) else None


def compare(
    recordings: Annotated[list[Path], typer.Argument(help="Recordings (.npz).")],
    label: Annotated[
        list[str] | None, typer.Option(help="Label of a run, one a recording, in order.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Plot of all runs (.png, .svg, .pdf).")] = None,
    force: Force = False,
) -> None:
    """Compare runs of one robot: motion and solver work; the first run is the reference.

    Runs are called by the settings in which they differ, unless --label names them.
    """
    check_outputs((out, PLOTS), force=force)
    from nmdp_pin._runs.run_summary import base_moves, compare_table
    from nmdp_pin.viz.plots import check_comparable, plot_comparison

    loaded = [Recording.load(path) for path in recordings]
    if label and len(label) != len(loaded):
        raise RecordingError(
            f"--label is needed once a recording: {len(loaded)} recordings, {len(label)} labels"
        )
    labels = label or run_labels(loaded, recordings)
    check_comparable(loaded, labels)
    columns = _RUN | (_BASE if any(map(base_moves, loaded)) else _FIXED) | _WORK
    table = Table("run", *map(escape, columns), box=None, pad_edge=False)
    for name, row in zip(labels, compare_table(loaded), strict=True):
        table.add_row(escape(printable(name)), *(column(row) for column in columns.values()))
    Console(width=WIDTH).print(table)
    for sentence in _overlaps(labels, loaded):
        print(printable(sentence))
    if out is not None:
        plot_comparison(loaded, labels, out)
        print(f"wrote {out}")


def _overlaps(labels: Sequence[str], recordings: Sequence[Recording]) -> list[str]:
    """The deepest overlap of bodies in each of the first runs that have one."""
    from nmdp_pin._robot.overlaps import OverlapCheck, overlap_sentences
    from nmdp_pin._runs.run_warnings import recorded_overlaps

    said: list[str] = []
    for label, recording in zip(labels, recordings, strict=True):
        table = recording.meta.get("scenario")
        if len(said) == _MOST_OVERLAPS or not isinstance(table, dict):
            continue
        try:
            scenario = Scenario.from_dict(table, file=label)
            robot = scenario.build_robot(visuals=False)
            terrain = scenario.build_terrain(robot)
        except NmdpError:
            continue  # its robot is gone; the table stands without it
        deepest = recorded_overlaps(OverlapCheck(robot, terrain), recording)[:1]
        said += [f"{label}: {text}" for text in overlap_sentences(deepest, recording.t)]
    return said


def run_labels(recordings: Sequence[Recording], paths: Sequence[Path]) -> list[str]:
    """Labels of runs: the settings in which they differ, or their files."""
    stems = [path.stem for path in paths]
    files = stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
    settings = [dict(leaves("", recording.meta.get("scenario") or {})) for recording in recordings]
    keys = {key: None for setting in settings for key in setting}
    differ = [k for k in keys if len({repr(setting.get(k)) for setting in settings}) > 1]
    if not 1 <= len(differ) <= _MOST_SETTINGS:
        return files
    labels = [", ".join(f"{key} = {s.get(key)}" for key in differ) for s in settings]
    return labels if len(set(labels)) == len(labels) else files


def recover(
    journal: Annotated[Path, typer.Argument(help="Journal of the run (.npz.unfinished).")],
    out: Annotated[
        Path | None, typer.Option(help="Recording to write (.npz); default: --out of the run.")
    ] = None,
    force: Force = False,
) -> None:
    """Turn the journal of a killed run into a recording, and remove the journal."""
    out = out or journal.with_name(journal.name.removesuffix(journal_path("").name))
    check_outputs((out, RECORDINGS), force=force)
    recording = Recording.load(journal)
    with Journal(journal) as locked:  # refused while the run goes on
        recording.save(out, replace=force)
        locked.close(remove=True)
    print(f"{printable(account(recording))}\nwrote {out}")


def export(
    recording: Annotated[Path, typer.Argument(help="Recording (.npz).")],
    out: Annotated[Path, typer.Argument(help="Table to write (.csv).")],
    force: Force = False,
) -> None:
    """Write the rows of a recording as a table of text."""
    check_outputs((out, TEXTS), force=force)
    Recording.load(recording).write_csv(out, replace=force)
    print(f"wrote {out}")


def repeat(
    dump: Annotated[Path, typer.Argument(help="File of a failed step (.npz).")],
    overrides: StepOverrides = None,
) -> None:
    """Repeat the failed step of a run, and compare both outcomes.

    Exit codes: 0 the step converges, 1 it fails, 2 wrong input.
    """
    failed = FailedStep.load(dump)
    result = failed.repeat(overrides=overrides or ())
    print(f"step at t = {failed.state.t:.6g} s of h = {failed.h:.6g} s")
    table = Table("figure", "then", "now")
    now = figures(result)
    for name, value in now.items():
        table.add_row(name, _shown(failed.outcome.get(name)), _shown(value))
    Console().print(table)
    here = versions()
    for package, version in failed.versions.items():
        if here.get(package) != version:
            print(printable(f"made with {package} {version}; here is {here.get(package)}"))
    if not result.status.ok:
        raise typer.Exit(FAILED)


def _shown(value: Any) -> Text:
    """Short text of a value from a file."""
    if isinstance(value, list) and value and all(isinstance(entry, float) for entry in value):
        return Text(f"{len(value)}, shortest {min(value):.3g} s")
    return Text(f"{value:.6g}" if isinstance(value, float) else printable(value))
