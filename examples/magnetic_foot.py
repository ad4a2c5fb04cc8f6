"""A magnetic foot: a contact model that also pulls, on a box of 1 kg at a steel wall.

python examples/magnetic_foot.py

The magnet holds up to `pull` newtons against being torn off and presses the foot onto the steel,
which adds to its friction. With four corners at the wall, the box stays where it is if
4 mu pull > m g, and else slides down with g - 4 mu pull / m. A body that slides has no damping
against the surface, so it bobs by what friction tips it; from mu = 0.5 on that tears it off.
"""

from dataclasses import dataclass

import numpy as np

from nmdp_pin import FrictionCone, Plane, Simulator, Terrain, WrenchSpace, load_robot
from nmdp_pin.contact import ContactState
from nmdp_pin.control import Passive


@dataclass(frozen=True, kw_only=True)
class Magnet(WrenchSpace):
    """A friction cone whose tip is moved to -A n: v_j = cone_j - A n, and the tip itself.

    A = pull in contact, pull exp(-(gap / reach)^2) at a gap. The origin is always a vertex, so the
    magnet resists being moved away and does not attract from afar.

    Args:
        cone: what presses.
        pull: largest force against being torn off [N].
        reach: gap at which 37 % of it are left [m].
    """

    cone: FrictionCone
    pull: float
    reach: float

    @property
    def n_vertices(self) -> int:
        """Those of the cone and the tip."""
        return self.cone.n_vertices + 1

    def vertices(self, contacts: ContactState) -> np.ndarray:
        """See the contract; shape (n, 3, n_vertices)."""
        tip = -self._pull(contacts)[:, None, None] * contacts.normal[:, :, None]
        return np.concatenate([self.cone.vertices(contacts) + tip, tip], axis=2)

    def derivative(self, contacts: ContactState, w: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        """See the contract; of f = f_cone - s A n with s = sum w."""
        n, s, A = contacts.normal, w.sum(axis=1), self._pull(contacts)
        of_cone = self.cone.derivative(contacts, w[:, :-1], wrench + (s * A)[:, None] * n)
        gap = np.maximum(-contacts.depth, 0.0)  # it grows along the normal
        slope = 2.0 * s * A * gap / self.reach**2
        result = of_cone + slope[:, None, None] * n[:, :, None] * n[:, None, :]
        if contacts.curvature is not None:
            result -= (s * A)[:, None, None] * contacts.curvature
        return result

    def _pull(self, contacts: ContactState) -> np.ndarray:
        gap = np.maximum(-contacts.depth, 0.0)
        return self.pull * np.exp(-((gap / self.reach) ** 2))


def main() -> None:
    """Let go of a box at a wall, with magnets that are too weak and with some that hold."""
    robot = load_robot("box")
    mu, weight, h, duration = 0.3, 9.81, 0.005, 0.3
    wall = Terrain([Plane(normal=(1.0, 0.0, 0.0), friction=mu)])
    for share in (0.5, 0.8, 1.2):
        pull = share * weight / (4 * mu)
        # directions along the wall's vertical, and twice the pull at 1 mm
        cone = FrictionCone(stiffness=2.0 * pull / 0.001**2, power=2, directions=8)
        magnet = Magnet(cone=cone, pull=pull, reach=0.002)
        simulator = Simulator(robot, wall, magnet, "ne-nmdp")
        q = robot.standing.copy()
        q[:3] = [0.1 - 0.0007, 0.0, 1.0]
        state = simulator.state(q)
        for result in simulator.run(state, Passive(), dt=h, duration=duration, on_failure="raise"):
            end = result.state
        expected = max(9.81 * (1.0 - share), 0.0) * duration
        print(f"4 mu pull = {share} m g: {abs(end.v[2]):.4f} m/s, expected {expected:.4f} m/s")


if __name__ == "__main__":
    main()
