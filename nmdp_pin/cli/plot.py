"""`nmdp-pin plot`: the figure of a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nmdp_pin.cli.outputs import PLOTS, Force, check_outputs
from nmdp_pin.recording import Recording


def plot(
    recording: Annotated[Path, typer.Argument(help="A recording (.npz).")],
    out: Annotated[
        Path | None, typer.Option(help="The figure; beside the recording unless given.")
    ] = None,
    force: Force = False,
) -> None:
    """Draw torso height, tilt, distance, contact forces, energy, iterations and step size."""
    target = out or recording.with_suffix(".png")
    check_outputs((target, PLOTS), force=force)
    from nmdp_pin.viz.plots import plot_recording

    plot_recording(Recording.load(recording), target)
    print(f"wrote {target}")
