"""Passes over Relay programs.

Every pass of the compiler is here by its name; calling it makes the pass, which is called with a
module. What takes arguments with names has its own row below.
"""

from ..._ffi.registry import _init_api
from ...ir.module import IRModule
from ...ir.transform import (
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    PrintIR,
    Sequential,
    module_pass,
)
from . import _ffi_api
from ._make import REQUIRED as _REQUIRED
from ._make import maker as _maker
from .context import build_config
from .cps import to_cps, un_cps
from .function_pass import FunctionPass, function_pass
from .infer_layout_utils import InferCorrectLayoutOutput
from .layout_config import LayoutConfig
from .recast import recast

_init_api("relay._transform", __name__)

FuseOps = _maker(
    "FuseOps", "Operators that can be one kernel become one function.", fuse_opt_level=-1
)
FoldConstant = _maker("FoldConstant", "What depends on constants only is computed.", fold_qnn=False)
DeadCodeElimination = _maker(
    "DeadCodeElimination",
    "Values that nothing uses go; those used once take their variable's place.",
    inline_once=False,
    ignore_impurity=False,
)
EtaExpand = _maker(
    "EtaExpand",
    "Constructors and global functions that are used as values become functions that call them.",
    expand_constructor=False,
    expand_global_var=False,
)
EliminateCommonSubexpr = _maker(
    "EliminateCommonSubexpr",
    "Equal calls become one; `fskip` says of which expressions not.",
    fskip=None,
)
CombineParallelConv2D = _maker(
    "CombineParallelConv2D", "Convolutions of one input become one.", min_num_branches=3
)
CombineParallelDense = _maker(
    "CombineParallelDense",
    "Dense layers of one input become one, or a batch_matmul.",
    min_num_branches=3,
    to_batch=True,
)
CombineParallelBatchMatmul = _maker(
    "CombineParallelBatchMatmul", "Products with one operand become one.", min_num_branches=3
)
Legalize = _maker(
    "Legalize",
    "Calls become what the target does better, as an attribute of operators says.",
    legalize_map_attr_name="FTVMLegalize",
)
ToMixedPrecision = _maker(
    "ToMixedPrecision",
    "Operators that gain by it compute in a smaller type.",
    mixed_precision_type="float16",
    missing_op_mode=1,
)
SplitArgs = _maker(
    "SplitArgs",
    "A concatenate of more tensors than kernels may have arguments becomes several.",
    max_function_args=_REQUIRED,
)
OutlineCompilerFunctionsWithExistingGlobalSymbols = _maker(
    "OutlineCompilerFunctionsWithExistingGlobalSymbols",
    "Functions for other code generators become functions of the module, by their global_symbol.",
    compiler_filter="",
)
MarkCompilerFunctionsAsExtern = _maker(
    "MarkCompilerFunctionsAsExtern",
    "Functions that other code generators have compiled are only declared.",
    compiler_filter="",
)
InlineCompilerFunctionsBoundTo = _maker(
    "InlineCompilerFunctionsBoundTo",
    "The functions of these variables become part of those who call them.",
    global_vars=_REQUIRED,
)
PartitionGraph = _maker(
    "PartitionGraph",
    "Annotated regions become functions of the module, for another compiler.",
    mod_name="default",
    bind_constants=True,
)
AnnotateTarget = _maker(
    "AnnotateTarget",
    "Operators that other compilers take are marked as theirs.",
    targets=_REQUIRED,
    include_non_call_ops=True,
)
FakeQuantizationToInteger = _maker(
    "FakeQuantizationToInteger",
    "Float operators between dequantize and quantize become integer ones.",
    hard_fail=False,
    use_qat=False,
    optional_qnn_ops=None,
)


def ChangeBatch(data, batch_size=16):  # noqa: N802  named as the other passes
    """Inputs of functions get another extent along an axis.

    Parameters
    ----------
    data : dict of Var or str to int
        Which parameters, and their axes.
    batch_size : int
        The extent.

    Returns
    -------
    Pass
    """
    return _ffi_api.ChangeBatch(dict(data), batch_size)


