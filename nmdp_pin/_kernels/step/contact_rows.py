"""Rows of the contacts of a stage: wrenches V w, motions u and works V'u."""

from __future__ import annotations

from nmdp_pin._kernels.algebra.linear import clear_matrix, clear_vector
from nmdp_pin._kernels.compiler.callbacks import call_vertices
from nmdp_pin._kernels.compiler.jit import jit
from nmdp_pin._kernels.compiler.record import vector
from nmdp_pin._kernels.contact.contact_motion import displacement, velocity_motion, wrench_at_origin
from nmdp_pin._kernels.contact.friction_cone import cone_vertices, largest_force, tangent_frame
from nmdp_pin._kernels.geometry.contacts import Contacts
from nmdp_pin._kernels.geometry.planes import place_contacts
from nmdp_pin._kernels.step.stage_records import GAP, SLIP, Stage, StageIterate, System, force_of
from nmdp_pin._kernels.step.surface_motion import add_surface_motion
from nmdp_pin._kernels.tree.tree import add_children, project_wrenches, subtract_from_bodies

_NO_FORCE = 1e-9  # of the weight; what weaker contacts do is not felt
_NOTHING = 1e-15  # of the weight; weaker contacts, as at touch, have works of rounding errors alone


@jit
def update_cones(system: System, contacts: Contacts, at: StageIterate) -> None:
    """Places of the contacts and vertices of their wrench spaces at a point."""
    places, n = at.places, contacts.n[0]
    place_contacts(system.candidates, contacts, at.P, places)
    for i in range(n if system.idle.size > 0 else 0):
        if system.idle[contacts.index[i]]:  # no force does anything
            places.depth[i], places.on_internal_edge[i] = -1.0, True
    if system.called:
        call_vertices(system.called, contacts.index[:n], places, at.V)
    for i in range(n):
        if system.forces:
            tangent_frame(places.normal[i], at.V[i])
        elif not system.called:
            cone_vertices(
                system.cone,
                places.stiffness[i],
                places.depth[i],
                places.normal[i],
                places.friction[i],
                at.V[i],
            )
        if places.on_internal_edge[i]:
            at.V[i].fill(0.0)


@jit
def subtract_contacts(system: System, stage: Stage, at: StageIterate) -> None:
    """Wrenches V w, motions u and works V'u; the generalised force is subtracted from G."""
    tree, places, contacts = system.tree, at.places, stage.contacts
    n, rows, m, h = contacts.n[0], system.rows, at.w.shape[1], 1.0 / stage.rate
    update_cones(system, contacts, at)
    point = vector(3)
    clear_matrix(at.loads)
    k = 0
    for i in range(n):
        a, b = contacts.bodies[i, 0], contacts.bodies[i, 1]
        for j in range(3):
            point[j] = places.centre[i, j] + (places.arm[i, j] if rows == 3 else 0.0)
        if stage.displaced:
            displacement(
                places.placements[i],
                contacts.reference[i],
                places.centre[i],
                places.arm[i],
                at.motion[i],
            )
        else:
            velocity_motion(at.P, at.twists, a, b, point, h, at.motion[i])
        add_surface_motion(system.surfaces, contacts, places, i, -h, at.motion[i])
        rate = system.candidates.rise[contacts.index[i]]
        if rate > 0.0 and places.depth[i] > 0.0:
            rise = h * rate * places.depth[i] * (1.0 - share_of_load(system, at, i))
            for j in range(3):
                at.motion[i, j] -= rise * places.normal[i, j]
        clear_vector(at.origin[i])
        if not _weigh(system, at, i, rows, m):
            continue
        at.active[k] = i
        k += 1
        wrench_at_origin(at.P, b, point, at.wrench[i], at.origin[i])
    at.n_active[0] = at.n_active[1] = k
    if k > 0:
        subtract_from_bodies(contacts.bodies, at.origin, n, -1.0, at.loads)
        add_children(tree.parents, at.loads)
        force = vector(at.G.size)
        project_wrenches(at.S, tree.first_dofs, at.loads, force)
        for l in range(at.G.size):
            at.G[l] += force[l]


@jit
def share_of_load(system: System, at: StageIterate, i: int) -> float:
    """Share s of its largest force that a contact applies, at most 1."""
    if system.forces:
        most = largest_force(system.cone, at.places.stiffness[i], at.places.depth[i])
        return min(at.w[i, 2] / most, 1.0) if at.w[i, 2] > 0.0 and most > 0.0 else 0.0
    total = 0.0
    for e in range(at.w.shape[1]):
        total += at.w[i, e]
    return total


@jit
def _weigh(system: System, at: StageIterate, i: int, rows: int, m: int) -> bool:
    """Wrench and works of a contact, of weights its part of the gap and the slip; does it act?

    With forces all contacts of a step do, also those that are apart.
    """
    largest, weight = 0.0, system.tree.weight
    clear_vector(at.work[i])
    for a in range(rows):
        total = 0.0
        for e in range(m):
            x = at.V[i, a, e]
            if x != 0.0:
                largest = max(largest, abs(x))
                total += x * at.w[i, e]
                at.work[i, e] += x * at.motion[i, a]
        at.wrench[i, a] = total
    if largest == 0.0 or system.forces:
        return largest > 0.0
    gap, least = 0.0, 0.0
    for e in range(m):
        gap += at.work[i, e] * at.w[i, e]
        least = min(least, at.work[i, e])
    gap -= least
    at.sums[GAP] += gap
    at.sums[SLIP] = max(at.sums[SLIP], gap / max(force_of(at, i), _NO_FORCE * weight))
    return largest > _NOTHING * weight
