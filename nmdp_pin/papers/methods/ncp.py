"""The conventional simulator: semi-implicit Newton-Euler with hard contacts and dry friction."""

import math
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
import pinocchio as pin
import scipy  # whose parts are imported when they are used
from pydantic import Field

from nmdp_pin._contact.contact_law import ContactLaw, DryFriction
from nmdp_pin._contact.friction_cone import STANDARD_GRAVITY, tangent_frames
from nmdp_pin._control.controller import Command, CommandSource
from nmdp_pin._dynamics.loops import held_loops
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators.integrator import Integrator, StepResult
from nmdp_pin._integrators.outcome import failed_step, finished_step
from nmdp_pin._kernels.geometry.planes import place_contacts
from nmdp_pin._kernels.tree.joints import stop
from nmdp_pin._options import Count, Positive, checked
from nmdp_pin._robot.loop import Grip, Loop, Weld
from nmdp_pin._robot.loop_closure import onto
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin.errors import IntegratorError
from nmdp_pin.papers.methods.friction_ncp import FrictionNCP, NcpResiduals, NcpSolution
from nmdp_pin.papers.methods.semi_implicit import (
    MOST_SATURATIONS,
    STEP_WORK,
    SemiImplicit,
    StepStart,
)

_TOUCH = 1e-6  # [m]; gap / h of gaps of rounding size would be contradictory velocities
_CREEP = 1e-6  # [rad/s or m/s] at which dry friction holds a joint
_PER_EVALUATION = 20  # iterations with few contacts that take as long as an evaluation
_FEW = 20  # contacts
_HELD = 1e-9  # share of the largest response to an impulse; below it a contact cannot move


class _RigidContacts(NamedTuple):
    """Contacts that may not penetrate, then the nearer stops of the joints, without friction.

    Args:
        frames: two tangents and the normal of each contact as columns, shape (n, 3, 3).
        rows: Jacobian of the touching points in these frames, then that of the stops, (3 k, nv).
        depth: penetrations, negative when apart, shape (k,).
        friction: coefficients, shape (k,).
    """

    frames: np.ndarray
    rows: np.ndarray
    depth: np.ndarray
    friction: np.ndarray


