"""The suite itself: marks that tell the truth, the usual SIGINT, and what the Makefile refuses."""

import ast
import importlib.util
import itertools
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pairwise import covering, spread

HERE = Path(__file__).parents[1]
WORK = "def test_it():\n    sum(range(10_000_000))\n"  # some tenths of a second


@pytest.fixture
def suite(tmp_path):
    """A suite of one test that has this one's plugins and counts 1 ms as slow."""
    shutil.copy(HERE / "conftest.py", tmp_path)
    cost = (HERE / "cost.py").read_text(encoding="utf-8")
    assert "\nLIMIT = 0.5\n" in cost
    (tmp_path / "cost.py").write_text(cost.replace("\nLIMIT = 0.5\n", "\nLIMIT = 1e-3\n"))
    (tmp_path / "slow.txt").write_text("")
    (tmp_path / "test_one.py").write_text(WORK)
    return tmp_path


def run(folder, *options, **how):
    """What pytest answers in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        **how,
    )


def test_a_slow_test_without_the_mark_fails_the_run(suite):
    """A test that costs far more than a quick one may is named, and the run fails."""
    result = run(suite)
    assert result.returncode == 1
    assert "test_one.py::test_it" in result.stdout


def test_a_listed_test_has_the_mark(suite):
    """A test that slow.txt lists is left out by `-m "not slow"` and fails no run."""
    (suite / "slow.txt").write_text("test_one.py::test_it\n")
    assert run(suite).returncode == 0
    assert "1 deselected" in run(suite, "-m", "not slow").stdout


def test_fixtures_count_for_every_test_that_asks_for_them(suite):
    """A fixture that is set up once makes all its tests slow: their order does not matter."""
    (suite / "test_one.py").write_text(
        "import pytest\n"
        "@pytest.fixture(scope='module')\n"
        "def number():\n    return sum(range(10_000_000))\n"
        "def test_one(number):\n    pass\n"
        "def test_two(number):\n    pass\n"
    )
    result = run(suite)
    assert result.returncode == 1
    assert "test_one.py::test_one" in result.stdout
    assert "test_one.py::test_two" in result.stdout


def test_interrupts_arrive_in_a_suite_that_ignores_them(suite):
    """Programs that tests start answer to SIGINT, though the suite was started with `&`."""
    (suite / "test_one.py").write_text(
        "import signal\n"
        "def test_it():\n"
        "    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    )
    ignoring = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "-m", "pytest"]
    result = subprocess.run(ignoring, cwd=suite, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stdout


def test_the_cache_is_the_tests_own(suite):
    """Nothing that an earlier run left in the user's cache is used, and none is left there."""
    (suite / "test_one.py").write_text(
        "import os, pathlib\n"
        "def test_it():\n"
        "    folder = pathlib.Path(os.environ['XDG_CACHE_HOME'])\n"
        "    assert not any(folder.iterdir())\n"
        "    (folder / 'kept').touch()\n"
    )
    (suite / "slow.txt").write_text("test_one.py::test_it\n")
    for _ in range(2):
        result = run(suite, env=os.environ | {"XDG_CACHE_HOME": str(suite)})
        assert result.returncode == 0, result.stdout
    assert not (suite / "kept").exists()


def test_every_pair_of_values_is_run():
    """In far fewer runs than there are combinations; `spread` runs each value."""
    rows = covering((4, 3, 2, 5))
    for a, b in itertools.combinations(range(4), 2):
        assert len({(row[a], row[b]) for row in rows}) == (4, 3, 2, 5)[a] * (4, 3, 2, 5)[b]
    assert len(rows) <= 24  # of 120; 20 are the least
    mark = spread({"x": "abc", ("y", "z"): [(1, 2), (3, 4)]})
    assert mark.args == (("x", "y", "z"), [("a", 1, 2), ("b", 3, 4), ("c", 1, 2)])


@pytest.fixture
def mutation():
    """The tool that plants errors."""
    spec = importlib.util.spec_from_file_location("mutation", HERE.parent / "tools" / "mutation.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutation"] = module  # its dataclasses ask for it
    spec.loader.exec_module(module)
    return module


def test_planted_errors_are_errors(mutation):
    """Each mutant of a module is another program, with one change, on the line that is named."""
    module = "nmdp_pin/_robot/gait.py"
    before = (HERE.parent / module).read_text(encoding="utf-8").splitlines()
    found = mutation.mutants(module)
    assert len(found) > 20
    for mutant in found:
        after = mutant.source.splitlines()
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse("\n".join(before)))
        assert before[: mutant.line - 1] == after[: mutant.line - 1]
        assert before[mutant.line - 1] != after[mutant.line - 1]


def test_errors_that_quick_tests_leave_are_tried_by_slow_ones(mutation, tmp_path):
    """What no test notices survives; a test that fails without an error counts for nothing."""
    module, tests = tmp_path / "small.py", tmp_path / "test_small.py"
    module.write_text("def double(x):\n    return 2 * x\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    head = "import pytest\nfrom small import double\n"
    quick = "def test_quick():\n    assert double(0) == 0\n"
    slow = "@pytest.mark.slow\ndef test_slow():\n    assert double(3) == {}\n"
    error = mutation.Mutant("small.py", 2, "2", "3", "def double(x):\n    return 3 * x\n")
    for text, expected in ((quick, True), (quick + slow.format(6), False)):
        tests.write_text(head + text)
        assert mutation.survives(tmp_path, error, ["test_small.py"]) == expected
        assert "2 * x" in module.read_text()
    tests.write_text(head + quick + slow.format(7))
    with pytest.raises(SystemExit, match="without an error: test_small"):
        mutation.survives(tmp_path, error, ["test_small.py"])


def test_errors_are_planted_in_all_modules_of_the_core():
    """tools/mutation.toml lists each module of six packages, and tests that exist."""
    table = HERE.parent / "tools" / "mutation.toml"
    listed = tomllib.loads(table.read_text(encoding="utf-8"))
    packages = ("_robot", "_dynamics", "_integrators", "_derivatives", "_files", "_kernels")
    modules = {
        path.relative_to(HERE.parent).as_posix()
        for package in packages
        for path in (HERE.parent / "nmdp_pin" / package).rglob("*.py")
        if path.name != "__init__.py"
    }
    assert len(modules) > 80
    assert modules <= listed.keys()
    for module, tests in listed.items():
        assert tests
        for path in (module, *tests):
            assert (HERE.parent / path).exists(), path


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_make_installs_into_a_virtual_environment_only(tmp_path):
    """A folder .venv with a Python that is no virtual environment is refused, and not used."""
    for file in ("Makefile", "pyproject.toml"):
        shutil.copy(HERE.parent / file, tmp_path)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\ntouch used\n")
    python.chmod(0o755)
    # A make around the tests hands its own variables on.
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    result = subprocess.run(
        ["make", "lint"], cwd=tmp_path, env=outside, capture_output=True, text=True, timeout=60
    )
    assert result.returncode != 0
    assert "pyvenv.cfg" in result.stderr
    assert not (tmp_path / "used").exists()
