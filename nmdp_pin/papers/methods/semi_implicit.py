"""Linear dynamics of a semi-implicit step, with all but the velocity at its start."""

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from nmdp_pin._contact.contact_law import ContactLaw
from nmdp_pin._control.controller import Command
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.loops import forces_of_gaps
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators.scheme import BACKWARD_EULER
from nmdp_pin._kernels.geometry.contacts import Contacts, identity
from nmdp_pin._kernels.geometry.planes import report_depths
from nmdp_pin._kernels.step.energy_guard import allowed_gain
from nmdp_pin._kernels.step.stage import evaluate, kinematics, linearise
from nmdp_pin._kernels.step.stage_records import StageIterate
from nmdp_pin._kernels.step.step import energies_of
from nmdp_pin._kernels.step.step_end import add_wrenches
from nmdp_pin._kernels.step.step_start import open_step, state_stage
from nmdp_pin._kernels.tree.joints import saturate
from nmdp_pin._kernels.tree.loops import add_loops, write_gaps
from nmdp_pin._kernels.tree.springs import add_springs
from nmdp_pin._kernels.tree.tree import body_twists
from nmdp_pin._robot.lift import LiftForces
from nmdp_pin._state.state import State
from nmdp_pin.papers.methods.stage_equations import whole_rows

STEP_WORK = 2  # of a step without its impulses, in evaluations: most of it is Python
MOST_SATURATIONS = 12  # sets of saturated motors that are tried; one or two are usual
_MOST_ITERATIONS = 20  # of Newton's method for the bias; two are usual
_PARTS = (1, 2, 4, 8, 16)  # of a step, in which it finds it
_SETTLED = 1e-10  # share of the largest momentum
_SHARE = 0.02  # of the energy that moves, which a step may gain


@dataclass(frozen=True, eq=False)
class StepStart:
    """Kinematics and contacts at the start of a step.

    Args:
        state: the state.
        h: length of the step [s].
        at: the start as a point of the kernels, with every contact among the active rows.
        n: number of contacts.
        w: weights of the step before of the contacts and joints, shape (total, m).
        M: mass matrix, shape (nv, nv).
        bias: Coriolis forces and gravity, shape (nv,).
        J: Jacobians of the contacts, then of the joints, shape (n + r, rows, nv).
        of_load: derivatives of their motions by the sums of their weights, shape (n + r, rows) [m].
        kinetic: kinetic energy [J].
        potential: potential energy [J].
    """

    state: State
    h: float
    at: StageIterate
    n: int
    w: np.ndarray
    M: np.ndarray
    bias: np.ndarray
    J: np.ndarray
    of_load: np.ndarray
    kinetic: float
    potential: float


