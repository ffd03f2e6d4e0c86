"""Arguments and results of calls through tenon._core."""

import ctypes
import enum
import gc

import numpy as np
import pytest
from tenon import _core

echo = _core.get_global_func("testing.echo")
nop = _core.get_global_func("testing.nop")


def received(*args):
    """The arguments as a Python callback sees them."""
    seen = []
    _core.Function(lambda *a: seen.extend(a))(*args)
    return seen


@pytest.mark.parametrize(
    "value",
    [0, 1, -1, 2**31, -(2**63), 2**63 - 1, 0.0, -2.5, float("inf"), "", "text", "ünïcödé", "a\0b"],
)
def test_plain_values_come_back_as_they_are(value):
    result = echo(value)
    assert result == value
    assert type(result) is type(value) or isinstance(result, str)


def test_none_and_truth_values():
    assert echo(None) is None
    assert echo(True) is True
    assert echo(False) is False


def test_nan_stays_nan():
    assert echo(float("nan")) != echo(float("nan"))


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**200])
def test_integers_beyond_64_bits_are_refused(value):
    with pytest.raises(ValueError, match="does not fit in 64 bits") as e:
        echo(1, value)
    assert e.value.__notes__ == ["in argument 1 of the call"]


def test_subclasses_of_numbers_and_text():
    class Colour(enum.IntEnum):
        RED = 3

    class Name(str):
        pass

    class Ratio(float):
        pass

    assert echo(Colour.RED) == 3 and type(received(Colour.RED)[0]) is int
    assert echo(Name("x")) == "x"
    assert echo(Ratio(0.5)) == 0.5


@pytest.mark.parametrize(
    "value, expected",
    [
        (np.int8(-3), -3),
        (np.uint16(65535), 65535),
        (np.int64(2**63 - 1), 2**63 - 1),
        (np.float16(0.5), 0.5),
        (np.float32(0.5), 0.5),
        (np.float64(0.1), 0.1),
        (np.bool_(True), True),
        (np.bool_(False), False),
    ],
)
def test_numpy_scalars(value, expected):
    result = echo(value)
    assert result == expected and type(result) is type(expected)


def test_numpy_integer_beyond_64_bits():
    with pytest.raises(ValueError, match="does not fit"):
        echo(np.uint64(2**63))


def test_objects_with_index():
    class Seven:
        def __index__(self):
            return 7

    assert echo(Seven()) == 7


def test_text_is_plain_in_callbacks_and_may_hold_any_bytes():
    (seen,) = received("plain")
    assert seen == "plain" and type(seen) is str
    odd = b"\xff\xfe".decode("utf-8", "surrogateescape")
    assert echo(odd) == odd


def test_lone_surrogates_are_refused():
    with pytest.raises(UnicodeEncodeError):
        echo("\ud800")


@pytest.mark.parametrize("value", [b"", b"abc\0d", bytearray(b"xyz"), memoryview(b"mem")])
def test_bytes_arrive_as_bytearray(value):
    (seen,) = received(value)
    assert type(seen) is bytearray and seen == bytes(value)
    assert echo(value) == bytes(value)


def test_bytearray_may_change_during_the_call():
    data = bytearray(b"before")

    def grow(seen):
        data.extend(b"x" * 10000)
        return bytes(seen)

    assert _core.Function(grow)(data) == b"before"


def test_handles():
    p = ctypes.c_void_p(0x1234)
    assert echo(p).value == 0x1234
    assert echo(ctypes.c_void_p()) is None


def test_devices_and_types():
    d = _core.Device(2, 7)
    assert echo(d) == d and echo(d) != _core.Device(2, 6)
    assert hash(d) == hash(_core.Device(2, 7))
    assert (d.device_type, d.device_id) == (2, 7)
    (seen,) = received(_core.DataType("float32x4"))
    assert isinstance(seen, _core.DataType)
    assert (seen.type_code, seen.bits, seen.lanes) == (2, 32, 4)
    assert seen == "float32x4" and hash(seen) == hash("float32x4") and str(seen) == "float32x4"
    assert echo(seen) == "float32x4" and type(echo(seen)) is str  # as fields have it
    assert received(np.dtype("int8"))[0] == "int8"
    with pytest.raises(ValueError, match="flaot32"):
        _core.DataType("flaot32")
    with pytest.raises(AttributeError):
        d.device_id = 3


