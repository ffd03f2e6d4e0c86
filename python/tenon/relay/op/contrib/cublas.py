"""Products of matrices for cuBLAS: the partition. Code for it is not there; `tenon.build` for CUDA
makes its own kernels."""

from ...dataflow_pattern import is_op, wildcard
from ._partition import partition, types_of
from .register import register_pattern_table

_TYPES = {
    ("float32", "float32"),
    ("float16", "float16"),
    ("float16", "float32"),
    ("float64", "float64"),
    ("int8", "int32"),
    ("int8", "float32"),
}


def _takes(call):
    first, second = types_of(call)
    if first != second or (first, call.checked_type.dtype) not in _TYPES:
        return False
    # columns of bytes are read four at a time
    return first != "int8" or all(int(a.checked_type.shape[-1]) % 4 == 0 for a in call.args[:2])


@register_pattern_table("cublas")
def pattern_table():
    """Patterns that cuBLAS computes; list of (name, pattern, check)."""
    names = ("matmul", "batch_matmul", "dense")
    return [(f"cublas.{n}", is_op(f"nn.{n}")(wildcard(), wildcard()), _takes) for n in names]


def partition_for_cublas(mod, params=None):
    """Cut products of matrices out of a program.

    Parameters
    ----------
    mod : IRModule
        The program.
    params : dict of str to NDArray, optional
        Accepted, without effect.

    Returns
    -------
    IRModule
    """
    return partition(mod, "cublas", pattern_table())
