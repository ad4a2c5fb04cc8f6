"""Fitted contact models from ONNX files and from functions."""

import pytest

from nmdp_pin.contact.fitted import Fitted, OnnxVertices
from nmdp_pin.testing import WrenchSpaceContract

onnx_samples = pytest.importorskip("onnx_samples")


class TestOnnx(WrenchSpaceContract):
    @pytest.fixture(params=[6, 3])
    def space(self, request, tmp_path):
        net = onnx_samples.weights(request.param, 5, 3)
        vertices = OnnxVertices(onnx_samples.write(tmp_path / "net.onnx", net, request.param))
        return Fitted(vertex_map=vertices, touch=vertices.touch)


class TestOnnxWithoutJacobian(WrenchSpaceContract):
    @pytest.fixture
    def space(self, tmp_path):
        net = onnx_samples.weights(6, 5, 3)
        path = onnx_samples.write(tmp_path / "net.onnx", net, 6, jacobian=False)
        return Fitted(vertex_map=OnnxVertices(path), touch=0.01)
