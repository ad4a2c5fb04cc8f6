"""Derivatives of an NMDP step by the implicit function theorem at the ends of its stages."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pinocchio as pin

from nmdp_pin._contact import FiniteDifferences
from nmdp_pin._control.controller import Command
from nmdp_pin._dynamics.form import Form
from nmdp_pin._dynamics.material_rates import MaterialRates
from nmdp_pin._dynamics.parameters import COMMAND, other_systems, residual_by_command
from nmdp_pin._integrators.stage_minimiser import StageMinimiser, Stationarity
from nmdp_pin._integrators.step_response import StepResponse, Switch, split_response
from nmdp_pin._kernels import step as kernel
from nmdp_pin._kernels.callbacks import register
from nmdp_pin._kernels.impacts import MOVES, UNLOADED
from nmdp_pin._kernels.implicit_function import Face, StageRates, respond
from nmdp_pin._kernels.planes import place_contacts
from nmdp_pin._kernels.stage import Point, evaluate
from nmdp_pin._kernels.step import Memory
from nmdp_pin._kernels.step_derivatives import KNOWN, NEAR, settle, stage_rates

MinimiserOf = Callable[[Form, Memory], StageMinimiser]
Perturbed = tuple[Form, Form, float]  # two forms around the given one, and their distance


class DifferentiableForm:
    """A form with the exact derivative of its contact model, and memory for derivatives of steps.

    Args:
        form: form of the dynamics; in zeroth order the contact model need not have a derivative.
        minimiser: function of the form and its memory that makes the solver of its stages; None:
            Newton's method.
    """

    def __init__(self, form: Form, minimiser: MinimiserOf | None = None) -> None:
        self.form, system = form, form.system
        if form.zeroth_order:
            if not system.law.differentiable:
                system = replace(system, law=FiniteDifferences(model=system.law))
            self.form = Form(system, material=form.material, reach=form.candidates.reach)
        self.memory = self.form.new_memory()
        self._linear = self.form.new_linear()
        self._minimiser = None if minimiser is None else minimiser(self.form, self.memory)
        self._handle = register(self._minimiser, self) if self._minimiser else 0
        self._perturbed: dict[str, list[Perturbed]] = {}
        self._of_shape: dict[tuple[int, int, int], tuple[StageRates, Face]] = {}

    def response(
        self,
        options: kernel.Options,
        scheme: kernel.Scheme,
        start: kernel.Start,
        end: np.ndarray,
        commands: Sequence[Command],
        names: tuple[str, ...],
        smoothing: float,
        judged: bool,
    ) -> StepResponse:
        """Derivatives of a step.

        Args:
            options: options of the solver.
            scheme: time scheme that made the step.
            start: start of the step, with the weights of its end.
            end: [q; v] at its end, shape (nq + nv,).
            commands: commands of the stages.
            names: names of parameters, of `parameters.PARAMETERS`.
            smoothing: as in `kernels.implicit_function.respond`.
            judged: whether impacts decided on the time scheme.
        """
        form, memory, model = self.form, self.memory, self.form.model
        nv, stages = model.nv, len(scheme.a)
        nz = (1 + stages) * nv
        options = replace(options, minimiser=self._handle)
        of_start = np.eye(nz)[:nv], np.eye(nz)[nv : 2 * nv]
        of_reference = of_start
        ends = _stage_ends(model, scheme, start, end)
        material = MaterialRates(model, form.record, scheme, start, memory)
        counts = np.zeros(7, dtype=np.int64)
        n = 3 * nv + sum(self._columns(name) for name in names)
        Z = np.zeros((nz, n))
        Z[: 2 * nv, : 2 * nv] = np.eye(2 * nv)
        switches: list[Switch] = []
        settled, index, first = True, 0, 0
        for i in range(stages):
            index, same, known = settle(
                form.record, options, scheme, start, i, ends, index, memory, counts
            )
            if self._minimiser is not None and not same:
                resolution = self._minimiser.resolution(1.0 / (scheme.a[i, i] * start.h))
                known = max(NEAR * resolution, KNOWN)
            first = index if i == 0 else first
            at = memory.points[index]
            k, touching = at.n_active.tolist()
            rates, face = self._stage_memory(nz, k, touching)
            stage_rates(
                form.record, memory.stage, memory.origin, at, *of_reference, self._linear, rates
            )
            if form.material:
                rates.G_z[:] += material.of_inertia(at, *of_reference, rates.v_z)
            conditions = None
            if self._minimiser is not None and k:
                conditions = self._minimiser.stationarity(scheme, start, i, first, at, rates)
                rates = conditions.rates()
            command = commands[min(i, len(commands) - 1)]
            G_p, r_p = self._by_parameters(at, rates, command, names, conditions)
            dq = np.empty((nv, n))
            if not respond(rates, G_p, r_p, Z, known, smoothing, face, dq):
                raise np.linalg.LinAlgError("dG/dq is singular")
            switches += self._touching(at, known) + self._chosen(at)
            switches += self._kinks(at, rates.first, face)
            settled = settled and same
            if i + 1 < stages:
                of_q = np.eye(nv, nz, k=(2 + i) * nv)
                of_v = rates.v_q @ of_q + rates.v_z
                material.follow(at, of_q, of_v)
                of_reference = self._second_reference(scheme, start, at, of_start, of_v)
                Z[(2 + i) * nv : (3 + i) * nv] = dq
        if judged:
            switches += self._landings(start, at)
        whole = np.vstack([dq, rates.v_q @ dq + rates.v_z @ Z])
        sizes = {name: self._columns(name) for name in names}
        return split_response(whole, sizes, tuple(switches), settled=settled)

    def _second_reference(
        self,
        scheme: kernel.Scheme,
        start: kernel.Start,
        first: Point,
        of_start: tuple[np.ndarray, np.ndarray],
        of_v: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the reference of the second stage, tangent."""
        b = scheme.a[1, 0] * start.h
        share = scheme.acceleration * scheme.a[1, 0] / scheme.a[0, 0]
        of_q0, of_v0 = of_start
        by_q, by_v = (
            pin.dIntegrate(self.form.model, start.q, b * first.v, argument)
            for argument in (pin.ARG0, pin.ARG1)
        )
        return by_q @ of_q0 + b * by_v @ of_v, of_v0 + share * (of_v - of_v0)

    def _columns(self, name: str) -> int:
        """Number of entries of a parameter."""
        return self.form.model.nv if name in COMMAND else len(self._forms(name))

    def _forms(self, name: str) -> list[Perturbed]:
        """Forms around this one for each entry of a parameter of the system."""
        if name not in self._perturbed:
            material = self.form.material
            self._perturbed[name] = [
                (Form(ahead, material=material), Form(behind, material=material), apart)
                for ahead, behind, apart in other_systems(self.form.system, name)
            ]
        return self._perturbed[name]

    def _by_parameters(
        self,
        at: Point,
        rates: StageRates,
        command: Command,
        names: tuple[str, ...],
        conditions: Stationarity | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of G and r at a point by the torque and the parameters."""
        form, stage = self.form, self.memory.stage
        following = (stage.torque.signs == 0.0)[:, None]
        of_G, of_r = [-np.diag(following[:, 0] * 1.0)], []
        for name in names:
            if name in COMMAND:
                of_torque = residual_by_command(name, form.tree.space, command, at.error, at.v)
                of_G.append(following * of_torque)
                of_r.append(
                    np.zeros((len(rates.r), len(at.v)))
                    if conditions is None
                    else conditions.by_command(name)
                )
            else:
                for *pair, apart in self._forms(name):
                    (G1, r1), (G0, r0) = (self._evaluated(other, at, conditions) for other in pair)
                    of_G.append((G1 - G0)[:, None] / apart)
                    of_r.append((r1 - r0)[:, None] / apart)
        return np.hstack(of_G), np.hstack(of_r) if of_r else np.zeros((len(rates.r), 0))

    def _evaluated(
        self, form: Form, at: Point, conditions: Stationarity | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """G and r of the rows that act at a point, of the stage of another form."""
        other = form.new_point()
        other.q[:], other.w[:] = at.q, at.w
        evaluate(form.record, self.memory.stage, other)
        if conditions is not None:
            return other.G, conditions.of_form(form)
        k, touching = at.n_active
        rows = at.active[:k]
        r = [other.work[rows[:touching]].ravel(), other.work[rows[touching:], 0]]
        return other.G, np.concatenate(r)

    def _touching(self, at: Point, known: float) -> list[Switch]:
        """Contacts at the surface, which are apart on one side, and joints at a stop."""
        n, joints = int(self.memory.stage.contacts.n[0]), self.form.joints
        stops = np.flatnonzero(joints.coordinates >= 0)
        x = at.q[joints.coordinates[stops]]
        gap = np.minimum(x - joints.lower[stops], joints.upper[stops] - x)
        near = [*np.flatnonzero(np.abs(at.places.depth[:n]) <= known)]
        near += [*n + stops[np.abs(gap) <= known]]
        return [Switch(self._numbered(row), "touch") for row in near]

    def _chosen(self, at: Point) -> list[Switch]:
        """Contacts that bear load on points of rims which are chosen anew for every start."""
        contacts, table = self.memory.stage.contacts, self.form.candidates
        n = int(contacts.n[0])
        index = contacts.index[:n]
        on_rim = table.semi_axes[index].any(axis=(1, 2)) & ~contacts.rolls[index]
        loaded = at.w[:n].sum(axis=1) > UNLOADED
        rows = np.flatnonzero(on_rim & loaded).tolist()
        return [Switch(number, "rim") for number in dict.fromkeys(map(self._numbered, rows))]

    def _numbered(self, row: int) -> int:
        """Number of a row in a `Switch`: of its contact point, or behind those of its joint."""
        contacts = self.memory.stage.contacts
        n = int(contacts.n[0])
        if row < n:
            return int(self.form.candidates.points[contacts.index[row]])
        return self.form.n_points + int(row) - n

    def _landings(self, start: kernel.Start, end: Point) -> list[Switch]:
        """Contacts and joints that are apart at the start, approach, and touch at the end."""
        form, joints, memory = self.form, self.form.joints, self.memory
        contacts, places = memory.stage.contacts, memory.origin.places
        n = int(contacts.n[0])
        place_contacts(form.candidates, contacts, memory.origin.P, places)
        speed = np.einsum("ij,ij->i", end.places.normal[:n], memory.velocities[:n])
        landed = (places.depth[:n] <= 0.0) & (end.places.depth[:n] > 0.0) & (speed < -MOVES)
        stops = np.flatnonzero(joints.coordinates >= 0)
        lower, upper = joints.lower[stops], joints.upper[stops]
        before, after = (q[joints.coordinates[stops]] for q in (start.q, end.q))
        v = start.v[joints.dofs[stops]]
        hit = (before > lower) & (after <= lower) & (v < -MOVES)
        hit |= (before < upper) & (after >= upper) & (v > MOVES)
        rows = [*np.flatnonzero(landed), *n + stops[hit]]
        return [Switch(number, "impact") for number in dict.fromkeys(map(self._numbered, rows))]

    def _kinks(self, at: Point, first: np.ndarray, face: Face) -> list[Switch]:
        """Kinks of the weights at a point."""
        found = []
        for x in np.flatnonzero(face.kink):
            row = int(np.searchsorted(first, x, side="right")) - 1
            found.append((row, "weight", int(x - first[row])))
        found += [(int(row), "sum", -1) for row in np.flatnonzero(face.kink_sum)]
        return [
            Switch(self._numbered(int(at.active[row])), kind, vertex) for row, kind, vertex in found
        ]

    def _stage_memory(self, nz: int, k: int, touching: int) -> tuple[StageRates, Face]:
        """Memory for the derivatives of a stage with k rows, of which some are contacts."""
        key = (nz, k, touching)
        if key not in self._of_shape:
            nv, nw = self.form.model.nv, touching * self.form.m + k - touching
            rates = StageRates(
                G_q=np.empty((nv, nv)),
                G_z=np.empty((nv, nz)),
                v_q=np.empty((nv, nv)),
                v_z=np.empty((nv, nz)),
                first=np.empty(k + 1, dtype=np.int64),
                w=np.empty(nw),
                forces=np.empty((nw, nv)),
                r=np.empty(nw),
                r_q=np.empty((nw, nv)),
                r_w=np.empty((nw, nw) if self.form.record.recovery else (0, 0)),
                r_z=np.empty((nw, nz)),
                bends=np.empty((nw, nv)),
            )
            face = Face(
                free=np.zeros(nw, dtype=bool),
                tight=np.zeros(k, dtype=bool),
                kink=np.zeros(nw, dtype=bool),
                kink_sum=np.zeros(k, dtype=bool),
                slack=np.zeros(nw),
                multiplier=np.zeros(k),
                scale=np.zeros(nw),
            )
            self._of_shape[key] = rates, face
        return self._of_shape[key]


def _stage_ends(
    model: pin.Model, scheme: kernel.Scheme, start: kernel.Start, end: np.ndarray
) -> np.ndarray:
    """Configurations at the ends of the stages, recovered from the end of the step, (s, nq).

    The last stage ends with the step and gives its velocity; the remaining motion is that of the
    first stage.
    """
    q, v = end[: model.nq], end[model.nq :]
    if len(scheme.a) == 1:
        return q[None]
    h = start.h
    reference = pin.integrate(model, q, -scheme.a[1, 1] * h * v)
    before = pin.difference(model, start.q, reference) / scheme.a[1, 0]
    return np.stack([pin.integrate(model, start.q, scheme.a[0, 0] * before), q])
