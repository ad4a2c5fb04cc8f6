"""What commands share: output files, Ctrl-C, and lines on the terminal."""

import functools
import importlib.util
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from nmdp_pin._files.output_file import check_writable
from nmdp_pin._words import shortened
from nmdp_pin.errors import MissingExtra, RecordingError

if TYPE_CHECKING:
    from nmdp_pin._integrators.integrator import StepResult

RECORDINGS = (".npz",)
PLOTS = (".png", ".svg", ".pdf")
PAGES = (".html",)
FILMS = (".mp4",)
TABLES = (".parquet",)
TEXTS = (".csv",)
WIDTH = 200
"""Width of printed tables [characters]; one that is cut to a narrow window loses its figures."""
FAILED, WRONG_INPUT, STOPPED = 1, 2, 130
"""Exit codes; the last one is what a shell expects after Ctrl-C."""

_NEEDED: dict[tuple[str, ...], list[tuple[str, str, str]]] = {  # module, package, extra
    PLOTS: [("matplotlib", "matplotlib", "plots")],
    FILMS: [("vtkmodules", "vtk", "video"), ("av", "av", "video")],
}
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_COMPILES = (
    "compiling the kernels of this scene, once; those of other shapes, methods, rollouts and "
    "derivatives take more when they are first used (all: nmdp-pin compile)"
)
_INTERVAL = 0.1  # [s] between two drawings, so that drawing costs no run anything

Force = Annotated[bool, typer.Option("--force", help="Replace files that are there already.")]
_SET = functools.partial(typer.Option, "--set", metavar="KEY=VALUE")
Overrides = Annotated[list[str] | None, _SET(help="Override of a key, such as integrator.dt=0.02.")]
StepOverrides = Annotated[
    list[str] | None, _SET(help="Override of a key, such as integrator.control.min_step=1e-4.")
]
"""Those that one step feels."""
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress, no summary.")]


def printable(text: object) -> str:
    """Text with escaped control characters."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode()
        for c in str(text)
    )


def note(text: object) -> None:
    """Print a line on standard error, at once."""
    print(shortened(printable(text)), file=sys.stderr, flush=True)


def check_outputs(*outputs: tuple[Path | None, tuple[str, ...]], force: bool) -> None:
    """Check that the given files can be written."""
    given: set[str] = set()
    for path, endings in outputs:
        if path is None:
            continue
        if path.suffix not in endings:
            raise RecordingError(
                f"cannot write {path}: the name must end in {' or '.join(endings)}, "
                f"not in '{path.suffix}'"
            )
        check_writable(path, replace=force)
        if os.path.realpath(path) in given:
            raise RecordingError(f"cannot write {path}: two outputs are this file")
        given.add(os.path.realpath(path))
        check_extras(endings)


def check_extras(endings: tuple[str, ...]) -> None:
    """Check that files of a kind can be made."""
    for module, package, extra in _NEEDED.get(endings, ()):
        if importlib.util.find_spec(module) is None:
            raise MissingExtra(package, extra)


class Interruption:
    """Context in which a first signal to stop is noted, and a second one stops at once."""

    def __init__(self) -> None:
        self.exit_code = 0  # or what a shell expects of a program that was stopped
        self._before: dict[int, Any] = {}

    @property
    def requested(self) -> bool:
        """True once a signal came."""
        return self.exit_code != 0

    def __enter__(self) -> "Interruption":
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.exit_code = 128 + number
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


@contextmanager
def stoppable(kept: str | os.PathLike[str]) -> Iterator[None]:
    """Context in which Ctrl-C and SIGTERM end many runs with an exit code and a message."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        goes_on = f"the finished runs are kept in {os.fspath(kept)}: the same command goes on there"
        note(f"stopped; {goes_on if os.path.exists(kept) else 'no run was finished'}")
        raise typer.Exit(STOPPED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


class Compilation(logging.Handler):
    """Context in which a compilation of kernels is announced, and a line counts its seconds."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        self._quiet = quiet
        self._logger = logging.getLogger("nmdp_pin")  # whose warning announces a compilation
        columns = TextColumn("{task.description}"), TimeElapsedColumn()
        self._line = Progress(*columns, console=Console(stderr=True), refresh_per_second=1)

    def __enter__(self) -> "Compilation":
        self._logger.addHandler(self)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._logger.removeHandler(self)
        if self._line.tasks:
            self._line.stop()

    def emit(self, record: logging.LogRecord) -> None:
        """Begin to count."""
        self.start()

    def start(self) -> None:
        """Begin to count, if that has not begun."""
        if not (self._line.tasks or self._quiet):
            note(_COMPILES)
            self._line.add_task("compiling, once:")
            self._line.start()


class RunProgress:
    """Progress bar of a run of some duration [s] on standard error, if it is a terminal."""

    def __init__(self, duration: float, *, quiet: bool) -> None:
        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.2f} / {task.total:g} s"),
            TextColumn("{task.fields[factor]:.1f} x real time"),
            TextColumn("step {task.fields[step]:.3g} ms"),
            console=console,
            auto_refresh=False,
            disable=quiet or not console.is_terminal,
        )
        self._task = self._bar.add_task("simulating", total=duration, factor=0.0, step=0.0)
        self._start = self._drawn = time.perf_counter()
        self._last: StepResult | None = None

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._last is not None:
            self._draw(self._last)
        self._bar.stop()

    def update(self, result: "StepResult") -> None:
        """Show where the run is."""
        self._last = result
        if time.perf_counter() - self._drawn > _INTERVAL:
            self._draw(result)

    def _draw(self, result: "StepResult") -> None:
        self._drawn = time.perf_counter()
        t = result.state.t
        self._bar.update(
            self._task,
            completed=t,
            factor=t / max(self._drawn - self._start, 1e-9),
            step=1e3 * min(result.step_sizes, default=0.0),
            refresh=True,
        )
