"""Controllers: references through knots, gains by name, torque functions, pushes."""

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest
from contracts import ControllerContract

from nmdp_pin._control import Command, GaitTrajectory, Passive, StablePD, TorqueFunction
from nmdp_pin._control.external_wrench import Loads
from nmdp_pin._control.push import Push, Pushed
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.system import System
from nmdp_pin._robot import free_body, load_robot
from nmdp_pin._robot.gait import Gait
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Plane, Sphere, Terrain
from nmdp_pin.errors import ControlError
from nmdp_pin.papers.methods.semi_implicit import SemiImplicit

ROUNDING = 1e-12
JOINTS = ("limb1_joint2", "limb3_joint4")


def nod(loop=None):
    """Two joints through four knots."""
    return Gait("nod", JOINTS, [0.0, 0.5, 1.5, 2.0], [[0, 0], [1, -1], [0.5, 2], [0, 0]], loop)


def controllers():
    """One of each kind, on the planar Robosimian."""
    robot = samples.robot("robosimian planar")
    pd = StablePD(robot, kp=1000.0, kd=1.0, gait="walk")
    return {
        "passive": Passive(),
        "standing": StablePD(robot, kp={"limb1_joint2": 500.0}, kd=2.0),
        "gait": pd,
        "damped": StablePD(robot, kp=1000.0, kd=1.0, gait=nod(), track_velocity=False),
        "function of time": StablePD(
            robot, kp=10.0, kd=1.0, gait=lambda t: (robot.standing + 0.01 * np.sin(t), np.zeros(15))
        ),
        "torque": TorqueFunction(lambda state, h: -0.1 * state.v),
        "command": TorqueFunction(lambda state, h: Command(tau=np.ones(15))),
        "pushed": Pushed(pd, robot, [Push(force=(10.0, 0.0, 5.0), start=1.6, duration=0.2)]),
    }


class TestControllers(ControllerContract):
    @pytest.fixture
    def simulator(self):
        robot = samples.robot("robosimian planar")
        cone = samples.FrictionCone(stiffness=1e6, power=2)
        return Simulator(robot, Terrain([Plane(height=-0.8)]), cone, "ne-mdp")

    @pytest.fixture(params=controllers())
    def controller(self, request):
        return controllers()[request.param]


def indices(robot):
    """Where the joints of `nod` stand in v (and in q: planar base, hinges)."""
    return [robot.model.joints[robot.model.getJointId(name)].idx_v for name in JOINTS]


def test_references_hit_the_knots_at_rest():
    """At a knot the target is the knot and its rate is zero."""
    robot, gait = samples.robot("robosimian planar"), nod()
    curve = GaitTrajectory(robot, gait)
    for t, position in zip(gait.times, gait.positions, strict=True):
        q, v = curve(t)
        np.testing.assert_allclose(q[indices(robot)], position, atol=ROUNDING)
        np.testing.assert_allclose(v, 0.0, atol=1e-9)


def test_references_are_cubic_hermite():
    """Between knots s = 3u^2 - 2u^3, and the rate is the derivative."""
    robot = samples.robot("robosimian planar")
    curve = GaitTrajectory(robot, nod())
    for u in (0.1, 0.4, 0.9):
        q, v = curve(0.5 + u)  # the second span, 1 s long: (1, -1) to (0.5, 2)
        s, rate = 3 * u**2 - 2 * u**3, 6 * u - 6 * u**2
        np.testing.assert_allclose(q[indices(robot)], [1 - 0.5 * s, -1 + 3 * s], atol=ROUNDING)
        np.testing.assert_allclose(v[indices(robot)], [-0.5 * rate, 3 * rate], atol=ROUNDING)


def test_other_joints_stand():
    """Joints that the gait does not name stay at the standing pose."""
    robot = samples.robot("robosimian planar")
    q, v = GaitTrajectory(robot, nod())(0.7)
    others = np.setdiff1d(np.arange(15), indices(robot))
    np.testing.assert_array_equal(q[others], robot.standing[others])
    assert not v[others].any()


