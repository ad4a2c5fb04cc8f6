"""A trained policy: plain arrays in an `.npz`, used without the library that trained it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nmdp_pin._files.array_file import read_npz
from nmdp_pin.errors import RecordingError


@dataclass(frozen=True)
class Policy:
    """The mean action of a network of tanh layers, for observations that are standardised first.

    Args:
        mean: of each observation, shape (n,).
        deviation: of each observation, shape (n,).
        limit: standardised observations are cut at it.
        kernels: of each layer, shape (inputs, outputs).
        biases: of each layer, shape (outputs,).
    """

    mean: np.ndarray
    deviation: np.ndarray
    limit: float
    kernels: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        """The action, shape (n_motors,), within [-1, 1]."""
        scaled = (np.asarray(observation) - self.mean) / self.deviation
        x = np.clip(scaled, -self.limit, self.limit)
        for kernel, bias in zip(self.kernels[:-1], self.biases[:-1], strict=True):
            x = np.tanh(x @ kernel + bias)
        return np.clip(x @ self.kernels[-1] + self.biases[-1], -1.0, 1.0)

    def save(self, path: Path) -> None:
        """Write it as an `.npz`."""
        arrays = {"mean": self.mean, "deviation": self.deviation, "limit": np.array(self.limit)}
        for i, (kernel, bias) in enumerate(zip(self.kernels, self.biases, strict=True)):
            arrays |= {f"kernel{i}": kernel, f"bias{i}": bias}
        np.savez(path, **arrays)

    @classmethod
    def load(cls, path: Path) -> Policy:
        """Read what `save` wrote.

        Raises:
            RecordingError: the file is something else.
        """
        file = read_npz(path, "policy")
        layers = range(sum(name.startswith("kernel") for name in file))
        try:
            policy = cls(
                file["mean"],
                file["deviation"],
                float(file["limit"]),
                tuple(file[f"kernel{i}"] for i in layers),
                tuple(file[f"bias{i}"] for i in layers),
            )
            policy(np.zeros(policy.mean.shape))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise RecordingError(f"'{path}' is not a policy: {error!r}") from error
        return policy
