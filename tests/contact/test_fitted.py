"""Fitted contact models: the contract, known models recovered from samples, runs, mistakes."""

import functools

import numpy as np
import pinocchio as pin
import pytest
from model_runs import METHODS, checked_run
from pairwise import spread
from wrench_data import Slanted, body_rotation, contacts_at, grid, measured

from nmdp_pin._contact import FrictionCone
from nmdp_pin._robot import load_robot
from nmdp_pin._scenario import Scenario
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.contact import (
    Fitted,
    FunctionVertices,
    Granular,
    Rod,
    WrenchSamples,
    fit_hulls,
    fitted_model,
)
from nmdp_pin.errors import ContactError
from nmdp_pin.testing import WrenchSpaceContract

DEPTHS = np.linspace(0.01, 0.2, 6)
TILTS = np.linspace(-0.8, 0.8, 5)
CONE = FrictionCone(stiffness=1e4, power=2)
MEASURED = WrenchSamples(
    poses=np.repeat(DEPTHS, 5)[:, None], wrenches=np.random.default_rng(0).random((30, 3))
)
ROUNDING = 1e-9  # relative; of a linear system of some hundred unknowns
DENSE = 0.01  # relative; d^2 between ten depths, error of a cubic interpolation
SAMPLED = 0.01  # relative; friction between samples, and of means over a step
SLANTED = 0.01  # root mean square over the largest; measured 1e-3 at 6 depths and 25 tilts
GRANULAR = 0.02  # likewise; measured 0.013 at 4 depths and 9 tilts


@functools.cache
def forces():
    """A model of forces by the depth."""
    return fit_hulls(measured(CONE, DEPTHS[:, None], inner=10)).model


@functools.cache
def wrenches():
    """A model of wrenches by the depth and the tilt."""
    return fit_hulls(measured(Slanted(), grid(DEPTHS, TILTS, TILTS), inner=4)).model


class TestFitted(WrenchSpaceContract):
    @pytest.fixture(params=[forces, wrenches])
    def space(self, request):
        return request.param()


def reach(V, probes):
    """Largest component of a hull (with the origin) along each direction, shape (n, probes)."""
    return np.maximum((probes @ V).max(axis=2), 0.0)


def probes_of(V, n=300):
    """Directions that make forces and moments comparable."""
    halves = [V[:, i : i + 3] for i in range(0, V.shape[1], 3)]
    scale = np.repeat([np.sqrt((half**2).sum(axis=1).mean()) for half in halves], 3)
    return np.random.default_rng(5).standard_normal((n, V.shape[1])) / scale


def error(model, truth, poses):
    """Root mean square error of the reach over the largest reach."""
    V, W = model.vertices(contacts_at(poses)), truth.vertices(contacts_at(poses))
    probes = probes_of(W)
    expected = reach(W, probes)
    return float(np.sqrt(((reach(V, probes) - expected) ** 2).mean()) / expected.max())


@pytest.mark.parametrize("power", [1, 2, 3])
def test_friction_cone_is_recovered(power):
    """Of vertices and forces between them: the six vertices, matched, and d^p between depths."""
    cone = FrictionCone(stiffness=1e4, power=power)
    depths = np.linspace(0.002, 0.02, 10)[:, None]
    fit = fit_hulls(measured(cone, depths, inner=30))
    assert fit.model.n_vertices == 6
    assert fit.coverage == pytest.approx(1.0, abs=ROUNDING)
    assert error(fit.model, cone, depths) < ROUNDING
    between = np.linspace(0.002, 0.02, 57)[:, None]
    assert error(fit.model, cone, between) < (ROUNDING if power == 1 else DENSE)


def test_model_of_depth_and_tilt_is_recovered():
    """Of a model in closed form whose eight vertices turn with the tilt: between the poses."""
    rng = np.random.default_rng(0)
    between = np.column_stack([rng.uniform(0.01, 0.2, 100), rng.uniform(-0.8, 0.8, (100, 2))])
    assert error(wrenches(), Slanted(), between) < SLANTED


def test_granular_model_is_recovered():
    """A rod in sand, from four depths and nine tilts."""
    rod = Granular(intruder=Rod(radius=0.0267, length=0.15))
    tilts = np.linspace(-0.6, 0.6, 3)
    samples = measured(rod, grid(np.linspace(0.02, 0.15, 4), tilts, tilts), inner=2)
    fit = fit_hulls(samples, directions=200)
    rng = np.random.default_rng(0)
    between = np.column_stack([rng.uniform(0.02, 0.15, 60), rng.uniform(-0.6, 0.6, (60, 2))])
    assert error(fit.model, rod, between) < GRANULAR


