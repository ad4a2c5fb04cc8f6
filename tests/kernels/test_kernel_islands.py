"""Islands of a step: trees of joints that contacts connect, and their weights and energies."""

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._contact import FrictionCone
from nmdp_pin._control.controller import Command
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.step.islands import add_work, find_islands, island_of_row, write_energies
from nmdp_pin._kernels.step.stage import kinematics
from nmdp_pin._kernels.step.step_start import open_step
from nmdp_pin._kernels.tree.tree import body_twists
from nmdp_pin._robot import Distance, Weld, free_body, together, touching, with_loops
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Box, Plane, Terrain

ROUNDING = 1e-12
MASSES = (1.0, 20.0, 300.0, 4000.0)  # [kg]
G = 9.81  # [m/s^2]
H = 0.01  # [s]


def cubes(places: list[tuple[float, float]]):
    """Cubes of 0.2 m at places (x, z), which may touch each other and the ground."""
    bodies = [
        free_body(f"cube{k}", Box(size=(0.2, 0.2, 0.2)), mass=mass, position=(x, 0.0, z))
        for k, ((x, z), mass) in enumerate(zip(places, MASSES, strict=True))
    ]
    robot = touching(together(bodies[0], bodies[1:]))
    law = FrictionCone(stiffness=1e6)
    return CompiledSystem(System(robot, Terrain([Plane()]), law)), robot


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([(0.0, 0.1), (1.0, 0.1), (2.0, 0.1), (3.0, 0.1)], [0, 1, 2, 3]),
        ([(0.0, 0.1), (1.0, 0.1), (0.0, 0.3), (3.0, 0.1)], [0, 1, 0, 2]),
        ([(0.0, 0.1), (1.0, 0.1), (1.0, 0.3), (0.0, 0.3)], [0, 1, 1, 0]),
        ([(0.0, 0.5), (0.2, 0.5), (0.4, 0.5), (0.0, 0.3)], [0, 0, 0, 0]),
    ],
)
def test_islands(places, expected):
    """Bodies that touch each other, directly or by others; the ground connects nothing."""
    form, robot = cubes(places)
    memory, model = form.new_memory(), robot.model
    q, v = robot.standing, np.random.default_rng(1).standard_normal(model.nv)
    open_step(form.record, form.start(State(0.0, q, v), [Command()], H, None), memory)
    islands, contacts = memory.islands, memory.stage.contacts
    find_islands(form.tree, contacts, form.joints, islands)
    count = max(expected) + 1
    of_bodies = np.repeat(expected, 2)  # a translation and a turn each
    assert islands.count[0] == count
    assert islands.of_bodies.tolist() == [-1, *of_bodies]
    assert islands.of_dofs.tolist() == np.repeat(expected, 6).tolist()
    masses = np.bincount(expected, MASSES)
    assert islands.weight[:count] == pytest.approx(G * masses, rel=ROUNDING)
    for i in range(contacts.n[0]):
        own = {int(of_bodies[b - 1]) for b in contacts.bodies[i] if b > 0}
        assert own == {island_of_row(form.record, contacts, islands, i)}
    assert contacts.n[0] > 0
    at = memory.origin
    kinematics(form.record, q, at)
    body_twists(form.tree, at.S, v, at.twists)
    kinetic, potential, work = np.ones(8), np.ones(8), np.ones(8)
    write_energies(form.record, at, islands, kinetic, potential, np.zeros(8))
    data = model.createData()
    total = pin.computeKineticEnergy(model, data, q, v), pin.computePotentialEnergy(model, data, q)
    assert (kinetic.sum(), potential.sum()) == pytest.approx(total, rel=ROUNDING)
    heights = np.bincount(expected, [m * z for m, (_, z) in zip(MASSES, places, strict=True)])
    assert potential[:count] == pytest.approx(9.81 * heights, rel=ROUNDING)
    at.tau[:] = 1.0
    add_work(form.record, contacts, at, 0.5, islands, work)
    powers = np.bincount(islands.of_dofs, 0.5 * v)
    assert work == pytest.approx(1.0 + np.pad(powers, (0, 8 - count)), abs=ROUNDING)


def test_loops_join_islands():
    """Bodies that a loop holds together are one island, those held to the world are not."""
    bodies = [
        free_body(f"cube{k}", Box(size=(0.2, 0.2, 0.2)), mass=mass, position=(float(k), 0.0, 1.0))
        for k, mass in enumerate(MASSES)
    ]
    loops = [Weld(first="cube0"), Weld(first="cube3"), Distance(first="cube1", second="cube3")]
    robot = with_loops(together(bodies[0], bodies[1:]), loops)
    form = CompiledSystem(System(robot, Terrain([Plane()]), FrictionCone(stiffness=1e6)))
    memory = form.new_memory()
    find_islands(form.tree, memory.stage.contacts, form.joints, memory.islands)
    assert memory.islands.of_bodies.tolist() == [-1, 0, 0, 1, 1, 2, 2, 1, 1]
    rows = memory.stage.contacts.n[0] + np.array([0, 6, 12])
    found = [island_of_row(form.record, memory.stage.contacts, memory.islands, i) for i in rows]
    assert found == [0, 1, 1]
