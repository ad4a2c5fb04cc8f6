"""The contract of controllers."""

from __future__ import annotations

import pickle

import numpy as np

from nmdp_pin._control import Command, Controller
from nmdp_pin._simulator.simulator import Simulator

TIMES = (0.0, 0.013, 1.7, 30.0)  # [s]


class ControllerContract:
    """Needs the fixtures `simulator` (of the robot) and `controller`."""

    def test_commands_can_be_used(self, simulator: Simulator, controller: Controller) -> None:
        """At any time the command has the right shapes and finite numbers, and a step takes it."""
        for t in TIMES:
            state = simulator.state(t=t)
            command = controller.command(state, 0.01)
            assert isinstance(command, Command)
            result = simulator.step(state, command, 0.01)
            assert np.isfinite(result.state.q).all()

    def test_the_same_state_gives_the_same_command(
        self, simulator: Simulator, controller: Controller
    ) -> None:
        """A controller remembers nothing between steps."""
        first = [_bits(controller.command(simulator.state(t=t), 0.02)) for t in TIMES]
        again = [_bits(controller.command(simulator.state(t=t), 0.02)) for t in reversed(TIMES)]
        assert first == again[::-1]

    def test_the_state_is_left_alone(self, simulator: Simulator, controller: Controller) -> None:
        """Neither q nor v is written."""
        state = simulator.state(v=np.full(simulator.robot.model.nv, 0.1))
        q, v = state.q.copy(), state.v.copy()
        controller.command(state, 0.01)
        assert np.array_equal(state.q, q)
        assert np.array_equal(state.v, v)


def _bits(command: Command) -> bytes:
    return pickle.dumps([command.tau, command.kp, command.kd, command.q_target, command.v_target])
