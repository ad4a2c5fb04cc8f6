"""What is released: the source distribution, the extras and the versions."""

import ast
import inspect
import json
import os
import pydoc
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from pathlib import Path

import numba
import pytest

import nmdp_pin
from nmdp_pin import Scenario
from nmdp_pin._kernels.algebra.linear import all_finite
from nmdp_pin._runs.run import compile_kernels
from tools.wheel import PLATFORM, build_wheel

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BUILD = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
LOAD = """
from importlib.metadata import version
import nmdp_pin, nmdp_pin.papers, nmdp_pin.viz
from nmdp_pin import Scenario, bundled_robots, bundled_scenarios, load_robot
robots, scenarios = sorted(bundled_robots()), sorted(bundled_scenarios())
[load_robot(name) for name in robots], [Scenario.load(name) for name in scenarios]
Scenario.load("robosimian-jump-paper", overrides=["integrator.name='ne-mdp'"])  # an entry point
modules = nmdp_pin, nmdp_pin.papers, nmdp_pin.viz
print([version("nmdp-pin"), robots, scenarios, *(m.__file__ for m in modules)])
"""  # by what is installed


def tracked() -> set[str]:
    """The files of the repository."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a clone")
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}


@pytest.fixture(scope="module")
def distribution(tmp_path_factory):
    """The source distribution, built of the files of the repository."""
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("distribution")
    copy = folder / "copy"
    for name in tracked():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name, follow_symlinks=False)
    subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)], cwd=copy, check=True, capture_output=True
    )
    (path,) = folder.glob("*.tar.gz")
    return path


def test_the_source_distribution_is_whole(distribution):
    """It holds every file of the repository: its tests can be run, its documentation read."""
    files = tracked()
    with tarfile.open(distribution) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    links = {name for name in files if (ROOT / name).is_symlink()}
    assert not files - links - held, "add them to MANIFEST.in"
    assert all(f"{name}/__init__.py" in held for name in links)


def test_what_is_installed_is_whole(distribution, tmp_path):
    """The wheel of the source distribution, installed, loads every robot and scenario."""
    site = tmp_path / "site"
    words = ["install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target"]
    pip = [sys.executable, "-m", "pip", *words, str(site), str(distribution)]
    done = subprocess.run(pip, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = subprocess.run(
        [sys.executable, "-c", LOAD],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
    )
    assert shown.returncode == 0, shown.stderr
    version, robots, scenarios, *files = ast.literal_eval(shown.stdout.splitlines()[-1])
    assert version == PROJECT["version"]
    assert robots == sorted(path.parent.name for path in (ROOT / "robots").glob("*/robot.toml"))
    assert scenarios == sorted(path.stem for path in (ROOT / "scenarios").glob("*.toml"))
    assert all(Path(path).is_relative_to(site) for path in files)


FIRST_STEP = """
import json, time
import nmdp_pin
from nmdp_pin import Scenario
from nmdp_pin._runs.run import compile_kernels
scenario = Scenario.load("robosimian-jump")
compile_kernels(scenario, scenario.build(visuals=False))
print(json.dumps([nmdp_pin.__file__, time.process_time()]))
"""
MOST = 10.0  # [s] of CPU; 2.2 on a machine at rest, where compilation takes 60


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="kernels are not compiled")
@pytest.mark.skipif(sysconfig.get_platform() != "linux-x86_64", reason="the wheel is of Linux")
def test_a_first_step_from_the_wheel_compiles_nothing(distribution, tmp_path):
    """In a new environment, beside the packages of this one, with an empty cache."""
    from nmdp_pin._kernels.compiler import kernel_cache
    from nmdp_pin._kernels.compiler.processor import PORTABLE, target_of

    target = target_of(all_finite.targetctx.codegen())
    if target[1] != PORTABLE:
        pytest.skip("the processor is another one")
    scenario = Scenario.load("robosimian-jump")
    compile_kernels(scenario, scenario.build(visuals=False))
    wheel = build_wheel(distribution, kernel_cache.kernel_folder(target), tmp_path)
    assert wheel.name.split("-")[2:] == [f"cp3{sys.version_info[1]}", "none", f"{PLATFORM}.whl"]
    venv.create(tmp_path / "new")
    (site,) = tmp_path.glob("new/lib/python*/site-packages")
    packages = sysconfig.get_path("purelib")
    (site / "packages.pth").write_text(f"import site; site.addsitedir({packages!r})")
    words = ["install", "--quiet", "--no-deps", "--no-index", "--target", str(site), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, capture_output=True)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [tmp_path / "new/bin/python", "-c", FIRST_STEP],
        cwd=tmp_path,
        env=kept | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "compiles" not in done.stderr
    path, cost = json.loads(done.stdout)
    assert Path(path).is_relative_to(site)
    assert cost < MOST
    assert not (tmp_path / "cache").exists()


def said_in_a_copy(code, folder, *left_out):
    """What a program prints that takes the package from a copy, with PYTHONPATH."""
    copy = folder / "copy"
    for name in tracked():
        kept = name.startswith(("nmdp_pin", "viz", "scenarios", "robots"))
        if kept and not name.startswith(left_out):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name, follow_symlinks=False)
    (copy / "pyproject.toml").write_text('[project]\nname = "nmdp-pin"\n')
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout)


def test_a_copy_on_the_path_takes_all_of_itself(tmp_path):
    """With PYTHONPATH set to a copy no module is taken from the installed checkout."""
    names = [f"nmdp_pin{part}" for part in ("", ".viz", ".papers", ".scenarios", ".robots")]
    code = f"import {', '.join(names)}, sys; print([sys.modules[n].__file__ for n in {names!r}])"
    for path in said_in_a_copy(code, tmp_path):
        assert Path(path).is_relative_to(tmp_path)


def test_the_core_does_without_the_papers(tmp_path):
    """The flagship is built where nothing of theirs is there, and no solver of quadratic programs.

    Its methods are those of the core.
    """
    code = (
        "import sys; sys.modules['proxsuite'] = sys.modules['daqp'] = None\n"
        "from nmdp_pin import Scenario\n"
        "from nmdp_pin._integrators import INTEGRATORS\n"
        "Scenario.load('robosimian-jump').build(); print(list(INTEGRATORS))"
    )
    assert said_in_a_copy(code, tmp_path, "nmdp_pin/papers") == ["ne-nmdp", "pbd-nmdp", "pbfd"]


def requirements(lines: list[str]) -> dict[str, str]:
    """Versions that are allowed, by name."""
    return dict(re.fullmatch(r"([\w-]+(?:\[\w+\])?)(.*)", line).groups() for line in lines)


def test_few_packages_are_mandatory():
    """The rest are extras."""
    needed = requirements(
        [line for line in PROJECT["dependencies"] if not line.startswith("cmeel")]
    )
    assert {"pin", "coal", "proxsuite", "numpy", "meshcat"} <= needed.keys()
    assert "example-robot-data-loaders" in needed
    assert len(PROJECT["dependencies"]) <= 16


def test_the_extra_dev_has_all_other_extras():
    """What a test needs, `make test` installs, and in the same versions."""
    extras = PROJECT["optional-dependencies"]
    dev = requirements(extras["dev"])
    others = [requirements(lines) for name, lines in extras.items() if name != "dev"]
    assert all(other.items() <= dev.items() for other in others)


# Names of conda-forge for packages of PyPI; cmeel's are part of pinocchio there.
OF_CONDA = {
    "pin": "pinocchio",
    "example-robot-data-loaders": "example-robot-data",
    "meshcat": "meshcat-python",
}


def test_the_recipe_and_the_citation_are_of_this_version():
    """They state the version and the requirements of pyproject.toml."""
    recipe = (ROOT / "recipe/recipe.yaml").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'\n  version: "{PROJECT["version"]}"\n' in recipe
    assert f"\nversion: {PROJECT['version']}\n" in citation
    wanted = requirements([d for d in PROJECT["dependencies"] if not d.startswith("cmeel")])
    lines = re.findall(r"^    - ([\w-]+) ([<>=][\w.,<>=]+)$", recipe.partition("  run:")[2], re.M)
    stated = dict(lines)
    for name, versions in wanted.items():
        least = re.match(r"[=>]=([\d.]+)", versions)[1]
        assert stated[OF_CONDA.get(name, name)].startswith(f">={least}"), name


def test_the_changelog_is_a_page_of_this_version():
    """Users read it: its newest version is the present one, and it stays short."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## \[([\d.]+)\]", text, re.MULTILINE)[1] == PROJECT["version"]
    assert len(text.split()) < 1000


