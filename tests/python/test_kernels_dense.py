"""Dense layers whose rows have no room in cache beside their weights: sums in pieces."""

import subprocess

import numpy as np
import pytest
import tenon
from built import kernels_of
from machines import runnable
from tenon import relay
from tenon.contrib import graph_executor

rng = np.random.default_rng(5)


def layer(rows, units, features):
    """(lib, data, float64 reference) of a dense layer with bias, ReLU and a residual sum."""
    data = rng.uniform(-1, 1, (rows, features)).astype("float32")
    weight = rng.uniform(-1, 1, (units, features)).astype("float32")
    bias = rng.uniform(-1, 1, units).astype("float32")
    more = rng.uniform(-1, 1, (rows, units)).astype("float32")
    x = relay.var("x", shape=data.shape)
    y = relay.nn.dense(x, relay.const(weight), units=units)
    y = relay.nn.relu(relay.nn.bias_add(y, relay.const(bias)))
    y = relay.add(y, relay.const(more))
    want = np.maximum(data.astype("float64") @ weight.T.astype("float64") + bias, 0) + more
    return tenon.IRModule.from_expr(relay.Function([x], y)), data, want


def second_level():
    """Bytes of the cache that decides about pieces."""
    size = subprocess.run(["getconf", "LEVEL2_CACHE_SIZE"], capture_output=True, text=True)
    return int(size.stdout.strip() or 0)


def sums_of(lib):
    return max(str(kernel).count("T.init()") for kernel in kernels_of(lib).values())


@pytest.mark.parametrize("cpu", runnable(["native", "haswell", "skylake-avx512", "x86-64"]))
@pytest.mark.parametrize("rows, units", [(45, 70), (137, 64)])
def test_sums_in_pieces(cpu, rows, units):
    mod, data, want = layer(rows, units, 6144)
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(mod, f"llvm -mcpu={cpu}")
    model = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    model.run(x=data)
    np.testing.assert_allclose(model.get_output(0).numpy(), want, rtol=1e-4, atol=1e-3)
    if cpu == "skylake-avx512" or (cpu == "native" and second_level() == 2 << 20):
        assert sums_of(lib) > 1


def test_few_features_are_summed_at_once():
    mod, data, want = layer(45, 70, 256)
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(mod, "llvm")
    model = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    model.run(x=data)
    np.testing.assert_allclose(model.get_output(0).numpy(), want, rtol=1e-4, atol=1e-3)
    assert sums_of(lib) == 1


@pytest.mark.parametrize("cpu", ["native", "haswell", "x86-64"])
@pytest.mark.parametrize("rows", [1, 3])
def test_weights_that_are_read_by_turns(cpu, rows):
    mod, data, want = layer(rows, 600, max(512, second_level() // 3000 // 4 * 4))
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(mod, f"llvm -mcpu={cpu}")
    model = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    for _ in range(3):
        model.run(x=data)
        np.testing.assert_allclose(model.get_output(0).numpy(), want, rtol=1e-4, atol=1e-3)
    if cpu == "native" and second_level() >= 512 * 3000:  # then the weight is little larger
        assert "@turns" in lib.get_lib().get_source()
