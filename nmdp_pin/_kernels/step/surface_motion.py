"""Motion of surfaces along themselves, such as belts and turntables: s = v + w x.

It is that of the touched surface less that of the touching one, at the point x where the force of a
contact acts. A contact slips by what its bodies move relative to each other, less h s.
"""

from __future__ import annotations

from nmdp_pin._kernels.algebra.vector3 import cross_into, dot, rotate
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, vector
from nmdp_pin._kernels.geometry.contacts import ContactFrames, Contacts
from nmdp_pin._kernels.geometry.polytopes import ON_A


@jit
def surface_twists(
    surfaces: Array, contacts: Contacts, places: ContactFrames, i: int, one: Array, other: Array
) -> None:
    """Twists of the surfaces of contact i in the frame of the touched body, touched one first.

    Args:
        surfaces: twists of the surfaces of each candidate, see `System`.
        contacts: contacts of the step.
        places: where they are.
        i: number of the contact.
        one: output, twist of the touched surface, linear, then angular, shape (6,).
        other: output, of the touching one, shape (6,).
    """
    c, M, x = contacts.index[i], places.placements[i], vector(3)
    touched = 0 if contacts.features[c, 0] == ON_A else 1
    for k in range(6):
        one[k] = surfaces[c, touched, k]
    rotate(M, surfaces[c, 1 - touched, :3], other[:3])
    rotate(M, surfaces[c, 1 - touched, 3:], other[3:])
    cross_into(M[3], other[3:], x)
    for k in range(3):
        other[k] += x[k]


@jit
def add_surface_motion(
    surfaces: Array,
    contacts: Contacts,
    places: ContactFrames,
    i: int,
    factor: float,
    motion: Array,
) -> None:
    """Add a multiple of s at contact i, in the axes of the touched body [m/s], shape (3,)."""
    if len(surfaces) == 0:
        return
    one, other, point, s = vector(6), vector(6), vector(3), vector(3)
    surface_twists(surfaces, contacts, places, i, one, other)
    for k in range(6):
        one[k] -= other[k]
    for k in range(3):
        point[k] = places.centre[i, k] + places.arm[i, k]
    cross_into(one[3:], point, s)
    for k in range(3):
        s[k] += one[k]
    along = dot(places.normal[i], s)
    for k in range(3):
        motion[k] += factor * (s[k] - along * places.normal[i, k])


@jit
def add_surface_map(
    surfaces: Array,
    contacts: Contacts,
    places: ContactFrames,
    i: int,
    factor: float,
    N: Array,
    L: Array,
    U: Array,
) -> None:
    """Add a multiple of the derivative of s at contact i by the motion of its body.

    With X = 1 + L the motion of the point, and F that of the material there, it is
    [w1] X - [w2] (X - F) + [0, [s2]], of which the part along the normal is taken out.

    Args:
        surfaces: twists of the surfaces of each candidate, see `System`.
        contacts: contacts of the step.
        places: where they are.
        i: number of the contact.
        factor: the multiple.
        N: derivative of the normal, shape (3, 6).
        L: derivative of the arm, shape (3, 6).
        U: output, to which it is added, shape (>= 3, 6).
    """
    if len(surfaces) == 0:
        return
    one, other, point, s, own = vector(6), vector(6), vector(3), vector(3), vector(3)
    surface_twists(surfaces, contacts, places, i, one, other)
    n, arm, S, x, y, e = (
        places.normal[i],
        places.arm[i],
        matrix(3, 6),
        vector(3),
        vector(3),
        vector(3),
    )
    for k in range(3):
        point[k] = places.centre[i, k] + arm[k]
    cross_into(other[3:], point, own)
    cross_into(one[3:], point, s)
    for k in range(3):
        own[k] += other[k]
        s[k] += one[k] - own[k]
    for k in range(6):
        for j in range(3):
            e[j] = 1.0 if k % 3 == j else 0.0
        cross_into(arm, e, y)
        for j in range(3):
            x[j] = L[j, k] + (e[j] if k < 3 else 0.0)
            y[j] = L[j, k] + (y[j] if k >= 3 else 0.0)
        cross_into(one[3:], x, point)
        cross_into(other[3:], y, x)
        cross_into(own, e, y)
        for j in range(3):
            S[j, k] = point[j] - x[j] + (y[j] if k >= 3 else 0.0)
    along = dot(n, s)
    for k in range(6):
        change = n[0] * S[0, k] + n[1] * S[1, k] + n[2] * S[2, k]
        change += s[0] * N[0, k] + s[1] * N[1, k] + s[2] * N[2, k]
        for j in range(3):
            U[j, k] += factor * (S[j, k] - n[j] * change - along * N[j, k])
