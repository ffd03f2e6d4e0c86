"""Functions and buffers."""

from ... import tir as _tir
from ...ir import PrimType
from .. import tir as _script
from .base import IRBuilder
from .frames import BlockFrame, PrimFuncFrame, TIRFrame, open_frame, region_of


def prim_func(is_private=False):
    """A frame for a function."""
    return PrimFuncFrame(is_private)


def func_name(name):
    """The name of the function."""
    frame = open_frame(PrimFuncFrame, "T.prim_func()")
    if frame.name is not None:
        raise ValueError(f'ValueError: Duplicate prim func name, previous one is "{frame.name}"')
    frame.name = name


def func_attr(attrs):
    """Attributes of the function."""
    open_frame(PrimFuncFrame, "T.prim_func()").attrs.update(attrs)


def func_ret(ret_type):
    """Type of the function's result."""
    if isinstance(ret_type, _script.Name):
        ret_type = PrimType(ret_type.path)
    open_frame(PrimFuncFrame, "T.prim_func()").ret_type = ret_type
    return ret_type


def arg(name, obj):
    """A parameter: a variable, or a buffer that comes by its handle. Returns it."""
    frame = open_frame(PrimFuncFrame, "T.prim_func()")
    if isinstance(obj, _script.Name):
        obj = obj()
    IRBuilder.name(name, obj)
    if isinstance(obj, _tir.Buffer):
        handle = _tir.Var(f"{name}_handle", "handle")
        IRBuilder.name(name, obj.data)
        frame.args.append(handle)
        frame.buffer_map[handle] = obj
    else:
        frame.args.append(obj)
    return obj


def Buffer(  # noqa: N802
    shape,
    dtype="float32",
    data=None,
    strides=None,
    elem_offset=None,
    scope="global",
    align=0,
    offset_factor=0,
    buffer_type="",
    axis_separators=None,
):
    """A buffer without a name."""
    shape = list(shape) if isinstance(shape, list | tuple) or hasattr(shape, "__len__") else [shape]
    return _script.Name("Buffer")(
        shape,
        dtype,
        data,
        strides,
        elem_offset,
        scope,
        align if align > 0 else 0,
        offset_factor,
        "" if buffer_type == "default" else buffer_type,
        axis_separators,
    )


def match_buffer(
    param,
    shape=None,
    dtype="float32",
    data=None,
    strides=None,
    elem_offset=None,
    scope="global",
    align=-1,
    offset_factor=0,
    buffer_type="default",
    axis_separators=None,
):
    """The buffer that a handle parameter points to, or that stands for a region of the block."""
    if shape is None:
        if not isinstance(param, _tir.BufferRegion):
            raise ValueError("Shape must be specified when binding input param")
        shape = [r.extent for r in param.region]
    buffer = Buffer(
        shape,
        dtype,
        data,
        strides,
        elem_offset,
        scope,
        align,
        offset_factor,
        buffer_type,
        axis_separators,
    )
    if isinstance(param, _tir.Var):
        open_frame(PrimFuncFrame, "T.prim_func()").buffer_map[param] = buffer
    else:
        block = open_frame(BlockFrame, "T.block()")
        block.match_buffers.append(_tir.MatchBufferRegion(buffer, region_of(param)))
    return buffer


def alloc_buffer(
    shape,
    dtype="float32",
    data=None,
    strides=None,
    elem_offset=None,
    scope="global",
    align=-1,
    offset_factor=0,
    buffer_type="default",
    axis_separators=None,
):
    """A buffer that the block allocates, or the function where there is no block around."""
    buffer = Buffer(
        shape,
        dtype,
        data,
        strides,
        elem_offset,
        scope,
        align,
        offset_factor,
        buffer_type,
        axis_separators,
    )
    block = IRBuilder.current().find(BlockFrame)
    if block is not None:
        block.alloc_buffers.append(buffer)
    else:
        open_frame(PrimFuncFrame, "T.prim_func()").root_alloc.append(buffer)
    return buffer


def decl_buffer(
    shape,
    dtype="float32",
    data=None,
    strides=None,
    elem_offset=None,
    scope="global",
    align=0,
    offset_factor=0,
    buffer_type="",
    axis_separators=None,
):
    """A frame of a buffer over memory that there is; without ``data`` it allocates."""
    buffer = Buffer(
        shape,
        dtype,
        data,
        strides,
        elem_offset,
        scope,
        align,
        offset_factor,
        buffer_type,
        axis_separators,
    )

    def make(body):
        declared = _tir.DeclBuffer(buffer, body)
        if data is not None:
            return declared
        return _tir.Allocate(
            buffer.data, buffer.dtype, buffer.shape, _tir.const(True, "bool"), declared
        )

    return TIRFrame(make, buffer)
