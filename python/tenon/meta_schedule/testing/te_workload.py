"""Computations to test schedules with, as lists of inputs and outputs for `te.create_prim_func`."""

from ... import te
from ..._later import placeholder as _placeholder


def matmul(n, m, k, in_dtype="float32", out_dtype="float32"):
    """The product of an (n, k) and a (k, m) matrix.

    Parameters
    ----------
    n, m, k : int or PrimExpr
        The extents.
    in_dtype, out_dtype : str
        Types of the operands, and of the sums.

    Returns
    -------
    tensors : tuple of te.Tensor
        Left operand, right operand, product.
    """
    a = te.placeholder((n, k), name="A", dtype=in_dtype)
    b = te.placeholder((k, m), name="B", dtype=in_dtype)
    j = te.reduce_axis((0, k), name="k")
    c = te.compute(
        (n, m),
        lambda y, x: te.sum(a[y, j].astype(out_dtype) * b[j, x].astype(out_dtype), axis=[j]),
        name="C",
    )
    return a, b, c


def matmul_relu(n, m, k, in_dtype="float32", out_dtype="float32"):
    """As `matmul`, with negative sums set to 0: (left operand, right operand, result)."""
    from ... import topi

    a, b, c = matmul(n, m, k, in_dtype, out_dtype)
    return a, b, topi.nn.relu(c)


def batch_matmul_nkkm(b, n, m, k, in_dtype="float32", out_dtype="float32"):
    """The products of `b` pairs of an (n, k) and a (k, m) matrix.

    Parameters
    ----------
    b, n, m, k : int or PrimExpr
        The extents.
    in_dtype, out_dtype : str
        Types of the operands, and of the sums.

    Returns
    -------
    tensors : tuple of te.Tensor
        Left operands, right operands, products.
    """
    left = te.placeholder((b, n, k), name="X", dtype=in_dtype)
    right = te.placeholder((b, k, m), name="Y", dtype=in_dtype)
    j = te.reduce_axis((0, k), name="k")
    products = te.compute(
        (b, n, m),
        lambda i, y, x: te.sum(
            left[i, y, j].astype(out_dtype) * right[i, j, x].astype(out_dtype), axis=[j]
        ),
        name="Z",
    )
    return left, right, products


conv2d_winograd_nhwc = _placeholder(
    f"{__name__}.conv2d_winograd_nhwc", "topi.nn.conv2d computes convolutions"
)

_SIZES = {
    "GMM": (
        batch_matmul_nkkm,
        [(1, 128, 128, 128), (1, 512, 32, 512), (1, 512, 512, 512), (1, 1024, 1024, 1024)],
    ),
}


def create_te_workload(name, idx):
    """The tensor program of a named workload.

    Parameters
    ----------
    name : str
        The workload: "GMM" is `batch_matmul_nkkm`.
    idx : int
        Which of its sizes: 0 is the smallest.

    Returns
    -------
    PrimFunc

    Raises
    ------
    NotImplementedError
        Tenon does not have a workload of that name yet.
    """
    if name not in _SIZES:
        raise NotImplementedError(
            f"create_te_workload: {name} is not there yet; there are {', '.join(_SIZES)}"
        )
    make, sizes = _SIZES[name]
    return te.create_prim_func(list(make(*sizes[idx])))
