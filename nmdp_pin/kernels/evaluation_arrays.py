"""Arrays of an evaluation of the equations of a step, parts of one array of numbers.

A table has a row for each array: its begin, its end, and up to three sizes of its axes. Kernels
take the arrays that they need by the constants of this module, the indices of the rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmdp_pin.kernels.jit import jit

G, TAU, STIFFNESS, S, SUBTREE, P = range(6)
PLACEMENTS, CENTRE, DEPTH, NORMAL, CURVATURE, FRICTION = range(6, 12)
VERTICES, WRENCH, MOTION, WORK = range(12, 16)


@jit
def vector(values: np.ndarray, table: np.ndarray, i: int) -> np.ndarray:
    """An array of one axis."""
    return values[table[i, 0] : table[i, 1]]


@jit
def matrix(values: np.ndarray, table: np.ndarray, i: int) -> np.ndarray:
    """An array of two axes."""
    return values[table[i, 0] : table[i, 1]].reshape((table[i, 2], table[i, 3]))


@jit
def stack(values: np.ndarray, table: np.ndarray, i: int) -> np.ndarray:
    """An array of three axes."""
    part = values[table[i, 0] : table[i, 1]]
    return part.reshape((table[i, 2], table[i, 3], table[i, 4]))


class EvaluationArrays(NamedTuple):
    """Parts of an evaluation with n contacts and r joints that have a stop or dry friction.

    Args:
        G: residual [N or N m], shape (nv,).
        tau: joint torque [N m or N], shape (nv,).
        stiffness: dG/dq without the contacts' part, shape (nv, nv).
        S: motions of the dofs at the world's origin, shape (nv, 6).
        subtree: wrenches about the origin of the bodies that each dof moves, shape (nv, 6).
        P: placements of all joints, shape (n_joints, 4, 3).
        placements: placements of the contacts' carriers relative to what they touch, (n, 4, 3).
        centre: centres of the contact spheres, shape (n, 3).
        depth: penetrations, shape (n,).
        normal: normals of the surfaces, shape (n, 3).
        curvature: derivatives of the normals, undefined on flat surfaces, shape (n, 3, 3).
        friction: friction coefficients, shape (n,).
        V: vertices of the wrench spaces, shape (n + r, rows, m).
        wrench: wrenches V w, shape (n + r, rows).
        motion: motions u on which the wrenches worked, shape (n + r, rows).
        work: V' u of every vertex [J], shape (n + r, m).
    """

    G: np.ndarray
    tau: np.ndarray
    stiffness: np.ndarray
    S: np.ndarray
    subtree: np.ndarray
    P: np.ndarray
    placements: np.ndarray
    centre: np.ndarray
    depth: np.ndarray
    normal: np.ndarray
    curvature: np.ndarray
    friction: np.ndarray
    V: np.ndarray
    wrench: np.ndarray
    motion: np.ndarray
    work: np.ndarray


def shapes(
    nv: int, n_joints: int, n: int, total: int, m: int, rows: int
) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays by their names, in order.

    Args:
        nv: number of dofs.
        n_joints: number of joints, with the universe.
        n: number of contacts.
        total: number n + r of contacts and joints with a stop or dry friction.
        m: number of vertices of a contact.
        rows: number of components of a vertex.
    """
    return {
        "G": (nv,),
        "tau": (nv,),
        "stiffness": (nv, nv),
        "S": (nv, 6),
        "subtree": (nv, 6),
        "P": (n_joints, 4, 3),
        "placements": (n, 4, 3),
        "centre": (n, 3),
        "depth": (n,),
        "normal": (n, 3),
        "curvature": (n, 3, 3),
        "friction": (n,),
        "V": (total, rows, m),
        "wrench": (total, rows),
        "motion": (total, rows),
        "work": (total, m),
    }


class Layout:
    """Places of the arrays in one array of numbers; its arguments are those of `shapes`.

    Attributes:
        places: begin, end and shape of each array, by its name.
        size: length of the array of numbers.
        table: the same for kernels, shape (16, 5).
    """

    def __init__(self, *sizes: int) -> None:
        self.places, begin = {}, 0
        rows = []
        for name, shape in shapes(*sizes).items():
            end = begin + math.prod(shape)
            self.places[name] = begin, end, shape
            rows.append([begin, end, *shape, *[0] * (3 - len(shape))])
            begin = end
        self.size, self.table = begin, np.array(rows)

    def arrays(self, values: np.ndarray) -> EvaluationArrays:
        """The arrays, as views of the array of numbers."""
        places = self.places.values()
        return EvaluationArrays(*(values[a:b].reshape(shape) for a, b, shape in places))
