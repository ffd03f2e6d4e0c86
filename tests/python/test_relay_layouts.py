"""AlterOpLayout: which layouts operators follow, how transforms meet, and that nothing changes in
what is computed."""

import numpy as np
import pytest
import tenon
from layout_programs import (
    NETWORKS,
    W2,
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
from tenon import relay
from tenon.relay import transform
from tenon.relay.build_module import bind_params_by_name
from tenon.relay.testing.temp_op_attr import TempOpAttr
from tenon.relay.transform.infer_layout_utils import InferCorrectLayoutOutput


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
    check(
        lambda y: y + plain, lambda y: back(y + to(relay.expand_dims(plain, 0), "NCHW", "NCHW16c"))
    )
    check(
        lambda y: plain - y, lambda y: back(to(relay.expand_dims(plain, 0), "NCHW", "NCHW16c") - y)
    )
    rows = bias(56, 56)
    check(
        lambda y: y * rows,
        lambda y: back(y * to(relay.expand_dims(rows, 0, 2), "NCHW", "NCHW1c")),
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
    spread = relay.expand_dims(relay.expand_dims(b, axis=1, num_newaxis=2), axis=0)

    def alter(attrs, inputs, tinfos, out_type):
        return inputs[0] + relay.expand_dims(inputs[1], 1, 2)

    want = run_passes(function(back(conv16(X16, W16) + to(spread, "NCHW", "NCHW16c"))))
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
