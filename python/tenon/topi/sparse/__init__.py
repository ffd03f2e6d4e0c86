"""Products with a matrix in compressed rows, a `tenon.contrib.sparse.placeholder`; the operators
themselves are `tenon.topi.nn.sparse_dense` and its neighbours."""

from ... import te
from ...contrib.sparse import SparsePlaceholderOp
from .. import nn
from . import utils


def _parts(matrix):
    return matrix.data, matrix.indices, matrix.indptr


def _expect(name, argument, value, kind):
    if not isinstance(value, kind):
        raise TypeError(f"{name}: {argument}: expected {kind.__name__}, got {type(value).__name__}")


def csrmm(a, b, c=None):
    """A sparse matrix times a dense one, plus `c` of its row.

    Parameters
    ----------
    a : SparsePlaceholderOp
        (rows, k)
    b : Tensor
        (k, columns)
    c : Tensor, optional
        (rows,)

    Returns
    -------
    Tensor
        (rows, columns)
    """
    _expect("csrmm", "a", a, SparsePlaceholderOp)
    transposed = te.compute((b.shape[1], b.shape[0]), lambda j, k: b[k, j], "b_t", "injective")
    product = nn.sparse_dense(transposed, *_parts(a), sparse_lhs=True)
    if c is None:
        return product
    return te.compute(product.shape, lambda i, j: product[i, j] + c[i], "csrmm", "broadcast")


def csrmv(a, x, y=None):
    """A sparse matrix times a column, plus `y` of its row: `csrmm` of one column."""
    return csrmm(a, x, y)


def dense(data, weight, bias=None):
    """`data` times the transpose of `weight`, plus `bias` of the column; one of the two is sparse.

    Parameters
    ----------
    data : Tensor or SparsePlaceholderOp
        (rows, k)
    weight : Tensor or SparsePlaceholderOp
        (columns, k)
    bias : Tensor, optional
        (columns,)

    Returns
    -------
    Tensor
        (rows, columns)
    """
    if isinstance(data, SparsePlaceholderOp):
        _expect("dense", "weight, beside data that is sparse", weight, te.Tensor)
        product = nn.sparse_dense(weight, *_parts(data), sparse_lhs=True)
    else:
        _expect("dense", "weight", weight, SparsePlaceholderOp)
        product = nn.sparse_dense(data, *_parts(weight))
    if bias is None:
        return product
    return te.compute(product.shape, lambda i, j: product[i, j] + bias[j], "dense", "broadcast")


__all__ = ["csrmm", "csrmv", "dense", "utils"]
