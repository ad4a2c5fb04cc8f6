"""Simulators with other parameters: the same bits as those of another robot, ground or law."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from contact_laws import law_for
from urdf_samples import write

from nmdp_pin._contact import FrictionCone
from nmdp_pin._control import Command
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._integrators import pbfd
from nmdp_pin._robot import load_robot
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.errors import ParameterError, StateError
from nmdp_pin.rollout import rollout

H, STEPS = 0.01, 5  # [s]
MU, STIFFNESS = 0.7, 1e6
METHODS = ("ne-nmdp", "pbfd")


def robot():
    return load_robot("hopper", visuals=False)


def simulator(method, robot, friction=MU, stiffness=STIFFNESS):
    law = law_for(method, FrictionCone(stiffness=stiffness, power=2), normal_stiffness=stiffness)
    return Simulator(robot, Terrain(Plane(friction=friction)), law, method)


def pushed(simulator):
    """Ends of steps of the standing robot, pushed along the ground, [q; v]."""
    state, found = simulator.state(), []
    force = np.zeros(simulator.vector.nv)
    force[0] = 300.0
    for _ in range(STEPS):
        state = simulator.step(state, Command(force=force), H).state
        found.append(np.concatenate([state.q, state.v]))
    return np.array(found)


def other_robot(name):
    """The robot with one other parameter, as Pinocchio's users make it; and the parameter."""
    own = robot()
    model, limits = pin.Model(own.model), own.limits
    last = model.names[model.njoints - 1]
    if name == "mass":
        old = model.inertias[model.njoints - 1]
        value = {last: 2.0 * old.mass}
        model.inertias[model.njoints - 1] = pin.Inertia(
            2.0 * old.mass, old.lever, 2.0 * old.inertia
        )
    elif name == "armature":
        value = np.linspace(0.1, 0.2, model.nv)
        model.armature[:] = value
    elif name == "payload":
        value = {last: (3.0, (0.1, 0.0, -0.2))}
        frame = model.frames[model.getFrameId(last)]
        centre = frame.placement.act(np.array([0.1, 0.0, -0.2]))
        model.inertias[model.njoints - 1] += pin.Inertia(3.0, centre, np.zeros((3, 3)))
    elif name == "placement":
        value = {last: pin.SE3(pin.exp3(np.array([0.1, 0.2, 0.3])), np.array([0.02, 0.0, -0.4]))}
        model.jointPlacements[model.njoints - 1] = value[last]
    elif name == "gravity":
        value = (1.0, 0.0, -3.7)
        model.gravity.linear = np.array(value)
    else:
        value = limits = replace(limits, friction=np.where(own.limits.friction >= 0, 5.0, 0.0))
    return replace(own, model=model, limits=limits), value


def test_rotors_of_joints_by_name():
    """All velocities of a joint, behind a base with more coordinates than velocities."""
    walker = load_robot("walker", visuals=False)
    last = walker.model.names[walker.model.njoints - 1]
    changed = simulator("ne-nmdp", walker).with_parameters(
        armature={"root_rotation": 0.3, last: 0.2}
    )
    expected = walker.model.armature.copy()
    expected[3:6], expected[-1] = 0.3, 0.2
    np.testing.assert_array_equal(changed.robot.model.armature, expected)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["mass", "payload", "placement", "armature", "gravity", "limits"])
def test_parameters_of_robots(method, name):
    """A simulator with a parameter steps as that of a robot with it, and this one as before."""
    own = simulator(method, robot())
    before = pushed(own)
    changed, value = other_robot(name)
    found = pushed(own.with_parameters(**{name: value}))
    assert np.array_equal(found, pushed(simulator(method, changed)))
    assert not np.array_equal(found, before)
    assert np.array_equal(pushed(own), before)


@pytest.mark.parametrize("method", METHODS)
def test_parameters_of_contacts(method):
    """Friction and stiffness are those of another ground and another law, alone and together."""
    own = simulator(method, robot())
    for friction, stiffness in ((0.1, STIFFNESS), (MU, 1e5), (0.1, 1e5)):
        found = pushed(own.with_parameters(friction=[friction], stiffness=stiffness))
        assert np.array_equal(found, pushed(simulator(method, robot(), friction, stiffness)))
    last = own.with_parameters(friction=0.1).with_parameters(stiffness=1e5)
    assert np.array_equal(pushed(last), found)


def test_rollouts_have_sets():
    """Each trajectory has its own set, or all have one; two workers make the same bits."""
    own = simulator("pbfd", robot())
    x0 = np.concatenate([own.state().q, own.state().v])
    sets = [{"mass": own.robot.mass / 5 * np.full(own.robot.model.njoints - 1, s)} for s in (1, 2)]
    sets.append({"gravity": (0.0, 0.0, -1.0), "friction": 0.2})
    found = rollout(own, x0, steps=3, h=H, parameters=sets).x
    assert np.array_equal(rollout(own, x0, steps=3, h=H, parameters=sets, n_jobs=2).x, found)
    for each, x in zip(sets, found, strict=True):
        assert np.array_equal(rollout(own.with_parameters(**each), x0, steps=3, h=H).x[0], x)
        both = rollout(own, np.array([x0, x0]), steps=3, h=H, parameters=[each]).x
        assert np.array_equal(both, [x, x])


