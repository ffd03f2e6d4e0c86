"""Loops that instructions do: get_tensorize_loop_mapping and what uses it; suggested layouts."""

import numpy as np
import tenon
from tenon import te, tir
from tenon.script import tir as T
from tenon.tir.schedule.analysis import (
    AutoTensorizeMappingInfo,
    TensorizeInfo,
    get_auto_tensorize_mapping_info,
    get_tensorize_loop_mapping,
    suggest_index_map,
)
from tenon.tir.schedule.transform import tile_with_tensor_intrin
from tenon.tir.tensor_intrin.x86 import VNNI_DOT_16x4_INTRIN, dot_product_16x4_u8i8i32_desc


def matmul(n, m, k, dtypes=("uint8", "int8", "int32")):
    a = te.placeholder((n, k), dtypes[0], name="A")
    b = te.placeholder((m, k), dtypes[1], name="B")
    r = te.reduce_axis((0, k), "r")
    c = te.compute(
        (n, m),
        lambda i, j: te.sum(a[i, r].astype(dtypes[2]) * b[j, r].astype(dtypes[2]), axis=r),
        name="C",
    )
    return tir.Schedule(te.create_prim_func([a, b, c]), debug_mask="all")


def names(sch, info):
    return {
        str(ref.stmt.loop_var.name): (str(loop.loop_var.name), int(loop.extent))
        for ref, loop in info.loop_map.items()
    }


def test_mapping():
    sch = matmul(128, 64, 32)
    info = get_tensorize_loop_mapping(sch, sch.get_block("C"), dot_product_16x4_u8i8i32_desc)
    assert isinstance(info, TensorizeInfo)
    assert names(sch, info) == {"j": ("i", 16), "r": ("k", 4)}
    numbers = {str(f.loop_var.name): int(n) for f, n in info.desc_loop_indexer.items()}
    assert numbers == {"i": 0, "k": 1}
    assert info.block_iter_paddings is None


def test_mapping_after_splits():
    """Only a loop that counts by one is an instruction's; the outer ones stay."""
    sch = matmul(128, 64, 32)
    block = sch.get_block("C")
    _, j, r = sch.get_loops(block)
    sch.split(j, [None, 32])
    sch.split(r, [None, 8])
    info = get_tensorize_loop_mapping(sch, block, dot_product_16x4_u8i8i32_desc)
    assert info is None or set(names(sch, info)) == {"j_1", "r_1"}


def test_extents_that_do_not_divide():
    sch = matmul(128, 60, 32)
    block = sch.get_block("C")
    assert get_tensorize_loop_mapping(sch, block, dot_product_16x4_u8i8i32_desc) is None
    info = get_tensorize_loop_mapping(sch, block, dot_product_16x4_u8i8i32_desc, allow_padding=True)
    assert [int(i) for i in info.block_iter_paddings] == [1, 16, 1]


def test_blocks_that_do_not_fit():
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[j, i], name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    block = sch.get_block("B")
    assert get_tensorize_loop_mapping(sch, block, dot_product_16x4_u8i8i32_desc) is None
    assert tile_with_tensor_intrin(sch, block, VNNI_DOT_16x4_INTRIN) is None
    assert len(sch.trace.insts) == 1


def run(sch, n, m, k):
    rng = np.random.RandomState(0)
    x = rng.randint(0, 9, (n, k)).astype("uint8")
    y = rng.randint(-9, 9, (m, k)).astype("int8")
    out = tenon.nd.empty((n, m), "int32")
    tenon.build(sch.mod, target="stackvm")(tenon.nd.array(x), tenon.nd.array(y), out)
    np.testing.assert_array_equal(out.numpy(), x.astype("int32") @ y.T.astype("int32"))


def test_tile():
    sch = matmul(8, 64, 32)
    block = sch.get_block("C")
    loop = tile_with_tensor_intrin(sch, block, VNNI_DOT_16x4_INTRIN)
    extents = [int(sch.get(x).extent) for x in sch.get_loops(block)]
    assert extents == [8, 4, 8, 16, 4]
    assert sch.get(loop).same_as(sch.get(sch.get_loops(block)[3]))
    run(sch, 8, 64, 32)
    sch.decompose_reduction(block, sch.get_loops(block)[2])
    sch.tensorize(loop, VNNI_DOT_16x4_INTRIN)
    assert "vpdpbusd" in sch.mod.script() or "call_llvm_pure_intrin" in sch.mod.script()


def test_tile_with_padding():
    sch = matmul(8, 60, 30)
    block = sch.get_block("C")
    before = sch.mod
    assert tile_with_tensor_intrin(sch, block, VNNI_DOT_16x4_INTRIN) is None
    tenon.ir.assert_structural_equal(sch.mod, before)
    assert tile_with_tensor_intrin(sch, block, VNNI_DOT_16x4_INTRIN, True) is not None
    extents = [int(sch.get(x).extent) for x in sch.get_loops(block)]
    assert extents == [8, 4, 8, 16, 4]
    run(sch, 8, 60, 30)


