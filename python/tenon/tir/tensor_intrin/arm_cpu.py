"""Dot products of bytes on Arm."""

from ...script import tir as T
from ..schedule import TensorIntrin


def get_dotprod_intrin(in_dtype, out_dtype):
    """Description and implementation of sdot (int8) and udot (uint8) on four times four bytes.

    Parameters
    ----------
    in_dtype, out_dtype : str
        "int8" or "uint8"; "int32" or "uint32".

    Returns
    -------
    (PrimFunc, PrimFunc)
    """
    in_dtype_x4, in_dtype_x16, out_dtype_x4 = f"{in_dtype}x4", f"{in_dtype}x16", f"{out_dtype}x4"
    instr = f"llvm.aarch64.neon.{'udot' if in_dtype == 'uint8' else 'sdot'}"

    @T.prim_func
    def dot_prod_desc(
        A: T.Buffer((4,), in_dtype, offset_factor=1),
        B: T.Buffer((4, 4), in_dtype, offset_factor=1),
        C: T.Buffer((4,), out_dtype, offset_factor=1),
    ) -> None:
        with T.block("root"):
            T.reads(C[0:4], A[0:4], B[0:4, 0:4])
            T.writes(C[0:4])
            for i in T.serial(0, 4):
                for k in T.serial(0, 4):
                    with T.block("update"):
                        vi, vk = T.axis.remap("SR", [i, k])
                        C[vi] = C[vi] + T.cast(A[vk], out_dtype) * T.cast(B[vi, vk], out_dtype)

    @T.prim_func
    def dot_prod_impl(
        A: T.Buffer((4,), in_dtype, offset_factor=1),
        B: T.Buffer((4, 4), in_dtype, offset_factor=1),
        C: T.Buffer((4,), out_dtype, offset_factor=1),
    ) -> None:
        with T.block("root"):
            T.reads(C[0:4], A[0:4], B[0:4, 0:4])
            T.writes(C[0:4])
            A_i8x4 = A.vload([0], in_dtype_x4)
            A_i32 = T.reinterpret(A_i8x4, dtype=out_dtype)
            vec_ai32 = T.broadcast(A_i32, 4)
            vec_a = T.reinterpret(vec_ai32, dtype=in_dtype_x16)
            vec_b = B.vload([0, 0], dtype=in_dtype_x16)
            vec_c = C.vload([0], dtype=out_dtype_x4)
            C[T.ramp(T.int32(0), 1, 4)] = T.call_llvm_pure_intrin(
                T.llvm_lookup_intrinsic_id(instr),
                T.uint32(3),
                vec_c,
                vec_a,
                vec_b,
                dtype=out_dtype_x4,
            )

    return dot_prod_desc, dot_prod_impl


ARM_DOT_4x4_i8_SDOT_INTRIN = "dot_4x4_i8i8s32_sdot"
ARM_DOT_4x4_u8_UDOT_INTRIN = "dot_4x4_u8u8u32_udot"
ARM_DOT_4x4_u8_HDOT_INTRIN = "dot_4x4_u8u8i32_hdot"

for _name, _types in {
    ARM_DOT_4x4_i8_SDOT_INTRIN: ("int8", "int32"),
    ARM_DOT_4x4_u8_UDOT_INTRIN: ("uint8", "uint32"),
    ARM_DOT_4x4_u8_HDOT_INTRIN: ("uint8", "int32"),
}.items():
    TensorIntrin.register(_name, *get_dotprod_intrin(*_types))
