"""Contact models from the files in which measurements and networks are kept."""

from __future__ import annotations

import os
from pathlib import Path

from nmdp_pin.contact.finite_differences import FiniteDifferences
from nmdp_pin.contact.fitted.fitted import Fitted
from nmdp_pin.contact.fitted.hull_vertices import fit_hulls
from nmdp_pin.contact.fitted.onnx_vertices import OnnxVertices
from nmdp_pin.contact.fitted.wrench_samples import WrenchSamples
from nmdp_pin.contact.wrench_space import WrenchSpace
from nmdp_pin.errors import ContactError


def fitted_model(
    path: str | os.PathLike[str],
    *,
    touch: float | None = None,
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0),
    directions: int = 128,
    smoothing: float = 0.0,
    difference_step: float | None = None,
) -> WrenchSpace:
    """The contact model of a file: samples (.csv, .npz) or an ONNX model (.onnx).

    Args:
        path: path of the file; nothing in it is run as code.
        touch: depth from which on the fit counts in full [m]; None: the least depth of the samples,
            or what the ONNX file says.
        rpy: see `Fitted`.
        directions: directions of samples; see `fit_hulls`.
        smoothing: smoothing of samples; see `fit_hulls`.
        difference_step: makes an ONNX model without Jacobian differentiable, by differences of this
            step [m, rad]; None: zeroth-order methods only.

    Raises:
        ContactError: a file of another kind, or one that cannot be used.
    """
    kind = Path(path).suffix.lower()
    if kind == ".onnx":
        network = OnnxVertices(path)
        model = Fitted(vertex_map=network, touch=touch or network.touch, rpy=rpy)
    elif kind in (".csv", ".npz"):
        samples = WrenchSamples.load(path)
        fit = fit_hulls(samples, directions=directions, smoothing=smoothing, touch=touch, rpy=rpy)
        model = fit.model
    else:
        raise ContactError(f"{path}: a fitted model is read from .csv, .npz or .onnx, not '{kind}'")
    return (
        model if difference_step is None else FiniteDifferences(model=model, step=difference_step)
    )
