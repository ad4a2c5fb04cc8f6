"""Steps of pbfd for many trajectories at a time, in JAX.

Arrays have the lanes, one for each trajectory, as their last axis K: loops over it are what
processors and GPUs vectorise. Components come first, then bodies, dofs or contacts. Nothing of
pinocchio, coal or numba is imported but by `compiled_scene`.
"""

from nmdp_pin.errors import MissingExtra

try:
    import jax  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtra("jax", "jax") from error
