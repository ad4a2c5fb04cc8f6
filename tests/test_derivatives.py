"""Partial derivatives of a stage by its end and by its reference, against central differences."""

import body_scenes
import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest
from six_rows import Glue

from nmdp_pin.dynamics.reference import Slopes
from nmdp_pin.dynamics.stationarity import StageReference, WorkStationarity
from nmdp_pin.system import System

H = 0.05  # [s]
SHIFT = 0.4 * H  # [s] from the start to the reference of a second stage
ROBOTS = (
    "robosimian planar",
    "robosimian free-flyer",
    "chain fixed",
    "wheels+damping",
    "wheels+points",
    "spider free-flyer",
)
SPACES = {"forces": samples.CONE, "wrenches": Glue()}


class Stage:
    """A first or a second stage from any start, and a random end in contact."""

    def __init__(self, robot, ground, space, form, order, seed=5):
        rng = np.random.default_rng(seed)
        model = robot.model
        self.q0, self.v0 = samples.configuration(model, rng), rng.standard_normal(model.nv)
        self.q = pin.integrate(model, self.q0, H * (self.v0 + rng.standard_normal(model.nv)))
        if ground is None:
            terrain = body_scenes.FAR
            self.q = self.q0 = body_scenes.in_contact("box", samples.CONE, seed=2)[1]
        else:
            terrain = samples.ground_through(ground, samples.centres(robot, self.q))
        self.form, self.order = form(System(robot, terrain, space)), order
        self.command = samples.command(model, rng)
        bodies = rng.standard_normal((model.njoints - 1, 4, 3))
        self.slopes = Slopes(*rng.standard_normal((2, model.nv)), bodies)
        self.w = samples.weights(*self.form.shape, rng)

    def reference(self, dx):
        """That of the start moved by dx."""
        nv = self.form.nv
        start = self.form.start(
            self.form.integrate(self.q0, dx[:nv]), self.v0 + dx[nv:], H, self.order
        )
        return start if self.order == 1 else self.form.shifted(start, [(SHIFT, self.slopes)])

    def of_reference(self):
        """Its derivative with respect to the start."""
        form, nv = self.form, self.form.nv
        start = form.start(self.q0, self.v0, H, self.order)
        of_start = form.start_tangent(start, H, 2 * nv)
        if self.order == 1:
            return of_start
        accelerations = None if of_start.rates is None else np.zeros_like(of_start.rates)
        still = Slopes(*np.zeros((2, nv, 2 * nv)), accelerations)
        return form.shifted_tangent(start, of_start, [(SHIFT, self.slopes)], [still])

    def problem(self, dx):
        """The equations from the start moved by dx."""
        return self.form.problem(self.reference(dx), self.command, 1.0 / H, 1.0 / H)


def check(stage):
    """G, r and the slopes by the start, and r by the end."""
    form, nv, q, w = stage.form, stage.form.nv, stage.q, stage.w
    still = np.zeros(2 * nv)
    problem = stage.problem(still)
    at = problem.evaluate(q, w)
    assert at.active.size
    of_reference = stage.of_reference()
    of_v = problem.velocity_by_reference(q) @ of_reference.q
    r = WorkStationarity(problem, at, problem.linearise(at))
    reference = StageReference(form, stage.reference(still), of_reference, None)
    found = [
        problem.inertial_derivative(at, of_reference, of_v) + problem.torque.kd[:, None] * of_v,
        of_v,
        r.of_reference(reference, of_v),
    ]

    def moved(dx):
        at = stage.problem(dx).evaluate(q, w)
        return np.concatenate([at.G, at.v, at.work[r.at.active].ravel()])

    expected = np.split(samples.central_differences(moved, 2 * nv), [nv, 2 * nv])
    for each, other in zip(found, expected, strict=True):
        samples.assert_same(each, other)
    samples.assert_same(
        r.of_motion(),
        samples.derivative_of(problem, q, w, lambda at: at.work[r.at.active].ravel()),
    )
    if stage.order == 1:
        return

    def slopes(dz):
        """By the start and the end."""
        problem, end = stage.problem(dz[: 2 * nv]), form.integrate(q, dz[2 * nv :])
        parts = form.slopes(problem, problem.evaluate(end, w))
        return np.concatenate([part.ravel() for part in parts if part is not None])

    of_q = np.eye(nv, 3 * nv, k=2 * nv)
    wide = type(of_reference)(
        *(
            None if p is None else np.pad(p, [(0, 0)] * (p.ndim - 1) + [(0, nv)])
            for p in of_reference
        )
    )
    D = problem.velocity_derivative(q)
    of_v = np.hstack([of_v, np.eye(nv) / H if D.size == 0 else D])
    parts = form.slopes_tangent(problem, at, wide, of_q, of_v)
    found = np.concatenate([part.reshape(-1, 3 * nv) for part in parts if part is not None])
    samples.assert_same(found, samples.central_differences(slopes, 3 * nv))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("form", sorted(samples.FORMS))
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", ROBOTS)
def test_a_stage(name, space, form, order):
    """On all bases, forces and wrenches, rolling spheres and points, in both orders: 1e-6."""
    ground = samples.GROUNDS[ROBOTS.index(name) % len(samples.GROUNDS)]
    check(Stage(samples.robot(name), ground, SPACES[space], samples.FORMS[form], order))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("form", sorted(samples.FORMS))
@pytest.mark.parametrize("space", SPACES)
def test_bodies_that_touch(space, form, order):
    """Motions seen from a body that moves: 1e-6."""
    check(Stage(body_scenes.robot("box"), None, SPACES[space], samples.FORMS[form], order))
