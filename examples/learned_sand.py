"""Sand learned from wrench samples: samples, fit, ONNX file, walk.

python examples/learned_sand.py      # writes rod_in_sand.csv and rod_in_sand.onnx

A rig would push a foot through sand at many depths and tilts, in the same motions at each, and
write down the wrenches. Here resistive force theory computes them, so the outcome can be compared:
the wrench of each motion is interpolated over depth and tilt by cubic radial basis functions, as
Zhu, Abdulmajeid and Hauser (ICRA 2019) did with their measurements, the interpolation is written
as an ONNX file with its derivative, and Robosimian walks on both. It needs onnx and onnxruntime.
"""

import sys
from itertools import product
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from nmdp_pin import Scenario
from nmdp_pin.contact import Granular, Rod, WrenchSamples

TITLES = "depth [m],tilt_x [rad],tilt_y [rad],fx [N],fy [N],fz [N],tx [N m],ty [N m],tz [N m]"
SAND = Granular(intruder=Rod(radius=0.0267, length=0.15), scale=5.7)
DEPTHS = np.linspace(0.008, 0.08, 8)  # [m]
TILTS = np.linspace(-1.1, 1.1, 11), np.linspace(-0.3, 0.3, 5)  # [rad] Robosimian walks in a plane
RPY = [0.0, -np.pi / 2, 0.0]  # z of the samples' frame points up the rod, against x of its link


def wrenches(pose: np.ndarray) -> np.ndarray:
    """What the rod feels in each motion at (depth, tilt_x, tilt_y), shape (28, 6)."""
    normal = np.array([np.tan(pose[1]), np.tan(pose[2]), 1.0])
    normal /= np.linalg.norm(normal)
    x = np.array([1.0, 0.0, 0.0]) - normal[0] * normal
    x /= np.linalg.norm(x)
    up = np.array([[x[2], np.cross(normal, x)[2], normal[2]]])  # the rod, seen from the patch
    return SAND.scale * SAND.table.vertices(pose[:1], up)[0].T


def sample(path: Path) -> None:
    """Write the wrenches of all motions at all poses."""
    poses = np.array(list(product(DEPTHS, *TILTS)))
    rows = [(*pose, *wrench) for pose in poses for wrench in wrenches(pose)]
    np.savetxt(path, rows, delimiter=",", fmt="%.8g", header=TITLES, comments="")


def fit(samples: WrenchSamples) -> dict[str, np.ndarray]:
    """Weights of V(pose) = sum_i c_i |s pose - s pose_i|^3 + c_0 + C s pose, motion by motion."""
    poses, first = np.unique(samples.poses, axis=0, return_index=True)
    motions = len(samples.poses) // len(poses)
    index = first[:, None] + np.arange(motions)
    V = samples.wrenches[index].transpose(0, 2, 1).reshape(len(poses), -1)
    scale = 1.0 / np.ptp(poses, axis=0)
    nodes = scale * poses
    cubes = np.linalg.norm(nodes[:, None] - nodes, axis=2) ** 3
    line = np.column_stack([np.ones(len(nodes)), nodes])
    system = np.block([[cubes, line], [line.T, np.zeros((4, 4))]])
    weights = np.linalg.solve(system, np.concatenate([V, np.zeros((4, V.shape[1]))]))
    n = len(nodes)
    return {
        "scale": scale,
        "nodes": nodes,
        "bend": weights[:n],
        "constant": weights[n],
        "slope": weights[n + 1 :],
    }


def write(path: Path, net: dict[str, np.ndarray]) -> None:
    """Write V(pose) and its derivative as an ONNX file."""
    shape = [6, net["bend"].shape[1] // 6]
    whole = {"one": [1], "two": [2], "to_V": [-1, *shape], "to_J": [-1, *shape, 3]}
    constants = {**net, "three": np.array(3.0)}
    values = [numpy_helper.from_array(np.asarray(v, float), k) for k, v in constants.items()]
    values += [numpy_helper.from_array(np.array(v, np.int64), k) for k, v in whole.items()]
    nodes = [
        ("Mul", ["pose", "scale"], "scaled"),
        ("Unsqueeze", ["scaled", "one"], "row"),
        ("Sub", ["row", "nodes"], "away"),  # (n, nodes, 3)
        ("Mul", ["away", "away"], "squares"),
        ("ReduceSum", ["squares", "two"], "squared"),
        ("Sqrt", ["squared"], "r"),  # (n, nodes, 1)
        ("Mul", ["squared", "r"], "cubes"),
        ("Squeeze", ["cubes", "two"], "basis"),
        ("MatMul", ["basis", "bend"], "bent"),
        ("MatMul", ["scaled", "slope"], "sloped"),
        ("Sum", ["bent", "sloped", "constant"], "flat"),
        ("Reshape", ["flat", "to_V"], "vertices"),
        # the derivative of |x|^3 is 3 |x| x
        ("Mul", ["away", "r"], "third"),
        ("Mul", ["third", "three"], "rates"),
        ("Transpose", ["rates"], "by_pose", {"perm": [0, 2, 1]}),
        ("MatMul", ["by_pose", "bend"], "bent_rates"),
        ("Add", ["bent_rates", "slope"], "all_rates"),
        ("Transpose", ["all_rates"], "columns", {"perm": [0, 2, 1]}),
        ("Mul", ["columns", "scale"], "flat_J"),
        ("Reshape", ["flat_J", "to_J"], "jacobian"),
    ]
    kind = TensorProto.DOUBLE
    graph = helper.make_graph(
        [helper.make_node(op, ins, [out], **dict(*more)) for op, ins, out, *more in nodes],
        "rod_in_sand",
        [helper.make_tensor_value_info("pose", kind, [None, 3])],
        [
            helper.make_tensor_value_info("vertices", kind, [None, *shape]),
            helper.make_tensor_value_info("jacobian", kind, [None, *shape, 3]),
        ],
        values,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    ends = net["nodes"].min(axis=0) / net["scale"], net["nodes"].max(axis=0) / net["scale"]
    lower, upper = (",".join(f"{x:.6g}" for x in end) for end in ends)
    told = {"pose": "depth,tilt_x,tilt_y", "lower": lower, "upper": upper, "touch": f"{DEPTHS[0]}"}
    helper.set_model_props(model, told)
    onnx.save(model, path)


def walk(duration: float, *overrides: str) -> tuple[float, float]:
    """How far Robosimian walks on sand [m], and how deep its deepest foot is on average [m]."""
    scenario = Scenario.load("robosimian-walk-sand", overrides=overrides)
    setup = scenario.build(visuals=False)
    run = setup.simulator.run(
        setup.state, setup.controller, dt=scenario.integrator.dt, duration=duration
    )
    results = list(run)
    depths = [float(result.contact_depths.max()) for result in results]
    return float(results[-1].state.q[0]), float(np.mean(depths[len(depths) // 3 :]))


def main(duration: float = 3.0) -> None:
    """Sample, fit, write, and walk on the learned sand and on the sand that was sampled."""
    table, network = Path("rod_in_sand.csv"), Path("rod_in_sand.onnx")
    sample(table)
    samples = WrenchSamples.load(table)
    write(network, fit(samples))
    learned = f'contact={{model="fitted",path="{network.absolute()}",rpy={RPY}}}'
    for name, overrides in (("sampled", ()), ("learned", (learned,))):
        distance, depth = walk(duration, *overrides)
        print(f"{name}: {distance:.4f} m in {duration:g} s, the deepest foot {1e3 * depth:.1f} mm")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
