"""What the projected gradient method found, for tests that look at its iterates."""

import pytest

from nmdp_pin.papers.methods import pgm_stages
from nmdp_pin.papers.methods.projected_gradient import SolverResult


def recorded_solves(monkeypatch: pytest.MonkeyPatch) -> list[SolverResult]:
    """A list that takes every result of the method from here on."""
    found: list[SolverResult] = []
    solve = pgm_stages.pgm

    def recorded(*arguments, **options):
        found.append(solve(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(pgm_stages, "pgm", recorded)
    return found
