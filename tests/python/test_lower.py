"""The pipelines of passes over tensor programs."""

import pytest
import tenon
from tenon import _core, tir
from tenon.ir.transform import PassContext
from tenon.script import tir as T

lower = _core.get_global_func("driver.lower")


@T.prim_func
def matmul(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), c: T.handle):
    T.func_attr({"global_symbol": "main"})
    C = T.match_buffer(c, (8, 8))
    D = T.alloc_buffer((8, 8))
    for i, j, k in T.grid(8, 8, 8):
        with T.block("D"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
    for i in T.serial(8):
        for j in T.vectorized(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = D[vi, vj] + T.float32(1)


@T.prim_func
def expected(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), c: T.handle):
    T.func_attr({"global_symbol": "main"})
    C = T.match_buffer(c, (8, 8))
    D = T.allocate([64], "float32", "global")
    A_1 = T.Buffer((64,), data=A.data)
    B_1 = T.Buffer((64,), data=B.data)
    C_1 = T.Buffer((64,), data=C.data)
    D_1 = T.Buffer((64,), data=D)
    for i in range(8):
        row: T.int32 = i * 8
        for j in range(8):
            at: T.int32 = row + j
            for k in range(8):
                if k == 0:
                    D_1[at] = T.float32(0)
                D_1[at] = D_1[at] + A_1[row + k] * B_1[k * 8 + j]
    for i in range(8):
        at_1: T.int32 = i * 8
        C_1[at_1 : at_1 + 8] = D_1[at_1 : at_1 + 8] + T.Broadcast(T.float32(1), 8)


def module(func):
    return tenon.IRModule({"main": func})


def test_matmul_becomes_flat_loops():
    lowered = lower(module(matmul), False)["main"]
    tenon.ir.assert_structural_equal(lowered, expected)


def test_vectorization_can_be_turned_off():
    with PassContext(config={"tir.disable_vectorize": True}):
        assert "Broadcast" not in lower(module(matmul), False)["main"].script()


def test_storage_is_shared_unless_it_is_turned_off():
    @T.prim_func
    def func(A: T.Buffer((512,), "float32"), C: T.Buffer((512,), "float32")):
        B = T.alloc_buffer((512,))
        D = T.alloc_buffer((512,))
        for i in range(512):
            with T.block("B"):
                vi = T.axis.spatial(512, i)
                B[vi] = A[vi] * T.float32(2)
        for i in range(512):
            with T.block("D"):
                vi = T.axis.spatial(512, i)
                D[vi] = B[vi] + T.float32(1)
        for i in range(512):
            with T.block("C"):
                vi = T.axis.spatial(512, i)
                C[vi] = D[511 - vi]

    assert lower(module(func), False)["main"].script().count("T.allocate") == 1
    with PassContext(config={"tir.disable_storage_rewrite": True}):
        assert lower(module(func), False)["main"].script().count("T.allocate") == 2


def test_added_passes_run_after_their_phase():
    seen = []

    def probe(phase):
        name = f"probe{phase}"
        make = _core.get_global_func("tir.transform.CreatePrimFuncPass")
        info = tenon.ir.transform.PassInfo(0, name, [])

        def look(func, mod, ctx):
            text = func.script()
            seen.append((phase, "T.block" in text, "T.vectorized" in text))
            return func

        return make(look, info)

    added = [(phase, probe(phase)) for phase in (3, 0, 1, 2)]
    with PassContext(config={"tir.add_lower_pass": added}):
        lower(module(matmul), False)
    assert seen == [(0, True, True), (1, False, True), (2, False, False), (3, False, False)]


def test_added_passes_are_checked():
    with PassContext(config={"tir.add_lower_pass": [(7, tir.transform.Simplify())]}):
        with pytest.raises(ValueError, match=r"tir.add_lower_pass\[0\]: expected a pair of phase"):
            lower(module(matmul), False)


def test_host_function_has_the_packed_signature():
    host = _core.get_global_func("driver.host_pipeline")
    built = host(lower(module(matmul), False), tenon.target.Target("llvm"))["main"]
    assert [str(p.name) for p in built.params] == [
        "args",
        "arg_type_ids",
        "num_args",
        "out_ret_value",
        "out_ret_tcode",
        "resource_handle",
    ]
    assert built.attrs["calling_conv"] == 1 and built.attrs["tir.is_entry_func"]
    text = built.script()
    for message in (
        "main: num_args should be 3",
        "main: Expect arg[0] to be pointer",
        "arg.A.ndim is expected to equal 2",
        "arg.B.dtype is expected to be float32",
        "Argument arg.C.shape[1] has an unsatisfied constraint: 8 == ",
        "arg.C.strides: expected to be compact array",
    ):
        assert message in text


def test_ssa_of_a_statement_twice():
    @T.prim_func
    def func(A: T.Buffer((8,), "float32")):
        for i in range(4):
            B_data = T.allocate([4], "float32", "global")
            B = T.decl_buffer((4,), data=B_data)
            B[i] = A[i]
            A[i] = B[i] + T.float32(1)

    twice = func.with_body(tir.SeqStmt([func.body, func.body]))
    first, second = tir.transform.ConvertSSA()(module(twice))["main"].body.seq
    assert not first.loop_var.same_as(second.loop_var)
    assert not first.body.buffer_var.same_as(second.body.buffer_var)
    decl = second.body.body
    assert decl.buffer.data.same_as(second.body.buffer_var)
    assert decl.body.seq[0].buffer.same_as(decl.buffer)
    assert decl.body.seq[1].value.a.buffer.same_as(decl.buffer)


def test_ssa_of_functions_that_share_variables():
    n, handle = tir.Var("n", "int32"), tir.Var("a", "handle")
    A = tir.decl_buffer((n,), "float32", name="A")
    body = tir.Evaluate(tir.BufferLoad(A, [n - 1]))
    one = tir.PrimFunc([handle, n], body, buffer_map={handle: A})
    shared = tenon.IRModule(
        {"f": one, "g": tir.PrimFunc([handle, n], body, buffer_map={handle: A})}
    )
    f, g = (tir.transform.ConvertSSA()(shared)[name] for name in ("f", "g"))
    for x, y in zip(f.params, g.params, strict=True):
        assert not x.same_as(y)
    x, y = f.buffer_map[f.params[0]], g.buffer_map[g.params[0]]
    assert not x.same_as(y) and not x.data.same_as(y.data) and not x.shape[0].same_as(y.shape[0])
    for function in (f, g):
        load = function.body.value
        assert load.buffer.same_as(function.buffer_map[function.params[0]])
        assert load.indices[0].a.same_as(function.params[1])
        tenon.ir.assert_structural_equal(function, one)
