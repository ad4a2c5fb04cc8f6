"""The contract of integrators: one step of one named method."""

import abc
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nmdp_pin._contact.contact_law import ContactLaw
from nmdp_pin._contact.wrench_space import WrenchSpace
from nmdp_pin._control.controller import Command, CommandSource, ExternalWrench
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators.step_response import StepResponse
from nmdp_pin._kernels.geometry.contacts import ContactPairs
from nmdp_pin._kernels.tree.joints import Commands
from nmdp_pin._state.quick_record import quick
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status


@quick
@dataclass(frozen=True, eq=False)
class StepResult:
    """Result of one step.

    Args:
        state: state after the step; on failure the object that was given.
        status: outcome of the step.
        tau: torque that the command produced at the end of the step [N m], shape (nv,).
        contact_forces: mean forces on the robot, their impulse over the length of the step, world
            frame [N], shape (n_contacts, 3).
        wrenches: the same as wrenches about the contact points' centres, world frame
            [N, N m], shape (n_contacts, 6).
        contact_depths: penetration of each contact sphere, 0 when apart [m], shape (n_contacts,).
        iterations: outer iterations of the solver, all sub-steps and tries together.
        evaluations: evaluations of the dynamics residual, likewise.
        work: evaluations, and iterations that cost more than these, in evaluations, likewise.
        step_sizes: lengths of the (sub-)steps made [s]; more than one when the step was halved.
        residual: norm of the dynamics residual G at the end, or where it failed; infinite where it
            has no value [N, N m]. Of `dissipation` the estimate of what the last iteration left,
            where that was accepted without another evaluation.
        objective: value of the objective at the end (K of the method); of `dissipation` the gap,
            the work that other forces could still save [J].
        kinetic_energy: kinetic energy [J].
        potential_energy: potential energy of gravity and of the springs of joints [J].
        rejected: outer iterations whose step the solver did not take, counted as `iterations`.
        condition: estimated condition number of the last matrix that was factorised (1-norm); NaN
            where it was not computed.
        discarded: (sub-)steps that were tried and not kept, since they failed or their error was
            too large.
        error: estimated error over the allowed one, up to 1 where the tolerances are met; NaN
            without error control.
        local_error: estimated error of the configuration at the end [rad, m], shape (nv,); None
            where the method has none.
        order: order of the scheme that made the (last sub-)step; steps of second order are
            repeated in first order where they are not accepted. Where that is so of some islands
            alone, the trees of joints that contacts connect, it is 1.
        repeated: dofs whose step was repeated, shape (nv,); None where all or none were.
        primal: primal residual of methods that solve a complementarity problem, the distance of
            the impulses from the friction cones [N s]; NaN for the others.
        dual: likewise, distance of the contacts' velocities from the dual cones [m/s].
        complementarity: likewise, work of the impulses on those velocities [J].
        start: state at the start of the step; None where it is not known.
        parts: results of the (sub-)steps made, where there are several.
        loop_forces: forces of the rows of the robot's loops at the end of the step, in their order,
            on their first frames: of points along the axes of the second frame, of welds also the
            moments there, of distances what pushes them apart, of couplings the effort on the joint
            [N, N m], shape (rows,).
        external: wrenches from outside of the command at the end of the step.
    """

    state: State
    status: Status
    tau: np.ndarray
    contact_forces: np.ndarray
    wrenches: np.ndarray
    contact_depths: np.ndarray
    iterations: int
    evaluations: int
    work: int
    step_sizes: tuple[float, ...]
    residual: float
    objective: float
    kinetic_energy: float
    potential_energy: float
    rejected: int = 0
    condition: float = math.nan
    discarded: int = 0
    error: float = math.nan
    local_error: np.ndarray | None = None
    order: int = 1
    repeated: np.ndarray | None = None
    primal: float = math.nan
    dual: float = math.nan
    complementarity: float = math.nan
    start: State | None = None
    parts: tuple["StepResult", ...] = ()
    loop_forces: np.ndarray | None = None
    external: tuple[ExternalWrench, ...] = ()

    @property
    def max_penetration(self) -> float:
        """Largest penetration of a contact sphere [m]."""
        return float(self.contact_depths.max(initial=0.0))

    @property
    def halvings(self) -> int:
        """Number of sub-steps beyond the first."""
        return len(self.step_sizes) - 1


