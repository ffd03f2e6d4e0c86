"""Reading scripts: the decorators and `tenon.script.from_source` by their older names."""

from .. import ir, tir
from .._host import from_source
from .._host import from_source as parse
from ..ir import ir_module
from ..tir import prim_func
from . import core
