"""Programs on several devices: the processor and OpenCL, on both executors."""

import json
import threading

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor
from tenon.contrib.debugger import debug_executor
from tenon.runtime import profiler_vm
from tenon.runtime.vm import VirtualMachine

HOST, DEVICE = tenon.cpu(0), tenon.opencl(0)
BOTH = {"cpu": "llvm", "opencl": "opencl"}
needs_device = pytest.mark.skipif(not DEVICE.exist, reason="no OpenCL device")
RNG = np.random.RandomState(0)


def module(params, body):
    return relay.transform.InferType()(tenon.IRModule.from_expr(relay.Function(params, body)))


def there_and_back():
    """A dense layer on the device between operators on the host; with its reference."""
    x = relay.var("x", shape=(4, 8))
    w = relay.var("w", shape=(16, 8))
    hidden = relay.nn.relu(relay.nn.dense(relay.exp(x), w))
    y = relay.annotation.on_device(hidden, DEVICE) + relay.const(1.0)
    mod = module([x, w], relay.nn.softmax(y))
    arrays = {
        "x": RNG.rand(4, 8).astype("float32"),
        "w": (RNG.rand(16, 8) - 0.5).astype("float32"),
    }
    e = np.exp(np.maximum(np.exp(arrays["x"]) @ arrays["w"].T, 0) + 1)
    return mod, arrays, e / e.sum(1, keepdims=True)


def entries(lib, key):
    return json.loads(lib.get_graph_json())["attrs"][key][1]


# ---- annotations ----


def test_annotations():
    x = relay.var("x", shape=(2,))
    for device in (tenon.cpu(), "cpu", tenon.target.VirtualDevice(tenon.cpu())):
        call = relay.annotation.on_device(x, device)
        assert call.op.name == "on_device"
        assert call.attrs.virtual_device.device_type == 1
        assert not call.attrs.constrain_result and call.attrs.constrain_body
    both = relay.op.annotation.on_device(x, "opencl", constrain_result=True, constrain_body=False)
    assert both.attrs.constrain_result and not both.attrs.constrain_body
    copy = relay.op.device_copy(x, tenon.cpu(), "opencl")
    assert copy.attrs.src_virtual_device.device_type == 1
    assert copy.attrs.dst_virtual_device.device_type == 4
    for wrong in (lambda: relay.annotation.on_device(x, 3), lambda: relay.op.device_copy(x, 1, 2)):
        with pytest.raises(ValueError, match="expected a Device, its name or a VirtualDevice"):
            wrong()


def test_parameters_and_results_know_their_devices():
    mod, _, _ = there_and_back()
    with tenon.transform.PassContext() as context:
        config = tenon.target.make_compilation_config(context, ["llvm", "opencl"])
    main = relay.transform.PlanDevices(config)(mod)["main"]
    # what a value is made of is where the value is
    assert [p.virtual_device_.device_type for p in main.params] == [4, 4]
    assert main.virtual_device_.device_type == 1
    again = relay.transform.PlanDevices(config)(tenon.IRModule.from_expr(main))["main"]
    tenon.ir.assert_structural_equal(again, main)


def test_an_annotation_does_not_change_what_is_computed():
    x = relay.var("x", shape=(2,))
    mod = module([x], relay.exp(relay.annotation.on_device(x + x, "cpu")))
    data = np.array([1, 2], "float32")
    for kind in ("graph", "vm", "debug"):
        run = relay.create_executor(kind, mod, HOST, "llvm").evaluate()
        np.testing.assert_allclose(run(data).numpy(), np.exp(2 * data), rtol=1e-5)


@pytest.mark.parametrize("build", [relay.build, relay.vm.compile])
def test_errors(build):
    x = relay.var("x", shape=(2,))
    mod = module([x], relay.annotation.on_device(relay.exp(x), tenon.cuda()) + x)
    with pytest.raises(ValueError, match="device type 2, which has no target"):
        build(mod, "llvm")
    with pytest.raises(ValueError, match="two targets for device type 1"):
        build(mod, ["llvm", "c"])
    with (
        tenon.transform.PassContext(config={"relay.fallback_device_type": 4}),
        pytest.raises(ValueError, match="no target is given for device type 4"),
    ):
        build(mod, "llvm")


