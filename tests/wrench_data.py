"""Measurements made up from models that are known, for fitted contact models."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin._contact import ContactState, WrenchSpace
from nmdp_pin.contact import WrenchSamples

UP = np.array([0.0, 0.0, 1.0])


def contacts_at(poses: np.ndarray, friction: float = 0.6, radius: float = 0.0) -> ContactState:
    """Contacts on level ground at poses (n, 1) or (n, 3), their x axes heading along x."""
    n = len(poses)
    rotation = np.tile(np.eye(3), (n, 1, 1))
    if poses.shape[1] == 3:
        rotation = np.array([body_rotation(*pose[1:]) for pose in poses])
    return ContactState(
        position=np.zeros((n, 3)),
        rotation=rotation,
        depth=poses[:, 0],
        normal=np.tile(UP, (n, 1)),
        curvature=None,
        friction=np.full(n, friction),
        radius=np.full(n, radius),
        surface=np.zeros(n, dtype=int),
        contact=np.zeros(n, dtype=int),
    )


def body_rotation(tilt_x: float, tilt_y: float) -> np.ndarray:
    """Rotation of a body that sees e_z under these tilts and whose x axis heads along x."""
    seen = np.array([np.tan(tilt_x), np.tan(tilt_y), 1.0])
    seen /= np.linalg.norm(seen)
    R = pin.Quaternion.FromTwoVectors(seen, UP).toRotationMatrix()
    heading = np.arctan2(R[1, 0], R[0, 0])
    return pin.exp3(-heading * UP) @ R


def measured(
    model: WrenchSpace, poses: np.ndarray, *, inner: int, seed: int = 0, **contact: float
) -> WrenchSamples:
    """At each pose the vertices of a model and `inner` wrenches between them and the origin."""
    rng = np.random.default_rng(seed)
    V = model.vertices(contacts_at(poses, **contact)).transpose(0, 2, 1)
    w = rng.dirichlet(np.ones(V.shape[1] + 1), size=(len(poses), inner))[:, :, :-1]
    wrenches = np.concatenate([V, w @ V], axis=1)
    repeated = np.repeat(poses, wrenches.shape[1], axis=0)
    return WrenchSamples(poses=repeated, wrenches=wrenches.reshape(len(repeated), -1))


def grid(depths: np.ndarray, tilts_x: np.ndarray, tilts_y: np.ndarray) -> np.ndarray:
    """All combinations, shape (n, 3)."""
    return np.stack(np.meshgrid(depths, tilts_x, tilts_y, indexing="ij"), axis=-1).reshape(-1, 3)


class Slanted(WrenchSpace):
    """A six-row model in closed form that knows depth and tilt, such as a rod in sand.

    Eight directions of motion a_j: v_j = 4e4 d^1.5 (cos a_j - tilt_x, sin a_j - tilt_y, 1.5 +
    tilt_x^2 / 2) with the moment of a lever of 0.1 m up the tilted rod; defined at heading zero.
    """

    rows = 6
    n_vertices = 8

    def vertices(self, contacts: ContactState) -> np.ndarray:
        """See the contract; shape (n, 6, 8)."""
        seen = np.einsum("nji,nj->ni", contacts.rotation, contacts.normal)
        x, y = np.arctan2(seen[:, 0], seen[:, 2]), np.arctan2(seen[:, 1], seen[:, 2])
        angle = 2.0 * np.pi * np.arange(8) / 8
        ones = np.ones(8)
        force = np.stack(
            [
                np.cos(angle) - np.outer(x, ones),
                np.sin(angle) - np.outer(y, ones),
                1.5 + 0.5 * np.outer(x**2, ones),
            ],
            axis=1,
        )
        force *= 4e4 * np.maximum(contacts.depth, 0.0)[:, None, None] ** 1.5
        lever = np.column_stack([-0.1 * np.sin(x), -0.1 * np.sin(y), 0.1 * np.cos(x) * np.cos(y)])
        moment = np.cross(lever[:, None, :], force.transpose(0, 2, 1)).transpose(0, 2, 1)
        return np.concatenate([force, moment], axis=1)
