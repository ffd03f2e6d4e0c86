"""Facts that operators state about themselves: each states all that passes ask of its kind, or is
listed here with the reason. A new operator that states nothing fails."""

from fnmatch import fnmatch
from operator import attrgetter

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay import transform
from tenon.relay.op import OpPattern

# not asked for any fact
OUTSIDE = {
    "instructions and marks": "vm.* memory.* call_lowered annotation.compiler_* on_device "
    "device_copy annotation.checkpoint debug",
    "values of the runtime that are not tensors": "optional.* sequence.* value.*",
    "static operators by the time passes ask": "dyn.*",
    "of integers in quanta, which are arguments": "qnn.*",
    "drawn numbers": "random.*",
    "integers of a few bits, which passes leave alone": "nn.bitpack nn.bitserial_*",
}
UNSET = {
    "precision": {
        "of integers and truth values": "all any argwhere bitwise_* fixed_point_* isfinite "
        " isinf isnan left_shift logical_* rank_rows right_shift searchsorted unravel_index",
        "made by passes that run later": "nn.contrib_* float_scale",
        "what a smaller type loses is not known": "acosh adv_index asinh atanh broadcast_to_like "
        "collapse_sum_* contrib_reverse_reshape cumprod cumsum dft einsum floor_divide floor_mod "
        "image.affine_grid image.crop_and_resize image.dilation2d image.grid_sample image.resize1d "
        "image.resize3d matrix_set_diag meshgrid mod nn.batch_to_space_nd nn.correlation "
        "nn.deformable_conv2d nn.dilate nn.mirror_pad nn.nll_loss nn.space_to_batch_nd nn.sparse_* "
        "nn.upsampling3d reinterpret reshape_like reverse_sequence scatter_* sequence_mask sign "
        "slice_like sliding_window sparse_* stft strided_set trilu trunc_divide trunc_mod unique "
        "vision.*",
        "gradients": "nn.*_grad",
    },
    "values": {
        "sorted, sought or scattered by values": "argsort argwhere rank_rows scatter_* "
        "searchsorted sort sparse_* topk unique vision.*",
        "kernels of their own, which nothing is moved into": "collapse_sum_* cumprod cumsum dft "
        "image.dilation2d nn.contrib_clear_border nn.contrib_conv2d_winograd_weight_transform "
        "nn.correlation nn.cross_entropy* nn.nll_loss nn.sparse_* stft",
        "gone after SimplifyInference": "nn.dropout",
        "gradients": "nn.*_grad",
    },
    "apart": {
        "TileBatch is measured with layers of images": "nn.conv1d nn.conv3d nn.conv*_transpose "
        "nn.upsampling nn.upsampling3d image.resize* nn.depth_to_space nn.space_to_depth "
        "image.dilation2d nn.deformable_conv2d nn.correlation nn.mirror_pad nn.pad",
        "of two batches": "image.crop_and_resize image.grid_sample vision.roi_*",
        "without a layout that says where images are": "adv_index arange broadcast_to "
        "collapse_sum_to dft expand_dims full gather matrix_set_diag meshgrid nn.dropout "
        "nn.sparse_* one_hot ones reshape sparse_to_dense split squeeze stft strided_* tile topk "
        "trilu unique variance zeros nn.contrib_dense_pack",
        "gradients": "nn.*_grad",
    },
    "form": {
        "without others like them that passes know": "einsum image.dilation2d nn.adaptive_* "
        "nn.batch_norm nn.contrib_conv2d_winograd_* nn.correlation nn.deformable_conv2d "
        "nn.global_* nn.*_norm nn.l2_normalize nn.nll_loss nn.*softmax one_hot",
    },
    "scaling": {"a mark": "annotation.stop_fusion"},
    "range": {"a mark": "annotation.stop_fusion"},
}


def operators():
    """Those of the library: a row comes with a function that makes calls."""
    made = set(tenon._ffi.registry.list_global_func_names())
    for name in tenon.ir.Op.list_op_names():
        folder, _, last = f".{name}".rpartition(".")
        folder = ".qnn.op" if folder == ".qnn" else f".op{folder}"
        if f"relay{folder}._make.{last}" in made:
            yield name


