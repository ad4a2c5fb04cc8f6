"""Patches that slide and turn on a plane, within a convex limit surface."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np

from nmdp_pin.contact.limit_surface import LimitSurface
from nmdp_pin.contact.patch_frame import PatchFrame, cross_matrices
from nmdp_pin.contact.sphere_directions import sphere_directions
from nmdp_pin.contact.wrench_space import ContactState, WrenchSpace
from nmdp_pin.errors import ContactError

_FINEST = 4  # refinement; 1026 vertices for each point of support


@dataclass(frozen=True, kw_only=True)
class PlanarSliding(WrenchSpace):
    """v_ij = k d_i^p (n + planar load f_j on the limit surface; moment of n at support point i).

    The normal force acts at the points of support, each with its own depth d_i below the tangent
    plane of the terrain; the planar load (Fx, Fy, tau), in proportion to it, acts at the centre of
    the patch, where the contact's sphere touches. So a wide patch does not tip as long as the
    normal force stays among its points, and it cannot carry more than k d^p in all.

    Args:
        surface: the limit surface.
        stiffness: k [N/m^power].
        power: exponent of the depth; 3 makes the vertices twice differentiable at touch.
        support: points of the body that carry the normal force, from the contact's centre in the
            body's frame [m]; the centre itself carries all without tipping moment.
        refinement: of the directions of sliding: 6, 18, 66, 258, 1026 loads f_j for 0 to 4.
        axis: direction along which the surface's x lies, as seen along the normal.
        frame: in which the axis is fixed: "body", or "world" for a floor with a grain.
        reference_friction: friction coefficient of the terrain for which the surface holds; on
            another terrain loads are in proportion [-]. None: the surface holds on every terrain.

    Raises:
        ContactError: a parameter out of its range.
    """

    surface: LimitSurface
    stiffness: float
    power: int = 3
    support: tuple[tuple[float, float, float], ...] = ((0.0, 0.0, 0.0),)
    refinement: int = 1
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    frame: str = "body"
    reference_friction: float | None = None
    _loads: np.ndarray = field(init=False, repr=False, compare=False)
    _points: np.ndarray = field(init=False, repr=False, compare=False)
    _heading: PatchFrame = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.surface, LimitSurface):
            raise ContactError(f"surface must be a LimitSurface, got {self.surface!r}")
        _check_positive("stiffness", self.stiffness)
        if self.reference_friction is not None:
            _check_positive("reference_friction", self.reference_friction)
        if not (isinstance(self.power, Integral) and self.power >= 1):
            raise ContactError(f"power must be an integer >= 1, got {self.power!r}")
        if not (isinstance(self.refinement, Integral) and 0 <= self.refinement <= _FINEST):
            raise ContactError(
                f"refinement must be an integer from 0 to {_FINEST}, got {self.refinement!r}"
            )
        points = np.asarray(self.support, dtype=float)
        if points.ndim != 2 or points.shape[1] != 3 or not (len(points) and _finite(points)):
            raise ContactError(
                f"support must be at least one point of three finite numbers [m], got "
                f"{self.support!r}"
            )
        directions = sphere_directions(self.refinement)
        loads = self.surface.furthest(directions) * [1.0, 1.0, self.surface.length]
        object.__setattr__(self, "_loads", loads)
        object.__setattr__(self, "_points", points)
        object.__setattr__(self, "_heading", PatchFrame(axis=self.axis, frame=self.frame))

    @property
    def rows(self) -> int:
        """Wrenches."""
        return 6

    @property
    def n_vertices(self) -> int:
        """One a point of support and direction of sliding."""
        return len(self._points) * len(self._loads)

    @property
    def inscribed(self) -> float:
        """Least share of the limit surface's friction that its vertices reach in any direction."""
        probes = sphere_directions(_FINEST)
        loads = self._loads / [1.0, 1.0, self.surface.length]
        reached = (probes @ loads.T).max(axis=1)
        return float((reached / np.vecdot(probes, self.surface.furthest(probes))).min())

    def vertices(self, contacts: ContactState) -> np.ndarray:
        """See the class; shape (n, 6, n_vertices)."""
        n = len(contacts.depth)
        arms, depths = self._at_support(contacts)
        into_world = self._heading.rotations(contacts).transpose(0, 2, 1)
        planar = self._planar(contacts, self._loads[None])
        forces, moments = planar[:, :, :3] @ into_world, planar[:, :, 3:] @ into_world
        tipping = np.cross(arms, contacts.normal[:, None, :])
        unit = np.empty((n, len(self._points), len(self._loads), 6))
        unit[..., :3] = forces[:, None] + contacts.normal[:, None, None, :]
        unit[..., 3:] = moments[:, None] + tipping[:, :, None, :]
        unit *= self._sizes(depths)[:, :, None, None]
        return unit.reshape(n, self.n_vertices, 6).transpose(0, 2, 1)

    def derivative(self, contacts: ContactState, w: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        """d(V w)/d(x, phi), shape (n, 6, 6).

        V w = sum_i k d_i^p (s_i n + E f_i; E m_i + s_i a_i x n) with s_i, f_i, m_i linear in w.
        """
        n = len(contacts.depth)
        arms, depths = self._at_support(contacts)
        into_world = self._heading.rotations(contacts).transpose(0, 2, 1)
        shares = w.reshape(n, len(self._points), len(self._loads))
        load = shares.sum(axis=2)  # s_i
        local = self._planar(contacts, shares @ self._loads)
        forces, moments = local[:, :, :3] @ into_world, local[:, :, 3:] @ into_world
        normal = contacts.normal[:, None, :]
        pressing, tipping = load[:, :, None] * normal, load[:, :, None] * np.cross(arms, normal)
        unit = np.concatenate([pressing + forces, tipping + moments], axis=2)
        sizes, slopes = self._sizes(depths), self._slopes(depths)
        tilt = np.zeros((n, 3, 6))  # dn
        if contacts.curvature is not None:
            tilt[:, :, :3] = contacts.curvature
        # d_i = depth - n . a_i with da_i = dphi x a_i
        sinking = -(arms @ tilt)
        sinking[:, :, :3] -= normal
        sinking[:, :, 3:] -= np.cross(arms, normal)
        result = np.einsum("ni,nir,nic->nrc", slopes, unit, sinking)
        carried = (sizes * load)[:, :, None]
        turn = self._heading.turns(contacts)
        result[:, :3] += carried.sum(axis=1)[:, :, None] * tilt
        for rows, turned in ((slice(0, 3), forces), (slice(3, 6), moments)):
            total = np.einsum("ni,nic->nc", sizes, turned)
            result[:, rows] -= cross_matrices(total) @ turn
        arm = (carried * arms).sum(axis=1)
        result[:, 3:] += cross_matrices(arm) @ tilt
        result[:, 3:, 3:] += cross_matrices(contacts.normal) @ cross_matrices(arm)
        return result

    def _at_support(self, contacts: ContactState) -> tuple[np.ndarray, np.ndarray]:
        """Arms from the centre to the points of support (n, s, 3) and their depths (n, s)."""
        arms = self._points @ contacts.rotation.transpose(0, 2, 1)
        heights = (arms @ contacts.normal[:, :, None])[:, :, 0]
        return arms, contacts.depth[:, None] - heights

    def _planar(self, contacts: ContactState, loads: np.ndarray) -> np.ndarray:
        """Wrenches about the centre of planar loads, per normal load and in the patch's frame.

        Args:
            contacts: n of them.
            loads: (Fx, Fy, tau), shape (n or 1, m, 3).

        Returns:
            Shape (n, m, 6); the force acts a radius below the centre.
        """
        result = np.zeros((len(contacts.depth), loads.shape[1], 6))
        result[:, :, [0, 1, 5]] = loads
        if self.reference_friction is not None:
            result *= (contacts.friction / self.reference_friction)[:, None, None]
        result[:, :, 3] = contacts.radius[:, None] * result[:, :, 1]
        result[:, :, 4] = -contacts.radius[:, None] * result[:, :, 0]
        return result

    def _sizes(self, depths: np.ndarray) -> np.ndarray:
        """Normal force of the vertices [N]."""
        result: np.ndarray = self.stiffness * np.maximum(depths, 0.0) ** self.power
        return result

    def _slopes(self, depths: np.ndarray) -> np.ndarray:
        """Its derivative with respect to the depth [N/m]."""
        below = np.maximum(depths, 0.0) ** (self.power - 1) * (depths > 0.0)
        return self.stiffness * self.power * below


def _finite(numbers: np.ndarray) -> bool:
    return bool(np.isfinite(numbers).all())


def _check_positive(name: str, value: object) -> None:
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not (number and 0.0 < float(value) < np.inf):  # type: ignore[arg-type]
        raise ContactError(f"{name} must be a finite number > 0, got {value!r}")
