"""Tensor expressions: variables and the functions that expressions are written with."""

from ..runtime.object_generic import const
from ..tir import (
    IndexMap,
    SizeVar,
    Var,
    abs,
    acos,
    acosh,
    all,
    any,
    asin,
    asinh,
    atan,
    atanh,
    ceil,
    ceildiv,
    comm_reducer,
    cos,
    cosh,
    div,
    erf,
    exp,
    floor,
    floordiv,
    floormod,
    fmod,
    if_then_else,
    indexdiv,
    indexmod,
    infinity,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    max,
    max_value,
    min,
    min_value,
    nearbyint,
    popcount,
    power,
    reinterpret,
    round,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    sqrt,
    sum,
    tan,
    tanh,
    trunc,
    truncdiv,
    truncmod,
)
from . import hybrid, schedule
from .compute import compute, create_prim_func, extern, extern_primfunc, placeholder, scan
from .gradient import gradient
from .operation import reduce_axis, size_var, thread_axis, var
from .schedule import create_schedule
from .tag import tag_scope
from .tensor import (
    ComputeOp,
    ExternOp,
    Operation,
    PlaceholderOp,
    ScanOp,
    Tensor,
    TensorComputeOp,
    TensorSlice,
)
from .tensor_intrin import TensorIntrin, decl_tensor_intrin

AXIS_SEPARATOR = IndexMap.AXIS_SEPARATOR
