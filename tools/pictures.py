"""The pictures of docs/images.

    OMP_NUM_THREADS=1 python tools/pictures.py [FILE ...]

They need the extras "plots" and "video" and those of the examples that they show; those of pages in
a browser need Chromium, and `locomotion` what `examples/locomotion/train.py` left in out/.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from PIL import Image

from nmdp_pin import Recording, Scenario, Simulator, run
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._simulator.step_control import Fixed
from nmdp_pin.viz.renderer import Renderer
from nmdp_pin.viz.replay import Replay

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
sys.path[:0] = [str(ROOT / folder) for folder in ("examples", "examples/locomotion", "tests")]
STEP, SEEN = 0.05, 2.5  # [s] of a step of `make run`, and of the run that is shown
SIZE = (640, 360)  # [pixels]
CALM = 0.5  # [s] to each side over which the camera's height is a mean
STEPS = (0.005, 0.01, 0.02, 0.025, 0.03, 0.04, 0.05)  # [s]
LIMIT = 0.965  # [m], the rise at short steps: benchmarks/trajectories.py
BLUE, ORANGE, GREY = "#2a6fb0", "#d9772b", "#777777"


def jump() -> None:
    """The first jump of `make run` as an animated WebP, with a picture a step."""
    words = [f"integrator.dt={STEP}", f"duration={SEEN}"]
    scenario = Scenario.load("robosimian-jump", overrides=words)
    setup, recording = scenario.build(), run(scenario)
    renderer = Renderer(setup.robot, setup.simulator.terrain, size=SIZE)
    height, pictures = recording.base_position[:, 2], []
    for t, q, force, z in zip(
        recording.t, recording.q, recording.contact_forces, height, strict=True
    ):
        frame = renderer.scene.frame(t, q, force)
        lift = float(height[np.abs(recording.t - t) <= CALM].mean() - z)
        pictures.append(Image.fromarray(renderer.picture(frame, lift=lift, caption=f"{t:.2f} s")))
    renderer.close()
    pictures[0].save(
        IMAGES / "jump.webp",
        save_all=True,
        append_images=pictures[1:],
        duration=round(1000 * STEP),
        loop=0,
        quality=70,
        method=6,
    )


def polytope() -> None:
    """A friction polytope in the plane of motion, and seen from above."""
    mu, load = 0.7, 1.0
    figure, (side, above) = plt.subplots(1, 2, figsize=(8.0, 3.4))
    side.fill([0, mu * load, -mu * load], [0, load, load], color=BLUE, alpha=0.2)
    side.plot([0, mu * load, -mu * load, 0], [0, load, load, 0], color=BLUE)
    arrow = {"arrowstyle": "-|>", "lw": 2.0}
    side.annotate("", (0.6, 0.0), (0.0, 0.0), arrowprops=arrow | {"color": ORANGE})
    side.annotate("", (-mu * load, load), (0.0, 0.0), arrowprops=arrow | {"color": "black"})
    side.text(0.62, -0.02, "motion u", color=ORANGE, va="center")
    side.text(-0.98, 0.6, "force V w,\nleast u·V w", ha="center")
    side.text(0.0, 0.78, "V w: w ≥ 0, Σw ≤ 1", color=BLUE, ha="center")
    side.plot(0, 0, "o", color=BLUE)
    side.set(xlim=(-1.3, 1.2), ylim=(-0.15, 1.15), xlabel="tangential force / load")
    side.set_ylabel("normal force / load")
    side.set_aspect("equal")
    circle = np.linspace(0.0, 2.0 * np.pi, 200)
    above.plot(mu * np.cos(circle), mu * np.sin(circle), color=GREY, ls="--", label="circle, μ")
    for edges, color in ((6, BLUE), (12, ORANGE)):
        angles = 2.0 * np.pi * np.arange(edges + 1) / edges
        label = f"{edges} directions"
        above.plot(mu * np.cos(angles), mu * np.sin(angles), "o-", color=color, ms=3, label=label)
    above.set_aspect("equal")
    above.set(xlim=(-1.3, 1.3), ylim=(-0.9, 1.1), xlabel="friction / load")
    above.legend(loc="upper center", frameon=False, fontsize=8, ncols=3)
    save(figure, "theory-polytope")


def stages() -> None:
    """One step of dx/dt = -2 x by both schemes: each stage goes along its slope at its end."""
    rate, short = 2.0, 1.0 - np.sqrt(0.5)
    t = np.linspace(0.0, 1.1, 100)
    figure, both = plt.subplots(1, 2, figsize=(8.0, 3.2), sharey=True)
    for axes, title in zip(both, ("order 1, backward Euler", "order 2, SDIRK2"), strict=True):
        axes.plot(t, np.exp(-rate * t), color=GREY, ls="--", label="exact")
        axes.set(title=title, xlabel="time / h", ylim=(0.0, 1.1))
    first, second = both
    _stage(first, (0.0, 1.0), 1.0, rate, BLUE, "q at the end")
    slope = _stage(second, (0.0, 1.0), short, rate, ORANGE, "stage 1")
    begin = 1.0 - short, 1.0 + (1.0 - short) * slope
    second.plot([0.0, begin[0]], [1.0, begin[1]], color=ORANGE, ls=":", lw=1.0)
    second.annotate("q_ref of stage 2", begin, (0.25, 0.12), arrowprops={"arrowstyle": "-"})
    _stage(second, begin, short, rate, BLUE, "stage 2, the end")
    first.set_ylabel("q")
    for axes in both:
        axes.legend(frameon=False, loc="upper right", fontsize=8)
    save(figure, "theory-stages")


def _stage(
    axes: plt.Axes, begin: tuple[float, float], h: float, rate: float, color: str, label: str
) -> float:
    """Draw a stage of length h from (t, q); returns its slope."""
    t, q = begin
    end = q / (1.0 + rate * h)
    axes.plot([t, t + h], [q, end], color=color, lw=2.0)
    axes.plot(t, q, "o", color=color, mfc="white")
    axes.plot(t + h, end, "o", color=color, label=label)
    return -rate * end


def islands() -> None:
    """Three islands on one ground: what touches, but for the ground, is solved together."""
    figure, axes = plt.subplots(figsize=(7.0, 2.4))
    axes.axhline(0.0, color="black", lw=1.0)
    boxes = {
        BLUE: ((0.0, 0.0, 1.2, 0.5), (0.2, 0.5, 0.6, 0.6), (0.95, 0.5, 0.4, 0.4)),
        ORANGE: ((3.2, 0.0, 0.5, 0.7), (3.7, 0.0, 0.9, 0.4)),
        GREY: ((6.2, 0.0, 0.6, 0.6),),
    }
    touch = {
        BLUE: ((0.3, 0.5), (0.7, 0.5), (1.05, 0.5)),
        ORANGE: ((3.7, 0.2), (3.7, 0.35)),
        GREY: (),
    }
    for k, (color, parts) in enumerate(boxes.items()):
        for x, y, width, height in parts:
            axes.add_patch(plt.Rectangle((x, y), width, height, color=color, alpha=0.25, lw=0))
            axes.add_patch(plt.Rectangle((x, y), width, height, fill=False, color=color, lw=1.5))
            if y == 0.0:
                axes.plot([x + 0.1, x + width - 0.1], [0.0, 0.0], "o", color="black", ms=4)
        for x, y in touch[color]:
            axes.plot(x, y, "o", color=color, ms=6)
        top = max(y + height for _, y, _, height in parts)
        axes.text(min(parts)[0], top + 0.12, f"island {k + 1}", color=color)
    axes.text(3.5, -0.35, "contacts with the ground (black) connect nothing", ha="center")
    axes.set(xlim=(-0.3, 7.3), ylim=(-0.4, 1.5), aspect="equal")
    axes.axis("off")
    save(figure, "theory-islands")


def rises(order: int) -> list[float]:
    """Largest rise of the torso in the first jump at each step [m]."""
    found = []
    for dt in STEPS:
        words = [f"integrator.order={order}", f"integrator.dt={dt}", "duration=1.9"]
        height = run(Scenario.load("robosimian-jump-paper", overrides=words)).base_position[:, 2]
        found.append(float(height.max() - height[0]))
    return found


def orders() -> None:
    """Rise of Robosimian's first jump against the length of the step."""
    figure, axes = plt.subplots(figsize=(5.6, 3.4))
    axes.axhline(LIMIT, color=GREY, ls="--", lw=1.0)
    axes.text(50, LIMIT + 0.02, "limit of short steps", color=GREY, ha="right", fontsize=8)
    for order, color in ((1, ORANGE), (2, BLUE)):
        label = f"order {order}, {'backward Euler' if order == 1 else 'SDIRK2'}"
        axes.plot(1e3 * np.array(STEPS), rises(order), "o-", color=color, label=label)
    axes.set(xlabel="length of a step [ms]", ylabel="rise of the torso [m]", ylim=(0.0, 1.05))
    axes.legend(frameon=False, loc="lower left")
    save(figure, "theory-orders")


