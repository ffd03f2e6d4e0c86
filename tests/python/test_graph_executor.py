"""The graph executor from Python: inputs, outputs, parameters, factories, libraries, threads."""

import json
import subprocess
import sys
import threading
import time

import graphs
import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor
from tenon.target.codegen import llvm_version_major

needs_llvm = pytest.mark.skipif(not llvm_version_major(True), reason="built without LLVM")
X = np.arange(6, dtype="float32")
W = np.float32([10, 20, 30, 40, 50, 60])


@pytest.fixture(scope="module")
def lib():
    if not llvm_version_major(True):
        pytest.skip("built without LLVM")
    return graphs.add_module()


@pytest.fixture
def gmod(lib):
    return graph_executor.create(graphs.add_graph(), lib, tenon.cpu(0))


def check(gmod, x=X, w=W):
    gmod.run()
    np.testing.assert_array_equal(gmod.get_output(0).numpy(), (x + w + 1).reshape(2, 3))
    np.testing.assert_array_equal(gmod.get_output(1).numpy(), x + w)


def test_inputs(gmod):
    gmod.set_input("x", X)
    gmod.set_input(1, tenon.nd.array(W))
    check(gmod)
    gmod.set_input(x=list(range(6)), w=W.astype("float64"), unknown=3)
    check(gmod)
    gmod.run(x=X * 2)
    np.testing.assert_array_equal(gmod.get_output("s").numpy(), X * 2 + W)
    read_only = X.copy()
    read_only.flags.writeable = False
    gmod.set_input("x", read_only)
    gmod.set_input("w", W[::-1])
    check(gmod, w=W[::-1])
    np.testing.assert_array_equal(gmod.get_input("w").numpy(), W[::-1])
    out = tenon.nd.empty((6,))
    assert gmod.get_input(0, out) is out and (out.numpy() == X).all()
    assert gmod.get_input("unknown") is None
    assert gmod.get_num_inputs() == 2 and gmod.get_num_outputs() == 2
    assert [gmod.get_input_index(n) for n in ("x", "w", "s")] == [0, 1, -1]


def test_get_input_is_the_executors_own(gmod):
    gmod.set_input(x=X, w=W)
    gmod.get_input("x").copyfrom(X + 1)
    check(gmod, x=X + 1)


def test_outputs(gmod):
    gmod.set_input(x=X, w=W)
    check(gmod)
    out = tenon.nd.empty((2, 3))
    assert gmod.get_output(0, out) is out
    np.testing.assert_array_equal(out.numpy(), (X + W + 1).reshape(2, 3))
    own = gmod.get_output(0)
    gmod.run(x=X + 5)
    np.testing.assert_array_equal(own.numpy(), (X + W + 6).reshape(2, 3))  # overwritten
    assert callable(gmod["run"])


def test_infos(gmod):
    shapes, dtypes = gmod.get_input_info()
    assert {k: list(v) for k, v in shapes.items()} == {"x": [6], "w": [6]}
    assert dtypes["w"] == "float32"
    shapes, dtypes = gmod.get_output_info()
    assert list(shapes["r"]) == [2, 3] and dtypes["s"] == "float32"


@pytest.mark.parametrize("offset", [0, 4, 1])
def test_zero_copy_of_any_alignment(gmod, offset):
    def array(shape):
        block = np.zeros(200, "uint8")
        start = -block.ctypes.data % 64 + offset
        data = np.frombuffer(block, "float32", 6, start).reshape(shape)
        return data, tenon.nd.from_dlpack(torch_like(data))

    def torch_like(data):
        return data

    x, x_array = array((6,))
    y, y_array = array((2, 3))
    gmod.set_input("w", W)
    gmod.set_input_zero_copy("x", x_array)
    gmod.set_output_zero_copy(0, y_array)
    for i in range(3):
        x[:] = X + i
        gmod.run()
        np.testing.assert_array_equal(y, (X + W + i + 1).reshape(2, 3))
    gmod.set_input("x", X)  # the executor's own memory again
    check(gmod)
    assert (x == X + 2).all()


def test_zero_copy_by_keyword(gmod):
    x, w = tenon.nd.array(X), tenon.nd.array(W)
    gmod.set_input_zero_copy(x=x, w=w, unknown=x)
    check(gmod)
    x.copyfrom(X + 3)
    check(gmod, x=X + 3)
    assert gmod.get_input("x").same_as(x)
    with pytest.raises(RuntimeError, match="Could not find 'unknown' in graph's inputs"):
        gmod.set_input_zero_copy("unknown", x)
    with pytest.raises(ValueError, match=r"x: expected shape \(6,\), got \(2, 3\)"):
        gmod.set_input_zero_copy("x", tenon.nd.empty((2, 3)))
    with pytest.raises(ValueError, match="x: expected dtype float32, got int32"):
        gmod.set_input_zero_copy("x", tenon.nd.empty((6,), "int32"))
    check(gmod, x=X + 3)


