"""Many trajectories of one robot at a time, on JAX: needs the extra `batch`."""

from nmdp_pin.errors import MissingExtra

try:
    import jax  # noqa: F401
except ImportError as error:
    raise MissingExtra("jax", "batch") from error

from nmdp_pin.batch.batch import Batch
from nmdp_pin.batch.result import BatchResult

__all__ = ["Batch", "BatchResult"]
