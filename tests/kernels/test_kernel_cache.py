"""The folder of the compiled kernels: stale code, old folders, and processes side by side."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import nmdp_pin
from nmdp_pin._kernels.compiler import kernel_cache

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="kernels are not compiled")

CALLEE = "from nmdp_pin._kernels.compiler.jit import jit\n@jit\ndef f(x):\n    return 2.0 * x\n"
CALLER = (
    "from nmdp_pin._kernels.compiler.jit import jit\nfrom nmdp_pin._kernels.callee import f\n"
    "@jit\ndef g(x):\n    return f(x) + 1.0\n"
)
ASK = "from nmdp_pin._kernels.caller import g; print(g(3.0), sum(g.stats.cache_hits.values()))"


@pytest.fixture
def copy(tmp_path):
    """A copy of the package with two kernels of its own, one of which calls the other."""
    source = Path(nmdp_pin.__file__).parent
    package = tmp_path / "copy" / "nmdp_pin"
    (package / "_kernels").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    shutil.copy(source / "_kernels" / "__init__.py", package / "_kernels")
    shutil.copytree(source / "_kernels" / "compiler", package / "_kernels" / "compiler")
    (package / "_kernels" / "callee.py").write_text(CALLEE)
    (package / "_kernels" / "caller.py").write_text(CALLER)
    return package


def start(package, cache):
    """Start a process that calls the kernel of the copy."""
    return subprocess.Popen(
        [sys.executable, "-c", ASK],
        cwd=package.parent,
        env={**os.environ, "PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(process):
    """Value and number of kernels read from the cache that a process prints."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    value, hits = out.split()
    return float(value), int(hits)


def test_installations_keep_their_own_kernels(copy, tmp_path):
    """A second copy with other sources leaves those of the first one alone."""
    other = tmp_path / "other" / "nmdp_pin"
    shutil.copytree(copy, other)
    (other / "_kernels" / "callee.py").write_text(CALLEE.replace("2.0", "4.0"))
    assert answer(start(copy, tmp_path)) == (7.0, 0)
    assert answer(start(other, tmp_path)) == (13.0, 0)
    assert answer(start(copy, tmp_path)) == (7.0, 1)


def test_a_change_of_a_callee_is_seen(copy, tmp_path):
    """The kernel that calls it was compiled, and its own file has not changed."""
    assert answer(start(copy, tmp_path)) == (7.0, 0)
    callee = copy / "_kernels" / "callee.py"
    callee.write_text(CALLEE.replace("2.0", "5.0"))
    assert answer(start(copy, tmp_path)) == (16.0, 0)
    assert len(list((tmp_path / "nmdp-pin").iterdir())) == 1  # that of before is removed


def test_processes_side_by_side(copy, tmp_path):
    """Several that compile at once leave a cache that the next one reads."""
    together = [start(copy, tmp_path) for _ in range(3)]
    assert {answer(process)[0] for process in together} == {7.0}
    assert answer(start(copy, tmp_path)) == (7.0, 1)


def test_a_folder_that_cannot_be_written(copy, tmp_path):
    """The kernels are compiled nevertheless, and one line says why nothing is kept."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    process = start(copy, blocked)
    out, err = process.communicate(timeout=120)
    assert out.split() == ["7.0", "0"]
    assert err.count("cannot write to") == 1


def test_sources_that_change_under_a_process(monkeypatch, tmp_path):
    """Machine code of earlier sources is not kept as that of the present ones."""
    kernel = nmdp_pin._kernels.compiler.jit.jit(lambda x: x + 1.0)
    monkeypatch.setattr(kernel_cache, "digest", lambda sources: "other")
    assert kernel(1.0) == 2.0
    assert not list(Path(kernel._cache.cache_path).glob("*lambda*"))


def test_the_digest_depends_on_names_and_contents(tmp_path):
    """A kernel that moves to another file counts as a change."""
    (tmp_path / "a.py").write_text("x")
    first = kernel_cache.digest(tmp_path)
    assert kernel_cache.digest(tmp_path) == first
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert kernel_cache.digest(tmp_path) != first