def convergence() -> None:
    """Residual after each iteration of the solver, of the hardest step of a second."""
    figure, axes = plt.subplots(figsize=(5.6, 3.2))
    for dt, color in ((0.01, GREY), (0.025, ORANGE), (0.05, BLUE)):
        residuals = hardest_step(dt)
        label = f"step of {1e3 * dt:g} ms"
        axes.semilogy(range(1, len(residuals) + 1), residuals, "o-", color=color, label=label)
    axes.axhline(1e-4, color="black", ls="--", lw=1.0)
    axes.text(1.0, 7e-5, "tolerance", fontsize=8, va="top")
    axes.set(xlabel="iteration", ylabel="|G| / weight")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(frameon=False)
    save(figure, "theory-convergence")


def hardest_step(dt: float) -> list[float]:
    """Residuals over the weight in the step of the jump that takes most iterations."""
    words = ["integrator.order=1", f"integrator.dt={dt}"]
    setup = Scenario.load("robosimian-jump-paper", overrides=words).build(visuals=False)
    simulator, state = setup.simulator, setup.state
    starts = []
    for result in simulator.run(state, setup.controller, dt=dt, duration=1.9):
        starts.append((result.iterations, state))
        state = result.state
    most, start = max(starts, key=lambda pair: pair[0])
    command = setup.controller.command(start, dt)
    residuals = []
    for k in range(1, most + 1):
        short = Simulator(
            simulator.robot,
            simulator.terrain,
            simulator.contact,
            "ne-nmdp",
            order=1,
            restarts=False,
            control=Fixed(),
            vi_newton=ViNewton(max_iterations=k),
        )
        result = short.step(start, command, dt)
        residuals.append(max(result.residual / (setup.robot.mass * 9.81), 1e-16))
        if result.status.ok:
            break
    return residuals


