"""Inertia of material points in a stage ([N] eq. 12), in place of inverse dynamics."""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.inertia import inertial_gradient, inertial_hessian, momentum_change
from nmdp_pin._kernels.jit import jit
from nmdp_pin._kernels.manifold import add_multiplied_rows, add_rows
from nmdp_pin._kernels.stage import VELOCITIES, Point, Stage, System, copy_kinematics


@jit
def material_inertia(system: System, stage: Stage, at: Point) -> None:
    """Write kinematics, and the inertia of material points with its derivative in G and A.

    In first order G is the gradient of rate^2 E with the inertial potential E and
    the target X_hat, in second order the change rate (M v - integral of rho (dX/dq)' Z) of the
    momentum, Z being the velocities that the points would have without forces. Pinocchio has
    written the kinematics, and in second order the momentum of the bodies and rotors.

    Args:
        system: what all steps share.
        stage: equations of the stage.
        at: the point.
    """
    dynamics, tree, rate = system.dynamics, system.tree, stage.rate
    nv = at.v.size
    copy_kinematics(dynamics, at)
    for k in range(nv):
        for l in range(nv):
            at.A[k, l] = 0.0
    if stage.form == VELOCITIES:
        momentum_change(tree, at.P, at.S, stage.target, at.G, at.A)
        for k in range(nv):
            at.G[k] = rate * (at.G[k] + dynamics.tau[k] - tree.rotors[k] * stage.v_ref[k])
            for l in range(nv):
                at.A[k, l] = rate * (at.A[k, l] + dynamics.of_q[k, l])
        add_multiplied_rows(tree.space, dynamics.M, at.D, rate * rate, at.A)
        return
    wrenches, scale = np.empty((len(tree.parents), 6)), rate * rate
    inertial_gradient(at.P[1:], stage.target, tree, at.S, wrenches, at.G)
    inertial_hessian(at.P[1:], stage.target, tree, at.S, wrenches, at.A)
    for k in range(nv):
        rotor = rate * tree.rotors[k]
        at.G[k] = scale * at.G[k] + rotor * (at.v[k] - stage.v_ref[k])
        for l in range(nv):
            at.A[k, l] *= scale
    add_rows(tree.space, tree.rotors, at.D, scale, at.A)
