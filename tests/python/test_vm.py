"""The virtual machine: programs with control flow, functions, data types, references, and what the
machine does with wrong ones."""

import threading

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay.backend import vm as relay_vm
from tenon.runtime.vm import Executable, VirtualMachine

VERSION = '#[version = "0.0.5"]\n'


def machine(text, prelude=False, **kwargs):
    """A machine for a program in Relay's text form."""
    mod = tenon.IRModule()
    if prelude:
        mod.import_from_std("prelude.rly")
    parsed = relay.parse(VERSION + text, "test", mod) if prelude else relay.parse(VERSION + text)
    return VirtualMachine(relay_vm.compile(parsed, "llvm", **kwargs), tenon.cpu())


def numbers(value):
    """Arrays and ADTs as numpy arrays and tuples (tag, fields...)."""
    if isinstance(value, tenon.nd.NDArray):
        return value.numpy()
    return (value.tag, *[numbers(field) for field in value])


LOOP = """
def @loop(%i: int32, %n: int32, %acc: int32) -> int32 {
  if (less(%i, %n)) { @loop(add(%i, 1), %n, add(%acc, %i)) } else { %acc }
}
def @main(%n: int32) -> int32 { @loop(0, %n, 0) }
"""


def test_loop():
    vm = machine(LOOP)
    for n in (0, 1, 10, 1000):
        assert int(vm.run(np.int32(n)).numpy()) == n * (n - 1) // 2


def test_recursion_that_is_no_loop():
    vm = machine("""
def @fib(%n: int32) -> int32 {
  if (less(%n, 2)) { %n } else { add(@fib(subtract(%n, 1)), @fib(subtract(%n, 2))) }
}
def @main(%n: int32) -> int32 { @fib(%n) }
""")
    assert int(vm.run(np.int32(15)).numpy()) == 610


def test_branches_that_meet():
    vm = machine("""
def @main(%a: Tensor[(2), float32], %c: bool) {
  let %f = fn (%x: Tensor[(2), float32]) { add(%x, %a) };
  %0 = add(%a, 1f);
  %1 = exp(%a);
  %2 = if (%c) { let %y = multiply(%0, %1); %f(add(%y, %y)) } else { %0 };
  (%2, %1, sqrt(%0))
}
""")
    a = np.array([1, 2], "float32")
    for c in (True, False):
        got = numbers(vm.run(a, c))
        y = (a + 1) * np.exp(a)
        np.testing.assert_allclose(got[1], y + y + a if c else a + 1, rtol=1e-6)
        np.testing.assert_allclose(got[2], np.exp(a), rtol=1e-6)
        np.testing.assert_allclose(got[3], np.sqrt(a + 1), rtol=1e-6)


def test_only_the_branch_that_is_taken_runs():
    vm = machine("""
def @forever(%x: int32) -> int32 { add(@forever(%x), 1) }
def @main(%c: bool, %x: int32) -> int32 { if (%c) { %x } else { @forever(%x) } }
""")
    assert int(vm.run(True, np.int32(3)).numpy()) == 3


def test_closures():
    vm = machine("""
def @main(%x: int32) -> int32 {
  let %adder = fn (%a: int32) { fn (%b: int32) { add(%a, %b) } };
  let %twice = fn (%f: fn (int32) -> int32) { fn (%y: int32) { %f(%f(%y)) } };
  let %g = %twice(%adder(%x));
  %g(1)
}
""")
    assert int(vm.run(np.int32(10)).numpy()) == 21


def test_recursive_local_function_with_a_captured_value():
    vm = machine("""
def @main(%n: int32, %step: int32) -> int32 {
  let %sum = fn (%i: int32) -> int32 {
    if (less(%i, 1)) { 0 } else { add(%step, %sum(subtract(%i, 1))) }
  };
  %sum(%n)
}
""")
    assert int(vm.run(np.int32(7), np.int32(6)).numpy()) == 42


