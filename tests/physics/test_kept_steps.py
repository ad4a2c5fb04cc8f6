"""Steps of pairs of shapes by seven methods: as they were."""

import pytest
from kept_steps import NUMBER, kept_steps, of_step
from kept_values import differences

# A velocity that is 1e-11 m/s off at the start changes none of these by more than 1e-7 of itself.
STEP_TOL = {"dx_dx": 1e-5, "": 1e-6}
CHUNK = 10


@pytest.mark.parametrize("first", range(0, NUMBER, CHUNK))
def test_steps_are_as_before(first: int) -> None:
    """Ends, forces, depths, numbers of evaluations and derivatives."""
    for number in range(first, first + CHUNK):
        kept = kept_steps().get(str(number))
        if kept is not None:
            assert differences(kept, of_step(number), STEP_TOL) == [], number