def test_more_poses_fit_better_and_the_left_out_error_says_so():
    """The error between poses falls with their number, and so does the estimate of it."""
    rng = np.random.default_rng(0)
    between = np.column_stack([rng.uniform(0.01, 0.2, 60), rng.uniform(-0.8, 0.8, (60, 2))])
    errors, estimates = [], []
    for n, m in ((4, 3), (8, 5)):
        tilts = np.linspace(-0.8, 0.8, m)
        poses = grid(np.linspace(0.01, 0.2, n), tilts, tilts)
        fit = fit_hulls(measured(Slanted(), poses, inner=4))
        errors.append(error(fit.model, Slanted(), between))
        estimates.append(fit.left_out_error)
    assert errors[1] < 0.5 * errors[0]
    assert estimates[1] < 0.5 * estimates[0]


def test_smoothing_takes_noise_out():
    """Noise of 3 % of the force: with smoothing nearer to the truth than without."""
    depths = np.linspace(0.002, 0.02, 40)[:, None]
    line = FrictionCone(stiffness=100.0, power=1)
    clean = measured(line, depths, inner=0)
    noise = 1.0 + 0.03 * np.random.default_rng(0).standard_normal((len(clean.poses), 1))
    noisy = WrenchSamples(poses=clean.poses, wrenches=clean.wrenches * noise)
    rough, smooth = (fit_hulls(noisy, smoothing=s).model for s in (0.0, 1.0))
    assert error(smooth, line, depths) < 0.7 * error(rough, line, depths)


@pytest.mark.parametrize("made", [forces, wrenches])
def test_zero_out_of_contact(made):
    """Exactly zero at touch and above, and small just below it."""
    model = made()
    poses = np.zeros((5, len(model.vertex_map.lower)))
    poses[:, 0] = [0.0, -1e-12, -1.0, -np.inf, 1e-6]
    V = model.vertices(contacts_at(poses))
    assert not V[:4].any()
    poses[:, 0] = 0.01
    assert np.abs(V[4]).max() < 1e-6 * np.abs(model.vertices(contacts_at(poses))).max()


def test_beyond_the_measured_depth():
    """Deeper than measured forces go on growing with the depth, in proportion far away."""
    deep = np.array([[0.2], [0.25], [0.4], [2.0], [4.0]])
    normal = forces().vertices(contacts_at(deep))[:, 2].max(axis=1)
    assert (np.diff(normal) > 0.0).all()
    assert normal[4] / normal[3] == pytest.approx(2.0, rel=0.2)


def test_beyond_the_measured_tilt():
    """Forces do not run away: on its side and upside down they are of the size measured."""
    tilts = np.array([[0.1, a, 0.0] for a in (0.8, 1.2, 1.6, 2.4, 3.1)])
    V = np.abs(wrenches().vertices(contacts_at(tilts[:1])))
    seen = contacts_at(tilts)._replace(
        rotation=np.array([pin.utils.rotate("y", -a) for a in tilts[:, 1]])
    )
    assert np.abs(wrenches().vertices(seen)).max() < 3.0 * V.max()


def test_yaw_turns_the_wrenches():
    """The patch's frame turns with the body about the normal."""
    Z = pin.utils.rotate("z", 0.9)
    state = contacts_at(np.array([[0.1, 0.3, -0.2]]))
    V = wrenches().vertices(state)[0]
    turned = wrenches().vertices(state._replace(rotation=Z @ state.rotation))[0]
    for rows in (slice(0, 3), slice(3, 6)):
        np.testing.assert_allclose(turned[rows], Z @ V[rows], atol=ROUNDING * np.abs(V).max())


def test_measured_in_another_frame():
    """`rpy` is the turn from the link's frame to the one in which poses were measured."""
    rpy = (0.4, -0.3, 0.8)
    model = Fitted(vertex_map=wrenches().vertex_map, touch=wrenches().touch, rpy=rpy)
    state = contacts_at(np.array([[0.1, 0.3, -0.2]]))
    link = state.rotation @ pin.rpy.rpyToMatrix(np.array(rpy)).T
    V, W = wrenches().vertices(state), model.vertices(state._replace(rotation=link))
    np.testing.assert_allclose(W, V, atol=ROUNDING * np.abs(V).max())


def test_tilts_are_the_angles_of_the_normal():
    """The material of these tests and the model mean the same by tilt."""
    R = body_rotation(0.3, -0.2)
    seen = R.T @ [0.0, 0.0, 1.0]
    assert np.arctan2(seen[0], seen[2]) == pytest.approx(0.3)
    assert np.arctan2(seen[1], seen[2]) == pytest.approx(-0.2)
    assert R[1, 0] == pytest.approx(0.0, abs=1e-12)


