"""What is printed parses back to an equal program, after every pass and for all kinds of values."""

import math

import numpy as np
import pytest
import tenon
from random_programs import Program
from tenon import te, tir
from tenon.ir.transform import PassContext
from tenon.script import from_source
from tenon.script import tir as T
from test_lower_random import EAGER, PLAIN, Writer

VERIFY = {"ir.verify": 2}  # print, parse, compare after each pass


def same(program):
    text = program.script(show_meta=True)
    again = from_source(text)
    tenon.ir.assert_structural_equal(again, program, map_free_vars=True)
    assert again.script(show_meta=True) == text
    return text


def evaluates(value, attrs=None):
    func = tir.PrimFunc([], tir.Evaluate(value))
    for key, attr in (attrs or {}).items():
        func = func.with_attr(key, attr)
    return func


# ---- after every pass ----


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed):
    func = from_source(Writer(seed).program())
    for config in (PLAIN, EAGER):
        with PassContext(config=config | VERIFY):
            tenon.build(func, target="stackvm")


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_of_all_types(seed):
    program = Program(seed, "main")
    with PassContext(config=VERIFY):
        tenon.build(from_source(program.text), target="c")


@pytest.mark.parametrize("target", ["cuda", "opencl"])
def test_kernels(target):
    """Host and device part, two kernels, memory that threads share."""
    n, m = te.size_var("n"), 64
    a = te.placeholder((n, m), name="a")
    k = te.reduce_axis((0, m), "k")
    total = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="total")
    scaled = te.compute((n, m), lambda i, j: a[i, j] / total[i], name="scaled")
    s = te.create_schedule(scaled.op)
    s[total].bind(s[total].op.axis[0], te.thread_axis("blockIdx.x"))
    s[total].bind(s[total].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    outer, inner = s[scaled].split(s[scaled].op.axis[1], 16)
    s[scaled].bind(s[scaled].op.axis[0], te.thread_axis("blockIdx.x"))
    s[scaled].bind(inner, te.thread_axis("threadIdx.x"))
    s[s.cache_read(a, "shared", [scaled])].compute_at(s[scaled], outer)
    passes = [
        tir.transform.BindTarget(tenon.target.Target(target, host="llvm")),
        tir.transform.AnnotateDeviceRegions(),
        tir.transform.ThreadSync("shared"),
        tir.transform.LowerThreadAllreduce(),
        tir.transform.SplitHostDevice(),
        tir.transform.MakePackedAPI(),
        tir.transform.LowerDeviceKernelLaunch(),
        tir.transform.LowerTVMBuiltin(),
        tir.transform.LowerIntrin(),
    ]
    with PassContext(config=VERIFY):
        mod = tenon.lower(s, [a, scaled])
        mod = tenon.transform.Sequential(passes)(mod)
    assert len(mod.functions) > 1
    same(mod)


# ---- values ----


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, -2.5, 0.1, math.inf, -math.inf, math.nan])
def test_floats(dtype, value):
    x = tir.FloatImm(dtype, value)
    again = from_source(same(evaluates(x))).body.value
    assert again.dtype == dtype
    assert again.value != again.value or math.copysign(1, again.value) == math.copysign(1, value)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint64", "bool"])
def test_limits_of_integers(dtype):
    for value in (tir.min_value(dtype), tir.max_value(dtype)):
        same(evaluates(value))


@pytest.mark.parametrize("text", ['"', "a 'b' \"c\"", "line\nline", "\\", "tab\t", "é", "\x01", ""])
def test_texts(text):
    same(evaluates(tir.call_extern("int32", "f", text), attrs={"note": text, "list": [text]}))


def test_attributes():
    host = tenon.target.Target("llvm -mcpu=skylake", host="c")
    attrs = {
        "target": host,
        "dict": {"a": 1, "b": {"c": [1, 2.5, None, True, "x"]}},
        "none": None,
        "data": tenon.nd.array(np.array([[1.5, np.inf], [-0.0, np.nan]], "float32")),
        "float": tir.FloatImm("float64", math.inf),
        "type": tenon.ir.TensorAffineType(
            tenon.relay.const(1.0), tenon.relay.const(0), "int8"
        ),  # has no syntax of its own
    }
    text = same(evaluates(tir.const(0), attrs=attrs))
    assert 'metadata["TensorAffineType"][0]' in text
    assert "T.NDArray(" in text


def test_metadata_that_is_left_out_is_named():
    kept = tenon.relay.const(1.0)
    func = evaluates(tir.const(0), attrs={"kept": kept})
    with pytest.raises(tenon.error.DiagnosticError, match="show_meta=True"):
        from_source(func.script())


def test_constants_by_their_number():
    data = tenon.nd.array(np.array([1, 2], "int32"))
    pointer = tir.Var("K", tenon.ir.PointerType(tenon.ir.PrimType("int32"), "global"))
    body = tir.Evaluate(tir.call_extern("int32", "f", pointer))
    for value in (data, tir.IntImm("int32", 3)):
        const = tir.AllocateConst(pointer, "int32", [2], value, body, annotations={"a": "b"})
        same(tir.PrimFunc([], const))


# ---- variables ----


