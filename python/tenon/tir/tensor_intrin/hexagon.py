"""Dot products on Hexagon's vectors of 128 bytes."""

from ...script import tir as T
from ..schedule import TensorIntrin


def generate_dot_product_32x4_i32(b_dtype, instr, mem_scope="global"):
    """Description and implementation of a product of 4 bytes with 32 times 4.

    Parameters
    ----------
    b_dtype : str
        "uint8" or "int8": type of the 32 times 4 bytes.
    instr : str
        LLVM's name of the instruction.
    mem_scope : str
        Memory of the buffers.

    Returns
    -------
    (PrimFunc, PrimFunc)
    """
    b_dtype_x128 = f"{b_dtype}x128"

    @T.prim_func
    def desc(
        A: T.Buffer((4,), "uint8", offset_factor=1, scope=mem_scope),
        B: T.Buffer((32, 4), b_dtype, offset_factor=1, scope=mem_scope),
        C: T.Buffer((32,), "int32", offset_factor=1, scope=mem_scope),
    ) -> None:
        with T.block("root"):
            T.reads(C[0:32], A[0:4], B[0:32, 0:4])
            T.writes(C[0:32])
            for i in T.serial(0, 32):
                for k in T.serial(0, 4):
                    with T.block("update"):
                        vi, vk = T.axis.remap("SR", [i, k])
                        C[vi] = C[vi] + T.cast(A[vk], "int32") * T.cast(B[vi, vk], "int32")

    @T.prim_func
    def impl(
        A: T.Buffer((4,), "uint8", offset_factor=1, scope=mem_scope),
        B: T.Buffer((32, 4), b_dtype, offset_factor=1, scope=mem_scope),
        C: T.Buffer((32,), "int32", offset_factor=1, scope=mem_scope),
    ) -> None:
        with T.block("root"):
            T.reads(C[0:32], A[0:4], B[0:32, 0:4])
            T.writes(C[0:32])
            A_u8x4 = A.vload([0], "uint8x4")
            A_i32 = T.reinterpret(A_u8x4, dtype="int32")
            B_x128 = B.vload([0, 0], dtype=b_dtype_x128)
            B_i32x32 = T.reinterpret(B_x128, dtype="int32x32")
            C_i32x32 = C.vload([0], dtype="int32x32")
            C[T.ramp(T.int32(0), 1, 32)] = T.call_llvm_pure_intrin(
                T.llvm_lookup_intrinsic_id(instr),
                T.uint32(3),
                C_i32x32,
                B_i32x32,
                A_i32,
                dtype="int32x32",
            )

    return desc, impl


def generate_dot_product_32x2_i16i16i32(mem_scope="global"):
    """Description and implementation of a product of 2 int16 with 32 times 2."""

    @T.prim_func
    def desc(
        A: T.Buffer((2,), "int16", offset_factor=1, scope=mem_scope),
        B: T.Buffer((32, 2), "int16", offset_factor=1, scope=mem_scope),
        C: T.Buffer((32,), "int32", offset_factor=1, scope=mem_scope),
    ) -> None:
        with T.block("root"):
            T.reads(C[0:32], A[0:2], B[0:32, 0:2])
            T.writes(C[0:32])
            for i in T.serial(0, 32):
                for k in T.serial(0, 2):
                    with T.block("update"):
                        vi, vk = T.axis.remap("SR", [i, k])
                        C[vi] = C[vi] + T.cast(A[vk], "int32") * T.cast(B[vi, vk], "int32")

    @T.prim_func
    def impl(
        A: T.Buffer((2,), "int16", offset_factor=1, scope=mem_scope),
        B: T.Buffer((32, 2), "int16", offset_factor=1, scope=mem_scope),
        C: T.Buffer((32,), "int32", offset_factor=1, scope=mem_scope),
    ) -> None:
        with T.block("root"):
            T.reads(C[0:32], A[0:2], B[0:32, 0:2])
            T.writes(C[0:32])
            A_i16x2 = A.vload([0], "int16x2")
            A_i32 = T.reinterpret(A_i16x2, dtype="int32")
            B_i16x64 = B.vload([0, 0], dtype="int16x64")
            B_i32x32 = T.reinterpret(B_i16x64, dtype="int32x32")
            C_i32x32 = C.vload([0], dtype="int32x32")
            C[T.ramp(T.int32(0), 1, 32)] = T.call_llvm_pure_intrin(
                T.llvm_lookup_intrinsic_id("llvm.hexagon.V6.vdmpyhvsat.acc.128B"),
                T.uint32(3),
                C_i32x32,
                T.broadcast(A_i32, 32),
                B_i32x32,
                dtype="int32x32",
            )

    return desc, impl


VRMPY_u8u8i32_INTRIN = "dot_32x4_u8u8i32_vrmpy"
VRMPY_u8i8i32_INTRIN = "dot_32x4_u8i8i32_vrmpy"
VDMPY_i16i16i32_INTRIN = "dot_product_32x2_i16i16i32_vdmpy"
VRMPY_u8u8i32_VTCM_INTRIN = "dot_32x4_u8u8i32_vtcm_vrmpy"
VRMPY_u8i8i32_VTCM_INTRIN = "dot_32x4_u8i8i32_vtcm_vrmpy"
VDMPY_i16i16i32_VTCM_INTRIN = "dot_product_32x2_i16i16i32_vtcm_vdmpy"

_UBUB = ("uint8", "llvm.hexagon.V6.vrmpyub.acc.128B")
_UBI8 = ("int8", "llvm.hexagon.V6.vrmpybus.acc.128B")

for _name, _kind, _scope in (
    (VRMPY_u8u8i32_INTRIN, _UBUB, "global"),
    (VRMPY_u8u8i32_VTCM_INTRIN, _UBUB, "global.vtcm"),
    (VRMPY_u8i8i32_INTRIN, _UBI8, "global"),
    (VRMPY_u8i8i32_VTCM_INTRIN, _UBI8, "global.vtcm"),
):
    TensorIntrin.register(_name, *generate_dot_product_32x4_i32(*_kind, _scope))
TensorIntrin.register(VDMPY_i16i16i32_INTRIN, *generate_dot_product_32x2_i16i16i32())
TensorIntrin.register(
    VDMPY_i16i16i32_VTCM_INTRIN, *generate_dot_product_32x2_i16i16i32("global.vtcm")
)
