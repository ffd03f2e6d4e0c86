"""Relay programs on an OpenCL device: every stage of a kernel is shared out among threads."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor

DEVICE = tenon.opencl(0)
pytestmark = pytest.mark.skipif(not DEVICE.exist, reason="no OpenCL device")
RNG = np.random.RandomState(0)


def run(params, body, *arrays, level=3):
    """The results of a program, and its library."""
    mod = tenon.IRModule.from_expr(relay.Function(params, body))
    with tenon.transform.PassContext(opt_level=level):
        lib = relay.build(mod, "opencl")
    module = graph_executor.GraphModule(lib["default"](DEVICE))
    module.run(**{p.name_hint: a for p, a in zip(params, arrays, strict=True)})
    assert module.get_output(0).device == DEVICE
    return [module.get_output(i).numpy() for i in range(module.get_num_outputs())], lib


def check(params, body, *arrays, rtol=1e-5):
    """The device computes what the processor does."""
    mod = tenon.IRModule.from_expr(relay.Function(params, body))
    want = relay.create_executor("graph", mod, tenon.cpu(), "llvm").evaluate()(*arrays)
    want = want if isinstance(want, list) else [want]
    got, lib = run(params, body, *arrays)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b.numpy(), rtol=rtol, atol=1e-5)
    return lib


@pytest.mark.parametrize("shape", [(), (1,), (64,), (65,), (3, 5, 7), (200, 333)])
def test_elementwise(shape):
    x, y = relay.var("x", shape=shape), relay.var("y", shape=shape)
    data = [np.asarray(RNG.rand(*shape), "float32") for _ in range(2)]
    check([x, y], relay.tanh(x * y) + relay.exp(x), *data)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2)])
@pytest.mark.parametrize("op", [relay.sum, relay.max, relay.mean, relay.argmax])
def test_reductions(op, axis):
    x = relay.var("x", shape=(5, 70, 3))
    check([x], op(x, axis=axis), RNG.rand(5, 70, 3).astype("float32"))


def test_network():
    """Convolution, pooling, normalization and a dense layer."""
    x = relay.var("x", shape=(2, 3, 16, 16))
    w = relay.const(RNG.rand(8, 3, 3, 3).astype("float32") - 0.5)
    e = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=8, padding=(1, 1))
    one, zero = relay.const(np.ones(8, "float32")), relay.const(np.zeros(8, "float32"))
    e = relay.nn.relu(relay.nn.batch_norm(e, one, zero, zero, one)[0])
    e = relay.nn.max_pool2d(e, pool_size=(2, 2), strides=(2, 2))
    e = relay.nn.batch_flatten(e)
    e = relay.nn.dense(e, relay.const(RNG.rand(10, 8 * 64).astype("float32") - 0.5))
    check([x], relay.nn.softmax(e), RNG.rand(2, 3, 16, 16).astype("float32"), rtol=1e-3)


def test_what_has_no_loops_runs_in_one_thread():
    """Sorting is one statement over whole arrays."""
    x = relay.var("x", shape=(4, 50))
    body = relay.Tuple([relay.argsort(x, axis=1), relay.cumsum(x, axis=0)])
    check([x], body, RNG.rand(4, 50).astype("float32"))


def test_library_of_kernels(tmp_path):
    x = relay.var("x", shape=(300,))
    (got,), lib = run([x], relay.exp(x), np.zeros(300, "float32"))
    assert (got == 1).all()
    source = lib.lib.imported_modules[0].get_source()
    assert "get_group_id(0)" in source and "get_local_id(0)" in source
    lib.export_library(str(tmp_path / "lib.so"))
    loaded = tenon.runtime.load_module(str(tmp_path / "lib.so"))
    module = graph_executor.GraphModule(loaded["default"](DEVICE))
    module.run(x=np.zeros(300, "float32"))
    assert (module.get_output(0).numpy() == 1).all()
