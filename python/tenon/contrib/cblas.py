"""Matrix products by the BLAS library of the system (OpenBLAS; ``TENON_BLAS`` names another)."""

from .. import te, tir


def _call(function, shape, lhs, rhs, transa, transb, kwargs):
    return te.extern(
        shape,
        [lhs, rhs],
        lambda ins, outs: tir.call_packed(function, ins[0], ins[1], outs[0], transa, transb),
        name=kwargs.pop("name", "C"),
        **kwargs,
    )


def matmul(lhs, rhs, transa=False, transb=False, **kwargs):
    """Product of two matrices as an extern operation.

    Parameters
    ----------
    lhs, rhs : Tensor
        Matrices, float32 or float64.
    transa, transb : bool
        Take the transpose.
    kwargs
        Those of `te.extern`.

    Returns
    -------
    Tensor
    """
    m = lhs.shape[1] if transa else lhs.shape[0]
    n = rhs.shape[0] if transb else rhs.shape[1]
    return _call("tvm.contrib.cblas.matmul", (m, n), lhs, rhs, transa, transb, kwargs)


def batch_matmul(lhs, rhs, transa=False, transb=False, iterative=False, **kwargs):
    """Products of the matrices of two batches; a batch of one serves for all.

    Parameters
    ----------
    lhs, rhs : Tensor
        Batches of matrices, float32 or float64.
    transa, transb : bool
        Take the transposes.
    iterative : bool
        Kept for old programs: it is always one product after the other.
    kwargs
        Those of `te.extern`.

    Returns
    -------
    Tensor
    """
    batch = rhs.shape[0] if lhs.shape[0] == 1 else lhs.shape[0]
    m = lhs.shape[2] if transa else lhs.shape[1]
    n = rhs.shape[1] if transb else rhs.shape[2]
    shape = (batch, m, n)
    return _call("tvm.contrib.cblas.batch_matmul", shape, lhs, rhs, transa, transb, kwargs)
