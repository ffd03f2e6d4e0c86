"""Operators on sparse matrices, diagonals, windows and boxes, against numpy."""

import numpy as np
import pytest
import tenon
from op_cases import check, compute, rand, result_type
from tenon import relay
from tenon.topi import testing


def _compressed(dense, block=None):
    """(elements, columns, beginnings of rows) of a matrix, of blocks if asked."""
    rows, columns = block or (1, 1)
    data, indices, indptr = [], [], [0]
    for i in range(dense.shape[0] // rows):
        for j in range(dense.shape[1] // columns):
            part = dense[i * rows : (i + 1) * rows, j * columns : (j + 1) * columns]
            if part.any():
                data.append(part if block else part.item())
                indices.append(j)
        indptr.append(len(indices))
    return np.array(data, "float32"), np.array(indices, "int32"), np.array(indptr, "int32")


def _sparse(rows, columns, block=None, seed=0):
    r, c = block or (1, 1)
    keep = np.random.default_rng(seed).random((rows // r, columns // c)) < 0.4
    return rand(rows, columns, seed=seed) * np.kron(keep, np.ones((r, c))).astype("float32")


@pytest.mark.parametrize("block", [None, (2, 3)])
@pytest.mark.parametrize("lhs", [False, True])
def test_product_with_a_sparse_matrix(block, lhs):
    x, w = rand(4, 9), _sparse(6, 9, block, seed=3)
    parts = _compressed(w, block)
    check(
        lambda a, *m: relay.nn.sparse_dense(a, m, lhs),
        lambda a, *m: w @ x.T if lhs else x @ w.T,
        x,
        *parts,
        target="llvm",
    )


def test_sum_and_transpose_of_a_sparse_matrix():
    w = _sparse(7, 7, seed=5)
    parts = _compressed(w)
    x = rand(7, 7, seed=2)
    check(lambda a, *m: relay.nn.sparse_add(a, m), lambda a, *m: x + w, x, *parts)
    check(lambda *m: relay.nn.sparse_transpose(m).tuple_value, lambda *m: _compressed(w.T), *parts)


def _to_dense(shape, indices, values, fill):
    return compute(
        lambda a, b, d: relay.sparse_to_dense(a, shape, b, d),
        indices,
        values,
        np.array(fill, values.dtype),
        target="llvm",
    )


def test_positions_that_are_none_are_left_out():
    """Neither read nor written outside of tensors, whatever positions hold."""
    x = np.ones((2, 3), "float32")
    data, columns = np.array([1, 2, 4], "float32"), np.array([0, 99, -5], "int32")
    for begins in ([0, 3, 3], [-7, 2, 1000], [5, 1, 0]):
        parts = (data, columns, np.array(begins, "int32"))
        got = compute(lambda a, *m: relay.nn.sparse_dense(a, m), x, *parts, target="llvm")
        assert np.isin(got, [0, 1]).all()
    i = np.array([[0, 1], [9, 0], [-1, 0]], "int32")
    got = _to_dense((2, 2), i, np.array([1, 2, 3], "float32"), 0)
    np.testing.assert_array_equal(got, [[0, 1], [0, 0]])
    square = (data, columns, np.array([0, 2, 7, 9], "int32"))
    for part in compute(
        lambda *m: relay.nn.sparse_transpose(m).tuple_value, *square, target="llvm"
    ):
        assert part.shape in ((3,), (4,))


def test_sparse_to_dense():
    def reference(i, v):
        r = np.full((3, 4), -1.0, "float32")
        r[tuple(i.T)] = v
        return r

    i, v = np.array([[0, 1], [2, 3], [1, 0]], "int64"), rand(3)
    np.testing.assert_allclose(_to_dense((3, 4), i, v, -1), reference(i, v))
    line = _to_dense([5], np.array([4, 0], "int32"), rand(2), 0)
    np.testing.assert_allclose(line, [rand(2)[1], 0, 0, 0, rand(2)[0]])
    one = _to_dense([3], np.array(1, "int32"), np.array(7, "float32"), 0)
    np.testing.assert_allclose(one, [0, 7, 0])
    x = relay.sparse_to_dense(relay.const(i), (3, 4), relay.const(v), -1.0)
    assert np.isclose(relay.create_executor("debug").evaluate(x).numpy(), reference(i, v)).all()
    with pytest.raises(tenon.TVMError, match="2 coordinates are needed"):
        result_type(
            lambda a, b, d: relay.sparse_to_dense(a, (3, 4), b, d),
            relay.TensorType((5, 3), "int64"),
            relay.TensorType((5,)),
            relay.TensorType(()),
        )


@pytest.mark.parametrize("new", [[9, 4], [2, 3, 6], [-1], [3, -1]])
def test_sparse_reshape(new):
    i = np.array([[0, 0, 0], [0, 1, 2], [1, 2, 5]], "int64")
    prev = np.array([2, 3, 6], "int64")

    def reference(i, p, n):
        shape = np.empty(36).reshape(new).shape
        flat = np.ravel_multi_index(tuple(i.T), (2, 3, 6))
        return np.stack(np.unravel_index(flat, shape), -1), np.array(shape)

    check(
        lambda *args: relay.sparse_reshape(*args).tuple_value,
        reference,
        i,
        prev,
        np.array(new, "int64"),
    )


def open_reshape(dtype):
    i = relay.var("i", shape=(relay.Any(), relay.Any()), dtype=dtype)
    prev, new = (relay.var(n, shape=(relay.Any(),), dtype=dtype) for n in "pn")
    body = relay.sparse_reshape(i, prev, new).astuple()
    mod = tenon.IRModule.from_expr(relay.Function([i, prev, new], body))
    return relay.create_executor("vm", mod=mod, device=tenon.cpu(), target="llvm").evaluate()


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_sparse_reshape_of_shapes_known_at_run_time(dtype):
    f = open_reshape(dtype)
    rng = np.random.default_rng(2)
    for prev, new in (
        ((2, 3, 6), (9, -1)), ((9, 4), (2, -1, 6)), ((36,), (6, 6)), ((6, 6), (-1,)),
        ((4,), (4,)), ((1,), (1, 1, 1)), ((3, 0), (0, 5)), ((2, 3), (2, -1)),
    ):  # fmt: skip
        n = int(np.prod(prev))
        flat = np.sort(rng.permutation(n)[:5])
        i = np.stack(np.unravel_index(flat, prev), -1).astype(dtype).reshape(-1, len(prev))
        shape = np.empty(n).reshape(new).shape
        wanted = np.stack(np.unravel_index(flat, shape), -1).reshape(-1, len(shape))
        got, extents = f(i, np.array(prev, dtype), np.array(new, dtype))
        np.testing.assert_array_equal(got.numpy(), wanted)
        assert extents.numpy().tolist() == list(shape)
    # coordinates outside, or of another shape: no memory of others is read
    i = np.array([[-1, 100], [2**31 - 1, -(2**31)]], dtype)
    shape = np.array([5, 4], dtype)
    np.testing.assert_array_equal(f(i, shape, shape)[0].numpy(), i)
    f(i, shape, np.array([0, -1], dtype))
    f(i, shape, np.array([-1, -1], dtype))
    with pytest.raises(tenon.TVMError):
        f(i, np.array([5, 4, 1], dtype), shape)


def test_sparse_reshape_takes_integers():
    types = [relay.TensorType((3, 2), "float32")] + [relay.TensorType((2,), "int32")] * 2
    with pytest.raises(tenon.TVMError, match="coordinates and shapes must be integers"):
        result_type(lambda *a: relay.sparse_reshape(*a).tuple_value, *types)


def test_parts_of_a_sparse_reshape():
    """The result is unpacked, and is a tuple for calls that take one."""
    i = relay.var("i", shape=(3, 2), dtype="int64")
    prev = relay.const(np.array([2, 6], "int64"))
    result = relay.sparse_reshape(i, prev, relay.const(np.array([3, 2, 2], "int64")))
    assert result.astuple().same_as(result.tuple_value)
    coordinates, shape = result
    types = [relay.transform.InferTypeLocal(x) for x in (coordinates, shape)]
    assert types == [relay.TensorType((3, 3), "int64"), relay.TensorType((3,), "int64")]


def test_the_default_of_elements_has_their_type():
    i, v = np.array([1, 3], "int64"), np.array([5, 6], "int64")
    check(
        lambda a, b, d: relay.sparse_to_dense(a, (5,), b, d),
        lambda a, b, d: np.array([2, 5, 2, 6, 2], "int64"),
        i,
        v,
        np.array(2, "int32"),
    )


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_offsets_of_a_deformable_convolution_follow(layout):
    """From the extents of the result, whose height and width they have."""
    shape = (1, 4, 9, 8) if layout == "NCHW" else (1, 9, 8, 4)
    data, offset, weight = relay.var("data", shape=shape), relay.var("o"), relay.var("w")
    y = relay.nn.deformable_conv2d(
        data,
        offset,
        weight,
        kernel_size=(3, 2),
        channels=6,
        padding=(1, 1),
        strides=(2, 1),
        deformable_groups=2,
        data_layout=layout,
        kernel_layout="OIHW" if layout == "NCHW" else "HWIO",
    )
    mod = relay.transform.InferType()(tenon.IRModule.from_expr(y))
    types = {p.name_hint: p.checked_type for p in mod["main"].params}
    wanted = (1, 24, 5, 9) if layout == "NCHW" else (1, 5, 9, 24)
    assert types["o"] == relay.TensorType(wanted, "float32")


@pytest.mark.parametrize("k", [0, 2, -1, (-1, 1), (0, 2), (-2, -1)])
@pytest.mark.parametrize("align", ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"])
def test_matrix_set_diag(k, align):
    x = rand(2, 4, 5)
    low, high = (k, k) if isinstance(k, int) else k
    length = min(4 + min(high, 0), 5 - max(low, 0))
    d = rand(2, length, seed=1) if low == high else rand(2, high - low + 1, length, seed=1)
    check(
        lambda a, b: relay.matrix_set_diag(a, b, k, align),
        lambda a, b: testing.matrix_set_diag(a, b, k, align),
        x,
        d,
    )


def test_matrix_set_diag_says_what_does_not_fit():
    x, d = relay.TensorType((4, 5)), relay.TensorType((3,))
    with pytest.raises(tenon.TVMError, match="expected rows of 4"):
        result_type(relay.matrix_set_diag, x, d)
    far = 2**63 - 1
    for k in ((-far - 1, 0), (0, far), (-far - 1, far)):
        with pytest.raises(tenon.TVMError, match="is too far"):
            diagonal = relay.TensorType((1, 1))
            result_type(lambda a, b, k=k: relay.matrix_set_diag(a, b, k), x, diagonal)
    with pytest.raises(ValueError, match="expected LEFT or RIGHT twice"):
        relay.matrix_set_diag(relay.var("x", x), relay.var("d", d), 0, "UP")


@pytest.mark.parametrize("kind", ["vm", "debug"])
@pytest.mark.parametrize("k", [0, 2, -1, (-1, 1)])
def test_matrix_set_diag_of_dynamic_matrices(kind, k):
    """What does not fit is told: rows that are too short were read beyond their end."""
    low, high = (k, k) if isinstance(k, int) else k
    rank = 1 if low == high else 2
    a = relay.var("a", shape=(relay.Any(), relay.Any()))
    b = relay.var("b", shape=(relay.Any(),) * rank)
    mod = tenon.IRModule.from_expr(relay.Function([a, b], relay.matrix_set_diag(a, b, k)))
    f = relay.create_executor(kind, mod, tenon.cpu(), "llvm").evaluate()
    x, length = rand(4, 5), min(4 + min(high, 0), 5 - max(low, 0))

    def rows(n):
        return rand(n, seed=1) if rank == 1 else rand(high - low + 1, n, seed=1)

    want = testing.matrix_set_diag(x, rows(length), k)
    np.testing.assert_allclose(f(x, rows(length)).numpy(), want)
    for n in (length - 1, length + 1):
        with pytest.raises(tenon.TVMError):
            f(x, rows(n))
    if high > 0:
        with pytest.raises(tenon.TVMError):
            f(rand(4, high), rows(1))


def test_sliding_window():
    x = rand(2, 3, 9, 7)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 5, 2), (1, 2, 3))
    check(
        lambda a: relay.sliding_window(a, 1, [3, 5, 2], [1, 2, 3]),
        lambda a: windows[:, :, ::2, ::3],
        x,
    )
    check(
        lambda a: relay.sliding_window(a, -1, [4], [3]),
        lambda a: np.lib.stride_tricks.sliding_window_view(a, 4, -1)[..., ::3, :],
        x,
    )
    with pytest.raises(tenon.TVMError, match="larger than data"):
        result_type(lambda a: relay.sliding_window(a, 1, [8], [1]), relay.TensorType((2, 7)))


def test_reinterpret():
    x = rand(3, 4)
    check(lambda a: relay.reinterpret(a, "int32"), lambda a: a.view("int32"), x)
    check(lambda a: relay.reinterpret(a, "uint8"), lambda a: a.view("uint8"), x > 0)
    with pytest.raises(tenon.TVMError, match="as many bits"):
        result_type(lambda a: relay.reinterpret(a, "int64"), relay.TensorType((2,)))


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("method", ["bilinear", "nearest_neighbor"])
@pytest.mark.parametrize("size", [(4, 3), (1, 6)])
def test_crop_and_resize(layout, method, size):
    x = rand(2, 3, 8, 7) if layout == "NCHW" else rand(2, 8, 7, 3)
    boxes = np.array([[0, 0, 1, 1], [0.2, 0.6, 0.91, 0.1], [-0.3, 0.2, 0.52, 1.4]], "float32")
    which = np.array([1, 0, 1], "int32")
    check(
        lambda a, b, i: relay.image.crop_and_resize(a, b, i, size, layout, method, 0.5),
        lambda a, b, i: testing.crop_and_resize_python(a, b, i, size, layout, method, 0.5),
        x,
        boxes,
        which,
        atol=1e-5,
    )


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_dilation2d(layout):
    x, w = rand(2, 3, 8, 7), rand(3, 3, 2, seed=1)

    def reference(a, b):
        first = layout == "NCHW"
        a = a if first else a.transpose(0, 3, 1, 2)
        b = b if first else b.transpose(2, 0, 1)
        wide = np.pad(a, [(0, 0), (0, 0), (1, 2), (0, 1)], constant_values=np.finfo("f4").min)
        view = np.lib.stride_tricks.sliding_window_view(wide, (5, 2), (2, 3))[:, :, ::2, :, ::2, :]
        out = (view + b[:, None, None]).max((4, 5))
        return out if first else out.transpose(0, 2, 3, 1)

    if layout == "NHWC":
        x, w = x.transpose(0, 2, 3, 1).copy(), w.transpose(1, 2, 0).copy()
    check(
        lambda a, b: relay.image.dilation2d(
            a, b, (2, 1), (1, 0, 2, 1), (2, 1), layout, "IHW" if layout == "NCHW" else "HWI"
        ),
        reference,
        x,
        w,
    )


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("groups", [(1, 1), (2, 2), (4, 2)])
def test_deformable_convolution(layout, groups):
    moving, parts = groups
    x, w = rand(2, 4, 7, 8), rand(6, 4 // parts, 3, 2, seed=1)
    offset = rand(2, moving * 12, 4, 4, seed=2)
    args = ((2, 2), (1, 1), (1, 2), moving, parts)
    reference = testing.deformable_conv2d_nchw_python
    kernel = "OIHW"
    if layout == "NHWC":
        x, offset = (a.transpose(0, 2, 3, 1).copy() for a in (x, offset))
        w, kernel = w.transpose(2, 3, 1, 0).copy(), "HWIO"
        reference = testing.deformable_conv2d_nhwc_python
    check(
        lambda a, b, c: relay.nn.deformable_conv2d(
            a, b, c, *args, data_layout=layout, kernel_layout=kernel
        ),
        lambda a, b, c: reference(a, b, c, *args),
        x,
        offset,
        w,
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize("count", [None, 6])
@pytest.mark.parametrize("kind", ["vm", "debug"])
def test_segment_sum(count, kind):
    x, ids = rand(5, 3), np.array([0, 2, 2, 4, 0], "int32")
    want = np.zeros((count or 5, 3), "float32")
    np.add.at(want, ids, x)
    a, b = relay.var("x", shape=(5, 3)), relay.var("i", shape=(5,), dtype="int32")
    mod = tenon.IRModule.from_expr(relay.Function([a, b], relay.segment_sum(a, b, count)))
    got = relay.create_executor(kind, mod, tenon.cpu(), "llvm").evaluate()(x, ids)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)


def test_open_extents():
    n = relay.Any()
    kind = result_type(
        lambda a, *m: relay.nn.sparse_dense(a, m),
        relay.TensorType((n, 8)),
        relay.TensorType((n,)),
        relay.TensorType((n,), "int32"),
        relay.TensorType((5,), "int32"),
    )
    assert isinstance(kind.shape[0], relay.Any) or isinstance(kind.shape[0], tenon.tir.Any)
    assert kind.shape[1] == 4
    x = relay.var("x", shape=(relay.Any(), 3))
    body = relay.sliding_window(x, 0, [2, 2], [1, 1])
    mod = tenon.IRModule.from_expr(relay.Function([x], body))
    run = relay.create_executor("vm", mod, tenon.cpu(), "llvm").evaluate()
    data = rand(6, 3)
    want = np.lib.stride_tricks.sliding_window_view(data, (2, 2))
    np.testing.assert_array_equal(run(data).numpy(), want)
    with pytest.raises(tenon.TVMError):
        run(rand(1, 3))


def test_random_matrices_of_blocks():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    from tenon.topi.sparse.utils import random_bsr_matrix

    matrix = random_bsr_matrix(64, 32, 4, 2, 0.1, "float32")
    assert isinstance(matrix, scipy_sparse.bsr_matrix) and matrix.blocksize == (4, 2)
    assert matrix.shape == (64, 32) and matrix.dtype == "float32"
    assert matrix.data.shape == (int(0.1 * 64 * 32) // 8 + 1, 4, 2)
    assert matrix.has_canonical_format and np.all(matrix.data != 0)
    assert np.count_nonzero(matrix.toarray()) == matrix.data.size
    with pytest.raises(ValueError, match="do not fill"):
        random_bsr_matrix(63, 32, 4, 2, 0.1, "float32")
    with pytest.raises(ValueError, match="asks for 257 of 256 blocks"):
        random_bsr_matrix(64, 32, 4, 2, 1.0, "float32")


def _filled(indices, values, shape, default):
    """Elements, those for empty rows in between, and which rows are empty."""
    empty = [r not in indices[:, 0] for r in range(shape[0])]
    more = [[r] + [0] * (len(shape) - 1) for r, e in enumerate(empty) if e]
    places = np.array([*indices.tolist(), *more], indices.dtype).reshape(-1, len(shape))
    numbers = np.array([*values, *[default] * len(more)], values.dtype)
    order = np.argsort(places[:, 0], kind="stable")
    return places[order], numbers[order], np.array(empty, "bool")


def _run_fill(indices, values, shape, default, known):
    arrays = indices, values, np.array(shape, indices.dtype), np.array([default], values.dtype)
    params = [
        relay.var(f"x{i}", shape=a.shape if known else [relay.Any()] * a.ndim, dtype=str(a.dtype))
        for i, a in enumerate(arrays)
    ]
    func = relay.Function(params, relay.sparse_fill_empty_rows(*params))
    run = relay.create_executor("vm", mod=tenon.IRModule.from_expr(func)).evaluate()
    return [x.numpy() for x in run(*arrays)]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    "indices, shape",
    [
        ([[0, 1], [0, 3], [2, 0], [3, 1]], [5, 6]),
        ([[1, 1, 1], [1, 3, 1], [2, 0, 5], [3, 1, 6]], [7, 7, 7]),
        ([[0], [1], [2]], [3]),
        (np.ones((0, 2)), [4, 3]),
        (np.ones((0, 1)), [0]),
    ],
)
def test_rows_without_elements_get_one(indices, shape, dtype, known):
    i = np.array(indices, dtype)
    v = rand(len(i))
    for got, wanted in zip(
        _run_fill(i, v, shape, 7.5, known), _filled(i, v, shape, 7.5), strict=True
    ):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


def test_elements_outside_or_out_of_order_do_no_harm():
    """They take the room there is; what is written stays inside of the results."""
    big = np.iinfo("int64").max
    i = np.array([[3, 0], [0, 1], [big, 2], [-5, 1], [2, 2]], "int64")
    places, numbers, empty = _run_fill(i, rand(5), [4, 3], 9.0, True)
    assert len(places) == len(numbers) and empty.tolist() == [False, True, False, False]


def test_filling_says_what_does_not_fit():
    indices, shape = relay.TensorType((4, 2), "int64"), relay.TensorType((2,), "int64")

    def filled(*types):
        params = [relay.var("x", t) for t in types]
        return tenon.IRModule.from_expr(relay.sparse_fill_empty_rows(*params))

    infer = relay.transform.InferType()
    with pytest.raises(tenon.TVMError, match="must be as many as"):
        infer(filled(indices, relay.TensorType((3,)), shape, relay.TensorType((1,))))
    with pytest.raises(tenon.TVMError, match="one element of float32"):
        infer(filled(indices, relay.TensorType((4,)), shape, relay.TensorType((1,), "int64")))
    none = relay.TensorType((4, 0), "int64"), relay.TensorType((0,), "int64")
    with pytest.raises(tenon.TVMError, match="one at least"):
        infer(filled(none[0], relay.TensorType((4,)), none[1], relay.TensorType((1,))))
    with pytest.raises(tenon.TVMError):
        _run_fill(np.zeros((4, 0), "int64"), rand(4), [], 1.0, False)
    with pytest.raises(tenon.TVMError, match="an integer for each dimension"):
        infer(
            filled(
                indices,
                relay.TensorType((4,)),
                relay.TensorType((3,), "int64"),
                relay.TensorType((1,)),
            )
        )
