"""Forms of the dynamics, from which the equations of a step are made."""

from __future__ import annotations

import abc

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.friction_cone import STANDARD_GRAVITY, FrictionCone
from nmdp_pin.contact.wrench_space import ContactState, WrenchSpace
from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.contact_arrays import ContactArrays
from nmdp_pin.dynamics.evaluation import Evaluation
from nmdp_pin.dynamics.joint_bounds import JointBounds
from nmdp_pin.dynamics.mimic_springs import MimicSprings
from nmdp_pin.dynamics.reference import VELOCITIES, Reference, ReferenceTangent, Slopes
from nmdp_pin.dynamics.spatial import placements_of, support_of
from nmdp_pin.dynamics.step_problem import StepProblem
from nmdp_pin.dynamics.torque_law import JointTorques
from nmdp_pin.dynamics.touched_surfaces import TouchedSurfaces
from nmdp_pin.kernels.contact_kinematics import contact_velocities, locate, relative_placements
from nmdp_pin.kernels.energy import mechanical_energy
from nmdp_pin.kernels.evaluation_arrays import Layout
from nmdp_pin.system import System


class Workspace:
    """Scratch memory of one thread: pinocchio's data, and views of it.

    Args:
        model: model of the robot.
    """

    def __init__(self, model: pin.Model) -> None:
        self.data = data = model.createData()
        self.placements = placements_of(data, model.njoints)
        self.tau, self.M = data.tau, data.M
        self.dtau_dq, self.dtau_dv = data.dtau_dq, data.dtau_dv
        # pinocchio gives the J of a single dof as a vector
        self.J: np.ndarray = np.reshape(data.J, (6, model.nv), order="F")


