"""The progress bar of a run: simulated time, real-time factor, present step."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from nmdp_pin.integrators.integrator import StepResult

_INTERVAL = 0.1  # [s] between two drawings, so that drawing costs no run anything


class RunProgress:
    """Progress bar on standard error, if it is a terminal.

    Args:
        duration: simulated time of the whole run [s].
        quiet: show nothing.
    """

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

    def __enter__(self) -> RunProgress:
        self._bar.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._last is not None:
            self._draw(self._last)
        self._bar.stop()

    def update(self, result: StepResult) -> None:
        """Show where the run is."""
        self._last = result
        if time.perf_counter() - self._drawn > _INTERVAL:
            self._draw(result)

    def _draw(self, result: StepResult) -> None:
        self._drawn = time.perf_counter()
        t = result.state.t
        self._bar.update(
            self._task,
            completed=t,
            factor=t / max(self._drawn - self._start, 1e-9),
            step=1e3 * min(result.step_sizes, default=0.0),
            refresh=True,
        )
