"""Errors for mistakes of the user; numerical failures are `Status` values instead.

Every message says what was given, what was allowed and what to do.
"""

from __future__ import annotations


class NmdpError(Exception):
    """Base of every error that this package raises."""


class RobotError(NmdpError):
    """A robot description that cannot be used: names the file and the element.

    Args:
        message: the mistake and its remedy.
        file: the URDF or robot.toml at fault.
        element: the link, joint, mesh or key at fault.
    """

    def __init__(self, message: str, *, file: str = "", element: str = "") -> None:
        self.file = file
        self.element = element
        super().__init__(_located(message, file, element))


class StateError(NmdpError):
    """A wrong configuration, velocity, time or length of a step."""


class TerrainError(NmdpError):
    """A terrain shape that cannot be built."""


class ContactError(NmdpError):
    """A contact model's parameter out of its range."""


class ControlError(NmdpError):
    """A gait, gain, target or torque that cannot be used."""


class IntegratorError(NmdpError):
    """An unknown method or an option out of its range."""


class DerivativeError(NmdpError):
    """A method, option or parameter for which there are no derivatives of the step."""


class ExecutorError(NmdpError):
    """Workers that cannot be had, or that died again and again."""


class SweepError(NmdpError):
    """A grid that cannot be read, or a table of runs that cannot be read or written."""


class ScenarioError(NmdpError):
    """A scenario file that cannot be used: names the key's path and the allowed values."""

    def __init__(self, message: str, *, file: str = "", key: str = "") -> None:
        self.file = file
        self.key = key
        super().__init__(_located(message, file, key))


class RecordingError(NmdpError):
    """A recording, state, figure or table that cannot be read or written."""


class ExperimentError(NmdpError):
    """An evaluation that does not exist, or whose runs cannot be made or kept."""


class ViewerError(NmdpError):
    """A viewer that cannot be started, or a picture that cannot be made."""


class MissingExtra(NmdpError):
    """An optional dependency is not installed: the message names the extra to install."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"{package} is not installed; it is needed here. "
            f"Install it with: pip install 'nmdp-pin[{extra}]'"
        )


def _located(message: str, *where: str) -> str:
    """The message behind the places that are known: "file: element: message"."""
    return ": ".join([*(part for part in where if part), message])