def box_on_pads():
    """The box of 1 kg and a model fitted to the friction cone that carries it at 2 mm."""
    cone = FrictionCone(stiffness=9.81 / 4.0 / 0.002**2, power=2)
    depths = np.linspace(0.0005, 0.006, 10)[:, None]
    return load_robot("box", visuals=False), fit_hulls(measured(cone, depths, inner=10)).model


@spread({"method": METHODS, "objective": ["dissipation", "kinetic"]})
def test_runs(monkeypatch, method, objective):
    """A box slides and spins on fitted pads: converged, K falls, forces in the wrench space."""
    robot, space = box_on_pads()
    floor = Terrain([Plane()])
    simulator = Simulator(robot, floor, space, method)
    state = simulator.state(v=np.array([0.8, 0.1, 0.0, 0.0, 0.0, 2.0]))
    checked_run(monkeypatch, robot, floor, space, method, objective, state, dt=0.01, duration=0.2)


@pytest.mark.parametrize("method", METHODS)
def test_runs_with_tilt_and_moments(monkeypatch, method):
    """A box falls on its corners, with the model of depth and tilt."""
    robot, floor = load_robot("box", visuals=False), Terrain([Plane()])
    q = robot.standing.copy()
    q[2] = 0.13
    q[3:] = pin.Quaternion(pin.exp3(np.array([0.2, 0.1, 0.3]))).coeffs()
    state = Simulator(robot, floor, wrenches(), method).state(q)
    checked_run(
        monkeypatch, robot, floor, wrenches(), method, "dissipation", state, dt=0.01, duration=0.15
    )


def test_stopping_distance():
    """The bundled pads stop the box where the measured friction says, along and across."""
    for axis, mu in ((0, 0.2), (1, 0.4)):
        velocity = [0.0, 0.0, 0.0]
        velocity[axis] = 0.5
        setup = Scenario.load(
            "fitted-pads",
            overrides=[
                f"robot.initial.velocity={velocity}",
                "integrator.dt=0.002",
                "integrator.order=1",
            ],
        ).build(visuals=False)
        run = setup.simulator.run(setup.state, setup.controller, dt=0.002, duration=0.4)
        end = list(run)[-1].state
        assert np.abs(end.v).max() < 1e-6
        assert end.q[axis] == pytest.approx(0.5**2 / (2.0 * mu * 9.81), rel=0.02)  # first order


@pytest.mark.parametrize(("axis", "mu"), [(0, 0.2), (1, 0.4)])
def test_friction_of_a_slide(axis, mu):
    """Of pads that bob in second order: mu of their load, as the samples were computed."""
    velocity = [0.0, 0.0, 0.0]
    velocity[axis] = 0.5
    overrides = [f"robot.initial.velocity={velocity}"]
    setup = Scenario.load("fitted-pads", overrides=overrides).build(visuals=False)
    run = setup.simulator.run(setup.state, setup.controller, dt=0.005, duration=0.1)
    for result in run:
        force = result.contact_forces[result.contact_depths > 0.0]
        assert len(force) == 4
        friction = mu * (force[:, 2] / 2.4525) ** (-1.0 / 3.0)  # 2.4525 N: where it is mu
        np.testing.assert_allclose(-force[:, axis] / force[:, 2], friction, rtol=SAMPLED)


def test_loading(tmp_path):
    """CSV and npz give the same model, of forces and of wrenches, whatever the order of columns."""
    for truth, poses in ((CONE, DEPTHS[:, None]), (Slanted(), grid(DEPTHS, TILTS, TILTS))):
        samples = measured(truth, poses, inner=2)
        names = ["depth [m]", "tilt_x [rad]", "tilt_y [rad]"][: poses.shape[1]]
        names += ["fx [N]", "fy [N]", "fz [N]", "tx [N m]", "ty [N m]", "tz [N m]"]
        table = np.column_stack([samples.poses, samples.wrenches])
        titles = names[: table.shape[1]]
        np.savez(tmp_path / "a.npz", **dict(zip(titles, table.T, strict=True)))
        order = np.random.default_rng(0).permutation(len(titles))
        np.savetxt(
            tmp_path / "a.csv",
            table[:, order],
            fmt="%.17g",
            delimiter=", ",
            header="measured\n" + ", ".join(titles[i] for i in order),
            comments="# ",
        )
        text = (tmp_path / "a.csv").read_text().split("\n", 1)
        (tmp_path / "a.csv").write_text(text[0] + "\n" + text[1].removeprefix("# "))
        models = [fitted_model(tmp_path / f"a.{kind}") for kind in ("csv", "npz")]
        state = contacts_at(poses[:7])
        assert np.array_equal(*(model.vertices(state) for model in models))


