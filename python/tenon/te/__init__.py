"""Tensor expressions: variables and the functions that expressions are written with."""

from ..runtime.object_generic import const
from ..tir import (
    SizeVar,
    Var,
    abs,
    all,
    any,
    ceil,
    ceildiv,
    div,
    floor,
    floordiv,
    floormod,
    if_then_else,
    indexdiv,
    indexmod,
    infinity,
    isfinite,
    isinf,
    isnan,
    max_value,
    min_value,
    nearbyint,
    power,
    round,
    trunc,
    truncdiv,
    truncmod,
)
from .operation import reduce_axis, size_var, thread_axis, var
