"""Vertices of a granular wrench space over (depth, tilt), twice differentiable."""

import functools
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nmdp_pin._contact.friction_cone import tangent_frames
from nmdp_pin._contact.granular.intruder import Intruder
from nmdp_pin._contact.granular.medium import Medium
from nmdp_pin._contact.granular.resistance import resistive_wrenches, sampled_motions
from nmdp_pin._files.array_cache import cached_array, sources_version

_CORRECTION = np.array([-1.0, 8.0, -1.0]) / 6.0  # of samples to coefficients of cubic B-splines
_DEPTHS = 32  # cells of the table from touch to its largest depth
_DEEPEST = 2.0  # sizes of the intruder to which the table goes down
_FINE = 0.05  # of the size: depths below this have evenly spaced nodes, larger ones logarithmic
_TILTS = 8  # cells from an upright axis to a lying one
_LYING = np.sqrt(2.0)  # |P| of a lying axis
_UPSIDE_DOWN = 1e-9  # 1 + a_z below which P has no direction


def coefficients(samples: np.ndarray, axis: int) -> np.ndarray:
    """Coefficients that reproduce cubics, from samples at the nodes along an axis.

    Local: c_i = (-f_{i-1} + 8 f_i - f_{i+1}) / 6, so a kink is felt two nodes far. The first and
    last coefficient are the samples themselves.
    """
    f = np.moveaxis(samples, axis, 0)
    c = f.copy()
    before, here, after = _CORRECTION
    c[1:-1] = before * f[:-2] + here * f[1:-1] + after * f[2:]
    return np.moveaxis(c, 0, axis)


