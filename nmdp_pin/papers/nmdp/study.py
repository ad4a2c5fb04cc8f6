"""One pass over the paper's evaluation: with which settings, methods and steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from nmdp_pin._integrators import integrator_named
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._options import options_of
from nmdp_pin.errors import ExperimentError
from nmdp_pin.papers.figure import Study
from nmdp_pin.papers.methods.objectives import OBJECTIVES
from nmdp_pin.papers.nmdp.paper import BASELINE, METHODS, SPANS, Motion
from nmdp_pin.papers.nmdp.preset import PRESETS, Preset
from nmdp_pin.papers.run_spec import RunSpec, method_label

VARIANT, BASE = "listed", "planar"
"""What the paper ran: inertias as listed, motion in the plane."""


@dataclass(frozen=True, kw_only=True)
class NmdpStudy(Study):
    """Settings of the evaluation.

    Args:
        preset: settings.
        objective: "" for the preset's.
        order: 0 for the preset's.
        variant: "listed" or "com": inertias of the robots that have both.
        base: "planar" or "free-flyer".
        methods: those that are compared.
        span: "published" or "wide": which steps of the paper.
        steps: steps of all methods [s]; empty for those of the span.
    """

    paper: ClassVar[str] = "nmdp"

    preset: Preset = field(default=PRESETS["paper"], metadata={"flag": "--preset"})
    objective: str = field(default="", metadata={"flag": "--objective"})
    order: int = field(default=0, metadata={"flag": "--order"})
    variant: str = field(default=VARIANT, metadata={"flag": "--variant"})
    base: str = field(default=BASE, metadata={"flag": "--base"})
    methods: tuple[str, ...] = field(default=METHODS, metadata={"flag": "--method"})
    span: str = field(default="published", metadata={"flag": "--span"})
    steps: tuple[float, ...] = field(default=(), metadata={"flag": "--dt"})

    def check(self) -> None:
        """See `Study.check`."""
        for method in self.methods:
            integrator_named(method)
        # An objective is first looked up when the first step is made, in another process.
        _choose("objective", self._preset.objective, (*OBJECTIVES, ViNewton.objective))
        _choose("variant", self.variant, (VARIANT, "com"))
        _choose("base", self.base, (BASE, "free-flyer"))
        _choose("span", self.span, SPANS)
        if not self.methods:
            raise ExperimentError(f"there is no method to evaluate; choose from {METHODS}")

    @property
    def name(self) -> str:
        """Suffix of its files: the differences from the preset and the paper's robots."""
        own = self._preset
        parts = [own.name]
        if (own.objective, own.order) != (self.preset.objective, self.preset.order):
            parts += [own.objective, f"order{own.order}"]
        parts += [self.variant] * (self.variant != VARIANT) + [self.base] * (self.base != BASE)
        parts += [self.span] * (self.span != NmdpStudy.span)
        return "-".join(parts)

    @property
    def title(self) -> str:
        """The settings, for titles of figures."""
        own = self._preset
        return (
            f"{own.name} preset: {own.objective}, order {own.order}; "
            f"{self.variant} inertias, {self.base} base"
        )

    def steps_of(self, method: str) -> tuple[float, ...]:
        """Steps in which a method is run [s], ascending."""
        return self.steps or SPANS[self.span][method != BASELINE]

    def label(self, method: str) -> str:
        """Method, objective and order, as in legends."""
        own = self._preset
        return method_label(method, *choice(method, own.objective, own.order))

    def spec(
        self,
        motion: Motion,
        method: str,
        dt: float,
        *,
        longest: float | None = None,
        objective: str = "",
        order: int = 0,
    ) -> RunSpec:
        """A run of this study.

        Args:
            motion: what is run.
            method: name of the integrator.
            dt: length of a step [s].
            longest: at most this long [s].
            objective: another one than the study's.
            order: another one than the study's.
        """
        own = self._preset
        minimised, of_order = choice(method, objective or own.objective, order or own.order)
        return RunSpec(
            scenario=motion.scenario,
            method=method,
            dt=dt,
            duration=self.length(motion.duration, longest),
            preset=own.name,
            objective=minimised,
            order=of_order,
            variant=self.variant if motion.variants else "",
            base=self.base if motion.planar else "",
            overrides=own.overrides(motion, method),
        )

    @property
    def _preset(self) -> Preset:
        """The preset with what the study changes in it."""
        return replace(
            self.preset,
            objective=self.objective or self.preset.objective,
            order=self.order or self.preset.order,
        )


def choice(method: str, objective: str, order: int) -> tuple[str, int]:
    """Objective and order of a method: ("", 0) for one that has no choice, as the baseline."""
    return (objective, order) if "objective" in options_of(integrator_named(method)) else ("", 0)


def objectives_of(method: str) -> tuple[str, ...]:
    """Every objective that a method can minimise; ("",) where it has no choice."""
    return (*OBJECTIVES, ViNewton.objective) if choice(method, "any", 1)[0] else ("",)


def orders_of(method: str) -> tuple[int, ...]:
    """Every order of a method in time; (0,) where it has no choice."""
    if not choice(method, "any", 1)[0]:
        return (0,)
    # Without the option it is of first order.
    return (1, 2) if "order" in options_of(integrator_named(method)) else (1,)


def _choose(what: str, name: str, known: object) -> None:
    names = sorted(known)  # type: ignore[call-overload]
    if name not in names:
        raise ExperimentError(f"{what} '{name}' is not known; choose from {', '.join(names)}")
