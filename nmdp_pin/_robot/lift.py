"""Lifts: what holds bodies up against gravity, as a balance or buoyancy does."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from nmdp_pin._options import Vector3

Lifted = Mapping[str, tuple[float, np.ndarray]]
"""Masses that gravity does not pull [kg], and where they are in their frame [m], by its name."""


@dataclass(frozen=True)
class Lift:
    """A force against gravity on the body that a joint carries.

    Args:
        joint: name of the joint.
        share: the force, over the weight of the body.
        centre: where it acts, in the frame of the joint [m].
    """

    joint: str
    share: float
    centre: Vector3


def lifts_of(model: pin.Model, lifted: Lifted) -> tuple[Lift, ...]:
    """The lifts of the joints that carry masses that gravity does not pull."""
    moments = np.zeros((model.njoints, 4))
    for name, (mass, place) in lifted.items():
        frame = model.frames[model.getFrameId(name, pin.BODY)]
        moments[frame.parentJoint] += mass * np.append(frame.placement.act(place), 1.0)
    return tuple(
        Lift(
            str(model.names[j]),
            float(moments[j, 3] / model.inertias[j].mass),
            tuple((moments[j, :3] / moments[j, 3]).tolist()),
        )
        for j in np.flatnonzero(moments[:, 3]).tolist()
        if j
    )


class LiftForces:
    """What the lifts of a model do to it: the weight of a model with the lifted masses alone.

    Args:
        model: the model.
        lifts: forces against gravity, also on other models.

    Attributes:
        any: whether one is on this model; else all values are zero.
    """

    def __init__(self, model: pin.Model, lifts: Iterable[Lift]) -> None:
        on = [lift for lift in lifts if model.existJointName(lift.joint)]
        self.any = bool(on)
        if not on:
            self._of = model, None
            return
        lifted = pin.Model(model)
        for joint in range(1, model.njoints):
            lifted.inertias[joint] = pin.Inertia.Zero()
        for lift in on:
            joint = model.getJointId(lift.joint)
            mass = lift.share * model.inertias[joint].mass
            lifted.inertias[joint] = pin.Inertia(mass, np.array(lift.centre), np.zeros((3, 3)))
        self._of = lifted, lifted.createData()

    def efforts(self, q: np.ndarray) -> np.ndarray:
        """Generalised forces at q [N m or N], shape (nv,)."""
        if not self.any:
            return np.zeros(self._of[0].nv)
        return np.asarray(pin.computeGeneralizedGravity(*self._of, q))

    def derivatives(self, q: np.ndarray) -> np.ndarray:
        """Derivatives of `efforts` by q, shape (nv, nv)."""
        if not self.any:
            return np.zeros((self._of[0].nv, self._of[0].nv))
        return np.asarray(pin.computeGeneralizedGravityDerivatives(*self._of, q))

    def energy(self, q: np.ndarray) -> float:
        """Potential energy of the masses that gravity does not pull [J]."""
        return float(pin.computePotentialEnergy(*self._of, q)) if self.any else 0.0
