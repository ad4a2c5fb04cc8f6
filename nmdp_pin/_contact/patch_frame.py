"""The frame of a contact patch: its normal, and tangents that turn with the body or stand still."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from nmdp_pin._contact.wrench_space import ContactState, skew
from nmdp_pin._options import Vector3, check_fields, readable
from nmdp_pin.errors import ContactError

_UPRIGHT = 1e-9  # sine of the angle from the axis to the normal; below it there is no heading


@readable
@dataclass(frozen=True, kw_only=True)
class PatchFrame:
    """Orthonormal (t1, t2, n): n the terrain's normal, t1 along `axis` as seen along n.

    With `frame` "body" the axis is fixed in the body, so the frame turns with its yaw; with
    "world" it is fixed in the world, as the grain of a floor is. An axis along the normal has no
    heading: there t1 is any tangent, and it does not turn.
    """

    axis: Vector3 = (1.0, 0.0, 0.0)
    frame: Literal["body", "world"] = "body"

    def __post_init__(self) -> None:
        check_fields(self, ContactError)
        if not any(self.axis):
            raise ContactError("axis must not be zero")
        unit = np.array(self.axis) / np.linalg.norm(self.axis)
        object.__setattr__(self, "axis", tuple(float(x) for x in unit))

    def rotations(self, contacts: ContactState) -> np.ndarray:
        """Frames E = (t1, t2, n) in the world, shape (n, 3, 3)."""
        return self._frames(contacts)[0]

    def turns(self, contacts: ContactState) -> tuple[np.ndarray, np.ndarray]:
        """Frames, and their rotation vector in the world per translation and rotation, (n, 3, 6).

        dE = [turns @ (dx, dphi)]_x E.
        """
        E, heading, axis = self._frames(contacts)
        t2, n = E[:, :, 1], E[:, :, 2]
        result = np.zeros((len(n), 3, 6))
        if self.frame == "body":  # t2 . (dphi x axis) = dphi . (axis x t2)
            spin = heading[:, None] * _cross(axis, t2)
            result[:, :, 3:] = n[:, :, None] * spin[:, None, :]
        if contacts.curvature is not None:
            rise = heading * np.vecdot(n, axis)
            tilt = skew(n) - rise[:, None, None] * (n[:, :, None] * t2[:, None, :])
            result[:, :, :3] = tilt @ contacts.curvature
        return E, result

    def _frames(self, contacts: ContactState) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Frames, 1 / |axis as seen along n| or 0 where it has no heading, and axes."""
        n = contacts.normal
        axis = np.empty_like(n)
        axis[:] = contacts.rotation @ self.axis if self.frame == "body" else self.axis
        along = axis - np.vecdot(axis, n)[:, None] * n
        size = np.sqrt(np.vecdot(along, along))
        upright = size < _UPRIGHT
        if upright.any():
            along[upright] = np.cross(np.eye(3)[np.abs(n[upright]).argmin(axis=1)], n[upright])
            size[upright] = np.sqrt(np.vecdot(along[upright], along[upright]))
        t1 = along / size[:, None]
        heading = np.where(upright, 0.0, 1.0 / size)
        return np.stack([t1, _cross(n, t1), n], axis=2), heading, axis


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products a x b of vectors of shape (n, 3); for few of them much faster than np.cross."""
    result: np.ndarray = (skew(a) @ b[:, :, None])[:, :, 0]
    return result
