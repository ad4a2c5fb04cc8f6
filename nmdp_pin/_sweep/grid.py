"""Axes of grids: keys of a scenario with their values."""

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from nmdp_pin._files.input_file import from_toml, toml_value
from nmdp_pin._options import check_part
from nmdp_pin.errors import SweepError

_DIGITS = 12  # significant ones of an evenly spaced value: 0.7, not 0.7000000000000001
MOST_POINTS = 100_000
"""Largest number of values of an axis, and of points of a grid."""

_FORMS = "KEY=V1,V2,... or KEY=FIRST:LAST:COUNT or KEY=FIRST:LAST:COUNT:log"


@dataclass(frozen=True)
class GridAxis:
    """Key of a scenario with its values.

    Args:
        key: key as in an override, such as "integrator.dt"; `*` stands for all entries of a list.
        values: numbers, texts, flags or lists of them, all different.

    Raises:
        SweepError: there are no values, a value is given twice, or has a wrong type.
    """

    key: str
    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        check_part("key", self.key, str, SweepError)
        check_part(f"the values of '{self.key}'", self.values, (tuple, list), SweepError)
        if not self.values:
            raise SweepError(f"the grid of '{self.key}' has no values")
        texts = [as_toml(self.key, value) for value in self.values]
        if len(set(texts)) < len(texts):
            text, _ = Counter(texts).most_common(1)[0]
            raise SweepError(f"the grid of '{self.key}' has the value {text} twice")

    @classmethod
    def parse(cls, text: str) -> "GridAxis":
        """Parse a text such as "contact.stiffness=1e4:1e6:5:log".

        Raises:
            SweepError: the text has another form.
        """
        key, equals, right = (part.strip() for part in text.partition("="))
        if not (key and equals and right):
            raise SweepError(f"the grid '{text}' must look like {_FORMS}")
        return cls(key, _spaced(text, right) or _listed(text, right))


def as_toml(key: str, value: Any) -> str:
    """Value in the form of an override."""
    try:
        if isinstance(value, dict) or any(isinstance(v, dict) for v in np.atleast_1d([value])):
            raise TypeError
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise SweepError(
            f"the grid of '{key}' has the value {value!r}; allowed are finite numbers, texts, "
            "true, false, and lists of them"
        ) from error


def _spaced(text: str, right: str) -> tuple[Any, ...]:
    """Values of FIRST:LAST:COUNT in equal steps or ratios; () for other texts."""
    parts = [part.strip() for part in right.split(":")]
    if not 3 <= len(parts) <= 4 or any(mark in right for mark in "\"'[],"):
        return ()
    try:
        first, last, count = float(parts[0]), float(parts[1]), int(parts[2])
    except ValueError as error:
        raise SweepError(f"the grid '{text}' must look like {_FORMS}") from error
    if count < 2 or first == last or not np.isfinite([first, last]).all():
        raise SweepError(f"the grid '{text}' needs two different ends and a count of 2 or more")
    if count > MOST_POINTS:
        raise SweepError(f"the grid '{text}' has {count} values; at most {MOST_POINTS} are taken")
    logarithmic = len(parts) == 4
    if logarithmic and (parts[3] != "log" or min(first, last) <= 0.0):
        raise SweepError(f"the grid '{text}': after the count only 'log', with both ends > 0")
    values = (np.geomspace if logarithmic else np.linspace)(first, last, count)
    rounded = [float(f"{value:.{_DIGITS}g}") for value in values]
    whole = all(part.lstrip("+-").isdecimal() for part in parts[:2])
    if whole and all(value.is_integer() for value in rounded):
        return tuple(int(value) for value in rounded)  # of a key that counts something
    return tuple(rounded)


def _listed(text: str, right: str) -> tuple[Any, ...]:
    """V1,V2,... as TOML, where single words need no quotes."""
    try:
        return tuple(from_toml(f"values = [{right}]")["values"])
    except ValueError:
        pass
    try:
        return tuple(toml_value(word.strip()) for word in right.split(","))
    except ValueError as error:
        raise SweepError(f"the grid '{text}' must look like {_FORMS}: {error}") from error
