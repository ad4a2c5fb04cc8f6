"""The documents agree with the tree: links, symbols, tables of methods and robots."""

import ast
import re
from pathlib import Path

import nmdp_pin
from nmdp_pin._contact import FrictionCone
from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._robot import bundled_robots

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "robots").glob("*/README.md")]
)
LINK = re.compile(r"!?\[[^\]\n]+\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
FEWEST_ROWS = 30  # of the list of symbols; fewer means that it was not found
MOST_NAMES = 64  # of the package; more is no longer a short list


def text(path: Path) -> str:
    """Content of a document."""
    return path.read_text(encoding="utf-8")


def links(path: Path) -> list[str]:
    """Targets of its links, those on the web left out."""
    found = LINK.findall(FENCE.sub("", text(path)))
    return [target for target in found if not target.startswith(("http://", "https://"))]


def anchors(path: Path) -> set[str]:
    """What a link may name after '#'."""
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", text(path)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def table_keys(path: Path, first: str) -> set[str]:
    """Code names in the first column of the table whose first column has that title."""
    rows = re.search(rf"^\| {first} \|.*\n((?:\|.*\n)+)", text(path), re.MULTILINE)
    assert rows is not None, f"{path.name} has no table '{first}'"
    cells = [line.split("|")[1] for line in rows.group(1).splitlines()]
    return {name for cell in cells for name in CODE.findall(cell)}


def test_there_are_links():
    """The documents refer to each other."""
    assert sum(len(links(path)) for path in PAGES) > 20


def test_links_resolve():
    """Every link to a file or a heading finds it."""
    for path, link in ((page, link) for page in PAGES for link in links(page)):
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), f"{path.name} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{path.name} links to {link}"


def test_named_files_exist():
    """A path in code quotes that begins in a folder of the checkout is a file or folder of it."""
    places = "nmdp_pin|tests|docs|examples|benchmarks|viz"
    for path in PAGES:
        for quoted in CODE.findall(FENCE.sub("", text(path))):
            if re.fullmatch(rf"(?:{places})/[\w./-]+", quoted):
                assert (ROOT / quoted).exists(), f"{path.name} names {quoted}"


def names_in(path: Path) -> set[str]:
    """All identifiers that a module defines, assigns, takes as arguments or reads."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text(path))):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return names


SYMBOL = re.compile(
    r"^- (?:.+?: )?(`\w+`(?:, `\w+`)*)[, ].*\(`(nmdp_pin/[\w/.]+)`\)$", re.MULTILINE
)


def test_symbols_exist():
    """Every name of the list of symbols is in the file that it is said to be in."""
    page = text(ROOT / "docs/notation.md")
    rows = SYMBOL.findall(page)
    assert len(rows) == page.count("\n- ") > FEWEST_ROWS
    for names, file in rows:
        for name in CODE.findall(names):
            assert name in names_in(ROOT / file), f"{name} is not in {file}"


MOST_LINES = 120  # of the README


def test_readme_is_short():
    """The README can be read in a minute."""
    assert len(text(ROOT / "README.md").splitlines()) <= MOST_LINES


def test_tables_list_everything():
    """Methods and robots: those that exist, and no other."""
    readme = ROOT / "README.md"
    assert table_keys(readme, "method") == set(INTEGRATORS)
    assert table_keys(ROOT / "docs/robots.md", "robot") == set(bundled_robots())


def test_inscribed_friction():
    """The share of mu that the page on contact models states for six directions."""
    least, most = FrictionCone(stiffness=1.0, directions=6).effective_friction(1.0)
    assert f"between {least:.3f} mu and mu" in text(ROOT / "docs/contact_models.md")
    assert most == 1.0


def test_public_names():
    """The package exports a short sorted list, and every name on it is there."""
    assert sorted(nmdp_pin.__all__) == nmdp_pin.__all__
    assert len(nmdp_pin.__all__) <= MOST_NAMES
    for name in nmdp_pin.__all__:
        assert getattr(nmdp_pin, name).__doc__
