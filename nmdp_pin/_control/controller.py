"""Commands, their sources, and the base class of controllers."""

import abc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nmdp_pin._options import Vector3, check_fields, readable
from nmdp_pin._state.quick_record import quick
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError


class CommandSource(abc.ABC):
    """Source of the command at every time of a step."""

    @abc.abstractmethod
    def at(self, t: float) -> "Command":
        """Command of a stage that ends at time t [s]."""


@readable
@dataclass(frozen=True, kw_only=True)
class ExternalWrench:
    """Force and torque from outside on a link, along the axes of the world or of the link.

    Args:
        force: force [N].
        torque: torque [N m].
        frame: link or frame; None: the base link.
        point: where the force acts, in that frame [m].
        turned: whether they turn with the frame, whose axes are those at the start of a step.

    Raises:
        ControlError: a number is not finite, or there are not three.
    """

    force: Vector3 = (0.0, 0.0, 0.0)
    torque: Vector3 = (0.0, 0.0, 0.0)
    frame: str | None = None
    point: Vector3 = (0.0, 0.0, 0.0)
    turned: bool = False

    def __post_init__(self) -> None:
        check_fields(self, ControlError)

    def in_world(self, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Force and torque along the axes of the world.

        Args:
            R: rotation of the frame, shape (3, 3).
        """
        axes = R if self.turned else np.eye(3)
        return axes @ np.array(self.force), axes @ np.array(self.torque)


@quick
@dataclass(frozen=True, eq=False)
class Command(CommandSource):
    """Command that is held over a step; implicit methods include it in their residual.

    The torque at (q, v) is tau - kp * difference(q_target, q) - kd * (v - v_target), up to the
    effort limits of the motors, and force beside it.

    Args:
        tau: feed-forward torque [N m or N], shape (nv,), or of the driven joints, (nu,); None is
            zero.
        kp: position gains [N m/rad], shape (nv,); None is zero.
        kd: velocity gains [N m s/rad], shape (nv,); None is zero.
        q_target: target configuration, shape (nq,); required with kp.
        v_target: target velocity, shape (nv,); None is zero.
        force: generalised force from outside, such as J' f of a push, which no motor limits
            [N m or N], shape (nv,); None is zero.
        base_gains: whether gains may act on floating bases, which have no motors: they then are
            springs and dampers from outside.
        wrenches: forces and torques from outside on links; the Jacobians by which they act on
            joints are those of the start of the step.
        attached: pairs of frames of `Grip` that move as one in the step; the others are free.
    """

    tau: np.ndarray | None = None
    kp: np.ndarray | None = None
    kd: np.ndarray | None = None
    q_target: np.ndarray | None = None
    v_target: np.ndarray | None = None
    force: np.ndarray | None = None
    base_gains: bool = False
    wrenches: tuple[ExternalWrench, ...] = ()
    attached: tuple[tuple[str, str], ...] = ()

    def at(self, t: float) -> "Command":
        """The command itself."""
        return self


def full_torque(tau: np.ndarray, driven: np.ndarray, nv: int) -> np.ndarray:
    """Torque of all velocities, (nv,), from one of the driven joints; others are as they are."""
    if tau.shape != (len(driven),) or len(driven) == nv:
        return tau
    full = np.zeros(nv)
    full[driven] = tau
    return full


class Controller(abc.ABC):
    """Base class of controllers, which provide the command of each step."""

    follows_time: ClassVar[bool] = False
    """Whether the command is a function of time, evaluated at the stages of a step; otherwise the
    command for the end of the step is held."""

    @abc.abstractmethod
    def command(self, state: State, h: float) -> Command:
        """Command for the end of the step that goes from `state.t` to `state.t + h`.

        Args:
            state: the state at the start of the step.
            h: length of the step [s].
        """

    def within(self, state: State, s: float, h: float) -> Command:
        """Command for a stage or a sub-step that ends s after the start of a step.

        Args:
            state: the state at the start of the step.
            s: end of the stage [s], at most h.
            h: length of the step [s].
        """
        return self.command(state, s if self.follows_time else h)


@quick
@dataclass(frozen=True, eq=False)
class Timed(CommandSource):
    """Commands of a controller that follows the time, at the end of each stage of a step."""

    controller: Controller
    state: State
    h: float

    def at(self, t: float) -> Command:
        """Command for a step that ends at t."""
        return self.controller.within(self.state, t - self.state.t, self.h)