def time_after(t: float, h: float, steps: int) -> float:
    """Time after some steps [s], as they add it up one by one."""
    for _ in range(steps):
        t += h
    return t


class Integrator(abc.ABC):
    """One step of one method; the options of a method are its own keyword arguments.

    Args:
        system: simulated system, whose contact law is of the kind `law_type`.
        options: options of the method.
    """

    name: ClassVar[str]
    law_type: ClassVar[type[ContactLaw]] = WrenchSpace  # kind of contact law that the method takes
    enforces: ClassVar[frozenset[str]] = frozenset({"position", "effort", "friction", "mimic"})
    """Supported ones of `JointLimits.kinds`."""
    closes_loops: ClassVar[bool] = False
    """Whether it simulates closed loops and grips."""
    follows_scripts: ClassVar[bool] = False
    """Whether it simulates scripted joints."""
    moves_surfaces: ClassVar[bool] = False
    """Whether it simulates surfaces that move along themselves."""
    estimates_error: ClassVar[bool] = False
    """Whether results have a `local_error`."""
    candidates: ContactPairs
    """Pairs that may touch."""

    @abc.abstractmethod
    def __init__(self, system: System[Any], **options: Any) -> None: ...

    @property
    def order(self) -> int:
        """Order of the time step on smooth motion, which error control uses."""
        return 1

    @abc.abstractmethod
    def step(
        self, state: State, command: CommandSource, h: float, *, accuracy: float = math.inf
    ) -> StepResult:
        """Make one step; pure: the same arguments give the same bits.

        Args:
            state: state at its start.
            command: command at its stages.
            h: length of the step [s].
            accuracy: error of the configuration per second that is asked for, from which an
                iterative method may take its tolerances [rad/s, m/s].
        """

    def advance(
        self, state: State, command: Command, plan: Commands, first: int, h: float, x: np.ndarray
    ) -> tuple[int, State]:
        """Make steps that equal those of `step` to the bit by one compiled call, until one fails.

        Args:
            state: state at the start of the first step.
            command: what it attaches is attached in all steps.
            plan: what else the command of each step has, in rows; a target that is NaN stands for
                the start of the step.
            first: number of the first step.
            h: length of a step [s].
            x: output, [q; v] at the ends of the steps made, shape (nt, nq + nv).

        Returns:
            Number of the step that failed, which is the first one for methods without such a call,
            or nt; and the state at its start.
        """
        return first, state

    def varied(self, system: System[Any]) -> "Integrator | None":
        """This method for the system with other parameters, in the same memory.

        None for methods that have to be made anew, or where the memory does not fit.
        """
        return None

    def rough_step(self, state: State, command: CommandSource, h: float) -> StepResult | None:
        """A cruder step, for where `step` fails; None: the method has none.

        Args:
            state: state at its start.
            command: command at its stages.
            h: length of the step [s].
        """
        return None

    def response(
        self,
        state: State,
        command: CommandSource,
        h: float,
        result: StepResult,
        *,
        names: tuple[str, ...] = (),
        smoothing: float = 0.0,
    ) -> StepResponse:
        """Derivatives of a step, of methods that have them.

        Args:
            state: state at its start.
            command: command at its stages.
            h: length of the step [s].
            result: the step, which converged.
            names: parameters to differentiate with respect to, from `parameters.PARAMETERS`.
            smoothing: share of a contact's weights up to which they are known; 0 is exact.
        """
        raise NotImplementedError
