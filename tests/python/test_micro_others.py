"""Archives of other compilers, written by hand as the metadata of each version is laid out."""

import io
import json
import shutil
import tarfile

import numpy as np
import pytest
import tenon
from tenon import micro
from tenon.contrib.graph_executor import GraphModule
from test_aot import run
from test_cli import call

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
X = np.array([[1, 2, 3]], "float32")

OPERATORS = """// tvm target: c -keys=cpu -model=host
#define TVM_EXPORTS
#include "tvm/runtime/c_runtime_api.h"
#include "tvm/runtime/c_backend_api.h"
#include <math.h>
#ifdef __cplusplus
extern "C"
#endif
TVM_DLL int32_t OPERATOR(void* args, void* arg_type_ids, int32_t num_args,
    void* out_ret_value, void* out_ret_tcode, void* resource_handle) {
  void* arg0 = (((TVMValue*)args)[0].v_handle);
  void* arg1 = (((TVMValue*)args)[1].v_handle);
  int32_t arg0_code = ((int32_t*)arg_type_ids)[(0)];
  void* placeholder = (((DLTensor*)arg0)[0].data);
  void* T_add = (((DLTensor*)arg1)[0].data);
  int32_t dev_id = (((DLTensor*)arg0)[0].DEVICE.device_id);
  if (!(num_args == 2)) {
    TVMAPISetLastError("Assert fail: (num_args == 2)");
    return -1;
  }
  void* twice = TVMBackendAllocWorkspace(1, dev_id, (uint64_t)12, 2, 32);
  if (twice == NULL) {
    return -1;
  }
  for (int32_t ax1 = 0; ax1 < 3; ++ax1) {
    ((float*)twice)[ax1] = ((float*)placeholder)[ax1] * 2.000000e+00f;
  }
  for (int32_t ax1 = 0; ax1 < 3; ++ax1) {
    ((float*)T_add)[ax1] = ((float*)twice)[ax1] + 1.000000e+00f;
  }
  if (TVMBackendFreeWorkspace(1, dev_id, twice) != 0) {
    return -1;
  }
  return 0;
}
"""
REGISTRY = """#include <tvm/runtime/crt/module.h>
TVM_DLL int32_t OPERATOR(TVMValue* args, int* type_code, int num_args, TVMValue* out_value,
    int* out_type_code);
static TVMBackendPackedCFunc _tvm_func_array[] = {
    (TVMBackendPackedCFunc)OPERATOR,
};
static const TVMFuncRegistry _tvm_func_registry = {
    "\\001\\000OPERATOR\\000", _tvm_func_array,
};
static const TVMModule _tvm_system_lib = {
    &_tvm_func_registry,
};
const TVMModule* TVMSystemLibEntryPoint(void) {
    return &_tvm_system_lib;
}
"""
MAIN = """#include "tvm/runtime/c_runtime_api.h"
TVM_DLL int32_t tvmgen_net___tvm_main__(void* x, void* output0) {
  for (int i = 0; i < 3; ++i) ((float*)output0)[i] = ((float*)x)[i] * 2.0f + 1.0f;
  return 0;
}
"""
HEADER = """#ifndef TVMGEN_NET_H_
#define TVMGEN_NET_H_
#include <stdint.h>
/*! \\brief Input tensor x size (in bytes) for TVM module "net" */
#define TVMGEN_NET_X_SIZE 12
struct tvmgen_net_inputs {
  void* x;
};
struct tvmgen_net_outputs {
  void* output0;
};
POOLS
#endif // TVMGEN_NET_H_
"""
RELAY = """def @main(%x: Tensor[(1, 3), float32], %p: Tensor[(1), float32]) {
  add(multiply(%x, 2f), %p)
}
"""
GRAPH = {
    "nodes": [
        {"op": "null", "name": "x", "inputs": []},
        {"op": "tvm_op", "name": "OPERATOR", "inputs": [[0, 0, 0]],
         "attrs": {"num_outputs": "1", "num_inputs": "1", "flatten_data": "0",
                   "func_name": "OPERATOR", "hash": "0123456789abcdef"}},
    ],
    "arg_nodes": [0],
    "heads": [[1, 0, 0]],
    "attrs": {"dltype": ["list_str", ["float32", "float32"]],
              "device_index": ["list_int", [1, 1]],
              "storage_id": ["list_int", [0, 1]],
              "shape": ["list_shape", [[1, 3], [1, 3]]]},
    "node_row_ptr": [0, 1, 2],
}  # fmt: skip
SIDS = [
    {"storage_id": 0, "size_bytes": 12, "input_binding": "x"},
    {"storage_id": 1, "size_bytes": 12},
]


def functions(version):
    main = {"device": 1, "workspace_size_bytes": 12}
    if version >= 4:
        main |= {"constants_size_bytes": 0, "io_size_bytes": 24}
    if version >= 7:
        main |= {
            "inputs": {"x": {"size": 12, "dtype": "float32"}},
            "outputs": {"output0": {"size": 12, "dtype": "float32"}},
        }
    return {"main": [main], "operator_functions": []}


