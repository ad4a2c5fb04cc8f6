"""A robot alone is a scenario: it holds its pose on flat ground."""

import warnings

import numpy as np
import pinocchio as pin
import pytest
from urdf_samples import HOPPER, hinge, link, robot, shape, write

from nmdp_pin import FrictionCone, Plane, Simulator, Terrain, WrenchSpace, load_robot
from nmdp_pin._cli import main
from nmdp_pin._runs.run_warnings import start_warnings
from nmdp_pin._scenario import Scenario
from nmdp_pin.errors import ContactError, RobotWarning, ScenarioError

ROUNDING = 1e-9
# A cart of 0.1 m on a rail, and a pole of 1 m on it.
CART = robot(
    link("rail"),
    link("cart", shapes=shape("collision", '<box size="0.4 0.2 0.1"/>')),
    link("pole", shapes=shape("collision", '<sphere radius="0.06"/>', "0 0 1")),
    hinge("slide", "rail", "cart", kind="prismatic"),
    hinge("hinge", "cart", "pole").replace('lower="-1" upper="1"', 'lower="-4" upper="4"'),
)


def command(*words) -> int:
    """Exit code of a command run in this process."""
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    return int(end.value.code or 0)


def test_run_takes_a_urdf(tmp_path, capsys):
    """One command from a URDF to motion."""
    assert command("run", write(tmp_path, HOPPER), "--duration", "0.1", "--quiet") == 0
    assert command("run", "hyq", "--duration", "0.1") == 0
    assert "steps: 5, 0 failed" in capsys.readouterr().out


def test_a_hanging_arm_gets_its_ground_below_it(tmp_path):
    """The ground of a fixed base lies under its lowest contact point, that of a free one at 0."""
    write(tmp_path, HOPPER)
    toml = write(tmp_path, 'urdf = "sample.urdf"\nbase = "fixed"\n', "robot.toml")
    setup = Scenario.load(toml).build(visuals=False)
    assert setup.robot.lowest_point == pytest.approx(-0.45)
    assert 0.45 < setup.terrain.query(np.zeros((1, 3))).distance[0] < 0.5
    free = Scenario.load(tmp_path / "sample.urdf").build(visuals=False)
    assert free.robot.lowest_point == pytest.approx(0.0, abs=ROUNDING)
    assert free.terrain.query(np.zeros((1, 3))).distance[0] == 0.0


@pytest.mark.parametrize(
    ("overrides", "height"),
    [
        (["robot.base=fixed"], -0.06),
        (["robot.base=fixed", "robot.contacts=['pole']"], 0.0),
        (["robot.base=fixed", "robot.initial.joints={hinge=3.141592653589793}"], -1.07),
        (["robot.base=fixed", "contact.friction=0.2"], -0.06),
        (["robot.base=fixed", "terrain.shapes.0.height=-2"], -2.0),
        (["robot.base=fixed", "terrain.shapes=[{kind='plane'}]"], None),
        (["robot.base=fixed", "terrain.shapes.0={kind='sphere', radius=1.0}"], None),
        (["robot.base=fixed", "terrain.shapes.0.kind=box", "terrain.shapes.0.size=[1,1,1]"], None),
        ([], 0.0),
        (["robot.initial.position=[0, 0, 2]"], 0.0),
    ],
)
def test_the_ground_is_chosen_after_all_overrides(overrides, height, tmp_path):
    """A cart whose base is fixed stands above it; a ground that is given stays."""
    path = write(tmp_path, CART)
    scenario = Scenario.load(path, overrides=overrides)
    assert getattr(scenario.terrain.shapes[0], "height", None) == (
        None if height is None else pytest.approx(height, abs=1e-6)
    )


def test_a_rail_without_mass_is_scenery_with_its_ground_below(tmp_path):
    """Though no base is given: it is fixed, and the cart on it is not in the ground."""
    path = write(tmp_path, CART.replace(link("rail"), link("rail", mass=0.0)))
    setup = Scenario.load(path).build(visuals=False)
    assert not setup.robot.floating
    assert setup.robot.lowest_point == pytest.approx(-0.05)
    assert start_warnings(setup) == []
    deep = Scenario.load(path, overrides=["terrain.shapes.0.height=-0.044"]).build(visuals=False)
    assert start_warnings(deep)[0].startswith("contacts are 6 mm deep in the ground at the start")


def test_joints_without_motors_are_counted(tmp_path, capsys):
    """The account names the joint that moved most, which a spring or a hand may be."""
    write(tmp_path, CART)
    toml = write(tmp_path, 'urdf = "sample.urdf"\nbase = "fixed"\npassive = true\n', "robot.toml")
    given = "robot.initial.joint_velocities={hinge=5, slide=0.01}"
    assert command("run", toml, "--duration", "0.2", "--set", given) == 0
    assert "joints: hinge moved the most, 1 rad" in capsys.readouterr().out


