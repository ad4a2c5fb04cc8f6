"""What kernels call in Python: pinocchio and contact models."""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import pinocchio as pin

from nmdp_pin._contact.wrench_space import ContactState, WrenchSpace
from nmdp_pin._kernels.geometry.contacts import ContactFrames
from nmdp_pin._kernels.step.stage_records import Dynamics
from nmdp_pin._robot import Robot
from nmdp_pin._robot.lift import Lift, LiftForces
from nmdp_pin._robot.trees import trees_of


class InverseDynamics:
    """Pinocchio's inverse dynamics of a model, less its lifts.

    Args:
        model: the model.
        data: its data, to which the results are written.
        lifts: forces against gravity, also on other models.
        q: configuration that the callers write, shape (nq,).
        v: velocity, likewise, shape (nv,).
        a: acceleration, likewise, shape (nv,).
    """

    def __init__(
        self,
        model: pin.Model,
        data: pin.Data,
        lifts: Iterable[Lift],
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
    ) -> None:
        arguments = model, data, q, v, a
        self.values = partial(pin.rnea, *arguments)
        self.derivatives = partial(pin.computeRNEADerivatives, *arguments)
        self._lifts, self._q = LiftForces(model, lifts), q
        if self._lifts.any:
            self._tau, self._by_q = data.tau, data.dtau_dq
            self.values = partial(self._less_lifts, self.values)
            self.derivatives = partial(self._less_lifts_derived, self.derivatives)

    def _less_lifts(self, made: Callable[[], object]) -> None:
        made()
        self._tau -= self._lifts.efforts(self._q)

    def _less_lifts_derived(self, made: Callable[[], object]) -> None:
        self._less_lifts(made)
        self._by_q -= self._lifts.derivatives(self._q)


