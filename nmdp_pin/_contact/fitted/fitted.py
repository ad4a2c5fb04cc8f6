"""Fitted contact models: vertices as a function of depth and tilt."""

from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from nmdp_pin._contact.fitted.vertex_map import POSES, VertexMap
from nmdp_pin._contact.patch_frame import PatchFrame
from nmdp_pin._contact.wrench_space import ContactState, WrenchSpace, skew
from nmdp_pin._options import Positive, Vector3, check_fields, readable
from nmdp_pin.errors import ContactError

_BEYOND = 0.25  # of the range of a pose: how far beyond it the map is asked at most
_FLAT = 1e-12  # square of the sine below which a tilt is not defined: the body lies on its side


@readable
@dataclass(frozen=True, kw_only=True)
class Fitted(WrenchSpace):
    """Contact model of a vertex map, turned with the normal and the heading of the body.

    Out of contact the wrench is zero; over the depth `touch` it grows smoothly to that of the map.
    Beyond the range of the map poses saturate within a quarter of the range, and wrenches grow in
    proportion to the depth. All functions are twice differentiable.

    Args:
        vertex_map: vertices as a function of the pose.
        touch: depth from which the map counts in full [m].
        rpy: roll, pitch and yaw of the measurement frame in the frame of the link [rad].

    Raises:
        ContactError: a parameter is out of range, or the range of the map is empty.
    """

    vertex_map: VertexMap
    touch: Positive
    rpy: Vector3 = (0.0, 0.0, 0.0)
    _turn: np.ndarray = field(init=False, repr=False, compare=False)
    _heading: PatchFrame = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.vertex_map, VertexMap):
            raise ContactError(f"vertex_map must be a VertexMap, got {self.vertex_map!r}")
        check_fields(self, ContactError)
        lower, upper = np.asarray(self.vertex_map.lower), np.asarray(self.vertex_map.upper)
        if lower.shape not in ((1,), (3,)) or upper.shape != lower.shape or (lower >= upper).any():
            raise ContactError(
                f"a vertex map has a range lower < upper of {POSES[0]} or {POSES[1]}, got "
                f"{lower.tolist()} and {upper.tolist()}"
            )
        object.__setattr__(self, "_turn", pin.rpy.rpyToMatrix(np.array(self.rpy)))
        object.__setattr__(self, "_heading", PatchFrame())

    @property
    def rows(self) -> int:
        """Value of the vertex map."""
        return self.vertex_map.rows

    @property
    def n_vertices(self) -> int:
        """Value of the vertex map."""
        return self.vertex_map.n_vertices

    @property
    def differentiable(self) -> bool:
        """Whether the map has a Jacobian."""
        return self.vertex_map.differentiable

    def vertices(self, contacts: ContactState) -> np.ndarray:
        """See the class; shape (n, rows, n_vertices)."""
        result = np.zeros((len(contacts.depth), self.rows, self.n_vertices))
        touching = contacts.depth > 0.0
        if touching.any():
            some = self._as_measured(contacts.take(touching))
            E = self._heading.rotations(some)
            local = self._local(self._poses(some))
            for rows in self._halves():
                result[touching, rows] = E @ local[:, rows]
        return result

    def derivative(self, contacts: ContactState, w: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        """d(V w)/d(x, phi), shape (n, rows, 6), of V w = E (ramp growth map(pose)) w."""
        if not self.differentiable:
            return super().derivative(contacts, w, wrench)
        result = np.zeros((len(contacts.depth), self.rows, 6))
        touching = contacts.depth > 0.0
        if touching.any():
            some = self._as_measured(contacts.take(touching))
            E, turn = self._heading.turns(some)
            slope = self._local_slope(self._poses(some), w[touching]) @ self._pose_rates(some)
            for rows in self._halves():
                turned = skew(wrench[touching, rows]) @ turn
                result[touching, rows] = E @ slope[:, rows] - turned
        return result

    def _halves(self) -> list[slice]:
        """Rows of the force and of the moment."""
        return [slice(i, i + 3) for i in range(0, self.rows, 3)]

    def _as_measured(self, contacts: ContactState) -> ContactState:
        """The contacts with the rotations of the frames in which poses were measured."""
        return contacts._replace(rotation=contacts.rotation @ self._turn)

    def _poses(self, contacts: ContactState) -> np.ndarray:
        """Depth, or depth and tilts, shape (n, k)."""
        if len(self.vertex_map.lower) == 1:
            return contacts.depth[:, None]
        x, y, z = _normal_in_body(contacts).T
        return np.column_stack([contacts.depth, np.arctan2(x, z), np.arctan2(y, z)])

    def _pose_rates(self, contacts: ContactState) -> np.ndarray:
        """Derivative of the poses with respect to (x, phi), shape (n, k, 6)."""
        n = len(contacts.depth)
        result = np.zeros((n, len(self.vertex_map.lower), 6))
        result[:, 0, :3] = -contacts.normal
        if result.shape[1] == 1:
            return result
        change = np.zeros((n, 3, 6))  # of the normal as the body sees it
        if contacts.curvature is not None:
            change[:, :, :3] = contacts.curvature
        change[:, :, 3:] = skew(contacts.normal)
        change = contacts.rotation.transpose(0, 2, 1) @ change
        seen = _normal_in_body(contacts)
        z, dz = seen[:, 2:], change[:, 2]
        for i in (0, 1):
            x = seen[:, i : i + 1]
            size = np.maximum(x**2 + z**2, _FLAT)
            result[:, i + 1] = (z * change[:, i] - x * dz) / size
        return result

    def _local(self, poses: np.ndarray) -> np.ndarray:
        """Vertices in the patch's frame, shape (n, rows, n_vertices)."""
        inside, _ = self._saturate(poses)
        factor, _ = self._factor(poses[:, 0], inside[:, 0])
        result: np.ndarray = factor[:, None, None] * self.vertex_map.vertices(inside)
        return result

    def _local_slope(self, poses: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Derivative of V w in the patch's frame with respect to the pose, shape (n, rows, k)."""
        inside, rate = self._saturate(poses)
        factor, slope = self._factor(poses[:, 0], inside[:, 0])
        wrench = (self.vertex_map.vertices(inside) @ w[:, :, None])[:, :, 0]
        change = np.einsum("nrmk,nm->nrk", self.vertex_map.jacobian(inside), w)
        result: np.ndarray = (factor[:, None] * rate)[:, None, :] * change
        # inside moves with the depth as well, by its own rate
        growth = slope[0] + slope[1] * rate[:, 0]
        result[:, :, 0] += growth[:, None] * wrench
        return result

    def _saturate(self, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses at which the map is asked, and their derivative by the poses."""
        lower, upper = np.asarray(self.vertex_map.lower), np.asarray(self.vertex_map.upper)
        margin = _BEYOND * (upper - lower)
        within = np.clip(poses, lower, upper)
        bent = np.tanh((poses - within) / margin)
        return within + margin * bent, 1.0 - bent**2

    def _factor(
        self, depth: np.ndarray, inside: np.ndarray
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Share of the map's wrench, and its derivatives by the depth and by that inside.

        A ramp of the fifth degree from touch-down on, and growth beyond the range.
        """
        t = np.clip(depth / self.touch, 0.0, 1.0)
        ramp = t**3 * (10.0 + t * (6.0 * t - 15.0))
        steep = 30.0 * (t * (1.0 - t)) ** 2 / self.touch
        largest = float(self.vertex_map.upper[0])
        deeper = depth > largest
        growth = np.where(deeper, 1.0 + (depth - inside) / largest, 1.0)
        rate = deeper * ramp / largest
        return ramp * growth, (steep * growth + rate, -rate)


def _normal_in_body(contacts: ContactState) -> np.ndarray:
    """Normal in the frame of the body, shape (n, 3)."""
    result: np.ndarray = (contacts.normal[:, None, :] @ contacts.rotation)[:, 0]
    return result
