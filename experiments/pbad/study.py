"""One pass over the paper's evaluation: how long, how often timed, and where its files are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from nmdp_pin.errors import ExperimentError
from nmdp_pin.experiments.pbad.chain_urdf import write_chain
from nmdp_pin.experiments.pbad.paper import BASELINE, METHODS
from nmdp_pin.experiments.run_spec import RunSpec
from nmdp_pin.integrators import integrator_named


@dataclass(frozen=True, kw_only=True)
class Study:
    """Settings of the evaluation.

    Args:
        repeats: how often each run is made whose computing time counts.
        duration: at most this long [s]; None for the durations of the figures.
        folder: folder of the chains that are generated.
    """

    repeats: int = 3
    duration: float | None = None
    folder: Path = Path("out/paper-pbad")

    @property
    def name(self) -> str:
        """Nothing: there is one set of settings."""
        return ""

    def checked(self) -> Self:
        """The same study, or an error that says what cannot be evaluated.

        Raises:
            IntegratorError: a method is not there.
            ExperimentError: a number of repeats or a duration that is none.
        """
        for method in (*METHODS, BASELINE):
            integrator_named(method)
        if self.repeats < 1:
            raise ExperimentError(f"repeats must be at least 1, got {self.repeats}")
        if self.duration is not None and not self.duration > 0.0:
            raise ExperimentError(f"duration must be > 0 s, got {self.duration:g}")
        return self

    def command(self, figure: str) -> str:
        """The command that makes a figure of this study."""
        words = ["nmdp-pin paper pbad", figure]
        words += [f"--repeats {self.repeats}"] if self.repeats != Study.repeats else []
        words += [f"--duration {self.duration!r}"] if self.duration is not None else []
        return " ".join(words)

    def length(self, longest: float) -> float:
        """Simulated time of a run [s], cut at the study's duration."""
        return longest if self.duration is None else min(longest, self.duration)

    def chain(self, links: int) -> str:
        """Path of a scenario in which a chain of so many links swings; written if need be."""
        return str(write_chain(self.folder / "chains", links))

    def rounds(self, specs: Iterable[RunSpec]) -> list[RunSpec]:
        """All runs in rounds, so that a temporary load of the machine affects each of them."""
        once = list(specs)
        return [replace(spec, repeat=k) for k in range(1, self.repeats + 1) for spec in once]

    def repeats_of(self, spec: RunSpec) -> Sequence[RunSpec]:
        """The runs of one spec over the rounds."""
        return [replace(spec, repeat=k) for k in range(1, self.repeats + 1)]
