"""Builds the wheel of this Python, with all kernels compiled for x86-64-v3.

    python tools/wheel.py FOLDER

`pip` takes this wheel on x86 Linux with this Python; its kernels are used with the Numba that is
installed here, and elsewhere are compiled. The wheel that `python -m build` makes has none.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLATFORM = "manylinux_2_17_x86_64"
_BUILD = (
    "import sys, setuptools.build_meta as backend\n"
    "getattr(backend, sys.argv[1])(sys.argv[2], {'--build-option': sys.argv[3:]})"
)
_TARGET = (
    "from nmdp_pin._kernels.compiler.processor import PORTABLE, target_of\n"
    "from nmdp_pin._kernels.algebra.linear import all_finite\n"
    "raise SystemExit(target_of(all_finite.targetctx.codegen())[1] != PORTABLE)"
)
_FIRST_STEPS = """
import os, time
from nmdp_pin import Scenario, bundled_scenarios
from nmdp_pin._runs.run import compile_kernels
for name in sorted(bundled_scenarios()):
    start, scenario = time.process_time(), Scenario.load(name)
    compile_kernels(scenario, scenario.build(visuals=False))
    print(f"{name}: {time.process_time() - start:.1f} s of CPU")
    for _, _, files in os.walk(os.environ["NUMBA_CACHE_DIR"]):
        if files:
            raise SystemExit(f"{name} compiles {sorted(files)}: add it to compilation.py")
"""  # from the kernels of the wheel alone


def build_wheel(source: Path, kernels: Path, folder: Path) -> Path:
    """Build the wheel of a source distribution.

    Args:
        source: source distribution (.tar.gz).
        kernels: folder of their files; see `kernel_folder`.
        folder: where the wheel goes.
    """
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(source) as archive:
            archive.extractall(scratch, filter="data")
        (tree,) = Path(scratch).iterdir()
        compiled = tree / "nmdp_pin/_kernels/compiled"
        shutil.copytree(kernels, compiled / kernels.name)
        for path in compiled.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)  # a cache is its user's alone
        tags = f"--python-tag=cp3{sys.version_info[1]}", f"--plat-name={PLATFORM}"
        _python("-c", _BUILD, "build_wheel", str(folder.absolute()), *tags, cwd=tree)
    (wheel,) = folder.glob(f"*-{PLATFORM}.whl")
    return wheel


def main(folder: Path) -> None:
    """Compile the kernels, build the wheel, and make the first step of each scenario from it."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        cache, site, empty = scratch / "cache", scratch / "site", scratch / "empty"
        here = {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
        if _python("-c", _TARGET, check=False, **here):
            sys.exit("this processor is not x86-64-v3 (or NUMBA_CPU_NAME is set)")
        _python("-m", "nmdp_pin", "compile", **here)
        _python("-c", _BUILD, "build_sdist", str(scratch), cwd=ROOT)
        (source,) = scratch.glob("*.tar.gz")
        (kernels,) = (cache / "nmdp-pin").iterdir()
        wheel = build_wheel(source, kernels, folder)
        words = ["install", "--quiet", "--no-deps", "--no-index", "--target"]
        _python("-m", "pip", *words, str(site), str(wheel))
        there = {"NUMBA_CACHE_DIR": str(empty), "PYTHONPATH": str(site)}
        _python("-c", _FIRST_STEPS, cwd=scratch, **there)
    print(f"wrote {wheel} ({wheel.stat().st_size / 1e6:.1f} MB)")


def _python(*words: str, cwd: Path | None = None, check: bool = True, **variables: str) -> int:
    """Run this Python; its exit code."""
    words, environment = (sys.executable, *words), {**os.environ, **variables}
    return subprocess.run(words, cwd=cwd, env=environment, check=check).returncode


if __name__ == "__main__":
    main(Path(sys.argv[1]))
