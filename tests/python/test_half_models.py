"""Models of float16 and bfloat16: computed with float32, rounded where they say so."""

import json

import ml_dtypes
import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor

pytestmark = pytest.mark.unsanitized

TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2}  # of the largest result
CPUS = ["native", "haswell", "x86-64", "skylake-avx512"]
WIDTHS = {"haswell": "avx2", "skylake-avx512": "avx512vl"}


def runs_here(cpu):
    flags = open("/proc/cpuinfo", encoding="utf-8").read()
    return cpu not in WIDTHS or WIDTHS[cpu] in flags


def weight(seed, dtype, *shape):
    """Numbers that all the types have."""
    scale = np.sqrt(2 / np.prod(shape[1:]))
    values = np.random.default_rng(seed).normal(0, scale, shape)
    return values.astype(ml_dtypes.bfloat16).astype(TYPES.get(dtype, dtype))


def constant(seed, dtype, *shape):
    return relay.const(weight(seed, dtype, *shape), dtype)


def network(dtype):
    """A block of a mobile network and a head, of odd sizes."""
    x = relay.var("x", shape=(1, 5, 15, 13), dtype=dtype)
    conv = relay.nn.conv2d
    y = conv(x, constant(1, dtype, 24, 5, 3, 3), channels=24, kernel_size=(3, 3), padding=(1, 1))
    scale, shift = constant(2, dtype, 24), constant(3, dtype, 24)
    mean, ones = constant(4, dtype, 24), relay.const(np.ones(24, TYPES.get(dtype, dtype)), dtype)
    y = relay.clip(relay.nn.batch_norm(y, scale, shift, mean, ones)[0], 0, 6)
    y = conv(
        y,
        constant(5, dtype, 24, 1, 3, 3),
        channels=24,
        groups=24,
        kernel_size=(3, 3),
        padding=(1, 1),
        strides=(2, 2),
    )
    z = conv(y, constant(6, dtype, 40, 24, 1, 1), channels=40, kernel_size=(1, 1))
    z = relay.nn.relu(relay.nn.bias_add(z, constant(7, dtype, 40)))
    w = conv(z, constant(8, dtype, 40, 40, 3, 3), channels=40, kernel_size=(3, 3), padding=(1, 1))
    z = relay.nn.avg_pool2d(w + z, pool_size=(2, 2), strides=(2, 2))
    z = relay.nn.batch_flatten(relay.nn.max_pool2d(z, pool_size=(2, 2)))
    return relay.nn.dense(z, constant(9, dtype, 33, 240)), {"x": (1, 5, 15, 13)}


def attention(dtype):
    """Products of what is known at run time only, softmax, layer norm; a table of words."""
    table = constant(1, dtype, 50, 48)
    words = relay.var("words", shape=(13,), dtype="int32")
    x = relay.var("x", shape=(13, 48), dtype=dtype)
    h = relay.add(x, relay.take(table, words, axis=0))
    ones, zeros = np.ones(48), np.zeros(48)
    h = relay.nn.layer_norm(h, relay.const(ones, dtype), relay.const(zeros, dtype))

    def heads(seed):
        y = relay.nn.dense(h, constant(seed, dtype, 48, 48))
        return relay.transpose(relay.reshape(y, (13, 3, 16)), (1, 0, 2))

    scores = relay.nn.softmax(relay.nn.batch_matmul(heads(2), heads(3)))
    values = relay.transpose(heads(4), (0, 2, 1))
    y = relay.transpose(relay.nn.batch_matmul(scores, values), (1, 0, 2))
    return relay.add(relay.reshape(y, (13, 48)), h), {"x": (13, 48), "words": (13,)}


MODELS = {"network": network, "attention": attention}


def inputs(shapes, dtype):
    rng = np.random.default_rng(0)
    values = {"x": weight(11, dtype, *shapes["x"])}
    if "words" in shapes:
        values["words"] = rng.integers(0, 50, shapes["words"]).astype("int32")
    return values


