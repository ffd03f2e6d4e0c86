"""Everything of `tenon.testing` that is written in Python.

Environment variables: ``TVM_TEST_TARGETS`` (targets to test, separated by ``;``),
``TENON_TEST_DISABLE_CACHE`` or ``TVM_TEST_DISABLE_CACHE`` (fixtures are not cached),
``SKIP_SLOW_TESTS``, ``CI``.
"""

import inspect
import os
import sys
import time

from ._compare import *  # noqa: F403
from ._features import Feature  # noqa: F401
from ._parameters import *  # noqa: F403
from ._requirements import *  # noqa: F403
from ._targets import *  # noqa: F403

IS_IN_CI = os.getenv("CI", "") == "true"


def identity_after(x, sleep):
    """Return `x` after `sleep` seconds (None: at once)."""
    if sleep:
        time.sleep(sleep)
    return x


def terminate_self():
    """End the process at once."""
    sys.exit(-1)


def get_dtype_range(dtype):
    """Least and greatest value of test data of an integer or float type: (min, max)."""
    if dtype.startswith("uint"):
        return 0, 2 ** int(dtype[4:]) - 1
    if dtype.startswith("int"):
        half = 2 ** (int(dtype[3:]) - 1)
        return -half, half - 1
    if dtype.startswith("float"):
        return -(2**15), 2**15 - 1
    raise ValueError(f"get_dtype_range: no range for {dtype!r}")


class _control_span_filling:
    def __init__(self, on=True):
        self._on = on

    def _set(self, on):
        from .. import transform

        self._context = transform.PassContext(config={"relay.frontend.fill_span": on})

    def __enter__(self):
        self._set(self._on)
        self._context.__enter__()
        return self

    def __exit__(self, exc_type, exc, traceback):
        self._context.__exit__(exc_type, exc, traceback)


class enable_span_filling(_control_span_filling):
    """Context: importers note where each operator comes from."""

    def __init__(self):
        super().__init__()


class disable_span_filling(_control_span_filling):
    """Context: importers do not note where operators come from."""

    def __init__(self):
        super().__init__(on=False)


def install_request_hook(depth=0):
    """Do nothing: downloads are left as they are.

    Tutorials call it first. Elsewhere it sends downloads to a mirror.

    Parameters
    ----------
    depth : int
        Not used.
    """


def main():
    """Run the tests of the calling file with pytest, with the arguments of the command line."""
    import pytest

    test_file = inspect.getsourcefile(sys._getframe(1))
    sys.exit(pytest.main([test_file] + sys.argv[1:]))


__all__ = [
    name
    for name, value in list(globals().items())
    if not name.startswith("_") and not inspect.ismodule(value)
]