def metadata(version, executor):
    """As the versions lay it out: runtimes became executors with 3, targets a list with 6, and 7
    holds several models."""
    found = {
        "model_name": "net",
        "export_datetime": "2022-01-31 12:00:00Z",
        "target": {"1": "c -keys=cpu"} if version < 6 else ["c -keys=cpu -model=host"],
        ("executors" if version >= 3 else "runtimes"): [executor],
        "memory": {"functions": functions(version)},
    }
    if executor == "graph":
        found["memory"]["sids"] = SIDS
    if version == 1:
        found["memory"] = SIDS
    if version >= 4:
        found["style"] = "full-model"
    if version >= 7:
        return {"version": 7, "modules": {"net": found}}
    return {"version": version, **found}


def write(path, version, executor, files):
    files = {"metadata.json": json.dumps(metadata(version, executor)), **files}
    with tarfile.open(path, "w") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


def code(version, i):
    return f"codegen/host/src/{'net_' if version >= 7 else ''}lib{i}.c"


def graph_archive(path, version):
    name = "fused_add" if version == 1 else "tvmgen_net_fused_add"
    device = "ctx" if version == 1 else "device"
    folder = "executor-config" if version >= 3 else "runtime-config"
    graph = f"{folder}/graph/" + ("net.graph" if version >= 7 else "graph.json")
    relay = "src/net.relay" if version >= 7 else "src/relay.txt" if version >= 3 else "relay.txt"
    texts = {
        code(version, 0): OPERATORS.replace("DEVICE", device),
        code(version, 1): REGISTRY,
        graph: json.dumps(GRAPH),
        relay: RELAY,
    }
    return write(
        path, version, "graph", {k: text.replace("OPERATOR", name) for k, text in texts.items()}
    )


@pytest.mark.parametrize("version", range(1, 8))
def test_graphs(version, tmp_path):
    path = graph_archive(tmp_path / "net.tar", version)
    module = GraphModule(micro.load_model_library_format(path)["default"](tenon.cpu()))
    np.testing.assert_array_equal(run(module, {"x": X})[0], X * 2 + 1)
    status, out, err = call("inspect", str(path))
    assert (status, err) == (0, "") and f"version {version}\nmodel net\n" in out
    assert "  storages   24 bytes\n" in out
    np.savez(tmp_path / "in.npz", x=X)
    words = ["-i", str(tmp_path / "in.npz"), "-o", str(tmp_path / "out.npz")]
    assert call("run", str(path), *words)[0] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["output_0"], X * 2 + 1)


def c_archive(path, version, pools="", params="", call="inputs->x, outputs->output0", extra=""):
    entry = (
        '#include "tvm/runtime/c_runtime_api.h"\n#include <tvmgen_net.h>\n'
        "TVM_DLL int32_t tvmgen_net___tvm_main__(void* x, void* output0);\n" + extra +
        f"int32_t tvmgen_net_run({params or 'struct tvmgen_net_inputs* inputs, '}"
        f"{'' if params else 'struct tvmgen_net_outputs* outputs'}) {{\n"
        f"  return tvmgen_net___tvm_main__({call});\n}}\n"
    )  # fmt: skip
    files = {
        code(version, 0): MAIN,
        code(version, 1): entry,
        "codegen/host/include/tvmgen_net.h": HEADER.replace("POOLS", pools),
        ("src/net.relay" if version >= 7 else "src/relay.txt"): RELAY,
    }
    return write(path, version, "aot", files)


def check_c(path):
    module = GraphModule(micro.load_model_library_format(path)["default"](tenon.cpu()))
    assert module.get_num_inputs() == 1
    (got,) = run(module, {"x": X})
    np.testing.assert_array_equal(got.reshape(1, 3), X * 2 + 1)


@pytest.mark.parametrize("version", range(4, 8))
def test_ahead_of_time(version, tmp_path):
    check_c(c_archive(tmp_path / "net.tar", version))


POOLS = """#define TVMGEN_NET_SRAM_WORKSPACE_POOL_SIZE 64
#define TVMGEN_NET_DTCM_WORKSPACE_POOL_SIZE 32
struct tvmgen_net_workspace_pools {
  void* sram;
  void* dtcm;
};
"""


def test_pools_of_the_callers(tmp_path):
    params = (
        "struct tvmgen_net_inputs* inputs, struct tvmgen_net_outputs* outputs, "
        "struct tvmgen_net_workspace_pools* workspace_pools"
    )
    touch = "(((char*)workspace_pools->sram)[63] = ((char*)workspace_pools->dtcm)[31] = 1, "
    value = touch + "inputs->x), outputs->output0"
    check_c(c_archive(tmp_path / "net.tar", 7, POOLS, params, value))


def test_inputs_and_outputs_in_pools(tmp_path):
    heads = (
        "struct tvmgen_net_inputs tvmgen_net_map_inputs(struct tvmgen_net_workspace_pools* p)",
        "struct tvmgen_net_outputs tvmgen_net_map_outputs(struct tvmgen_net_workspace_pools* p)",
    )
    extra = (
        heads[0] + " {\n  struct tvmgen_net_inputs at = {(char*)p->sram + 16};\n  return at;\n}\n"
        + heads[1] + " {\n  struct tvmgen_net_outputs at = {p->dtcm};\n  return at;\n}\n"
    )  # fmt: skip
    pools = POOLS + "".join(head + ";\n" for head in heads)
    value = "(char*)workspace_pools->sram + 16, workspace_pools->dtcm"
    params = "struct tvmgen_net_workspace_pools* workspace_pools"
    check_c(c_archive(tmp_path / "net.tar", 7, pools, params, value, extra))
