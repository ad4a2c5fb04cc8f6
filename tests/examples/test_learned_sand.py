"""The learned route end to end: wrench samples, fit, ONNX file, walk."""

import re

import numpy as np
import pytest
from example_programs import load, output

from nmdp_pin.contact import OnnxVertices, WrenchSamples

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

ALIKE = 2e-3  # [m] of half a second's walk; measured 0.2 mm, sinkage 0.1 mm
BETWEEN = 0.005  # root mean square between the samples, of the largest; measured 0.001, 0.0025


def test_the_walk_on_learned_sand_is_that_on_the_sampled_one(tmp_path):
    """Distance and sinkage agree, and the files of the route are there."""
    lines = output("learned_sand", tmp_path, "0.5").splitlines()
    found = {line.split(":")[0]: re.findall(r"-?[\d.]+(?= m)", line) for line in lines}
    (way, depth), (learned_way, learned_depth) = (
        map(float, found[name]) for name in ("sampled", "learned")
    )
    assert learned_way == pytest.approx(way, abs=ALIKE)
    assert learned_depth == pytest.approx(depth, abs=1e3 * ALIKE)
    assert depth > 10.0
    assert (tmp_path / "rod_in_sand.csv").is_file()
    assert (tmp_path / "rod_in_sand.onnx").is_file()


def test_the_network_is_right_between_the_samples(tmp_path):
    """At poses that were not sampled the file's wrenches are those of the sand."""
    example = load("learned_sand")
    example.sample(tmp_path / "samples.csv")
    example.write(tmp_path / "net.onnx", example.fit(WrenchSamples.load(tmp_path / "samples.csv")))
    network = OnnxVertices(tmp_path / "net.onnx")
    rng = np.random.default_rng(0)
    poses = rng.uniform([0.02, -0.8, -0.2], [0.07, 0.8, 0.2], (60, 3))
    true = np.array([example.wrenches(pose).T for pose in poses])
    error = network.vertices(poses) - true
    for rows in (slice(0, 3), slice(3, 6)):
        off = np.sqrt(np.mean(error[:, rows] ** 2)) / np.abs(true[:, rows]).max()
        assert off < BETWEEN
    step = 1e-6 * np.eye(3)
    slope = [(network.vertices(poses + e) - network.vertices(poses - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(
        network.jacobian(poses), np.stack(slope, axis=-1), atol=1e-6 * np.abs(slope).max()
    )
