"""Executors that are called while they run, by their own function or by another thread, and
arrays that functions keep from their calls."""

import gc
import threading

import graphs
import numpy as np
import pytest
import tenon
from tenon import relay, te
from tenon.contrib import graph_executor
from tenon.contrib.debugger import debug_executor
from tenon.runtime.vm import Executable, VirtualMachine
from tenon.support import FrontendTestModule
from tenon.target.codegen import llvm_version_major

needs_llvm = pytest.mark.skipif(not llvm_version_major(True), reason="built without LLVM")
X, W = np.arange(6, dtype="float32"), np.full(6, 10, "float32")
IN_USE = "is in use by another call"


def functions(inside):
    """The functions of graphs.add_graph in Python; the first calls `inside` with its arrays."""
    lib = FrontendTestModule()

    def add(a, b, out):
        inside(a, b, out)
        out.copyfrom(a.numpy() + b.numpy())

    lib["add"] = add
    lib["add_one"] = lambda a, out: out.copyfrom(a.numpy() + 1)
    return lib


def graph_module(inside, create=graph_executor.create):
    gmod = create(graphs.add_graph(), functions(inside), tenon.cpu())
    gmod.set_input("x", X)
    gmod.set_input("w", W)
    return gmod


def machine(inside):
    """(a + b) + 1, whose kernels are functions in Python."""
    a, b = relay.var("a", shape=(6,)), relay.var("b", shape=(6,))
    body = relay.add(relay.annotation.stop_fusion(relay.add(a, b)), relay.const(1.0))
    exe = relay.vm.compile(tenon.IRModule.from_expr(relay.Function([a, b], body)), "llvm")
    code, _ = exe.save()
    lib = FrontendTestModule()

    def kernel(*args):
        inside(*args)
        given = [t.numpy() for t in args[:-1]]
        args[-1].copyfrom(sum(given) if len(given) > 1 else given[0] + 1)

    for name in exe.primitive_ops:
        lib[name] = kernel
    return VirtualMachine(Executable.load_exec(code, lib), tenon.cpu())


def test_calls_of_a_graph_by_its_own_functions():
    array = tenon.nd.array(X)
    calls = {
        "set_input": lambda: gmod.set_input("x", X),
        "set_input_zero_copy": lambda: gmod.set_input_zero_copy("x", array),
        "set_output_zero_copy": lambda: gmod.set_output_zero_copy(1, array),
        "get_output": lambda: gmod.get_output(0),
        "get_input": lambda: gmod.get_input("x"),
        "run": lambda: gmod.run(),
        "load_params": lambda: gmod.load_params(tenon.runtime.save_param_dict({"w": W})),
        "share_params": lambda: gmod.share_params(other, tenon.runtime.save_param_dict({"w": W})),
        "get_input_info": lambda: gmod.get_input_info(),
    }
    seen = []

    def inside(*_):
        for name, call in calls.items():
            with pytest.raises(RuntimeError, match=f"graph executor: {name}: it {IN_USE}"):
                call()
            seen.append(name)
        assert gmod.get_num_inputs() == 2 and gmod.get_input_index("w") == 1
        with pytest.raises(RuntimeError, match=IN_USE):
            other.share_params(gmod, tenon.runtime.save_param_dict({"w": W}))

    gmod, other = graph_module(inside), graph_module(lambda *_: None)
    gmod.run()
    assert seen == list(calls)
    np.testing.assert_array_equal(gmod.get_output(1).numpy(), X + W)
    gmod.share_params(gmod, tenon.runtime.save_param_dict({"w": W}))


def test_calls_of_a_debug_executor_by_its_own_functions(tmp_path):
    def inside(*_):
        for call in (gmod.run, lambda: execute(2), gmod.profile):
            with pytest.raises(RuntimeError, match=IN_USE):
                call()

    def create(*args):
        return debug_executor.create(*args, dump_root=str(tmp_path))

    gmod = graph_module(inside, create)
    execute = gmod.module["execute_node"]
    execute(2)
    np.testing.assert_array_equal(gmod.module["get_node_output"](2, 0).numpy(), X + W)


@needs_llvm
def test_calls_of_a_machine_by_its_own_functions():
    calls = [
        lambda: vm.run(X, W),
        lambda: vm.set_input("main", X, W),
        lambda: vm._setup_device(tenon.cpu(), None),  # a new machine in place of the running one
        lambda: vm.get_outputs(),
        lambda: vm.trim(),
        lambda: vm.set_max_depth(5),
        lambda: vm.memory_stats(),
    ]
    seen = []

    def inside(*_):
        for call in calls:
            with pytest.raises(RuntimeError, match=f"virtual machine: .*it {IN_USE}"):
                call()
            seen.append(call)

    vm = machine(inside)
    np.testing.assert_array_equal(vm.run(X, W).numpy(), X + W + 1)
    assert len(seen) >= len(calls)
    vm._setup_device(tenon.cpu(), None)
    np.testing.assert_array_equal(vm.run(X, W).numpy(), X + W + 1)


