"""Writes tests/slow.txt from the costs of a run: the tests that the mark `slow` is given to.

    python -m pytest --costs out/costs.txt
    python tools/slow_tests.py out/costs.txt [more costs ...]

A test that was measured is listed when it costs more than the limit of tests/cost.py; other lines
stay. With --anew only what was measured is listed: `make slow`, which runs all tests.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cost import LIMIT, SLOW_TESTS, slow_tests


def measured(paths: list[Path]) -> dict[str, float]:
    """Costs by node id, in s; the last file that has a test counts."""
    costs = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            cost, test = line.split(" ", 1)
            costs[test] = float(cost)
    return costs


def main() -> None:
    """Renews the list."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("costs", nargs="+", type=Path)
    parser.add_argument("--anew", action="store_true", help="drop what was not measured")
    options = parser.parse_args()
    costs = measured(options.costs)
    kept = set() if options.anew else slow_tests() - costs.keys()
    slow = {test for test, cost in costs.items() if cost > LIMIT}
    SLOW_TESTS.write_text("".join(f"{test}\n" for test in sorted(kept | slow)), encoding="utf-8")
    share = sum(costs[test] for test in slow) / sum(costs.values())
    print(f"{len(slow)} of {len(costs)} tests are slow: {share:.0%} of {sum(costs.values()):.0f} s")


if __name__ == "__main__":
    main()
