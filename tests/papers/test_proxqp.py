"""ProxQP: whole motions beside DAQP's, the same bits in every process, the build of ProxSuite."""

import os
import subprocess
import sys

import numpy as np
import pytest

from nmdp_pin._scenario import Scenario

PROCESSES = 2
NEAR = 1e-4  # [m, rad] at the end; both solve to 1e-9, and the motions are not chaotic
FAR = 0.1  # [m, rad] that the robot is away from its start meanwhile
# scenario, step [s], duration [s], method, objective
MOTIONS = {
    "jump end_effector": ("robosimian-jump-paper", 0.05, 1.5, "pbd-nmdp", "end_effector"),
    "walk ne-mdp": ("robosimian-walk", 0.01, 1.5, "ne-mdp", ""),
}
# Prints the bits of two jumps; numbers of the size that the argument draws lie between its arrays.
JUMPS = """
import random, sys
import numpy as np
from nmdp_pin._scenario import Scenario

random.seed(int(sys.argv[1]))
for name, objective, h in (("ne-mdp", "", 0.01), ("ne-nmdp", "kinetic", 0.05)):
    keys = [f"name='{name}'", f"dt={h}"] + [f"objective='{objective}'"] * bool(objective)
    overrides = ["contact.recovery=0", *(f"integrator.{key}" for key in keys)]
    scenario = Scenario.load("robosimian-jump-paper", overrides=overrides)
    setup = scenario.build(visuals=False)
    state = setup.state
    for _ in range(8):
        kept = [np.empty(random.randrange(1, 4000)) for _ in range(random.randrange(1, 300))]
        result = setup.simulator.step(state, setup.controller.command(state, h), h)
        assert result.status.ok
        state = result.state
    print(state.q.tobytes().hex(), state.v.tobytes().hex())

import proxsuite  # after a step: the same build, and nothing is left of how it was chosen
assert proxsuite.proxqp.dense.QP.__module__ == "proxsuite.proxsuite_pywrap.proxqp.dense"
assert "proxsuite.instructionset" not in sys.modules
"""
# Before this package: the build is the user's.
THEIRS = """
import proxsuite
theirs = proxsuite.proxqp
import numpy as np
from nmdp_pin.papers.methods.simplex_qp import SimplexQP
import nmdp_pin.papers.methods.proxqp as ours
assert ours._proxqp() is theirs
x = SimplexQP(1, 2).solve(np.eye(2), np.array([-0.5, 0.5]), np.zeros(2))
np.testing.assert_allclose(x, [0.5, 0.0], atol=1e-8)
"""


def python(code, *arguments, **environment):
    """What a program prints in a process of its own."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def ends(name, solver):
    """How far a motion gets away from its start, and its end."""
    scenario, h, duration, method, objective = MOTIONS[name]
    keys = [f"name='{method}'", f"dt={h}"]
    if objective:
        keys += [f"objective='{objective}'", f"projected_gradient.qp_solver='{solver}'"]
    else:
        keys.append(f"qp_solver='{solver}'")
    overrides = ["contact.recovery=0", *(f"integrator.{key}" for key in keys)]
    loaded = Scenario.load(scenario, overrides=overrides)
    setup = loaded.build(visuals=False)
    steps = setup.simulator.run(setup.state, setup.controller, dt=h, duration=duration)
    results = list(steps)
    assert all(result.status.ok for result in results)
    far = max(np.abs(result.state.q - setup.state.q).max() for result in results)
    return far, results[-1].state.q


@pytest.mark.parametrize("name", MOTIONS)
def test_whole_motions_are_those_of_daqp(name):
    """Two ways to one minimiser, step for step."""
    far, end = ends(name, "proxqp")
    assert far > FAR
    np.testing.assert_allclose(end, ends(name, "daqp")[1], atol=NEAR)


def test_the_same_bits_in_every_process():
    """Whatever the environment and the heap have moved the addresses of arrays by."""
    printed = {python(JUMPS, str(i), JUNK="x" * 777 * i) for i in range(PROCESSES)}
    assert len(printed) == 1


def test_the_build_of_the_user():
    """A program that imports ProxSuite before a method needs it has chosen: two do not fit."""
    python(THEIRS)