def has_layout(name):
    """Do attributes name a layout? True where that is not known."""
    try:
        parameters = attrgetter(name)(relay.op).__signature__.parameters
    except AttributeError:
        return True
    return any("layout" in p for p in parameters)


def is_asked(fact, name, stated):
    """Is an operator of a kind that passes ask for the fact?"""
    channels = "channels" in stated.get("apart", "")
    if fact == "apart":
        return has_layout(name)
    if fact == "scaling":
        return channels and tenon.ir.Op.get(name).num_inputs == 1
    if fact == "form":
        return tenon.ir.Op.get(name).get_attr("TOpPattern") == OpPattern.OUT_ELEMWISE_FUSABLE
    return channels if fact == "range" else True


def listed(name, reasons):
    return any(fnmatch(name, word) for words in reasons.values() for word in words.split())


@pytest.mark.parametrize("fact", sorted(UNSET))
def test_operators_state_facts(fact):
    unset = set()
    for name in operators():
        stated = relay.op.facts(name)
        if fact not in stated and is_asked(fact, name, stated) and not listed(name, OUTSIDE):
            unset.add(name)
    undecided = sorted(n for n in unset if not listed(n, UNSET[fact]))
    assert not undecided, f"state `{fact}` in the rows of {undecided}: see docs/operators.md"
    words = [w for words in UNSET[fact].values() for w in words.split()]
    stale = [w for w in words if not any(fnmatch(n, w) for n in unset)]
    assert not stale, f"the rows state `{fact}`: {stale} need no reason"


def test_facts_and_their_values():
    values = relay.op.fact_values()
    assert set(values) == set(UNSET)
    for name in operators():
        for fact, value in relay.op.facts(name).items():
            assert value in values[fact]
    stated = relay.op.facts("nn.max_pool2d")
    assert stated["values"] == "chosen" and stated["scaling"] == "positive"
    assert relay.op.facts("exp")["apart"] == "images_and_channels"  # element by element
    assert relay.op.facts("tir.exp") == {}
    with pytest.raises(AttributeError, match="nn.no_such"):
        relay.op.facts("nn.no_such")
    with pytest.raises(TypeError):
        relay.op.facts(3)


def run(mod, *arrays):
    with tenon.transform.PassContext(opt_level=0):
        return relay.create_executor("graph", mod=mod, target="llvm").evaluate()(*arrays).numpy()


def numbers(*shape):
    return np.random.default_rng(0).uniform(-1, 1, shape).astype("float32")


def ops_of(mod):
    seen = []
    relay.analysis.post_order_visit(
        mod["main"], lambda e: seen.append(e.op.name) if isinstance(e, relay.Call) else None
    )
    return seen


@pytest.mark.parametrize(
    "layer",
    [
        relay.abs,
        relay.negative,
        lambda x: relay.nn.adaptive_max_pool2d(x, (3, 3)),
        lambda x: relay.nn.leaky_relu(x, 0.5),
    ],
)
def test_factors_pass_where_rows_say_so(layer):
    """FoldScaleAxis moves a positive factor through them into the weights."""
    x, w = relay.var("x", shape=(1, 4, 6, 6)), relay.const(numbers(2, 4, 3, 3))
    scale = relay.const(np.float32([0.5, 2, 3, 1]).reshape(4, 1, 1))
    mod = tenon.IRModule.from_expr(relay.nn.conv2d(layer(x * scale), w))
    folded = transform.ForwardFoldScaleAxis()(transform.InferType()(mod))
    folded = transform.FoldConstant()(folded)
    assert "multiply" in ops_of(mod) and "multiply" not in ops_of(folded)
    data = numbers(1, 4, 6, 6)
    np.testing.assert_allclose(run(folded, data), run(mod, data), rtol=1e-5, atol=1e-5)


