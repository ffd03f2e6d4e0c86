"""The LLVM code generator: polynomials, debug information, imported code, text of functions."""

import math
import re
import shutil
import subprocess

import numpy as np
import pytest
import tenon
from llvm_programs import build, packed, run
from tenon import te, tir
from tenon.script import from_source
from tenon.script import tir as T
from tenon.target.codegen import llvm_version_major

pytestmark = pytest.mark.skipif(
    not llvm_version_major(allow_none=True), reason="built without LLVM"
)


def exactly(name, x):
    with np.errstate(all="ignore"):
        x = x.astype("float64")
        return np.array([math.erf(v) for v in x]) if name == "erf" else getattr(np, name)(x)


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf"])
@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=x86-64", "llvm -opt-level=0"])
def test_polynomials_of_float32(name, target):
    low, high = {"exp": (-104, 89), "log": (0.01, 5), "tanh": (-10, 10), "erf": (-5, 5)}[name]
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.uniform(-80, 5, 8000)) * (1 if name == "log" else rng.choice([-1, 1], 8000))
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-40, -1.0, 200.0]
    a = np.concatenate([special, np.linspace(low, high, 7992), sizes]).astype("float32")
    body = f"for i in range({a.size}):\n    O[i] = T.{name}(A[i])"
    got = run(body, np.zeros(a.size, "float32"), a, target=target)
    want = exactly(name, a)
    with np.errstate(over="ignore"):
        single = want.astype("float32")
    np.testing.assert_array_equal(np.isnan(got), np.isnan(single))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(single))
    if name != "log":
        np.testing.assert_array_equal(np.signbit(got[3:5]), np.signbit(single[3:5]))
    good = np.isfinite(single)
    ulps = np.abs(got[good] - want[good]) / np.spacing(np.abs(single[good]))
    assert ulps.max() < 3, (a[good][ulps.argmax()], ulps.max())


def test_polynomials_stay_vectors():
    body = "O[0:16] = T.tanh(A[0:16]) + T.exp(A[0:16])"
    func = packed(body, ("A", 16, "float32"), ("O", 16, "float32"))
    text = build(func, "llvm -mcpu=x86-64-v4").get_source()
    assert "@tanhf" not in text and "llvm.exp" not in text and "fdiv <16 x float>" in text


def test_debug_information(tmp_path):
    script = tmp_path / "main.py"
    body = """
for i in T.parallel(16):
    O[i] = A[i] + T.float32(3)
for i in range(16):
    O[i] = O[i] * T.float32(7)
"""
    func = packed(body, ("A", 16, "float32"), ("O", 16, "float32"))
    built = build(func, f"llvm -opt-level=0 -debug-info={script}")
    text = script.read_text()
    lines = {i: line.strip() for i, line in enumerate(text.splitlines(), 1)}
    (add,) = (i for i, line in lines.items() if line.startswith("O[i]") and "+" in line)
    (mul,) = (
        i for i, line in lines.items() if line.startswith("O[i_1]") or "* T.float32(7.0)" in line
    )
    ir = built.get_source()
    assert "DICompileUnit" in ir and 'DIFile(filename: "main.py"' in ir

    def line_of(instruction):
        number = re.search(rf"{instruction}.*!dbg !(\d+)", ir)[1]
        return int(re.search(rf"^!{number} = !DILocation\(line: (\d+)", ir, re.MULTILINE)[1])

    assert line_of("fadd") == add and line_of("fmul") == mul
    a = np.arange(16, dtype="float32")
    out = tenon.nd.empty((16,), "float32")
    built["main"](tenon.nd.array(a), out)
    np.testing.assert_array_equal(out.numpy(), (a + 3) * 7)
    optimised = build(func, f"llvm -debug-info={script}")
    optimised.save(str(tmp_path / "main.o"))
    if shutil.which("readelf"):
        command = ["readelf", "--debug-dump=decodedline", str(tmp_path / "main.o")]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert re.search(rf"main\.py\s+{mul}\s", shown)
    assert "!dbg" not in build(func).get_source()


IMPORTED = """
define float @my_scale(float %x) #0 {
  %y = fmul float %x, 3.0
  ret float %y
}
attributes #0 = { "target-cpu"="pentium" }
"""


