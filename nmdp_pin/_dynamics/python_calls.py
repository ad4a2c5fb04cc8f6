"""What kernels call in Python: pinocchio and contact models."""

from functools import partial

import numpy as np
import pinocchio as pin

from nmdp_pin._contact.wrench_space import ContactState, WrenchSpace
from nmdp_pin._kernels.compiler.record import record_at
from nmdp_pin._kernels.geometry.contacts import ContactFrames
from nmdp_pin._kernels.step.inertia import material_inertia
from nmdp_pin._kernels.step.stage import Dynamics, System


class PinocchioCalls:
    """Pinocchio's algorithms, which read and write arrays that the kernels share.

    Args:
        model: model of the robot.

    Attributes:
        system: what all steps share, of which these arrays are a part.
    """

    system: System

    def __init__(self, model: pin.Model) -> None:
        self.data = data = model.createData()
        self.q, self.v, self.a = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        weightless, still = pin.Model(model), np.zeros(model.nv)
        weightless.gravity = pin.Motion.Zero()
        # M v is the inverse dynamics of the acceleration v at rest and without weight.
        dynamics, momentum = (model, data, self.q, self.v, self.a), (weightless, data, self.q)
        self._values = partial(pin.rnea, *dynamics)
        self._derivatives = partial(pin.computeRNEADerivatives, *dynamics)
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

    def material_inertia(self, velocities: bool, derived: bool, stage: int, at: int) -> None:
        """Inertia of material points, whose kernel is compiled where it is needed."""
        if velocities and derived:
            self._momentum_derivatives()
        else:
            if velocities:
                self._momentum()
            self.kinematics()
        material_inertia(self.system, record_at(stage), derived, record_at(at))

    def arrays(self, handle: int) -> Dynamics:
        """The shared arrays."""
        data, nv = self.data, len(self.v)
        # pinocchio gives the J of a single dof as a vector
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
