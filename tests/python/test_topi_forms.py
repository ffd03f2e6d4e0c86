"""Functions of tenon.topi whose arguments have another form than those of the operators."""

import numpy as np
import pytest
import tenon
from tenon import relay, te, topi
from tenon.contrib import sparse
from tenon.topi.utils import nchw_pack_layout, nchw_xc_layout


def run(make, *arrays, target="llvm"):
    inputs = [te.placeholder(a.shape, str(a.dtype), f"p{i}") for i, a in enumerate(arrays)]
    made = make(*inputs)
    outputs = list(made) if isinstance(made, list | tuple) else [made]
    func = tenon.build(te.create_prim_func([*inputs, *outputs]), target=target)
    empty = [tenon.nd.empty([int(x) for x in o.shape], o.dtype) for o in outputs]
    func(*map(tenon.nd.array, arrays), *empty)
    values = [e.numpy() for e in empty]
    return values if isinstance(made, list | tuple) else values[0]


@pytest.mark.parametrize("target", ["llvm", "stackvm"])
def test_argwhere(target):
    x = np.array([[0, 2, 0], [1, 0, 3]], "int32")
    wanted = np.argwhere(x)
    for rows in (0, 2, 3, 5):
        shape = te.placeholder((rows, 2), "int32", "shape")
        got = run(lambda c, s=shape: topi.argwhere(s, c), x, target=target)
        assert got.dtype == "int32"
        # rows that are too few take the first elements, rows beyond them hold 0
        np.testing.assert_array_equal(got[:3], wanted[:rows])
        assert not got[3:].any()
    x = np.zeros((2, 0, 3), "bool")
    shape = te.placeholder((2, 3), "int32", "shape")
    assert not run(lambda c: topi.argwhere(shape, c), x, target=target).any()
    with pytest.raises(ValueError, match="output_shape has 3 columns, the condition 2 axes"):
        topi.argwhere(shape, te.placeholder((4, 5), "int32"))


def test_argsort():
    x = np.array([[3, 1, 2], [0, 5, -1]], "float32")
    got = run(lambda a: topi.argsort(a, axis=1), x)
    assert got.dtype == "float32"
    np.testing.assert_array_equal(got, np.argsort(x, 1))
    got = run(lambda a: topi.argsort(a, axis=0, is_ascend=False, dtype="int64"), x)
    assert got.dtype == "int64"
    np.testing.assert_array_equal(got, np.argsort(-x, 0))
    with pytest.raises(NotImplementedError, match="valid_count is not supported"):
        topi.argsort(te.placeholder((3,)), valid_count=te.placeholder((1,), "int32"))


def test_names_of_layouts():
    assert nchw_pack_layout("NCHW1n16c") and not nchw_pack_layout("NCHW16c")
    assert nchw_xc_layout("NCHW16c") and not nchw_xc_layout("NCHW")
    assert not nchw_xc_layout("NHWC16c") and not nchw_pack_layout("NHWC")


def test_boxes():
    rng = np.random.default_rng(3)
    data, rois = rng.random((1, 2, 6, 6)).astype("float32"), np.float32([[0, 1, 0, 4, 5]])
    got = run(lambda x, r: topi.vision.roi_pool_nchw(x, r, 2, 1.0), data, rois)
    want = topi.testing.roi_pool_nchw_python(data, rois, 2, 1.0)
    np.testing.assert_allclose(got, want)
    for mode, name in ((0, b"avg"), (1, b"max"), (b"max", b"max")):
        got = run(
            lambda x, r, m=mode: topi.vision.rcnn.roi_align_nchw(x, r, 2, 1.0, m, 2), data, rois
        )
        want = topi.testing.roi_align_nchw_python(data, rois, (2, 2), 1.0, 2, name)
        np.testing.assert_allclose(got, want, rtol=1e-5)
    got = run(lambda x: topi.vision.reorg(x, 1), data)
    np.testing.assert_array_equal(got, data)
    got = run(lambda x: topi.vision.ssd.multibox_prior(x, (0.5,), (1, 4), clip=True), data)
    assert got.shape == (1, 72, 4) and got.min() == 0 and got.max() == 1
    scores = np.float32([[[0.1, 0.2, 0.9], [0.9, 0.8, 0.1]]])  # of background and one class
    moves, anchors = np.zeros((1, 12), "float32"), np.float32([[[0, 0, 0.5, 0.5]] * 3])
    got = run(topi.vision.ssd.multibox_detection, scores, moves, anchors)
    np.testing.assert_allclose(got[0, 0], [0, 0.9, 0, 0, 0.5, 0.5], atol=1e-6)
    assert (got[0, 1:, 0] == -1).all()


