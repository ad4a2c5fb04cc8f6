"""The dependency order of the package: imports run down the layers only."""

import ast
import functools
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import nmdp_pin
from nmdp_pin._cli import COMMANDS

ROOT = Path(__file__).parents[2]
ROOTS = {"nmdp_pin": ROOT / "nmdp_pin", "nmdp_pin.viz": ROOT / "viz"}

# From the bottom to the top; a unit is a module or package right below nmdp_pin. A unit imports
# from its own layer and those below.
LAYERS = (
    ("errors", "_options", "_registry", "_words", "_state", "_kernels"),
    ("_files", "_parallel", "_terrain"),
    ("_robot",),
    ("_contact", "_control"),
    ("_dynamics",),
    ("_integrators",),
    ("_simulator", "papers.methods"),
    ("_jax",),
    ("_derivatives", "rollout", "device", "_sensors"),
    ("contact", "control", "derivatives", "planning", "sensors", "terrain"),
    ("_scenario", "_runs", "testing"),
    ("viz",),
    ("_sweep", "adapters"),
    ("_cli", "__main__"),
    ("papers",),
)
METHODS = "papers.methods"  # registered by entry points: nothing of the core imports them


@functools.cache
def modules() -> dict[str, Path]:
    """Dotted names of our modules and where they are."""
    found = {}
    for package, folder in ROOTS.items():
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join((package, *parts))] = path
    return found


@functools.cache
def imported(path: Path, module: str) -> set[str]:
    """Modules of ours that a file imports at run time, `if TYPE_CHECKING` left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.walk(node)
    }
    names = set()
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} uses a relative import"
            names.add(node.module or "")
    return {name for name in names if name.split(".")[0] == "nmdp_pin"}


def unit(module: str) -> str:
    """Module or package right below nmdp_pin; empty for nmdp_pin itself."""
    return (
        METHODS if f"{module}.".startswith(f"nmdp_pin.{METHODS}.") else [*module.split("."), ""][1]
    )


def layer(name: str) -> int:
    """Place of a unit in the order."""
    for height, units in enumerate(LAYERS):
        if name in units:
            return height
    pytest.fail(f"'{name}' has no place in LAYERS of tests/project/test_imports.py: give it one")


def allowed(source: str, target: str) -> bool:
    """True when a module of unit `source` may import one of unit `target`."""
    if source == target:
        return True
    if target == METHODS:
        return source == "papers"
    return target != "" and layer(target) <= layer(source)


def test_imports_run_down():
    """No module imports from a layer above its own."""
    for module, path in modules().items():
        if module == "nmdp_pin":
            continue
        up = [name for name in imported(path, module) if not allowed(unit(module), unit(name))]
        assert not up, f"{module} imports {up}, which stand above it"


def test_the_check_sees_an_import_that_runs_up():
    """The rule refuses what the order forbids and takes what it allows."""
    assert not allowed("_dynamics", "_integrators")
    assert not allowed("_state", "")
    assert not allowed("_cli", "papers")
    assert not allowed("_cli", "papers.methods")
    assert not allowed("papers.methods", "_cli")
    assert allowed("_cli", "viz")


@pytest.mark.parametrize(("module", "own"), [("errors", {"nmdp_pin._words"}), ("_words", set())])
def test_errors_import_nothing(module, own):
    """Errors and the words in them stand below everything, their types included."""
    source = (ROOT / "nmdp_pin" / f"{module}.py").read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(source)))
    assert not [node for node in nodes if isinstance(node, ast.Import)]
    assert {node.module for node in nodes if isinstance(node, ast.ImportFrom)} == own


def test_papers_know_no_sweeps():
    """Their evaluations make runs of their own."""
    for module, path in modules().items():
        if unit(module) == "papers":
            assert not [name for name in imported(path, module) if unit(name) == "_sweep"]


def test_the_picture_of_imports_is_current(monkeypatch):
    """The page shows the rooms as they are, without a circle, in at most 12 layers."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    from import_layers import layers_of, picture

    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").splitlines()
    lines = [line.split() for line in picture() if line]
    for line in lines:
        assert any(shown.split()[: len(line)] == line for shown in page), line
    assert max(int(layer) for layer, *_ in lines) < 12
    assert sum(len(rooms) for _, *rooms in lines) <= 32
    with pytest.raises(ValueError, match=r"a circle among \['a', 'b'\]"):
        layers_of({"a": {"b"}, "b": {"a"}, "c": set()})


ARRAYS = ("numpy", "scipy", "numba", "pinocchio", "coal", "joblib")
SHOWN = ("typer", "rich")
PAPERS = ("nmdp_pin.papers", "proxsuite", "daqp")
DRAWN = ("matplotlib", "trimesh", "example_robot_data", "meshcat")


