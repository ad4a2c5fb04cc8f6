"""Springs of joints, and those that hold mimic joints to their primaries."""

from __future__ import annotations

from nmdp_pin._kernels.algebra.lie import log_derivative, quaternion_log, quaternion_product
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, record, vector, zero_matrix, zero_vector


@record
class Springs:
    """Springs of energy k e^2 / 2.

    Of a spring s along joints with one coordinate each, e is the sum of `factors` times `q` over
    its rows, from first[s] to first[s + 1], minus its rest. Of a spring of a ball joint e is the
    rotation vector from its rest.

    Args:
        first: first row of each of s springs, and the number of rows, shape (s + 1,).
        coordinates: index in q of each row, shape (c,).
        dofs: index in v of each row, shape (c,).
        factors: factor of each row, shape (c,).
        rest: length at which a spring has no force [rad or m], shape (s,).
        stiffness: [N m/rad or N/m], shape (s,).
        ball_coordinates: index in q of each of b ball joints, shape (b,).
        ball_dofs: index in v of each, shape (b,).
        ball_rest: rotations without force, unit quaternions (x, y, z, w), shape (b, 4).
        ball_stiffness: [N m/rad], shape (b,).
    """

    first: Array
    coordinates: Array
    dofs: Array
    factors: Array
    rest: Array
    stiffness: Array
    ball_coordinates: Array
    ball_dofs: Array
    ball_rest: Array
    ball_stiffness: Array


@jit
def spring_energy(springs: Springs, q: Array) -> float:
    """The energy of all springs at a configuration [J]."""
    return add_springs(springs, q, vector(0), matrix(0, 0))


@jit
def add_spring_energies(springs: Springs, q: Array, places: Array, energies: Array) -> None:
    """Add the energy of each spring at the place of its first dof [J].

    Args:
        springs: the springs.
        q: configuration, shape (nq,).
        places: place of each dof in the energies, shape (nv,).
        energies: output, shape (n,).
    """
    error = zero_vector(3)
    for s in range(springs.stiffness.size):
        energy = 0.5 * springs.stiffness[s] * _stretch(springs, q, s) ** 2
        energies[places[springs.dofs[springs.first[s]]]] += energy
    for b in range(springs.ball_stiffness.size):
        _ball_stretch(springs, q, b, error)
        square = error[0] * error[0] + error[1] * error[1] + error[2] * error[2]
        energies[places[springs.ball_dofs[b]]] += 0.5 * springs.ball_stiffness[b] * square


@jit
def _stretch(springs: Springs, q: Array, s: int) -> float:
    """Length of a spring along joints beyond its rest [rad or m]."""
    error = -springs.rest[s]
    for x in range(springs.first[s], springs.first[s + 1]):
        error += springs.factors[x] * q[springs.coordinates[x]]
    value: float = error
    return value


@jit
def _ball_stretch(springs: Springs, q: Array, b: int, error: Array) -> None:
    """Rotation vector of a ball joint from the rest of its spring, shape (3,)."""
    turn, product, at = vector(4), vector(4), springs.ball_coordinates[b]
    for i in range(3):
        turn[i] = -springs.ball_rest[b, i]
    turn[3] = springs.ball_rest[b, 3]
    quaternion_product(turn, q[at : at + 4], product)
    quaternion_log(product, error)


@jit
def add_springs(springs: Springs, q: Array, G: Array, A: Array) -> float:
    """Add the gradient of the springs' energy to G and its derivative to A; the energy [J].

    Args:
        springs: the springs.
        q: configuration, shape (nq,).
        G: dynamics residual, shape (nv,); empty: it is not wanted.
        A: its derivative, shape (nv, nv); empty: it is not wanted.
    """
    energy = _add_ball_springs(springs, q, G, A)
    for s in range(springs.stiffness.size):
        begin, end, k = springs.first[s], springs.first[s + 1], springs.stiffness[s]
        error = _stretch(springs, q, s)
        energy += 0.5 * k * error * error
        if G.size == 0:
            continue
        for x in range(begin, end):
            pull = k * springs.factors[x]
            G[springs.dofs[x]] += pull * error
            if A.size == 0:
                continue
            for y in range(begin, end):
                A[springs.dofs[x], springs.dofs[y]] += pull * springs.factors[y]
    return energy


@jit
def _add_ball_springs(springs: Springs, q: Array, G: Array, A: Array) -> float:
    """As `add_springs`, of the springs of ball joints."""
    error, D, energy = zero_vector(6), zero_matrix(6, 6), 0.0
    for b in range(springs.ball_stiffness.size):
        dof, k = springs.ball_dofs[b], springs.ball_stiffness[b]
        _ball_stretch(springs, q, b, error[3:])
        for i in range(3):
            energy += 0.5 * k * error[3 + i] * error[3 + i]
        if G.size == 0:
            continue
        for i in range(3):
            G[dof + i] += k * error[3 + i]
        if A.size == 0:
            continue
        log_derivative(error, D)
        for i in range(3):
            for j in range(3):
                A[dof + i, dof + j] += k * D[3 + i, 3 + j]
    return energy
