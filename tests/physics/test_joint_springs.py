"""Springs of joints: oscillators in closed form, MuJoCo, differences of steps, stops."""

import math

import numpy as np
import pinocchio as pin
import pytest
from contact_laws import law_for
from derivative_scenes import PENALTIES, TIGHT, check
from joint_scenes import BALLS, body, joint, pendulum
from physics_scenes import order
from urdf_samples import robot as urdf
from urdf_samples import write

from nmdp_pin import Simulator, load_robot, together
from nmdp_pin._contact import FrictionCone
from nmdp_pin._control import Command
from nmdp_pin._dynamics.joint_bounds import joints_of
from nmdp_pin._kernels.tree.springs import add_springs
from nmdp_pin._runs.recorder import Recorder
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.errors import RobotError, RobotWarning

FAR = Terrain([Plane(height=-10.0)])
STIFFNESS, REST, MASS = 100.0, 0.1, 1.0  # [N/m], [m], [kg]
RATE = math.sqrt(STIFFNESS / MASS)  # [rad/s]
LENGTHS = (0.02, 0.01, 0.005)  # [s]
SOLVED = 1e-7  # share of the amplitude that the tolerances of 60 steps leave
EXTRAPOLATED = 2e-5  # [m, rad]; errors of steps of 0.5 ms are 4e-4
METHODS = [("ne-nmdp", 1), ("ne-nmdp", 2), ("pbd-nmdp", 1), ("pbd-nmdp", 2)]
METHODS += [(name, 1) for name in ("ne-mdp", "ne-ncp", "pbd", "pbfd")]
_GAMMA = 1.0 - 1.0 / math.sqrt(2.0)

SLIDE = """<robot name="slide"><link name="base"/>
<link name="weight"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0"
ixz="0" iyz="0"/></inertial></link>
<joint name="s" type="prismatic"><parent link="base"/><child link="weight"/><axis xyz="1 0 0"/>
<limit lower="-5" upper="5" effort="100" velocity="100"/></joint></robot>"""


def with_settings(folder, text, settings, name="slide.urdf"):
    """The robot of a robot.toml beside its URDF."""
    write(folder, text, name)
    path = folder / "robot.toml"
    path.write_text(f'urdf = "{name}"\nbase = "fixed"\ncontact = []\n{settings}')
    return load_robot(path)


def simulated(robot, method, accuracy_order=1):
    """A simulator that solves its steps to rounding."""
    options = {"order": accuracy_order, "vi_newton": TIGHT} if "nmdp" in method else {}
    options |= PENALTIES[method][1] if method in PENALTIES else {}
    law = law_for(method, FrictionCone(stiffness=1e5, power=2))
    return Simulator(robot, FAR, law, method, **options)


def stepped(sim, h, duration, command=None):
    """Results of the steps from the standing pose, all of which converge."""
    results, state = [], sim.state()
    for _ in range(round(duration / h)):
        results.append(sim.step(state, command, h))
        state = results[-1].state
        assert results[-1].status.ok
    return results


@pytest.fixture
def slide(tmp_path):
    """A weight on a slide with a spring."""
    return with_settings(
        tmp_path, SLIDE, f"springs.s = {{ stiffness = {STIFFNESS}, springref = {REST} }}"
    )


def factor(h, accuracy_order):
    """By what a step multiplies x + i v / rate of an oscillator, of backward Euler or SDIRK2."""
    z = -1j * RATE * h
    if accuracy_order == 1:
        return 1.0 / (1.0 - z)
    return (1.0 + (1.0 - 2.0 * _GAMMA) * z) / (1.0 - _GAMMA * z) ** 2


@pytest.mark.parametrize(("method", "accuracy_order"), METHODS)
def test_an_oscillator_has_the_period_and_amplitude_of_the_scheme(slide, method, accuracy_order):
    """For all steps, with its energy, and both converge to the true ones with the scheme's order.

    The amplitude falls by |R| and the phase turns by arg R a step, R being the scheme's function
    of stability.
    """
    sim, amplitudes, periods = simulated(slide, method, accuracy_order), [], []
    for h in LENGTHS:
        results = stepped(sim, h, 0.3)
        x = np.array([r.state.q[0] - REST + 1j * r.state.v[0] / RATE for r in results])
        R, n = factor(h, accuracy_order), np.arange(1, len(x) + 1)
        np.testing.assert_allclose(x, -REST * R**n, atol=SOLVED * REST)
        energy = [r.kinetic_energy + r.potential_energy for r in results]
        np.testing.assert_allclose(energy, 0.5 * STIFFNESS * np.abs(x) ** 2, rtol=10 * SOLVED)
        amplitudes.append(1.0 - abs(x[-1]) / REST)
        periods.append(abs(np.angle(R) / (RATE * h) + 1.0))
    # of second order, energies of oscillators are exact to third order
    assert order(LENGTHS, amplitudes) == pytest.approx(2 * accuracy_order - 1, abs=0.15)
    assert order(LENGTHS, periods) == pytest.approx(2.0, abs=0.15)


def mujoco_state(model, q):
    """Configuration of ours in MuJoCo's order: its quaternions begin with w."""
    at = [*q[:1], q[4], *q[1:4], *q[5:9], q[12], *q[9:12]]
    return np.array(at)


