"""contrib.sparse: matrices by rows, and programs on their values."""

import numpy as np
import pytest
import tenon
from tenon import te
from tenon.contrib import sparse

DENSE = np.float32([[0, 2, 0, 3], [0, 0, 0, 0], [4, 0, 0, 5]])


def test_a_matrix_and_its_parts():
    a = sparse.array(DENSE)
    assert a.data.numpy().tolist() == [2, 3, 4, 5] and a.stype == "csr" and a.dtype == "float32"
    assert a.indices.numpy().tolist() == [1, 3, 0, 3]
    assert a.indptr.numpy().tolist() == [0, 2, 2, 4] and a.indptr.dtype == "int32"
    np.testing.assert_array_equal(a.numpy(), DENSE)
    again = sparse.array((a.data, a.indices, a.indptr), shape=DENSE.shape)
    np.testing.assert_array_equal(again.numpy(), DENSE)
    np.testing.assert_array_equal(sparse.array(tenon.nd.array(DENSE)).numpy(), DENSE)
    np.testing.assert_array_equal(sparse.array(np.zeros((2, 3), "int8")).numpy(), np.zeros((2, 3)))


def test_a_program_on_the_values():
    rows, columns, n = te.size_var("rows"), te.size_var("columns"), te.size_var("n")
    A = sparse.placeholder((rows, columns), nonzeros=n, name="A")
    B = te.compute(A.data.shape, lambda i: A.data[i] * 2.0, name="B")
    C = te.compute((rows,), lambda i: A.indptr[i + 1] - A.indptr[i], name="C")
    assert [t.op.name for t in (A.data, A.indices, A.indptr)] == ["A_data", "A_indices", "A_indptr"]
    f = tenon.build(te.create_schedule([B.op, C.op]), [A.data, A.indptr, B, C], "stackvm")
    a, twice = sparse.array(DENSE), sparse.array(DENSE)
    counts = tenon.nd.empty((3,), "int32")
    f(a.data, a.indptr, twice.data, counts)
    np.testing.assert_array_equal(twice.numpy(), DENSE * 2)
    assert counts.numpy().tolist() == [2, 0, 2]


def test_what_is_refused():
    for given, shape, message in (
        (np.zeros(3), None, "expected a matrix, got 1"),
        ((1, 2), (3, 4), "expected .values, columns"),
        ((DENSE, DENSE, DENSE), None, "and a shape"),
        ([1], None, "cannot make a matrix of list"),
    ):
        with pytest.raises(RuntimeError, match=message):
            sparse.array(given, shape=shape)
    for call in (
        lambda: sparse.array(DENSE, stype="coo"),
        lambda: sparse.placeholder((2, 3), stype="x"),
    ):
        with pytest.raises(NotImplementedError, match="expected stype csr"):
            call()
