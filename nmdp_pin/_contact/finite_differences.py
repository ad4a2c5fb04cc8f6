"""Derivatives of contact models by finite differences."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from nmdp_pin._contact.wrench_space import ContactState, WrenchSpace
from nmdp_pin.errors import ContactError


@dataclass(frozen=True, kw_only=True)
class FiniteDifferences(WrenchSpace):
    """Contact model with the vertices of another and a derivative by central differences.

    Around a contact the terrain is described by the normal and curvature of its `ContactState`. A
    derivative is one call of `model.vertices` with twelve times the contacts. It has no meaning
    across a touch-down or an edge of the terrain.

    Args:
        model: the contact model.
        step: step of the differences [m], [rad]; models in single precision need some 1e-4.
    """

    model: WrenchSpace
    step: float = 1e-6

    def __post_init__(self) -> None:
        if not isinstance(self.model, WrenchSpace):
            raise ContactError(f"model must be a WrenchSpace, got {self.model!r}")
        if not (isinstance(self.step, float) and 0.0 < self.step < 1.0):
            raise ContactError(f"step must be a number in (0, 1) m and rad, got {self.step!r}")

    @property
    def rows(self) -> int:
        """Value of the wrapped model."""
        return self.model.rows

    @property
    def n_vertices(self) -> int:
        """Value of the wrapped model."""
        return self.model.n_vertices

    @property
    def recovery(self) -> float:
        """Value of the wrapped model."""
        return self.model.recovery

    def rise_rates(self, contact: np.ndarray, surface: np.ndarray) -> np.ndarray:
        """Value of the wrapped model."""
        return self.model.rise_rates(contact, surface)

    @property
    def power(self) -> int:
        """Value of the wrapped model."""
        return self.model.power

    def vertices(self, contacts: ContactState) -> np.ndarray:
        """Vertices of the wrapped model."""
        return self.model.vertices(contacts)

    def derivative(self, contacts: ContactState, w: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        """See `WrenchSpace.derivative`; shape (n, rows, 6)."""
        n = len(contacts.depth)
        V = self.model.vertices(self._moved(contacts))
        f = (V.reshape(6, 2, n, self.rows, -1) @ w[:, :, None])[..., 0]
        result: np.ndarray = (f[:, 0] - f[:, 1]) / (2.0 * self.step)
        return result.transpose(1, 2, 0)

    def _moved(self, contacts: ContactState) -> ContactState:
        """Contacts displaced along and rotated about each axis, in both directions: 12 n."""
        n, h = len(contacts.depth), self.step
        signs = np.array([h, -h])
        moves, turns = np.zeros((12, 3)), np.zeros((12, 3))
        for axis in range(3):
            moves[2 * axis : 2 * axis + 2, axis] = signs
            turns[6 + 2 * axis : 8 + 2 * axis, axis] = signs
        dx = np.repeat(moves, n, axis=0)
        turn = np.repeat(np.array([pin.exp3(a) for a in turns]), n, axis=0)
        there = contacts.take(np.tile(np.arange(n), 12))
        normal = there.normal
        if there.curvature is not None:
            normal = normal + (there.curvature @ dx[:, :, None])[:, :, 0]
            normal /= np.sqrt((normal * normal).sum(axis=1))[:, None]
        return there._replace(
            position=there.position + dx,
            rotation=turn @ there.rotation,
            depth=there.depth - (there.normal * dx).sum(axis=1),
            normal=normal,
        )
