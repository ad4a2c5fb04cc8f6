"""Contact models from files of samples and networks."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from nmdp_pin._contact.finite_differences import FiniteDifferences
from nmdp_pin._contact.fitted.fitted import Fitted
from nmdp_pin._contact.fitted.hull_vertices import fit_hulls
from nmdp_pin._contact.fitted.vertex_map import OnnxVertices
from nmdp_pin._contact.fitted.wrench_samples import WrenchSamples
from nmdp_pin._contact.wrench_space import WrenchSpace
from nmdp_pin._options import Count, FilePath, NonNegative, Number, Vector3, checked
from nmdp_pin.errors import ContactError


@checked(ContactError)
def fitted_model(
    path: FilePath,
    *,
    touch: Annotated[Number, Field(gt=0, le=1)] | None = None,
    rpy: Vector3 = (0.0, 0.0, 0.0),
    directions: Annotated[Count, Field(ge=12, le=4096)] = 128,
    smoothing: NonNegative = 0.0,
    difference_step: Annotated[Number, Field(gt=0, lt=1)] | None = None,
) -> WrenchSpace:
    """Contact model of a file: samples (.csv, .npz) or an ONNX model (.onnx).

    Args:
        path: samples (.csv or .npz) or a network (.onnx).
        touch: depth from which the fit counts in full [m]; None: least depth of the samples, or
            value of the ONNX file.
        rpy: orientation of the measurement frame; see `Fitted`.
        directions: number of directions for samples; see `fit_hulls`.
        smoothing: smoothing for samples; see `fit_hulls`.
        difference_step: step of finite differences for ONNX models without Jacobian [m, rad]; None:
            zeroth-order methods only.

    Raises:
        ContactError: the file is of another kind or cannot be used.
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
