"""Objects by name: those of the core, and those that packages register as entry points."""

import functools
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TypeVar

from nmdp_pin.errors import IntegratorError

T = TypeVar("T")

_NAME = "nmdp-pin"
_PROJECT = Path(__file__).parents[1] / "pyproject.toml"


@functools.cache
def _checkout() -> Mapping[str, Mapping[str, str]] | None:
    """Entry points of the checkout that this is, which may be newer than what is installed."""
    if not _PROJECT.is_file():
        return None
    project = tomllib.loads(_PROJECT.read_text(encoding="utf-8")).get("project", {})
    return project.get("entry-points", {}) if project.get("name") == _NAME else None


def entry_points(group: str) -> list[EntryPoint]:
    """The entry points of a group, in the order of their names."""
    found, own = list(metadata.entry_points(group=group)), _checkout()
    if own is not None:
        found = [point for point in found if point.dist is None or point.dist.name != _NAME]
        found += [EntryPoint(name, value, group) for name, value in own.get(group, {}).items()]
    return sorted(found, key=lambda point: (point.name, point.value))


class Registry(MutableMapping[str, T]):
    """Objects by name, of which those of entry points are imported when they are used.

    Args:
        group: group of the entry points.
        own: objects of the core.
    """

    def __init__(self, group: str, own: Mapping[str, T] | None = None) -> None:
        self._group, self._own = group, dict(own or {})

    @functools.cached_property
    def _all(self) -> dict[str, T | EntryPoint]:
        found: dict[str, T | EntryPoint] = dict(self._own)
        for point in entry_points(self._group):
            if point.name in found:
                raise IntegratorError(
                    f"'{point.name}' is registered twice in '{self._group}', once as "
                    f"{point.value}: uninstall one of the packages"
                )
            found[point.name] = point
        return found

    def __getitem__(self, name: str) -> T:
        found = self._all[name]
        if isinstance(found, EntryPoint):
            found = self._all[name] = found.load()
        return found

    def __setitem__(self, name: str, value: T) -> None:
        self._all[name] = value

    def __delitem__(self, name: str) -> None:
        del self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)
