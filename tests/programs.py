"""The command in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def program(*words: object) -> Iterator[subprocess.Popen[str]]:
    """`nmdp-pin` with these words; it is killed, and waited for, when the block is left.

    Its output and its errors are pipes, and it opens no browser.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "nmdp_pin", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "BROWSER": "true", "OMP_NUM_THREADS": "1"},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()