def test_wrong_values(gmod):
    gmod.set_input(x=X, w=W)
    for bad in (np.zeros((3,)), np.zeros((3,), "float32"), tenon.nd.empty((3,))):
        with pytest.raises(ValueError, match=r"x: expected shape \(6,\), got \(3,\)"):
            gmod.set_input("x", bad)
    with pytest.raises(ValueError, match="x: expected dtype float32, got float64"):
        gmod.set_input("x", tenon.nd.empty((6,), "float64"))
    with pytest.raises(RuntimeError) as e:
        gmod.set_input("y", X)
    assert str(e.value) == "Could not find 'y' in graph's inputs: it has x, w"
    with pytest.raises(RuntimeError, match="inputs: it has w, x$"):  # the nearest first
        gmod.set_input("ww", X)
    with pytest.raises(tenon.TVMError, match="unknown input 7"):
        gmod.set_input(7, X)
    with pytest.raises(tenon.TVMError, match="unknown output 2: it has 2"):
        gmod.get_output(2)
    with pytest.raises(ValueError, match="output 0: expected shape"):
        gmod.get_output(0, tenon.nd.empty((6,)))
    with pytest.raises(NotImplementedError, match="use debugger.debug_executor"):
        gmod.debug_get_output(0, None)
    check(gmod)


def test_broken_graphs(lib):
    for text, message in (
        ("{", "JSON: line 1, column 2"),
        ("[]", "invalid format"),
        (graphs.add_graph().replace("node_row_ptr", "rows"), "node_row_ptr: missing"),
    ):
        with pytest.raises(ValueError, match=message):
            graph_executor.create(text, lib, tenon.cpu(0))
    with pytest.raises(tenon.TVMError, match="no such function in module: nothing"):
        graph_executor.create(graphs.add_graph().replace('"add"', '"nothing"'), lib, tenon.cpu(0))
    with pytest.raises(AssertionError):
        graph_executor.create(json.loads(graphs.add_graph()), lib, tenon.cpu(0))


def test_get_device(lib):
    assert graph_executor.get_device(lib, [tenon.cpu(0), tenon.opencl(2)])[1:] == (0, [1, 0, 4, 2])
    assert graph_executor.get_device(lib, tenon.cpu(1)) == ([tenon.cpu(1)], 0, [1, 1])
    for bad in ("cpu", ["cpu"], 3, None):
        with pytest.raises(
            ValueError, match="dev has to be the type of Device or a list of Device"
        ):
            graph_executor.get_device(lib, bad)


def test_flattened_data_and_python_functions():
    seen = []
    mod = tenon.support.FrontendTestModule()

    def myadd(a, out):
        seen.append(a.shape)
        out.copyfrom(a.numpy() + 1)

    mod["myadd"] = myadd
    nodes = [graphs.value("x"), graphs.node("add", "myadd", 0, flatten_data="1")]
    gmod = graph_executor.create(graphs.graph(nodes, [1], [[2, 3], [2, 3]]), mod, tenon.cpu(0))
    gmod.run(x=X.reshape(2, 3))
    np.testing.assert_array_equal(gmod.get_output(0).numpy(), X.reshape(2, 3) + 1)
    assert seen == [(6,)]
    mod["myadd"] = lambda a, out: {}["nothing"]
    gmod = graph_executor.create(graphs.graph(nodes, [1], [[2, 3], [2, 3]]), mod, tenon.cpu(0))
    with pytest.raises(KeyError, match="nothing"):
        gmod.run()


def test_copy_and_types(lib):
    nodes = [graphs.value("b"), graphs.node("c", "__copy", 0), graphs.value("i")]
    text = graphs.graph(nodes, [1, 2], [[3], [3], [2]], ["bool", "bool", "int64"])
    gmod = graph_executor.create(text, lib, tenon.cpu(0))
    gmod.run(b=np.array([True, False, True]), i=[1, 2])
    np.testing.assert_array_equal(gmod.get_output(0).numpy(), [True, False, True])
    np.testing.assert_array_equal(gmod.get_output(1).numpy(), [1, 2])
    assert gmod.get_output(1).dtype == "int64"