class NeNcp(Integrator):
    """Rigid contacts: Signorini's condition and Coulomb's law on velocities, one NCP a step.

    M, the contact frames and gaps are those of the start, c is the mean over a step on which
    nothing but inertia acts; the PD is implicit and linear as in `NeMdp`; q1 = q0 + h v1. An
    open contact satisfies v_n >= -gap / h. A closed one satisfies v_n >= depth / push_out, but need
    not leave by more than its depth in a step. Closed loops are stiff springs, implicit and linear;
    configurations at the end are moved to where they are closed.

    Args:
        system: simulated system, whose contact law is dry friction.
        solver: solver of Pinocchio, "admm" or "pgs"; the other one is tried where it does not
            converge.
        max_iterations: largest number of iterations of each solver.
        tolerance: bound on the residual contact velocities, in units of g h, the velocity gained
            by falling for one step. Where neither solver reaches it, a thousandth of the incoming
            velocities is accepted; the residuals are in the result.
        push_out: time constant of the correction of penetrations [s].

    Raises:
        IntegratorError: an option is out of its range.
    """

    name: ClassVar[str] = "ne-ncp"
    law_type: ClassVar[type[ContactLaw]] = DryFriction
    closes_loops: ClassVar[bool] = True

    @checked(IntegratorError)
    def __init__(
        self,
        system: System[DryFriction],
        *,
        solver: Literal["admm", "pgs"] = "admm",
        max_iterations: Annotated[Count, Field(ge=1)] = 1000,
        tolerance: Positive = 1e-5,
        push_out: Positive = 0.1,
    ) -> None:
        self._step = SemiImplicit(system, reach=np.inf)
        self.candidates = self._step.form.candidates
        self._friction = system.robot.limits.friction
        self._robot = system.robot
        self.ncp = FrictionNCP(solver, max_iterations=max_iterations)
        self._tolerance, self._push_out = tolerance, push_out

    @np.errstate(all="ignore")  # a trial point may overflow: that is a status, not a warning
    def step(
        self, state: State, command: CommandSource, h: float, *, accuracy: float = math.inf
    ) -> StepResult:
        """See `Integrator.step`; forces act at the start of the step, depths are at its end."""
        linear, v, q, iterations = self._step, state.v, state.q, 0
        told = command.at(state.t + h)
        start, rigid = linear.coasting(linear.start(state, told, h)), self._rigid(state.q, told)
        if start is None:
            return self._failed(state, Status.STALLED, iterations, h)
        contacts = self._contacts(start)
        linear.saturate(q, v, again=False)
        slides = self._slides(v)
        for _ in range(MOST_SATURATIONS):
            found = self._solved(start, contacts, slides)
            if isinstance(found, Status):
                return self._failed(state, found, iterations, h)
            v, solution = found
            iterations += solution.iterations
            if not np.isfinite(v).all():
                result = self._failed(state, Status.NOT_FINITE, iterations, h)
                break
            if not solution.converged:
                result = self._failed(state, Status.ITERATION_LIMIT, iterations, h)
                break
            slid, q = slides, onto(linear.model, rigid, linear.form.integrate(state.q, h * v)).q
            again, slides = linear.saturate(q, v, again=True), self._slides(v, slid)
            if not again and np.array_equal(slides, slid):
                solution = replace(solution, iterations=iterations)
                result = self._finished(start, contacts, q, v, solution)
                break
        else:
            result = self._failed(state, Status.STALLED, iterations, h)
        return replace(result, **solution.residuals._asdict())

    def _rigid(self, q: np.ndarray, command: Command) -> list[Loop]:
        """The rigid loops of a step; a grip is a weld of its frames as they are at q."""
        robot = self._robot
        pairs = zip(robot.loops, held_loops(robot, command), strict=True)
        loops = [loop for loop, held in pairs if held and not loop.compliance]
        if not any(isinstance(loop, Grip) for loop in loops):
            return loops
        data = robot.model.createData()
        pin.forwardKinematics(robot.model, data, q)
        return [
            Weld(first=loop.first, second=loop.second).standing(robot.model, data, robot.source)
            if isinstance(loop, Grip)
            else loop
            for loop in loops
        ]

    def _slides(self, v: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
        """Directions in which joints slide, 0 where friction holds or v has reversed, (nv,)."""
        result: np.ndarray = np.sign(v) * ((np.abs(v) > _CREEP) & (self._friction > 0.0))
        if before is not None:
            result[result * before < 0.0] = 0.0
        return result

    def _contacts(self, start: StepStart) -> _RigidContacts:
        """The contacts and the nearer stops at the start of a step.

        The tangents of a stop have no effect; they are the joint's own motion so that no diagonal
        entry of the Delassus matrix is zero.
        """
        n, at, joints, nv = start.n, start.at, self._step.form.joints, len(start.bias)
        frames = tangent_frames(at.places.normal[:n])
        rows = [(frames.transpose(0, 2, 1) @ start.J[:n]).reshape(-1, nv)]
        depth, friction = [at.places.depth[:n]], [at.places.friction[:n]]
        for j, dof in enumerate(joints.dofs[: joints.loops.first[0]].tolist()):
            gap, inward = stop(joints, j, start.state.q)
            if inward != 0.0:
                rows.append(np.zeros((3, nv)))
                rows[-1][:, dof] = inward
                depth.append(np.array([-gap]))
                friction.append(np.zeros(1))
        return _RigidContacts(
            frames, np.concatenate(rows), np.concatenate(depth), np.concatenate(friction)
        )

    def _solved(
        self, start: StepStart, contacts: _RigidContacts, slides: np.ndarray
    ) -> tuple[np.ndarray, NcpSolution] | Status:
        """Velocity at the end and impulses; a stiff damper holds the joints that do not slide."""
        M_hat, right = self._step.equations(start)
        held = np.where(slides == 0.0, self._friction / _CREEP, 0.0)
        M_hat += start.h * np.diag(held)
        right -= start.h * slides * self._friction
        if not math.isfinite(M_hat.sum() + right.sum()):
            return Status.NOT_FINITE
        factor, singular = scipy.linalg.lapack.dpotrf(M_hat, lower=1)
        if singular:
            return Status.SINGULAR
        # in units where M_hat is the identity: y = L' v with M_hat = L L'
        free = scipy.linalg.lapack.dtrtrs(factor, right, lower=1)[0]
        response = np.zeros((len(right), len(contacts.rows)))
        if len(contacts.rows):
            response = scipy.linalg.lapack.dtrtrs(factor, contacts.rows.T, lower=1)[0]
        solution = self._solve(contacts, free, response, self._guess(start, contacts), start.h)
        y = free + response @ solution.impulses.ravel()
        return scipy.linalg.lapack.dtrtrs(factor, y, lower=1, trans=1)[0], solution

    def _guess(self, start: StepStart, contacts: _RigidContacts) -> np.ndarray:
        """Impulses of the last step's forces, in the frames of the contacts [N s], (k, 3)."""
        result, warm = np.zeros((len(contacts.depth), 3)), start.state.warm
        if warm is not None and warm.forces is not None:
            _, here, there = np.intersect1d(
                self._step.contacts(), warm.contacts, assume_unique=True, return_indices=True
            )
            turned = contacts.frames[here].transpose(0, 2, 1) @ warm.forces[there][:, :, None]
            result[here] = start.h * turned[:, :, 0]
        return result

    def _solve(
        self,
        contacts: _RigidContacts,
        free: np.ndarray,
        response: np.ndarray,
        guess: np.ndarray,
        h: float,
    ) -> NcpSolution:
        """Impulses of all contacts; the problem contains only those that would come too close.

        A contact that the others' impulses bring too close is added, and the problem is solved
        again. The contacts left out have no impulse and an admissible velocity, so the solution
        holds for all contacts.

        Args:
            contacts: contacts at the start of the step.
            free: velocity L' v without impulses, shape (nv,).
            response: matrix L^-1 J' of all contacts, shape (nv, 3 n).
            guess: initial impulses, shape (n, 3); overwritten.
            h: length of the step [s].
        """
        tolerance, depth = self._tolerance * STANDARD_GRAVITY * h, contacts.depth
        g = response.T @ free
        g[2::3] -= depth / np.where(depth < -_TOUCH, h, max(h, self._push_out))
        along = response[:, 2::3]
        own = np.square(along).sum(axis=0)
        movable = own > _HELD * own.max(initial=0.0)
        active = np.zeros(len(depth), dtype=bool)
        impulses, normal, iterations = np.zeros_like(guess), g[2::3], 0
        found = NcpSolution(impulses, NcpResiduals(0.0, 0.0, 0.0), 0, True)
        while found.converged:
            missed = movable & ~active & (normal < -tolerance)
            if not missed.any():
                break
            active |= missed
            rows = np.repeat(active, 3)
            Y = response[:, rows]
            found = self.ncp.solve(
                Y.T @ Y, g[rows], contacts.friction[active], guess[active], tolerance
            )
            iterations += found.iterations
            impulses[active] = guess[active] = found.impulses
            normal = g[2::3] + along.T @ (Y @ found.impulses.ravel())
        return replace(found, impulses=impulses, iterations=iterations)

    def _finished(
        self,
        start: StepStart,
        contacts: _RigidContacts,
        q: np.ndarray,
        v: np.ndarray,
        solution: NcpSolution,
    ) -> StepResult:
        """The step to configuration q and velocity v."""
        linear, form, h, n = self._step, self._step.form, start.h, start.n
        state, index = start.state, linear.contacts()
        forces = (contacts.frames @ (solution.impulses[:n, :, None] / h))[:, :, 0]
        wrenches, tau = linear.wrenches(start, forces), linear.torque(q, v)
        work = max(h * float(tau @ v), 0.0) + self._lift(contacts.depth)
        at, kinetic, potential = linear.end(q, v)
        gain = kinetic + potential - (start.kinetic + start.potential) - work
        if not linear.allows(gain, start.kinetic + work):
            return self._failed(state, Status.ENERGY_GAINED, solution.iterations, h)
        place_contacts(form.candidates, linear.listed, at.P, at.places)
        if not np.isfinite(at.places.depth[:n]).all():  # beyond the range of the terrain
            return self._failed(state, Status.NOT_FINITE, solution.iterations, h)
        kept = forces.any(axis=1)
        warm = replace(
            linear.form.no_warm(),
            contacts=index[kept],
            w=np.zeros((int(kept.sum()), 0)),
            forces=forces[kept],
        )
        return finished_step(
            state,
            State(state.t + h, q, v, warm),
            wrenches=wrenches,
            tau=tau - linear.external,
            contact_depths=linear.depths(at),
            iterations=solution.iterations,
            evaluations=1,
            work=self._work(solution.iterations),
            step_sizes=(h,),
            residual=0.0,
            objective=0.5 * float(v @ (start.M @ v)),
            kinetic_energy=kinetic,
            potential_energy=potential,
            loop_forces=linear.loop_forces(start, v),
        )

    def _lift(self, depth: np.ndarray) -> float:
        """Upper bound on the energy that the correction of penetrations adds [J]."""
        speed = float(depth.max(initial=0.0)) / self._push_out
        return 0.5 * self._step.form.tree.weight / STANDARD_GRAVITY * speed**2

    def _failed(self, state: State, status: Status, iterations: int, h: float) -> StepResult:
        """A step that failed."""
        return failed_step(
            state,
            status,
            n_contacts=self._step.form.n_points,
            iterations=iterations,
            evaluations=1,
            h=h,
            work=self._work(iterations),
        )

    def _work(self, iterations: int) -> int:
        """Work of the step's solves, whose iterations cost the square of the contacts."""
        number: int = STEP_WORK + round(
            iterations * (1.0 + (self._step.listed.n[0] / _FEW) ** 2) / _PER_EVALUATION
        )
        return number
