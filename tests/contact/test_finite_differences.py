"""The derivative of a contact model by differences: as good as the model's own."""

from dataclasses import dataclass

import numpy as np
import pytest
from contracts import WrenchSpaceContract
from core_samples import CONE, assert_same

from nmdp_pin._contact import FiniteDifferences, FrictionCone, WrenchSpace
from nmdp_pin.errors import ContactError
from nmdp_pin.testing import contact_state, ground_through, weights


@dataclass(frozen=True)
class Blackbox(WrenchSpace):
    """A friction cone without its derivative."""

    cone: FrictionCone = CONE

    @property
    def n_vertices(self):
        return self.cone.n_vertices

    def vertices(self, contacts):
        return self.cone.vertices(contacts)


class TestBlackbox(WrenchSpaceContract):
    @pytest.fixture
    def space(self):
        return Blackbox()


class TestFiniteDifferences(WrenchSpaceContract):
    @pytest.fixture
    def space(self):
        return FiniteDifferences(model=Blackbox())


def test_it_is_the_models_own():
    """On curved ground the differences are the derivative that the cone has itself."""
    rng = np.random.default_rng(2)
    position = 0.1 * rng.standard_normal((9, 3))
    ground = ground_through("sphere", position)
    state = contact_state(ground, position, np.tile(np.eye(3), (9, 1, 1)))
    w = weights(9, CONE.n_vertices, rng)
    wrench = (CONE.vertices(state) @ w[:, :, None])[:, :, 0]
    found = FiniteDifferences(model=CONE).derivative(state, w, wrench)
    assert_same(found[:, :, :3], CONE.derivative(state, w, wrench))
    assert not found[:, :, 3:].any()


def test_who_has_a_derivative():
    """A model that does not override `derivative` says so, and inside the wrapper it has one."""
    assert CONE.differentiable
    assert not Blackbox().differentiable
    assert FiniteDifferences(model=Blackbox()).differentiable


@pytest.mark.parametrize("step", [0.0, -1e-6, 1.0, float("nan"), "small", None])
def test_a_bad_step_is_refused(step):
    """The message says what a step may be."""
    with pytest.raises(ContactError, match="step must be a number in"):
        FiniteDifferences(model=CONE, step=step)


def test_a_class_is_no_model():
    """A class given for an instance of it is a mistake that is named."""
    with pytest.raises(ContactError, match="must be a WrenchSpace"):
        FiniteDifferences(model=Blackbox)
