"""The contract of contact models."""

import pickle
from typing import ClassVar

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._contact import ContactState, WrenchSpace
from nmdp_pin._terrain import Terrain
from nmdp_pin.errors import ContactError
from nmdp_pin.testing.differences import DERIVATIVE, assert_same, central_differences
from nmdp_pin.testing.scenes import contact_state, ground_through, weights

# Largest step at which the second difference of a power law at a depth of 1e-2 m is still small.
_STEP = 1e-6  # [m], [rad]
_MARGIN = 100.0 * _STEP  # [m]; closer to touch than this, differences would straddle a kink
_KINDS = ("flat", "tilted", "ceiling", "sphere", "cylinder", "valley")
_FAR = 50.0  # [m]


class WrenchSpaceContract:
    """Tests that every `WrenchSpace` passes; needs the fixture `space`, the model.

    The contacts are spheres of `radius` whose centres are scattered by `spread` about the surface,
    eight at most, of bodies turned in all ways.
    """

    spread: ClassVar[float] = 0.1
    """Standard deviation of the positions along each axis, and so of the depths [m]."""
    radius: ClassVar[float] = 0.02
    """Of the spheres [m]."""
    tolerance: ClassVar[float] = DERIVATIVE
    """On the relative error of the derivative."""

    def test_vertices_have_the_stated_shape(self, space: WrenchSpace) -> None:
        """V has shape (n, rows, n_vertices) and is finite, for any number of contacts."""
        assert space.rows in (3, 6)
        for n in (0, 1, 5):
            V = space.vertices(self._state("tilted", n))
            assert V.shape == (n, space.rows, space.n_vertices)
            assert np.isfinite(V).all()

    def test_contacts_are_independent(self, space: WrenchSpace) -> None:
        """The vertices of a contact are those that it has alone."""
        state = self._state("sphere", 6)
        V = space.vertices(state)
        scale = np.abs(V).max()
        for i in range(6):
            alone = space.vertices(state.take(np.array([i])))
            np.testing.assert_allclose(alone[0], V[i], rtol=1e-12, atol=1e-12 * scale)

    def test_the_same_contacts_give_the_same_bits(self, space: WrenchSpace) -> None:
        """Nothing is remembered: a query in between changes nothing."""
        state = self._state("tilted", 4)
        V = space.vertices(state).copy()
        space.vertices(self._state("ceiling", 7))
        assert np.array_equal(space.vertices(state), V)

    def test_vertices_are_not_overwritten(self, space: WrenchSpace) -> None:
        """The result of `vertices` is not changed by the next query."""
        V = space.vertices(self._state("tilted", 4))
        kept = V.copy()
        space.vertices(self._state("ceiling", 4))
        assert np.array_equal(V, kept)

    def test_contacts_are_not_changed(self, space: WrenchSpace) -> None:
        """A model only reads where the contacts are."""
        state = self._state("sphere", 4)
        kept = [None if part is None else part.copy() for part in state]
        w = np.full((4, space.n_vertices), 1.0 / space.n_vertices)
        wrench = self._wrench(space, state, w)
        if space.differentiable:
            space.derivative(state, w, wrench)
        for part, before in zip(state, kept, strict=True):
            np.testing.assert_array_equal(part, before)

    def test_bad_numbers_do_not_raise(self, space: WrenchSpace) -> None:
        """A contact that is lost (NaN) neither raises nor warns, nor touches the others."""
        terrain, position, rotation = self._scene("tilted", 4)
        V = space.vertices(contact_state(terrain, position, rotation, self.radius))
        position = position.copy()
        position[2] = np.nan
        found = space.vertices(contact_state(terrain, position, rotation, self.radius))
        scale = np.abs(V).max()
        kept = np.arange(4) != 2
        np.testing.assert_allclose(found[kept], V[kept], rtol=1e-12, atol=1e-12 * scale)

    @pytest.mark.parametrize("kind", _KINDS)
    def test_derivative(self, space: WrenchSpace, kind: str) -> None:
        """`derivative` agrees with central differences of V w, in and out of contact."""
        terrain, position, rotation = self._scene(kind, 8)
        state = contact_state(terrain, position, rotation, self.radius)
        away = np.abs(state.depth) > _MARGIN
        w = weights(8, space.n_vertices, np.random.default_rng(1))
        wrench = self._wrench(space, state, w)
        if not space.differentiable:
            with pytest.raises(ContactError, match="no derivative"):
                space.derivative(state, w, wrench)
            return
        found = space.derivative(state, w, wrench)
        assert found.shape[:2] == (8, space.rows)
        assert found.shape[2] in (3, 6)

        def moved(x: np.ndarray) -> np.ndarray:
            turned = pin.exp3(x[3:]) @ rotation
            there = contact_state(terrain, position + x[:3], turned, self.radius)
            return self._wrench(space, there, w)

        expected = central_differences(moved, 6, _STEP)
        if found.shape[2] == 3:
            found = np.concatenate([found, np.zeros_like(found)], axis=2)
        assert_same(found[away], expected[away], self.tolerance)

    def test_derivative_is_zero_far_away(self, space: WrenchSpace) -> None:
        """A contact far from the ground answers no motion."""
        if not space.differentiable:
            return
        terrain, position, rotation = self._scene("flat", 3)
        position = position + np.array([0.0, 0.0, _FAR])
        state = contact_state(terrain, position, rotation, self.radius)
        w = np.full((3, space.n_vertices), 1.0 / space.n_vertices)
        assert not space.derivative(state, w, self._wrench(space, state, w)).any()

    def test_it_can_be_pickled(self, space: WrenchSpace) -> None:
        """A copy by pickle has the same vertices."""
        state = self._state("tilted", 3)
        copy = pickle.loads(pickle.dumps(space))
        assert np.array_equal(copy.vertices(state), space.vertices(state))

    @staticmethod
    def _wrench(space: WrenchSpace, state: ContactState, w: np.ndarray) -> np.ndarray:
        result: np.ndarray = (space.vertices(state) @ w[:, :, None])[:, :, 0]
        return result

    def _scene(self, kind: str, n: int) -> tuple[Terrain, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(n)
        position = self.spread * rng.standard_normal((max(n, 2), 3))
        terrain = ground_through(kind, position)
        rotation = np.array([pin.exp3(x) for x in rng.standard_normal((n, 3))]).reshape(-1, 3, 3)
        return terrain, position[:n], rotation

    def _state(self, kind: str, n: int) -> ContactState:
        return contact_state(*self._scene(kind, n), self.radius)