def recurrent(x, wi, wh, bi, bh, h, c, proj, pi, pf, po, reverse, layout):
    def gate(values):
        return 1 / (1 + np.exp(-values))

    hs, cs = [], []
    for step in x[::-1] if reverse else x:
        total = step @ wi.T + h @ wh.T + bi + bh
        i, f, g, o = (np.split(total, 4, 1)[layout.index(k)] for k in "IFGO")
        c = gate(f + pf * c) * c + gate(i + pi * c) * np.tanh(g)
        h = gate(o + po * c) * np.tanh(c)
        h = h if proj is None else h @ proj.T
        hs.append(h)
        cs.append(c)
    return np.stack(hs), np.stack(cs)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("projected", [0, 2])
def test_lstm(reverse, projected):
    length, batch, size, hidden, layout = 4, 2, 3, 5, "OIGF"
    out = projected or hidden
    shapes = [(length, batch, size), (4 * hidden, size), (4 * hidden, out), (4 * hidden,)]
    shapes += [(4 * hidden,), (batch, out), (batch, hidden), (projected, hidden)]
    shapes += [(batch, hidden)] * 3
    rng = np.random.default_rng(7)
    arrays = [rng.normal(0, 0.5, s).astype("float32") for s in shapes]
    arrays[7] = arrays[7] if projected else None
    given = [a for a in arrays if a is not None]

    def compute(*tensors):
        left = iter(tensors)
        placed = [None if a is None else next(left) for a in arrays]
        return topi.nn.lstm(*placed, reverse=reverse, weight_layout=layout)

    inputs = [te.placeholder(a.shape, "float32", f"p{i}") for i, a in enumerate(given)]
    outputs = list(compute(*inputs))
    for schedule in (topi.generic.schedule_lstm, lambda o: te.create_schedule([t.op for t in o])):
        func = tenon.build(schedule(outputs), [*inputs, *outputs], "llvm")
        empty = [tenon.nd.empty([int(n) for n in t.shape], "float32") for t in outputs]
        func(*map(tenon.nd.array, given), *empty)
        for got, want in zip(empty, recurrent(*arrays, reverse, layout), strict=True):
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-5)


def test_lstm_says_what_does_not_fit():
    x, w = te.placeholder((4, 2, 3)), te.placeholder((20, 3))
    with pytest.raises(ValueError, match="expected the letters I, F, G and O, got 'IFGG'"):
        topi.nn.lstm(x, w, te.placeholder((20, 5)), weight_layout="IFGG")
    with pytest.raises(ValueError, match="p_i and p_f: expected both or none"):
        topi.nn.lstm(x, w, te.placeholder((20, 5)), p_i=te.placeholder((2, 5)))


def test_expressions_of_two_numbers():
    a, b = te.var("a"), te.var("b")
    p, q = te.var("p", "bool"), te.var("q", "bool")
    assert str(topi.bitwise_and(a, 3)) == "T.bitwise_and(a, 3)"
    assert str(topi.left_shift(1, a)) == "T.shift_left(1, a)"
    assert str(topi.less_equal(a, b)) == "a <= b"
    assert str(topi.logical_or(p, q)) == "p or q" and str(topi.logical_xor(p, q)) == "p != q"
    with pytest.raises(tenon.TVMError, match="And: expected operands of type bool, got int32"):
        topi.logical_and(a, b)