def test_load_and_share_params(lib, gmod):
    blob = tenon.runtime.save_param_dict({"w": W, "other": X})
    gmod.load_params(blob)
    gmod.set_input("x", X)
    check(gmod)
    shapes, _ = gmod.get_input_info()
    assert list(shapes) == ["x"]
    other = graph_executor.create(graphs.add_graph(), lib, tenon.cpu(0))
    other.share_params(gmod, tenon.runtime.save_param_dict({"s": X}))  # no input: ignored
    other.share_params(gmod, blob)
    other.set_input("x", X)
    check(other)
    gmod.get_input("w").copyfrom(W + 1)
    check(other, w=W + 1)
    for bad in (b"not parameters", blob[: len(blob) // 2], b""):
        with pytest.raises(ValueError, match="Invalid parameters file format"):
            gmod.load_params(bad)
    with pytest.raises(ValueError, match=r"w: expected shape \(6,\), got \(2, 3\)"):
        gmod.load_params(tenon.runtime.save_param_dict({"w": W.reshape(2, 3)}))
    check(gmod, w=W + 1)


# ---- models


@needs_llvm
def test_factory():
    model = graphs.add_factory({"w": tenon.nd.array(W)})
    assert model.type_key == "GraphExecutorFactory"
    assert model.is_binary_serializable and model.is_runnable and not model.is_dso_exportable
    gmod = graph_executor.GraphModule(model["default"](tenon.cpu(0)))
    gmod.set_input("x", X)
    check(gmod)
    shapes, _ = gmod.get_input_info()
    assert sorted(shapes) == ["w", "x"]
    assert json.loads(model["get_graph_json"]()) == json.loads(graphs.add_graph())
    params = model["get_graph_params"]()
    assert (params["w"].numpy() == W).all()
    gmod.set_input("w", W * 2)  # others are not concerned
    second = graph_executor.GraphModule(model["default"](tenon.cpu(0)))
    second.set_input("x", X)
    check(second)
    check(gmod, w=W * 2)
    bare = graph_executor.GraphModule(model["remove_params"]()["default"](tenon.cpu(0)))
    bare.set_input(x=X, w=W)
    check(bare)
    assert len(model["remove_params"]()["get_graph_params"]()) == 0
    with pytest.raises(NotImplementedError, match="no CUDA graph executor"):
        model["cuda_graph_create"](tenon.cpu(0))
    with pytest.raises(AttributeError, match="Module has no function 'other'"):
        model["other"]
    with pytest.raises(TypeError, match="expected a device"):
        model["default"]()


RUN = """
import sys
import numpy as np
import tenon
from tenon import relay
from tenon.contrib import graph_executor

model = tenon.runtime.load_module(sys.argv[1])
gmod = graph_executor.GraphModule(model["default"](tenon.cpu(0)))
gmod.run(x=np.arange(6, dtype="float32"))
print(gmod.get_output(1).numpy().tolist(), model.type_key)
maps = open("/proc/self/maps").read()
assert "libtenon_llvm" not in maps
"""


@needs_llvm
@pytest.mark.parametrize("ending", ["so", "tar"])
def test_export_and_load(tmp_path, ending):
    path = str(tmp_path / f"model.{ending}")
    graphs.add_factory({"w": tenon.nd.array(W)}).export_library(path)
    model = tenon.runtime.load_module(path)
    (library,) = model.imported_modules
    assert model.type_key == "GraphExecutorFactory" and library.type_key == "library"
    gmod = graph_executor.GraphModule(model["default"](tenon.cpu(0)))
    del model, library
    gmod.set_input("x", X)
    check(gmod)
    loads = path if ending == "so" else path + ".so"
    done = subprocess.run([sys.executable, "-c", RUN, loads], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("]")[0] == str((X + W).tolist())[:-1]
    assert done.stdout.strip().endswith("GraphExecutorFactory")


@needs_llvm
def test_threads_share_a_loaded_model(tmp_path):
    path = str(tmp_path / "model.so")
    graphs.add_factory({"w": tenon.nd.array(W)}).export_library(path)
    model = tenon.runtime.load_module(path)
    wrong = []

    def work(k):
        for i in range(20):
            gmod = graph_executor.GraphModule(model["default"](tenon.cpu(0)))
            gmod.run(x=X * k + i)
            if (gmod.get_output(1).numpy() != X * k + i + W).any():
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_other_threads_run_meanwhile():
    mod = tenon.support.FrontendTestModule()
    mod["slow"] = lambda out: time.sleep(0.05)
    gmod = graph_executor.create(
        graphs.graph([graphs.node("s", "slow")], [0], [[1]]), mod, tenon.cpu(0)
    )
    done = []
    thread = threading.Thread(target=lambda: (gmod.run(), done.append(1)))
    thread.start()
    thread.join()
    assert done


def test_benchmark(gmod):
    dev = tenon.cpu(0)
    r = gmod.benchmark(dev, func_name="run", repeat=3, number=4, x=X, w=W)
    assert len(r.results) == 3 and 0 < r.min <= r.median <= r.max and r.std >= 0
    assert "mean" in str(r)
    assert len(gmod.benchmark(dev).results) == 5
    end_to_end = gmod.benchmark(
        dev, repeat=2, number=2, end_to_end=True, x=X * 2, w=tenon.nd.array(W)
    )
    assert len(end_to_end.results) == 2
    np.testing.assert_array_equal(gmod.get_output(1).numpy(), X * 2 + W)
    begin = time.monotonic()
    gmod.benchmark(dev, repeat=2, number=1, min_repeat_ms=20)
    assert time.monotonic() - begin >= 0.04
    begin = time.monotonic()
    gmod.benchmark(dev, repeat=3, number=1, cooldown_interval_ms=20, repeats_to_cooldown=1)
    assert time.monotonic() - begin >= 0.055
    with pytest.raises(ValueError, match="nothing is not a valid input name"):
        gmod.benchmark(dev, end_to_end=True, nothing=X)


def test_run_from_inputs(gmod):
    outputs = gmod["run_from_inputs"](1, 0, "x", X, 1, W)
    np.testing.assert_array_equal(outputs[1].numpy(), X + W)
    gmod.run(x=X + 1)
    np.testing.assert_array_equal(outputs[1].numpy(), X + W)  # copies
    with pytest.raises(TypeError, match="inputs and values in turn"):
        gmod["run_from_inputs"](1, 0, "x")


def test_old_names(lib):
    from tenon.contrib import graph_runtime
    from tenon.contrib.cuda_graph import cuda_graph_executor

    with pytest.warns(DeprecationWarning, match="graph_runtime"):
        gmod = graph_runtime.create(graphs.add_graph(), lib, tenon.cpu(0))
    gmod.set_input(x=X, w=W)
    check(gmod)
    with pytest.raises(NotImplementedError, match="CUDA graph executor is not supported"):
        cuda_graph_executor.create(graphs.add_graph(), lib, tenon.cpu(0))
    with pytest.raises(NotImplementedError, match="CUDA graph executor is not supported"):
        cuda_graph_executor.GraphModuleCudaGraph(gmod.module)


@needs_llvm
def test_parameters_of_a_loaded_model_can_be_written(tmp_path):
    """The file's memory is read-only: what programs get are copies."""
    path = str(tmp_path / "model.so")
    graphs.add_factory({"w": tenon.nd.array(W)}).export_library(path)
    model = tenon.runtime.load_module(path)
    params = model["get_graph_params"]()
    del model
    params["w"].copyfrom(W + 1)
    np.testing.assert_array_equal(params["w"].numpy(), W + 1)
    model = tenon.runtime.load_module(path)
    again = str(tmp_path / "again.so")  # as it was loaded, before any executor
    repacked = tenon.get_global_func("tvm.graph_executor_factory.create")(
        model["get_graph_json"](),
        graphs.add_module(),
        "other",
        "w",
        model["get_graph_params"]()["w"],
    )
    repacked.export_library(again)
    gmod = graph_executor.GraphModule(tenon.runtime.load_module(again)["other"](tenon.cpu(0)))
    gmod.get_input("w").copyfrom(W * 3)
    gmod.set_input("x", X)
    check(gmod, w=W * 3)


def test_values_of_let_are_parts_of_the_graph():
    a, b, t = (relay.var(n) for n in "abt")
    x = relay.var("x", shape=(2, 3))
    body = relay.Let(t, relay.Tuple([a, b]), relay.concatenate(t, 1) + relay.const(1.0))
    body = relay.Let(a, relay.exp(x), relay.Let(b, relay.multiply(a, a), body))
    mod = tenon.IRModule.from_expr(relay.Function([x], body))
    data = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)
    wanted = np.concatenate([np.exp(data), np.exp(data) ** 2], 1) + 1
    for level in (0, 3):
        with tenon.transform.PassContext(opt_level=level):
            for kind in ("graph", "vm", "aot"):
                f = relay.create_executor(kind, mod=mod, device=tenon.cpu(), target="llvm")
                np.testing.assert_allclose(f.evaluate()(data).numpy(), wanted, rtol=1e-5)
