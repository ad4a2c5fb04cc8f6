"""Newton's method for variational inequalities, on small manifolds."""

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
from nmdp_pin._kernels.step.stage import evaluate, kinematics
from nmdp_pin._kernels.step.stage_records import RESIDUAL, SLIP
from nmdp_pin._kernels.step.tolerances import Tolerances
from nmdp_pin._kernels.step.vi_newton import solve_stage
from nmdp_pin._robot import ContactPoints, JointLimits, Robot
from nmdp_pin._state.status import Status
from nmdp_pin._terrain import Plane, Terrain

TOLERANCE = 1e-12
CLOSE = 1e-8  # of the solution, by the tolerance
QUADRATIC = (
    20.0  # constant of the quadratic convergence; G's and g's second derivatives are about 6
)
LINK = 0.8  # [m]
TRIALS = 8  # of a step after a value that is not finite
GRIP, STIFF = 0.5, 1e4  # friction coefficient; k of 9.81 N at 31 mm [N/m^2]
CONE = FrictionCone(stiffness=STIFF, power=2, recovery=0.0)


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
        joint = model.addJoint(k, kinds[k], pin.SE3.Identity(), f"slider{k}")
        model.appendBodyToJoint(joint, pin.Inertia.FromSphere(1.0, 0.1), pin.SE3.Identity())
    return model, np.zeros(3)


def arm(*kinds, end=(LINK, 0.0, 0.0)):
    """A chain of links, with the contacts at a place on the last of them."""
    model = pin.Model()
    for k, kind in enumerate(kinds):
        place = pin.SE3(np.eye(3), np.array([k * LINK, 0.0, 0.0]))
        joint = model.addJoint(k, kind, place, f"hinge{k}")
        model.appendBodyToJoint(joint, pin.Inertia.FromSphere(1.0, 0.1), pin.SE3.Identity())
    return model, np.array(end)


