"""The registry of operators."""

from enum import IntEnum
from itertools import count

from ... import _core
from ..._ffi.registry import register_func, register_object
from ...ir import _ffi_api as _ir_api
from ...ir.op import Op, register_op, register_op_attr
from ...runtime.object import Object


@register_object("TypeReporter")
class TypeReporter(Object):
    """What a type relation written in Python tells its findings to, while it runs."""

    __slots__ = ()

    def assign(self, dst, src):
        """The type `dst`, one of those given to the relation, is `src`."""
        _api("ReporterAssign")(self, dst, src)

    def assert_(self, cond):
        """Can the condition hold, as far as is known? bool."""
        return bool(_api("ReporterAssert")(self, cond))

    def assert_eq(self, lhs, rhs):
        """Can two extents be equal, as far as is known? bool."""
        return bool(_api("ReporterAssertEq")(self, lhs, rhs))


def _api(name):
    return _core.get_global_func(f"relay.ty.{name}")


def get(op_name):
    """The operator of a name.

    Parameters
    ----------
    op_name : str
        The name.

    Returns
    -------
    Op

    Raises
    ------
    AttributeError
        There is none.
    """
    return _ir_api.GetOp(op_name)


def register(op_name, describe=""):
    """Make an operator; TVMError when there is one of that name.

    Parameters
    ----------
    op_name : str
        Its name.
    describe : str
        What it does.
    """
    register_op(op_name, describe)


