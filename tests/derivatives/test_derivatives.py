"""Partial derivatives of a stage by its end and by what came before, against differences."""

import body_scenes
import core_samples as samples
import numpy as np
import pinocchio as pin
from pairwise import pairwise
from six_rows import Glue

from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators.nmdp_response import DifferentiableForm
from nmdp_pin._integrators.scheme import SCHEMES
from nmdp_pin._kernels.derivative.material_rates import (
    add_inertia_rates,
    new_parts,
    open_parts,
    write_rates,
)
from nmdp_pin._kernels.derivative.stage_rates import new_rates
from nmdp_pin._kernels.derivative.step_derivatives import stage_rates
from nmdp_pin._kernels.derivative.step_response import second_reference
from nmdp_pin._kernels.step.stage import evaluate
from nmdp_pin._kernels.step.step_start import open_step, state_stage
from nmdp_pin._state.state import State

H = 0.05  # [s]
ROBOTS = (
    "robosimian planar",
    "robosimian free-flyer",
    "chain fixed",
    "wheels+damping",
    "wheels+points",
    "spider free-flyer",
)
STAGES = ((1, 0), (2, 0), (2, 1))  # order of the scheme, stage
SPACES = {"forces": samples.CONE, "wrenches": Glue()}


class Step:
    """A step from any start whose stages end anywhere, in contact; z = (q0, v0, q1)."""

    def __init__(self, robot, ground, space, form, order, seed=5):
        rng = np.random.default_rng(seed)
        self.model = model = robot.model
        self.q0, self.v0 = samples.configuration(model, rng), rng.standard_normal(model.nv)
        self.q = pin.integrate(model, self.q0, H * (self.v0 + rng.standard_normal(model.nv)))
        if ground is None:
            terrain = body_scenes.FAR
            self.q = self.q0 = body_scenes.in_contact("box", samples.CONE, seed=2)[1]
        else:
            terrain = samples.ground_through(ground, samples.centres(robot, self.q))
        self.q1 = pin.integrate(model, self.q, 0.5 * H * rng.standard_normal(model.nv))
        self.made = DifferentiableForm(form(System(robot, terrain, space)))
        self.form, self.memory = self.made.form, self.made.memory
        self.scheme = SCHEMES[order].record
        self.nz = (1 + order) * model.nv
        self.command = samples.command(model, rng)
        self.w = samples.weights(*self.form.shape, rng)

    def start(self, dz):
        """The start moved by dz."""
        nv = self.model.nv
        q0, v0 = pin.integrate(self.model, self.q0, dz[:nv]), self.v0 + dz[nv : 2 * nv]
        return self.form.start(State(0.0, q0, v0), [self.command], H, None)

    def end(self, i, dz, dq):
        """The end of stage i, after those before it, moved by dz and dq."""
        nv, memory, form = self.model.nv, self.memory, self.form
        start, at = self.start(dz), memory.points[2 * i]
        open_step(form.record, start, memory)
        if i == 1:
            self._evaluate(0, pin.integrate(self.model, self.q1, dz[2 * nv :]), start)
        self._evaluate(i, pin.integrate(self.model, self.q, dq), start)
        return at

    def _evaluate(self, i, q, start):
        memory, at = self.memory, self.memory.points[2 * i]
        state_stage(self.form.record, self.scheme, start, i, memory, memory.points[0])
        at.q[:], at.w[:] = q, self.w
        evaluate(self.form.record, memory.stage, at, True)

    def rates(self, i):
        """Derivatives of stage i."""
        nv, nz, form, memory = self.model.nv, self.nz, self.form, self.memory
        start, system, stage = self.start(np.zeros(nz)), form.record, memory.stage
        of_q, of_v = np.eye(nv, nz), np.eye(nv, nz, k=nv)
        parts = new_parts(system, nz if form.material else 0)
        open_step(system, start, memory)
        for s, q in enumerate([self.q1, self.q] if i else [self.q]):
            self._evaluate(s, q, start)
            at = memory.points[2 * s]
            k, touching = at.n_active.tolist()
            rates = new_rates(nv, nz, k, touching * form.m + k - touching, system.recovery > 0.0)
            stage_rates(system, stage, memory.origin, at, of_q, of_v, form.new_linear(), rates)
            if form.material:
                assert s or open_parts(system, stage, start, memory, of_q, of_v, parts)
                add_inertia_rates(system, stage, at, parts, s, of_v, rates.v_z, rates.G_z)
            if s < i:
                a, of_q1 = self.scheme.a, np.eye(nv, nz, k=2 * nv)
                of_v1 = rates.v_q @ of_q1 + rates.v_z
                if form.material:
                    write_rates(at, a[1, 0] / a[0, 0], of_q1, of_v1, parts, 1)
                space = form.tree.space
                assert second_reference(space, self.scheme, start, at.v, of_v1, of_q, of_v)
        return rates


def check(step, i):
    """G, v and the works of the vertices by the start, by the stage before, and by the end."""
    nv, nz, m = step.model.nv, step.nz, step.form.m
    known = (2 + i) * nv  # of z, what comes before the stage
    k, touching = step.end(i, np.zeros(nz), np.zeros(nv)).n_active.tolist()
    rows = step.memory.points[2 * i].active[:k].copy()
    assert touching

    def values(dx):
        """By what comes before, and by the end."""
        at = step.end(i, np.r_[dx[:known], np.zeros(nz - known)], dx[known:])
        works = [at.work[rows[:touching]].ravel(), at.work[rows[touching:], 0]]
        return np.concatenate([at.G, at.v, *works])

    rates = step.rates(i)
    assert len(rates.r) == touching * m + k - touching
    expected = np.split(samples.central_differences(values, known + nv), [nv, 2 * nv])
    of_z, of_q = (rates.G_z, rates.v_z, rates.r_z), (rates.G_q, rates.v_q, rates.r_q)
    for by_z, by_q, other in zip(of_z, of_q, expected, strict=True):
        samples.assert_same(by_z[:, :known], other[:, :known])
        samples.assert_same(by_q, other[:, known:])
        assert not by_z[:, known:].any()


@pairwise({"name": ROBOTS, "space": SPACES, "form": sorted(samples.FORMS), ("order", "i"): STAGES})
def test_a_stage(name, space, form, order, i):
    """On all bases, forces and wrenches, rolling spheres and points, in both orders: 1e-6."""
    ground = samples.GROUNDS[ROBOTS.index(name) % len(samples.GROUNDS)]
    check(Step(samples.robot(name), ground, SPACES[space], samples.FORMS[form], order), i)


@pairwise({"space": SPACES, "form": sorted(samples.FORMS), ("order", "i"): STAGES})
def test_bodies_that_touch(space, form, order, i):
    """Motions seen from a body that moves: 1e-6."""
    check(Step(body_scenes.robot("box"), None, SPACES[space], samples.FORMS[form], order), i)
