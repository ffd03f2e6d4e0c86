"""Devices and data types."""

import pickle

import pytest
import tenon
from tenon import Device


@pytest.mark.parametrize(
    "name, kind",
    [
        ("cpu", 1),
        ("llvm", 1),
        ("c", 1),
        ("stackvm", 1),
        ("cuda", 2),
        ("nvptx", 2),
        ("opencl", 4),
        ("cl", 4),
        ("vulkan", 7),
        ("metal", 8),
        ("vpi", 9),
        ("rocm", 10),
        ("ext_dev", 12),
        ("webgpu", 15),
        ("hexagon", 16),
    ],
)
def test_names(name, kind):
    device = tenon.device(name, 2)
    assert (device.device_type, device.device_id) == (kind, 2)
    assert isinstance(device, Device) and device == Device(kind, 2)


def test_text_forms():
    assert tenon.device("cuda:3") == tenon.cuda(3)
    assert tenon.device("llvm -mcpu=skylake") == tenon.cpu(0)
    assert tenon.device(4, 1) == tenon.opencl(1)
    assert str(tenon.cuda(3)) == repr(tenon.cuda(3)) == "cuda(3)"
    assert str(Device(2 * 128 + 1, 0)) == "remote[1]:cpu(0)"
    for text in ("cuda:", "cuda:x", ":3", "", "nothing"):
        with pytest.raises(ValueError):
            tenon.device(text)
    with pytest.raises(TypeError, match="name or number of a type, got NoneType"):
        tenon.device(None)
    with pytest.raises(ValueError, match="Invalid device id"):
        tenon.device("cuda", "first")


@pytest.mark.parametrize(
    "name",
    "cpu cuda gpu rocm opencl cl metal mtl vpi vulkan ext_dev micro_dev hexagon webgpu".split(),
)
def test_functions(name):
    make = getattr(tenon, name)
    assert make.__name__ == name and make.__doc__
    assert make(7).device_id == 7 and make().device_id == 0
    assert getattr(tenon.nd, name) is make


def test_equality_hash_and_pickle():
    assert tenon.cuda(7) == tenon.cuda(7) != tenon.cuda(6)
    assert len({tenon.cpu(0), tenon.cpu(0), tenon.cuda(0)}) == 2
    assert pickle.loads(pickle.dumps(tenon.cuda(1))) == tenon.cuda(1)
    assert tenon.cpu(0) != "cpu"


def test_attributes_of_the_cpu():
    cpu = tenon.cpu(0)
    assert cpu.exist is True
    assert Device.kDLCPU == 1 and Device.STR2MASK["cuda"] == 2 and Device.MASK2STR[1] == "cpu"
    for name in (
        "max_threads_per_block warp_size max_shared_memory_per_block compute_version device_name "
        "max_clock_rate multi_processor_count max_thread_dimensions api_version driver_version "
        "l2_cache_size_bytes total_global_memory available_global_memory"
    ).split():
        getattr(cpu, name)  # None where a CPU has no such thing, but never an error
    cpu.sync()
    cpu.sync(None)


def test_a_device_that_is_not_there():
    device = tenon.vpi(0)
    assert device.exist is False
    with pytest.raises(tenon.error.DeviceError):
        tenon.nd.empty((1,), device=device)


def test_streams_of_the_cpu():
    cpu = tenon.cpu(0)
    stream = cpu.create_raw_stream()
    cpu.set_raw_stream(stream)
    cpu.sync_raw_stream(stream)
    cpu.sync(stream)
    cpu.set_raw_stream(None)
    cpu.free_raw_stream(stream)


def test_data_types():
    t = tenon.DataType("float32x4")
    assert (t.type_code, t.bits, t.lanes) == (tenon.DataTypeCode.FLOAT, 32, 4)
    assert str(t) == "float32x4" and t == "float32x4" and t == tenon.DataType("float32x4")
    assert t.itemsize() == 16 and tenon.DataType("int4").itemsize() == 1
    assert tenon.DataType("handle").type_code == tenon.DataTypeCode.HANDLE
    assert len({tenon.DataType("int8"), tenon.DataType("int8")}) == 1
    assert pickle.loads(pickle.dumps(t)) == t
    for text in ("floot32", "x4", "int8x", "int8x0", "int8 "):
        with pytest.raises(ValueError):
            tenon.DataType(text)
