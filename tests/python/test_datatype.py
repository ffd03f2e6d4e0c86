"""Data types that programs register: their text, and how they are lowered and run."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
import tenon
from tenon import relay, te, tir
from tenon.script import tir as T
from tenon.target import datatype

FIXED = """
#include <stdint.h>
/* numbers in 256ths, in two's complement */
uint16_t fixed16_of(float x) { return (uint16_t)(int16_t)(x * 256.0f); }
float fixed16_to(uint16_t x) { return (float)(int16_t)x / 256.0f; }
uint16_t fixed16_add(uint16_t a, uint16_t b) { return (uint16_t)(a + b); }
uint16_t fixed16_mul(uint16_t a, uint16_t b) {
  return (uint16_t)(((int32_t)(int16_t)a * (int16_t)b) / 256);
}
uint16_t fixed16_max(uint16_t a, uint16_t b) { return (int16_t)a > (int16_t)b ? a : b; }
uint16_t fixed16_smallest(void) { return 0x8000; }
_Bool fixed16_lt(uint16_t a, uint16_t b) { return (int16_t)a < (int16_t)b; }
"""
TARGETS = ["llvm", "c"]


@pytest.fixture(scope="module", autouse=True)
def fixed(tmp_path_factory):
    """The C functions in this process, and the type "fixed" on both targets."""
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("fixed")
    (folder / "fixed.c").write_text(FIXED)
    library = str(folder / "libfixed.so")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, str(folder / "fixed.c")], check=True
    )
    loaded = ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
    datatype.register("fixed", 201)
    lower = datatype.create_lower_func
    for target in TARGETS:
        datatype.register_op(lower({(32, 16): "fixed16_of"}), "Cast", target, "float", "fixed")
        datatype.register_op(lower({(16, 32): "fixed16_to"}), "Cast", target, "fixed", "float")
        datatype.register_op(lower({16: "fixed16_of"}), "FloatImm", target, "fixed")
        for op, function in (("Add", "add"), ("Mul", "mul"), ("Max", "max"), ("LT", "lt")):
            datatype.register_op(lower({16: f"fixed16_{function}"}), op, target, "fixed")
        datatype.register_op(
            datatype.lower_ite, "Call", target, "fixed", intrinsic_name="tir.if_then_else"
        )
        datatype.register_op(
            datatype.lower_call_pure_extern,
            "Call",
            target,
            "fixed",
            intrinsic_name="tir.call_pure_extern",
        )
    datatype.register_min_func(
        datatype.create_min_lower_func({16: "fixed16_smallest"}, "fixed"), "fixed"
    )
    return loaded


def runnable(module, target, folder):
    if target == "llvm":
        return module
    module.export_library(str(folder / "kernel.so"))
    return tenon.runtime.load_module(str(folder / "kernel.so"))


def test_text():
    t = tenon.DataType("custom[fixed]16x4")
    assert (t.type_code, t.bits, t.lanes) == (201, 16, 4)
    assert str(t) == "custom[fixed]16x4"
    assert datatype.get_type_name(201) == "fixed"
    assert datatype.get_type_code("fixed") == 201
    assert datatype.get_type_registered(201)
    assert not datatype.get_type_registered(202)
    datatype.register("fixed", 201)
    assert tenon.nd.empty((3,), "custom[fixed]16").dtype == "custom[fixed]16"


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: datatype.register("fixed", 203), "belongs to another type"),
        (lambda: datatype.register("other", 201), "belongs to another type"),
        (lambda: datatype.register("other", 3), "129 to 255, got 3"),
        (lambda: datatype.register("a]b", 204), "is not a name of a type"),
        (lambda: datatype.register("x" * 99, 204), "is not a name of a type"),
        (lambda: datatype.get_type_name(250), "no type is registered with code 250"),
        (lambda: datatype.get_type_code("nope"), "no type is registered as nope"),
        (lambda: tenon.DataType("custom[fixed"), "unknown data type"),
        (lambda: tenon.DataType("custom[fixed]"), "unknown data type"),
        (lambda: tenon.DataType("custom[fixed]300"), "unknown data type"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: tenon.DataType("custom[nope]16"),
        lambda: tenon.DataType("custom[]16"),
        lambda: relay.cast(relay.var("x", shape=(2,)), "custom[nope]32"),
        lambda: te.var("x", "custom[nope]8"),
    ],
)
def test_a_type_that_nobody_registered(call):
    with pytest.raises(tenon.TVMError, match=r"unknown data type .custom\[.*register it first"):
        call()


def test_expressions():
    x = te.var("x", "custom[fixed]16")
    assert (x + 1).dtype == "custom[fixed]16" and isinstance((x + 1).b, tir.FloatImm)
    assert isinstance(
        tir.const(1.0, "custom[fixed]16") + tir.const(2.0, "custom[fixed]16"), tir.Add
    )
    assert tir.min_value("custom[fixed]16").args[0].value == "fixed16_smallest"
    with pytest.raises(tenon.TVMError, match="Cannot decide max_value"):
        tir.max_value("custom[fixed]16")
    datatype.register("unlike", 205)
    with pytest.raises(tenon.TVMError, match="Cannot match type"):
        x + te.var("y", "custom[unlike]16")


def test_script_round_trip():
    text = """
