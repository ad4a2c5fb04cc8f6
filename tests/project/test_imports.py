"""The dependency order of the package: imports run down the layers only."""

import ast
import functools
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOTS = {
    "nmdp_pin": ROOT / "nmdp_pin",
    "nmdp_pin.viz": ROOT / "viz",
    "nmdp_pin.experiments": ROOT / "experiments",
}

# From the bottom to the top; a unit is a module or package right below nmdp_pin. A unit imports
# from its own layer and those below.
LAYERS = (
    ("errors", "_options", "_words", "_state", "_kernels"),
    ("_files", "_parallel", "_terrain"),
    ("_robot",),
    ("_contact", "_control"),
    ("_dynamics",),
    ("_integrators",),
    ("_simulator", "_papers"),
    ("_derivatives", "rollout", "contact", "control", "derivatives", "terrain"),
    ("_scenario", "_runs", "testing"),
    ("viz",),
    ("_sweep", "adapters"),
    ("_cli", "__main__"),
    ("experiments",),
)
BOTTOM = LAYERS[0]
STAND_ALONE = ("_solvers",)  # anything from the integrators up may use them; they use the bottom


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
    return [*module.split("."), ""][1]


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
    if source in STAND_ALONE:
        return target in BOTTOM
    if target == "_papers":  # they register themselves
        return source == "experiments"
    if target in STAND_ALONE:
        return layer(source) >= layer("_integrators")
    return target != "" and layer(target) <= layer(source)


@pytest.mark.parametrize("module", sorted(set(modules()) - {"nmdp_pin"}))
def test_imports_run_down(module):
    """No module imports from a layer above its own."""
    path = modules()[module]
    up = [name for name in imported(path, module) if not allowed(unit(module), unit(name))]
    assert not up, f"{module} imports {up}, which stand above it"


def test_the_check_sees_an_import_that_runs_up():
    """The rule refuses what the order forbids and takes what it allows."""
    assert not allowed("_dynamics", "_integrators")
    assert not allowed("_solvers", "_dynamics")
    assert not allowed("_contact", "_solvers")
    assert not allowed("_state", "")
    assert not allowed("_scenario", "_papers")
    assert allowed("_integrators", "_solvers")
    assert allowed("_cli", "viz")


@pytest.mark.parametrize(("module", "own"), [("errors", {"nmdp_pin._words"}), ("_words", set())])
def test_errors_import_nothing(module, own):
    """Errors and the words in them stand below everything, their types included."""
    source = (ROOT / "nmdp_pin" / f"{module}.py").read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(source)))
    assert not [node for node in nodes if isinstance(node, ast.Import)]
    assert {node.module for node in nodes if isinstance(node, ast.ImportFrom)} == own


def test_sweeps_know_no_papers():
    """Neither sweeps nor runs import from the evaluations of the papers, nor these from sweeps."""
    for folder, other in (
        ("_sweep", "experiments"),
        ("_runs", "experiments"),
        ("experiments", "_sweep"),
    ):
        for module, path in modules().items():
            if unit(module) == folder:
                assert not [name for name in imported(path, module) if unit(name) == other]


def test_imports_are_light():
    """The package loads no viewer, plots, commands or meshes; the commands no plots or meshes."""
    heavy = ("matplotlib", "trimesh", "typer", "rich", "example_robot_data")
    code = (
        f"import sys, nmdp_pin; print([m for m in {heavy} if m in sys.modules]);"
        f"import nmdp_pin._cli; print([m for m in {heavy[:2]} if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.split() == ["[]", "[]"]


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
