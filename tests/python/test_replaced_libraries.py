"""Library files that are replaced, written to or cut short while they are loaded: what was loaded
stays what it was, what is loaded next is what is in the file."""

import ctypes
import os
import platform
import shutil
import struct
import subprocess

import numpy as np
import pytest
import tenon
from tenon import relay, te
from tenon.contrib import graph_executor
from tenon.target.codegen import llvm_version_major
from test_native_modules import compile_c

needs_cc = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
needs_llvm = pytest.mark.skipif(not llvm_version_major(True), reason="built without LLVM")

COUNTER = """
#include <tvm/runtime/c_runtime_api.h>
%s
static int calls;
TVM_DLL int32_t number(TVMValue *args, int32_t *codes, int32_t n, TVMValue *ret, int32_t *ret_code,
                       void *r) {
  ret->v_int64 = %d;
  *ret_code = kTVMArgInt;
  return 0;
}
TVM_DLL int32_t count(TVMValue *args, int32_t *codes, int32_t n, TVMValue *ret, int32_t *ret_code,
                      void *r) {
  ret->v_int64 = ++calls;
  *ret_code = kTVMArgInt;
  return 0;
}
%s
"""
CONTEXT = "TVM_DLL void *__tvm_module_ctx;"  # what compiled code has


def library(folder, number, context=CONTEXT, more=""):
    folder.mkdir(exist_ok=True)
    return compile_c(folder, f"lib{number}", COUNTER % (context, number, more))


def rename_over(new, path):
    shutil.copy(new, f"{path}.new")
    os.replace(f"{path}.new", path)


def write_into(new, path):
    with open(new, "rb") as source, open(path, "r+b") as target:
        data = source.read()
        target.write(data)
        target.truncate()


def write_anew(new, path):
    shutil.copyfile(new, path)


def with_old_times(new, path):
    old = os.stat(path)
    write_into(new, path)
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))


REPLACED = [rename_over, write_into, write_anew, with_old_times]


@needs_cc
@pytest.mark.parametrize("replace", REPLACED, ids=lambda f: f.__name__)
def test_compiled_code(tmp_path, replace):
    one, two = library(tmp_path / "a", 1), library(tmp_path / "b", 2)
    path = str(tmp_path / "model.so")
    shutil.copy(one, path)
    old = tenon.runtime.load_module(path)
    number, again = old["number"], tenon.runtime.load_module(path)
    assert number() == 1 and [m["count"]() for m in (old, again, old)] == [1, 2, 3]
    replace(two, path)
    new = tenon.runtime.load_module(path)
    assert new["number"]() == 2 and new["count"]() == 1
    assert number() == 1 and old["count"]() == 4 and again["number"]() == 1
    replace(one, path)
    newest = tenon.runtime.load_module(path)
    assert [m["number"]() for m in (old, new, newest)] == [1, 2, 1]
    del old, again, number, new
    assert newest["number"]() == 1 and tenon.runtime.load_module(path)["count"]() == 1


@needs_cc
def test_libraries_that_are_no_models(tmp_path):
    """The loader maps their files, as everybody's: only what replaces the name is safe."""
    one, two = (library(tmp_path / n, k, context="") for n, k in (("a", 1), ("b", 2)))
    path = str(tmp_path / "model.so")
    shutil.copy(one, path)
    old = tenon.runtime.load_module(path)
    assert old["number"]() == 1
    assert ctypes.CDLL(path).number  # the same library, not another
    rename_over(two, path)
    new = tenon.runtime.load_module(path)
    assert (old["number"](), new["number"]()) == (1, 2)
    rename_over(one, path)
    newest = tenon.runtime.load_module(path)
    assert (old["number"](), new["number"](), newest["number"]()) == (1, 2, 1)
    assert newest["count"]() == 1 and tenon.runtime.load_module(path)["count"]() == 2


@needs_cc
def test_large_libraries(tmp_path):
    big = "__attribute__((used)) const char constants[34 << 20] = {1};"
    one, two = (library(tmp_path / n, k, more=big) for n, k in (("a", 1), ("b", 2)))
    path = str(tmp_path / "model.so")
    shutil.copy(one, path)
    old = tenon.runtime.load_module(path)
    rename_over(two, path)
    new = tenon.runtime.load_module(path)
    assert (old["number"](), new["number"]()) == (1, 2)
    del new
    write_into(one, path)
    assert tenon.runtime.load_module(path)["number"]() == 1


@needs_cc
def test_the_same_moment(tmp_path):
    """Files whose times do not tell them apart."""
    files = [library(tmp_path / str(k), k) for k in (1, 2)]
    path = str(tmp_path / "model.so")
    shutil.copy(files[0], path)
    kept = []
    for i in range(30):
        write_into(files[i % 2], path)
        kept.append(tenon.runtime.load_module(path))
        assert kept[-1]["number"]() == i % 2 + 1
    assert [m["number"]() for m in kept] == [i % 2 + 1 for i in range(30)]


