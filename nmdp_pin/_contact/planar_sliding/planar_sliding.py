"""Patches that slide and turn on a plane, within a convex limit surface."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from nmdp_pin._contact.friction_cone import RECOVERY, Power, Rate
from nmdp_pin._contact.patch_frame import PatchFrame
from nmdp_pin._contact.planar_sliding.limit_surface import LimitSurface, sphere_directions
from nmdp_pin._contact.wrench_space import ContactState, WrenchSpace, skew
from nmdp_pin._options import Count, FilePath, Positive, Vector3, check_fields, readable
from nmdp_pin._robot import Robot
from nmdp_pin.errors import ContactError

_FINEST = 4  # refinement; 1026 vertices for each point of support
Refinement = Annotated[Count, Field(ge=0, le=_FINEST)]


@readable
@dataclass(frozen=True, kw_only=True)
class PlanarSliding(WrenchSpace):
    """Wrench space v_j = k d^p (n + F_j; moments), (F_j, tau_j) planar loads on a limit surface.

    The normal force acts at the contact. The planar load, in proportion to it, acts at the centre
    of the patch: a contact is a patch, or several contacts of a body, such as the corners of a
    block, share one. The patch slides and turns within the limit surface times the sum of their
    normal forces.

    Args:
        surface: the limit surface.
        stiffness: k [N/m^power].
        power: exponent of the depth; 3 makes the vertices twice differentiable at touch.
        arms: vectors from the centre of the patch to the contact points, body frame [m]; one for
            all, or one each.
        refinement: level of the directions: 6, 18, 66, 258, 1026 vertices for 0 to 4.
        axis: x direction of the surface, projected along the normal.
        frame: frame in which the axis is fixed: "body", or "world" for a floor with a grain.
        reference_friction: friction coefficient for which the surface holds; loads scale with that
            of the terrain [-]. None: no scaling.
        recovery: rate of recovery of contacts and stops of joints [1/s]; see `WrenchSpace`.

    Raises:
        ContactError: a parameter is out of range.
    """

    surface: LimitSurface
    stiffness: Positive
    power: Power = 3
    arms: tuple[tuple[float, float, float], ...] = ((0.0, 0.0, 0.0),)
    refinement: Refinement = 2
    axis: Vector3 = (1.0, 0.0, 0.0)
    frame: Literal["body", "world"] = "body"
    reference_friction: Positive | None = None
    recovery: Rate = RECOVERY
    _loads: np.ndarray = field(init=False, repr=False, compare=False)
    _heading: PatchFrame = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.surface, LimitSurface):
            raise ContactError(f"surface must be a LimitSurface, got {self.surface!r}")
        arms = np.asarray(self.arms, dtype=float)
        if arms.ndim != 2 or arms.shape[1] != 3 or not (len(arms) and np.isfinite(arms).all()):
            raise ContactError(
                f"arms must be at least one vector of three finite numbers [m], got {self.arms!r}"
            )
        object.__setattr__(self, "arms", tuple(map(tuple, arms.tolist())))
        check_fields(self, ContactError)
        # half-way between loads and directions of sliding that are spread evenly
        shape = np.sqrt(np.diag(self.surface.furthest(np.eye(3))))
        loads = self.surface.furthest(sphere_directions(self.refinement) / shape)
        object.__setattr__(self, "_loads", loads * [1.0, 1.0, self.surface.length])
        object.__setattr__(self, "_heading", PatchFrame(axis=self.axis, frame=self.frame))

    @classmethod
    def for_robot(
        cls,
        robot: Robot,
        *,
        path: FilePath | None = None,
        ellipsoid: Vector3 | None = None,
        length: Positive | None = None,
        centre: Vector3 | None = None,
        **options: Any,
    ) -> "PlanarSliding":
        """Contact model of a robot's patches.

        Args:
            robot: robot with the contact points.
            path: file of a fitted limit surface.
            ellipsoid: largest Fx, Fy and torque / length over the normal force, instead of `path`.
            length: characteristic length of the ellipsoid, such as the radius of the patch [m].
            centre: centre of a patch shared by all contact points, in the frame of their joint
                [m]; None: one patch a point.
            options: other arguments of the class.

        Raises:
            ContactError: not exactly one surface is given.
        """
        if (ellipsoid is None) != (length is None):
            raise ContactError("'length' is needed with 'ellipsoid', and only then")
        if (path is None) == (ellipsoid is None):
            raise ContactError("needs exactly one of 'path' and 'ellipsoid'")
        if centre is not None:
            options["arms"] = robot.contact_points.positions - np.array(centre)
        if path is not None:
            return cls(surface=LimitSurface.load(path), **options)
        return cls(surface=LimitSurface.ellipsoid(ellipsoid or (), length=length or 0.0), **options)

    @property
    def rows(self) -> int:
        """6: wrenches."""
        return 6

    @property
    def n_vertices(self) -> int:
        """Number of directions of sliding."""
        return len(self._loads)

    @property
    def inscribed(self) -> float:
        """Least ratio of the friction of the vertices to that of the surface, over directions."""
        probes = sphere_directions(_FINEST)
        loads = self._loads / [1.0, 1.0, self.surface.length]
        reached = (probes @ loads.T).max(axis=1)
        return float((reached / np.vecdot(probes, self.surface.furthest(probes))).min())

    def vertices(self, contacts: ContactState) -> np.ndarray:
        """See the class; shape (n, 6, n_vertices)."""
        friction = self._friction(contacts)[:, None, None]
        forces, turning = _in_world(self._heading.rotations(contacts), friction * self._loads.T)
        result = np.empty((len(contacts.depth), 6, self.n_vertices))
        result[:, :3] = forces + contacts.normal[:, :, None]
        result[:, 3:] = turning + skew(self._levers(contacts)) @ forces
        return self._sizes(contacts)[:, None, None] * result

    def derivative(self, contacts: ContactState, w: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        """d(V w)/d(x, phi), shape (n, 6, 6).

        V w = k d^p (s n + f; m + l x f) with f = E F and m = E M, where E is the patch's frame, l
        the lever from the contact's centre to the patch's, and s, F, M are linear in w.
        """
        n = contacts.normal
        E, turn = self._heading.turns(contacts)
        planar = self._friction(contacts)[:, None] * (w @ self._loads)
        forces, turning = (part[:, :, 0] for part in _in_world(E, planar[:, :, None]))
        tilt = np.zeros((len(n), 3, 6))  # dn
        if contacts.curvature is not None:
            tilt[:, :, :3] = contacts.curvature
        dforces = -skew(forces) @ turn
        dlevers = -contacts.radius[:, None, None] * tilt
        dlevers[:, :, 3:] += skew(self._arms(contacts))
        levers = skew(self._levers(contacts))
        result = np.empty((len(n), 6, 6))
        result[:, :3] = w.sum(axis=1)[:, None, None] * tilt + dforces
        result[:, 3:] = levers @ dforces - skew(forces) @ dlevers
        result[:, 3:] -= skew(turning) @ turn
        result *= self._sizes(contacts)[:, None, None]
        below = contacts.depth > 0.0
        steepness = np.divide(-self.power, contacts.depth, out=np.zeros(len(n)), where=below)
        result[:, :, :3] += (steepness[:, None] * wrench)[:, :, None] * n[:, None, :]
        return result

    def _arms(self, contacts: ContactState) -> np.ndarray:
        """Vectors from the centres of the patches to the contacts, world frame [m], (n, 3)."""
        arms = np.array(self.arms)
        if len(arms) > 1:
            if contacts.contact.max(initial=0) >= len(arms):
                raise ContactError(
                    f"arms are given for {len(arms)} contact points, but there is one of index "
                    f"{contacts.contact.max()}: give one for each, or one for all"
                )
            arms = arms[contacts.contact]
        result: np.ndarray = (contacts.rotation @ arms[:, :, None])[:, :, 0]
        return result

    def _levers(self, contacts: ContactState) -> np.ndarray:
        """Vectors from the contacts to the points at which planar loads act [m], shape (n, 3)."""
        result: np.ndarray = -self._arms(contacts) - contacts.radius[:, None] * contacts.normal
        return result

    def _friction(self, contacts: ContactState) -> np.ndarray:
        """Share of the surface's loads on this terrain [-], shape (n,)."""
        if self.reference_friction is None:
            return np.ones(len(contacts.depth))
        return contacts.friction / self.reference_friction

    def _sizes(self, contacts: ContactState) -> np.ndarray:
        """Normal force of the vertices [N], shape (n,)."""
        result: np.ndarray = self.stiffness * np.maximum(contacts.depth, 0.0) ** self.power
        return result


def _in_world(E: np.ndarray, planar: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Forces and moments along the world's axes of loads (Fx, Fy, tau), shape (n, 3, m)."""
    return E[:, :, :2] @ planar[:, :2], E[:, :, 2:] @ planar[:, 2:]
