"""Arrays of an evaluation of the equations of a step, parts of one array of numbers."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmdp_pin.kernels.jit import jit


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
        table: arguments of `shapes`, then the begins of the arrays and the length, for kernels.
    """

    def __init__(self, *sizes: int) -> None:
        self.places, begin = {}, 0
        table = list(sizes)
        for name, shape in shapes(*sizes).items():
            end = begin + math.prod(shape)
            self.places[name] = begin, end, shape
            table.append(begin)
            begin = end
        self.size = begin
        self.table = np.array([*table, begin])


@jit
def evaluation_arrays(values: np.ndarray, table: np.ndarray) -> EvaluationArrays:
    """The arrays, as views.

    Args:
        values: array of numbers, shape (size,).
        table: table of the layout.
    """
    nv, n_joints, n, total, m, rows = table[0], table[1], table[2], table[3], table[4], table[5]
    at = table[6:]
    return EvaluationArrays(
        values[at[0] : at[1]],
        values[at[1] : at[2]],
        values[at[2] : at[3]].reshape((nv, nv)),
        values[at[3] : at[4]].reshape((nv, 6)),
        values[at[4] : at[5]].reshape((nv, 6)),
        values[at[5] : at[6]].reshape((n_joints, 4, 3)),
        values[at[6] : at[7]].reshape((n, 4, 3)),
        values[at[7] : at[8]].reshape((n, 3)),
        values[at[8] : at[9]],
        values[at[9] : at[10]].reshape((n, 3)),
        values[at[10] : at[11]].reshape((n, 3, 3)),
        values[at[11] : at[12]],
        values[at[12] : at[13]].reshape((total, rows, m)),
        values[at[13] : at[14]].reshape((total, rows)),
        values[at[14] : at[15]].reshape((total, rows)),
        values[at[15] : at[16]].reshape((total, m)),
    )
