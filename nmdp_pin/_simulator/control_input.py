"""What the controls u of a rollout mean."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nmdp_pin._control.controller import Command, Controller
from nmdp_pin._control.moved_target import MovedTarget
from nmdp_pin._dynamics.commands import write_plan
from nmdp_pin._kernels.tree.joints import Commands
from nmdp_pin._options import shown
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError

CommandOf = Callable[[State, np.ndarray, float], Command | np.ndarray | None]
"""Function of the start of a step, its u and its length [s] that returns its command."""


@dataclass(frozen=True, eq=False)
class ControlInput:
    """Controls that are added to a command, move its target, or are turned into one.

    Args:
        command: the command; a function of u that returns it; None: u is the torque.
        target: the command's target, which u moves; None: u is added to its torque.
    """

    command: CommandOf | Command | None
    target: MovedTarget | None

    @classmethod
    def of(
        cls, simulator: Simulator, command: CommandOf | Command | None, *, targets: bool
    ) -> "ControlInput":
        """Arguments of `rollout`, where they mean something."""
        if isinstance(command, Controller):
            raise ControlError(
                f"a {type(command).__name__} has no u; give a function, such as "
                "command=lambda state, u, h: controller.command(state, h)"
            )
        if isinstance(command, Command):
            command = simulator.checked_command(command)
        elif command is not None and not callable(command):
            raise ControlError(
                "command must be a Command, one for each trajectory, or a function of (state, u, "
                f"h), got {shown(command)}"
            )
        if not targets:
            return cls(command, None)
        if not isinstance(command, Command) or command.kp is None or command.q_target is None:
            raise ControlError("targets=True needs a Command with kp and q_target, which u moves")
        return cls(command, MovedTarget.around(simulator.vector.model, command.q_target))

    def write(self, plan: Commands) -> None:
        """Write the command into all rows of a plan, where it is one."""
        held = self.command if isinstance(self.command, Command) else Command()
        write_plan(plan, slice(None), held)

    def add(
        self, simulator: Simulator, u: np.ndarray, plan: Commands, tau: np.ndarray | None
    ) -> None:
        """Write torques tau with u added, or targets that u moves, into the first rows of a plan.

        Args:
            simulator: of the steps.
            u: of the driven joints or of all velocities, shape (n, nu or nv).
            plan: memory of commands.
            tau: torque of the command, shape (nv,).
        """
        added = np.zeros((len(u), simulator.vector.nv))
        every = u.shape[1] == simulator.vector.nv
        added[:, slice(None) if every else simulator.system.robot.driven] = u
        if self.target:
            self.target.write(simulator.vector.model, added, plan.q_target[: len(u)])
        else:
            plan.tau[: len(u)] = added if tau is None else tau + added
