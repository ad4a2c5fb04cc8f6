"""Penalty forces: functions of the configuration alone ([P] eq. 8, 11 and 12)."""

from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from nmdp_pin._contact.contact_law import ContactLaw
from nmdp_pin._options import NonNegative, Number, Positive, check_fields, checked, readable
from nmdp_pin.errors import ContactError

STATIC_DEPTH = 1e-3  # [m] at which one contact carries the largest load, by default


@readable
@dataclass(frozen=True, kw_only=True)
class Penalty(ContactLaw):
    """Normal force C_perp d^alpha, friction -C_par (beta + 1) |u_t|^(beta - 1) u_t d^(gamma + 1).

    d is the penetration and u_t the tangential displacement over the step. Friction is viscous: it
    grows with the speed, and nothing sticks.

    Args:
        normal_stiffness: C_perp of pairs of bodies that state none [N/m^alpha]; None: one
            contact carries the whole robot, or the largest effort of a slide if that is more, at a
            depth of 1 mm; where hinges press harder than the weight, give it.
        friction_stiffness: C_par [N/m^(beta + gamma + 1)], the same for all contacts; None: that
            of dry friction with the coefficient of the terrain at `slip_speed`.
        slip_speed: speed at which friction is that of dry friction [m/s].
        alpha: exponent of the normal force; gamma + 1 unless `friction_stiffness` is given.
        beta: exponent of the slip.
        gamma: exponent of the penetration in the friction.

    Raises:
        ContactError: a parameter is out of range, or `friction_stiffness` is missing where
            alpha != gamma + 1, so that friction is not proportional to the load.
    """

    normal_stiffness: Positive | None = None
    friction_stiffness: NonNegative | None = None
    slip_speed: Positive = 0.5
    alpha: Annotated[Number, Field(gt=1)] = 2.0
    beta: Annotated[Number, Field(ge=1)] = 1.0
    gamma: Positive = 1.0

    def __post_init__(self) -> None:
        check_fields(self, ContactError)
        if self.friction_stiffness is None:
            _check_proportional(self.alpha, self.gamma, "give friction_stiffness")

    @property
    def power(self) -> float:
        """See `ContactLaw.power`."""
        return self.alpha

    def for_load(self, load: float) -> "Penalty":
        """Copy of the law with the normal stiffness for what presses at most [N]."""
        if self.normal_stiffness is not None:
            return self
        return replace(self, normal_stiffness=load / STATIC_DEPTH**self.alpha)


@checked(ContactError)
def friction_coefficient_for(
    mu: NonNegative,
    h: Positive,
    *,
    normal_stiffness: Positive,
    speed: Positive = 1.0,
    alpha: Annotated[Number, Field(gt=1)] = 2.0,
    beta: Annotated[Number, Field(ge=1, lt=2)] = 1.0,
    gamma: Positive = 1.0,
) -> float:
    """C_par for which a body with initial `speed` slides as far as with dry friction ([P] fig. 5).

    The distance v^2 / (2 mu g) on level ground, in closed form. With beta = 1 a step changes the
    speed by the factor 1 / (1 + 2 kappa g h^2), kappa = C_par / C_perp, so the way is
    v / (2 kappa g h) and C_par = C_perp mu / (h v): exact for every h, where the normal force is
    steady. For 1 < beta < 2 it is the limit
    of short steps, C_perp 2 mu / ((2 - beta) (beta + 1) (h v)^beta).

    Args:
        mu: coefficient of dry friction [-].
        h: length of a step [s].
        normal_stiffness: C_perp [N/m^alpha].
        speed: initial speed of the body [m/s].
        alpha: exponent of the normal force; gamma + 1, so that friction goes with the load.
        beta: exponent of the slip, in [1, 2); with 2 or more no body stops.
        gamma: exponent of the penetration in the friction.

    Raises:
        ContactError: a parameter is out of range.
    """
    _check_proportional(alpha, gamma, "look up the friction for each load by simulation")
    share = 2.0 * mu / ((2.0 - beta) * (beta + 1.0))
    return float(normal_stiffness * share / (h * speed) ** beta)


def _check_proportional(alpha: float, gamma: float, instead: str) -> None:
    if alpha != gamma + 1.0:
        raise ContactError(
            f"with alpha = {alpha} and gamma = {gamma} friction is not proportional to the load "
            f"and no one constant stands for mu; use alpha = gamma + 1, or {instead}"
        )
