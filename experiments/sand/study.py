"""One pass over the evaluation on sand: in which steps, and how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from nmdp_pin.errors import ExperimentError
from nmdp_pin.experiments.nmdp.paper import NMDP_STEPS
from nmdp_pin.experiments.run_spec import RunSpec

_SAND = "robosimian-walk-sand"
_ROCK = (
    'contact={model="friction-cone",stiffness=1e6,power=2,directions=6}',
    "terrain.shapes.0.friction=0.7",
)
"""The ground of the paper's walk under the very robot that walks on sand."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """Settings of the evaluation.

    Args:
        steps: lengths of steps [s], ascending.
        duration: at most this long [s]; None for the durations of the figures.
    """

    steps: tuple[float, ...] = NMDP_STEPS
    duration: float | None = None

    @property
    def name(self) -> str:
        """Nothing: there is one set of settings."""
        return ""

    def checked(self) -> Self:
        """The same study, or an error that says what cannot be evaluated.

        Raises:
            ExperimentError: no step, or a duration that is none.
        """
        if not self.steps:
            raise ExperimentError("there is no step to evaluate; give at least one, in seconds")
        if self.duration is not None and not self.duration > 0.0:
            raise ExperimentError(f"duration must be > 0 s, got {self.duration:g}")
        return self

    def command(self, figure: str) -> str:
        """The command that makes a figure of this study."""
        words = ["nmdp-pin paper sand", figure]
        words += [f"--dt {dt!r}" for dt in self.steps] if self.steps != NMDP_STEPS else []
        words += [f"--duration {self.duration!r}"] if self.duration is not None else []
        return " ".join(words)

    def length(self, longest: float) -> float:
        """Simulated time of a run [s], cut at the study's duration."""
        return longest if self.duration is None else min(longest, self.duration)

    def walk(self, ground: str, method: str, dt: float, *, repeat: int = 0) -> RunSpec:
        """Robosimian walks for 10 s.

        Args:
            ground: "sand" or "rock".
            method: name of the integrator.
            dt: length of a step [s].
            repeat: which of several equal runs.
        """
        return RunSpec(
            scenario=_SAND,
            method=method,
            dt=dt,
            duration=self.length(10.0),
            preset=ground,
            overrides=_ROCK if ground == "rock" else (),
            repeat=repeat,
        )

    def drag(self, dt: float) -> RunSpec:
        """The probe is dragged to and fro for 8 s."""
        return RunSpec(
            scenario="probe-sand",
            method="ne-nmdp",
            dt=dt,
            duration=self.length(8.0),
            preset="sand",
        )