@pytest.mark.parametrize("kind", ["allocate", "let", "loop", "buffer"])
def test_uses_above_the_statement_that_binds(kind):
    i = tir.Var("i", "int32")
    p = tir.Var("p", tenon.ir.PointerType(tenon.ir.PrimType("float32"), "shared"))
    use = tir.Evaluate(tir.call_extern("int32", "f", p if kind in ("allocate", "buffer") else i))
    buffer = tir.decl_buffer((4,), "float32", "B", data=p, scope="shared")
    made = {
        "allocate": lambda: (p, tir.Allocate(p, "float32", [4], True, use)),
        "let": lambda: (i, tir.LetStmt(i, tir.const(3), use)),
        "loop": lambda: (i, tir.For(i, 0, 8, tir.ForKind.SERIAL, use)),
        "buffer": lambda: (
            buffer,
            tir.Allocate(p, "float32", [4], True, tir.DeclBuffer(buffer, use)),
        ),
    }[kind]
    var, stmt = made()
    same(tir.PrimFunc([], tir.AttrStmt(var, "pragma_scope", tir.StringImm("x"), stmt)))
    other = tir.Evaluate(tir.call_extern("int32", "g"))
    marked = tir.AttrStmt(var, "pragma_scope", tir.StringImm("x"), stmt)
    same(tir.PrimFunc([], tir.SeqStmt([marked, other])))
    same(tir.PrimFunc([], tir.SeqStmt([stmt, other, stmt])))
    loop = tir.For(tir.Var("k", "int32"), 0, 8, tir.ForKind.SERIAL, stmt)
    same(tir.PrimFunc([], tir.SeqStmt([loop, other, loop])))


def test_pointers_of_their_own_type():
    for element, scope in (("float32", ""), ("int8", "shared.dyn"), ("float32x4", "local")):
        p = tir.Var("p", tenon.ir.PointerType(tenon.ir.PrimType(element), scope))
        buffer = tir.decl_buffer((4,), "float32", "B", data=p)
        store = tir.BufferStore(buffer, tir.const(1.0), [0])
        body = tir.Allocate(p, "float32", [4], True, tir.DeclBuffer(buffer, store))
        same(tir.PrimFunc([], body))
        same(tir.PrimFunc([], tir.Allocate(p, "float32", [4], True, store)))


def test_buffers_with_all_their_fields():
    n = te.size_var("n", "int64")
    offset = tir.Var("offset", "int64")
    for strides in ([], [n, 1], [te.var("s", "int64"), 1], [te.size_var("s"), 1]):
        for elem_offset in (None, 0, 8, offset, n + 1, tir.const(0, "int64")):
            for factor in (0, 1, 4):
                buffer = tir.decl_buffer(
                    (n, 4),
                    "float32",
                    "A",
                    strides=strides,
                    elem_offset=elem_offset,
                    offset_factor=factor,
                    data_alignment=16,
                    buffer_type="auto_broadcast",
                )
                a = tir.Var("a", "handle")
                store = tir.BufferStore(buffer, tir.const(1.0), [n - 1, 0])
                same(tir.PrimFunc([a], store, buffer_map={a: buffer}))


def test_size_variables_and_expressions_that_bind():
    n, x = te.size_var("n"), tir.Var("x", "int32")
    inner = tir.Let(x, n + 1, x * x)
    use = tir.Evaluate(tir.call_extern("int32", "f", inner, inner))
    same(tir.PrimFunc([], tir.LetStmt(n, tir.const(4), use)))
    same(tir.PrimFunc([n], use))


def test_threads():
    x = tir.Var("tx", "int32")
    use = tir.Evaluate(tir.call_extern("int32", "f", x))
    for dom in (None, tenon.ir.Range(0, 8), tenon.ir.Range(1, 8)):
        axis = tir.IterVar(dom, x, tir.IterVar.ThreadIndex, "threadIdx.x")
        for key in ("thread_extent", "virtual_thread"):
            stmt = tir.AttrStmt(axis, key, 8, use)
            same(tir.PrimFunc([], stmt))
            same(tir.PrimFunc([], tir.SeqStmt([stmt, stmt])))


def test_calls_that_would_be_folded():
    for value in (
        tir.Call("int32", "tir.if_then_else", [tir.const(True), 1, 2]),
        tir.Call("float32", "tir.pow", [tir.const(2.0), tir.const(3.0)]),
        tir.Call("float32", "tir.fmod", [tir.const(5.0), tir.const(3.0)]),
        tir.Select(tir.const(True), tir.const(1), tir.const(2)),
        tir.Cast("int32", tir.const(1)),
        tir.Add(tir.const(1), tir.const(2)),
        tir.Min(tir.const(1), tir.const(2)),
        tir.Not(tir.const(True)),
        tir.shift_left(te.var("x"), 3),
    ):
        x = [v for v in tir.analysis.undefined_vars(tir.Evaluate(value), [])]
        same(tir.PrimFunc(x, tir.Evaluate(value)))


@T.prim_func
def asynchronous(A: T.Buffer((32, 128), "float16"), B: T.Buffer((32, 128), "float16")):
    T.func_attr({"tir.noalias": True})
    tx = T.launch_thread("threadIdx.x", 32)
    shared = T.allocate([4096], "float16", "shared")
    S = T.Buffer((4096,), "float16", data=shared, scope="shared")
    with T.attr(0, "async_commit_queue_scope", 0):
        T.attr(0, "async_scope", 1)
        for i in range(16):
            S[tx * 128 + i * 8 : tx * 128 + i * 8 + 8] = A[tx, i * 8 : i * 8 + 8]
    with T.attr(0, "async_wait_queue_scope", 0):
        T.attr(0, "async_wait_inflight_count", 0)
        T.ptx_cp_async("float16", S.data, tx * 128, A.data, tx * 128, 16)
        T.ptx_commit_group()
        T.ptx_wait_group(0)
    for i in range(128):
        B[tx, i] = S[tx * 128 + i]


def test_asynchronous_copies():
    same(asynchronous)


def test_sequences_hold_no_sequences():
    one = tir.Evaluate(tir.call_extern("int32", "f"))
    two = tir.SeqStmt([one, tir.SeqStmt([one, tir.SeqStmt([one, one])])])
    assert len(two.seq) == 4
    same(tir.PrimFunc([], two))
