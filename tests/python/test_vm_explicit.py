"""Programs whose memory is explicit: what ManifestAlloc and MemoryPlan make of a model, its text,
and the operators memory.* and vm.*."""

import re

import numpy as np
import pytest
import tenon
from tenon import relay

RNG = np.random.default_rng(0)
W = RNG.standard_normal((4, 8)).astype("float32")
X = RNG.standard_normal((3, 8)).astype("float32")


def static():
    x = relay.var("x", shape=(3, 8))
    y = relay.nn.dense(relay.nn.softmax(x), relay.const(W))
    return relay.Function([x], relay.Tuple([relay.reshape(y, (2, 6)), relay.sum(y)]))


def open_extents():
    x = relay.var("x", shape=(relay.Any(), 8))
    y = relay.repeat(relay.nn.dense(x, relay.const(W)), 2, 0)
    parts = relay.split(y, 2, 1)
    return relay.Function([x], relay.Tuple([parts[1], relay.reshape(parts[0], (-1,))]))


def by_values():
    x = relay.var("x", shape=(3, 8))
    found = relay.argwhere(relay.greater(x, relay.const(0.0)))
    return relay.Function([x], relay.Tuple([found, relay.unique(relay.reshape(x, (-1,)))[0]]))


def branches():
    x = relay.var("x", shape=(3, 8))
    up = relay.greater(relay.sum(x), relay.const(0.0))
    y = relay.If(up, relay.nn.softmax(relay.tanh(relay.nn.softmax(x))), x - relay.const(1.0))
    return relay.Function([x], relay.nn.softmax(y))


def lists():
    mod = tenon.IRModule()
    prelude = relay.prelude.Prelude(mod)
    _, cons, nil = mod.get_type("List")
    x = relay.var("x", shape=(3, 8))
    both = cons(relay.exp(x), cons(relay.tanh(x), nil()))
    mod["main"] = relay.Function([x], prelude.hd(prelude.tl(both)))
    return mod


KERNEL = "let %f = fn (%p: Tensor[(?, 4), float32], Primitive=1) { repeat(%p, repeats=2, axis=0) };"
PROGRAMS = [static, open_extents, by_values, branches, lists]


def module(make):
    made = make()
    return made if isinstance(made, tenon.IRModule) else tenon.IRModule.from_expr(made)


def optimized(mod):
    return relay.vm.VMCompiler().optimize(mod, "llvm")[0]


def called(mod):
    return set(re.findall(r"\b(?:memory|vm)\.\w+", mod.astext(show_meta_data=False)))


def flat(value):
    if isinstance(value, tenon.runtime.container.ADT):
        return [x for field in value for x in flat(field)]
    return [value.numpy()]


def run(mod):
    exe = relay.vm.compile(mod, "llvm")
    return flat(tenon.runtime.vm.VirtualMachine(exe, tenon.cpu()).run(X))


@pytest.mark.parametrize("make", PROGRAMS)
def test_text_can_be_read_back(make):
    mod = relay.transform.InferType()(optimized(module(make)))
    again = relay.transform.InferType()(relay.parse(mod.astext()))
    tenon.ir.assert_structural_equal(again, mod, map_free_vars=True)
    assert "extern type Storage" in mod.astext()