def ConvertLayout(desired_layouts):  # noqa: N802  named as the other passes
    """Operators work in other layouts, with as few transformations as possible.

    Parameters
    ----------
    desired_layouts : dict of str to list of str
        For operators by name the layouts of their arguments, "default" where any is good.

    Returns
    -------
    Pass
    """
    return _ffi_api.ConvertLayout({op: list(all) for op, all in desired_layouts.items()})


def FlexibleShapeDispatch(  # noqa: N802  named as the other passes
    buckets, axis=0, auto_pad=False, pad_value=0, input_indices=None, affects_output=True
):
    """An extent of the inputs of ``main`` becomes dynamic; some values get their own functions.

    Parameters
    ----------
    buckets : list of int
        The values. Any other runs on a function whose types leave the extent open.
    axis : int
        The axis of the inputs.
    auto_pad : bool
        Fill inputs up to the next value, rather than run on the open function.
    pad_value : float
        With what.
    input_indices : list of int, optional
        Which inputs; default: all.
    affects_output : bool
        Have results the extent too, along the same axis? Then they are cut to it.

    Returns
    -------
    Pass
        The virtual machine runs what it makes.
    """
    inputs = None if input_indices is None else list(input_indices)
    return _ffi_api.FlexibleShapeDispatch(
        list(buckets), axis, auto_pad, pad_value, inputs, affects_output
    )


def gradient(expr, mod=None, mode="higher_order"):
    """Derivatives of a function by its parameters, in reverse mode.

    Parameters
    ----------
    expr : Function or GlobalVar
        The function. Its parameters and results are tensors or tuples of them; for results that
        are not scalars the derivatives are those of the sum of their elements.
    mod : IRModule, optional
        Where the functions are that it calls. Functions with derivatives are added to it, with
        ``_grad`` behind their names.
    mode : str
        ``"higher_order"``: any program; the result keeps what is left to do in references, so the
        interpreter runs it (``relay.create_executor("debug")``), and has derivatives too.
        ``"first_order"``: operators only, and the result has no references.

    Returns
    -------
    Function
        With the same parameters; it returns ``(result, (derivative, ...))``.

    Raises
    ------
    OpNotImplemented
        An operator has no gradient; `relay.op.register_gradient` gives it one.
    ValueError
        An expression has no derivative, or the mode is not known.
    """
    if mode == "first_order":
        if mod is not None:
            raise RuntimeError("gradient: FirstOrderGradient() is the pass for modules")
        return _ffi_api.FirstOrderGradient()(IRModule.from_expr(expr))["main"]
    if mode != "higher_order":
        raise ValueError(f"gradient: unknown mode {mode!r}: higher_order or first_order")
    return _ffi_api.gradient(expr, mod)


def RemoveUnusedFunctions(entry_functions=None):  # noqa: N802  named as the other passes
    """Functions that no entry function reaches go.

    Parameters
    ----------
    entry_functions : list of str, optional
        Names of the entries; default: ``main``.

    Returns
    -------
    Pass
    """
    return _ffi_api.RemoveUnusedFunctions(list(entry_functions or ["main"]))


def MergeComposite(pattern_table):  # noqa: N802  named as the other passes
    """What patterns match becomes a function with the attribute ``Composite``.

    Parameters
    ----------
    pattern_table : list of tuple
        Name, pattern (`relay.dataflow_pattern`) and, optionally, a function ``(expression) ->
        bool`` that says which matches to take; tried in this order.

    Returns
    -------
    Pass
    """
    names = [row[0] for row in pattern_table]
    checks = [row[2] if len(row) > 2 else None for row in pattern_table]
    return _ffi_api.MergeComposite(names, [row[1] for row in pattern_table], *checks)
