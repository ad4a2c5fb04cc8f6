"""The README's snippets run as they stand."""

import pytest
from pages import code_on, page

from nmdp_pin import Scenario, run

SNIPPETS = code_on(page("../README.md"))


def test_there_is_a_snippet():
    """The README shows at least one piece of Python."""
    assert SNIPPETS


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_snippet_runs(number, tmp_path, monkeypatch):
    """A reader who pastes a snippet into a file gets no error."""
    monkeypatch.chdir(tmp_path)
    code = compile(SNIPPETS[number], f"README.md, snippet {number + 1}", "exec")
    exec(code, {"__name__": "__main__"})


RISE = 0.01  # [m], of the figures in the table
STEPS = (20, 30, 40, 50)  # [ms]; the shorter ones cost more


@pytest.mark.parametrize(("order", "title"), [(1, "first order"), (2, "second order")])
def test_rises_of_the_table(order, title):
    """Robosimian's first jump rises as high as the README says."""
    lines = page("../README.md").splitlines()
    head = next(line for line in lines if line.startswith("| rise [m]"))
    line = next(line for line in lines if line.startswith(f"| {title}"))
    said = dict(zip(head.split("|")[2:-1], line.split("|")[2:-1], strict=True))
    for step in STEPS:
        words = [f"integrator.order={order}", f"integrator.dt={step / 1e3}", "duration=1.9"]
        height = run(Scenario.load("robosimian-jump", overrides=words)).base_position[:, 2]
        found = height.max() - height[0]
        assert found == pytest.approx(float(said[f" {step} ms "]), abs=RISE)
