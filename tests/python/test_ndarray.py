"""Arrays on devices."""

import copy
import pickle

import numpy as np
import pytest
import tenon
from tenon import nd
from tenon._ffi.runtime_ctypes import TVMArray

DTYPES = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 bool".split()


@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip_keeps_dtype_and_content(dtype):
    source = np.arange(12).reshape(3, 4).astype(dtype)
    array = nd.array(source)
    assert (array.shape, array.dtype, array.ndim) == ((3, 4), dtype, 2)
    assert array.device == tenon.cpu(0) and not array.is_view
    back = array.numpy()
    assert back.dtype == source.dtype and (back == source).all()
    back[:] = 0  # a copy: the array does not change
    assert (array.asnumpy() == source).all()


def test_lists_follow_numpy():
    assert nd.array([1, 2]).dtype == "int64" and nd.array([1.0]).dtype == "float64"
    assert nd.array(3.5).shape == () and nd.array([]).shape == (0,)
    assert nd.array([True]).dtype == "bool"


def test_what_is_no_array():
    with pytest.raises(AttributeError):
        nd.array(tenon.runtime.convert([1, 2]))
    with pytest.raises(TypeError, match="not supported"):
        nd.array(np.array(["text"]))
    with pytest.raises(TypeError):
        nd.array(np.array([object()]))
    with pytest.raises(TypeError, match="array_like"):
        nd.empty((2,)).copyfrom("text")


def test_layouts_are_made_compact():
    source = np.arange(24.0).reshape(4, 6)
    for view in (source[::2, 1::2], source.T, source[::-1]):
        array = nd.array(view)
        assert array.shape == view.shape and (array.numpy() == view).all()
    swapped = source.astype(">f8")
    assert (nd.array(swapped).numpy() == source).all()


def test_empty_shapes():
    for shape in (3, [3], (3,), tenon.tir.IntImm("int32", 3), np.int64(3), (np.int32(3),)):
        assert nd.empty(shape).shape == (3,)
    assert nd.empty((tenon.tir.IntImm("int32", 2), 3), "int8").shape == (2, 3)
    array = nd.empty((2, 3), dtype=np.float16)
    assert array.dtype == "float16"
    assert nd.empty((), "bool").numpy().shape == ()
    assert nd.empty((4 / 2,)).shape == (2,)
    with pytest.raises(ValueError):
        nd.empty((-1,))
    for shape in ((1.5,), "abc", None, (None,)):
        with pytest.raises(TypeError, match="shape: expected an integer or a sequence"):
            nd.empty(shape)
    with pytest.raises(ValueError, match="unknown data type"):
        nd.empty((1,), "floot32")


def test_copyfrom_converts_elements_and_checks_the_shape():
    array = nd.empty((2, 2), "float32")
    assert array.copyfrom(np.array([[1, 2], [3, 4]], "int64")) is array
    assert array.numpy().tolist() == [[1, 2], [3, 4]]
    array.copyfrom([[5, 6], [7, 8]])
    assert array.numpy()[1, 1] == 8
    with pytest.raises(ValueError, match=r"\(4,\) vs \(2, 2\)"):
        array.copyfrom(np.zeros(4))
    with pytest.raises(ValueError, match="int32.*float32|float32.*int32"):
        array.copyfrom(nd.empty((2, 2), "int32"))
    with pytest.raises(ValueError):
        array.copyfrom(nd.empty((3,), "float32"))


def test_copyto():
    source = nd.array([1.0, 2.0])
    target = nd.empty((2,), "float64")
    assert source.copyto(target) is target and target.numpy().tolist() == [1, 2]
    other = source.copyto(tenon.cpu(0))
    assert not other.same_as(source) and other.numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="Unsupported target type"):
        source.copyto([0, 0])


def test_writing_elements():
    array = nd.array(np.zeros((2, 3), "float32"))
    array[:] = 7
    assert (array.numpy() == 7).all()
    array[...] = np.arange(6).reshape(2, 3)
    array[1] = [9, 9, 9]
    assert array.numpy().tolist() == [[0, 1, 2], [9, 9, 9]]
    array[:] = nd.array(np.ones((2, 3), "float32"))
    assert (array.numpy() == 1).all()
    array[:] = array
    with pytest.raises(ValueError):
        array[:] = np.zeros((3, 2))


def test_parts_share_memory():
    array = nd.array(np.arange(12, dtype="int16").reshape(3, 4))
    assert array[1].numpy().tolist() == [4, 5, 6, 7] and array[-1].shape == (4,)
    part = array[1:3]
    assert part.shape == (2, 4)
    part[:] = 0
    assert array.numpy()[1:].sum() == 0 and array.numpy()[0].sum() == 6
    assert array[2:2].shape == (0, 4)
    for index in (3, -4):
        with pytest.raises(IndexError):
            array[index]
    with pytest.raises(ValueError, match="step 1"):
        array[::2]
    with pytest.raises(IndexError):
        nd.array(1.0)[0]


def test_views():
    array = nd.array(np.arange(8, dtype="uint8"))
    view = array._create_view((2,), "uint16", relative_byte_offset=4)
    assert view.dtype == "uint16" and view.numpy().tolist() == [0x0504, 0x0706]
    with pytest.raises(ValueError):
        array._create_view((3,), "uint32")


