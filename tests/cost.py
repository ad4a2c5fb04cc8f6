"""CPU time of each test run by itself, and the list of those that are marked slow.

A test costs what its call costs and what its fixtures cost, whichever test happened to set them up
first; so the order of the tests does not matter. Costs are in seconds of a machine on which
`reference` takes REFERENCE seconds. Beside other programs, which take turns in the caches, they are
larger: by two thirds with eight of them on two cores.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF

import numba
import numpy as np
import pytest
from numba.core.event import Event, Listener, register

SLOW_TESTS = Path(__file__).parent / "slow.txt"
# A test is slow when it costs more than this, in s.
LIMIT = 0.5
# A test without the mark that costs this many times LIMIT fails the run. The wide margin is for
# what the first test in a process pays for the others: imports, and runs that several tests share,
# so that costs depend on the order.
_FAILS = 40.0
# A test that costs this many times LIMIT is reported.
_REPORTED = 2.0
# CPU time of `reference` on the machine that LIMIT is written for, two quiet cores of 2026, in s.
REFERENCE = 0.030
# How long a measurement of the reference holds, in s.
_HOLDS = 20.0


def slow_tests() -> frozenset[str]:
    """Node ids of the tests that are slow, as SLOW_TESTS lists them."""
    return frozenset(SLOW_TESTS.read_text(encoding="utf-8").splitlines())


def cpu_time() -> float:
    """CPU time of this process and of the children that it waited for, in s."""
    spent = (resource.getrusage(whose) for whose in (RUSAGE_SELF, RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


def reference() -> float:
    """CPU time of a fixed piece of work like that of a time step, in s: the best of three."""
    A = np.eye(12) + 0.01 * np.arange(144.0).reshape(12, 12)
    b = np.ones(12)
    spent = []
    for _ in range(3):
        start = time.process_time()
        for _ in range(4000):
            b = np.linalg.solve(A, b) if b[0] < 2.0 else np.ones(12)
            sum(range(100))
        spent.append(time.process_time() - start)
    return min(spent)


class _Compilations(Listener):
    """CPU time that Numba took to compile, or to read what it compiled in an earlier run."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._depth = 0
        self._start = 0.0

    def on_start(self, event: Event) -> None:
        """Takes the time unless it is a compilation within another."""
        if self._depth == 0:
            self._start = cpu_time()
        self._depth += 1

    def on_end(self, event: Event) -> None:
        """Adds up."""
        self._depth -= 1
        if self._depth == 0:
            self.spent += cpu_time() - self._start


class CostMeter:
    """Plugin that measures each test and hands the cost over with its report.

    A compilation by Numba costs nothing: it happens once for all runs.
    """

    def __init__(self) -> None:
        self._scale = 1.0
        self._scaled_at = -np.inf
        self._compilations = _Compilations()
        register("numba:compile", self._compilations)

    def _clock(self) -> float:
        return cpu_time() - self._compilations.spent

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef) -> Iterator[None]:
        """Measures a fixture; those that it asks for were set up before."""
        start = self._clock()
        try:
            return (yield)
        finally:
            fixturedef.cost = self._scale * (self._clock() - start)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Function) -> Iterator[None]:
        """Measures a test and adds what its fixtures cost."""
        if time.monotonic() > self._scaled_at + _HOLDS:
            self._scale = REFERENCE / reference()
            self._scaled_at = time.monotonic()
        start = self._clock()
        try:
            return (yield)
        finally:
            cost = self._scale * (self._clock() - start)
            for fixtures in item._fixtureinfo.name2fixturedefs.values():
                cost += getattr(fixtures[-1], "cost", 0.0)
            item.user_properties.append(("cost", cost))


class CostReport:
    """Plugin that compares the costs of the tests with their marks when all have run."""

    def __init__(self, path: Path | None) -> None:
        """Takes the file to write the costs to, if any."""
        self._path = path
        self._costs: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Takes the cost of a test from its report; the report may come from a worker."""
        if report.when == "call" and report.passed:
            self._costs[report.nodeid] = dict(report.user_properties)["cost"]

    def _unmarked(self, factor: float) -> list[str]:
        slow = slow_tests()
        return [
            f"{cost:6.1f} s  {test}"
            for test, cost in sorted(self._costs.items(), key=lambda entry: -entry[1])
            if cost > factor * LIMIT and test not in slow
        ]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Writes the file, and fails a run in which an unmarked test was far too slow."""
        if self._path:
            lines = (f"{cost:.3f} {test}\n" for test, cost in sorted(self._costs.items()))
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text("".join(lines), encoding="utf-8")
        interpreted = numba.config.DISABLE_JIT  # kernels, where costs say nothing
        if self._unmarked(_FAILS) and not session.exitstatus and not interpreted:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Names the tests that should have the mark; one that fails the run is among them."""
        if found := self._unmarked(_REPORTED):
            terminalreporter.section(f"not in {SLOW_TESTS.name}; `make slow` measures all tests")
            terminalreporter.write_line("\n".join(found[:10]))
