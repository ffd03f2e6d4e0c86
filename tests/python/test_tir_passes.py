"""Passes over tensor programs: what golden files do not show."""

import numpy as np
import pytest
import tenon
from tenon import _core, tir
from tenon.ir.transform import PassContext
from tenon.script import from_source
from tenon.script import tir as T

call = _core.get_global_func


def interpreted(func):
    """The function as it is computed by the interpreter."""
    return tenon.build(func, target="stackvm")


def as_bf16(values):
    return (np.asarray(values, "float32").view("uint32") >> 16).astype("uint16")


def test_constants_are_listed_in_the_module():
    @T.prim_func
    def func(A: T.Buffer((3,), "int32")):
        K = T.allocate_const([1, 1, 2], "int32", [3])
        K_1 = T.decl_buffer((3,), "int32", data=K)
        A[0] = K_1[0]

    mod = tir.transform.ExtractPrimFuncConstants()(tenon.IRModule({"a": func, "b": func}))
    (constant,) = mod.attrs["constants"]
    np.testing.assert_array_equal(constant.numpy(), [1, 1, 2])
    for name in "ab":
        assert int(mod[name].body.irmod_storage_idx) == 0


def test_bfloat16_is_computed_in_float32_and_rounded_where_it_is_stored():
    @T.prim_func
    def func(
        A: T.Buffer((64,), "bfloat16"), B: T.Buffer((64,), "bfloat16"), C: T.Buffer((64,), "uint16")
    ):
        D = T.alloc_buffer((64,), "bfloat16")
        for i in range(64):
            D[i] = A[i] * B[i] + A[i]
        for i in range(64):
            C[i] = T.reinterpret("uint16", D[i] - B[i])

    rng = np.random.default_rng(0)
    a, b = (as_bf16(rng.standard_normal(64)) for _ in range(2))
    legal = tir.transform.BF16Legalize()(tenon.IRModule({"main": func}))["main"]
    assert "bfloat16" not in legal.script()
    wide = [(x.astype("uint32") << 16).view("float32") for x in (a, b)]
    exact = wide[0] * wide[1] + wide[0] - wide[1]
    c = tenon.nd.array(np.zeros(64, "uint16"))
    interpreted(legal)(tenon.nd.array(a), tenon.nd.array(b), c)
    got = (c.numpy().astype("uint32") << 16).view("float32")
    np.testing.assert_allclose(got, exact, rtol=1 / 128, atol=1e-2)


def test_all_values_of_the_8_bit_floats_survive():
    for name, wide in (("e4m3_float8", "float32"), ("e5m2_float8", "float16")):
        x = tir.Var("x", name)
        buffers = [tir.decl_buffer((256,), name, name=n) for n in "AB"]
        i = tir.Var("i", "int32")
        value = tir.BufferLoad(buffers[0], [i]) * tir.const(1, name)
        body = tir.For(i, 0, 256, 0, tir.BufferStore(buffers[1], value, [i]))
        params = [tir.Var(n, "handle") for n in "ab"]
        func = tir.PrimFunc(params, body, buffer_map=dict(zip(params, buffers, strict=True)))
        mod = tenon.IRModule({"main": func.with_attr("global_symbol", "main")})
        mod = tir.transform.FP8ComputeLegalize(wide)(mod)
        mod = tir.transform.FP8StorageLegalize()(mod)
        bits = np.arange(256, dtype="uint8")
        out = tenon.nd.array(np.zeros(256, "uint8"))
        tenon.build(mod, target="stackvm")["main"](tenon.nd.array(bits), out)
        nan = (bits & 0x7F) == 0x7F if "e4m3" in name else (bits & 0x7F) > 0x7C
        np.testing.assert_array_equal(out.numpy()[~nan], bits[~nan])
        assert x.dtype == name


