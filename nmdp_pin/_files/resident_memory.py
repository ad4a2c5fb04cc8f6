"""Memory of a process that it really uses, rather than the addresses that it asks for."""

import os
import resource
import signal
import time
from pathlib import Path

_FIRST, _LONGEST = 1e-3, 2e-2  # [s] between two looks


def stop_beyond(child: int, most: int) -> bool:
    """Wait until a child process has ended, which it leaves to be reaped.

    Args:
        child: its number.
        most: resident memory beyond which it is ended [bytes].

    Returns:
        Whether it was ended.
    """
    pause, table = _FIRST, Path(f"/proc/{child}/statm")
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if int(table.read_text(encoding="ascii").split()[1]) * resource.getpagesize() > most:
            os.kill(child, signal.SIGKILL)
            return True
        time.sleep(pause)
        pause = min(2.0 * pause, _LONGEST)
    return False
