"""One run of an evaluation: which scenario, by which method, in which steps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nmdp_pin._integrators import integrator_named
from nmdp_pin._options import options_of
from nmdp_pin._runs.run_store import PlannedRun
from nmdp_pin._scenario import Scenario
from nmdp_pin.errors import ExperimentError


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """One run; equal specs are the same run.

    Args:
        scenario: a bundled name or the path of a scenario file.
        method: name of the integrator.
        dt: length of a step [s].
        duration: simulated time [s].
        preset: name of the settings that `overrides` hold.
        objective: what the method minimises; "" where it has no choice.
        order: order of the method in time; 0 where it has no choice.
        variant: variant of the robot's URDF; "" as in the scenario.
        base: how the robot's root is held; "" as in the scenario.
        overrides: further settings, such as "contact.zeta=1e-4".
        repeat: which of several equal runs, made to compare computing times: their recordings
            have the processor's time of the process where others have that on the wall; 0: none.
    """

    scenario: str
    method: str
    dt: float
    duration: float
    preset: str
    objective: str = ""
    order: int = 0
    variant: str = ""
    base: str = ""
    overrides: tuple[str, ...] = ()
    repeat: int = 0

    @property
    def name(self) -> str:
        """Stem of the file that keeps the run: another one for every setting but `overrides`."""
        method = [self.method, self.objective, f"order{self.order}" if self.order else ""]
        robot = [self.variant, self.base, self.preset]
        # repr, which gives every number another text.
        times = [f"{self.dt!r}s", f"of{self.duration!r}", f"no{self.repeat}" * (self.repeat > 0)]
        parts = [Path(self.scenario).stem, *method, *robot, *times]
        return "_".join(part for part in parts if part)

    @property
    def label(self) -> str:
        """Method, objective and order, as in legends and titles."""
        return method_label(self.method, self.objective, self.order)

    def load(self) -> Scenario:
        """The scenario of the run, checked.

        Raises:
            IntegratorError: a method that there is not.
            ExperimentError: an objective or order that the method does not offer.
            ScenarioError: settings that the scenario does not take.
        """
        return Scenario.load(self.scenario, overrides=[*self._settings(), *self.overrides])

    def planned(self) -> PlannedRun:
        """The run as it is made and kept; errors are those of `load`."""
        return PlannedRun(self.name, self.load().resolved(), self.repeat)

    def _settings(self) -> list[str]:
        options = list(options_of(integrator_named(self.method)))
        settings = [
            f'integrator.name="{self.method}"',
            f"integrator.dt={self.dt!r}",
            f"duration={self.duration!r}",
        ]
        if self.objective:
            self._need("objective", options)
            settings.append(f'integrator.objective="{self.objective}"')
        # A method without the option is of first order.
        if self.order > 1 or (self.order == 1 and "order" in options):
            self._need("order", options)
            settings.append(f"integrator.order={self.order}")
        given = {"robot.variant": self.variant, "robot.base": self.base}
        return [*settings, *(f'{key}="{value}"' for key, value in given.items() if value)]

    def _need(self, option: str, options: list[str]) -> None:
        if option not in options:
            raise ExperimentError(
                f"method '{self.method}' has no option '{option}', so {option} = "
                f"{getattr(self, option)!r} cannot be evaluated; it has {options or 'none'}"
            )


def method_label(method: str, objective: str, order: int) -> str:
    """Method, objective and order in one line."""
    parts = [method, objective, f"order {order}" if order else ""]
    return ", ".join(part for part in parts if part)