def test_bounds_are_checked_at_run_time():
    @T.prim_func
    def func(A: T.Buffer((8,), "int32"), n: T.int32):
        for i in range(n):
            A[i] = i

    with PassContext(config={"tir.instrument_bound_checkers": True}):
        built = interpreted(func)
    a = tenon.nd.array(np.zeros(8, "int32"))
    built(a, 8)
    np.testing.assert_array_equal(a.numpy(), range(8))
    with pytest.raises(tenon.TenonError, match="OUT OF THE BOUNDS"):
        built(a, 9)


def test_marked_copies_become_calls():
    @T.prim_func
    def func(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        with T.attr(0, "pragma_memcpy", 1):
            for i in range(8):
                for j in range(4):
                    B[i * 8 + j] = A[i * 4 + j + 2]

    seen = []

    def copy(src, dst, pad_before, pad_after, pad_value):
        seen.append((src, dst, pad_before, pad_after, pad_value))
        return tir.Evaluate(tir.call_extern("int32", "memcpy", dst.data, src.data))

    mod = tir.transform.InjectCopyIntrin("memcpy", copy)(tenon.IRModule({"main": func}))
    ((src, dst, before, after, pad),) = seen
    assert [int(n) for n in src.shape] == [int(n) for n in dst.shape] == [8, 4]
    assert [int(n) for n in src.strides] == [4, 1] and [int(n) for n in dst.strides] == [8, 1]
    assert int(src.elem_offset) == 2 and int(dst.elem_offset) == 0
    assert len(before) == len(after) == 0 and pad is None
    assert "memcpy" in mod.script() and "for " not in mod.script()


def test_marked_copies_may_fill_up():
    @T.prim_func
    def func(A: T.Buffer((16,), "float32"), B: T.Buffer((20,), "float32")):
        with T.attr(0, "pragma_pad", 1):
            for i in range(20):
                B[i] = T.if_then_else(i >= 1 and i < 17, A[i - 1], T.float32(3))

    seen = []

    def copy(*args):
        seen.append(args)
        return tir.Evaluate(0)

    tir.transform.InjectCopyIntrin("pad", copy)(tenon.IRModule({"main": func}))
    ((src, dst, before, after, pad),) = seen
    assert [int(n) for n in src.shape] == [16] and [int(n) for n in dst.shape] == [20]
    assert int(src.elem_offset) == 0
    assert [int(n) for n in before] == [1] and [int(n) for n in after] == [3]
    assert float(pad) == 3.0


def test_parts_of_copies_fill_up_where_they_reach_out():
    @T.prim_func
    def func(A: T.Buffer((12,), "float32"), B: T.Buffer((6,), "float32")):
        for o in range(5):
            with T.attr(0, "pragma_pad", 1):
                for i in range(2, 8):
                    B[i - 2] = T.if_then_else(
                        6 <= o * 4 + i and o * 4 + i < 18, A[o * 4 + i - 6], T.float32(3)
                    )

    seen = []

    def copy(*args):
        seen.append(args)
        return tir.Evaluate(0)

    tir.transform.InjectCopyIntrin("pad", copy)(tenon.IRModule({"main": func}))
    ((src, dst, (before,), (after,), pad),) = seen
    o = func.body.loop_var
    at = lambda e, k: int(tenon.arith.Analyzer().simplify(tir.stmt_functor.substitute(e, {o: k})))  # noqa: E731
    for k in range(5):
        inside = [i for i in range(6) if 6 <= k * 4 + i + 2 < 18]
        assert at(before, k) == (inside[0] if inside else at(before, k))
        assert at(src.shape[0], k) == len(inside)
        assert at(before, k) + at(src.shape[0], k) + at(after, k) == 6
        if inside:
            assert at(src.elem_offset, k) == k * 4 + inside[0] + 2 - 6
    assert int(dst.elem_offset) == 0


def test_copies_that_cannot_be_told_are_refused():
    @T.prim_func
    def func(A: T.Buffer((16,), "float32")):
        with T.attr(0, "pragma_memcpy", 1):
            for i in range(4):
                A[i] = A[i * i]

    with pytest.raises(ValueError, match="Cannot match copy pattern of the pragma memcpy"):
        tir.transform.InjectCopyIntrin("memcpy", lambda *a: None)(tenon.IRModule({"main": func}))


def test_options_of_simplify_are_known():
    @T.prim_func
    def func(A: T.Buffer((16,), "int32"), n: T.int32, k: T.int32):
        if n < 5 and (n < 8 or k > 3):
            A[0] = 1

    names = (
        "transitively_prove_inequalities",
        "propagate_knowns_to_prove_conditional",
        "propagate_knowns_to_simplify_expressions",
        "convert_boolean_to_and_of_ors",
        "apply_constraints_to_boolean_branches",
    )
    for name in names:
        with PassContext(config={"tir.Simplify": {name: True}}):
            text = tir.transform.Simplify()(tenon.IRModule({"main": func})).script()
    assert "if n < 5:" in text
    with PassContext(config={"tir.RemoveNoOp": {"use_dataflow_analysis": True}}):
        assert "A[0] = 1" in tir.transform.RemoveNoOp()(tenon.IRModule({"main": func})).script()


def test_kernels_move_to_other_axes():
    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):
        bx = T.launch_thread("blockIdx.x", 4)
        A[bx] = T.float32(0)

    axis = tenon.te.thread_axis("blockIdx.y")
    moved = tir.transform.RemapThreadAxis({"blockIdx.x": axis})(tenon.IRModule({"main": func}))
    launch = moved["main"].body
    assert launch.node.thread_tag == "blockIdx.y"
    assert launch.body.indices[0].same_as(axis.var)


