"""One pass over the evaluation on sand: in which steps, and how long."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from nmdp_pin.errors import ExperimentError
from nmdp_pin.papers.figure import Study
from nmdp_pin.papers.nmdp.paper import NMDP_STEPS
from nmdp_pin.papers.run_spec import RunSpec

_SAND = "robosimian-walk-sand"
_ROCK = (
    'contact={model="friction-cone",stiffness=1e6,power=2,directions=6,recovery=0}',
    "terrain.shapes.0.friction=0.7",
)
"""The ground of the paper's walk under the very robot that walks on sand.

Like sand, it does not push out.
"""


@dataclass(frozen=True, kw_only=True)
class SandStudy(Study):
    """Settings of the evaluation.

    Args:
        steps: lengths of steps [s], ascending.
    """

    paper: ClassVar[str] = "sand"

    steps: tuple[float, ...] = field(default=NMDP_STEPS, metadata={"flag": "--dt"})

    @property
    def name(self) -> str:
        """Nothing: there is one set of settings."""
        return ""

    def check(self) -> None:
        """See `Study.check`."""
        if not self.steps:
            raise ExperimentError("there is no step to evaluate; give at least one, in seconds")

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
            scenario="probe-sand", method="ne-nmdp", dt=dt, duration=self.length(8.0), preset="sand"
        )
