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


def lifted_model(model: pin.Model, lifts: Iterable[Lift]) -> pin.Model | None:
    """The model with the masses alone that gravity does not pull; None: there are none.

    Its weight is that of the model less what its lifts leave.
    """
    result, found = pin.Model(model), False
    for joint in range(1, model.njoints):
        result.inertias[joint] = pin.Inertia.Zero()
    for lift in lifts:
        if model.existJointName(lift.joint):
            joint, found = model.getJointId(lift.joint), True
            mass = lift.share * model.inertias[joint].mass
            result.inertias[joint] = pin.Inertia(mass, np.array(lift.centre), np.zeros((3, 3)))
    return result if found else None
