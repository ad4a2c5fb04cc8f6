"""Scenarios: overrides, paths, initial states, composition."""

from typing import ClassVar

import numpy as np
import pinocchio as pin
import pytest

import nmdp_pin._scenario.sections as sections
from nmdp_pin._control.external_wrench import Loads
from nmdp_pin._control.push import Push
from nmdp_pin._scenario import Scenario
from nmdp_pin.errors import ControlError, ScenarioError
from nmdp_pin.papers.methods.mdp import NeMdp

ROUNDING = 1e-12  # a few operations on numbers of order one
BOX = ["terrain.shapes=[{kind='plane', height=-100.0}]"]  # far above the ground

URDF = """<robot name="own"><link name="body"><inertial><mass value="2"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>"""
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
OWN = """# Own robot on an own mesh.
duration = 1.0
[robot]
urdf = "own.urdf"
[[terrain.shapes]]
kind = "mesh"
path = "ground/hill.obj"
[contact]
stiffness = 1e5
[integrator]
dt = 0.01
"""


@pytest.fixture
def own(tmp_path):
    """A scenario file with its own robot and mesh beside it."""
    (tmp_path / "ground").mkdir()
    (tmp_path / "ground/hill.obj").write_text(OBJ)
    (tmp_path / "own.urdf").write_text(URDF)
    (tmp_path / "own.toml").write_text(OWN)
    return tmp_path / "own.toml"


def box(*overrides):
    """Setup of the sliding box with overrides."""
    return Scenario.load("sliding-box", overrides=overrides).build(visuals=False)


def test_a_method_may_be_left_out(own):
    """It is ne-nmdp in steps of 10 ms; overrides reach it all the same."""
    text = own.read_text().partition("[integrator]")[0]
    assert "[integrator]" in own.read_text()
    own.write_text(text)
    assert (scenario := Scenario.load(own)).integrator.name == "ne-nmdp"
    assert scenario.integrator.dt == 0.01
    assert Scenario.from_dict(scenario.resolved()).integrator == scenario.integrator
    assert Scenario.load(own, overrides=["integrator.order=1"]).integrator.order == 1
    assert Scenario.load(own, overrides=["integrator.name=pbfd"]).contact.model == "penalty"


def test_overrides_reach_lists_and_new_tables():
    """An override sets an entry of a list, makes a table that was absent, needs no quotes."""
    scenario = Scenario.load(
        "robosimian-jump",
        overrides=[
            "terrain.shapes.0.friction=0.4",
            "robot.initial.position=[0.0, 0.0, 0.1]",
            "controller.gait=walk",
        ],
    )
    assert scenario.terrain.shapes[0].shape.friction == 0.4
    assert scenario.robot.initial.position == (0.0, 0.0, 0.1)
    assert scenario.controller.gait == "walk"


@pytest.mark.parametrize(
    ("scenario", "set_", "unset"),
    [
        ("sliding-box", "contact.static_depth=0.002", "contact.stiffness"),
        ("falling-box-slope", "contact.stiffness=1e5", "contact.static_depth"),
        ("finger-ball", "objects.*.density=500.0", "objects.0.mass"),
    ],
)
def test_an_override_replaces_the_key_that_it_excludes(scenario, set_, unset):
    """A table has a stiffness or a depth at rest, a mass or a density; two overrides remain two."""
    value = Scenario.load(scenario, overrides=[set_]).resolved()
    for key in unset.split("."):
        value = value[int(key)] if key.isdecimal() else value.get(key)
    assert value is None
    with pytest.raises(ScenarioError, match="needs exactly one"):
        Scenario.load(scenario, overrides=[set_, f"{unset}=1.0"])


def test_another_method_drops_the_options_that_it_has_not():
    """`integrator.name=ne-mdp` works on a file with options of ne-nmdp; given ones are checked."""
    scenario = Scenario.load("robosimian-jump", overrides=["integrator.name='ne-mdp'"])
    assert scenario.integrator.name == "ne-mdp"
    assert scenario.integrator.dt == 0.05
    with pytest.raises(ScenarioError, match="objective"):
        Scenario.load(
            "robosimian-jump",
            overrides=["integrator.objective='kinetic'", "integrator.name='ne-mdp'"],
        )


def test_method_registered_later_is_known(monkeypatch):
    """A class that enters the registry is a name, and its keyword options are keys."""

    class Mine(NeMdp):
        name: ClassVar[str] = "mine"

        def __init__(self, system, *, depth: int = 3):
            super().__init__(system)
            self.depth = depth

    monkeypatch.setitem(sections.INTEGRATORS, "mine", Mine)
    table = Scenario.load("sliding-box").resolved()
    table["integrator"] = {"name": "mine", "dt": 0.01, "depth": 5}
    assert Scenario.from_dict(table).integrator.options() == {"depth": 5}
    table["integrator"]["depth"] = "deep"
    with pytest.raises(ScenarioError, match=r"integrator\.depth: must be a whole number"):
        Scenario.from_dict(table)


