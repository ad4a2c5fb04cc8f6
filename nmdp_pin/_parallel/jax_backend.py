"""The device of JAX that makes many trajectories at once."""

from dataclasses import dataclass
from typing import Any

from nmdp_pin.errors import IntegratorError


@dataclass(frozen=True)
class Jax:
    """Steps of all trajectories at once, by `pbfd` with `control=Fixed()` (extra `jax`).

    Args:
        device: a `jax.Device`, or its name, such as "cpu" or "cuda:1"; None: that of JAX.
        dtype: "float64" or "float32".
    """

    device: Any = None
    dtype: str = "float64"


def check_backend(backend: object) -> None:
    """Refuse what is no backend.

    Raises:
        IntegratorError: it is neither None, which stands for compiled steps, nor a `Jax`.
    """
    if not (backend is None or isinstance(backend, Jax)):
        raise IntegratorError(f"backend must be None (compiled steps) or a Jax, got {backend!r}")
