"""Scenarios: typed records of TOML files, from which all parts are composed."""

import functools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, PrivateAttr, ValidationError, model_validator

from nmdp_pin._control.attachment import Attached
from nmdp_pin._control.controller import Controller
from nmdp_pin._control.push import Push, Pushed
from nmdp_pin._control.scripted import Scripted
from nmdp_pin._control.stable_pd import Passive
from nmdp_pin._files.input_file import read_toml
from nmdp_pin._integrators.presets import PRESETS
from nmdp_pin._options import check_parts, seconds
from nmdp_pin._robot import (
    Robot,
    is_mjcf,
    is_robot,
    load_robot,
    robot_of_scene,
    stands_at_zero,
    surface_names,
    with_frictions,
    with_loops,
    with_stiffnesses,
)
from nmdp_pin._robot.overlaps import OverlapCheck
from nmdp_pin._scenario.contact_sections import (
    AnyContact,
    AnyContactRule,
    build_contact,
    contact_models,
    contact_section,
    with_recovery,
)
from nmdp_pin._scenario.object_sections import AnyObject, MotionSection, with_objects
from nmdp_pin._scenario.robot_section import RobotSection, initial_state
from nmdp_pin._scenario.section import Section, options_section
from nmdp_pin._scenario.sections import (
    AnyController,
    AnyDisturbance,
    AnyIntegrator,
    AttachmentSection,
    ControllerSection,
    FrictionSection,
    PairStiffnessSection,
    TerrainSection,
    drop_foreign_options,
    fit_contact,
    integrator_section,
)
from nmdp_pin._scenario.toml_source import (
    apply_override,
    find_scenario,
    ground_below,
    make_way,
    robot_table,
)
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Terrain
from nmdp_pin._words import shortened
from nmdp_pin.errors import ContactError, ControlError, IntegratorError, ScenarioError, TerrainError

FRICTION = "contact.friction"
"""Stands for the friction of every shape of the terrain, where scenario files have it."""
MOST_OBJECTS = 100  # time and memory grow with the square
_SHOWN = 10  # mistakes in one message
_SHORT = 350  # [characters] of each


@dataclass(frozen=True, eq=False)
class Setup:
    """Objects built from a scenario.

    Args:
        robot: the robot.
        terrain: the terrain.
        simulator: the simulator.
        controller: controller of the joints.
        state: initial state.
    """

    robot: Robot
    terrain: Terrain
    simulator: Simulator
    controller: Controller
    state: State

    @functools.cached_property
    def overlap_check(self) -> OverlapCheck:
        """Search for overlaps of the robot's bodies and the ground."""
        return OverlapCheck(self.robot, self.terrain)


