"""Programs as they were written for the old package, with the old names: a recurrent cell, a
matrix-vector intrinsic in C, the gradient of a layer."""

import subprocess
import sys
import textwrap

import pytest
import tenon

HAS_LLVM = bool(tenon._core.get_global_func("target.llvm_version_major")())
pytestmark = pytest.mark.skipif(not HAS_LLVM, reason="a build without LLVM")


def run(text):
    program = "import tenon.as_tvm\n" + textwrap.dedent(text)
    done = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_recurrent_cell():
    out = run("""
        import numpy as np
        import tvm
        from tvm import te

        num_step, batch, hidden = 6, 2, 8
        X = te.placeholder((num_step, batch, hidden), name="X")
        Wh = te.placeholder((hidden, hidden), name="Wh")
        state = te.placeholder((num_step, batch, hidden), name="state")
        init = te.compute((1, batch, hidden), lambda *i: 0.0, name="init")
        k = te.reduce_axis((0, hidden), name="k")
        prod = te.compute(
            (num_step, batch, hidden),
            lambda t, b, h: te.sum(state[t - 1, b, k] * Wh[h, k], axis=k),
            name="prod",
        )
        update = te.compute(
            (num_step, batch, hidden),
            lambda t, b, h: te.tanh(X[t, b, h] + prod[t, b, h]),
            name="update",
        )
        scan = te.scan(init, update, state, inputs=[X, Wh], name="rnn")

        s = te.create_schedule(scan.op)
        cached = s.cache_read(Wh, "global", [prod])
        ho, hi = s[prod].split(prod.op.axis[2], factor=4)
        s[prod].reorder(prod.op.axis[1], ho, prod.op.reduce_axis[0], hi)
        s[prod].vectorize(hi)
        xo, xi = s[update].split(s[update].op.axis[2], factor=4)
        s[update].vectorize(xi)
        rnn = tvm.build(s, [X, Wh, scan], "llvm", name="rnn")
        print(type(tvm.lower(s, [X, Wh, scan], simple_mode=True)).__name__)

        x = np.random.uniform(-1, 1, (num_step, batch, hidden)).astype("float32")
        w = np.random.uniform(-1, 1, (hidden, hidden)).astype("float32")
        out = tvm.nd.array(np.zeros((num_step, batch, hidden), "float32"))
        rnn(tvm.nd.array(x), tvm.nd.array(w), out)
        want = np.zeros_like(x)
        for t in range(1, num_step):
            want[t] = np.tanh(x[t] + want[t - 1] @ w.T)
        tvm.testing.assert_allclose(out.numpy(), want, rtol=1e-4, atol=1e-5)
        print("the same")
    """)
    assert out.split("\n")[:2] == ["IRModule", "the same"]