def test_functions_as_values():
    vm = machine("""
def @inc(%x: int32) -> int32 { add(%x, 1) }
def @apply(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%x) }
def @main(%x: int32) -> int32 { @apply(@inc, @apply(@inc, %x)) }
""")
    assert int(vm.run(np.int32(1)).numpy()) == 3


def test_references():
    vm = machine("""
def @main(%x: int32) -> (int32, int32) {
  let %r = ref(%x);
  let %old = ref_read(%r);
  let %u = ref_write(%r, add(%x, 1));
  let %v = ref_write(%r, multiply(ref_read(%r), 2));
  (%old, ref_read(%r))
}
""")
    assert [int(x) for x in numbers(vm.run(np.int32(4)))[1:]] == [4, 10]


def test_references_count():
    """A closure with its own state."""
    vm = machine("""
def @main(%x: int32) -> int32 {
  let %r = ref(%x);
  let %next = fn () { let %u = ref_write(%r, add(ref_read(%r), 1)); ref_read(%r) };
  let %a = %next();
  let %b = %next();
  add(multiply(%a, 100), %b)
}
""")
    assert int(vm.run(np.int32(0)).numpy()) == 102


def to_list(value):
    items = []
    while len(value) == 2:  # Cons
        items.append(int(value[0].numpy()))
        value = value[1]
    return items


def prelude_machine(body, params):
    """A machine whose main has a body made from the prelude and int32 scalars."""
    mod = tenon.IRModule()
    prelude = relay.prelude.Prelude(mod)
    scalars = [relay.var(name, shape=(), dtype="int32") for name in params]
    mod["main"] = relay.Function(scalars, body(prelude, *scalars))
    return VirtualMachine(relay_vm.compile(mod, "llvm"), tenon.cpu())


def make_list(prelude, *items):
    _, cons, nil = prelude.mod.get_type("List")
    value = nil()
    for item in reversed(items):
        value = cons(item, value)
    return value


def test_prelude_map():
    def body(p, a, b):
        x = relay.var("x", shape=(), dtype="int32")
        return p.map(relay.Function([x], relay.multiply(x, x)), make_list(p, a, b, a))

    assert to_list(prelude_machine(body, "ab").run(np.int32(3), np.int32(4))) == [9, 16, 9]


def test_prelude_length_reversal_and_sum():
    def body(p, a, b):
        items = make_list(p, a, b, a, a)
        return relay.Tuple([p.length(items), p.sum(items), p.rev(items)])

    got = prelude_machine(body, "ab").run(np.int32(3), np.int32(5))
    assert int(got[0].numpy()) == 4
    assert int(got[1].numpy()) == 14
    assert to_list(got[2]) == [3, 3, 5, 3]


def test_prelude_filter_and_zip():
    def body(p, a, b):
        x = relay.var("x", shape=(), dtype="int32")
        keep = relay.Function([x], relay.greater(x, relay.const(3)))
        return p.zip(p.filter(keep, make_list(p, a, b, b)), make_list(p, b, a))

    got = prelude_machine(body, "ab").run(np.int32(3), np.int32(5))
    pairs = []
    while len(got) == 2:
        pairs.append((int(got[0][0].numpy()), int(got[0][1].numpy())))
        got = got[1]
    assert pairs == [(5, 5), (5, 3)]


def test_constructor_as_a_value():
    def body(p, a):
        some = p.mod.get_type("Option")[1]
        return p.map(some, make_list(p, a, a))

    got = prelude_machine(body, "a").run(np.int32(3))
    assert got.tag == 1 and got[0].tag == 1 and int(got[0][0].numpy()) == 3
    assert got[1][1].tag == 0 and len(got[1][1]) == 0


