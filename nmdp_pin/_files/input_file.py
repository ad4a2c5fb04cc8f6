"""Input files: regular files of a limited size, as bytes, text, TOML or JSON."""

import codecs
import json
import os
import re
import stat
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from xml.parsers import expat

from nmdp_pin._options import check_part
from nmdp_pin.errors import NmdpError, RecordingError, RobotError, ScenarioError

LARGEST = 2**31
"""Largest file that is opened where no smaller limit is given [bytes]."""

AnyPath = str | os.PathLike[str]

DEEPEST = 32
"""Largest depth of lists and dictionaries in one another that is read from JSON and TOML."""

_LARGEST_TOML = 2**24  # [bytes]
_DEEPEST_XML = 64  # elements in one another; urdfdom reads five levels
T = TypeVar("T")
_WORD = re.compile(r"[A-Za-z./~][\w./~-]*")


def not_a_file(path: Path) -> str:
    """Reason why a path is not the one of a regular file."""
    if os.path.isdir(path):
        return "is a folder, not a file"
    return "is not a regular file" if os.path.exists(path) else "there is no such file"


def open_input(
    path: AnyPath, what: str, largest: int = LARGEST, error: type[NmdpError] = RecordingError
) -> BinaryIO:
    """Open a file of at most `largest` bytes for reading; errors say `what` it should be."""
    check_part(f"the name of a {what}", path, (str, os.PathLike), error)
    name = os.fspath(path)
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):  # a FIFO would wait for its writer
            raise error(f"'{name}' {not_a_file(Path(path))}; a {what} is a file")
        if found.st_size > largest:
            raise error(f"'{name}' has {found.st_size} bytes; a {what} may have at most {largest}")
        return open(path, "rb")
    except (FileNotFoundError, NotADirectoryError) as cause:
        raise error(f"there is no {what} '{name}'") from cause
    except (OSError, ValueError) as cause:  # ValueError: a null character in the name
        raise error(f"'{name}' cannot be read: {cause}") from cause


def read_input(path: AnyPath, what: str, largest: int, error: type[NmdpError]) -> bytes:
    """Content of a file; arguments and errors are those of `open_input`."""
    with open_input(path, what, largest=largest, error=error) as file:
        try:
            return file.read(largest)
        except OSError as cause:
            raise error(f"'{os.fspath(path)}' cannot be read: {cause}") from cause


def read_text(path: AnyPath, what: str, largest: int, error: type[NmdpError]) -> str:
    """Text of a file in UTF-8, with or without a byte order mark; as `open_input` otherwise."""
    try:
        return read_input(path, what, largest=largest, error=error).decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise error(f"'{os.fspath(path)}' is not text in UTF-8") from cause


def read_toml(
    path: AnyPath, what: str, error: type[RobotError] | type[ScenarioError]
) -> dict[str, Any]:
    """Tables of a TOML file; as `open_input` otherwise."""
    text = read_text(path, what, largest=_LARGEST_TOML, error=error)
    try:
        return from_toml(text)
    except ValueError as cause:
        raise error(f"is not valid TOML: {cause}", file=os.fspath(path)) from cause


def read_xml(path: AnyPath, what: str, largest: int) -> ET.Element:
    """Root of an XML file; as `open_input` otherwise.

    Raises:
        RobotError: it is none, or nested too deeply.
    """
    data, file = read_input(path, what, largest=largest, error=RobotError), os.fspath(path)
    try:
        root = _parse_xml(data)
    except (expat.ExpatError, LookupError, ValueError) as error:
        place = ""
        if isinstance(error, expat.ExpatError):
            place = f"line {error.lineno}, column {error.offset + 1}"
        told = f"is not valid XML: {str(error).partition(':')[0]}"
        raise RobotError(told, file=file, element=place) from error
    if root.find("/".join("*" * _DEEPEST_XML)) is not None:
        raise RobotError(f"nests more than {_DEEPEST_XML} elements; a robot never does", file=file)
    return root


def _parse_xml(data: bytes) -> ET.Element:
    """Elements and attributes of an XML text, without what stands between them.

    As in URDF's own parser a prefix is a part of a name, bound or not, and blanks may come first.

    Raises:
        expat.ExpatError: the text is not well-formed; it has the position in `data`.
        LookupError: an unknown encoding.
    """
    text = data.removeprefix(codecs.BOM_UTF8).lstrip()
    tree, parser = ET.TreeBuilder(), expat.ParserCreate()
    parser.StartElementHandler = tree.start
    parser.EndElementHandler = tree.end
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        error.lineno += data[: len(data) - len(text)].count(b"\n")
        raise
    return tree.close()


def from_toml(text: str) -> dict[str, Any]:
    """Tables of a TOML text; ValueError where it is none, or nested too deeply."""
    try:
        return shallow(tomllib.loads(text))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def toml_value(text: str) -> Any:
    """Value of a TOML text, or of a single word without quotes; ValueError where it is neither."""
    try:
        parsed = from_toml(f"value = {text}")
    except ValueError:
        if _WORD.fullmatch(text):
            return text
        raise
    if [*parsed] != ["value"]:
        raise ValueError("it must hold one value")
    return parsed["value"]


def from_json(text: str | bytes) -> Any:
    """Value of a JSON text; ValueError where it is none, or nested too deeply."""
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError(f"it is nested more deeply than {DEEPEST}") from error
    return shallow(value)


def shallow(value: T) -> T:
    """The value; ValueError where its lists and dictionaries are nested too deeply."""
    level: list[Any] = [value]
    for _ in range(DEEPEST + 1):
        lists = [entry for entry in level if isinstance(entry, dict | list)]
        if not lists:
            return value
        level = [v for each in lists for v in (each.values() if isinstance(each, dict) else each)]
    raise ValueError(f"it is nested more deeply than {DEEPEST}")