def test_what_runs_on_a_push_is_what_is_supported():
    """The workflows parse, have all Pythons and the oldest numba, and ruff is that of `dev`."""
    yaml = pytest.importorskip("yaml")
    folder = ROOT / ".github"
    files = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.yml")}
    parsed = {path.name: yaml.safe_load(text) for path, text in files.items()}
    matrix = parsed["tests.yml"]["jobs"]["tests"]["strategy"]["matrix"]
    named = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if "Python :: 3." in c]
    assert matrix["python"] == [c for c in named if "." in c]
    (numba,) = (d for d in PROJECT["dependencies"] if d.startswith("numba"))
    assert matrix["include"][0]["numba"] == f"{numba.partition('>=')[2]}.*"
    goals = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    used = {
        goal for text in files.values() for goal in re.findall(r"run: make ([a-z]+)$", text, re.M)
    }
    assert used <= set(goals)
    (ruff,) = (d for d in PROJECT["optional-dependencies"]["dev"] if d.startswith("ruff"))
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert hooks["repos"][0]["rev"] == f"v{ruff.partition('==')[2]}"


@pytest.mark.parametrize(
    "name",
    ["FrictionCone", "Recording", "StablePD", "ViNewton", "Weld", "free_body", "load_robot"],
)
def test_signatures_show_plain_types(name):
    """`help` prints "power: int = 3", without the range that options are checked against."""
    public = getattr(nmdp_pin, name)
    signature, told = inspect.signature(public), pydoc.render_doc(public)
    whole, shown_whole = (re.sub(r",?[\s|]", "", text) for text in (str(signature), told))
    assert whole in shown_whole  # since Python 3.13 in several lines
    for shown in (str(signature), *re.findall(r"^.*\(self.*$", told, re.MULTILINE)):
        assert "Annotated" not in shown
        assert "FieldInfo" not in shown
        assert "-> NoneType" not in shown
    assert len(signature.parameters) >= 3
