"""Deferred kernels: compiled when they are called, by their address."""

import numba
import pytest
from numba.core.errors import TypingError

from nmdp_pin._kernels.compiler.jit import deferred, jit

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="kernels are not compiled")


@deferred
def _third(x: float) -> float:
    return x / 3.0


@jit
def _third_or_itself(x: float, third: bool) -> float:
    return _third(x) if third else x


@deferred
def _parts(x: float) -> tuple[int, tuple[float, bool]]:
    return int(x), (x - int(x), x < 0.0)


@jit
def _sum_of_parts(x: float) -> float:
    whole, (rest, negative) = _parts(x)
    return -1.0 if negative else whole + rest


@deferred
def _wrong(x: float) -> float:
    return x.missing


@jit
def _call_wrong(x: float) -> float:
    return _wrong(x) if x > 0.0 else x


def test_a_kernel_is_compiled_when_it_is_called_and_not_before():
    """A caller that does not call it compiles nothing of it; a second call compiles no more."""
    assert _third_or_itself(6.0, False) == 6.0
    assert not _third.overloads
    assert [_third_or_itself(x, True) for x in (6.0, 9.0)] == [2.0, 3.0]
    assert len(_third.overloads) == 1
    assert _third(12.0) == 4.0  # Python calls the same version
    assert len(_third.overloads) == 1


def test_results_are_numbers_and_tuples():
    """Their types are those of the annotation."""
    assert (_sum_of_parts(2.5), _sum_of_parts(-2.5)) == (2.5, -1.0)


def test_an_error_of_the_compiler_reaches_the_caller():
    """It is raised by the call, and by each later one."""
    assert _call_wrong(-1.0) == -1.0
    for _ in range(2):
        with pytest.raises((TypingError, SystemError)):
            _call_wrong(1.0)
