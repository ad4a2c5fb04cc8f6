"""Compilation of kernels before they are used, in parts that processes compile side by side."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._integrators.nmdp import Nmdp
from nmdp_pin._kernels.geometry import shape_selection, shapes, shares
from nmdp_pin._parallel.tasks import Progress, shown, side_by_side
from nmdp_pin._runs.run import compile_kernels
from nmdp_pin._scenario import Scenario, Setup
from nmdp_pin.derivatives import step_derivatives
from nmdp_pin.rollout import rollout

_KEEPS = hasattr(shapes.place_shapes, "is_kept")  # else they are interpreted, or Numba is unknown

Part = tuple[str, dict[str, Any]]
"""Name of an entry of `_USES`, and a scenario as `Scenario.resolved` has it."""

# What compiles all kernels that users call; what takes longest begins first.
_ALL: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("step", "robosimian-jump-paper", ()),
    ("shapes", "falling-box-stairs", ()),
    ("rollout", "go2-stand", ()),
    ("derivative", "go2-stand", ()),
    ("step", "chain-slope", ()),
    ("rollout", "sliding-box", ("integrator.name='pbfd'",)),
    ("step", "sliding-box", ("integrator.name='pbfd'",)),
    ("derivative", "sliding-box", ("integrator.name='pbfd'",)),
    ("step", "robosimian-jump-paper", ("integrator.preset='paper'",)),
    ("derivative", "go2-stand", ("integrator.name='pbd-nmdp'",)),
    ("step", "go2-stand", ("integrator.name='ne-mdp'",)),
    ("step", "go2-stand", ("integrator.name='ne-ncp'",)),
    ("step", "bin-of-parts", ()),
    ("step", "finger-block", ()),
    ("derivative", "probe-sand", ()),
    ("derivative", "falling-box-stairs", ()),
)


def all_parts() -> list[Part]:
    """The parts of all kernels; none where they are not kept."""
    return [
        (use, Scenario.load(name, overrides=list(overrides)).resolved())
        for use, name, overrides in (_ALL if _KEEPS else ())
    ]


def parts_of(scenario: Scenario, setup: Setup) -> list[Part]:
    """The parts of a step of a scenario; none where its kernels are one part, or some are kept.

    Kernels of shapes are a part of their own.
    """
    integrator = setup.simulator.integrator
    if not (_KEEPS and integrator.candidates.shaped):
        return []
    kernel, types = _shape_kernels(setup)[0]
    if kernel.is_kept(types) or (isinstance(integrator, Nmdp) and integrator.is_kept()):
        return []
    return [(use, scenario.resolved()) for use in ("step", "shapes")]


def compile_parts(
    parts: Sequence[Part], *, whole: bool = False, progress: bool | Progress = False
) -> None:
    """Compile parts on all cores.

    Args:
        parts: the parts.
        whole: whether to compile what they call too, and not only what their steps call.
        progress: True draws a bar on a terminal; a function is called with the number of parts done
            and the number of all.
    """
    with shown(progress, "parts of the kernels are compiled", len(parts)) as show:
        for done, _ in enumerate(side_by_side(_compile, whole, parts, n_jobs=-1), 1):
            show(done, len(parts))


def _compile(whole: bool, part: Part) -> None:
    """Compile a part; with `whole`, all that it calls."""
    use, resolved = part
    logger = logging.getLogger("nmdp_pin")
    before = logger.level
    logger.setLevel(logging.ERROR)  # who asks for it knows that it takes long
    try:
        scenario = Scenario.from_dict(resolved)
        _USES[use](scenario, scenario.build(visuals=False))
        if whole:
            from nmdp_pin._kernels.compiler.deferred import compile_called  # of known versions

            compile_called()
    finally:
        logger.setLevel(before)


def _compile_shapes(scenario: Scenario, setup: Setup) -> None:
    """Compile what steps call for contacts with other shapes than planes."""
    for kernel, types in _shape_kernels(setup):
        kernel.compile(types)


def _shape_kernels(setup: Setup) -> list[tuple[Any, tuple[Any, ...]]]:
    """Kernels of shapes, with the types of their arguments."""
    form = CompiledSystem(setup.simulator.system)
    contacts, at = form.new_stage().contacts, form.new_point().places
    pairs, places, table = form.candidates, np.zeros((1, 4, 3)), np.zeros((1, 6))
    called: tuple[tuple[Any, tuple[Any, ...]], ...] = (
        (shape_selection.select_shapes, (places, table, 0.0, True)),
        (shapes.place_shapes, (at,)),
        (shapes.bend_shapes, (at,)),
        (shares.share_depths, (at, np.zeros(1, bool), np.zeros(1))),
        (shares.share_wrenches, (at, table, table)),
    )
    return [(kernel, tuple(map(numba.typeof, (pairs, contacts, *rest)))) for kernel, rest in called]


def _differentiate(scenario: Scenario, setup: Setup) -> None:
    """Differentiate a step."""
    h = scenario.integrator.dt
    step_derivatives(setup.simulator, setup.state, setup.controller.command(setup.state, h), h)


def _roll(scenario: Scenario, setup: Setup) -> None:
    """Make two steps by one call."""
    x = np.concatenate([setup.state.q, setup.state.v])
    torque = np.zeros((1, 2, setup.robot.model.nv))
    rollout(setup.simulator, x, torque, h=scenario.integrator.dt)


_USES: dict[str, Callable[[Scenario, Setup], None]] = {
    "step": compile_kernels,
    "shapes": _compile_shapes,
    "rollout": _roll,
    "derivative": _differentiate,
}
