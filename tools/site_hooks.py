"""Hooks of MkDocs: links to the checkout, scenarios, formulas, and a check of the API reference.

`make docs` fails where a public name lacks a docstring or has no place in the reference.
"""

from __future__ import annotations

import html
import importlib
import logging
import posixpath
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

ROOT = Path(__file__).resolve().parents[1]
BUNDLED = "<!-- bundled scenarios -->"  # on docs/scenarios.md
LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
# Modules whose `__all__` is public.
PUBLIC = (
    "nmdp_pin",
    "nmdp_pin.contact",
    "nmdp_pin.control",
    "nmdp_pin.derivatives",
    "nmdp_pin.planning",
    "nmdp_pin.rollout",
    "nmdp_pin.terrain",
)
_log = logging.getLogger("mkdocs.nmdp_pin")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Point links that leave docs/ to the repository, and list the bundled scenarios."""
    folder = posixpath.dirname(page.file.src_uri)

    def absolute(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", folder, match[2]))
        if path.startswith("docs/") or not (ROOT / path).exists():
            return match[0]
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"{match[1]}{config['repo_url']}/{kind}/main/{path}{match[3]}"

    return LINK.sub(absolute, markdown).replace(BUNDLED, scenario_list())


def on_page_content(content: str, **_: Any) -> str:
    """Formulas as MathML, which browsers draw without a script from elsewhere."""

    def formula(match: re.Match[str]) -> str:
        display = "inline" if match[1] == "span" else "block"
        return convert(html.unescape(match[2]), display=display)

    return FORMULA.sub(formula, content)


def scenario_list() -> str:
    """Names and summaries of the bundled scenarios as a list."""
    from nmdp_pin._scenario import bundled_scenarios

    return "\n".join(f"- `{name}`: {line}" for name, line in bundled_scenarios().items())


def public_objects() -> dict[str, Any]:
    """Classes and functions that users may rely on, by the path under which they are imported."""
    modules = {path: importlib.import_module(path) for path in PUBLIC}
    return {
        f"{path}.{name}": getattr(module, name)
        for path, module in modules.items()
        for name in module.__all__
    }


def on_post_build(config: Any, **_: Any) -> None:
    """Compare the reference with the public names."""
    inventory = (Path(config["site_dir"]) / "objects.inv").read_bytes()
    import zlib

    listed = zlib.decompress(inventory.split(b"\n", 4)[4]).decode()
    names = {line.split(" ", 1)[0] for line in listed.splitlines()}
    for path, value in public_objects().items():
        if not callable(value):
            continue
        if not (value.__doc__ or "").strip():
            _log.warning("%s has no docstring", path)
        if path not in names:
            _log.warning("%s is not in the API reference", path)
