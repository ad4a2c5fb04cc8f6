"""Mistakes in scenario files: each names its key, what was given and what is allowed."""

import pytest

from nmdp_pin._scenario import Scenario
from nmdp_pin.errors import RobotError, ScenarioError

PUSH = "disturbances=[{force=[1.0, 0.0, 0.0], start=0.0, duration=%s}]"

# override of robosimian-jump-paper, key that the message names, part of the message
MISTAKES = [
    ("integrator.dt=50", "integrator.dt", "did you mean 0.05 s?"),
    ("integrator.dt=10", "integrator.dt", "did you mean 0.01 s?"),
    ("integrator.dt=0", "integrator.dt", "must be > 0 and <= 1 s, got 0"),
    ("integrator.dt=-0.01", "integrator.dt", "got -0.01"),
    ("integrator.dt=nan", "integrator.dt", "got nan"),
    ("integrator.dt=inf", "integrator.dt", "got inf"),
    ("integrator.dt='fast'", "integrator.dt", "a number of seconds"),
    ("integrator.dt=true", "integrator.dt", "a number of seconds"),
    ("integrator.control.min_step=0", "integrator.control.min_step", "must be > 0, got 0"),
    ("integrator.control.min_step=0.9", "integrator", "must be <= dt"),
    ("integrator.name='ne-nmpd'", "integrator.name", "Did you mean 'ne-nmdp'?"),
    ("integrator.name=3", "integrator.name", "Known: "),
    ("integrator.max_works=3", "integrator.max_works", "Did you mean 'max_work'?"),
    (
        "integrator.vi_newton.max_iterations=2.5",
        "integrator.vi_newton.max_iterations",
        "a whole number",
    ),
    (
        "integrator.vi_newton.max_iteration=2",
        "integrator.vi_newton.max_iteration",
        "Did you mean 'max_iterations'?",
    ),
    ("controller.motion={tims=[0, 1]}", "controller.motion.joints", "Did you mean 'times'?"),
    ("robot.contacts=[{name='a', lnk='b'}]", "robot.contacts.0.lnk", "Did you mean 'link'?"),
    ("integrator.restarts='a'", "integrator.restarts", "must be true or false"),
    ("integrator=3", "integrator", "must be a table"),
    ("duration=0", "duration", "must be > 0"),
    ("duration=1e9", "duration", "<= 3600 s"),
    ("duration='10'", "duration", "a number of seconds"),
    ("durations=3", "durations", "Did you mean 'duration'?"),
    ("terrain.shapes.0.friction=-0.1", "terrain.shapes.0.friction", "must be >= 0, got -0.1"),
    ("terrain.shapes.0.friction=11", "terrain.shapes.0.friction", "must be <= 10"),
    ("terrain.shapes.0.friction=nan", "terrain.shapes.0.friction", "finite number"),
    ("terrain.shapes.0.frictoin=1", "terrain.shapes.0.frictoin", "Did you mean 'friction'?"),
    ("terrain.shapes.0.kind='plan'", "terrain.shapes.0.kind", "Did you mean 'plane'?"),
    ("terrain.shapes.0.normal=[0, 0, 0]", "terrain.shapes.0", "must not be zero"),
    ("terrain.shapes.0.normal=[0, 1]", "terrain.shapes.0.normal.2", "is missing"),
    ("terrain.shapes=[{friction=1}]", "terrain.shapes.0.kind", "is missing; one of: box"),
    ("terrain.shapes=[]", "terrain", "at least one shape"),
    ("terrain.shapes=['plane']", "terrain.shapes.0", "must be a table"),
    ("terrain.shapes=[{kind='box', size=[1, 1, -1]}]", "terrain.shapes.0.size.2", "> 0"),
    ("terrain.shapes=[{kind='mesh', path='no.stl'}]", "terrain.shapes.0", "no such file"),
    (
        "terrain.shapes=[{kind='mesh', path='no.stl', scale='big'}]",
        "terrain.shapes.0.scale",
        "one factor > 0, or three, got the text 'big'",
    ),
    ("contact.stiffness=0", "contact.stiffness", "must be > 0, got 0"),
    ("contact.stiffness=-1", "contact.stiffness", "must be > 0"),
    ("contact.stiffness='1e6'", "contact.stiffness", "must be a number, got the text '1e6'"),
    ("contact={stiffness=1e6, static_depth=0.01}", "contact", "exactly one of"),
    ("contact.power=2.5", "contact.power", "a whole number"),
    ("contact.power=true", "contact.power", "a whole number"),
    ("contact.directions=2", "contact.directions", "must be >= 3"),
    ("contact.circumscribed=1", "contact.circumscribed", "true or false"),
    ("contact.model='friction-con'", "contact.model", "Did you mean 'friction-cone'?"),
    (
        "controller.kp=nan",
        "controller.kp",
        "must be a finite number >= 0, or one a joint by name, got nan",
    ),
    ("controller.kd=-1", "controller.kd", ">= 0, or one a joint by name, got -1"),
    ("controller.kp={limb1_joint2=-3}", "controller.kp.limb1_joint2", "must be >= 0, got -3"),
    ("controller.kp={limb1_joint9=3}", "controller", "no joint 'limb1_joint9'"),
    ("controller.kind='pd'", "controller.kind", "Known: actuators, flight, hold, none, stable-pd"),
    ("controller.gait='hop'", "controller", "has no gait 'hop'"),
    ("robot.nam='spider'", "robot.nam", "Did you mean 'name'?"),
    ("robot.urdf='a.urdf'", "robot", "exactly one of"),
    ("robot.name='a/b.urdf'", "robot.name", "use the key 'urdf'"),
    ("robot.base='float'", "robot.base", "must be 'free-flyer', 'planar' or 'fixed'"),
    ("robot.joints=3", "robot.joints", "a list of names, got 3"),
    ("robot.contacts=[3]", "robot.contacts.0", "link or frame"),
    ("robot.initial.position=[0, 1, 0]", "robot.initial.position", "planar base"),
    ("robot.initial.rpy=[1, 0, 0]", "robot.initial.rpy", "planar base"),
    ("robot.initial.joints={limb1=1}", "robot.initial.joints.limb1", "joint of one axis"),
    ("robot.initial.velocity=['a', 0, 0]", "robot.initial.velocity.0", "must be a number"),
    (PUSH % "0", "disturbances.0.duration", "must be > 0"),
    ("disturbances=[{force=[1, 0, 0], start=0, duration=1, frame='x'}]", "disturbances", "'x'"),
    ("disturbances=3", "disturbances", "must be a list"),
]


