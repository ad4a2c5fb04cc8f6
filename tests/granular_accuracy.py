"""Errors of a table against the integration over the surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nmdp_pin._contact.friction_cone import tangent_frames
from nmdp_pin._contact.granular.resistance import resistive_wrenches
from nmdp_pin._contact.granular.table import WrenchTable

_SHALLOW = 0.05  # of the intruder's size: no poses are tried with less depth


@dataclass(frozen=True)
class Accuracy:
    """Errors of a table, relative to the largest force among the vertices at the same pose.

    Args:
        tilts: range of the poses [rad].
        force: median and 95 % quantile of the forces [-].
        moment: median and 95 % quantile of the moments about the centre, as levers [m].
        dissipation: 5 %, 50 % and 95 % quantiles, over translations in all directions, of the
            ratio of the dissipation of the polytope to that of the integration [-].
    """

    tilts: tuple[float, float]
    force: tuple[float, float]
    moment: tuple[float, float]
    dissipation: tuple[float, float, float]


def accuracy(
    table: WrenchTable, *, tilts: tuple[float, float] = (0.0, 0.5), poses: int = 100, seed: int = 0
) -> Accuracy:
    """Compare a table with the integration at random poses.

    Args:
        table: table to check.
        tilts: range of the angle between axis and normal [rad].
        poses: number of poses.
        seed: seed of the random numbers.
    """
    rng = np.random.default_rng(seed)
    intruder, surface = table.intruder, table.intruder.surface()
    forces, moments, ratios = [], [], []
    for _ in range(poses):
        tilt, azimuth = rng.uniform(*tilts), rng.uniform(0.0, 2.0 * np.pi)
        axis = np.array(
            [[np.sin(tilt) * np.cos(azimuth), np.sin(tilt) * np.sin(azimuth), np.cos(tilt)]]
        )
        depth = rng.uniform(_SHALLOW, 1.0) * intruder.size
        motions = np.zeros((10, 6))
        motions[:, :3] = rng.standard_normal((10, 3))
        motions /= np.linalg.norm(motions, axis=1, keepdims=True)
        V = table.vertices(np.array([depth]), axis)[0]
        true = resistive_wrenches(
            table.medium,
            surface,
            tangent_frames(axis)[0],
            np.array([intruder.height - depth]),
            np.concatenate([table.twists, motions]),
        )[0]
        E = true[: len(table.twists)].T
        forces.append(np.abs(V - E)[:3].max() / np.abs(E[:3]).max())
        moments.append(np.abs(V - E)[3:].max() / np.abs(E[:3]).max())
        spent = -(true[len(table.twists) :] * motions).sum(axis=1)
        ratios.extend((-(motions @ V).min(axis=1) / np.maximum(spent, 1e-9))[spent > 0.0])
    quantiles = np.quantile(ratios, (0.05, 0.5, 0.95))
    return Accuracy(tilts, _of(forces), _of(moments), tuple(quantiles.tolist()))


def _of(errors: list[float]) -> tuple[float, float]:
    return float(np.median(errors)), float(np.quantile(errors, 0.95))
