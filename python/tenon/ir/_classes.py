"""Imports every module that defines a class of the IR, for objects that come out before any of them
was asked for."""

from ..target import target as _target  # noqa: F401
from ..tir import buffer as _tir_buffer  # noqa: F401
from ..tir import expr as _tir_expr  # noqa: F401
from ..tir import function as _tir_function  # noqa: F401
from ..tir import stmt as _tir_stmt  # noqa: F401
from . import (  # noqa: F401
    adt,
    affine_type,
    attrs,
    base,
    container,
    diagnostics,
    expr,
    function,
    instrument,
    memory_pools,
    module,
    op,
    supply,
    tensor_type,
    transform,
    type,
    type_relation,
)
