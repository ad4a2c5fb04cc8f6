"""Kinetic energy of a robot."""

import numpy as np
import pinocchio as pin


def kinetic_energy(model: pin.Model, data: pin.Data, q: np.ndarray, v: np.ndarray) -> float:
    """Kinetic energy v' M v / 2 [J].

    Pinocchio's own function leaves out the armature of hinges about other axes than x, y and z
    (4.1.0).

    Args:
        model: of the robot.
        data: written to.
        q: configuration.
        v: velocity, shape (nv,).
    """
    M = pin.crba(model, data, q)  # its upper triangle
    return float(v @ (np.triu(M) @ v) - 0.5 * (M.diagonal() @ (v * v)))
