"""Lists of tensors of the prelude, on the virtual machine and the interpreter."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay.prelude import Prelude, StaticTensorArrayOps

X = np.arange(12, dtype="float32").reshape(4, 3)


def run(mod, params, body, *args, kind="vm"):
    mod["main"] = relay.Function(params, body)
    executor = relay.create_executor(kind, mod=mod, device=tenon.cpu(), target="llvm")
    return executor.evaluate()(*args)


def leaves(value):
    """The tensors in an ADT, in order."""
    if isinstance(value, tenon.nd.NDArray):
        return [value.numpy()]
    fields = value if isinstance(value, tenon.runtime.container.ADT) else value.fields
    return [leaf for field in fields for leaf in leaves(field)]


def check(got, want):
    got = leaves(got)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture
def ops():
    p = Prelude()
    return lambda name, *args: p.get_global_var(name, "float32")(*args), p


def matrix():
    return relay.var("x", shape=(relay.Any(), relay.Any()))


def test_names():
    p = Prelude()
    assert p.get_name("tensor_array", "int8") == "tensor_array_int8"
    assert str(p.get_type("tensor_t", "int8").name_hint) == "tensor_int8_t"
    assert str(p.get_tensor_ctor("tensor2", "int8").name_hint) == "tensor2_int8"
    with pytest.raises(Exception, match="could not find tensor9_int8"):
        p.get_tensor_ctor("tensor9", "int8")
    shape = [2, relay.Any()]
    assert p.get_name_static("tensor_t", "int8", shape) == "static_tensor_int8_2_any_t"
    assert p.get_name_static("tensor_array", "int8", []) == "tensor_array_int8_scalar"
    assert p.get_name_static("tensor_take", "int8", [4], 1) == "tensor_take_int8_batch1_4"
    assert p.get_name_static("tensor_nil", "int8", [4], 1) == "tensor_nil_int8_4"


@pytest.mark.parametrize("kind", ["vm", "debug"])
def test_unstack_and_stack(ops, kind):
    call, p = ops
    x = matrix()
    rows = call("tensor_array_unstack_tensor2", x)
    check(run(p.mod, [x], rows, X, kind=kind), list(X))
    check(run(p.mod, [x], call("tensor_array_stack", rows), X, kind=kind), [X])
    check(run(p.mod, [x], call("tensor_array_concat", rows), X, kind=kind), [X.reshape(-1)])


def test_write_read_gather_and_scatter(ops):
    call, p = ops
    x, i = matrix(), relay.var("i", shape=(), dtype="int32")
    row = call("tensor_array_read", call("tensor_array_unstack_tensor2", x), i)
    check(run(p.mod, [x, i], row, X, np.int32(2)), [X[2]])
    empty = call("tensor_array", relay.const(3))
    result = run(p.mod, [x, i], call("tensor_array_write", empty, i, row), X, np.int32(1))
    check(result, [X[1]])
    assert (result.tag, result[0].tag, result[1][0].tag) == (1, 0, 2)
    places = relay.var("places", shape=(relay.Any(),), dtype="int32")
    rows = call("tensor_array_unstack_tensor2", x)
    order = np.array([3, 0, 1], "int32")
    got = run(p.mod, [x, places], call("tensor_array_gather", rows, places), X, order)
    check(got, [X[order]])
    moved = call("tensor_array_scatter", call("tensor_array", relay.const(4)), places, rows)
    check(run(p.mod, [x, places], moved, X, order), [X[1], X[2], X[0]])


def test_split(ops):
    call, p = ops
    x, lengths = matrix(), relay.var("lengths", shape=(relay.Any(),), dtype="int32")
    value = p.get_tensor_ctor("tensor2", "float32")(x)
    parts = call("tensor_array_split", call("tensor_array", relay.const(3)), value, lengths)
    check(run(p.mod, [x, lengths], parts, X, np.array([1, 2, 1], "int32")), [X[:1], X[1:3], X[3:]])


def test_what_does_not_fit_is_no_match(ops):
    call, p = ops
    body = call("tensor_array_stack", call("tensor_array", relay.const(2)))
    with pytest.raises(tenon.TVMError, match="no clause of the match fits"):
        run(p.mod, [], body)


@pytest.mark.parametrize("batch", [None, 4])
def test_static_lists(batch):
    p = Prelude()
    array = StaticTensorArrayOps(p, "float32", [3], batch)
    array.register()
    array.register()
    x = relay.var("x", shape=(4, 3))
    rows = array.get_global_var("tensor_array_unstack")(x)
    stacked = array.get_global_var("tensor_array_stack")(rows)
    if batch:
        with pytest.raises(tenon.TVMError):  # a list of one, two ... rows is not one of four
            run(p.mod, [x], stacked, X)
        return
    check(run(p.mod, [x], rows, X), list(X))
    check(run(p.mod, [x], stacked, X), [X])
    check(run(p.mod, [x], array.get_global_var("tensor_array_concat")(rows), X), [X.reshape(-1)])
    data = array.get_global_var("tensor_get_data")
    read = array.get_global_var("tensor_array_read")(rows, relay.const(2))
    assert run(p.mod, [x], data(read), X).shape == (3,)
    places = relay.var("places", shape=(relay.Any(),), dtype="int32")
    order = np.array([3, 0, 1], "int32")
    got = array.get_global_var("tensor_array_gather")(rows, places)
    check(run(p.mod, [x, places], got, X, order), [X[order]])
    empty = array.get_global_var("tensor_array")(relay.const(4))
    moved = array.get_global_var("tensor_array_scatter")(empty, places, rows)
    check(run(p.mod, [x, places], moved, X, order), [X[1], X[2], X[0]])


def test_static_rows():
    p = Prelude()
    array = StaticTensorArrayOps(p, "float32", [relay.Any(), 3])
    array.register()
    x = relay.var("x", shape=(relay.Any(), 3))
    value = array.get_ctor("tensor_constructor")(x)
    part = array.get_global_var("tensor_take")(value, relay.const(1), relay.const(3))
    check(run(p.mod, [x], part, X), [X[1:3]])
    both = array.get_global_var("tensor_concatenate")(part, value)
    check(run(p.mod, [x], both, X), [np.concatenate([X[1:3], X])])
    lengths = relay.var("lengths", shape=(relay.Any(),), dtype="int32")
    empty = array.get_global_var("tensor_array")(relay.const(2))
    parts = array.get_global_var("tensor_array_split")(empty, value, lengths)
    check(run(p.mod, [x, lengths], parts, X, np.array([1, 3], "int32")), [X[:1], X[1:]])


def test_static_scalars():
    p = Prelude()
    array = StaticTensorArrayOps(p, "int32", [])
    array.register()
    x = relay.var("x", shape=(relay.Any(),), dtype="int32")
    rows = array.get_global_var("tensor_array_unstack")(x)
    values = np.array([4, 5, 6], "int32")
    check(run(p.mod, [x], array.get_global_var("tensor_array_stack")(rows), values), [values])
