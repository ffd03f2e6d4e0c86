"""References of topi.testing against the computes of topi, scheduled by the names of targets."""

import numpy as np
import pytest
import tenon as tvm
from tenon import te, topi
from tenon import tir as tenon_tir
from tenon.topi import testing

RNG = np.random.RandomState(7)


def _floats(*shape):
    return RNG.uniform(-1, 1, shape).astype("float32")


def _run(compute, *arrays, schedule=None, target="llvm"):
    """The value of a compute of topi on arrays."""
    places = [te.placeholder(a.shape, str(a.dtype), f"p{i}") for i, a in enumerate(arrays)]
    with tvm.target.Target(target):
        out = compute(*places)
        s = (schedule or topi.generic.schedule_injective)([out])
        function = tvm.build(s, [*places, out], target)
    result = tvm.nd.empty([int(n) for n in out.shape], out.dtype)
    function(*[tvm.nd.array(a) for a in arrays], result)
    return result.numpy()


def _check(compute, expected, *arrays, schedule=None):
    got = _run(compute, *arrays, schedule=schedule)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


X1, X2, X3 = _floats(2, 4, 11), _floats(2, 4, 9, 8), _floats(1, 4, 5, 6, 7)


@pytest.mark.parametrize("padding", [0, 1, "SAME", "VALID", (1, 2, 0, 1)])
@pytest.mark.parametrize("stride", [1, (2, 1)])
def test_convolutions_of_images(padding, stride):
    w = _floats(6, 4, 3, 2)
    _check(
        lambda a, b: topi.nn.conv2d_nchw(a, b, stride, padding, 1),
        testing.conv2d_nchw_python(X2, w, stride, padding),
        X2,
        w,
        schedule=topi.x86.schedule_conv2d_nhwc,
    )
    x, v = X2.transpose(0, 2, 3, 1).copy(), w.transpose(2, 3, 1, 0).copy()
    _check(
        lambda a, b: topi.nn.conv2d_nhwc(a, b, stride, padding, 1),
        testing.conv2d_nhwc_python(x, v, stride, padding),
        x,
        v,
    )
    d = _floats(4, 2, 3, 3)
    _check(
        lambda a, b: topi.nn.depthwise_conv2d_nchw(
            a, topi.reshape(b, (8, 1, 3, 3)), stride, padding, 1
        ),
        testing.depthwise_conv2d_python_nchw(X2, d, stride, padding),
        X2,
        d,
    )


@pytest.mark.parametrize("padding", [0, 2, (1, 0)])
def test_convolutions_of_rows_and_volumes(padding):
    w1, w3 = _floats(6, 2, 3), _floats(6, 4, 2, 3, 2)
    _check(
        lambda a, b: topi.nn.group_conv1d_ncw(a, b, 2, padding, 2, 2),
        testing.group_conv1d_ncw_python(X1, w1, 2, padding, 2, 2),
        X1,
        w1,
    )
    if padding != (1, 0):
        _check(
            lambda a, b: topi.nn.conv3d_ncdhw(a, b, 1, padding, 1, 1),
            testing.conv3d_ncdhw_python(X3, w3, 1, padding),
            X3,
            w3,
        )


@pytest.mark.parametrize("stride, padding, more", [(1, 0, 0), (2, 1, 1), ((2, 3), (1, 2, 0, 1), 0)])
def test_transposed_convolutions(stride, padding, more):
    w = _floats(4, 3, 3, 3)
    more2 = (more, more)
    _check(
        lambda a, b: topi.nn.conv2d_transpose_nchw(a, b, stride, padding, "float32", more2),
        testing.conv2d_transpose_nchw_python(X2, w, stride, padding, more2),
        X2,
        w,
    )
    if isinstance(stride, int):
        w1 = _floats(4, 3, 4)
        _check(
            lambda a, b: topi.nn.conv1d_transpose_ncw(a, b, stride, padding, "float32", (more,)),
            testing.conv1d_transpose_ncw_python(X1, w1, stride, padding, (more,)),
            X1,
            w1,
        )