def spans(func):
    """Place of the first node of each kind in the body."""
    seen = {}
    tir.stmt_functor.post_order_visit(
        func.body, lambda node: seen.setdefault(type(node).__name__, getattr(node, "span", None))
    )
    return seen


def test_places_become_lines_of_the_script():
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = A[i] + B[i]
        T.evaluate(0)

    mod = tenon.IRModule({"main": main})
    done = tir.transform.InstallDebugSpans()(mod)["main"]
    tenon.ir.assert_structural_equal(done, mod["main"])
    lines = done.script().splitlines()
    for kind, text in (("BufferLoad", "A[i] ="), ("Add", "A[i] =")):
        span = spans(done)[kind]
        assert span.source_name.name == "main.tir"
        assert span.line == span.end_line
        assert text in lines[span.line - 1]


def test_numbers_of_measured_loops_go_on_unless_they_start_again():
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = T.float32(0)

    def first(config):
        with PassContext(config=config):
            mod = tir.transform.InstrumentProfileIntrinsics()(tenon.IRModule({"main": main}))
        return int(mod["main"].body[0].value.args[0])

    assert first({"tir.reset_start_id": True}) == 0
    assert first({}) == 2
    assert first({}) == 4
    assert first({"tir.reset_start_id": True}) == 0


@pytest.mark.parametrize("target", ["llvm", "stackvm"])
def test_measured_loops_compute_the_same(target):
    @T.prim_func
    def main(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32")):
        for i in range(8):
            for j in range(8):
                B[i, j] = A[i, j] + 1
            for k in range(8):
                B[i, k] = B[i, k] * 3

    with PassContext(config={"tir.instrument_lwp": True, "tir.lwp_min_height": 0}):
        lowered = tenon.lower(main)
        module = tenon.build(main, target=target)
        source = tenon.build(main, target="c").get_source()
    assert "start_profile_intrinsic" in lowered.script() and "for (" in source
    a = np.arange(64, dtype="int32").reshape(8, 8)
    out = tenon.nd.array(np.zeros_like(a))
    module(tenon.nd.array(a), out)
    np.testing.assert_array_equal(out.numpy(), (a + 1) * 3)


@pytest.mark.parametrize("target", ["llvm", "stackvm"])
def test_checks_are_left_out_where_an_option_says_so(target):
    @T.prim_func
    def main(A: T.Buffer((4,), "int32"), n: T.int32):
        assert n < 4, "too large"
        A[0] = n

    out = tenon.nd.array(np.zeros(4, "int32"))
    with pytest.raises(tenon.TVMError, match="too large"):
        tenon.build(main, target=target)(out, 7)
    with PassContext(config={"tir.disable_assert": True}):
        module = tenon.build(main, target=target)
    module(out, 7)
    assert out.numpy()[0] == 7


def test_weights_have_the_layout_that_a_block_brought_them_into():
    @T.prim_func
    def main(A: T.Buffer((4, 6), "float32"), W: T.Buffer((6, 8), "float32"), C: T.Buffer((4, 8))):
        W_1 = T.alloc_buffer((8, 6), "float32")
        for i, j in T.grid(6, 8):
            with T.block("layout_rewrite"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr({"meta_schedule.layout_rewrite_preproc": 1})
                W_1[vj, vi] = W[vi, vj]
        for i, j, k in T.grid(4, 8, 6):
            with T.block("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * W_1[vj, vk]

    mod = tir.transform.RemoveWeightLayoutRewriteBlock()(tenon.IRModule({"main": main}))
    assert [int(n) for n in mod["main"].buffer_map[mod["main"].params[1]].shape] == [8, 6]
    rng = np.random.default_rng(0)
    a, w = (rng.standard_normal(s).astype("float32") for s in ((4, 6), (6, 8)))
    for module, weights in ((tenon.IRModule({"main": main}), w), (mod, w.T.copy())):
        c = tenon.nd.array(np.zeros((4, 8), "float32"))
        tenon.build(module, target="llvm")["main"](tenon.nd.array(a), tenon.nd.array(weights), c)
        np.testing.assert_allclose(c.numpy(), a @ w, rtol=1e-5, atol=1e-5)


NOT_FOR_PASSES = [
    ("RemoveStoreUndef", "A[T.undef(dtype='int32')] = 1", "undef"),
    ("MakePackedAPI", "A[0] = 1", "run tir.BindTarget first"),
    ("MakeUnpackedAPI", "A[0] = 1", "run tir.BindTarget first"),
]


@pytest.mark.parametrize(("name", "body", "message"), NOT_FOR_PASSES)
def test_passes_refuse_programs_with_an_error_of_the_library(name, body, message):
    program = f"@T.prim_func\ndef main(A: T.Buffer((4,), 'int32')):\n    {body}\n"
    with pytest.raises(tenon.TVMError, match=message):
        getattr(tir.transform, name)()(tenon.IRModule({"main": from_source(program)}))


@pytest.fixture
def memories():
    """One memory that the host reaches, one that it does not, and one told wrongly."""

    def told(name, head):
        tenon.register_func(
            f"tvm.info.mem.global.{name}",
            lambda: tenon.ir.make_node(
                "MemoryInfo", unit_bits=8, max_num_bits=1024, max_simd_bits=32, head_address=head
            ),
            override=True,
        )

    told("near", tir.call_extern("handle", "near_memory"))
    told("far", None)
    tenon.register_func("tvm.info.mem.global.odd", lambda: 3, override=True)


def in_memory(scope, use):
    func = from_source(
        "@T.prim_func\ndef main():\n"
        f'    A_data = T.allocate([8], "float32", "global.{scope}")\n'
        f'    A = T.decl_buffer((8,), data=A_data, scope="global.{scope}")\n'
        f"    T.evaluate({use})\n"
    )
    return tir.transform.LowerDeviceStorageAccessInfo()(tenon.IRModule({"main": func}))["main"].body


@pytest.mark.usefixtures("memories")
def test_memory_that_the_program_knows_is_not_allocated():
    near = in_memory("near", "A_data")
    assert isinstance(near, tir.LetStmt)
    assert near.value.args[0].value == "near_memory"
    assert isinstance(near.body, tir.DeclBuffer)
    assert isinstance(in_memory("far", "0"), tir.Evaluate)
    assert isinstance(in_memory("unheard_of", "A_data"), tir.Allocate)
    with pytest.raises(tenon.TVMError, match="memory global.far has no address for the host"):
        in_memory("far", "A_data")
    with pytest.raises(TypeError, match="tvm.info.mem.global.odd: expected MemoryInfo, got"):
        in_memory("odd", "0")
