"""The code on docs/rollouts.md runs, and its tables name what there is."""

import re
from dataclasses import fields

import pytest
from pages import code_on, page, run_code

from nmdp_pin._cli import main
from nmdp_pin._runs.run_many import _make
from nmdp_pin._runs.run_store import code_version
from nmdp_pin.rollout import Rollout

PAGE = page("rollouts.md")


@pytest.fixture(scope="module")
def names():
    """What the page's code leaves, run from the top."""
    return run_code(PAGE)


def test_the_code_runs(names):
    """Rollouts of torques and of targets are made to their end, alone and in processes."""
    assert len(code_on(PAGE)) > 3
    assert names["result"].x.shape == (8, 10, 30)
    for name in ("result", "tracked", "again"):
        assert names[name].ok.all()
    assert len(names["sweep"].points) == 2


def test_the_table_of_a_sweep(tmp_path, capsys):
    """Its first run is printed as the page shows it, but for the time."""
    words = ["sweep", "sliding-box", "--grid", "integrator.dt=0.01"]
    words += ["--grid", "contact.friction=0.4", "--out", f"{tmp_path}/box.parquet"]
    with pytest.raises(SystemExit) as end:
        main(words)
    assert not end.value.code
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    shown = re.findall(r"^    (integrator\.dt .*|0\.01 .*)$", PAGE, re.MULTILINE)
    assert len(shown) == 2
    for line in shown:
        assert line.split()[:-1] in [found[:-1] for found in lines]


def test_the_fields_of_a_rollout():
    """The table has them all."""
    assert set(re.findall(r"^\| `result\.(\w+)`", PAGE, re.MULTILINE)) == {
        field.name for field in fields(Rollout)
    }


def test_the_columns_of_a_sweep(names):
    """The page's table has them all, and no other."""
    made = _make((code_version(), None, None), names["sweep"].points[0].run)
    table = PAGE[PAGE.index("| column | is |") :].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines()[3:]]
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(made)
