"""The environments: Gymnasium's own checks, rewards, ends of episodes, determinism."""

import pickle
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

gymnasium = pytest.importorskip("gymnasium")

from adapter_scenes import unsolved_hopper  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402

from nmdp_pin import JointLimits, Sensors, load_robot  # noqa: E402
from nmdp_pin.adapters.bundled_tasks import ObjectAt, reach, simulator_for  # noqa: E402
from nmdp_pin.adapters.gymnasium import SimulatorEnv, Task  # noqa: E402
from nmdp_pin.adapters.locomotion import Base, Forward  # noqa: E402
from nmdp_pin.adapters.motors import Motors  # noqa: E402
from nmdp_pin.errors import ControlError, StateError, ViewerError  # noqa: E402
from nmdp_pin.sensors import Accelerometer, Gyroscope, JointPositions  # noqa: E402

HOPPER, WALKER = "nmdp-pin/Hopper-v0", "nmdp-pin/Walker3D-v0"
TASKS = [
    f"nmdp-pin/{name}-v0" for name in ("Hopper", "Walker3D", "Balance", "Reach", "Push", "Pick")
]
STEPS = 10
FALL = 1e-9  # rounding
PAST = 0.1  # [rad] a joint may go past its range: twice what the stop gives at full torque
SAG = 0.15  # [rad] of the standing hopper's joints under its weight, of gains of 400 N m/rad


def run(env, steps, seed=3):
    """Observations, rewards and ends of random actions."""
    env.action_space.seed(seed)
    observed, rewards, ends = [env.reset(seed=seed)[0]], [], []
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        observed.append(observation)
        rewards.append(reward)
        ends.append((terminated, truncated))
    return np.array(observed), np.array(rewards), ends


@pytest.mark.parametrize("name", TASKS)
def test_check_env_passes(name):
    """Gymnasium's checker finds nothing in any bundled task, not even a warning."""
    env = gymnasium.make(name)
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", [HOPPER, WALKER])
def test_seeds_are_deterministic(name):
    """The same seed and actions give the same bits in another environment; another seed others."""
    first, second = (gymnasium.make(name) for _ in range(2))
    for a, b in zip(run(first, STEPS), run(second, STEPS), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first.reset(seed=4)[0], first.reset(seed=5)[0])


# A fork of a process that other tests have made threads in (JAX's) may hang.
@pytest.mark.parametrize(("mode", "options"), [("sync", {}), ("async", {"context": "spawn"})])
def test_vectorised_is_the_same(mode, options):
    """Two environments in Gymnasium's vector give what each gives alone, to the bit."""
    seeds, alone = (3, 8), gymnasium.make(HOPPER)
    many = gymnasium.make_vec(HOPPER, num_envs=2, vectorization_mode=mode, vector_kwargs=options)
    try:
        observed = [many.reset(seed=list(seeds))[0]]
        many.action_space.seed(0)
        actions = [many.action_space.sample() for _ in range(3)]
        observed += [many.step(action)[0] for action in actions]
    finally:
        many.close()
    for place, seed in enumerate(seeds):
        expected = [alone.reset(seed=seed)[0]]
        expected += [alone.step(action[place])[0] for action in actions]
        np.testing.assert_array_equal(np.array(observed)[:, place], expected)


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp", "ne-ncp", "pbfd"])
def test_methods_are_exchanged_by_name(method):
    """Every method walks the same task, at 20 and at 50 ms."""
    for dt in (0.02, 0.05):
        env = gymnasium.make(HOPPER, method=method, dt=dt)
        env.reset(seed=0)
        observation, _, terminated, truncated, info = env.step(np.zeros(3, np.float32))
        assert info["status"] == "converged"
        assert not terminated
        assert not truncated
        assert env.observation_space.contains(observation)


def test_reward_is_the_benchmarks():
    """Speed along x plus one, less a thousandth of the squared action, while upright."""
    env = gymnasium.make(HOPPER)
    env.reset(seed=0)
    before = env.unwrapped.state
    action = np.array([0.2, -0.3, 0.1], np.float32)
    _, reward, terminated, _, info = env.step(action)
    speed = (env.unwrapped.state.q[0] - before.q[0]) / 0.02
    assert not terminated
    assert reward == pytest.approx(speed + 1.0 - 1e-3 * 0.14, abs=1e-9)
    assert reward == pytest.approx(sum(v for k, v in info.items() if k.startswith("reward_")))


