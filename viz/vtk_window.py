"""VTK as far as it is needed here, loaded when it is, and a window of it that nobody sees."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from nmdp_pin.errors import MissingExtra, ViewerError

_NAMES = {
    "vtkCommonCore": ("vtkPoints", "vtkLogger"),
    "vtkCommonDataModel": ("vtkCellArray", "vtkImageData", "vtkPolyData"),
    "vtkCommonMath": ("vtkMatrix4x4",),
    "vtkFiltersSources": ("vtkSphereSource",),
    "vtkRenderingCore": (
        "vtkActor",
        "vtkLight",
        "vtkPolyDataMapper",
        "vtkRenderWindow",
        "vtkRenderer",
        "vtkTextActor",
        "vtkTexture",
        "vtkWindowToImageFilter",
    ),
    "util.numpy_support": ("numpy_to_vtk", "numpy_to_vtkIdTypeArray", "vtk_to_numpy"),
}


@cache
def vtk_parts() -> Any:
    """The classes of VTK that are used here, by their names.

    Raises:
        MissingExtra: VTK is not installed.
    """
    parts = SimpleNamespace()
    try:
        for module in ("vtkRenderingOpenGL2", "vtkRenderingFreeType"):
            import_module(f"vtkmodules.{module}")  # they register what draws
        for module, names in _NAMES.items():
            loaded = import_module(f"vtkmodules.{module}")
            for name in names:
                setattr(parts, name, getattr(loaded, name))
    except ImportError as error:
        raise MissingExtra("vtk", "video") from error
    return parts


def offscreen_window(size: tuple[int, int]) -> Any:
    """A window in memory; on a graphics card where there is one, else on the processor.

    Args:
        size: width and height [pixels].

    Raises:
        ViewerError: neither EGL nor OSMesa nor a display draws.
    """
    vtk = vtk_parts()
    logger = vtk.vtkLogger
    before = logger.GetCurrentVerbosityCutoff()
    logger.SetStderrVerbosity(logger.VERBOSITY_OFF)  # it tries displays first, and complains
    try:
        window = vtk.vtkRenderWindow()
        window.OffScreenRenderingOn()
        window.SetSize(*size)
        window.SetMultiSamples(0)  # edges are smoothed afterwards, which costs less
        draws = window.SupportsOpenGL()
    finally:
        logger.SetStderrVerbosity(before)
    if not draws:
        display = os.environ.get("DISPLAY", "")
        raise ViewerError(
            "nothing on this machine can draw pictures: VTK found neither EGL nor OSMesa"
            f"{f' nor a display at {display}' if display else ''}. Install one, such as with: "
            "apt-get install libegl1 libgl1-mesa-dri"
        )
    return window
