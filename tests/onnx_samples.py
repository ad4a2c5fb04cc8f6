"""Small networks in ONNX files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

METADATA = {
    "pose": "depth,tilt_x,tilt_y",
    "lower": "0,-0.8,-0.8",
    "upper": "0.1,0.8,0.8",
    "touch": "0.01",
}


def weights(rows: int, vertices: int, k: int, hidden: int = 8) -> dict[str, np.ndarray]:
    """Of V = W2 tanh(W1 pose + b1) + b2, forces of some 100 N that push."""
    rng = np.random.default_rng(0)
    size = rows * vertices
    b2 = 20.0 * rng.standard_normal((rows, vertices))
    b2[2] += 100.0
    scale = np.array([20.0, 1.0, 1.0])[:k]
    return {
        "W1": scale[:, None] * rng.standard_normal((k, hidden)),
        "b1": rng.standard_normal(hidden),
        "W2": 30.0 * rng.standard_normal((hidden, size)),
        "b2": b2.ravel(),
    }


def evaluate(net: dict[str, np.ndarray], poses: np.ndarray, rows: int) -> np.ndarray:
    """The same network by numpy, shape (n, rows, vertices)."""
    flat = np.tanh(poses @ net["W1"] + net["b1"]) @ net["W2"] + net["b2"]
    return flat.reshape(len(poses), rows, -1)


def write(
    path: Path,
    net: dict[str, np.ndarray],
    rows: int,
    *,
    jacobian: bool = True,
    single: bool = False,
    metadata: dict[str, str] | None = None,
) -> Path:
    """Write V = W2 tanh(W1 pose + b1) + b2, and dV/dpose = W2 diag(1 - tanh^2) W1."""
    number = np.float32 if single else np.float64
    kind = TensorProto.FLOAT if single else TensorProto.DOUBLE
    k, hidden = net["W1"].shape
    m = net["W2"].shape[1] // rows
    constants = {
        **net,
        "one": np.ones(1),
        "W1t": net["W1"].T[None],  # (1, hidden, k)
        "W2t": net["W2"].T[None],  # (1, rows m, hidden)
    }
    shapes = {"to_V": [-1, rows, m], "to_J": [-1, rows, m, k], "as_row": [-1, 1, hidden]}
    values = [numpy_helper.from_array(np.asarray(v, number), n) for n, v in constants.items()]
    values += [numpy_helper.from_array(np.array(v, np.int64), n) for n, v in shapes.items()]
    nodes = [
        ("MatMul", ["pose", "W1"], "p"),
        ("Add", ["p", "b1"], "a"),
        ("Tanh", ["a"], "t"),
        ("MatMul", ["t", "W2"], "u"),
        ("Add", ["u", "b2"], "flat"),
        ("Reshape", ["flat", "to_V"], "vertices"),
    ]
    outputs = [helper.make_tensor_value_info("vertices", kind, [None, rows, m])]
    if jacobian:
        nodes += [
            ("Mul", ["t", "t"], "t2"),
            ("Sub", ["one", "t2"], "slope"),
            ("Reshape", ["slope", "as_row"], "row"),
            ("Mul", ["W2t", "row"], "scaled"),
            ("MatMul", ["scaled", "W1t"], "flat_J"),
            ("Reshape", ["flat_J", "to_J"], "jacobian"),
        ]
        outputs.append(helper.make_tensor_value_info("jacobian", kind, [None, rows, m, k]))
    graph = helper.make_graph(
        [helper.make_node(op, inputs, [output]) for op, inputs, output in nodes],
        "net",
        [helper.make_tensor_value_info("pose", kind, [None, k])],
        outputs,
        values,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, METADATA if metadata is None else metadata)
    onnx.save(model, str(path))
    return path
