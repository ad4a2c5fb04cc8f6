"""What imports and commands cost before they do anything: CPU time and memory of their processes.

    OMP_NUM_THREADS=1 python benchmarks/start.py

Each row is the least of several processes, one after another, with the interpreter's own start.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

REPEATS = 5
CODES = {  # by their titles; the first is the unit
    "import mujoco": "import mujoco",
    "import pinocchio": "import pinocchio",
    "import nmdp_pin": "import nmdp_pin",
    "from nmdp_pin import Recording": "from nmdp_pin import Recording",
    "from nmdp_pin import load_robot": "from nmdp_pin import load_robot",
    "from nmdp_pin import Simulator": "from nmdp_pin import Simulator",
    "from nmdp_pin import *": "from nmdp_pin import *",
}
COMMANDS = (("--help",), ("--version",), ("no-command",), ("run", "--help"))


class Cost(NamedTuple):
    """Cost of a process: CPU time [s], peak memory [MiB]."""

    time: float
    memory: float

    def __str__(self) -> str:
        return f"{self.time:.3f} | {self.memory:.0f}"


def cost(*arguments: str) -> Cost:
    """Least cost of a process of Python; its peak begins at that of this one, which is small."""
    costs = []
    for _ in range(REPEATS):
        with subprocess.Popen(
            [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            said = process.stderr.read().decode() if process.stderr else ""
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 2) or "Traceback" in said:  # 2: a mistake in the command
            raise SystemExit(f"{arguments} failed: {said}")
        costs.append(Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))
    return Cost(*map(min, zip(*costs, strict=True)))


def main() -> None:
    """Print a table."""
    rows = {title: ("-c", code) for title, code in CODES.items()}
    rows |= {f"nmdp-pin {' '.join(words)}": ("-m", "nmdp_pin", *words) for words in COMMANDS}
    unit = None
    print("| process | CPU time [s] | memory [MiB] | time over mujoco's | memory over it |")
    print("|---|---|---|---|---|")
    for title, arguments in rows.items():
        here = cost(*arguments)
        unit = unit or here
        ratios = f"{here.time / unit.time:.2f} | {here.memory / unit.memory:.2f}"
        print(f"| {title} | {here} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
