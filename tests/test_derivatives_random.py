"""Every derivative of both residuals at two dozen random states per robot, base, form and order."""

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin.state import State
from nmdp_pin.terrain import Plane, Terrain

STATES = 24
# A single body without joints cannot be fixed.
ROBOTS = [
    f"{name} {base}"
    for name in ("robosimian", "spider", "chain", "box")
    for base in ("planar", "free-flyer", "fixed")
    if (name, base) != ("box", "fixed")
]
GROUNDS = ("flat", "tilted", "sphere", "cylinder")
LINEAR = 1e-9  # relative to G; it is linear in w, so a difference is exact to rounding


class Sample:
    """A step of one residual from a random state, and a random end of it.

    Args:
        robot: by its name in `core_samples`.
        form: of the dynamics.
        order: of the time step.
        seed: every second one is out of contact.
    """

    def __init__(self, robot, form, order, seed):
        rng, self.robot = np.random.default_rng(seed), samples.robot(robot)
        model, h = self.robot.model, float(rng.uniform(0.02, 0.05))
        q0, v0 = samples.configuration(model, rng), rng.standard_normal(model.nv)
        self.q = pin.integrate(model, q0, h * (v0 + rng.standard_normal(model.nv)))
        points = samples.centres(self.robot, self.q)
        if seed % 2:
            terrain = Terrain([Plane(height=float(points[:, 2].min()) - 1.0)])
        else:
            terrain = samples.ground_through(GROUNDS[seed // 2 % len(GROUNDS)], points)
        self.residual = samples.FORMS[form](self.robot, terrain, samples.CONE)
        start = State(0.0, q0, v0)
        if order == 2:
            start = samples.with_history(self.robot, start, float(rng.uniform(0.5, 2.0)) * h, rng)
        self.residual.begin(start, samples.command(model, rng), h, second_order=order == 2)
        assert (self.residual.history is not None) == (order == 2)
        self.w = samples.weights(len(points), samples.CONE.n_vertices, rng)
        self.dw = rng.standard_normal(self.w.shape)

    def values(self, q):
        """G, the velocity and the kinetic energy at q, one after the other."""
        r = self.residual
        G = r.evaluate(q, self.w)
        return np.concatenate([G, r.v, [r.kinetic()]])


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("form", sorted(samples.FORMS))
@pytest.mark.parametrize("robot", ROBOTS)
def test_every_derivative(robot, form, order):
    """dG/dq, dG/dw, dv/dq and dK/dq agree to 1e-6 with differences, in and out of contact."""
    touching = 0
    for seed in range(STATES):
        sample = Sample(robot, form, order, seed)
        r, nv = sample.residual, sample.residual.nv
        G = sample.values(sample.q)[:nv]
        in_contact = r.contact.active
        assert in_contact == (seed % 2 == 0)
        touching += in_contact
        dG = r.linearise().copy()
        dG_dw = -r.vertex_jacobian().T
        D = r.velocity_derivative()
        dv = r.rate * np.eye(nv) if D is None else D.copy()
        dK = r.kinetic_derivatives()[0].copy()

        def moved(dq, sample=sample):
            return sample.values(sample.residual.retract(sample.q, dq))

        expected = samples.central_differences(moved, nv)
        samples.assert_same(dG, expected[:nv])
        samples.assert_same(dv, expected[nv : 2 * nv])
        samples.assert_same(dK[None], expected[2 * nv :])
        change = r.evaluate(sample.q, sample.w + sample.dw) - G
        assert np.abs(dG_dw @ sample.dw.ravel() - change).max() <= LINEAR * np.abs(G).max()
        assert dG_dw.any() == in_contact
    assert touching == STATES // 2
