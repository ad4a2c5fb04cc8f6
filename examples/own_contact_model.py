"""A contact model of your own: a floor with grooves, slippery along them and rough across.

python examples/own_contact_model.py

A model needs the vertices of its polytope and how they change with the position; the integrators do
the rest. `tests/examples/test_examples.py` runs the contract suite (`nmdp_pin.testing`) on this
one: five lines that also compare `derivative` with finite differences.
"""

from dataclasses import dataclass

import numpy as np

from nmdp_pin import Plane, Simulator, Terrain, WrenchSpace, load_robot
from nmdp_pin.contact import ContactState
from nmdp_pin.control import Passive


@dataclass(frozen=True, kw_only=True)
class Grooves(WrenchSpace):
    """v_j = k d^2 (n + mu t_j): d the penetration, t_j = u_j - (u_j.n) n on an ellipse.

    The friction coefficient is `along` times the terrain's in the direction of the world's x axis
    and the terrain's own in that of y. On a slope the t_j are projections, so shorter.

    Args:
        stiffness: k [N/m^2].
        along: share of the friction that is left along the grooves [-].
    """

    stiffness: float
    along: float

    @property
    def n_vertices(self) -> int:
        """Eight directions, the axes of the ellipse among them."""
        return 8

    @property
    def _u(self) -> np.ndarray:
        """Horizontal vectors u_j on the ellipse, shape (3, 8)."""
        angles = 2.0 * np.pi * np.arange(8) / 8
        return np.array([self.along * np.cos(angles), np.sin(angles), np.zeros(8)])

    def vertices(self, contacts: ContactState) -> np.ndarray:
        """See the contract; shape (n, 3, 8)."""
        n, mu = contacts.normal[:, :, None], contacts.friction[:, None, None]
        along_normal = (contacts.normal @ self._u)[:, None, :]
        size = self.stiffness * np.maximum(contacts.depth, 0.0) ** 2
        return size[:, None, None] * (n + mu * (self._u - along_normal * n))

    def derivative(self, contacts: ContactState, w: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        """See the contract; f = k d^2 (n (s - mu u.n) + mu u) with s, u = sum w_j (1, u_j)."""
        n, mu, depth = contacts.normal, contacts.friction, np.maximum(contacts.depth, 0.0)
        u, s = w @ self._u.T, w.sum(axis=1)
        # the depth falls along the normal: dd/dx = -n'
        share = np.divide(-2.0, depth, out=np.zeros_like(depth), where=depth > 0.0)
        result = (share[:, None] * wrench)[:, :, None] * n[:, None, :]
        if contacts.curvature is not None:  # dn/dx, on ground that is not flat
            size = self.stiffness * depth**2
            level = s - mu * (u * n).sum(axis=1)
            turn = level[:, None, None] * np.eye(3) - (mu[:, None] * n)[:, :, None] * u[:, None, :]
            result += size[:, None, None] * (turn @ contacts.curvature)
        return result


def main() -> None:
    """Send a box of 1 kg along and across the grooves at 1 m/s."""
    robot = load_robot("box")
    ground = Terrain([Plane(friction=0.5)])
    contact = Grooves(stiffness=1.0 * 9.81 / (4 * 0.001**2), along=0.5)
    simulator = Simulator(robot, ground, contact, "ne-nmdp")
    for name, axis, mu in (("along", 0, 0.25), ("across", 1, 0.5)):
        q, v = robot.standing.copy(), np.zeros(6)
        q[2] -= 0.001  # where four corners carry the weight
        v[axis] = 1.0
        state = simulator.state(q, v)
        for result in simulator.run(state, Passive(), dt=0.002, duration=1.0, on_failure="raise"):
            end = result.state
        print(f"{name}: {end.q[axis]:.4f} m, v^2/(2 mu g) = {0.5 / (mu * 9.81):.4f} m")


if __name__ == "__main__":
    main()
