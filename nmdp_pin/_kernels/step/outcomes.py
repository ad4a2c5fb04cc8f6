"""Outcomes of steps and their solvers, and the counters that both keep."""

# Codes of `nmdp_pin._state.status.Status`.
(
    CONVERGED,
    ITERATION_LIMIT,
    PROJECTION_FAILED,
    STALLED,
    SINGULAR,
    NOT_FINITE,
    QP_FAILED,
    ENERGY_GAINED,
    BUDGET_SPENT,
    REBOUNDED,
    SANK,
) = range(11)

RUNNING = -1  # iterations go on
HELD = -2  # so they do, and the last inequality was solved with forces held back by a row

# Counters: iterations, evaluations, rejected iterations and the work in evaluations, the outcome.
ITERATIONS, EVALUATIONS, REJECTED, WORK, OUTCOME, COUNTERS = range(6)
