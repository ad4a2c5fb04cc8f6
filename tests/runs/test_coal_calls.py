"""The line of a run that says how often coal was asked."""

from nmdp_pin._runs.coal_calls import coal_calls
from nmdp_pin._scenario import Scenario


def told(name, steps=5):
    """The lines after some steps of a scenario."""
    setup = Scenario.load(name).build(visuals=False)
    assert list(coal_calls(setup)) == []
    state = setup.state
    for _ in range(steps):
        state = setup.simulator.step(state, setup.controller, 0.01).state
    return list(coal_calls(setup))


def test_pairs_are_named_with_their_counts():
    """A tin on a belt rests in it by its static depth: coal is asked for it alone."""
    (line,) = told("conveyor")
    assert line.startswith("coal: asked ")
    count = line.split()[2]
    assert line.endswith(f"times about 1 of 9 pairs of solids: tin on the ground {count}")


def test_without_cylinders_coal_is_not_asked():
    """A box that falls on stairs."""
    assert told("falling-box-stairs") == []
