"""Fig. 2: film strips of the four motions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nmdp_pin.papers.figure import Figure, Product, Runs
from nmdp_pin.papers.kept_run import KeptRun
from nmdp_pin.papers.nmdp.paper import BASELINE, COST_STEP, FOUR_TRAJECTORIES
from nmdp_pin.papers.nmdp.study import NmdpStudy
from nmdp_pin.papers.run_spec import RunSpec
from nmdp_pin.viz.renderer import Renderer
from nmdp_pin.viz.style import new_figure, save_figure

_PICTURES = 6  # a strip
_SIZE = (320, 240)  # [pixels] of a picture
_WALK, _JUMP = (0.5, 0.4), (0.8, 0.15)  # [s] time of the first picture, and between two


def _method(study: NmdpStudy) -> str:
    """The first method of the study that takes steps of 50 ms."""
    return next((m for m in study.methods if m != BASELINE), study.methods[0])


def _specs(study: NmdpStudy) -> list[RunSpec]:
    dt = max(study.steps, default=COST_STEP)
    return [study.spec(motion, _method(study), dt) for motion in FOUR_TRAJECTORIES]


def _make(study: NmdpStudy, runs: Runs, folder: Path) -> Product:
    specs = _specs(study)
    path = folder / f"fig2-{study.name}.png"
    figure = new_figure(12.0, 6.4)
    axes = figure.subplots(len(specs), _PICTURES, squeeze=False)
    for row, motion, spec in zip(axes, FOUR_TRAJECTORIES, specs, strict=True):
        pictures = _strip(runs[spec])
        for axis, (t, picture) in zip(row, pictures, strict=True):
            axis.imshow(picture)
            axis.set_axis_off()
            axis.set_title(f"{t:.2f} s", fontsize=7, pad=2.0)
        row[0].set_title(f"{motion.title}, {pictures[0][0]:.2f} s", fontsize=7, pad=2.0)
    step = f"{study.label(_method(study))}, Δt = {1e3 * specs[0].dt:g} ms"
    figure.suptitle(f"{step}  ·  {study.title}", fontsize=10, fontweight="bold")
    save_figure(figure, path)
    return Product({path: f"Film strips of the four motions, {step} (preset {study.name})"}, ())


def _strip(run: KeptRun) -> list[tuple[float, np.ndarray]]:
    """Times [s] and pictures of a run, as evenly apart as its steps allow."""
    setup, recording = run.spec.load().build(), run.recording()
    start, between = _JUMP if "jump" in run.spec.scenario else _WALK
    wanted = np.minimum(start + between * np.arange(_PICTURES), recording.t[-1])
    renderer = Renderer(setup.robot, setup.terrain, size=_SIZE, follow=False)
    pictures = []
    try:
        for row in np.abs(recording.t[:, None] - wanted).argmin(axis=0):
            t, q, force = recording.t[row], recording.q[row], recording.contact_forces[row]
            pictures.append((float(t), renderer.picture(renderer.scene.frame(t, q, force))))
    finally:
        renderer.close()
    return pictures


FIG2 = Figure("fig2", "film strips of the four motions", _specs, _make)
