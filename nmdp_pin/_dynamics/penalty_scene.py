"""A system with a penalty law as records of the kernels, and the memory of its steps."""

from dataclasses import replace

import numpy as np

from nmdp_pin._contact.penalty import Penalty
from nmdp_pin._dynamics.commands import length_of_commands, new_commands, new_torque
from nmdp_pin._dynamics.geometry.candidates import n_contacts_of, new_contacts, new_places
from nmdp_pin._dynamics.joint_bounds import joints_of
from nmdp_pin._dynamics.kinematic_tree import check_kinematics, tree_of
from nmdp_pin._dynamics.law_pairs import stiffnesses_of
from nmdp_pin._dynamics.surface_twists import surface_twists
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.contact.penalty import PenaltyLaw
from nmdp_pin._kernels.step.levenberg_marquardt import ENTRIES
from nmdp_pin._kernels.step.position_records import (
    ContactForces,
    PositionStep,
    Scene,
    StepReference,
    StepStart,
    Trial,
)
from nmdp_pin._robot.trees import inertia_at
from nmdp_pin.errors import ContactError

# Rigid loops and grips give more than where their forces are unknowns: 1e-8 m under the weight of
# what they hold. Stiffer ones take many iterations where bodies turn fast.
_SOFTER, _SOFTER_GRIPS = 1e1, 1e4


def scene_of(
    system: System[Penalty], *, kind: int, semidefinite: bool, known: Scene | None = None
) -> Scene:
    """What all steps of a system share.

    Args:
        system: simulated system; the normal stiffness of its law is known, see
            `Penalty.for_load`.
        kind: kind of the friction, FRICTIONAL or CONSERVATIVE.
        semidefinite: as in `Scene`.
        known: scene of the system with other parameters, if it exists.
    """
    robot, law = system.robot, system.law
    if known is None:
        check_kinematics(robot.model)
    inertia = inertia_at(robot.model, robot.standing)
    if law.normal_stiffness is None:
        raise ContactError("the normal stiffness is not known; use law.for_load(load)")
    stiffness = stiffnesses_of(system)
    if np.isinf(stiffness).any():
        raise ContactError(
            "a body or a pair of bodies has a stiffness of inf, and penalty forces know no rigid "
            "contact: give a finite stiffness, or use an NMDP method"
        )
    joints = joints_of(robot, inertia, known=known.joints if known else None)
    loops = joints.loops
    softer = np.where(loops.grips, _SOFTER_GRIPS, np.where(loops.springs, 1.0, _SOFTER))
    softer = softer.repeat(np.diff(loops.first))
    loops = replace(loops, compliance=softer * loops.compliance)
    return Scene(
        tree=tree_of(robot, inertia, known=known.tree if known else None),
        candidates=replace(system.pairs, stiffness=stiffness),
        surfaces=surface_twists(robot, system.terrain, system.pairs),
        joints=replace(joints, loops=loops),
        law=PenaltyLaw(
            kind=kind,
            friction=-1.0 if law.friction_stiffness is None else float(law.friction_stiffness),
            slip_speed=float(law.slip_speed),
            alpha=float(law.alpha),
            beta=float(law.beta),
            gamma=float(law.gamma),
        ),
        semidefinite=semidefinite,
    )


def new_step(scene: Scene, tolerance: float, max_iterations: int) -> PositionStep:
    """Memory for the steps of a scene, one at a time.

    Args:
        scene: what all steps share.
        tolerance: bound on the residual, relative to the weight.
        max_iterations: largest number of linear solves.
    """
    tree = scene.tree
    n, nq, nv = len(tree.parents), int(tree.space.first_q[-1]), int(tree.first_dofs[-1])
    return PositionStep(
        scene=scene,
        start=_new_start(nq, nv, len(scene.joints.loops.kinds)),
        tolerance=tolerance,
        max_iterations=max_iterations,
        ref=_new_reference(n, nv, scene),
        trial=_new_trial(n, nq, nv, n_contacts_of(scene.candidates)),
        bound=0.0,
        q=np.zeros(nq),
        r=np.zeros(nv),
        F=np.zeros((nv, nv)),
        dx=np.zeros(nv),
        account=np.zeros(ENTRIES),
        kinetic=0.0,
        potential=0.0,
        stored=0.0,
        pivots=0.0,
        formed=False,
        gram=np.zeros((nv, nv)),
        descent=np.zeros(nv),
        freed=np.zeros(nv),
    )


def _new_start(nq: int, nv: int, c: int) -> StepStart:
    """Memory for the data of a step with c loops."""
    values = np.zeros(nq + nv + length_of_commands(1, nq, nv))
    q0, v0, commands = np.split(values, [nq, nq + nv])
    return StepStart(
        values=values,
        q0=q0,
        v0=v0,
        commands=new_commands(commands, 1, nv),
        torque=new_torque(np.zeros(nq), nv),
        held=np.ones(c, dtype=bool),
        h=1.0,
    )


def _new_reference(n: int, nv: int, scene: Scene) -> StepReference:
    """Memory for what follows from the start of a step of n bodies."""
    return StepReference(
        P0=np.zeros((n + 1, 4, 3)),
        S0=np.zeros((nv, 6)),
        twists=np.zeros((n + 1, 6)),
        target=np.zeros((n, 4, 3)),
        frames=scene.joints.loops.frames.copy(),
        metric=np.zeros((nv, nv)),
        U=np.zeros((nv, nv)),
        kinetic=0.0,
        potential=0.0,
        contacts=new_contacts(scene.candidates),
    )


def _new_trial(n: int, nq: int, nv: int, m: int) -> Trial:
    """Memory for a step of n bodies with m contacts at one configuration."""
    return Trial(
        q=np.zeros(nq),
        v=np.zeros(nv),
        y=np.zeros(nv),
        e=np.zeros(nv),
        D=np.eye(nv),
        D_t=np.eye(nv),
        P=np.zeros((n + 1, 4, 3)),
        S=np.zeros((nv, 6)),
        places=new_places(m),
        forces=ContactForces(
            wrenches=np.zeros((m, 6)),
            origin=np.zeros((m, 6)),
            stiffness=np.zeros((m, 36)),
            stored=0.0,
            friction=0.0,
        ),
        wrenches=np.zeros((n, 6)),
        stiffness=np.zeros((n, 36)),
        r=np.zeros(nv),
        tau=np.zeros(nv),
        A=np.zeros((nv, nv)),
        space=np.zeros((4, nv)),
    )