def test_imported_llvm_code(tmp_path):
    (tmp_path / "code.ll").write_text(IMPORTED)
    a = np.arange(8, dtype="float32")
    for code in (IMPORTED, str(tmp_path / "code.ll")):
        text = f'T.attr(0, "pragma_import_llvm", {code!r})\nfor i in range(8):\n'
        got = run(
            text + '    O[i] = T.call_pure_extern("float32", "my_scale", A[i])', np.zeros_like(a), a
        )
        np.testing.assert_array_equal(got, a * 3)
    with pytest.raises(tenon.TVMError, match="pragma_import_llvm"):
        run('T.attr(0, "pragma_import_llvm", "define nonsense")\nO[0] = A[0]', a, a)
    missing = 'T.attr(0, "pragma_import_llvm", "missing.ll")\nO[0] = A[0]'
    with pytest.raises(tenon.TVMError, match=r"missing\.ll"):
        run(missing, a, a)


def test_functions_in_the_order_of_their_names():
    functions = {
        name: packed("O[0] = A[0]", ("A", 1, "int32"), ("O", 1, "int32")).with_attr(
            "global_symbol", name
        )
        for name in ("Danny", "Sammy", "Kirby")
    }
    text = build(tenon.ir.IRModule(functions)).get_source("ll")
    assert re.findall(r"^define[^@]*@(\w+)", text, re.MULTILINE) == ["Danny", "Kirby", "Sammy"]


def test_functions_tell_their_machine():
    body = "for i in T.parallel(8):\n    O[i] = A[i]"
    func = packed(body, ("A", 8, "int32"), ("O", 8, "int32"))
    text = build(func, "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake -mattr=+avx512f").get_source()
    assert 'target triple = "x86_64-' in text
    groups = set(re.findall(r"^define.* #(\d+) ", text, re.MULTILINE))
    for group in groups:
        (attributes,) = re.findall(rf"^attributes #{group} = (.*)$", text, re.MULTILINE)
        assert '"target-cpu"="skylake"' in attributes and "+avx512f" in attributes
    assert groups


def test_a_local_class_names_itself():
    from tenon.script import ir as I  # noqa: N812

    @I.ir_module
    class Local:
        @T.prim_func
        def main(A: T.Buffer((1,), "float32")):
            T.func_attr({"global_symbol": "main"})
            Local.subroutine(A.data)

        @T.prim_func
        def subroutine(data: T.handle("float32")):
            T.func_attr({"global_symbol": "subroutine", "calling_conv": -1})
            A = T.decl_buffer((1,), "float32", data=data)
            A[0] = T.float32(42)

    a = tenon.nd.array(np.zeros(1, "float32"))
    tenon.build(Local)["main"](a)
    assert a.numpy()[0] == 42


@pytest.mark.unsanitized
def test_blocks_of_very_many_instructions():
    n = 3000
    lines = [f"O[{i % 97}] = A[{i * 7 % 91}] * T.float32({i % 13}) + O[{i % 89}]" for i in range(n)]
    a, out = np.arange(97, dtype="float32") % 5, np.zeros(97, "float32")
    got = run("\n".join(lines), out, a)
    want = np.zeros(97, "float32")
    for i in range(n):
        want[i % 97] = a[i * 7 % 91] * np.float32(i % 13) + want[i % 89]
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_names_of_intrinsics():
    from tenon.target import codegen

    number = codegen.llvm_lookup_intrinsic_id("llvm.ctpop")
    assert codegen.llvm_get_intrinsic_name(number) == "llvm.ctpop"
    assert codegen.llvm_get_intrinsic_name(0) == codegen.llvm_get_intrinsic_name(10**6) == ""
    for name in ("llvm.x86.avx2.psad.bw", "llvm.aarch64.neon.addp", "llvm.xcore.zext"):
        assert codegen.llvm_get_intrinsic_name(codegen.llvm_lookup_intrinsic_id(name)) == name


def test_intrinsic_of_two_types():
    @T.prim_func
    def dot(A: T.Buffer((16,), "int8"), B: T.Buffer((16,), "int8"), C: T.Buffer((4,), "int32")):
        C[0:4] = T.call_llvm_pure_intrin(
            "int32x4", "llvm.aarch64.neon.sdot", T.uint32(3), C[0:4], A[0:16], B[0:16]
        )

    built = tenon.build(dot, target="llvm -mtriple=aarch64-linux-gnu -mattr=+v8.2a,+dotprod")
    assert "@llvm.aarch64.neon.sdot.v4i32.v16i8(<4 x i32>" in built.get_source()
    assert "sdot" in built.get_source("asm")


