"""Matrix units of CUDA devices: schedules that use the registered intrinsics compile."""

import numpy as np
import pytest
import tenon
from tenon import te, tir
from tenon.tir.tensor_intrin import cuda
from test_codegen_cuda import ptx  # noqa: F401 (a fixture)

N = 128
CUDA = tenon.target.Target("cuda", host="llvm")


def matmul(in_dtype, out_dtype, trans_b):
    a, b = (te.placeholder((N, N), in_dtype, name=name) for name in "AB")
    k = te.reduce_axis((0, N), "k")

    def product(i, j):
        right = b[j, k] if trans_b else b[k, j]
        return te.sum(a[i, k].astype(out_dtype) * right.astype(out_dtype), axis=k)

    return te.create_prim_func([a, b, te.compute((N, N), product, name="C")])


def in_tiles(sch, block, intrin):
    """The last two loops of a copy, 16 x 16 at a time by the intrinsic."""
    rows, columns = sch.get_loops(block)[-2:]
    rows, row = sch.split(rows, [None, 16])
    columns, column = sch.split(columns, [None, 16])
    sch.reorder(rows, columns, row, column)
    sch.tensorize(row, intrin)


def schedule(in_dtype, out_dtype, trans_b, scope):
    """Each warp computes 2 x 2 fragments, with operands from shared memory."""
    sch = tir.Schedule(matmul(in_dtype, out_dtype, trans_b))
    names = cuda.get_wmma_intrin_group(scope, "global", in_dtype, out_dtype, trans_b)
    i, j, k = sch.get_loops("C")
    i, ii = sch.split(i, [None, 16])
    j, jj = sch.split(j, [None, 16])
    k, kk = sch.split(k, [None, 16])
    sch.reorder(i, j, k, ii, jj, kk)
    tile = sch.blockize(ii)
    i0, i1 = sch.split(i, [None, 2])
    j0, j1 = sch.split(j, [None, 2])
    k0, k1 = sch.split(k, [None, 2])
    sch.reorder(i0, j0, k0, k1, i1, j1)
    sch.bind(i0, "blockIdx.y")
    sch.bind(j0, "blockIdx.x")
    store = sch.cache_write(tile, 0, "wmma.accumulator")
    sch.reverse_compute_at(store, j0)
    for n in range(2):
        copy = sch.cache_read(tile, n, scope)
        sch.compute_at(copy, k0)
        _, tx, lane = sch.split(sch.fuse(*sch.get_loops(copy)[-2:]), [None, 32, 8])
        sch.bind(tx, "threadIdx.x")
        sch.vectorize(lane)
    for n, side in enumerate("ab"):
        load = sch.cache_read(tile, n, f"wmma.matrix_{side}")
        sch.compute_at(load, k1)
        in_tiles(sch, load, names[f"load_{side}"])
    (init,) = sch.get_child_blocks(sch.decompose_reduction(tile, k0))
    sch.tensorize(sch.get_loops(init)[-2], names["init"])
    sch.tensorize(tile, names["compute"])
    in_tiles(sch, store, names["store"])
    return sch.mod


CASES = [
    ("float16", "float32", False, "shared", "row.row.m16n16k16.f32.f32"),
    ("float16", "float32", True, "shared.dyn", "row.col.m16n16k16.f32.f32"),
    ("float16", "float16", False, "shared.dyn", "row.row.m16n16k16.f16.f16"),
    ("int8", "int32", True, "shared", "row.col.m16n16k16.s32.s8.s8.s32"),
]


@pytest.mark.parametrize("in_dtype, out_dtype, trans_b, scope, types", CASES)
def test_products(in_dtype, out_dtype, trans_b, scope, types, ptx):  # noqa: F811
    mod = schedule(in_dtype, out_dtype, trans_b, scope)
    text = tenon.lower(mod).script()
    # fragments are as large as what a warp keeps, 4 of the result and 2 of each operand
    assert 'allocate([1024], "' in text and text.count("allocate([512], ") == 2
    built = tenon.build(mod, target=CUDA)
    source = built.imported_modules[0].get_source()
    assert f"wmma.mma.sync.aligned.{types}" in ptx(source)
    if tenon.cuda(0).exist:
        rng = np.random.default_rng(7)
        a, b = (rng.integers(-3, 4, (N, N)).astype(in_dtype) for _ in range(2))
        out = tenon.nd.empty((N, N), out_dtype, tenon.cuda(0))
        built["main"](*(tenon.nd.array(x, tenon.cuda(0)) for x in (a, b)), out)
        want = a.astype("int64") @ (b.T if trans_b else b).astype("int64")
        np.testing.assert_allclose(out.numpy().astype("int64"), want)


def test_names():
    assert cuda.WMMA_SYNC_16x16x16_f16f16f32_TRANS_INTRIN == "wmma_sync_16x16x16_f16f16f32_trans"
    assert cuda.WMMA_LOAD_16x16x16_F16_B_TRANS_DYN_INTRIN.endswith("_b_trans_shared_dyn")
    assert cuda.WMMA_FILL_16x16x16_F32_INTRIN == "wmma_fill_16x16x16_f32"
    assert cuda.WMMA_STORE_16x16x16_S32_GLOBAL_INTRIN == "wmma_store_16x16x16_s32_global"
    for name in (n for n in dir(cuda) if n.startswith("WMMA_")):
        assert tir.TensorIntrin.get(getattr(cuda, name)) is not None
