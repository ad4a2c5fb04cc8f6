"""Forces of the penalty contacts of a step of position-based dynamics, and their stiffness."""

from __future__ import annotations

from nmdp_pin._kernels.algebra.linear import clear_matrix, clear_vector, copy_matrix
from nmdp_pin._kernels.algebra.vector3 import dot, rotate
from nmdp_pin._kernels.compiler.jit import jit
from nmdp_pin._kernels.compiler.record import matrix, vector
from nmdp_pin._kernels.contact.contact_motion import (
    displacement,
    stiffness_at_origin,
    turn_back,
    wrench_at_origin,
)
from nmdp_pin._kernels.contact.penalty import (
    CURVED,
    FRICTIONAL,
    Touch,
    conservative_derivative,
    friction_energy,
    frictional_derivative,
    gauss_newton,
    measure,
    new_touch,
    stored_energy,
    wrench_of,
)
from nmdp_pin._kernels.geometry.planes import bend_contacts
from nmdp_pin._kernels.step.position_records import PositionStep
from nmdp_pin._kernels.step.surface_motion import add_surface_map, add_surface_motion


@jit
def describe_contact(step: PositionStep, i: int, t: Touch) -> bool:
    """Describe contact i; False where it does not touch."""
    places, reference, u = step.trial.places, step.ref.contacts.reference[i], vector(3)
    depth, radius = places.depth[i], -dot(places.arm[i], places.normal[i])
    if not depth > 0.0:
        return False
    for j in range(3):
        t.n[j], t.arm[j] = places.normal[i, j], 0.0
    displacement(places.placements[i], reference, places.centre[i], t.arm, u)
    surfaces, contacts, h = step.scene.surfaces, step.ref.contacts, step.start.h
    add_surface_motion(surfaces, contacts, places, i, -h, u)
    clear_matrix(t.of_surface)
    add_surface_map(surfaces, contacts, places, i, -h, places.N[i], places.L[i], t.of_surface)
    turn_back(places.placements[i], reference, t.turn)
    t.sizes[CURVED] = 1.0 if places.curved[i] else 0.0
    if places.curved[i]:
        copy_matrix(places.curvature[i], t.K)
    stiffness, friction = places.stiffness[i], places.friction[i]
    measure(step.scene.law, h, depth, stiffness, friction, u, radius, t)
    return True


@jit
def write_contact_forces(step: PositionStep) -> None:
    """Write the wrenches of all contacts and their energies, after `place_contacts`."""
    law, contacts, trial, forces = step.scene.law, step.ref.contacts, step.trial, step.trial.forces
    t, wrench = new_touch(len(step.scene.surfaces) > 0), vector(6)
    forces.stored = forces.friction = 0.0
    bend_contacts(step.scene.candidates, contacts, trial.places)
    for i in range(contacts.n[0]):
        w, at = forces.wrenches[i], forces.origin[i]
        clear_vector(w)
        clear_vector(at)
        if not describe_contact(step, i, t):
            continue
        wrench_of(law, t, wrench)
        forces.stored += stored_energy(law, t)
        if law.kind != FRICTIONAL:
            forces.friction += friction_energy(law, t)
        b = contacts.bodies[i, 1]
        rotate(trial.P[b], wrench[:3], w[:3])
        rotate(trial.P[b], wrench[3:], w[3:])
        wrench_at_origin(trial.P, b, trial.places.centre[i], wrench, at)


@jit
def write_contact_stiffness(step: PositionStep, exact: bool) -> None:
    """Derivatives of the wrenches at the world's origin by motions relative to the touched bodies.

    They are exact, or of conservative forces minus the Gauss-Newton part of the Hessian.
    """
    law, contacts, trial = step.scene.law, step.ref.contacts, step.trial
    t, wrench, D = new_touch(len(step.scene.surfaces) > 0), vector(6), matrix(6, 6)
    for i in range(contacts.n[0]):
        stiffness = trial.forces.stiffness[i]
        clear_vector(stiffness)
        if not describe_contact(step, i, t):
            continue
        wrench_of(law, t, wrench)
        if law.kind == FRICTIONAL:
            frictional_derivative(law, t, wrench, D)
        elif exact:
            conservative_derivative(law, t, D)
        else:
            gauss_newton(law, t, D)
            for j in range(6):
                for k in range(6):
                    D[j, k] = -D[j, k]
        b, centre = contacts.bodies[i, 1], trial.places.centre[i]
        stiffness_at_origin(trial.P, b, centre, wrench, D, exact, stiffness)