def test_rollouts_have_commands():
    """Each trajectory has its own gains and targets, which u moves or adds torques to."""
    own, driven = simulator("pbfd", robot()), robot().driven
    state, gains = own.state(), np.zeros(own.vector.nv)
    gains[driven] = 200.0
    commands = [
        Command(kp=s * gains, kd=0.05 * gains, q_target=own.robot.standing + 0.01 * s)
        for s in (1.0, 2.0, 3.0)
    ]
    u = 0.1 * np.random.default_rng(0).standard_normal((3, 4, len(driven)))
    for targets in (False, True):
        options = {"h": H, "targets": targets}
        made = rollout(own, state, u, command=commands, **options)
        two = rollout(own, state, u, command=commands, n_jobs=2, chunk=2, **options)
        assert np.array_equal(two.x, made.x)
        for x, each, command in zip(made.x, u, commands, strict=True):
            assert np.array_equal(rollout(own, state, each, command=command, **options).x[0], x)
    assert rollout(own, state, steps=1, h=H, command=commands).x.shape[0] == 3
    with pytest.raises(StateError, match="u has 2 trajectories and command has 3"):
        rollout(own, state, u[:2], h=H, command=commands)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"weight": 1.0}, "'weight' is no parameter; choose from .*'mass', 'payload'"),
        ({"mass": {"tail": 1.0}}, "no moving body 'tail'; name a link, or a joint"),
        ({"mass": {"universe": 1.0}}, "no moving body 'universe'"),
        ({"payload": {"tail": (1.0, (0, 0, 0))}}, "payload: there is no moving body 'tail'"),
        ({"payload": {"foot": 1.0}}, "payload of 'foot' must be a mass and a place, got 1.0"),
        ({"payload": {"foot": (-1.0, (0, 0, 0))}}, "payload of 'foot' must be a finite number >="),
        ({"payload": {"foot": (1.0, (0, 0))}}, r"place of a payload has shape \(2,\)"),
        ({"placement": {"foot": pin.SE3.Identity()}}, "placement: there is no joint 'foot'"),
        ({"placement": {"ankle": (0, 0, 1)}}, "placement of 'ankle' must be a finite pin.SE3"),
        ({"mass": [1.0]}, r"mass has shape \(1,\), expected \(6,\)"),
        ({"mass": -np.ones(6)}, "mass must hold finite numbers >= 0"),
        ({"armature": {"tail": 1.0}}, "no joint 'tail'; choose from"),
        ({"armature": "much"}, "armature must be an array of numbers, got the text 'much'"),
        ({"friction": [0.1, 0.2]}, r"friction has shape \(2,\), expected \(1,\), one a shape"),
        ({"friction": -0.1}, "must be a finite number >= 0, got -0.1"),
        ({"friction": {"ground": 0.5}}, "friction must be an array of numbers, got {'ground'"),
        ({"payload": 2.0}, "payload must be of type Mapping, got 2.0"),
        ({"placement": [pin.SE3.Identity()]}, "placement must be of type Mapping"),
        ({"mass": {"shank": 1.0, "knee": 2.0}}, "'shank' and 'knee' are of one body"),
        ({"gravity": 9.81}, r"gravity has shape \(\), expected \(3,\)"),
        ({"limits": {"effort": 1.0}}, "limits must be JointLimits"),
    ],
)
def test_mistakes(parameters, text):
    """A mistake is named before any step, with what is allowed."""
    own = simulator("pbfd", robot())
    with pytest.raises(ParameterError, match=text):
        own.with_parameters(**parameters)
    with pytest.raises(ParameterError, match=text):
        rollout(own, own.state(), steps=1, h=H, parameters=[parameters])


@pytest.mark.parametrize("method", METHODS)
def test_other_parameters_take_no_memory(method, monkeypatch):
    """A simulator with other parameters steps in the memory of the first one, by turns."""
    own = simulator(method, robot())
    with monkeypatch.context() as patch:
        patch.delattr(CompiledSystem, "new_memory")
        patch.delattr(pbfd, "new_step")
        heavy = own.with_parameters(mass={"torso": 50.0}, gravity=(0.0, 0.0, -3.7), friction=0.2)
    assert heavy._lock is own._lock
    state = own.state()
    alone = own.step(state, None, H).state.v
    other = heavy.step(state, None, H).state.v
    assert np.array_equal(own.step(state, None, H).state.v, alone)
    assert not np.array_equal(alone, other)


def test_a_mass_is_that_of_the_link_that_carries_others(tmp_path):
    """A sensor that is fixed to a link does not stand for it, but the heaviest link does."""
    text = """<robot name="arm"><link name="world"/>
    <link name="arm"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
    iyz="0"/></inertial></link>
    <link name="imu"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0"
    ixz="0" iyz="0"/></inertial></link><link name="tip"/>
    <joint name="hinge" type="continuous"><parent link="world"/><child link="arm"/></joint>
    <joint name="bolt" type="fixed"><parent link="arm"/><child link="imu"/></joint>
    <joint name="end" type="fixed"><parent link="imu"/><child link="tip"/></joint></robot>"""
    arm = Simulator(
        load_robot(write(tmp_path, text)), Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e6)
    )
    for name in ("arm", "hinge"):
        assert arm.with_parameters(mass={name: 3.0}).robot.mass == pytest.approx(3.0)
    for name in ("imu", "tip", "bolt"):
        with pytest.raises(ParameterError, match=f"'{name}' is fixed to 'arm'.*or give a payload"):
            arm.with_parameters(mass={name: 3.0})
    heavy = load_robot(write(tmp_path, text.replace('"0.1"', '"5"'), "heavy.urdf"))
    heavy = Simulator(heavy, Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e6))
    assert heavy.with_parameters(mass={"imu": 3.0}).robot.mass == pytest.approx(3.0)
