"""Classes of C++ libraries of the Relay era: arrays, devices, functions over expressions."""

import ctypes
import gc
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import tenon
from tenon import te, tir
from tenon._ffi.registry import extract_ext_funcs

ROOT = pathlib.Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("classes") / "classes.so"
    source = ROOT / "tests" / "c" / "modules" / "classes.cc"
    flags = f"-std=c++17 -O0 -Wall -Wextra -Werror -fPIC -shared -I{ROOT / 'include'}".split()
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    subprocess.run(["c++", *flags, str(source), "-o", str(path)], check=True, env=env)
    return ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)


@pytest.fixture(scope="module")
def get(library):
    return lambda name: tenon.get_global_func(f"test.classes.{name}")


@pytest.fixture(scope="module")
def tagged(get):
    @tenon.register_object("test.classes.Tagged")
    class Tagged(tenon.nd.NDArrayBase):
        @property
        def tag(self):
            return get("tag")(self)

    return Tagged


def test_arrays_of_a_class(get, tagged):
    before = get("alive")()
    a = get("make")(4, "left")
    assert isinstance(a, tagged) and isinstance(a, tenon.nd.NDArrayBase)
    assert not isinstance(a, tenon.nd.NDArray)
    assert (a.tag, get("sum")(a), get("alive")()) == ("left", 6.0, before + 1)
    np.testing.assert_array_equal(get("copy")(a).numpy(), np.full(4, 1.5, "float32"))
    heard = []
    tenon.runtime.convert(heard.append)(a)
    assert heard[0].same_as(a)
    del a, heard
    gc.collect()
    assert get("alive")() == before
    plain = tenon.nd.array(np.arange(3, dtype="float32"))
    assert isinstance(plain, tenon.nd.NDArrayBase) and get("sum")(plain) == 3


def test_arrays_that_do_not_fit(get, tagged):
    with pytest.raises(TypeError, match=r"expected test.classes.Tagged, but got runtime.NDArray"):
        get("tag")(tenon.nd.array(np.zeros(1, "float32")))
    with pytest.raises(TypeError, match="the library has no memory of it to share"):
        get("view")(get("make")(2, "x"))
    with pytest.raises(tenon.error.InternalError, match="set type_index_ to RuntimeTypeIndex"):
        get("nameless")()
    with pytest.raises(tenon.error.InternalError, match="call SetDeleter"):
        get("unowned")()
    with pytest.raises(AttributeError):
        _ = get("make")(2, "x").shape


def test_a_device(get):
    dev = tenon.ext_dev(0)
    assert dev.exist and dev.device_name == "counted" and dev.max_threads_per_block is None
    with pytest.raises(ValueError, match="it has no warps"):
        _ = dev.warp_size
    before = get("pieces")()
    a = tenon.nd.array(np.arange(5, dtype="float32"), dev)
    assert get("pieces")() == before + 1 and str(a.device) == "ext_dev(0)"
    np.testing.assert_array_equal(a.numpy(), np.arange(5))
    np.testing.assert_array_equal(a.copyto(tenon.cpu()).numpy(), np.arange(5))
    del a
    gc.collect()
    assert get("pieces")() == before
    with pytest.raises(MemoryError, match="no memory left"):
        tenon.nd.empty((1 << 20,), "float32", dev)
    assert get("use")(dev.device_type) == get("use")(tenon.cpu().device_type) == 4.0
    assert get("pieces")() == before


def test_code_for_the_device(get):
    A = te.placeholder((10,), name="A")
    B = te.compute((10,), lambda i: A[i] + 1.0, name="B")
    f = tenon.build(te.create_schedule(B.op), [A, B], "ext_dev", "llvm")
    a, b = (tenon.nd.array(np.arange(10, dtype="float32"), tenon.ext_dev(0)) for _ in range(2))
    f(a, b)
    np.testing.assert_array_equal(b.numpy(), np.arange(10) + 1)


def test_devices_by_name(get):
    names = ("cpu", "ext_dev", "metal", "other")
    assert [get("devices")(name) for name in names] == [1, 1, 0, 0]


def test_expressions(get):
    a, b = te.var("a"), te.var("b")
    found = get("expressions")(a, b)
    wanted = [
        a + b,
        a - 1,
        2 * a,
        tir.div(a, b),
        a < b,
        tir.EQ(a, b),
        tir.Not(tir.NE(a, b)),
        tir.And(a > 0, b >= a),
        tir.Or(a <= 0, b < 1),
        0 - a,
        ~a,
        a & b,
        a | 3,
        a ^ b,
        a << 2,
        a >> b,
        tir.floordiv(a, 4),
        tir.floormod(a, b),
        tir.truncmod(a, b),
        tir.max(a, b),
        tir.min(a, 0),
        tir.if_then_else(a > b, a, b),
        a.astype("float32"),
        tir.abs(a),
        tir.FloatImm("float32", 2.5),
    ]
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted, strict=True):
        tenon.ir.assert_structural_equal(x, y)
    v = get("var")("n")
    assert (v.name, v.dtype) == ("n", "int64")
    with pytest.raises(TypeError, match=r"expected tir.Var, but got IntImm"):
        get("expressions")(tir.IntImm("int32", 1), b)
    with pytest.raises(tenon.error.TenonError):
        get("expressions")(a, te.var("c", "float32"))  # no bits


def test_functions_that_a_library_declares(library):
    declared = extract_ext_funcs(library.test_classes_declare)
    assert declared["mul"](3, 4) == 12 and declared["none"] is None
    with pytest.raises(RuntimeError, match="returned 3"):
        extract_ext_funcs(library.test_classes_declare_nothing)
