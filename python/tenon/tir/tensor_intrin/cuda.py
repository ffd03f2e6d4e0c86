"""Products of small matrices on the matrix units of CUDA devices, and dot products of four bytes.

Names say what they do: ``WMMA_LOAD_16x16x16_F16_A_INTRIN`` loads the left operand from shared
memory into registers of a warp. `get_wmma_intrin_group` gives those that go together.
"""

from ...script import tir as T
from ..schedule import TensorIntrin
from .dot_product_common import *  # noqa: F403

_ROW, _COL = "row_major", "col_major"


def get_wmma_load_intrin(m_dim, n_dim, k_dim, dtype, shared_scope, is_b, is_col_major):
    """Description and implementation of loading an operand of a product into registers.

    Parameters
    ----------
    m_dim, n_dim, k_dim : int
        Shape of the product: m x n of k terms each.
    dtype : str
        Type of an element.
    shared_scope : str
        Memory that is read: "shared", "shared.dyn".
    is_b : bool
        The right operand, else the left one.
    is_col_major : bool
        The operand lies transposed in memory.

    Returns
    -------
    (PrimFunc, PrimFunc)
    """
    frag_m, frag_n = (k_dim, n_dim) if is_b else (m_dim, k_dim)
    if is_col_major:
        frag_m, frag_n = frag_n, frag_m
    scope = f"wmma.matrix_{'b' if is_b else 'a'}"
    layout = _COL if is_col_major else _ROW
    factor = frag_n

    @T.prim_func
    def desc(a: T.handle, c: T.handle) -> None:
        A = T.match_buffer(
            a, (frag_m, frag_n), dtype, align=64, offset_factor=factor, scope=shared_scope
        )
        C = T.match_buffer(c, (frag_m, frag_n), dtype, align=64, offset_factor=factor, scope=scope)
        with T.block("root"):
            T.reads(A[0:frag_m, 0:frag_n])
            T.writes(C[0:frag_m, 0:frag_n])
            for i, j in T.grid(frag_m, frag_n):
                with T.block("load"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = A[vi, vj]

    @T.prim_func
    def impl(a: T.handle, c: T.handle) -> None:
        s1 = T.int32()
        s0 = T.int32()
        d1 = T.int32()
        d0 = T.int32()
        A = T.match_buffer(
            a,
            (frag_m, frag_n),
            dtype,
            align=64,
            offset_factor=factor,
            scope=shared_scope,
            strides=[s1, s0],
        )
        C = T.match_buffer(
            c,
            (frag_m, frag_n),
            dtype,
            align=64,
            offset_factor=factor,
            scope=scope,
            strides=[d1, d0],
        )
        with T.block("root"):
            T.reads(A[0:frag_m, 0:frag_n])
            T.writes(C[0:frag_m, 0:frag_n])
            T.evaluate(
                T.tvm_load_matrix_sync(
                    C.data,
                    m_dim,
                    n_dim,
                    k_dim,
                    C.elem_offset // (d1 * frag_m) * (d1 // frag_n) + C.elem_offset % d1 // frag_n,
                    A.access_ptr("r"),
                    s1,
                    layout,
                    dtype="handle",
                )
            )

    return desc, impl


def get_wmma_fill_intrin(m_dim, n_dim, k_dim, dtype):
    """Description and implementation of setting the result of a product to 0; see
    `get_wmma_load_intrin`."""

    @T.prim_func
    def desc(c: T.handle) -> None:
        C = T.match_buffer(
            c, (m_dim, n_dim), dtype, align=64, offset_factor=n_dim, scope="wmma.accumulator"
        )
        with T.block("root"):
            T.reads()
            T.writes(C[0:m_dim, 0:n_dim])
            for i, j in T.grid(m_dim, n_dim):
                with T.block("init"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = T.cast(0, dtype)

    @T.prim_func
    def impl(c: T.handle) -> None:
        d1 = T.int32()
        d0 = T.int32()
        C = T.match_buffer(
            c,
            (m_dim, n_dim),
            dtype,
            align=64,
            offset_factor=n_dim,
            scope="wmma.accumulator",
            strides=[d1, d0],
        )
        with T.block("root"):
            T.reads()
            T.writes(C[0:m_dim, 0:n_dim])
            T.evaluate(
                T.tvm_fill_fragment(
                    C.data,
                    m_dim,
                    n_dim,
                    k_dim,
                    C.elem_offset // (d1 * m_dim) * (d1 // n_dim) + C.elem_offset % d1 // n_dim,
                    T.cast(0, dtype),
                    dtype="handle",
                )
            )

    return desc, impl


def get_wmma_store_intrin(m_dim, n_dim, k_dim, dtype, scope):
    """Description and implementation of storing the result of a product; see
    `get_wmma_load_intrin`. `scope` is the memory that is written."""

    @T.prim_func
    def desc(a: T.handle, c: T.handle) -> None:
        A = T.match_buffer(
            a, (m_dim, n_dim), dtype, align=64, offset_factor=n_dim, scope="wmma.accumulator"
        )
        C = T.match_buffer(c, (m_dim, n_dim), dtype, align=64, offset_factor=n_dim, scope=scope)
        with T.block("root"):
            T.reads(A[0:m_dim, 0:n_dim])
            T.writes(C[0:m_dim, 0:n_dim])
            for i, j in T.grid(m_dim, n_dim):
                with T.block("store"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = A[vi, vj]

    @T.prim_func
    def impl(a: T.handle, c: T.handle) -> None:
        s1 = T.int32()
        s0 = T.int32()
        d1 = T.int32()
        d0 = T.int32()
        A = T.match_buffer(
            a,
            (m_dim, n_dim),
            dtype,
            align=64,
            offset_factor=n_dim,
            scope="wmma.accumulator",
            strides=[d1, d0],
        )
        C = T.match_buffer(
            c,
            (m_dim, n_dim),
            dtype,
            align=64,
            offset_factor=n_dim,
            scope=scope,
            strides=[s1, s0],
        )
        with T.block("root"):
            T.reads(A[0:m_dim, 0:n_dim])
            T.writes(C[0:m_dim, 0:n_dim])
            T.evaluate(
                T.tvm_store_matrix_sync(
                    A.data,
                    m_dim,
                    n_dim,
                    k_dim,
                    A.elem_offset // (d1 * m_dim) * (d1 // n_dim) + A.elem_offset % d1 // n_dim,
                    C.access_ptr("w"),
                    s1,
                    "row_major",
                    dtype="handle",
                )
            )

    return desc, impl


def get_wmma_sync_intrin(m_dim, n_dim, k_dim, in_dtype, out_dtype, b_transposed):
    """Description and implementation of adding a product to the result; see
    `get_wmma_load_intrin`. `b_transposed`: the right operand is n x k."""
    b_shape = (n_dim, k_dim) if b_transposed else (k_dim, n_dim)
    b_rows, b_columns = b_shape

    def element(i, k):
        return (i, k) if b_transposed else (k, i)

    @T.prim_func
    def desc(a: T.handle, b: T.handle, c: T.handle) -> None:
        A = T.match_buffer(
            a, (m_dim, k_dim), in_dtype, align=64, offset_factor=k_dim, scope="wmma.matrix_a"
        )
        B = T.match_buffer(
            b, b_shape, in_dtype, align=64, offset_factor=b_columns, scope="wmma.matrix_b"
        )
        C = T.match_buffer(
            c, (m_dim, n_dim), out_dtype, align=64, offset_factor=n_dim, scope="wmma.accumulator"
        )
        with T.block("root"):
            T.reads(C[0:m_dim, 0:n_dim], A[0:m_dim, 0:k_dim], B[0:b_rows, 0:b_columns])
            T.writes(C[0:m_dim, 0:n_dim])
            for i, j, k in T.grid(m_dim, n_dim, k_dim):
                with T.block(""):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], out_dtype) * T.cast(
                        B[element(vj, vk)], out_dtype
                    )

    @T.prim_func
    def impl(a: T.handle, b: T.handle, c: T.handle) -> None:
        a1 = T.int32()
        a0 = T.int32()
        b1 = T.int32()
        b0 = T.int32()
        c1 = T.int32()
        c0 = T.int32()
        A = T.match_buffer(
            a,
            (m_dim, k_dim),
            in_dtype,
            align=64,
            offset_factor=k_dim,
            scope="wmma.matrix_a",
            strides=[a1, a0],
        )
        B = T.match_buffer(
            b,
            b_shape,
            in_dtype,
            align=64,
            offset_factor=b_columns,
            scope="wmma.matrix_b",
            strides=[b1, b0],
        )
        C = T.match_buffer(
            c,
            (m_dim, n_dim),
            out_dtype,
            align=64,
            offset_factor=n_dim,
            scope="wmma.accumulator",
            strides=[c1, c0],
        )
        with T.block("root"):
            T.reads(C[0:m_dim, 0:n_dim], A[0:m_dim, 0:k_dim], B[0:b_rows, 0:b_columns])
            T.writes(C[0:m_dim, 0:n_dim])
            T.evaluate(
                T.tvm_mma_sync(
                    C.data,
                    C.elem_offset // (c1 * m_dim) * (c1 // n_dim) + C.elem_offset % c1 // n_dim,
                    A.data,
                    A.elem_offset // (a1 * m_dim) * (a1 // k_dim) + A.elem_offset % a1 // k_dim,
                    B.data,
                    B.elem_offset // (b1 * b_rows) * (b1 // b_columns)
                    + B.elem_offset % b1 // b_columns,
                    C.data,
                    C.elem_offset // (c1 * m_dim) * (c1 // n_dim) + C.elem_offset % c1 // n_dim,
                    dtype="handle",
                )
            )

    return desc, impl


_SHORT = {"float16": "f16", "float32": "f32", "int8": "s8", "int32": "s32"}


def _register(name, pair, constant=None):
    """Register an intrinsic; the constant is the name in capitals but for its shape."""
    TensorIntrin.register(name, *pair)
    constant = constant or name.upper().replace("16X16X16", "16x16x16")
    globals()[f"{constant}_INTRIN"] = name


for _in, _out in (("float16", "float32"), ("float16", "float16"), ("int8", "int32")):
    _types = f"{_SHORT[_in]}{_SHORT[_in]}{_SHORT[_out]}"
    for _trans in ("", "_trans"):
        _pair = get_wmma_sync_intrin(16, 16, 16, _in, _out, bool(_trans))
        _constant = f"WMMA_SYNC_16x16x16_{_types}{_trans.upper()}"
        _register(f"wmma_sync_16x16x16_{_types}{_trans}", _pair, _constant)
for _in in ("float16", "int8"):
    for _side in "ab":
        for _trans in ("", "_trans"):
            for _scope, _dyn in (("shared", ""), ("shared.dyn", "_DYN")):
                _operand = f"wmma_load_16x16x16_{_SHORT[_in]}_{_side}{_trans}"
                _constant = _operand.upper().replace("16X16X16", "16x16x16") + _dyn
                _pair = get_wmma_load_intrin(16, 16, 16, _in, _scope, _side == "b", bool(_trans))
                _register(f"{_operand}_{_scope.replace('.', '_')}", _pair, _constant)
for _out in ("float32", "float16", "int32"):
    _register(f"wmma_fill_16x16x16_{_SHORT[_out]}", get_wmma_fill_intrin(16, 16, 16, _out))
    for _scope in ("global", "shared", "shared.dyn"):
        _pair = get_wmma_store_intrin(16, 16, 16, _out, _scope)
        _register(f"wmma_store_16x16x16_{_SHORT[_out]}_{_scope.replace('.', '_')}", _pair)


def get_wmma_intrin_group(
    load_scope="shared",
    store_scope="shared",
    in_dtype="float16",
    out_dtype="float32",
    trans_b=False,
):
    """Names of the intrinsics of a product of 16 x 16 matrices.

    Parameters
    ----------
    load_scope : str
        "shared" or "shared.dyn": memory of the operands.
    store_scope : str
        "global", "shared" or "shared.dyn": memory of the result.
    in_dtype, out_dtype : str
        "float16" with "float16" or "float32", "int8" with "int32".
    trans_b : bool
        The right operand is transposed.

    Returns
    -------
    dict of str to str
        Keys "init", "load_a", "load_b", "compute" and "store".
    """
    short, out = _SHORT[in_dtype], _SHORT[out_dtype]
    scope = load_scope.replace(".", "_")
    trans = "_trans" if trans_b else ""
    return {
        "init": f"wmma_fill_16x16x16_{out}",
        "load_a": f"wmma_load_16x16x16_{short}_a_{scope}",
        "load_b": f"wmma_load_16x16x16_{short}_b{trans}_{scope}",
        "compute": f"wmma_sync_16x16x16_{short}{short}{out}{trans}",
        "store": f"wmma_store_16x16x16_{out}_{store_scope.replace('.', '_')}",
    }
