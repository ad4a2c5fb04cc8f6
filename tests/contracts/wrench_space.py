"""The contract of contact models."""

from __future__ import annotations

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin.contact import ContactState, WrenchSpace
from nmdp_pin.terrain import Terrain

# Largest step at which the second difference of a power law at a depth of 1e-2 m is still small.
_STEP = 1e-6  # [m], [rad]
_MARGIN = 100.0 * _STEP  # [m]; closer to touch than this, differences would straddle a kink


def contact_state(terrain: Terrain, position: np.ndarray, rotation: np.ndarray) -> ContactState:
    """Spheres of 0.02 m at `position`, shape (n, 3), on bodies turned by `rotation`."""
    distance, normal, curvature, friction = terrain.query(position)
    return ContactState(position, rotation, 0.02 - distance, normal, curvature, friction)


class WrenchSpaceContract:
    """Needs the fixture `space`: a WrenchSpace."""

    def test_vertices_have_the_stated_shape(self, space: WrenchSpace) -> None:
        """V has shape (n, rows, n_vertices) and is finite, for any number of contacts."""
        for n in (0, 1, 5):
            V = space.vertices(self._state("tilted", n))
            assert V.shape == (n, space.rows, space.n_vertices)
            assert np.isfinite(V).all()

    def test_contacts_are_independent(self, space: WrenchSpace) -> None:
        """The vertices of a contact are those that it has alone."""
        state = self._state("sphere", 6)
        V = space.vertices(state)
        for i in range(6):
            alone = ContactState(*(None if a is None else a[i : i + 1] for a in state))
            np.testing.assert_allclose(space.vertices(alone)[0], V[i], rtol=1e-12, atol=1e-12)

    def test_the_same_contacts_give_the_same_bits(self, space: WrenchSpace) -> None:
        """Nothing is remembered: a query in between changes nothing."""
        state = self._state("tilted", 4)
        V = space.vertices(state).copy()
        space.vertices(self._state("ceiling", 7))
        assert np.array_equal(space.vertices(state), V)

    @pytest.mark.parametrize("kind", ["flat", "tilted", "ceiling", "sphere", "cylinder"])
    def test_derivative(self, space: WrenchSpace, kind: str) -> None:
        """`derivative` agrees with central differences of V w, in and out of contact."""
        terrain, position, rotation = self._scene(kind, 8)
        state = contact_state(terrain, position, rotation)
        away = np.abs(state.depth) > _MARGIN
        w = samples.weights(8, space.n_vertices, np.random.default_rng(1))
        wrench = (space.vertices(state) @ w[:, :, None])[:, :, 0]
        found = space.derivative(state, w, wrench)
        assert found.shape[:2] == (8, space.rows)
        assert found.shape[2] in (3, 6)

        def moved(x: np.ndarray) -> np.ndarray:
            turned = pin.exp3(x[3:]) @ rotation if len(x) == 6 else rotation
            V = space.vertices(contact_state(terrain, position + x[:3], turned))
            return (V @ w[:, :, None])[:, :, 0]

        expected = samples.central_differences(moved, found.shape[2], _STEP)
        samples.assert_same(found[away], expected[away])

    def test_derivative_is_zero_far_away(self, space: WrenchSpace) -> None:
        """A contact far from the ground answers no motion."""
        terrain, position, rotation = self._scene("flat", 3)
        state = contact_state(terrain, position + np.array([0.0, 0.0, 50.0]), rotation)
        w = np.full((3, space.n_vertices), 1.0 / space.n_vertices)
        wrench = (space.vertices(state) @ w[:, :, None])[:, :, 0]
        assert not space.derivative(state, w, wrench).any()

    def test_it_can_be_pickled(self, space: WrenchSpace) -> None:
        """A copy by pickle has the same vertices."""
        import pickle

        state = self._state("tilted", 3)
        copy = pickle.loads(pickle.dumps(space))
        assert np.array_equal(copy.vertices(state), space.vertices(state))

    def _scene(self, kind: str, n: int) -> tuple[Terrain, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(n)
        position = 0.1 * rng.standard_normal((max(n, 2), 3))
        terrain = samples.ground_through(kind, position)
        rotation = np.array([pin.exp3(x) for x in rng.standard_normal((n, 3))]).reshape(-1, 3, 3)
        return terrain, position[:n], rotation

    def _state(self, kind: str, n: int) -> ContactState:
        return contact_state(*self._scene(kind, n))