def loaded(code: str) -> set[str]:
    """Modules that a process has loaded at the end of a program."""
    listed = "; import sys; print('modules:', *sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code + listed], capture_output=True, text=True, check=True
    )
    return set(result.stdout.rpartition("modules:")[2].split())


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import nmdp_pin", {*ARRAYS, *SHOWN, *DRAWN, "pydantic"}),
        ("import nmdp_pin; dir(nmdp_pin)", {*ARRAYS, *SHOWN, *DRAWN, "pydantic"}),
        ("from nmdp_pin import Recording", {"numba", "pinocchio", "coal", *SHOWN, *DRAWN}),
        ("from nmdp_pin import load_robot", {"nmdp_pin._integrators", *SHOWN, *DRAWN}),
        ("from nmdp_pin import Simulator", {"nmdp_pin._scenario", *PAPERS, *SHOWN, *DRAWN}),
        ("from nmdp_pin import *", {*SHOWN, *DRAWN}),
    ],
)
def test_imports_are_light(code, absent):
    """A name loads what it needs; the package itself loads nothing, and draws nothing."""
    assert not loaded(code) & absent


def test_the_package_alone_is_three_modules():
    """It loads its errors and their words, which import nothing."""
    ours = {name for name in loaded("import nmdp_pin") if name.split(".")[0] == "nmdp_pin"}
    assert ours == {"nmdp_pin", "nmdp_pin.errors", "nmdp_pin._words"}


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["no-command"], []])
def test_commands_are_imported_when_they_are_given(words):
    """Help, version and mistakes load no arrays, kernels or robots."""
    code = (
        "import contextlib; from nmdp_pin._cli import main\n"
        f"with contextlib.suppress(SystemExit): main({words})\n"
    )
    assert not loaded(f"{code}pass") & {*ARRAYS, *DRAWN, "nmdp_pin._robot", "nmdp_pin._cli.run"}


def test_commands_draw_nothing():
    """No command loads plots or meshes before it draws."""
    names = ", ".join(f"nmdp_pin._cli.{module}" for module in {m for m, _ in COMMANDS.values()})
    assert not loaded(f"import {names}") & {"matplotlib", "trimesh"}


def test_type_checkers_see_the_public_names():
    """Those imported for them are those that the package imports on demand."""
    tree = ast.parse((ROOT / "nmdp_pin" / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    assert seen == nmdp_pin._HOMES
    assert sorted([*seen, "NmdpError"]) == nmdp_pin.__all__


def test_public_names_are_attributes():
    """`dir` has them, a wrong one is refused with the usual error."""
    assert set(nmdp_pin.__all__) <= set(dir(nmdp_pin))
    assert not hasattr(nmdp_pin, "Simulater")
    with pytest.raises(AttributeError, match="module 'nmdp_pin' has no attribute 'Simulater'"):
        nmdp_pin.Simulater  # noqa: B018


def test_a_module_hides_no_function():
    """`nmdp_pin.rollout` stays the function when its module is imported, which sets the module."""
    function = nmdp_pin.rollout
    nmdp_pin.rollout = sys.modules["nmdp_pin.rollout"]
    assert nmdp_pin.rollout is function is sys.modules["nmdp_pin.rollout"].rollout


def test_threads_may_import_at_once():
    """Each gets every name, whichever comes first."""
    loaded(
        "import nmdp_pin, concurrent.futures as futures\n"
        "names = nmdp_pin.__all__\n"
        "def use(k): return [getattr(nmdp_pin, name) for name in names[k:] + names[:k]]\n"
        "with futures.ThreadPoolExecutor(4) as pool:\n"
        "    got = list(pool.map(use, range(0, len(names), len(names) // 4)))\n"
        "assert len(got) >= 4"
    )


@pytest.mark.parametrize("first", ["_integrators.presets", "_simulator.step_control"])
def test_the_papers_methods_are_registered(first):
    """Whoever imports the registries finds them full, whatever was imported first."""
    loaded(
        f"import nmdp_pin.{first}\n"
        "from nmdp_pin._integrators import INTEGRATORS\n"
        "from nmdp_pin._integrators.presets import PRESETS\n"
        "assert {'ne-nmdp', 'ne-mdp'} <= INTEGRATORS.keys() and 'paper' in PRESETS\n"
        "assert INTEGRATORS['ne-mdp'].name == 'ne-mdp' and PRESETS['paper']['order'] == 1"
    )


def test_every_package_is_installed() -> None:
    """A wheel holds every folder that has an __init__.py."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = ROOTS | {"nmdp_pin.robots": ROOT / "robots", "nmdp_pin.scenarios": ROOT / "scenarios"}
    packages = {
        ".".join((package, *path.parent.relative_to(folder).parts))
        for package, folder in folders.items()
        for path in folder.rglob("__init__.py")
    }
    assert set(listed["tool"]["setuptools"]["packages"]) == packages
