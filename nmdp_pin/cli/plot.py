"""`nmdp-pin plot`: figures of recordings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from nmdp_pin.cli.outputs import PLOTS, Force, check_outputs
from nmdp_pin.cli.printable import printable
from nmdp_pin.runs.motion import Motion, motion_in
from nmdp_pin.runs.recording import Recording
from nmdp_pin.scenario import Scenario


def plot(
    recording: Annotated[Path, typer.Argument(help="Recording (.npz).")],
    out: Annotated[
        Path | None,
        typer.Option(help="Figure (.png, .svg, .pdf); default: beside the recording."),
    ] = None,
    force: Force = False,
) -> None:
    """Plot base, joints against targets, torques, objects, forces, energy and solver work."""
    target = out or recording.with_suffix(".png")
    check_outputs((target, PLOTS), force=force)
    from nmdp_pin.viz.plots import plot_recording

    loaded = Recording.load(recording)
    motion, problem = Motion(), "joints and objects are left out: the recording has no scenario"
    if isinstance(loaded.meta.get("scenario"), dict):
        scenario = Scenario.from_dict(loaded.meta["scenario"], file=str(recording))
        motion, problem = motion_in(loaded, scenario)
    if problem:
        print(printable(problem), file=sys.stderr)
    plot_recording(loaded, target, motion=motion)
    print(f"wrote {target}")