def run(mod, data, target="llvm", level=2):
    with tenon.transform.PassContext(opt_level=level):
        lib = relay.build(mod, target)
    g = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    for name, value in data.items():
        if value.dtype == ml_dtypes.bfloat16:
            value = tenon.nd.empty(value.shape, "bfloat16").copyfrom(value.view("uint16"))
        g.set_input(name, value)
    g.run()
    out = g.get_output(0)
    values = out.numpy()
    if out.dtype == "bfloat16":
        values = values.view(ml_dtypes.bfloat16)
    return values.astype("float64"), lib


def module(body):
    return tenon.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))


def close(got, want, dtype):
    assert np.abs(got - want).max() <= TOLERANCE[dtype] * np.abs(want).max()


def wanted(name):
    body, shapes = MODELS[name]("float32")
    return run(module(body), inputs(shapes, "float32"), level=0)[0]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("dtype", TYPES)
def test_models_give_the_numbers_of_float32(dtype, cpu, name):
    if not runs_here(cpu):
        pytest.skip(f"not a {cpu}")
    body, shapes = MODELS[name](dtype)
    got, lib = run(module(body), inputs(shapes, dtype), f"llvm -mcpu={cpu}")
    close(got, wanted(name), dtype)
    if name == "network":
        nodes = json.loads(lib.get_graph_json())["nodes"]
        assert any("conv2d_NCHWc" in n["name"] for n in nodes)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("dtype", TYPES)
def test_models_made_by_to_mixed_precision(dtype, cpu, name):
    if not runs_here(cpu):
        pytest.skip(f"not a {cpu}")
    body, shapes = MODELS[name]("float32")
    mod = relay.transform.InferType()(module(body))
    mod = relay.transform.InferType()(relay.transform.ToMixedPrecision(dtype)(mod))
    got, _ = run(mod, inputs(shapes, "float32"), f"llvm -mcpu={cpu}")
    close(got, wanted(name), dtype)


@pytest.mark.parametrize("cpu", ["native", "x86-64"])
@pytest.mark.parametrize("like", [False, True])
def test_casts_of_the_program_round(cpu, like):
    values = np.float32([0.1, 1 / 3, 65504, 65520, 1e-8, 6e-8, 3e38, -0.0, np.inf, np.nan, 1e-40])
    values = np.concatenate([values, np.random.default_rng(0).normal(0, 1e-4, 90).astype("f")])
    x = relay.var("x", shape=values.shape)
    half = relay.const(0.0, "float16")
    rounded = relay.cast_like(x, half) if like else relay.cast(x, "float16")
    body = relay.cast(relay.add(rounded, half), "float32")
    got, _ = run(module(body), {"x": values}, f"llvm -mcpu={cpu}")
    with np.errstate(over="ignore"):
        want = values.astype("float16").astype("float64")
    np.testing.assert_array_equal(got, want)


def sampled(dtype):
    """An image read between its pixels: where, float16 tells to a quarter of one only."""
    x = relay.var("x", shape=(1, 3, 301, 401), dtype=dtype)
    turn = relay.const(np.float32([[[1, 0.125, 0], [0, 0.75, 0.25]]]), dtype)
    return relay.image.grid_sample(x, relay.image.affine_grid(turn, (111, 222)))


def cropped(dtype):
    x = relay.var("x", shape=(1, 3, 301, 401), dtype=dtype)
    boxes = relay.const(np.float32([[0.25, 0.25, 0.75, 1]]), dtype)
    first = relay.const(np.int32([0]))
    return relay.image.crop_and_resize(x, boxes, first, (97, 83), layout="NCHW")


@pytest.mark.parametrize("model", [sampled, cropped])
def test_places_in_images_are_computed_in_float32(model):
    data = np.random.default_rng(1).standard_normal((1, 3, 301, 401)).astype("float16")
    want, _ = run(module(model("float32")), {"x": data.astype("float32")}, level=0)
    got, _ = run(module(model("float16")), {"x": data})
    close(got, want, "float16")


