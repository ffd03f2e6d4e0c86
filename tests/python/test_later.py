"""Names of the Relay-era interface whose functions are not there yet."""

import importlib
import subprocess
import sys

import numpy as np
import pytest
import tenon
from tenon import te

LATER = {
    "tenon.rpc": "RPCSession Server connect connect_tracker with_minrpc",
    "tenon.rpc.base": "TrackerCode random_key recvjson sendjson",
    "tenon.rpc.proxy": "Proxy websocket_proxy_server",
    "tenon.rpc.server": "Server",
    "tenon.rpc.tracker": "Tracker",
    "tenon.auto_scheduler": "ComputeDAG SearchTask SketchPolicy TuningOptions make_workload_key",
    "tenon.auto_scheduler.cost_model.cost_model": "PythonBasedModel",
    "tenon.auto_scheduler.measure": "MeasureErrorNo",
    "tenon.auto_scheduler.search_task": "SearchTask",
    "tenon.auto_scheduler.utils": "call_func_with_timeout get_const_tuple request_remote",
    "tenon.meta_schedule": "TuneContext derived_object tune_tir",
    "tenon.meta_schedule.arg_info": "TensorInfo",
    "tenon.meta_schedule.cost_model.xgb_model": "PackSum",
    "tenon.meta_schedule.database": "JSONDatabase TuningRecord Workload",
    "tenon.meta_schedule.runner": "EvaluatorConfig LocalRunner PyRunner",
    "tenon.meta_schedule.space_generator": "PostOrderApply",
    "tenon.meta_schedule.testing.local_rpc": "LocalRPC",
    "tenon.meta_schedule.testing.space_generation": "check_sketches generate_design_space",
    "tenon.autotvm": "LocalBuilder MeasureInput get_config measure_option template",
    "tenon.autotvm.callback": "log_to_file progress_bar",
    "tenon.autotvm.database": "DummyDatabase",
    "tenon.autotvm.graph_tuner": "DPTuner PBQPTuner",
    "tenon.autotvm.graph_tuner.utils": "get_in_nodes",
    "tenon.autotvm.measure": "MeasureErrorNo request_remote",
    "tenon.autotvm.measure.executor": "Executor",
    "tenon.autotvm.tuner": "GATuner GridSearchTuner RandomTuner XGBTuner",
    "tenon.autotvm.tuner.xgboost_cost_model": "XGBoostCostModel",
    "tenon.relay.backend.graph_executor_codegen": "GraphExecutorCodegen",
    "tenon.relay.data_dep_optimization.bsr_dense": "convert",
    "tenon.relay.data_dep_optimization.simplify_fc_transpose": "convert",
    "tenon.relay.frontend": "from_keras from_mxnet from_pytorch from_tensorflow from_tflite",
    "tenon.relay.quantize": "current_qconfig qconfig quantize",
    "tenon.relay.quantize._annotate": "QAnnotateKind attach_simulated_quantize",
    "tenon.script.parser.relax.entry": "CallableProxy",
    "tenon.script.relax": "function",
    "tenon.topi.arm_cpu.matmul": "compute_matmul_sme",
    "tenon.topi.cpp.cuda": "schedule_injective",
    "tenon.topi.sparse.utils": "convert_model_dense_to_sparse sparse_sketch_rules",
    "tenon.utils": "roofline_analysis",
    "tenon.utils.roofline.x86": "estimate_peak_bandwidth_dram",
}
CASES = [(module, name) for module, names in LATER.items() for name in names.split()]


@pytest.mark.parametrize(("module", "name"), CASES)
def test_name_loads_and_a_call_says_what_is_missing(module, name):
    value = getattr(importlib.import_module(module), name)
    with pytest.raises(NotImplementedError, match=rf"^tenon\.[\w.]*{name} is not there yet: \w"):
        value(1, key=2)


def test_attributes_and_subclasses_say_it_too():
    from tenon.meta_schedule import database

    class Mine(database.PyDatabase):
        pass

    with pytest.raises(NotImplementedError, match=r"PyDatabase is not there yet"):
        Mine()
    with pytest.raises(NotImplementedError, match=r"tenon\.autotvm\.callback\.log_to_file"):
        tenon.autotvm.callback.log_to_file("records.log")
    with pytest.raises(NotImplementedError, match=r"database\.JSONDatabase\.load"):
        database.JSONDatabase.load("x")


def test_a_function_is_not_hidden_by_the_module_of_its_name():
    importlib.import_module("tenon.relay.quantize.quantize")
    assert isinstance(tenon.relay.quantize.quantize, type)
    assert callable(tenon.relay.qnn.op.quantize)


def test_names_that_nobody_listed_are_errors():
    with pytest.raises(AttributeError, match="no_such_name"):
        tenon.rpc.no_such_name  # noqa: B018
    with pytest.raises(ImportError):
        importlib.import_module("tenon.rpc.no_such_module")


