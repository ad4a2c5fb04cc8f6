"""Check of the arrays that a contact model returns, and of those that it is given."""

import numpy as np

from nmdp_pin._contact.wrench_space import ContactState, WrenchSpace
from nmdp_pin._robot import Robot
from nmdp_pin.errors import ContactError

_DEPTH = 1e-3  # [m]


def check_shapes(space: WrenchSpace, robot: Robot) -> None:
    """Check the vertices and the derivative of a contact model at two contacts on level ground."""
    n = min(len(robot.contact_points), 2)
    if not n:
        return
    what = f"of the contact model {type(space).__name__}"
    rows, m = space.rows, space.n_vertices
    if rows not in (3, 6):
        raise ContactError(f"rows {what} must be 3 (forces) or 6 (wrenches), got {rows!r}")
    contacts, kept = _level_contacts(robot, n), _level_contacts(robot, n)
    V = np.asarray(space.vertices(contacts))
    if V.shape != (n, rows, m):
        raise ContactError(
            f"vertices() {what} returned shape {V.shape} for {n} contacts, expected "
            f"(n, rows, n_vertices) = {(n, rows, m)}"
        )
    if space.differentiable:
        w = np.full((n, m), 1.0 / m)
        D = np.asarray(space.derivative(contacts, w, (V @ w[:, :, None])[:, :, 0]))
        if D.shape not in ((n, rows, 3), (n, rows, 6)):
            raise ContactError(
                f"derivative() {what} returned shape {D.shape} for {n} contacts, expected "
                f"(n, rows, 3) = {(n, rows, 3)}, or (n, rows, 6) = {(n, rows, 6)} for a model "
                "that depends on the body's orientation"
            )
    for name, now, before in zip(ContactState._fields, contacts, kept, strict=True):
        if now is not None and before is not None and not np.array_equal(now, before):
            raise ContactError(
                f"the contact model {type(space).__name__} writes into `{name}` of the contacts "
                "that it is given; it must change a copy"
            )


def _level_contacts(robot: Robot, n: int) -> ContactState:
    """The first contact points, a little way into level ground."""
    return ContactState(
        position=np.zeros((n, 3)),
        rotation=np.tile(np.eye(3), (n, 1, 1)),
        depth=np.full(n, _DEPTH),
        normal=np.tile([0.0, 0.0, 1.0], (n, 1)),
        curvature=None,
        friction=np.full(n, 0.5),
        radius=np.array(robot.contact_points.radii[:n], dtype=float),
        surface=np.zeros(n, dtype=int),
        contact=np.arange(n),
    )
