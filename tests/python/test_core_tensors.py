"""Tensors: attributes, buffers, DLPack, other libraries' tensors as arguments."""

import copy
import ctypes
import gc
import hashlib
import pickle
import weakref

import numpy as np
import pytest
from tenon import _core

CPU = _core.Device(1, 0)
DTYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bool".split()
make_empty = _core.get_global_func("runtime.TensorEmpty")
echo = _core.get_global_func("testing.echo")


def empty(shape, dtype="float32"):
    return make_empty(dtype, CPU, None, *shape)


def test_attributes():
    t = empty((2, 3, 4), "int16")
    assert t.shape == (2, 3, 4) and t.dtype == "int16" and t.ndim == 3
    assert type(t.shape) is tuple and type(t.dtype) is str
    assert t.device == CPU and t.is_view is False and t.type_key == "runtime.NDArray"
    assert "(2, 3, 4)" in repr(t) and "int16" in repr(t)
    assert empty(()).shape == () and empty((0, 3)).shape == (0, 3)
    for name in ("shape", "dtype", "is_view"):
        with pytest.raises(AttributeError):
            setattr(t, name, 1)
    assert echo(t).same_as(t)
    assert t != empty((2, 3, 4), "int16") and t == echo(t) and len({t, echo(t)}) == 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_buffers_both_ways(dtype):
    a = np.array([[0, 1, 1], [1, 0, 0]], dtype)
    t = _core.from_buffer(a)
    assert t.dtype == dtype and t.shape == (2, 3)
    b = np.asarray(memoryview(t))
    assert b.dtype == a.dtype and (b == a).all() and b.flags.writeable and b.flags.c_contiguous
    b[0, 0] = 1
    assert np.asarray(memoryview(t))[0, 0] == 1 and a[0, 0] == 0  # t's memory, not a's


def test_buffers_keep_the_tensor():
    t = empty((4,), "int32")
    m = memoryview(t)
    m[0] = 5
    assert _core.use_count(t) == 2
    _core.Function(lambda x: None)(t._move())
    assert t.handle.value is None and m[0] == 5  # the tensor outlives its wrapper
    m.release()


@pytest.mark.parametrize(
    "view",
    [np.s_[::2, ::-1], np.s_[:, 1:3], np.s_[1, :], np.s_[:, :, None], np.s_[0:0], np.s_[...]],
)
def test_strided_buffers(view):
    a = np.arange(24.0).reshape(4, 6)[view]
    t = _core.from_buffer(a)
    assert t.shape == a.shape and (np.asarray(memoryview(t)) == a).all()
    d = _core.from_dlpack(a)  # shares a's memory
    assert d.shape == a.shape and (np.asarray(memoryview(d)) == a).all()
    if not a.flags.c_contiguous:
        with pytest.raises(BufferError, match="not compact"):
            hashlib.sha256(d)


def test_what_consumers_of_buffers_may_ask():
    t = _core.from_buffer(np.arange(6, dtype="int8").reshape(2, 3))
    assert bytes(t) == bytes(range(6))
    m = memoryview(t)
    assert m.format == "b" and m.shape == (2, 3) and m.strides == (3, 1) and not m.readonly
    assert m.c_contiguous and not m.f_contiguous and m.nbytes == 6
    assert memoryview(empty((3,))).f_contiguous
    assert ctypes.c_char.from_buffer(t).value == b"\0"
    assert bytes(empty((0,))) == b""


def test_vector_types_have_one_more_dimension():
    m = memoryview(empty((2, 3), "float32x4"))
    assert m.shape == (2, 3, 4) and m.strides == (48, 16, 4) and m.nbytes == 96


@pytest.mark.parametrize("dtype", ["bfloat16", "int4"])
def test_types_without_a_buffer_format(dtype):
    with pytest.raises(BufferError, match=dtype):
        memoryview(empty((2,), dtype))


def test_buffers_that_are_refused():
    with pytest.raises(TypeError):
        _core.from_buffer(3)
    with pytest.raises(TypeError, match="format"):
        _core.from_buffer(np.zeros(3, "complex64"))
    with pytest.raises(TypeError, match="format"):
        _core.from_buffer(np.zeros(3, ">i4"))
    odd = np.zeros(3, np.dtype([("a", "i1"), ("b", "i4")]))["b"]  # 5 bytes apart
    with pytest.raises(ValueError, match="copy the array"):
        _core.from_buffer(odd)


