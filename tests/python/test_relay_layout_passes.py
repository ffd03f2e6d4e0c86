"""Passes about layouts besides AlterOpLayout: Legalize, ConvertLayout, what is simpler afterwards,
layer norms and attention as few kernels."""

import numpy as np
import pytest
import tenon
from layout_programs import (
    NETWORKS,
    W16,
    X16,
    W,
    X,
    back,
    blocked,
    build_and_run,
    check,
    conv,
    conv16,
    function,
    no_softmax,
    randomised,
    run_passes,
    to,
    transforms,
)
from tenon import relay, topi
from tenon.contrib import graph_executor
from tenon.relay import transform
from tenon.relay.build_module import bind_params_by_name
from tenon.relay.testing.temp_op_attr import TempOpAttr

# ---- Legalize ----


def legalized(func, target="llvm -mcpu=skylake-avx512"):
    return run_passes(func, transform.Legalize(), target=target)


def whole(func):
    return run_passes(
        func,
        transform.CanonicalizeOps(),
        transform.PadChannelsToVector(),
        target="llvm -mcpu=skylake-avx512",
    )


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
    plain = build_and_run(
        mod, None, array, disabled_pass=["Legalize", "PadChannelsToVector", "AlterOpLayout"]
    )
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


@pytest.mark.parametrize("channels", [1, 2, 21, 30, 40, 200])
def test_channels_without_blocks_get_more(channels):
    rng = np.random.default_rng(4)
    w = rng.standard_normal((channels, 16, 3, 3)).astype("float32")
    a = rng.standard_normal((1, 16, 9, 9)).astype("float32")
    x = relay.var("data", shape=a.shape)
    func = relay.Function([x], conv(x, relay.const(w), channels=channels))
    call = whole(func).body
    assert call.op.name == "strided_slice"
    assert call.args[0].attrs.channels == {1: 4, 2: 4, 21: 32, 30: 32, 40: 48, 200: 224}[channels]
    compare(func, a)


def test_no_slice_is_left_between_convolutions():
    """What comes after a convolution of 40 channels until the next one works on 48."""
    rng = np.random.default_rng(5)
    a = rng.standard_normal((2, 16, 9, 9)).astype("float32")

    def weight(*shape):
        return relay.const(rng.standard_normal(shape).astype("float32"))

    x = relay.var("data", shape=a.shape)
    y = conv(x, weight(40, 16, 3, 3), channels=40)
    y = relay.sigmoid(relay.nn.bias_add(y, weight(40)))
    y = relay.nn.conv2d(
        y, weight(40, 1, 3, 3), padding=(1, 1), groups=40, channels=40, kernel_size=(3, 3)
    )
    gate = relay.mean(y, axis=[2, 3], keepdims=True)
    gate = relay.nn.conv2d(gate, weight(10, 40, 1, 1), channels=10, kernel_size=(1, 1))
    gate = relay.nn.conv2d(gate, weight(40, 10, 1, 1), channels=40, kernel_size=(1, 1))
    y = relay.multiply(y, relay.clip(relay.divide(gate, relay.const(6.0)), 0.0, 1.0))
    y = relay.nn.max_pool2d(relay.add(y, y), (2, 2), (2, 2))
    func = relay.Function([x], conv(y, weight(32, 40, 3, 3), channels=32))
    names = []
    relay.analysis.post_order_visit(
        whole(func), lambda e: names.append(e.op.name) if isinstance(e, relay.Call) else None
    )
    assert "strided_slice" not in names
    assert names.count("nn.pad") >= 6
    compare(func, a)


def test_slices_of_the_program_stay():
    """What they leave out may not be finite."""
    rng = np.random.default_rng(6)
    a = rng.standard_normal((1, 16, 9, 9)).astype("float32")
    a[:, 8:] = np.nan
    x = relay.var("data", shape=a.shape)
    few = relay.strided_slice(x, [0], [8], strides=[1], axes=[1])
    w = relay.const(rng.standard_normal((16, 8, 3, 3)).astype("float32"))
    func = relay.Function([x], conv(relay.sigmoid(few), w, channels=16))
    assert np.isfinite(build_and_run(tenon.IRModule({"main": func}), None, a)).all()
    compare(func, a)


def test_one_channel_is_spread_over_many():
    rng = np.random.default_rng(7)
    a = rng.standard_normal((1, 16, 9, 9)).astype("float32")
    x = relay.var("data", shape=a.shape)
    w, by = (rng.standard_normal(s).astype("float32") for s in ((1, 16, 3, 3), (5, 1, 1)))
    func = relay.Function([x], conv(x, relay.const(w), channels=1) * relay.const(by))
    assert whole(func).body.checked_type.concrete_shape == (1, 5, 9, 9)
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
    all_axes = to(relay.expand_dims(b, 0), "NCHW", "NCHW16c")
    want = back(relay.nn.depth_to_space(inner + all_axes, 2, layout="NCHW16c"))
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
        lambda y: back(relay.strided_slice(y, [0], [2], [1], axes=[1])),
    )
    check(
        lambda y: relay.strided_slice(y, [0], [31], axes=[1]),
        lambda y: relay.strided_slice(back(y), [0], [31], axes=[1]),
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


AVX2 = "llvm -mtriple=x86_64-linux-gnu -mcpu=core-avx2"


def test_hooks_can_leave_a_case_to_the_library():
    seen = []

    def alter(attrs, inputs, tinfos, out_type):
        made = topi.nn.conv2d_alter_layout(attrs, inputs, tinfos, out_type)
        seen.append(made)
        return made

    y = relay.nn.conv2d(X, W, channels=64, kernel_size=(3, 3), padding=(1, 1))
    own = run_passes(function(y), transform.AlterOpLayout(), target=AVX2)
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter):
        by_hook = run_passes(function(y), transform.AlterOpLayout(), target=AVX2)
    tenon.ir.assert_structural_equal(by_hook, own)
    assert [e.op.name for e in seen] == ["nn.contrib_conv2d_NCHWc"]


def test_the_library_says_where_it_has_no_choice():
    dense = relay.nn.dense(relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3)))
    dense = transform.InferType()(tenon.IRModule.from_expr(dense))["main"].body
    types = [a.checked_type for a in dense.args]
    given = dense.attrs, dense.args, types, dense.checked_type
    with tenon.target.Target("c"):
        assert topi.nn.dense_alter_layout(*given) is None
        with pytest.raises(TypeError, match=r"expected attributes relay\.attrs\.DenseAttrs, got"):
            topi.nn.dense_alter_layout(relay.exp(X).attrs, *given[1:])
        with pytest.raises(ValueError, match="expected a type for each of 2 arguments, got 1"):
            topi.nn.dense_alter_layout(dense.attrs, dense.args, types[:1], dense.checked_type)
