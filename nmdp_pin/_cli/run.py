"""`nmdp-pin run`: simulate, record and show a scenario."""

import json
from contextlib import nullcontext
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmdp_pin._cli.terminal import (
    FAILED,
    FILMS,
    PAGES,
    PLOTS,
    RECORDINGS,
    Compilation,
    Force,
    Interruption,
    Overrides,
    Quiet,
    RunProgress,
    check_outputs,
    note,
    printable,
)
from nmdp_pin._cli.view import animate, live_viewer, replay_live
from nmdp_pin._integrators.integrator import StepResult
from nmdp_pin._runs.coal_calls import coal_calls
from nmdp_pin._runs.compilation import compile_parts, parts_of
from nmdp_pin._runs.motion import motion_of
from nmdp_pin._runs.recording import Recording
from nmdp_pin._runs.run import compile_kernels
from nmdp_pin._runs.run import run as simulate
from nmdp_pin._runs.run_summary import account
from nmdp_pin._runs.run_warnings import recorded_warnings, start_warnings
from nmdp_pin._scenario import Scenario, Setup
from nmdp_pin._simulator.step_control import ErrorControl

if TYPE_CHECKING:
    from nmdp_pin.viz.viewer import Viewer


@dataclass(frozen=True, kw_only=True)
class RunCommand:
    """Simulate a scenario.

    Exit codes: 0 done, 1 the simulation failed, 2 wrong input, 130 stopped with Ctrl-C. Results so
    far are written in each case; a killed run leaves a journal beside --out (see `recover`). A step
    that fails is written to --dump, or beside --out.
    """

    scenario: Annotated[str, typer.Argument(help="Bundled scenario, .toml file, or robot.")]
    overrides: Overrides = None
    dt: Annotated[float | None, typer.Option(help="Length of a step in seconds.")] = None
    integrator: Annotated[str | None, typer.Option(help="Method, such as ne-nmdp.")] = None
    duration: Annotated[float | None, typer.Option(help="Simulated time in seconds.")] = None
    out: Annotated[Path | None, typer.Option(help="Recording to write (.npz).")] = None
    plot: Annotated[Path | None, typer.Option(help="Figure to write (.png, .svg, .pdf).")] = None
    html: Annotated[Path | None, typer.Option(help="Animation to write (.html).")] = None
    video: Annotated[Path | None, typer.Option(help="Film to write (.mp4).")] = None
    view: Annotated[bool, typer.Option("--view", help="Show the run in meshcat.")] = False
    speed: Annotated[
        float, typer.Option(min=0.01, max=100.0, help="Speed of page and film; 1 is real time.")
    ] = 1.0
    dump: Annotated[
        Path | None, typer.Option(help="File for a step that fails (.npz), for `repeat`.")
    ] = None
    port: Annotated[
        int | None, typer.Option(min=1024, max=65535, help="Port of meshcat's page.")
    ] = None
    package_dir: Annotated[
        list[Path] | None, typer.Option(help="Folder that is searched for package://.")
    ] = None
    force: Force = False
    quiet: Quiet = False

    def __call__(self) -> None:
        """Run the command."""
        check_outputs(
            (self.out, RECORDINGS),
            (self.plot, PLOTS),
            (self.html, PAGES),
            (self.video, FILMS),
            (self._dump, RECORDINGS),
            force=self.force,
        )
        scenario = self._load()
        with Compilation(quiet=self.quiet) as compilation:
            setup = scenario.build(visuals=self.view or bool(self.html or self.video))
            warnings = [] if self.quiet else start_warnings(setup)
            if parts := parts_of(scenario, setup):
                compilation.start()
                compile_parts(parts)
            compile_kernels(scenario, setup)
        live = live_viewer(scenario, setup, port=self.port) if self.view else nullcontext()
        with live as viewer:
            with Interruption() as interruption:
                if not self.quiet:
                    _announce(scenario, setup, warnings)
                recording = self._simulate(scenario, setup, viewer, interruption)
            self._write(recording, scenario, setup)
            if viewer is not None and not interruption.requested:
                replay_live(viewer, viewer)
        if interruption.requested:
            note(f"stopped at t = {recording.t[-1]:.6g} s")
            raise typer.Exit(interruption.exit_code)
        if recording.status[-1] != 0:
            _report(recording, self._dump)
            raise typer.Exit(FAILED)

    @property
    def _dump(self) -> Path | None:
        """File for a step that fails."""
        beside = self.out and self.out.with_name(f"{self.out.stem}-failed-step.npz")
        return self.dump or beside

    def _load(self) -> Scenario:
        """The scenario with the overrides of all options."""
        given: dict[str, Any] = {
            "integrator.name": self.integrator,
            "integrator.dt": self.dt,
            "duration": self.duration,
        }
        if self.package_dir:
            given["robot.package_dirs"] = [str(path.absolute()) for path in self.package_dir]
        extra = [f"{key}={_toml(value)}" for key, value in given.items() if value is not None]
        return Scenario.load(self.scenario, overrides=[*(self.overrides or ()), *extra])

    def _simulate(
        self, scenario: Scenario, setup: Setup, viewer: "Viewer | None", stop: Interruption
    ) -> Recording:
        """Make and show the steps."""
        with RunProgress(scenario.duration, quiet=self.quiet) as progress:

            def observe(result: StepResult) -> bool:
                progress.update(result)
                if viewer is not None and result.status.ok:
                    viewer.draw(result.state.t, result.state.q, result.contact_forces)
                return stop.requested

            return simulate(
                scenario,
                setup=setup,
                out=self.out,
                dump=self._dump,
                replace=self.force,
                observer=observe,
            )

    def _write(self, recording: Recording, scenario: Scenario, setup: Setup) -> None:
        """Write figure, page and film, and the account of the run."""
        motion = motion_of(recording, setup.robot, setup.controller)
        if self.plot is not None:
            from nmdp_pin.viz.plots import plot_recording

            plot_recording(recording, self.plot, motion=motion)
        shown = setup.robot, setup.terrain, self.speed, self.html, self.video
        animate(recording, scenario, *shown)
        if not self.quiet:
            files = filter(None, (self.out, self.plot, self.html, self.video))
            odd = [f"warning: {text}" for text in recorded_warnings(setup, recording)]
            written = [f"wrote {path}" for path in files]
            lines = [account(recording, motion), *coal_calls(setup), *odd, *written]
            print(printable("\n".join(lines)))


