"""Anisotropic friction: different coefficients along and across an axis of the body."""

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from pydantic import Field

from nmdp_pin._contact.friction_cone import RECOVERY, Directions, Power, Rate
from nmdp_pin._contact.wrench_space import ContactState, WrenchSpace, skew
from nmdp_pin._options import Number, Positive, Vector3, check_fields, readable
from nmdp_pin.errors import ContactError

_Share = Annotated[Number, Field(ge=0, le=100)]


@readable
@dataclass(frozen=True, kw_only=True)
class AnisotropicCone(WrenchSpace):
    """Friction polytope v_j = k d^p (n + mu (along cos a_j e + across sin a_j n x e)).

    d is the penetration, e the axis of the body projected onto the ground, whose length is the
    cosine of the angle between axis and ground. The angles a_j are counted from e.

    Args:
        stiffness: k [N/m^power].
        along: factor of the friction coefficient mu along the axis [-].
        across: factor of mu across the axis [-].
        axis: axis in the frame of the joint that carries the contact; any length but zero.
        power: exponent p of the penetration; 3 makes the vertices twice differentiable at touch.
        directions: number of angles a_j.
        recovery: rate of recovery of contacts and stops of joints [1/s]; see `WrenchSpace`.

    Raises:
        ContactError: a parameter is out of range.
    """

    stiffness: Positive
    along: _Share
    across: _Share = 1.0
    axis: Vector3 = (1.0, 0.0, 0.0)
    power: Power = 3
    directions: Directions = 8
    recovery: Rate = RECOVERY
    _unit: np.ndarray = field(init=False, repr=False, compare=False)
    _shares: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(self, ContactError)
        axis = self.axis
        if not any(axis):
            raise ContactError("axis must not be zero")
        angles = 2.0 * np.pi * np.arange(self.directions) / self.directions
        shares = np.array([self.along * np.cos(angles), self.across * np.sin(angles)])
        object.__setattr__(self, "_unit", np.array(axis, dtype=float) / np.linalg.norm(axis))
        object.__setattr__(self, "_shares", shares)

    @property
    def n_vertices(self) -> int:
        """Number of angles."""
        return self.directions

    def vertices(self, contacts: ContactState) -> np.ndarray:
        """See the class; shape (n, 3, directions)."""
        n = contacts.normal
        axis, cross = contacts.rotation @ self._unit, skew(n)
        across = cross @ axis[:, :, None]
        along = -cross @ across  # (1 - n n') times the axis
        tangents = np.concatenate([along, across], axis=2) @ self._shares
        tangents *= contacts.friction[:, None, None]
        result: np.ndarray = self._size(contacts)[:, None, None] * (n[:, :, None] + tangents)
        return result

    def derivative(self, contacts: ContactState, w: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        """See `WrenchSpace.derivative`; shape (n, 3, 6).

        With g the body's axis, s the sum of the weights and a, b those of the tangents:
        f = k d^p (s n + a (g - n n'g) + b n x g), dd/dx = -n', dg/dphi = -[g]x.
        """
        n, d = contacts.normal, np.maximum(contacts.depth, 0.0)
        g, size = contacts.rotation @ self._unit, self._size(contacts)[:, None, None]
        shares = contacts.friction[:, None] * (w @ self._shares.T)
        a, b = shares[:, 0, None, None], shares[:, 1, None, None]
        slope = np.divide(-self.power, d, out=np.zeros_like(d), where=d > 0.0)
        moved = (slope[:, None] * wrench)[:, :, None] * n[:, None, :]
        nn, g_cross = n[:, :, None] * n[:, None, :], skew(g)
        if contacts.curvature is not None:
            level = w.sum(axis=1)[:, None, None] - a * (n * g).sum(axis=1)[:, None, None]
            turn = level * np.eye(3) - a * n[:, :, None] * g[:, None, :] - b * g_cross
            moved += size * (turn @ contacts.curvature)
        of_axis = a * (np.eye(3) - nn) + b * skew(n)
        return np.concatenate([moved, -size * (of_axis @ g_cross)], axis=2)

    def _size(self, contacts: ContactState) -> np.ndarray:
        """K d^p [N], shape (n,)."""
        size: np.ndarray = self.stiffness * np.maximum(contacts.depth, 0.0) ** self.power
        return size
