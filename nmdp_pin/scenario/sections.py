"""The tables of a scenario file; every number has its unit and range here."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    Field,
    PlainValidator,
    PrivateAttr,
    model_validator,
)

from nmdp_pin.contact import DryFriction, Penalty
from nmdp_pin.control.push import Push
from nmdp_pin.error_control import CONTROLS
from nmdp_pin.errors import IntegratorError, TerrainError
from nmdp_pin.integrators import INTEGRATORS
from nmdp_pin.integrators.presets import preset_options
from nmdp_pin.integrators.stage_minimiser import OPTIONS
from nmdp_pin.scenario.robot_section import FilePath
from nmdp_pin.scenario.section import (
    Number,
    OptionsSection,
    Section,
    Vector3,
    chosen,
    options_section,
    worded,
)
from nmdp_pin.step_control import StepControl
from nmdp_pin.terrain import SHAPES, Shape
from nmdp_pin.terrain.shape import DEFAULT_FRICTION

LARGEST_DT = 1.0  # [s]; steps beyond this are a mistake in the unit
LONGEST = 3600.0  # [s]


def positive_time(largest: float, what: str) -> Any:
    """Check of a time in (0, largest] s whose message suspects milliseconds."""

    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise worded(f"must be a number of seconds, got {value!r} ({what})")
        if not 0.0 < value <= largest:
            in_seconds = value / 1000.0
            hint = f"; did you mean {in_seconds:g} s?" if 0.0 < in_seconds <= largest else ""
            raise worded(f"must be > 0 and <= {largest:g} s, got {value:g}{hint} ({what})")
        return float(value)

    return PlainValidator(check)


class ShapeSection(OptionsSection):
    """One shape of the terrain: `kind` names the class, the other keys are its arguments."""

    kind: str = Field(description="name of the shape")
    name: str | None = Field(None, description="what contact_rules call it")
    friction: Number = Field(DEFAULT_FRICTION, ge=0, le=10, description="friction coefficient [-]")

    _shape: Shape = PrivateAttr()

    @model_validator(mode="after")
    def _build(self) -> Self:
        """Build the shape, so that its checks run with the others."""
        try:
            self._shape = self.target(**self.options())
        except TerrainError as error:
            raise worded(str(error)) from None
        return self

    @property
    def shape(self) -> Shape:
        """The shape."""
        return self._shape


def _shapes() -> dict[str, type[OptionsSection]]:
    paths = {"path": FilePath | None}
    return {kind: options_section(ShapeSection, cls, types=paths) for kind, cls in SHAPES.items()}


if TYPE_CHECKING:  # mypy sees the records, pydantic how each is chosen
    AnyShape = ShapeSection
else:
    AnyShape = chosen(ShapeSection, "kind", _shapes)


class TerrainSection(Section):
    """The static world, composed of shapes."""

    shapes: tuple[AnyShape, ...] = Field(description="the shapes that the world is made of")


class ControlSection(OptionsSection):
    """Step control: `kind` names it, the other keys are its options."""

    kind: str = Field("halving", description="name of the step control")


def _controls() -> dict[str, type[OptionsSection]]:
    return {name: options_section(ControlSection, cls) for name, cls in CONTROLS.items()}


def _filled(given: Any, preset: Any) -> Any:
    """An option as it is given, or the preset's; a sub-table takes what it lacks from the preset.

    A table of another kind than the preset's takes nothing.
    """
    if is_dataclass(preset) and not isinstance(preset, type):
        kind: dict[str, Any] = {"kind": preset.name} if isinstance(preset, StepControl) else {}
        preset = kind | asdict(preset)
        if isinstance(given, dict) and given.get("kind") in (None, preset.get("kind")):
            return preset | given
    return preset if given is None else given


if TYPE_CHECKING:
    AnyControl = ControlSection
else:
    AnyControl = chosen(ControlSection, "kind", _controls)


class IntegratorSection(OptionsSection):
    """The method, its step and its own options."""

    name: str = Field("ne-nmdp", description="name of the method")
    dt: Annotated[float, positive_time(LARGEST_DT, "length of a step")] = Field(0.01)
    control: AnyControl = Field(
        default_factory=lambda: _controls()["halving"].model_validate({}),  # type: ignore[assignment]
        description="what is made of a step that fails or is not accurate",
    )
    preset: str | None = Field(
        None, description='named set of options for those that are not given: "paper"'
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_from_preset(cls, table: Any) -> Any:
        """Options that are not given are the preset's, keys of sub-tables included."""
        name = table.get("preset") if isinstance(table, dict) else None
        if not isinstance(name, str):
            return table
        try:
            preset = preset_options(name, cls.model_fields, table)
        except IntegratorError as error:
            raise worded(str(error)) from None
        return {key: _filled(table.get(key), value) for key, value in preset.items()} | {
            key: value for key, value in table.items() if key not in preset
        }

    def step_control(self) -> StepControl:
        """The step control."""
        control: StepControl = self.control.target(**self.control.options())
        return control

    @model_validator(mode="after")
    def _steps_in_order(self) -> Self:
        """The shortest step is no longer than the step."""
        least = getattr(self.control, "min_step", 0.0)
        if least > self.dt:
            raise worded(f"control.min_step = {least:g} s must be <= dt = {self.dt:g} s")
        return self


def _integrators() -> dict[str, type[OptionsSection]]:
    types = {name: kind | None for name, kind in OPTIONS.items()}
    return {
        name: options_section(IntegratorSection, cls, skip=_COMPOSED, types=types)
        for name, cls in INTEGRATORS.items()
    }


def drop_foreign_options(table: dict[str, Any]) -> None:
    """Remove the keys of an [integrator] table that its method lacks, in place."""
    section = _integrators().get(str(table.get("name")))
    if section is not None:
        for key in set(table) - set(section.model_fields):
            del table[key]


def fit_contact(table: dict[str, Any]) -> None:
    """Replace, in place, a [contact] table whose law the method cannot take by its default."""
    method = INTEGRATORS.get(str(table["integrator"].get("name")))
    laws: dict[Any, str] = {Penalty: "penalty", DryFriction: "dry-friction"}
    model = laws.get(method.law_type if method else None)
    if model is not None and table.get("contact", {}).get("model") != model:
        table["contact"] = {"model": model}
        table.pop("contact_rules", None)


_COMPOSED = frozenset({"system"})  # what Simulator gives a method


class PushSection(Section):
    """An external force for a while."""

    kind: Literal["push"] = "push"
    force: Vector3 = Field(description="world frame [N]")
    start: Number = Field(ge=0, le=LONGEST, description="[s]")
    duration: Number = Field(gt=0, le=LONGEST, description="[s]")
    frame: str | None = Field(None, description="frame or link that is pushed; the base if absent")

    def build(self) -> Push:
        """The push."""
        return Push(force=self.force, start=self.start, duration=self.duration, frame=self.frame)


if TYPE_CHECKING:
    AnyIntegrator = IntegratorSection
else:
    AnyIntegrator = chosen(IntegratorSection, "name", _integrators)