def test_the_hopper_stands_for_a_while():
    """Without action the joints sag by little and the robot is upright for half a second."""
    env = gymnasium.make(HOPPER)
    observation, _ = env.reset(seed=0)
    for _ in range(25):
        observation, _, terminated, _, _ = env.step(np.zeros(3, np.float32))
        assert not terminated
    np.testing.assert_allclose(observation[2:5], [-0.1, -0.2, 0.3], atol=SAG)


def test_episode_ends():
    """A robot that lies is out, unless that is not asked for; the limit of time cuts."""
    simulator = simulator_for(load_robot("hopper"))
    lying = simulator.state(np.array([0.0, 0.3, 1.5, 0.0, 0.0, 0.0]), t=5.0)
    task = Forward(healthy_height=(0.7, np.inf), healthy_tilt=0.2)
    for ends in (True, False):
        env = SimulatorEnv(simulator, task, terminate=ends, duration=0.04)
        env.reset(options={"state": lying})
        _, _, terminated, truncated, info = env.step(np.zeros(3))
        assert (terminated, truncated) == (ends, False)
        assert info["reward_healthy"] == 0.0
        assert env.step(np.zeros(3))[3]


def test_failed_step_cuts_the_episode():
    """A step that cannot be solved leaves the state, rewards nothing and says why."""
    env = unsolved_hopper()
    first, _ = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(np.ones(3))
    np.testing.assert_array_equal(observation, first)
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["status"] != "converged"


def test_joints_keep_their_range():
    """Full torque into the end of the range stays near it, at 20 and at 50 ms."""
    robot = load_robot("hopper")
    simulator, motors = simulator_for(robot), Motors(robot, "torque")
    low = robot.model.lowerPositionLimit[4]
    for h in (0.02, 0.05):
        q = robot.standing.copy()
        q[1] += 1.0  # in the air
        state = simulator.state(q)
        for _ in range(int(0.4 / h)):
            command = motors.command(np.array([0.0, -1.0, 0.0]))
            state = simulator.step(state, command, h).state
            assert state.q[4] > low - PAST


def test_tilt_is_the_angle_from_upright():
    """Of a base that is turned about the vertical, too."""
    robot = load_robot("walker")
    turned = pin.exp3(np.array([0.24, -0.18, 0.0])) @ pin.rpy.rpyToMatrix(0.0, 0.0, 2.0)
    q = robot.standing.copy()
    q[3:7] = pin.Quaternion(turned).coeffs()
    assert Base.of(robot).tilt(q) == pytest.approx(0.3)


def test_targets_are_held_within_the_range():
    """Half a radian away the spring asks for the whole torque; its damper has 40 ms."""
    robot = load_robot("gym-walker")
    model, motors = robot.model, Motors(robot)
    command = motors.command(np.ones(len(motors)))
    joints = [joint for joint in model.joints if joint.idx_v in robot.driven]
    beyond = [robot.standing[j.idx_q] + 0.5 > model.upperPositionLimit[j.idx_q] for j in joints]
    assert 0 < sum(beyond) < len(joints)
    for joint in joints:
        end = min(robot.standing[joint.idx_q] + 0.5, model.upperPositionLimit[joint.idx_q])
        assert command.q_target[joint.idx_q] == pytest.approx(end)
        kp = model.effortLimit[joint.idx_v] / 0.5
        assert command.kp[joint.idx_v] == pytest.approx(kp)
        assert command.kd[joint.idx_v] == pytest.approx(0.04 * kp)


def test_quaternions_are_observed_once():
    """A rotation is observed alike by both of its quaternions, without the place on the ground."""
    simulator = simulator_for(load_robot("walker"))
    task = Forward(healthy_height=(0.8, 2.0), healthy_tilt=1.0)(simulator.robot)
    q = simulator.robot.standing.copy()
    flipped = q.copy()
    flipped[3:7] *= -1.0
    flipped[:2] = 5.0
    one, other = (task.observation(simulator.state(p)) for p in (q, flipped))
    np.testing.assert_array_equal(one, other)
    assert len(one) == simulator.vector.nx - 2


