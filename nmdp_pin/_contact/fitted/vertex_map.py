"""Vertices as a function of the pose of a contact: the core of a fitted contact model."""

import abc
import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nmdp_pin._files.input_file import read_input
from nmdp_pin._words import one_line
from nmdp_pin.errors import ContactError, MissingExtra

POSES = (("depth",), ("depth", "tilt_x", "tilt_y"))
PoseFunction = Callable[[np.ndarray], np.ndarray]
_LARGEST = 2**28  # [bytes] of an ONNX file
_NUMBERS = {"tensor(float)": np.float32, "tensor(double)": np.float64}
_OUTPUTS = {"vertices", "jacobian"}
_KEYS = ("pose", "lower", "upper", "touch")


class VertexMap(abc.ABC):
    """Base class of vertex maps: vertices in the frame of the patch, for poses within a range.

    A pose is (depth) or (depth, tilt_x, tilt_y) [m, rad, rad]; see `WrenchSamples` for both frames.

    Attributes:
        rows: number of components of a vertex: 3 for a force, 6 for a wrench.
        n_vertices: number of vertices, without the origin.
        lower: smallest pose of the range, shape (1,) or (3,).
        upper: largest pose of the range, shape (1,) or (3,).
    """

    rows: int
    n_vertices: int
    lower: np.ndarray
    upper: np.ndarray

    @property
    def differentiable(self) -> bool:
        """Whether the map has a `jacobian`."""
        return type(self).jacobian is not VertexMap.jacobian

    @abc.abstractmethod
    def vertices(self, poses: np.ndarray) -> np.ndarray:
        """Vertices [N, N m] at poses of shape (n, k), shape (n, rows, n_vertices)."""

    def jacobian(self, poses: np.ndarray) -> np.ndarray:
        """Derivative of the vertices by the pose, shape (n, rows, n_vertices, k).

        Raises:
            ContactError: the map has no derivative.
        """
        raise ContactError(f"{type(self).__name__} has no jacobian")


@dataclass(frozen=True, kw_only=True)
class FunctionVertices(VertexMap):
    """Vertex map of a function of the pose, at the top of a module so that it can be pickled.

    Args:
        function: poses (n, k) to vertices (n, 3 or 6, m) in the patch's frame.
        range: smallest and largest pose of the function [m, rad, rad].
        slope: derivative of the function, poses (n, k) to (n, 3 or 6, m, k), or None.

    Raises:
        ContactError: an argument is no function, or returns a wrong shape.
    """

    function: PoseFunction
    range: tuple[tuple[float, ...], tuple[float, ...]]
    slope: PoseFunction | None = None

    def __post_init__(self) -> None:
        poses = np.array(self.range, dtype=float)
        if poses.ndim != 2 or len(poses) != 2 or poses.shape[1] not in (1, 3):
            raise ContactError(f"range must be two poses of 1 or 3 numbers, got {self.range!r}")
        V = self._asked("function", self.function, poses)
        if V.ndim != 3 or len(V) != 2 or V.shape[1] not in (3, 6):
            raise ContactError(f"function gives shape {V.shape} for 2 poses, not (2, 3 or 6, m)")
        sizes = {"rows": V.shape[1], "n_vertices": V.shape[2]}
        for name, value in {**sizes, "lower": poses[0], "upper": poses[1]}.items():
            object.__setattr__(self, name, value)
        if self.slope is not None:
            expected = (*V.shape, poses.shape[1])
            found = self._asked("slope", self.slope, poses)
            if found.shape != expected:
                raise ContactError(f"slope gives shape {found.shape} for 2 poses, not {expected}")

    @property
    def differentiable(self) -> bool:
        """Whether the function's derivative is given."""
        return self.slope is not None

    def vertices(self, poses: np.ndarray) -> np.ndarray:
        """See `VertexMap`."""
        return self.function(poses)

    def jacobian(self, poses: np.ndarray) -> np.ndarray:
        """See `VertexMap`."""
        return super().jacobian(poses) if self.slope is None else self.slope(poses)

    @staticmethod
    def _asked(name: str, function: object, poses: np.ndarray) -> np.ndarray:
        if not callable(function):
            raise ContactError(f"{name} must be a function of poses, got {function!r}")
        return np.asarray(function(poses), dtype=float)


