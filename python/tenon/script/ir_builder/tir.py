"""Tensor programs: ``from tenon.script.ir_builder import tir as T``.

Besides the frames and statements below there are the names that scripts have for types, constants
and functions of numbers: ``T.int32()``, ``T.float32(1)``, ``T.Buffer(...)``, ``T.exp(x)``.
"""

# ruff: noqa: F401  the names of this module are those of its parts
from .. import tir as _script
from .block import (
    axis,
    block,
    block_attr,
    init,
    reads,
    where,
    writes,
)
from .control import (
    Assert,
    Else,
    ForFrame,
    If,
    IfFrame,
    LetStmt,
    Then,
    While,
    allocate,
    allocate_const,
    attr,
    buffer_store,
    env_thread,
    evaluate,
    grid,
    launch_thread,
    meta_var,
    parallel,
    prefetch,
    realize,
    serial,
    thread_binding,
    unroll,
    vectorized,
)
from .frames import (
    BlockFrame,
    PrimFuncFrame,
    TIRFrame,
)
from .function import (
    Buffer,
    alloc_buffer,
    arg,
    decl_buffer,
    func_attr,
    func_name,
    func_ret,
    match_buffer,
    prim_func,
)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_script, name)
