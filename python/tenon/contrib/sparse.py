"""Sparse matrices by rows: an array of the values that are not zero, their columns, and where each
row begins."""

from .. import nd, te
from ..ir import PrimExpr

itype = "int32"  # of columns and beginnings


class CSRNDArray:
    """A sparse matrix.

    Parameters
    ----------
    arg1 : numpy.ndarray, NDArray or tuple
        A matrix, or values, columns and beginnings of rows.
    device : Device, optional
        Where the arrays lie; the processor by default.
    shape : tuple of int, optional
        Extents; needed with a tuple.

    Attributes
    ----------
    data, indices, indptr : NDArray
        Values, columns, beginnings of rows.

    Raises
    ------
    RuntimeError
        It is something else, or extents are missing.
    """

    stype = "csr"

    def __init__(self, arg1, device=None, shape=None):
        import numpy as np

        device = device or nd.cpu(0)
        if isinstance(arg1, tuple):
            if len(arg1) != 3 or shape is None:
                raise RuntimeError("sparse: expected (values, columns, beginnings) and a shape")
            parts = [nd.array(part, device) for part in arg1]
        elif isinstance(arg1, (np.ndarray, nd.NDArray)):
            dense = arg1 if isinstance(arg1, np.ndarray) else arg1.numpy()
            if dense.ndim != 2:
                raise RuntimeError(f"sparse: expected a matrix, got {dense.ndim} dimensions")
            rows, columns = np.nonzero(dense)
            begins = np.searchsorted(rows, np.arange(dense.shape[0] + 1))
            values = (dense[rows, columns], columns.astype(itype), begins.astype(itype))
            parts, shape = [nd.array(part, device) for part in values], dense.shape
        else:
            raise RuntimeError(f"sparse: cannot make a matrix of {type(arg1).__name__}")
        self.data, self.indices, self.indptr = parts
        self.shape = tuple(int(extent) for extent in shape)

    @property
    def dtype(self):
        """Type of the values."""
        return self.data.dtype

    def numpy(self):
        """The whole matrix.

        Returns
        -------
        numpy.ndarray
        """
        import numpy as np

        full = np.zeros(self.shape, self.dtype)
        begins = self.indptr.numpy()
        rows = np.repeat(np.arange(self.shape[0]), np.diff(begins))
        full[rows, self.indices.numpy()] = self.data.numpy()
        return full

    asnumpy = numpy


def array(source_array, device=None, shape=None, stype="csr"):
    """A sparse matrix.

    Parameters
    ----------
    source_array, device, shape
        As in `CSRNDArray`.
    stype : str
        ``csr``.

    Returns
    -------
    CSRNDArray

    Raises
    ------
    NotImplementedError
        Another form is asked for.
    """
    _check(stype)
    return CSRNDArray(source_array, device=device, shape=shape)


def _check(stype):
    if stype != "csr":
        raise NotImplementedError(f"sparse: expected stype csr, got {stype!r}")


class SparsePlaceholderOp:
    """Tensors of a sparse matrix that is given when the program runs.

    Parameters
    ----------
    shape : tuple of int or PrimExpr
        Extents of the matrix.
    nonzeros : int or PrimExpr
        How many values there are; 0: not known.
    dtype : str
        Their type.
    name : str
        Begins the names of the tensors.
    """

    stype = "csr"

    def __init__(self, shape, nonzeros, dtype, name):
        self.shape, self.dtype, self.name = shape, dtype, name
        count = nonzeros if _is_given(nonzeros) else te.size_var(f"{name}_nonzeros")
        self.data = te.placeholder((count,), dtype=dtype, name=f"{name}_data")
        self.indices = te.placeholder((count,), dtype=itype, name=f"{name}_indices")
        self.indptr = te.placeholder((shape[0] + 1,), dtype=itype, name=f"{name}_indptr")


def _is_given(count):
    return isinstance(count, PrimExpr) or count != 0


CSRPlaceholderOp = SparsePlaceholderOp


def placeholder(shape, nonzeros=None, dtype=None, name="placeholder", stype=None):
    """Tensors of a sparse matrix that is given when the program runs.

    Parameters
    ----------
    shape : tuple of int or PrimExpr
        Extents of the matrix.
    nonzeros : int or PrimExpr, optional
        How many values there are.
    dtype : str, optional
        Their type, float32 by default.
    name : str
        Begins the names of the tensors.
    stype : str, optional
        ``csr``.

    Returns
    -------
    SparsePlaceholderOp
    """
    _check(stype or "csr")
    return SparsePlaceholderOp(shape, 0 if nonzeros is None else nonzeros, dtype or "float32", name)
