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
from nmdp_pin._kernels.implicit_function import Face, StageRates, respond
from nmdp_pin._kernels.stage import Point, evaluate
from nmdp_pin._kernels.step import Memory
from nmdp_pin._kernels.step_derivatives import KNOWN, NEAR, settle, stage_ends, stage_rates
from nmdp_pin._kernels.switches import KINDS, find_landings, find_switches

MinimiserOf = Callable[[Form, Memory], StageMinimiser]
Perturbed = tuple[Form, Form, float]  # two forms around the given one, and their distance


class DifferentiableForm:
    """A form with the exact derivative of its contact model, and memory for derivatives of steps.

    Args:
        form: form of the dynamics; the contact model need not have a derivative.
        minimiser: function of the form and its memory that makes the solver of its stages; None:
            Newton's method.
    """

    def __init__(self, form: Form, minimiser: MinimiserOf | None = None) -> None:
        system = form.system
        if not system.law.differentiable:
            system = replace(system, law=FiniteDifferences(model=system.law))
        exact = system is form.system and not form.zeroth_order
        reach = form.candidates.reach
        self.form = form if exact else Form(system, material=form.material, reach=reach)
        self.memory = self.form.new_memory()
        self._linear = self.form.new_linear()
        self._minimiser = None if minimiser is None else minimiser(self.form, self.memory)
        self._handle = register(self._minimiser, self) if self._minimiser else 0
        self._perturbed: dict[str, list[Perturbed]] = {}
        self._of_shape: dict[tuple[int, int, int], tuple[StageRates, Face]] = {}
        rows = self.form.shape[0]
        self._by_torque = np.zeros((self.form.model.nv, self.form.model.nv))
        self._switches = np.empty((rows * (3 + self.form.m), 3), dtype=np.int64)

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
        form, memory, nv, stages = self.form, self.memory, self.form.model.nv, len(scheme.a)
        nz = (1 + stages) * nv
        if self._handle:
            options = replace(options, minimiser=self._handle)
        one = np.eye(nz)
        of_reference = one[:nv], one[nv : 2 * nv]
        ends = np.empty((stages, form.model.nq))
        stage_ends(form.tree.space, scheme, start, end, ends)
        material = MaterialRates(form.model, form.record, scheme, start, memory)
        counts = np.zeros(7, dtype=np.int64)
        sizes = {name: self._columns(name) for name in names}
        n = 3 * nv + sum(sizes.values())
        Z, dq = np.zeros((nz, n)), np.empty((nv, n))
        Z[: 2 * nv, : 2 * nv] = one[: 2 * nv, : 2 * nv]
        switches: dict[Switch, None] = {}
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
            if not respond(rates, G_p, r_p, Z, known, smoothing, face, dq):
                raise np.linalg.LinAlgError("dG/dq is singular")
            found = find_switches(form.record, memory, at, rates.first, face, known, self._switches)
            switches |= self._named(found)
            settled = settled and same
            if i + 1 < stages:
                of_q = one[(2 + i) * nv : (3 + i) * nv]
                of_v = rates.v_q @ of_q + rates.v_z
                if form.material:
                    material.follow(at, of_q, of_v)
                of_reference = self._second_reference(scheme, start, at, of_v)
                Z[(2 + i) * nv : (3 + i) * nv] = dq
        if judged:
            switches |= self._named(find_landings(form.record, memory, start, at, self._switches))
        whole = np.vstack([dq, rates.v_q @ dq + rates.v_z @ Z])
        return split_response(whole, sizes, tuple(switches), settled=settled)

    def _second_reference(
        self,
        scheme: kernel.Scheme,
        start: kernel.Start,
        first: Point,
        of_v: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives by z of the reference of the second stage, of_v being those of the first."""
        b, nv = scheme.a[1, 0] * start.h, len(start.v)
        share = scheme.a[1, 0] / scheme.a[0, 0]
        by_q, by_v = (
            pin.dIntegrate(self.form.model, start.q, b * first.v, argument)
            for argument in (pin.ARG0, pin.ARG1)
        )
        of_q, of_v0 = b * by_v @ of_v, share * of_v
        of_q[:, :nv] += by_q
        of_v0[:, nv : 2 * nv] += (1.0 - share) * np.eye(nv)
        return of_q, of_v0

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
        self._by_torque.flat[:: len(following) + 1] = np.where(following[:, 0], -1.0, 0.0)
        if not names:
            return self._by_torque, np.empty((len(rates.r), 0))
        of_G, of_r = [self._by_torque], []
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
        return np.hstack(of_G), np.hstack(of_r)

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

    def _named(self, found: int) -> dict[Switch, None]:
        """The first switches of the memory, each once.

        A row is numbered by its contact point, or behind those of its joint.
        """
        named: dict[Switch, None] = {}
        contacts = self.memory.stage.contacts
        n = int(contacts.n[0])
        for row, kind, vertex in self._switches[:found].tolist():
            number = self.form.n_points + row - n
            if row < n:
                number = int(self.form.candidates.points[contacts.index[row]])
            named[Switch(number, KINDS[kind], vertex)] = None
        return named

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
