"""Compiles the kernels that most tests call, once, before the workers of pytest start.

    NUMBA_CACHE_DIR=FOLDER python tests/compile_kernels.py PART

Each part is compiled by its own process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

# Scenarios with options; what else the tests call is compiled by the worker that needs it first.
_JUMP, _GO2, _BOX = "robosimian-jump-paper", "go2-stand", "sliding-box"
PARTS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "nmdp": (
        (_JUMP, ("integrator.name='ne-nmdp'",)),
        (_GO2, ("integrator.name='pbd-nmdp'",)),
        (_JUMP, ("integrator.objective='kinetic'", "contact.recovery=0")),
        (_GO2, ("integrator.name='ne-mdp'",)),
        (_GO2, ("integrator.name='ne-ncp'",)),
    ),
    "pbd": (
        (_BOX, ("integrator.name='pbfd'",)),
        ("bin-of-parts", ("integrator.name='pbfd'",)),
    ),
}


def compile_parts(folder: Path) -> None:
    """Compile all parts at once; what is compiled already is read."""
    started = [
        subprocess.Popen(
            [sys.executable, __file__, part],
            env={**os.environ, "NUMBA_CACHE_DIR": str(folder), "OMP_NUM_THREADS": "1"},
        )
        for part in PARTS
    ]
    for process in started:
        process.wait()


def main(part: str) -> None:
    """Take a few steps, and their derivatives, with each of the scenarios of a part."""
    from nmdp_pin._scenario import Scenario
    from nmdp_pin.derivatives import step_derivatives
    from nmdp_pin.errors import DerivativeError
    from nmdp_pin.rollout import rollout

    for name, overrides in PARTS[part]:
        setup = Scenario.load(name, overrides=list(overrides)).build(visuals=False)
        simulator, state = setup.simulator, setup.state
        command = setup.controller.command(state, 0.01)
        list(simulator.run(state, setup.controller, dt=0.01, duration=0.05))
        try:
            step_derivatives(simulator, state, command, 0.01)
        except DerivativeError:
            continue  # the method has none
        if part == "pbd":
            x = np.concatenate([state.q, state.v])
            rollout(simulator, x, np.zeros((2, 2, simulator.robot.model.nv)), h=0.01)


if __name__ == "__main__":
    main(sys.argv[1])