@pytest.mark.parametrize("dtype", TYPES)
def test_sums_are_those_of_float32(dtype):
    """Sums in the small type would stop growing."""
    x, w = weight(1, dtype, 3, 8192), np.abs(weight(2, dtype, 5, 8192))
    data = np.abs(x)
    a = relay.var("x", shape=x.shape, dtype=dtype)
    got, _ = run(module(relay.nn.dense(a, relay.const(w, dtype))), {"x": data})
    want = data.astype("float64") @ w.astype("float64").T
    close(got, want, dtype)


FEW = [
    ("haswell", 1, 33, 65),
    ("haswell", 8, 260, 258),
    ("haswell", 2, 7, 40),
    ("native", 1, 130, 1),
]
FEW += [("skylake-avx512", 2, 70, 31), ("x86-64", 1, 33, 65)]


@pytest.mark.parametrize("op", ["dense", "matmul"])
@pytest.mark.parametrize("cpu, rows, units, features", FEW)
def test_weights_for_few_rows_stay_small(cpu, rows, units, features, op):
    """Where an instruction converts them."""
    if not runs_here(cpu):
        pytest.skip(f"not a {cpu}")
    x, w = weight(1, "float16", rows, features), weight(2, "float16", units, features)
    a = relay.var("x", shape=x.shape, dtype="float16")
    if op == "dense":
        y = relay.nn.dense(a, relay.const(w, "float16"))
    else:
        y = relay.nn.matmul(a, relay.const(np.ascontiguousarray(w.T), "float16"))
    got, lib = run(module(relay.nn.relu(y)), {"x": x}, f"llvm -mcpu={cpu}")
    if cpu != "native":
        small = "float32" if cpu == "x86-64" else "float16"
        assert {str(p.dtype) for p in lib.get_params().values()} == {small}
    close(got, np.maximum(x.astype("float64") @ w.astype("float64").T, 0), "float16")


def test_what_is_moved_stays_small():
    """A table of words is not made twice as large."""
    table = relay.const(weight(1, "float16", 5000, 32), "float16")
    words = relay.var("words", shape=(7,), dtype="int32")
    body = relay.exp(relay.take(table, words, axis=0))
    data = np.arange(7, dtype="int32") * 700
    got, lib = run(module(body), {"words": data})
    assert {str(p.dtype) for p in lib.get_params().values()} == {"float16"}
    close(got, np.exp(table.data.numpy()[data].astype("float64")), "float16")


def convert(values, to, cpu):
    """In vectors of 16."""
    x = tenon.te.placeholder(values.shape, str(values.dtype), name="x")
    y = tenon.te.compute(values.shape, lambda i: x[i].astype(to))
    s = tenon.te.create_schedule(y.op)
    s[y].vectorize(s[y].split(y.op.axis[0], 16)[1])
    out = tenon.nd.empty(values.shape, to)
    tenon.build(s, [x, y], f"llvm -mcpu={cpu}")(tenon.nd.array(values), out)
    return out.numpy()


@pytest.mark.parametrize("cpu", CPUS)
def test_vectors_are_converted_exactly(cpu):
    """Every value of float16; floats at, beside and far from the middle between two of them."""
    if not runs_here(cpu):
        pytest.skip(f"not a {cpu}")
    halves = np.arange(1 << 16, dtype="uint16").view("float16")
    wide = convert(halves, "float32", cpu)
    np.testing.assert_array_equal(wide, halves.astype("float32"))
    np.testing.assert_array_equal(np.signbit(wide), np.signbit(halves))
    middle = (wide[:31743].astype("float64") + wide[1:31744]) / 2
    floats = middle.astype("float32").view("uint32")
    anything = np.random.default_rng(0).integers(0, 1 << 32, 64, dtype="uint32")
    floats = np.concatenate([floats - 1, floats, floats + 1, anything, -floats[:3]]).view("float32")
    floats = floats[: floats.size // 16 * 16]
    with np.errstate(over="ignore", invalid="ignore"):
        want = floats.astype("float16")
    np.testing.assert_array_equal(convert(floats, "float16", cpu), want)