@pytest.mark.parametrize(
    ("method", "model"), [("pbd", "penalty"), ("pbfd", "penalty"), ("ne-ncp", "dry-friction")]
)
def test_an_overridden_method_brings_its_contact_law(method, model):
    """The file's friction cone gives way to the law of the method, whose keys can be set."""
    overrides = [f"integrator.name={method}"]
    scenario = Scenario.load("sliding-box", overrides=overrides)
    assert scenario.contact.model == model
    scenario.build(visuals=False)
    assert Scenario.load("sliding-box").contact.model == "friction-cone"
    if model == "penalty":
        scenario = Scenario.load("sliding-box", overrides=["contact.beta=1.5", *overrides])
        assert scenario.build(visuals=False).simulator.contact.beta == 1.5


def test_rules_mix_wrench_spaces_only():
    """A penalty cannot hold at some contacts alone."""
    table = Scenario.load("sliding-box", overrides=["integrator.name=pbfd"]).resolved()
    table["contact_rules"] = [{"model": "penalty", "points": ["*"]}]
    with pytest.raises(ScenarioError, match="'penalty' is none"):
        Scenario.from_dict(table).build(visuals=False)


def test_a_scenario_cannot_be_changed():
    """A loaded scenario is frozen."""
    with pytest.raises(ValueError, match="frozen"):
        Scenario.load("sliding-box").duration = 3.0


def test_paths_start_from_the_file(own, monkeypatch, tmp_path_factory):
    """Robot and mesh are found beside the scenario, wherever it is run, and after recording."""
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    scenario = Scenario.load(own)
    again = Scenario.from_dict(scenario.resolved())
    for loaded in (scenario, again):
        setup = loaded.build()
        assert setup.robot.source == str(own.parent / "own.urdf")
        assert len(setup.terrain.shapes[0].indices) == 4


def test_path_from_the_command_line_starts_from_the_working_directory(own, monkeypatch):
    """What is not beside the scenario is taken from where one stands."""
    monkeypatch.chdir(own.parent)
    overrides = ["robot={urdf='own.urdf'}"]
    scenario = Scenario.load("sliding-box", overrides=overrides)
    assert scenario.robot.urdf == str(own.parent / "own.urdf")


def test_defaults_are_passive_and_exact():
    """A scenario needs no controller; every default is in what a recording keeps."""
    table = Scenario.load("sliding-box").resolved()
    del table["controller"]
    scenario = Scenario.from_dict(table)
    assert scenario.resolved()["controller"] == {"kind": "none"}
    command = scenario.build(visuals=False).controller.command(None, 0.01)
    assert command.tau is None
    assert command.kp is None


def test_static_depth_gives_the_stiffness():
    """K = m g / (n depth^power): the four corners on which the box stands, at 1 mm."""
    setup = box("contact={static_depth=0.001, power=2}")
    expected = 1.0 * 9.81 / (4 * 0.001**2)
    assert setup.simulator.contact.stiffness == pytest.approx(expected, rel=ROUNDING)


def test_free_flyer_starts_as_told():
    """The base's link moves and stands in the world as the file says."""
    setup = box(
        "robot.initial.rpy=[0.3, -0.4, 1.0]",
        "robot.initial.position=[1.0, 2.0, 3.0]",
        "robot.initial.velocity=[0.5, -1.0, 2.0]",
        "robot.initial.angular_velocity=[0.1, 0.2, -0.3]",
    )
    model, state = setup.robot.model, setup.state
    data = model.createData()
    pin.forwardKinematics(model, data, state.q, state.v)
    velocity = pin.getVelocity(model, data, 2, pin.LOCAL_WORLD_ALIGNED)
    assert np.allclose(velocity.linear, [0.5, -1.0, 2.0], atol=ROUNDING)
    assert np.allclose(velocity.angular, [0.1, 0.2, -0.3], atol=ROUNDING)
    assert np.allclose(data.oMi[2].translation, [1.0, 2.0, 3.0])
    turn = pin.rpy.rpyToMatrix(np.array([0.3, -0.4, 1.0]))
    assert np.allclose(data.oMi[2].rotation, turn, atol=ROUNDING)


