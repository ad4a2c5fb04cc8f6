"""The code on docs/contact_models.md runs, and the page says what it does."""

import re
import sys
from types import ModuleType

import numpy as np
import pytest
from contracts import WrenchSpaceContract
from pages import code_on, page

from nmdp_pin._contact import FiniteDifferences
from nmdp_pin._contact.anisotropic_cone import AnisotropicCone
from nmdp_pin._control import Passive
from nmdp_pin._scenario.contact_sections import CONTACTS, ENTRY_POINTS
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin.errors import IntegratorError

PAGE = page("contact_models.md")
BLOCKS = code_on(PAGE)
OWN = next(block for block in BLOCKS if "class Pyramid" in block)
TESTED = next(block for block in BLOCKS if "class TestPyramid" in block)
MODULE = ModuleType("contact_models_page")
sys.modules[MODULE.__name__] = MODULE  # so that its class can be pickled
exec(OWN, vars(MODULE))
TEN = 10  # lines of a model
FIRST_ORDER = 0.02  # relative; the stopping distance at 2 ms is 0.7 % short


class TestPyramidOfThePage(WrenchSpaceContract):
    @pytest.fixture
    def space(self):
        return MODULE.Pyramid()


def stopping_distance(simulator):
    """Of the box sent along x at 1 m/s [m]."""
    q = simulator.robot.standing.copy()
    q[2] -= 0.001
    state = simulator.state(q, np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    run = simulator.run(state, Passive(), dt=0.002, duration=0.3, on_failure="raise")
    return [*run][-1].state.q[0]


def test_the_model_has_ten_lines_and_works():
    """A box stops after v^2 / (2 mu g); with differences also in first order."""
    model = OWN[OWN.index("class") : OWN.index("simulator =")]
    assert len([line for line in model.splitlines() if line]) <= TEN
    simulator = MODULE.simulator
    expected = 1.0 / (2.0 * 0.7 * 9.81)
    assert stopping_distance(simulator) == pytest.approx(expected, rel=FIRST_ORDER)
    robot, ground, pyramid = simulator.robot, simulator.terrain, simulator.contact
    with pytest.raises(IntegratorError, match="FiniteDifferences"):
        Simulator(robot, ground, pyramid, "ne-nmdp")
    first = Simulator(robot, ground, FiniteDifferences(model=pyramid), "ne-nmdp")
    assert stopping_distance(first) == pytest.approx(expected, rel=FIRST_ORDER)


def test_the_suite_of_the_page_is_one():
    """The page's test class has the suite's tests."""
    made = dict(vars(MODULE))
    exec(TESTED, made)
    assert issubclass(made["TestPyramid"], WrenchSpaceContract)


def test_the_mixes_of_the_page_can_be_made():
    """Each line of the example of `Mixed` builds."""
    block = next(block for block in BLOCKS if "import Mixed" in block)
    model = AnisotropicCone(stiffness=1.0, along=0.1)
    exec(block, dict.fromkeys(("rubber", "ski", "rock", "sand"), model))


def test_all_models_are_listed():
    """The list names those that scenario files know, and the entry points' group is right."""
    rows = set(re.findall(r"^- `([\w-]+)`: ", PAGE, re.MULTILINE))
    assert rows >= set(CONTACTS)
    assert f'"{ENTRY_POINTS}"' in PAGE
