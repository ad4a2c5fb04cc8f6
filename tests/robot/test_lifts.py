"""Gravity compensation of MJCF files, against MuJoCo."""

import numpy as np
import pinocchio as pin
import pytest
from derivative_scenes import TIGHT, check
from urdf_samples import write

from nmdp_pin import FrictionCone, Plane, Simulator, Terrain, free_body, load_robot, together
from nmdp_pin._control import Command
from nmdp_pin._dynamics.python_calls import PinocchioCalls
from nmdp_pin._robot.trees import _SMALL
from nmdp_pin._terrain import Sphere
from nmdp_pin.contact import DryFriction, Penalty

mujoco = pytest.importorskip("mujoco", reason="needs mujoco: extra 'mjcf'")

FAR = Terrain(Plane(height=-100.0))
# Two bodies on one joint, a ball joint, and a free body, each with a part of its weight held up.
TEXT = """<mujoco><option gravity="1 0 -9" timestep="1e-4" integrator="RK4"/>
<default><geom contype="0" conaffinity="0"/></default><worldbody>
<body pos="0 0 1"><joint name="turn" axis="1 1 0"/>
<geom type="box" size="0.1 0.1 0.2" pos="0.1 0 -0.2"/>
<body pos="0.3 0 0" gravcomp="0.7"><geom size="0.1"/>
<body name="tail" pos="0 0 -0.2" gravcomp="1.5"><joint name="ball" type="ball"/>
<geom type="ellipsoid" size="0.1 0.2 0.05" pos="0 0.1 0"/></body></body></body>
<body name="balloon" pos="2 0 0" gravcomp="0.5"><freejoint/>
<geom type="box" size="0.1 0.2 0.1"/></body></worldbody></mujoco>"""


def both(folder):
    """The robot, and MuJoCo's model and data."""
    theirs = mujoco.MjModel.from_xml_string(TEXT)
    return load_robot(write(folder, TEXT, "lifts.xml")), theirs, mujoco.MjData(theirs)


@pytest.mark.parametrize("beside", [0, 12])
def test_forces_are_those_of_mujoco(beside, tmp_path):
    """Of one model, and of one for each tree; derivatives are those of the forces."""
    robot, theirs, data = both(tmp_path)
    robot = together(
        robot, [free_body(f"ball{k}", Sphere(radius=0.1), mass=1.0) for k in range(beside)]
    )
    model, n = robot.model, theirs.nv
    assert (model.nv > _SMALL) == bool(beside)
    calls = PinocchioCalls(robot)
    arrays = calls.arrays(0)
    q = pin.integrate(model, robot.standing, np.linspace(-1.0, 1.0, model.nv))
    calls.q[:] = q
    calls.inverse_dynamics(True)
    x, turn, by_q = q[: theirs.nq], lambda part: np.roll(part, 1), arrays.of_q.copy()
    data.qpos[:] = [x[0], *turn(x[1:5]), *x[5:8], *turn(x[8:12])]
    mujoco.mj_forward(theirs, data)
    assert arrays.tau[:n] == pytest.approx(data.qfrc_bias - data.qfrc_passive, rel=1e-9)
    for k, e in enumerate(1e-6 * np.eye(model.nv)):
        ends = []
        for sign in (1.0, -1.0):
            calls.q[:] = pin.integrate(model, q, sign * e)
            calls.inverse_dynamics(False)
            ends.append(arrays.tau.copy())
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(by_q[:, k], abs=1e-6)


@pytest.mark.parametrize(
    ("method", "law", "h", "error"),
    [
        ("ne-nmdp", FrictionCone(stiffness=1e6, power=1), 0.01, 2e-4),
        ("pbd-nmdp", FrictionCone(stiffness=1e6, power=1), 0.01, 1e-3),
        ("pbfd", Penalty(), 1e-3, 1e-2),
        ("ne-ncp", DryFriction(), 1e-3, 1e-2),
    ],
)
def test_motion_is_that_of_mujoco(method, law, h, error, tmp_path):
    """For half a second, in which the energy stays."""
    robot, theirs, data = both(tmp_path)
    simulator = Simulator(robot, FAR, law, method)
    first, *_, last = simulator.run(simulator.state(), None, dt=h, duration=0.5)
    mujoco.mj_step(theirs, data, 5000)
    x = last.state.q
    found = [x[0], *np.roll(x[1:5], 1), *x[5:8], *np.roll(x[8:12], 1)]
    assert found == pytest.approx(data.qpos, abs=error)
    energies = [result.kinetic_energy + result.potential_energy for result in (first, last)]
    assert energies[1] == pytest.approx(energies[0], abs=error * last.kinetic_energy)


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp", "pbfd"])
def test_derivatives(method, tmp_path):
    """By the start and the torque, against differences."""
    robot, *_ = both(tmp_path)
    if method == "pbfd":
        sim = Simulator(robot, FAR, Penalty(), method, tolerance=1e-13)
    else:
        law = FrictionCone(stiffness=1e6, power=1)
        sim = Simulator(robot, FAR, law, method, vi_newton=TIGHT)
    check(sim, sim.state(v=np.linspace(-1.0, 1.0, robot.model.nv)), Command(), 0.01)
