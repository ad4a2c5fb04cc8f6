"""Interruptions: programs that are killed, stopped, out of disk or not alone lose nothing."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from nmdp_pin._files.journal import journal_path
from nmdp_pin._runs.recording import Recording
from nmdp_pin.errors import RecordingError

_LONG = ("run", "sliding-box", "--duration", "3600", "--dt", "0.001")
_SHORT = ("run", "sliding-box", "--duration", "0.5", "--dt", "0.001")
_SWEEP = ("sweep", "sliding-box", "--set", "duration=0.05", "--grid", "contact.friction=0.1:0.9:9")
_SPACE = (3_000_000, 10_000_000)  # [bytes] of a file, on a disk that is full beyond


def prepare(folder: Path) -> None:
    """Make the folder anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def attempt(folder: Path, number: int) -> str:
    """Make one attempt, in a folder of its own."""
    place = folder / str(number)
    place.mkdir()
    try:
        KINDS[kind_of(number)](place, np.random.default_rng(number))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return "accepted"


def kind_of(number: int) -> str:
    """Name of the kind of interruption of an attempt."""
    return list(KINDS)[number % len(KINDS)]


def _program(
    folder: Path,
    *words: str,
    before: Callable[[], None] | None = None,
    errors: int | IO[bytes] = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    def prepared() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ignored where this runs in the background
        if before is not None:
            before()

    return subprocess.Popen(
        [sys.executable, "-m", "nmdp_pin", *words],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=errors,
        preexec_fn=prepared,
    )


def _code(folder: Path, *words: str) -> int:
    # Not through a pipe, at whose end the workers of a killed program are waited for.
    with tempfile.TemporaryFile() as errors:
        code = _program(folder, *words, errors=errors).wait()
        errors.seek(0)
        said = errors.read()
    if b"Traceback" in said:
        raise AssertionError(said.decode()[-200:])
    return code


def _expect(what: str, found: object, *allowed: object) -> None:
    if found not in allowed:
        raise AssertionError(f"{what}: {found}, expected {' or '.join(map(str, allowed))}")


def _wait(rng: np.random.Generator) -> None:
    time.sleep(float(rng.uniform(0.5, 6.0)))


def _killed(folder: Path, rng: np.random.Generator) -> None:
    """SIGKILL: what the journal holds is read and recovered; nothing is lost by running again."""
    out, left = folder / "a.npz", journal_path(folder / "a.npz")
    process = _program(folder, *_LONG, "--out", "a.npz")
    _wait(rng)
    process.kill()
    process.communicate()
    try:
        found = Recording.load(left)
    except RecordingError:  # it was killed before its first row
        return
    _expect("another run", _code(folder, *_SHORT, "--out", "a.npz"), 2)
    _expect("recover", _code(folder, "recover", left.name), 0)
    _expect("what is left", sorted(os.listdir(folder)), ["a.npz"])
    _expect("rows that are recovered", Recording.load(out).n, found.n)


def _stopped(folder: Path, rng: np.random.Generator) -> None:
    """SIGTERM and SIGINT: the recording is written."""
    number = signal.SIGTERM if rng.random() < 0.5 else signal.SIGINT
    process = _program(folder, *_LONG, "--out", "a.npz")
    _wait(rng)
    process.send_signal(number)
    process.communicate()
    _expect("exit code", process.returncode, 128 + number, -number, 1)
    left = os.listdir(folder)
    _expect("what is left", left, ["a.npz"], [])  # nothing: it was stopped before its first step
    if left:
        Recording.load(folder / "a.npz")


def _full_disk(folder: Path, rng: np.random.Generator) -> None:
    """A disk that is full after some bytes: the rows before are readable."""
    space = int(rng.integers(*_SPACE))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (space, space))

    process = _program(folder, *_LONG, "--out", "a.npz", before=limit)
    _, said = process.communicate()
    _expect("exit code", process.returncode, 2)
    _expect("a traceback", b"Traceback" in said, False)
    names = os.listdir(folder)
    _expect("what is left", names, ["a.npz"], ["a.npz.unfinished"])
    _expect("rows", Recording.load(folder / names[0]).n > 1, True)


def _two_writers(folder: Path, rng: np.random.Generator) -> None:
    """Two runs with one output: one of them writes it, the other is refused."""
    first = _program(folder, *_SHORT, "--out", "a.npz")
    time.sleep(float(rng.uniform(0.0, 1.0)))
    second = _program(folder, *_SHORT, "--out", "a.npz")
    first.communicate(), second.communicate()
    _expect("exit codes", sorted([first.returncode, second.returncode]), [0, 2])
    Recording.load(folder / "a.npz")
    _expect("what is left", sorted(os.listdir(folder)), ["a.npz"])


def _killed_sweep(folder: Path, rng: np.random.Generator) -> None:
    """A sweep that is killed again and again, then left alone, makes the table."""
    words = (*_SWEEP, "--workers", "2", "--quiet", "--out", "a.parquet")
    for _ in range(2):
        process = _program(folder, *words, errors=subprocess.DEVNULL)
        _wait(rng)
        process.kill()
        process.wait()
    for _ in range(50):  # workers of the killed program end soon
        if (code := _code(folder, *words)) == 0:
            break
        time.sleep(0.2)
    _expect("exit code", code, 0)
    _expect("what is left", sorted(os.listdir(folder)), ["a.parquet", "a.parquet.runs"])


def _closed_folder(folder: Path, rng: np.random.Generator) -> None:
    """Places where nothing can be written are refused before the run."""
    places = ("/proc/a.npz", "nowhere/a.npz", "/dev/null/a.npz", f"{'a' * 300}.npz")
    place = places[int(rng.integers(0, len(places)))]
    _expect("exit code", _code(folder, *_SHORT, "--out", place), 2)
    _expect("what is left", os.listdir(folder), [])


KINDS: dict[str, Callable[[Path, np.random.Generator], None]] = {
    "killed run": _killed,
    "stopped run": _stopped,
    "full disk": _full_disk,
    "two writers": _two_writers,
    "killed sweep": _killed_sweep,
    "closed folder": _closed_folder,
}
