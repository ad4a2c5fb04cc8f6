"""Systems as records of the kernels, in a form of the dynamics, with the memory of one thread."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._contact.friction_cone import FrictionCone
from nmdp_pin._contact.wrench_space import WrenchSpace
from nmdp_pin._control.controller import Command
from nmdp_pin._dynamics.commands import (
    length_of_commands,
    new_commands,
    new_torque,
    values_of,
)
from nmdp_pin._dynamics.geometry.candidates import n_contacts_of, new_contacts, new_places
from nmdp_pin._dynamics.joint_bounds import joints_of
from nmdp_pin._dynamics.kinematic_tree import most_dofs, scales_of, tree_of
from nmdp_pin._dynamics.law_pairs import pairs_of
from nmdp_pin._dynamics.loops import held_loops
from nmdp_pin._dynamics.python_calls import LawCalls, PinocchioCalls
from nmdp_pin._dynamics.scripts import idle_pairs, scripted_dofs
from nmdp_pin._dynamics.surface_twists import surface_twists
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.compiler.callbacks import register
from nmdp_pin._kernels.contact.friction_cone import Cone
from nmdp_pin._kernels.geometry.contacts import REACH, Contacts
from nmdp_pin._kernels.step import stage_records
from nmdp_pin._kernels.step.islands import new_islands
from nmdp_pin._kernels.step.stage_records import (
    EXACT,
    LEFT_OUT,
    NEWTON_EULER,
    POSITIONS,
    SECANT,
    Stage,
    StageIterate,
    StageJacobians,
)
from nmdp_pin._kernels.step.step_records import STEP_COUNTERS, End, Memory, Start
from nmdp_pin._robot.trees import inertia_at
from nmdp_pin._state.state import State, WarmStart
from nmdp_pin.errors import IntegratorError

_RIGID = (
    "a rigid contact (stiffness = inf, static_depth = 0) has no vertices: use an NMDP method with "
    "objective 'dissipation' and zeta = 0, or give a finite stiffness"
)
NO_CONE = Cone(np.zeros((2, 1)), 1, 0.0, 0, 0.0, 1.0)


class CompiledSystem:
    """A form of the dynamics of a system.

    Args:
        system: simulated system.
        material: whether the inertia is that of material points ([N] eq. 12), whose positions are
            compared in first order and whose velocities in second; else inverse dynamics (eq. 6).
        zeroth_order: whether the contact model's derivative is left unused ([N] eq. 10, 11).
        secants: whether zeroth order estimates this derivative from the points evaluated.
        weights: whether the unknowns of friction cones are weights of the vertices of a polyhedron
            instead of forces.
        saturating: whether motors follow their limits in every evaluation.
        reach: distance up to which pairs are contacts of a step [m].
    """

    def __init__(
        self,
        system: System[Any],
        *,
        material: bool = False,
        zeroth_order: bool = False,
        secants: bool = True,
        weights: bool = False,
        saturating: bool = True,
        reach: float = REACH,
    ) -> None:
        robot, law = system.robot, system.law
        # Cones are compiled; a law that is derived from them may differ.
        self.forces = type(law) is FrictionCone and not weights and law.zeta == 0.0
        self.system, self.model = system, robot.model
        self.material, self.zeroth_order = material, zeroth_order
        self.m = 3 if self.forces else max(law.n_vertices, 1)  # of a row, of joints as well
        self.pinocchio = PinocchioCalls(robot)
        inertia, self.scripted = inertia_at(robot.model, robot.standing), scripted_dofs(robot)
        self.candidates = pairs = pairs_of(system, float(reach))
        if type(law) is FrictionCone and not (self.forces or (pairs.stiffness < np.inf).all()):
            raise IntegratorError(_RIGID)
        self.surfaces = surface_twists(system.robot, system.terrain, self.candidates)
        self.joints = joints_of(robot, inertia)
        # Laws of other kinds have no vertices.
        cone, called, rows = NO_CONE, 0, 3
        cone = replace(cone, tangents=np.zeros((2, self.m)))
        if type(law) is FrictionCone:
            cone = law.cone
        elif isinstance(law, WrenchSpace):
            rows, cone = law.rows, replace(cone, power=int(law.power))
            called = register(LawCalls(law, self.candidates.points, self.candidates.radii), self)
        derivative = EXACT
        if zeroth_order:
            derivative = SECANT if secants and not self.forces else LEFT_OUT
        self.tree = tree_of(robot, inertia)
        self.record = stage_records.System(
            tree=self.tree,
            dynamics=self.pinocchio.arrays(register(self.pinocchio, self)),
            joints=self.joints,
            candidates=self.candidates,
            surfaces=self.surfaces,
            scripted=self.scripted,
            idle=idle_pairs(robot, self.scripted, self.candidates),
            forces=self.forces,
            **scales_of(robot, inertia),
            cone=cone,
            called=called,
            rows=rows,
            derivative=derivative,
            saturating=saturating,
            recovery=float(law.recovery) if isinstance(law, WrenchSpace) else 0.0,
        )
        self.n_contacts = n_contacts_of(self.candidates)
        self.n_joints = len(self.joints.dofs)
        self.n_points = len(robot.contact_points)
        self._nothing, self._no_warm = np.zeros(robot.model.nv), self.no_warm()

    def varied(self, system: System[Any]) -> "CompiledSystem | None":
        """This form of the system with other parameters; None where memory of it does not fit."""
        old, robot = self.system, system.robot
        if not (self.forces and old.fits(system)):
            return None
        result, inertia = copy.copy(self), inertia_at(robot.model, robot.standing)
        result.system, result.model = system, robot.model
        if system.law is not old.law or system.pairs is not old.pairs:
            result.candidates = pairs_of(system, self.candidates.reach)
        result.tree = tree_of(robot, inertia, known=self.tree)
        result.joints = joints_of(robot, inertia, known=self.joints)
        result.pinocchio = calls = PinocchioCalls(robot)
        result.record = replace(
            self.record,
            tree=result.tree,
            dynamics=calls.arrays(register(calls, result)),
            joints=result.joints,
            candidates=result.candidates,
            cone=system.law.cone,
            **scales_of(robot, inertia),
        )
        return result

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the weights of all contacts and of the joints."""
        return self.n_contacts + self.n_joints, self.m

    @property
    def unknowns(self) -> int:
        """Number of unknowns of a contact."""
        return 3 if self.forces else self.system.law.n_vertices

    @property
    def kind(self) -> int:
        """The form in first order."""
        return POSITIONS if self.material else NEWTON_EULER

    def no_forces(self) -> np.ndarray:
        """Unknowns without forces: by weights joints are in the middle of their intervals."""
        w = np.zeros(self.shape)
        w[self.n_contacts :, :1] = 0.0 if self.forces else 0.5
        return w

    def no_warm(self) -> WarmStart:
        """The warm start of a step before which nothing touched."""
        return WarmStart(
            np.zeros(0, dtype=np.int64),
            np.zeros((0, 0 if self.forces else self.unknowns)),
            np.full(self.n_joints, 0.0 if self.forces else 0.5),
            np.zeros(self.model.nv),
            forces=np.zeros((0, 3)) if self.forces else None,
        )

    def start(
        self, state: State, commands: Sequence[Command], h: float, warm: WarmStart | None
    ) -> Start:
        """Start of a step.

        Args:
            state: state at the start, whose own warm start is not used.
            commands: commands of the stages.
            h: length of the step [s].
            warm: weights and acceleration to begin with.
        """
        start = self.new_start(len(commands))
        self.write_start(start, state, commands, h, warm)
        return start

    def write_start(
        self,
        start: Start,
        state: State,
        commands: Sequence[Command],
        h: float,
        warm: WarmStart | None,
        rolling: bool = True,
    ) -> None:
        """Write a start; the arguments are those of `start`, and that of the record."""
        warm = self._no_warm if warm is None else warm
        of_commands = values_of(commands, state.q, self._nothing)
        known = warm if self.forces == (warm.forces is not None) else self._no_warm
        before = (warm.a, self._nothing if warm.tau is None else warm.tau, known.joints)
        np.concatenate((state.q, state.v, *before, *of_commands), out=start.values)
        k = len(known.contacts)
        start.h, start.touching, start.rolling = h, k, rolling
        if len(start.held):
            start.held[:] = held_loops(self.system.robot, commands[-1])
        if k:
            unknowns = known.w if known.forces is None else known.forces
            start.contacts[:k], start.w[:k] = known.contacts, unknowns

    def read_start(self, start: Start, t: float) -> State:
        """The state at time t whose `write_start` gives a start."""
        warm = self.warm_of(start, start.touching)
        return State(t, start.q.copy(), start.v.copy(), warm)

    def warm_of(self, made: Start | End, touching: int, gamma: float = 1.0) -> WarmStart:
        """The warm start after a step, whose end or whose next start has the contacts that touch.

        Args:
            made: that end or start.
            touching: number of the contacts.
            gamma: see `WarmStart`.
        """
        unknowns = made.w[:touching].copy()
        return WarmStart(
            made.contacts[:touching].copy(),
            unknowns[:, :0] if self.forces else unknowns,
            made.joints.copy(),
            made.a.copy(),
            gamma,
            unknowns if self.forces else None,
            made.tau.copy(),
        )

    def new_start(self, stages: int) -> Start:
        """Memory for the start of a step with some number of stages."""
        nq, nv = self.model.nq, self.model.nv
        ends = np.cumsum([nq, nv, nv, nv, self.n_joints])
        values = np.zeros(ends[-1] + length_of_commands(stages, nq, nv))
        q, v, a, tau, joints, commands = np.split(values, ends)
        return Start(
            values=values,
            q=q,
            v=v,
            a=a,
            tau=tau,
            joints=joints,
            commands=new_commands(commands, stages, nv),
            touching=0,
            contacts=np.zeros(self.n_contacts, dtype=np.int64),
            w=np.zeros((self.n_contacts, self.unknowns)),
            held=np.ones(len(self.joints.loops.kinds), dtype=bool),
            h=1.0,
            rolling=True,
        )

    def new_end(self) -> End:
        """Memory for the end of a step."""
        nv, k = self.model.nv, self.n_contacts
        return End(
            q=np.zeros(self.model.nq),
            v=np.zeros(nv),
            a=np.zeros(nv),
            tau=np.zeros(nv),
            wrenches=np.zeros((self.n_points, 6)),
            depths=np.zeros(self.n_points),
            error=np.zeros(nv),
            contacts=np.zeros(k, dtype=np.int64),
            w=np.zeros((k, self.m)),
            joints=np.zeros(self.n_joints),
            repeated=np.zeros(nv, dtype=bool),
            counts=np.zeros(STEP_COUNTERS, dtype=np.int64),
            numbers=np.zeros(4),
        )

    def integrate(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """The configuration at tangent dq from q."""
        result: np.ndarray = pin.integrate(self.model, q, dq)
        return result

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The tangent that leads from q0 to q1."""
        result: np.ndarray = pin.difference(self.model, q0, q1)
        return result

    def new_stage(self, contacts: Contacts | None = None) -> Stage:
        """A stage whose arrays are to be filled, at rest in the standing pose, of length 1 s."""
        nv, n = self.model.nv, self.model.njoints - 1
        standing = np.array(self.system.robot.standing, dtype=float)
        return Stage(
            form=self.kind,
            displaced=True,
            closes=True,
            frames=self.joints.loops.frames.copy(),
            gaps=np.zeros(len(self.joints.loops.compliance)),
            held=np.ones(len(self.joints.loops.kinds), dtype=bool),
            q_ref=standing,
            v_ref=np.zeros(nv),
            rate=1.0,
            target=np.zeros((n, 4, 3)),
            torque=new_torque(standing.copy(), nv),
            script=np.zeros(nv),
            contacts=contacts or new_contacts(self.candidates),
        )

    def new_point(self) -> StageIterate:
        """Memory for the equations at a point."""
        model, k, rows = self.model, self.n_contacts, self.record.rows
        nv, n, total, m = model.nv, model.njoints - 1, k + self.n_joints, self.m
        secants = k if self.record.derivative == SECANT else 0
        return StageIterate(
            q=np.array(self.system.robot.standing, dtype=float),
            w=np.zeros((total, m)),
            v=np.zeros(nv),
            error=np.zeros(nv),
            D=np.eye(nv),
            E=np.eye(nv),
            P=np.zeros((n + 1, 4, 3)),
            S=np.zeros((nv, 6)),
            twists=np.zeros((n + 1, 6)),
            joint_axis_rates=np.zeros((nv, 6)),
            tau=np.zeros(nv),
            G=np.zeros(nv),
            A=np.zeros((nv, nv)),
            places=new_places(k),
            V=np.zeros((total, rows, m)),
            wrench=np.zeros((total, rows)),
            motion=np.zeros((total, rows)),
            work=np.zeros((total, m)),
            origin=np.zeros((k, 6)),
            loads=np.zeros((n, 6)),
            active=np.zeros(total, dtype=np.int64),
            n_active=np.zeros(2, dtype=np.int64),
            sums=np.zeros(3),
            slopes=np.zeros((secants, rows, m, 3)),
        )

    def new_linear(self) -> StageJacobians:
        """Memory for the derivatives at a point."""
        nv, rows, total = self.model.nv, self.record.rows, self.shape[0]
        d = most_dofs(self.tree, self.candidates.bodies, self.joints.loops)
        jacobians = (total, rows, d)
        return StageJacobians(
            np.zeros((nv, nv)),
            np.zeros((total, d), dtype=np.int64),
            np.zeros(total, dtype=np.int64),
            np.zeros(jacobians),
            np.zeros(jacobians),
            np.zeros((total, rows)),
            np.zeros(total),
        )

    def new_memory(self) -> Memory:
        """Memory for the steps of this form, one at a time."""
        n, total = self.model.njoints - 1, self.shape[0]
        return Memory(
            stage=self.new_stage(),
            origin=self.new_point(),
            scratch=self.new_point(),
            points=tuple(self.new_point() for _ in range(6)),
            linear=self.new_linear(),
            w=np.zeros(self.shape),
            predicted_acceleration=np.zeros(self.model.nv),
            steady=True,
            rates=np.zeros((n, 4, 3)),
            slopes=np.zeros((n, 4, 3)),
            velocities=np.zeros((total, 3)),
            acceleration=np.zeros(self.model.nv),
            islands=new_islands(n, self.model.nv),
            suspects=np.zeros(total, dtype=bool),
            touched=np.zeros(total, dtype=bool),
        )
