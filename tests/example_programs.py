"""The programs of examples/, as modules and as they print."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).parents[1] / "examples"


def load(name: str) -> ModuleType:
    """An example as a module, not run."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # so that its classes can be pickled
    spec.loader.exec_module(module)
    return module


def output(name: str, folder: Path, *arguments: str) -> str:
    """What an example prints when it is run in a folder of its own."""
    # crocoddyl imports what pyzmq gives up
    quiet = ["-W", "error", "-W", "ignore:zmq.eventloop.ioloop:DeprecationWarning"]
    command = [sys.executable, *quiet, str(EXAMPLES / f"{name}.py"), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
