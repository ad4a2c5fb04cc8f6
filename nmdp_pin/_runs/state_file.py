"""States in files."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from nmdp_pin._files.array_file import read_npz, take_meta, write_npz
from nmdp_pin._options import check_part
from nmdp_pin._state.state import State, WarmStart
from nmdp_pin.errors import RecordingError

STATE_FORMAT = 2
"""Version of the format of states; files of others are refused."""
_GIVEN, _OPTIONAL = ("contacts", "w", "joints", "a"), ("forces", "tau")
ARRAYS = ("q", "v", *_GIVEN, *_OPTIONAL)
"""Arrays that hold a state."""


def save_state(path: str | os.PathLike[str], state: State) -> None:
    """Write a state as a `.npz`; steps from it are equal to the bit.

    Raises:
        RecordingError: the path cannot be written.
    """
    check_part("path", path, (str, os.PathLike), RecordingError)
    check_part("state", state, State, RecordingError)
    arrays, meta = state_arrays(state)
    write_npz(path, arrays, {"state": STATE_FORMAT, **meta})


def load_state(path: str | os.PathLike[str]) -> State:
    """Read a state; code in a file is never run. Steps check that it fits their simulator.

    Raises:
        RecordingError: the file does not exist, is truncated, is no state, is of another version,
            or lacks an entry.
    """
    arrays = read_npz(path, "state", (*ARRAYS, "meta"))
    meta = take_meta(arrays, "state", STATE_FORMAT, path, "state")
    try:
        return state_from(arrays, meta)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RecordingError(f"'{path}' cannot be used: {error!r} in it") from error


def state_arrays(state: State) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """A state as arrays and JSON data."""
    h_next = None if state.h_next is None else float(state.h_next)
    meta: dict[str, Any] = {"t": float(state.t), "h_next": h_next}
    arrays = {"q": state.q, "v": state.v}
    if state.warm is not None:
        arrays |= {name: getattr(state.warm, name) for name in (*_GIVEN, *_OPTIONAL)}
        meta["gamma"] = float(state.warm.gamma)
    return {name: array for name, array in arrays.items() if array is not None}, meta


def state_from(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> State:
    """The state of `state_arrays`."""
    warm = None
    if "w" in arrays:
        given: dict[str, Any] = {name: arrays[name] for name in _GIVEN}
        given |= {name: arrays.get(name) for name in _OPTIONAL}
        warm = WarmStart(**given, gamma=float(meta["gamma"]))
    h_next = None if meta["h_next"] is None else float(meta["h_next"])
    return State(float(meta["t"]), arrays["q"], arrays["v"], warm, h_next)
