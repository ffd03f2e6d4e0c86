"""Calls of functions and of the intrinsics that programs write themselves."""

from .._ffi.registry import get_global_func, register_func
from ..ir.expr import GlobalVar
from .expr import Call, IntImm, const, convert


def pack_buffer(buf, span=None):
    """The tensor on the stack that stands for a buffer as an argument of a packed function.

    Parameters
    ----------
    buf : Buffer
        The buffer.
    span : Span, optional
        Place in a source text.

    Returns
    -------
    PrimExpr
        A handle.
    """
    shape = Call("handle", "tir.tvm_stack_make_shape", buf.shape, span)
    strides = Call("handle", "tir.tvm_stack_make_shape", buf.strides, span) if buf.strides else 0
    args = [buf.data, shape, strides, len(buf.shape), const(0, dtype=buf.dtype), buf.elem_offset]
    return Call("handle", "tir.tvm_stack_make_array", args, span)


def _packed(args):
    """Arguments of a packed call: buffers become tensors."""
    return [pack_buffer(x) if getattr(x, "type_key", "") == "tir.Buffer" else x for x in args]


def call_intrin(dtype, func_name, *args, span=None):
    """Call an intrinsic.

    Parameters
    ----------
    dtype : str
        Type of the result.
    func_name : str or Op
        The intrinsic, such as ``"tir.exp"``.
    args : PrimExpr
        Arguments.
    span : Span, optional
        Place in a source text.

    Returns
    -------
    Call
    """
    return Call(dtype, func_name, args, span)


def call_packed(*args, span=None):
    """Call a packed function.

    Parameters
    ----------
    args : str, then PrimExpr or Buffer
        Global name of the function, and its arguments; buffers arrive as tensors.
    span : Span, optional
        Place in a source text.

    Returns
    -------
    Call
    """
    return Call("int32", "tir.tvm_call_packed", _packed(args), span)


def call_cpacked(*args, span=None):
    """Call a packed function by its C symbol; parameters as in `call_packed`."""
    return Call("int32", "tir.tvm_call_cpacked", _packed(args), span)


def call_packed_lowered(*args, span=None):
    """`call_packed` in the form that lowering leaves; parameters as there."""
    return Call("int32", "tir.tvm_call_packed_lowered", _packed(args), span)


def call_cpacked_lowered(*args, span=None):
    """`call_cpacked` in the form that lowering leaves; parameters as in `call_packed`."""
    return Call("int32", "tir.tvm_call_cpacked_lowered", _packed(args), span)


def call_extern(dtype, func_name, *args, span=None):
    """Call a C function.

    Parameters
    ----------
    dtype : str
        Type of the result.
    func_name : str
        The function's symbol.
    args : PrimExpr
        Arguments.
    span : Span, optional
        Place in a source text.

    Returns
    -------
    Call
    """
    return Call(dtype, "tir.call_extern", [func_name, *args], span)


def call_pure_extern(dtype, func_name, *args, span=None):
    """Call a C function without effects; parameters as in `call_extern`."""
    return Call(dtype, "tir.call_pure_extern", [func_name, *args], span)


def llvm_lookup_intrinsic_id(name):
    """Number of an intrinsic of LLVM, as `call_llvm_intrin` takes it; ValueError if unknown."""
    return const(_llvm_id(name), "uint32")


def _llvm_id(name):
    if isinstance(name, int | IntImm):
        return int(name)
    opens = get_global_func("target.llvm_version_major", allow_missing=True)
    version = opens() if opens is not None else 0  # opens the code generator, where there is one
    lookup = get_global_func("target.llvm_lookup_intrinsic_id", allow_missing=True)
    if not version or lookup is None:
        raise ValueError(
            f"Unknown llvm intrinsic function {name}: the code generator of LLVM is not there"
        )
    number = lookup(name)
    if number == 0:
        raise ValueError(f"Unknown llvm intrinsic function {name}")
    return number


def call_llvm_intrin(dtype, name, *args, span=None):
    """Call an intrinsic of LLVM.

    Parameters
    ----------
    dtype : str
        Type of the result.
    name : str
        The intrinsic, such as ``"llvm.fma.f32"``.
    args : PrimExpr
        Number of type-selecting arguments, then the arguments.
    span : Span, optional
        Place in a source text.

    Returns
    -------
    Call

    Raises
    ------
    ValueError
        LLVM has no such intrinsic.
    """
    number = llvm_lookup_intrinsic_id(name)
    return Call(dtype, "tir.call_llvm_intrin", [number, *args], span)


def call_llvm_pure_intrin(dtype, name, *args, span=None):
    """Call an intrinsic of LLVM that has no effects; parameters as in `call_llvm_intrin`."""
    number = llvm_lookup_intrinsic_id(name)
    return Call(dtype, "tir.call_llvm_pure_intrin", [number, *args], span)


def call_tir(global_var, *args):
    """Call another tensor program of the module.

    Parameters
    ----------
    global_var : GlobalVar
        The function.
    args : PrimExpr
        Arguments.

    Returns
    -------
    Call
    """
    if not isinstance(global_var, GlobalVar):
        raise TypeError(f"call_tir: expected a GlobalVar, got {type(global_var).__name__}")
    found = global_var._checked_type_
    dtype = getattr(getattr(found, "ret_type", None), "dtype", "void")
    return Call(dtype, global_var, args)


def trace(args, trace_action="tvm.default_trace_action"):
    """The last of some values, shown on the way.

    Parameters
    ----------
    args : list of PrimExpr or Buffer
        Values.
    trace_action : str
        Global name of the function that is called with them.

    Returns
    -------
    PrimExpr
        The last value.
    """
    if not isinstance(args, list):
        raise Exception("tvm.tir.trace consumes the args as list type")
    last = convert(args[-1]) if isinstance(args[-1], int | float) else args[-1]
    return Call(last.dtype, "tir.tvm_call_trace_packed", [trace_action, *_packed(args)])


@register_func("tvm.default_trace_action", override=True)
def _print_values(*args):
    print(list(args))


__all__ = [
    "call_cpacked",
    "call_cpacked_lowered",
    "call_extern",
    "call_intrin",
    "call_llvm_intrin",
    "call_llvm_pure_intrin",
    "call_packed",
    "call_packed_lowered",
    "call_pure_extern",
    "call_tir",
    "llvm_lookup_intrinsic_id",
    "pack_buffer",
    "trace",
]
