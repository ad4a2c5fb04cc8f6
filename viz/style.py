"""Style of all figures: size, colours, grid, and output."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from nmdp_pin._files.output_file import write_whole
from nmdp_pin.errors import MissingExtra, RecordingError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bb5566", "#777777")

DPI = 110

FIGURES: dict[str, dict[str, str | None]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""Formats of figures, and what is left out of each so that the same data gives the same file."""


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


def literal(text: str) -> str:
    """A text that matplotlib shows as it is: neither mathematics nor a hidden label.

    Names of robots, joints and files may hold "$", a first "_" or control characters.
    """
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return (" " if shown.startswith("_") else "") + shown.replace("$", r"\$")


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Give every axis its grid and write the figure, whole or not at all.

    Args:
        figure: what to write; the same figure gives the same bytes.
        path: a .png, .svg or .pdf.

    Raises:
        RecordingError: the path cannot be written, or has another ending.
    """
    import matplotlib as mpl
    from PIL import Image  # comes with matplotlib

    kind = Path(path).suffix[1:]
    if kind not in FIGURES:
        raise RecordingError(f"a figure is a .png, .svg or .pdf; '{path}' was given")
    for axis in figure.axes:
        axis.grid(True, color="0.9", linewidth=0.8)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(x=0.0)
    figure.align_ylabels()
    drawn = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "nmdp-pin", "svg.fonttype": "none"}):
        figure.savefig(drawn, format=kind, dpi=DPI, metadata=FIGURES[kind])
    if kind != "png":
        write_whole(path, lambda file: file.write(drawn.getvalue()) and None)
        return
    with Image.open(drawn) as picture:
        # A palette takes a third of the bytes. Without metadata the same data gives the same file.
        small = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    write_whole(path, lambda file: small.save(file, format="png", optimize=True, dpi=(DPI, DPI)))
