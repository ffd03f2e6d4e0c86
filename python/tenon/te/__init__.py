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
from .compute import (
    comm_reducer,
    compute,
    create_prim_func,
    extern,
    extern_primfunc,
    max,
    min,
    placeholder,
    sum,
)
from .operation import reduce_axis, size_var, thread_axis, var
from .tag import tag_scope
from .tensor import ComputeOp, ExternOp, Operation, PlaceholderOp, Tensor, TensorSlice
