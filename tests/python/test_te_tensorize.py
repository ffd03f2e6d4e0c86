"""Pieces of computations by intrinsics."""

import numpy as np
import pytest
import tenon
from tenon import te, tir
from test_te_schedule_run import TARGETS, check, random

LLVM = [t for t in TARGETS if t == "llvm"]


def vadd(n, **params):
    """Adds vectors of n elements, element by element."""
    x, y = te.placeholder((n,), name="vx"), te.placeholder((n,), name="vy")
    z = te.compute(x.shape, lambda i: x[i] + y[i], name="z")

    def code(ins, outs):
        ib = tir.ir_builder.create()
        with ib.for_range(0, n, name="v") as i:
            ib.emit(outs[0].vstore(i, ins[0].vload(i) + ins[1].vload(i)))
        return ib.get()

    return te.decl_tensor_intrin(z.op, code, name="vadd", default_buffer_params=params)


def gemv(rows, k, update=True, init=True):
    """rows x k matrix times vector, in statements that show which part ran."""
    a, b = te.placeholder((rows, k), name="a"), te.placeholder((k,), name="b")
    kk = te.reduce_axis((0, k), name="kk")
    c = te.compute((rows,), lambda i: te.sum(a[i, kk] * b[kk], axis=kk), name="c")
    ba = tir.decl_buffer(a.shape, a.dtype, "ba", strides=[te.var("s1"), 1], offset_factor=1)
    bb = tir.decl_buffer(b.shape, b.dtype, "bb", strides=[1], offset_factor=1)
    bc = tir.decl_buffer(c.shape, c.dtype, "bc", strides=[1], offset_factor=1)

    def zero(out):
        ib = tir.ir_builder.create()
        with ib.for_range(0, rows, name="i") as i:
            ib.emit(out.vstore(i, tir.const(0, "float32")))
        return ib.get()

    def add(ins, out):
        ib = tir.ir_builder.create()
        with ib.for_range(0, rows, name="i") as i, ib.for_range(0, k, name="j") as j:
            ib.emit(out.vstore(i, out.vload(i) + ins[0].vload([i, j]) * ins[1].vload(j)))
        return ib.get()

    def code(ins, outs):
        whole = tir.stmt_seq(zero(outs[0]), add(ins, outs[0]))
        return whole, zero(outs[0]) if init else None, add(ins, outs[0]) if update else None

    return te.decl_tensor_intrin(c.op, code, name="gemv", binds={a: ba, b: bb, c: bc})


def add(n, m):
    A, B = te.placeholder((n, m), name="A"), te.placeholder((n, m), name="B")
    C = te.compute((n, m), lambda i, j: A[i, j] + B[i, j], name="C")
    return A, B, C


def test_declaration():
    x = vadd(16)
    assert isinstance(x, te.TensorIntrin) and x.name == "vadd"
    assert [str(b.name) for b in x.buffers] == ["vx", "vy", "z"]
    assert x.reduce_init is None and x.reduce_update is None
    assert len(x.inputs) == 2


def test_elementwise():
    A, B, C = add(8, 64)
    a, b = random(8, 64), random(8, 64)
    s = te.create_schedule(C.op)
    _, inner = s[C].split(C.op.axis[1], factor=16)
    s[C].tensorize(inner, vadd(16, offset_factor=1))
    check(s, [A, B, C], [a, b], a + b)
    assert "vadd" in te_func(s, [A, B, C])


def te_func(s, args):
    return tenon.te.schedule._ffi_api.ToFunc(s, args, None).script()


def test_inside_compute_at():
    A, B, C = add(8, 64)
    D = te.compute((8, 64), lambda i, j: C[i, j] * 2, name="D")
    s = te.create_schedule(D.op)
    outer, _ = s[D].split(D.op.axis[1], factor=32)
    s[C].compute_at(s[D], outer)
    _, inner = s[C].split(C.op.axis[1], factor=16)
    s[C].tensorize(inner, vadd(16, offset_factor=1))
    a, b = random(8, 64), random(8, 64)
    check(s, [A, B, D], [a, b], (a + b) * 2)


