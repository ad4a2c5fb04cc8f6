"""The programs of examples/, as modules and as they print."""

import contextlib
import importlib.util
import io
import runpy
import sys
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

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
    """What an example prints when it is run in a folder of its own.

    In this process, which has imported and compiled before what takes most of its time.
    """
    path, printed = str(EXAMPLES / f"{name}.py"), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(printed),
        patch.object(sys, "argv", [path, *arguments]),
    ):
        runpy.run_path(path, run_name="__main__")
    return printed.getvalue()
