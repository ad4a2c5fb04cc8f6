"""Throughput of many trajectories at a time, as `benchmarks/batch.py` measured it."""

from __future__ import annotations

from pathlib import Path

from nmdp_pin.papers.data_file import read_data
from nmdp_pin.papers.figure import Figure, Product, Runs
from nmdp_pin.papers.pbad.study import PbadStudy
from nmdp_pin.papers.table import Table

FILE = "batch.csv"
"""In the folder of the figures; `python benchmarks/batch.py --csv` writes it."""

_COMMAND = "python benchmarks/batch.py"


def _make(study: PbadStudy, runs: Runs, folder: Path) -> Product:
    path = folder / FILE
    if not path.exists():
        return Product({}, (), notes=(f"Not measured yet: `{_COMMAND}` writes {FILE}.",))
    return Product({}, (path,))


def _tables(study: PbadStudy, folder: Path) -> tuple[Table, ...]:
    if not (folder / FILE).exists():
        return ()
    rows = read_data(folder / FILE)
    cells = tuple(tuple(row.values()) for row in rows)
    return (Table(f"Throughput of batches, by `{_COMMAND}`", tuple(rows[0]), cells),)


BATCH: Figure[PbadStudy] = Figure(
    "batch", "throughput of batches", lambda study: [], _make, tables=_tables
)
