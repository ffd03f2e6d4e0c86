"""Passes over tensor programs.

Every pass of the compiler is here by its name; calling it makes the pass, which is called with a
module. What takes arguments with names has its own function below.
"""

from ..._ffi.registry import _init_api
from . import _ffi_api
from .function_pass import Apply, Filter, PrimFuncPass, prim_func_pass

_init_api("tir.transform", __name__)

# after the functions by name: these replace some of them
from .arguments import (  # noqa: E402
    BindTarget,
    CommonSubexprElimTIR,
    CompactBufferAllocation,
    FP8ComputeLegalize,
    HoistedConditionals,
    HoistedLetBindings,
    HoistIfThenElse,
    InjectCopyIntrin,
    LiftAttrScope,
    NarrowDataType,
    RemoveWeightLayoutRewriteBlock,
    StorageFlatten,
    ThreadSync,
)


def VectorizeLoop(enable_vectorize=True):
    """Make vectorized loops vector operations.

    Parameters
    ----------
    enable_vectorize : bool
        Otherwise they become serial loops.

    Returns
    -------
    Pass
    """
    return _ffi_api.VectorizeLoop(enable_vectorize)
