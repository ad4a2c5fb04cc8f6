"""Hulls of measured wrenches with matched vertices, interpolated over the pose."""

from dataclasses import dataclass

import numpy as np
import scipy  # whose parts are imported when they are used

from nmdp_pin._contact.fitted.fitted import Fitted
from nmdp_pin._contact.fitted.vertex_map import VertexMap
from nmdp_pin._contact.fitted.wrench_samples import WrenchSamples
from nmdp_pin.errors import ContactError

_SPANNED = 1e-6  # singular value of the wrenches, relative; below it they span no direction
_CENTRED = 2  # times that directions are moved to the middle of their vertex's cone
_WIDER = 1e-6  # by which a vertex must widen a hull to be kept, relative to the hull
_PROBES = 1000  # directions in which hulls are compared


@dataclass(frozen=True, eq=False, kw_only=True)
class HullVertices(VertexMap):
    """Vertices V(pose) = sum_i c_i |pose - pose_i|^3 + c_0 + C pose, twice differentiable.

    Args:
        nodes: poses over their scale, shape (n, k).
        scale: scale of the poses [m, rad, rad], shape (k,).
        coefficients: one row a node, then the constant and the slopes,
            shape (n + 1 + k, rows, n_vertices).
        range: smallest and largest measured pose, shape (2, k).
    """

    nodes: np.ndarray
    scale: np.ndarray
    coefficients: np.ndarray
    range: np.ndarray

    def __post_init__(self) -> None:
        _, rows, n_vertices = self.coefficients.shape
        sizes = {"rows": rows, "n_vertices": n_vertices}
        for name, value in {**sizes, "lower": self.range[0], "upper": self.range[1]}.items():
            object.__setattr__(self, name, value)

    def vertices(self, poses: np.ndarray) -> np.ndarray:
        """See `VertexMap`."""
        basis = _basis(poses / self.scale, self.nodes)
        return np.tensordot(basis, self.coefficients, axes=1)

    def jacobian(self, poses: np.ndarray) -> np.ndarray:
        """See `VertexMap`; the slope of r^3 is 3 r (pose - pose_i)."""
        n, k = poses.shape
        away = (poses / self.scale)[:, None, :] - self.nodes
        slopes = np.zeros((n, len(self.coefficients), k))
        slopes[:, : len(self.nodes)] = 3.0 * np.linalg.norm(away, axis=2, keepdims=True) * away
        slopes[:, len(self.nodes) + 1 :] = np.eye(k)
        flat = (slopes / self.scale).transpose(0, 2, 1) @ self.coefficients.reshape(
            len(slopes[0]), -1
        )
        result: np.ndarray = flat.reshape(n, k, self.rows, self.n_vertices).transpose(0, 2, 3, 1)
        return result


@dataclass(frozen=True, eq=False)
class HullFit:
    """Contact model fitted to samples, and errors of the fit.

    Args:
        model: the contact model.
        coverage: 1 minus the largest gap between a measured hull and the vertices, over all poses
            and many directions, relative to the largest extent of the hull.
        left_out_error: root mean square error of a vertex at a pose left out of the fit, over the
            largest vertex: an estimate of the error between poses.
    """

    model: Fitted
    coverage: float
    left_out_error: float


