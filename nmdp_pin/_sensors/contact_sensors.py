"""Sensors of the contacts of a link: force and torque, centre of pressure, touch."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nmdp_pin._options import NonNegative, unknown
from nmdp_pin._robot import Robot
from nmdp_pin._robot.body_surfaces import body_name
from nmdp_pin._sensors.instant import Instant
from nmdp_pin._sensors.sensor import Sensor
from nmdp_pin.errors import SensorError

_FLAT, _SMALL = 1e-6, 1e-6  # of the extent of contacts, and that of those at a point [m]


@dataclass(frozen=True)
class LinkSensor(Sensor):
    """Base class of sensors of the contacts of a link.

    Args:
        link: link, or named frame, that has contact points.
    """

    link: str

    size: ClassVar[int]
    """Number of components."""

    def shape(self, robot: Robot) -> tuple[int, ...]:
        """See `Sensor.shape`."""
        self.signs(robot)
        return (self.size,)

    def signs(self, robot: Robot) -> np.ndarray:
        """1 of the contact points of a link, -1 of those of others that touch it, (n_contacts,)."""
        points = robot.contact_points
        index = self.frame_index(robot, self.link)
        joint = int(robot.model.frames[index].parentJoint)
        first = joint > 0 and body_name(robot, joint) == self.link
        on_link = [of == self.link or (of == "" and first) for of in points.links]
        own = np.array(on_link, dtype=bool) & (points.joints == joint)
        touched = (points.touches == joint) & (joint > 0) & first
        if not (own.any() or touched.any()):
            known = sorted({of for of in points.links if of})
            what = unknown(self.link, "a link with contact points", known)
            raise SensorError(f"sensor '{self.key}': {what}")
        result: np.ndarray = own.astype(float) - touched
        return result


@dataclass(frozen=True)
class ContactWrench(LinkSensor):
    """Sum of the contact forces on a link, and its torque [N, N m], shape (6,).

    The force comes first. Both are about the origin of the link's frame and along its axes; they
    are means over the step.

    Args:
        link: link, or named frame, that has contact points.
    """

    kind: ClassVar[str] = "contact_wrench"
    size: ClassVar[int] = 6

    def measure(self, at: Instant) -> np.ndarray:
        """See `Sensor.measure`."""
        signs = self.signs(at.robot)
        place = at.data.oMf[self.frame_index(at.robot, self.link)]
        forces, moments = signs @ at.wrenches[:, :3], at.wrenches[:, 3:]
        moments = moments + np.cross(at.contact_centres - place.translation, at.wrenches[:, :3])
        return np.concatenate([forces @ place.rotation, signs @ moments @ place.rotation])


@dataclass(frozen=True)
class CentreOfPressure(LinkSensor):
    """Where the line of the total contact force on a link meets the plane of its contacts.

    In the frame of the link [m], shape (3,); 0 without force. Of contacts in a line or at a point
    it is the place on the line of the force that is nearest to them.

    Args:
        link: link, or named frame, that has contact points.
    """

    kind: ClassVar[str] = "centre_of_pressure"
    size: ClassVar[int] = 3

    def measure(self, at: Instant) -> np.ndarray:
        """See `Sensor.measure`."""
        signs = self.signs(at.robot)
        own = np.flatnonzero(signs * np.linalg.norm(at.wrenches[:, :3], axis=1))
        forces = signs[own, None] * at.wrenches[own, :3]
        total = forces.sum(axis=0)
        shares = forces @ total
        if not shares.sum() > 0.0:
            return np.zeros(3)
        places = _places(at, own)
        middle = shares @ places / shares.sum()
        arms = places - middle
        moment = np.cross(at.contact_centres[own] - middle, forces).sum(axis=0)
        moment += signs[own] @ at.wrenches[own, 3:]
        offset = np.cross(total, moment) / (total @ total)  # of the line of the force
        _, sizes, directions = np.linalg.svd(arms, full_matrices=False)
        flat = directions[:2][sizes[:2] > _FLAT * max(sizes[0], _SMALL)]
        off = [x - flat.T @ (flat @ x) for x in (total, offset)]  # what leads out of the plane
        along = off[0] @ off[1] / (off[0] @ off[0]) if off[0] @ off[0] > 0.0 else 0.0
        place = at.data.oMf[self.frame_index(at.robot, self.link)]
        return np.array(place.actInv(middle + offset - along * total))


@dataclass(frozen=True)
class Touch(LinkSensor):
    """1 where the contact forces on a link are more than a threshold together, else 0; shape (1,).

    Args:
        link: link, or named frame, that has contact points.
        threshold: norm of the total force [N].
    """

    threshold: NonNegative = 0.0

    kind: ClassVar[str] = "touch"
    size: ClassVar[int] = 1

    def measure(self, at: Instant) -> np.ndarray:
        """See `Sensor.measure`."""
        force = self.signs(at.robot) @ at.wrenches[:, :3]
        return np.array([float(np.linalg.norm(force) > self.threshold)])


def _places(at: Instant, points: np.ndarray) -> np.ndarray:
    """Where the forces of some contact points act in the world [m], shape (n, 3).

    A force at r from the centre of a sphere has the moment r x f, which says what of r is across
    the force; along it, the force comes from outside.
    """
    forces, moments = at.wrenches[points, :3], at.wrenches[points, 3:]
    squares = (forces**2).sum(axis=1, keepdims=True)
    across = np.cross(forces, moments) / squares
    radii = at.robot.contact_points.radii[points, None]
    along = np.sqrt(np.maximum(radii**2 - (across**2).sum(axis=1, keepdims=True), 0.0))
    places: np.ndarray = at.contact_centres[points] + across - along * forces / np.sqrt(squares)
    return places