# ---- the graph executor ----


@needs_device
@pytest.mark.parametrize(
    "target",
    [
        BOTH,
        {tenon.cpu(): "llvm", tenon.opencl(): "opencl"},
        ["opencl", "llvm"],
        {"cpu": "llvm", "opencl": tenon.target.Target("opencl", host="llvm")},
    ],
)
@pytest.mark.parametrize("bound", [False, True])
def test_graph(target, bound):
    mod, arrays, want = there_and_back()
    params = {"w": arrays["w"]} if bound else None
    lib = relay.build(mod, target, params=params)
    graph = json.loads(lib.get_graph_json())
    assert "__copy" in [node["attrs"]["func_name"] for node in graph["nodes"] if "attrs" in node]
    assert set(entries(lib, "device_index")) == {1, 4}
    for devices in ([HOST, DEVICE], [DEVICE, HOST]):
        run = graph_executor.GraphModule(lib["default"](*devices))
        run.set_input("x", arrays["x"])
        if not bound:
            run.set_input("w", arrays["w"])
        run.run()
        assert run.get_output(0).device == HOST
        np.testing.assert_allclose(run.get_output(0).numpy(), want, rtol=1e-4)


@needs_device
def test_export_and_several_executors(tmp_path):
    mod, arrays, want = there_and_back()
    lib = relay.build(mod, BOTH, params={"w": arrays["w"]})
    lib.export_library(str(tmp_path / "model.so"))
    loaded = tenon.runtime.load_module(str(tmp_path / "model.so"))
    errors = []

    def work():
        run = graph_executor.GraphModule(loaded["default"](HOST, DEVICE))
        for _ in range(5):
            run.run(x=arrays["x"])
            if not np.allclose(run.get_output(0).numpy(), want, rtol=1e-4):
                errors.append(run.get_output(0).numpy())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


@needs_device
@pytest.mark.parametrize("kind", ["graph", "vm"])
def test_create_executor(kind):
    mod, arrays, want = there_and_back()
    for device in (None, [HOST, DEVICE]):
        with tenon.transform.PassContext(config={"relay.fallback_device_type": 4}):
            run = relay.create_executor(kind, mod, device, BOTH).evaluate()
        np.testing.assert_allclose(run(**arrays).numpy(), want, rtol=1e-4)


@needs_device
@pytest.mark.parametrize("target", [BOTH, ["opencl", "llvm"]])
def test_compile(target):
    mod, arrays, want = there_and_back()
    model = tenon.compile(mod, target)
    assert model.executor == "graph"
    np.testing.assert_allclose(model(**arrays), want, rtol=1e-4)
    model = tenon.compile(counting_loop(), "opencl")
    assert model.executor == "vm"
    np.testing.assert_allclose(model(np.ones(8, "float32")), np.full(8, 32))


@needs_device
def test_profile_of_the_machine():
    mod, arrays, _ = there_and_back()
    machine = profiler_vm.VirtualMachineProfiler(relay.vm.compile(mod, BOTH), [HOST, DEVICE])
    report = machine.profile(arrays["x"], arrays["w"])
    where = {str(call["Name"]): str(call["Device"]) for call in report.calls}
    assert where["vm_mod_fused_nn_dense_nn_relu"] == "opencl0"
    assert where["vm_mod_fused_nn_softmax"] == "cpu0"
    assert where["DeviceCopy"] == "cpu0"  # where it goes


@needs_device
def test_debug_executor(tmp_path):
    mod, arrays, want = there_and_back()
    lib = relay.build(mod, BOTH, params={"w": arrays["w"]})
    run = debug_executor.create(
        lib.get_graph_json(), lib.get_lib(), [HOST, DEVICE], dump_root=str(tmp_path)
    )
    run.load_params(tenon.runtime.save_param_dict(lib.get_params()))
    run.set_input("x", arrays["x"])
    run.run(number=1, repeat=1)
    np.testing.assert_allclose(run.get_output(0).numpy(), want, rtol=1e-4)
    nodes = [node["op"] for node in run.debug_datum.get_graph_nodes()]
    assert "__copy" in nodes and len(run.run_individual(1)) == len(nodes)
    report = run.profile(x=arrays["x"])
    assert {str(call["Device"]) for call in report.calls} == {"cpu0", "opencl0"}


