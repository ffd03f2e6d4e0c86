"""Options and settings shared by all tests that pytest runs."""

import os
import pathlib
import sys
import tempfile

import hypothesis
import numpy as np
import pytest

sys.dont_write_bytecode = True  # the package of the build tree is made of links into the sources

# Under AddressSanitizer this process reports its leaks at the end; programs that tests start,
# compilers among them, do not.
SANITIZER = any(name in os.environ.get("LD_PRELOAD", "") for name in ("libasan", "libtsan"))
if "libasan" in os.environ.get("LD_PRELOAD", ""):
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"

# after every pass the verifiers look at the program
os.environ.setdefault("TENON_VERIFY_PASSES", "1")

# The user's own cache of compiled kernels is left alone. Processes of tools/test share one.
_cache = tempfile.TemporaryDirectory(prefix="tenon-cache-")
os.environ["TENON_CACHE"] = os.environ.get("TENON_TEST_CACHE", _cache.name)

hypothesis.settings.register_profile(
    "tenon", deadline=None, derandomize=bool(os.environ.get("CI")), database=None
)
hypothesis.settings.load_profile("tenon")


@pytest.fixture(autouse=True)
def same_random_numbers():
    """What a test draws from numpy without a seed is the same each time: near zero, sums in another
    order differ by more than some tolerances."""
    np.random.seed(0)


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the tests marked slow too")
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite expected texts with the actual ones"
    )


def pytest_report_header():
    import tenon

    return f"tenon: {pathlib.Path(tenon.__file__).parent}"


def pytest_collection_modifyitems(config, items):
    for item in items:
        # the same code runs on small inputs elsewhere; a sanitizer takes minutes for large ones
        if SANITIZER and "unsanitized" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="unsanitized: not under a sanitizer"))
    if config.getoption("--slow"):
        return
    skip = pytest.mark.skip(reason="slow: run with --slow (make test-all)")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)