@needs_cc
def test_files_that_are_emptied_or_removed(tmp_path):
    path = str(tmp_path / "model.so")
    shutil.copy(library(tmp_path / "a", 1), path)
    old = tenon.runtime.load_module(path)
    with open(path, "wb"):
        pass
    assert old["number"]() == 1
    with pytest.raises(tenon.TVMError, match="not a shared library"):
        tenon.runtime.load_module(path)
    os.remove(path)
    assert old["number"]() == 1 and old.get_function("count")() == 1


@needs_cc
def test_from_c(tmp_path):
    one, two = library(tmp_path / "a", 1), library(tmp_path / "b", 2)
    path = str(tmp_path / "model.so")
    runtime = ctypes.CDLL(tenon._ffi.libinfo.find_lib_path()[0])
    kept = []

    def number():
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        value, code = ctypes.c_int64(), ctypes.c_int()
        assert runtime.TVMModLoadFromFile(path.encode(), b"so", ctypes.byref(module)) == 0
        assert runtime.TVMModGetFunction(module, b"number", 0, ctypes.byref(function)) == 0
        assert not runtime.TVMFuncCall(
            function, None, None, 0, ctypes.byref(value), ctypes.byref(code)
        )
        kept.append((module, function))
        return value.value

    shutil.copy(one, path)
    assert number() == 1
    for replace in REPLACED:
        for new, expected in ((two, 2), (one, 1)):
            replace(new, path)
            assert number() == expected
    for module, function in kept:
        assert runtime.TVMFuncFree(function) == 0 and runtime.TVMModFree(module) == 0


def model(factor):
    x = relay.var("x", shape=(4,))
    return tenon.IRModule.from_expr(relay.Function([x], x * relay.const(float(factor))))


@needs_llvm
@pytest.mark.parametrize("replace", REPLACED, ids=lambda f: f.__name__)
def test_models(tmp_path, replace):
    x = np.arange(4, dtype="float32")
    paths = [str(tmp_path / f"{k}.so") for k in (2, 3)]
    for k in (2, 3):
        relay.build(model(k), "llvm").export_library(paths[k - 2])
    path = str(tmp_path / "model.so")
    shutil.copy(paths[0], path)
    lib = tenon.runtime.load_module(path)
    first = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    compiled = tenon.CompiledModel.load(path)
    replace(paths[1], path)
    second = graph_executor.GraphModule(tenon.runtime.load_module(path)["default"](tenon.cpu()))
    for gmod, factor in ((first, 2), (second, 3)):
        gmod.run(x=x)
        np.testing.assert_array_equal(gmod.get_output(0).numpy(), x * factor)
    late = graph_executor.GraphModule(lib["default"](tenon.cpu()))  # reads the old parameters
    late.run(x=x)
    np.testing.assert_array_equal(late.get_output(0).numpy(), x * 2)
    np.testing.assert_array_equal(compiled(x), x * 2)
    np.testing.assert_array_equal(tenon.CompiledModel.load(path)(x), x * 3)


def times(n, factor):
    return te.compute((4,), lambda i: n[i] * float(factor))


@needs_llvm
def test_exporting_again(tmp_path):
    path = str(tmp_path / "model.so")
    loaded = []
    for k in range(1, 5):
        n = te.placeholder((4,), name="n")
        f = te.create_prim_func([n, times(n, k)])
        tenon.build(f, "llvm", name="f").export_library(path)
        loaded.append(tenon.runtime.load_module(path))
    x, y = tenon.nd.array(np.ones(4, "float32")), tenon.nd.empty((4,))
    for k, lib in enumerate(loaded, 1):
        lib["f"](x, y)
        assert y.numpy()[0] == k


# ---- what is not a library for this machine


def refused(path):
    with pytest.raises(tenon.TVMError) as err:
        tenon.runtime.load_module(str(path), "so")
    return str(err.value)


@needs_cc
def test_files_of_other_kinds(tmp_path):
    assert "it is a program, not a library" in refused(shutil.which("ls"))
    text = tmp_path / "model.so"
    text.write_text("<html>not found</html>")
    assert "it is not a shared library" in refused(text)
    source = tmp_path / "f.c"
    source.write_text("int f(void) { return 1; }\n")
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    subprocess.run(["cc", "-c", str(source), "-o", str(tmp_path / "f.o")], check=True, env=env)
    (tmp_path / "f.o").rename(tmp_path / "f.so")
    assert "it is an object file, not yet a library: link it" in refused(tmp_path / "f.so")


@needs_cc
@pytest.mark.skipif(platform.machine() != "x86_64", reason="names this machine")
def test_libraries_for_other_machines(tmp_path):
    data = bytearray(open(library(tmp_path / "a", 1), "rb").read())
    for machine, name in ((183, "aarch64"), (243, "riscv"), (999, "machine 999")):
        struct.pack_into("<H", data, 18, machine)
        other = tmp_path / "other.so"
        other.write_bytes(data)
        message = refused(other)
        assert f"it is for {name} (64 bits), this process runs on x86_64 (64 bits)" in message
        assert "compile it for this machine" in message
    struct.pack_into("<H", data, 18, 3)
    data[4] = 1
    other.write_bytes(data)
    assert "it is for i386 (32 bits)" in refused(other)
