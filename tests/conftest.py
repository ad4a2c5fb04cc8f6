"""What holds for every test: a cache folder of the tests' own, the slow mark, a time limit."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from importlib import metadata
from pathlib import Path

import numba
import pytest
from cost import CostMeter, CostReport, slow_tests

# Wall-clock limits of a test without and with the slow mark, in s: hundreds of times what it costs,
# so that only a test that hangs meets it, on a busy machine too.
_TIMEOUT, _SLOW_TIMEOUT = 300.0, 900.0  # [s]; the first test of a kernel compiles it

# Programs of tests are short: they compile in a third of the time. Two programs of one formula then
# round alike only where neither fuses products with sums, as SSE cannot.
_XLA_FLAGS = "--xla_backend_optimization_level=0 --xla_cpu_max_isa=SSE4_2"
_XLA_FLAGS_TO_0_10 = "--xla_cpu_use_fusion_emitters=false"  # a flag that XLA lacks ends the process

_CACHE = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --costs."""
    parser.addoption("--costs", type=Path, metavar="FILE", help="write the CPU time of each test")


def pytest_configure(config: pytest.Config) -> None:
    """Gives the tests, and the programs that they start, an empty cache and a usual SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Started with `&` or under nohup: the programs that tests interrupt would ignore it too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Programs that tests start are of this checkout, whichever one is installed.
    paths = [str(Path(__file__).parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, paths)))
    # Many robots have something odd. It is no mistake of a test that loads one.
    config.addinivalue_line("filterwarnings", "ignore::nmdp_pin.errors.RobotWarning")
    config.pluginmanager.register(CostMeter())
    if hasattr(config, "workerinput"):  # a worker of pytest-xdist has the folders of its parent
        return
    config.stash[_CACHE] = Path(tempfile.mkdtemp(prefix="nmdp-pin-tests-"))
    os.environ["XDG_CACHE_HOME"] = str(config.stash[_CACHE])
    os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = str(compiled(config, "kernels"))
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(compiled(config, "programs"))
    os.environ.setdefault("XLA_FLAGS", _xla_flags())
    config.pluginmanager.register(CostReport(config.getoption("--costs")))
    if config.getoption("numprocesses", None) and not config.option.collectonly:
        # Once, before the workers start.
        subprocess.run([sys.executable, "-m", "nmdp_pin", "compile", "--quiet"], check=True)


def _xla_flags() -> str:
    """Flags that the XLA which is installed has."""
    try:
        jaxlib = metadata.version("jaxlib").split(".")
    except metadata.PackageNotFoundError:
        return _XLA_FLAGS
    old = (int(jaxlib[0]), int(jaxlib[1])) <= (0, 10)
    return f"{_XLA_FLAGS} {_XLA_FLAGS_TO_0_10}" if old else _XLA_FLAGS


def compiled(config: pytest.Config, name: str) -> Path:
    """Folder of what was compiled, for workers and later runs; without pytest's cache of this."""
    cache = getattr(config, "cache", None)
    return cache.mkdir(name) if cache else config.stash[_CACHE] / name


def pytest_unconfigure(config: pytest.Config) -> None:
    """Removes the cache folder."""
    if folder := config.stash.get(_CACHE, None):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """Marks the slow tests, limits the time of each, and puts files with slow ones first.

    Otherwise one worker might begin the slowest fixture when the others have ended, and two might
    make it.
    """
    slow = slow_tests()
    for item in items:
        if item.nodeid in slow:
            item.add_marker(pytest.mark.slow)
        item.add_marker(pytest.mark.timeout(_SLOW_TIMEOUT if item.nodeid in slow else _TIMEOUT))
    yield
    files = {item.path for item in items if item.nodeid in slow}
    items.sort(key=lambda item: item.path not in files)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leaves the tests themselves out of searches for garbage; processes that fork copy less."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Names the seed, which repeats the order of the tests."""
    if config.pluginmanager.hasplugin("randomly"):
        seed = config.getoption("randomly_seed")
        terminalreporter.write_line(f"order of the tests: --randomly-seed={seed}")