def fit_hulls(
    samples: WrenchSamples,
    *,
    directions: int = 128,
    smoothing: float = 0.0,
    touch: float | None = None,
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> HullFit:
    """Fit the convex hulls of the wrenches measured at each pose.

    The j-th vertex of a pose is the measured wrench that extends furthest along the j-th of a fixed
    set of directions, or the origin, so that vertices of different poses correspond. They are
    interpolated over the pose by cubic radial basis functions, with zero wrenches at depth zero.
    Vertices are added in the order of their error at left-out poses, if they widen a hull.

    Args:
        samples: measurements.
        directions: number of directions, at least twice the dimension of the wrenches.
        smoothing: smoothing of the interpolation; 0 passes through all measurements [-].
        touch: see `Fitted`; None: smallest measured depth [m].
        rpy: orientation of the measurement frame; see `Fitted`.

    Raises:
        ContactError: there are too few directions or poses, or a parameter is out of range.
    """
    if not 0.0 <= smoothing < np.inf:
        raise ContactError(f"smoothing must be a finite number >= 0, got {smoothing!r}")
    hulls = samples.by_pose()
    scale = _wrench_scale(samples.wrenches)
    basis = _spanned(np.concatenate([f / scale for _, f in hulls]))
    if directions < 2 * len(basis):
        raise ContactError(
            f"wrenches span {len(basis)} dimensions: directions must be at least {2 * len(basis)}, "
            f"got {directions!r}"
        )
    along = _directions(directions, len(basis)) @ basis / scale
    for _ in range(_CENTRED):
        along = np.concatenate([along, _centred(hulls, along[-directions:], scale)])
    probes = _directions(_PROBES, len(basis), skip=directions) @ basis / scale
    poses = np.array([pose for pose, _ in hulls])
    matched = np.array([_furthest(f, along) for _, f in hulls])
    reach = np.array([(probes @ f.T).max(axis=1, initial=0.0) for _, f in hulls])
    interpolation = _Interpolation.over(poses, smoothing)
    errors = interpolation.left_out_errors(matched, scale)
    kept = _widening(matched, np.argsort(errors.sum(axis=0), kind="stable"), probes, reach)
    model = Fitted(
        vertex_map=interpolation.through(matched[:, kept]),
        touch=float(poses[:, 0].min()) if touch is None else touch,
        rpy=rpy,
    )
    reached = (matched[:, kept] @ probes.T).max(axis=1)
    lost = (reach - np.maximum(reached, 0.0)) / reach.max(axis=1, keepdims=True)
    largest = np.linalg.norm(matched / scale, axis=2).max()
    return HullFit(model, 1.0 - float(lost.max()), float(np.sqrt(errors[:, kept].mean()) / largest))


def _wrench_scale(wrenches: np.ndarray) -> np.ndarray:
    """Root mean squares that make forces and moments comparable, shape (rows,)."""
    halves = wrenches.reshape(len(wrenches), -1, 3)
    sizes = np.sqrt((halves**2).sum(axis=2).mean(axis=0))
    return np.repeat(np.where(sizes > 0.0, sizes, 1.0), 3)


def _spanned(wrenches: np.ndarray) -> np.ndarray:
    """Orthonormal directions in which there are wrenches at all, shape (dimension, rows)."""
    _, sizes, directions = np.linalg.svd(wrenches, full_matrices=False)
    result: np.ndarray = directions[sizes > _SPANNED * sizes[0]]
    return result


def _directions(n: int, dimension: int, *, skip: int = 0) -> np.ndarray:
    """Unit vectors spread evenly: the axes both ways, then a low-discrepancy sequence."""
    from scipy.stats import qmc  # here, as it takes a second to import

    axes = np.concatenate([np.eye(dimension), -np.eye(dimension)])
    sequence = qmc.Halton(dimension, scramble=False).fast_forward(1 + skip)  # the first is 0
    spread = scipy.special.ndtri(sequence.random(max(n - len(axes), 0)))
    return np.concatenate([axes, _unit(spread)])


def _unit(vectors: np.ndarray) -> np.ndarray:
    """The vectors over their lengths; zero stays zero."""
    sizes = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: np.ndarray = vectors / np.where(sizes > 0.0, sizes, 1.0)
    return result


def _furthest(wrenches: np.ndarray, along: np.ndarray) -> np.ndarray:
    """For each direction the wrench that extends furthest, or the origin; shape (m, rows)."""
    reach = along @ wrenches.T
    found: np.ndarray = wrenches[reach.argmax(axis=1)].copy()
    found[reach.max(axis=1) <= 0.0] = 0.0
    return found


def _centred(
    hulls: list[tuple[np.ndarray, np.ndarray]], along: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """Directions from the middle of the hulls to their vertices, mean over the poses, (m, rows).

    They lie well inside the cone of directions in which a vertex is the furthest.
    """
    total = np.zeros_like(along)
    for _, wrenches in hulls:
        outward = (_furthest(wrenches, along) - wrenches.mean(axis=0)) / scale
        total += _unit(outward)
    result: np.ndarray = _unit(total) / scale
    return result


def _widening(
    matched: np.ndarray, order: np.ndarray, probes: np.ndarray, reach: np.ndarray
) -> list[int]:
    """Vertices that widen the hull of the earlier ones at some pose."""
    kept: list[int] = []
    least = _WIDER * reach.max(axis=1, keepdims=True)
    reached = np.zeros_like(reach)
    for j in order:
        further = matched[:, j] @ probes.T
        if (further > reached + least).any():
            kept.append(int(j))
            reached = np.maximum(reached, further)
    return kept


@dataclass(frozen=True, eq=False)
class _Interpolation:
    """Radial basis functions through values at poses, and through zero at depth zero."""

    poses: np.ndarray
    nodes: np.ndarray
    scale: np.ndarray
    inverse: np.ndarray

    @classmethod
    def over(cls, poses: np.ndarray, smoothing: float) -> "_Interpolation":
        """The linear system of these poses, solved once for all values."""
        k = poses.shape[1]
        tilts = np.unique(np.round(poses[:, 1:], 9), axis=0)
        all_poses = np.concatenate([poses, np.column_stack([np.zeros(len(tilts)), tilts])])
        scale = np.ptp(all_poses, axis=0)
        nodes = all_poses / scale
        basis = _basis(nodes, nodes)
        n, linear = len(nodes), basis[:, len(nodes) :]
        if np.linalg.matrix_rank(linear) < k + 1:
            raise ContactError(
                f"{len(poses)} poses that lie in a line or plane tell nothing beside it: vary "
                "depth and tilts independently"
            )
        A = np.zeros((n + k + 1, n + k + 1))
        A[:n] = basis
        A[n:, :n] = linear.T
        A[:n, :n] += smoothing * np.eye(n)
        return cls(poses, nodes, scale, np.linalg.inv(A))

    def through(self, matched: np.ndarray) -> HullVertices:
        """Interpolation of vertices (poses, m, rows)."""
        measured = np.array([self.poses.min(axis=0), self.poses.max(axis=0)])
        measured[0, 0] = 0.0
        coefficients = np.tensordot(self.inverse[:, : len(self.poses)], matched, axes=1)
        return HullVertices(
            nodes=self.nodes,
            scale=self.scale,
            coefficients=coefficients.transpose(0, 2, 1),
            range=measured,
        )

    def left_out_errors(self, matched: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Squared errors at each pose when it is left out, over the scale, shape (poses, m).

        The coefficient of a node over its own entry of the inverse.
        """
        n = len(self.poses)
        coefficients = np.tensordot(self.inverse[:n, :n], matched / scale, axes=1)
        errors = coefficients / np.diag(self.inverse)[:n, None, None]
        result: np.ndarray = (errors**2).sum(axis=2)
        return result


def _basis(poses: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Values of |pose - node|^3 for all nodes, of 1 and of the pose itself, (n, nodes + 1 + k)."""
    away = np.linalg.norm(poses[:, None, :] - nodes, axis=2)
    return np.column_stack([away**3, np.ones(len(poses)), poses])
