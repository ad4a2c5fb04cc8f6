"""Foreign parsers run in a process of their own, whose memory and time are limited."""

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from nmdp_pin._files import limited_process
from nmdp_pin._files.limited_process import within_limits
from nmdp_pin.errors import RobotError


def spin() -> None:
    """Compute without end."""
    while True:
        pass


def refuse(error: Exception) -> None:
    """Raise an error."""
    raise error


def test_a_result_comes_back():
    """Arrays are equal to the bit, and the function is called in another process."""
    found, number = within_limits(
        lambda n, *, shift: (np.arange(n) + shift, os.getpid()), 4, shift=1
    )
    assert found.tolist() == [1, 2, 3, 4]
    assert number != os.getpid()


def test_errors_are_one_line():
    """Those of parsers become a ValueError, those of ours stay what they are."""
    with pytest.raises(ValueError, match=r"^a b$"):
        within_limits(refuse, OSError("a\n  b"))
    with pytest.raises(ValueError, match=r"^KeyError$"):
        within_limits(refuse, KeyError())
    with pytest.raises(RobotError, match=r"^leg\.urdf: it is bad$") as told:
        within_limits(refuse, RobotError("it is bad", file="leg.urdf"))
    assert told.value.file == "leg.urdf"


@pytest.mark.parametrize("wait", [spin, threading.Event().wait], ids=["computing", "waiting"])
def test_time_is_limited(wait, monkeypatch):
    """What computes, and what waits for something that never comes, ends after a while."""
    monkeypatch.setattr(limited_process, "SECONDS", 1)
    begin = time.monotonic()
    with pytest.raises(ValueError, match="takes more than 1 s"):
        within_limits(wait)
    assert time.monotonic() - begin < 20.0


def test_memory_is_limited(monkeypatch):
    """By what is asked for, beyond what the program has."""
    monkeypatch.setattr(limited_process, "MEMORY", 1 << 30)
    assert within_limits(lambda: len(bytes(1 << 29))) == 1 << 29
    with pytest.raises(ValueError, match="takes more than 1 GiB of memory"):
        within_limits(lambda: len(bytes(1 << 31)))


def test_the_result_is_limited(monkeypatch):
    """A short file may not become more than this program has room for."""
    monkeypatch.setattr(limited_process, "_LARGEST", 1 << 20)
    assert len(within_limits(lambda: bytes(1 << 19))) == 1 << 19
    with pytest.raises(ValueError, match="of memory"):
        within_limits(lambda: bytes(1 << 21))


def test_a_crash_is_an_error(capfd):
    """Of which nothing is printed."""
    with pytest.raises(ValueError, match="crashes its parser"):
        within_limits(lambda: (os.write(2, b"words"), os.abort()))
    assert capfd.readouterr() == ("", "")


def test_no_process_is_left(monkeypatch):
    """Also where this one is interrupted while it waits."""

    def interrupted(pid, options):
        children.append(pid)
        monkeypatch.undo()
        raise KeyboardInterrupt

    children = []
    monkeypatch.setattr(os, "waitpid", interrupted)
    with pytest.raises(KeyboardInterrupt):
        within_limits(spin)
    assert not Path(f"/proc/{children[0]}").exists()
