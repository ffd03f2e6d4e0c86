"""Concatenates whose operands are computed where they end: graph JSON, numbers, hostile graphs."""

import json

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor

rng = np.random.default_rng(0)


def build(make, shape=(1, 16, 8, 8), **config):
    """The library of a function of one input."""
    x = relay.var("x", shape=shape)
    mod = tenon.IRModule.from_expr(relay.Function([x], make(x)))
    with tenon.transform.PassContext(opt_level=3, **config):
        return relay.build(mod, target="llvm")


def run(lib, data):
    m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    for _ in range(2):
        m.run(x=data)
    return [m.get_output(i).numpy() for i in range(m.get_num_outputs())]


def joins(lib):
    return [
        n
        for n in json.loads(lib.get_graph_json())["nodes"]
        if n["name"].startswith("tvmgen") and n["attrs"]["func_name"] == "__join"
    ]


def sums(x, *axes):
    """A kernel that FuseOps keeps apart from what follows."""
    return relay.sum(x, axis=axes, keepdims=True)


def test_parts_lie_side_by_side():
    def make(x):
        a, b = sums(x, 2), sums(relay.exp(x), 2)
        return relay.max(relay.concatenate([a, b, sums(x * relay.const(2.0), 2)], 1), axis=2)

    data = rng.standard_normal((1, 16, 8, 8)).astype("float32")
    lib = build(make)
    (node,) = joins(lib)
    graph = json.loads(lib.get_graph_json())
    entries = [graph["node_row_ptr"][i] for i, _, _ in node["inputs"]]
    offsets = graph["attrs"]["storage_offset"][1]
    ids = graph["attrs"]["storage_id"][1]
    assert [offsets[e] for e in entries] == [0, 512, 1024]
    assert len({ids[e] for e in entries}) == 1
    a, b = data.sum(2), np.exp(data).sum(2)
    np.testing.assert_allclose(run(lib, data)[0], np.concatenate([a, b, 2 * a], 1), rtol=1e-5)


def test_places_that_kernels_cannot_read_are_refused():
    def make(x):
        return relay.max(relay.concatenate([sums(x, 2), sums(relay.exp(x), 2)], 1), axis=2)

    lib = build(make)
    graph = json.loads(lib.get_graph_json())
    (node,) = joins(lib)
    part = graph["node_row_ptr"][node["inputs"][1][0]]
    graph["attrs"]["storage_offset"][1][part] = 2
    with pytest.raises(ValueError, match=rf"storage_offset\[{part}\]: expected a multiple"):
        graph_executor.create(json.dumps(graph), lib.get_lib(), tenon.cpu())


def test_boards_get_no_joins():
    """Their runtimes know no function of that name, nor places within storages."""
    x = relay.var("x", shape=(1, 16, 8, 8))
    c = relay.concatenate([sums(x, 2), sums(relay.exp(x), 2)], 1)
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.max(c, axis=2)))
    lib = relay.build(mod, "llvm", runtime=relay.backend.Runtime("crt", {"system-lib": True}))
    graph = json.loads(lib.get_graph_json())
    assert not joins(lib) and "storage_offset" not in graph["attrs"]


def test_joins_in_joins():
    def make(x):
        inner = relay.concatenate([sums(x, 2), sums(relay.exp(x), 2)], 1)
        outer = relay.concatenate([sums(relay.abs(x), 2), inner], 1)
        return relay.Tuple([relay.max(outer, axis=1), relay.min(inner, axis=1)])

    data = rng.standard_normal((1, 16, 8, 8)).astype("float32")
    lib = build(make)
    assert len(joins(lib)) == 2
    inner = np.concatenate([data.sum(2, keepdims=True), np.exp(data).sum(2, keepdims=True)], 1)
    outer = np.concatenate([np.abs(data).sum(2, keepdims=True), inner], 1)
    got = run(lib, data)
    np.testing.assert_allclose(got[0], outer.max(1), rtol=1e-5)
    np.testing.assert_allclose(got[1], inner.min(1), rtol=1e-5, atol=1e-5)


def test_values_that_others_see_stay_apart():
    """Results, inputs, a value twice, pieces that are not whole, places that are not aligned."""

    def result(x):
        return relay.concatenate([sums(x, 2), sums(relay.exp(x), 2)], 1)

    def part_is_result(x):
        a = sums(x, 2)
        return relay.Tuple([a, relay.max(relay.concatenate([a, sums(relay.exp(x), 2)], 1), axis=1)])

    def with_input(x):
        return relay.max(relay.concatenate([x, relay.nn.softmax(x)], 1), axis=1)

    def twice(x):
        a = sums(x, 2)
        return relay.max(relay.concatenate([a, a], 1), axis=1)

    def inside(x):
        return relay.max(relay.concatenate([sums(x, 1), sums(relay.exp(x), 1)], 2), axis=2)

    for make in [result, part_is_result, with_input, twice]:
        assert not joins(build(make))
    assert not joins(build(inside, (2, 16, 8, 8)))
    assert not joins(build(lambda x: relay.max(result(x), axis=1), (1, 3, 5, 7)))


def test_other_executors_and_files(tmp_path):
    def make(x):
        return relay.max(relay.concatenate([sums(x, 2), sums(relay.exp(x), 2)], 1), axis=1)

    data = rng.standard_normal((1, 16, 8, 8)).astype("float32")
    lib = build(make)
    assert joins(lib)
    want = run(lib, data)[0]
    lib.export_library(str(tmp_path / "m.so"))
    loaded = tenon.runtime.load_module(str(tmp_path / "m.so"))
    m = graph_executor.GraphModule(loaded["default"](tenon.cpu()))
    out = tenon.nd.empty(want.shape)
    m.set_input_zero_copy("x", tenon.nd.array(data))
    m.set_output_zero_copy(0, out)
    m.run()
    np.testing.assert_array_equal(out.numpy(), want)
    vm = relay.vm.compile(lib.ir_mod, target="llvm")
    got = tenon.runtime.vm.VirtualMachine(vm, tenon.cpu()).run(data)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5)


@pytest.mark.parametrize("offset", [-64, 1 << 62, (1 << 63) - 1])
def test_hostile_offsets(offset):
    def make(x):
        return relay.max(relay.concatenate([sums(x, 2), sums(relay.exp(x), 2)], 1), axis=1)

    lib = build(make)
    graph = json.loads(lib.get_graph_json())
    offsets = graph["attrs"]["storage_offset"][1]
    offsets[max(range(len(offsets)), key=offsets.__getitem__)] = offset
    with pytest.raises(ValueError):
        graph_executor.create(json.dumps(graph), lib.get_lib(), tenon.cpu())
