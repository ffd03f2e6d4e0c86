"""Python values as objects and back."""

import ctypes

import ml_dtypes
import numpy as np
import pytest
import tenon
from tenon.runtime import convert


def test_scalars():
    three, half, yes = convert(3), convert(0.5), convert(True)
    assert (three.dtype, three.value) == ("int32", 3)
    assert (half.dtype, half.value) == ("float32", 0.5)
    assert (yes.dtype, yes.value) == ("bool", 1)
    assert isinstance(three, tenon.tir.IntImm) and isinstance(half, tenon.tir.FloatImm)
    assert convert(None) is None


def test_text():
    s = convert("abc")
    assert s == "abc" and isinstance(s, str) and isinstance(s, tenon.runtime.String)
    assert convert("nul\0inside é") == "nul\0inside é"
    assert tenon.runtime.String("xyz") + "1" == "xyz1"


def test_nested_containers():
    value = convert([[1, "two"], {"three": [3.0]}, None, ()])
    assert value[0][0].value == 1 and value[0][1] == "two"
    assert value[1]["three"][0].value == 3.0
    assert value[2] is None and len(value[3]) == 0


def test_functions_and_arrays_in_containers():
    array = tenon.nd.array([1, 2, 3])
    value = convert({"f": lambda x: x + 1, "a": [array, array]})
    assert value["f"](41) == 42
    assert value["a"][0].same_as(array)


def test_objects_stay():
    x = tenon.tir.Var("x", "int32")
    assert convert(x).same_as(x)


def test_what_cannot_be_converted():
    with pytest.raises(TypeError, match="object"):
        convert(object())
    with pytest.raises(TypeError):
        convert([1, object()])


def test_generic_objects_stand_for_theirs():
    class Two(tenon.runtime.ObjectGeneric):
        def asobject(self):
            return convert(2)

    assert convert(Two()).value == 2
    assert convert([Two()])[0].value == 2
    with pytest.raises(NotImplementedError):
        tenon.runtime.ObjectGeneric().asobject()


def test_callbacks_see_plain_values():
    seen = []
    f = convert(lambda *args: seen.extend(args))
    f(1, 0.5, "text", True, None, b"bytes", bytearray(b"more"))
    assert seen == [1, 0.5, "text", True, None, bytearray(b"bytes"), bytearray(b"more")]
    assert [type(v) for v in seen[:4]] == [int, float, str, bool]
    assert type(seen[6]) is bytearray


def test_numpy_scalars_arrive_exactly():
    echo = tenon.testing.echo
    for value in (np.int64(2**63 - 1), np.int8(-5), np.uint16(65535), np.float64(1e300)):
        assert echo(value) == value.item()
    assert echo(np.bool_(True)) is True
    with pytest.raises(ValueError):
        echo(2**63)


def test_devices_types_and_handles():
    echo = tenon.testing.echo
    assert echo(tenon.cuda(3)) == tenon.cuda(3) and isinstance(echo(tenon.cpu()), tenon.Device)
    seen = []
    convert(seen.append)(tenon.DataType("float32x4"))
    assert isinstance(seen[0], tenon.DataType) and (seen[0].bits, seen[0].lanes) == (32, 4)
    handle = echo(ctypes.c_void_p(1234))
    assert handle.value == 1234


def test_const():
    const = tenon.runtime.const
    assert (const(1).dtype, const(1.5).dtype, const(True).dtype) == ("int32", "float32", "bool")
    assert const(1, "int8").dtype == "int8" and const(2**40).dtype == "int64"
    assert const(np.float64(2)).dtype == "float64"
    assert const(3, "float32").value == 3.0
    with pytest.raises((ValueError, tenon.TVMError)):
        const(300, "int8")
    big = const(2**63 + 5, "uint64")
    assert big.dtype == "uint64"
    with pytest.raises(NotImplementedError, match="type"):
        const("text")


def test_a_function_returns_functions():
    add = convert(lambda y: lambda x: convert(x + y))
    assert add(10)(11).value == 21
    assert isinstance(add(1), tenon.runtime.PackedFunc)


def test_rvalues_move():
    counts = []

    def note(x):
        counts.append(tenon.testing.object_use_count(x))
        return x

    f, x = convert(note), tenon.tir.Var("x", "int32")
    assert tenon.testing.object_use_count(x) == 1
    f(x)
    y = f(x._move())
    assert counts == [2, 1] and x.handle.value is None and y.handle.value is not None
    with pytest.raises(ValueError):
        f(x)


@pytest.mark.parametrize(
    "name, ours",
    [
        ("bfloat16", "bfloat16"),
        ("float8_e4m3fn", "e4m3_float8"),
        ("float8_e5m2", "e5m2_float8"),
    ],
)
def test_arrays_of_types_that_numpy_does_not_hand_out(name, ours):
    """numpy's arrays of ml_dtypes have no DLPack: their bits are shared."""
    a = np.array([1, -2, 0.5], getattr(ml_dtypes, name))
    t = tenon.runtime.convert(a)
    assert t.dtype == ours and t.shape == (3,)
    bits = a.view(f"uint{a.itemsize * 8}")
    again = tenon.nd.empty((3,), ours).copyfrom(a).numpy()
    assert (again.view(bits.dtype) == bits).all()
    a[0] = 4
    assert (t.numpy().view(bits.dtype) == bits).all()
    with pytest.raises(BufferError):
        tenon.runtime.convert(np.array(["text"]))


@pytest.mark.parametrize("kind", ["graph", "vm", "debug", "aot"])
def test_executors_take_bfloat16_of_numpy(kind):
    x = tenon.relay.var("x", shape=(3,), dtype="bfloat16")
    mod = tenon.IRModule.from_expr(tenon.relay.Function([x], tenon.relay.add(x, x)))
    f = tenon.relay.create_executor(kind, mod, tenon.cpu(), "llvm").evaluate()
    got = f(np.array([1, -2, 0.5], ml_dtypes.bfloat16)).numpy()
    want = np.array([2, -4, 1], ml_dtypes.bfloat16)
    assert got.view("uint16").tolist() == want.view("uint16").tolist()
