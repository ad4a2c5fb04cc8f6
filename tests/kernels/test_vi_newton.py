"""Newton's method for variational inequalities, on small manifolds and on steps of a robot."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._contact import FrictionCone, WrenchSpace
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.geometry.planes import place_references
from nmdp_pin._kernels.step import step as step_kernels
from nmdp_pin._kernels.step.stage import GAP, RESIDUAL, SLIP, evaluate, kinematics
from nmdp_pin._kernels.step.vi_newton import Tolerances, solve_stage
from nmdp_pin._robot import ContactPoints, Robot
from nmdp_pin._scenario import Scenario
from nmdp_pin._solvers.vi_newton import ViNewton
from nmdp_pin._state.status import Status
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.errors import IntegratorError

TOLERANCE = 1e-12
CLOSE = 1e-6  # of the solution: the slip, at most 1e-12, is quadratic or linear in the distance
PROXIMAL = 1e-5  # linear share of the convergence: the proximal term is 1e-6 of the curvature
QUADRATIC = 20.0  # constant of the quadratic one; G's and g's second derivatives are about 6
LINK = 0.8  # [m]
SHORTENED = 3  # trials of a step after a value that is not finite
FAR = 1e9


class Fixed(WrenchSpace):
    """Vertices that are the same everywhere, shape (n, 3, m)."""

    def __init__(self, V):
        self.V = V

    @property
    def n_vertices(self):
        return self.V.shape[2]

    def vertices(self, contacts):
        return self.V[contacts.contact]

    def derivative(self, contacts, w, wrench):
        return np.zeros((len(w), 3, 3))


def sliders(nv):
    """A body that slides along up to three axes: its displacement is that of q."""
    model = pin.Model()
    kinds = (pin.JointModelPX(), pin.JointModelPY(), pin.JointModelPZ())
    for k in range(nv):
        model.addJoint(k, kinds[k], pin.SE3.Identity(), f"slider{k}")
    return model, np.zeros(3)


def arm(*kinds, end=(LINK, 0.0, 0.0)):
    """A chain of links, with the contacts at a place on the last of them."""
    model = pin.Model()
    for k, kind in enumerate(kinds):
        place = pin.SE3(np.eye(3), np.array([k * LINK, 0.0, 0.0]))
        model.addJoint(k, kind, place, f"hinge{k}")
    return model, np.array(end)


class Manifold:
    """G(q, w) = f(q) - sum J' V w = 0, whose contacts have moved from where q is the target.

    It is a stage of a robot in which other equations stand for the inertia.

    Args:
        function: f and its derivative at q.
        V: vertices, shape (n, 3, m).
        target: configuration of the target, shape (nv,).
        rate: rate of the velocity [1/s].
        robot: model, and the place of the contacts on its last body.
        contact: contact model of other vertices than V.
    """

    def __init__(self, function, V, target, rate=1.0, robot=None, contact=None):
        self.model, place = robot or sliders(len(target))
        n, last = len(V), self.model.njoints - 1
        points = ContactPoints(
            tuple(f"point{i}" for i in range(n)),
            np.full(n, last),
            np.tile(place, (n, 1)),
            np.zeros(n),
        )
        nv = self.model.nv
        made = Robot("manifold", self.model, points, np.arange(nv), pin.neutral(self.model))
        self.form = CompiledSystem(
            System(made, Terrain([Plane()]), contact or Fixed(V)), reach=np.inf
        )
        dynamics, calls = self.form.record.dynamics, self.form.pinocchio
        self.evaluated = []

        def inverse_dynamics(derived):
            calls.kinematics()
            q = dynamics.q.copy()
            if not self.evaluated or np.any(q != self.evaluated[-1]):  # else for its derivatives
                self.evaluated.append(q)
            with np.errstate(all="ignore"):
                dynamics.tau[:], dynamics.of_q[:] = function(q)
            dynamics.of_v[:] = dynamics.M[:] = 0.0

        calls.inverse_dynamics = inverse_dynamics
        self.stage = replace(self.form.new_stage(), rate=rate)
        at = self.form.new_point()
        self.stage.q_ref[:] = target
        kinematics(self.form.record, self.stage.q_ref, at)
        place_references(self.stage.contacts, at.P)

    def at(self, q, w):
        """The point evaluated there."""
        point = self.form.new_point()
        point.q[:], point.w[:] = q, w
        evaluate(self.form.record, self.stage, point, True)
        return point

    def solve(self, w, q=None, *, budget=2**62, **options):
        """The kernel from the given weights, and from q = 0."""
        tolerances = {
            "residual": TOLERANCE,
            "slip": TOLERANCE,
            "near": 1.0,
            "start": np.inf,
            "guess": 1.0,
            "reach": FAR,
            "proximal": 1e-6,
            "max_iterations": 50,
            "derived": False,
        } | options
        here, there, counts = self.form.new_point(), self.form.new_point(), np.zeros(4, np.int64)
        here.q[:], here.w[:] = 0.0 if q is None else q, w
        self.evaluated.clear()
        with np.errstate(all="ignore"):  # for kernels that are not compiled
            outcome, swapped = solve_stage(
                self.form.record,
                self.stage,
                Tolerances(**tolerances),
                budget,
                here,
                there,
                self.form.new_linear(),
                counts,
            )
        iterations, evaluations, rejected, work = counts.tolist()
        return SimpleNamespace(
            status=tuple(Status)[outcome],
            point=there if swapped else here,
            iterations=iterations,
            evaluations=evaluations,
            rejected=rejected,
            work=work,
        )

    def iterates(self, w):
        """The points after each iteration, of which the last one is the solution."""
        points, found = [], None
        while found is None or found.status is Status.ITERATION_LIMIT:
            found = self.solve(w, max_iterations=len(points))
            points.append(found.point)
        assert found.status is Status.CONVERGED
        return points


def springs(A, c, cubic):
    """A q + cubic q^3 - c."""
    return lambda q: (A @ q + cubic * q**3 - c, A + np.diag(3.0 * cubic * q**2))


def pulled(target, cubic=0.0, rate=1.0):
    """G = q + cubic q^3 - w and u = q - target in the plane: w is drawn to the target."""
    return Manifold(springs(np.eye(2), 0.0, cubic), np.eye(3)[None, :, :2], target, rate)


def scalar(function, slope, target=0.0):
    """G = f(q) - w of one unknown."""
    return Manifold(
        lambda q: (function(q[0]), slope(q[0])), np.eye(3)[None, :, :1], np.array([target])
    )


def assert_inequality(point, slip):
    """No weights in the simplices save more than a slip over the forces."""
    w, work = point.w, point.work
    assert w.min() >= 0.0
    assert w.sum(axis=1).max() <= 1.0
    gap = (w * work).sum(axis=1) - np.minimum(work.min(axis=1), 0.0)
    force = np.abs(point.wrench).max(axis=1)
    assert (gap <= slip * np.maximum(force, 0.1 * np.abs(point.V).max(axis=(1, 2)))).all()


TARGETS = {  # target: its nearest point of the triangle w >= 0, w1 + w2 <= 1
    "inside": ((0.3, 0.4), (0.3, 0.4)),
    "beyond the edge": ((0.9, 0.7), (0.6, 0.4)),
    "corner": ((3.0, -1.0), (1.0, 0.0)),
    "origin": ((-1.0, -2.0), (0.0, 0.0)),
    "side": ((-0.5, 0.4), (0.0, 0.4)),
}


@pytest.mark.parametrize("start", [(0.0, 0.0), (1.0, 0.0), (0.2, 0.5)])
@pytest.mark.parametrize(("target", "nearest"), TARGETS.values(), ids=TARGETS)
def test_nearest_point_of_a_triangle(target, nearest, start):
    """With G = q - w and u = q - target the solution is the nearest point, from any start."""
    found = pulled(target).solve(start)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.point.q, nearest, atol=CLOSE)
    np.testing.assert_allclose(found.point.w[0], nearest, atol=CLOSE)
    assert found.point.sums[SLIP] <= TOLERANCE
    assert found.point.sums[RESIDUAL] <= TOLERANCE


@pytest.mark.parametrize("target", [(0.3, 0.4), (0.2, 0.3), (0.5, 0.1)])
def test_a_curved_manifold_in_closed_form(target):
    """With q + q^3 = w and a target within reach, q is the target and w follows."""
    found = pulled(target, cubic=1.0).solve((0.0, 0.0))
    assert found.status is Status.CONVERGED
    t = np.array(target)
    np.testing.assert_allclose(found.point.q, t, atol=CLOSE)
    np.testing.assert_allclose(found.point.w[0], t + t**3, atol=CLOSE)


def test_convergence_is_quadratic():
    """Each error of G and of u is the square of the one before, but for the proximal term.

    Both are curved: the contact is at the tip of an arm, whose springs hold it at the target.
    """
    target, w = np.array([0.3, 0.4]), np.array([0.3, 0.5])
    robot = arm(pin.JointModelRZ(), pin.JointModelRZ())
    x, y = LINK * np.array([np.cos([0.3, 0.7]), np.sin([0.3, 0.7])])
    jacobian = np.array([[-y.sum(), -y[1]], [x.sum(), x[1]]])
    c = target + 2.0 * target**3 - jacobian.T @ w
    problem = Manifold(springs(np.eye(2), c, 2.0), np.eye(3)[None, :, :2], target, robot=robot)
    points = problem.iterates((0.0, 0.0))
    np.testing.assert_allclose(points[-1].q, target, atol=CLOSE)
    np.testing.assert_allclose(points[-1].w[0], w, atol=CLOSE)
    # One evaluation an iteration: nothing is shortened.
    assert len(problem.evaluated) == len(points)
    errors = [at.sums[RESIDUAL] + at.sums[GAP] for at in points]
    assert 5 <= len(errors) <= 9
    for before, after in itertools.pairwise(errors):
        assert after <= QUADRATIC * before**2 + PROXIMAL * before + 1e-13


@pytest.mark.parametrize("seed", range(20))
def test_random_problems(seed):
    """No symmetry, two blocks, curved: the inequality holds at every vertex, and G = 0."""
    rng = np.random.default_rng(seed)
    A = np.eye(3) + 0.3 * rng.standard_normal((3, 3))
    skew = 0.3 * rng.standard_normal((3, 3))
    function = springs(A @ A.T + np.eye(3) + skew - skew.T, rng.standard_normal(3), 0.1)
    problem = Manifold(function, rng.standard_normal((2, 3, 4)), rng.standard_normal(3))
    found = problem.solve(np.full((2, 4), 0.1))
    assert found.status is Status.CONVERGED
    at = problem.at(found.point.q, found.point.w)
    assert at.sums[RESIDUAL] <= TOLERANCE
    assert_inequality(at, 2.0 * TOLERANCE)


def test_problems_in_which_the_gap_rises_on_the_way():
    """It is no merit function: it rises in some of these problems, which converge all the same."""
    robot = arm(pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelRX(), end=(LINK, 0.3, 0.2))
    risen = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        function = springs(np.eye(3) + 0.5, rng.standard_normal(3), 3.0)
        V = 0.2 * rng.standard_normal((2, 3, 4))
        problem = Manifold(function, V, rng.standard_normal(3), robot=robot)
        points = problem.iterates(np.full((2, 4), 0.1))
        assert_inequality(points[-1], 2.0 * TOLERANCE)
        risen += int(max(np.diff([at.sums[GAP] for at in points]), default=0.0) > 0.01)
    assert risen >= 2


def test_a_solution_costs_nothing():
    """From the solution no inequality is solved."""
    problem = pulled((3.0, -1.0))
    found = problem.solve((1.0, 0.0), (1.0, 0.0))
    assert found.status is Status.CONVERGED
    assert found.iterations == 0
    assert found.evaluations == len(problem.evaluated) == 1


def test_vertices_that_move_nothing():
    """Only G is solved, and the weights stay."""
    c = np.array([5.0, 2.0])
    found = Manifold(springs(np.eye(2), c, 1.0), np.zeros((1, 3, 2)), np.zeros(2)).solve((0.5, 0.5))
    assert found.status is Status.CONVERGED
    assert np.array_equal(found.point.w, [[0.5, 0.5]])
    q = found.point.q
    np.testing.assert_allclose(q + q**3, c, atol=TOLERANCE)


def test_no_weights():
    """A robot without contacts: a root of G alone."""
    c = np.array([1.0, 2.0])
    found = Manifold(springs(np.eye(2), c, 0.0), np.zeros((0, 3, 6)), np.zeros(2)).solve(0.0)
    assert found.status is Status.CONVERGED
    assert found.point.w.shape == (0, 6)
    np.testing.assert_allclose(found.point.q, c)


@pytest.mark.parametrize(("contacts", "terms"), [(1, 7), (2, 5)])
def test_no_inequality_that_has_failed_is_solved_again(contacts, terms):
    """Terms of 1e-6 and 1e-3 to 100, or of 3e-3 to 30 where forces outnumber motions."""
    V = np.random.default_rng(0).standard_normal((contacts, 3, 4))
    problem = Manifold(springs(np.eye(3), 1.0, 0.0), V, np.zeros(3))
    problem.stage.contacts.reference[:, 3] = np.nan  # from where the contacts have moved
    found = problem.solve(np.full((contacts, 4), 0.1))
    assert found.status is Status.QP_FAILED
    assert found.evaluations == 1
    assert found.iterations == found.rejected == terms


def test_the_first_iteration_leaves_a_part_of_redundant_forces():
    """One contact holds two sliders: a proximal term of 3e-3 is left to the next iteration.

    Where its vertices come from Python, an evaluation costs more than the centres that follow.
    """
    target, robot = np.array([0.2, 0.1]), (sliders(2)[0], np.array([0.0, 0.0, -0.01]))
    function, zero = springs(np.eye(2), 0.0, 0.0), np.zeros((1, 3, 6))
    cone = FrictionCone(stiffness=1e4, power=2)
    compiled = Manifold(function, zero, target, robot=robot, contact=cone)
    V = compiled.at(target, 0.0).V
    called = Manifold(function, V, target, robot=robot)
    for problem, after_one in ((compiled, False), (called, True)):
        _, first, *others = problem.iterates(np.zeros((1, 6)))
        assert np.allclose(first.q, target, rtol=0.0, atol=CLOSE) is after_one
        assert len(others) == (0 if after_one else 1)
        np.testing.assert_allclose([first, *others][-1].q, target, atol=CLOSE)


def test_a_motor_that_saturates_costs_one_iteration_and_one_evaluation():
    """Servos hold springs at q = 0: one gives way, and G is linear before and after."""
    c, kp, limit = np.array([1.0, 0.05]), 9.0, 0.5
    problem = Manifold(springs(np.eye(2), c, 0.0), np.zeros((0, 3, 6)), np.zeros(2))
    problem.form.record.joints.effort[:], problem.stage.torque.kp[:] = limit, kp
    found = problem.solve(0.0)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.point.q, [c[0] - limit, c[1] / (1.0 + kp)], atol=CLOSE)
    assert problem.stage.torque.signs.tolist() == [-1.0, 0.0]
    assert (found.iterations, found.evaluations, found.rejected) == (2, 4, 0)


@pytest.mark.parametrize("limit", [1, 2])
def test_iteration_limit(limit):
    """The limit ends the search, with feasible weights and the number of iterations made."""
    found = pulled((0.9, 0.7), cubic=2.0).solve((0.0, 0.0), max_iterations=limit)
    assert found.status is Status.ITERATION_LIMIT
    assert found.iterations == limit
    assert found.point.w.min() >= 0.0
    assert found.point.w.sum() <= 1.0


@pytest.mark.parametrize(("near", "shortens"), [(1.0, False), (1e-2, True)])
def test_steps_after_which_the_residual_has_risen(near, shortens):
    """G may rise up to a bound: then an iteration is one evaluation; else steps are shortened."""
    problem = pulled((0.4, 0.2), cubic=2.0)
    found = problem.solve((0.0, 0.0), near=near)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.point.q, (0.4, 0.2), atol=CLOSE)
    assert (found.evaluations > found.iterations + 1) is shortens
    residuals = [at.sums[RESIDUAL] for at in problem.iterates((0.0, 0.0))]
    assert max(residuals) > 1e-2  # where it is not bounded


@pytest.mark.parametrize("reach", [0.01, 0.1])
def test_an_iteration_moves_contacts_no_farther_than_they_may(reach):
    """By its linearisation; several iterations are needed where one would do."""
    problem = pulled((0.3, 0.4))
    first = problem.solve((0.0, 0.0), reach=reach, max_iterations=1)
    assert np.linalg.norm(first.point.q) == pytest.approx(reach)
    found = problem.solve((0.0, 0.0), reach=reach, max_iterations=100)
    assert found.status is Status.CONVERGED
    assert found.iterations >= 0.5 / reach


def test_what_is_solved():
    """G and the slip within their tolerances, both of them."""
    problem = pulled((0.4, 0.2))
    target, away = np.array([0.4, 0.2]), np.array([2e-3, 0.0])
    for q, w, solved in (
        (target, target, True),
        (target + 0.1 * away, target, True),  # G of 2e-4
        (target + away, target, False),
        (target + 4.0 * away, target + 4.0 * away, False),  # a slip of 8e-3
    ):
        found = problem.solve(w, q, residual=1e-3, slip=1e-3, max_iterations=0)
        assert found.status.ok is solved


def test_budget():
    """No iteration is begun when the budget is spent."""
    problem = pulled((0.9, 0.7), cubic=2.0)
    found = problem.solve((0.0, 0.0), budget=3)
    assert not found.status.ok
    assert found.evaluations == len(problem.evaluated) == 3


def test_a_guess_that_is_too_far():
    """Where the residual is larger than it may be, one evaluation is all that is spent."""
    problem = pulled((0.9, 0.7), cubic=2.0)
    residual = problem.at((0.3, 0.2), (0.0, 0.0)).sums[RESIDUAL]
    near = problem.solve((0.0, 0.0), (0.3, 0.2), start=1.01 * residual)
    assert near.status is Status.CONVERGED
    far = problem.solve((0.0, 0.0), (0.3, 0.2), start=0.99 * residual)
    assert far.status is Status.STALLED
    assert (far.iterations, far.evaluations, far.rejected, far.work) == (0, 1, 0, 1)


def test_budget_of_a_search_that_fails():
    """The trials of a step are the last ones where they have spent the budget."""
    problem = scalar(lambda q: q if q == 0.25 else np.nan, lambda q: 1.0, 1.0)
    found = problem.solve([0.25], [0.25], budget=4)
    assert found.status is Status.STALLED
    assert found.evaluations == len(problem.evaluated) <= 1 + SHORTENED
    assert found.rejected == 1


@pytest.mark.parametrize("rate", [1.0, 100.0])
def test_solutions_to_rounding(rate):
    """Places are known to 2e-14 m where that is asked for, whatever the step."""
    found = pulled((0.4, 0.2), 1.0, rate).solve(
        (0.0, 0.0), residual=1e-13, slip=2e-14
    )
    assert found.status is Status.CONVERGED
    t = np.array([0.4, 0.2])
    np.testing.assert_allclose(found.point.q, t, atol=1e-12)
    np.testing.assert_allclose(found.point.w[0], t + t**3, atol=1e-12)


def test_singular():
    """A singular Jacobian is reported, with the start and without NaN."""
    found = scalar(lambda q: 0.0, lambda q: 0.0, 1.0).solve([0.5], [0.3])
    assert found.status is Status.SINGULAR
    assert found.point.q[0] == 0.3
    assert found.point.w[0, 0] == 0.5


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(value):
    """G that is not finite at the start is reported, with the start."""
    found = scalar(lambda q: value, lambda q: 1.0, 1.0).solve([0.5], [0.3])
    assert found.status is Status.NOT_FINITE
    assert found.point.q[0] == 0.3
    assert found.point.w[0, 0] == 0.5
    assert found.evaluations == 1


def test_a_manifold_without_points():
    """Where G has no root the solver gives up, at numbers."""
    found = scalar(lambda q: 100.0 * (q * q + 1.0), lambda q: 200.0 * q, 1.0).solve([0.5], [1.3])
    assert found.status in (Status.STALLED, Status.ITERATION_LIMIT)
    assert np.isfinite(found.point.q).all()


def test_stalled():
    """A manifold that ends at the start: every step is rejected, and the start is kept."""
    start = 0.25
    problem = scalar(lambda q: q if q == start else np.nan, lambda q: 1.0, 1.0)
    found = problem.solve([start], [start])
    assert found.status is Status.STALLED
    assert found.rejected == found.iterations > 1
    assert found.evaluations == 1 + SHORTENED * found.rejected
    assert found.point.q[0] == start
    assert found.point.w[0, 0] == start


def test_a_derivative_that_is_not_a_number():
    """NaN in dG/dq ends in a failure with the start, not in a hang."""
    found = scalar(lambda q: q, lambda q: np.nan, 1.0).solve([0.5], [0.3])
    assert found.status is Status.SINGULAR
    assert found.point.q[0] == 0.3
    assert found.point.w[0, 0] == 0.5


def test_deterministic():
    """The same problem gives the same bits, also when the memory has been used before."""
    problem, other = pulled((0.9, 0.7), cubic=1.0), pulled((-3.0, 0.2), cubic=1.0)
    results = [at.solve((0.1, 0.1)) for at in (problem, other, problem)]
    assert np.array_equal(results[0].point.q, results[2].point.q)
    assert np.array_equal(results[0].point.w, results[2].point.w)
    assert np.array_equal(results[0].point.sums, results[2].point.sums)


@pytest.mark.parametrize("name", ["tolerance", "slip", "max_iterations", "loose", "proximal"])
@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf])
def test_bad_options(name, value):
    """An option out of its range is named, with what was given."""
    with pytest.raises(IntegratorError, match=f"{name} must be .*{value}"):
        ViNewton(**{name: value})


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("dt", [0.005, 0.05])
@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp"])
def test_steps_of_a_robot(method, dt, order, monkeypatch):
    """Every solve of a jump ends with slip and G within their tolerances, in few iterations."""
    make_step, iterations, stages = step_kernels.make_step, 0, 0

    def recorded(step):
        nonlocal iterations, stages
        make_step(step)
        system, options, memory, end = step.system, step.options, step.memory, step.end
        if end.counts[step_kernels.OUTCOME]:
            return
        iterations += end.counts[step_kernels.ITERATIONS]
        made = (
            step.scheme if end.counts[step_kernels.ORDER] == step.scheme.order else step.first_order
        )
        stages += len(made.a)
        at = next(at for at in memory.points if np.array_equal(at.q, end.q))
        share = step_kernels.share_of_tolerance(options, memory.stage)
        residual = step_kernels.attainable(system, memory.stage, share * options.tolerance)
        assert at.sums[RESIDUAL] <= residual
        assert at.sums[SLIP] <= share * options.slip * made.a[-1, -1] * step.start.h
        assert at.sums[GAP] >= -1e-12 * system.tree.weight

    monkeypatch.setattr(step_kernels, "make_step", recorded)
    setup = Scenario.load(
        "robosimian-jump",
        overrides=[
            f'integrator.name="{method}"',
            f"integrator.dt={dt}",
            f"integrator.order={order}",
        ],
    ).build(visuals=False)
    results = list(setup.simulator.run(setup.state, setup.controller, dt=dt, duration=1.0))
    assert len(results) == round(1.0 / dt)
    assert all(result.status.ok for result in results)
    assert stages >= len(results)
    assert iterations < 10 * stages
