"""Methods that other packages register."""

import sys

import pytest

from nmdp_pin._registry import Registry, entry_points
from nmdp_pin.errors import IntegratorError


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Installs a package that registers names of a module."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(package, *names):
        folder = tmp_path / f"{package}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        lines = [f"{name} = {package}:{name}" for name in names]
        (folder / "entry_points.txt").write_text("\n".join(["[nmdp_pin.of_a_test]", *lines]))
        (tmp_path / f"{package}.py").write_text("\n".join(f"{name} = '{name}'" for name in names))

    return install


def test_entry_points_are_imported_when_they_are_used(install):
    """Names are known before, the core's first, then those of packages by their names."""
    install("two_methods", "second", "first")
    registry = Registry("nmdp_pin.of_a_test", {"own": "mine"})
    assert list(registry) == ["own", "first", "second"]
    assert "two_methods" not in sys.modules
    assert registry["first"] == "first"
    assert "two_methods" in sys.modules
    assert "third" not in registry


def test_a_name_has_one_owner(install):
    """Neither the order of packages nor of folders decides which method runs."""
    install("one_method", "method")
    with pytest.raises(IntegratorError, match=r"'method' is registered twice .* one_method:method"):
        list(Registry("nmdp_pin.of_a_test", {"method": "mine"}))
    install("same_method", "method")
    with pytest.raises(IntegratorError, match="same_method:method: uninstall"):
        list(Registry("nmdp_pin.of_a_test"))


def test_a_checkout_registers_what_it_says(monkeypatch):
    """Its pyproject.toml holds, though what was installed of it may be older."""
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: ())
    names = [point.name for point in entry_points("nmdp_pin.integrators")]
    assert names == ["ne-mdp", "ne-ncp", "ne-zonmdp", "pbd", "pbd-zonmdp"]