def test_blocks_of_channels():
    x, w = _floats(1, 2, 6, 6, 4), _floats(3, 2, 3, 3, 4, 4)
    plain = x.transpose(0, 1, 4, 2, 3).reshape(1, 8, 6, 6)
    weights = w.transpose(0, 5, 1, 4, 2, 3).reshape(12, 8, 3, 3)
    out = testing.conv2d_nchw_python(plain, weights, 1, 1)
    _check(
        lambda a, b: topi.x86.conv2d_NCHWc(None, a, b, 1, 1, 1, "NCHW4c", "NCHW4c", "float32"),
        out.reshape(1, 3, 4, 6, 6).transpose(0, 1, 3, 4, 2),
        x,
        w,
    )
    d = _floats(2, 1, 3, 3, 1, 4)
    _check(
        lambda a, b: topi.x86.depthwise_conv2d_NCHWc(a, b, 1, 1, 1, "NCHW4c", "NCHW4c"),
        testing.depthwise_conv2d_python_nchwc(x, d, 1, 1),
        x,
        d,
    )


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("include", [False, True])
def test_pools(kind, ceil_mode, include):
    args = ((3, 2), (2, 2), (1, 2)), ((1, 0), (1, 1))
    (kernel, strides, dilation), (before, after) = args
    _check(
        lambda a: topi.nn.pool2d(
            a, kernel, strides, dilation, (*before, *after), kind, ceil_mode, "NCHW", include
        ),
        testing.poolnd_python(
            X2,
            kernel,
            strides,
            dilation,
            before,
            after,
            kind,
            include and kind == "avg",
            ceil_mode,
        ),
        X2,
        schedule=lambda outs: topi.generic.schedule_pool(outs, "NCHW"),
    )
    _check(
        lambda a: topi.nn.adaptive_pool(a, (3, 5), kind),
        testing.adaptive_pool(X2, (3, 5), kind),
        X2,
        schedule=topi.x86.schedule_adaptive_pool,
    )


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("ceil_mode, to", [(False, (2, 4)), (True, (3, 4))])
@pytest.mark.parametrize("include", [False, True])
def test_adjoints_of_pools(kind, ceil_mode, to, include):
    x, d = _floats(2, 3, 8, 7), _floats(2, 3, *to)
    how = {"padding": (1, 0, 0, 1), "pool_type": kind, "ceil_mode": ceil_mode}
    how["count_include_pad"] = include
    _check(
        lambda d, x: topi.nn.pool_grad(d, x, (3, 2), (4, 2), **how),
        testing.pool_grad_nchw(x, d, (3, 2), (4, 2), **how),
        d,
        x,
        schedule=topi.generic.schedule_pool_grad,
    )


@pytest.mark.parametrize("method", ["nearest_neighbor", "linear", "cubic"])
@pytest.mark.parametrize("mode", ["align_corners", "half_pixel", "asymmetric"])
def test_resized_images(method, mode):
    _check(
        lambda a: topi.image.resize2d(
            a,
            [0.0] * 4,
            (18, 12),
            method=method,
            coordinate_transformation_mode=mode,
            bicubic_alpha=-0.5,
        ),
        testing.resize2d_python(X2, (2, 1.5), "NCHW", method, mode),
        X2,
    )


@pytest.mark.parametrize("mode", ["DCR", "CDR"])
def test_blocks_of_space(mode):
    x = _floats(2, 8, 4, 6)
    _check(
        lambda a: topi.nn.depth_to_space(a, 2, "NCHW", mode),
        testing.depth_to_space_python(x, 2, mode),
        x,
    )
    _check(lambda a: topi.nn.space_to_depth(a, 2, "NCHW"), testing.space_to_depth_python(x, 2), x)
    pads = ([2, 2], [1, 1], [1, 1])
    y = testing.space_to_batch_nd_python(x, *pads, 0.5)
    _check(
        lambda a: topi.nn.space_to_batch_nd(a, *pads, 0.5),
        y,
        x,
    )
    np.testing.assert_array_equal(testing.batch_to_space_nd_python(y, *pads), x)


