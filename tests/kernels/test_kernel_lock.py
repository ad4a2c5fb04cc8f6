"""What a signal raises while a kernel calls Python comes out as itself."""

import pytest

from nmdp_pin import FrictionCone, Plane, Simulator, Terrain, load_robot
from nmdp_pin._integrators.nmdp import Nmdp
from nmdp_pin._kernels.compiler.kernel_lock import KernelLock
from nmdp_pin.derivatives import step_derivatives


def interrupted(*_, **__):
    """As Numba has it."""
    raise SystemError from KeyboardInterrupt()


def refused():
    """An exception of its own."""
    raise SystemError("no memory")


@pytest.mark.parametrize(
    ("call", "comes"), [(refused, SystemError), (interrupted, KeyboardInterrupt)]
)
def test_the_lock_is_free_again(call, comes):
    """Other exceptions are as they were."""
    lock = KernelLock()
    for _ in range(2):  # which waits for ever on a lock that is held
        with pytest.raises(comes), lock:
            call()


def test_ctrl_c_ends_derivatives(monkeypatch):
    """Where it comes while a kernel calls pinocchio."""
    simulator = Simulator(
        load_robot("box", visuals=False), Terrain(Plane()), FrictionCone(stiffness=1e6), "ne-nmdp"
    )
    monkeypatch.setattr(Nmdp, "response", interrupted)
    with pytest.raises(KeyboardInterrupt):
        step_derivatives(simulator, simulator.state(), None, 0.01)