class SemiImplicit:
    """Semi-implicit steps of a system, with the scratch memory of one thread.

    Args:
        system: simulated system.
        reach: distance up to which pairs are contacts of a step [m].
    """

    def __init__(self, system: System[ContactLaw], *, reach: float) -> None:
        self.form = CompiledSystem(
            system, zeroth_order=True, secants=False, weights=True, saturating=False, reach=reach
        )
        self.model, self._data = self.form.model, self.form.model.createData()
        self._lift = LiftForces(self.model, system.robot.lifts).efforts
        self._memory, self._linear = self.form.new_memory(), self.form.new_linear()

    def start(self, state: State, command: Command, h: float) -> StepStart:
        """The start of a step."""
        form, memory, record = self.form, self._memory, self.form.record
        warm = state.warm or form.no_warm()
        start = form.start(state, [command], h, warm)
        open_step(record, start, memory)
        at, contacts = memory.points[0], memory.stage.contacts
        state_stage(record, BACKWARD_EULER.record, start, 0, memory, at)
        n = int(contacts.n[0])
        total = n + form.n_joints
        at.w[:] = 0.0
        _, known, of_known = np.intersect1d(
            self.contacts(), warm.contacts, assume_unique=True, return_indices=True
        )
        at.w[n:total, 0] = warm.joints
        if warm.w.shape[1]:
            at.w[known] = warm.w[of_known]
        at.q[:] = state.q
        evaluate(record, memory.stage, at, True)
        at.active[:total], at.n_active[:] = np.arange(total), (total, n)
        linearise(record, memory.stage, at, self._linear)
        return StepStart(
            state,
            h,
            at,
            n,
            at.w[:total].copy(),
            record.dynamics.M.copy(),
            pin.rnea(self.model, self._data, state.q, state.v, np.zeros(self.model.nv))
            - self._lift(state.q),
            whole_rows(self._linear, self._linear.J_force, total),
            self._linear.of_load[:total].copy(),
            *energies_of(record, memory.origin),
        )

    def saturate(self, q: np.ndarray, v: np.ndarray, *, again: bool) -> bool:
        """Write the signs of the saturated motors at a state; whether they have changed."""
        torque = self._memory.stage.torque
        error = self.form.difference(torque.q_target, q)
        return bool(saturate(self.form.joints, torque, error, v, again))

    def gains(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Constant torque, kp and kd with the limits of saturated motors, shape (nv,) each."""
        torque, joints = self._memory.stage.torque, self.form.joints
        limited = torque.signs != 0.0
        at_limit = torque.signs * np.where(limited, joints.effort, 0.0) + torque.external
        return (
            np.where(limited, at_limit, torque.constant),
            np.where(limited, 0.0, torque.kp),
            np.where(limited, joints.damping, torque.kd),
        )

    @property
    def external(self) -> np.ndarray:
        """Forces from outside on the dofs [N m or N], shape (nv,)."""
        return self._memory.stage.torque.external

    def hold_torque(self, q: np.ndarray, v: np.ndarray) -> None:
        """Replace the command by the constant torque that it asks for at a state."""
        torque = self._memory.stage.torque
        torque.constant[:] = self.torque(q, v)
        torque.kp[:] = torque.kd[:] = 0.0

    def torque(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The joint torque at a state [N m or N], shape (nv,)."""
        constant, kp, kd = self.gains()
        error = self.form.difference(self._memory.stage.torque.q_target, q)
        result: np.ndarray = constant - kp * error - kd * v
        return result

    def equations(self, start: StepStart) -> tuple[np.ndarray, np.ndarray]:
        """M_hat (nv, nv) and r (nv,) of M_hat v1 = r + sum J' impulse.

        With the PD of the command implicit and linear, q1 = q0 + h v1:
        M_hat = M + h kd + h^2 kp and r = M v0 + h (tau + kd v_target - kp (q0 - q_target) - c - g);
        springs and loops, which are stiff ones, likewise.
        """
        state, h, form = start.state, start.h, self.form
        constant, kp, kd = self.gains()
        error = form.difference(self._memory.stage.torque.q_target, state.q)
        pull, stiffness = np.zeros(len(kp)), np.zeros((len(kp), len(kp)))
        add_springs(form.joints.springs, state.q, pull, stiffness)
        P, S, stage = self._memory.origin.P, start.at.S, self._memory.stage
        loops = form.joints.loops, stage.held, stage.frames
        add_loops(form.tree, *loops, P, S, state.q, pull, stiffness, False)
        M_hat = start.M + np.diag(h * kd + h**2 * kp) + h**2 * stiffness
        right = start.M @ state.v + h * (constant - kp * error - pull - start.bias)
        return M_hat, right

    def loop_forces(self, start: StepStart, v: np.ndarray) -> np.ndarray:
        """Forces of the rows of the loops at the end of a step with a velocity, shape (rows,)."""
        loops, first = self.form.joints.loops, start.n + self.form.joints.loops.first[0]
        gaps = np.zeros(len(loops.compliance))
        stage = self._memory.stage
        write_gaps(loops, stage.frames, self._memory.origin.P, start.state.q, gaps)
        return forces_of_gaps(loops, stage.held, gaps + start.h * start.J[first:, 0] @ v)

    def coasting(self, start: StepStart) -> StepStart | None:
        """The start with the mean bias of a step on which nothing but inertia acts.

        Coriolis forces of the start add energy to whatever turns, in every step; those midway do
        no work on a single body, whatever its spin. None: they are not found.
        """
        h, M, q, before = start.h, start.M, start.state.q, start.state.v
        zero = np.zeros(self.model.nv)
        weight = pin.rnea(self.model, self._data, q, zero, zero).copy()
        for parts in _PARTS:
            v: np.ndarray | None = before
            for _ in range(parts):
                v = None if v is None else self._coasted(start, v, h / parts, weight)
            if v is not None:
                return replace(start, bias=weight - self._lift(q) + M @ (before - v) / h)
        return None

    def _coasted(
        self, start: StepStart, before: np.ndarray, h: float, weight: np.ndarray
    ) -> np.ndarray | None:
        """Velocity after a time of M dv = -h c((v + before) / 2), by Newton's method, (nv,)."""
        M, q, v, zero = start.M, start.state.q, before, np.zeros(self.model.nv)
        momentum = np.abs(M @ before).max(initial=0.0)
        for _ in range(_MOST_ITERATIONS):
            middle = 0.5 * (before + v)
            bias = pin.rnea(self.model, self._data, q, middle, zero) - weight
            r = M @ (v - before) + h * bias
            if not np.abs(r).max(initial=0.0) > _SETTLED * momentum:  # numbers may overflow
                return v
            by_v = pin.computeRNEADerivatives(self.model, self._data, q, middle, zero)[1]
            try:
                v = v - np.linalg.solve(M + 0.5 * h * by_v, r)
            except np.linalg.LinAlgError:
                break
        return None

    def end(self, q: np.ndarray, v: np.ndarray) -> tuple[StageIterate, float, float]:
        """Kinematics, kinetic and potential energy at the end of a step."""
        record, at = self.form.record, self._memory.scratch
        at.q[:], at.v[:] = q, v
        kinematics(record, q, at)
        body_twists(record.tree, at.S, v, at.twists)
        return at, *energies_of(record, at)

    def allows(self, gain: float, moving: float) -> bool:
        """Whether a step may gain an energy, `moving` being the energy that moves [J]."""
        return bool(gain <= allowed_gain(self.form.tree.weight, _SHARE, moving))

    def wrenches(self, start: StepStart, wrench: np.ndarray) -> np.ndarray:
        """Wrenches of contact points about their centres, world frame, (p, 6), of (n, rows)."""
        result, at = np.zeros((self.form.n_points, 6)), start.at
        at.wrench[: start.n] = wrench
        contacts = self._memory.stage.contacts
        reported = np.ones(contacts.n[0], np.bool_)
        add_wrenches(self.form.record, contacts, 1.0, at, reported, result)
        return result

    def depths(self, at: StageIterate) -> np.ndarray:
        """Penetrations of the contact points at a point, 0 when apart [m], shape (p,)."""
        contacts, result = self._memory.stage.contacts, np.zeros(self.form.n_points)
        reported = np.ones(contacts.n[0], np.bool_)
        report_depths(self.form.candidates, contacts, at.places, reported, result)
        return result

    @property
    def listed(self) -> Contacts:
        """The contacts of the step."""
        result: Contacts = self._memory.stage.contacts
        return result

    def contacts(self) -> np.ndarray:
        """Identities of the contacts, as in `WarmStart`, shape (n,)."""
        contacts = self._memory.stage.contacts
        index = contacts.index[: contacts.n[0]].tolist()
        return np.array([identity(self.form.candidates, contacts, c) for c in index], np.int64)