def test_lists_tuples_and_dicts_become_containers():
    x = object.__new__  # a builtin callable
    (a,) = received([1, "two", 3.0, None, [True], {"k": (1, 2)}, x])
    assert isinstance(a, _core.Array) and len(a) == 7
    assert a[0].value == 1 and a[1] == "two" and a[2].value == 3.0 and a[3] is None
    assert a[4][0].value == 1
    assert a[5]["k"][1].value == 2
    assert isinstance(a[6], _core.Function)
    assert tuple(received(())[0]) == ()


def test_a_list_that_holds_itself_is_an_error():
    a = []
    a.append(a)
    with pytest.raises(RecursionError):
        echo(a)


def test_unknown_values_are_refused():
    class Odd:
        pass

    with pytest.raises(TypeError, match="cannot pass a value of type .*Odd"):
        echo(Odd())
    with pytest.raises(TypeError, match="Odd"):
        echo([1, {"x": Odd()}])
    with pytest.raises(TypeError):
        echo({1, 2})


def test_a_class_may_learn_to_be_callable():
    class Late:
        pass

    with pytest.raises(TypeError):
        echo(Late())
    Late.__call__ = lambda self, x: x + 1
    assert echo(Late())(1) == 2


def test_asobject_stands_for_the_object():
    class Slice:
        def asobject(self):
            return [1, 2]

    assert [x.value for x in echo(Slice())] == [1, 2]


def test_failing_conversions_of_arguments():
    class Bad:
        def __index__(self):
            raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        nop(1, "x", [1], Bad())


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 20, 300])
def test_any_number_of_arguments(n):
    assert received(*range(n)) == list(range(n))


def test_no_keyword_arguments():
    with pytest.raises(TypeError, match="keyword"):
        nop(x=1)
    assert nop(**{}) is None


def test_functions_are_callable_in_every_way():
    f = _core.Function(lambda *a: a[0] + a[1])
    assert f(1, 2) == 3
    assert f(*(1, 2)) == 3
    assert list(map(f, [1, 2], [3, 4])) == [4, 6]
    assert f.__call__(1, 2) == 3


def test_wrong_number_and_type_of_arguments():
    with pytest.raises(TypeError, match="expected 1 argument, got 0"):
        echo()
    with pytest.raises(TypeError, match="expected Device, got int"):
        _core.get_global_func("testing.device_test")(1, 2, 3)


def test_registry():
    name = "test_core.registry"

    @lambda f: _core.register_global_func(name, f)
    def triple(x):
        return 3 * x

    assert triple(1) == 3
    assert _core.get_global_func(name)(2) == 6
    assert name in _core.list_global_func_names()
    with pytest.raises(RuntimeError, match=f"Global PackedFunc {name} is already registered"):
        _core.register_global_func(name, triple)
    _core.register_global_func(name, lambda x: 4 * x, override=True)
    assert _core.get_global_func(name)(2) == 8
    _core.register_global_func(name, _core.get_global_func("testing.echo"), True)
    assert _core.get_global_func(name)("same") == "same"
    _core.remove_global_func(name)
    assert _core.get_global_func(name) is None
    with pytest.raises(KeyError, match=name):
        _core.remove_global_func(name)
    with pytest.raises(TypeError, match="callable"):
        _core.register_global_func(name, 3)


def test_registering_lets_go_of_the_function_replaced():
    class Callable:
        alive = 0

        def __init__(self):
            Callable.alive += 1

        def __del__(self):
            Callable.alive -= 1

        def __call__(self):
            return 1

    for _ in range(5):
        _core.register_global_func("test_core.replaced", Callable(), True)
    assert Callable.alive == 1
    _core.remove_global_func("test_core.replaced")
    gc.collect()
    assert Callable.alive == 0


def test_release_gil_is_of_the_wrapper():
    f = _core.get_global_func("testing.echo")
    assert f.release_gil is False
    f.release_gil = True
    assert f([1, "x"])[1] == "x"
    assert _core.get_global_func("testing.echo").release_gil is False