@T.prim_func
def main(A: T.Buffer((4,), "custom[fixed]16"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = T.Cast("custom[fixed]16", B[i])
    v: "custom[fixed]16" = A[0] + T.cast(T.float64(0.1), "custom[fixed]16")
    A[1] = v
"""
    func = tenon.script.from_source(text)
    tenon.ir.assert_structural_equal(tenon.script.from_source(func.script()), func)
    assert 'T.cast(T.float64(0.1), "custom[fixed]16")' in func.script()
    x = tir.Var("x", "custom[fixed]16")
    assert str(tir.Evaluate(x)) == 'x = T.var("custom[fixed]16")\nT.evaluate(x)'
    assert 'main(x: "custom[fixed]16")' in tir.PrimFunc([x], tir.Evaluate(0)).script()


@pytest.mark.parametrize("target", TARGETS)
def test_run(target, tmp_path):
    n = 16
    x, y = te.placeholder((n,), name="x"), te.placeholder((n,), name="y")
    kind = "custom[fixed]16"
    a = te.compute((n,), lambda i: x[i].astype(kind), name="a")
    b = te.compute((n,), lambda i: y[i].astype(kind), name="b")
    c = te.compute((n,), lambda i: a[i] * b[i] + tir.const(1.5, kind), name="c")
    d = te.compute((n,), lambda i: tir.if_then_else(a[i] < b[i], c[i], a[i]), name="d")
    out = te.compute((n,), lambda i: d[i].astype("float32"), name="out")
    k = te.reduce_axis((0, n), "k")
    most = te.compute((1,), lambda i: te.max(d[k], axis=k), name="most")
    largest = te.compute((1,), lambda i: most[i].astype("float32"), name="largest")
    s = te.create_schedule([out.op, largest.op])
    f = runnable(tenon.build(s, [x, y, out, largest], target, name="main"), target, tmp_path)
    xs = np.arange(n, dtype="float32") / 4 - 2
    ys = np.cos(np.arange(n)).round(1).astype("float32")
    got, top = tenon.nd.empty((n,)), tenon.nd.empty((1,))
    f(tenon.nd.array(xs), tenon.nd.array(ys), got, top)
    fx, fy = np.trunc(xs * 256), np.trunc(ys * 256)
    want = np.where(fx < fy, np.trunc(fx * fy / 256) + 384, fx) / 256
    np.testing.assert_array_equal(got.numpy(), want.astype("float32"))
    assert top.numpy()[0] == want.max().astype("float32")


@pytest.mark.parametrize("target", TARGETS)
def test_arguments_of_the_type(target, tmp_path):
    @T.prim_func
    def main(
        A: T.Buffer((4,), "custom[fixed]16"),
        B: T.Buffer((4,), "custom[fixed]16"),
        C: T.Buffer((4,), "float32"),
    ):
        for i in range(4):
            B[i] = A[i] + A[i]
            C[i] = T.Cast("float32", B[i])

    f = runnable(tenon.build(main, target=target, name="main"), target, tmp_path)["main"]
    bits = tenon.nd.array(np.array([256, 512, 0xFF00, 1], "uint16"))
    a = bits._create_view((4,), "custom[fixed]16")
    b, c = tenon.nd.empty((4,), "custom[fixed]16"), tenon.nd.empty((4,))
    f(a, b, c)
    np.testing.assert_array_equal(c.numpy(), np.array([2, 4, -2, 1 / 128], "float32"))
    with pytest.raises(tenon.TVMError, match="dtype"):
        f(tenon.nd.empty((4,), "uint16"), b, c)


def test_storage_as_integers():
    """The functions may as well give operations on the integers."""
    datatype.register("counter", 202)
    for op in ("Add", "Sub"):
        node = getattr(tir, op)
        datatype.register_op(lambda e, node=node: node(e.a, e.b), op, "llvm", "counter")

    @T.prim_func
    def main(A: T.Buffer((4,), "custom[counter]8")):
        for i in T.vectorized(4):
            A[i] = A[i] + A[i] - A[i] + A[i]

    f = tenon.build(main, target="llvm")
    bits = tenon.nd.array(np.array([1, 2, 3, 100], "uint8"))
    f(bits._create_view((4,), "custom[counter]8"))
    assert bits.numpy().tolist() == [2, 4, 6, 200]


def test_what_cannot_be_lowered():
    @T.prim_func
    def main(A: T.Buffer((4,), "custom[fixed]16")):
        for i in range(4):
            A[i] = A[i] / A[i]

    with pytest.raises(
        tenon.TVMError, match=r"Div.fixed cannot be lowered for llvm: .*register_op"
    ):
        tenon.build(main, target="llvm")
    with pytest.raises(ValueError, match="Require the target attribute"):
        tir.transform.LowerCustomDatatypes()(tenon.IRModule({"main": main}))
    datatype.register("wrong", 206)
    datatype.register_op(lambda e: tir.const(1.0), "Add", "llvm", "wrong")

    @T.prim_func
    def wrong(A: T.Buffer((4,), "custom[wrong]16")):
        A[0] = A[0] + A[1]

    with pytest.raises(TypeError, match="expected an expression of type uint16, got float32"):
        tenon.build(wrong, target="llvm")
    with pytest.raises(RuntimeError, match="missing key 8"):
        datatype.create_lower_func({16: "f"})(tir.const(1.0, "custom[fixed]8"))


BITS = "custom[example]32"
EXAMPLE = {
    "Add": "Custom32Add",
    "Sub": "Custom32Sub",
    "Mul": "Custom32Mul",
    "Div": "Custom32Div",
    "Max": "Custom32Max",
}
CALLS = ("exp", "sqrt", "log", "sigmoid", "tanh")


def test_the_example_type_is_a_float():
    """The functions that the library has for programs which show how types are registered."""
    lower = datatype.create_lower_func
    datatype.register("example", 151)
    for op, name in EXAMPLE.items():
        datatype.register_op(lower({32: name}), op, "llvm", "example")
    for name in CALLS:
        function = lower({32: f"Custom32{name.capitalize()}"})
        datatype.register_op(function, "Call", "llvm", "example", intrinsic_name=f"tir.{name}")
    extern = {"intrinsic_name": "tir.call_pure_extern"}
    datatype.register_op(datatype.lower_call_pure_extern, "Call", "llvm", "example", **extern)
    to, back = {(32, 32): "FloatToCustom32"}, {(32, 32): "Custom32ToFloat"}
    datatype.register_op(lower(to), "Cast", "llvm", "float", "example")
    datatype.register_op(lower(back), "Cast", "llvm", "example", "float")
    datatype.register_op(lower({32: "FloatToCustom32"}), "FloatImm", "llvm", "example")
    datatype.register_min_func(
        datatype.create_min_lower_func({32: "MinCustom32"}, "example"), "example"
    )
    x, y = (relay.cast(relay.var(n, shape=(7,)), BITS) for n in "xy")
    values = [x + y, x - y, x * y, x / y, relay.maximum(x, y)]
    values += [getattr(relay, name)(y) for name in CALLS]
    values += [relay.max(x), x + relay.cast(relay.const(2.0), BITS)]
    body = relay.Tuple([relay.cast(v, "float32") for v in values])
    mod = tenon.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    a = np.float32([-3, -2, -0.5, 0, 1, 2.5, 4])
    b = np.float32([1, 0.5, 2, 3, 4, 0.25, 1.5])
    with tenon.transform.PassContext(config={"tir.disable_vectorize": True}):
        out = relay.create_executor("graph", mod=mod, target="llvm").evaluate()(a, b)
    expected = [a + b, a - b, a * b, a / b, np.maximum(a, b), np.exp(b), np.sqrt(b), np.log(b)]
    expected += [1 / (1 + np.exp(-b)), np.tanh(b), a.max(), a + 2]
    for got, want in zip(out, expected, strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)