def run(**options: Any) -> None:
    """Run the command whose options these are."""
    RunCommand(**options)()


# Typer reads options from a signature.
run.__signature__, run.__doc__ = signature(RunCommand), RunCommand.__doc__  # type: ignore[attr-defined]


def _report(recording: Recording, dump: Path | None) -> None:
    """Report the failure and the file of the step."""
    status = recording.meta["statuses"][recording.status[-1]]
    kept = (
        "to keep the step that failed, run again with --dump FILE.npz"
        if dump is None
        else f"the step that failed is in {dump}: nmdp-pin repeat {dump}"
    )
    note(
        f"the simulation failed at t = {recording.t[-1]:.6g} s: {status}. Try a smaller --dt, "
        f"lower gains or a softer contact (contact.stiffness, contact.static_depth).\n{kept}"
    )


def _announce(scenario: Scenario, setup: Setup, warnings: list[str]) -> None:
    """Warnings, and a line that describes the run."""
    method = scenario.integrator
    control = setup.simulator.control
    accuracy = ""
    if isinstance(control, ErrorControl):
        accuracy = f", rtol {control.rtol:g}, atol {control.absolute:g}"
    for sentence in warnings:
        note(f"warning: {sentence}")
    note(
        f"{setup.robot.name}: {scenario.duration:g} s in steps of {1e3 * method.dt:g} ms "
        f"with {method.name}{accuracy}"
    )


def _toml(value: Any) -> str:
    """Value of an option in the form of an override."""
    return repr(value) if isinstance(value, float) else json.dumps(value)
