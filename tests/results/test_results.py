"""The results: their parts, their data, and that every page shows what its data say."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nmdp_pin.errors import ExperimentError
from nmdp_pin.papers import data_file
from nmdp_pin.papers.data_file import commit, origin, read_data, stamped, write_data
from nmdp_pin.papers.page import parts_of
from tools.results import __main__ as results
from tools.results import page_tables
from tools.results.page_tables import keep_tables, printed_tables, refresh, tables_of
from tools.results.parts import PARTS, PICTURES, RESULTS, ROOT, Part

PAGES = {page: parts for page in results.pages() if (parts := parts_of(page))}
PLACES = [(page, name) for page, parts in PAGES.items() for name in parts]
TABLE = "said before\n\n| a | b |\n|---|---|\n| 1 | 2.50 |\n| x |  |\n\nafter\n"


@pytest.mark.parametrize(("page", "name"), PLACES, ids=lambda x: getattr(x, "stem", x))
def test_a_page_shows_what_its_data_say(page, name):
    """Every number in the tables of a part is that of its data, to the last digit."""
    shown = printed_tables(PAGES[page][name])
    made = [[table.columns, *table.rows] for table in tables_of(name, RESULTS)]
    assert shown == [[tuple(row) for row in table] for table in made]


def test_data_name_their_commit():
    """The first line says with which code they were made, and when."""
    for path in RESULTS.glob("*.csv"):
        assert origin(path), path
        assert read_data(path), path


def test_parts_have_names_of_their_own_and_make_all_pictures():
    """No two parts share a name or a table, and each script is there."""
    names = [part.name for part in PARTS]
    tables = [name for part in PARTS for name in (*part.tables, *part.copies)]
    assert len(set(names)) == len(names)
    assert len(set(tables)) == len(tables)
    for part in PARTS:
        first = part.words.split()[0]
        assert first == "-m" or (ROOT / first).exists(), part.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_dates_its_data(page):
    """Where a part of a page links to data it says of which day they are."""
    for part in PAGES[page].values():
        for path, day in re.findall(r"\]\(([^)]+\.csv)\)(?: of (\S{10}))?", part):
            assert day == origin(page.parent / path)[1], path


def test_every_file_of_data_is_on_a_page():
    """Some page links to it, and the data of each table that a command prints are there."""
    data = {path.stem for path in RESULTS.glob("*.csv")}
    assert {name for part in PARTS for name in part.tables} <= data
    assert [name for name in sorted(data) if not results.pages_with(name)] == []


def test_every_picture_has_a_command():
    """Those of docs/images are made by parts of their own."""
    assert {path.name for path in (ROOT / "docs/images").iterdir()} == set(PICTURES)
    source = (ROOT / "tools/pictures.py").read_text(encoding="utf-8")
    assert [name for name in PICTURES if f'"{name}":' not in source] == []


def test_tables_of_a_text():
    """Cells without rules; two tables are told apart by a line between them."""
    assert printed_tables(TABLE) == [[("a", "b"), ("1", "2.50"), ("x", "")]]
    assert len(printed_tables(TABLE + TABLE)) == 2


def test_a_printed_table_is_kept_and_shown(tmp_path, monkeypatch):
    """It goes into the data, and from there onto the page; a command that prints none is named."""
    part = Part("own", "own.py", 0.1, {"own": 0})
    monkeypatch.setattr(page_tables, "PARTS", (part,))
    keep_tables(part, TABLE, tmp_path)
    assert read_data(tmp_path / "own.csv") == [{"a": "1", "b": "2.50"}, {"a": "x", "b": ""}]
    page = tmp_path / "page.md"
    page.write_text("# P\n\n<!-- begin own -->\n\nold\n\n<!-- end own -->\n", encoding="utf-8")
    refresh([page], tmp_path)
    text = page.read_text(encoding="utf-8")
    assert printed_tables(text) == printed_tables(TABLE)
    assert (
        f"`python own.py`; data: [own.csv](own.csv) of {origin(tmp_path / 'own.csv')[1]}." in text
    )
    with pytest.raises(ExperimentError, match=r"printed 0 tables: none is 'own'"):
        keep_tables(part, "nothing", tmp_path)
    with pytest.raises(ExperimentError, match="no command makes"):
        tables_of("none", tmp_path)


def test_parts_are_made_once(tmp_path, monkeypatch, capsys):
    """A second call makes none; one whose command fails is named, and the others are made."""
    good, bad = Part("good", "-c pass", 0.1), Part("bad", "-c 1/0", 0.1)
    monkeypatch.setattr(results, "PARTS", (bad, good))
    monkeypatch.setattr(results, "pages", list)
    monkeypatch.setattr(results, "fingerprint", lambda: "now")
    monkeypatch.setattr(sys, "argv", ["results", "--out", str(tmp_path)])
    assert results.main() == 1
    assert "'-c 1/0' failed with exit code 1" in capsys.readouterr().out
    monkeypatch.setattr(results, "PARTS", (good,))
    assert results.main() == 0
    assert "good: made already" in capsys.readouterr().out


def test_words_on_progress_end_no_table(tmp_path, monkeypatch):
    """A command that compiles writes so to standard error while it prints a table."""
    script = tmp_path / "own.py"
    script.write_text(
        "import sys\n"
        "print('| a |\\n|---|', flush=True)\n"
        "print('compiling', file=sys.stderr, flush=True)\n"
        "print('| 1 |')\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    monkeypatch.setattr(results, "pages", list)
    results.make(Part("own", str(script), 0.1, {"own": 0}), tmp_path)
    assert read_data(tmp_path / "own.csv") == [{"a": "1"}]
    assert "compiling" in (tmp_path / "own.log").read_text(encoding="utf-8")


def test_data_are_read_as_they_were_written(tmp_path):
    """Numbers to six digits, NaN as nothing; a file without a commit is refused."""
    path = write_data(tmp_path / "a.csv", ("x", "y"), [(1.0 / 3.0, "a"), (float("nan"), 2)])
    assert read_data(path) == [{"x": "0.333333", "y": "a"}, {"x": "", "y": "2"}]
    assert np.isnan(data_file.value(read_data(path)[1], "x"))
    path.write_text("x\n1\n", encoding="utf-8")
    with pytest.raises(ExperimentError, match="names no commit"):
        read_data(path)


def test_the_commit_is_that_of_the_checkout():
    """As git says, with a sign where the package differs from it."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        assert commit() == "unknown"
    else:
        assert done.stdout.startswith(commit().rstrip("+"))
    assert re.fullmatch(
        rf"# commit {re.escape(commit())} of \d{{4}}-\d\d-\d\d\nx\n", stamped("x\n")
    )
    assert Path(ROOT, "nmdp_pin").is_dir()
