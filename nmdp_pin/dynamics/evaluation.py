"""Values and derivatives of the equations of a step at a point."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nmdp_pin.contact.wrench_space import ContactState
from nmdp_pin.dynamics.contact_arrays import ContactArrays
from nmdp_pin.dynamics.vertex_secant import VertexSecant
from nmdp_pin.kernels.evaluation_arrays import Layout


class _Array:
    """One of `kernels.EvaluationArrays` as an attribute of an evaluation."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, at: Any, owner: type) -> np.ndarray:
        begin, end, shape = at.layout.places[self._name]
        result: np.ndarray = at.values[begin:end].reshape(shape)
        return result


class _Point(NamedTuple):
    """A point and the memory of its evaluation.

    Args:
        q: configuration, shape (nq,).
        w: weights of the vertices, shape (n, m).
        v: velocity, the difference of the step, shape (nv,).
        D: dv/dq, shape (nv, nv), or (0, 0) where it is the identity times the rate.
        residual: norm of G.
        gap: work that other weights could still save, summed over the contacts [J].
        slip: largest motion that other weights could save at a contact, its gap over its force [m].
        active: indices of the active contacts, ascending, shape (k,).
        surfaces: indices of the shapes nearest to the contacts, -1 where there is none, shape (n,).
        curved: whether a surface is curved; else the array of curvatures is undefined.
        secant: estimate of dV/dx from the points evaluated so far, in zeroth order.
        values: the arrays, one after another.
        layout: their layout.
        points: contact points.
    """

    q: np.ndarray
    w: np.ndarray
    v: np.ndarray
    D: np.ndarray
    residual: float
    gap: float
    slip: float
    active: np.ndarray
    surfaces: np.ndarray
    curved: bool
    secant: VertexSecant | None
    values: np.ndarray
    layout: Layout
    points: ContactArrays


class Evaluation(_Point):
    """Values of the equations at a point (q, w), with the arrays of `kernels.EvaluationArrays`."""

    __slots__ = ()

    G = _Array("G")
    tau = _Array("tau")
    stiffness = _Array("stiffness")
    S = _Array("S")
    subtree = _Array("subtree")
    P = _Array("P")
    placements = _Array("placements")
    centre = _Array("centre")
    depth = _Array("depth")
    normal = _Array("normal")
    curvature = _Array("curvature")
    friction = _Array("friction")
    V = _Array("V")
    wrench = _Array("wrench")
    motion = _Array("motion")
    work = _Array("work")

    @property
    def contacts(self) -> ContactState:
        """The contacts in the frames of the bodies that they touch."""
        return ContactState(
            self.centre,
            self.placements[:, :3].transpose(0, 2, 1),
            self.depth,
            self.normal,
            self.curvature if self.curved else None,
            self.friction,
            self.points.radii,
            self.surfaces,
            self.points.index,
        )


class Linearisation(NamedTuple):
    """Derivatives of the equations at a point: dG/dq = A, -dG/dw = J_force' V, du/dq = J_motion.

    Args:
        A: shape (nv, nv).
        J_force: Jacobian on which the wrenches of the active contacts work, (k, rows, nv).
        J_motion: derivative of their motions, shape (k, rows, nv).
    """

    A: np.ndarray
    J_force: np.ndarray
    J_motion: np.ndarray
