"""Distance of one run from the reference."""

from __future__ import annotations

from dataclasses import dataclass

from nmdp_pin.papers.run_spec import method_label


@dataclass(frozen=True)
class Competitor:
    """A method with its objective and order; "" and 0 where it has no choice."""

    method: str
    objective: str
    order: int

    @property
    def label(self) -> str:
        """Method, objective and order."""
        return method_label(self.method, self.objective, self.order)


@dataclass(frozen=True, kw_only=True)
class RunError:
    """Errors of one run; NaN where it ended before they could be measured.

    Args:
        who: method, objective and order.
        dt: length of a step [s].
        peak: the single figure that is compared, such as the first apex [m].
        reference: the same of the reference [m].
        peak_error: distance of the two [m].
        mean_error: mean over time of the distance of the two curves [m].
        wall: computing time of a simulated second [s].
        halved: steps that were made as several.
        failed: the run did not reach its end.
    """

    who: Competitor
    dt: float
    peak: float
    reference: float
    peak_error: float
    mean_error: float
    wall: float
    halved: int
    failed: bool
