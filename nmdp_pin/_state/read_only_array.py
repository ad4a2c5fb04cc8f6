"""Arrays that nobody changes."""

import numpy as np


def read_only(values: np.ndarray) -> np.ndarray:
    """An array with the same values that cannot be written; of a read-only one itself."""
    values = np.asarray(values)
    if values.flags.writeable or values.base is not None:
        values = values.copy()
        values.flags.writeable = False
    return values