class Scenario(Section):
    """Checked record of everything that a run depends on."""

    duration: Annotated[float, seconds(3600.0)] = Field(
        description="simulated time, > 0 and <= 3600 [s]"
    )
    robot: RobotSection = Field(description="table")
    terrain: TerrainSection = Field(description="table")
    objects: tuple[AnyObject, ...] = Field(
        (), max_length=MOST_OBJECTS, description="list of passive bodies"
    )
    friction: FrictionSection = Field(
        default_factory=lambda: FrictionSection.model_validate({}), description="table"
    )
    stiffness: PairStiffnessSection = Field(
        default_factory=lambda: PairStiffnessSection.model_validate({}), description="table"
    )
    contact: AnyContact = Field(description="table")
    contact_rules: tuple[AnyContactRule, ...] = Field(
        (), description="list of contact models for some points and shapes"
    )
    integrator: AnyIntegrator = Field(
        default_factory=lambda: integrator_section("ne-nmdp").model_validate({}),
        description="table; absent: ne-nmdp in steps of 10 ms",
    )
    controller: AnyController = Field(
        default_factory=lambda: options_section(ControllerSection, Passive)(kind="none"),
        description="table; absent: no torque",
    )
    motions: dict[str, MotionSection] = Field(  # type: ignore[valid-type]
        {},
        description="tables of knots that move mocap bodies of a scene, by body; "
        "[keys](terrain.md#objectsmotion)",
    )
    disturbances: tuple[AnyDisturbance, ...] = Field((), description="list of pushes")
    attachments: tuple[AttachmentSection, ...] = Field(
        (), description="list of pairs of links or objects that move as one for a while"
    )

    _file: str = PrivateAttr("")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the keys: records of options are made again, of what is registered there."""
        return functools.partial(Scenario.from_dict, file=self._file), (self.resolved(),)

    @model_validator(mode="before")
    @classmethod
    def _recover_as_preset(cls, table: Any) -> Any:
        """Contact models that do not give their recovery have that of the integrator's preset."""
        method = table.get("integrator") if isinstance(table, dict) else None
        preset = method.get("preset") if isinstance(method, dict) else None
        rate = PRESETS.get(preset, {}).get("recovery") if isinstance(preset, str) else None
        if rate is None:
            return table
        filled = {"contact": with_recovery(table.get("contact"), rate)}
        if isinstance(rules := table.get("contact_rules"), list | tuple):
            filled["contact_rules"] = [with_recovery(rule, rate) for rule in rules]
        return table | {key: value for key, value in filled.items() if key in table}

    @classmethod
    def load(cls, source: str | os.PathLike[str], *, overrides: Sequence[str] = ()) -> "Scenario":
        """Read a scenario; code in a file is never run.

        Args:
            source: bundled name or path of a TOML file; or name or file of a robot, which then
                holds its pose on flat ground, below it as it is with all overrides, or in the
                world of an MJCF file that has one.
            overrides: overrides such as "integrator.dt=0.01" or "terrain.shapes.0.friction=0.4";
                "contact.friction" is the friction of all shapes. An override of integrator.name
                drops options that the new method lacks, and replaces a [contact] of the wrong
                kind by the default law of the method; a stiffness replaces a depth at rest, a
                mass a density, and the other way round.

        Raises:
            ScenarioError: the name is unknown, or the file is unreadable or has mistakes.
        """
        overrides = check_parts("overrides", overrides, str, ScenarioError)
        table, path = _read(source)
        ground = table["terrain"]["shapes"][0] if is_robot(source) else None
        overrides = [_of_terrain(table, override) for override in overrides]
        method = [text for text in overrides if text.partition("=")[0].strip() == "integrator.name"]
        for override in method:
            apply_override(table, override, file=str(path))
            drop_foreign_options(table["integrator"])
            fit_contact(table)
        for override in overrides:  # before all others: two that exclude each other are an error
            make_way(table, override, file=str(path))
        for override in overrides:
            apply_override(table, override, file=str(path))
        scenario = cls.from_dict(table, file=str(path), folder=path.parent)
        shapes = table["terrain"].get("shapes", [])
        if ground is None or all(shape is not ground for shape in shapes):
            return scenario  # the ground is another one
        robot = scenario._robot_that_may_float()
        if robot is not None and robot.world and is_mjcf(source):
            if ground != {"kind": "plane"}:
                what = "the ground is that of the file; robot.scene=false leaves it out"
                raise ScenarioError(what, file=str(path), key="terrain.shapes.0")
            shapes.remove(ground)
        elif "height" not in ground and ground["kind"] == "plane":
            ground["height"] = ground_below(scenario._lowest_point(robot))
        return cls.from_dict(table, file=str(path), folder=path.parent)

    @classmethod
    def from_dict(
        cls, table: dict[str, Any], *, file: str = "", folder: str | os.PathLike[str] = "."
    ) -> "Scenario":
        """Check the content of a scenario file, or the entry "scenario" of a recording.

        Args:
            table: keys and values.
            file: name of the file in messages.
            folder: folder from which relative paths start.

        Raises:
            ScenarioError: the table has mistakes, all listed.
        """
        try:
            scenario = cls.model_validate(table, context={"folder": Path(folder)})
        except ValidationError as error:
            raise _scenario_error(error, file) from None
        scenario._file = file
        return scenario

    def resolved(self) -> dict[str, Any]:
        """The scenario with all defaults, as JSON data; `from_dict` reads it."""
        return self.model_dump(mode="json", exclude_none=True)

    def build_robot(self, *, visuals: bool = True) -> Robot:
        """Build the robot and the objects.

        Args:
            visuals: whether to load the visual geometry.

        Raises:
            RobotError: the description cannot be used.
        """
        robot = with_objects(self._bare_robot(visuals=visuals), self.robot, self.objects)
        robot = with_frictions(robot, self._table("friction", self.friction.pairs))
        robot = with_stiffnesses(robot, self._table("stiffness", self.stiffness.pairs))
        grips = {item.attachment.pair: item.attachment.grip for item in self.attachments}
        return with_loops(robot, grips.values()) if grips else robot

    def _table(
        self, key: str, pairs: Sequence[tuple[str, str, float]]
    ) -> dict[tuple[str, str], float]:
        """Values of pairs by their names."""
        table = {(a, b): value for a, b, value in pairs}
        if len(table) < len(pairs):
            raise ScenarioError("a pair is given twice", file=self._file, key=f"{key}.pairs")
        return table

    def _bare_robot(self, *, visuals: bool) -> Robot:
        """The robot without objects."""
        options = self.robot.options() | {"visuals": visuals}
        if self.robot.scene:
            options["friction"] = self.robot.link_friction
            options["stiffness"] = self.robot.link_stiffness
            return robot_of_scene(self.robot.source, **options)
        return load_robot(self.robot.source, **options)

    def _robot_that_may_float(self) -> Robot | None:
        """The robot without objects; None where it is known to stand on the ground."""
        base = self.robot.options().get("base")
        known = stands_at_zero(self.robot.source, base)
        return None if known else self._bare_robot(visuals=False)

    def _lowest_point(self, robot: Robot | None) -> float:
        """Height of the lowest contact point where the robot stands, or starts on a fixed base [m].

        A robot that moves may begin above its ground.
        """
        if robot is None:
            return 0.0
        if robot.floating:
            return robot.lowest_point
        q = initial_state(robot, self.robot.initial, file=self._file).q
        return float(robot.contact_points.bottoms(robot.model, q).min(initial=np.inf))

    def build_terrain(self, robot: Robot) -> Terrain:
        """Build the terrain, with what stands still in the file of the robot.

        Raises:
            ScenarioError: there is no shape.
        """
        with self._blame("terrain"):
            shapes = [section.shape for section in self.terrain.shapes]
            return Terrain([*shapes, *robot.world.values()])

    def build(self, *, visuals: bool = True) -> Setup:
        """Compose robot, terrain, contact model, method and controller.

        Args:
            visuals: whether to load the visual geometry, which only viewers need.

        Raises:
            RobotError: the robot's description cannot be used.
            ScenarioError: parts do not fit each other, such as a gait that the robot lacks.
        """
        robot = self.build_robot(visuals=visuals)
        terrain = self.build_terrain(robot)
        state = initial_state(robot, self.robot.initial, file=self._file)
        for item in self.objects:
            item.set_velocity(robot.model, state.q, state.v)
        with self._blame("contact"):
            names = [section.name for section in self.terrain.shapes]
            names += [*robot.world, *surface_names(robot)]
            law = build_contact(self.contact, self.contact_rules, robot, names)
        with self._blame("controller"):
            controller = self.controller.build(robot, state.q)
        motions = {item.name: moved for item in self.objects if (moved := item.moved)}
        given: Any = self.motions
        motions |= {name: section.target(**section.options()) for name, section in given.items()}
        if motions:
            with self._blame("motions"):
                controller = Scripted(robot, motions, controller)
            state = controller.on(state)
        if self.attachments:
            controller = Attached(controller, [item.attachment for item in self.attachments])
        if self.disturbances:
            with self._blame("disturbances"):
                pushes = [Push(**push.options()) for push in self.disturbances]
                controller = Pushed(controller, robot, pushes)
        method = self.integrator
        with self._blame("integrator"):
            options = {"control": method.step_control(), **method.options()}
            simulator = Simulator(robot, terrain, law, method.name, **options)
        return Setup(robot, terrain, simulator, controller, state)

    @contextmanager
    def _blame(self, key: str) -> Iterator[None]:
        """Add file and section to the errors of parts."""
        try:
            yield
        except (TerrainError, ContactError, ControlError, IntegratorError) as error:
            raise ScenarioError(str(error), file=self._file, key=key) from error


