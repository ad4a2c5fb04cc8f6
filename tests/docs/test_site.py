"""The documentation builds as a site: no broken link, no undocumented public name."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nmdp_pin._scenario import bundled_scenarios

ROOT = Path(__file__).parents[2]
MOST_LINES = 250  # of a page
pytest.importorskip("mkdocstrings_handlers.python")


def build(site: Path, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Build the site strictly."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site],
        cwd=root,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )


def test_the_site_builds(tmp_path):
    """Strictly, with every page on the navigation and an inventory of the public names."""
    done = build(tmp_path / "site")
    assert done.returncode == 0, done.stderr
    for page in ("index.html", "tutorial/index.html", "api/simulation/index.html"):
        assert (tmp_path / "site" / page).is_file()
    listed = (tmp_path / "site/scenarios/index.html").read_text(encoding="utf-8")
    for name in bundled_scenarios():
        assert f"<code>{name}</code>" in listed
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "arithmatex" not in text
        assert not re.search(r'<(script|link|img)[^>]*(src|href)="(https?:)?//', text), page
    assert "<math" in (tmp_path / "site/theory/principle/index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "code"), [("index.md", 0), ("nothing.md", 1)])
def test_a_broken_link_fails(tmp_path, page, code):
    """A page that links to nothing stops the build, of a site with that page alone."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[0]
    settings = settings.replace("hooks: [tools/site_hooks.py]", "")  # which miss the other pages
    (tmp_path / "mkdocs.yml").write_text(settings, encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text(f"[it]({page})\n", encoding="utf-8")
    done = build(tmp_path / "site", tmp_path)
    assert done.returncode == code
    assert page in done.stderr + done.stdout or not code


def test_pages_are_short():
    """Nobody reads a page of many screens."""
    for path in (ROOT / "docs").rglob("*.md"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES, path
