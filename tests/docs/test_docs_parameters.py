"""The code on docs/parameters.md runs and finds what it says."""

import numpy as np
import pytest
from pages import page, run_code

from nmdp_pin._contact.friction_cone import STANDARD_GRAVITY
from nmdp_pin._dynamics.parameter_set import ParameterSet

FOUND = 1e-4  # relative; what the page prints
WAYS = 0.05  # relative; steps of 20 ms and a speed that is lost while the box settles


def test_the_page():
    """Boxes stop as far as their friction says, and mass and friction of the real one are found."""
    text = page("parameters.md")
    names = run_code(text)
    frictions = np.array([each["friction"] for each in names["sets"]])
    assert names["ways"] == pytest.approx(0.5 / (frictions * STANDARD_GRAVITY), rel=WAYS)
    assert names["guess"] == pytest.approx([1.3, 0.5], rel=FOUND)
    assert all(f"| `{name}` |" in text for name in ParameterSet.__dataclass_fields__)
