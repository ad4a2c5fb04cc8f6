"""Switches at the ends of stages: which rows are at a kink, and of weights which ones."""

from types import SimpleNamespace

import numpy as np
from kernel_scenes import interpreted

from nmdp_pin._kernels.derivative.switches import SUM, TOUCH, WEIGHT, find_switches

# Rows: two contacts with 3 weights, one that is apart, a joint with one weight.
FIRST = np.array([0, 3, 6, 7])
ACTIVE = np.array([0, 2, 3])


def found(kinks=(), sums=(), depths=(-1.0, -1.0, -1.0), q=0.5, forces=False):
    """Switches as (row, kind, vertex)."""
    face = SimpleNamespace(
        kink=np.isin(np.arange(7), kinks), kink_sum=np.isin(np.arange(3), sums), tight=np.zeros(3)
    )
    contacts = SimpleNamespace(n=np.array([3]), rolls=np.zeros(3, bool), index=np.arange(3))
    places = SimpleNamespace(depth=np.array(depths))
    at = SimpleNamespace(places=places, q=np.array([0.0, q]), w=np.zeros((4, 3)), active=ACTIVE)
    joints = SimpleNamespace(
        dofs=np.array([1]), coordinates=np.array([1]), lower=np.zeros(1), upper=np.ones(1)
    )
    memory = SimpleNamespace(stage=SimpleNamespace(contacts=contacts))
    tree = SimpleNamespace(weight=10.0)
    system = SimpleNamespace(joints=joints, candidates=None, forces=forces, tree=tree)
    switches = np.full((20, 3), -9)
    n = interpreted(find_switches)(system, memory, at, FIRST, face, 1e-9, switches)
    return [tuple(row) for row in switches[:n].tolist()]


def test_weights_at_kinks():
    """They are counted within the weights of their row; rows are those of all contacts."""
    assert found() == []
    assert found(kinks=(0, 2)) == [(0, WEIGHT, 0), (0, WEIGHT, 2)]
    assert found(kinks=(4,), sums=(0, 2)) == [(2, WEIGHT, 1), (0, SUM, -1), (3, SUM, -1)]
    assert found(kinks=(6,)) == [(3, WEIGHT, 0)]


def test_forces_at_kinks():
    """Of a force the row is told: that of a contact or of a joint."""
    assert found(sums=(0, 2), forces=True) == [(0, WEIGHT, -1), (3, WEIGHT, -1)]


def test_contacts_at_touch_and_joints_at_stops():
    """On both sides of the surface, and of both stops, up to what is known of their places."""
    assert found(depths=(0.9e-9, -0.9e-9, 1.1e-9)) == [(0, TOUCH, -1), (1, TOUCH, -1)]
    assert found(q=0.9e-9) == found(q=1.0 - 0.9e-9) == [(3, TOUCH, -1)]
    assert found(q=1.1e-9) == found(q=1.0 - 1.1e-9) == []
