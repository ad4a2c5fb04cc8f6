"""Scenes of compiled steps as arrays for devices."""

from __future__ import annotations

import numpy as np

from nmdp_pin._dynamics.surface_twists import refuse_surface_motion
from nmdp_pin._integrators.pbfd import Pbfd
from nmdp_pin._jax.compiled_contacts import contacts_of
from nmdp_pin._jax.scene import DeviceScene, Structure
from nmdp_pin._kernels.algebra.manifold import Manifold
from nmdp_pin._kernels.tree.joints import Joints
from nmdp_pin._kernels.tree.springs import Springs
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._terrain import Terrain
from nmdp_pin.errors import IntegratorError


def scene_of(simulator: Simulator) -> DeviceScene:
    """The arrays of a simulator.

    Raises:
        IntegratorError: the method is not `pbfd` by "jtj-lm", or there are contacts that the JAX
            backend lacks.
    """
    method = simulator.integrator
    if not isinstance(method, Pbfd) or method.optimiser != "jtj-lm":
        raise IntegratorError(
            f"JAX makes steps of 'pbfd' with the optimiser 'jtj-lm', got '{simulator.method}'"
            f"{f' with {method.optimiser!r}' if isinstance(method, Pbfd) else ''}"
        )
    if simulator.robot.loops:
        raise IntegratorError(f"JAX does not simulate the {simulator.robot.loops[0].name}")
    refuse_surface_motion(simulator.robot, simulator.terrain, "JAX")
    return _arrays(method, np.array(simulator.robot.standing, float), simulator.terrain)


def _arrays(method: Pbfd, standing: np.ndarray, terrain: Terrain) -> DeviceScene:
    """The arrays of a method."""
    scene = method.memory.scene
    tree, joints, law = scene.tree, scene.joints, scene.law
    order, levels = _breadth_first(tree.parents)
    place_of = np.argsort(order)
    body_of = np.append(len(order), place_of)  # of joints; n: the world
    of_structure, contacts = contacts_of(scene.candidates, terrain, body_of)
    springs = joints.springs
    structure = Structure(
        factors=_factors(tree.space),
        joints=tuple(order.tolist()),
        levels=levels,
        parents=tuple(int(place_of[p]) if p >= 0 else -1 for p in tree.parents[order].tolist()),
        dof_bodies=tuple(np.repeat(place_of, np.diff(tree.first_dofs)).tolist()),
        dofs=tuple(joints.dofs.tolist()),
        stops=tuple(np.maximum(joints.coordinates, 0).tolist()),
        exponents=(law.alpha, law.beta, law.gamma),
        from_terrain=law.friction < 0.0,
        **of_structure,
    )
    return DeviceScene(
        structure=structure,
        placements=tree.placements[order].transpose(1, 2, 0),
        motions=tree.motions.T,
        moments=tree.moments[order].transpose(1, 2, 0),
        rotors=tree.rotors,
        gravity=tree.falls[order].T[:, None] * tree.gravity[:, None],
        sizes=np.array([tree.weight, tree.inertia]),
        standing=standing,
        stops=_stops(joints),
        motors=np.stack([joints.effort, joints.damping]),
        factors=_factors_of(springs, len(tree.rotors)),
        springs=np.stack([springs.rest, springs.stiffness]),
        **_ball_springs(springs, standing, len(tree.rotors)),
        **contacts,
        law=np.array([law.friction, law.slip_speed]),
        options=np.array([method.memory.tolerance, method.memory.max_iterations]),
    )


def _breadth_first(parents: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
    """Bodies in the order of their levels, and the first one of each level, and the end."""
    depths: list[int] = []
    for parent in parents.tolist():
        depths.append(0 if parent < 0 else depths[parent] + 1)
    counts = np.bincount(depths)
    return np.argsort(depths, kind="stable"), (0, *np.cumsum(counts).tolist())


def _factors(space: Manifold) -> tuple[tuple[int, int, int, int], ...]:
    """Kind, first coordinate and dofs of each joint."""
    columns = space.kinds, space.first_q[:-1], space.first_v[:-1], space.first_v[1:]
    return tuple(zip(*(column.tolist() for column in columns), strict=True))


def _stops(joints: Joints) -> np.ndarray:
    """Rows of `DeviceScene.stops`; without a coordinate there is no stop."""
    none = joints.coordinates < 0
    lower = np.where(none, -np.inf, joints.lower)
    upper = np.where(none, np.inf, joints.upper)
    return np.stack([lower, upper, joints.stiffness, joints.friction])


def _factors_of(springs: Springs, nv: int) -> np.ndarray:
    """Factors of the springs by dofs."""
    factors = np.zeros((len(springs.stiffness), nv))
    of_rows = np.repeat(np.arange(len(factors)), np.diff(springs.first))
    np.add.at(factors, (of_rows, springs.dofs), springs.factors)
    return factors


def _ball_springs(springs: Springs, standing: np.ndarray, nv: int) -> dict[str, np.ndarray]:
    """Rest and stiffness of the springs of ball joints."""
    if not len(springs.ball_stiffness):
        return {"ball_rest": standing, "ball_stiffness": np.zeros(0)}
    rest, stiffness = standing.copy(), np.zeros(nv)
    rest[springs.ball_coordinates[:, None] + np.arange(4)] = springs.ball_rest
    stiffness[springs.ball_dofs[:, None] + np.arange(3)] = springs.ball_stiffness[:, None]
    return {"ball_rest": rest, "ball_stiffness": stiffness}