def test_numbers_that_a_type_cannot_hold():
    x = te.placeholder((3,), "int32")
    with pytest.raises(TypeError, match=r"topi: 0\.5 is not int32: cast the tensor"):
        topi.add(x, 0.5)
    with pytest.raises(TypeError, match="f is not int32"):
        topi.add(x, te.var("f", "float32"))
    np.testing.assert_array_equal(run(lambda x: topi.add(x, 2.0), np.arange(3)), [2, 3, 4])


@pytest.mark.parametrize("ends", [(0.5, -0.5), (2, True)])
def test_one_hot_of_any_numbers(ends):
    k = np.array([[0, 2], [1, 3]], "int32")
    got = run(lambda k: topi.one_hot(k, *ends, 3, -1, "float32"), k)
    np.testing.assert_array_equal(got, np.where(k[..., None] == np.arange(3), *ends))


def test_matrix_products_of_many_axes():
    rng = np.random.default_rng(3)
    for left, right in (((2, 3, 4), (2, 4, 5)), ((1, 3, 4), (2, 4, 5)), ((3, 4), (2, 6, 4, 5))):
        a, b = (rng.normal(size=s).astype("float32") for s in (left, right))
        bias = rng.normal(size=5).astype("float32")
        np.testing.assert_allclose(
            run(lambda a, b, c: topi.nn.matmul(a, b, c), a, b, bias), a @ b + bias, rtol=1e-5
        )
        turned = [np.ascontiguousarray(x.swapaxes(-1, -2)) for x in (a, b)]
        np.testing.assert_allclose(
            run(lambda a, b: topi.nn.matmul(a, b, None, None, True, True), *turned),
            a @ b,
            rtol=1e-4,
            atol=1e-6,
        )
    a = te.placeholder((2, 3, 4))
    with pytest.raises(ValueError, match="tensor_a has 4 elements to sum over, tensor_b 5"):
        topi.nn.matmul(a, te.placeholder((5, 6)))
    with pytest.raises(ValueError, match="expected at least 2 axes"):
        topi.nn.matmul(a, te.placeholder((4,)))
    with pytest.raises(tenon.TVMError, match=r"(?s)add.*"):
        topi.nn.matmul(a, te.placeholder((3, 4, 5)))


def test_bounds_that_are_none_or_tensors():
    x = np.arange(24, dtype="float32").reshape(4, 6)
    slices = lambda *given: lambda a: topi.strided_slice(a, *given)  # noqa: E731
    np.testing.assert_array_equal(run(slices([1, None], [None, 4]), x), x[1:, :4])
    np.testing.assert_array_equal(run(slices([None, None], [None, 1], [-1, -2]), x), x[::-1, :1:-2])
    np.testing.assert_array_equal(run(slices([1], [None], None, [1], "size"), x), x[:, 1:])
    v, bounds = np.ones((2, 6), "float32"), [np.array(b, "int32") for b in ([1, 0], [3, 6])]
    want = x.copy()
    want[1:3] = v
    np.testing.assert_array_equal(run(topi.strided_set, x, v, *bounds), want)
    with pytest.raises(ValueError, match="constant of 40 numbers is too large"):
        topi._calls.apply(lambda a: relay.add(a, relay.const([1.0] * 40)), te.placeholder((40,)))


def test_bounds_of_a_slice_that_are_tensors():
    a = te.placeholder((4, 6), name="a")
    bounds = [te.placeholder((2,), "int64", name) for name in ("begin", "end", "strides")]
    y = topi.strided_slice(a, *bounds)
    f = tenon.build(te.create_prim_func([a, *bounds, y]), target="stackvm")
    x = np.arange(24, dtype="float32").reshape(4, 6)
    for cut in ((slice(1, 4, 2), slice(-1, -9, -2)), (slice(2, 2, 1), slice(0, 9, 1))):
        want = x[cut]
        given = [np.array([getattr(c, part) for c in cut]) for part in ("start", "stop", "step")]
        got = tenon.nd.empty(want.shape)
        f(*map(tenon.nd.array, (x, *given)), got)
        np.testing.assert_array_equal(got.numpy(), want)
    with pytest.raises(ValueError, match="axes go with bounds that are numbers"):
        topi.strided_slice(a, *bounds, axes=[0, 1])
    with pytest.raises(TypeError, match="not iterable"):
        list(a)
    with pytest.raises(TypeError, match="not iterable"):
        list(a[0])