def test_before_and_after_the_knots():
    """Without a loop the first and the last knot hold, also at negative times."""
    robot = samples.robot("robosimian planar")
    for gait in (nod(), nod(loop=(0.5, 1.5))):
        q, v = GaitTrajectory(robot, gait)(-3.0)
        np.testing.assert_allclose(q[indices(robot)], [0.0, 0.0], atol=ROUNDING)
        assert not v.any()
    q, _ = GaitTrajectory(robot, nod())(99.0)
    np.testing.assert_allclose(q[indices(robot)], [0.0, 0.0], atol=ROUNDING)


def test_loops():
    """Past the loop's end the reference repeats with its period; before, it does not."""
    robot = samples.robot("robosimian planar")
    gait = nod(loop=(0.5, 2.0))
    curve = GaitTrajectory(robot, gait)
    for t in (0.6, 1.0, 1.9):
        for k in (1, 2, 50):
            np.testing.assert_allclose(curve(t + 1.5 * k)[0], curve(t)[0], atol=1e-9)
    assert gait.phase(0.2) == 0.2
    assert gait.phase(2.0) == 2.0


def test_free_flyer_targets_are_configurations():
    """With a free base the target is on the manifold, its joints at the gait."""
    robot = samples.robot("spider")
    q, v = GaitTrajectory(robot, robot.gaits["walk"])(0.8)
    assert q.shape == (19,)
    assert v.shape == (18,)
    assert pin.isNormalized(robot.model, q, 1e-9)
    assert not v[:6].any()


@pytest.mark.parametrize(
    ("joint", "message"),
    [("knee", "'knee', which robot 'spider' has not"), ("root_rotation", "needs one velocity")],
)
def test_gaits_of_unknown_joints(joint, message):
    """A gait that moves what is not there, or not simple, is named with the joints there are."""
    gait = Gait("odd", (joint,), [0.0, 1.0], [[0.0], [1.0]])
    with pytest.raises(ControlError, match=message):
        GaitTrajectory(samples.robot("spider"), gait)


def test_gains():
    """One gain goes to all driven joints, a table to those that it names."""
    robot = samples.robot("robosimian planar")
    command = StablePD(robot, kp=7.0, kd={JOINTS[0]: 2.0}).command(State(0.0, None, None), 0.1)
    expected = np.zeros(15)
    expected[robot.driven] = 7.0
    np.testing.assert_array_equal(command.kp, expected)
    assert np.flatnonzero(command.kd).tolist() == [indices(robot)[0]]
    assert command.kd.sum() == 2.0
    weak = StablePD(robot, kp=0.0, kd=1e-3).command(State(0.0, None, None), 0.1)
    assert not weak.kp.any()
    assert weak.kd.max() == 1e-3
    np.testing.assert_array_equal(command.q_target, robot.standing)


def test_named_gains_belong_to_velocities():
    """Behind a free base, whose q is longer than its v, a gain goes to its joint's velocity."""
    robot = samples.robot("spider")
    assert robot.model.nq != robot.model.nv
    for name in (robot.model.names[3], robot.model.names[-1]):
        command = StablePD(robot, kp={name: 3.0}, kd=1.0).command(State(0.0, None, None), 0.1)
        v = robot.model.joints[robot.model.getJointId(name)].idx_v
        np.testing.assert_array_equal(command.kp, 3.0 * np.eye(robot.model.nv)[v])


def test_targets_are_those_of_the_end_of_the_step():
    """The command for t to t + h aims at t + h."""
    robot = samples.robot("robosimian planar")
    controller = StablePD(robot, kp=1.0, kd=1.0, gait=nod())
    q, v = GaitTrajectory(robot, nod())(0.75)
    command = controller.command(State(0.7, None, None), 0.05)
    np.testing.assert_array_equal(command.q_target, q)
    np.testing.assert_array_equal(command.v_target, v)
    at_rest = StablePD(robot, kp=1.0, kd=1.0, gait=nod(), track_velocity=False)
    assert at_rest.command(State(0.7, None, None), 0.05).v_target is None


