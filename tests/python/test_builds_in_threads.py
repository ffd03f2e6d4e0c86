"""Threads that build, load and run at the same time: `make tsan` looks for races in this."""

import threading

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor
from tenon.runtime.vm import VirtualMachine
from tenon.target.codegen import llvm_version_major

THREADS, TIMES = 4, 3
TARGETS = ["stackvm"] + (["llvm"] if llvm_version_major(allow_none=True) else [])


def model(k, n=3):
    """Each thread has its own program (k), so that no cache answers for another."""
    x = relay.var("x", shape=(4, 6 + k))
    y, width = x, 6 + k
    for i in range(n):
        w = relay.const(np.full((5 + i + k, width), 0.5, "float32"))
        y, width = relay.nn.relu(relay.nn.dense(y, w)), 5 + i + k
        y = relay.multiply(y, relay.exp(relay.const(np.zeros((width,), "float32"))))  # folded
    return tenon.IRModule.from_expr(relay.Function([x], y))


def expected(k, x, n=3):
    for i in range(n):
        x = np.maximum(x @ np.full((x.shape[1], 5 + i + k), 0.5, "float32"), 0)
    return x


def graph(mod, target, data, folder):
    lib = relay.build(mod, target=target)
    m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    m.run(x=data)
    return m.get_output(0).numpy()


def machine(mod, target, data, folder):
    exe = relay.vm.compile(mod, target=target)
    return VirtualMachine(exe, tenon.cpu()).run(data).numpy()


def interpreter(mod, target, data, folder):
    return relay.create_executor("debug", mod, tenon.cpu(), target).evaluate()(data).numpy()


def ahead(mod, target, data, folder):
    lib = relay.build(mod, target=target, executor=relay.backend.Executor("aot"))
    path = str(folder / f"{threading.get_ident()}.so")
    lib.export_library(path, fcompile=tenon.contrib.cc.link_objects)
    m = tenon.runtime.executor.AotModule(tenon.runtime.load_module(path)["default"](tenon.cpu()))
    m.set_input("x", data)
    m.run()
    return m.get_output(0).numpy()


def at_once(work, n=THREADS):
    """Calls work(k) in n threads that start together; the first failure is raised."""
    failures, start = [], threading.Barrier(n)

    def body(k):
        try:
            start.wait()
            for _ in range(TIMES):
                work(k)
        except BaseException as err:
            failures.append(err)

    threads = [threading.Thread(target=body, args=(k,)) for k in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("build", [graph, machine, interpreter, ahead])
def test_builds_and_runs(build, target, tmp_path):
    if build is ahead and target == "stackvm":
        pytest.skip("stackvm has no objects")

    def work(k):
        data = np.random.rand(4, 6 + k).astype("float32")
        found = build(model(k), target, data, tmp_path)
        np.testing.assert_allclose(found, expected(k, data), rtol=1e-4)

    at_once(work)


def test_different_builds_at_once(tmp_path):
    kinds = [graph, machine, interpreter, graph if TARGETS == ["stackvm"] else ahead]

    def work(k):
        data = np.random.rand(4, 6 + k).astype("float32")
        found = kinds[k](model(k), TARGETS[-1], data, tmp_path)
        np.testing.assert_allclose(found, expected(k, data), rtol=1e-4)

    at_once(work)


def test_one_library_that_many_threads_load_and_run(tmp_path):
    if TARGETS == ["stackvm"]:
        pytest.skip("stackvm has no objects")
    path = str(tmp_path / "model.so")
    lib = relay.build(model(0), target="llvm")
    lib.export_library(path, fcompile=tenon.contrib.cc.link_objects)

    def work(k):
        data = np.random.rand(4, 6).astype("float32")
        m = graph_executor.GraphModule(tenon.runtime.load_module(path)["default"](tenon.cpu()))
        for _ in range(5):
            m.run(x=data)
        np.testing.assert_allclose(m.get_output(0).numpy(), expected(0, data), rtol=1e-4)

    at_once(work)


def test_global_functions_come_and_go():
    def work(k):
        name = f"test.threads.{k % 2}"
        for i in range(50):
            tenon.register_func(name, lambda i=i: i, override=True)
            f = tenon.get_global_func(name, allow_missing=True)
            if f is not None:
                assert 0 <= f() < 50
            assert tenon.get_global_func("runtime.CheckSignals", allow_missing=True) is not None

    at_once(work)


def test_a_pool_whose_size_changes_under_loops():
    if TARGETS == ["stackvm"]:
        pytest.skip("stackvm has no parallel loops")
    x = relay.var("x", shape=(64, 1000))
    lib = relay.build(tenon.IRModule.from_expr(relay.Function([x], relay.exp(x))), target="llvm")
    data = np.random.rand(64, 1000).astype("float32")
    resize = tenon.get_global_func("runtime.SetNumThreads")

    def work(k):
        m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
        for i in range(10):
            if k == 0:
                resize(1 + i % 4)
            m.run(x=data)
        np.testing.assert_allclose(m.get_output(0).numpy(), np.exp(data), rtol=1e-4)

    try:
        at_once(work)
    finally:
        resize(0)
