"""XML from a stranger: no entities, no document type, bounded size and depth."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from nmdp_pin.errors import RobotError
from nmdp_pin.files.input_file import not_a_file

# The largest description of example-robot-data has 0.2 MB and 6,000 elements.
MAX_BYTES = 20_000_000
MAX_ELEMENTS = 200_000
# urdfdom reads five levels, MJCF nests its bodies; a chain of 30 links is deep for a robot.
MAX_DEPTH = 64


class _SafeBuilder(ET.TreeBuilder):
    """Refuses document types (where entities live) and absurd sizes while it parses."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = self.elements = 0

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise _Refused("has a DOCTYPE; document types and entities are refused, remove them")

    def start(self, tag: Any, attrs: dict[Any, Any]) -> ET.Element:
        self.depth += 1
        self.elements += 1
        if self.depth > MAX_DEPTH:
            raise _Refused(f"nests more than {MAX_DEPTH} elements; a robot never does")
        if self.elements > MAX_ELEMENTS:
            raise _Refused(f"has more than {MAX_ELEMENTS} elements; a robot never does")
        return super().start(tag, attrs)

    def end(self, tag: Any) -> ET.Element:
        self.depth -= 1
        return super().end(tag)


class _Refused(Exception):
    """XML that may be well formed and is not read all the same."""


def read_xml(path: Path) -> ET.Element:
    """The root element of a file.

    Args:
        path: the file.

    Raises:
        RobotError: the file cannot be read, is too large, or is not XML (line and column).
    """
    file = str(path)
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise RobotError(not_a_file(path), file=file)
        if size > MAX_BYTES:
            raise RobotError(f"is {size} bytes; at most {MAX_BYTES} are read", file=file)
        data = path.read_bytes()
    except OSError as error:
        raise RobotError(f"cannot be read: {os.strerror(error.errno or 0)}", file=file) from error
    if not data.strip():
        raise RobotError("is empty; expected a URDF with a <robot> element", file=file)
    try:
        return ET.fromstring(data, parser=ET.XMLParser(target=_SafeBuilder()))
    except _Refused as error:
        raise RobotError(str(error), file=file) from error
    except ET.ParseError as error:
        line, column = error.position
        what = str(error).split(":")[0]
        raise RobotError(
            f"is not valid XML: {what}", file=file, element=f"line {line}, column {column + 1}"
        ) from error
    except (LookupError, ValueError) as error:
        raise RobotError(f"is not valid XML: {error}", file=file) from error
