"""What tests of results share."""

import importlib.util
import sys

import pytest

from tools.results.parts import ROOT


@pytest.fixture
def script(monkeypatch):
    """Loads a script that measures."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))

    def load(name):
        path = ROOT / "benchmarks" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(f"anew_{name}", path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        spec.loader.exec_module(module)
        return module

    return load
