"""Fig. 8: throughput of many trajectories at a time, as `benchmarks/batch.py` measured it."""

from __future__ import annotations

import csv
from pathlib import Path

from nmdp_pin.errors import ExperimentError
from nmdp_pin.experiments.figure import Figure, Product, Runs
from nmdp_pin.experiments.pbad.study import Study
from nmdp_pin.files.text_table import Table

FILE = "batch.csv"
"""In the folder of the figures; `python benchmarks/batch.py` writes it."""


def _make(study: Study, runs: Runs, folder: Path) -> Product:
    path = folder / FILE
    if not path.exists():
        return Product({}, (), notes=(f"Not measured yet: `{_COMMAND}` writes {FILE}.",))
    try:
        with path.open(encoding="utf-8", newline="") as file:
            columns, *rows = csv.reader(file)
    except (OSError, ValueError, csv.Error) as error:
        raise ExperimentError(f"'{path}' is no table of batches: {error}") from error
    table = Table(
        f"Throughput of batches, by `{_COMMAND}`", tuple(columns), tuple(map(tuple, rows))
    )
    return Product({}, (path,), (table,))


_COMMAND = "python benchmarks/batch.py"

BATCH: Figure[Study] = Figure("batch", "throughput of batches", lambda study: [], _make)
