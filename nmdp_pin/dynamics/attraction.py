"""How far the bodies are from where they are drawn, and the forces that draw them there.

Every term of the position-based form ([N] eq. 12) is the integral of rho |X - X_hat|^2 / 2 over the
bodies, X_hat being affine on each of them. With homogeneous coordinates x~ = (x, 1), X = P' x~ and
the second moment Sigma = integral of rho x~ x~' of a body about its joint's origin,

    E = tr(D' Sigma D) / 2,   D = P - P_hat,

where P and P_hat are the placements, (4, 3): the rotation's columns over the origin.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.cross import SKEW
from nmdp_pin.dynamics.spatial import over_tree, placements_of, support_of


def second_moments(model: pin.Model) -> np.ndarray:
    """Sigma of every body [kg m^2, kg m, kg], shape (n, 4, 4).

    Args:
        model: its `inertias`; bodies without mass count as well.
    """
    result = np.zeros((model.njoints - 1, 4, 4))
    for Sigma, inertia in zip(result, list(model.inertias)[1:], strict=True):
        c = inertia.mass * np.append(inertia.lever, 1.0)
        Sigma[:] = np.outer(c, np.append(inertia.lever, 1.0))
        central = inertia.inertia
        Sigma[:3, :3] += 0.5 * np.trace(central) * np.eye(3) - central
    return result


class Attraction:
    """E(q) for one reference a body, with its derivatives, for all bodies at once.

    Args:
        model: the robot.
        data: after `computeJointJacobians` at q, read at each evaluation.
    """

    def __init__(self, model: pin.Model, data: pin.Data) -> None:
        self._data = data  # keeps the memory of the views below alive
        nv = model.nv
        self._placements = placements_of(data, model.njoints)[1:]
        self._J: np.ndarray = np.reshape(data.J, (6, nv), order="F")
        self._Sigma = second_moments(model)
        support, self._above = support_of(model, np.arange(1, model.njoints))
        self._support = np.ascontiguousarray(support.T)
        self._homogeneous = np.zeros((len(self._Sigma), 4, 4))
        self._homogeneous[:, 3, 3] = 1.0

    def gradient(self, reference: np.ndarray) -> np.ndarray:
        """dE/dq, shape (nv,).

        The bodies' wrenches about the world's origin are the integrals of rho (X - X_hat) and of
        rho X x (X - X_hat).

        Args:
            reference: P_hat of each body, shape (n, 4, 3).
        """
        self._homogeneous[:, :, :3] = self._placements
        self._D = self._placements - reference
        self._Sigma_D = self._Sigma @ self._D
        first = self._homogeneous.transpose(0, 2, 1) @ self._Sigma_D
        self._subtree = self._support @ (first.reshape(-1, 12) @ _WRENCH)
        result: np.ndarray = np.vecdot(self._J.T, self._subtree)
        return result

    def reference_derivative(self, change: np.ndarray) -> np.ndarray:
        """Derivative of `gradient`, which is affine in the reference, shape (nv, k).

        Args:
            change: of the reference along k directions, shape (k, n, 4, 3).
        """
        self._homogeneous[:, :, :3] = self._placements
        turned = self._homogeneous.transpose(0, 2, 1) @ self._Sigma
        first = -(turned @ change)
        subtree = self._support @ (first.reshape(*first.shape[:2], 12) @ _WRENCH)
        result: np.ndarray = np.vecdot(self._J.T, subtree).T
        return result

    def value(self) -> float:
        """E at the point and the reference of the last `gradient`."""
        return 0.5 * float(np.vdot(self._Sigma_D, self._D))

    def hessian(self) -> np.ndarray:
        """d2E/dq2, the derivative of `gradient` (tangent), shape (nv, nv).

        A motion S_l of body b changes its wrench by A_b S_l. The entry (k, l) is S_k' A S_l with A
        summed over the bodies that both move, and where l moves S_k also (S_l x S_k) . F_k.
        """
        A = self._support @ self._wrench_stiffness()
        return over_tree(self._J, A, self._above, self._subtree)

    def _wrench_stiffness(self) -> np.ndarray:
        """A_b = [[m 1, -[c]], [[c_hat], tr(Y) 1 - Y]], shape (n, 36).

        c and c_hat are the integrals of rho X and rho X_hat, Y that of rho X X_hat'.
        """
        turned = self._homogeneous.transpose(0, 2, 1) @ self._Sigma
        both = np.empty((len(turned), 4, 7))
        both[:, :, :4] = turned @ self._homogeneous
        both[:, :, 4:] = both[:, :, :3] - turned @ self._D
        return both.reshape(-1, 28) @ _STIFFNESS


def _wrench_map() -> np.ndarray:
    """From the integrals of rho X~ (X - X_hat)', row-major (4, 3), to (force, moment): (12, 6)."""
    result = np.zeros((4, 3, 6))
    result[3, :, :3] = np.eye(3)
    # moment_i = e_ijk T_jk; SKEW holds [a]_x as a map of a, so e_ijk stands in it with a sign
    result[:3, :, 3:] = -SKEW.reshape(3, 3, 3).transpose(1, 2, 0)
    return result.reshape(12, 6)


def _stiffness_map() -> np.ndarray:
    """From (integral of rho X~ X~', of rho X~ X_hat'), row-major (4, 7), to A: (28, 36)."""
    result = np.zeros((4, 7, 6, 6))
    result[3, 3, :3, :3] = np.eye(3)
    result[3, :3, :3, 3:] = -SKEW.reshape(3, 3, 3)
    result[3, 4:, 3:, :3] = SKEW.reshape(3, 3, 3)
    for i in range(3):
        result[i, 4 + i, 3:, 3:] += np.eye(3)
        for j in range(3):
            result[i, 4 + j, 3 + i, 3 + j] -= 1.0
    return result.reshape(28, 36)


_WRENCH = _wrench_map()
_STIFFNESS = _stiffness_map()
