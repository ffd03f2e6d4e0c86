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
