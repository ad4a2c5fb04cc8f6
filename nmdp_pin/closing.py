"""The contract of what is closed at the end of a `with` statement."""

from __future__ import annotations

import abc
from typing import Self


class Closing(abc.ABC):
    """Holds something until it is closed."""

    @abc.abstractmethod
    def close(self) -> None:
        """Give back what is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()
