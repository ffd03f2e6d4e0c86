"""Passes over tensor programs: what golden files do not show."""

import numpy as np
import pytest
import tenon
from tenon import _core, tir
from tenon.ir.transform import PassContext
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
