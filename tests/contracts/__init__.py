"""Contract suites: what every implementation of a base class must satisfy, one module a class.

A suite is a class of tests that asks for fixtures; to run it on a model of your own, inherit from
it and define them:

    from contracts import WrenchSpaceContract

    class TestMine(WrenchSpaceContract):
        @pytest.fixture
        def space(self):
            return MyContactModel()
"""

import pytest

pytest.register_assert_rewrite(
    *(
        f"contracts.{name}"
        for name in ("controller", "integrator", "objective", "step_problem", "wrench_space")
    )
)

from contracts.controller import ControllerContract  # noqa: E402
from contracts.integrator import IntegratorContract  # noqa: E402
from contracts.objective import ObjectiveContract  # noqa: E402
from contracts.step_problem import StepProblemContract  # noqa: E402
from contracts.wrench_space import WrenchSpaceContract  # noqa: E402

__all__ = [
    "ControllerContract",
    "IntegratorContract",
    "ObjectiveContract",
    "StepProblemContract",
    "WrenchSpaceContract",
]