def test_tvm_names_are_the_same_modules():
    text = (
        "import tenon.as_tvm, sys\n"
        "from tvm.rpc.tracker import Tracker\n"
        "import tvm.meta_schedule.cost_model.xgb_model\n"
        "from tvm import auto_scheduler, meta_schedule as ms\n"
        "import tenon\n"
        "assert Tracker is tenon.rpc.tracker.Tracker\n"
        "assert ms is tenon.meta_schedule\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True)


def test_import_of_the_package_loads_none_of_them():
    text = (
        "import sys, tenon\n"
        "late = [n for n in sys.modules if n.split('.')[1:2] in "
        "(['rpc'], ['auto_scheduler'], ['meta_schedule'], ['utils'], ['_later'])]\n"
        "assert not late, late\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True)


def test_workloads_of_tests_compute_products():
    from tenon.meta_schedule.testing import te_workload

    rng = np.random.default_rng(0)
    for tensors, expected in (
        (te_workload.matmul(3, 4, 5), lambda a, b: a @ b),
        (te_workload.matmul_relu(3, 4, 5), lambda a, b: np.maximum(a @ b, 0)),
        (te_workload.batch_matmul_nkkm(2, 3, 4, 5), lambda a, b: a @ b),
    ):
        shapes = [tuple(int(extent) for extent in t.shape) for t in tensors]
        a, b = (rng.standard_normal(shape).astype("float32") for shape in shapes[:2])
        out = tenon.nd.empty(shapes[2])
        built = tenon.build(te.create_prim_func(list(tensors)), target="llvm")
        built(tenon.nd.array(a), tenon.nd.array(b), out)
        np.testing.assert_allclose(out.numpy(), expected(a, b), rtol=1e-5, atol=1e-5)
    func = te_workload.create_te_workload("GMM", 0)
    extents = [int(extent) for extent in func.buffer_map[func.params[2]].shape]
    assert extents == [1, 128, 128]
    with pytest.raises(NotImplementedError, match="C9D is not there yet; there are C1D, C2D"):
        te_workload.create_te_workload("C9D", 0)


def _run(tensors, arrays):
    out = tenon.nd.empty(tuple(int(extent) for extent in tensors[-1].shape))
    built = tenon.build(te.create_prim_func(list(tensors)), target="llvm")
    built(*map(tenon.nd.array, arrays), out)
    return out.numpy()


def _arrays(tensors):
    rng = np.random.default_rng(0)
    shapes = [tuple(int(extent) for extent in t.shape) for t in tensors[:-1]]
    return [rng.standard_normal(shape).astype("float32") for shape in shapes]


def _windows(data, size, stride, padding, dilation):
    """(batch, *places, *window, channels)"""
    space = data.ndim - 2
    padded = np.pad(data, [(0, 0), *[(padding, padding)] * space, (0, 0)])
    reach = (size - 1) * dilation + 1
    axes = tuple(range(1, space + 1))
    found = np.lib.stride_tricks.sliding_window_view(padded, (reach,) * space, axes)
    found = found[(slice(None), *[slice(None, None, stride)] * space)]
    found = found[(..., *[slice(None, None, dilation)] * space)]
    return np.moveaxis(found, space + 1, -1)


@pytest.mark.parametrize(
    "name, space, groups",
    [("conv1d_nlc", 1, 1), ("conv2d_nhwc", 2, 1), ("conv2d_nhwc", 2, 2), ("conv3d_ndhwc", 3, 1)],
)
def test_convolutions_of_tests(name, space, groups):
    from tenon.meta_schedule.testing import te_workload

    tensors = getattr(te_workload, name)(1, *[7] * space, 4, 6, 3, 2, 1, 2, groups)
    data, kernel = arrays = _arrays(tensors)
    windows, axes = _windows(data, 3, 2, 1, 2), list(range(space + 1))
    wanted = [
        np.tensordot(w, k, ([a - space - 1 for a in axes], axes))
        for w, k in zip(np.split(windows, groups, -1), np.split(kernel, groups, -1), strict=True)
    ]
    out = _run(tensors, arrays)
    np.testing.assert_allclose(out, np.concatenate(wanted, -1), rtol=1e-4, atol=1e-4)


def test_other_workloads_of_tests():
    from tenon.meta_schedule.testing import te_workload as workloads

    tensors = workloads.depthwise_conv2d_nhwc(1, 7, 7, 3, 3, 2, 1, 1, 2)
    data, kernel = arrays = _arrays(tensors)
    wanted = np.einsum("nhwijc,fijc->nhwcf", _windows(data, 3, 2, 1, 1), kernel)
    out = _run(tensors, arrays)
    np.testing.assert_allclose(out, wanted.reshape(out.shape), rtol=1e-4, atol=1e-4)

    tensors = workloads.conv2d_transpose_nhwc(1, 4, 4, 3, 2, 4, 2, 1)
    data, kernel = arrays = _arrays(tensors)
    full = np.zeros((1, 10, 10, 2), "float32")
    for y, x in np.ndindex(4, 4):
        full[:, 2 * y : 2 * y + 4, 2 * x : 2 * x + 4] += np.einsum(
            "nc,ijcf->nijf", data[:, y, x], kernel
        )
    out = _run(tensors, arrays)
    np.testing.assert_allclose(out, full[:, 1:-1, 1:-1], rtol=1e-4, atol=1e-4)

    tensors = workloads.conv2d_capsule_nhwijc(1, 5, 5, 2, 3, 3, 2, 1)
    data, kernel = arrays = _arrays(tensors)
    flat = _windows(data.reshape(1, 5, 5, 32), 3, 2, 1, 1).reshape(1, 3, 3, 3, 3, 4, 4, 2)
    wanted = np.einsum("nhwyxikc,yxkjcf->nhwijf", flat, kernel)
    np.testing.assert_allclose(_run(tensors, arrays), wanted, rtol=1e-4, atol=1e-4)

    tensors = workloads.conv2d_nhwc_bn_relu(1, 5, 5, 2, 3, 3, 1, 1)
    data, kernel, bias, offset, factor = arrays = _arrays(tensors)
    wanted = np.einsum("nhwijc,ijcf->nhwf", _windows(data, 3, 1, 1, 1), kernel)
    wanted = np.maximum((wanted + bias) * factor + offset, 0)
    np.testing.assert_allclose(_run(tensors, arrays), wanted, rtol=1e-4, atol=1e-4)

    tensors = workloads.transpose_batch_matmul(2, 3, 4, 5)
    left, right = arrays = _arrays(tensors)
    wanted = np.einsum("byhd,bxhd->bhyx", left, right)
    np.testing.assert_allclose(_run(tensors, arrays), wanted, rtol=1e-4, atol=1e-4)

    tensors = workloads.norm_bmn(2, 3, 4)
    (data,) = arrays = _arrays(tensors)
    wanted = np.sqrt((data**2).sum((1, 2)))
    np.testing.assert_allclose(_run(tensors, arrays), wanted, rtol=1e-4, atol=1e-4)

    tensors = workloads.softmax_mn(3, 4)
    (data,) = arrays = _arrays(tensors)
    wanted = np.exp(data) / np.exp(data).sum(1, keepdims=True)
    np.testing.assert_allclose(_run(tensors, arrays), wanted, rtol=1e-4, atol=1e-4)


def test_get_binds_makes_a_buffer_for_each_tensor_without_one():
    from tenon.driver.build_module import get_binds

    n = te.var("n")
    a = te.placeholder((n, 4), name="A")
    b = te.placeholder((4,), name="B", dtype="int8")
    mine = tenon.tir.decl_buffer((4,), "int8", "mine")
    binds, parameters = get_binds([a, b, n], binds={b: mine})
    assert parameters[0].same_as(binds[a])
    assert parameters[1].same_as(mine)
    assert parameters[2].same_as(n)
    assert (parameters[0].name, parameters[0].buffer_type) == ("A", 2)
    assert get_binds([a], compact=True)[1][0].buffer_type == 1
    with pytest.raises(TypeError, match="expected a Tensor, Buffer or Var, got int"):
        get_binds([1])


def test_the_standard_library_has_the_storage_type():
    mod = tenon.IRModule()
    mod.import_from_std("core.rly")
    assert [var.name_hint for var in mod.type_definitions] == ["Storage"]


def test_small_names_of_programs():
    from tenon.relay.transform import mixed_precision

    levels = [
        getattr(mixed_precision, f"MIXED_PRECISION_{n}") for n in ("ALWAYS", "FOLLOW", "NEVER")
    ]
    assert levels == [0, 1, 2]
    assert tenon.testing.utils.install_request_hook(depth=3) is None


def test_workloads_are_registered():
    from tenon import auto_scheduler
    from tenon.auto_scheduler import workload_registry

    @auto_scheduler.register_workload
    def layer(n):
        return [n]

    named = auto_scheduler.register_workload("other.layer")(layer)
    assert (
        named is layer and workload_registry.register_workload is auto_scheduler.register_workload
    )
    assert workload_registry.WORKLOAD_FUNC_REGISTRY["layer"] is layer
    assert workload_registry.WORKLOAD_FUNC_REGISTRY["other.layer"] is layer
    with pytest.raises(RuntimeError, match="layer is registered already; give it another name"):
        auto_scheduler.register_workload("layer", layer)
    assert auto_scheduler.register_workload("layer", layer, override=True) is layer
    with pytest.raises(TypeError, match="expected a name or a function, got int"):
        auto_scheduler.register_workload(3)
    with pytest.raises(TypeError, match="expected a function, got str"):
        auto_scheduler.register_workload("third", "layer")
