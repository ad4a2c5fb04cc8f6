"""The code on docs/derivatives.md runs, and its list of parameters is complete."""

import re
from pathlib import Path

from nmdp_pin.derivatives import PARAMETERS

PAGE = (Path(__file__).parents[2] / "docs" / "derivatives.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_code_runs():
    """All blocks, one after another, give derivatives of steps that converged."""
    names: dict[str, object] = {}
    assert len(BLOCKS) == 3
    for block in BLOCKS:
        exec(block, names)
    assert names["info"].status.ok
    assert names["found"].status.ok
    assert names["of_x0"].shape == (30,)
    assert names["of_u"].shape == (5, 12)
    assert names["both"].dx_dx.shape == (2, 5, 30, 30)
    assert abs(names["of_x0"][0]) > 0.1


def test_every_parameter_is_listed():
    """The names that may be asked for."""
    rows = "\n".join(line for line in PAGE.splitlines() if line.startswith("- `"))
    assert all(f"`{name}`" in rows for name in PARAMETERS)
