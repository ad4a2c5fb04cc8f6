"""One pass over the paper's evaluation: how long, how often timed, and where its files are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from nmdp_pin._integrators import integrator_named
from nmdp_pin.errors import ExperimentError
from nmdp_pin.papers.figure import Study
from nmdp_pin.papers.pbad.chain_urdf import write_chain
from nmdp_pin.papers.pbad.paper import BASELINE, METHODS
from nmdp_pin.papers.run_spec import RunSpec


@dataclass(frozen=True, kw_only=True)
class PbadStudy(Study):
    """Settings of the evaluation.

    Args:
        repeats: how often each run is made whose computing time counts.
        folder: folder of the chains that are generated.
    """

    paper: ClassVar[str] = "pbad"

    repeats: int = field(default=3, metadata={"flag": "--repeats"})
    folder: Path = Path("out/paper-pbad")

    @property
    def name(self) -> str:
        """Nothing: there is one set of settings."""
        return ""

    def check(self) -> None:
        """See `Study.check`."""
        for method in (*METHODS, BASELINE):
            integrator_named(method)
        if self.repeats < 1:
            raise ExperimentError(f"repeats must be at least 1, got {self.repeats}")

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