def _read(source: str | os.PathLike[str]) -> tuple[dict[str, Any], Path]:
    """Keys and values of a scenario, and the file that they come from."""
    table = robot_table(source)
    if table is not None:
        return table, Path(os.fspath(source))
    path = find_scenario(source)
    return read_toml(path, "scenario", error=ScenarioError), path


def _of_terrain(table: dict[str, Any], override: str) -> str:
    """An override of contact.friction as one of all shapes of the terrain, which have it.

    It stays as it is where the contact model has a friction of its own.
    """
    key, equals, value = override.partition("=")
    if key.strip() != FRICTION:
        return override
    contact = table.get("contact")
    model = contact.get("model") if isinstance(contact, dict) else None
    if model in contact_models() and "friction" in contact_section(model).model_fields:
        return override
    return f"terrain.shapes.*.friction{equals}{value}"


def _scenario_error(error: ValidationError, file: str) -> ScenarioError:
    """Error with the mistakes of a file; the first gives its key."""
    lines = [(".".join(map(str, line["loc"])), line["msg"]) for line in error.errors()]
    if len(lines) == 1:
        return ScenarioError(lines[0][1], file=file, key=lines[0][0])
    listed = [shortened(f"{key}: {sentence}", _SHORT) for key, sentence in lines[:_SHOWN]]
    listed += [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    told = "".join(f"\n  {line}" for line in listed)
    result = ScenarioError(f"{len(lines)} mistakes:{told}", file=file)
    result.key = lines[0][0]
    return result