def test_what_functions_need_on_each_device():
    mod, arrays, _ = there_and_back()
    lib = relay.build(mod, BOTH, params={"w": arrays["w"]})
    main = lib.function_metadata["__tvm_main__"]
    sizes = {
        key: {str(t.kind.name): int(n) for t, n in getattr(main, key).items()}
        for key in ("workspace_sizes", "io_sizes", "constant_sizes")
    }
    # x and w, exp(x) and the dense layer on the device; its copy and what is added to it on the
    # host, whose softmax is the result: its memory is not among the workspace
    assert sizes["io_sizes"] == {"opencl": 4 * 8 * 4, "llvm": 4 * 16 * 4}
    assert sizes["constant_sizes"] == {"opencl": 16 * 8 * 4, "llvm": 0}
    assert sizes["workspace_sizes"] == {"opencl": (4 * 8 + 4 * 16) * 4, "llvm": 4 * 16 * 4}
    of = {
        str(name): {str(t.kind.name) for t in info.workspace_sizes}
        for name, info in lib.function_metadata.items()
    }
    assert of["tvmgen_default_fused_exp"] == {"opencl"}
    assert of["tvmgen_default_fused_nn_softmax"] == {"llvm"}


def test_memory_is_shared_on_one_device_only():
    """A chain that goes back and forth: blocks are used again where they are."""
    x = relay.var("x", shape=(64,))
    e = x
    for _ in range(8):
        e = relay.annotation.stop_fusion(relay.annotation.on_device(relay.exp(e), "cpu"))
        e = relay.annotation.stop_fusion(relay.annotation.on_device(relay.tanh(e), "opencl"))
    mod = module([x], relay.negative(e))
    with tenon.transform.PassContext(opt_level=0):
        lib = relay.build(mod, {"cpu": "llvm", "opencl": "opencl"})
    devices, storage = entries(lib, "device_index"), entries(lib, "storage_id")
    of = {}
    for device, block in zip(devices, storage, strict=True):
        assert of.setdefault(block, device) == device
    assert len(of) <= 6 < len(storage)


# ---- the virtual machine ----


def run_vm(mod, target, devices, *args):
    return VirtualMachine(relay.vm.compile(mod, target), devices).run(*args)


@needs_device
def test_vm(tmp_path):
    mod, arrays, want = there_and_back()
    exe = relay.vm.compile(mod, BOTH)
    assert "opencl(0)" in exe.virtual_devices and "device_copy" in exe.bytecode
    exe.mod.export_library(str(tmp_path / "vm.so"))
    for module_ in (exe, tenon.runtime.load_module(str(tmp_path / "vm.so"))):
        for devices in ([HOST, DEVICE], [DEVICE, HOST]):
            got = VirtualMachine(module_, devices).run(arrays["x"], arrays["w"])
            assert got.device == HOST
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-4)


@needs_device
@pytest.mark.parametrize("target", ["opencl", BOTH, "llvm"])
def test_condition_from_data(target):
    x = relay.var("x", shape=(8,))
    cond = relay.greater(relay.sum(x), relay.const(0.0))
    mod = module([x], relay.If(cond, relay.exp(x), x * relay.const(2.0)))
    data = RNG.rand(8).astype("float32")
    for fallback in (1, 4):
        if {"opencl": 4, "llvm": 1}.get(target if isinstance(target, str) else "") == 5 - fallback:
            continue
        with tenon.transform.PassContext(config={"relay.fallback_device_type": fallback}):
            exe = relay.vm.compile(mod, target)
        machine = VirtualMachine(exe, [HOST, DEVICE])
        np.testing.assert_allclose(machine.run(data).numpy(), np.exp(data), rtol=1e-5)
        np.testing.assert_allclose(machine.run(-data).numpy(), -2 * data, rtol=1e-5)


