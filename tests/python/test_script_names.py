"""Every name that scripts have: what is printed reads back to an equal program."""

import pytest
import tenon
from tenon import tir
from tenon.script import from_source
from tenon.script import tir as T


def round_trip(program):
    again = from_source(program.script())
    tenon.ir.assert_structural_equal(program, again)
    return program.script()


VALUES = """
T.if_then_else(A[0] > 0, A[0], T.exp(A[0]), dtype="float32")
T.floordiv(T.cast(A[0], "int32"), 3)
T.abs(A[0], dtype="float32")
T.likely(A[0] > 0.0, dtype="bool")
T.isnan(A[0], dtype="bool")
T.call_extern("foo", A.data, dtype="int32")
T.call_extern("int32", "foo", A.data)
T.call_pure_extern("float32", "sinf", A[0])
T.call_llvm_pure_intrin(T.uint32(97), T.uint32(1), T.uint8(1), dtype="uint8")
T.call_llvm_intrin("float32x4", "llvm.sqrt", T.uint32(1), A[0])
T.call_intrin("float32", "tir.sqrt", A[0])
T.tvm_call_packed("f", A.data)
T.call_cpacked("f", A.data)
T.tvm_call_cpacked("f", A.data, dtype="int32")
T.reinterpret(A[0], dtype="int32")
T.reinterpret("int32", A[0])
T.q_multiply_shift(T.int32(1), 2, 3, 4, dtype="int32")
T.q_multiply_shift_per_axis(1, 2, 3, 4, 5, T.bool(True), False, dtype="int32")
T.address_of(A[0], dtype="handle")
T.lookup_param("p0", dtype="handle")
T.ret(0)
T.min_value("float32") + T.max_value("float32")
T.tvm_thread_allreduce(T.uint32(1), A[0], True, A.data, 0, dtype="handle")
T.shift_left(1, 3, dtype="int32")
T.bitwise_and(1, 3) + T.bitwise_or(1, 3) + T.bitwise_xor(1, 3) + T.bitwise_not(3)
T.truncdiv(5, 3) + T.truncmod(5, 3) + T.ceildiv(5, 3) + T.floormod(5, 3) + T.indexdiv(5, 3)
T.Div(5, 3) + T.Mod(5, 3) + T.FloorDiv(5, 3) + T.FloorMod(5, 3) + T.Min(5, 3) + T.Max(5, 3)
T.Cast("float32", 4)
T.Not(A[0] > 0.0)
T.And(A[0] > 0.0, T.Or(A[0] > 1.0, A[0] < 3.0))
T.all(A[0] > 0.0, A[0] < 3.0)
T.tvm_tuple(1, 2, 3)
T.tvm_warp_shuffle(T.uint32(1), A[0], 0, 32, 32)
T.tvm_warp_activemask()
T.TVMBackendAllocWorkspace(1, 0, T.uint64(128), 2, 32, dtype="handle")
T.TVMBackendFreeWorkspace(1, 0, A.data)
T.vscale()
T.undef()
T.fabs(A[0])
T.nextafter(A[0], A[0])
T.tvm_check_return(0, -1, T.call_extern("int32", "f"))
T.tvm_throw_last_error()
T.start_profile_intrinsic(0)
T.infinity("float32")
T.assume(A[0] == 3.0)
T.StringImm("abc")
T.IntImm("int32", 3) + T.int32(4)
T.FloatImm("float32", 3)
T.get_active_lane_mask("uint1x4", 0, 10)
T.power(A[0], A[0]) + T.pow(A[0], 2.0) + T.fmod(A[0], A[0]) + T.hypot(A[0], A[0])
T.tvm_struct_get(A.data, 0, 12, "handle")
T.tvm_struct_set(A.data, 0, 12, A.data, dtype="int32")
T.tvm_storage_sync("shared")
T.ptx_ldmatrix(0, 4, ".b16", A.data, 0, A.data, 0, dtype="float16")
T.ptx_cp_async("float16", A.data, 0, A.data, 0, 16)
T.ptx_wait_group(0)
T.mma_fill(8, A.data, 0, dtype="float32")
T.vectorlow("float32x4", A[0:8])
T.dp4a(1, 2, 3)
T.tvm_fill_fragment(A.data, 16, 16, 16, 0, T.float32(0), dtype="handle")
T.e4m3_float8(1.0)
T.bfloat16(1.0)
-A[0]
A[T.ramp(0, 1, 4)] + T.broadcast(T.float32(1), 4)
"""