def test_collapse_sum_to_extents_known_at_run_time():
    n = te.var("n")
    a = te.placeholder((3, n, 4), name="a")
    b = topi.collapse_sum(a, (n, 1))
    func = tenon.build(te.create_schedule(b.op), [a, b], "llvm")
    x, y = np.random.rand(3, 5, 4).astype("float32"), tenon.nd.empty((5, 1))
    func(tenon.nd.array(x), y)
    np.testing.assert_allclose(y.numpy(), x.sum((0, 2))[:, None], rtol=1e-5)


def test_the_sum_of_one_tensor_is_a_copy():
    x = np.arange(3, dtype="float32")
    np.testing.assert_array_equal(run(lambda x: topi.elemwise_sum([x]), x), x)


@pytest.mark.parametrize("dtype", ["float64", "int16"])
def test_products_with_sparse_matrices(dtype):
    dense = np.array([[0, 2, 0], [1, 0, 3]], dtype)
    x, bias = np.arange(6).reshape(2, 3).astype(dtype), np.array([5, 7], dtype)
    matrix = sparse.array(dense)
    parts = [p.numpy() for p in (matrix.data, matrix.indices, matrix.indptr)]

    def values(make, *more):
        a = sparse.placeholder((2, 3), te.var("n"), dtype)
        inputs = [te.placeholder(m.shape, dtype) for m in more]
        made = make(a, *inputs)
        func = tenon.build(
            te.create_schedule(made.op), [a.data, a.indices, a.indptr, *inputs, made], "llvm"
        )
        out = tenon.nd.empty([int(n) for n in made.shape], dtype)
        func(*map(tenon.nd.array, (*parts, *more)), out)
        return out.numpy()

    column = np.array([[1], [2], [3]], dtype)
    same = np.testing.assert_array_equal
    turned = np.ascontiguousarray(x.T)
    same(values(topi.sparse.csrmm, turned), dense @ x.T)
    same(values(topi.sparse.csrmv, column, bias), dense @ column + bias[:, None])
    same(values(topi.sparse.dense, x, bias), dense @ x.T + bias)
    same(values(lambda w, x, b: topi.sparse.dense(x, w, b), x, bias), x @ dense.T + bias)


def test_products_say_what_is_sparse():
    x, a = te.placeholder((2, 3)), sparse.placeholder((2, 3))
    with pytest.raises(TypeError, match="csrmm: a: expected SparsePlaceholderOp, got Tensor"):
        topi.sparse.csrmm(x, x)
    with pytest.raises(TypeError, match="dense: weight: expected SparsePlaceholderOp, got Tensor"):
        topi.sparse.dense(x, x)
    with pytest.raises(TypeError, match="weight, beside data that is sparse: expected Tensor"):
        topi.sparse.dense(a, a)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "disable"])
@pytest.mark.parametrize("channels", [1, 3])
def test_quantization_of_a_type_known_at_run_time(kind, channels):
    x = np.random.default_rng(1).normal(0, 40, (2, 3, 4)).astype("float32")
    scale = np.array([0.5, 0.1, 2.0], "float32")[:channels]
    zero = np.array([3, -4, 5], "int32")[:channels]
    code = np.array(topi.nn.SQNN_DTYPE_TO_CODE[kind], "int32")
    whole = run(lambda *a: topi.nn.simulated_quantize(*a, 1), x, code, scale, zero)
    back = run(lambda *a: topi.nn.simulated_dequantize(*a, 1), whole, code, scale, zero)
    if kind == "disable":
        np.testing.assert_array_equal(back, x)
        return
    s, z = scale[:, None], zero[:, None]
    info = np.iinfo(kind)
    np.testing.assert_array_equal(whole, np.clip(np.round(x / s) + z, info.min, info.max))
    np.testing.assert_allclose(back, (whole - z) * s, rtol=1e-6)
    with pytest.raises(ValueError, match="data has 1 axes, got axis=1"):
        topi.nn.simulated_quantize(te.placeholder((3,)), te.placeholder(()), None, None, 1)