def test_tags_of_data():
    """Constructors without fields come first, then the others, each in the order of the type."""
    vm = machine(
        """
type Many { A(int32), B, C(int32, int32), D, }
def @main(%x: int32) -> (Many[], Many[], Many[], Many[], int32) {
  let %c = C(%x, %x);
  (A(%x), B, %c, D, match (%c) { B => 0, D => 1, A(%y) => 2, C(%y, %z) => add(%y, %z) })
}
"""
    )
    *made, taken = vm.run(np.int32(4))
    assert [(v.tag, len(v)) for v in made] == [(2, 1), (0, 0), (3, 2), (1, 0)]
    assert int(taken.numpy()) == 8


def test_nested_patterns():
    vm = machine(
        """
def @second(%l: List[int32]) -> int32 {
  match (%l) {
    Cons(_, Cons(%b, _)) => %b,
    Cons(%a, Nil) => negative(%a),
    Nil => 0,
  }
}
def @main(%a: int32, %b: int32) -> (int32, int32, int32) {
  (@second(Cons(%a, Cons(%b, Nil))), @second(Cons(%a, Nil)), @second(Nil))
}
""",
        prelude=True,
    )
    assert [int(x) for x in numbers(vm.run(np.int32(3), np.int32(5)))[1:]] == [5, -3, 0]


def test_match_that_fails(caplog):
    vm = machine(
        """
def @head(%l: List[int32]) -> int32 { match? (%l) { Cons(%a, _) => %a } }
def @main(%c: bool, %a: int32) -> int32 {
  @head(if (%c) { Cons(%a, Nil) } else { Nil })
}
""",
        prelude=True,
    )
    assert int(vm.run(True, np.int32(3)).numpy()) == 3
    with pytest.raises(tenon.error.TVMError, match="no clause of the match fits"):
        vm.run(False, np.int32(3))
    assert int(vm.run(True, np.int32(4)).numpy()) == 4


def test_tuples_in_and_out():
    vm = machine("""
def @main(%p: (Tensor[(2), float32], (float32, float32))) {
  let %q = %p.1;
  ((add(%p.0, %q.0), %q.1), ())
}
""")
    got = vm.run((np.ones(2, "float32"), (np.float32(2), np.float32(3))))
    np.testing.assert_array_equal(got[0][0].numpy(), [3, 3])
    assert float(got[0][1].numpy()) == 3
    assert len(got[1]) == 0


def test_constants_and_parameters():
    x = relay.var("x", shape=(2, 3))
    w = relay.var("w", shape=(2, 3))
    mod = tenon.IRModule.from_expr(relay.Function([x, w], x + w))
    value = np.arange(6, dtype="float32").reshape(2, 3)
    exe = relay_vm.compile(mod, "llvm", params={"w": value})
    assert exe.get_function_params("main") == ["x"]
    vm = VirtualMachine(exe, tenon.cpu())
    np.testing.assert_array_equal(vm.run(value).numpy(), 2 * value)
    assert "VM Const[0]: float32 [2, 3] on device index 0" in exe.constants


# ---- wrong programs and arguments


def test_endless_recursion():
    vm = machine("""
def @deep(%x: int32) -> int32 { add(@deep(%x), 1) }
def @loop(%x: int32) -> int32 { @loop(add(%x, 1)) }
def @main(%c: int32, %x: int32) -> int32 {
  if (equal(%c, 0)) { @deep(%x) } else { if (equal(%c, 1)) { @loop(%x) } else { %x } }
}
""")
    with pytest.raises(RuntimeError, match="nested more than 100000 deep"):
        vm.run(np.int32(0), np.int32(0))
    vm.set_max_depth(10)
    with pytest.raises(RuntimeError, match="nested more than 10 deep"):
        vm.run(np.int32(0), np.int32(0))
    vm.set_max_calls(1000)
    with pytest.raises(RuntimeError, match="more than 1000 calls without a return"):
        vm.run(np.int32(1), np.int32(0))
    assert int(vm.run(np.int32(2), np.int32(7)).numpy()) == 7