def test_intrinsic_for_other_types():
    @T.prim_func
    def count(C: T.Buffer((4,), "float32")):
        C[0:4] = T.call_llvm_pure_intrin("float32x4", "llvm.ctpop", T.uint32(1), C[0:4])

    with pytest.raises(tenon.error.CodegenError, match="llvm.ctpop is not for arguments"):
        tenon.build(count, target="llvm")


LOOPS = 150


def long_program(extra=()):
    """More loops than one function of LLVM's holds: A[i] = A[i] * 3 + k, for k = 0, 1, ..."""
    lines = ["@T.prim_func", "def main(A: T.Buffer((8,), 'int32'), n: T.int32):"]
    lines += [
        "    S = T.allocate([8], 'int32', 'global')",
        "    B = T.Buffer((8,), 'int32', data=S)",
    ]
    for k in range(LOOPS):
        kind = "T.parallel" if k % 50 == 7 else "T.serial"
        lines += [f"    for i in {kind}(8):", f"        B[i] = A[i] * 3 + {k} * n"]
        lines += ["    for i in range(8):", "        A[i] = B[i]"]
        lines += extra if k == LOOPS // 2 else ()
    return from_source("from tvm.script import tir as T\n" + "\n".join(lines) + "\n")


@pytest.mark.unsanitized
def test_long_program_is_divided():
    built = tenon.build(long_program(), target="llvm")
    parts = re.findall(r"^define internal [^@]*@[^(]*\.part", built.get_source(), re.MULTILINE)
    assert len(parts) >= 2 * LOOPS // 32
    data = tenon.nd.array(np.arange(8, dtype="int32"))
    built(data, 2)
    want = np.arange(8, dtype="int64")
    for k in range(LOOPS):
        want = want * 3 + 2 * k
    np.testing.assert_array_equal(data.numpy(), want.astype("int32"))


def test_failure_in_a_part_is_passed_on():
    built = tenon.build(long_program(["    assert n != 5, 'five'"]), target="llvm")
    built(tenon.nd.array(np.zeros(8, "int32")), 1)
    with pytest.raises(tenon.TVMError, match="five"):
        built(tenon.nd.array(np.zeros(8, "int32")), 5)


@pytest.mark.parametrize("loop", ["range", "T.vectorized"])
def test_assumptions_are_told(loop):
    """What a program assumes goes to LLVM, which may leave out what cannot happen."""
    func = tenon.script.from_source(f"""
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), n: T.int32):
    for i in {loop}(8):
        T.evaluate(T.assume(A[i] >= n))
        B[i] = T.if_then_else(A[i] < n, 1, A[i])
""")
    built = tenon.build(func, target="llvm")
    assert loop != "range" or "@llvm.assume(i1" in built.get_source()
    out = tenon.nd.empty((8,), "int32")
    built(tenon.nd.array(np.arange(8, dtype="int32")), out, 0)
    np.testing.assert_array_equal(out.numpy(), np.arange(8))


def test_loops_run_backwards_in_every_other_call():
    body = """
for i in T.serial(A[0], annotations={"by_turns": 1}):
    O[0] = O[0] * 10 + i + 1"""
    module = build(packed(body, ("A", 1, "int32"), ("O", 1, "int32")))
    for n, want in [(4, 1234), (4, 4321), (3, 123), (0, 0), (1, 1)]:
        out = tenon.nd.array(np.zeros(1, "int32"))
        module["main"](tenon.nd.array(np.array([n], "int32")), out)
        assert out.numpy()[0] == want


def test_tasks_take_turns_of_their_own():
    body = """
for i in T.parallel(37, annotations={"by_turns": 1}):
    O[i] = O[i] + A[i] + i"""
    module = build(packed(body, ("A", 37, "int32"), ("O", 37, "int32")))
    a, out = np.arange(37, dtype="int32"), tenon.nd.array(np.zeros(37, "int32"))
    for call in range(1, 4):
        module["main"](tenon.nd.array(a), out)
        np.testing.assert_array_equal(out.numpy(), 2 * a * call)


