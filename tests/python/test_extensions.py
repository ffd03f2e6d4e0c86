"""The examples in C and C++: built as users build them, called from Python and as programs."""

import ctypes
import gc
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tenon

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
INCLUDE = ROOT / "include"
LIB = pathlib.Path(tenon.__file__).parent


def make(tmp_path_factory, name, *words):
    """Builds a copy of an example; the sanitizer's library is not preloaded into compilers."""
    folder = tmp_path_factory.mktemp(name) / name
    shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns("lib", "bin"))
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    subprocess.run(["make", "-s", "-C", str(folder), *words], check=True, env=env)
    return folder


def load(folder):
    (library,) = (folder / "lib").glob("*.so")
    return ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    load(make(tmp_path_factory, "c_extension", f"TENON_INCLUDE={INCLUDE}"))
    return ""


@pytest.fixture(scope="module")
def cpp(tmp_path_factory):
    load(make(tmp_path_factory, "cpp_extension", f"TVM_ROOT={ROOT}"))
    return "cpp_ext."


@pytest.fixture(scope="module", params=["c", "cpp"])
def prefix(request):
    """What stands before the names that the example registers."""
    return request.getfixturevalue(request.param)


def get(name):
    return tenon.get_global_func(name)


def test_myadd(prefix):
    assert get(prefix + "myadd")(4, 5) == 9
    for wrong in [(4, "five"), (4,), (None, 1)]:
        with pytest.raises(TypeError):
            get(prefix + "myadd")(*wrong)


def test_callhello(prefix):
    heard = []
    get(prefix + "callhello")(heard.append)
    assert heard == ["hello world"]
    with pytest.raises(TypeError):
        get(prefix + "callhello")(3)


def test_an_exception_passes_through_as_itself(prefix):
    class Custom(Exception):
        pass

    mine = Custom("through")

    def boom(text):
        raise mine

    with pytest.raises(Custom) as caught:
        get(prefix + "callhello")(boom)
    assert caught.value is mine
    assert any(entry.name == "boom" for entry in caught.traceback)


@pytest.mark.usefixtures("cpp")
class TestCppExtension:
    def test_functions_made_of_functions(self):
        f = get("cpp_ext.bind_add")(lambda a, b: a * 10 + b, 4)
        assert f(2) == 42

    def test_objects_of_its_own_class(self):
        v = get("cpp_ext.ivec_create")(1, 2, 3)
        assert get("cpp_ext.ivec_get")(v, 2) == 3
        assert "cpp_ext.IntVector" in repr(v)
        with pytest.raises(IndexError, match="9 of 3") as caught:
            get("cpp_ext.ivec_get")(v, 9)
        assert any(str(entry.path).endswith("tenon_ext.cc") for entry in caught.traceback)
        with pytest.raises(TypeError, match=r"argument 0: expected cpp_ext.IntVector"):
            get("cpp_ext.ivec_get")("text", 0)
        kept = tenon.runtime.convert([v])
        del v
        gc.collect()
        assert get("cpp_ext.ivec_get")(kept[0], 0) == 1

    def test_tensors(self):
        assert get("cpp_ext.sum")(tenon.nd.array(np.arange(10, dtype="float32"))) == 45.0
        with pytest.raises(TypeError, match="expected float32, got int64"):
            get("cpp_ext.sum")(tenon.nd.array(np.arange(10, dtype="int64")))


def sanitized():
    return "san.so" in os.environ.get("LD_PRELOAD", "")


@pytest.mark.skipif(sanitized(), reason="the program is built without the sanitizer")
def test_cpp_deploy(tmp_path_factory):
    folder = make(tmp_path_factory, "cpp_deploy", f"TENON_INCLUDE={INCLUDE}", f"TENON_LIB={LIB}")
    program = str(folder / "bin" / "deploy")
    library = str(folder / "lib" / "add_one.so")

    def run(*words):
        done = subprocess.run([program, *words], capture_output=True, text=True)
        return done.returncode, (done.stdout + done.stderr).strip()

    assert run(library, "add_one") == (0, f"add_one of {library}: right")
    assert run() == (0, "add_one of the program: right")
    assert run(library, "missing") == (2, "AttributeError: the library has no function missing")
    assert run("/no/such.so", "f") == (2, "ValueError: cannot find file /no/such.so")


def test_old_header_names_compile(tmp_path):
    """A source with the includes of old programs compiles, in C and in C++."""
    c = "#include <tvm/runtime/c_runtime_api.h>\n#include <tvm/runtime/c_backend_api.h>\n"
    cpp = c + "".join(
        f"#include <{name}>\n"
        for name in (
            "dlpack/dlpack.h",
            "dmlc/logging.h",
            "tvm/runtime/container/adt.h",
            "tvm/runtime/container/array.h",
            "tvm/runtime/container/map.h",
            "tvm/runtime/container/optional.h",
            "tvm/runtime/container/shape_tuple.h",
            "tvm/runtime/container/string.h",
            "tvm/runtime/data_type.h",
            "tvm/runtime/device_api.h",
            "tvm/runtime/logging.h",
            "tvm/runtime/memory.h",
            "tvm/runtime/module.h",
            "tvm/runtime/ndarray.h",
            "tvm/runtime/object.h",
            "tvm/runtime/packed_func.h",
            "tvm/runtime/registry.h",
        )
    )
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    for suffix, text, command in [
        ("c", c, ["cc", "-std=c99"]),
        ("cc", cpp, ["c++", "-std=c++17"]),
        ("cc", cpp, ["c++", "-std=c++20"]),
    ]:
        source = tmp_path / f"includes.{suffix}"
        source.write_text(text + "int main(void) { return 0; }\n")
        flags = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{INCLUDE}"]
        subprocess.run([*command, *flags, str(source)], check=True, env=env)


def test_python_is_not_needed(tmp_path):
    """A library loaded without Python or a start call can be used through the old C names."""
    program = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
out = ctypes.c_void_p()
assert lib.TVMFuncGetGlobal(b"runtime.SystemLib", ctypes.byref(out)) == 0 and out.value
lib.TVMFuncFree(out)
lib.TVMGetLastError.restype = ctypes.c_char_p
assert lib.TVMModLoadFromFile(b"/no/such.so", b"", ctypes.byref(out)) == -1
assert lib.TVMGetLastError() == b"ValueError: cannot find file /no/such.so"
"""
    library = str(LIB / "libtenon_runtime.so")
    subprocess.run([sys.executable, "-c", program, library], check=True)