def test_other_buffers():
    assert _core.from_buffer(b"abc").shape == (3,)
    assert _core.from_buffer(bytearray(4)).dtype == "uint8"
    c = (ctypes.c_double * 3)(1, 2, 3)
    assert memoryview(_core.from_buffer(c)).tolist() == [1, 2, 3]


# ---- DLPack ----


def test_capsules_share_memory_and_are_used_once():
    a = np.random.randn(3, 5)
    t = _core.from_buffer(a)
    capsule = t.to_dlpack()
    assert "dltensor" in repr(capsule)
    u = _core.from_dlpack(capsule)
    assert "used_dltensor" in repr(capsule)
    np.asarray(memoryview(u))[0, 0] = 9
    assert np.asarray(memoryview(t))[0, 0] == 9
    with pytest.raises(ValueError, match="only once"):
        _core.from_dlpack(capsule)
    assert _core.use_count(t) == 2
    del u
    assert _core.use_count(t) == 1


def test_capsules_nobody_took_are_given_back():
    t = empty((2,))
    for capsule in (t.to_dlpack(), t.__dlpack__(), t.__dlpack__(max_version=(1, 0))):
        assert _core.use_count(t) > 1
        del capsule
    gc.collect()
    assert _core.use_count(t) == 1


def test_versioned_capsules():
    t = empty((2, 3))
    assert "dltensor_versioned" in repr(t.__dlpack__(max_version=(1, 1)))
    assert "dltensor_versioned" not in repr(t.__dlpack__(max_version=(0, 8)))
    u = _core.from_dlpack(t.__dlpack__(max_version=(1, 5)))
    assert u.shape == (2, 3) and not u.same_as(t)
    assert t.__dlpack_device__() == (1, 0)


def test_requests_of_consumers():
    t = _core.from_buffer(np.arange(3))
    c = _core.from_dlpack(t.__dlpack__(copy=True, max_version=(1, 0)))
    np.asarray(memoryview(c))[0] = 7
    assert np.asarray(memoryview(t))[0] == 0
    assert _core.from_dlpack(t.__dlpack__(dl_device=(1, 0), copy=False)).shape == (3,)
    with pytest.raises(BufferError, match="another device"):
        t.__dlpack__(dl_device=(2, 0), copy=False)
    for bad in ({"max_version": 1}, {"dl_device": 3}, {"max_version": ("a", "b")}):
        with pytest.raises(TypeError):
            t.__dlpack__(**bad)


def test_what_is_no_tensor():
    for bad in (3, "x", object(), [1, 2]):
        with pytest.raises(TypeError, match="__dlpack__"):
            _core.from_dlpack(bad)

    class Liar:
        def __dlpack__(self, **kwargs):
            return 3

    with pytest.raises(TypeError, match="no capsule"):
        _core.from_dlpack(Liar())

    class Old:
        def __dlpack__(self, stream=None):
            return empty((4,)).to_dlpack()

    assert _core.from_dlpack(Old()).shape == (4,)
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype = ctypes.py_object
    new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    with pytest.raises(ValueError, match="expected a capsule"):
        _core.from_dlpack(new_capsule(1, b"something else", None))


def test_the_producer_stays_alive():
    a = np.arange(5)
    ref = weakref.ref(a)
    t = _core.from_dlpack(a)
    del a
    gc.collect()
    assert ref() is not None and memoryview(t).tolist() == [0, 1, 2, 3, 4]
    del t
    gc.collect()
    assert ref() is None


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_reads_dlpack(dtype):
    a = np.array([0, 1, 1], dtype)
    b = np.from_dlpack(_core.from_buffer(a))
    assert b.dtype == a.dtype and (b == a).all()
    assert _core.from_dlpack(a).dtype == dtype


def test_read_only_arrays_stay_read_only():
    a = np.arange(3)
    a.flags.writeable = False
    try:
        t = _core.from_dlpack(a)
    except BufferError:
        pytest.skip("this numpy exports no read-only arrays")
    assert memoryview(t).readonly
    with pytest.raises(TypeError, match="not writable"):
        ctypes.c_char.from_buffer(t)
    with pytest.raises(ValueError, match="read-only"):
        t.to_dlpack()


def test_numpy_arrays_as_arguments_are_shared():
    a = np.zeros(3)

    def write(t):
        np.asarray(memoryview(t))[1] = 5

    _core.Function(write)(a)
    assert a[1] == 5


