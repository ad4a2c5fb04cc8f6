"""Contract suites to be run on models of one's own; needs the extra "testing".

A suite is a class of tests that asks for fixtures. Inherit from it and define them:

    import pytest
    from nmdp_pin.testing import WrenchSpaceContract

    class TestMine(WrenchSpaceContract):
        @pytest.fixture
        def space(self):
            return MyContactModel()
"""

from nmdp_pin.errors import MissingExtra

try:
    import pytest
except ImportError:
    raise MissingExtra("pytest", "testing") from None

pytest.register_assert_rewrite("nmdp_pin.testing.wrench_space")

from nmdp_pin.testing.differences import assert_same, central_differences  # noqa: E402
from nmdp_pin.testing.scenes import contact_state, ground_through, weights  # noqa: E402
from nmdp_pin.testing.wrench_space import WrenchSpaceContract  # noqa: E402

__all__ = [
    "WrenchSpaceContract",
    "assert_same",
    "central_differences",
    "contact_state",
    "ground_through",
    "weights",
]