def test_factors_stay_before_other_operators():
    x, w = relay.var("x", shape=(1, 4, 6, 6)), relay.const(numbers(2, 4, 3, 3))
    scale = relay.const(np.float32([0.5, 2, 3, 1]).reshape(4, 1, 1))
    for layer in (relay.exp, relay.round, lambda v: relay.clip(v, -1, 1)):
        mod = tenon.IRModule.from_expr(relay.nn.conv2d(layer(x * scale), w))
        kept = transform.ForwardFoldScaleAxis()(transform.InferType()(mod))
        assert "multiply" in ops_of(kept)


@pytest.mark.parametrize(
    "layer",
    [
        lambda x: relay.reverse(x, axis=3),
        lambda x: relay.nn.adaptive_max_pool2d(x, (2, 2)),
        lambda x: relay.nn.mirror_pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))),
        lambda x: relay.broadcast_to(x, (2, 2, 4, 4)),
        lambda x: relay.split(x, 2, axis=1)[1],
        relay.exp,
        lambda x: relay.multiply(x, x),
        lambda x: relay.nn.avg_pool2d(x, (2, 2), count_include_pad=True),
    ],
)
def test_moved_quanta_stay_integers(layer):
    """FakeQuantizationToInteger moves them as what they are; a tuple of results stays."""
    q = relay.var("q", shape=(1, 2, 4, 4), dtype="int8")
    x = relay.qnn.dequantize(q, relay.const(0.25), relay.const(3))
    y = relay.qnn.quantize(layer(x), relay.const(0.25), relay.const(3), out_dtype="int8")
    mod = tenon.IRModule.from_expr(y)
    got = transform.FakeQuantizationToInteger()(transform.InferType()(mod))
    data = np.arange(-16, 16, dtype="int8").reshape(1, 2, 4, 4)
    np.testing.assert_allclose(run(got, data), run(mod, data), atol=1)
    assert ("qnn.dequantize" in ops_of(got)) == ("split" in ops_of(mod))


def test_channels_are_added_behind_what_keeps_them_finite():
    """PadChannelsToVector moves its slice behind floor, not behind exp."""
    x, w = relay.var("x", shape=(1, 16, 8, 8)), relay.const(numbers(60, 16, 3, 3))
    last = relay.const(numbers(16, 60, 1, 1))
    data = numbers(1, 16, 8, 8)
    for layer, moves in ((relay.floor, True), (relay.exp, False)):
        y = relay.nn.conv2d(layer(relay.nn.conv2d(x, w, padding=(1, 1))), last)
        mod = transform.InferType()(tenon.IRModule.from_expr(y))
        with tenon.target.Target("llvm -mcpu=skylake-avx512"):
            got = transform.PadChannelsToVector()(mod)
        assert ("strided_slice" in ops_of(got)) != moves
        np.testing.assert_allclose(run(got, data), run(mod, data), rtol=1e-4, atol=1e-4)


def test_what_moves_values_moves_small_ones():
    """StoreActivationsInBF16 and ComputeInFloat32 leave values as they are stored."""
    x, w = relay.var("x", shape=(1, 16, 8, 8)), relay.const(numbers(16, 16, 3, 3))

    def conv(v):
        halves = relay.cast(v, "bfloat16"), relay.cast(w, "bfloat16")
        return relay.nn.conv2d(*halves, padding=(1, 1), out_dtype="float32")

    y = conv(relay.reverse(conv(x), axis=3))
    got = transform.StoreActivationsInBF16()(tenon.IRModule.from_expr(y))
    reverses = []
    relay.analysis.post_order_visit(
        got["main"],
        lambda e: reverses.append(e) if isinstance(e, relay.Call) and e.op.name == "reverse" else 0,
    )
    assert [e.checked_type.dtype for e in reverses] == ["bfloat16"]
    h = relay.var("h", shape=(2, 3), dtype="float16")
    for layer, stays in ((relay.squeeze, True), (relay.shape_of, True), (relay.exp, False)):
        mod = transform.ComputeInFloat32()(tenon.IRModule.from_expr(layer(h)))
        assert ("cast" not in ops_of(mod)) == stays


