"""The picture of imports in docs/architecture.md.

    python tools/import_layers.py

A room is a folder with code; one stands on the layer above the highest of those from which it
imports. Public modules beside them only hand on names. The kernels, the lowest room, have rooms of
their own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNELS = "nmdp_pin._kernels"
# Folders of the checkout that are rooms of the package.
FOLDERS = {"nmdp_pin.viz": ROOT / "viz"}


def rooms_in(package: str) -> dict[str, Path]:
    """Names of the folders with code right below a package, and where they are."""
    root = ROOT.joinpath(*package.split("."))
    found = {path.parent.name: path.parent for path in root.glob("*/__init__.py")}
    found = {name: FOLDERS.get(f"{package}.{name}", path) for name, path in found.items()}
    return {name: path for name, path in found.items() if name not in ("robots", "scenarios")}


def imports_of(rooms: Mapping[str, Path], package: str) -> dict[str, set[str]]:
    """Rooms of a package from which each of them imports, in functions and for types as well."""
    line = re.compile(rf"^ *(?:from|import) {re.escape(package)}\.(\w+)", re.MULTILINE)
    graph = {}
    for name, folder in rooms.items():
        units = (line.findall(path.read_text(encoding="utf-8")) for path in folder.rglob("*.py"))
        graph[name] = ({*itertools.chain(*units)} & rooms.keys()) - {name}
    return graph


def layers_of(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The rooms from the lowest layer up.

    Raises:
        ValueError: rooms import from each other in a circle.
    """
    layers: list[list[str]] = []
    placed: set[str] = set()
    while len(placed) < len(graph):
        layer = sorted(name for name in graph if name not in placed and graph[name] <= placed)
        if not layer:
            raise ValueError(f"a circle among {sorted(graph.keys() - placed)}")
        layers.append(layer)
        placed.update(layer)
    return layers


def picture() -> list[str]:
    """Lines of the picture, from the top down."""
    lines: list[str] = []
    for package in ("nmdp_pin", KERNELS):
        layers = layers_of(imports_of(rooms_in(package), package))
        lines += [f"    {k:2}  {'  '.join(layer)}" for k, layer in reversed([*enumerate(layers)])]
        lines.append("")
    return lines[:-1]


if __name__ == "__main__":
    print("\n".join(picture()))
