"""A wrench space of six rows, for tests of what carries them."""

from typing import ClassVar

import numpy as np

from nmdp_pin._contact import WrenchSpace
from nmdp_pin._contact.wrench_space import skew


class Glue(WrenchSpace):
    """Six rows that depend on the body's orientation too: what the general path has to carry."""

    rows: ClassVar[int] = 6

    @property
    def n_vertices(self):
        return 4

    def vertices(self, contacts):
        size = np.maximum(contacts.depth, 0.0) ** 2
        body = contacts.rotation @ self._in_body()
        local = np.concatenate([body, np.roll(body, 1, axis=2)], axis=1)
        return 1e4 * size[:, None, None] * local

    def derivative(self, contacts, w, wrench):
        depth = np.maximum(contacts.depth, 0.0)
        slope = np.divide(-2.0, depth, out=np.zeros_like(depth), where=depth > 0.0)
        moved = (slope[:, None] * wrench)[:, :, None] * contacts.normal[:, None, :]
        turned = np.concatenate([-skew(wrench[:, :3]), -skew(wrench[:, 3:])], axis=1)
        return np.concatenate([moved, turned], axis=2)

    @staticmethod
    def _in_body():
        return np.array([[1.0, 0.0, -0.3, 0.2], [0.1, 1.0, 0.4, -1.0], [0.2, 0.3, 1.0, 0.5]])
