"""Writes tests/slow.txt from the costs of a run: the tests that the mark `slow` is given to.

    python -m pytest --costs out/costs.txt
    python tools/slow_tests.py out/costs.txt [more costs ...]

A test whose file was measured is listed when it costs more than the limit of tests/cost.py; the
lines of files that were not measured stay. `make slow` measures all files.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cost import LIMIT, SLOW_TESTS, slow_tests


def measured(paths: list[str]) -> dict[str, float]:
    """Costs by node id, in s; the last file that has a test counts."""
    costs = {}
    for path in paths:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            cost, test = line.split(" ", 1)
            costs[test] = float(cost)
    return costs


def main() -> None:
    """Renews the list."""
    costs = measured(sys.argv[1:])
    if not costs:
        sys.exit(__doc__)
    files = {test.split("::")[0] for test in costs}
    kept = {test for test in slow_tests() if test.split("::")[0] not in files}
    slow = {test for test, cost in costs.items() if cost > LIMIT}
    SLOW_TESTS.write_text("".join(f"{test}\n" for test in sorted(kept | slow)), encoding="utf-8")
    share = sum(costs[test] for test in slow) / sum(costs.values())
    print(f"{len(slow)} of {len(costs)} tests are slow: {share:.0%} of {sum(costs.values()):.0f} s")


if __name__ == "__main__":
    main()