def test_normalizations_and_losses():
    _check(topi.nn.softmax, testing.softmax_python(X1, -1), X1, schedule=topi.x86.schedule_softmax)
    _check(topi.nn.log_softmax, testing.log_softmax_python(X1, -1), X1)
    _check(
        lambda a: topi.nn.lrn(a, 3, 1, 1e-2, 0.75, 2),
        testing.lrn_python(X2, 3, 1, 2, 1e-2, 0.75),
        X2,
    )
    g, b = _floats(4), _floats(4)
    _check(
        lambda a, u, v: topi.nn.instance_norm(a, u, v, 1),
        testing.instance_norm_python(X2, g, b, (2, 3)),
        X2,
        g,
        b,
    )
    _check(
        lambda a, u, v: topi.nn.layer_norm(a, u, v, 1),
        testing.layer_norm_python(X2, g, b, 1),
        X2,
        g,
        b,
    )
    _check(
        lambda a, u, v: topi.nn.group_norm(a, u, v, 2, 1),
        testing.group_norm_python(X2, g, b, 2, 1, (2, 3)),
        X2,
        g,
        b,
    )
    p, w = _floats(3, 4, 5), _floats(4)
    t = RNG.randint(0, 4, (3, 5)).astype("int32")
    t[0, 0] = 2
    _check(
        lambda x, y, z: topi.nn.nll_loss(x, y, z, "mean", 2),
        np.array(testing.nll_loss(p, t, w, "mean", 2), "float32"),
        p,
        t,
        w,
    )
    q, one = _floats(4), np.array(3, "int32")
    for kind in ("none", "mean"):
        _check(
            lambda x, y, z, kind=kind: topi.nn.nll_loss(x, y, z, kind, 2),
            np.array(testing.nll_loss(q, one, w, kind, 2), "float32"),
            q,
            one,
            w,
        )


def test_elements_by_index():
    i = RNG.randint(0, 4, (2, 3, 11)).astype("int32")
    _check(lambda a, k: topi.gather(a, 1, k), testing.gather_python(X1, 1, i), X1, i)
    at = np.array([[0, 1, 1], [3, 0, 2]], "int32")
    _check(topi.gather_nd, testing.gather_nd_python(X1, at), X1, at)
    cut = ([0, -1, 2], [2, -5, 9], [1, -2, 3])
    _check(lambda a: topi.strided_slice(a, *cut), testing.strided_slice_python(X1, *cut), X1)
    size = ([0, 1, 2], [2, -1, 5])
    _check(
        lambda a: topi.strided_slice(a, *size, slice_mode="size"),
        testing.strided_slice_python(X1, *size, None, "size"),
        X1,
    )
    k = RNG.randint(0, 5, (2, 3)).astype("int32")
    _check(
        lambda a: topi.one_hot(a, 2.0, -1.0, 5, 1, "float32"),
        testing.one_hot(k, 2.0, -1.0, 5, 1, "float32"),
        k,
    )
    n = np.array([1, 4, 2, 3], "int32")
    steps = _floats(5, 4, 3)
    _check(
        lambda a, b: topi.sequence_mask(a, b, -2.0, 0),
        testing.sequence_mask(steps, n, -2.0, 0).astype("float32"),
        steps,
        n,
    )
    rows, v = np.sort(_floats(3, 7)), _floats(3, 4)
    for right in (False, True):
        _check(
            lambda a, b, right=right: topi.searchsorted(a, b, right, "int32"),
            testing.searchsorted_ref(rows, v, right, "int32"),
            rows,
            v,
        )


