"""A page whose figures and tables are written by the command that makes them.

A part that is generated stands between `<!-- begin NAME -->` and `<!-- end NAME -->`, each alone on
a line; all else on the page is prose and is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from nmdp_pin._files.output_file import write_text
from nmdp_pin.errors import ExperimentError


def check_page(path: Path, names: Iterable[str]) -> None:
    """Check that a page has a place for each part, before hours of work depend on it.

    Raises:
        ExperimentError: it cannot be read, or lacks a marker.
    """
    text = _read(path)
    missing = [name for name in names if _part(name).search(text) is None]
    if missing:
        raise ExperimentError(
            f"'{path}' has no place for {', '.join(missing)}: add the lines "
            f"'<!-- begin {missing[0]} -->' and '<!-- end {missing[0]} -->' where it belongs"
        )


def parts_of(path: Path) -> dict[str, str]:
    """Generated parts of a page, by their names."""
    return dict(_PARTS.findall(_read(path)))


def update_page(path: Path, parts: Mapping[str, str]) -> None:
    """Replace the generated parts of a page.

    Args:
        path: the page (markdown).
        parts: new text by the name of the part.

    Raises:
        ExperimentError: the page cannot be read, or lacks a marker.
        RecordingError: it cannot be written.
    """
    check_page(path, parts)
    text = _read(path)
    for name, part in parts.items():
        whole = f"<!-- begin {name} -->\n\n{part.strip()}\n\n<!-- end {name} -->"
        before, after = _part(name).split(text, maxsplit=1)
        text = before + whole + after
    write_text(path, text)


_PARTS = re.compile(r"^<!-- begin (\S+) -->$(.*?)^<!-- end \1 -->$", re.DOTALL | re.MULTILINE)


def _part(name: str) -> re.Pattern[str]:
    begin, end = (re.escape(f"<!-- {side} {name} -->") for side in ("begin", "end"))
    return re.compile(f"^{begin}$.*?^{end}$", re.DOTALL | re.MULTILINE)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(f"the page '{path}' cannot be read: {error}") from error
