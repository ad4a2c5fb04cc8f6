"""What the projected gradient method found, for tests that look at its iterates."""

import pytest

from nmdp_pin.integrators import stage_solver
from nmdp_pin.solvers.solver_result import SolverResult


def recorded_solves(monkeypatch: pytest.MonkeyPatch) -> list[SolverResult]:
    """A list that takes every result of the method from here on."""
    found: list[SolverResult] = []
    solve = stage_solver.pgm

    def recorded(*arguments, **options):
        found.append(solve(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(stage_solver, "pgm", recorded)
    return found
