"""The command `nmdp-pin paper` in this process, and the data and pages that it leaves."""

import re
from pathlib import Path

import pytest

from nmdp_pin._cli import main
from nmdp_pin.papers.data_file import read_data

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs/results"
LARGEST_PICTURE = 150_000  # [bytes] of a committed PNG
CSV = 1e-5  # relative: a CSV has six digits

rows = read_data


def command(*words: object) -> int:
    """Exit code of `nmdp-pin paper`."""
    with pytest.raises(SystemExit) as end:
        main(["paper", *map(str, words)])
    return int(end.value.code or 0)


def check_page(page: Path, pictures: str) -> None:
    """Links lead somewhere; pictures are small, and are all shown."""
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert len(links) > 5
    for link in links:
        assert (page.parent / link).exists(), link
    pages = "".join(path.read_text(encoding="utf-8") for path in page.parent.glob("*.md"))
    for path in page.parent.glob(pictures):
        assert path.stat().st_size < LARGEST_PICTURE, path.name
        assert path.name in pages