def test_tensorize_gemv(tmp_path):
    out = run(f"""
        import numpy as np
        import tvm
        import tvm.testing
        from tvm import te
        from tvm.contrib import cc

        N, M, L, factor = 16, 24, 32, 8
        A = te.placeholder((N, L), name="A")
        B = te.placeholder((M, L), name="B")
        k = te.reduce_axis((0, L), name="k")
        C = te.compute((N, M), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
        s = te.create_schedule(C.op)
        x, y = C.op.axis
        (z,) = C.op.reduce_axis
        yo, yi = s[C].split(y, factor=factor)
        zo, zi = s[C].split(z, factor=factor)
        s[C].reorder(x, yo, zo, yi, zi)

        def intrin_gemv(m, l):
            a = te.placeholder((l,), name="a")
            b = te.placeholder((m, l), name="b")
            k = te.reduce_axis((0, l), name="k")
            c = te.compute((m,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
            Ab = tvm.tir.decl_buffer(a.shape, a.dtype, name="A", offset_factor=1, strides=[1])
            Bb = tvm.tir.decl_buffer(
                b.shape, b.dtype, name="B", offset_factor=1, strides=[te.var("s1"), 1]
            )
            Cb = tvm.tir.decl_buffer(c.shape, c.dtype, name="C", offset_factor=1, strides=[1])

            def intrin_func(ins, outs):
                aa, bb = ins
                cc = outs[0]

                def body():
                    ib = tvm.tir.ir_builder.create()
                    ib.emit(
                        tvm.tir.call_extern(
                            "int32", "gemv_update", cc.access_ptr("w"), aa.access_ptr("r"),
                            bb.access_ptr("r"), m, l, bb.strides[0],
                        )
                    )
                    return ib.get()

                def reset():
                    ib = tvm.tir.ir_builder.create()
                    ib.emit(tvm.tir.call_extern("int32", "gemv_reset", cc.access_ptr("w"), m))
                    return ib.get()

                return body(), reset(), body()

            return te.decl_tensor_intrin(c.op, intrin_func, binds={{a: Ab, b: Bb, c: Cb}})

        s[C].tensorize(yi, intrin_gemv(factor, factor))
        func = tvm.build(s, [A, B, C], target="llvm", name="gemv")
        source = '''
          int gemv_update(float *c, float *a, float *b, int m, int l, int stride) {{
            for (int i = 0; i < m; ++i)
              for (int j = 0; j < l; ++j) c[i] += a[j] * b[i * stride + j];
            return 0;
          }}
          int gemv_reset(float *c, int m) {{
            for (int i = 0; i < m; ++i) c[i] = 0.0;
            return 0;
          }}'''
        with open(r"{tmp_path}/gemv.c", "w") as f:
            f.write(source)
        func.export_library(r"{tmp_path}/gemv.so", addons=[r"{tmp_path}/gemv.c"])
        gemv = tvm.runtime.load_module(r"{tmp_path}/gemv.so")
        a = np.random.uniform(size=(N, L)).astype("float32")
        b = np.random.uniform(size=(M, L)).astype("float32")
        c = tvm.nd.array(np.zeros((N, M), "float32"))
        gemv["gemv"](tvm.nd.array(a), tvm.nd.array(b), c)
        tvm.testing.assert_allclose(c.numpy(), a @ b.T, rtol=1e-3)
        print("the same")
    """)
    assert out == "the same\n"


def test_gradient_of_a_layer():
    out = run("""
        import numpy as np
        import tvm
        import tvm.testing
        from tvm import te, topi
        from tvm.testing import assert_allclose

        X = te.placeholder((3, 6), name="X")
        W = te.placeholder((4, 6), name="W")
        dense = topi.nn.dense(X, W)
        R = topi.nn.relu(dense)
        loss = topi.sum(te.compute(R.shape, lambda i, j: R[i, j] * R[i, j]))
        dX, dW = te.gradient(loss, [X, W])
        s = te.create_schedule([dX.op, dW.op])
        grads = tvm.build(s, [X, W, dX, dW], "llvm")
        x = np.random.uniform(-1, 1, (3, 6)).astype("float32")
        w = np.random.uniform(-1, 1, (4, 6)).astype("float32")
        gx, gw = tvm.nd.array(np.zeros_like(x)), tvm.nd.array(np.zeros_like(w))
        grads(tvm.nd.array(x), tvm.nd.array(w), gx, gw)

        def value(X, W):
            return np.sum(np.maximum(X.astype("float64") @ W.T, 0) ** 2)

        tvm.testing.check_numerical_grads(
            value, {"X": x.astype("float64"), "W": w.astype("float64")},
            {"X": gx.numpy(), "W": gw.numpy()},
        )
        relu = 2 * np.maximum(x @ w.T, 0)
        assert_allclose(gx.numpy(), relu @ w, rtol=1e-4, atol=1e-5)
        assert_allclose(gw.numpy(), relu.T @ x, rtol=1e-4, atol=1e-5)
        print("the same")
    """)
    assert out == "the same\n"
