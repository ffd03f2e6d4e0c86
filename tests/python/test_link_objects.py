"""Shared libraries without a linker: object files become one by the package alone."""

import ctypes
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tenon
from tenon.contrib import cc
from tenon.script import from_source
from tenon.target.codegen import llvm_version_major

pytestmark = pytest.mark.skipif(
    not llvm_version_major(allow_none=True) or not sys.platform.startswith("linux"),
    reason="needs LLVM and ELF",
)

MODULE = """
from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def scale(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        T.func_attr({"global_symbol": "scale", "tir.noalias": True})
        K = T.allocate_const([3, 1, 4, 1], "float32", [4])
        K_1 = T.Buffer((4,), "float32", data=K)
        for i in range(16):
            B[i] = T.sin(A[i]) * K_1[i % 4] + T.tanh(A[i])
    @T.prim_func
    def sums(A: T.Buffer((4096,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"global_symbol": "sums", "tir.noalias": True})
        W = T.alloc_buffer((4096,), "float32")
        for i in T.parallel(64):
            for j in range(64):
                W[i * 64 + j] = A[i * 64 + j] + T.float32(1)
        for i in range(64):
            B[i] = T.float32(0)
            for j in range(64):
                B[i] = B[i] + W[i * 64 + j]
    @T.prim_func
    def tell(A: T.Buffer((4,), "int32")):
        T.func_attr({"global_symbol": "tell"})
        T.evaluate(T.call_packed("test_link_objects.heard", A[0], T.float64(0.5)))
"""


def check(lib):
    rng = np.random.default_rng(0)
    a = rng.standard_normal(16).astype("float32")
    b = tenon.nd.empty((16,), "float32")
    lib["scale"](tenon.nd.array(a), b)
    want = np.sin(a) * np.tile(np.array([3, 1, 4, 1], "float32"), 4) + np.tanh(a)
    np.testing.assert_allclose(b.numpy(), want, rtol=2e-6, atol=1e-6)
    a = rng.standard_normal(4096).astype("float32")
    b = tenon.nd.empty((64,), "float32")
    lib["sums"](tenon.nd.array(a), b)
    np.testing.assert_allclose(b.numpy(), (a + 1).reshape(64, 64).sum(1), rtol=1e-5, atol=1e-4)


def built(target="llvm"):
    return tenon.build(from_source(MODULE), target=target)


@pytest.mark.parametrize("level", [0, 2])
def test_a_library_runs(level, tmp_path):
    path = str(tmp_path / "lib.so")
    built(f"llvm -opt-level={level}").export_library(path, fcompile=cc.link_objects)
    lib = tenon.runtime.load_module(path)
    check(lib)
    heard = []
    tenon.register_func("test_link_objects.heard", lambda *x: heard.append(x))
    lib["tell"](tenon.nd.array(np.array([7, 0, 0, 0], "int32")))
    with pytest.raises(tenon.TVMError, match="num_args"):
        lib["scale"]()
    assert heard == [(7, 0.5)]
    tenon._core.remove_global_func("test_link_objects.heard")
    with pytest.raises(AttributeError):
        lib["sinf"]  # not its own


@pytest.fixture
def no_compiler(monkeypatch):
    for name in ("CC", "CXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(shutil, "which", lambda name, *rest, **more: None)


def test_where_no_compiler_is_installed(no_compiler, tmp_path):
    module = built()
    host = tenon.build(from_source(MODULE), target="stackvm")
    module.import_module(host)
    module.export_library(str(tmp_path / "lib.so"))
    lib = tenon.runtime.load_module(str(tmp_path / "lib.so"))
    check(lib)
    assert [m.type_key for m in lib.imported_modules] == ["stackvm"]
    module.export_library(str(tmp_path / "lib.tar"))
    check(tenon.runtime.load_module(str(tmp_path / "lib.tar")))
    with pytest.raises(RuntimeError, match="apt install gcc"):
        tenon.build(from_source(MODULE), target="c").export_library(str(tmp_path / "c.so"))
    with pytest.raises(RuntimeError, match="apt install gcc"):
        module.export_library(str(tmp_path / "lib.so"), options=["-lm"])


def test_loads_in_another_process(tmp_path):
    path = str(tmp_path / "lib.so")
    built().export_library(path, fcompile=cc.link_objects)
    text = (
        "import sys, tenon, numpy as np\n"
        "lib = tenon.runtime.load_module(sys.argv[1])\n"
        "b = tenon.nd.empty((16,), 'float32')\n"
        "lib['scale'](tenon.nd.array(np.zeros(16, 'float32')), b)\n"
        "print(b.numpy().sum())\n"
    )
    done = subprocess.run([sys.executable, "-c", text, path], capture_output=True, text=True)
    assert done.stdout == "0.0\n", done.stderr


def test_system_library_and_several_objects(tmp_path):
    module = tenon.build(
        from_source(MODULE.replace("scale", "lo_scale")), target="llvm -system-lib"
    )
    module.import_module(tenon.build(from_source(MODULE.replace("scale", "lo_2")), target="llvm"))
    objects = []
    for i, m in enumerate([module, module.imported_modules[0]]):
        objects.append(str(tmp_path / f"{i}.o"))
        m.save(objects[-1])
    with pytest.raises(ValueError, match=r"sums is defined in both .*0\.o and .*1\.o"):
        cc.link_objects(str(tmp_path / "two.so"), objects)
    cc.link_objects(str(tmp_path / "one.so"), objects[:1])
    ctypes.CDLL(str(tmp_path / "one.so"))
    assert tenon.runtime.system_lib()["lo_scale"] is not None


@pytest.mark.skipif(shutil.which("readelf") is None, reason="no readelf")
def test_tools_understand_the_file(tmp_path):
    path = str(tmp_path / "lib.so")
    built().export_library(path, fcompile=cc.link_objects)
    env = dict(os.environ, LC_ALL="C")
    done = subprocess.run(["readelf", "-aW", path], capture_output=True, text=True, env=env)
    assert "arning" not in done.stderr + done.stdout and "rror" not in done.stderr, done.stderr
    for word in (" scale", "libm.so.6", "R E", "GNU_STACK", "Histogram", "UND sinf"):
        assert word in done.stdout, word
    assert " RWE " not in done.stdout
    names = cc.get_global_symbol_section_map(path) if shutil.which("nm") else {"scale": "T"}
    assert "scale" in names or names == {}


def test_broken_objects_are_refused(tmp_path):
    good = tmp_path / "good.o"
    built().save(str(good))
    data = good.read_bytes()
    rng = np.random.default_rng(0)
    bad, out = tmp_path / "bad.o", str(tmp_path / "bad.so")
    cut = [data[:n] for n in (0, 10, 63, 64, 200, len(data) // 2, len(data) - 1)]
    for _ in range(150):
        changed = bytearray(data)
        for at in rng.integers(len(data), size=4):
            changed[at] = rng.integers(256)
        at = int(rng.integers(len(data) - 64 * 8, len(data)))  # the section table is at the end
        changed[at] ^= int(rng.integers(1, 256))
        cut.append(bytes(changed))
    for content in cut:
        bad.write_bytes(content)
        try:
            cc.link_objects(out, [str(bad)])
        except (ValueError, tenon.TVMError):
            pass
    bad.write_bytes(b"#!/bin/sh\n" + bytes(100))
    with pytest.raises(ValueError, match=r"bad\.o: not an object file .*: it is not an ELF file"):
        cc.link_objects(out, [str(bad)])
    with pytest.raises(OSError, match="cannot open"):
        cc.link_objects(out, [str(tmp_path / "missing.o")])
