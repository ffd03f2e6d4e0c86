"""Random programs with random annotations compute on two devices what they do on one."""

import random

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor
from tenon.runtime.vm import VirtualMachine

HOST, DEVICE = tenon.cpu(0), tenon.opencl(0)
BOTH = {"cpu": "llvm", "opencl": "opencl"}
pytestmark = pytest.mark.skipif(not DEVICE.exist, reason="no OpenCL device")

UNARY = [
    relay.tanh,
    relay.nn.relu,
    relay.sigmoid,
    lambda a: relay.split(a, 3, 1)[1] * relay.const(np.ones((2, 3), "float32")),
    lambda a: relay.reshape(relay.reshape(a, (6,)), (2, 3)),
    lambda a: a + relay.const(np.full((2, 3), 0.5, "float32")),
]
BINARY = [
    relay.add,
    relay.multiply,
    relay.maximum,
    lambda a, b: relay.strided_slice(relay.concatenate([a, b], 0), [1, 0], [3, 3]),
]


def programs(draw):
    """A program with annotations, the same without."""
    params = [relay.var(f"x{i}", shape=(2, 3)) for i in range(3)]
    plain, marked = list(params), list(params)
    for _ in range(draw.randint(3, 12)):
        op = draw.choice(UNARY if draw.random() < 0.5 else BINARY)
        count = 1 if op in UNARY else 2
        operands = [draw.randrange(len(plain)) for _ in range(count)]
        plain.append(op(*[plain[i] for i in operands]))
        result = op(*[marked[i] for i in operands])
        for _ in range(draw.choice([0, 0, 1, 1, 2])):
            device = draw.choice(["cpu", "opencl"])
            result = relay.annotation.on_device(result, device, draw.random() < 0.2)
        marked.append(result)
    outputs = [draw.randrange(len(plain)) for _ in range(draw.randint(2, 3))]
    return [
        tenon.IRModule.from_expr(relay.Function(params, relay.Tuple([v[i] for i in outputs])))
        for v in (marked, plain)
    ]


def run_graph(lib, devices, inputs):
    module = graph_executor.GraphModule(lib["default"](*devices))
    for i, value in enumerate(inputs):
        module.set_input(f"x{i}", value)
    module.run()
    module.run()
    return [module.get_output(i).numpy() for i in range(module.get_num_outputs())]


@pytest.mark.parametrize("seed", range(12))
def test_random_annotations(seed):
    marked, plain = programs(random.Random(seed))
    inputs = [np.random.RandomState(seed + i).rand(2, 3).astype("float32") for i in range(3)]
    want = run_graph(relay.build(plain, "llvm"), [HOST], inputs)
    fallback = [1, 4][seed % 2]
    config = {"relay.fallback_device_type": fallback}
    with tenon.transform.PassContext(opt_level=seed % 4, config=config):
        lib, exe = relay.build(marked, BOTH), relay.vm.compile(marked, BOTH)
    got = run_graph(lib, [HOST, DEVICE], inputs)
    machine = VirtualMachine(exe, [HOST, DEVICE]).run(*inputs)
    for a, b, c in zip(want, got, machine, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(c.numpy(), a, rtol=1e-4, atol=1e-5)
