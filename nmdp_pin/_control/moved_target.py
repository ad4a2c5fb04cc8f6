"""Targets of a command that a sequence of tangents moves."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from nmdp_pin._robot.joint_limits import simple_joints


@dataclass(frozen=True, eq=False)
class MovedTarget:
    """A target configuration that tangents move, as `pinocchio.integrate` does, to the bit.

    Args:
        q: the configuration, shape (nq,).
        still: what it becomes where nothing moves it, shape (nq,).
        at: indices of the positions of hinges and slides, shape (n,).
        dofs: those of their velocities, shape (n,).
        others: those of all other velocities, shape (nv - n,).
    """

    q: np.ndarray
    still: np.ndarray
    at: np.ndarray
    dofs: np.ndarray
    others: np.ndarray

    @classmethod
    def around(cls, model: pin.Model, q: np.ndarray) -> "MovedTarget":
        """A target of a model, shape (nq,)."""
        simple = simple_joints(model).values()
        at = np.array([joint.idx_q for joint in simple], dtype=int)
        dofs = np.array([joint.idx_v for joint in simple], dtype=int)
        still = pin.integrate(model, q, np.zeros(model.nv))
        return cls(q, still, at, dofs, np.delete(np.arange(model.nv), dofs))

    def write(self, model: pin.Model, ways: np.ndarray, rows: np.ndarray) -> None:
        """Write the moved configurations, shape (n, nq); `ways` has the tangents, (n, nv)."""
        if ways[:, self.others].any():
            for row, way in zip(rows, ways, strict=True):
                row[:] = pin.integrate(model, self.q, way)
        else:  # all at once
            rows[:] = self.still
            rows[:, self.at] = self.q[self.at] + ways[:, self.dofs]
