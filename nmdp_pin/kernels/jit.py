"""The compiler of the kernels."""

import numba

jit = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=False)
