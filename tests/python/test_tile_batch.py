"""TileBatch: numbers stay the same, and a build uses it where values would leave the cache."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor

rng = np.random.default_rng(0)


def conv(x, size_in, size_out, kernel=3, **attrs):
    w = rng.standard_normal((size_out, size_in // attrs.get("groups", 1), kernel, kernel))
    pad = (kernel // 2,) * 4
    weight = relay.const(w.astype("float32") * 0.1)
    return relay.nn.conv2d(
        x, weight, channels=size_out, kernel_size=(kernel, kernel), padding=pad, **attrs
    )


def network(batch, size, width):
    """Residual, depthwise and branching layers, a value that is read behind them, two results."""
    x = relay.var("x", shape=(batch, 3, size, size))
    a = relay.nn.relu(conv(x, 3, width))
    b = relay.clip(conv(a, width, width, groups=width), 0, 6)
    c = relay.add(a, conv(b, width, width, 1))
    gate = relay.sigmoid(conv(relay.nn.global_avg_pool2d(c), width, width, 1))
    d = relay.concatenate([relay.multiply(c, gate), b], 1)
    pooled = relay.nn.max_pool2d(d, (2, 2), (2, 2))
    rows = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(pooled))
    w = relay.const(rng.standard_normal((5, 2 * width)).astype("float32"))
    few = relay.nn.avg_pool2d(a, (4, 4), (4, 4))
    heads = relay.Tuple([relay.nn.dense(rows, w), relay.sum(few, axis=[1, 2, 3])])
    mod = tenon.IRModule.from_expr(relay.Function([x], heads))
    return relay.transform.InferType()(mod)


def run(mod, data, **context):
    with tenon.transform.PassContext(opt_level=3, **context):
        lib = relay.build(mod, target="llvm")
    m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    m.run(x=data)
    return [m.get_output(i).numpy() for i in range(2)], lib


@pytest.mark.parametrize("threads, cache", [(1, 1 << 15), (2, 1 << 15), (3, 1 << 16)])
def test_same_numbers(threads, cache):
    mod = network(6, 16, 16)
    data = rng.standard_normal((6, 3, 16, 16)).astype("float32")
    want, _ = run(mod, data)
    split = relay.transform.TileBatch(threads, cache)(mod)
    assert split.astext().count("strided_slice") == 6 // threads
    got, _ = run(split, data)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("what", ["weight", "rows", "shape"])
def test_only_images_are_split(what):
    """Operands that have as many of something else as there are images."""
    n, shapes = 8, {"weight": (8, 8, 3, 3), "rows": (8, 16, 16), "shape": (8, 8, 1, 1)}
    x, other = relay.var("x", shape=(n, 8, 16, 16)), relay.var("o", shape=shapes[what])
    y = conv(conv(conv(x, 8, 8), 8, 8), 8, 8)
    if what == "weight":
        y = relay.nn.conv2d(y, other, padding=(1, 1), kernel_size=(3, 3), channels=8)
    elif what == "rows":
        y = relay.add(y, other)
    else:
        y = relay.add(y, relay.broadcast_to(other, (n, 8, 16, 16)))
    y = relay.nn.global_avg_pool2d(relay.nn.relu(conv(conv(y, 8, 8), 8, 8)))
    mod = tenon.IRModule.from_expr(relay.Function([x, other], y))
    mod = relay.transform.InferType()(mod)
    split = relay.transform.TileBatch(1, 1 << 14)(mod)
    data = [rng.standard_normal(s).astype("float32") for s in ((n, 8, 16, 16), shapes[what])]
    with tenon.transform.PassContext(opt_level=0):
        want, got = (
            relay.create_executor("graph", m, tenon.cpu(), "llvm").evaluate()(*data).numpy()
            for m in (mod, split)
        )
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


BUILDS = """
import tenon
from tenon import relay
from test_tile_batch import network


def is_split(size, width, **context):
    with tenon.transform.PassContext(opt_level=3, **context):
        lib = relay.build(network(8, size, width), target="llvm -mcpu=skylake-avx512")
    return "strided_slice" in lib.get_graph_json()


print(is_split(8, 16), is_split(96, 128, disabled_pass=["TileBatch"]), is_split(96, 128))
"""


def test_builds_split_large_batches():
    """On any machine: the caches are those of a named processor, the threads are two."""
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, "TENON_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", BUILDS], env=env, capture_output=True, text=True, timeout=600
    )
    assert done.stdout.split() == ["False", "False", "True"], done.stderr


def test_programs_of_other_forms_stay():
    x = relay.var("x", shape=(8, 16, 64, 64))
    value = relay.Let(v := relay.var("v"), relay.nn.relu(x), relay.add(v, v))
    mod = relay.transform.InferType()(tenon.IRModule.from_expr(relay.Function([x], value)))
    after = relay.transform.TileBatch(1, 1024)(mod)
    tenon.ir.assert_structural_equal(after, mod)