class OpPattern(IntEnum):
    """How an operator reads its inputs, which decides what it is fused with."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


def facts(op_name):
    """What an operator of the library states about itself to passes.

    Parameters
    ----------
    op_name : str
        The operator.

    Returns
    -------
    dict of str to str
        Fact and what is stated, without facts that are unset; see `fact_values`.

    Raises
    ------
    AttributeError
        The operator does not exist.
    """
    all_ = _core.get_global_func("relay.op.facts")(op_name)
    return {str(fact): str(value) for fact, value in all_.items()}


def fact_values():
    """The facts that operators state, what each may be, and what that means.

    Returns
    -------
    dict of str to dict of str to str
    """
    all_ = _core.get_global_func("relay.op.fact_values")()
    return {str(f): {str(v): str(doc) for v, doc in vs.items()} for f, vs in all_.items()}


_shown = count()


def debug(expr, debug_func=None):
    """Show a value while a program is interpreted (`relay.create_executor("debug")`); compiled
    programs only pass it on.

    Parameters
    ----------
    expr : RelayExpr
        What is looked at.
    debug_func : callable, optional
        Called with its value: an NDArray, or what else the interpreter has. Without it nothing is
        called.

    Returns
    -------
    RelayExpr
        The value of `expr`.
    """
    from . import _make

    name = ""
    if debug_func:
        name = f"relay.debug.{next(_shown)}"
        register_func(name, debug_func)
    return _make.debug(expr, name)


def register_compute(op_name, compute=None, level=10):
    """Say how an operator is computed. Usable as a decorator.

    Parameters
    ----------
    op_name : str
        The operator.
    compute : function, optional
        ``(attrs, inputs, out_type) -> list of te.Tensor``.
    level : int
        Of several registrations the highest holds.
    """
    return register_op_attr(op_name, "FTVMCompute", compute, level)


def register_strategy(op_name, fstrategy=None, level=10):
    """Say which implementations an operator has; parameters as in `register_compute`."""
    if not isinstance(fstrategy, _core.Object | type(None)) and hasattr(fstrategy, "generic_func_"):
        fstrategy = fstrategy.generic_func_
    return register_op_attr(op_name, "FTVMStrategy", fstrategy, level)


def register_alter_op_layout(op_name, alter_layout=None, level=10):
    """Say which layout an operator wants: ``(attrs, inputs, tinfos, out_type) -> expression or
    None``. Usable as a decorator."""
    return register_op_attr(op_name, "FTVMAlterOpLayout", alter_layout, level)


def register_convert_op_layout(op_name, convert_layout=None, level=10):
    """Say how an operator is brought to a layout: ``(attrs, inputs, tinfos, desired_layouts) ->
    expression or None``. Usable as a decorator."""
    return register_op_attr(op_name, "FTVMConvertOpLayout", convert_layout, level)


def register_infer_correct_layout(op_name, infer_layout=None, level=10):
    """Say which layouts an operator keeps. Usable as a decorator."""
    return register_op_attr(op_name, "FInferCorrectLayout", infer_layout, level)


def register_legalize(op_name, legal_op=None, level=10):
    """Say what takes the place of an operator where a target cannot compute it: ``(attrs, inputs,
    arg_types) -> expression or None``. Usable as a decorator."""
    return register_op_attr(op_name, "FTVMLegalize", legal_op, level)


def register_mixed_precision_conversion(op_name, func=None, level=10):
    """Say how an operator takes to lower precision. Usable as a decorator."""
    return register_op_attr(op_name, "FTVMMixedPrecisionConversionType", func, level)


def register_fake_quantization_to_integer(op_name, func=None, level=10):
    """Say how FakeQuantizationToInteger computes an operator with integers. Usable as a decorator.

    Parameters
    ----------
    op_name : str
        The operator.
    func : function, optional
        ``(call, types) -> [expression, type] or None``: the call has quantized operands, `types`
        says what they stand for (operand to `TensorAffineType`, of a tuple `TupleAffineType`), and
        the answer is an expression of integers with what that stands for.
    level : int
        Of several registrations the highest holds.
    """
    return register_op_attr(op_name, "FTVMFakeQuantizationToInteger", func, level)


def register_optional_fake_quantization_to_integer(op_name, func=None, level=10):
    """The same where it is only done on request. Usable as a decorator."""
    return register_op_attr(op_name, "FTVMOptionalFakeQuantizationToInteger", func, level)


def register_gradient(op_name, fgradient=None, level=10):
    """Give an operator's gradient: ``(call, gradient) -> list of gradients``. Usable as a
    decorator."""
    return register_op_attr(op_name, "FPrimalGradient", fgradient, level)


def register_shape_func(op_name, data_dependent, shape_func=None, level=10):
    """Give an operator's shape function. Usable as a decorator.

    Parameters
    ----------
    op_name : str
        The operator.
    data_dependent : bool or list of bool
        Does it read the values of its inputs?
    shape_func : function, optional
        ``(attrs, inputs, out_ndims) -> list of tensors``.
    level : int
        Of several registrations the highest holds.
    """
    flags = data_dependent if isinstance(data_dependent, list) else [data_dependent]
    get(op_name).set_attr("TShapeDataDependent", [int(flag) for flag in flags], level)
    return register_op_attr(op_name, "FShapeFunc", shape_func, level)


def register_external_compiler(op_name, fexternal=None, level=10):
    """Say whether an external compiler takes an operator. Usable as a decorator."""
    return register_op_attr(op_name, "FTVMExternalCompiler", fexternal, level)


def register_pattern(op_name, pattern, level=10):
    """Set the pattern of an operator.

    Parameters
    ----------
    op_name : str
        The operator.
    pattern : OpPattern
        How it reads its inputs.
    level : int
        Of several registrations the highest holds.
    """
    return register_op_attr(op_name, "TOpPattern", int(pattern), level)


def register_stateful(op_name, stateful, level=10):
    """Say whether an operator has a state: calls of one that has are neither moved nor dropped."""
    return register_op_attr(op_name, "TOpIsStateful", bool(stateful), level)


def register_injective_schedule(op_name, level=10):
    """Declare an operator injective, where nothing else is said."""
    del level
    if not get(op_name).has_attr("TOpPattern"):
        register_pattern(op_name, OpPattern.INJECTIVE)


def register_broadcast_schedule(op_name, level=10):
    """Declare an operator to broadcast, where nothing else is said."""
    del level
    if not get(op_name).has_attr("TOpPattern"):
        register_pattern(op_name, OpPattern.BROADCAST)


def register_reduce_schedule(op_name, level=10):
    """Declare an operator to reduce, where nothing else is said."""
    del level
    if not get(op_name).has_attr("TOpPattern"):
        register_pattern(op_name, OpPattern.COMM_REDUCE)


__all__ = [
    "Op",
    "OpPattern",
    "TypeReporter",
    "fact_values",
    "facts",
    "get",
    "register",
    "register_alter_op_layout",
    "register_broadcast_schedule",
    "register_compute",
    "register_convert_op_layout",
    "register_external_compiler",
    "register_fake_quantization_to_integer",
    "register_gradient",
    "register_infer_correct_layout",
    "register_injective_schedule",
    "register_legalize",
    "register_mixed_precision_conversion",
    "register_op_attr",
    "register_optional_fake_quantization_to_integer",
    "register_pattern",
    "register_reduce_schedule",
    "register_shape_func",
    "register_stateful",
    "register_strategy",
]
