"""tenon.topi: computes of operators as functions of te tensors."""

import numpy as np
import pytest
import tenon
from op_cases import rand
from tenon import te, tir, topi

torch = pytest.importorskip("torch")
F = torch.nn.functional


def run(make, *arrays):
    """What ``make(*placeholders)`` computes."""
    inputs = [te.placeholder(a.shape, str(a.dtype), f"p{i}") for i, a in enumerate(arrays)]
    out = make(*inputs)
    outputs = out if isinstance(out, list) else [out]
    func = tenon.build(te.create_prim_func([*inputs, *outputs]), target="stackvm")
    empty = [tenon.nd.empty([int(x) for x in o.shape], o.dtype) for o in outputs]
    func(*map(tenon.nd.array, arrays), *empty)
    values = [e.numpy() for e in empty]
    return values if isinstance(out, list) else values[0]


def same(make, reference, *arrays):
    got, want = run(make, *arrays), reference(*arrays)
    for a, b in zip(got, want, strict=True) if isinstance(got, list) else [(got, want)]:
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def by_torch(function):
    return lambda *arrays: function(*map(torch.from_numpy, arrays)).numpy()


def test_operators():
    x, y = rand(2, 3), rand(3, seed=1)
    same(topi.add, np.add, x, y)
    same(lambda a: topi.multiply(a, 2.0), lambda a: a * 2, x)
    same(topi.exp, np.exp, x)
    same(topi.nn.relu, lambda a: np.maximum(a, 0), x)
    same(lambda a: topi.sum(a, axis=1, keepdims=True), lambda a: a.sum(1, keepdims=True), x)
    same(lambda a: topi.reshape(a, (3, 2)), lambda a: a.reshape(3, 2), x)
    same(lambda a: topi.nn.softmax(a, axis=0), by_torch(lambda a: F.softmax(a, 0)), x)
    same(lambda a: topi.argmax(a, axis=1), lambda a: a.argmax(1), x)
    same(lambda a: topi.nn.leaky_relu(a, 0.1), by_torch(lambda a: F.leaky_relu(a, 0.1)), x)
    assert topi.add.__name__ == "add" and "broadcasting" in topi.add.__doc__


def test_tuples():
    x = rand(2, 3)
    same(lambda a: topi.concatenate([a, a], axis=1), lambda a: np.concatenate([a, a], 1), x)
    vectors = [rand(3, low=0.5, seed=i) for i in range(4)]
    got = run(lambda *a: topi.nn.batch_norm(*a), x, *vectors)
    assert len(got) == 3
    np.testing.assert_allclose(got[1], vectors[2])


def test_expressions():
    n = tir.Var("n", "int32")
    assert tenon.ir.structural_equal(topi.add(n, 1), n + 1)
    a = te.placeholder((n, 4), name="a")
    b = topi.nn.relu(a)
    assert isinstance(b, te.Tensor) and tenon.ir.structural_equal(b.shape[0], n)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        topi.nothing  # noqa: B018


def test_windows():
    x, w = rand(1, 4, 6, 6), rand(8, 4, 3, 3, seed=1)
    for padding, pads in ("SAME", 1), ("VALID", 0), (1, 1), ((1, 1), 1):
        same(
            lambda a, b, p=padding: topi.nn.conv2d_nchw(a, b, 1, p, 1),
            by_torch(lambda a, b, p=pads: F.conv2d(a, b, padding=p)),
            x,
            w,
        )
    same(
        lambda a, b: topi.nn.conv2d_nhwc(a, b, 1, 0, 1),
        by_torch(
            lambda a, b: F.conv2d(a.permute(0, 3, 1, 2), b.permute(3, 2, 0, 1)).permute(0, 2, 3, 1)
        ),
        np.ascontiguousarray(x.transpose(0, 2, 3, 1)),
        np.ascontiguousarray(w.transpose(2, 3, 1, 0)),
    )
    same(
        lambda a: topi.nn.pool2d(a, [2, 2], [2, 2], [1, 1], [0, 0, 0, 0], "max"),
        by_torch(lambda a: F.max_pool2d(a, 2)),
        x,
    )
    same(
        lambda a: topi.nn.pool2d(a, [3, 3], [1, 1], [1, 1], [1, 1, 1, 1], "avg"),
        by_torch(lambda a: F.avg_pool2d(a, 3, 1, 1)),
        x,
    )
    same(lambda a: topi.nn.global_pool(a, "avg"), lambda a: a.mean((2, 3), keepdims=True), x)
    same(
        lambda a: topi.nn.adaptive_pool(a, (2, 3), "avg"),
        by_torch(lambda a: F.adaptive_avg_pool2d(a, (2, 3))),
        x,
    )
    same(
        lambda a: topi.nn.pad(a, (0, 0, 1, 2), (0, 0, 2, 0), pad_value=3.0),
        lambda a: np.pad(a, ((0, 0), (0, 0), (1, 2), (2, 0)), constant_values=3),
        x,
    )


