"""Files and functions are short, and a name of the kernels has one meaning."""

import ast
import functools
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "nmdp_pin"
KERNELS = PACKAGE / "_kernels"
FILE, FUNCTION = 400, 60  # lines; those of a docstring do not count as a function's


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring."""
    first, lines = function.body[0], function.end_lineno - function.lineno + 1
    if ast.get_docstring(function, clean=False) is not None:
        lines -= first.end_lineno - first.lineno + 1
    return lines


def long_functions(module: ast.Module) -> list[str]:
    """Names of functions with too many lines."""
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    found = [node for node in ast.walk(module) if isinstance(node, functions)]
    return [node.name for node in found if lines_of(node) > FUNCTION]


def names_of(module: ast.Module) -> Iterator[str]:
    """Functions and classes of a module, and constants that others may use."""
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [n for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
            yield from (name.id for name in names if not name.id.startswith("_"))


def test_files_are_short():
    """One noun a file."""
    lengths = {
        path.relative_to(PACKAGE).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert not [path for path, lines in lengths.items() if lines > FILE]


def test_functions_are_short():
    """A function over the wall is two."""
    found = {
        f"{path.relative_to(PACKAGE).as_posix()}: {name}"
        for path in PACKAGE.rglob("*.py")
        for name in long_functions(parsed(path))
    }
    assert not found


def test_a_name_of_the_kernels_has_one_meaning():
    """No two modules define the same function, class or public constant."""
    places = defaultdict(set)
    for path in KERNELS.rglob("*.py"):
        for name in names_of(parsed(path)):
            places[name].add(path.relative_to(KERNELS).as_posix())
    assert not [name for name, modules in places.items() if len(modules) > 1]


@pytest.mark.parametrize(("statements", "long"), [(FUNCTION - 1, False), (FUNCTION, True)])
def test_the_check_counts_statements_and_no_docstring(statements: int, long: bool) -> None:
    """The line of the name counts."""
    body = '    """First.\n\n    Second.\n    """\n' + "    x = 1\n" * statements
    assert long_functions(ast.parse(f"def f():\n{body}")) == ["f"] * long
