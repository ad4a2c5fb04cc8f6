"""Scripted dofs, whose motion commands state: q at the end of a step, and v there.

Such a dof has no equation of motion. Its row of G is how far it is from where it has to be, which
no force changes, and its torque is what the other equations leave: the force that moves it.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.algebra.linear import clear_vector
from nmdp_pin._kernels.algebra.manifold import difference, difference_derivative
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.step.stage_records import Stage, StageIterate, StageJacobians, System
from nmdp_pin._kernels.step.step_records import Scheme, Start


@jit
def is_scripted(system: System, l: int) -> bool:
    """Whether dof l is scripted."""
    scripted: bool = system.scripted.size > 0 and system.scripted[l]
    return scripted


@jit
def state_script(system: System, scheme: Scheme, start: Start, stage: Stage) -> None:
    """Write the motions of scripted dofs in a stage, whose reference is stated.

    A step ends where its last command says. An earlier stage ends with the velocity of the parabola
    through the start and that end which has the command's velocity there; with it SDIRK2 ends with
    this velocity too.

    Args:
        system: what all steps share.
        scheme: time scheme.
        start: start of the step.
        stage: output.
    """
    if system.scripted.size == 0:
        return
    commands, h = start.commands, start.h
    last = commands.kp.shape[0] - 1
    if stage.closes:
        difference(system.tree.space, stage.q_ref, commands.q_target[last], stage.script)
        return
    difference(system.tree.space, start.q, commands.q_target[last], stage.script)
    c = scheme.a[0, 0]
    for l in range(stage.script.size):
        v = commands.v_target[last, l]
        stage.script[l] = c * (h * v - 2.0 * (1.0 - c) * (h * v - stage.script[l]))


@jit
def hold_script(system: System, stage: Stage, at: StageIterate) -> None:
    """Make G of scripted dofs their distance from the script; what it was is their torque."""
    for l in range(system.scripted.size):
        if system.scripted[l]:
            at.tau[l] += at.G[l]
            at.G[l] = at.v[l] / stage.rate - stage.script[l]


@jit
def linearise_script(system: System, at: StageIterate, linear: StageJacobians) -> None:
    """Write the rows of A of scripted dofs; no force acts on these."""
    for l in range(system.scripted.size):
        if system.scripted[l]:
            for c in range(at.v.size):
                linear.A[l, c] = at.D[l, c]
    if system.scripted.size == 0:
        return
    for x in range(at.n_active[0]):
        for s in range(linear.n_dofs[x]):
            if system.scripted[linear.dofs[x, s]]:
                linear.J_force[x, :, s] = 0.0


@jit
def add_script_rates(
    system: System, scheme: Scheme, start: Start, stage: Stage, v_z: Array, G_z: Array
) -> None:
    """Write the rows of dG/dz of scripted dofs: the end of an earlier stage depends on the start.

    Args:
        system: what all steps share.
        scheme: time scheme.
        start: start of the step.
        stage: equations of the stage.
        v_z: derivative dv/dz with q held, shape (nv, nz).
        G_z: output, shape (nv, nz).
    """
    nv, c = start.v.size, scheme.a[0, 0]
    if system.scripted.size == 0:
        return
    back, D = np.empty(nv), np.eye(nv)
    difference(system.tree.space, start.commands.q_target[-1], start.q, back)
    if not system.tree.space.flat:
        difference_derivative(system.tree.space, back, D)
    for l in range(nv):
        if system.scripted[l]:
            for z in range(G_z.shape[1]):
                G_z[l, z] = 0.0 if stage.closes else v_z[l, z] / stage.rate
            for k in range(0 if stage.closes else nv):
                G_z[l, k] += 2.0 * c * (1.0 - c) * D[l, k]


@jit
def clear_script_rows(system: System, G_p: Array) -> None:
    """Clear the rows of scripted dofs, which no torque or parameter moves."""
    for l in range(system.scripted.size):
        if system.scripted[l]:
            clear_vector(G_p[l])
