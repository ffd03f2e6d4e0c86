"""Functions that tests of worker processes send there (they must be importable by name)."""

import time

from .. import _ffi
from . import _ffi_api

TEST_GLOBAL_STATE_1 = 0
TEST_GLOBAL_STATE_2 = 0
TEST_GLOBAL_STATE_3 = 0


def initializer(test_global_state_1, test_global_state_2, test_global_state_3):
    """Set three numbers of the process."""
    global TEST_GLOBAL_STATE_1, TEST_GLOBAL_STATE_2, TEST_GLOBAL_STATE_3
    TEST_GLOBAL_STATE_1 = test_global_state_1
    TEST_GLOBAL_STATE_2 = test_global_state_2
    TEST_GLOBAL_STATE_3 = test_global_state_3


def after_initializer():
    """The numbers set by `initializer`."""
    return TEST_GLOBAL_STATE_1, TEST_GLOBAL_STATE_2, TEST_GLOBAL_STATE_3


def register_ffi():
    """Register a Python function that fails."""

    @_ffi.register_func("testing.nested_identity_py", override=True)
    def _identity_py(arg):
        return arg


def call_py_ffi(arg):
    """Call a registered Python function."""
    return _ffi.get_global_func("testing.nested_identity_py")(arg)


def call_cpp_ffi(arg):
    """Call a native function."""
    return _ffi_api.echo(arg)


def call_cpp_py_ffi(arg):
    """Call a native function, which calls a registered Python one."""
    return _ffi_api.identity_cpp(arg)


def fast_summation(n):
    """Sum of the numbers below n."""
    return n * (n - 1) // 2


def slow_summation(n):
    """The same in linear time."""
    return sum(range(n))


def timeout_job(n):
    """Take 1.5 n seconds."""
    time.sleep(n * 1.5)
