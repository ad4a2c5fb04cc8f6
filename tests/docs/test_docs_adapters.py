"""The code on docs/adapters.md runs and does what the page says."""

import inspect

import numpy as np
import pytest
from pages import code_on, page, run_code

for package in ("crocoddyl", "ompl", "gymnasium"):
    pytest.importorskip(package)

PAGE = page("adapters.md")


@pytest.fixture(scope="module")
def names():
    """What the page's code leaves, run from the top."""
    return run_code(PAGE)


def test_the_code_runs(names):
    """Every adapter does its work: a torque found, a batch made, a plan converged and solved."""
    assert len(code_on(PAGE)) == 8
    wanted = np.random.default_rng(0).uniform(-5.0, 5.0, (10, 3))[2]
    np.testing.assert_allclose(names["torque"], wanted, atol=1e-3)
    assert names["state"].shape == (4, 10, 13)
    assert names["converged"]
    for u in names["solver"].us:
        assert (np.abs(u) <= names["running"].u_ub).all()
    assert names["observations"].shape == (8, 2)
    assert names["solved"]
    assert np.linalg.norm(names["plan"][-1][:3] - names["plan"][0][:3] - [0.5, 0, 0]) < 0.15 + 1e-9
    assert names["env"].observation_space.contains(names["observation"])


def test_the_ground_is_as_hard_as_it_says(names):
    """The robot's weight on both contact points is carried at 1 mm, to a tenth."""
    weight = sum(inertia.mass for inertia in names["robot"].model.inertias) * 9.81
    depth = np.sqrt(weight / 2 / names["contact"].stiffness)
    assert depth == pytest.approx(1e-3, rel=0.1)


def test_keywords_of_the_environments():
    """The table has them all, with their defaults."""
    from nmdp_pin.adapters.bundled_tasks import hopper
    from nmdp_pin.adapters.gymnasium import SimulatorEnv

    table = PAGE[PAGE.index("| keyword |") :].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in table.splitlines()[2:]]
    given = {}
    for function in (SimulatorEnv.__init__, hopper):
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY:
                given[name] = parameter.default
    assert {name.strip("`") for name, _ in rows} == set(given)
    for name, default in rows:
        shown = str(given[name.strip("`")])
        assert default.strip('"') in (shown, "")
