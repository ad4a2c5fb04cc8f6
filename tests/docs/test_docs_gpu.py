"""The code on docs/gpu.md runs, and its numbers are those of the data."""

import numpy as np
from pages import ROOT, page, run_code

from nmdp_pin.experiments.data_file import read_data, value

PAGE = page("gpu.md")


def test_the_code_runs(tmp_path, monkeypatch):
    """Its two rollouts are made to their end, and are the same."""
    monkeypatch.chdir(tmp_path)
    names = run_code(PAGE)
    assert names["made"].ok.all()
    assert (np.asarray(names["rolled"].status) == 0).all()
    np.testing.assert_allclose(np.moveaxis(names["rolled"].x, 2, 0), names["made"].x, atol=1e-8)


def test_the_table_is_of_the_data():
    """Times and counts of its rows."""
    for row in read_data(ROOT / "docs/results/gpu.csv"):
        wall, cpu = (f"{value(row, name):.0f}" for name in ("us a step", "CPU us a step"))
        assert f"| {cpu} | {wall} |" in PAGE
        if row["schedule"]:
            assert f"| {wall} | {value(row, 'calls a step'):.3g} |" in PAGE
