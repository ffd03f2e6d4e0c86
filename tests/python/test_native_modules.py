"""Modules compiled from C by the test: loading, imports carried in a blob, lifetimes, processes."""

import gc
import multiprocessing
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tenon
from tenon import _ffi

INCLUDE = pathlib.Path(__file__).parents[2] / "include"

SOURCE = """
#include <tvm/runtime/c_runtime_api.h>
#include <tvm/runtime/c_backend_api.h>

void *__tvm_module_ctx = NULL;

TVM_DLL int32_t scale(void *args, int32_t *codes, int32_t n, void *ret, int32_t *ret_code,
                      void *r) {
  TVMValue *v = args;
  if (n != 3) {
    TVMAPISetLastError("TypeError: scale: num_args should be 3");
    return -1;
  }
  DLTensor *x = v[0].v_handle, *y = v[1].v_handle;
  double by = codes[2] == kTVMArgInt ? (double)v[2].v_int64 : v[2].v_float64;
  for (int64_t i = 0; i < x->shape[0]; ++i)
    ((float *)y->data)[i] = (float)(((float *)x->data)[i] * by);
  return 0;
}

/* calls the function "helper" with its own arguments, by the name it is linked to at run time */
TVM_DLL int32_t call_helper(void *args, int32_t *codes, int32_t n, void *ret, int32_t *ret_code,
                            void *r) {
  static TVMFunctionHandle helper = NULL;
  if (!helper && TVMBackendGetFuncFromEnv(__tvm_module_ctx, "helper", &helper)) return -1;
  return TVMFuncCall(helper, args, codes, n, ret, ret_code);
}

TVM_DLL const char __tvm_main__[] = "scale";
"""


def compile_c(folder, name, *texts):
    """Compiles C texts to a shared library as an export does; returns its path."""
    sources = []
    for i, text in enumerate(texts):
        sources.append(folder / f"{name}{i}.c")
        sources[-1].write_text(text)
    library = folder / f"{name}.so"
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    command = ["cc", "-O2", "-shared", "-fPIC", f"-I{INCLUDE}", "-o", str(library)]
    subprocess.run([*command, *map(str, sources)], check=True, env=env)
    return str(library)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("native"), "scale", SOURCE)


def run_scale(f):
    x = tenon.nd.array(np.arange(4, dtype="float32"))
    y = tenon.nd.empty((4,), "float32")
    f(x, y, 2.5)
    np.testing.assert_equal(y.numpy(), [0, 2.5, 5, 7.5])


def test_load_and_call(library):
    m = tenon.runtime.load_module(library)
    assert m.type_key == "library"
    run_scale(m["scale"])
    run_scale(m)  # the entry function
    run_scale(m.entry_func)
    with pytest.raises(TypeError, match="num_args should be 3"):
        m["scale"](1)
    with pytest.raises(AttributeError, match="Module has no function 'missing'"):
        m["missing"]
    with pytest.raises(ValueError, match="Can only take string as function name"):
        m[3]
    assert not m.implements_function("strlen")  # of the C library, not of this one


def test_a_function_outlives_its_module(library):
    f = tenon.runtime.load_module(library)["scale"]
    gc.collect()
    run_scale(f)


def test_python_functions_called_by_compiled_code(tmp_path):
    m = tenon.runtime.load_module(compile_c(tmp_path, "calls", SOURCE))
    with pytest.raises(tenon.TVMError, match="Cannot find function helper"):
        m["call_helper"](1)
    seen = []

    @tenon.register_func("helper")
    def helper(*args):
        seen.append(args)
        if len(args) > 3:
            raise KeyError("too many")
        return args[0]

    try:
        assert m["call_helper"](7, 0.5, "text") == 7
        assert seen == [(7, 0.5, "text")]
        assert m["call_helper"]("text") == "text"
        assert isinstance(m["call_helper"](tenon.nd.empty((2,))), tenon.nd.NDArray)
        assert m["call_helper"](bytearray(b"a\0b")) == b"a\0b"
        with pytest.raises(KeyError, match="too many"):
            m["call_helper"](1, 2, 3, 4)
        assert m["call_helper"](*([1] * 3)) == 1
    finally:
        _ffi.remove_global_func("helper")


def test_imports_travel_in_the_library(tmp_path):
    """A library carries the modules it imports; loading makes them, compiled code finds them."""
    pack = tenon.get_global_func("runtime.ModulePackImportsToC")
    loads = []

    @tenon.register_func("runtime.module.loadbinary_test.nothing", override=True)
    def load(reader):
        loads.append(reader)
        return tenon.support.FrontendTestModule()

    with pytest.raises(tenon.TVMError, match="does not support SaveToBinary"):
        pack(tenon.runtime.load_module(compile_c(tmp_path, "plain", SOURCE)))
    blob = bytearray()

    def put(x):
        blob.extend(x.to_bytes(8, "little") if isinstance(x, int) else x)

    for x in (3, 4, b"_lib", 12, b"test.nothing", 12, b"_import_tree"):
        put(x)
    for x in (3, 0, 1, 1, 1, 1):  # rows 0 1 1, one child: module 1
        put(x)
    data = ",".join(map(str, len(blob).to_bytes(8, "little") + bytes(blob)))
    text = f"const unsigned char __tvm_dev_mblob[] = {{{data}}};\n"
    m = tenon.runtime.load_module(compile_c(tmp_path, "tree", SOURCE, text))
    (child,) = m.imported_modules
    assert m.type_key == "library" and len(loads) == 1
    child["__add_function"]("helper", lambda x: x + 1)
    assert m["call_helper"](41) == 42
    assert m.implements_function("helper", True) and not m.implements_function("helper")

    text = text.replace("{", "{255,", 1)  # a length that is not there
    path = compile_c(tmp_path, "broken", SOURCE, text)
    with pytest.raises(ValueError, match="there are"):
        tenon.runtime.load_module(path)
    text = f"const unsigned char __tvm_dev_mblob[] = {{{data.replace('110', '111')}}};\n"
    path = compile_c(tmp_path, "unknown", SOURCE, text)
    with pytest.raises(tenon.TVMError, match="Binary was created using {test.oothiog}"):
        tenon.runtime.load_module(path)


def test_many_loads_unload(tmp_path):
    """Libraries are unloaded with their modules: what is mapped does not grow."""
    mapped = []
    for i in range(4):
        path = compile_c(tmp_path, f"lib{i}", SOURCE)
        run_scale(tenon.runtime.load_module(path)["scale"])
        gc.collect()
        mapped.append(pathlib.Path("/proc/self/maps").read_text().count(str(tmp_path)))
    assert mapped == [0] * 4


def in_child(path, queue):
    run_scale(tenon.runtime.load_module(path)["scale"])
    queue.put("done")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_loading_in_another_process(library, method):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=in_child, args=(library, queue))
    child.start()
    assert queue.get(timeout=60) == "done"
    child.join()
    assert child.exitcode == 0


def test_program_without_the_compiler(library):
    program = f"""
import sys
import tenon
m = tenon.runtime.load_module({library!r})
x = tenon.nd.empty((2,), "float32")
m["scale"](x, x, 0)
assert x.numpy().tolist() == [0, 0]
"""
    subprocess.run([sys.executable, "-c", program], check=True)
