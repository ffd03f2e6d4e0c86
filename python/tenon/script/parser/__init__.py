"""Entry points of the parser by their old module names."""

from .. import ir, tir  # noqa: F401
from .._host import from_source as parse  # noqa: F401
from ..ir import ir_module  # noqa: F401
from ..tir import prim_func  # noqa: F401
