"""What all figures have in common: size, colours, grid, and how they are written."""

from __future__ import annotations

import os
from io import BytesIO
from typing import TYPE_CHECKING

from nmdp_pin.errors import MissingExtra
from nmdp_pin.files.output_file import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bb5566", "#777777")

DPI = 110


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of the given size [inch], apart from pyplot's global state.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", "plots") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Give every axis its grid and write the PNG, whole or not at all.

    Raises:
        RecordingError: the path cannot be written.
    """
    from PIL import Image  # comes with matplotlib

    for axis in figure.axes:
        axis.grid(True, color="0.9", linewidth=0.8)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(x=0.0)
    figure.align_ylabels()
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI)
    with Image.open(drawn) as picture:
        # A palette takes a third of the bytes. Without metadata the same data gives the same file.
        small = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    write_whole(path, lambda file: small.save(file, format="png", optimize=True, dpi=(DPI, DPI)))
