"""Products by BLAS, against numpy."""

import numpy as np
import pytest
import tenon

matmul = tenon.get_global_func("tvm.contrib.cblas.matmul")
batch_matmul = tenon.get_global_func("tvm.contrib.cblas.batch_matmul")

try:
    matmul(*(tenon.nd.array(np.zeros((1, 1), "float32")) for _ in range(3)), False, False)
except RuntimeError as err:
    assert "libopenblas0" in str(err)
    pytest.skip(str(err), allow_module_level=True)


def product(function, a, b, shape, dtype, transa=False, transb=False):
    c = tenon.nd.array(np.full(shape, np.nan, dtype))
    function(tenon.nd.array(a), tenon.nd.array(b), c, transa, transb)
    return c.numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("transa", [False, True])
@pytest.mark.parametrize("transb", [False, True])
def test_matmul(dtype, transa, transb):
    rng = np.random.default_rng(0)
    a, b = rng.random((5, 7)).astype(dtype), rng.random((7, 3)).astype(dtype)
    got = product(matmul, a.T if transa else a, b.T if transb else b, (5, 3), dtype, transa, transb)
    np.testing.assert_allclose(got, a @ b, rtol=1e-5)


def test_batches_and_a_batch_of_one():
    rng = np.random.default_rng(1)
    a, b = rng.random((4, 5, 7)).astype("float32"), rng.random((4, 7, 3)).astype("float32")
    np.testing.assert_allclose(product(batch_matmul, a, b, (4, 5, 3), "float32"), a @ b, rtol=1e-5)
    got = product(batch_matmul, a, b[:1], (4, 5, 3), "float32")
    np.testing.assert_allclose(got, a @ b[:1], rtol=1e-5)


def test_strided_views():
    torch = pytest.importorskip("torch")
    a, b = torch.rand(6, 8), torch.rand(8, 4)
    c = torch.zeros(6, 4)
    matmul(a, b.T.contiguous().T, c, False, False)
    np.testing.assert_allclose(c.numpy(), (a @ b).numpy(), rtol=1e-5)


def test_rows_that_run_backwards_or_overlap():
    """BLAS cannot take them: an error, and not the product of other numbers."""
    a = np.arange(12, dtype="float32").reshape(3, 4)
    b = np.arange(8, dtype="float32").reshape(4, 2)
    c = np.zeros((3, 2), "float32")
    overlapping = np.lib.stride_tricks.as_strided(a, (3, 4), (4, 4))
    for wrong in (a[::-1], np.broadcast_to(a[0], (3, 4)), overlapping):
        with pytest.raises(ValueError, match="no rows that overlap or run backwards"):
            matmul(wrong, b, c, False, False)
    with pytest.raises(ValueError, match="no rows that overlap or run backwards"):
        matmul(a, b, c[::-1], False, False)
    with pytest.raises(ValueError, match="expected contiguous rows or columns"):
        matmul(a[:, ::-1], b, c, False, False)
    matmul(a[:1][::-1], b, c[:1], False, False)  # one row: its stride means nothing
    np.testing.assert_array_equal(c[:1], a[:1] @ b)


def test_mistakes():
    a = tenon.nd.array(np.zeros((2, 3), "float32"))
    with pytest.raises(ValueError, match=r"\(2, 3\) times \(2, 3\) into \(2, 3\)"):
        matmul(a, a, a, False, False)
    with pytest.raises(TypeError, match="expected float32 or float64, got int32"):
        matmul(*[tenon.nd.array(np.zeros((2, 2), "int32"))] * 3, False, False)
    with pytest.raises(ValueError, match="argument 0: expected 3 dimensions, got 2"):
        batch_matmul(a, a, a, False, False)


def test_as_an_operation():
    from tenon import te
    from tenon.contrib import cblas

    x, y = te.placeholder((4, 5), name="x"), te.placeholder((6, 5), name="y")
    z = cblas.matmul(x, y, transb=True)
    assert [int(d) for d in z.shape] == [4, 6]
    text = te.create_prim_func([x, y, z]).script()
    assert 'T.call_packed("tvm.contrib.cblas.matmul"' in text
