"""A contact model fitted to samples of forces: rubber pads under a box.

python examples/fitted_contact.py      # writes rubber_pad.csv

The samples are computed here from a formula, that of a rubber ball on a hard floor: the normal
force grows with depth^1.5, the friction coefficient falls with the load's cube root, and the tread
holds better across than along. With a rig of your own, write the same columns.
"""

from pathlib import Path

import numpy as np

from nmdp_pin import Plane, Simulator, Terrain, load_robot
from nmdp_pin.contact import WrenchSamples, fit_hulls
from nmdp_pin.control import Passive

TITLES = "depth [m],fx [N],fy [N],fz [N]"
STIFFNESS = 7.8e4  # [N/m^1.5]; four pads carry 1 kg at 1 mm
LOAD = 2.4525  # [N] at which friction is as follows
FRICTION = (0.2, 0.4)  # along x and along y [-]


def friction_at(load: np.ndarray) -> np.ndarray:
    """Friction coefficients along x and y of a pad that carries a load [N]."""
    return np.array(FRICTION) * (load / LOAD) ** (-1.0 / 3.0)


def sampled(depths: np.ndarray, directions: int = 12) -> np.ndarray:
    """Depth and force on the pad when it is dragged in many directions, shape (n, 4)."""
    rows = []
    for depth in depths:
        load = STIFFNESS * depth**1.5
        angles = 2.0 * np.pi * np.arange(directions) / directions
        friction = friction_at(load)[:, None] * np.array([np.cos(angles), np.sin(angles)])
        for fx, fy in load * friction.T:
            rows.append((depth, fx, fy, load))
    return np.array(rows)


def main(path: Path = Path("rubber_pad.csv")) -> None:
    """Sample, fit, and send a box along the tread and across it."""
    table = sampled(np.linspace(0.0003, 0.003, 10))
    np.savetxt(path, table, delimiter=",", fmt="%.6g", header=TITLES, comments="")
    fit = fit_hulls(WrenchSamples.load(path))
    print(
        f"{fit.model.n_vertices} vertices, coverage {fit.coverage:.3f}, "
        f"error where a depth is left out {fit.left_out_error:.4f}"
    )
    robot = load_robot("box")
    simulator = Simulator(robot, Terrain([Plane()]), fit.model, "ne-nmdp")
    for name, axis in (("along", 0), ("across", 1)):
        q, v = robot.standing.copy(), np.zeros(6)
        q[2] -= 0.001  # where four pads carry the weight
        v[axis] = 0.5
        state = simulator.state(q, v)
        for result in simulator.run(state, Passive(), dt=0.002, duration=0.5, on_failure="raise"):
            end = result.state
        expected = 0.5**2 / (2.0 * FRICTION[axis] * 9.81)
        print(f"{name}: {end.q[axis]:.4f} m, v^2/(2 mu g) = {expected:.4f} m")


if __name__ == "__main__":
    main()
