"""Operators of Relay.

Functions that are not written out in a module of this package are made from the rows that describe
the operators (docs/operators.md).
"""

import importlib as _importlib

from ..expr import const  # noqa: F401  importers and programs take it from here
from . import _rows
from .op import (
    Op,
    OpPattern,
    debug,
    fact_values,
    facts,
    get,
    register,
    register_alter_op_layout,
    register_broadcast_schedule,
    register_compute,
    register_convert_op_layout,
    register_external_compiler,
    register_fake_quantization_to_integer,
    register_gradient,
    register_infer_correct_layout,
    register_injective_schedule,
    register_legalize,
    register_mixed_precision_conversion,
    register_op_attr,
    register_optional_fake_quantization_to_integer,
    register_pattern,
    register_reduce_schedule,
    register_shape_func,
    register_stateful,
    register_strategy,
)

# modules in which functions are written out, and packages of operators with a prefix
_WRITTEN = (".transform", ".reduce", ".algorithm", ".sparse", ".fourier", ".annotation.annotation")
_PACKAGES = ("annotation", "image", "memory", "nn", "random", "vision", "vm")
_fetch, __dir__ = _rows.attach(__name__, "", _WRITTEN)


def __getattr__(name):
    if name in _PACKAGES:
        return _importlib.import_module("." + name, __name__)
    return _fetch(name)