def test_springs_of_all_kinds_of_joints_are_those_of_mujoco(tmp_path):
    """Accelerations at random states, and motion after 0.2 s, of all kinds."""
    mujoco = pytest.importorskip("mujoco", reason="needs mujoco: extra 'mjcf'")
    path = write(tmp_path, BALLS, "balls.xml")
    robot, theirs = load_robot(path, contacts=[]), mujoco.MjModel.from_xml_path(str(path))
    assert not robot.warnings
    data, rng = mujoco.MjData(theirs), np.random.default_rng(0)
    sim = simulated(robot, "ne-nmdp", 2)
    for _ in range(3):
        q = pin.integrate(robot.model, robot.standing, 0.5 * rng.standard_normal(theirs.nv))
        v = rng.standard_normal(theirs.nv)
        data.qpos[:], data.qvel[:] = mujoco_state(robot.model, q), v
        mujoco.mj_forward(theirs, data)
        forces = pin.nonLinearEffects(robot.model, robot.model.createData(), q, v)
        expected = data.qfrc_passive - data.qfrc_bias
        G = np.zeros(theirs.nv)
        add_springs(joints_of(robot).springs, q, G, np.zeros((0, 0)))
        np.testing.assert_allclose(-G - forces, expected, rtol=1e-10, atol=1e-10)
    mujoco.mj_resetDataKeyframe(theirs, data, 0)
    data.qpos[:] = mujoco_state(robot.model, robot.standing)  # of unit quaternions
    theirs.opt.timestep, theirs.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    mujoco.mj_step(theirs, data, 2000)
    long, short = (
        mujoco_state(robot.model, stepped(sim, h, 0.2)[-1].state.q) for h in (1e-3, 5e-4)
    )
    # of second order: a third of their difference is the error of the shorter steps
    np.testing.assert_allclose(short + (short - long) / 3.0, data.qpos, atol=EXTRAPOLATED)


@pytest.mark.parametrize(("method", "accuracy_order"), [*METHODS[:4], *METHODS[6:]])
def test_derivatives_of_steps_with_springs(method, accuracy_order, tmp_path):
    """Of ball, slide, hinge and a free body, against differences of steps."""
    pytest.importorskip("mujoco", reason="needs mujoco: extra 'mjcf'")
    robot = load_robot(write(tmp_path, BALLS, "balls.xml"), contacts=[])
    sim = simulated(robot, method, accuracy_order)
    v = np.random.default_rng(1).standard_normal(robot.model.nv)
    check(sim, sim.state(robot.standing, v), Command(), 0.01)


@pytest.mark.parametrize("method", ["ne-nmdp", "pbfd", "ne-ncp"])
def test_a_spring_presses_a_joint_into_its_stop(method, tmp_path):
    """Its force there is a static load: the penetration is 0.1 mm, not 2 cm."""
    text = SLIDE.replace('upper="5" effort="100"', 'upper="0.1" effort="0"')
    with pytest.warns(RobotWarning, match="effort of 0"):
        robot = with_settings(tmp_path, text, "springs.s = { stiffness = 2e4, springref = 0.6 }")
    sim = simulated(robot, method)
    *_, last = stepped(sim, 0.01, 1.0)
    assert last.state.q[0] == pytest.approx(0.1, abs=1.1e-4)


def test_springs_carry_what_hangs_on_them(tmp_path):
    """At the angle where k (theta - rest) = -m g sin(theta); beside others, too, and it is told."""
    hinge = joint("hip", "base", "rod", origin="0 0 2")
    text = urdf('<link name="base"/>', body("rod", MASS, 0.01, "0 0 -1"), hinge)
    spring = "springs.hip = { stiffness = 20, springref = 1.0 }"
    alone = with_settings(tmp_path, text, spring, "pendulum.urdf")
    other = pendulum(tmp_path / "..", limit=(-3.0, 3.0))
    both = together(other, [alone])
    assert [s.joint for s in both.springs] == [f"{alone.name}/hip"]
    sim = Simulator(both, FAR, FrictionCone(stiffness=1e5, power=2))
    *_, last = stepped(sim, 0.02, 8.0, Command(kd=10.0 * np.ones(2)))
    free, held = last.state.q
    assert free == pytest.approx(0.0, abs=1e-4)
    assert 20.0 * (held - 1.0) == pytest.approx(-MASS * 9.81 * math.sin(held), abs=1e-3)


def test_recordings_count_the_energy_of_springs(slide):
    """In their first row, which no step has made, as in the others."""
    sim = simulated(slide, "ne-nmdp", 2)
    with Recorder(slide, sim.state()) as recorder:
        recorder.record(sim.step(sim.state(), None, 1e-3), 0.0)
    energy = recorder.recording().potential_energy
    assert energy[0] == pytest.approx(0.5 * STIFFNESS * REST**2)
    assert energy[1] < energy[0]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("springs.knee = { stiffness = 1.0 }", "does not exist or is fixed"),
        ("springs.s = { stiffness = -1.0 }", "must be >= 0"),
        ("springs.s = { stiffness = 1.0, rest = 0.0 }", "'rest' is not a key"),
        ("springs.s = { springref = 1.0 }", "stiffness"),
    ],
)
def test_springs_that_cannot_be(settings, says, tmp_path):
    """What is wrong and where."""
    with pytest.raises(RobotError, match=r"springs|joint") as caught:
        with_settings(tmp_path, SLIDE, settings)
    assert says in str(caught.value)


def test_springs_of_endless_joints_are_refused(tmp_path):
    """Their angle is known up to turns alone; a locked joint needs none."""
    text = SLIDE.replace("prismatic", "continuous")
    with pytest.raises(RobotError, match='write "revolute" for "continuous"'):
        with_settings(tmp_path, text, "springs.s = { stiffness = 1.0 }")