@pytest.mark.parametrize("value", VALUES.strip().splitlines())
def test_values(value):
    program = from_source(
        f'@T.prim_func\ndef f(A: T.Buffer((16,), "float32")):\n    T.evaluate({value})\n'
    )
    round_trip(program)


def test_targets_as_attributes():
    program = from_source(
        """
@T.prim_func
def f(A: T.Buffer((16,), "float32")):
    T.func_attr({"target": T.target("llvm -mcpu=skylake", host="c"), "b": 1, "a": None})
    T.evaluate(0)
"""
    )
    text = round_trip(program)
    assert (
        'T.func_attr({"a": None, "b": 1, "target": T.target({"host": {"keys": ["cpu"], '
        '"kind": "c", "tag": ""}, "keys": ["cpu"], "kind": "llvm", "mcpu": "skylake", '
        '"tag": ""})})' in text
    )
    assert program.attrs["target"].host.kind.name == "c"
    with pytest.raises(tenon.error.DiagnosticError, match="(?s)nonsense.*<string>:4:28"):
        from_source(
            "\n@T.prim_func\ndef f():\n"
            '    T.func_attr({"target": T.target("nonsense")})\n    T.evaluate(0)\n'
        )


def test_thread_axes():
    @T.prim_func
    def f(A: T.Buffer((64, 32), "float32")):
        bx = T.env_thread("blockIdx.x")
        vx = T.env_thread("vthread.x")
        T.launch_thread(bx, 64)
        with T.launch_thread("threadIdx.x", 32) as tx:
            A[bx, tx] = T.float32(0)
        T.launch_thread(vx, 2)
        T.evaluate(vx)

    text = round_trip(f)
    assert 'bx = T.launch_thread("blockIdx.x", 64)' in text
    assert f.body.attr_key == "thread_extent"
    assert int(f.body.node.dom.extent) == 64


def test_frames_for_conditions_and_loops():
    @T.prim_func
    def framed(A: T.Buffer((4,), "float32"), n: T.int32):
        with T.If(n > 3):
            with T.Then():
                A[0] = T.float32(1)
            with T.Else():
                T.buffer_store(A, T.float32(2), [1])
        with T.While(A[0] < T.float32(1)):
            A[0] = A[0] + T.float32(1)
        T.prefetch(A, [T.Range(0, 4)])

    @T.prim_func
    def plain(A: T.Buffer((4,), "float32"), n: T.int32):
        if n > 3:
            A[0] = T.float32(1)
        else:
            A[1] = T.float32(2)
        while A[0] < T.float32(1):
            A[0] = A[0] + T.float32(1)
        T.prefetch(A, [T.Range(0, 4)])

    tenon.ir.assert_structural_equal(framed, plain.with_attr("global_symbol", "framed"))
    round_trip(plain)


def test_calls_within_a_module_have_the_type_of_the_result():
    module = from_source(
        """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((1,), "int32")):
        A[0] = cls.add_one(A[0])
        A[0] = T.call_tir(Module.add_one, A[0])
        Module.clear(A.data)

    @T.prim_func(private=True)
    def add_one(x: T.int32) -> T.int32:
        return x + 1

    @T.prim_func(private=True)
    def clear(data: T.handle("int32")):
        A = T.decl_buffer((1,), "int32", data=data)
        A[0] = 0
"""
    )
    round_trip(module)
    calls = [module["main"].body.seq[i].value for i in range(3)]
    assert [c.dtype for c in calls] == ["int32", "int32", "void"]
    assert "class Other:" in module.script(name="Other")


def test_one_of_two_statements():
    wide = True

    @T.prim_func
    def f():
        T.evaluate(1) if wide else T.evaluate(2)

    assert int(f.body.value) == 1


DIMS = [8, 4]


def test_loops_over_lists_of_extents():
    @T.prim_func
    def f(a: T.handle, b: T.handle):
        A = T.match_buffer(a, [16, *DIMS], "int32")
        B = T.match_buffer(b, [16, 8], "int32")
        for *spatial, k in T.grid(*A.shape):
            with T.block("sum"):
                with T.init():
                    B[spatial] = 0
                B[spatial] = B[spatial] + A[(*spatial, k)]
        for both in T.grid(*DIMS):
            B[both] = 1

    text = round_trip(f)
    assert "for spatial_0, spatial_1, k in T.grid(16, 8, 4):" in text
    assert "B[both_0, both_1] = 1" in text
    with pytest.raises(tenon.error.DiagnosticError, match="needs 2 loop variables, got 3"):
        from_source(
            "@T.prim_func\ndef f():\n    for i, j, k in T.grid(1, 2):\n        T.evaluate(0)\n"
        )


