"""Mutations of files: of their bytes, and of what the bytes mean."""

from __future__ import annotations

import copy
import io
import json
import re
import xml.etree.ElementTree as ET
import zipfile
from typing import Any

import numpy as np

_NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?")
_TOKEN = re.compile(rb"[^\s]+")
_WORDS = (
    *(b"nan", b"inf", b"-inf", b"0", b"-0.0", b"-1", b"1", b"1e308", b"-1e308", b"1e-320"),
    *(b"9" * 30, b"9" * 6000, b"1e999999", b"0x10", b"''", b'""', b"[]", b"{}", b"[[[[[[", b"null"),
    *(b"true", b"\xff\xfe", b"\x00", b"../../../etc/passwd", b"/dev/zero", b"package://a/b.stl"),
    *("\u202e\U0001f600".encode(), b"\x1b[2J", b"[red]", rb"$\foo$", b"a" * 300),
)
_SHAPES: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (3,), (2, 2), (0, 3), (1, 1, 1, 1), (1000,))
_JSON: tuple[Any, ...] = (
    *(None, True, -1, 0, 10**30, 1e308, float("nan"), "", "x", [], {}, [[]], [1, "a"]),
    *({"a": {"b": []}}, "a" * 1000, "\x1b[2J", ["[red]"] * 3),
)


def mutated_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes flipped, overwritten, removed, inserted, repeated or cut off."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        n = len(data)
        i = int(rng.integers(0, n + 1))
        j = min(n, i + int(rng.integers(1, 64)))
        match int(rng.integers(0, 6)):
            case 0 if i < n:
                data[i] ^= 1 << int(rng.integers(0, 8))
            case 1:
                data[i:j] = rng.bytes(j - i)
            case 2:
                del data[i:j]
            case 3:
                data[i:i] = rng.bytes(int(rng.integers(1, 32)))
            case 4:
                data[i:i] = data[i:j] * int(rng.integers(1, 50))
            case 5:
                del data[i:]
    return bytes(data)


def mutated_text(content: bytes, rng: np.random.Generator) -> bytes:
    """Numbers and words replaced by extremes; lines removed, repeated or exchanged."""
    for _ in range(int(rng.integers(1, 4))):
        lines = content.split(b"\n")
        i, j = (int(k) for k in rng.integers(0, len(lines), 2))
        match int(rng.integers(0, 5)):
            case 0:
                content = _replaced(content, _NUMBER, rng)
            case 1:
                content = _replaced(content, re.compile(rb"[\w./:-]+"), rng)
            case 2:
                content = b"\n".join(lines[:i] + lines[i + 1 :])
            case 3:
                content = b"\n".join([*lines[:i], lines[j], *lines[i:]])
            case 4:
                lines[i], lines[j] = lines[j], lines[i]
                content = b"\n".join(lines)
    return content


def mutated_xml(content: bytes, rng: np.random.Generator) -> bytes:
    """XML that stays well formed: values replaced, scaled or removed; elements removed, copied."""
    root = ET.fromstring(content)
    for _ in range(int(rng.integers(1, 4))):
        elements = list(root.iter())
        element, other = (elements[int(k)] for k in rng.integers(0, len(elements), 2))
        keys = list(element.attrib)
        key = keys[int(rng.integers(0, len(keys)))] if keys else ""
        match int(rng.integers(0, 6)):
            case 0 | 1 if keys:
                value = _replaced(element.attrib[key].encode(), _TOKEN, rng)
                element.set(key, value.decode("latin-1"))
            case 2 if keys:
                factor = 10.0 ** rng.uniform(-12.0, 12.0) * float(rng.choice([-1.0, 1.0]))
                value = _NUMBER.sub(b"%g" % factor, element.attrib[key].encode(), count=1)
                element.set(key, value.decode("latin-1"))
            case 3 if keys:
                del element.attrib[key]
            case 4:
                element.insert(int(rng.integers(0, len(element) + 1)), copy.deepcopy(other))
            case 5 if len(element):
                element.remove(element[int(rng.integers(0, len(element)))])
    return ET.tostring(root)


def mutated_archive(content: bytes, rng: np.random.Generator) -> bytes:
    """An .npz with an array of another shape, type or content, without one, or with other meta."""
    with np.load(io.BytesIO(content)) as archive:
        arrays: dict[str, Any] = dict(archive)
    name = str(rng.choice(list(arrays)))
    array = arrays[name]
    match int(rng.integers(0, 8)):
        case 0:
            del arrays[name]
        case 1:
            arrays[name] = np.zeros(_SHAPES[int(rng.integers(0, len(_SHAPES)))])
        case 2 if array.dtype.kind in "fiu":
            kinds = ("f4", "i4", "u1", "c16", "U7", "S3", "bool", "M8[s]")
            arrays[name] = array.astype(str(rng.choice(kinds)))
        case 3 if array.dtype.kind == "f" and array.size:
            array.flat[int(rng.integers(0, array.size))] = rng.choice(
                [np.nan, np.inf, 1e308, -1e308, 0.0]
            )
        case 4:
            arrays[name] = np.repeat(array[None], 2, axis=0)
        case 5:
            arrays[name] = np.array({"a": 1}, dtype=object)
        case 6 if "meta" in arrays:
            meta = json.loads(str(arrays["meta"]))
            arrays["meta"] = np.array(json.dumps(_mutated_json(meta, rng)))
        case _:
            arrays["extra"] = np.zeros(3)
    stream = io.BytesIO()
    method = np.savez_compressed if rng.random() < 0.5 else np.savez
    method(stream, **arrays)
    return _mutated_zip(stream.getvalue(), rng) if rng.random() < 0.1 else stream.getvalue()


def _replaced(content: bytes, pattern: re.Pattern[bytes], rng: np.random.Generator) -> bytes:
    found = list(pattern.finditer(content))
    if not found:
        return content
    match = found[int(rng.integers(0, len(found)))]
    word = _WORDS[int(rng.integers(0, len(_WORDS)))]
    return content[: match.start()] + word + content[match.end() :]


def _mutated_json(value: Any, rng: np.random.Generator) -> Any:
    """JSON data with one entry somewhere removed or replaced."""
    if isinstance(value, dict | list) and value and rng.random() < 0.85:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = keys[int(rng.integers(0, len(keys)))]
        if rng.random() < 0.1:
            del value[key]
        else:
            value[key] = _mutated_json(value[key], rng)
        return value
    if rng.random() < 0.05:
        nested: Any = 1
        for _ in range(200):
            nested = [nested]
        return nested
    return _JSON[int(rng.integers(0, len(_JSON)))]


def _mutated_zip(content: bytes, rng: np.random.Generator) -> bytes:
    """A member of a name or a method that numpy does not write."""
    stream = io.BytesIO(content)
    with zipfile.ZipFile(stream, "a") as archive:
        names = ("q.npy", "../q.npy", "", "a" * 5000, "meta", "x.npy")
        name = names[int(rng.integers(0, len(names)))]
        if name not in archive.namelist():
            methods = (zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
            method = methods[int(rng.integers(0, len(methods)))]
            archive.writestr(name or "q", rng.bytes(100), compress_type=method)
    return stream.getvalue()