def test_what_runs_once():
    n = te.size_var("n")
    buffer = tir.decl_buffer((n,), "int64")
    ib = tir.ir_builder.create()
    A = ib.buffer_ptr(buffer)
    axis = te.thread_axis((0, 1), "cop")
    ib.scope_attr(axis, "coproc_uop_scope", tir.StringImm("TVMBackendRunOnce"))
    with ib.for_range(0, n, "i", kind="parallel") as i:
        A[i] = A[i] + 1
    func = tir.PrimFunc([buffer], ib.get()).with_attr("global_symbol", "once")
    f = tenon.build(tenon.IRModule.from_expr(func), target="llvm")
    first, second = (tenon.nd.array(np.zeros(10, "int64")) for _ in range(2))
    for a in (first, first, second):  # the module's first call runs it, no other
        f["once"](a)
    assert first.numpy().tolist() == [1] * 10 and second.numpy().tolist() == [0] * 10
    with pytest.raises(tenon.TVMError, match="to TVMBackendRunOnce .coproc_uop_scope.*llvm"):
        tenon.build(tenon.IRModule.from_expr(func), target="c")


def test_a_variable_of_the_library():
    import ctypes

    seen = []

    @tenon.register_func("test.static_handle", override=True)
    def note(handle, array):
        seen.append((type(handle), handle.value, array.numpy().tolist()))

    buffer = tir.decl_buffer((2,), "int64")
    ib = tir.ir_builder.create()
    handle = tir.call_intrin("handle", "tir.tvm_static_handle")
    ib.emit(tir.call_packed("test.static_handle", handle, buffer))
    func = tir.PrimFunc([buffer], ib.get()).with_attr("global_symbol", "f")
    f = tenon.build(tenon.IRModule.from_expr(func), target="llvm")
    for value in (3, 4):
        f["f"](tenon.nd.array(np.full(2, value, "int64")))
    assert [row[0] for row in seen] == [ctypes.c_void_p] * 2 and seen[0][1] == seen[1][1] != 0
    assert [row[2] for row in seen] == [[3, 3], [4, 4]]


def test_a_division_in_some_iterations_is_right_in_all_of_them():
    """LLVM 19 vectorizes such loops with the number that the first lane has, or has not."""
    n = te.var("n")
    A = te.placeholder((n, n), "float64", name="A")

    def element(i, j):
        at = te.min(te.max(A[0, (j * 3 + 6) % n].astype("int32"), 0), n - 1)
        choice = tir.if_then_else(
            A[i, n - 1 - j].astype("int64") > A[at, n - 1 - i].astype("int64"),
            A[0, j].astype("int64"),
            A[(i * 2 + 7) % n, j].astype("int64") - i.astype("int64"),
        )
        other = A[i, n - 1 - j].astype("int64") * A[(j * 3 + 6) % n, i].astype("int64")
        return te.max(choice, other)

    C = te.compute((n, n), element, name="C")
    func = tenon.build(te.create_schedule(C.op), [A, C], "llvm")
    assert "llvm.loop.vectorize.enable" in func.get_source("ll")
    a = np.random.default_rng(0).integers(-20, 21, (16, 16)).astype("float64")
    i, j = np.ogrid[:16, :16]
    at = a[0, (j * 3 + 6) % 16].astype("int64").clip(0, 15)
    choice = np.where(a[i, 15 - j] > a[at, 15 - i], a[0, j], a[(i * 2 + 7) % 16, j] - i)
    out = tenon.nd.empty((16, 16), "int64")
    func(tenon.nd.array(a), out)
    want = np.maximum(choice, a[i, 15 - j] * a[(j * 3 + 6) % 16, i])
    np.testing.assert_array_equal(out.numpy(), want)


def test_loops_without_such_divisions_may_be_vectorized():
    n = te.var("n")
    A = te.placeholder((n,), "int32", name="A")
    for element in (
        lambda i: A[i % n] // n,
        lambda i: tir.if_then_else(A[i] > 0, A[i] // 3, A[(i + 1) % n]),
    ):
        C = te.compute((n,), element, name="C")
        func = tenon.build(te.create_schedule(C.op), [A, C], "llvm")
        assert "llvm.loop.vectorize.enable" not in func.get_source("ll")
