"""Limits of devices: tir.analysis.verify_gpu_code."""

import pytest
import tenon
from tenon import tir
from tenon.script import tir as T


@T.prim_func
def kernel(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32")):
    bx = T.launch_thread("blockIdx.x", 64)
    tx = T.launch_thread("threadIdx.x", 32)
    T.launch_thread("threadIdx.y", 2)
    s = T.allocate([32], "float32", "shared")
    v = T.allocate([4], "float32", "local")
    S = T.Buffer((32,), data=s, scope="shared")
    V = T.Buffer((4,), data=v, scope="local")
    V[0] = A[bx, tx]
    S[tx] = V[0]
    B[bx, tx] = S[31 - tx]


@pytest.mark.parametrize(
    "name, used",
    [
        ("max_threads_per_block", 64),
        ("max_thread_x", 32),
        ("max_thread_y", 2),
        ("max_shared_memory_per_block", 128),
        ("max_local_memory_per_block", 16),
        ("max_kernels", 1),
    ],
)
def test_limits(name, used):
    assert tir.analysis.verify_gpu_code(kernel, {name: used})
    assert not tir.analysis.verify_gpu_code(kernel, {name: used - 1})


def test_all_at_once():
    limits = {"max_threads_per_block": 1024, "max_thread_z": 1, "max_vthread": 1}
    assert tir.analysis.verify_gpu_code(kernel, limits)
    assert tir.analysis.verify_gpu_code(kernel, {})


def test_vectors():
    @T.prim_func
    def vectors(A: T.Buffer((64,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        A[tx * 8 : tx * 8 + 8] = T.broadcast(T.float32(1), 8)

    assert tir.analysis.verify_gpu_code(vectors, {"max_vector_bytes": 32})
    assert not tir.analysis.verify_gpu_code(vectors, {"max_vector_bytes": 16})


def test_two_extents_of_an_axis():
    @T.prim_func
    def wrong(A: T.Buffer((64,), "float32")):
        bx = T.launch_thread("blockIdx.x", 1)
        with T.launch_thread("threadIdx.x", 8) as tx:
            A[tx + bx] = T.float32(0)
        with T.launch_thread("threadIdx.x", 16) as tx:
            A[tx + bx] = T.float32(1)

    assert not tir.analysis.verify_gpu_code(wrong, {})


def test_unknown_limit():
    with pytest.raises(ValueError, match="Invalid check item: max_fun"):
        tir.analysis.verify_gpu_code(kernel, {"max_fun": 1})


def test_memory_of_the_host():
    func = kernel.with_attr("target", tenon.target.Target("cuda"))
    assert tir.analysis.verify_memory(func)
