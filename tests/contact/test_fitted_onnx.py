"""Fitted contact models from ONNX files: the contract, runs, mistakes."""

import sys

import numpy as np
import pytest
from model_runs import METHODS, checked_run
from wrench_data import contacts_at

from nmdp_pin._contact import FiniteDifferences
from nmdp_pin._robot import load_robot
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.contact import Fitted, OnnxVertices, fitted_model
from nmdp_pin.errors import ContactError, IntegratorError, MissingExtra
from nmdp_pin.testing import WrenchSpaceContract

onnx_samples = pytest.importorskip("onnx_samples")

FLOOR = Terrain([Plane()])
POSES = np.array([[0.05, 0.1, -0.3], [0.02, -0.7, 0.6], [0.1, 0.0, 0.0]])
DOUBLE, SINGLE = 1e-12, 1e-5  # relative; rounding of some hundred operations
STEP = 1e-3  # [m, rad] of differences in single precision
SINGLE_STEP = 1e-3  # relative error of these: a wrench's rounding of 1e-7 over the step
DEPTH_ONLY = {"pose": "depth", "lower": "0", "upper": "0.01", "touch": "0.0002"}


def network(folder, rows=6, **options):
    """A file with a network of three poses and five vertices."""
    net = onnx_samples.weights(rows, 5, 3)
    return onnx_samples.write(folder / "net.onnx", net, rows, **options)


def pads(folder, **options):
    """A network of depth alone: six forces of a friction cone that grow up to 5 N."""
    angles = 2.0 * np.pi * np.arange(6) / 6
    edges = np.array([0.5 * np.cos(angles), 0.5 * np.sin(angles), np.ones(6)])
    net = {
        "W1": np.full((1, 1), 200.0),
        "b1": np.zeros(1),
        "W2": 10.0 * edges.reshape(1, -1),
        "b2": np.zeros(18),
    }
    return onnx_samples.write(folder / "pads.onnx", net, 3, metadata=DEPTH_ONLY, **options)


class TestOnnx(WrenchSpaceContract):
    @pytest.fixture(params=[6, 3])
    def space(self, request, tmp_path):
        return fitted_model(network(tmp_path, request.param))


class TestOnnxWithoutJacobian(WrenchSpaceContract):
    @pytest.fixture
    def space(self, tmp_path):
        return fitted_model(network(tmp_path, jacobian=False))


def test_differences_in_single_precision(tmp_path):
    """With a step far above rounding they are the derivative of the network in double."""
    exact = fitted_model(network(tmp_path))
    rough = fitted_model(network(tmp_path, jacobian=False, single=True), difference_step=STEP)
    state, w = contacts_at(POSES), np.full((3, 5), 0.15)
    wrench = (exact.vertices(state) @ w[:, :, None])[:, :, 0]
    expected = exact.derivative(state, w, wrench)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(
        rough.derivative(state, w, wrench), expected, atol=SINGLE_STEP * scale
    )


@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
def test_it_is_the_network(tmp_path, single):
    """Vertices and Jacobian are those of the formula, in either precision."""
    net = onnx_samples.weights(6, 5, 3)
    vertices = OnnxVertices(onnx_samples.write(tmp_path / "net.onnx", net, 6, single=single))
    V = onnx_samples.evaluate(net, POSES, 6)
    slope = 1.0 - np.tanh(POSES @ net["W1"] + net["b1"]) ** 2
    J = np.einsum("kh,nh,hr->nrk", net["W1"], slope, net["W2"]).reshape(3, 6, 5, 3)
    tolerance = SINGLE if single else DOUBLE
    np.testing.assert_allclose(vertices.vertices(POSES), V, atol=tolerance * np.abs(V).max())
    np.testing.assert_allclose(vertices.jacobian(POSES), J, atol=tolerance * np.abs(J).max())
    assert (vertices.rows, vertices.n_vertices, vertices.touch) == (6, 5, 0.01)


def test_what_the_scenario_gives(tmp_path):
    """`touch` replaces that of the file, a step of differences wraps the model."""
    path = network(tmp_path, jacobian=False)
    assert fitted_model(path).touch == 0.01
    assert fitted_model(path, touch=0.02).touch == 0.02
    assert isinstance(fitted_model(path, difference_step=1e-4), FiniteDifferences)


@pytest.mark.parametrize("objective", ["dissipation", "kinetic"])
@pytest.mark.parametrize("method", METHODS)
def test_runs(monkeypatch, tmp_path, method, objective):
    """A box slides on four networks: converged, K falls, forces in the wrench space."""
    robot, space = load_robot("box", visuals=False), fitted_model(pads(tmp_path))
    q = robot.standing.copy()
    q[2] -= 0.0012
    state = Simulator(robot, FLOOR, space, method).state(q, np.array([0.5, 0.1, 0, 0, 0, 1.0]))
    checked_run(monkeypatch, robot, FLOOR, space, method, objective, state, dt=0.01, duration=0.1)


