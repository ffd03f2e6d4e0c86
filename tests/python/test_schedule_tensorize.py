"""Schedules: blocks that instructions compute."""

import pytest
import tenon
from schedule_programs import failure
from schedule_run import same_results, verified
from tenon import te, tir
from tenon.script import tir as T
from tenon.tir.tensor_intrin import arm_cpu, dot_product_common, hexagon, x86


@T.prim_func
def tile_desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (8, 8), offset_factor=1)
    B = T.match_buffer(b, (8, 8), offset_factor=1)
    C = T.match_buffer(c, (8, 8), offset_factor=1)
    with T.block("root"):
        T.reads(C[0:8, 0:8], A[0:8, 0:8], B[0:8, 0:8])
        T.writes(C[0:8, 0:8])
        for i, j, k in T.grid(8, 8, 8):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]


@T.prim_func
def tile_loops(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (8, 8), offset_factor=1, strides=[T.int32(), 1])
    B = T.match_buffer(b, (8, 8), offset_factor=1, strides=[T.int32(), 1])
    C = T.match_buffer(c, (8, 8), offset_factor=1, strides=[T.int32(), 1])
    with T.block("root"):
        T.reads(C[0:8, 0:8], A[0:8, 0:8], B[0:8, 0:8])
        T.writes(C[0:8, 0:8])
        T.block_attr({"tile": 8})
        for i, j, k in T.grid(8, 8, 8):
            C[i, j] = C[i, j] + A[i, k] * B[j, k]


tir.TensorIntrin.register("test.tile", tile_desc, tile_loops)


@T.prim_func
def matmul(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (16, 32))
    B = T.match_buffer(b, (16, 32))
    C = T.match_buffer(c, (16, 16))
    for i, j, k in T.grid(16, 16, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]


def tiled():
    sch = tir.Schedule(matmul)
    i, j, k = sch.get_loops("C")
    (i_0, i_1), (j_0, j_1), (k_0, k_1) = (sch.split(x, [None, 8]) for x in (i, j, k))
    sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
    sch.decompose_reduction("C", k_0)
    return sch, i_1


def test_a_loop():
    sch, i_1 = tiled()
    sch.tensorize(i_1, "test.tile")

    @T.prim_func
    def expected(a: T.handle, b: T.handle, c: T.handle):
        A = T.match_buffer(a, (16, 32))
        B = T.match_buffer(b, (16, 32))
        C = T.match_buffer(c, (16, 16))
        for i_0, j_0 in T.grid(2, 2):
            for i_1_init, j_1_init in T.grid(8, 8):
                with T.block("C_init"):
                    vi = T.axis.spatial(16, i_0 * 8 + i_1_init)
                    vj = T.axis.spatial(16, j_0 * 8 + j_1_init)
                    T.reads()
                    T.writes(C[vi, vj])
                    C[vi, vj] = 0.0
            for k_0 in range(4):
                with T.block("C_update_o"):
                    vi, vj, vk = T.axis.remap("SSR", [i_0, j_0, k_0])
                    T.reads(
                        C[vi * 8 : vi * 8 + 8, vj * 8 : vj * 8 + 8],
                        A[vi * 8 : vi * 8 + 8, vk * 8 : vk * 8 + 8],
                        B[vj * 8 : vj * 8 + 8, vk * 8 : vk * 8 + 8],
                    )
                    T.writes(C[vi * 8 : vi * 8 + 8, vj * 8 : vj * 8 + 8])
                    T.block_attr({"tile": 8})
                    sa, sb, sc = T.int32(), T.int32(), T.int32()
                    A_1 = T.match_buffer(
                        A[vi * 8 : vi * 8 + 8, vk * 8 : vk * 8 + 8],
                        (8, 8),
                        strides=(sa, 1),
                        offset_factor=1,
                    )
                    B_1 = T.match_buffer(
                        B[vj * 8 : vj * 8 + 8, vk * 8 : vk * 8 + 8],
                        (8, 8),
                        strides=(sb, 1),
                        offset_factor=1,
                    )
                    C_1 = T.match_buffer(
                        C[vi * 8 : vi * 8 + 8, vj * 8 : vj * 8 + 8],
                        (8, 8),
                        strides=(sc, 1),
                        offset_factor=1,
                    )
                    for i, j, k in T.grid(8, 8, 8):
                        C_1[i, j] = C_1[i, j] + A_1[i, k] * B_1[j, k]

    verified(sch, matmul, expected)
    assert sch.trace.as_python()[-1] == (
        'sch.tensorize(block_or_loop=l5, tensor_intrin="test.tile", preserve_unit_iters=True)'
    )


