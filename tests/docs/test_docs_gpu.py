"""The code on docs/gpu.md runs, and its numbers are those of the data."""

import numpy as np
from pages import ROOT, page, run_code

from nmdp_pin.papers.data_file import read_data, value
from nmdp_pin.rollout import Jax, rollout

PAGE = page("gpu.md")
BACKENDS = Jax(), None


def test_the_code_runs(tmp_path, monkeypatch):
    """Its two rollouts are made to their end, and are the same, and compiled steps too."""
    monkeypatch.chdir(tmp_path)
    names = run_code(PAGE)
    simulator, made, u, stand = (names[name] for name in ("simulator", "made", "u", "stand"))
    assert made.ok.all()
    assert (np.asarray(names["rolled"].status) == 0).all()
    np.testing.assert_allclose(np.moveaxis(names["rolled"].x, 2, 0), names["made"].x, atol=1e-8)
    # Other starts by the same program: some lanes are damped, one fails.
    starts = np.tile(simulator.vector.pack(simulator.state()), (16, 1))
    starts[:, 6:] = np.random.default_rng(1).normal(size=(16, 6))
    starts[3, 6:] *= 1e6
    words = {"h": 0.01, "command": stand}
    found, expected = (rollout(simulator, starts, u, backend=b, **words) for b in BACKENDS)
    np.testing.assert_array_equal(found.status, expected.status)
    np.testing.assert_array_equal(found.steps, expected.steps)
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-8, atol=1e-8)
    assert found.ok.sum() == 15


def test_the_table_is_of_the_data():
    """Times and counts of its rows."""
    for row in read_data(ROOT / "docs/results/gpu.csv"):
        wall, cpu = (f"{value(row, name):.0f}" for name in ("us a step", "CPU us a step"))
        assert f"| {cpu} | {wall} |" in PAGE
        if row["schedule"]:
            assert f"| {wall} | {value(row, 'calls a step'):.3g} |" in PAGE