class Manifold:
    """G(q, w) = f(q) - sum J' V w = 0, whose contacts have moved from where q is the target.

    It is a stage of a robot in which other equations stand for the inertia.

    Args:
        function: f and its derivative at q.
        law: contact model: vertices of n contacts, shape (n, 3, m), or a cone on a plane z = 0.
        target: configuration of the target, shape (nv,).
        rate: rate of the velocity [1/s].
        robot: model, and the place of the contacts on its last body.
        contacts: number of contacts with a cone.
        limits: stops, dry friction and motors of the joints.
    """

    def __init__(self, function, law, target, rate=1.0, robot=None, contacts=1, limits=None):
        self.model, place = robot or sliders(len(target))
        cone = isinstance(law, FrictionCone)
        n, last = contacts if cone else len(law), self.model.njoints - 1
        points = ContactPoints(
            tuple(f"point{i}" for i in range(n)),
            np.full(n, last),
            np.tile(place, (n, 1)),
            np.zeros(n),
        )
        nv = self.model.nv
        more = {"limits": limits} if limits else {}
        made = Robot("manifold", self.model, points, np.arange(nv), pin.neutral(self.model), **more)
        system = System(made, Terrain([Plane(friction=GRIP)]), law if cone else Fixed(law))
        self.form = CompiledSystem(system, reach=np.inf)
        record = self.form.record
        record.scales[:] = record.inertias[:] = 1.0
        dynamics, calls = record.dynamics, self.form.pinocchio
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
        kinematics(record, self.stage.q_ref, at)
        place_references(self.stage.contacts, at.P)

    def at(self, q, w):
        """The point evaluated there."""
        point = self.form.new_point()
        point.q[:], point.w[:] = q, w
        evaluate(self.form.record, self.stage, point, True)
        return point

    def solve(self, w=0.0, q=None, *, budget=2**62, **options):
        """The kernel from the given forces or weights, and from q = 0."""
        tolerances = {
            "residual": TOLERANCE,
            "rounding": 0.0,
            "slip": TOLERANCE,
            "place": 0.0,
            "depth": 0.1 * TOLERANCE,
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

    def iterates(self, w=0.0, q=None):
        """The points after each iteration, of which the last one is the solution."""
        points, found = [], None
        while found is None or found.status is Status.ITERATION_LIMIT:
            found = self.solve(w, q, max_iterations=len(points), derived=True)
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


def on_ground(c, target, law=CONE, contacts=1, rate=1.0):
    """G = q - c - sum(w) of a point at q, which has moved from the target, on a plane z = 0."""
    return Manifold(springs(np.eye(3), np.array(c), 0.0), law, target, rate, contacts=contacts)


def pressed(c, stiffness=STIFF):
    """The force w with w = k d^2 at the depth d = c - w that is left of c."""
    return c - (np.sqrt(1.0 + 4.0 * stiffness * c) - 1.0) / (2.0 * stiffness)


def assert_weights(point, slip):
    """No weights in the simplices save more than a slip over the forces."""
    w, work = point.w, point.work
    assert w.min() >= 0.0
    assert w.sum(axis=1).max() <= 1.0
    gap = (w * work).sum(axis=1) - np.minimum(work.min(axis=1), 0.0)
    force = np.abs(point.wrench).max(axis=1)
    assert (gap <= slip * np.maximum(force, 0.1 * np.abs(point.V).max(axis=(1, 2)))).all()


def assert_forces(point, within):
    """No forces in the cones dissipate more; the ones that do most are none, or at the bound."""
    for f, u, depth in zip(point.w, point.work, point.places.depth, strict=True):
        bound = STIFF * max(depth, 0.0) ** 2
        slack = within * (1.0 + bound)
        assert f[2] <= bound + slack
        assert np.hypot(*f[:2]) <= GRIP * f[2] + slack
        assert f @ u <= min((u[2] - GRIP * np.hypot(*u[:2])) * bound, 0.0) + slack


TARGETS = {  # target: its nearest point of the triangle w >= 0, w1 + w2 <= 1
    "inside": ((0.3, 0.4), (0.3, 0.4)),
    "beyond the edge": ((0.9, 0.7), (0.6, 0.4)),
    "corner": ((3.0, -1.0), (1.0, 0.0)),
    "origin": ((-1.0, -2.0), (0.0, 0.0)),
    "side": ((-0.5, 0.4), (0.0, 0.4)),
}


@pytest.mark.parametrize(("target", "nearest"), TARGETS.values(), ids=TARGETS)
def test_nearest_point_of_a_triangle(target, nearest):
    """With G = q - w and u = q - target the solution is the nearest point, from any start."""
    for start in ((0.0, 0.0), (1.0, 0.0), (0.2, 0.5)):
        found = pulled(target).solve(start)
        assert found.status is Status.CONVERGED
        np.testing.assert_allclose(found.point.q, nearest, atol=CLOSE)
        np.testing.assert_allclose(found.point.w[0], nearest, atol=CLOSE)
        assert found.point.sums[SLIP] <= TOLERANCE
        assert found.point.sums[RESIDUAL] <= TOLERANCE


DOWN = pressed(0.3)
RISES = (0.02 + 0.25 * GRIP) / (1.0 + GRIP**2)  # normal force that lifts what slides by mu |u_t|
GROUND = {  # c, target: force
    "apart": ((0.1, 0.2, 0.3), (0.0, 0.0, 0.1), (0.0, 0.0, 0.0)),
    "lifts off": ((0.1, 0.2, 0.3), (0.0, 0.0, -0.1), (0.0, 0.0, 0.0)),
    "rests": ((0.1, 0.0, -0.4), (0.0, 0.0, -0.1), (-0.1, 0.0, 0.3)),
    "lands": ((0.1, 0.0, -0.3), (0.0, 0.0, 0.0), (-0.1, 0.0, DOWN)),
    "lands and slides": ((0.4, -0.3, -0.3), (0.0, 0.0, 0.0), DOWN * np.array([-0.4, 0.3, 1.0])),
    "slides and rises": (
        (0.25, 0.0, -0.12),
        (0.0, 0.0, -0.1),
        RISES * np.array([-GRIP, 0.0, 1.0]),
    ),
    "sinks": ((0.0, 0.0, -3000.0), (0.0, 0.0, -0.1), (0.0, 0.0, pressed(3000.0))),
}


@pytest.mark.parametrize("hard", [1.0, 1e8, np.inf])
@pytest.mark.parametrize("name", GROUND)
def test_a_point_on_the_ground_in_closed_form(name, hard):
    """Forces at rest, in an impact and in a slide, on ground of any hardness, from any forces."""
    c, target, force = (np.array(part) for part in GROUND[name])
    if hard > 1.0:
        if name in ("rests", "slides and rises"):  # bounded by what is deeper than it may be
            return
        target = target * [1.0, 1.0, 0.0 if target[2] < 0.0 else 1.0]
        normal = -c[2] if hard == np.inf else pressed(max(-c[2], 0.0), hard * STIFF)
        force = force / (force[2] or 1.0) * max(normal, 0.0)
        if name == "lands":
            force[:2] = -c[:2]
    law = FrictionCone(stiffness=hard * STIFF, power=2, recovery=0.0)
    for start in (0.0, (0.3, -0.2, 1.0), (0.0, 0.0, 1e4)):
        found = on_ground(c, target, law).solve(start, target, residual=1e-7)
        assert found.status is Status.CONVERGED
        within = 1e-6 * (1.0 + np.abs(c).max())
        np.testing.assert_allclose(found.point.w[0], force, atol=within)
        np.testing.assert_allclose(found.point.q, c + force, atol=within)
        assert found.iterations <= 8


def test_a_slide_opposes_the_friction_of_a_round_cone():
    """In every direction; of a polyhedron it is that of an edge, or of a side between two."""
    for angle in np.linspace(0.0, 2.0 * np.pi, 9):
        along = np.array([np.cos(angle), np.sin(angle)])
        problem = on_ground((*(0.5 * along), -0.3), np.zeros(3))
        force = problem.solve().point.w[0]
        np.testing.assert_allclose(force, DOWN * np.array([*(-GRIP * along), 1.0]), atol=CLOSE)
        sided = FrictionCone(stiffness=STIFF, power=2, directions=6, recovery=0.0)
        other = on_ground((*(0.5 * along), -0.3), np.zeros(3), sided).solve().point
        edges = np.arange(6) * np.pi / 3.0
        most = GRIP * DOWN * np.cos(edges - np.arctan2(*-other.motion[0, 1::-1])).max()
        assert other.wrench[0, :2] @ other.motion[0, :2] == pytest.approx(
            -most * np.hypot(*other.motion[0, :2]), abs=CLOSE
        )


@pytest.mark.parametrize("number", [2, 5])
def test_redundant_contacts_share_a_force(number):
    """Several contacts at the same place: their sum is unique, and each one is in its set."""
    c = np.array([0.1, 0.0, -0.3])
    single = on_ground(
        c, np.zeros(3), FrictionCone(stiffness=number * STIFF, power=2, recovery=0.0)
    )
    problem = on_ground(c, np.zeros(3), contacts=number)
    for start in (0.0, np.random.default_rng(0).uniform(0.0, 0.3, (number, 3))):
        found = problem.solve(start)
        assert found.status is Status.CONVERGED
        np.testing.assert_allclose(found.point.w.sum(axis=0), single.solve().point.w[0], atol=CLOSE)
        assert_forces(found.point, CLOSE)


def test_convergence_is_quadratic():
    """Each error is the square of the one before; the last iteration asks for no evaluation.

    G and u are curved: the contact is at the tip of an arm, whose springs press it on the ground.
    """
    robot = arm(pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelRY())
    function = springs(np.eye(3), np.array([0.4, 0.3, 0.5]), 2.0)
    problem = Manifold(function, CONE, np.array([0.1, 0.05, 0.0]), robot=robot)
    points = problem.iterates()
    assert_forces(points[-1], CLOSE)
    assert points[-1].w[0, 2] > 0.1
    errors = [np.linalg.norm(at.q - points[-1].q) for at in points[:-1]]
    assert len(errors) >= 4
    for before, after in itertools.pairwise(errors):
        assert after <= QUADRATIC * before**2 + 1e-12
    derived, plain = (problem.solve(derived=flag) for flag in (True, False))
    assert derived.iterations == derived.evaluations - 1 == len(points) - 1
    assert plain.evaluations < derived.evaluations
    np.testing.assert_allclose(plain.point.q, derived.point.q, atol=1e-11)


@pytest.mark.parametrize("begin", range(0, 40, 10))
def test_random_problems(begin):
    """No symmetry, two contacts, curved: the inequality holds at every vertex, and G = 0."""
    robot = arm(pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelRY())
    landed = 0
    for seed in range(begin, begin + 10):
        rng = np.random.default_rng(seed)
        A = np.eye(3) + 0.3 * rng.standard_normal((3, 3))
        skew = 0.3 * rng.standard_normal((3, 3))
        A = A @ A.T + np.eye(3) + skew - skew.T
        function, target = springs(A, rng.standard_normal(3), 0.1), rng.standard_normal(3)
        weights = Manifold(function, rng.standard_normal((2, 3, 4)), target)
        found = weights.solve(np.full((2, 4), 0.1))
        assert found.status is Status.CONVERGED
        at = weights.at(found.point.q, found.point.w)
        assert at.sums[RESIDUAL] <= 2.0 * TOLERANCE
        assert_weights(at, 2.0 * TOLERANCE)
        forces = Manifold(function, CONE, 0.1 * target, robot=robot, contacts=2)
        found = forces.solve(q=0.1 * target)
        assert found.status is Status.CONVERGED
        at = forces.at(found.point.q, found.point.w)
        assert at.sums[RESIDUAL] <= 1e-10
        assert_forces(at, 1e-6)
        landed += int(at.w[0, 2] > 0.0)
    assert 0 < landed < 10


STOP = 50.0  # stiffness of stops, of springs of stiffness 1
JOINTS = {  # c and target of a joint with stops at -1 and 1, and with friction of 0.2: force
    "free": (0.7, 0.0, 0.0, 0.0),
    "upper stop": (2.0, 0.0, 0.0, -STOP / (1.0 + STOP)),
    "lower stop": (-2.0, 0.0, 0.0, STOP / (1.0 + STOP)),
    "leaves a stop": (0.5, 1.5, 0.0, 0.0),
    "rests at a stop": (2.0, 1.5, 0.0, -0.5),
    "sticks": (0.4, 0.3, 0.2, -0.1),
    "slides": (0.7, 0.0, 0.2, -0.2),
    "slides back": (-0.7, 0.0, 0.2, 0.2),
    "slides into a stop": (2.2, 0.0, 0.2, -0.2 - STOP / (1.0 + STOP)),
}


@pytest.mark.parametrize(("c", "target", "friction", "force"), JOINTS.values(), ids=JOINTS)
def test_stops_and_dry_friction_in_closed_form(c, target, friction, force):
    """Forces of joints, from any start, beside a contact that is far away."""
    limits = JointLimits.none(3)
    limits.lower[1], limits.upper[1], limits.friction[1] = -1.0, 1.0, friction
    away = np.array([0.0, target, 9.0])
    problem = Manifold(springs(np.eye(3), np.array([0.0, c, 9.0]), 0.0), CONE, away, limits=limits)
    problem.form.joints.stiffness[:] = STOP
    for start in (0.0, 0.3, -40.0):
        found = problem.solve([[0.0, 0.0, 0.0], [start, 0.0, 0.0]], away)
        assert found.status is Status.CONVERGED
        assert found.point.w[1, 0] == pytest.approx(force, abs=CLOSE)
        np.testing.assert_allclose(found.point.q, [0.0, c + force, 9.0], atol=CLOSE)


def test_vertices_that_move_nothing():
    """Only G is solved, and the weights stay."""
    c = np.array([5.0, 2.0])
    found = Manifold(springs(np.eye(2), c, 1.0), np.zeros((1, 3, 2)), np.zeros(2)).solve((0.5, 0.5))
    assert found.status is Status.CONVERGED
    assert np.array_equal(found.point.w, [[0.5, 0.5]])
    q = found.point.q
    np.testing.assert_allclose(q + q**3, c, atol=1e-10)


def test_no_weights():
    """A robot without contacts: a root of G alone."""
    c = np.array([1.0, 2.0])
    found = Manifold(springs(np.eye(2), c, 0.0), np.zeros((0, 3, 6)), np.zeros(2)).solve()
    assert found.status is Status.CONVERGED
    assert found.point.w.shape == (0, 6)
    np.testing.assert_allclose(found.point.q, c)


@pytest.mark.parametrize("law", [CONE, np.eye(3)[None]], ids=["forces", "weights"])
def test_an_inequality_without_a_solution(law):
    """Motions that are not numbers are a failure of the inequality, at the start."""
    problem = Manifold(springs(np.eye(3), 1.0, 0.0), law, np.zeros(3))
    problem.stage.contacts.reference[:, 3] = np.nan  # from where the contacts have moved
    found = problem.solve(0.1, 0.2)
    assert found.status is Status.QP_FAILED
    assert (found.iterations, found.evaluations) == (1, 1)
    assert (found.point.q == 0.2).all()
    assert (found.point.w == 0.1).all()


@pytest.mark.parametrize("law", [CONE, np.zeros((0, 3, 6))], ids=["contact", "no contact"])
def test_motors_that_saturate(law):
    """Servos hold springs at q = 0: one gives way, in two iterations from either side."""
    c, kp, limit = np.array([1.0, 0.05, 9.0]), np.array([9.0, 9.0, 0.0]), 0.5
    problem = Manifold(springs(np.eye(3), c, 0.0), law, np.array([0.0, 0.0, 9.0]))
    problem.form.record.joints.effort[:2], problem.stage.torque.kp[:] = limit, kp
    for q in ((0.0, 0.0, 9.0), (3.0, -2.0, 8.0)):
        found = problem.solve(q=q)
        assert found.status is Status.CONVERGED
        expected = [c[0] - limit, c[1] / 10.0, 9.0]
        np.testing.assert_allclose(found.point.q, expected, atol=CLOSE)
        assert problem.stage.torque.signs.tolist() == [-1.0, 0.0, 0.0]
        np.testing.assert_allclose(found.point.tau, [-limit, -kp[1] * c[1] / 10.0, 0.0], atol=CLOSE)
        assert found.iterations <= 2


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_iteration_limit(limit):
    """The limit ends the search, with feasible weights and the number of iterations made."""
    found = pulled((0.9, 0.7), cubic=2.0).solve((0.0, 0.0), max_iterations=limit)
    assert found.status is Status.ITERATION_LIMIT
    assert found.iterations == limit
    assert found.point.w.min() >= 0.0
    assert found.point.w.sum() <= 1.0


def test_tolerances():
    """What is left of G and of the slip is within them, with less work where they are wide."""
    robot = arm(pin.JointModelRZ(), pin.JointModelRY(), pin.JointModelRY())
    function = springs(np.eye(3), np.array([0.4, 0.3, 0.5]), 2.0)
    problem = Manifold(function, CONE, np.array([0.1, 0.05, 0.0]), robot=robot)
    work = []
    for tolerance in (1e-2, 1e-5, 1e-9):
        found = problem.solve(residual=tolerance, slip=tolerance, depth=0.1 * tolerance)
        assert found.status is Status.CONVERGED
        at = problem.at(found.point.q, found.point.w)
        assert np.abs(at.G).max() <= tolerance
        assert_forces(at, 100.0 * tolerance)
        work.append(found.work)
    assert work[0] < work[-1]


def test_budget():
    """No iteration is begun when the budget is spent."""
    problem = pulled((0.9, 0.7), cubic=2.0)
    found = problem.solve((0.0, 0.0), budget=3)
    assert not found.status.ok
    assert found.evaluations == 3


@pytest.mark.parametrize("rate", [1.0, 100.0])
def test_solutions_to_rounding(rate):
    """Places are known to 2e-14 m where that is asked for, whatever the step."""
    found = pulled((0.4, 0.2), 1.0, rate).solve((0.0, 0.0), residual=1e-13, slip=2e-14)
    assert found.status is Status.CONVERGED
    t = np.array([0.4, 0.2])
    np.testing.assert_allclose(found.point.q, t, atol=1e-12)
    np.testing.assert_allclose(found.point.w[0], t + t**3, atol=1e-12)


def nan(q):
    """No number."""
    return np.nan


@pytest.mark.parametrize(
    ("function", "slope", "status"),
    [
        (lambda q: 0.0, lambda q: 0.0, Status.SINGULAR),
        (lambda q: q, nan, Status.SINGULAR),
        (nan, lambda q: 1.0, Status.NOT_FINITE),
        (lambda q: np.inf, lambda q: 1.0, Status.NOT_FINITE),
        (lambda q: q if q == 0.25 else np.nan, lambda q: 1.0, Status.STALLED),
    ],
    ids=["singular", "no derivative", "nan", "inf", "ends here"],
)
def test_failures_are_values(function, slope, status):
    """They leave the start, and cost one evaluation, or those of all trials of a step."""
    found = scalar(function, slope, 1.0).solve([0.5], [0.25])
    assert found.status is status
    assert found.point.q[0] == 0.25
    assert found.point.w[0, 0] == 0.5
    trials = TRIALS if status is Status.STALLED else 0
    assert (found.evaluations, found.rejected) == (1 + trials, trials)


def test_steps_to_where_nothing_is_a_number_are_shortened():
    """As of G = sqrt(1 + q) - 1 - w, whose first step leads to q = -4."""

    def function(q):
        return np.sqrt(1.0 + q) - 1.0 if q >= -1.0 else np.nan

    found = scalar(function, lambda q: 0.5 / np.sqrt(1.0 + q), -9.0).solve([0.5], [8.0])
    assert found.status is Status.CONVERGED
    assert found.rejected > 0
    assert found.point.q[0] == pytest.approx(0.0, abs=CLOSE)


def test_a_manifold_without_points():
    """Where G has no root the solver gives up, at numbers."""
    found = scalar(lambda q: 100.0 * (q * q + 1.0), lambda q: 200.0 * q, 1.0).solve([0.5], [1.3])
    assert found.status in (Status.STALLED, Status.ITERATION_LIMIT)
    assert np.isfinite(found.point.q).all()


def test_deterministic():
    """The same problem gives the same bits, also when the memory has been used before."""
    problem, other = on_ground((0.4, -0.3, -0.3), np.zeros(3)), pulled((-3.0, 0.2), cubic=1.0)
    results = [at.solve(0.1) for at in (problem, other, problem)]
    assert np.array_equal(results[0].point.q, results[2].point.q)
    assert np.array_equal(results[0].point.w, results[2].point.w)
    assert np.array_equal(results[0].point.sums, results[2].point.sums)
