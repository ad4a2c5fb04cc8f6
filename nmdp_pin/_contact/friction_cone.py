"""Coulomb friction whose largest force grows with the penetration ([N] Remarks 4 and 5)."""

import functools
import math
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from nmdp_pin._contact.wrench_space import ContactState, WrenchSpace
from nmdp_pin._kernels.contact.friction_cone import Cone, all_derivatives, all_vertices
from nmdp_pin._options import (
    Count,
    Flag,
    NonNegative,
    Number,
    PositiveOrInfinite,
    check_fields,
    check_part,
    checked,
    readable,
)
from nmdp_pin._robot import Robot
from nmdp_pin.errors import ContactError

Power = Annotated[Count, Field(ge=1, le=6)]
Directions = Annotated[Count, Field(ge=3, le=64)]
Rate = Annotated[Number, Field(ge=0, le=100)]

RECOVERY = 10.0  # [1/s]; measured in docs/accuracy.md
STANDARD_GRAVITY = 9.81  # [m/s^2], pinocchio's default and the papers'
_EDGES = 6  # of round cones, where a method needs a polyhedron
_FLAT = np.zeros((0, 3, 3))  # curvature of flat surfaces
_CEILING = -0.5  # below this z of the normal the tangents are built from the other pole


@checked(ContactError)
def stiffness_for_static_depth(
    mass: float, n_feet: int, static_depth: float, power: int, gravity: float = STANDARD_GRAVITY
) -> float:
    """Stiffness k [N/m^power] with which `n_feet` feet carry `mass` at `static_depth`.

    k = m g / (n_feet * static_depth^power).

    Args:
        mass: mass of the robot [kg].
        n_feet: number of feet that share the weight.
        static_depth: penetration at rest, 0: rigid, k = inf [m].
        power: exponent of the penetration.
        gravity: gravitational acceleration [m/s^2].
    """
    if n_feet == 0:
        raise ContactError(
            f"no contact points were found, so nothing carries {mass:.6g} kg at static_depth: give "
            "the robot's links collision geometry, name links in `contacts`, or give `stiffness`"
        )
    if not (mass > 0.0 and n_feet > 0 and static_depth >= 0.0):
        raise ContactError(
            f"mass = {mass} kg and {n_feet} feet must be > 0, static_depth = {static_depth} m >= 0"
        )
    if static_depth == 0.0:
        return math.inf
    return mass * gravity / (n_feet * static_depth**power)