def counting_loop():
    """x doubled five times: the counter decides, the data may be anywhere."""
    mod, loop = tenon.IRModule(), relay.GlobalVar("loop")
    i, acc = relay.var("i", shape=(), dtype="int32"), relay.var("acc", shape=(8,))
    again = relay.Call(loop, [i + relay.const(1), acc * relay.const(2.0)])
    body = relay.If(relay.less(i, relay.const(5)), again, acc)
    mod[loop] = relay.Function([i, acc], body, relay.TensorType((8,)))
    x = relay.var("x", shape=(8,))
    mod["main"] = relay.Function([x], relay.Call(loop, [relay.const(0), x]))
    return relay.transform.InferType()(mod)


@needs_device
def test_counters_stay_on_the_host():
    exe = relay.vm.compile(counting_loop(), "opencl")
    assert "alloc_scalar" in exe.bytecode and "device_copy" not in exe.bytecode
    data = RNG.rand(8).astype("float32")
    got = VirtualMachine(exe, DEVICE).run(data)
    assert got.device == DEVICE
    np.testing.assert_allclose(got.numpy(), 32 * data, rtol=1e-5)


@needs_device
def test_scalars_are_copied_both_ways():
    x, i = relay.var("x", shape=(8,)), relay.var("i", shape=(), dtype="float32")
    there = relay.annotation.on_device(relay.exp(i), HOST)
    y = relay.annotation.on_device(x * there, DEVICE)
    total = relay.annotation.on_device(relay.sum(y), DEVICE)
    mod = module([x, i], relay.If(relay.greater(total, relay.const(1.0)), y, relay.negative(y)))
    data = RNG.rand(8).astype("float32") + 1
    for scale in (0.0, -9.0):
        got = run_vm(mod, BOTH, [HOST, DEVICE], data, np.array(scale, "float32"))
        want = data * np.exp(scale)
        want = want if want.sum() > 1 else -want
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-5)


@needs_device
@pytest.mark.parametrize("target", ["opencl", BOTH])
def test_dynamic_shapes(target):
    x = relay.var("x", shape=(relay.Any(), 4))
    w = RNG.rand(3, 4).astype("float32")
    dense = relay.annotation.on_device(relay.nn.dense(x, relay.const(w)), DEVICE)
    mod = module([x], relay.concatenate([dense, dense + relay.const(1.0)], axis=0))
    machine = VirtualMachine(relay.vm.compile(mod, target), [HOST, DEVICE])
    for rows in (1, 5, 70):
        data = RNG.rand(rows, 4).astype("float32")
        want = data @ w.T
        got = machine.run(data).numpy()
        np.testing.assert_allclose(got, np.concatenate([want, want + 1]), rtol=1e-5)


@needs_device
def test_shapes_that_depend_on_values():
    x = relay.var("x", shape=(6,))
    mod = module([x], relay.argwhere(relay.greater(x, relay.const(0.5))))
    data = np.array([0, 1, 0.2, 0.7, 0.9, 0.1], "float32")
    got = run_vm(mod, "opencl", DEVICE, data)
    np.testing.assert_array_equal(got.numpy(), [[1], [3], [4]])


@needs_device
def test_lists_of_tensors_on_a_device():
    mod = tenon.IRModule()
    prelude = relay.prelude.Prelude(mod)
    _, cons, nil = mod.get_type("List")
    x = relay.var("x", shape=(3,))
    items = cons(x, cons(relay.exp(x), nil()))
    total = relay.var("t", shape=(3,)), relay.var("e", shape=(3,))
    add = relay.Function(list(total), relay.add(*total))
    mod["main"] = relay.Function([x], prelude.foldl(add, relay.zeros((3,), "float32"), items))
    data = RNG.rand(3).astype("float32")
    got = run_vm(mod, "opencl", DEVICE, data)
    np.testing.assert_allclose(got.numpy(), data + np.exp(data), rtol=1e-5)
