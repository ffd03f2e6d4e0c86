"""Extents that are values of tensors: the virtual machine against numpy."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay.backend import vm as relay_vm
from tenon.runtime.vm import Executable, VirtualMachine


def machine(params, body):
    mod = tenon.IRModule.from_expr(relay.Function(params, body))
    return VirtualMachine(relay_vm.compile(mod, "llvm"), tenon.cpu())


def rand(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def vm_values(make, *arrays):
    """``make`` of variables like the arrays, run on them."""
    params = [relay.var(f"x{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]
    return machine(params, make(*params)).run(*arrays).numpy()


def ints(*values):
    return np.array(values, "int64")


@pytest.mark.parametrize("shape", [(2, 12), (-1, 6), (4, -1), (0, 6), (24, 1)])
def test_reshape_to_a_tensor(shape):
    x = rand(4, 6)
    want = x.reshape([4 if n == 0 else n for n in shape])
    np.testing.assert_array_equal(vm_values(relay.reshape, x, ints(*shape)), want)


def test_reshape_that_does_not_fit():
    x, shape = relay.var("x", shape=(4, 6)), relay.var("s", shape=(2,), dtype="int64")
    vm = machine([x, shape], relay.reshape(x, shape))
    with pytest.raises(tenon.error.TVMError, match="do not fit together"):
        vm.run(rand(4, 6), ints(5, 5))
    assert vm.run(rand(4, 6), ints(3, 8)).shape == (3, 8)


def test_full_and_broadcast_to_a_tensor():
    value = np.float32(3)
    got = vm_values(lambda v, s: relay.full(v, s, "int32"), value, ints(2, 5))
    np.testing.assert_array_equal(got, np.full((2, 5), 3))
    got = vm_values(relay.broadcast_to, rand(4, 1), ints(2, 4, 3))
    np.testing.assert_array_equal(got, np.broadcast_to(rand(4, 1), (2, 4, 3)))
    for make, one in ((relay.zeros, 0), (relay.ones, 1)):
        got = vm_values(lambda s, make=make: make(s, "int32"), ints(3, 2))
        np.testing.assert_array_equal(got, np.full((3, 2), one, "int32"))


@pytest.mark.parametrize(
    ("begin", "end", "step"),
    [((1, 0), (3, 4), (1, 2)), ((-2, 5), (99, -99), (1, -1)), ((2, 1), (2, 3), (1, 1))],
)
def test_slice_by_tensors(begin, end, step):
    x = rand(4, 6)
    slices = tuple(slice(b, e, s) for b, e, s in zip(begin, end, step, strict=True))
    if end[1] < -6:
        slices = (slices[0], slice(begin[1], None, -1))
    got = vm_values(
        lambda d, b, e, s: relay.strided_slice(d, b, e, s), x, ints(*begin), ints(*end), ints(*step)
    )
    np.testing.assert_array_equal(got, x[slices])


def test_argwhere():
    for x in (rand(4, 6), np.zeros((2, 3), "float32"), np.ones((3, 1), "float32")):
        value = (x > 0).astype("int32") * 2
        np.testing.assert_array_equal(vm_values(relay.argwhere, value), np.argwhere(value))
    flags = rand(7) > 0
    np.testing.assert_array_equal(vm_values(relay.argwhere, flags), np.argwhere(flags))


@pytest.mark.parametrize("reps", [(2, 3), (2, 1, 2), (3,), (0, 1)])
def test_tile_by_a_tensor(reps):
    x = rand(2, 4)
    np.testing.assert_array_equal(vm_values(relay.tile, x, ints(*reps)), np.tile(x, reps))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad_by_a_tensor(mode):
    x, width = rand(3, 4), np.array([[1, 2], [0, 1]], "int64")
    got = vm_values(lambda d, w: relay.nn.pad(d, w, 2.0, mode), x, width)
    more = {"constant_values": 2.0} if mode == "constant" else {}
    np.testing.assert_array_equal(got, np.pad(x, width, mode, **more))


def test_pad_that_cuts_off():
    x, width = rand(3, 4), np.array([[-1, 0], [0, -2]], "int64")
    got = vm_values(lambda d, w: relay.nn.pad(d, w, 0.0), x, width)
    np.testing.assert_array_equal(got, x[1:, :2])
    d, w = relay.var("d", shape=(3, 4)), relay.var("w", shape=(2, 2), dtype="int64")
    vm = machine([d, w], relay.nn.pad(d, w, 0.0))
    with pytest.raises(tenon.error.TVMError, match="do not fit together"):
        vm.run(x, np.array([[-2, -2], [0, 0]], "int64"))


@pytest.mark.parametrize("axis", [-1, 0])
def test_one_hot_of_a_depth(axis):
    i, depth = np.array([0, 2, 1, 5], "int32"), np.array(4, "int64")
    on, off = np.float32(1), np.float32(0)
    got = vm_values(
        lambda i, d: relay.one_hot(i, relay.const(on), relay.const(off), d, axis, "float32"),
        i,
        depth,
    )
    want = (i[:, None] == np.arange(4)).astype("float32")
    np.testing.assert_array_equal(got, want.T if axis == 0 else want)


@pytest.mark.parametrize("k", [1, 3, 6, 0])
@pytest.mark.parametrize("ascend", [False, True])
def test_topk_of_a_number(k, ascend):
    x = rand(4, 6)
    data = relay.var("x", shape=(4, relay.Any()))
    count = relay.var("k", shape=(), dtype="int64")
    best = relay.topk(data, count, is_ascend=ascend, dtype="int64")
    values, places = machine([data, count], best.astuple()).run(x, np.array(k, "int64"))
    order = np.argsort(x if ascend else -x, axis=1, kind="stable")[:, : k or 6]
    np.testing.assert_array_equal(places.numpy(), order)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, order, 1))


def test_topk_of_too_many():
    data, count = relay.var("x", shape=(4, 6)), relay.var("k", shape=(1,), dtype="int32")
    vm = machine([data, count], relay.topk(data, count, axis=0, ret_type="values"))
    with pytest.raises(tenon.error.TVMError, match="do not fit together"):
        vm.run(rand(4, 6), np.array([5], "int32"))
    want = np.sort(rand(4, 6), axis=0)[:1:-1]
    np.testing.assert_array_equal(vm.run(rand(4, 6), np.array([2], "int32")).numpy(), want)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("size", [0, 1, 7, 50])
@pytest.mark.parametrize("extent", ["known", "any"])
@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_unique(ordered, size, extent, dtype):
    x = np.random.default_rng(size).integers(0, 9, size).astype(dtype)
    shape = (relay.Any(),) if extent == "any" else (size,)
    data = relay.var("x", shape=shape, dtype=dtype)
    body = relay.unique(data, ordered, return_counts=True)
    values, first, which, number, counts = (
        v.numpy() for v in machine([data], body.astuple()).run(x)
    )
    want = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    n, order = len(want[0]), np.arange(len(want[0]))
    if not ordered:
        order = np.argsort(want[1])
    assert number.tolist() == [n]
    np.testing.assert_array_equal(values[:n], want[0][order])
    np.testing.assert_array_equal(first[:n], want[1][order])
    np.testing.assert_array_equal(which, np.argsort(order)[want[2]] if size else want[2])
    np.testing.assert_array_equal(counts[:n], want[3][order])
    assert not values[n:].any() and not first[n:].any() and not counts[n:].any()


def test_unique_cut_to_what_there_is():
    """The number of values as the end of a slice gives a tensor as long as there are values."""
    data = relay.var("x", shape=(relay.Any(),), dtype="int32")
    values, _, _, number = relay.unique(data)
    body = relay.strided_slice(values, relay.const([0]), number, relay.const([1]))
    vm = machine([data], body)
    for x in ([3, 1, 3, 2], [5, 5], [1, 2, 3]):
        got = vm.run(np.array(x, "int32")).numpy()
        np.testing.assert_array_equal(got, np.unique(x))


def test_best_boxes():
    """Non-maximum suppression: as many rows as boxes were taken."""
    boxes = relay.var("boxes", shape=(1, relay.Any(), 4))
    scores = relay.var("scores", shape=(1, 1, relay.Any()))
    limits = [relay.const(10, "int64"), relay.const(0.5), relay.const(0.0)]
    op = tenon.get_global_func("relay.op.vision._make.all_class_non_max_suppression")
    both = relay.TupleWrapper(op(boxes, scores, *limits, "onnx"), 2)
    body = relay.strided_slice(
        both[0], relay.const([0], "int64"), both[1], relay.const([1], "int64")
    )
    vm = machine([boxes, scores], body)
    b = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]], "float32")
    got = vm.run(b, np.array([[[0.9, 0.75, 0.6]]], "float32")).numpy()
    np.testing.assert_array_equal(got, [[0, 0, 0], [0, 0, 2]])
    got = vm.run(b[:, :2], np.array([[[0.2, 0.75]]], "float32")).numpy()
    np.testing.assert_array_equal(got, [[0, 0, 1]])


def test_modules_without_main_keep_every_function():
    text = """#[version = "0.0.5"]
    def @g(%y: int64) -> int64 { %y + 1i64 }
    def @h(%z: Tensor[(2), bool]) { (%z, @g(4i64)) }
    """
    exe = relay.vm.compile(relay.parse(text), target="llvm")
    code, lib = exe.save()
    exe = Executable.load_exec(code, lib)
    assert exe.get_function_types("g") == ([((), "int64")], [((), "int64")])
    assert exe.get_function_types("h") == ([((2,), "bool")], [((2,), "bool"), ((), "int64")])
    vm = VirtualMachine(exe, tenon.cpu())
    for three in (np.int64(3), 3):  # a plain number has the type of the parameter
        assert vm.invoke("g", three).numpy() == 4 and vm.invoke("g", y=three).numpy() == 4
    with pytest.raises(tenon.TVMError, match="expected int64 of shape .*, got float32"):
        vm.invoke("g", 3.5)
    both = vm.invoke("h", np.array([True, False]))
    assert list(both[0].numpy()) == [True, False] and both[1].numpy() == 5
    with pytest.raises(tenon.TVMError, match=r"g\(\): parameter y: expected int64 of shape \(\)"):
        vm.invoke("g", np.ones(2, "int64"))
    with pytest.raises(ValueError, match="nope"):
        exe.get_function_types("nope")