def test_environments_pickle():
    """A copy goes on with the same bits."""
    env = gymnasium.make(HOPPER).unwrapped
    env.reset(seed=1)
    copy = pickle.loads(pickle.dumps(env))
    action = np.full(3, 0.3, np.float32)
    np.testing.assert_array_equal(env.step(action)[0], copy.step(action)[0])


def test_mistakes_are_named():
    """Actions, robots and render modes that do not exist raise typed errors."""
    with pytest.raises(ControlError, match="'target', 'torque'"):
        gymnasium.make(HOPPER, action="speed")
    with pytest.raises(ControlError, match="no driven joint"):
        Motors(load_robot("box"))
    with pytest.raises(StateError, match="render_mode"):
        gymnasium.make(HOPPER, render_mode="ansi").reset()
    with pytest.raises(StateError, match="dt must"):
        gymnasium.make(HOPPER, dt=0.0)
    with pytest.raises(StateError, match="fixed base"):
        Base.of(load_robot("hopper", base="fixed"))


@pytest.mark.parametrize("action", [0.5, np.zeros(1), np.zeros((1, 3)), "up"])
def test_an_action_is_one_of_each_motor(action):
    """One number would move all motors alike."""
    env = gymnasium.make(HOPPER).unwrapped
    env.reset(seed=0)
    with pytest.raises(
        ControlError, match=r"action has shape .*expected \(3,\)|an array of numbers"
    ):
        env.step(action)


def test_starts_and_tasks_that_are_none():
    """Unknown options are no starts, and a task has four functions."""
    env = gymnasium.make(HOPPER).unwrapped
    with pytest.raises(StateError, match="knows the option 'state', got the text 'stat'"):
        env.reset(options={"stat": env.state})
    with pytest.raises(StateError, match="expected a State, got int"):
        env.reset(options={"state": 1})
    for task, text in (
        (None, "lacks a function `reward`, got None"),
        (Task(reward=lambda *_: 0.0, reset=lambda *_: None), "must return q, v and perhaps a goal"),
    ):
        with pytest.raises(StateError, match=text):
            SimulatorEnv(env.simulator, task)
    with pytest.raises(StateError, match=r"dt must be > 0 s .* got the text '1', 8.0"):
        SimulatorEnv(env.simulator, env.task, dt="1")
    with pytest.raises(StateError, match="sensors must be of type Sensors or None"):
        SimulatorEnv(env.simulator, env.task, sensors=[Gyroscope()])


@pytest.mark.parametrize("action", ["torque", "target"])
def test_motors_are_those_of_the_simulator(action):
    """Weaker ones with a smaller range, and those of the URDF where limits are left out."""
    env = gymnasium.make(HOPPER).unwrapped
    robot = env.simulator.robot
    limits = robot.limits
    weak = replace(limits, effort=0.5 * limits.effort, upper=0.1 * limits.upper)
    own = SimulatorEnv(env.simulator.with_parameters(limits=weak), env.task, action=action)
    np.testing.assert_array_equal(own.motors.torques, 0.5 * env.motors.torques)
    target = own.motors.asked(np.ones(3))[1][3:]
    assert action == "torque" or (target <= weak.upper[3:]).all()
    none = replace(robot, limits=JointLimits.none(robot.model.nv))
    np.testing.assert_array_equal(Motors(none, action).torques, env.motors.torques)


def test_a_step_before_the_first_reset_begins_where_it_stands():
    """The environment has a state from the beginning."""
    env = gymnasium.make(HOPPER).unwrapped
    assert np.isfinite(env.step(np.zeros(3))[0]).all()


def sensing(**options):
    """The hopper that observes what noisy sensors read."""
    simulator = simulator_for(load_robot("gym-hopper"))
    sensors = Sensors(
        simulator.robot,
        [Gyroscope(noise=0.1), Accelerometer(delay=0.04), JointPositions(rate=25.0)],
    )
    task = Forward(healthy_height=(0.7, np.inf), healthy_tilt=0.2)
    return SimulatorEnv(simulator, task, sensors=sensors, **options)