@needs_llvm
def test_errors_give_an_executor_back():
    def fails(*_):
        if fail:
            raise KeyError("of the function")

    fail = True
    gmod, vm = graph_module(fails), machine(fails)
    for _ in range(2):
        with pytest.raises(KeyError):
            gmod.run()
        with pytest.raises(KeyError):
            vm.run(X, W)
    fail = False
    gmod.run()
    np.testing.assert_array_equal(vm.run(X, W).numpy(), X + W + 1)


def used_by_threads(call, other_calls):
    """Runs `call` again and again while other threads make their calls, which may be refused."""
    stop, wrong, refused = threading.Event(), [], [0]

    def disturb(other):
        while not stop.is_set():
            try:
                other()
            except RuntimeError as err:
                refused[0] += 1
                if IN_USE not in str(err):
                    wrong.append(err)

    threads = [threading.Thread(target=disturb, args=(f,)) for f in other_calls]
    for t in threads:
        t.start()
    done = 0
    for _ in range(2000):
        try:
            call()
            done += 1
        except RuntimeError as err:
            assert IN_USE in str(err)
    stop.set()
    for t in threads:
        t.join()
    assert not wrong and done > 0


@needs_llvm
def test_a_graph_in_two_threads():
    gmod = graph_executor.create(graphs.add_graph(), graphs.add_module(), tenon.cpu())
    gmod.set_input("x", X)
    gmod.set_input("w", W)
    out = [tenon.nd.array(np.zeros(6, "float32")) for _ in range(2)]

    def rebind():
        for t in out:
            gmod.set_output_zero_copy(1, t)
            gmod.set_input("x", X)

    used_by_threads(gmod.run, [rebind, gmod.run])
    gmod.set_output_zero_copy(1, out[0])
    gmod.run()
    np.testing.assert_array_equal(out[0].numpy(), X + W)


@needs_llvm
def test_a_machine_in_two_threads():
    a, b = relay.var("a", shape=(6,)), relay.var("b", shape=(6,))
    mod = tenon.IRModule.from_expr(relay.Function([a, b], relay.add(a, b)))
    vm = VirtualMachine(relay.vm.compile(mod, "llvm"), tenon.cpu())
    used_by_threads(
        lambda: vm.run(X, W),
        [lambda: vm._setup_device(tenon.cpu(), None), lambda: vm.set_input("main", X, W)],
    )
    np.testing.assert_array_equal(vm.run(X, W).numpy(), X + W)


# ---- what functions keep


def kept_arrays(make, run):
    """Arrays that a function keeps while its executor goes, and numpy's over the same memory."""
    kept = []

    def inside(*args):
        kept.extend((t, np.asarray(t)) for t in args)

    executor = make(inside)
    run(executor)
    del executor
    gc.collect()
    junk = [np.full(6, 77, "float32") for _ in range(100)]  # takes freed memory
    values = [(t.numpy(), view.copy()) for t, view in kept]
    assert junk
    for ours, theirs in values:
        np.testing.assert_array_equal(ours, theirs)
    return [ours for ours, _ in values]


def test_arrays_kept_from_a_graph():
    a, b, out = kept_arrays(graph_module, lambda gmod: gmod.run())
    np.testing.assert_array_equal(a, X)
    np.testing.assert_array_equal(b, W)
    np.testing.assert_array_equal(out, X + W)


@needs_llvm
def test_arrays_kept_from_a_machine():
    a, b, _, *_ = kept_arrays(machine, lambda vm: vm.run(X, W))
    np.testing.assert_array_equal(a, X)
    np.testing.assert_array_equal(b, W)


@needs_llvm
def test_arrays_that_compiled_code_lends():
    """They live on the stack of the code that calls: what is kept of them is a copy."""
    kept = []

    @tenon.register_func("testing.keeps_its_arguments", override=True)
    def keeps(x, out):
        assert x.is_view
        kept.append(x)
        out.copyfrom(x.numpy() * 2)

    x = te.placeholder((6,), name="x")
    y = te.extern(
        (6,), [x], lambda i, o: tenon.tir.call_packed("testing.keeps_its_arguments", i[0], o[0])
    )
    f = tenon.build(te.create_prim_func([x, y]), "llvm")
    given, out = tenon.nd.array(X), tenon.nd.empty((6,))
    f(given, out)
    np.testing.assert_array_equal(out.numpy(), X * 2)
    given.copyfrom(W)
    del given, out
    gc.collect()
    np.testing.assert_array_equal(kept[0].numpy(), X)
    tenon._ffi.registry.remove_global_func("testing.keeps_its_arguments")
