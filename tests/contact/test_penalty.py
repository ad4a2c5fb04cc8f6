"""The law of penalty forces and its lookup of the friction."""

import pickle

import numpy as np
import pytest

from nmdp_pin._contact.penalty import Penalty, friction_coefficient_for
from nmdp_pin._kernels.contact.penalty import FRICTIONAL, PenaltyLaw, Touch, measure
from nmdp_pin.errors import ContactError

STIFFNESS = 1e6
DEPTH, SLIP = 1e-3, 2e-3  # [m]


def friction_of(law: Penalty, mu: float, h: float) -> float:
    """C_par of a contact, from its friction over slip, C_par (beta + 1) s^(beta - 1) d^(gamma + 1).

    Args:
        law: with beta = gamma = 1.
        mu: friction coefficient of the terrain.
        h: length of the step [s].
    """
    given = -1.0 if law.friction_stiffness is None else law.friction_stiffness
    numbers = (given, law.slip_speed, law.alpha, law.beta, law.gamma)
    touch = Touch(np.zeros(8), *np.zeros((3, 3)), *np.zeros((2, 3, 3)), np.zeros((0, 6)))
    touch.n[2] = 1.0
    of_law = PenaltyLaw(FRICTIONAL, *map(float, numbers))
    k = float(law.normal_stiffness)
    measure(of_law, h, DEPTH, k, mu, np.array([SLIP, 0, 0]), 0.0, touch)
    return touch.sizes[4] / (2.0 * DEPTH**2)


def test_friction_is_dry_at_the_slip_speed():
    """There 2 (C_par / C_perp) h v N is mu N, at every step length."""
    law = Penalty(normal_stiffness=STIFFNESS, slip_speed=0.3)
    for h in (1e-3, 0.1):
        for mu in (0.2, 0.7):
            share = friction_of(law, mu, h) / STIFFNESS
            np.testing.assert_allclose(2.0 * share * h * 0.3, mu)


def test_a_given_friction_is_everyones():
    """A constant is the constant, whatever the ground."""
    law = Penalty(normal_stiffness=STIFFNESS, friction_stiffness=7.0)
    assert friction_of(law, 0.2, 0.01) == pytest.approx(7.0)
    assert friction_of(law, 0.7, 0.01) == pytest.approx(7.0)


def test_lookup_in_closed_form():
    """C_par = C_perp mu / (h v)."""
    found = friction_coefficient_for(0.5, 0.02, normal_stiffness=STIFFNESS, speed=2.0)
    assert found == pytest.approx(STIFFNESS * 0.5 / (0.02 * 2.0))
    at_1_m_s = friction_coefficient_for(0.5, 0.02, normal_stiffness=STIFFNESS)
    assert at_1_m_s == pytest.approx(STIFFNESS * 0.5 / 0.02)


def test_lookup_and_slip_speed_are_one():
    """The speed of the lookup is twice the slip speed."""
    law = Penalty(normal_stiffness=STIFFNESS, slip_speed=0.5)
    found = friction_coefficient_for(0.5, 0.02, normal_stiffness=STIFFNESS, speed=1.0)
    assert friction_of(law, 0.5, 0.02) == pytest.approx(found)


@pytest.mark.parametrize("beta", [1.0, 1.3, 1.7])
def test_lookup_for_other_exponents(beta):
    """Integrating dv/dt = -k v^beta stops after v^2 / (2 mu g)."""
    mu, h, v, g = 0.4, 1e-2, 1.5, 9.81
    C = friction_coefficient_for(mu, h, normal_stiffness=STIFFNESS, speed=v, beta=beta)
    k = C / STIFFNESS * (beta + 1.0) * h**beta * g
    way = v ** (2.0 - beta) / (k * (2.0 - beta))
    assert way == pytest.approx(v**2 / (2.0 * mu * g))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"normal_stiffness": 0.0}, "normal_stiffness must be > 0, got 0.0"),
        ({"normal_stiffness": np.nan}, "normal_stiffness"),
        ({"friction_stiffness": -1.0}, "friction_stiffness must be >= 0, got -1.0"),
        ({"slip_speed": 0.0}, "slip_speed"),
        ({"alpha": 1.0}, "alpha must be > 1, got 1.0"),
        ({"beta": 0.5}, "beta must be >= 1, got 0.5"),
        ({"gamma": 0.0}, "gamma must be > 0, got 0.0"),
        ({"alpha": 3.0}, "give friction_stiffness"),
        ({"beta": "1"}, "beta"),
    ],
)
def test_bad_laws(options, message):
    """A parameter out of its range is named."""
    with pytest.raises(ContactError, match=message):
        Penalty(**{"normal_stiffness": STIFFNESS, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mu": -0.1}, "mu"),
        ({"h": 0.0}, "h must be"),
        ({"speed": np.inf}, "speed"),
        ({"beta": 2.0}, "beta must be < 2"),
        ({"gamma": 2.0}, "gamma"),
    ],
)
def test_bad_lookups(options, message):
    """A lookup that has no answer says why."""
    with pytest.raises(ContactError, match=message):
        friction_coefficient_for(**{"mu": 0.5, "h": 0.01, "normal_stiffness": STIFFNESS, **options})


def test_it_can_be_pickled():
    """A copy by pickle is equal."""
    law = Penalty(normal_stiffness=STIFFNESS, friction_stiffness=3.0)
    assert pickle.loads(pickle.dumps(law)) == law