@pytest.mark.parametrize("init", [True, False])
@pytest.mark.parametrize("split_k", [None, 16, 8])
def test_gemv(init, split_k):
    A, B = te.placeholder((12, 32), name="A"), te.placeholder((5, 32), name="B")
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute((5, 12), lambda x, y: te.sum(A[y, k] * B[x, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    yo, yi = s[C].split(C.op.axis[1], factor=4)
    if split_k:
        ko, ki = s[C].split(C.op.reduce_axis[0], factor=split_k)
        s[C].reorder(C.op.axis[0], yo, ko, yi, ki)
    s[C].tensorize(yi, gemv(4, split_k or 32, init=init))
    a, b = random(12, 32), random(5, 32)
    check(s, [A, B, C], [a, b], b @ a.T)


def test_whole_axes():
    A, B, C = add(4, 16)
    s = te.create_schedule(C.op)
    s[C].tensorize(C.op.axis[1], vadd(16, offset_factor=16))
    a, b = random(4, 16), random(4, 16)
    check(s, [A, B, C], [a, b], a + b)


@pytest.mark.parametrize("target", LLVM)
def test_extern_c(target, tmp_path):
    """The intrinsic calls a C function that is linked in."""
    rows, k = 4, 8
    source = """
    extern "C" int gemv_acc(float* c, float* a, float* b, int m, int l, int stride) {
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < l; ++j) c[i] += a[i * stride + j] * b[j];
      return 0;
    }
    extern "C" int gemv_zero(float* c, int m) {
      for (int i = 0; i < m; ++i) c[i] = 0;
      return 0;
    }"""
    a, b = te.placeholder((rows, k), name="a"), te.placeholder((k,), name="b")
    kk = te.reduce_axis((0, k), name="kk")
    c = te.compute((rows,), lambda i: te.sum(a[i, kk] * b[kk], axis=kk), name="c")
    ba = tir.decl_buffer(a.shape, a.dtype, "ba", strides=[te.var("s1"), 1], offset_factor=1)
    bb = tir.decl_buffer(b.shape, b.dtype, "bb", strides=[1], offset_factor=1)
    bc = tir.decl_buffer(c.shape, c.dtype, "bc", strides=[1], offset_factor=1)

    def code(ins, outs):
        aa, bb = ins
        cc = outs[0]
        zero = tir.call_extern("int32", "gemv_zero", cc.access_ptr("w"), rows)
        acc = tir.call_extern(
            "int32",
            "gemv_acc",
            cc.access_ptr("rw"),
            aa.access_ptr("r"),
            bb.access_ptr("r"),
            rows,
            k,
            aa.strides[0],
        )
        both = tir.stmt_seq(tir.Evaluate(zero), tir.Evaluate(acc))
        return both, zero, acc

    intrin = te.decl_tensor_intrin(c.op, code, binds={a: ba, b: bb, c: bc})
    A, B = te.placeholder((12, 32), name="A"), te.placeholder((5, 32), name="B")
    r = te.reduce_axis((0, 32), name="r")
    C = te.compute((5, 12), lambda x, y: te.sum(A[y, r] * B[x, r], axis=r), name="C")
    s = te.create_schedule(C.op)
    yo, yi = s[C].split(C.op.axis[1], factor=rows)
    ro, ri = s[C].split(r, factor=k)
    s[C].reorder(C.op.axis[0], yo, ro, yi, ri)
    s[C].tensorize(yi, intrin)
    built = tenon.build(s, [A, B, C], target, name="f")
    (tmp_path / "gemv.cc").write_text(source)
    lib = str(tmp_path / "f.so")
    built.export_library(lib, addons=[str(tmp_path / "gemv.cc")])
    loaded = tenon.runtime.load_module(lib)
    x, y = random(12, 32), random(5, 32)
    out = tenon.nd.array(np.zeros((5, 12), "float32"))
    loaded["f"](tenon.nd.array(x), tenon.nd.array(y), out)
    np.testing.assert_allclose(out.numpy(), y @ x.T, rtol=1e-5)


def lower_error(s, args):
    with pytest.raises(tenon.TVMError) as e:
        tenon.lower(s, args)
    return str(e.value)


def test_refused():
    A, B, C = add(8, 60)
    for factor, intrin, why in [
        (16, vadd(16, offset_factor=1), "relies on var"),
        (12, vadd(16, offset_factor=1), "another number of values"),
        (12, vadd(12), "which has no offset"),
        (12, vadd(12, offset_factor=16), "multiple of it"),
    ]:
        s = te.create_schedule(C.op)
        _, inner = s[C].split(C.op.axis[1], factor=factor)
        s[C].tensorize(inner, intrin)
        assert why in lower_error(s, [A, B, C]), why
    D = te.compute((8, 60), lambda i, j: A[i, j] - B[i, j], name="D")
    s = te.create_schedule(D.op)
    s[D].tensorize(D.op.axis[1], vadd(60, offset_factor=1))
    assert "does not compute what" in lower_error(s, [A, B, D])
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    s[C].reorder(j, i)
    s[C].tensorize(i, vadd(8, offset_factor=1))
    assert "no axis for it" in lower_error(s, [A, B, C])


def test_no_update():
    A, B = te.placeholder((4, 32), name="A"), te.placeholder((32,), name="B")
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute((4,), lambda y: te.sum(A[y, k] * B[k], axis=k), name="C")
    s = te.create_schedule(C.op)
    ko, ki = s[C].split(k, factor=8)
    s[C].reorder(ko, C.op.axis[0], ki)
    s[C].tensorize(C.op.axis[0], gemv(4, 8, update=False))
    assert "Reduction update op for intrin gemv is not defined" in lower_error(s, [A, B, C])


# ---- computations over regions ----


def pieces(n=64, width=16, **params):
    """Rows of vadd, with operands and result."""
    A, B = te.placeholder((n, width), name="A"), te.placeholder((n, width), name="B")
    f = vadd(width, **(params or {"offset_factor": width}))
    C = te.compute((n, width), lambda i: f(A[i, 0:width], B[i, :]), name="C")
    return A, B, C


def test_region():
    A, B, C = pieces()
    assert isinstance(C.op, te.TensorComputeOp) and C.op.schedulable_ndim == 1
    assert [a.var.name for a in C.op.axis] == ["i", "ax0"]
    assert [t.op.name for t in C.op.input_tensors] == ["A", "B"]
    a, b = random(64, 16), random(64, 16)
    s = te.create_schedule(C.op)
    check(s, [A, B, C], [a, b], a + b)
    outer, _ = s[C].split(C.op.axis[0], factor=5)  # does not divide 64
    s[C].parallel(outer)
    s[C].tensorize(outer, vadd(16))  # an intrinsic computes the pieces already: no effect
    check(s, [A, B, C], [a, b], a + b)


def test_region_of_the_same_tensor():
    A = te.placeholder((9, 8), name="A")
    f = vadd(8, offset_factor=1)
    C = te.compute((8, 8), lambda i: f(A[i + 1, 0:8], A[i, 0:8]), name="C")
    a = random(9, 8)
    check(te.create_schedule(C.op), [A, C], [a], a[1:] + a[:-1])


@pytest.mark.parametrize("init", [True, False])
@pytest.mark.parametrize("factor", [None, 3])
def test_region_reduction(init, factor):
    A, B = te.placeholder((5, 8, 16), name="A"), te.placeholder((6, 8, 4), name="B")
    f = gemv(4, 4, init=init)
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute(
        (5, 6, 4, 4),
        lambda i, j, q: f(A[i, 0:4, q * 4 : q * 4 + 4], B[j, k, 0:4], reduce_axis=k),
        name="C",
    )
    s = te.create_schedule(C.op)
    if factor:
        ko, _ = s[C].split(k, factor=factor)
        s[C].reorder(C.op.axis[1], ko, C.op.axis[0])
    a, b = random(5, 8, 16), random(6, 8, 4)
    want = np.einsum("ixqy,jy->ijqx", a[:, :4].reshape(5, 4, 4, 4), b.sum(1))
    check(s, [A, B, C], [a, b], want)


def test_region_inside_and_around():
    """What is computed at a loop around pieces is as large as their regions need."""
    A, B = te.placeholder((64, 16), name="A"), te.placeholder((64, 16), name="B")
    twice = te.compute((64, 16), lambda i, j: B[i, j] * 2, name="twice")
    f = vadd(16, offset_factor=1)
    C = te.compute((64, 16), lambda i: f(A[i, 0:16], twice[i, 0:16]), name="C")
    D = te.compute((64, 16), lambda i, j: C[i, j] + 1, name="D")
    s = te.create_schedule(D.op)
    outer, inner = s[D].split(D.op.axis[0], factor=4)
    s[C].compute_at(s[D], outer)
    s[twice].compute_at(s[C], C.op.axis[0])
    text = te_func(s, [A, B, D])
    assert "twice = T.alloc_buffer((1, 16))" in text and "C = T.alloc_buffer((4, 16))" in text
    a, b = random(64, 16), random(64, 16)
    check(s, [A, B, D], [a, b], a + 2 * b + 1)


def test_region_needed_in_part():
    """A piece is computed as a whole, whatever its readers take of it."""
    A, B, C = pieces(8)
    D = te.compute((8,), lambda i: C[i, 3], name="D")
    s = te.create_schedule(D.op)
    s[C].compute_at(s[D], D.op.axis[0])
    a, b = random(8, 16), random(8, 16)
    check(s, [A, B, D], [a, b], (a + b)[:, 3])


def test_region_caches():
    A, B, C = pieces(8)
    s = te.create_schedule(C.op)
    cache = s.cache_write(C, "global")
    read = s.cache_read(A, "global", [cache])
    s[cache].compute_at(s[C], C.op.axis[0])
    s[read].compute_at(s[cache], cache.op.axis[0])
    a, b = random(8, 16), random(8, 16)
    check(s, [A, B, C], [a, b], a + b)
    A, B, C = pieces(8)
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], factor=4)
    with pytest.raises(tenon.TVMError, match="call cache_write before its loops change"):
        s.cache_write(C, "global")


def scaled(n):
    """x * v + w of n elements."""
    x, v, w = te.placeholder((n,), name="x"), te.var("v"), te.var("w")
    z = te.compute((n,), lambda i: x[i] * v + w, name="z")

    def code(ins, outs, scalars):
        ib = tir.ir_builder.create()
        with ib.for_range(0, n, name="q") as i:
            ib.emit(outs[0].vstore(i, ins[0].vload(i) * scalars[0] + scalars[1]))
        return ib.get()

    params = {"offset_factor": 1}
    return te.decl_tensor_intrin(
        z.op, code, name="scaled", scalar_params=[v, w], default_buffer_params=params
    )


def test_region_scalars():
    A = te.placeholder((6, 4), name="A")
    f = scaled(4)
    C = te.compute((6, 4), lambda i: f(i * i, A[i, 0:4], i + 1), name="C")
    a, i = random(6, 4), np.arange(6, dtype="float32")[:, None]
    check(te.create_schedule(C.op), [A, C], [a], a * i * i + i + 1)
    with pytest.raises(ValueError, match="scaled takes 2 numbers, got 1"):
        te.compute((6, 4), lambda i: f(i, A[i, 0:4]))


@pytest.mark.parametrize("how", ["apart", "inside", "cached"])
def test_what_numbers_and_regions_read_is_computed_before(how):
    A = te.placeholder((9, 4), name="A")
    N = te.placeholder((6,), dtype="int32", name="N")
    row = te.compute((6,), lambda i: N[i] + 1, name="row")
    f = scaled(4)
    C = te.compute((6, 4), lambda i: f(row[i] * 2, A[row[i], 0:4], i), name="C")
    assert [t.op.name for t in C.op.input_tensors] == ["A", "row"]
    s = te.create_schedule(C.op)
    if how == "inside":
        s[row].compute_at(s[C], C.op.axis[0])
    if how == "cached":
        copy = s.cache_read(row, "global", [C])
        s[copy].compute_at(s[C], C.op.axis[0])
    a, n = random(9, 4), np.array([0, 7, 3, 3, 1, 5], "int32")
    i = np.arange(6, dtype="float32")[:, None]
    rows = (n + 1).astype("float32")[:, None]
    check(s, [A, N, C], [a, n], a[n + 1] * rows * 2 + i)
    if how == "apart":
        s[row].compute_inline()
        assert "row is read by C" in lower_error(s, [A, N, C])


def test_region_dynamic():
    n = te.var("n")
    A, B = te.placeholder((n, 16), name="A"), te.placeholder((n, 16), name="B")
    f = vadd(16, offset_factor=16)
    C = te.compute((n, 16), lambda i: f(A[i, 0:16], B[i, 0:16]), name="C")
    a, b = random(7, 16), random(7, 16)
    check(te.create_schedule(C.op), [A, B, C], [a, b], a + b)


@pytest.mark.parametrize(
    "regions, why",
    [
        (lambda i, A, B: (A[i, 0:16],), "takes 2 tensors, got 1"),
        (lambda i, A, B: (A[i], B[i, 0:16]), "expected 2 indices or slices, got 1"),
        (lambda i, A, B: (A[i, 0:8], B[i, 0:16]), "another extent along dimension 1"),
        (lambda i, A, B: (A[i, 8:24], B[i, 0:16]), "outside of its dimension 1"),
        (lambda i, A, B: (A[i - 64, 0:16], B[i, 0:16]), "outside of its dimension 0"),
        (lambda i, A, B: (A[i : i + 2, 0:16], B[i, 0:16]), "expected an index, got a slice"),
        (lambda i, A, B: (A[i, 0:16:2], B[i, 0:16]), "slice of step 1, got 2"),
    ],
)
def test_region_refused(regions, why):
    A, B = te.placeholder((64, 16), name="A"), te.placeholder((64, 16), name="B")
    f = vadd(16, offset_factor=16)
    with pytest.raises(ValueError, match=why):
        te.compute((64, 16), lambda i: f(*regions(i, A, B)))


def test_region_of_other_shapes_and_types():
    A, B, _ = pieces()
    f = vadd(16, offset_factor=16)
    with pytest.raises(ValueError, match="another extent than the intrinsic"):
        te.compute((64, 8), lambda i: f(A[i, 0:16], B[i, 0:16]))
    with pytest.raises(ValueError, match="fcompute do not match dimension, ndim=2"):
        te.compute((64, 16), lambda i: A[i, 0])
    with pytest.raises(ValueError, match="has no reduce_update"):
        k = te.reduce_axis((0, 64), name="k")
        te.compute((4, 16), lambda i: f(A[k, 0:16], B[k, 0:16], reduce_axis=k))
    H = te.placeholder((64, 16), dtype="float16", name="H")
    with pytest.raises(TypeError, match="expected float32, got float16 of H"):
        te.compute((64, 16), lambda i: f(H[i, 0:16], B[i, 0:16]))
    with pytest.raises(TypeError, match="unexpected argument axis"):
        f(A[0, 0:16], B[0, 0:16], axis=1)


@pytest.mark.parametrize("loops", [-(2**63), -1, 3])
def test_a_number_of_loops_that_axes_do_not_have(loops):
    _, _, C = pieces()
    names = "name tag attrs axis reduce_axis intrin inputs input_regions scalar_inputs".split()
    fields = {name: getattr(C.op, name) for name in names}
    with pytest.raises(ValueError, match="expected 0 to 2, the number of axes"):
        tenon._core.make_node("TensorComputeOp", {**fields, "schedulable_ndim": loops})


def test_region_axes_are_no_loops():
    for change, why in [
        (lambda s, C: s[C].split(C.op.axis[1], factor=4), "cannot be split or fused"),
        (lambda s, C: s[C].fuse(*C.op.axis), "computes along axis"),
        (lambda s, C: s[C].vectorize(C.op.axis[1]), "computes along axis"),
    ]:
        A, B, C = pieces()
        s = te.create_schedule(C.op)
        change(s, C)
        assert why in lower_error(s, [A, B, C]), why
    A, B = te.placeholder((64, 16), name="A"), te.placeholder((64, 16), name="B")
    E = te.compute((64, 16), lambda i, j: A[i, j] + 1, name="E")
    f = vadd(16, offset_factor=16)
    C = te.compute((64, 16), lambda i: f(E[i, 0:16], B[i, 0:16]), name="C")
    s = te.create_schedule(C.op)
    s[E].compute_at(s[C], C.op.axis[1])
    assert "compute E at one of its first 1 axes" in lower_error(s, [A, B, C])
    with pytest.raises(tenon.TVMError, match="not a compute operation"):
        s[C].compute_inline()
    with pytest.raises(TypeError, match="Unsupported Operation: TensorComputeOp"):
        te.create_prim_func([A, B, C])


def test_region_reduction_is_not_shared_by_threads():
    A, B = te.placeholder((5, 8, 16), name="A"), te.placeholder((5, 8, 4), name="B")
    k = te.reduce_axis((0, 8), name="k")
    f = gemv(4, 4)
    C = te.compute((5, 4), lambda i: f(A[i, 0:4, 0:4], B[i, k, 0:4], reduce_axis=k), name="C")
    s = te.create_schedule(C.op)
    s[C].bind(k, te.thread_axis("threadIdx.x"))
    assert "cannot be bound to threads" in lower_error(s, [A, B, C])


def test_what_is_read_from_memory_is_not_inlined():
    A, B = te.placeholder((8, 16), name="A"), te.placeholder((8, 16), name="B")
    twice = te.compute((8, 16), lambda i, j: A[i, j] * 2, name="twice")
    f = vadd(16, offset_factor=16)
    C = te.compute((8, 16), lambda i: f(twice[i, 0:16], B[i, 0:16]), name="C")
    a, b = random(8, 16), random(8, 16)
    s = te.create_schedule(C.op)
    te.schedule.AutoInlineInjective(s)
    check(s, [A, B, C], [a, b], a * 2 + b)
    s[twice].compute_inline()
    assert "twice is read by C" in lower_error(s, [A, B, C])
    D = te.extern(
        (8, 16),
        [twice],
        lambda ins, outs: tir.call_packed("tvm.test_copy", ins[0], outs[0]),
        name="D",
    )
    s = te.create_schedule(D.op)
    te.schedule.AutoInlineElemWise(s)
    assert "twice" in te_func(s, [A, D])
