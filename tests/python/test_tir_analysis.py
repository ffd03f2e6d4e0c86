"""Questions about tensor programs: tenon.tir.analysis."""

import pytest
import tenon
from tenon import te, tir
from tenon.script import tir as T

analysis = tir.analysis


@T.prim_func
def matmul(
    A: T.Buffer((128, 64), "float32"),
    B: T.Buffer((128, 64), "float32"),
    C: T.Buffer((128, 128), "float32"),
):
    for i, j, k in T.grid(128, 128, 64):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]


@T.prim_func
def two_stages(A: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")):
    B = T.alloc_buffer((128, 128), "float32")
    for i in range(128):
        for j in range(128):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(128):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)


@T.prim_func
def leaks_a_loop_variable(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[i]


def let_then(var, *rest):
    return tir.SeqStmt([tir.LetStmt(var, 42, tir.Evaluate(var)), *rest])


def test_programs_are_well_formed():
    for program in (matmul, two_stages):
        assert analysis.verify_well_formed(program)
        assert analysis.verify_ssa(program)
    assert analysis.verify_well_formed(tenon.IRModule({"a": matmul, "b": two_stages}))


def test_use_after_the_scope():
    i = tir.Var("i", "int32")
    func = tir.PrimFunc([], let_then(i, tir.Evaluate(i)))
    with pytest.raises(
        ValueError,
        match=r"Invalid use of undefined variable i at <root>\.body\.seq\[1\]\.value\..*"
        r"previously defined at <root>\.body\.seq\[0\]\.var, .* no longer in-scope\.",
    ):
        analysis.verify_well_formed(func)
    assert not analysis.verify_well_formed(func, assert_mode=False)


def test_use_without_a_definition():
    with pytest.raises(ValueError, match="undefined variable x at <root>.body.value.a"):
        analysis.verify_well_formed(tir.PrimFunc([], tir.Evaluate(te.var("x") + 1)))
    data = tir.decl_buffer([4], "float32", "D")
    with pytest.raises(ValueError, match="undefined variable D at <root>.body.buffer.data"):
        analysis.verify_well_formed(tir.PrimFunc([], tir.BufferStore(data, 1.0, [0])))


def test_two_definitions():
    i = tir.Var("i", "int32")
    nested = tir.PrimFunc([], tir.LetStmt(i, 1, tir.LetStmt(i, 2, tir.Evaluate(i))))
    repeated = tir.PrimFunc([], let_then(i, tir.LetStmt(i, 3, tir.Evaluate(i))))
    with pytest.raises(ValueError, match="multiple nested definitions of variable i"):
        analysis.verify_well_formed(nested)
    with pytest.raises(ValueError, match="multiple definitions of variable i"):
        analysis.verify_well_formed(repeated)
    assert not analysis.verify_ssa(nested)
    assert not analysis.verify_ssa(repeated)
    one = tir.PrimFunc([], tir.LetStmt(i, 42, tir.Evaluate(i)))
    with pytest.raises(ValueError, match="multiple definitions of variable i"):
        analysis.verify_well_formed(tenon.IRModule({"a": one, "b": one}))


def test_block_uses_the_loop_variable_around_it():
    with pytest.raises(
        ValueError, match='Loop iterator var i is defined outside of any block.*block "B"'
    ):
        analysis.verify_well_formed(leaks_a_loop_variable)


def test_thread_axes_may_be_launched_again():
    thread = te.thread_axis((0, 32), "threadIdx.x")

    def launch(extent, body):
        return tir.AttrStmt(thread, "thread_extent", extent, body)

    use = tir.Evaluate(thread.var)
    assert analysis.verify_well_formed(
        tir.PrimFunc([], tir.SeqStmt([launch(32, use), launch(32, use)]))
    )
    assert analysis.verify_well_formed(tir.PrimFunc([], launch(32, launch(32, use))))
    with pytest.raises(ValueError, match="no longer in-scope"):
        analysis.verify_well_formed(tir.PrimFunc([], tir.SeqStmt([launch(32, use), use])))


def test_negative_extents():
    data = tir.Var("p", tenon.ir.PointerType(tenon.ir.PrimType("float32")))
    with pytest.raises(ValueError, match="shape of p: extent 1 is negative: -1"):
        tir.Allocate(data, "float32", [4, -1], True, tir.Evaluate(0))


def test_passes_are_verified():
    @tir.transform.prim_func_pass(opt_level=0)
    def break_it(func, mod, ctx):
        return func.with_body(tir.Evaluate(te.var("lost")))

    module = tenon.IRModule({"main": matmul})
    with tenon.transform.PassContext(config={"ir.verify": True}):
        tenon.lower(module)
        with pytest.raises(ValueError, match="undefined variable lost"):
            break_it(module)


def test_undefined_vars():
    x, y, n = te.var("x"), te.var("y"), te.var("n")
    assert list(analysis.undefined_vars(tir.Let(x, y, x + y) + x)) == [y, x]
    loop = tir.For(x, 0, n, tir.ForKind.SERIAL, tir.Evaluate(x + y))
    assert list(analysis.undefined_vars(loop)) == [n, y]
    assert list(analysis.undefined_vars(loop, [n])) == [y]
    names = [v.name for v in analysis.undefined_vars(matmul.body)]
    assert names == ["A", "B", "C"]


def test_long_chains():
    stmt = tir.Evaluate(0)
    for _ in range(100_000):
        stmt = tir.LetStmt(tir.Var("x", "int32"), 1, stmt)
    func = tir.PrimFunc([], stmt)
    assert analysis.verify_well_formed(func)
    assert analysis.verify_ssa(func)
    assert analysis.calculate_workspace_bytes(func, 8) == 0
    assert analysis.estimate_tir_flops(stmt) == 0
    assert len(analysis.undefined_vars(stmt)) == 0


def test_expr_deep_equal():
    x, y = te.var("x"), te.var("y")
    assert analysis.expr_deep_equal(x + y * 2, x + y * 2)
    assert not analysis.expr_deep_equal(x + 1, y + 1)
    assert not analysis.expr_deep_equal(tir.const(1, "int32"), tir.const(1, "int64"))


def test_bytes():
    @T.prim_func
    def f():
        C = T.allocate_const([1, 2, 3], "int32", [3])
        A = T.allocate([32], "float32", "shared")
        B = T.allocate([16], "int8", "local")
        T.evaluate(A)
        T.evaluate(B)
        T.evaluate(C)
        for _i in range(3):
            D = T.allocate([100], "int8")
            T.evaluate(D)
        for _i in range(3):
            E = T.allocate([200], "int8")
            with T.allocate([7], "float32") as F:
                T.evaluate(E)
                T.evaluate(F)

    sizes = analysis.calculate_allocated_bytes(f)["main"]
    assert {str(k): int(v) for k, v in sizes.items()} == {
        "global": 12 + 200 + 28,
        "shared": 128,
        "local": 16,
    }
    assert analysis.calculate_workspace_bytes(f, 1) == 228
    assert analysis.calculate_workspace_bytes(f, 64) == 256 + 64
    assert analysis.calculate_constant_bytes(f, 1) == 12
    assert analysis.calculate_constant_bytes(f, 64) == 64
    assert list(analysis.calculate_allocated_bytes(tenon.IRModule({"g": f}))) == ["g"]
    with pytest.raises(TypeError, match="either PrimFunc or IRModule"):
        analysis.calculate_allocated_bytes(te.var("x"))


def test_where_accesses_meet():
    root = two_stages.body.block
    lca = {b.name: at for b, at in analysis.detect_buffer_access_lca(two_stages).items()}
    assert lca["B"].same_as(root.body)  # the loop over i
    assert lca["A"].name_hint == "B"
    assert lca["C"].name_hint == "C"
    # what is accumulated lives around the loop of the reduction
    lca = {b.name: at for b, at in analysis.detect_buffer_access_lca(matmul).items()}
    assert lca["C"].loop_var.name == "j"


def test_flops():
    assert analysis.estimate_tir_flops(tenon.IRModule({"main": matmul})) == 2 * 128 * 128 * 64
    assert analysis.estimate_tir_flops(matmul.body) == 2 * 128 * 128 * 64
    told = matmul.with_attr("estimated_flops", 32)
    assert analysis.estimate_tir_flops(tenon.IRModule({"main": told})) == 32
    # the condition of a branch does not count as arithmetic
    x, y = te.var("x", "float32"), te.var("y", "float32")
    picked = tir.Select(tir.And(x + 1 < y, tir.Not(x > y)), x * y + x, x)
    assert analysis.estimate_tir_flops(tir.Evaluate(picked)) == 2
    n = te.var("n")
    loop = tir.For(te.var("i"), 0, n, tir.ForKind.SERIAL, tir.Evaluate(0))
    with pytest.raises(ValueError, match="expected a constant extent"):
        analysis.estimate_tir_flops(loop)
    with pytest.raises(ValueError, match="expected a constant extent"):
        analysis.estimate_tir_flops(tir.For(loop.loop_var, 0, n // 2, 0, tir.Evaluate(0)))


def test_flops_of_extents_that_change():
    """Each loop counts with the largest number of its iterations."""

    @T.prim_func
    def triangle(A: T.Buffer((16,), "float32")):
        for i in range(8):
            for j in range(i):
                A[j] = A[i] * T.float32(2)

    assert analysis.estimate_tir_flops(triangle.body) == 8 * 7


def test_purity_conditions_anchor():
    @T.prim_func
    def pure(x: T.int32) -> T.int32:
        A = T.allocate([4], "int32")
        B = T.Buffer((4,), "int32", data=A)
        B[0] = x
        if x > 1:
            B[0] = B[0] + 1
        T.ret(B[0])

    assert analysis.is_pure_function(pure) and analysis.assert_pure_function(pure)
    assert not analysis.is_pure_function(matmul)
    with pytest.raises(AssertionError, match="more than compute"):
        analysis.assert_pure_function(matmul)
    assert analysis.has_if_then_else(pure)
    assert not analysis.has_if_then_else(matmul.body)
    anchor = analysis.find_anchor_block(tenon.IRModule({"a": two_stages, "b": matmul}))
    assert anchor.name_hint == "matmul"
    assert analysis.find_anchor_block(tenon.IRModule({"a": two_stages})) is None


def test_regions_of_blocks():
    @T.prim_func
    def func():
        A = T.alloc_buffer((128, 128), "float32")
        B = T.alloc_buffer((128, 128), "float32")
        C = T.alloc_buffer((128, 128), "float32")
        D = T.alloc_buffer((128, 128), "float32")
        with T.block():
            T.reads([B[0, 0], C[0:16, 0:16], A[4:12, 4:12]])
            T.writes([A[0:12, 0:12]])
            for i, j in T.grid(8, 8):
                A[i, j] = B[0, 0] + C[0, 0]
            for i, j in T.grid(2, 2):
                with T.block():
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads([A[vi * 4 + 4 : vi * 4 + 8, vj * 4 + 4 : vj * 4 + 8], C[12:16, 12:16]])
                    T.writes([A[vi * 4 + 4 : vi * 4 + 8, vj * 4 + 4 : vj * 4 + 8]])
                    for k, m in T.grid(4, 4):
                        A[vi * 4 + 4 + k, vj * 4 + 4 + m] += C[k + 12, m + 12]
            T.evaluate(D.data)

    root = func.body.block
    block = root.body.block
    pointers = {b.data: b for b in root.alloc_buffers}
    reads, writes, either = analysis.get_block_access_region(block, pointers)
    tenon.ir.assert_structural_equal(block.reads, reads)
    tenon.ir.assert_structural_equal(block.writes, writes)
    whole = [tenon.ir.Range(0, 128), tenon.ir.Range(0, 128)]
    tenon.ir.assert_structural_equal([tir.BufferRegion(root.alloc_buffers[3], whole)], either)
    reads, writes = analysis.get_block_read_write_region(block, pointers)
    assert [r.buffer.name for r in reads] == ["B", "C", "A", "D"]
    assert [r.buffer.name for r in writes] == ["A", "D"]


def test_regions_of_pointers_and_reductions():
    @T.prim_func
    def func(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        with T.block("opaque"):
            T.reads(A[0:16])
            T.writes(B[0:16])
            T.evaluate(T.call_extern("int32", "f", A.access_ptr("r"), B.access_ptr("w")))

    pointers = {b.data: b for b in func.buffer_map.values()}
    block = func.body.block
    reads, writes, either = analysis.get_block_access_region(block, pointers)
    assert [r.buffer.name for r in reads] == ["A"]
    assert [r.buffer.name for r in writes] == ["B"]
    assert len(either) == 0
    block = matmul.body.block.body.body.body.body.block
    reads, writes, _ = analysis.get_block_access_region(block, {})
    assert [r.buffer.name for r in reads] == ["A", "B"]
    assert [r.buffer.name for r in writes] == ["C"]


def test_a_buffer_that_is_a_part_of_itself_is_refused():
    A = tir.decl_buffer((8,), name="A")
    part = tir.MatchBufferRegion(A, tir.BufferRegion(A, [tenon.ir.Range(0, 8)]))
    block = tir.Block([], [], [], "b", tir.Evaluate(0), match_buffers=[part])
    with pytest.raises(ValueError, match="match_buffer A: it is a part of itself"):
        analysis.get_block_access_region(block, {})


def test_memory_constraints():
    @T.prim_func
    def main(
        a: T.handle, b: T.handle, n: T.int32, c: T.handle, d: T.handle
    ):  # arguments, results last
        A = T.match_buffer(a, (8,), scope="sram")
        B = T.match_buffer(b, (8,))
        C = T.match_buffer(c, (8,), scope="dram")
        D = T.match_buffer(d, (8,))
        for i in range(8):
            D[i] = A[i] + B[i] + C[i]

    tensor = tenon.relay.TensorType((8,))
    pair = tenon.relay.FuncType([tensor, tenon.relay.TupleType([tensor, tensor])], tensor)
    get = analysis.get_prim_func_arg_and_result_memory_constraints
    apply = analysis.apply_prim_func_arg_and_result_memory_constraints
    assert list(get(main, pair)) == ["sram", "dram", ""]
    flat = tenon.relay.FuncType([tensor] * 3, tensor)
    assert list(get(main, flat)) == ["sram", "", "dram", ""]
    made = apply(main, flat, ["sram", "vtcm", "", "psum"])
    assert list(get(made, flat)) == ["sram", "vtcm", "dram", "psum"]
    assert analysis.verify_well_formed(made)
    assert "psum" in made.script() and "psum" not in main.script()
    with pytest.raises(ValueError, match='lies in memory "sram" already, not in "other"'):
        apply(main, flat, ["other", "", "", ""])
    with pytest.raises(ValueError, match="expected 4 scopes"):
        apply(main, flat, [""])
    with pytest.raises(ValueError, match="fewer buffers"):
        get(main, tenon.relay.FuncType([tensor] * 5, tensor))
    both = tenon.relay.FuncType([tenon.relay.TupleType([tensor] * 3)], tensor)
    with pytest.raises(ValueError, match='in memory "sram" and "dram"'):
        get(main, both)
