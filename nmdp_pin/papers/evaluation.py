"""Figures and tables of a paper, made from one set of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nmdp_pin.errors import ExperimentError
from nmdp_pin.papers.campaign import Campaign
from nmdp_pin.papers.figure import Figure, Product, S
from nmdp_pin.papers.kept_run import KeptRun

ALL = "all"
"""What stands for all figures and tables."""


def by_name(figures: Iterable[Figure[S]]) -> Mapping[str, Figure[S]]:
    """Figures and tables by the name of their command."""
    return {figure.name: figure for figure in figures}


def figures_named(name: str, figures: Mapping[str, Figure[S]]) -> list[Figure[S]]:
    """One figure, or all of them.

    Raises:
        ExperimentError: there is none of that name.
    """
    if name == ALL:
        return list(figures.values())
    if name not in figures:
        raise ExperimentError(
            f"'{name}' is no figure or table of the paper; choose from {', '.join(figures)}, {ALL}"
        )
    return [figures[name]]


def evaluate(
    study: S, figures: Sequence[Figure[S]], campaign: Campaign, folder: Path
) -> tuple[dict[str, Product], list[KeptRun]]:
    """Make the runs that are missing, then the figures.

    Args:
        study: settings, methods, steps.
        figures: those to make.
        campaign: makes and keeps the runs.
        folder: folder of pictures and data; made where there is none.

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
    runs = dict(campaign.run([spec for figure in figures for spec in figure.specs(study)]))
    # Afterwards, when nothing else computes.
    timed = [spec for figure in figures for spec in figure.timed(study)]
    runs.update(campaign.run(timed, in_turn=True))
    products = {
        figure.name: replace(figure.make(study, runs, folder), tables=figure.tables(study, folder))
        for figure in figures
    }
    return products, [run for run in runs.values() if run.failure]