@pytest.mark.parametrize(("override", "key", "part"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_mistake_is_named(override, key, part):
    """The error has the key's path and says what is wrong."""
    with pytest.raises(ScenarioError) as caught:
        Scenario.load("robosimian-jump-paper", overrides=[override]).build(visuals=False)
    assert caught.value.key == key
    assert part in str(caught.value)
    assert "robosimian-jump-paper.toml" in str(caught.value)


def test_all_mistakes_are_listed():
    """A file with several mistakes is told of all at once."""
    overrides = ["integrator.dt=-1", "contact.stiffness=0", "robot.nam='x'"]
    with pytest.raises(ScenarioError, match="3 mistakes") as caught:
        Scenario.load("robosimian-jump-paper", overrides=overrides)
    for key in ("integrator.dt", "contact.stiffness", "robot.nam"):
        assert f"\n  {key}: " in str(caught.value)


@pytest.mark.parametrize(
    ("override", "part"),
    [
        ("integrator.dt", "must look like key.path=value"),
        ("=3", "must look like"),
        ("integrator..dt=3", "must look like"),
        ("integrator.dt=[1", "is no TOML"),
        ("integrator.dt=1\nx=2", "must hold one value"),
        ("terrain.shapes.3.friction=1", "allowed: 0 to 0"),
        ("terrain.shapes.x.friction=1", "allowed: 0 to 0"),
        ("duration.x=1", "neither a table nor a list"),
    ],
)
def test_override_that_leads_nowhere_is_refused(override, part):
    """A path or value that cannot be used is an error, not a new key."""
    with pytest.raises(ScenarioError, match=r".") as caught:
        Scenario.load("robosimian-jump-paper", overrides=[override])
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("duration = \n", "line 1"),
        ("duration = 1\nduration = 2\n", "line 2"),
        ("a" + "=[" * 5000, "is not"),
        ("", "4 mistakes"),
    ],
    ids=["no value", "key twice", "endless nesting", "empty"],
)
def test_file_that_is_no_scenario(tmp_path, text, part):
    """Broken TOML gives the line; an empty file lists what is missing."""
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(path)
    assert "bad.toml" in str(caught.value)
    assert part in str(caught.value) or "nested too deeply" in str(caught.value)


def test_file_that_is_no_text(tmp_path):
    """Bytes that are not UTF-8 are refused."""
    path = tmp_path / "bad.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="UTF-8"):
        Scenario.load(path)


def test_objects_are_limited():
    """Thousands would not end, nor fit into memory."""
    box = "{kind='box', name='b', size=[1.0, 1.0, 1.0], mass=1.0}"
    with pytest.raises(ScenarioError, match=r"objects: .* at most 100 items"):
        Scenario.load("sliding-box", overrides=[f"objects=[{', '.join(101 * [box])}]"])


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("robosimian-jum", "Did you mean 'robosimian-jump'?"),
        ("../robosimian-jump", "no such file"),
        ("missing.toml", "no such file"),
        ("/dev/zero", "is not a regular file"),
    ],
)
def test_unknown_scenario(source, part):
    """A name that is not known suggests the closest; a path that is not there says so."""
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(source)
    assert part in str(caught.value)


def test_folder_is_no_scenario(tmp_path):
    """A folder is refused as such."""
    with pytest.raises(ScenarioError, match="folder"):
        Scenario.load(tmp_path)


def test_robot_errors_pass_through():
    """What is wrong with a robot is said by the robot's own error."""
    scenario = Scenario.load("robosimian-jump-paper", overrides=["robot.name=robosimiam"])
    with pytest.raises(RobotError, match="robosimian"):
        scenario.build_robot()
