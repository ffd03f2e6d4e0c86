"""Code that is linked into a program, and libraries that carry other modules."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay.backend import Runtime
from tenon.script import from_source
from tenon.target.codegen import llvm_version_major

needs_llvm = pytest.mark.skipif(not llvm_version_major(allow_none=True), reason="without LLVM")
pytestmark = pytest.mark.skipif(tenon.contrib.cc.get_cc() is None, reason="no C compiler")
TARGETS = [pytest.param("llvm", marks=needs_llvm), "c"]

ADD = """
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    T.func_attr({{"global_symbol": "{name}", "tir.noalias": True}})
    for i in range(8):
        B[i] = A[i] + T.float32({number})
"""


def module_of(name, number):
    return tenon.IRModule({name: from_source(ADD.format(name=name, number=number))})


def linked(built, path, **options):
    """Writes a library and brings it into this process, as if it were part of the program."""
    built.export_library(path, **options)
    return ctypes.CDLL(path)


def check(function, number):
    a = np.arange(8, dtype="float32")
    b = tenon.nd.empty((8,), "float32")
    function(tenon.nd.array(a), b)
    np.testing.assert_array_equal(b.numpy(), a + np.float32(number))


@pytest.mark.parametrize("target", TARGETS)
def test_option_of_the_target(target, tmp_path):
    name = f"syslib_{target}_add"
    built = tenon.build(module_of(name, 3), target=f"{target} -system-lib")
    if target == "llvm":
        assert built["__tvm_is_system_module"]()
    linked(built, str(tmp_path / "lib.so"))
    check(tenon.runtime.system_lib()[name], 3)


@pytest.mark.parametrize("target", TARGETS)
def test_modules_with_a_prefix(target, tmp_path):
    for letter, number in (("A", 5), ("B", 6)):
        prefix = f"{target}{letter}_"
        mod = module_of(f"{prefix}run", number).with_attr("system_lib_prefix", prefix)
        built = tenon.build(mod, target=target)
        linked(built, str(tmp_path / f"lib{letter}.so"))
    for letter, number in (("A", 5), ("B", 6)):
        check(tenon.runtime.system_lib(f"{target}{letter}_")["run"], number)


@needs_llvm
def test_an_archive_of_objects(tmp_path):
    built = tenon.build(module_of("syslib_tar_add", 7), target="llvm -system-lib")
    built.export_library(str(tmp_path / "lib.tar"))
    tenon.contrib.tar.untar(str(tmp_path / "lib.tar"), str(tmp_path))
    tenon.contrib.cc.create_shared(str(tmp_path / "program.so"), [str(tmp_path / "lib0.o")])
    ctypes.CDLL(str(tmp_path / "program.so"))
    check(tenon.runtime.system_lib()["syslib_tar_add"], 7)


PROGRAM = """
import sys, numpy as np, tenon
lib = tenon.runtime.load_module(sys.argv[1])
a = np.arange(8, dtype="float32")
b = tenon.nd.empty((8,), "float32")
lib.get_function("second", query_imports=True)(tenon.nd.array(a), b)
assert (b.numpy() == a + 2).all()
lib["first"](tenon.nd.array(a), b)
assert (b.numpy() == a + 1).all()
print([m.type_key for m in lib.imported_modules])
"""


@needs_llvm
@pytest.mark.parametrize("ending", ["so", "tar"])
def test_imports_are_packed_into_an_object(ending, tmp_path):
    host = tenon.build(module_of("first", 1), target="llvm")
    host.import_module(tenon.build(module_of("second", 2), target="stackvm"))
    work = tmp_path / "work"
    work.mkdir()
    path = str(tmp_path / f"lib.{ending}")
    host.export_library(path, workspace_dir=str(work))
    assert sorted(p.name for p in work.iterdir()) == ["devc.o", "lib0.o"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['stackvm']\n"


@needs_llvm
def test_endings(tmp_path):
    host = tenon.build(module_of("first", 1), target="llvm")
    for ending, start in (
        (".ll", b"; ModuleID"),
        (".s", b"\t."),
        (".bc", b"BC"),
        (".o", b"\x7fELF"),
    ):
        path = tmp_path / f"lib{ending}"
        host.export_library(path)
        assert path.read_bytes().startswith(start), ending
    check(tenon.runtime.load_module(tmp_path / "lib.o")["first"], 1)
    host.import_module(tenon.build(module_of("second", 2), target="stackvm"))
    host.export_library(tmp_path / "both.o")
    lib = tenon.runtime.load_module(tmp_path / "both.o")
    check(lib["first"], 1)
    check(lib.get_function("second", query_imports=True), 2)
    with pytest.raises(ValueError, match=r"cannot be part of one \.c file"):
        host.export_library(tmp_path / "both.c")


def test_endings_of_c(tmp_path):
    source = tenon.build(module_of("first", 1), target="c")
    source.export_library(tmp_path / "lib.c")
    assert (tmp_path / "lib.c").read_text() == source.get_source()
    source.export_library(tmp_path / "lib.o")
    check(tenon.runtime.load_module(tmp_path / "lib.o")["first"], 1)


@pytest.mark.parametrize("target", TARGETS)
def test_option_of_the_runtime(target, tmp_path):
    name, runtime = f"syslib_{target}_runtime", Runtime("cpp", {"system-lib": True})
    built = tenon.build(module_of(name, 9), target=target, runtime=runtime)
    linked(built, str(tmp_path / "lib.so"))
    check(tenon.runtime.system_lib()[name], 9)
    plain = tenon.build(module_of(name + "_plain", 9), target=target, runtime=Runtime("cpp"))
    linked(plain, str(tmp_path / "plain.so"))
    with pytest.raises(AttributeError, match="has no function"):
        tenon.runtime.system_lib()[name + "_plain"]


@needs_llvm
@pytest.mark.parametrize("host", [None, "c"])
def test_the_runtimes_option_reaches_the_host(host):
    target = tenon.target.Target("llvm -mcpu=x86-64", host=host)
    runtime = Runtime("cpp", {"system-lib": True})
    built = tenon.build(module_of("syslib_host", 1), target=target, runtime=runtime)
    assert built["__tvm_is_system_module"]()


def test_a_target_without_the_option_stays():
    runtime = Runtime("cpp", {"system-lib": True})
    built = tenon.build(module_of("syslib_stackvm", 2), target="stackvm", runtime=runtime)
    check(built["syslib_stackvm"], 2)


@needs_llvm
def test_a_model_in_a_program(tmp_path):
    x = relay.var("x", shape=(8,))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.nn.relu(x - relay.const(3.0))))
    runtime = Runtime("cpp", {"system-lib": True})
    model = relay.build(mod, "llvm", runtime=runtime, mod_name="syslib_model")
    linked(model.get_lib(), str(tmp_path / "model.so"))
    function = tenon.runtime.system_lib()["tvmgen_syslib_model_fused_subtract_nn_relu"]
    out = tenon.nd.empty((8,))
    function(tenon.nd.array(np.arange(8, dtype="float32")), out)
    np.testing.assert_array_equal(out.numpy(), [0, 0, 0, 0, 1, 2, 3, 4])
