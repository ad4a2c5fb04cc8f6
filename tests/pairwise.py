"""Combinations of parameters: every pair of values, or every value, instead of all combinations.

An error is seen by one value, or by two together, far more often than by three: all pairs of four
methods, four bodies, three steps and two orders are in 16 runs, all combinations are 96.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

Factors = Mapping[str | tuple[str, ...], Iterable[Any]]


def pairwise(factors: Factors) -> pytest.MarkDecorator:
    """Parametrise a test so that every pair of values of two factors occurs.

    Args:
        factors: values by the name of an argument; of a tuple of names, tuples of values.
    """
    values = [list(given) for given in factors.values()]
    return _parametrised(factors, values, covering(tuple(map(len, values))))


def spread(factors: Factors) -> pytest.MarkDecorator:
    """Parametrise a test so that every value occurs: as many runs as the longest factor has values.

    For factors that do not meet in the code, as a method and the length of its steps.
    """
    values = [list(given) for given in factors.values()]
    rows = [tuple(k % len(each) for each in values) for k in range(max(map(len, values)))]
    return _parametrised(factors, values, rows)


def _parametrised(
    factors: Factors, values: list[list[Any]], rows: list[tuple[int, ...]]
) -> pytest.MarkDecorator:
    """The mark of rows of indices of values."""
    names = [name if isinstance(name, tuple) else (name,) for name in factors]
    tuples = [
        [value if isinstance(name, tuple) else (value,) for value in each]
        for name, each in zip(factors, values, strict=True)
    ]
    chain = itertools.chain.from_iterable
    return pytest.mark.parametrize(
        tuple(chain(names)), [tuple(chain(tuples[k][i] for k, i in enumerate(row))) for row in rows]
    )


@functools.cache
def covering(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Rows of indices that hold every pair of indices of two columns; each holds the most new."""
    columns = list(itertools.combinations(range(len(sizes)), 2))
    left = {(a, b, i, j) for a, b in columns for i in range(sizes[a]) for j in range(sizes[b])}
    every = list(itertools.product(*map(range, sizes)))
    found: list[tuple[int, ...]] = []

    def new(row: tuple[int, ...]) -> int:
        return sum((a, b, row[a], row[b]) in left for a, b in columns)

    while left:
        best = max(every, key=new)
        left -= {(a, b, best[a], best[b]) for a, b in columns}
        found.append(best)
    return found
