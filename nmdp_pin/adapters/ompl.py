"""State propagators for OMPL's planners with controls."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nmdp_pin._options import check_part
from nmdp_pin._simulator.argument_check import check_count, check_step
from nmdp_pin._simulator.control_input import CommandOf
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin.errors import ControlError, MissingExtra, NmdpError, StateError

try:
    from ompl import base, control
except ImportError as error:
    raise MissingExtra("ompl", "ompl") from error

_ROUND = 1e-9  # of a step: durations are sums of floats


class Propagator:
    """State propagator of OMPL: `propagate(start, control, duration, result)`.

    OMPL's states are real vectors s of 2 nv numbers, the tangent from a reference to x = [q; v], up
    to half a turn of the base. A step that fails and a negative duration give NaN, which
    `is_valid` refuses.

    Args:
        simulator: simulator of the steps.
        h: length of a step [s]; longer durations consist of several steps.
        reference: [q; v] at s = 0; None: neutral configuration at rest.
        command: function of the start of a step, the control and the length that returns the
            command; None: a control is the torque of the driven joints.
        controls: size of a control, required with `command`.

    Raises:
        StateError, ControlError: h, the reference or `controls` cannot be used.
    """

    def __init__(
        self,
        simulator: Simulator,
        *,
        h: float,
        reference: np.ndarray | None = None,
        command: CommandOf | None = None,
        controls: int | None = None,
    ) -> None:
        check_part("simulator", simulator, Simulator, StateError)
        check_step(h)
        self.simulator, self.h, self.command = simulator, h, command
        space = simulator.vector
        self.reference = space.neutral() if reference is None else np.array(reference, dtype=float)
        space.difference(self.reference, self.reference)  # raises where it is not one
        self.size = space.ndx
        if (command is None) != (controls is None):
            raise ControlError("command and controls, the numbers in a control, go together")
        self.controls = len(simulator.robot.driven) if controls is None else controls
        check_count("controls", self.controls, 0)
        if command is not None:  # whose mistakes would be steps that fail, later
            check_part("command", command, Callable, ControlError)
            start, none = space.unpack(self.reference), np.zeros(self.controls)
            simulator.checked_command(command(start, none, h))

    def x_of(self, state: Any) -> np.ndarray:
        """[q; v] of a state of OMPL."""
        s = np.array([state[i] for i in range(self.size)])
        return self.simulator.vector.integrate(self.reference, s)

    def write(self, state: Any, x: np.ndarray) -> None:
        """Write [q; v] into a state of OMPL."""
        for i, value in enumerate(self.simulator.vector.difference(self.reference, x)):
            state[i] = float(value)

    def __call__(self, start: Any, given: Any, duration: float, result: Any) -> None:
        """Propagate a state; called by OMPL."""
        try:
            x = self._end(self.x_of(start), given, duration)
        except NmdpError:  # a planner must not be left by an exception
            x = None
        if x is None:
            for i in range(self.size):
                result[i] = np.nan
        else:
            self.write(result, x)

    def is_valid(self, state: Any) -> bool:
        """Whether a state is finite."""
        return all(np.isfinite(state[i]) for i in range(self.size))

    def _end(self, x: np.ndarray, given: Any, duration: float) -> np.ndarray | None:
        steps = max(int(np.ceil(duration / self.h - _ROUND)), 1)
        h = duration / steps
        if not h > 0.0:
            return None
        state = self.simulator.vector.unpack(x)
        u = np.array([given[i] for i in range(self.controls)])
        for _ in range(steps):
            command = u if self.command is None else self.command(state, u, h)
            made = self.simulator.step(state, command, h)
            if not made.status.ok:
                return None
            state = made.state
        return self.simulator.vector.pack(state)


def simple_setup(
    propagator: Propagator,
    *,
    bounds: Sequence[tuple[float, float]] | np.ndarray,
    control_bounds: Sequence[tuple[float, float]] | np.ndarray,
    is_valid: Callable[[np.ndarray], bool] | None = None,
    steps: tuple[int, int] = (1, 10),
) -> Any:
    """Make a `control.SimpleSetup`; start, goal and planner are left to the caller.

    Args:
        propagator: state propagator.
        bounds: bounds of each of the 2 nv numbers of a state.
        control_bounds: bounds of each number of a control.
        is_valid: further check of a finite [q; v] within the bounds; None: no check.
        steps: smallest and largest number of steps for which a control is held.

    Raises:
        StateError, ControlError: the bounds have a wrong shape.
    """
    space = base.RealVectorStateSpace(propagator.size)
    space.setBounds(_bounds("bounds", bounds, StateError, propagator.size))
    limits = _bounds("control_bounds", control_bounds, ControlError, propagator.controls)
    controls = control.RealVectorControlSpace(space, propagator.controls)
    controls.setBounds(limits)
    setup = control.SimpleSetup(controls)
    setup.setStatePropagator(propagator)

    def valid(state: Any) -> bool:
        if not (propagator.is_valid(state) and space.satisfiesBounds(state)):
            return False
        return is_valid is None or bool(is_valid(propagator.x_of(state)))

    setup.setStateValidityChecker(valid)
    information = setup.getSpaceInformation()
    information.setPropagationStepSize(propagator.h)
    information.setMinMaxControlDuration(*steps)
    return setup


def _bounds(name: str, pairs: Any, error: type[NmdpError], size: int) -> Any:
    array = np.asarray(pairs, dtype=float)
    if array.shape != (size, 2):
        raise error(f"{name} has shape {array.shape}, expected {size} rows of (least, largest)")
    if not (np.isfinite(array).all() and (array[:, 0] < array[:, 1]).all()):
        raise error(f"{name} must be finite, the least below the largest, got {array.tolist()}")
    found = base.RealVectorBounds(len(array))
    for i, (low, high) in enumerate(array.tolist()):
        found.setLow(i, low)
        found.setHigh(i, high)
    return found