def test_without_jacobian_only_zeroth_order(tmp_path):
    """First order says so."""
    robot, space = load_robot("box", visuals=False), fitted_model(pads(tmp_path, jacobian=False))
    with pytest.raises(IntegratorError, match="derivative"):
        Simulator(robot, FLOOR, space, "ne-nmdp")
    simulator = Simulator(robot, FLOOR, space, "ne-zonmdp")
    state = simulator.state()
    assert np.isfinite(state.q).all()


def test_zero_out_of_contact(tmp_path):
    """Whatever the network says there."""
    space = fitted_model(network(tmp_path))
    poses = POSES.copy()
    poses[:, 0] = [0.0, -0.1, -5.0]
    assert not space.vertices(contacts_at(poses)).any()


def metadata(**changes):
    """That of the samples, with changes; None leaves a key out."""
    found = {**onnx_samples.METADATA, **changes}
    return {key: value for key, value in found.items() if value is not None}


BAD_METADATA = {
    "missing": ({"touch": None}, r"lacks the metadata \['touch'\]"),
    "pose": ({"pose": "depth,yaw"}, "pose 'depth,yaw'"),
    "number": ({"lower": "0,a,0"}, "lower = '0,a,0'"),
    "too few": ({"upper": "1,1"}, "needs 3"),
    "nan": ({"touch": "nan"}, "touch = 'nan'"),
    "another pose": ({"pose": "depth", "lower": "0", "upper": "1"}, "fails on poses"),
}


@pytest.mark.parametrize(("changes", "message"), BAD_METADATA.values(), ids=BAD_METADATA)
def test_bad_metadata(tmp_path, changes, message):
    """The error names the file and the key."""
    path = network(tmp_path, metadata=metadata(**changes))
    with pytest.raises(ContactError, match=message) as caught:
        OnnxVertices(path)
    assert "net.onnx" in str(caught.value)


def test_touch_must_be_positive(tmp_path):
    """Or there would be no ramp."""
    path = network(tmp_path, metadata=metadata(touch="-1"))
    with pytest.raises(ContactError, match="touch"):
        fitted_model(path)


def test_words_of_the_runtime_are_one_line(tmp_path, monkeypatch):
    """It says why a model cannot be used in several, with blank ones between them."""

    def refuse(*arguments, **options):
        raise RuntimeError("a node\n\n  has no input\n")

    monkeypatch.setattr("onnxruntime.InferenceSession", refuse)
    with pytest.raises(ContactError, match=r"as an ONNX model: a node has no input$"):
        fitted_model(network(tmp_path))


def test_bad_files(tmp_path):
    """No file; no model; a model of other inputs, outputs, shapes, or without finite numbers."""
    with pytest.raises(ContactError, match="there is no"):
        OnnxVertices(tmp_path / "none.onnx")
    (tmp_path / "text.onnx").write_text("not a model")
    with pytest.raises(ContactError, match="cannot be used as an ONNX model"):
        OnnxVertices(tmp_path / "text.onnx")
    import onnx

    good = onnx.load(str(network(tmp_path)))
    for change, message in (
        (lambda graph: setattr(graph.output[0], "name", "flat"), "needs 'vertices'"),
        (_rename_input, "one, 'pose'"),
        (lambda graph: graph.initializer.append(_shape("to_V", [-1, 5, 6])), r"not \(2, 3 or 6"),
        (lambda graph: graph.initializer.append(_shape("to_J", [-1, 5, 6, 3])), "jacobian of"),
        (_break_numbers, "not finite"),
    ):
        broken = onnx.ModelProto()
        broken.CopyFrom(good)
        change(broken.graph)
        onnx.save(broken, str(tmp_path / "bad.onnx"))
        with pytest.raises(ContactError, match=message):
            OnnxVertices(tmp_path / "bad.onnx")


def _shape(name, sizes):
    """A constant that takes the place of the one of that name."""
    from onnx import numpy_helper

    return numpy_helper.from_array(np.array(sizes, np.int64), name)


def _rename_input(graph):
    graph.input[0].name = "x"
    graph.node[0].input[0] = "x"


def _break_numbers(graph):
    from onnx import numpy_helper

    b1 = next(value for value in graph.initializer if value.name == "b1")
    b1.CopyFrom(numpy_helper.from_array(np.full(8, np.nan), "b1"))


def test_without_onnxruntime(monkeypatch, tmp_path):
    """The message names the extra."""
    path = network(tmp_path)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match="onnx"):
        OnnxVertices(path)


def test_the_map_has_no_jacobian(tmp_path):
    """Asking for it is an error."""
    vertices = OnnxVertices(network(tmp_path, jacobian=False))
    assert not Fitted(vertex_map=vertices, touch=0.01).differentiable
    with pytest.raises(ContactError, match="no jacobian"):
        vertices.jacobian(POSES)


def test_metadata_that_are_no_text(tmp_path):
    """Bytes that are not UTF-8 are an error of ours."""
    path = network(tmp_path)
    content = path.read_bytes()
    assert b"depth,tilt_x,tilt_y" in content
    path.write_bytes(content.replace(b"depth,tilt_x,tilt_y", b"\xb0epth,tilt_x,tilt_y"))
    with pytest.raises(ContactError):
        OnnxVertices(path)
