"""Products and sums with matrices in compressed rows."""

from ...expr import Expr, Tuple, TupleWrapper, const
from . import _make


def _parts(matrix):
    """Elements, columns and beginnings of rows, as expressions."""
    if hasattr(matrix, "indptr"):  # a matrix of scipy.sparse
        matrix = (matrix.data, matrix.indices, matrix.indptr)
    if isinstance(matrix, Tuple):
        matrix = matrix.fields
    if isinstance(matrix, Expr) or len(matrix) != 3:
        raise TypeError(
            "expected a matrix in compressed rows: elements, columns and row beginnings"
        )
    return [part if isinstance(part, Expr) else const(part) for part in matrix]


def sparse_dense(dense_mat, sparse_mat, sparse_lhs=False):
    """Product of a matrix and the transpose of one in compressed rows.

    Parameters
    ----------
    dense_mat : RelayExpr
        Matrix (m, k).
    sparse_mat : tuple of RelayExpr or numpy.ndarray, or scipy.sparse.csr_matrix or bsr_matrix
        Elements, columns and where rows begin of a matrix (n, k); elements of three dimensions are
        blocks of rows and columns.
    sparse_lhs : bool
        Put the sparse matrix at the left: the result is (n, m).

    Returns
    -------
    Call
    """
    return _make.sparse_dense(dense_mat, *_parts(sparse_mat), sparse_lhs)


def sparse_add(dense_mat, sparse_mat):
    """Sum of a matrix and one in compressed rows; arguments as those of `sparse_dense`.

    Returns
    -------
    Call
    """
    return _make.sparse_add(dense_mat, *_parts(sparse_mat))


def sparse_transpose(x):
    """The transpose of a square matrix in compressed rows.

    Parameters
    ----------
    x : tuple of RelayExpr or numpy.ndarray, or scipy.sparse.csr_matrix
        Elements, columns and where rows begin.

    Returns
    -------
    TupleWrapper
        The same three of the transpose.
    """
    return TupleWrapper(_make.sparse_transpose(*_parts(x)), 3)


__all__ = ["sparse_add", "sparse_dense", "sparse_transpose"]