BAD_SAMPLES = {
    "poses": ({"poses": np.ones((30, 2))}, r"\(n, 1\) or \(n, 3\)"),
    "wrenches": ({"wrenches": np.ones((30, 4))}, r"\(30, 3\)"),
    "fewer": ({"wrenches": np.ones((29, 3))}, r"\(30, 3\)"),
    "nan": ({"wrenches": np.full((30, 3), np.nan)}, "finite"),
    "millimetres": ({"poses": 1e3 * MEASURED.poses}, "metres"),
    "degrees": ({"poses": np.tile([0.01, 45.0, 3.0], (30, 1))}, "radians"),
    "no force": ({"wrenches": np.zeros((30, 3))}, "no sample"),
    "never touches": ({"poses": -MEASURED.poses}, "no sample"),
    "wrong zero": ({"poses": MEASURED.poses - 0.05}, "zero of the depth"),
    "few of a pose": ({"poses": np.linspace(0.01, 0.1, 30)[:, None]}, "at least 4"),
    "one depth": ({"poses": np.full((30, 1), 0.01)}, "depth is the same"),
    "rounding": ({"poses": np.full((30, 1), 1e-320)}, "least depth in contact"),
    "overflow": ({"wrenches": np.full((30, 3), 1e200)}, "newtons"),
    "one tilt": (
        {"poses": np.repeat([[0.01, 0.2, 0.1], [0.02, 0.2, 0.1]], 15, axis=0)},
        "tilt_x is the same",
    ),
}


@pytest.mark.parametrize(("change", "message"), BAD_SAMPLES.values(), ids=BAD_SAMPLES)
def test_bad_samples(change, message):
    """Samples that cannot be meant are refused by an error that says why."""
    good = {"poses": MEASURED.poses, "wrenches": MEASURED.wrenches}
    with pytest.raises(ContactError, match=message):
        WrenchSamples(**(good | change))


BAD_FITS = {
    "directions": ({"directions": 5}, "at least 6"),
    "smoothing": ({"smoothing": -1.0}, "smoothing"),
    "touch": ({"touch": 0.0}, "touch"),
    "rpy": ({"rpy": (0.0, 1.0)}, "rpy"),
}


@pytest.mark.parametrize(("options", "message"), BAD_FITS.values(), ids=BAD_FITS)
def test_bad_options(options, message):
    """Options out of their range are refused."""
    with pytest.raises(ContactError, match=message):
        fit_hulls(MEASURED, **options)


def test_poses_in_a_line():
    """Tilts that go with each other tell nothing about either."""
    tilt = np.repeat(np.linspace(-0.5, 0.5, 6), 5)
    poses = np.column_stack([MEASURED.poses, tilt, tilt])
    with pytest.raises(ContactError, match="line or plane"):
        fit_hulls(WrenchSamples(poses=poses, wrenches=MEASURED.wrenches))


def test_unknown_kind_of_file(tmp_path):
    """The error lists the kinds that are read."""
    with pytest.raises(ContactError, match=r"\.csv, \.npz or \.onnx"):
        fitted_model(tmp_path / "a.xlsx")


def linear(poses):
    """Three forces that grow with the depth."""
    forces = np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 1.0], [2.0, 2.0, 2.0]])
    return 1e3 * poses[:, :1, None] * forces


def linear_slope(poses):
    """Its derivative."""
    return np.repeat(linear(np.ones((1, 1)))[..., None], len(poses), axis=0)


class TestFunction(WrenchSpaceContract):
    """A model from functions of Python."""

    @pytest.fixture(params=[None, linear_slope], ids=["zeroth order", "first order"])
    def space(self, request):
        vertices = FunctionVertices(function=linear, range=((0.0,), (0.3,)), slope=request.param)
        return Fitted(vertex_map=vertices, touch=0.01)


BAD_FUNCTIONS = {
    "no function": ({"function": 1.0}, "function of poses"),
    "range": ({"range": ((0.0,),)}, "two poses"),
    "shape": ({"function": lambda poses: poses}, r"\(2, 1\)"),
    "slope": ({"slope": linear}, "slope gives shape"),
}


@pytest.mark.parametrize(("change", "message"), BAD_FUNCTIONS.values(), ids=BAD_FUNCTIONS)
def test_bad_functions(change, message):
    """A function of another form is refused."""
    with pytest.raises(ContactError, match=message):
        FunctionVertices(**({"function": linear, "range": ((0.0,), (0.3,))} | change))


def test_a_map_without_a_range():
    """Lower must be below upper."""
    vertices = FunctionVertices(function=linear, range=((0.3,), (0.3,)))
    with pytest.raises(ContactError, match="lower < upper"):
        Fitted(vertex_map=vertices, touch=0.01)
