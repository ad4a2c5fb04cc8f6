"""`python -m tools.campaigns`: attempts to break the program; resumable."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path
from types import ModuleType

from tools.campaigns import inputs, interruptions, systems
from tools.campaigns.child import Child
from tools.campaigns.ledger import Ledger

CAMPAIGNS: dict[str, ModuleType] = {
    "systems": systems,
    "inputs": inputs,
    "interruptions": interruptions,
}


def campaign(name: str, folder: Path, ledger: Ledger, *, seconds: float, most: int = 0) -> None:
    """Make attempts until the time is over, or `most` of them are made.

    Args:
        name: one of `CAMPAIGNS`.
        folder: where it may write.
        ledger: keeps what comes of them.
        seconds: of wall time.
        most: number of attempts; 0: as many as there is time for.
    """
    module = CAMPAIGNS[name]
    module.prepare(folder)
    end = time.monotonic() + seconds
    first = ledger.next_number(name)
    numbers = range(first, first + most) if most else itertools.count(first)
    with Child(module.attempt, folder) as child:
        for number in numbers:
            if time.monotonic() > end:
                return
            ledger.add(name, number, module.kind_of(number), child.outcome(number))


def main() -> int:
    """Run the campaigns; 1 where an outcome is not allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*CAMPAIGNS, []], help="all unless given")
    parser.add_argument("--minutes", type=float, default=10.0, help="of wall time, for all")
    parser.add_argument("--out", type=Path, default=Path("out/campaigns"), help="folder")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(options.out / "ledger.journal")
    names = options.names or list(CAMPAIGNS)
    try:
        for name in names:
            seconds = 60.0 * options.minutes / len(names)
            campaign(name, options.out / name, ledger, seconds=seconds)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
    finally:
        ledger.close()
    findings = ledger.findings()
    print(ledger.table(), *findings, "", ledger.table(kinds=False), sep="\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
