"""The live view of runs in meshcat, and `nmdp-pin view`: replay a recording in the browser."""

import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmdp_pin._cli.recordings import scenario_in
from nmdp_pin._cli.terminal import FILMS, PAGES, Force, check_outputs, note
from nmdp_pin._robot import Robot
from nmdp_pin._runs.recording import Recording
from nmdp_pin._scenario import Scenario, Setup
from nmdp_pin._terrain import Terrain
from nmdp_pin.errors import RecordingError

if TYPE_CHECKING:
    from nmdp_pin.viz.viewer import Viewer

_PAGE_WAIT = 30.0  # [s] for a browser that was asked to open; a page that comes later plays it all


def view(
    recording: Annotated[Path, typer.Argument(help="Recording (.npz).")],
    html: Annotated[
        Path | None, typer.Option(help="Write a self-contained page (.html) and open no browser.")
    ] = None,
    video: Annotated[
        Path | None, typer.Option(help="Write a film (.mp4) and open no browser.")
    ] = None,
    speed: Annotated[
        float, typer.Option(min=0.01, max=100.0, help="Speed of the replay; 1 is real time.")
    ] = 1.0,
    scenario: Annotated[
        str | None,
        typer.Option(help="Scenario or robot to show instead of the recorded one."),
    ] = None,
    force: Force = False,
) -> None:
    """Replay a recording with pause, speed and scrubbing.

    Without --html and --video the page is written beside the recording and opened in the browser.
    """
    check_outputs((html, PAGES), (video, FILMS), force=force)
    loaded = Recording.load(recording)
    source = scenario_in(loaded, recording) if scenario is None else Scenario.load(scenario)
    if source is None:
        robot, terrain = loaded.scene()
    else:
        robot = source.build_robot()
        terrain = source.build_terrain(robot)
    if loaded.q.shape[1] != robot.model.nq:
        raise RecordingError(
            f"{recording}: its rows have {loaded.q.shape[1]} coordinates, the robot of its "
            f"scenario has {robot.model.nq}"
        )
    shown = html is None and video is None
    page = recording.with_name(f"{recording.name}.html") if shown else html
    animate(loaded, source, robot, terrain, speed, page, video)
    for path in filter(None, (page, video)):
        print(f"wrote {path}")
    if shown and page is not None:
        webbrowser.open(page.resolve().as_uri())


def animate(
    recording: Recording,
    scenario: Scenario | None,
    robot: Robot,
    terrain: Terrain | None,
    speed: float,
    html: Path | None,
    video: Path | None,
) -> None:
    """Write the page and the film of a recording that are asked for."""
    if html is None and video is None:
        return
    from nmdp_pin.viz.ground import ground_kinds
    from nmdp_pin.viz.replay import Replay

    kinds = ground_kinds(scenario) if scenario else {}
    replay = Replay(recording, robot, terrain, kinds=kinds, speed=speed)
    if html is not None:
        replay.write_html(html)
    if video is not None:
        from nmdp_pin.viz.film import write_film

        write_film(video, replay)


def live_viewer(
    scenario: Scenario, setup: Setup, *, port: int | None = None, window: "Viewer | None" = None
) -> "Viewer":
    """Viewer of a run that begins: in the window of another one, else in its own, which is open."""
    from nmdp_pin.viz.ground import ground_kinds
    from nmdp_pin.viz.viewer import Viewer

    kinds = ground_kinds(scenario)
    visualizer = None if window is None else window.visualizer
    viewer = Viewer(setup.robot, setup.terrain, visualizer=visualizer, kinds=kinds, port=port)
    viewer.draw(setup.state.t, setup.state.q)
    if window is not None:
        return viewer
    note(f"live at {viewer.url}")
    if webbrowser.open(viewer.url):
        viewer.wait_for_page(_PAGE_WAIT)
    return viewer


def replay_live(viewer: "Viewer", window: "Viewer") -> None:
    """Replay a run until Ctrl-C, in the window of a viewer."""
    with suppress(KeyboardInterrupt):
        viewer.finish()
        note(f"replaying at {viewer.url}; Ctrl-C ends it")
        window.wait()