def test_planar_base_starts_as_told():
    """x, z and pitch of the file reach the base's link, and their rates its velocity."""
    setup = Scenario.load(
        "robosimian-jump-paper",
        overrides=[
            "robot.initial.position=[1.0, 0.0, 2.0]",
            "robot.initial.rpy=[0.0, 0.3, 0.0]",
            "robot.initial.velocity=[0.5, 0.0, -1.0]",
            "robot.initial.angular_velocity=[0.0, 0.2, 0.0]",
            "robot.initial.joints={limb1_joint2=0.25}",
            "robot.initial.joint_velocities={limb1_joint4=-0.5}",
        ],
    ).build(visuals=False)
    model, state = setup.robot.model, setup.state
    data = model.createData()
    pin.forwardKinematics(model, data, state.q, state.v)
    base = model.getFrameId("torso")
    placement = pin.updateFramePlacement(model, data, base)
    velocity = pin.getFrameVelocity(model, data, base, pin.LOCAL_WORLD_ALIGNED)
    assert np.allclose(placement.translation, [1.0, 0.0, 2.0])
    assert np.allclose(pin.rpy.matrixToRpy(placement.rotation), [0.0, 0.3, 0.0], atol=ROUNDING)
    assert np.allclose(velocity.linear, [0.5, 0.0, -1.0])
    assert np.allclose(velocity.angular, [0.0, 0.2, 0.0])
    joints = model.joints
    assert state.q[joints[model.getJointId("limb1_joint2")].idx_q] == pytest.approx(0.25)
    assert state.v[joints[model.getJointId("limb1_joint4")].idx_v] == -0.5


@pytest.mark.parametrize("key", ["position", "rpy", "velocity", "angular_velocity"])
def test_fixed_base_does_not_move(key):
    """A fixed base refuses what would move it."""
    overrides = ["robot.base=fixed", f"robot.initial={{{key}=[0.0, 0.0, 1.0]}}"]
    scenario = Scenario.load("chain-slope", overrides=overrides)
    with pytest.raises(ScenarioError, match=rf"robot\.initial\.{key}: this robot's base is fixed"):
        scenario.build(visuals=False)


def test_gait_that_does_not_loop_holds_its_last_knot():
    """`loop = false` follows the gait once."""
    far = 100.3  # [s] in the middle of a looped jump
    targets = []
    for loop in ("true", "false"):
        setup = Scenario.load("robosimian-jump-paper", overrides=[f"controller.loop={loop}"]).build(
            visuals=False
        )
        command = setup.controller.command(setup.simulator.state(t=far), 0.0)
        targets.append((command.q_target, setup.robot.gaits["jump"], setup.robot.model))
    (looped, _, _), (held, gait, model) = targets
    joint = model.joints[model.getJointId(gait.joints[0])]
    assert held[joint.idx_q] == gait.positions[-1][0]
    assert abs(looped[joint.idx_q] - held[joint.idx_q]) > 0.01


@pytest.mark.parametrize("dt", [0.004, 0.01, 0.03])
def test_push_has_its_impulse_at_any_step(dt):
    """A push of 10 N for 0.1 s gives 1 kg a velocity of 1 m/s, however the steps cut it."""
    push = "disturbances=[{force=[10.0, 0.0, 0.0], start=0.05, duration=0.1}]"
    setup = box(*BOX, "robot.initial={}", push)
    run = setup.simulator.run(setup.state, setup.controller, dt=dt, duration=0.3)
    last = list(run)[-1]
    assert last.status.ok
    assert last.state.v[0] == pytest.approx(
        1.0, abs=1e-6
    )  # the projection's tolerance over 75 steps


def test_push_on_a_frame_turns_the_robot():
    """A push off the centre gives the moment of its arm: J' f of that frame."""
    push = "disturbances=[{force=[0.0, 0.0, 5.0], start=0.0, duration=1.0, frame='link10'}]"
    setup = Scenario.load("chain-slope", overrides=[push, "robot.initial={}"]).build(visuals=False)
    model, command = setup.robot.model, setup.controller.command(setup.state, 0.01)
    force = Loads(model).added(command, setup.state.q).force
    J = pin.computeFrameJacobian(
        model,
        model.createData(),
        setup.state.q,
        model.getFrameId("link10"),
        pin.LOCAL_WORLD_ALIGNED,
    )
    assert np.allclose(force, J[2] * 5.0, atol=ROUNDING)
    assert force[4] == pytest.approx(-5.0 * 0.9, abs=1e-9)  # about y, 0.9 m along x


def test_no_push_no_torque():
    """Before and after a push the command is the inner controller's."""
    push = "disturbances=[{force=[10.0, 0.0, 0.0], start=0.1, duration=0.1}]"
    setup = box(push)
    for t in (0.0, 0.2):
        state = setup.simulator.state(t=t)
        assert setup.controller.command(state, 0.1).tau is None


@pytest.mark.parametrize(
    "options",
    [
        {"force": (1.0, np.nan, 0.0)},
        {"force": (1.0, 0.0)},
        {"start": -1.0},
        {"start": np.nan},
        {"duration": 0.0},
        {"duration": np.inf},
    ],
)
def test_push_refuses_what_is_none(options):
    """Forces, times and durations of a push from Python are checked as well."""
    good = {"force": (1.0, 0.0, 0.0), "start": 0.0, "duration": 1.0}
    with pytest.raises(ControlError, match=next(iter(options))):
        Push(**{**good, **options})
