"""Functions of tenon.tir that call one intrinsic: operator, type and arguments of the call."""

import inspect

import pytest
import tenon
from tenon import tir

i = tir.Var("i", "int32")
h = tir.Var("h", "handle")
x = tir.Var("x", "float32")
buffer = tir.decl_buffer((16, 16), "float32")
data = buffer.data
halves = [tir.Var("low", "int8x8"), tir.Var("high", "int8x8")]

CALLS = [
    # function, arguments, type of the result, number of arguments of the call
    (tir.tvm_tuple, (x, i, 1, 2), "handle", 4),
    (tir.tvm_struct_get, (h, 1, 2, "int32"), "int32", 3),
    (tir.tvm_struct_set, (h, 1, 2, 3), "int32", 4),
    (tir.address_of, (buffer[0, 0],), "handle", 1),
    (tir.lookup_param, ("p0",), "handle", 1),
    (tir.isnullptr, (h,), "bool", 1),
    (tir.assume, (i < 3,), "bool", 1),
    (tir.undef, (), "int32", 0),
    (tir.tvm_thread_allreduce, (i, buffer[0, 0], True, h), "handle", 4),
    (tir.type_annotation, ("int8",), "int8", 0),
    (tir.tvm_access_ptr, (tir.type_annotation("int8"), data, 0, 1, 2), "handle", 5),
    (tir.tvm_throw_last_error, (), "handle", 0),
    (tir.tvm_stack_alloca, ("shape", 4), "handle", 2),
    (tir.tvm_load_matrix_sync, (data, 16, 16, 16, 0, h, 128, "row_major"), "handle", 8),
    (tir.tvm_store_matrix_sync, (data, 16, 16, 16, 0, h, 128, "row_major"), "handle", 8),
    (tir.tvm_mma_sync, (data, 0) * 4, "handle", 8),
    (tir.tvm_bmma_sync, (data, 0) * 4, "handle", 8),
    (tir.tvm_fill_fragment, (data, 16, 16, 16, 0, 0), "handle", 6),
    (
        tir.ptx_mma,
        ("float32", "m16n8k16", "row", "col", "fp16", "fp16", "fp32", *(data, 0) * 3, False),
        "float32",
        13,
    ),
    (tir.ptx_ldmatrix, ("float16", False, 4, ".b16", data, 0, data, 0), "float16", 7),
    (tir.ptx_cp_async, ("float16", data, 0, data, 0, 16), "float16", 5),
    (tir.ptx_commit_group, (), "void", 0),
    (tir.ptx_wait_group, (8,), "void", 1),
    (tir.create_barriers, (16,), "void", 1),
    (tir.mma_store, ("int32", 16, 16, h, data, 0, i), "int32", 6),
    (tir.mma_fill, ("int32", 8, data, 0), "int32", 3),
    (tir.vectorlow, ("int8x4", halves[0]), "int8x4", 1),
    (tir.vectorcombine, ("int8x16", *halves), "int8x16", 2),
    (tir.dp4a, (halves[0], halves[1]), "int32", 3),
    (tir.clz, (i,), "int32", 1),
    (tir.popcount, (i,), "int32", 1),
    (tir.q_multiply_shift, (i, i, 31, 0), "int32", 4),
    (tir.TVMBackendAllocWorkspace, (1, 0, 64, 2, 32), "handle", 5),
    (tir.TVMBackendFreeWorkspace, (1, 0, data), "int32", 3),
    (tir.atan2, (x, x), "float32", 2),
    (tir.ldexp, (x, i), "float32", 2),
    (tir.ret, (x,), "float32", 1),
]


@pytest.mark.parametrize(
    "function, args, dtype, count", CALLS, ids=lambda p: getattr(p, "__name__", "")
)
def test_call(function, args, dtype, count):
    call = function(*args)
    assert isinstance(call, tir.Call)
    assert call.op.name == "tir." + function.__name__
    assert call.dtype == dtype and len(call.args) == count
    assert function.__doc__ and inspect.signature(function)


def test_every_intrinsic_has_an_effect_and_a_description():
    names = [name for name in tenon.ir.Op.list_op_names() if name.startswith("tir.")]
    assert len(names) > 100
    for name in names:
        op = tenon.ir.Op.get(name)
        assert op.description and 0 <= op.get_attr("TCallEffectKind") <= 6


def test_packed_calls_take_buffers_as_tensors():
    for function in (tir.call_packed, tir.call_cpacked, tir.call_packed_lowered):
        call = function("f", buffer, 1)
        assert [type(a).__name__ for a in call.args] == ["StringImm", "Call", "IntImm"]
        packed = call.args[1]
        assert packed.op.name == "tir.tvm_stack_make_array"
        assert packed.args[0].same_as(data) and packed.args[3] == 2
        assert [int(n) for n in packed.args[1].args] == [16, 16]
    assert tir.trace([i, x]).dtype == "float32"
    with pytest.raises(Exception, match="consumes the args as list type"):
        tir.trace(i)


def test_calls_of_functions_of_the_module():
    f = tenon.ir.GlobalVar("f")
    assert tir.call_tir(f, i).op.same_as(f) and f(i).dtype == "void"
    with pytest.raises(TypeError, match="expected a GlobalVar"):
        tir.call_tir("f", i)


def test_unknown_llvm_intrinsics():
    for function in (tir.call_llvm_intrin, tir.call_llvm_pure_intrin):
        with pytest.raises(ValueError, match="Unknown llvm intrinsic function llvm.dummy"):
            function("int32x4", "llvm.dummy")