def test_a_block():
    sch, i_1 = tiled()
    outer = sch.blockize(i_1)
    sch.tensorize(outer, "test.tile")
    assert sch.get(outer).name_hint == "C_update_o" and len(sch.get(outer).match_buffers) == 3
    verified(sch, matmul)


def test_twice_in_one_program():
    @T.prim_func
    def program(a: T.handle, b: T.handle, c: T.handle, d: T.handle):
        A = T.match_buffer(a, (8, 8))
        B = T.match_buffer(b, (8, 8))
        C = T.match_buffer(c, (8, 8))
        D = T.match_buffer(d, (8, 8))
        for i, j, k in T.grid(8, 8, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
        for i, j, k in T.grid(8, 8, 8):
            with T.block("D"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    D[vi, vj] = 0.0
                D[vi, vj] = D[vi, vj] + B[vj, vk] * A[vi, vk]

    sch = tir.Schedule(program)
    for name in "CD":
        i = sch.get_loops(name)[0]
        sch.decompose_reduction(name, i)
        sch.tensorize(sch.get_loops(name + "_update")[0], "test.tile")
    views = [sch.get(sch.get_block(f"{n}_update_o")).match_buffers[0].buffer for n in "CD"]
    assert not views[0].same_as(views[1])
    verified(sch, program)


def test_buffers_with_more_axes():
    @T.prim_func
    def batched(a: T.handle, b: T.handle, c: T.handle):
        A = T.match_buffer(a, (3, 8, 8))
        B = T.match_buffer(b, (8, 8))
        C = T.match_buffer(c, (3, 8, 8))
        for n, i, j, k in T.grid(3, 8, 8, 8):
            with T.block("C"):
                vn, vi, vj, vk = T.axis.remap("SSSR", [n, i, j, k])
                with T.init():
                    C[vn, vi, vj] = 0.0
                C[vn, vi, vj] = C[vn, vi, vj] + A[vn, vi, vk] * B[vj, vk]

    sch = tir.Schedule(batched)
    i = sch.get_loops("C")[1]
    sch.decompose_reduction("C", i)
    sch.tensorize(i, "test.tile")
    assert "T.match_buffer(A[vn, 0:8, 0:8], (8, 8)" in sch.mod.script()
    verified(sch, batched)


def test_one_buffer_for_two():
    @T.prim_func
    def square(a: T.handle, c: T.handle):
        A = T.match_buffer(a, (16, 32))
        C = T.match_buffer(c, (16, 16))
        for i, j, k in T.grid(16, 16, 32):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] = C[vi, vj] + A[vi, vk] * A[vj, vk]

    sch = tir.Schedule(square)
    i, j, k = sch.get_loops("C")
    (i_0, i_1), (j_0, j_1), (k_0, k_1) = (sch.split(x, [None, 8]) for x in (i, j, k))
    sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
    sch.decompose_reduction("C", k_0)
    sch.tensorize(i_1, "test.tile")
    verified(sch, square)


@pytest.mark.parametrize(
    "old, new",
    [
        ("A[vi, vk] * B[vj, vk]", "A[vi, vk] + B[vj, vk]"),
        ("A[vi, vk] * B[vj, vk]", "A[vi, vk] * B[vk, vj]"),
        ("A[vi, vk] * B[vj, vk]", "A[vi, vk] * B[vj, vk] * T.float32(2)"),
        ("8, 8, 8", "8, 8, 4"),
    ],
)
def test_other_programs_are_refused(old, new):
    text = """
from tenon.script import tir as T
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"),
         C: T.Buffer((8, 8), "float32")):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
"""
    for program, fits in ((text, True), (text.replace(old, new), False)):
        sch = tir.Schedule(tenon.script.from_source(program))
        i = sch.get_loops("C")[0]
        sch.decompose_reduction("C", i)
        if fits:
            sch.tensorize(i, "test.tile")
        else:
            assert "does not compute what the tensor intrinsic test.tile describes" in failure(
                sch.tensorize, i, "test.tile"
            )


def test_an_intrinsic_that_is_not_there():
    sch, i_1 = tiled()
    with pytest.raises(ValueError, match="TensorIntrin 'test.nothing' is not registered"):
        sch.tensorize(i_1, "test.nothing")


# ---- the built-in ones ----


def packed_dot(n, lanes, types):
    x = te.placeholder((8, 16), types[0], name="X")
    w = te.placeholder((32 // n, 16 // lanes, n, lanes), types[1], name="W")
    k = te.reduce_axis((0, 16), "k")
    y = te.compute(
        (8, 32),
        lambda i, j: te.sum(
            x[i, k].astype(types[2]) * w[j // n, k // lanes, j % n, k % lanes].astype(types[2]),
            axis=k,
        ),
        name="Y",
    )
    return te.create_prim_func([x, w, y])


def with_intrinsic(func, n, lanes, name):
    sch = tir.Schedule(func)
    block = sch.get_block("Y")
    i, j, k = sch.get_loops(block)
    j_0, j_1 = sch.split(j, [None, n])
    k_0, k_1 = sch.split(k, [None, lanes])
    sch.reorder(i, j_0, k_0, j_1, k_1)
    sch.decompose_reduction(block, k_0)
    sch.tensorize(j_1, name)
    return sch


def host_has(feature):
    with open("/proc/cpuinfo") as f:
        return feature in f.read()


@pytest.mark.parametrize(
    "name, feature, cpu",
    [
        (x86.VNNI_DOT_16x4_INTRIN, "avx512_vnni", "cascadelake"),
        (x86.AVX512_DOT_16x4_INTRIN, "avx512bw", "skylake-avx512"),
    ],
)
def test_x86(name, feature, cpu):
    func = packed_dot(16, 4, ("uint8", "int8", "int32"))
    sch = with_intrinsic(func, 16, 4, name)
    verified(sch, func, run=False)
    target = f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}"
    text = tenon.build(sch.mod, target=target).get_source("asm")
    assert ("vpdpbusd" if "vnni" in name else "vpmaddubsw") in text
    if host_has(feature):
        same_results(sch, func, target=f"llvm -mcpu={cpu}")


def test_hexagon_and_arm():
    for name, n, lanes, types in (
        (hexagon.VRMPY_u8u8i32_INTRIN, 32, 4, ("uint8", "uint8", "int32")),
        (hexagon.VRMPY_u8i8i32_INTRIN, 32, 4, ("uint8", "int8", "int32")),
        (hexagon.VDMPY_i16i16i32_INTRIN, 32, 2, ("int16", "int16", "int32")),
        (arm_cpu.ARM_DOT_4x4_i8_SDOT_INTRIN, 4, 4, ("int8", "int8", "int32")),
    ):
        func = packed_dot(n, lanes, types)
        verified(with_intrinsic(func, n, lanes, name), func, run=False)


def test_dp4a():
    @T.prim_func
    def dot(a: T.Buffer((8, 4), "int8"), b: T.Buffer((8, 4), "int8"), c: T.Buffer((8,), "int32")):
        a_shared = T.alloc_buffer((8, 4), "int8", scope="shared")
        b_shared = T.alloc_buffer((8, 4), "int8", scope="shared")
        c_local = T.alloc_buffer((8,), "int32", scope="local")
        for i, k in T.grid(8, 4):
            with T.block("copy"):
                vi, vk = T.axis.remap("SS", [i, k])
                a_shared[vi, vk] = a[vi, vk]
                b_shared[vi, vk] = b[vi, vk]
        for i in range(8):
            with T.block("init"):
                vi = T.axis.remap("S", [i])
                c_local[vi] = 0
        for i, k in T.grid(8, 4):
            with T.block("dot"):
                vi, vk = T.axis.remap("SR", [i, k])
                c_local[vi] = c_local[vi] + T.cast(a_shared[vi, vk], "int32") * T.cast(
                    b_shared[vi, vk], "int32"
                )
        for i in range(8):
            with T.block("out"):
                vi = T.axis.remap("S", [i])
                c[vi] = c_local[vi]

    sch = tir.Schedule(dot)
    sch.tensorize(sch.get_loops("dot")[1], dot_product_common.DP4A_S8S8S32_INTRIN)
    assert '"__dp4a"' in sch.mod.script()
    verified(sch, dot, run=False)