@pytest.mark.parametrize("mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
def test_sampled_grids(method, mode):
    grid = RNG.uniform(-1.3, 1.3, (2, 2, 5, 6)).astype("float32")
    _check(
        lambda a, g: topi.image.grid_sample(a, g, method, "NCHW", mode, False),
        testing.grid_sample_python(X2, grid, method, "NCHW", mode, False),
        X2,
        grid,
    )
    m = _floats(2, 2, 3)
    _check(lambda a: topi.image.affine_grid(a, (4, 5)), testing.affine_grid_python(m, (4, 5)), m)


@pytest.mark.parametrize("ratio", [-1, 2])
def test_boxes(ratio):
    rois = np.array([[0, 1, 1, 6, 5], [1, 0, 2, 7.5, 8]], "float32")
    for mode in ("avg", "max"):
        _check(
            lambda a, b, mode=mode: topi.vision.roi_align_nchw(a, b, (3, 2), 0.8, mode, ratio),
            testing.roi_align_nchw_python(X2, rois, (3, 2), 0.8, ratio, mode.encode()),
            X2,
            rois,
        )


def test_a_recurrent_cell_and_its_reverse():
    x, wi, wh = _floats(5, 2, 3), _floats(16, 3), _floats(16, 4)
    hs, cs = testing.lstm_python(x, wi, wh)
    back, _ = testing.lstm_python(x[::-1], wi, wh, reverse=True)
    assert hs.shape == cs.shape == (5, 2, 4)
    np.testing.assert_allclose(back, hs, rtol=1e-6)
    torch = pytest.importorskip("torch")
    cell = torch.nn.LSTM(3, 4, bias=False)
    with torch.no_grad():
        cell.weight_ih_l0.copy_(torch.tensor(wi))
        cell.weight_hh_l0.copy_(torch.tensor(wh))
        expected = cell(torch.tensor(x))[0].numpy()
    np.testing.assert_allclose(
        testing.lstm_python(x, wi, wh, weight_layout="IFGO")[0], expected, atol=1e-5
    )


def test_gradients_agree_with_differences():
    w = _floats(4, 4, 3, 3)
    y = testing.conv2d_nchw_python(X2, w, 2, 1)
    dy = _floats(*y.shape)
    grad = testing.conv2d_backward_weight_python(dy, X2, 3, 2, 1)
    moved = w.copy()
    moved[1, 2, 0, 1] += 1
    step = ((testing.conv2d_nchw_python(X2, moved, 2, 1) - y) * dy).sum()
    np.testing.assert_allclose(grad[1, 2, 0, 1], step, rtol=1e-3)
    out = testing.poolnd_python(X2, (2, 2), (2, 2), (1, 1), (0, 0), (0, 0), "avg")
    adjoint = testing.pool_grad_nchw(X2, np.ones_like(out), (2, 2), (2, 2), (0,) * 4, "avg", False)
    assert adjoint.sum() == pytest.approx(out.size)


def test_dispatch_goes_by_the_keys_of_a_target():
    table = {"generic": "any", "cpu": "this", "gpu": "that"}
    assert testing.dispatch("llvm", table) == "this"
    assert testing.dispatch("cuda", table) == "that"
    assert testing.dispatch("stackvm", {"generic": "any"}) == "any"
    with pytest.raises(ValueError, match='expected an entry "generic"'):
        testing.dispatch("llvm", {"cpu": "this"})


def test_compare_builds_for_a_target():
    x = _floats(3, 4)
    schedule = testing.get_reduce_schedule("llvm")
    testing.compare_numpy_tvm(
        [x], x.sum(1), "llvm", tvm.cpu(), lambda a: topi.sum(a, axis=1), schedule
    )
    with pytest.raises(AssertionError):
        testing.compare_numpy_tvm(
            [x], x.sum(1) + 1, "llvm", tvm.cpu(), lambda a: topi.sum(a, axis=1), schedule
        )


def test_schedules_say_what_they_need():
    with pytest.raises(TypeError, match="expected a te.Tensor or a list of them"):
        topi.generic.schedule_injective(3)
    with pytest.raises(AttributeError, match="schedule_nothing"):
        topi.x86.schedule_nothing  # noqa: B018
    x = te.placeholder((64, 3), name="x")
    with tvm.target.Target("cuda"):
        s = topi.cuda.schedule_injective(topi.exp(x))
    bound = [a.bind_thread for a in s.stages[-1].iter_var_attrs.values()]
    assert sorted(str(iv.thread_tag) for iv in bound) == ["blockIdx.x", "threadIdx.x"]


@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-5), ("float16", 2e-3)])
def test_normalizations_over_lists_of_axes(dtype, tolerance):
    """By position, as programs give them; halves are summed in float32."""
    x = (_floats(2, 4, 3, 5) * 3).astype(dtype)
    over = {axes: [x.shape[i] for i in axes] for axes in ((1, 3), (2, 3))}

    def close(compute, expected, *arrays):
        got = _run(compute, *arrays)
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)

    for axes, shape in over.items():
        g, b = (_floats(*shape).astype(dtype) for _ in range(2))
        wanted = testing.layer_norm_python(x, g, b, axes)
        close(lambda a, u, v, axes=axes: topi.nn.layer_norm(a, u, v, axes, 1e-5), wanted, x, g, b)
        close(lambda a, u, v, axes=axes: topi.nn.instance_norm(a, u, v, axes), wanted, x, g, b)
        wanted = testing.rms_norm_python(x, g, axes)
        close(lambda a, u, axes=axes: topi.nn.rms_norm(a, u, axes, 1e-5), wanted, x, g)
    g, b = (_floats(4).astype(dtype) for _ in range(2))
    wanted = testing.group_norm_python(x, g, b, 2, 1, (2, 3))
    close(lambda a, u, v: topi.nn.group_norm(a, u, v, 2, 1, (2, 3), 1e-5), wanted, x, g, b)


