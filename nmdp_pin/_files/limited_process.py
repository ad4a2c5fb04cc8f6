"""A process with limits of memory and time, in which foreign parsers read files.

A short file can make a parser ask for any amount of memory or time, wait for a pipe or crash. The
process is a copy of this one: a new interpreter takes longer to start than most files to read.
"""

import faulthandler
import gc
import os
import pickle
import resource
import signal
import warnings
from collections.abc import Callable
from typing import Any, BinaryIO, NoReturn, ParamSpec, TypeVar

from nmdp_pin._words import one_line
from nmdp_pin.errors import NmdpError

MEMORY = 8 << 30  # [bytes] more than this process has
SECONDS = 30  # of the processor, and on the wall
_LARGEST = 2 << 30  # [bytes] of what is read, in a file
_LATE = (-signal.SIGALRM, -signal.SIGXCPU)  # exit codes
P = ParamSpec("P")
T = TypeVar("T")


def within_limits(read: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """What a function returns, called in a process of its own.

    Args:
        read: reads a file; what it returns can be pickled.
        arguments: its arguments.
        options: its keywords.

    Raises:
        ValueError: an error of the function, or the limit that it went beyond, in one line.
        NmdpError: one that the function raised.
    """
    with open(os.memfd_create("nmdp-pin"), "w+b") as answer:
        with warnings.catch_warnings():
            # of threads, whose locks no parser takes
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            _reply(answer, lambda: read(*arguments, **options))
        try:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        except BaseException:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise
        if code != 0:
            late = f"it takes more than {SECONDS} s"
            raise ValueError(late if code in _LATE else f"{_too_large()}, or crashes its parser")
        answer.seek(0)
        value, error = pickle.load(answer)
    if error is not None:
        raise error
    result: T = value
    return result


def _reply(answer: BinaryIO, read: Callable[[], Any]) -> NoReturn:
    """Write what the function returns, and its error; ends the process."""
    code = 1
    try:
        _limit()
        value: Any = None
        error: Exception | None = None
        try:
            value = read()
        except NmdpError as mistake:
            error = mistake
        except MemoryError:
            error = ValueError(_too_large())
        except Exception as mistake:  # parsers raise errors of many types
            said = one_line(mistake) or type(mistake).__name__
            error = ValueError(_too_large() if "bad_alloc" in said else said)
        pickle.dump((value, error), answer, pickle.HIGHEST_PROTOCOL)
        answer.flush()
        code = 0
    finally:
        os._exit(code)


def _limit() -> None:
    """Limit this process, and keep it from printing and from what its parent has to do."""
    gc.disable()  # finalizers are the parent's
    faulthandler.disable()
    for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.alarm(SECONDS)
    with open(os.devnull, "r+b") as nothing:
        for stream in range(3):
            os.dup2(nothing.fileno(), stream)
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    for kind, most in (
        (resource.RLIMIT_AS, used + MEMORY),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_FSIZE, _LARGEST),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (allowed, hard))


def _too_large() -> str:
    return f"it takes more than {MEMORY >> 30} GiB of memory"
