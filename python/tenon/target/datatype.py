"""Data types that a program defines: written ``custom[NAME]BITS``, stored as unsigned integers,
computed by what is registered here for each operation and target.

    datatype.register("posit", 150)
    datatype.register_op(datatype.create_lower_func({16: "posit16_add"}), "Add", "llvm", "posit")

The functions that lower an operation get its expression, with operands lowered already, and give
one of the unsigned integer type; `create_lower_func` makes one that calls a C function.
"""

from .. import _core
from ..runtime import DataType
from ..tir import op as _op
from ..tir.expr import Call, Cast, FloatImm


def register(type_name, type_code):
    """Name a type.

    Parameters
    ----------
    type_name : str
        Without brackets; the type is written ``custom[type_name]bits``.
    type_code : int
        129 to 255, not another type's.

    Raises
    ------
    ValueError
        The code or name is out of range or belongs to another type.
    """
    _core.get_global_func("runtime._datatype_register")(type_name, type_code)


def get_type_name(type_code):
    """The name of a registered code. ValueError when there is none."""
    return _core.get_global_func("runtime._datatype_get_type_name")(type_code)


def get_type_code(type_name):
    """The code of a registered name. ValueError when there is none."""
    return _core.get_global_func("runtime._datatype_get_type_code")(type_name)


def get_type_registered(type_code):
    """Whether a type has that code."""
    return _core.get_global_func("runtime._datatype_get_type_registered")(type_code)


def register_op(
    lower_func, op_name, target, src_type_name, dest_type_name=None, intrinsic_name=None
):
    """Say how an operation on a type is computed.

    Parameters
    ----------
    lower_func : callable
        Takes the expression (a PrimExpr, operands lowered) and gives one that computes it in the
        unsigned integer type of the same size, or in the type of the result if that is not a
        registered one.
    op_name : str
        Name of the node: "Add", "Max", "LT", "FloatImm", "Cast", "Call".
    target : str
        Kind of the target: "llvm", "c".
    src_type_name : str
        The type of the operands: the name of a registered one, or "float", "int", "uint" of a cast.
    dest_type_name : str, optional
        What a cast gives, named likewise.
    intrinsic_name : str, optional
        Which intrinsic a "Call" is about: "tir.exp", "tir.if_then_else".
    """
    name = f"tvm.datatype.lower.{target}.{op_name}"
    if op_name == "Cast":
        if dest_type_name is None:
            raise ValueError("register_op: a Cast needs dest_type_name")
        name += f".{dest_type_name}"
    elif op_name == "Call":
        if intrinsic_name is None:
            raise ValueError("register_op: a Call needs intrinsic_name")
        name += f".intrin.{intrinsic_name}"
    _core.register_global_func(f"{name}.{src_type_name}", lower_func, True)


def register_min_func(func, type_name):
    """Say what the smallest number of a type is, which maxima begin with.

    Parameters
    ----------
    func : callable
        Takes the number of bits and gives an expression of the type.
    type_name : str
        The registered name.
    """
    _core.register_global_func(f"tvm.datatype.min.{type_name}", func, True)


def create_min_lower_func(extern_func_map, type_name):
    """A function for `register_min_func` that calls C functions without arguments.

    Parameters
    ----------
    extern_func_map : dict of int to str
        The C function for each number of bits.
    type_name : str
        The registered name.

    Returns
    -------
    callable
    """

    def lower(num_bits):
        dtype = f"custom[{type_name}]{num_bits}"
        if num_bits not in extern_func_map:
            raise RuntimeError(f"missing minimum function for {dtype}")
        return _op.call_pure_extern(dtype, extern_func_map[num_bits])

    return lower


def create_lower_func(extern_func_map):
    """A function for `register_op` that calls C functions.

    Parameters
    ----------
    extern_func_map : str or dict
        The C function; or one for each number of bits, for a cast for each pair of the bits of its
        operand and of its result.

    Returns
    -------
    callable
        RuntimeError when called for bits that the table lacks.
    """

    def lower(op):
        dtype = _storage(op.dtype)
        operand = op.value.dtype if isinstance(op, Cast) else op.dtype
        if _is_binary(op):
            operand = op.a.dtype
        name = extern_func_map
        if isinstance(name, dict):
            key = DataType(operand).bits
            if isinstance(op, Cast):
                key = (key, DataType(op.dtype).bits)
            if key not in name:
                raise RuntimeError(f"missing key {key} in extern_func_map for {type(op).__name__}")
            name = name[key]
        return _op.call_pure_extern(dtype, name, *_operands(op))

    return lower


def _is_binary(op):
    return hasattr(op, "a") and hasattr(op, "b")


def _operands(op):
    if _is_binary(op):
        return (op.a, op.b)
    if isinstance(op, (Cast, FloatImm)):
        return (op.value,)
    if isinstance(op, Call):
        return tuple(op.args)
    raise RuntimeError(f"lowering an unsupported operation: {type(op).__name__}")


def _storage(dtype):
    """The unsigned integer type in which a registered type is stored; other types as they are."""
    t = DataType(dtype)
    if not get_type_registered(t.type_code):
        return str(dtype)
    return f"uint{t.bits}" + (f"x{t.lanes}" if t.lanes > 1 else "")


def lower_ite(ite_op):
    """Lower ``if_then_else`` of a registered type.

    ``register_op(lower_ite, "Call", "llvm", "posit", intrinsic_name="tir.if_then_else")``
    """
    return _op.call_intrin(_storage(ite_op.dtype), "tir.if_then_else", *ite_op.args)


def lower_call_pure_extern(op):
    """Lower ``call_pure_extern`` of a registered type: the same function gives its bits.

    Registered for a "Call" with the ``intrinsic_name`` "tir.call_pure_extern".
    """
    return _op.call_intrin(_storage(op.dtype), "tir.call_pure_extern", *op.args)