@readable
@dataclass(frozen=True, kw_only=True)
class FrictionCone(WrenchSpace):
    """Friction cone |f_t| <= mu f_n, 0 <= f_n <= k d^p, with d the penetration.

    With `directions` it is the papers' polyhedron, whose vertices are k (d^p + zeta) (n + mu t_j)
    with unit tangents t_j. They inscribe the cone: friction is between mu cos(pi / directions) and
    mu, and a sliding body veers towards the nearest edge (docs/accuracy.md). `circumscribed` scales
    mu so that friction is between mu and mu / cos(pi / directions). Methods that need vertices,
    `ne-mdp` and the papers' objectives, take six where none are given.

    Args:
        stiffness: k of pairs of bodies that state none [N/m^power]; inf is a rigid contact, which
            the NMDP methods have with the objective "dissipation".
        power: exponent p of the penetration; 3 makes the bound twice differentiable at touch.
        directions: number of tangents t_j; None: the cone is round.
        zeta: force without contact, up to 5 cm from a surface, in units of d^p; 0 is physical.
        angle: angle of the first tangent [rad].
        circumscribed: whether friction is at least mu in every direction instead of at most.
        recovery: rate rho at which d^p decays to its static value, and the depth of joints beyond
            their stops [1/s]; see `WrenchSpace`. With 0, the law of the papers, a body rests as
            deep as its impact pressed it in.
    """

    stiffness: PositiveOrInfinite
    power: Power = 3
    directions: Directions | None = None
    zeta: NonNegative = 0.0
    angle: Number = 0.0
    circumscribed: Flag = False
    recovery: Rate = RECOVERY
    _tangents: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(self, ContactError)
        angles = self.angle + 2.0 * np.pi * np.arange(self.n_vertices) / self.n_vertices
        scale = 1.0 / np.cos(np.pi / self.n_vertices) if self.circumscribed else 1.0
        tangents = scale * np.array([np.cos(angles), np.sin(angles)])
        object.__setattr__(self, "_tangents", tangents)

    @classmethod
    def for_robot(
        cls, robot: Robot, *, static_depth: float, power: int = 3, **options: Any
    ) -> "FrictionCone":
        """Cone in which a robot stands `static_depth` deep.

        Args:
            robot: robot, whose `mass` and `n_feet` are used.
            static_depth: penetration at rest, 0: rigid [m].
            power: exponent of the penetration.
            options: other arguments of the class.

        Raises:
            ContactError: the robot has no contact points, or an argument is out of range.
        """
        check_part("robot", robot, Robot, ContactError)
        k = stiffness_for_static_depth(robot.mass, robot.n_feet, static_depth, power)
        return cls(stiffness=k, power=power, **options)

    @functools.cached_property
    def cone(self) -> Cone:
        """Parameters as the kernels take them, without the stiffness, which pairs have."""
        return Cone(
            self._tangents,
            int(self.power),
            self.zeta,
            self.directions or 0,
            self.angle,
            float(np.linalg.norm(self._tangents[:, 0])),
        )

    @property
    def n_vertices(self) -> int:
        """Number of edges of the polyhedron, of a round cone that of methods which need one."""
        return self.directions or _EDGES

    def effective_friction(self, mu: float) -> tuple[float, float]:
        """Smallest and largest friction coefficient over the directions of sliding [-]."""
        if self.directions is None:
            return mu, mu
        inscribed = np.cos(np.pi / self.directions)
        return (mu, mu / inscribed) if self.circumscribed else (mu * inscribed, mu)

    def vertices(self, contacts: ContactState) -> np.ndarray:
        """See the class; shape (n, 3, directions)."""
        V = np.empty((len(contacts.depth), 3, self.n_vertices))
        all_vertices(
            self.cone,
            float(self.stiffness),
            np.ascontiguousarray(contacts.depth),
            np.ascontiguousarray(contacts.normal),
            np.ascontiguousarray(contacts.friction),
            V,
        )
        return V

    def derivative(self, contacts: ContactState, w: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        """d(V w)/dx, shape (n, 3, 3); see `kernels.friction_cone.cone_derivative`."""
        D = np.empty((len(contacts.depth), 3, 3))
        all_derivatives(
            self.cone,
            float(self.stiffness),
            np.ascontiguousarray(contacts.depth),
            np.ascontiguousarray(contacts.normal),
            _FLAT if contacts.curvature is None else np.ascontiguousarray(contacts.curvature),
            np.ascontiguousarray(contacts.friction),
            np.ascontiguousarray(w),
            np.ascontiguousarray(wrench),
            D,
        )
        return D


def tangent_frames(normal: np.ndarray) -> np.ndarray:
    """Rotations R with R e_z = n and the least turn from the nearer pole, shape (n, 3, 3)."""
    sign, inverse, bisector = _poles(normal)
    R = np.empty((len(normal), 3, 3))
    R[:, :, 0] = -(inverse * normal[:, 0])[:, None] * bisector
    R[:, :, 1] = -(inverse * normal[:, 1])[:, None] * bisector
    R[:, 0, 0] += 1.0
    R[:, 1, 1] += 1.0
    R[:, :, 1] *= sign[:, None]
    R[:, :, 2] = normal
    return R


def _poles(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sign of the pole, 1 / (1 + sign n_z) and n + sign e_z."""
    sign = np.where(normal[:, 2] < _CEILING, -1.0, 1.0)
    bisector = normal.copy()
    bisector[:, 2] += sign
    return sign, 1.0 / (1.0 + sign * normal[:, 2]), bisector


def frame_derivative(normal: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Derivative of R(n) s with respect to n, shape (n, 3, 3).

    R s = s_z n + s_t - a (n . s_t) b with s_t the tangential part, b = n + sign e_z and
    a = 1 / (1 + sign n_z).
    """
    sign, a, b = _poles(normal)
    tangential = s.copy()
    tangential[:, 2] = 0.0
    tangential[:, 1] *= sign
    along = (normal * tangential).sum(axis=1)
    result = -(a[:, None] * b)[:, :, None] * tangential[:, None, :]
    result[:, :, 2] += (sign * a**2 * along)[:, None] * b
    diagonal = s[:, 2] - a * along
    for i in range(3):
        result[:, i, i] += diagonal
    found: np.ndarray = result
    return found