def test_any_alignment_is_fine():
    raw = np.arange(64, dtype="uint8")[3 : 3 + 32].view("float32")
    t = _core.from_dlpack(raw)
    assert (np.asarray(memoryview(t)) == raw).all() or np.isnan(raw).any()


# ---- references and copies ----


def test_counts_in_callbacks():
    t = empty((3,))

    def check(x):
        assert not x.is_view and _core.use_count(x) == 2

    _core.Function(check)(t)
    assert _core.use_count(t) == 1


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_pickle_and_deepcopy(dtype):
    t = empty((2, 3), dtype)
    for u in (pickle.loads(pickle.dumps(t)), copy.deepcopy(t)):
        assert u.shape == (2, 3) and u.dtype == dtype and not u.same_as(t)
        if dtype != "bfloat16":
            assert bytes(u) == bytes(t)


def test_containers_of_tensors():
    t = empty((3,))
    a = _core.convert_to_object([t, {"t": t}])
    assert a[0].same_as(t) and a[1]["t"].same_as(t)
    assert _core.convert_to_object([np.zeros((2, 2))])[0].shape == (2, 2)


def test_classes_that_are_not_tensors():
    class Fake(_core.Tensor):
        __slots__ = ()

    f = Fake()
    for use in (lambda: f.shape, lambda: memoryview(f), f.to_dlpack):
        with pytest.raises(ValueError, match="never made"):
            use()
    f.__init_handle_by_constructor__(echo, [1])
    for use in (lambda: f.shape, lambda: memoryview(f), f.__dlpack__, f.__dlpack_device__):
        with pytest.raises(TypeError, match="expected a tensor, got Array"):
            use()


# ---- torch ----


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def test_torch_tensors_are_lent_for_the_call(torch):
    x = torch.arange(6.0).reshape(2, 3)
    kept = []

    def look(t):
        kept.append((t.is_view, t.shape, t.dtype))
        np.asarray(memoryview(t))[0, 0] = 42

    _core.Function(look)(x)
    assert kept == [(True, (2, 3), "float32")] and x[0, 0] == 42


def test_torch_layouts_and_types(torch):
    f = _core.Function(lambda t: [list(t.shape), t.dtype, np.asarray(memoryview(t)).sum().item()])
    shape, dtype, total = f(torch.arange(6, dtype=torch.int64).reshape(2, 3).T)
    assert [n.value for n in shape] == [3, 2] and dtype == "int64" and total.value == 15
    assert f(torch.ones(4, dtype=torch.bool))[1] == "bool"
    assert f(torch.arange(10)[3:7])[2].value == 18
    assert f(torch.zeros(()))[0] == []


def test_torch_tensors_that_are_kept(torch):
    x = torch.zeros(3)
    a = _core.convert_to_object([x])[0]
    y = _core.Function(lambda: x)()
    assert not a.is_view and not y.is_view
    x[0] = 3
    assert memoryview(a)[0] == memoryview(y)[0] == 3
    with pytest.raises(TypeError, match="borrowed DLTensor"):
        echo(x)


def test_torch_round_trips(torch):
    import torch.utils.dlpack

    a = np.random.randn(7)
    t = _core.from_buffer(a)
    assert (torch.from_dlpack(t).numpy() == a).all()
    assert (torch.utils.dlpack.from_dlpack(t.to_dlpack()).numpy() == a).all()
    x = torch.rand(4, 4)
    u = _core.from_dlpack(torch.utils.dlpack.to_dlpack(x))
    v = _core.from_dlpack(x)
    x[0, 0] = 42
    assert memoryview(u)[0, 0] == memoryview(v)[0, 0] == 42


def test_torch_tensors_that_need_gradients(torch):
    x = torch.zeros(3, requires_grad=True)
    try:
        assert _core.Function(lambda t: t.dtype)(x) == "float32"
    except (BufferError, RuntimeError) as e:
        assert "grad" in str(e)


def test_tvm_ffi_takes_tensors_through_the_exchange_table():
    tvm_ffi = pytest.importorskip("tvm_ffi")
    t = _core.from_buffer(np.arange(4.0))
    back = tvm_ffi.get_global_func("testing.echo")(t)
    assert tuple(back.shape) == (4,)
    assert (np.from_dlpack(back) == np.arange(4.0)).all()
