"""Derivatives of an NMDP step by the implicit function theorem at the ends of its stages."""

import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from nmdp_pin._contact import FiniteDifferences
from nmdp_pin._control.controller import Command
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.parameters import (
    COMMAND,
    MOTORS,
    RELATIVE,
    other_systems,
    residual_by_command,
)
from nmdp_pin._integrators.stage_minimiser import StageMinimiser, Stationarity
from nmdp_pin._integrators.step_response import StepResponse, Switch, split_response
from nmdp_pin._kernels.compiler.callbacks import register
from nmdp_pin._kernels.derivative.map_rates import map_rates
from nmdp_pin._kernels.derivative.stage_rates import StageRates
from nmdp_pin._kernels.derivative.step_derivatives import KNOWN, NEAR
from nmdp_pin._kernels.derivative.step_response import respond_to_start
from nmdp_pin._kernels.derivative.switches import KINDS
from nmdp_pin._kernels.step.islands import island_of_row
from nmdp_pin._kernels.step.stage import evaluate
from nmdp_pin._kernels.step.stage_records import StageIterate
from nmdp_pin._kernels.step.step_records import Memory, Options, Scheme, Start

_ON_PIECE = 1e-9  # relative change of a contact law with which a natural map stays on its piece
MinimiserOf = Callable[[CompiledSystem, Memory], StageMinimiser]
Perturbed = tuple[
    CompiledSystem, CompiledSystem, float
]  # two forms around the given one, and their distance


