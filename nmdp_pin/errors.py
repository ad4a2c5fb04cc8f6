"""Errors and warnings for mistakes of the user; numerical failures are `Status` values instead.

Messages state the given value, the allowed values and the remedy.
"""

from nmdp_pin._words import shortened


class NmdpError(Exception):
    """Base class of the errors of this package.

    Args:
        message: the mistake and its remedy; long ones lose their middle.
    """

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


class RobotError(NmdpError):
    """Error in a robot description.

    Args:
        message: the mistake and its remedy.
        file: the URDF or robot.toml at fault.
        element: the link, joint, mesh or key at fault.
    """

    def __init__(self, message: str, *, file: str = "", element: str = "") -> None:
        self.file = file
        self.element = element
        super().__init__(_located(message, file, element))


class RobotWarning(UserWarning):
    """What is odd in a robot's description, or not simulated of it; bodies that overlap."""


class SensorError(NmdpError):
    """Sensor of what a robot lacks, or with an option out of range."""


class ParameterError(NmdpError):
    """Unknown parameter of a simulator, or value of one out of range."""


class StateError(NmdpError):
    """Wrong configuration, velocity, time or length of a step."""


class TerrainError(NmdpError):
    """Error in a terrain shape."""


class ContactError(NmdpError):
    """Error in a contact model or its parameters."""


class ControlError(NmdpError):
    """Error in a gait, gain, target or torque."""


class IntegratorError(NmdpError):
    """Unknown method, or option out of range."""


class DerivativeError(NmdpError):
    """Method, option or parameter without derivatives."""


class WorkerError(NmdpError):
    """Worker of parallel tasks that died, or task that ended its process."""


class SweepError(NmdpError):
    """Error in a grid or a table of runs."""


class ScenarioError(NmdpError):
    """Error in a scenario file, with the path of the key."""

    def __init__(self, message: str, *, file: str = "", key: str = "") -> None:
        self.file = file
        self.key = key
        super().__init__(_located(message, file, key))


class RecordingError(NmdpError):
    """Recording, state, figure or table that cannot be read or written."""


class ExperimentError(NmdpError):
    """Error in an evaluation of a paper."""


class ViewerError(NmdpError):
    """Viewer or renderer that cannot be started."""


class MissingExtra(NmdpError):
    """An optional dependency is not installed: the message names the extra to install."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"{package} is not installed; it is needed here. "
            f"Install it with: pip install 'nmdp-pin[{extra}]', in a checkout '.[{extra}]'"
        )
        self._words = package, extra

    def __reduce__(self) -> "tuple[type[MissingExtra], tuple[str, str]]":
        return MissingExtra, self._words


def _located(message: str, *where: str) -> str:
    """Message with its location: "file: element: message"."""
    return ": ".join([*(part for part in where if part), message])
