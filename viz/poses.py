"""Poses as rows of numbers: position, quaternion (x, y, z, w), and scale along the axes."""

from __future__ import annotations

import numpy as np


def matrices(poses: np.ndarray) -> np.ndarray:
    """Homogeneous matrices of poses, shape (n, 10), as shape (n, 4, 4), single precision."""
    placed = np.zeros((len(poses), 4, 4), dtype=np.float32)
    for k, axis in enumerate(np.eye(3)):
        placed[:, :3, k] = rotated(poses[:, 3:7], axis) * poses[:, 7 + k, None]
    placed[:, :3, 3], placed[:, 3, 3] = poses[:, :3], 1.0
    return placed


def rotated(turn: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors, shape (..., 3), turned by unit quaternions, shape (..., 4)."""
    axis, w = turn[..., :3], turn[..., 3:]
    once = 2.0 * np.cross(axis, vector)
    return vector + w * once + np.cross(axis, once)


def upright_to(direction: np.ndarray) -> np.ndarray:
    """Quaternions that turn the z axis to directions, shape (..., 3); for a zero, not at all."""
    size = np.linalg.norm(direction, axis=-1, keepdims=True)
    x, y, z = np.moveaxis(direction / np.where(size > 0.0, size, 1.0), -1, 0)
    upright = (x == 0.0) & (y == 0.0) & (z == 0.0)
    turn = np.stack([-y, x, np.zeros_like(x), 1.0 + np.where(upright, 1.0, z)], axis=-1)
    size = np.linalg.norm(turn, axis=-1, keepdims=True)
    return np.where(size > 1e-6, turn / np.maximum(size, 1e-6), [1.0, 0.0, 0.0, 0.0])