BAD_PD = {
    "negative": ({"kp": -1.0}, "kp must be a finite number >= 0, or one a joint by name, got -1.0"),
    "nan": ({"kd": np.nan}, "kd must be a finite number"),
    "inf": ({"kp": np.inf}, "kp must be a finite number"),
    "none": ({"kp": None}, "kp must be a finite number"),
    "text": ({"kp": "high"}, "got the text 'high'"),
    "list": ({"kp": [1.0, 2.0]}, r"got \[1.0, 2.0\]"),
    "negative in table": ({"kp": {JOINTS[0]: -3.0}}, f"kp.{JOINTS[0]} must be >= 0, got -3.0"),
    "unknown joint": ({"kp": {"knee": 1.0}}, "no joint 'knee'; its joints are .*limb1_joint2"),
    "number as joint": ({"kp": {3: 1.0}}, "kp.3.* must be a text, got 3"),
    "not driven": ({"kd": {"root_x": 1.0}}, "joint 'root_x' is not driven"),
    "unknown gait": ({"gait": "dance"}, "no gait 'dance'; its gaits: .*'jump'"),
    "odd gait": ({"gait": 5}, "must be a name, a Gait or a function of time, got 5"),
}


@pytest.mark.parametrize(("bad", "message"), BAD_PD.values(), ids=BAD_PD)
def test_bad_gains_and_gaits(bad, message):
    """A mistake is an error that says what was given and what is allowed."""
    with pytest.raises(ControlError, match=message):
        StablePD(samples.robot("robosimian planar"), **{"kp": 1.0, "kd": 1.0} | bad)


def test_a_robot_without_gaits_says_so():
    """The list of known gaits is 'none' where there are none."""
    with pytest.raises(ControlError, match="its gaits: none"):
        StablePD(samples.robot("chain fixed"), kp=1.0, kd=1.0, gait="walk")


def test_torque_functions():
    """An array becomes a feed-forward torque, a command passes; both see the state and h."""
    state, seen = State(0.5, np.zeros(2), np.ones(2)), []

    def torque(state, h):
        seen.append((state, h))
        return [1, 2]

    command = TorqueFunction(torque).command(state, 0.01)
    assert command.tau.tolist() == [1.0, 2.0]
    assert seen == [(state, 0.01)]
    given = Command(tau=np.ones(2))
    assert TorqueFunction(lambda state, h: given).command(state, 0.01) is given


@pytest.mark.parametrize("name", ["spider", "wheels", "robosimian planar"])
def test_joint_torque(name):
    """The torque is tau - kp difference(target, q) - kd (v - v_target) - damping v."""
    robot, rng = samples.robot(f"{name}+damping"), np.random.default_rng(0)
    model, h = robot.model, 0.01
    command = samples.command(model, rng)
    q, v = samples.configuration(model, rng), rng.standard_normal(model.nv)
    expected = (
        command.tau
        - command.kp * pin.difference(model, command.q_target, q)
        - command.kd * (v - command.v_target)
        - model.damping * v
    )
    system = System(robot, Terrain([Plane(height=-1e3)]), samples.CONE)
    form, steps = CompiledSystem(system), SemiImplicit(system, reach=0.0)
    free = Command(), -model.damping * v, ROUNDING
    for given, torque, atol in ((command, expected, 1e-9), free):
        steps.start(State(0.0, q, v), given, h)
        np.testing.assert_allclose(steps.torque(q, v), torque, atol=atol)
        stage = samples.Problem(form, pin.integrate(model, q, -h * v), v, given, h, 1)
        at = stage.evaluate(q, form.no_forces())
        np.testing.assert_allclose(at.record.tau, torque, atol=1e-9)


