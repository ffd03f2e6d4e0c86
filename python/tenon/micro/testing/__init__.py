"""Testing models of microcontrollers."""

from . import aot_test_utils, utils
from .utils import get_target

__all__ = ["aot_test_utils", "get_target", "utils"]