def test_numpy_shares_memory_where_asked_to():
    array = nd.array(np.zeros((2, 2), "float32"))
    shared = np.asarray(array)
    shared[0, 1] = 5
    assert array.numpy()[0, 1] == 5
    other = np.from_dlpack(array)
    other[1, 1] = 6
    assert array.numpy()[1, 1] == 6
    source = np.arange(3.0)
    taken = nd.from_dlpack(source)
    source[0] = 42
    assert taken.numpy()[0] == 42


def test_dlpack_capsules_work_once():
    array = nd.array([1.0, 2.0])
    capsule = array.to_dlpack()
    assert nd.from_dlpack(capsule).numpy().tolist() == [1, 2]
    with pytest.raises(ValueError):
        nd.from_dlpack(capsule)
    assert array.__dlpack_device__() == (1, 0)


def test_bfloat16_rounds_to_nearest_even():
    array = nd.empty((4,), "bfloat16")
    array.copyfrom(np.array([1, 1 + 2**-8, 1 + 3 * 2**-8, 3.0e38], "float32"))
    assert array.numpy().dtype == "uint16"
    assert array.numpy().tolist()[:3] == [0x3F80, 0x3F80, 0x3F82]
    array.copyfrom(np.array([1, 2, 3, 4], "uint16"))  # bits
    assert array.numpy().tolist() == [1, 2, 3, 4]
    array.copyfrom(np.zeros(4))  # float64
    assert array.numpy().sum() == 0


def test_float16_rounds_to_nearest_even():
    array = nd.empty((2,), "float16")
    array.copyfrom(np.array([1 + 2**-11, 1 + 3 * 2**-11], "float32"))
    assert array.numpy().tolist() == [1.0, 1 + 2**-9]


@pytest.mark.parametrize("dtype, values", [("int4", [-8, 7, -1]), ("uint4", [15, 0, 8])])
def test_four_bit_integers(dtype, values):
    array = nd.empty((3,), dtype)
    array.copyfrom(np.array(values))
    assert array.numpy().tolist() == values and array.dtype == dtype
    with pytest.raises(ValueError):
        array.copyfrom(np.array([99, 0, 0]))


def test_vector_types():
    array = nd.empty((2,), "float32x4")
    array.copyfrom(np.arange(8).reshape(2, 4))
    assert array.shape == (2,) and array.numpy().shape == (2, 4)
    assert array.numpy()[1, 3] == 7


def test_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    source = np.array([1.5, -2], ml_dtypes.bfloat16)
    array = nd.array(source)
    assert array.dtype == "bfloat16" and (array.numpy() == source.view("uint16")).all()


def test_identity_text_and_handles():
    array = nd.array([1, 2])
    again = tenon.testing.echo(array)
    assert again.same_as(array) and again == array and array != nd.array([1, 2])
    assert hash(again) == hash(array)
    assert str(array) == "[1 2]"
    assert repr(array).startswith("<tenon.nd.NDArray shape=(2,), cpu(0)>\narray([1, 2])")
    assert array.handle.value == again.handle.value and array.handle is not again.handle


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_pickle_keeps_the_content(again):
    array = nd.array(np.arange(6, dtype="float16").reshape(2, 3))
    other = again(array)
    assert other.dtype == "float16" and (other.numpy() == array.numpy()).all()


def test_arguments_of_callbacks():
    def check(x):
        assert isinstance(x, nd.NDArray) and not x.is_view
        return tenon.testing.object_use_count(x)

    array = nd.array([1, 2])
    assert tenon.runtime.convert(check)(array) == 2
    assert tenon.testing.object_use_count(array) == 1
    assert tenon.runtime.convert(lambda x: x.numpy().tolist())(np.arange(3)) is not None


def test_numpyasarray_describes_memory():
    source = np.arange(6, dtype="int32").reshape(2, 3)
    description, shape = nd.numpyasarray(source)
    assert isinstance(description, TVMArray) and list(shape) == [2, 3]
    assert description.ndim == 2 and description.dtype.bits == 32
    assert description.data == source.ctypes.data
    with pytest.raises(ValueError, match="contiguous"):
        nd.numpyasarray(source.T)


def test_torch_shares_memory():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(4, dtype=torch.float32)
    array = nd.from_dlpack(tensor)
    tensor[0] = 9
    assert array.numpy()[0] == 9
    assert torch.from_dlpack(array)[0] == 9


def test_parameters(tmp_path):
    params = {"w": nd.array(np.ones((2, 2), "float32")), "b": np.zeros(3, "int8")}
    data = tenon.runtime.save_param_dict(params)
    assert isinstance(data, bytearray)
    for given in (data, bytes(data)):
        loaded = tenon.runtime.load_param_dict(given)
        assert list(loaded) == ["w", "b"] and loaded["w"].numpy().sum() == 4
        assert loaded["b"].dtype == "int8"
    path = tmp_path / "params.bin"
    tenon.runtime.save_param_dict_to_file(params, path)
    assert path.read_bytes() == data
    assert tenon.runtime.load_param_dict_from_file(path)["b"].shape == (3,)
    with pytest.raises(ValueError, match="Invalid parameters file format"):
        tenon.runtime.load_param_dict(b"nothing")
    with pytest.raises(TypeError, match="expected bytes"):
        tenon.runtime.load_param_dict(5)
    with pytest.raises(OSError):
        tenon.runtime.load_param_dict_from_file(tmp_path / "missing")
