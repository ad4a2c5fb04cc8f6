"""Base class of contact models: a polytope of feasible wrenches for every contact.

The wrench of a contact is f = V w with w >= 0 and sum(w) <= 1 ([N] eq. 5), where the vertices V
depend on the pose of the contact.
"""

import abc
from typing import NamedTuple

import numpy as np

from nmdp_pin._contact.contact_law import ContactLaw
from nmdp_pin._robot import Robot
from nmdp_pin.errors import ContactError

_DEPTH = 1e-3  # [m] of the contacts at which a model is checked


class ContactState(NamedTuple):
    """State of n contacts, on which a contact model may depend.

    Attributes:
        position: centres of the contact spheres, world frame [m], shape (n, 3).
        rotation: rotation of the bodies that carry them, body to world, shape (n, 3, 3).
        depth: penetration of the spheres, negative when apart [m], shape (n,).
        normal: outward normal of the terrain, shape (n, 3).
        curvature: derivative of the normal by the position [1/m], shape (n, 3, 3); None on flat
            terrain.
        friction: friction coefficient of the terrain [-], shape (n,).
        radius: radius of the contact spheres, 0 for bare points [m], shape (n,).
        surface: index of the nearest shape in `Terrain.shapes`, -1 where there is none, shape (n,).
        contact: index among the robot's contact points, shape (n,).
    """

    position: np.ndarray
    rotation: np.ndarray
    depth: np.ndarray
    normal: np.ndarray
    curvature: np.ndarray | None
    friction: np.ndarray
    radius: np.ndarray
    surface: np.ndarray
    contact: np.ndarray

    def take(self, rows: np.ndarray) -> "ContactState":
        """Select contacts by indices or by a mask."""
        return ContactState._make(None if part is None else part[rows] for part in self)


class WrenchSpace(ContactLaw, abc.ABC):
    """Base class of contact models.

    A model of three rows gives forces that act where the sphere touches the terrain; one of six
    rows gives wrenches (force, moment) about the sphere's centre, both in the world frame.

    A model without `derivative` runs with `ne-zonmdp`, `pbd-zonmdp` and `ne-mdp`, and with all NMDP
    methods inside `FiniteDifferences`.
    """

    @property
    def rows(self) -> int:
        """Components of a vertex: 3 for a force, 6 for a wrench; may be a class attribute."""
        return 3

    @property
    def differentiable(self) -> bool:
        """Whether the model has a `derivative`."""
        return type(self).derivative is not WrenchSpace.derivative

    @property
    def recovery(self) -> float:
        """Rate sigma of recovery [1/s]; may be a class attribute.

        The principle counts the motion of a contact from one that recovers,
        u' = u - h (sigma / p) d (1 - s) n, where s is the share of its largest force, of weights
        their sum: a contact that is deeper than its load needs rises, one that needs its largest
        force is at rest. What d^p is too large decays at the rate sigma. Stops of joints recover
        likewise, with p = 1. With 0 a body rests as deep as its impact pressed it in.
        """
        return 0.0

    def rise_rates(self, contact: np.ndarray, surface: np.ndarray) -> np.ndarray:
        """Rates sigma / p of contacts on surfaces, as in `ContactState` [1/s], shape (n,)."""
        return np.full(len(contact), self.recovery / self.power)

    @property
    def power(self) -> int:
        """Exponent p of the penetration, k d^(p+1) / (p + 1) being what a contact can give back."""
        return 1

    @property
    @abc.abstractmethod
    def n_vertices(self) -> int:
        """Number of vertices of one contact's polytope, without the origin."""

    @abc.abstractmethod
    def vertices(self, contacts: ContactState) -> np.ndarray:
        """Vertices V of the n polytopes [N, N m], shape (n, rows, n_vertices)."""

    def derivative(self, contacts: ContactState, w: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        """Derivative of V w with respect to the contacts' translation [N/m], shape (n, rows, 3).

        Models that also depend on the body's orientation return (n, rows, 6): translation of the
        centre, then rotation, both in the world frame.

        Args:
            contacts: state of the contacts.
            w: weights, shape (n, n_vertices).
            wrench: V w at these contacts, shape (n, rows).

        Raises:
            ContactError: the model has no derivative.
        """
        raise ContactError(
            f"the contact model {type(self).__name__} has no derivative; use one of the methods "
            "ne-zonmdp, pbd-zonmdp and ne-mdp, or nmdp_pin.contact.FiniteDifferences(model)"
        )


def check_shapes(space: WrenchSpace, robot: Robot) -> None:
    """Check the vertices and the derivative of a contact model at two contacts on level ground."""
    n = min(len(robot.contact_points), 2)
    if not n:
        return
    what = f"of the contact model {type(space).__name__}"
    rows, m = space.rows, space.n_vertices
    if rows not in (3, 6):
        raise ContactError(f"rows {what} must be 3 (forces) or 6 (wrenches), got {rows!r}")
    contacts, kept = _level_contacts(robot, n), _level_contacts(robot, n)
    V = np.asarray(space.vertices(contacts))
    if V.shape != (n, rows, m):
        raise ContactError(
            f"vertices() {what} returned shape {V.shape} for {n} contacts, expected "
            f"(n, rows, n_vertices) = {(n, rows, m)}"
        )
    if space.differentiable:
        w = np.full((n, m), 1.0 / m)
        D = np.asarray(space.derivative(contacts, w, (V @ w[:, :, None])[:, :, 0]))
        if D.shape not in ((n, rows, 3), (n, rows, 6)):
            raise ContactError(
                f"derivative() {what} returned shape {D.shape} for {n} contacts, expected "
                f"(n, rows, 3) = {(n, rows, 3)}, or (n, rows, 6) = {(n, rows, 6)} for a model "
                "that depends on the body's orientation"
            )
    for name, now, before in zip(ContactState._fields, contacts, kept, strict=True):
        if now is not None and before is not None and not np.array_equal(now, before):
            raise ContactError(
                f"the contact model {type(space).__name__} writes into `{name}` of the contacts "
                "that it is given; it must change a copy"
            )


def _level_contacts(robot: Robot, n: int) -> ContactState:
    """The first contact points, a little way into level ground."""
    return ContactState(
        position=np.zeros((n, 3)),
        rotation=np.tile(np.eye(3), (n, 1, 1)),
        depth=np.full(n, _DEPTH),
        normal=np.tile([0.0, 0.0, 1.0], (n, 1)),
        curvature=None,
        friction=np.full(n, 0.5),
        radius=np.array(robot.contact_points.radii[:n], dtype=float),
        surface=np.zeros(n, dtype=int),
        contact=np.arange(n),
    )


# Row-major [a]_x as a linear map of a, so that all matrices are one product.
SKEW = np.zeros((3, 9))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    SKEW[_k, 3 * _i + _j] = -1.0
    SKEW[_k, 3 * _j + _i] = 1.0


def skew(a: np.ndarray) -> np.ndarray:
    """Matrices [a]_x with [a]_x b = a x b; shape (n, 3) to (n, 3, 3)."""
    return (a @ SKEW).reshape(-1, 3, 3)