PUSH = {"force": (3.0, -2.0, 5.0), "start": 1.0, "duration": 0.25}


@pytest.mark.parametrize(
    ("t", "h", "share"),
    [
        (0.0, 0.5, 0.0),
        (0.9, 0.2, 0.5),
        (1.0, 0.1, 1.0),
        (1.2, 0.1, 0.5),
        (1.25, 1, 0),
        (0.5, 1, 0.25),
    ],
)
def test_share_of_a_push(t, h, share):
    """A push counts with the part of the step that it lasts."""
    assert Push(**PUSH).share(t, h) == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize("dt", [0.01, 0.03, 0.2])
def test_the_impulse_of_a_push_does_not_depend_on_dt(dt):
    """A free ball leaves with force times duration, whatever the step."""
    robot = samples.robot("chain free-flyer")
    air = Terrain([Plane(height=-1e3)])
    simulator = Simulator(robot, air, samples.CONE, "ne-mdp")
    push = Push(force=(0.3, 0.2, 0.0), start=0.11, duration=0.05)
    controller = Pushed(Passive(), robot, [push])
    state = simulator.state()
    for result in simulator.run(state, controller, dt=dt, duration=0.4):
        state = result.state
    data = robot.model.createData()
    momentum = pin.computeCentroidalMomentum(robot.model, data, state.q, state.v).linear
    # the chain swings, and first-order momentum drifts with h
    np.testing.assert_allclose(momentum[:2], [0.3 * 0.05, 0.2 * 0.05], atol=0.05 * dt)


def test_pushes_add_up():
    """Two pushes at once on two frames are the sum of their forces, beside the torque."""
    robot = samples.robot("spider")
    simulator = Simulator(robot, Terrain([Plane(height=-0.43)]), samples.CONE)
    state = simulator.state(t=1.1)
    wind = np.arange(18.0)
    inner = TorqueFunction(lambda state, h: Command(tau=np.full(18, 0.5), force=wind))
    pushes = [Push(**PUSH), Push(**PUSH, frame="FL_lower")]
    loads = Loads(robot.model)
    apart = [
        loads.added(Pushed(Passive(), robot, [push]).command(state, 0.01), state.q).force
        for push in pushes
    ]
    together = loads.added(Pushed(inner, robot, pushes).command(state, 0.01), state.q)
    np.testing.assert_allclose(together.force, wind + apart[0] + apart[1], atol=ROUNDING)
    np.testing.assert_array_equal(together.tau, np.full(18, 0.5))
    np.testing.assert_allclose(apart[0][:3], PUSH["force"], atol=ROUNDING)  # upright base
    quiet = Pushed(inner, robot, pushes).command(simulator.state(t=5.0), 0.01)
    np.testing.assert_array_equal(quiet.tau, np.full(18, 0.5))
    assert Pushed(Passive(), robot, pushes).command(simulator.state(t=5.0), 0.01).wrenches == ()


def test_a_push_has_the_axes_of_the_world():
    """Of a body that is turned: it leaves along the push, at F t / m."""
    body = free_body("body", Sphere(radius=0.1), mass=2.0, rpy=(0.4, -0.9, 1.3))
    simulator = Simulator(body, Terrain([Plane(height=-1e3)]), samples.CONE, order=1)
    controller = Pushed(Passive(), body, [Push(force=(3.0, -1.0, 2.0), start=0.0, duration=1.0)])
    (result,) = simulator.run(simulator.state(), controller, dt=0.1, duration=0.1)
    np.testing.assert_allclose(result.state.v[:3], [0.15, -0.05, 0.1 - 0.981], atol=1e-5)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"force": (1.0, 2.0)}, "force.2 is missing"),
        ({"force": (1.0, np.nan, 0.0)}, "force.1 must be a finite number, got nan"),
        ({"start": -1.0}, "start must be >= 0"),
        ({"start": np.nan}, "start must be a finite number"),
        ({"duration": 0.0}, "duration must be > 0"),
        ({"duration": np.inf}, "duration must be a finite number"),
    ],
    ids=str,
)
def test_bad_pushes(bad, message):
    """A push that is none is refused."""
    with pytest.raises(ControlError, match=message):
        Push(**PUSH | bad)


