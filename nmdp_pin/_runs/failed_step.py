"""Failed steps in files, with all that is needed to repeat them."""

import copy
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from nmdp_pin._control.controller import Command, ExternalWrench, Timed
from nmdp_pin._files.array_file import read_npz, take_meta, write_npz
from nmdp_pin._integrators.integrator import StepResult
from nmdp_pin._runs.recorder import versions
from nmdp_pin._runs.state_file import ARRAYS, state_arrays, state_from
from nmdp_pin._scenario import Scenario
from nmdp_pin._scenario.toml_source import apply_override
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._simulator.step_control import StepFailed
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError, RecordingError, ScenarioError

FORMAT = 2
"""Version of the file format; files of others are refused."""

FIGURES = ("iterations", "rejected", "evaluations", "discarded", "residual", "condition", "error")
"""What is kept of the result, beside its status and the lengths of its sub-steps."""

_OF_RUNS = ("duration", "integrator.dt")  # keys that change no step of a given length
_OF_COMMANDS = ("controller", "disturbances")
_NO_ARRAYS = ("base_gains", "wrenches", "attached")
_COMMAND = tuple(field.name for field in fields(Command) if field.name not in _NO_ARRAYS)
_ARRAYS = (*ARRAYS, *(f"command.{name}" for name in _COMMAND))


@dataclass(frozen=True, eq=False)
class FailedStep:
    """Failed step with its inputs.

    Args:
        state: state before the step, with the warm start.
        command: command of the step.
        h: length of the step [s].
        outcome: figures of the result, as `figures` gives them.
        versions: versions of the packages.
        scenario: resolved scenario as JSON data; None without scenario.
    """

    state: State
    command: Command
    h: float
    outcome: dict[str, Any]
    versions: dict[str, str]
    scenario: dict[str, Any] | None = None

    @classmethod
    def of(cls, failure: StepFailed, scenario: Scenario | None = None) -> "FailedStep":
        """Failed step of a `StepFailed` error.

        Args:
            failure: the error.
            scenario: scenario of the simulator; None: unknown.
        """
        result = failure.result
        resolved = None if scenario is None else scenario.resolved()
        return cls(result.state, failure.command, failure.h, figures(result), versions(), resolved)

    def repeat(
        self, simulator: Simulator | None = None, *, overrides: Sequence[str] = ()
    ) -> StepResult:
        """Repeat the step.

        A controller of the scenario that follows the time is asked again; else the command is held.

        Args:
            simulator: simulator to use; None: that of the scenario.
            overrides: changes to the scenario, such as "integrator.control.min_step=1e-4".

        Raises:
            RecordingError: there is neither a simulator nor a scenario.
            ScenarioError, RobotError: the scenario cannot be built here, or an override changes
                what the step keeps.
            StateError, ControlError: the step belongs to another robot or contact model.
        """
        if simulator is None:
            if self.scenario is None:
                raise RecordingError(
                    "this failed step has no scenario: its simulator was built by hand. "
                    "Build that simulator again and call repeat(simulator)"
                )
            table = copy.deepcopy(self.scenario)
            for override in overrides:
                apply_override(table, override)
            setup = Scenario.from_dict(table).build(visuals=False)
            kept = _OF_RUNS if setup.controller.follows_time else (*_OF_RUNS, *_OF_COMMANDS)
            for key in (override.partition("=")[0].strip() for override in overrides):
                if key.startswith(kept):
                    raise ScenarioError(
                        f"a step is repeated with its length, {self.h:g} s, and its command",
                        key=key,
                    )
            if setup.controller.follows_time:
                timed = Timed(setup.controller, self.state, self.h)
                return setup.simulator.step(self.state, timed, self.h)
            simulator = setup.simulator
        return simulator.step(self.state, self.command, self.h)

    def save(self, path: str | os.PathLike[str], *, replace: bool = True) -> None:
        """Write the step as a `.npz`.

        Raises:
            RecordingError: the path cannot be written.
        """
        arrays, of_state = state_arrays(self.state)
        given = {f"command.{name}": getattr(self.command, name) for name in _COMMAND}
        arrays |= {name: array for name, array in given.items() if array is not None}
        meta: dict[str, Any] = {
            "failed_step": FORMAT,
            **of_state,
            "h": float(self.h),
            "base_gains": self.command.base_gains,
            "attached": self.command.attached,
            "wrenches": [asdict(wrench) for wrench in self.command.wrenches],
            "outcome": self.outcome,
            "versions": self.versions,
            "scenario": self.scenario,
        }
        write_npz(path, arrays, meta, replace=replace)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "FailedStep":
        """Read a failed step; code in a file is never run.

        Raises:
            RecordingError: the file does not exist, or is truncated, no failed step, of another
                version of this package, lacks something or holds something of a wrong type.
        """
        arrays = read_npz(path, "failed step", (*_ARRAYS, "meta"))
        meta = take_meta(arrays, "failed_step", FORMAT, path, "failed step")
        try:
            return cls(
                state_from(arrays, meta),
                Command(
                    **{name: arrays.get(f"command.{name}") for name in _COMMAND},
                    base_gains=bool(meta.get("base_gains", False)),
                    attached=tuple(map(tuple, meta.get("attached", ()))),
                    wrenches=tuple(ExternalWrench(**given) for given in meta.get("wrenches", ())),
                ),
                float(meta["h"]),
                dict(meta["outcome"]),
                dict(meta["versions"]),
                None if meta["scenario"] is None else dict(meta["scenario"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError, ControlError) as error:
            raise RecordingError(f"'{path}' cannot be used: {error!r} in it") from error


def figures(result: StepResult) -> dict[str, Any]:
    """Outcome of a step as JSON data: status, `FIGURES`, lengths of the sub-steps."""
    return {
        "status": result.status.value,
        **{name: getattr(result, name) for name in FIGURES},
        "step_sizes": list(result.step_sizes),
    }
