"""Outcome of steps and solvers: a value, never an exception."""

from enum import Enum


class Status(Enum):
    """Outcome of a solve: the value is a sentence, `code` a number for arrays."""

    CONVERGED = "converged"
    ITERATION_LIMIT = "the iteration limit was reached before convergence"
    PROJECTION_FAILED = "the projection onto G = 0 stopped making progress"
    STALLED = "the objective could still fall, but no step towards it was found"
    SINGULAR = "the Jacobian of the dynamics residual is singular"
    NOT_FINITE = "a value that is not finite appeared"
    QP_FAILED = "the quadratic program of the step could not be solved"

    ENERGY_GAINED = "the solution found gains energy that nothing gave"
    BUDGET_SPENT = "the budget of work of the step was spent"
    REBOUNDED = "an impact throws a contact back"
    SANK = "a contact came in deeper than its impact could press it"

    ok: bool
    """Whether the step may be used."""

    code: int
    """Index of the status, 0 for converged; recordings hold it."""

    def __init__(self, sentence: str) -> None:
        # Attributes, since solvers and rollouts ask for them many times.
        self.ok, self.code = sentence == "converged", len(type(self).__members__)