def test_batch_norm_that_learns():
    """The moving mean and variance follow those of the data."""
    x, (mean, var) = _floats(6, 3), np.abs(_floats(2, 3))
    gamma, beta = _floats(2, 3)
    moved = [0.75 * mean + 0.25 * x.mean(0), 0.75 * var + 0.25 * x.var(0)]
    wanted = [(x - x.mean(0)) / np.sqrt(x.var(0) + 1e-3) * gamma + beta, *moved]
    for i, expected in enumerate(wanted):
        _check(
            lambda *t, i=i: topi.nn.batch_norm(*t, 1, 1e-3, True, True, True, 0.25)[i],
            expected,
            x,
            gamma,
            beta,
            mean,
            var,
        )


def test_signatures_of_tensor_functions():
    """Arguments stand where programs put them, or have the names they give them."""
    x, i = _floats(4, 3), np.array([2, 0], "int32")
    _check(lambda a: topi.einsum("ij->ji", a), x.T, x)
    _check(lambda a, b: topi.einsum("ij,ij->i", a, b), (x * x).sum(1), x, x)
    _check(lambda a, b: topi.take(a=a, indices=b, axis=0), x[[2, 0]], x, i)
    _check(lambda a, b: topi.gather_nd(a=a, indices=b), x[2, 0], x, i)
    k = tenon_tir.const(1, "int32")
    _check(lambda a: topi.trilu(a, k, True), np.triu(x, 1), x)
    images = _floats(1, 4, 4, 2)
    blocks = testing.space_to_batch_nd_python(images, [2, 2], [0, 0], [0, 0], 0)
    _check(lambda a: topi.nn.space_to_batch_nd(a, [2, 2], [0, 0], [0, 0], 0.0), blocks, images)
    _check(lambda a: topi.nn.batch_to_space_nd(a, [2, 2], [0, 0], [0, 0]), images, blocks)
    truth = x > 0
    _check(topi.exp, np.exp(truth.astype("float32")), truth)


def test_names_for_one_kind_of_target():
    """What is not of neural networks is found there too."""
    x = _floats(2, 8)
    wanted = np.fft.fft(x)
    _check(lambda a, b: topi.cuda.dft(a, b, False)[0], wanted.real, x, np.zeros_like(x))
    assert topi.cuda.schedule_scan and topi.cuda.sort and topi.cuda.searchsorted


def test_shapes_of_layouts():
    assert topi.utils.get_shape((3, 2, 32, 48, 16), "NCHW16c", "NC16cWH") == (3, 2, 16, 48, 32)
    with pytest.raises(ValueError, match="differ in their axes"):
        topi.utils.get_shape((1, 2), "NC", "NH")


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "all", "any"])
def test_reductions_over_no_axes(name):
    """An empty list of axes names none, as with numpy; None stands for all of them."""
    x = _floats(2, 3) > 0 if name in ("all", "any") else _floats(2, 3)
    compute = getattr(topi, name)
    for keepdims in (False, True):
        _check(lambda a, k=keepdims: compute(a, (), k), x, x)
    _check(lambda a: compute(a, keepdims=True), getattr(np, name)(x, keepdims=True), x)
    _check(lambda a: compute(a, [0]), getattr(np, name)(x, axis=0), x)