class TreeCalls:
    """Pinocchio's algorithms of the trees of a model, each in data of its own.

    They write what those of the whole model would, whose data would need far more memory.

    Args:
        robot: the robot.
        q: configuration that the callers write, shape (nq,).
        v: velocity, likewise, shape (nv,).
        a: acceleration, likewise, shape (nv,).
    """

    def __init__(self, robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> None:
        model = robot.model
        nv, n = model.nv, model.njoints
        self.P, self.S, self.tau = np.zeros((n, 4, 3)), np.zeros((nv, 6)), np.zeros(nv)
        self.P[0, :3] = np.eye(3)
        self.M, self.of_q, self.of_v = np.zeros((3, nv, nv))
        self._trees = []
        for tree in trees_of(model):
            data, still = tree.model.createData(), np.zeros(tree.model.nv)
            weightless = pin.Model(tree.model)
            weightless.gravity = pin.Motion.Zero()
            own = q[tree.q], v[tree.v], a[tree.v]
            moved = weightless, data, own[0], still, own[1]
            S = np.reshape(data.J, (6, tree.model.nv), order="F").T
            kinematics = [
                (self.P[tree.joints], placements_of(data)[1:]),
                (self.S[tree.v], S),
            ]
            force = (self.tau[tree.v], data.tau)
            derived = [
                (self.M[tree.v, tree.v], data.M.T),
                (self.of_q[tree.v, tree.v], data.dtau_dq),
                (self.of_v[tree.v, tree.v], data.dtau_dv),
            ]
            dynamics = InverseDynamics(tree.model, data, robot.lifts, *own)
            place = partial(pin.computeJointJacobians, tree.model, data, own[0])
            self._trees.append((place, dynamics, moved, kinematics, force, derived))

    def kinematics(self) -> None:
        """Placements and motions at q."""
        for place, _, _, kinematics, _, _ in self._trees:
            place()
            _copy(kinematics)

    def values(self) -> None:
        """Inverse dynamics at q, v and a."""
        for _, dynamics, _, _, (target, source), _ in self._trees:
            dynamics.values()
            target[:] = source

    def derivatives(self) -> None:
        """Inverse dynamics at q, v and a, with derivatives, M and kinematics."""
        for _, dynamics, _, kinematics, force, derived in self._trees:
            dynamics.derivatives()
            _copy((*kinematics, force, *derived))

    def momentum(self) -> None:
        """M v at q."""
        for _, _, moved, _, (target, source), _ in self._trees:
            pin.rnea(*moved)
            target[:] = source

    def momentum_derivatives(self) -> None:
        """M v at q, with derivatives, M and kinematics."""
        for _, _, moved, kinematics, force, derived in self._trees:
            pin.computeRNEADerivatives(*moved)
            _copy((*kinematics, force, *derived))


def _copy(pairs: Iterable[tuple[np.ndarray, np.ndarray]]) -> None:
    """Copy arrays: targets and sources."""
    for target, source in pairs:
        target[...] = source


class PinocchioCalls:
    """Pinocchio's algorithms, which read and write arrays that the kernels share.

    Args:
        robot: the robot.
    """

    def __init__(self, robot: Robot) -> None:
        model = robot.model
        self.q, self.v, self.a = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        self._trees: TreeCalls | None = None
        if len(trees_of(model)) > 1:
            self._trees = trees = TreeCalls(robot, self.q, self.v, self.a)
            self._values, self._derivatives = trees.values, trees.derivatives
            self._momentum = trees.momentum
            self._momentum_derivatives = trees.momentum_derivatives
            self.kinematics = trees.kinematics
            return
        self.data = data = model.createData()  # of a model that is one tree
        weightless, still = pin.Model(model), np.zeros(model.nv)
        weightless.gravity = pin.Motion.Zero()
        # M v is the inverse dynamics of the acceleration v at rest and without weight.
        dynamics = InverseDynamics(model, data, robot.lifts, self.q, self.v, self.a)
        momentum = weightless, data, self.q
        self._values, self._derivatives = dynamics.values, dynamics.derivatives
        self._momentum = partial(pin.rnea, *momentum, still, self.v)
        self._momentum_derivatives = partial(pin.computeRNEADerivatives, *momentum, still, self.v)
        self.kinematics = partial(pin.computeJointJacobians, model, data, self.q)

    def inverse_dynamics(self, derived: bool) -> None:
        """Inverse dynamics and kinematics at q, v and a, with derivatives and M if `derived`."""
        if derived:
            self._derivatives()
        else:
            self._values()
            self.kinematics()

    def momentum(self, derived: bool) -> None:
        """Momentum M v and kinematics at q, with derivatives and M if `derived`."""
        if derived:
            self._momentum_derivatives()
        else:
            self._momentum()
            self.kinematics()

    def arrays(self, handle: int) -> Dynamics:
        """The shared arrays."""
        nv = len(self.v)
        if self._trees is not None:
            names = ("P", "S", "tau", "M", "of_q", "of_v")
            of_trees = {name: getattr(self._trees, name) for name in names}
            return Dynamics(handle=handle, q=self.q, v=self.v, a=self.a, **of_trees)
        data = self.data  # pinocchio gives the J of a single dof as a vector
        S = np.reshape(data.J, (6, nv), order="F").T
        return Dynamics(
            handle=handle,
            q=self.q,
            v=self.v,
            a=self.a,
            P=placements_of(data),
            S=S,
            tau=data.tau,
            M=data.M.T,  # symmetric, and stored by columns
            of_q=data.dtau_dq,
            of_v=data.dtau_dv,
        )


def placements_of(data: pin.Data) -> np.ndarray:
    """View of all oMi, shape (n_joints, 4, 3): the rotation's columns, then the translation."""
    n = len(data.oMi)
    view = np.lib.stride_tricks.as_strided(data.oMi[0].rotation, (n, 4, 3), (96, 24, 8))
    last = data.oMi[n - 1]
    if view[-1, 3].__array_interface__["data"] != last.translation.__array_interface__["data"]:
        raise RuntimeError("pinocchio stores its placements in a layout that is not known here")
    return view


class LawCalls:
    """A contact model in Python.

    Args:
        law: the contact model.
        points: contact point of each candidate, shape (k,).
        radii: radius of each candidate [m], shape (k,).
    """

    def __init__(self, law: WrenchSpace, points: np.ndarray, radii: np.ndarray) -> None:
        self._law, self._points, self._radii = law, points, radii

    @np.errstate(all="ignore")  # a trial point may overflow: that is a status, not a warning
    def vertices(self, index: np.ndarray, places: ContactFrames, V: np.ndarray) -> None:
        """Write the vertices of n contacts into V, shape (>= n, rows, m).

        Args:
            index: candidates of the contacts, shape (n,).
            places: places of the contacts.
            V: output.
        """
        n = len(index)
        if n:
            V[:n] = self._law.vertices(self._state(index, places, np.arange(n), None))

    @np.errstate(all="ignore")  # as above
    def vertex_derivative(
        self,
        index: np.ndarray,
        places: ContactFrames,
        w: np.ndarray,
        wrench: np.ndarray,
        rows: np.ndarray,
        D: np.ndarray,
    ) -> None:
        """Write the derivatives of V w of some contacts into D, shape (n, rows, 6).

        Args:
            index: as in `vertices`.
            places: as in `vertices`.
            w: weights.
            wrench: wrenches V w.
            rows: the contacts that are asked for.
            D: output.
        """
        bends = np.where(places.curved[rows, None, None], places.curvature[rows], 0.0)
        contacts = self._state(index, places, rows, bends if bends.any() else None)
        own = self._law.derivative(contacts, w[rows], wrench[rows])
        D[rows, :, : own.shape[2]] = own

    def _state(
        self,
        index: np.ndarray,
        places: ContactFrames,
        rows: np.ndarray,
        curvature: np.ndarray | None,
    ) -> ContactState:
        """Some contacts as a contact model takes them."""
        return ContactState(
            places.centre[rows],
            places.placements[rows, :3].transpose(0, 2, 1),
            places.depth[rows],
            places.normal[rows],
            curvature,
            places.friction[rows],
            self._radii[index[rows]],
            places.surface[rows],
            self._points[index[rows]],
        )