class DifferentiableForm:
    """A form with the exact derivative of its contact model, and memory for derivatives of steps.

    Args:
        form: form of the dynamics; in zeroth order the contact model need not have a derivative.
        minimiser: function of the form and its memory that makes the solver of its stages; None:
            Newton's method.
    """

    def __init__(self, form: CompiledSystem, minimiser: MinimiserOf | None = None) -> None:
        self.form, system = form, form.system
        if form.zeroth_order:
            if not system.law.differentiable:
                system = replace(system, law=FiniteDifferences(model=system.law))
            self.form = CompiledSystem(
                system,
                material=form.material,
                weights=not form.forces,
                saturating=form.record.saturating,
                reach=form.candidates.reach,
            )
        self.memory = self.form.new_memory()
        self._linear = self.form.new_linear()
        self.minimiser = None if minimiser is None else minimiser(self.form, self.memory)
        self._handle = register(self.minimiser, self) if self.minimiser else 0
        self._perturbed: dict[str, list[Perturbed]] = {}
        # Touch, rim and sum of each row, a kink of each weight in two stages, and landings.
        rows = self.form.shape[0]
        self._switches = np.empty((rows * (7 + 2 * self.form.m), 3), dtype=np.int64)

    def response(
        self,
        options: Options,
        scheme: Scheme,
        start: Start,
        end: np.ndarray,
        made: np.ndarray,
        commands: Sequence[Command],
        names: tuple[str, ...],
        smoothing: float,
        judged: bool,
        repeated: bool,
    ) -> StepResponse:
        """Derivatives of a step.

        Args:
            options: options of the solver.
            scheme: time scheme that made the step.
            start: start of the step, with the weights of its end.
            end: [q; v] at its end, shape (nq + nv,).
            made: dofs whose step it is; derivatives of the others are none, shape (nv,).
            commands: commands of the stages.
            names: names of parameters, of `parameters.PARAMETERS`.
            smoothing: as in `kernels.implicit_function.respond`.
            judged: whether impacts decided on the time scheme.
            repeated: whether the step is a repetition in first order.
        """
        nv = self.form.model.nv
        sizes = {name: self._columns(name) for name in names}
        whole = np.empty((2 * nv, 3 * nv + sum(sizes.values())))
        if self._handle:
            options = replace(options, minimiser=self._handle)
        own = _Completion(self, scheme, start, commands, names)
        regular, settled, found = respond_to_start(
            self.form.record,
            options,
            scheme,
            start,
            end,
            made,
            smoothing,
            judged,
            repeated,
            register(weakref.proxy(own), own) if self._handle or names else 0,
            self.memory,
            self._linear,
            whole,
            self._switches,
        )
        if not regular:
            raise np.linalg.LinAlgError("dG/dq is singular")
        return split_response(whole, sizes, self._named(found, made), settled=settled)

    def _columns(self, name: str) -> int:
        """Number of entries of a parameter."""
        return self.form.model.nv if name in COMMAND else len(self._forms(name))

    def _forms(self, name: str) -> list[Perturbed]:
        """Forms around this one for each entry of a parameter of the system."""
        if name not in self._perturbed:
            material, weights = self.form.material, not self.form.forces
            relative = _ON_PIECE if self.form.forces else RELATIVE
            self._perturbed[name] = [
                (
                    CompiledSystem(ahead, material=material, weights=weights),
                    CompiledSystem(behind, material=material, weights=weights),
                    apart,
                )
                for ahead, behind, apart in other_systems(self.form.system, name, relative)
            ]
        return self._perturbed[name]

    def by_parameter(
        self,
        name: str,
        at: StageIterate,
        rates: StageRates,
        smoothing: float,
        command: Command,
        conditions: Stationarity | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of G and r at a point by a parameter, shapes (nv, k) and (nw, k)."""
        if name in COMMAND:
            by_command = residual_by_command(name, self.form.tree.space, command, at.error, at.v)
            if name in MOTORS:
                by_command = (self.memory.stage.torque.signs == 0.0)[:, None] * by_command
            works = np.zeros((len(rates.r), len(at.v)))
            if conditions is not None:
                works = conditions.by_command(name)
            return by_command, works
        of_G, of_r = [], []
        for *pair, apart in self._forms(name):
            (G1, r1), (G0, r0) = (
                self._evaluated(other, at, rates, smoothing, conditions) for other in pair
            )
            of_G.append((G1 - G0) / apart)
            of_r.append((r1 - r0) / apart)
        shape = len(of_G), -1
        return np.reshape(of_G, shape).T, np.reshape(of_r, shape).T

    def _evaluated(
        self,
        form: CompiledSystem,
        at: StageIterate,
        rates: StageRates,
        smoothing: float,
        conditions: Stationarity | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """G and r of the rows that act at a point, of the stage of another form."""
        other, stage = form.new_point(), self.memory.stage
        other.q[:], other.w[:] = at.q, at.w
        evaluate(form.record, stage, other, False)
        if form.forces:
            scales = self.form.record.scales  # units that no parameter changes
            linear, record = self._linear, form.record
            of_map = map_rates(record, stage, other, linear, rates, scales, 0.0, smoothing)
            touching = at.n_active[1]
            return other.G, np.append(of_map.Phi[:touching].ravel(), of_map.Phi[touching:, 0])
        if conditions is not None:
            return other.G, conditions.of_form(form)
        k, touching = at.n_active
        rows = at.active[:k]
        r = [other.work[rows[:touching]].ravel(), other.work[rows[touching:], 0]]
        return other.G, np.concatenate(r)

    def _named(self, found: int, made: np.ndarray) -> tuple[Switch, ...]:
        """The first switches of the memory, of the islands of some dofs, each once.

        A row is numbered by its contact point, or behind those of its joint.
        """
        named: dict[Switch, None] = {}
        contacts, islands = self.memory.stage.contacts, self.memory.islands
        n, own = int(contacts.n[0]), set(islands.of_dofs[made].tolist())
        for row, kind, vertex in self._switches[:found].tolist():
            if island_of_row(self.form.record, contacts, islands, row) not in own:
                continue
            number = self.form.n_points + row - n
            if row < n:
                number = int(self.form.candidates.points[contacts.index[row]])
            named[Switch(number, KINDS[kind], vertex)] = None
        return tuple(named)


class _Completion:
    """What kernels do not know of the derivatives of the stages of one step.

    Args:
        form: the form, with its memory.
        scheme: time scheme that made the step.
        start: start of the step.
        commands: commands of the stages.
        names: names of parameters.
    """

    def __init__(
        self,
        form: DifferentiableForm,
        scheme: Scheme,
        start: Start,
        commands: Sequence[Command],
        names: tuple[str, ...],
    ) -> None:
        self._form, self._scheme, self._start = form, scheme, start
        self._commands, self._names = commands, names
        self._first = 0  # index of the point where the first stage ends

    def complete(
        self,
        i: int,
        index: int,
        settled: bool,
        known: float,
        smoothing: float,
        rates: StageRates,
        G_p: np.ndarray,
        r_p: np.ndarray,
    ) -> float:
        """Write what kernels do not know of the derivatives of a stage.

        Args:
            i: index of the stage.
            index: index of the point where it ends.
            settled: whether it is known to its last digits.
            known: smallest motion that it resolves [m, rad].
            smoothing: as in `kernels.implicit_function.respond`.
            rates: derivatives of the stage's equations; with a minimiser, r and its are written.
            G_p: derivatives of G by the torque and the parameters; those by the latter are written.
            r_p: derivatives of r by the parameters, written.

        Returns:
            The smallest motion that the stage resolves.
        """
        scheme, start, form = self._scheme, self._start, self._form
        at, conditions = form.memory.points[index], None
        if i == 0:
            self._first = index
        if form.minimiser is not None:
            if not settled:
                resolution = form.minimiser.resolution(1.0 / (scheme.a[i, i] * start.h))
                known = max(NEAR * resolution, KNOWN)
            if len(rates.r):
                conditions = form.minimiser.stationarity(scheme, start, i, self._first, at, rates)
                conditions.write_rates()
        columns_G, columns_r = G_p[:, len(G_p) :], r_p
        for name in self._names:
            of_G, of_r = form.by_parameter(
                name, at, rates, smoothing, self._commands[i], conditions
            )
            width = of_G.shape[1]
            columns_G[:, :width], columns_r[:, :width] = of_G, of_r
            columns_G, columns_r = columns_G[:, width:], columns_r[:, width:]
        return known