def test_commands_tell_warnings_in_their_own_words(tmp_path, capsys, recwarn):
    """Once on standard error, and not as Python's warnings."""
    path = write(tmp_path, HOPPER.replace('effort="10"', 'effort="0"'))
    warnings.simplefilter("always")
    assert command("run", path, "--duration", "0.02") == 0
    said = capsys.readouterr().err
    assert said.count("warning: a range or effort of 0 is taken as none given: hip") == 1
    assert not [w for w in recwarn if issubclass(w.category, RobotWarning)]


def test_it_stands_at_its_static_depth():
    """Four feet of spheres carry the robot, though most contact points are elsewhere."""
    robot = load_robot("hyq", visuals=False)
    assert robot.n_feet == 4 < len(robot.contact_points)
    cone = FrictionCone.for_robot(robot, static_depth=0.002, power=2)
    carried = 4 * cone.stiffness * 0.002**2
    assert carried == pytest.approx(9.81 * pin.computeTotalMass(robot.model), rel=ROUNDING)
    setup = Scenario.load("hyq", overrides=["contact.static_depth=0.002", "contact.power=2"])
    assert setup.build(visuals=False).simulator.contact.stiffness == cone.stiffness


def test_without_contact_points_the_message_says_so(tmp_path):
    """A robot that would fall for ever is refused, one on a fixed base moves."""
    path = write(tmp_path, robot(link("base"), link("rod"), hinge("j", "base", "rod")))
    with pytest.raises(ScenarioError, match="no contact points were found"):
        Scenario.load(path).build(visuals=False)
    fixed = Scenario.load(path, overrides=["robot.base='fixed'"])
    assert fixed.build(visuals=False).robot.model.nv == 1


@pytest.mark.parametrize("key", ["contact.friction", "terrain.shapes.*.friction"])
def test_friction_of_all_shapes_is_set(key):
    """`run --set` takes what `sweep --grid` takes."""
    scenario = Scenario.load("falling-box-stairs", overrides=[f"{key}=0.25"])
    frictions = {shape.friction for shape in scenario.terrain.shapes}
    assert frictions == {0.25}


def test_gains_alone_are_a_controller():
    """[controller] with kp and kd is stable PD; no table is no torque; an empty one is refused."""
    table = Scenario.load("sliding-box").resolved()
    table["controller"] = {"kp": 10.0, "kd": 1.0}
    assert Scenario.from_dict(table).controller.kind == "stable-pd"
    del table["controller"]
    assert Scenario.from_dict(table).controller.kind == "none"
    with pytest.raises(ScenarioError, match="kp"):
        Scenario.from_dict({**table, "controller": {}})


class Wrong(WrenchSpace):
    """A contact model whose arrays are turned round."""

    def __init__(self, part: str) -> None:
        self.part = part

    @property
    def n_vertices(self) -> int:
        """Four."""
        return 4

    def vertices(self, contacts):
        """(n, 4, 3) where (n, 3, 4) is asked for."""
        shape = (4, 3) if self.part == "vertices" else (3, 4)
        return np.ones((len(contacts.depth), *shape))

    def derivative(self, contacts, w, wrench):
        """(n, 3) where (n, 3, 3) is asked for."""
        return np.zeros((len(contacts.depth), 3))


class Writes(Wrong):
    """A contact model that puts the contacts elsewhere."""

    def vertices(self, contacts):
        """Of the right shape."""
        contacts.depth[:] = 7.0
        return np.ones((len(contacts.depth), 3, 4))

    derivative = WrenchSpace.derivative


class Sees(Wrong):
    """A contact model that remembers the contacts on which it is tried."""

    def vertices(self, contacts):
        """Of the right shape."""
        self.seen = contacts
        return np.ones((len(contacts.depth), 3, 4))

    derivative = WrenchSpace.derivative


def test_a_contact_model_is_tried_on_level_ground():
    """Two contacts of the robot, a little way in."""
    law = Sees("none")
    Simulator(load_robot("box"), Terrain(Plane()), law, "ne-zonmdp")
    np.testing.assert_array_equal(law.seen.normal, [[0.0, 0.0, 1.0]] * 2)
    np.testing.assert_array_equal(law.seen.rotation, [np.eye(3)] * 2)
    assert (0.0 < law.seen.depth).all()
    assert (law.seen.depth < 0.01).all()


def test_a_contact_model_must_not_write():
    """What it is given belongs to the simulator."""
    with pytest.raises(ContactError, match="Writes writes into `depth` of the contacts"):
        Simulator(load_robot("box"), Terrain(Plane()), Writes("none"), "ne-zonmdp")


@pytest.mark.parametrize(
    ("part", "says"),
    [
        (
            "vertices",
            r"vertices\(\) of the contact model Wrong .*\(2, 4, 3\).*expected.*\(2, 3, 4\)",
        ),
        ("derivative", r"derivative\(\) .*\(2, 3\).*expected \(n, rows, 3\) = \(2, 3, 3\)"),
    ],
)
def test_shapes_of_a_contact_model_are_checked(part, says):
    """The simulator says what the model returned and what was expected, before the first step."""
    with pytest.raises(ContactError, match=says):
        Simulator(load_robot("box"), Terrain(Plane()), Wrong(part))