def round_quanta(call, types):
    """Rounding of what has steps of 1/4 or 1: a rule as programs write them."""
    x = call.args[0]
    own = types[x]
    one = relay.const(1.0)
    y = relay.qnn.requantize(
        x, own.scale, own.zero_point, one, own.zero_point, out_dtype=own.dtype, rounding="UPWARD"
    )
    return [y, tenon.ir.affine_type.TensorAffineType(one, own.zero_point, own.dtype, own.axis)]


def fake_quantized(layer):
    q = relay.var("q", shape=(2, 8), dtype="int8")
    x = relay.qnn.dequantize(q, relay.const(0.25), relay.const(3))
    y = relay.qnn.quantize(layer(x), relay.const(1.0), relay.const(3), out_dtype="int8")
    return transform.InferType()(tenon.IRModule.from_expr(y))


def test_rules_of_programs_for_quanta():
    from tenon.relay.testing.temp_op_attr import TempOpAttr

    key = "FTVMFakeQuantizationToInteger"
    mod = fake_quantized(relay.round)
    integers = transform.FakeQuantizationToInteger()
    assert "round" in ops_of(integers(mod))  # without a rule
    data = np.arange(-8, 8, dtype="int8").reshape(2, 8)
    with TempOpAttr("round", key, round_quanta):
        got = integers(mod)
        assert ops_of(got) == ["qnn.requantize"]
        assert np.abs(run(got, data).astype(int) - run(mod, data)).max() <= 1
    # a rule goes before the pass's own, and may leave a call as it is
    with TempOpAttr("reshape", key, lambda call, types: None):
        kept = integers(fake_quantized(lambda x: relay.reshape(x, (4, 4))))
        assert "qnn.dequantize" in ops_of(kept)

    def pair(call, types):
        affine = types[call.args[0]]
        assert [str(t.dtype) for t in affine.types] == ["int8", "int8"]
        return [relay.concatenate(call.args[0], 0), affine.types[0]]

    with TempOpAttr("concatenate", key, pair):
        got = integers(fake_quantized(lambda x: relay.concatenate([x, x], 0)))
        assert ops_of(got) == ["concatenate", "qnn.requantize"]


def test_rules_are_not_asked_about_two_scales_of_one_tensor():
    from tenon.relay.testing.temp_op_attr import TempOpAttr

    def add(call, types):
        own = types[call.args[0]]
        sums = relay.add(*(relay.cast(x, "int32") for x in call.args))
        zero = relay.const(2 * int(own.zero_point.data.numpy()))
        return [sums, tenon.ir.TensorAffineType(own.scale, zero, "int32", -1)]

    q = relay.var("q", shape=(2, 8), dtype="int8")
    data = np.arange(-8, 8, dtype="int8").reshape(2, 8)
    for scales, asked in (((0.25, 0.25), True), ((0.25, 2.0), False)):
        a, b = (relay.qnn.dequantize(q, relay.const(s), relay.const(3)) for s in scales)
        y = relay.qnn.quantize(relay.add(a, b), relay.const(1.0), relay.const(3), out_dtype="int8")
        mod = transform.InferType()(tenon.IRModule.from_expr(y))
        with TempOpAttr("add", "FTVMFakeQuantizationToInteger", add):
            got = transform.FakeQuantizationToInteger()(mod)
        assert ("qnn.add" not in ops_of(got)) == asked  # else the pass's own, with both scales
        assert np.abs(run(got, data).astype(int) - run(mod, data)).max() <= 1


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        (lambda call, types: 3, "an affine type, or None, got a number"),
        (lambda call, types: [call], "a list of an expression and an affine"),
        (lambda call, types: [call, call], "a list of an expression and an affine"),
        (lambda call, types: call, "got relay.Call|got Call"),
        (
            lambda call, types: [call, tenon.ir.TupleAffineType([relay.TensorType((2, 8))])],
            "a list of an expression and an affine",
        ),
    ],
)
def test_bad_rules_for_quanta(rule, error):
    from tenon.relay.testing.temp_op_attr import TempOpAttr

    with TempOpAttr("round", "FTVMFakeQuantizationToInteger", rule):
        with pytest.raises(TypeError, match=error):
            transform.FakeQuantizationToInteger()(fake_quantized(relay.round))
