"""What the solvers of steps found, for tests that look at their iterates."""

import pytest

from nmdp_pin.integrators import local_solver
from nmdp_pin.solvers.solver_result import SolverResult


def recorded_solves(monkeypatch: pytest.MonkeyPatch, solver: str = "pgm") -> list[SolverResult]:
    """A list that takes every result of a solver from here on."""
    found: list[SolverResult] = []
    solve = getattr(local_solver, solver)

    def recorded(*arguments, **options):
        found.append(solve(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(local_solver, solver, recorded)
    return found