@pytest.mark.parametrize("make", PROGRAMS)
def test_what_was_read_back_runs(make):
    mod = module(make)
    for got, want in zip(run(relay.parse(optimized(mod).astext())), run(mod), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("make", PROGRAMS)
def test_types_are_those_of_the_relations(make):
    """The passes note types: inference from nothing finds the same."""
    mod = optimized(module(make))
    fresh = relay.parse(re.sub(r" ?/\*.*?\*/", "", mod.astext()))
    again = relay.transform.InferType()(fresh)
    tenon.ir.assert_structural_equal(again, relay.transform.InferType()(mod), map_free_vars=True)


def test_static_programs_ask_for_no_extents():
    assert called(optimized(module(static))) == {
        "memory.alloc_storage",
        "memory.alloc_tensor",
        "memory.kill",
        "vm.invoke_tvm_op",
        "vm.reshape_tensor",
    }


def test_extents_are_explicit():
    names = called(optimized(module(open_extents)))
    assert {"vm.make_shape", "vm.shape_of", "vm.shape_func"} <= names


def test_shape_functions_that_read_values_get_the_tensor():
    text = optimized(module(by_values)).astext(show_meta_data=False)
    assert "is_input=[1]" in text


def test_every_value_but_the_result_ends_once():
    lines = optimized(module(static)).astext(show_meta_data=False).splitlines()
    bound = [re.match(r"\s*let (%\w+)(?!.*\bfn\b).* = (?!vm.invoke|memory.kill)", x) for x in lines]
    killed = [name for x in lines for name in re.findall(r"memory.kill\((%\w+)\)", x)]
    names = {found[1] for found in bound if found} | {"%x"}
    assert len(set(killed)) == len(killed) and len(names - set(killed)) == 1


def test_planning_can_be_left_out():
    mod = tenon.IRModule.from_expr(static())
    count = {}
    for disabled in ((), ("MemoryPlan",)):
        with tenon.transform.PassContext(opt_level=3, disabled_pass=list(disabled)):
            text = optimized(mod).astext(show_meta_data=False)
        count[disabled] = text.count("memory.alloc_storage"), text.count("memory.alloc_tensor")
    assert count[()][1] == count["MemoryPlan",][1] == count["MemoryPlan",][0]


class OfExtents(relay.ExprMutator):
    """Storages say the extents of a tensor in place of its bytes."""

    def visit_call(self, call):
        if getattr(call.op, "name", "") != "memory.alloc_storage":
            return super().visit_call(call)
        extents = [int(call.args[0].data.numpy()) // 4]
        return relay.op.memory.alloc_storage(extents, 64, dtype_hint="float32")


def test_storages_of_extents_keep_them():
    """A plan would take 1000 elements for 1000 bytes, and find 2000 to be more."""
    x = relay.var("x", shape=(1000,))
    y = relay.cumsum(relay.strided_slice(relay.cumsum(relay.cumsum(x)), [0], [500]))
    with tenon.transform.PassContext(opt_level=3, disabled_pass=["MemoryPlan"]):
        mod = optimized(tenon.IRModule.from_expr(relay.Function([x], relay.cumsum(y))))
    mod["main"] = OfExtents().visit(mod["main"])
    mod = relay.transform.MemoryPlan()(relay.transform.InferType()(mod))
    sizes = []

    def see(e):
        if isinstance(e, relay.Call) and getattr(e.op, "name", "") == "memory.alloc_storage":
            sizes.append(e.args[0].data.numpy().tolist())

    relay.analysis.post_order_visit(mod["main"], see)
    assert sorted(sizes) == [[500]] * 3 + [[1000]] * 2


def test_types_may_be_unknown_before():
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(?, 4), float32]) {{ {KERNEL} let %y = %f(%x); %y }}
"""
    mod = relay.transform.MemoryPlan()(relay.transform.ManifestAlloc()(relay.parse(text)))
    assert "vm.shape_func" in called(mod)
    with pytest.raises(TypeError, match="expected CompilationConfig"):
        relay.transform.ManifestAlloc("cpu")(mod)


def test_python_functions():
    x = relay.var("x", shape=(3, relay.Any()))
    storage = relay.op.memory.alloc_storage(40, 64, dtype_hint="int8")
    tensor = relay.op.memory.alloc_tensor(storage, 0, [2, 5], "int32")
    assert [int(n) for n in tensor.attrs.assert_shape] == [2, 5] and storage.attrs.dtype == "int8"
    shape = relay.op.vm.shape_of(x)
    kernel = relay.var("f", relay.FuncType([x.type_annotation], x.type_annotation))
    call = relay.op.vm.invoke_tvm_op(kernel, [x], [x])
    func = relay.op.vm.shape_func(kernel, [shape], [shape], [0])
    view = relay.op.vm.reshape_tensor(x, shape, [relay.Any(), 2])
    params = [x, kernel]
    mod = tenon.IRModule.from_expr(
        relay.Function(params, relay.Tuple([tensor, shape, call, func, view]))
    )
    types = relay.transform.InferType()(mod)["main"].ret_type.fields
    assert types[0] == relay.TensorType((2, 5), "int32")
    assert types[1] == relay.TensorType((2,), "int64")
    assert types[2] == types[3] == relay.TupleType([])
    assert str(types[4]) == "TensorType([?, 2], float32)"


PARAMS = (
    "%x: Tensor[(?, 4), float32], %s: Tensor[(2), int64], %f: fn (float32) -> float32, %a: float32"
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("memory.alloc_storage(4i32, 64i64)", "expected a number of bytes or extents"),
        ("memory.alloc_storage(%s, %s)", "expected an int64 scalar for the alignment"),
        ("memory.alloc_tensor(%x, 0i64, %s)", "expected a Storage"),
        ("memory.alloc_tensor(%m, 0i32, %s)", "expected an int64 scalar for the offset"),
        ("memory.alloc_tensor(%m, 0i64, %x)", "expected a known number of int64 extents"),
        ("memory.alloc_tensor(%m, 0i64, %s, assert_shape=[1])", "2 extents, 1 in assert_shape"),
        ("vm.invoke_tvm_op(%x, (%a,), (%a,))", "expected a function"),
        ("vm.invoke_tvm_op(%f, (%x,), (%a,))", "tensor 0: expected float32"),
        ("vm.invoke_tvm_op(%f, (%a,), ())", "0 tensors are too few"),
        ("vm.invoke_tvm_op(%f, (%a, %a), (%a,))", "too many"),
        ("vm.shape_func(%f, (%s,), (%s,), is_input=[])", "1 inputs, 0 in is_input"),
        ("vm.make_shape((%x,), extents=[-3])", "unknown extent 2 of tensor 0"),
        ("vm.make_shape((%x,), extents=[-65])", "unknown extent 0 of tensor 1"),
        ("vm.check_extents(%f, (%x,), extents=[-1])", "not pairs"),
        ("vm.check_shapes(%f, (%x,), %x)", "expected a scalar"),
        ("vm.reshape_tensor(%x, %s, newshape=[4])", "expected 1 extents for the shape"),
    ],
)
def test_wrong_calls_are_type_errors(call, message):
    text = f"""#[version = "0.0.5"]
extern type Storage
def @main({PARAMS}, %m: Storage[]) {{ {call} }}
"""
    with pytest.raises(tenon.TVMError, match=message):
        relay.transform.InferType()(relay.parse(text))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("let %m = memory.alloc_storage(64i64, %n); %m", "a constant for the alignment"),
        ("let %m = memory.alloc_storage(64i64, 3i64); %m", "3 is not an alignment"),
        ("let %_ = vm.shape_func(%f, (%x,), (%s,), is_input=[1]); %x", "those of the kernel"),
        ("let %_ = vm.shape_func(%f, (), (), is_input=[]); %x", "those of the kernel"),
    ],
)
def test_programs_that_no_code_is_made_of(body, message):
    text = f"""#[version = "0.0.5"]
extern type Storage
def @main(%x: Tensor[(?, 4), float32], %s: Tensor[(2), int64], %n: int64) {{ {KERNEL} {body} }}
"""
    with pytest.raises(ValueError, match=message):
        relay.vm.compile(relay.parse(text), "llvm")