def simple():
    return machine("def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) { add(%x, %y) }")


def test_arguments():
    vm = simple()
    one = np.ones(4, "float32")
    np.testing.assert_array_equal(vm.run(one, y=2 * one).numpy(), 3 * one)
    np.testing.assert_array_equal(vm.run(y=2 * one, x=one).numpy(), 3 * one)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        vm.run(one, z=one)
    with pytest.raises(TypeError, match="takes 2 arguments"):
        vm.run(x=one)
    with pytest.raises(ValueError, match="expected 2 arguments, got 1"):
        vm.run(one)
    with pytest.raises(ValueError, match="Cannot find function other"):
        vm.invoke("other", one)
    with pytest.raises(TypeError, match="Unsupported type"):
        vm.run(one, "text")
    for error in (TypeError, tenon.error.InternalError):
        with pytest.raises(error, match=r"parameter y: expected float32 .*, got int32 of shape"):
            vm.run(one, np.ones(4, "int32"))
    for error in (ValueError, tenon.error.InternalError):
        with pytest.raises(error, match=r"main\(\): parameter y: .*shape \(4,\), got .*\(5,\)"):
            vm.run(one, np.ones(5, "float32"))
    with pytest.raises(TypeError, match="expected float32 of shape .4,., got a tuple"):
        vm.run((one, one), one)


def test_inputs_that_stay():
    vm = simple()
    one = np.ones(4, "float32")
    with pytest.raises(ValueError, match="Input has not been set for function main"):
        vm.run()
    vm.set_one_input("main", 0, one)
    vm.set_one_input("main", y=one)
    np.testing.assert_array_equal(vm.run().numpy(), 2 * one)
    vm.set_one_input("main", "x", 5 * one)
    np.testing.assert_array_equal(vm.run().numpy(), 6 * one)
    vm.set_input("main", 2 * one, 3 * one)
    vm.invoke_stateful("main")
    (got,) = vm.get_outputs()
    np.testing.assert_array_equal(got.numpy(), 5 * one)
    with pytest.raises(IndexError, match="contains only one item"):
        vm.module["get_output"](1)
    assert vm.get_input_index("y") == 1
    assert vm.get_input_index("z") == -1
    with pytest.raises(ValueError, match="no parameter z"):
        vm.set_one_input("main", "z", one)


def test_outputs_of_the_caller():
    vm = simple()
    one = np.ones(4, "float32")
    out = tenon.nd.empty((4,), "float32")
    vm.invoke_with_outputs("main", {"x": one, "y": one}, [out])
    np.testing.assert_array_equal(out.numpy(), 2 * one)
    with pytest.raises(ValueError):
        vm.invoke_with_outputs("main", {"x": one, "y": one}, [tenon.nd.empty((5,), "float32")])
    with pytest.raises(ValueError, match="2 arrays were set"):
        vm.invoke_with_outputs("main", {"x": one, "y": one}, [out, out])


def test_results_do_not_change():
    """A result stays what it is when the machine runs again, or is gone."""
    vm = simple()
    one = np.ones(4, "float32")
    first = vm.run(one, one)
    second = vm.run(one, 9 * one)
    del vm
    np.testing.assert_array_equal(first.numpy(), 2 * one)
    np.testing.assert_array_equal(second.numpy(), 10 * one)


def test_kinds_of_arguments():
    exe = relay_vm.compile(relay.parse(VERSION + "def @main(%x: int32) { add(%x, 1) }"), "llvm")
    with pytest.raises(TypeError, match="exe is expected"):
        VirtualMachine("x", tenon.cpu())
    with pytest.raises(TypeError, match="dev is expected to be Device"):
        VirtualMachine(exe, "cpu")
    with pytest.raises(TypeError, match="memory_cfg"):
        VirtualMachine(exe, tenon.cpu(), 3)
    for cfg in (None, "naive", "pooled", {tenon.cpu(): "naive"}):
        vm = VirtualMachine(exe, [tenon.cpu()], cfg)
        assert int(vm.run(np.int32(3)).numpy()) == 4
    assert int(VirtualMachine(exe.mod, tenon.cpu()).run(3).numpy()) == 4


