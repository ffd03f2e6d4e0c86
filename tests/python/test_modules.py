"""Modules: export of host code with what it imports, loading, timing."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tenon
from tenon.contrib import cc, tar
from tenon.runtime.module import BenchmarkResult, ModulePropertyMask

needs_cc = pytest.mark.skipif(cc.get_cc() is None, reason="no C compiler")

ADD_ONE = """
#include <stdint.h>
#ifdef __cplusplus
extern "C"
#endif
__attribute__((visibility("default")))
int32_t add_one(void *args, int32_t *codes, int32_t n, void *ret, int32_t *code, void *res) {
  *(int64_t *)ret = *(int64_t *)args + ADDEND;
  *code = 0;
  return 0;
}
"""


def c_module(code="", format="c", names=("add_one",)):
    create = tenon.get_global_func("runtime.CSourceModuleCreate")
    return create(code or ADD_ONE.replace("ADDEND", "1"), format, list(names))


def test_a_source_module():
    mod = c_module("int x;")
    assert isinstance(mod, tenon.runtime.Module)
    assert (mod.type_key, mod.format) == ("c", "c") and mod.get_source() == "int x;"
    assert mod.get_property_mask() == ModulePropertyMask.DSO_EXPORTABLE
    assert mod.is_dso_exportable and not mod.is_runnable and not mod.is_binary_serializable
    assert not mod.is_device_module
    assert mod.implements_function("add_one") and not mod.implements_function("x")
    assert mod == mod and mod != c_module("int x;") and len({mod, mod}) == 1
    assert repr(mod).startswith("Module(c, ")
    with pytest.raises(RuntimeError, match="not linked"):
        mod["add_one"](1)
    with pytest.raises(AttributeError, match="Module has no function 'missing'"):
        mod["missing"]
    with pytest.raises(ValueError, match="Can only take string as function name"):
        mod[3]


def test_imports():
    outer, inner = c_module(), c_module("int y;", names=["inner"])
    outer.import_module(inner)
    assert outer.imported_modules == [inner]
    assert not outer.implements_function("inner")
    assert outer.implements_function("inner", query_imports=True)
    outer.get_function("inner", query_imports=True)
    with pytest.raises(ValueError, match="import"):
        inner.import_module(outer)
    with pytest.raises(ValueError):
        outer.import_module(outer)
    assert set(outer._collect_dso_modules()) == {outer, inner}
    outer._clear_imports()
    assert outer.imported_modules == []


def test_a_module_can_take_another_one_over():
    mod = c_module()
    other = tenon.runtime.Module(mod)
    assert other == mod and other.type_key == "c"


def test_the_entry_function_can_be_named():
    mod = tenon.support.FrontendTestModule()
    assert mod.entry_name == "__tvm_main__"
    mod["__tvm_main__"], mod["other"] = lambda: 1, lambda: 2
    assert mod() == 1
    mod.entry_name = "other"
    assert mod() == 2


@needs_cc
@pytest.mark.parametrize("ending", ["so", "tar"])
def test_export_and_load(tmp_path, ending):
    path = tmp_path / f"lib.{ending}"
    kwargs = {"options": "-O1"} if ending == "so" else {}
    c_module().export_library(path, workspace_dir=str(tmp_path), **kwargs)
    assert (tmp_path / "lib0.c").exists()
    loaded = tenon.runtime.load_module(path)
    assert loaded.type_key == "library" and loaded.is_runnable
    assert loaded["add_one"](41) == 42
    f = loaded.get_function("add_one")
    del loaded
    assert f(1) == 2  # the function keeps its module


@needs_cc
def test_several_modules_become_one_library(tmp_path):
    outer = c_module()
    code = ADD_ONE.replace("ADDEND", "2").replace("add_one", "add_two")
    outer.import_module(c_module(code, "cc", names=["add_two"]))
    path = str(tmp_path / "both.so")
    outer.export_library(path, workspace_dir=str(tmp_path))
    loaded = tenon.runtime.load_module(path)
    assert loaded["add_one"](1) == 2 and loaded["add_two"](1) == 3
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names[0] == "both.so" and {"lib0.c", "lib1.cc"} <= set(names)


@needs_cc
def test_static_library_modules(tmp_path):
    source = tmp_path / "s.c"
    source.write_text(ADD_ONE.replace("ADDEND", "5"))
    obj = str(tmp_path / "s.o")
    subprocess.run(["cc", "-fPIC", "-c", str(source), "-o", obj], check=True)
    mod = tenon.runtime.load_static_library(obj, ["add_one"])
    assert mod.type_key == "static_library" and mod.implements_function("add_one")
    assert list(mod["get_func_names"]()) == ["add_one"]
    path = str(tmp_path / "lib.so")
    mod.export_library(path)
    assert tenon.runtime.load_module(path)["add_one"](1) == 6
    assert tenon.runtime.load_module(obj)["add_one"](1) == 6  # linked on the way


@needs_cc
def test_own_compilers(tmp_path):
    calls = []

    def fcompile(file, files, **kwargs):
        calls.append((file, [os.path.basename(f) for f in files], kwargs))
        return "returned"

    extra = str(tmp_path / "extra.o")
    result = c_module().export_library(
        str(tmp_path / "x.bin"), fcompile=fcompile, addons=[extra], flag=1
    )
    assert result == "returned"
    file, files, kwargs = calls[0]
    assert files == ["extra.o", "lib0.c"] and kwargs["flag"] == 1
    assert any(option.startswith("-I") for option in kwargs["options"])
    fcompile.need_system_lib = True
    with pytest.raises(ValueError, match="--system-lib"):
        c_module().export_library("x.bin", fcompile=fcompile)
    assert tar.tar.output_format == "tar"


def test_what_cannot_be_exported(tmp_path):
    mod = tenon.support.FrontendTestModule()
    with pytest.raises(ValueError, match="neither compiled .* nor saved"):
        mod.export_library(str(tmp_path / "x.so"))


def test_loading_what_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="cannot find file .*missing.so"):
        tenon.runtime.load_module(str(tmp_path / "missing.so"))
    (tmp_path / "x.unknown").write_text("")
    with pytest.raises(ValueError, match="unknown"):
        tenon.runtime.load_module(tmp_path / "x.unknown")
    with pytest.raises(OSError):
        tenon.runtime.load_static_library(str(tmp_path / "missing.o"), [])


@needs_cc
def test_libraries_that_were_cut_off(tmp_path):
    """They are errors: mapped as they are they would end the process."""
    path = tmp_path / "lib.so"
    c_module().export_library(str(path))
    data = path.read_bytes()
    cuts = [0, 3, 63, 64, 100, *range(200, len(data) * 3 // 4, 997)]
    for n, size in enumerate(cuts):
        part = tmp_path / f"{n}.so"
        part.write_bytes(data[:size])
        try:
            tenon.runtime.load_module(str(part))
        except tenon.TVMError as err:
            assert "Failed to load dynamic shared library" in str(err)
            assert size < 64 or f"cut off: it has {size} bytes of at least" in str(err)
        else:
            assert size > 1000  # what is missing is not needed to run


@needs_cc
def test_loading_in_another_process(tmp_path):
    path = str(tmp_path / "lib.so")
    c_module().export_library(path)
    code = f"import tenon\nprint(tenon.runtime.load_module({path!r})['add_one'](1))"
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "2", done.stderr


def test_system_lib_and_enabled():
    assert tenon.runtime.system_lib().type_key in ("system_lib", "library")
    assert tenon.runtime.system_lib("prefix_") is not None
    assert tenon.runtime.enabled("llvm") is True and tenon.runtime.enabled("cpu") is True
    assert tenon.runtime.enabled("no-such-target") is False
    assert tenon.runtime.num_threads() >= 1


# ---- timing


@pytest.fixture
def counting():
    """A module with a function "main" that counts its calls."""
    mod, calls = tenon.support.FrontendTestModule("main"), []
    mod["main"] = lambda *args: calls.append(args)
    return mod, calls


def test_time_evaluator(counting):
    mod, calls = counting
    timer = mod.time_evaluator("main", tenon.cpu(0), number=3, repeat=2)
    result = timer(1, 2)
    assert isinstance(result, BenchmarkResult) and len(result.results) == 2
    assert len(calls) == 1 + 3 * 2 and calls[0] == (1, 2)
    assert 0 <= result.min <= result.median <= result.max and result.mean > 0
    with pytest.raises(AttributeError, match="missing"):
        mod.time_evaluator("missing", tenon.cpu(0))
    with pytest.raises(ValueError, match="number"):
        mod.time_evaluator("main", tenon.cpu(0), number=0)


def test_time_evaluator_grows_to_the_shortest_time(counting):
    mod, calls = counting
    mod.time_evaluator("main", tenon.cpu(0), number=1, min_repeat_ms=5)()
    assert len(calls) > 10


def test_time_evaluator_with_a_function_before_each_repetition(counting):
    mod, calls = counting
    array = tenon.nd.array(np.zeros(4))
    timer = mod.time_evaluator(
        "main", tenon.cpu(0), number=1, repeat=3, f_preproc="cache_flush_cpu_non_first_arg"
    )
    assert len(timer(array, array).results) == 3
    with pytest.raises(ValueError, match="no.such.function"):
        mod.time_evaluator("main", tenon.cpu(0), f_preproc="no.such.function")


def test_benchmark_result():
    result = BenchmarkResult([1, 2, 2, 5])
    assert (result.mean, result.median, result.min, result.max) == (2.5, 2, 1, 5)
    assert result.std == 1.5
    assert repr(result) == (
        "BenchmarkResult(min=1, mean=2.5, median=2.0, max=5, std=1.5, results=[1, 2, 2, 5])"
    )
    assert str(BenchmarkResult((0.001, 0.003))) == (
        "Execution time summary:\n"
        " mean (ms)   median (ms)    max (ms)     min (ms)     std (ms)  \n"
        "   2.0000       2.0000       3.0000       1.0000       1.0000   " + " " * 15
    )
