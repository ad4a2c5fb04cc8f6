"""Action models of Crocoddyl with exact derivatives."""

from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._control.controller import Command
from nmdp_pin._derivatives.differentiator import StepDifferentiator
from nmdp_pin._integrators import StepResult
from nmdp_pin._options import check_part
from nmdp_pin._simulator.argument_check import check_step
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._simulator.state_vector import StateVector
from nmdp_pin.errors import ControlError, MissingExtra, NmdpError, StateError

try:
    import crocoddyl
except ImportError as error:
    raise MissingExtra("crocoddyl", "crocoddyl") from error

# The pinocchio that a wheel of Crocoddyl was built against, which its metadata do not tell. Beside
# another one its multibody models return uninitialised numbers or crash.
_BUILT_AGAINST = {"3.2.1": "4.0.0"}
_PINOCCHIO = _BUILT_AGAINST.get(crocoddyl.__version__, pin.__version__)


class VectorState(crocoddyl.StateAbstract):
    """Space of x = [q; v] of a robot, as `Simulator.vector`.

    It replaces `crocoddyl.StateMultibody`, which requires the version of Pinocchio against which
    Crocoddyl was built.

    Args:
        model: model of the robot.
    """

    def __init__(self, model: pin.Model) -> None:
        check_part("model", model, pin.Model, StateError)
        self.model, self._space = model, StateVector(model)
        super().__init__(self._space.nx, self._space.ndx)
        self.lb = np.concatenate([model.lowerPositionLimit, -model.velocityLimit])
        self.ub = np.concatenate([model.upperPositionLimit, model.velocityLimit])

    def zero(self) -> np.ndarray:
        """Neutral configuration at rest."""
        return self._space.neutral()

    def rand(self) -> np.ndarray:
        """Random state within one unit of the neutral state."""
        dx = np.random.uniform(-np.ones(self.ndx), 1.0)  # noqa: NPY002
        return self.integrate(self.zero(), dx)

    def diff(self, x0: np.ndarray, x1: np.ndarray) -> np.ndarray:
        """Tangent at x0 that leads to x1."""
        return self._space.difference(x0, x1)

    def integrate(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """Sum of x and the tangent dx."""
        return self._space.integrate(x, dx)

    def Jdiff(
        self, x0: np.ndarray, x1: np.ndarray, firstsecond: Any = None
    ) -> list[np.ndarray] | np.ndarray:
        """Derivatives of `diff` with respect to x0 and x1, or one of them."""
        nq = self.model.nq
        dq = pin.dDifference(self.model, x0[:nq], x1[:nq])
        return _chosen([self._with_velocity(dq[0], -1.0), self._with_velocity(dq[1])], firstsecond)

    def Jintegrate(
        self, x: np.ndarray, dx: np.ndarray, firstsecond: Any = None
    ) -> list[np.ndarray] | np.ndarray:
        """Derivatives of `integrate` with respect to x and dx, or one of them."""
        nq, nv = self.model.nq, self.model.nv
        dq = pin.dIntegrate(self.model, x[:nq], dx[:nv])
        return _chosen([self._with_velocity(dq[0]), self._with_velocity(dq[1])], firstsecond)

    def JintegrateTransport(
        self, x: np.ndarray, dx: np.ndarray, J: np.ndarray, firstsecond: Any
    ) -> np.ndarray:
        """Transport of J from the end of dx to x, or into dx."""
        nq, nv = self.model.nq, self.model.nv
        arg = pin.ARG0 if firstsecond == crocoddyl.Jcomponent.first else pin.ARG1
        moved = np.array(J)
        moved[:nv] = pin.dIntegrateTransport(self.model, x[:nq], dx[:nv], J[:nv], arg)
        return moved

    def _with_velocity(self, dq: np.ndarray, sign: float = 1.0) -> np.ndarray:
        nv = self.model.nv
        J = np.zeros((2 * nv, 2 * nv))
        J[:nv, :nv] = dq
        J[nv:, nv:] = sign * np.eye(nv)
        return J


def _chosen(both: list[np.ndarray], firstsecond: Any) -> list[np.ndarray] | np.ndarray:
    if firstsecond == crocoddyl.Jcomponent.first:
        return both[0]
    if firstsecond == crocoddyl.Jcomponent.second:
        return both[1]
    return both


class StepData(crocoddyl.ActionDataAbstract):
    """Data of one knot: the last step, and the data of its cost."""

    def __init__(self, model: "StepAction") -> None:
        super().__init__(model)
        self.result: StepResult | None = None
        self.start = self.control = np.empty(0)
        self.collector = crocoddyl.DataCollectorAbstract()
        cost = model.cost_model
        self.cost_data = None if cost is None else cost.createData(self.collector)


class StepAction(crocoddyl.ActionModelAbstract):
    """One step of a simulator with a cost of Crocoddyl.

    Costs are multiplied by h, as in `IntegratedActionModelEuler`, except at the end of the horizon.
    A step that fails has NaN as xnext and cost, so that solvers shorten their step. Use one thread
    (`nthreads=1`), as for every model written in Python.

    Args:
        simulator: simulator, whose method has derivatives.
        h: length of the steps [s].
        cost: cost of states and controls, over a `VectorState`, such as a `CostModelSum` of
            `ResidualModelState` and `ResidualModelControl`; None: zero.
        smoothing: smoothing of the derivatives across switches of contacts; 0: exact.
        warm: whether to start each step from the weights of the last step of the same knot, which
            is faster and makes results depend on the history, within the tolerance.
        hold: command to which the controls are added as torques of the driven joints; with gains
            and a target, a control u shifts the target by u / kp.

    Raises:
        DerivativeError: the method has no derivatives.
        ControlError: `hold` does not fit the robot, or the cost has other controls.
        StateError: the cost has other states, or multibody states of Crocoddyl beside another
            version of Pinocchio.
    """

    def __init__(
        self,
        simulator: Simulator,
        h: float,
        cost: Any = None,
        *,
        smoothing: float = 0.0,
        warm: bool = False,
        hold: Command | None = None,
    ) -> None:
        check_part("simulator", simulator, Simulator, StateError)
        check_step(h)
        robot = simulator.robot
        state = VectorState(robot.model) if cost is None else cost.state
        if _PINOCCHIO != pin.__version__ and isinstance(state, crocoddyl.StateMultibody):
            raise StateError(
                f"the cost is over a StateMultibody, but crocoddyl {crocoddyl.__version__} was "
                f"built against pinocchio {_PINOCCHIO}: beside {pin.__version__} its multibody "
                "models crash or return wrong numbers; make the cost over "
                "VectorState(simulator.robot.model)"
            )
        super().__init__(state, len(robot.driven), 0)
        self.simulator, self.h, self.cost_model = simulator, h, cost
        self.smoothing, self.warm = smoothing, warm
        self.hold = simulator.checked_command(hold)
        self._differentiate = StepDifferentiator(simulator)
        if cost is not None and cost.nu != self.nu:
            raise ControlError(f"the cost is of {cost.nu} controls, the robot has {self.nu} motors")
        if state.nx != simulator.vector.nx:
            raise StateError(
                f"the cost is of states with {state.nx} numbers, the robot's have "
                f"{simulator.vector.nx}; make it over VectorState(simulator.robot.model)"
            )
        effort = np.array(robot.model.effortLimit[robot.driven], dtype=float)
        held = np.zeros(self.nu) if self.hold.tau is None else self.hold.tau[robot.driven]
        self.u_lb, self.u_ub = -effort - held, effort - held

    def calc(self, data: StepData, x: np.ndarray, u: np.ndarray | None = None) -> None:
        """Compute the end of the step and its cost; without u, the cost of the last knot."""
        if u is None:
            data.xnext = np.array(x)
            data.cost = self._cost(data, x)
            return
        warm = data.result.state.warm if self.warm and data.result is not None else None
        data.result = None
        try:
            data.xnext, result = self.simulator.step_x(x, self.command(u), self.h, warm=warm)
        except NmdpError:  # what a solver tries may be no state at all
            data.xnext, data.cost = np.full_like(x, np.nan), np.nan
            return
        data.start, data.control, data.result = np.array(x), np.array(u), result
        data.cost = self.h * self._cost(data, x, u)
        if not result.status.ok:
            data.xnext, data.cost = np.full_like(x, np.nan), np.nan

    def calcDiff(self, data: StepData, x: np.ndarray, u: np.ndarray | None = None) -> None:
        """Compute the exact first derivatives at the arguments of `calc`."""
        if u is None:
            self._differentiate_cost(data, 1.0, x)
            return
        made = data.result
        if made is None or not (np.array_equal(x, data.start) and np.array_equal(u, data.control)):
            self.calc(data, x, u)
            made = data.result
        if made is None:
            data.Fx, data.Fu = np.full_like(data.Fx, np.nan), np.full_like(data.Fu, np.nan)
            return
        state = replace(self.simulator.vector.unpack(x), warm=made.state.warm)
        found = self._differentiate(
            state, self.command(u), self.h, result=made, smoothing=self.smoothing
        )
        data.Fx, data.Fu = found.dx_dx, found.dx_du
        self._differentiate_cost(data, self.h, x, u)

    def createData(self) -> StepData:
        """Data of one knot."""
        return StepData(self)

    def command(self, u: np.ndarray) -> Command:
        """Command that corresponds to a control, for replays of a plan in other steps."""
        tau = np.zeros(self.simulator.robot.model.nv)
        if self.hold.tau is not None:
            tau += self.hold.tau
        tau[self.simulator.robot.driven] += u
        return replace(self.hold, tau=tau)

    def _cost(self, data: StepData, *point: np.ndarray) -> float:
        kept: Any = data.cost_data
        if self.cost_model is None:
            return 0.0
        self.cost_model.calc(kept, *point)
        return float(kept.cost)

    def _differentiate_cost(self, data: StepData, scale: float, *point: np.ndarray) -> None:
        if self.cost_model is None:
            return
        self.cost_model.calcDiff(data.cost_data, *point)
        names = ("Lx", "Lxx") if len(point) == 1 else ("Lx", "Lu", "Lxx", "Lxu", "Luu")
        for name in names:
            setattr(data, name, scale * getattr(data.cost_data, name))