class Form(abc.ABC):
    """A form of the dynamics of a system, with the scratch memory of one thread.

    Args:
        system: simulated system, whose contact law is a wrench space.
        zeroth_order: whether the contact model's derivative is left unused ([N] eq. 10, 11).
        secants: whether zeroth order estimates this derivative from the points evaluated.
    """

    def __init__(
        self,
        system: System[WrenchSpace],
        *,
        zeroth_order: bool = False,
        secants: bool = True,
    ) -> None:
        robot, terrain = system.robot, system.terrain
        self.system, self.wrench_space = system, system.law
        self.model = model = robot.model
        self.nv: int = model.nv
        self.zeroth_order, self.secants = zeroth_order, zeroth_order and secants
        self.workspace = Workspace(model)
        self.flat = model.nq == model.nv  # configurations are added like vectors
        self.contacts = ContactArrays.of(robot)
        self.surfaces = TouchedSurfaces(robot, terrain)
        self.bounds = JointBounds.of(robot)
        self.mimics = MimicSprings.of(robot)
        self.shape, self.rows = system.weights_shape, system.law.rows
        self.no_forces = np.zeros(self.shape)
        self.no_forces[self.contacts.n :, :1] = 0.5  # the middle of the intervals of dry friction
        self.touches_bodies = bool(self.contacts.touched.any())
        # Cones are compiled, a law that is derived from them may differ. On closed forms a kernel
        # locates their contacts too.
        cones = system.law.parameters if type(system.law) is FrictionCone else None
        self.cones, self.cone_scene = cones, None
        if cones and terrain.compiled and not (self.touches_bodies or self.secants):
            self.cone_scene = (*terrain.arrays.tables, *cones, self.contacts.joints)
        points = self.contacts
        # arguments of the kernels of a stage that do not change
        self.force_arrays: tuple[np.ndarray, ...] = (
            *self.mimics,
            *self.bounds,
            points.touched,
            points.support,
            points.local,
            points.radii,
        )
        self.derivative_arrays: tuple[np.ndarray, ...] = (
            *self.bounds,
            points.touched,
            points.support,
            points.moves,
            points.above,
            points.radii,
        )
        self.layout = Layout(model.nv, model.njoints, self.contacts.n, *self.shape, self.rows)
        self.n_indices = self.contacts.n + self.shape[0]
        self.torques = JointTorques(model, robot.limits.effort)
        self.weightless = pin.Model(model)
        self.weightless.gravity = pin.Motion.Zero()
        bodies = list(model.inertias)[1:]
        self._bodies = (
            support_of(model, np.arange(1, model.njoints))[0],
            np.array([body.mass for body in bodies]),
            np.array([body.lever for body in bodies]),
            np.array([body.inertia for body in bodies]),
            np.array(model.armature),
            np.array(model.gravity.linear),
        )
        self.weight = float(pin.computeTotalMass(model)) * STANDARD_GRAVITY
        data = self.workspace.data
        self.largest_inertia = float(pin.crba(model, data, robot.standing).diagonal().max())

    @abc.abstractmethod
    def start(self, q: np.ndarray, v: np.ndarray, h: float, order: int) -> Reference:
        """The reference of the first stage of a step.

        Args:
            q: configuration at the start of the step, shape (nq,).
            v: velocity there, shape (nv,).
            h: length of the step [s].
            order: order of the time scheme.
        """

    @abc.abstractmethod
    def problem(
        self,
        reference: Reference,
        command: Command,
        rate: float,
        acceleration_rate: float,
    ) -> StepProblem:
        """The equations of a stage.

        Args:
            reference: reference of its differences.
            command: command at its end.
            rate: rate of its velocity [1/s].
            acceleration_rate: rate of its acceleration [1/s].
        """

    @abc.abstractmethod
    def slopes(self, problem: StepProblem, at: Evaluation) -> Slopes:
        """The rates of change at the end of a stage."""

    def kinetic(self, problem: StepProblem, at: Evaluation) -> float:
        """The kinetic energy K = v' M v / 2 at a point [J]."""
        return self.energies(at.P, at.S, at.v)[0]

    def kinetic_derivatives(
        self, problem: StepProblem, at: Evaluation
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (nv,) of K, tangent, and its Gauss-Newton Hessian (nv, nv).

        They are D' M v + (d(M a)/dq at a = v)' v / 2, and D' M D.
        """
        v, rate = at.v, problem.rate
        data, still = self.workspace.data, np.zeros(len(at.v))
        pin.computeRNEADerivatives(self.weightless, data, at.q, still, v)
        M, D = data.M, at.D
        if D.size == 0:
            gradient, hessian = M @ (rate * v), M * rate**2
        else:
            MD = M @ D
            gradient, hessian = MD.T @ v, D.T @ MD
        return gradient + 0.5 * (data.dtau_dq.T @ v), hessian

    def shifted(self, start: Reference, terms: list[tuple[float, Slopes]]) -> Reference:
        """The reference moved along slopes, each for its time [s]."""
        dq, dv = np.zeros(self.nv), np.zeros(self.nv)
        rates = None if start.rates is None else start.rates.copy()
        for s, slopes in terms:
            dq += s * slopes.v
            dv += s * slopes.a
            if rates is not None and slopes.accelerations is not None:
                rates += s * slopes.accelerations
        return Reference(self.integrate(start.q, dq), start.v + dv, start.carriers, rates)

    def start_tangent(self, start: Reference, h: float, n: int) -> ReferenceTangent:
        """Derivative of `start` with respect to (q, v), filled up with zeros to n columns."""
        return ReferenceTangent(np.eye(self.nv, n), np.eye(self.nv, n, k=self.nv))

    def shifted_tangent(
        self,
        start: Reference,
        of_start: ReferenceTangent,
        terms: list[tuple[float, Slopes]],
        of_slopes: list[Slopes],
    ) -> ReferenceTangent:
        """Derivative of `shifted`.

        Args:
            start: as in `shifted`.
            of_start: derivative of the start.
            terms: as in `shifted`.
            of_slopes: derivatives of the slopes.
        """
        dq, of_dq, of_v = np.zeros(self.nv), np.zeros_like(of_start.q), of_start.v
        rates = of_start.rates
        for (s, slopes), of in zip(terms, of_slopes, strict=True):
            dq += s * slopes.v
            of_dq += s * of.v
            of_v = of_v + s * of.a
            if rates is not None and of.accelerations is not None:
                rates = rates + s * of.accelerations
        if self.flat:
            return ReferenceTangent(of_start.q + of_dq, of_v, rates)
        by_q = pin.dIntegrate(self.model, start.q, dq, pin.ARG0)
        by_dq = pin.dIntegrate(self.model, start.q, dq, pin.ARG1)
        return ReferenceTangent(by_q @ of_start.q + by_dq @ of_dq, of_v, rates)

    def moved(self, reference: Reference, along: ReferenceTangent, step: float) -> Reference:
        """The reference moved by a step along one of its tangents."""
        q = self.integrate(reference.q, step * along.q)
        carriers = self.carriers(q) if len(reference.carriers) else VELOCITIES
        rates, placements = reference.rates, reference.placements
        if rates is not None and along.rates is not None:
            rates = rates + step * along.rates
        if placements is not None and along.placements is not None:
            placements = placements + step * along.placements
        return Reference(q, reference.v + step * along.v, carriers, rates, placements)

    def slopes_tangent(
        self,
        problem: StepProblem,
        at: Evaluation,
        of_reference: ReferenceTangent,
        of_q: np.ndarray,
        of_v: np.ndarray,
    ) -> Slopes:
        """Derivative of `slopes`.

        Args:
            problem: equations of the stage.
            at: end of the stage.
            of_reference: derivative of the stage's reference.
            of_q: derivative of q at the end, tangent, shape (nv, K).
            of_v: derivative of the velocity at the end, shape (nv, K).
        """
        return Slopes(of_v, problem.acceleration_rate * (of_v - of_reference.v))

    def carriers(self, q: np.ndarray) -> np.ndarray:
        """Placements of the carriers of the contacts relative to the touched bodies, (n, 4, 3)."""
        points, work = self.contacts, self.workspace
        pin.forwardKinematics(self.model, work.data, q)
        result = np.empty((points.n, 4, 3))
        relative_placements(work.placements, points.joints, points.touched, result)
        return result

    def contact_velocities(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Velocities of the sphere centres relative to the touched bodies, shape (n, 3)."""
        points, work = self.contacts, self.workspace
        pin.computeJointJacobians(self.model, work.data, q)
        placements, centre = np.empty((points.n, 4, 3)), np.empty((points.n, 3))
        P, result = work.placements, np.empty((points.n, 3))
        locate(P, points.joints, points.touched, points.local, placements, centre)
        contact_velocities(P, work.J.T, points.touched, points.support, centre, v, result)
        return result

    def vertices(self, contacts: ContactState, near: np.ndarray | None) -> np.ndarray:
        """Vertices V of all contacts, shape (n, rows, m); zero away from the surfaces."""
        if near is None:
            return np.ascontiguousarray(self.wrench_space.vertices(contacts))
        space = self.wrench_space
        V = np.zeros((len(contacts.depth), space.rows, space.n_vertices))
        V[near] = space.vertices(contacts.take(near))
        return V

    def integrate(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """The configuration at tangent dq from q."""
        return q + dq if self.flat else pin.integrate(self.model, q, dq)

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The tangent that leads from q0 to q1."""
        return q1 - q0 if self.flat else pin.difference(self.model, q0, q1)

    def energies(self, P: np.ndarray, S: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Kinetic energy and potential energy of gravity [J].

        Args:
            P: placements of all joints, shape (n_joints, 4, 3).
            S: motions of the dofs at the world's origin, shape (nv, 6).
            v: velocity, shape (nv,).
        """
        kinetic, potential = mechanical_energy(P, S, *self._bodies, v)
        return kinetic, potential

    def energies_at(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """`energies` at a state, whose placements and Jacobian remain in the workspace."""
        work = self.workspace
        pin.computeJointJacobians(self.model, work.data, q)
        return self.energies(work.placements, work.J.T, v)
