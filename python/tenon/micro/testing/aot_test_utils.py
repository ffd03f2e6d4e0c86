"""How tests run ahead-of-time models."""

import itertools

from ...testing.aot import AOTTestRunner

AOT_DEFAULT_RUNNER = AOTTestRunner()

# boards that only their vendor's emulator runs: models are built for them, not run
AOT_CORSTONE300_RUNNER = AOTTestRunner(makefile="corstone300")
AOT_USMP_CORSTONE300_RUNNER = AOTTestRunner(
    makefile="corstone300", pass_config={"tir.usmp.enable": True}
)


def parametrize_aot_options(test):
    """Run a test with all interfaces: its arguments ``interface_api``, ``use_unpacked_api`` and
    ``test_runner``.

    Parameters
    ----------
    test : callable
        The test.
    """
    import pytest

    options = [
        (interface, unpacked, AOT_DEFAULT_RUNNER)
        for interface, unpacked in itertools.product(("packed", "c"), (True, False))
        if unpacked or interface == "packed"
    ]
    return pytest.mark.parametrize("interface_api,use_unpacked_api,test_runner", options)(test)