def loop(name, extent):
    var = te.var(name)
    return tir.For(var, 0, extent, tir.ForKind.SERIAL, tir.Evaluate(0)), var


def test_suggested_layouts():
    """Tiles are stored one after the other; the loops' order is that of the new axes."""
    (f0, i0), (f1, j0), (f2, i1), (f3, j1) = (
        loop(n, e) for n, e in (("i0", 4), ("j0", 8), ("i1", 16), ("j1", 32))
    )
    b = tir.decl_buffer((64, 256), name="b")
    found = suggest_index_map(
        b, [i0 * 16 + i1, j0 * 32 + j1], [f0, f1, f2, f3], tir.const(True, "bool")
    )
    expected = tir.IndexMap.from_func(
        lambda i, j: [i // 16, j // 32, i % 16, j % 32], index_dtype="int32"
    )
    assert found.is_equivalent_to(expected)
    assert [int(x) for x in found.map_shape([64, 256])] == [4, 8, 16, 32]


def test_suggested_layout_of_a_transposed_walk():
    (f0, i), (f1, j) = loop("i", 8), loop("j", 4)
    b = tir.decl_buffer((4, 8), name="b")
    found = suggest_index_map(b, [j, i], [f0, f1], True)
    assert found.is_equivalent_to(tir.IndexMap.from_func(lambda x, y: [y, x], index_dtype="int32"))


def test_no_layout_is_suggested():
    (f0, i), (f1, j) = loop("i", 8), loop("j", 4)
    b = tir.decl_buffer((16, 8), name="b")
    true = tir.const(True, "bool")
    assert suggest_index_map(b, [i * 2, j], [f0, f1], true) is None
    assert suggest_index_map(b, [i * i, j], [f0, f1], true) is None
    assert suggest_index_map(b, [te.var("n"), j], [f0, f1], true) is None


@T.prim_func
def product_16(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (16, 16), "float16")
    B = T.match_buffer(b, (16, 16), "float16")
    C = T.match_buffer(c, (16, 16), "float32")
    with T.block("root"):
        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        for i, j, k in T.grid(16, 16, 16):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "float32") * T.cast(B[vk, vj], "float32")


def mapping_of(compute, shapes, expected):
    """Checks the map that is found against a function of the iterators; None: there is none."""
    tensors = [te.placeholder(s, "float16", name=n) for s, n in zip(shapes, "AB", strict=True)]
    sch = tir.Schedule(te.create_prim_func([*tensors, compute(*tensors)]))
    info = get_auto_tensorize_mapping_info(sch, sch.get_block("C"), product_16)
    if expected is None:
        assert info is None
        return
    assert isinstance(info, AutoTensorizeMappingInfo)
    want = tir.IndexMap.from_func(expected, index_dtype="int32")
    (found,) = info.mappings
    tenon.ir.assert_structural_equal(found, want)
    assert [str(b.name) for b in info.lhs_buffer_map.values()] == ["C", "A", "B"]
    assert len(info.rhs_iters) == 3 and len(info.lhs_iters) == len(want.initial_indices)


def wide(x):
    return x.astype("float32")


def test_auto_tensorize_convolution():
    def conv(a, b):
        r, s, c = (te.reduce_axis((0, n), m) for n, m in ((3, "r"), (3, "s"), (64, "c")))
        return te.compute(
            (4, 16, 16, 64),
            lambda n, h, w, o: te.sum(
                wide(a[n, h + r, w + s, c]) * wide(b[r, s, c, o]), axis=[r, s, c]
            ),
            name="C",
        )

    mapping_of(
        conv,
        ((4, 18, 18, 64), (3, 3, 64, 64)),
        lambda n, h, w, o, r, s, c: (
            n * 256 + h * 16 + w,
            o,
            r * 192 + s * 64 + c,
        ),
    )


def test_auto_tensorize_batches():
    def batched(a, b):
        k = te.reduce_axis((0, 64), "k")
        return te.compute(
            (8, 32, 48),
            lambda n, i, j: te.sum(wide(a[n, i, k]) * wide(b[n, k, j]), axis=k),
            name="C",
        )

    mapping_of(batched, ((8, 32, 64), (8, 64, 48)), lambda n, i, j, k: (n, i, j, k))


def test_auto_tensorize_refuses():
    def added(a, b):
        k = te.reduce_axis((0, 64), "k")
        return te.compute(
            (32, 48), lambda i, j: te.sum(wide(a[i, k]) + wide(b[k, j]), axis=k), name="C"
        )

    def vector(a, b):
        k = te.reduce_axis((0, 64), "k")
        return te.compute((32,), lambda i: te.sum(wide(a[i, k]) * wide(b[k]), axis=k), name="C")

    mapping_of(added, ((32, 64), (64, 48)), None)
    mapping_of(vector, ((32, 64), (64,)), None)