def save(figure: plt.Figure, name: str) -> None:
    """Write a figure to the images of the documentation."""
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(IMAGES / f"{name}.png", dpi=130)
    plt.close(figure)


def plan_jump() -> None:
    """The plan of a jump, its replay, and the torques."""
    import plan_jump

    with tempfile.TemporaryDirectory() as folder:
        plan_jump.main(["--out", f"{folder}/plan_jump"])
        (IMAGES / "plan_jump.png").write_bytes(Path(folder, "plan_jump.png").read_bytes())


def push_plan() -> None:
    """A box that is pushed, from above."""
    import push_box_by_ompl

    with tempfile.TemporaryDirectory() as folder:
        push_box_by_ompl.main(["--out", f"{folder}/push"])
        (IMAGES / "push-plan.png").write_bytes(Path(folder, "push.png").read_bytes())


def spider_reach() -> None:
    """Spider at the end of its reach."""
    import reach_by_sampling as example

    with tempfile.TemporaryDirectory() as folder:
        example.main(["--out", f"{folder}/reach"])
        recording = Recording.load(f"{folder}/reach.npz")
    simulator = example.reach_over(example.GAP).simulator
    renderer = Renderer(simulator.robot, simulator.terrain, size=(900, 450))
    frame = renderer.scene.frame(recording.duration, recording.q[-1], recording.contact_forces[-1])
    Image.fromarray(renderer.picture(frame)).quantize(256).save(
        IMAGES / "spider-reach.png", optimize=True
    )
    renderer.close()


def robosimian() -> None:
    """The page of a jump in a browser, while the robot pushes off and while it flies."""
    from browser import Browser

    scenario = Scenario.load("robosimian-jump", overrides=[f"integrator.dt={STEP}"])
    setup, pictures = scenario.build(), []
    with tempfile.TemporaryDirectory() as folder, Browser(width=660, height=530) as browser:
        page = Path(folder) / "jump.html"
        Replay(run(scenario), setup.robot, setup.simulator.terrain).write_html(page)
        browser.open(page.as_uri())
        browser.wait_for("window.player !== undefined")
        browser.evaluate("player.pause(), 0")
        for t in (1.1, 1.3):
            browser.evaluate(f"player.seek({t}), player.render(), 0")
            browser.evaluate("new Promise(done => setTimeout(done, 500))")
            pictures.append(browser.screenshot().astype(np.uint8))
    gap = np.full((pictures[0].shape[0], 8, 3), 255, np.uint8)
    both = Image.fromarray(np.concatenate([pictures[0], gap, pictures[1]], axis=1))
    both.quantize(256).save(IMAGES / "robosimian.png", optimize=True)


def locomotion() -> None:
    """Returns of the policies over the training and in the tests."""
    import draw

    draw.draw(ROOT / "out/locomotion", IMAGES / "locomotion.png")


def robots() -> None:
    """All robots in meshcat."""
    import gallery

    from nmdp_pin._robot import bundled_robots, example_robots

    with tempfile.TemporaryDirectory() as folder:
        gallery.main(Path(folder), [*bundled_robots(), *example_robots()])
        (IMAGES / "robots.png").write_bytes(Path(folder, "robots.png").read_bytes())


PICTURES = {
    "jump.webp": jump,
    "theory-polytope.png": polytope,
    "theory-stages.png": stages,
    "theory-islands.png": islands,
    "theory-orders.png": orders,
    "theory-convergence.png": convergence,
    "plan_jump.png": plan_jump,
    "push-plan.png": push_plan,
    "spider-reach.png": spider_reach,
    "robosimian.png": robosimian,
    "locomotion.png": locomotion,
    "robots.png": robots,
}

if __name__ == "__main__":
    mpl.use("Agg")
    for picture in sys.argv[1:] or PICTURES:
        PICTURES[picture]()
