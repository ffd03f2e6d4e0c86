"""StorageRewrite: memories that a device has by name, allocations without use, places of arrays of
two dimensions and of bool."""

import numpy as np
import pytest
import tenon
from tenon import tir
from tenon.script import tir as T


def rewrite(func):
    return tir.transform.StorageRewrite()(tenon.IRModule.from_expr(func))


def allocations(mod):
    found = []
    tir.stmt_functor.post_order_visit(
        next(iter(mod.functions.values())).body,
        lambda n: found.append(n) if isinstance(n, tir.Allocate) else None,
    )
    return [(str(a.dtype), [int(e) for e in a.extents]) for a in found]


def register(scope, bits=1 << 20, simd=32):
    tenon.register_func(
        f"tvm.info.mem.{scope}",
        lambda: tenon.ir.make_node(
            "MemoryInfo", unit_bits=8, max_simd_bits=simd, max_num_bits=bits, head_address=None
        ),
        override=True,
    )


def two_pieces(scope):
    @T.prim_func
    def main(A: T.Buffer((10,), "float32"), C: T.Buffer((10,), "float32")):
        P = T.allocate([10], "float32", scope)
        P_1 = T.decl_buffer((10,), "float32", data=P, scope=scope)
        Q = T.allocate([10], "int16", scope)
        Q_1 = T.decl_buffer((10,), "int16", data=Q, scope=scope)
        R = T.allocate([10], "float32", scope)
        R_1 = T.decl_buffer((10,), "float32", data=R, scope=scope)
        for i in range(10):
            P_1[i] = A[i] + T.float32(1)
            Q_1[i] = T.Cast("int16", i)
            R_1[i] = A[9 - i]
        for i in range(10):
            C[i] = P_1[9 - i] + T.Cast("float32", Q_1[i]) * R_1[9 - i]

    return main


@pytest.mark.parametrize("target", ["llvm", "stackvm"])
def test_pieces_of_a_named_memory_are_parts_of_one(target):
    mod = rewrite(two_pieces("local.unknown"))
    # 40 bytes, 20 bytes from 40, 40 bytes from 64
    assert allocations(mod) == [("float32", [26])]
    x, y = np.arange(10, dtype="float32"), tenon.nd.empty((10,))
    tenon.build(mod, target=target)(tenon.nd.array(x), y)
    np.testing.assert_array_equal(y.numpy(), x[::-1] + 1 + np.arange(10) * x)


def test_parts_begin_where_the_longest_vector_may():
    register("local.M2", simd=512)
    assert allocations(rewrite(two_pieces("local.M2"))) == [("float32", [42])]


def test_kinds_that_all_devices_know_are_not_merged():
    for scope in ("local", "shared.dyn"):
        assert len(allocations(rewrite(two_pieces(scope)))) == 3


def test_more_than_the_memory_holds():
    register("local.M3", bits=600)
    with pytest.raises(ValueError, match=r"Allocation exceed bound of memory local.M3: 832 bits"):
        rewrite(two_pieces("local.M3"))


def test_memory_info_of_another_type():
    tenon.register_func("tvm.info.mem.local.M4", lambda: 5, override=True)
    with pytest.raises(TypeError, match=r"tvm.info.mem.local.M4: expected MemoryInfo, got int"):
        rewrite(two_pieces("local.M4"))


def test_a_pointer_that_is_used_itself_is_the_begin():
    @T.prim_func
    def main(C: T.Buffer((4,), "float32")):
        P = T.allocate([4], "float32", "local.M5")
        P_1 = T.decl_buffer((4,), "float32", data=P, scope="local.M5")
        Q = T.allocate([4], "float32", "local.M5")
        R = T.allocate([4], "float32", "local.M5")
        T.evaluate(T.call_extern("int32", "fill", Q))
        T.evaluate(T.call_extern("int32", "fill", R))
        for i in range(4):
            P_1[i] = T.float32(1)
        T.evaluate(
            T.call_extern(
                "int32", "fill", T.tvm_access_ptr(T.type_annotation("float32"), P, 1, 2, 1)
            )
        )
        T.evaluate(T.call_extern("int32", "fill", Q))
        T.evaluate(T.call_extern("int32", "fill", R))
        for i in range(4):
            C[i] = P_1[i]

    mod = rewrite(main)
    text = mod.script()
    assert sorted(allocations(mod)) == [("float32", [4]), ("float32", [8])]
    assert 'T.tvm_access_ptr(T.type_annotation("float32"), Q, 5, 2, 1)' in text
    assert "C[i] = P_1[i + 4]" in text
    assert "P_1 = T.decl_buffer((8,), data=Q" in text


def test_allocations_without_use_go():
    @T.prim_func
    def main(C: T.Buffer((4,), "float32")):
        P = T.allocate([4], "float32", "global")
        _P = T.decl_buffer((4,), "float32", data=P)
        T.attr(P, "volatile_scope", 1)
        C[0] = T.float32(1)

    @T.prim_func
    def kept(C: T.Buffer((4,), "float32")):
        P = T.allocate([4], "float32", "global")
        C[0] = T.call_extern("float32", "f", P)

    text = rewrite(main).script()
    assert "allocate" not in text and "decl_buffer" not in text and "volatile" not in text
    assert allocations(rewrite(kept)) == [("float32", [4])]


def in_place(store, load):
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), D: T.Buffer((16, 16), "float32")):
        P = T.allocate([16, 16], "float32", "global")
        P_1 = T.decl_buffer((16, 16), "float32", data=P)
        Q = T.allocate([16, 16], "float32", "global")
        Q_1 = T.decl_buffer((16, 16), "float32", data=Q)
        for i, j in T.grid(16, 16):
            P_1[i, j] = A[i, j]
        for i, j in T.grid(16, 16):
            Q_1[store(i, j)[0], store(i, j)[1]] = P_1[load(i, j)[0], load(i, j)[1]]
        for i, j in T.grid(16, 16):
            D[i, j] = Q_1[i, j]

    return len(allocations(rewrite(main)))


def test_arrays_of_two_dimensions_in_place():
    assert in_place(lambda i, j: (i, j), lambda i, j: (i, j)) == 1
    assert in_place(lambda i, j: (j, 15 - i), lambda i, j: (j, 15 - i)) == 1
    assert in_place(lambda i, j: (j, i), lambda i, j: (i, j)) == 2
    assert in_place(lambda i, j: (i, 0), lambda i, j: (i, 0)) == 2  # j stores again
    assert in_place(lambda i, j: (i, i), lambda i, j: (i, i)) == 2
    assert in_place(lambda i, j: (i // 2 + j, 3), lambda i, j: (i // 2 + j, 3)) == 2


def test_a_bool_takes_a_byte():
    @T.prim_func
    def main(A: T.Buffer((4096,), "float32"), C: T.Buffer((131072,), "bool")):
        P = T.allocate([4096], "float32", "global")
        P_1 = T.decl_buffer((4096,), "float32", data=P)
        for i in range(4096):
            P_1[i] = A[i]
        for i in range(4096):
            A[i] = P_1[4095 - i]
        Q = T.allocate([131072], "bool", "global")
        Q_1 = T.decl_buffer((131072,), "bool", data=Q)
        for i in range(131072):
            Q_1[i] = A[i % 4096] > T.float32(0)
        for i in range(131072):
            C[i] = Q_1[131071 - i]

    # the memory of P is 32 times smaller than Q: not 1 to 1, as bits would have it
    assert allocations(rewrite(main)) == [("float32", [32768])]