def test_memory():
    vm = machine("""
def @main(%x: Tensor[(1000), float32]) { exp(sum(exp(%x), axis=[0], keepdims=True)) }
""")
    x = np.zeros(1000, "float32")
    for _ in range(5):
        vm.run(x)
    stats = vm.memory_stats()
    assert stats["used"] == 0
    assert stats["reserved"] == stats["peak"] > 0
    allocations = stats["allocations"]
    vm.run(x)
    assert vm.memory_stats()["allocations"] == allocations
    vm.trim()
    assert vm.memory_stats()["reserved"] == 0
    vm.set_memory_limit(8)
    with pytest.raises(MemoryError, match="over the limit of 8"):
        vm.run(x)
    vm.set_memory_limit(0)
    vm.run(x)


def test_memory_of_long_chains_is_reused():
    body = relay.var("x", shape=(256,))
    func_var = body
    for _ in range(30):
        body = relay.nn.softmax(body)
    mod = tenon.IRModule.from_expr(relay.Function([func_var], body))
    vm = VirtualMachine(relay_vm.compile(mod, "llvm"), tenon.cpu())
    vm.run(np.zeros(256, "float32"))
    assert vm.memory_stats()["peak"] <= 4 * 1024


def test_many_threads():
    exe = relay_vm.compile(relay.parse(VERSION + LOOP), "llvm")
    failed = []

    def work(n):
        vm = VirtualMachine(exe, tenon.cpu())
        for _ in range(5):
            if int(vm.run(np.int32(n)).numpy()) != n * (n - 1) // 2:
                failed.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in (100, 1000, 3000, 5000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


# ---- files


def test_export(tmp_path):
    x = relay.var("x", shape=(2, 3))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.nn.relu(x) + relay.const(1.0)))
    exe = relay_vm.compile(mod, "llvm")
    path = str(tmp_path / "model.so")
    exe.mod.export_library(path)
    vm = VirtualMachine(tenon.runtime.load_module(path), tenon.cpu())
    value = np.array([[-1, 2, 3], [4, -5, 6]], "float32")
    np.testing.assert_array_equal(vm.run(value).numpy(), np.maximum(value, 0) + 1)


def test_save_and_load():
    exe = relay_vm.compile(relay.parse(VERSION + LOOP), "llvm")
    code, lib = exe.save()
    again = Executable.load_exec(code, lib)
    assert again.bytecode == exe.bytecode
    assert again.save()[0] == code
    assert again.globals == exe.globals == ["main", "loop"]
    assert again.primitive_ops == exe.primitive_ops
    assert int(VirtualMachine(again, tenon.cpu()).run(10).numpy()) == 45
    with pytest.raises(TypeError, match="bytecode is expected"):
        Executable.load_exec(3, lib)
    with pytest.raises(TypeError, match="lib is expected"):
        Executable.load_exec(code, 3)
    with pytest.raises(ValueError, match="Invalid VM file format in the header section"):
        Executable.load_exec(b"x" * 200, lib)


def test_every_byte_counts():
    """Code that was changed is refused, or runs as something else without harm."""
    exe = relay_vm.compile(relay.parse(VERSION + LOOP), "llvm")
    code, lib = exe.save()
    for cut in range(0, len(code), 7):
        with pytest.raises(ValueError, match="Invalid VM file format"):
            Executable.load_exec(code[:cut], lib)
    refused = 0
    for at in range(0, len(code), 5):
        broken = bytearray(code)
        broken[at] ^= 0x11
        try:
            Executable.load_exec(broken, lib)
        except ValueError:
            refused += 1
    assert refused > len(code) // 5 * 0.8