def test_sensors_are_observed():
    """Observations are the readings, whose noise follows from the seed of the episode."""
    env = sensing()
    check_env(env, skip_render_check=True)
    observed, *_ = run(env, STEPS)
    np.testing.assert_array_equal(run(sensing(), STEPS)[0], observed)
    np.testing.assert_array_equal(env.readings.vector, observed[-1])
    assert observed.shape == (STEPS + 1, 3 + 3 + 3)
    angles = observed[:, 6:]
    assert (angles[2] == angles[3]).all() or (angles[1] == angles[2]).all()  # 25 Hz, steps of 20 ms
    assert not (env.reset(seed=4)[0][:3] == env.reset(seed=5)[0][:3]).any()


def test_pictures_are_observed_by_name():
    """With a camera, observations are a dictionary of readings."""
    pytest.importorskip("vtkmodules")
    from nmdp_pin.viz.camera_sensor import Camera

    simulator = simulator_for(load_robot("gym-hopper"))
    sensors = Sensors(simulator.robot, [Gyroscope(), Camera(size=(32, 24))])
    try:
        env = SimulatorEnv(
            simulator, Forward(healthy_height=(0.7, np.inf), healthy_tilt=0.2), sensors=sensors
        )
    except ViewerError as error:
        pytest.skip(str(error))
    check_env(env, skip_render_check=True)
    observed, _ = env.reset(seed=0)
    assert observed["camera"].shape == (24, 32, 3)
    assert observed["gyroscope"].shape == (3,)


def test_tasks_of_ones_own():
    """Functions make a task of a fixed arm: what they return is observed, rewarded and ends it."""
    arm = load_robot("finger")
    task = Task(
        reward=lambda before, after, action: after.q[..., 0] - before.q[..., 0],
        observation=lambda state: state.q - state.goal,
        terminated=lambda state: state.q[..., 0] > 0.01,
        reset=lambda simulator, random: (np.zeros(1), np.zeros(1), random.uniform(size=1)),
    )
    env = SimulatorEnv(simulator_for(arm, method="ne-nmdp"), task, action="torque")
    check_env(env, skip_render_check=True)
    observed, _ = env.reset(seed=0)
    assert observed == -env.goal
    total, over = 0.0, False
    while not over:
        observed, reward, over, _, _ = env.step(np.full(1, 0.1, np.float32))
        total += reward
    assert env.state.q[0] == pytest.approx(total)
    assert total > 0.01


def test_objects_are_rewarded_where_they_shall_be():
    """The reward of a pick is the distance from the goal, here of the cube at rest."""
    env = gymnasium.make("nmdp-pin/Pick-v0").unwrapped
    env.reset(seed=2)
    assert isinstance(env.task, ObjectAt)
    *_, info = env.step(np.zeros(2, np.float32))
    assert 0.06 <= env.goal[0] <= 0.2
    assert info["reward_distance"] == pytest.approx(0.025 - env.goal[0], abs=2e-3)


def test_a_hand_sees_the_way_to_its_goal():
    """From the frame itself, not from the joint that carries it; starts are on both sides."""
    env = reach()
    observed = np.array([env.reset(seed=seed)[0] for seed in range(4)])
    model = env.simulator.robot.model
    q, v = observed[:, : model.nq], observed[:, model.nq : -3]
    data = model.createData()
    pin.framesForwardKinematics(model, data, q[-1])
    hand = data.oMf[model.getFrameId("panda_hand_tcp")].translation
    np.testing.assert_allclose(observed[-1, -3:], env.goal - hand, atol=1e-12)
    for drawn in (q - env.simulator.robot.standing, v):
        assert -5e-3 <= drawn.min() < -3e-3
        assert 3e-3 < drawn.max() <= 5e-3


def test_contacts_carry_the_robot_at_a_millimetre():
    """The weight is n k d^2 of all its points."""
    robot = load_robot("gym-walker")
    k, n = simulator_for(robot, method="ne-nmdp").system.law.stiffness, len(robot.contact_points)
    assert n > 1
    assert n * k * 1e-6 == pytest.approx(9.81 * pin.computeTotalMass(robot.model), rel=1e-3)