def basis(x: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Four of n coefficients that count at x, their weights and the slopes of these, (k, 4) each.

    x is in units of the spacing, node 0 at 0, within [1, n - 2]; shape (k,).
    """
    # fmin and fmax pass over NaN, which is then in the weights
    first = np.fmin(np.fmax(np.floor(x), 1.0), n - 3.0).astype(int) - 1
    t = x - (first + 1)
    s = 1.0 - t
    value = np.empty((len(x), 4))
    value[:, 0], value[:, 3] = s**3 / 6.0, t**3 / 6.0
    value[:, 1] = 2.0 / 3.0 - t * t * (1.0 - 0.5 * t)
    value[:, 2] = 2.0 / 3.0 - s * s * (1.0 - 0.5 * s)
    slope = np.empty((len(x), 4))
    slope[:, 0], slope[:, 3] = -0.5 * s * s, 0.5 * t * t
    slope[:, 1], slope[:, 2] = t * (1.5 * t - 2.0), -s * (1.5 * s - 2.0)
    return first[:, None] + np.arange(4), value, slope


@dataclass(frozen=True, eq=False)
class WrenchTable:
    """Vertices V(D, P) [N, N m] at scale 1, in a frame whose z is the terrain's normal.

    D is the depth of the intruder, P the direction of its axis a (from the foot up) in the
    azimuthal equal-area map P = (a_x, a_y) sqrt(2 / (1 + a_z)), |P| = 2 sin(tilt / 2). Nodes are
    even in P and in log(1 + D / d0). V is zero, with two derivatives, where D <= 0. Below the
    table V goes on linearly; a tilt of more than 90 degrees counts as 90.
    """

    intruder: Intruder
    medium: Medium
    azimuths: int
    twists: np.ndarray = field(init=False, repr=False)
    """The motions whose resistance the vertices are, shape (m, 6)."""
    _nodes: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twists", sampled_motions(self.azimuths))
        key = f"{self.intruder!r} {self.medium!r} {self.azimuths} {_code()}"
        object.__setattr__(self, "_nodes", cached_array("granular", key, self._made))

    @property
    def deepest(self) -> float:
        """Largest D of the table [m]."""
        return _DEEPEST * self.intruder.size

    def vertices(self, depth: np.ndarray, axis: np.ndarray) -> np.ndarray:
        """V, (n, 6, m), at the depths of the contact sphere's bottom, (n,) [m], and unit axes."""
        node, value, _, _ = self._locate(depth, axis)
        V = (value[:, None, :] @ self._nodes[node])[:, 0]
        result: np.ndarray = V.reshape(len(depth), 6, len(self.twists))
        return result

    def derivative(
        self, depth: np.ndarray, axis: np.ndarray, w: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of V w with respect to depth (n, 6) and axis (n, 6, 3)."""
        node, _, rate, to_axis = self._locate(depth, axis)
        n, k = node.shape
        nodes = self._nodes[node].reshape(n, 6 * k, len(self.twists))
        wrenches = (nodes @ w[:, :, None]).reshape(n, k, 6)
        change = (rate @ wrenches).transpose(0, 2, 1)
        return change[:, :, 0], change @ to_axis

    def _locate(
        self, depth: np.ndarray, axis: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Nodes around a pose, (n, k), their weights, (n, k), and derivatives.

        Those of the weights by D and P, (n, 1 or 3, k), and of (D, P) by the axis, (n, 1 or 3, 3).
        """
        n = len(depth)
        if not self.intruder.tilts:
            node, value, rate = self._in_depth(depth)
            return node, value, rate[:, None, :], np.zeros((n, 1, 3))
        P, dP = chart(axis)
        square = (P * P).sum(axis=1)
        reach, slope = self.intruder.reach(square * (1.0 - 0.25 * square))  # sin^2 of the tilt
        d, d_value, d_rate = self._in_depth(depth + reach)
        to_axis = np.empty((n, 3, 3))
        to_axis[:, 1:] = dP
        to_axis[:, 0] = ((slope * (2.0 - square))[:, None, None] * P[:, None, :] @ dP)[:, 0]
        cell = _LYING / _TILTS
        row = 2 * _TILTS + 3
        p, p_value, p_rate = basis(P.ravel() / cell + _TILTS + 1.0, row)
        p, p_value, p_rate = (a.reshape(n, 2, 4) for a in (p, p_value, p_rate / cell))
        node = (d[:, :, None] * row + p[:, None, 0])[:, :, :, None] * row + p[:, None, None, 1]
        parts = (d_value, p_value[:, 0], p_value[:, 1])
        rates = (d_rate, p_rate[:, 0], p_rate[:, 1])
        weights = [parts, *((*parts[:i], rates[i], *parts[i + 1 :]) for i in range(3))]
        products = [
            (a[:, :, None, None] * b[:, None, :, None] * c[:, None, None, :]).reshape(n, 64)
            for a, b, c in weights
        ]
        return node.reshape(n, 64), products[0], np.stack(products[1:], axis=1), to_axis

    def _in_depth(self, D: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes in D, their weights and derivatives, each (n, 4)."""
        fine = _FINE * self.intruder.size
        per_log = _DEPTHS / np.log1p(self.deepest / fine)
        inside = np.clip(D, 0.0, self.deepest)
        node, value, rate = basis(per_log * np.log1p(inside / fine) + 1.0, _DEPTHS + 3)
        rate = rate * (per_log / (fine + inside))[:, None]
        return node, value + rate * np.maximum(D - self.deepest, 0.0)[:, None], rate

    def _made(self) -> np.ndarray:
        """Coefficients of the splines: one row a node, a column an entry of V."""
        V = self._sampled()
        c = coefficients(V, 0)[:-1]
        c[:2] = 0.0  # so that nothing is felt out of contact
        c = np.concatenate([np.zeros_like(c[:1]), c])
        if self.intruder.tilts:
            c = coefficients(coefficients(c, 1), 2)[:, 1:-1, 1:-1]
        return np.ascontiguousarray(c.reshape(-1, 6 * len(self.twists)))

    def _sampled(self) -> np.ndarray:
        """V at all nodes, shape (D, P_x, P_y, 6, m): a quadrant of P, mirrored."""
        fine = _FINE * self.intruder.size
        D = fine * np.expm1(np.arange(_DEPTHS + 3) * np.log1p(self.deepest / fine) / _DEPTHS)
        half = _TILTS + 2 if self.intruder.tilts else 0
        V = np.zeros((len(D), 2 * half + 1, 2 * half + 1, 6, len(self.twists)))
        for i in range(half + 1):
            for j in range(half + 1):
                axis = axis_of(np.array([i, j]) * _LYING / _TILTS)
                V[:, half + i, half + j] = self._wrenches(D, axis)
        for dimension in (0, 1):
            signs, order = mirror(self.twists, dimension)
            there, here = [slice(None)] * 5, [slice(None)] * 5
            there[1 + dimension] = slice(half - 1, None, -1) if half else slice(0, 0)
            here[1 + dimension] = slice(half + 1, None)
            V[tuple(there)] = signs[:, None] * V[tuple(here)][..., order]
        return V

    def _wrenches(self, D: np.ndarray, axis: np.ndarray) -> np.ndarray:
        """V by integration over the surface, shape (n, 6, m) for D of shape (n,)."""
        reach, _ = self.intruder.reach(1.0 - axis[2:] ** 2)
        heights = self.intruder.height + reach - D
        rotation = tangent_frames(axis[None])[0]
        surface = self.intruder.surface()
        wrenches = resistive_wrenches(self.medium, surface, rotation, heights, self.twists)
        return wrenches.transpose(0, 2, 1)


@functools.cache
def _code() -> str:
    return sources_version(Path(__file__).parent)


@functools.lru_cache(maxsize=16)
def wrench_table(intruder: Intruder, medium: Medium, azimuths: int) -> WrenchTable:
    """Table of these parameters, from memory, the cache folder, or computed."""
    return WrenchTable(intruder, medium, azimuths)


def chart(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P of unit axes, (n, 2), no longer than that of a lying one, and dP/da, (n, 2, 3)."""
    above = np.maximum(1.0 + axis[:, 2], _UPSIDE_DOWN)
    scale = np.sqrt(2.0 / above)
    P = scale[:, None] * axis[:, :2]
    dP = np.zeros((len(axis), 2, 3))
    dP[:, 0, 0] = dP[:, 1, 1] = scale
    dP[:, :, 2] = -0.5 * P / above[:, None]
    length = np.sqrt((P * P).sum(axis=1))
    far = length > _LYING
    if far.any():
        unit = P[far] / length[far, None]
        across = np.eye(2) - unit[:, :, None] * unit[:, None, :]
        dP[far] = (_LYING / length[far])[:, None, None] * across @ dP[far]
        P[far] = _LYING * unit
    return P, dP


def mirror(twists: np.ndarray, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Effect of x -> -x (dimension 0) or y -> -y (1) on wrenches and on the set of twists.

    Factors of a wrench's components, (6,), and the index of each twist's image, (m,).
    """
    signs = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    signs[[dimension, 3 + dimension]] *= -1.0
    apart = np.abs(signs * twists[:, None] - twists).sum(axis=2)
    return signs, apart.argmin(axis=1)


def axis_of(P: np.ndarray) -> np.ndarray:
    """The unit axis of a point of the chart, shapes (2,) to (3,); a lying one beyond the rim."""
    length = np.sqrt(P @ P)
    if length > _LYING:
        P, length = P * (_LYING / length), _LYING
    z = 1.0 - 0.5 * length**2
    result: np.ndarray = np.array([*(P * np.sqrt(0.5 * (1.0 + z))), z])
    return result