def test_late_bound_constants(tmp_path):
    x = relay.var("x", shape=(4, 8))
    w = np.random.default_rng(0).normal(size=(8, 8)).astype("float32")
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, relay.const(w))))
    with tenon.transform.PassContext(disabled_pass=["AlterOpLayout"]):
        exe = relay_vm.compile(mod, "llvm")
    value = np.ones((4, 8), "float32")
    want = VirtualMachine(exe, tenon.cpu()).run(value).numpy()
    path = str(tmp_path / "consts")
    assert [v.shape for v in exe.get_late_bound_consts(16).values()] == [(8, 8)]
    exe.move_late_bound_consts(path, 16)
    with pytest.raises(RuntimeError, match="load_late_bound_consts"):
        VirtualMachine(exe, tenon.cpu()).run(value)
    code, lib = exe.save()
    again = Executable.load_exec(code, lib)
    again.load_late_bound_consts(path)
    np.testing.assert_array_equal(VirtualMachine(again, tenon.cpu()).run(value).numpy(), want)
    with pytest.raises(ValueError, match="no value"):
        exe.load_late_bound_consts_from_map({})


def test_text():
    exe = relay_vm.compile(relay.parse(VERSION + LOOP), "llvm")
    assert "VM Function[0]: main(n)" in exe.bytecode
    assert "# reg file size = " in exe.bytecode
    assert "opcode, fields # inst(text):" in exe.bytecode
    assert exe.stats.startswith("Relay VM executable statistics:")
    assert '  Globals (#2): [("main", 0), ("loop", 1)]' in exe.stats
    assert "VM PackedFunc[0]: vm_mod_fused_less" in exe.primitives
    assert exe.virtual_devices == "VM VirtualDevice[0]: cpu(0) (host)\n"


def test_executor():
    mod = relay.parse(VERSION + LOOP)
    ex = relay.create_executor("vm", mod, tenon.cpu(), "llvm")
    assert int(ex.evaluate()(np.int32(4)).numpy()) == 6
    loop = mod.get_global_var("loop")
    assert int(ex.evaluate(loop)(2, 5, 1).numpy()) == 10
    zero, one = relay.const(0), relay.const(1)
    assert int(ex.evaluate(loop(zero, relay.const(4), one)).numpy()) == 7
    x = relay.var("x", shape=(), dtype="int32")
    assert int(ex.evaluate(x + one, binds={x: 4}).numpy()) == 5


def test_benchmark():
    vm = simple()
    one = np.ones(4, "float32")
    result = vm.benchmark(tenon.cpu(), one, one, number=2, repeat=2)
    assert len(result.results) == 2 and result.mean > 0


def test_errors_of_the_compiler():
    with pytest.raises(RuntimeError, match="call lower"):
        relay_vm.VMCompiler().codegen()
    with pytest.raises(ValueError, match="Target is not set"):
        relay_vm.compile(relay.parse(VERSION + LOOP))
    with pytest.raises(ValueError, match="IRModule"):
        relay_vm.compile(3, "llvm")


def test_profile():
    from tenon.runtime.profiler_vm import VirtualMachineProfiler, enabled

    x = relay.var("x", shape=(relay.Any(), 4))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.concatenate([x, relay.exp(x)], 0)))
    vm = VirtualMachineProfiler(relay_vm.compile(mod, "llvm"), tenon.cpu())
    report = vm.profile(np.ones((3, 4), "float32"))
    names = [str(call["Name"]) for call in report.calls]
    assert enabled() and "AllocStorage" in names and "AllocTensorReg" in names
    assert any(name.startswith("vm_mod_fused") for name in names)
    assert any("shape_func" in name for name in names)
    assert "Executor: VM" in str(report)
    vm.set_input("main", np.ones((2, 4), "float32"))
    assert "float32[2, 4]" in str(vm.profile())
    assert vm.run(np.zeros((1, 4), "float32")).shape == (2, 4)
