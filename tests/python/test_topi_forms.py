"""Functions of tenon.topi whose arguments have another form than those of the operators."""

import numpy as np
import pytest
import tenon
from tenon import te, topi
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