class OnnxVertices(VertexMap):
    """Vertex map of an ONNX file (extra "onnx").

    It has one input `pose`, (n, 1) or (n, 3), in single or double precision, and the output
    `vertices`, (n, 3 or 6, m). An output `jacobian`, (n, 3 or 6, m, 1 or 3), makes it
    differentiable. Its metadata are `pose` = "depth" or "depth,tilt_x,tilt_y", the range
    `lower` and `upper` in m and rad, and `touch`, the depth from which it counts in full [m].

    Args:
        path: path of the file.

    Raises:
        ContactError: the file does not exist, is no ONNX model, or has another form.
        MissingExtra: onnxruntime is not installed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = str(path)
        self._content = read_input(path, "ONNX model", largest=_LARGEST, error=ContactError)
        self._open()
        try:
            metadata = self._session.get_modelmeta().custom_metadata_map
        except UnicodeDecodeError as error:
            raise self._error(f"has metadata that are not text in UTF-8: {error}") from None
        missing = [key for key in _KEYS if key not in metadata]
        if missing:
            raise self._error(f"lacks the metadata {missing}; it needs {list(_KEYS)}")
        pose = tuple(name.strip() for name in metadata["pose"].split(","))
        if pose not in POSES:
            raise self._error(f"has the pose '{metadata['pose']}'; allowed: {_listed(POSES)}")
        self.lower, self.upper = (self._numbers(metadata, key, len(pose)) for key in _KEYS[1:3])
        self.touch = float(self._numbers(metadata, "touch", 1)[0])
        self._check_input()
        self._check_outputs()

    @property
    def differentiable(self) -> bool:
        """Whether the file has the output `jacobian`."""
        return "jacobian" in self._outputs

    def vertices(self, poses: np.ndarray) -> np.ndarray:
        """See `VertexMap`."""
        return self._run("vertices", poses)

    def jacobian(self, poses: np.ndarray) -> np.ndarray:
        """See `VertexMap`."""
        return self._run("jacobian", poses) if self.differentiable else super().jacobian(poses)

    def __getstate__(self) -> dict[str, Any]:
        """State without the session, which is opened again."""
        return {key: value for key, value in vars(self).items() if key != "_session"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._open()

    def _open(self) -> None:
        """Start a session of one thread, so that runs are the same to the bit."""
        try:
            runtime = importlib.import_module("onnxruntime")
        except ImportError:
            raise MissingExtra("onnxruntime", "onnx") from None
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # what is wrong is raised
        try:
            self._session = runtime.InferenceSession(
                self._content, options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
        except Exception as error:  # its errors have no common class
            raise self._error(f"cannot be used as an ONNX model: {one_line(error)}") from None

    def _run(self, output: str, poses: np.ndarray) -> np.ndarray:
        found = self._session.run([output], {"pose": poses.astype(self._type)})[0]
        return np.asarray(found, dtype=float)

    def _check_input(self) -> None:
        inputs = [(i.name, i.type) for i in self._session.get_inputs()]
        if len(inputs) != 1 or inputs[0][0] != "pose" or inputs[0][1] not in _NUMBERS:
            raise self._error(
                f"has the inputs {inputs}; it needs one, 'pose', of {' or '.join(_NUMBERS)}"
            )
        self._type = _NUMBERS[inputs[0][1]]

    def _check_outputs(self) -> None:
        """Evaluate the model at two poses, and keep the sizes."""
        self._outputs = {output.name for output in self._session.get_outputs()}
        if "vertices" not in self._outputs:
            raise self._error(f"has the outputs {sorted(self._outputs)}; it needs 'vertices'")
        poses = np.array([self.lower, self.upper])
        try:
            found = {name: self._run(name, poses) for name in sorted(self._outputs & _OUTPUTS)}
        except Exception as error:  # its errors have no common class
            raise self._error(f"fails on poses of shape {poses.shape}: {one_line(error)}") from None
        V = found["vertices"]
        if V.ndim != 3 or len(V) != 2 or V.shape[1] not in (3, 6):
            raise self._error(f"gives vertices of shape {V.shape} for 2 poses, not (2, 3 or 6, m)")
        self.rows, self.n_vertices = V.shape[1], V.shape[2]
        expected = (*V.shape, len(self.lower))
        if "jacobian" in found and found["jacobian"].shape != expected:
            raise self._error(
                f"gives a jacobian of shape {found['jacobian'].shape} for 2 poses, not {expected}"
            )
        if not all(np.isfinite(values).all() for values in found.values()):
            raise self._error("gives numbers that are not finite at the ends of its range")

    def _numbers(self, metadata: dict[str, str], key: str, n: int) -> np.ndarray:
        try:
            numbers = np.array([float(text) for text in metadata[key].split(",")])
        except ValueError:
            numbers = np.array([np.nan])
        if numbers.shape != (n,) or not np.isfinite(numbers).all():
            raise self._error(f"has {key} = '{metadata[key]}'; it needs {n} finite number(s)")
        return numbers

    def _error(self, sentence: str) -> ContactError:
        return ContactError(f"{self._path}: {sentence}")


def _listed(poses: tuple[tuple[str, ...], ...]) -> str:
    return " or ".join(f"'{','.join(pose)}'" for pose in poses)