LIMIT = 128


def test_macros():
    @T.macro
    def outside(A, B):
        B[()] = A[LIMIT]

    @T.macro(hygienic=False)
    def inside(A, B):
        B[()] = A[LIMIT]

    @T.prim_func(private=True)
    def f(A: T.Buffer((1024,), "int32"), B: T.Buffer((), "int32")):
        for LIMIT in range(10):  # noqa: B007
            outside(A, B)
            inside(A, B=B)

    store = f.body.body.seq
    assert int(store[0].value.indices[0]) == 128
    assert store[1].value.indices[0].same_as(f.body.loop_var)


def test_macros_take_what_functions_take():
    @T.macro
    def update(i, *args, t1, scale=2, **kwargs):
        vi, vj, vk = T.axis.remap("SSR", [i, args[0], args[1]])
        out = T.meta_var(kwargs["out"])
        out[vi, vj] = out[vi, vj] + t1[vi, vk] * kwargs["t2"][vj, vk] * T.float32(scale)

    @T.prim_func(private=True)
    def with_macro(a: T.handle, b: T.handle, c: T.handle):
        A = T.match_buffer(a, (16, 16))
        B = T.match_buffer(b, (16, 16))
        C = T.match_buffer(c, (16, 16))
        for i, j, k in T.grid(16, 16, 16):
            with T.block("update"):
                update(i, j, k, t1=A, t2=B, out=C)

    @T.prim_func(private=True)
    def expected(a: T.handle, b: T.handle, c: T.handle):
        A = T.match_buffer(a, (16, 16))
        B = T.match_buffer(b, (16, 16))
        C = T.match_buffer(c, (16, 16))
        for i, j, k in T.grid(16, 16, 16):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk] * T.float32(2)

    tenon.ir.assert_structural_equal(with_macro, expected)


def test_macro_errors_show_the_place():
    @T.macro
    def bad(a, b):
        T.evaluate(a // b)

    with pytest.raises(tenon.error.DiagnosticError, match=r"(?s)by zero.*evaluate\(a // b"):

        @T.prim_func
        def zero(x: T.int32):
            bad(x, 0)

    with pytest.raises(tenon.error.DiagnosticError, match=r"(?s)b is not given.*bad\(x\)"):

        @T.prim_func
        def few(x: T.int32):
            bad(x)

    with pytest.raises(tenon.error.DiagnosticError, match="takes 2 positional arguments, got 3"):

        @T.prim_func
        def many(x: T.int32):
            bad(x, 1, 2)

    with pytest.raises(ValueError, match="expected a function"):
        T.macro(3)


def test_name_of_a_function():
    f = from_source("@T.prim_func\ndef f():\n    T.evaluate(0)\n")
    assert "def g():" in f.script(name="g")
    assert isinstance(f, tir.PrimFunc)


def test_a_thread_loop_takes_its_extent_first():
    @T.prim_func
    def short(A: T.Buffer((128,), "float32")):
        for i in T.thread_binding(128, "threadIdx.x"):
            A[i] = 1.0

    @T.prim_func
    def long(A: T.Buffer((128,), "float32")):
        for i in T.thread_binding(0, 128, thread="threadIdx.x"):
            A[i] = 1.0

    tenon.ir.assert_structural_equal(short.with_attr("global_symbol", "long"), long)
    text = "@T.prim_func\ndef f():\n    for i in T.thread_binding({}):\n        T.evaluate(i)\n"
    for arguments, message in (("8", "thread is missing"), ("8, 8", "expected a string")):
        with pytest.raises(tenon.error.DiagnosticError, match=message):
            from_source(text.format(arguments))


def test_functions_of_scripts_have_names():
    @T.prim_func
    def doubled(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] * 2.0

    assert doubled.__name__ == "doubled"
    assert doubled.without_attr("global_symbol").__name__ == "main"
    assert (T.float32.__name__, T.iter_var.__name__) == ("float32", "iter_var")


def test_handles_name_their_scope():
    @T.prim_func
    def f(
        p: T.handle("bfloat16", storage_scope="shared"),
        q: T.handle("float32", "local"),
        r: T.handle("int8"),
        s: T.handle("int8", ""),
    ):
        T.evaluate(0)

    types = [p.type_annotation for p in f.params]
    assert [str(t.element_type.dtype) for t in types] == ["bfloat16", "float32", "int8", "int8"]
    assert [t.storage_scope for t in types] == ["shared", "local", "global", ""]
    assert 's: T.handle("int8", "")' in round_trip(f)
