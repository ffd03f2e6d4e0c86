"""Sparse matrices and models for tests."""

from ..._later import attach as _attach

_attach(
    __name__,
    "models are not made sparse yet; call relay.nn.sparse_dense with sparse weights",
    {
        "": (
            "convert_model_dense_to_sparse random_sparse_conv2d_params "
            "random_sparse_dense_params sparse_sketch_rules"
        )
    },
)


def random_bsr_matrix(m, n, bs_r, bs_c, density, dtype):
    """A matrix of random blocks.

    Parameters
    ----------
    m, n : int
        Rows and columns.
    bs_r, bs_c : int
        Rows and columns of a block.
    density : float
        Share of the elements that lie in blocks which are kept, about.
    dtype : str
        Type of the elements.

    Returns
    -------
    scipy.sparse.bsr_matrix

    Raises
    ------
    ValueError
        Blocks do not fill the matrix, or the density asks for more blocks than there are.
    """
    import numpy as np
    import scipy.sparse

    if m % bs_r or n % bs_c:
        raise ValueError(f"blocks of {bs_r} x {bs_c} do not fill a matrix of {m} x {n}")
    rows, columns = m // bs_r, n // bs_c
    kept = int(density * m * n) // (bs_r * bs_c) + 1
    if kept > rows * columns:
        raise ValueError(f"density {density} asks for {kept} of {rows * columns} blocks")
    chosen = np.sort(np.random.choice(rows * columns, size=kept, replace=False))
    data = np.random.randn(kept, bs_r, bs_c).astype(dtype)
    starts = np.searchsorted(chosen, np.arange(rows + 1) * columns)
    return scipy.sparse.bsr_matrix(
        (data, (chosen % columns).astype("int32"), starts.astype("int32")), shape=(m, n)
    )
