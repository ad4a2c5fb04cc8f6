"""Small arrays of kernels on the stack, which take no time to make.

They end with the call of the kernel that makes them: it neither returns them nor makes them in a
loop.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

_BYTES = 8  # of a number
_CONFIG: Any = numba.config  # whose attributes are set when it is imported


def _array(
    context: Any, builder: Any, kind: types.Array, shape: Any, fixed: Any, zero: bool
) -> Any:
    """An array of a shape, which is `fixed` where the kernel states it as numbers."""
    length = context.get_value_type(types.intp)
    number = context.get_data_type(kind.dtype)
    if None not in fixed:
        shape = [length(n) for n in fixed]
        size = int(np.prod(fixed))
        data = cgutils.alloca_once(builder, ir.ArrayType(number, size))
        data, size = builder.bitcast(data, number.as_pointer()), length(size)
    else:
        size = shape[0]
        for n in shape[1:]:
            size = builder.mul(size, n)
        data = builder.alloca(number, size=size)
    if zero:
        cgutils.memset(builder, data, builder.mul(size, length(_BYTES)), 0)
    strides = [length(_BYTES)]
    for n in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], n))
    array = make_array(kind)(context, builder)
    populate_array(array, data, shape, strides, _BYTES, None)
    return array._getvalue()


def _maker(kind: types.Array, zero: bool) -> Any:
    """Intrinsic function of the shape of an array."""

    def of_shape(*shape: Any) -> Any:
        fixed = [getattr(n, "literal_value", None) for n in shape]

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            lengths = [
                context.cast(builder, n, given, types.intp)
                for n, given in zip(args, signature.args, strict=True)
            ]
            return _array(context, builder, kind, lengths, fixed, zero)

        return kind(*shape), generate

    def row(typingctx: Any, n: Any) -> Any:
        return of_shape(n)

    def table(typingctx: Any, m: Any, n: Any) -> Any:
        return of_shape(m, n)

    return intrinsic(prefer_literal=True)(row if kind.ndim == 1 else table)


_ROW, _TABLE = types.Array(types.float64, 1, "C"), types.Array(types.float64, 2, "C")

if _CONFIG.DISABLE_JIT:
    vector = zero_vector = np.zeros

    def matrix(m: int, n: int) -> np.ndarray:
        """An array of shape (m, n)."""
        return np.zeros((m, n))

    zero_matrix = matrix

    def indices(n: int) -> np.ndarray:
        """Whole numbers, shape (n,)."""
        return np.zeros(n, dtype=np.int64)

else:
    vector, zero_vector = _maker(_ROW, zero=False), _maker(_ROW, zero=True)
    matrix, zero_matrix = _maker(_TABLE, zero=False), _maker(_TABLE, zero=True)
    indices = _maker(types.Array(types.int64, 1, "C"), zero=False)
