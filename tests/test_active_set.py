"""Faces of redundant weights: the short way agrees with the linear program."""

import numpy as np
import pytest

from nmdp_pin.derivatives import active_set as module
from nmdp_pin.derivatives.active_set import active_set

CASES = 150


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights, some of them zero, some sums full, and forces that make them redundant."""
    rng = np.random.default_rng(seed)
    n, m, nv = int(rng.integers(1, 4)), 4, int(rng.integers(0, 5))
    w = rng.dirichlet(np.ones(m), size=n) * (rng.random((n, m)) < 0.6)
    full = (rng.random(n) < 0.4) & w.any(axis=1)
    w[full] /= w[full].sum(axis=1, keepdims=True)
    forces = rng.standard_normal((n * m, nv))
    forces[:, 0:1] = np.abs(forces[:, 0:1])  # normal forces do not cancel
    return w, forces


@pytest.fixture
def by_program(monkeypatch):
    """Whether each problem was left to the linear program."""
    spreads, left = module._spreads, []

    def recorded(*arguments):
        left.append(not spreads(*arguments))
        return not left[-1]

    monkeypatch.setattr(module, "_spreads", recorded)
    return left


def test_a_step_towards_equal_weights_finds_what_the_program_finds(by_program, monkeypatch):
    """In both ways of ending, the same weights are free and the same sums full."""
    cases = [random_case(seed) for seed in range(CASES)]
    faces = []
    for w, forces in cases:
        faces.append(active_set(w, np.zeros(w.size), forces, np.ones(w.size), 1e-9))
    assert 0.1 * CASES < sum(by_program) < 0.9 * len(by_program)
    monkeypatch.setattr(module, "_spreads", lambda *arguments: False)
    for (w, forces), found in zip(cases, faces, strict=True):
        expected = active_set(w, np.zeros(w.size), forces, np.ones(w.size), 1e-9)
        np.testing.assert_array_equal(found.free, expected.free)
        np.testing.assert_array_equal(found.tight, expected.tight)
        assert found.switches == expected.switches