def test_a_push_without_a_frame_is_one_of_the_first_moving_body():
    """Neither a body that stands, nor the joint: a body is pushed at its own origin."""
    model, still = pin.Model(), pin.SE3.Identity()
    model.addBodyFrame("ground", 0, still, 0)
    joint = model.addJoint(0, pin.JointModelRZ(), still, "hinge")
    model.addJointFrame(joint)
    model.addBodyFrame("arm", joint, pin.SE3(np.eye(3), np.array([0.0, 2.0, 0.0])), 0)
    robot = samples.replace(samples.robot("chain fixed"), model=model)
    push = Push(force=(3.0, 0.0, 0.0), start=0.0, duration=1.0)
    command = Pushed(Passive(), robot, [push]).command(State(0.0, np.zeros(1), np.zeros(1)), 0.1)
    assert Loads(model).added(command, np.zeros(1)).force == pytest.approx([-6.0])


def test_push_on_nothing():
    """An unknown frame is named with the known ones; a robot that cannot move cannot be pushed."""
    robot = samples.robot("spider")
    with pytest.raises(ControlError, match=r"'tail', which is not one of the robot's: .*FL_lower"):
        Pushed(Passive(), robot, [Push(**PUSH, frame="tail")])
    rock = samples.replace(robot, model=pin.Model())
    with pytest.raises(ControlError, match="robot that moves"):
        Pushed(Passive(), rock, [Push(**PUSH)])


def test_knots_may_be_lists():
    """A gait holds arrays of what it was given."""
    gait = nod()
    np.testing.assert_array_equal(gait.times, np.array([0.0, 0.5, 1.5, 2.0]))
    assert gait.positions.shape == (4, 2)
    assert gait.positions.dtype == np.float64


BAD_GAITS = {
    "unsorted": ({"times": [0.0, 1.0, 0.5, 2.0]}, r"knot 2 \(0.5 s\) does not come after knot 1"),
    "equal times": ({"times": [0.0, 1.0, 1.0, 2.0]}, r"knot 2 \(1 s\) does not come after knot 1"),
    "one knot": ({"times": [0.0], "positions": [[0, 0]]}, "at least two knots are needed, 1 given"),
    "nan": ({"times": [0.0, 0.5, np.nan, 2.0]}, "finite"),
    "shape": ({"positions": [[0, 0], [1, 1]]}, r"shape \(2, 2\), expected \(4, 2\)"),
    "ragged": ({"positions": [[0, 0], [1], [2, 2], [3, 3]]}, "tables of numbers"),
    "twice": ({"joints": (JOINTS[0], JOINTS[0])}, "named twice"),
    "loop outside": (
        {"loop": (0.5, 3.0)},
        r"loop \(0.5, 3\) s must lie inside the knots, 0 to 2 s",
    ),
    "empty loop": ({"loop": (0.5, 0.5)}, "must lie inside"),
}


@pytest.mark.parametrize(("bad", "message"), BAD_GAITS.values(), ids=BAD_GAITS)
def test_bad_gaits(bad, message):
    """Knots that are no gait are refused, with the gait's name and the knot."""
    with pytest.raises(ControlError, match=f"gait 'nod': .*{message}"):
        samples.replace(nod(), **bad)


def test_a_push_on_a_robot_of_one_joint():
    """J' f of a slide along x is the force along x."""
    robot = load_robot("finger")
    push = Push(force=(3.0, 1.0, 2.0), start=0.0, duration=1.0, frame="tip")
    command = Pushed(Passive(), robot, [push]).command(
        State(0.0, robot.standing, np.zeros(1)), 0.01
    )
    assert Loads(robot.model).added(command, robot.standing).force == pytest.approx([3.0])
