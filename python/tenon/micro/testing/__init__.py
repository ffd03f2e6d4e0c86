"""Testing models of microcontrollers."""

from . import aot_test_utils, utils

__all__ = ["aot_test_utils", "utils"]