def test_matrices():
    x, w, b = rand(2, 3), rand(4, 3, seed=1), rand(4, seed=2)
    same(topi.nn.dense, lambda x, w: x @ w.T, x, w)
    same(topi.nn.dense, lambda x, w, b: x @ w.T + b, x, w, b)
    same(lambda a, c: topi.matmul(a, c, transp_b=True), lambda x, w: x @ w.T, x, w)
    same(topi.nn.flatten, lambda x: x.reshape(2, -1), rand(2, 3, 4))


def test_resize():
    x = rand(1, 2, 3, 4)
    same(
        lambda a: topi.image.resize2d(a, [0.0] * 4, (6, 8)),
        by_torch(lambda a: F.interpolate(a, size=(6, 8), mode="bilinear", align_corners=False)),
        x,
    )


def test_utils():
    n = tir.Var("n", "int32")
    a = te.placeholder((n, 4), name="a")
    shape = topi.utils.get_const_tuple(a.shape)
    assert shape[0].same_as(n) and shape[1] == 4 and isinstance(shape[1], int)
    assert topi.get_const_tuple((1, tir.IntImm("int32", 2))) == (1, 2)
    with pytest.raises(ValueError, match="constant int"):
        topi.utils.get_const_int(n)
    assert topi.tag.is_injective(topi.tag.BROADCAST) and not topi.tag.is_injective("comm_reduce")


def test_operators_of_expressions_take_tensors():
    """Element by element with broadcasting, once topi is imported; computes stay as they are."""
    a, b = te.placeholder((3, 2, 2), name="a"), te.placeholder((2, 2), name="b")
    c = (a + b * 2.0) / (1.0 + b) - a
    d = te.compute((3,), lambda i: a[i, 0, 0] + b[0, 0] * 2, name="d")
    x, y = rand(3, 2, 2), rand(2, 2, seed=1) + 1
    func = tenon.build(te.create_prim_func([a, b, c, d]), target="stackvm")
    got = [tenon.nd.empty((3, 2, 2)), tenon.nd.empty((3,))]
    func(tenon.nd.array(x), tenon.nd.array(y), *got)
    want = (x + y * 2) / (1 + y) - x, x[:, 0, 0] + y[0, 0] * 2
    for value, expected in zip(got, want, strict=True):
        np.testing.assert_allclose(value.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_shapes_of_other_tensors():
    x, y = rand(2, 3), rand(2, 4, 3, seed=1)
    same(lambda a: topi.flip(a, 1), lambda a: a[:, ::-1], x)
    wide = lambda a, b: np.broadcast_to(a[:, None], b.shape)  # noqa: E731
    same(lambda a, b: topi.expand_like(a, b, [1]), wide, x, y)
    same(lambda a: topi.collapse_sum(a, (4, 1)), lambda a: a.sum((0, 2))[:, None], y)
    same(lambda a: topi.shape(a, "int64"), lambda a: np.array(a.shape), y)


@pytest.mark.parametrize("axes", [0, 1, 2, ((1, 0), (0, 2)), ([2], [1])])
def test_tensordot(axes):
    a, b = (rand(2, 3, 4), rand(3, 4, 2, seed=1)) if axes != 1 else (rand(2, 4), rand(4, 3, seed=1))
    same(lambda x, y: topi.tensordot(x, y, axes), lambda x, y: np.tensordot(x, y, axes), a, b)


@pytest.mark.parametrize("height, size", [(8, 4), (16, 4), (12, 2), (7, 2)])
def test_tiles_of_convolutions_of_volumes(height, size):
    """The module is found by its path; its tile takes four results where the height allows it."""
    from tenon.topi.cuda.conv3d_winograd import _infer_tile_size

    data = te.placeholder((1, 3, 5, height, 9), name="data")
    assert _infer_tile_size(data, te.placeholder((4, 3, 3, 3, 3), name="kernel")) == size
