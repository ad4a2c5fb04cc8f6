"""Settings and results of the PBAD paper (sections V and VI)."""

from __future__ import annotations

from dataclasses import dataclass

METHODS = ("pbd", "pbfd")
"""The paper's own methods: eq. 6 with 11, and eq. 13."""

BASELINE = "ne-ncp"
"""The conventional simulator that it compares with: Newton-Euler with hard dry friction."""


@dataclass(frozen=True)
class Optimiser:
    """One row of the paper's Table I.

    Args:
        method: name of the integrator.
        name: name of its option `optimiser`.
        complexity: of one iteration over the number n of freedoms, on a CPU: the paper's table has
            the solution of the linear equations on a GPU, O(n^2).
        order: the same as an exponent of n.
    """

    method: str
    name: str
    complexity: str
    order: int

    @property
    def label(self) -> str:
        """Label in legends and tables."""
        return f"{self.method} {self.name}"

    @property
    def settings(self) -> tuple[str, ...]:
        """Overrides that it adds to a scenario."""
        return (f'integrator.optimiser="{self.name}"',)


OPTIMISERS = (
    Optimiser("pbd", "lm", "n² + n³ (solve)", 3),
    Optimiser("pbd", "jtj-lm", "n² + n³ (solve)", 3),
    Optimiser("pbd", "lbfgs", "n", 1),
    Optimiser("pbfd", "jtj-lm", "n² + n³ (solve)", 3),
    Optimiser("pbfd", "lbfgs", "n²", 2),
)
"""The five that the paper compares in Fig. 4; LM with eq. 13 needs third derivatives, O(n^3)."""

LARGE_STEP = 0.1
"""What PBFD can take on the chain that slides off the slope [s]."""

SAFE_STEP = 0.001
"""What the paper calls a safer step for the conventional simulator [s]."""

CONTACT_POINTS = (4, 16, 64, 256)
"""Refinements of the chain."""
