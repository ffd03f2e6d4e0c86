"""Channels that go from blocks of one length to blocks of another, in vectors."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor
from test_kernels_bytes import CPUS


def blocked(x, block):
    n, c, h, w = x.shape
    return x.reshape(n, c // block, block, h, w).transpose(0, 1, 3, 4, 2)


def run(body, data, cpu):
    function = relay.Function(relay.analysis.free_vars(body), body)
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(tenon.IRModule.from_expr(function), f"llvm -mcpu={cpu}")
    g = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    g.run(**data)
    return g.get_output(0).numpy(), lib.get_lib()


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize(
    ("channels", "blocks"),
    [((32, 32), (16, 32)), ((64, 64), (32, 16)), ((32, 96), (8, 64)), ((24, 48), (8, 24))],
)
def test_blocks_of_other_lengths(cpu, dtype, channels, blocks):
    """Joined, with a border: parts of a row come from either, or from none."""
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 200, (2, c, 5, 7)).astype(dtype) for c in channels)
    data = {"x": blocked(x, blocks[0]), "y": blocked(y, blocks[0])}
    both = [relay.var(name, shape=v.shape, dtype=dtype) for name, v in data.items()]
    body = relay.add(relay.concatenate(both, axis=1), relay.const(np.array(3, dtype)))
    body = relay.nn.pad(body, ((0, 0), (0, 0), (1, 2), (0, 1), (0, 0)), pad_value=9)
    body = relay.layout_transform(body, f"NCHW{blocks[0]}c", f"NCHW{blocks[1]}c")
    want = np.pad(
        np.concatenate([x, y], 1) + np.array(3, dtype),
        [(0, 0), (0, 0), (1, 2), (0, 1)],
        constant_values=9,
    )
    np.testing.assert_array_equal(run(body, data, cpu)[0], blocked(want, blocks[1]))
