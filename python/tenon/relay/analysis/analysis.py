"""Variables, operators, sizes and forms of Relay programs."""

from ...ir.expr import GlobalVar
from ...ir.module import IRModule
from . import _ffi_api
from .feature import Feature


def post_order_visit(expr, fvisit):
    """Call a function with every expression of a program, each once, operands first.

    Parameters
    ----------
    expr : RelayExpr
        The program.
    fvisit : function
        Called with each expression.
    """
    return _ffi_api.post_order_visit(expr, fvisit)


def well_formed(expr):
    """Is every variable bound once, and used only where it is bound?

    Parameters
    ----------
    expr : RelayExpr
        The program.

    Returns
    -------
    bool
    """
    return bool(_ffi_api.well_formed(expr))


def check_basic_block_normal_form(expr):
    """Does every expression that several scopes use have a variable?

    Parameters
    ----------
    expr : RelayExpr
        A function, or another expression.

    Returns
    -------
    bool
        What `relay.transform.ToBasicBlockNormalForm` makes is in this form.
    """
    return bool(_ffi_api.check_basic_block_normal_form(expr))


def check_kind(t, mod=None):
    """The kind of a type.

    Parameters
    ----------
    t : Type
        The type.
    mod : IRModule, optional
        Type definitions.

    Returns
    -------
    int
        A `TypeKind`.

    Raises
    ------
    TypeError
        Parts of the type are of kinds that do not fit.
    """
    return _ffi_api.check_kind(t, mod)


def check_constant(expr):
    """Is it a constant, or a tuple of constants? (bool)"""
    return bool(_ffi_api.check_constant(expr))


def free_vars(expr):
    """Variables that are used without being bound, in the order in which they are met.

    Parameters
    ----------
    expr : RelayExpr
        The program.

    Returns
    -------
    list of Var
    """
    return _ffi_api.free_vars(expr)


def bound_vars(expr):
    """Variables that are bound in a program (parameters, let, patterns); list of Var."""
    return _ffi_api.bound_vars(expr)


def all_vars(expr):
    """All variables of a program in the order in which they are met; list of Var."""
    return _ffi_api.all_vars(expr)


def free_type_vars(expr, mod=None):
    """Type variables that are used without being bound.

    Parameters
    ----------
    expr : RelayExpr or Type
        The program, or a type.
    mod : IRModule, optional
        Type definitions.

    Returns
    -------
    list of TypeVar
    """
    return _ffi_api.free_type_vars(expr, mod if mod is not None else IRModule())


def bound_type_vars(expr, mod=None):
    """Type variables that are bound; see `free_type_vars`."""
    return _ffi_api.bound_type_vars(expr, mod if mod is not None else IRModule())


def all_type_vars(expr, mod=None):
    """All type variables; see `free_type_vars`."""
    return _ffi_api.all_type_vars(expr, mod if mod is not None else IRModule())


def all_dtypes(expr):
    """Data types of all expressions of a typed program; set of str."""
    return {str(t) for t in _ffi_api.all_dtypes(expr)}


def get_total_mac_number(expr):
    """Multiplications with addition in convolutions, dense layers and batched products.

    Parameters
    ----------
    expr : RelayExpr
        The program, its types known.

    Returns
    -------
    int
    """
    return _ffi_api.GetTotalMacNumber(expr)


def unmatched_cases(match, mod=None):
    """Values that no clause of a match expression handles.

    Parameters
    ----------
    match : Match
        The expression.
    mod : IRModule, optional
        Type definitions.

    Returns
    -------
    list of Pattern
    """
    return _ffi_api.unmatched_cases(match, mod)


def detect_feature(a, b=None):
    """The parts of the language that a program uses.

    Parameters
    ----------
    a : RelayExpr or IRModule
        The program.
    b : RelayExpr or IRModule, optional
        A module with an expression, in either order.

    Returns
    -------
    set of Feature
    """
    parts = [_ffi_api.detect_feature(part) for part in (a, b) if part is not None]
    return {Feature(int(number)) for part in parts for number in part}


def list_op_freqs(mod):
    """How often each operator is called in a module; dict of str to int."""
    return {str(name): int(count) for name, count in _ffi_api.ListOpFreqs(mod).items()}


def search_fc_transpose(expr):
    """Names of the parameters w in ``nn.dense(x, transpose(w))``; list of str."""
    return [str(name) for name in _ffi_api.search_fc_transpose(expr)]


def extract_intermdeiate_expr(mod, expr_id):
    """A part of the function ``main`` as a module.

    Parameters
    ----------
    mod : IRModule
        The module.
    expr_id : int
        Number of the call, tuple or field, operands first.

    Returns
    -------
    IRModule
    """
    return _ffi_api.ExtractIntermediateExpr(mod, expr_id)


def extract_fused_functions(mod):
    """The kernels that operators of the function ``main`` of a module become.

    Parameters
    ----------
    mod : IRModule
        The module; operators that are not fused yet are, after `SimplifyInference`.

    Returns
    -------
    dict of GlobalVar to Function
        The names are the functions' hashes.
    """
    from .. import transform

    for step in (transform.InferType(), transform.SimplifyInference(), transform.FuseOps(3)):
        mod = step(mod)
    found = _ffi_api.FusedFunctions(mod)
    return {GlobalVar(str(name)): func for name, func in found.items()}


def list_fake_quantized_op_freqs(mod):
    """How often each operator is called between ``qnn.dequantize`` and ``qnn.quantize``, where
    `FakeQuantizationToInteger` may compute with integers.

    Parameters
    ----------
    mod : IRModule or RelayExpr
        The program.

    Returns
    -------
    dict of str to int
    """
    mod = mod if isinstance(mod, IRModule) else IRModule.from_expr(mod)
    found = _ffi_api.list_fake_quantized_op_freqs(mod)
    return {str(name): int(count) for name, count in found.items()}


def get_calibration_data(mod, data):
    """What goes into the functions for other code generators, and what comes out of them.

    Parameters
    ----------
    mod : IRModule
        The program: ``main`` without control flow calls functions with the attribute ``Compiler``,
        whose arguments are tensors. They are computed like any others here.
    data : dict of str to NDArray
        Inputs of ``main`` by name.

    Returns
    -------
    dict of GlobalVar to dict
        For each function ``{"inputs": [NDArray, ...], "outputs": [NDArray, ...]}``.
    """
    from ...runtime import cpu
    from ..build_module import create_executor
    from ..transform import Inline

    mod, places = _ffi_api.Calibration(mod)
    executor = create_executor("graph", mod=Inline()(mod), device=cpu(0), target="llvm")
    values = list(executor.evaluate()(**data))
    result = {}
    for var, numbers in places.items():
        first, inputs, outputs = (int(x) for x in numbers)
        middle = first + inputs
        result[var] = {
            "inputs": values[first:middle],
            "outputs": values[middle : middle + outputs],
        }
    return result
