"""AlterOpLayout: which layouts operators follow, how transforms meet, and that nothing changes in
what is computed."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor
from tenon.relay import testing, transform
from tenon.relay.build_module import bind_params_by_name
from tenon.relay.testing.temp_op_attr import TempOpAttr
from tenon.relay.transform.infer_layout_utils import InferCorrectLayoutOutput


def run_passes(expr, *passes, target=None):
    mod = expr if isinstance(expr, tenon.IRModule) else tenon.IRModule({"main": expr})
    with tenon.transform.PassContext(opt_level=4), tenon.target.Target(target or "llvm"):
        return tenon.transform.Sequential([transform.InferType(), *passes, transform.InferType()])(
            mod
        )["main"]


def function(body):
    return relay.Function(relay.analysis.free_vars(body), body)


def blocked(data="NCHW16c", kernel="OIHW16i", **more):
    """A hook that makes convolutions work in blocks."""

    def alter(attrs, inputs, tinfos, out_type):
        assert isinstance(out_type, relay.TensorType)
        assert len(tinfos) == 2
        new = {**dict(attrs), "data_layout": data, "kernel_layout": kernel, **more}
        return relay.nn.conv2d(*inputs, **new)

    return TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter)


def conv(x, w, **how):
    how = {"channels": 64, "kernel_size": (3, 3), "padding": (1, 1), **how}
    return relay.nn.conv2d(x, w, **how)


def conv16(x, w, **how):
    return conv(x, w, data_layout="NCHW16c", kernel_layout="OIHW16i", **how)


def to(x, src, dst):
    return relay.layout_transform(x, src, dst)


X = relay.var("x", shape=(1, 64, 56, 56))
W = relay.var("w", shape=(64, 64, 3, 3))
W2 = relay.var("w2", shape=(64, 64, 3, 3))
X16, W16 = to(X, "NCHW", "NCHW16c"), to(W, "OIHW", "OIHW16i")


def back(y):
    return to(y, "NCHW16c", "NCHW")


def check(make, expected, hook=None):
    """`make` of the plain convolution becomes `expected` of the one in blocks."""
    with hook or blocked():
        got = run_passes(function(make(conv(X, W))), transform.AlterOpLayout())
    want = run_passes(function(expected(conv16(X16, W16))))
    tenon.ir.assert_structural_equal(got, want, map_free_vars=True)


def test_one_convolution():
    check(lambda y: y, back)


def test_elementwise_operators_follow():
    check(
        lambda y: relay.tanh(relay.clip(y, 0, 6)), lambda y: back(relay.tanh(relay.clip(y, 0, 6)))
    )


def test_a_change_of_type_follows():
    check(lambda y: relay.cast(y, "float16"), lambda y: back(relay.cast(y, "float16")))


def test_two_convolutions_meet_without_transforms():
    check(
        lambda y: conv(relay.nn.relu(y), W2),
        lambda y: back(conv16(relay.nn.relu(y), to(W2, "OIHW", "OIHW16i"))),
    )


def test_one_transform_for_several_readers():
    check(
        lambda y: conv(X, W2) + y,
        lambda y: back(conv16(X16, to(W2, "OIHW", "OIHW16i")) + y),
    )


def test_the_replacement_may_have_other_arguments():
    def alter(attrs, inputs, tinfos, out_type):
        data, weight = inputs
        return relay.nn.conv2d(data, weight * relay.const(2.0), **dict(attrs))

    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter):
        got = run_passes(function(conv(X, W)), transform.AlterOpLayout())
    want = run_passes(function(conv(X, W * relay.const(2.0))))
    tenon.ir.assert_structural_equal(got, want, map_free_vars=True)


def test_none_leaves_the_call():
    seen = []
    with TempOpAttr("nn.global_max_pool2d", "FTVMAlterOpLayout", lambda *a: seen.append(a[0])):
        before = run_passes(function(relay.nn.global_max_pool2d(X)))
        got = run_passes(function(relay.nn.global_max_pool2d(X)), transform.AlterOpLayout())
    tenon.ir.assert_structural_equal(got, before, map_free_vars=True)
    assert len(seen) == 1
    assert seen[0].layout == "NCHW"


def test_a_hook_that_returns_something_else_is_an_error():
    with (
        TempOpAttr("nn.relu", "FTVMAlterOpLayout", lambda *a: tenon.tir.const(1)),
        pytest.raises(TypeError, match="FTVMAlterOpLayout of nn.relu: expected an expression"),
    ):
        run_passes(function(relay.nn.relu(X)), transform.AlterOpLayout())


def test_operators_that_cannot_follow_get_what_they_had():
    check(relay.nn.batch_flatten, lambda y: relay.nn.batch_flatten(back(y)))
    check(lambda y: relay.nn.softmax(y, axis=1), lambda y: relay.nn.softmax(back(y), axis=1))


def test_a_result_that_is_used_both_ways_is_transformed_once():
    check(
        lambda y: relay.Tuple([relay.nn.relu(y), relay.nn.batch_flatten(y), y]),
        lambda y: relay.Tuple([back(relay.nn.relu(y)), relay.nn.batch_flatten(b := back(y)), b]),
    )


# ---- rules of operators ----


def test_arguments_that_broadcast():
    def bias(*shape):
        return relay.var("b", shape=shape)

    plain = bias(64, 1, 1)
    check(lambda y: y + plain, lambda y: back(y + to(plain, "CHW", "CHW16c")))
    check(lambda y: plain - y, lambda y: back(to(plain, "CHW", "CHW16c") - y))
    rows = bias(56, 56)
    check(
        lambda y: y * rows,
        lambda y: back(y * to(relay.expand_dims(rows, 0), "CHW", "CHW1c")),
    )
    mask = bias(1, 1, 56, 56)
    check(lambda y: y * mask, lambda y: back(y * to(mask, "NCHW", "NCHW1c")))
    one = bias(1)
    check(lambda y: y * one, lambda y: back(y * one))
    check(lambda y: y * relay.const(2.0), lambda y: back(y * relay.const(2.0)))
    check(
        lambda y: relay.where(y > relay.const(0.0), y, mask),
        lambda y: back(relay.where(y > relay.const(0.0), y, to(mask, "NCHW", "NCHW1c"))),
    )


def test_a_smaller_argument_in_blocks_does_not_lead():
    """The mean over the image keeps its blocks; the plain tensor it is multiplied with does not
    have them for nothing."""
    z = relay.var("z", shape=(1, 64, 56, 56))
    pooled = lambda y: relay.mean(y, axis=[2, 3], keepdims=True)  # noqa: E731
    check(lambda y: pooled(y) * z, lambda y: back(pooled(y) * to(z, "NCHW", "NCHW16c")))


def test_bias_add_becomes_a_sum_that_can_follow():
    b = relay.var("b", shape=(64,))
    spread = relay.expand_dims(b, axis=1, num_newaxis=2)

    def alter(attrs, inputs, tinfos, out_type):
        return inputs[0] + relay.expand_dims(inputs[1], 1, 2)

    want = run_passes(function(back(conv16(X16, W16) + to(spread, "CHW", "CHW16c"))))
    with blocked():
        func = function(relay.nn.bias_add(conv(X, W), b))
        got = run_passes(func, transform.CanonicalizeOps(), transform.AlterOpLayout())
        tenon.ir.assert_structural_equal(got, want, map_free_vars=True)
        with TempOpAttr("nn.bias_add", "FTVMAlterOpLayout", alter):
            got = run_passes(func, transform.AlterOpLayout())
        tenon.ir.assert_structural_equal(got, want, map_free_vars=True)


def test_pooling():
    pool = {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1)}
    for op in (relay.nn.max_pool2d, relay.nn.avg_pool2d):
        check(
            lambda y, op=op: op(y, **pool), lambda y, op=op: back(op(y, **pool, layout="NCHW16c"))
        )
    for op in (relay.nn.global_avg_pool2d, relay.nn.global_max_pool2d):
        check(lambda y, op=op: op(y), lambda y, op=op: back(op(y, layout="NCHW16c")))
    check(
        lambda y: relay.nn.adaptive_avg_pool2d(y, (7, 7)),
        lambda y: back(relay.nn.adaptive_avg_pool2d(y, (7, 7), layout="NCHW16c")),
    )


def test_resizing():
    check(
        lambda y: relay.image.resize2d(y, (28, 28)),
        lambda y: back(relay.image.resize2d(y, (28, 28), layout="NCHW16c")),
    )


def test_reductions():
    check(
        lambda y: relay.mean(y, axis=[-1, 2], keepdims=True),
        lambda y: back(relay.mean(y, axis=[2, 3], keepdims=True)),
    )
    check(
        lambda y: relay.mean(y, axis=[2, 3]),
        lambda y: to(relay.mean(y, axis=[2, 3]), "NC16c", "NC"),
    )
    check(lambda y: relay.max(y, axis=[1]), lambda y: relay.max(y, axis=[1, 4]))
    check(
        lambda y: relay.sum(y, axis=[1], exclude=True),
        lambda y: to(relay.sum(y, axis=[0, 2, 3]), "C16c", "C"),
    )
    check(
        lambda y: relay.sum(y, axis=[1], keepdims=True),
        lambda y: to(relay.sum(y, axis=[1, 4], keepdims=True), "NCHW1c", "NCHW"),
    )


def test_concatenate():
    other = relay.var("o", shape=(1, 32, 56, 56))
    odd = relay.var("o", shape=(1, 20, 56, 56))
    check(
        lambda y: relay.concatenate([y, other, y], 1),
        lambda y: back(relay.concatenate([y, to(other, "NCHW", "NCHW16c"), y], 1)),
    )
    check(lambda y: relay.concatenate([y, odd], 1), lambda y: relay.concatenate([back(y), odd], 1))
    check(lambda y: relay.concatenate([y, y], -1), lambda y: back(relay.concatenate([y, y], 3)))


def test_split():
    check(lambda y: relay.split(y, 2, 1)[1], lambda y: back(relay.split(y, 2, 1)[1]))
    check(lambda y: relay.split(y, (16, 48), 1)[2], lambda y: back(relay.split(y, (1, 3), 1)[2]))
    check(lambda y: relay.split(y, (24,), 1)[0], lambda y: relay.split(back(y), (24,), 1)[0])
    check(lambda y: relay.split(y, 4, -2)[3], lambda y: back(relay.split(y, 4, 2)[3]))
    check(
        lambda y: relay.split(y, 2, 1).astuple(),
        lambda y: relay.Tuple([back((s := relay.split(y, 2, 1))[0]), back(s[1])]),
    )


def test_pad():
    plain, channels = ((0, 0), (0, 0), (1, 2), (3, 4)), ((0, 0), (0, 16), (0, 0), (0, 0))
    check(
        lambda y: relay.nn.pad(y, plain, 0.0),
        lambda y: back(relay.nn.pad(y, (*plain, (0, 0)), 0.0)),
    )
    check(lambda y: relay.nn.pad(y, channels, 0.0), lambda y: relay.nn.pad(back(y), channels, 0.0))


def test_a_hook_says_which_layouts_an_operator_keeps():
    asked = []

    def layouts(attrs, new, old, types):
        names = new and [layout.name for layout in new], [layout.name for layout in old]
        asked.append((*names, types[0].concrete_shape))
        first = (new or old)[0]
        return InferCorrectLayoutOutput([first], [first], attrs)

    with TempOpAttr("nn.lrn", "FInferCorrectLayout", layouts), blocked():
        got = run_passes(function(relay.nn.lrn(conv(X, W))), transform.AlterOpLayout())
    assert got.body.args[0].op.name == "nn.lrn"
    assert asked == [
        (None, ["NCHW"], (1, 64, 56, 56)),
        (["NCHW16c"], ["NCHW"], (1, 64, 56, 56)),
    ]


# ---- the library's own choice ----


def transforms(func):
    found = []

    def visit(e):
        if isinstance(e, relay.Call) and getattr(e.op, "name", "") == "layout_transform":
            found.append((e.attrs.src_layout, e.attrs.dst_layout))

    relay.analysis.post_order_visit(func, visit)
    return found


def test_without_a_target_for_processors_nothing_changes():
    func = function(conv(X, W))
    for target in ("llvm -mcpu=skylake-avx512", "c"):
        got = run_passes(func, transform.AlterOpLayout(), target=target)
        changed = not tenon.ir.structural_equal(got, run_passes(func))
        assert changed == (target != "c")


@pytest.mark.parametrize(("cpu", "block"), [("skylake-avx512", 16), ("haswell", 8), ("x86-64", 4)])
def test_blocks_are_vectors(cpu, block):
    func = function(conv(X, W))
    got = run_passes(func, transform.AlterOpLayout(), target=f"llvm -mcpu={cpu}").body
    assert got.attrs.src_layout == f"NCHW{block}c"
    attrs = got.args[0].attrs
    assert attrs.kernel_layout == f"OIHW{block}i{block}o"
    assert attrs.data_layout == attrs.out_layout == f"NCHW{block}c"


def build_and_run(mod, params, x, **context):
    with tenon.transform.PassContext(opt_level=3, **context):
        lib = relay.build(mod, "llvm", params=params)
    m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    m.run(data=x)
    return m.get_output(0).numpy()


def randomised(params, rng):
    """Weights with which values neither vanish nor grow."""
    out = {}
    for name, value in params.items():
        a = value.numpy()
        if "weight" in name and a.ndim > 1:
            a = rng.standard_normal(a.shape) * np.sqrt(2 / np.prod(a.shape[1:]))
        elif "gamma" in name or "var" in name:
            a = rng.random(a.shape) * 0.2 + 0.5
        else:
            a = rng.standard_normal(a.shape) * 0.1
        out[name] = tenon.nd.array(a.astype("float32"))
    return out


NETWORKS = {
    "resnet": lambda: testing.resnet.get_workload(
        num_layers=18, image_shape=(3, 32, 32), num_classes=16
    ),
    "mobilenet": lambda: testing.mobilenet.get_workload(image_shape=(3, 32, 32), num_classes=16),
    "mobilenet NHWC": lambda: testing.mobilenet.get_workload(
        image_shape=(32, 32, 3), num_classes=16, layout="NHWC"
    ),
    "squeezenet": lambda: testing.squeezenet.get_workload(image_shape=(3, 64, 64), num_classes=16),
}


def no_softmax(mod):
    """The numbers before the last softmax, which would hide differences."""
    func = mod["main"]
    body = func.body
    assert body.op.name == "nn.softmax"
    return tenon.IRModule({"main": relay.Function(func.params, body.args[0])})


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name):
    rng = np.random.default_rng(1)
    mod, params = NETWORKS[name]()
    mod, params = no_softmax(mod), randomised(params, rng)
    shape = [int(d) for d in mod["main"].params[0].type_annotation.shape]
    x = rng.standard_normal(shape).astype("float32")
    plain = build_and_run(mod, params, x, disabled_pass=["AlterOpLayout"])
    in_blocks = build_and_run(mod, params, x)
    np.testing.assert_allclose(in_blocks, plain, atol=1e-4 * np.abs(plain).max())
    bound = tenon.IRModule({"main": bind_params_by_name(mod["main"], params)})
    passes = ("SimplifyInference", "FoldConstant", "FoldScaleAxis", "SimplifyExpr")
    passes += ("CanonicalizeOps", "AlterOpLayout", "FoldConstant")
    got = run_passes(bound, *(getattr(transform, p)() for p in passes))
    left = transforms(got)
    assert len(left) <= 2, left
    assert not any("O" in src for src, _ in left)


@pytest.mark.parametrize("shape", [(5, 24), (1, 24), (2, 3, 24)])
@pytest.mark.parametrize("units", [32, 10, 100, 1])
def test_dense_of_a_constant_weight_is_packed(shape, units):
    rng = np.random.default_rng(2)
    w = rng.standard_normal((units, 24)).astype("float32")
    a = rng.standard_normal(shape).astype("float32")
    x = relay.var("data", shape=shape)
    for call in (relay.nn.dense(x, relay.const(w)), relay.nn.matmul(x, relay.const(w.T.copy()))):
        mod = tenon.IRModule({"main": relay.Function([x], call)})
        cpu = "llvm -mcpu=skylake-avx512"
        got = run_passes(mod, transform.AlterOpLayout(), transform.FoldConstant(), target=cpu)
        if units > 1:
            assert got.body.op.name == "nn.contrib_dense_pack"
            assert isinstance(got.body.args[1], relay.Constant)
            assert list(got.body.checked_type.concrete_shape) == [*shape[:-1], units]
        y = build_and_run(mod, None, a)
        np.testing.assert_allclose(y, a @ w.T, rtol=1e-5, atol=1e-5)


# ---- constants ----


def folded(call):
    got = run_passes(relay.Function([], call), transform.FoldConstant()).body
    assert isinstance(got, relay.Constant)
    return got.data.numpy()


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "float64"])
def test_constants_are_moved_into_other_layouts(dtype):
    w = np.arange(32 * 16 * 3 * 2).reshape(32, 16, 3, 2).astype(dtype)
    c = relay.const(w)
    blocks = folded(to(c, "OIHW", "OIHW8i16o"))
    want = w.reshape(2, 16, 2, 8, 3, 2).transpose(0, 2, 4, 5, 3, 1)
    np.testing.assert_array_equal(blocks, want)
    np.testing.assert_array_equal(folded(to(relay.const(blocks), "OIHW8i16o", "OIHW")), w)
    np.testing.assert_array_equal(
        folded(to(relay.const(blocks), "OIHW8i16o", "HWIO8i16o")), want.transpose(2, 3, 1, 0, 4, 5)
    )
    np.testing.assert_array_equal(
        folded(to(relay.const(blocks), "OIHW8i16o", "OIHW4i16o")),
        folded(to(c, "OIHW", "OIHW4i16o")),
    )
    np.testing.assert_array_equal(
        folded(relay.transpose(c, (2, 0, -1, 1))), w.transpose(2, 0, 3, 1)
    )
    np.testing.assert_array_equal(folded(relay.transpose(c)), w.T)
    np.testing.assert_array_equal(folded(relay.reshape(c, (0, -1))), w.reshape(32, -1))
    np.testing.assert_array_equal(folded(relay.expand_dims(c, 1, 2)), w[:, None, None])
    np.testing.assert_array_equal(folded(relay.squeeze(relay.expand_dims(c, 0), [0])), w)
    border = ((0, 0), (1, 2), (0, 3), (1, 0))
    for value in (0, 7):
        padded = folded(relay.nn.pad(c, border, value))
        np.testing.assert_array_equal(padded, np.pad(w, border, constant_values=value))


def test_constants_that_are_no_ordinary_numbers_are_folded_too():
    flags = np.array([[True, False], [False, False]])
    np.testing.assert_array_equal(folded(relay.transpose(relay.const(flags))), flags.T)
    np.testing.assert_array_equal(folded(relay.reshape(relay.const(flags), (4,))), flags.reshape(4))


# ---- Legalize ----


def legalized(func, target="llvm -mcpu=skylake-avx512"):
    return run_passes(func, transform.Legalize(), target=target)


def test_legalize_asks_a_function():
    seen = []

    def legalize(attrs, inputs, types):
        seen.append((type(attrs).__name__, len(inputs), [list(t.concrete_shape) for t in types]))
        return relay.nn.leaky_relu(inputs[0], 0.5) if len(seen) == 1 else None

    func = relay.Function([X], relay.nn.relu(relay.nn.relu(X)))
    with TempOpAttr("nn.relu", "FTVMLegalize", legalize):
        got = legalized(func)
    want = run_passes(relay.Function([X], relay.nn.relu(relay.nn.leaky_relu(X, 0.5))))
    tenon.ir.assert_structural_equal(got, want, map_free_vars=True)
    assert seen == [("NoneType", 1, [[1, 64, 56, 56]] * 2)] * 2
    with TempOpAttr("nn.relu", "OtherKey", lambda a, i, t: i[0]):
        got = run_passes(func, transform.Legalize("OtherKey"))
    tenon.ir.assert_structural_equal(got, run_passes(relay.Function([X], X)), map_free_vars=True)


def compare(func, array):
    mod = tenon.IRModule({"main": func})
    got = build_and_run(mod, None, array)
    plain = build_and_run(mod, None, array, disabled_pass=["Legalize", "AlterOpLayout"])
    np.testing.assert_allclose(got, plain, rtol=1e-4, atol=1e-4 * np.abs(plain).max())


@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "more"),
    [
        ((2, 2), 2, (0, 0), (0, 0)),
        ((3, 3), 2, (1, 1), (1, 1)),
        ((4, 4), 2, (1, 1), (0, 0)),
        ((5, 3), 3, (2, 0, 1, 1), (0, 2)),
        ((3, 3), 1, (1, 1), (0, 0)),
        ((1, 2), 2, (0, 0), (0, 0)),
    ],
)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_transposed_convolutions_become_ordinary_ones(kernel, stride, padding, more, layout):
    rng = np.random.default_rng(3)
    w = rng.standard_normal((16, 8, *kernel)).astype("float32")
    shape = (1, 16, 5, 6) if layout == "NCHW" else (1, 5, 6, 16)
    a = rng.standard_normal(shape).astype("float32")
    x = relay.var("data", shape=shape)
    call = relay.nn.conv2d_transpose(
        x,
        relay.const(w),
        channels=8,
        kernel_size=kernel,
        strides=(stride, stride),
        padding=padding,
        output_padding=more,
        data_layout=layout,
    )
    func = relay.Function([x], call)
    names = []
    relay.analysis.post_order_visit(
        legalized(func), lambda e: names.append(e.op.name) if isinstance(e, relay.Call) else None
    )
    assert "nn.conv2d" in names
    assert "nn.conv2d_transpose" not in names
    compare(func, a)


@pytest.mark.parametrize("channels", [1, 2, 21, 30])
def test_channels_without_blocks_get_more(channels):
    rng = np.random.default_rng(4)
    w = rng.standard_normal((channels, 16, 3, 3)).astype("float32")
    a = rng.standard_normal((1, 16, 9, 9)).astype("float32")
    x = relay.var("data", shape=a.shape)
    func = relay.Function([x], conv(x, relay.const(w), channels=channels))
    call = legalized(func).body
    assert call.op.name == "strided_slice"
    assert call.args[0].attrs.channels == {1: 4, 2: 4, 21: 32, 30: 32}[channels]
    compare(func, a)


@pytest.mark.parametrize("channels", [3, 29, 58])
def test_data_without_blocks_stays_as_it_is(channels):
    """Only the result is in blocks then, which is still far faster than no blocks at all."""
    rng = np.random.default_rng(8)
    w = rng.standard_normal((32, channels, 3, 3)).astype("float32")
    a = rng.standard_normal((1, channels, 9, 9)).astype("float32")
    x = relay.var("data", shape=a.shape)
    func = relay.Function([x], conv(x, relay.const(w), channels=32))
    target = "llvm -mcpu=skylake-avx512"
    call = run_passes(func, transform.AlterOpLayout(), target=target).body.args[0]
    assert (call.attrs.data_layout, call.attrs.out_layout) == ("NCHW", "NCHW16c")
    compare(func, a)


def test_places_from_channels_follow_blocks():
    b = relay.const(np.ones((256, 1, 1), "float32"))
    w = relay.var("w4", shape=(256, 64, 3, 3))
    wide = {"channels": 256}
    with blocked():
        func = function(relay.nn.depth_to_space(conv(X, w, **wide) + b, 2))
        got = run_passes(func, transform.AlterOpLayout(), transform.FoldConstant())
    inner = conv16(X16, to(w, "OIHW", "OIHW16i"), **wide)
    want = back(relay.nn.depth_to_space(inner + to(b, "CHW", "CHW16c"), 2, layout="NCHW16c"))
    want = run_passes(function(want), transform.FoldConstant())
    tenon.ir.assert_structural_equal(got, want, map_free_vars=True)
    check(lambda y: relay.nn.depth_to_space(y, 4), lambda y: relay.nn.depth_to_space(back(y), 4))


def test_parts_of_axes_that_are_whole():
    check(
        lambda y: relay.strided_slice(y, [1, 2], [5, 6], axes=[2, -1]),
        lambda y: back(relay.strided_slice(y, [1, 2], [5, 6], axes=[2, 3])),
    )
    check(
        lambda y: relay.strided_slice(y, [0], [32], axes=[1]),
        lambda y: relay.strided_slice(back(y), [0], [32], axes=[1]),
    )


# ---- what is left of layouts ----


def post_altered(call):
    return run_passes(function(call), transform.SimplifyExprPostAlterOp()).body


def test_a_transform_that_moves_nothing_is_a_reshape():
    pixel = relay.var("x", shape=(2, 4, 1, 1, 16))
    got = post_altered(relay.nn.batch_flatten(to(pixel, "NCHW16c", "NCHW")))
    assert (got.op.name, list(got.attrs.newshape)) == ("reshape", [2, 64])
    row = relay.var("x", shape=(1, 8, 1, 5))
    got = post_altered(to(row, "NCHW", "NHWC"))
    assert got.op.name == "layout_transform"
    got = post_altered(to(relay.var("x", shape=(1, 8, 1, 1)), "NCHW", "NHWC"))
    assert (got.op.name, list(got.attrs.newshape)) == ("reshape", [1, 1, 1, 8])
    got = post_altered(to(relay.var("x", shape=(1, 1, 5, 6, 3)), "NCHW3c", "NHWC"))
    assert (got.op.name, list(got.attrs.newshape)) == ("reshape", [1, 5, 6, 3])
    blocks = relay.var("x", shape=(1, 2, 3, 1, 16))
    assert post_altered(to(blocks, "NCHW16c", "NCHW8c")).op.name == "layout_transform"
    assert post_altered(to(blocks, "NCHW16c", "NCHW")).op.name == "layout_transform"


def test_a_slice_of_everything_is_nothing():
    assert isinstance(post_altered(relay.strided_slice(X, [0], [56], axes=[2])), relay.Var)
    assert isinstance(post_altered(relay.strided_slice(X, [-1], [-57], [-1], [2])), relay.Call)
    assert isinstance(post_altered(relay.strided_slice(X, [1], [56], axes=[2])), relay.Call)


# ---- ConvertLayout ----


@pytest.mark.parametrize("name", ["resnet", "mobilenet"])
def test_networks_in_another_layout(name):
    rng = np.random.default_rng(5)
    mod, params = NETWORKS[name]()
    mod, params = no_softmax(mod), randomised(params, rng)
    x = rng.standard_normal((1, 3, 32, 32)).astype("float32")
    mod = tenon.IRModule({"main": bind_params_by_name(mod["main"], params)})
    wanted = {"nn.conv2d": ["NHWC", "default"]}
    passes = [getattr(transform, p)() for p in ("SimplifyInference", "FoldConstant")]
    func = run_passes(mod, *passes, transform.ConvertLayout(wanted), transform.FoldConstant())
    assert transforms(func)[0] == ("NCHW", "NHWC")
    assert len(transforms(func)) == 2
    got = build_and_run(tenon.IRModule({"main": func}), None, x)
    plain = build_and_run(mod, None, x)
    np.testing.assert_allclose(got, plain, atol=1e-4 * np.abs(plain).max())


def test_a_function_converts_an_operator():
    seen = []

    def convert(attrs, inputs, tinfos, desired_layouts):
        seen.append(list(desired_layouts))
        new = {**dict(attrs), "data_layout": "NCHW16c", "kernel_layout": "OIHW16i"}
        return relay.nn.conv2d(*inputs, **new)

    with TempOpAttr("nn.conv2d", "FTVMConvertOpLayout", convert):
        wanted = transform.ConvertLayout({"nn.conv2d": ["NCHW16c", "OIHW16i"]})
        got = run_passes(function(relay.nn.relu(conv(X, W))), wanted)
    want = run_passes(function(back(relay.nn.relu(conv16(X16, W16)))))
    tenon.ir.assert_structural_equal(got, want, map_free_vars=True)
    assert seen == [["NCHW16c", "OIHW16i"]]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"nn.conv2d": []}, "expected a list of layouts for each operator"),
        ({"nn.conv2d": ["NCHW16c", "default"]}, "Layout NCHW16c is not yet supported"),
        ({"nn.conv2d": ["?", "default"]}, "Layout . is not yet supported"),
    ],
)
def test_layouts_that_cannot_be(wanted, message):
    with pytest.raises(ValueError, match=message):
        run_passes(function(conv(X, W)), transform.ConvertLayout(wanted))


def test_a_layer_norm_is_one_kernel():
    rng = np.random.default_rng(6)
    a = rng.standard_normal((2, 5, 48)).astype("float32")
    x = relay.var("data", shape=a.shape)
    gamma, beta = (relay.const(rng.standard_normal(48).astype("float32")) for _ in range(2))
    func = relay.Function([x], relay.nn.layer_norm(x, gamma, beta))
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(tenon.IRModule({"main": func}), "llvm")
    assert lib.get_graph_json().count('"op": "tvm_op"') == 1
    m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    m.run(data=a)
    want = (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5)
    want = want * gamma.data.numpy() + beta.data.numpy()
    np.testing.assert_allclose(m.get_output(0).numpy(), want, rtol=1e-4, atol=1e-5)


def test_attention_moves_nothing():
    rng = np.random.default_rng(7)
    arrays = [rng.standard_normal((2, 33, 48)).astype("float32") for _ in range(3)]
    q, k, v = (relay.var(n, shape=(2, 33, 48)) for n in "qkv")

    def heads(x, axes, shape):
        return relay.reshape(relay.transpose(relay.reshape(x, (2, 33, 4, 12)), axes), shape)

    rows = heads(q, (0, 2, 1, 3), (-1, 33, 12))
    columns = heads(k, (0, 2, 3, 1), (-1, 12, 33))
    scores = relay.nn.batch_matmul(rows, columns, transpose_b=False)
    weights = relay.nn.softmax(relay.reshape(scores, (2, 4, 33, 33)) / relay.const(3.0))
    values = heads(v, (0, 2, 1, 3), (-1, 33, 12))
    y = relay.nn.batch_matmul(relay.reshape(weights, (-1, 33, 33)), values, transpose_b=False)
    y = relay.transpose(relay.reshape(y, (2, 4, 33, 12)), (0, 2, 1, 3))
    mod = tenon.IRModule({"main": relay.Function([q, k, v], relay.reshape(y, (2, 33, 48)))})
    results = []
    for disabled in ([], ["FoldBatchMatmul"]):
        with tenon.transform.PassContext(opt_level=3, disabled_pass=disabled):
            lib = relay.build(mod, "llvm")
        assert ("transpose" in lib.get_graph_json()) == bool(disabled)
        m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
        m.run(**dict(zip("qkv", arrays, strict=True)))
        results.append(m.get_output(0).numpy())
    np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-5)
