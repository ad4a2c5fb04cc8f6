"""All figures and tables of the paper, made from one set of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nmdp_pin.errors import ExperimentError
from nmdp_pin.experiments.campaign import Campaign
from nmdp_pin.experiments.kept_run import KeptRun
from nmdp_pin.experiments.nmdp.cost_figure import FIG6
from nmdp_pin.experiments.nmdp.error_figure import ERROR
from nmdp_pin.experiments.nmdp.figure import Figure, Product
from nmdp_pin.experiments.nmdp.motion_figure import FIG3, FIG4, FIG5
from nmdp_pin.experiments.nmdp.study import Study
from nmdp_pin.experiments.nmdp.table1 import TABLE1

FIGURES = {figure.name: figure for figure in (FIG3, FIG4, FIG5, FIG6, TABLE1, ERROR)}
"""Figures and tables by the name of their command."""

ALL = "all"


def figures_named(name: str) -> list[Figure]:
    """One figure, or all of them.

    Raises:
        ExperimentError: there is none of that name.
    """
    if name == ALL:
        return list(FIGURES.values())
    if name not in FIGURES:
        raise ExperimentError(
            f"'{name}' is no figure or table of the paper; choose from {', '.join(FIGURES)}, {ALL}"
        )
    return [FIGURES[name]]


def evaluate(
    study: Study, figures: Sequence[Figure], campaign: Campaign, folder: Path
) -> tuple[dict[str, Product], list[KeptRun]]:
    """Make the runs that are missing, then the figures.

    Args:
        study: settings, methods, steps.
        figures: those to make.
        campaign: makes and keeps the runs.
        folder: of pictures and data; made where there is none.

    Returns:
        What each figure left, and the runs that failed before their end.

    Raises:
        ExperimentError: something that cannot be evaluated, or a folder that cannot be made.
        NmdpError: settings that cannot be used.
    """
    study = study.checked()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExperimentError(
            f"cannot make the folder '{folder}' of the figures: {error.strerror or error}"
        ) from error
    runs = campaign.run([spec for figure in figures for spec in figure.specs(study)])
    products = {figure.name: figure.make(study, runs, folder) for figure in figures}
    return products, [run for run in runs.values() if run.failure]
