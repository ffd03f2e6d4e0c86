"""Python functions called from the library, references held on the way."""

import gc
import os
import resource
import weakref

import pytest
from tenon import _core

count = _core.use_count


def a_node():
    return _core.convert_to_object([])


def test_a_callable_is_a_function_and_stays_one():
    def f(x):
        return x

    g = _core.convert_to_object(f)
    assert isinstance(g, _core.Function)
    h = _core.Function(lambda y: y)(g)  # through a callback
    assert isinstance(h, _core.Function) and h is not g and h.same_as(g)
    assert h(5) == 5


def test_functions_that_return_functions():
    add = _core.Function(lambda y: lambda x: x + y)
    assert add(10)(11) == 21


def test_results_of_callbacks():
    results = [1, 2.5, "s", None, True, b"b", [1], {"k": "v"}, _core.Device(1, 0)]
    f = _core.Function(lambda i: results[i])
    assert f(0) == 1 and f(1) == 2.5 and f(2) == "s" and f(3) is None and f(4) is True
    assert f(5) == bytearray(b"b") and f(6)[0].value == 1 and f(7)["k"] == "v"
    assert f(8) == _core.Device(1, 0)


def test_nested_calls():
    def down(n, f):
        return n if n == 0 else f(n - 1, f) + 1

    f = _core.Function(down)
    assert f(50, f) == 50


def test_endless_recursion_is_an_error():
    f = _core.Function(lambda g: g(g))
    with pytest.raises(RecursionError):
        f(f)


def test_objects_in_callbacks_hold_one_reference():
    x = a_node()

    def check(y, expected):
        assert y is not x and y.same_as(x)
        assert count(y) == expected
        return y

    f = _core.Function(check)
    assert count(x) == 1
    f(x, 2)
    assert count(x) == 1
    y = f(x, 2)
    assert count(x) == 2
    del y
    assert count(x) == 1


def test_rvalue_references_move():
    seen = []

    def check(y, expected):
        assert count(y) == expected
        seen.append(y.handle.value)
        return y

    f = _core.Function(check)
    x = a_node()
    address = x.handle.value
    y = f(x._move(), 1)
    assert x.handle.value is None and y.handle.value == address == seen[0]
    z = f(y, 2)
    w = f(y._move(), 2)
    assert y.handle.value is None and w.same_as(z) and count(z) == 2


def test_a_moved_wrapper_is_empty():
    x = a_node()
    _core.Function(lambda y: None)(x._move())
    for use in (lambda: len(x), lambda: list(x), lambda: _core.Function(print)(x), x.__reduce__):
        with pytest.raises(ValueError, match="moved away"):
            use()
    assert "None" in repr(x) and count(x) == 0
    with pytest.raises(ValueError, match="moved away"):
        _core.Function(print)(x._move())


def test_an_rvalue_nobody_takes_stays():
    x = a_node()
    _core.get_global_func("testing.nop")(x._move())
    assert x.handle.value is not None and count(x) == 1


def test_echo_takes_an_rvalue():
    x = a_node()
    y = _core.get_global_func("testing.echo")(x._move())
    assert x.handle.value is None and count(y) == 1


def test_a_function_may_be_handed_to_itself():
    def run(g):
        del g
        gc.collect()
        return "ran"

    f = _core.Function(run)
    assert f(f._move()) == "ran"


def test_a_wrapper_takes_over_the_result_of_a_constructor():
    class Node(_core.Object):
        def __init__(self, items):
            self.__init_handle_by_constructor__(_core.get_global_func("testing.echo"), items)

    n = Node([1, 2])
    assert n.type_key == "Array" and count(n) == 1
    with pytest.raises(TypeError, match="returned no object"):
        Node(3)
    with pytest.raises(TypeError, match="expected a function"):
        n.__init_handle_by_constructor__(3)


def test_callables_are_let_go():
    class Callable:
        def __call__(self):
            return 1

    c = Callable()
    ref = weakref.ref(c)
    f = _core.Function(c)
    g = _core.convert_to_object([f, c])
    del c
    gc.collect()
    assert ref() is not None
    del f
    gc.collect()
    assert ref() is not None
    del g
    gc.collect()
    assert ref() is None


def test_wrappers_have_weak_references():
    x = a_node()
    ref = weakref.ref(x)
    assert ref() is x
    del x
    assert ref() is None


@pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="freed memory waits in quarantine"
)
def test_memory_stays_flat():
    f = _core.Function(lambda *a: a[0] if a else None)
    echo = _core.get_global_func("testing.echo")
    node = a_node()

    def work(n):
        for _ in range(n):
            echo([1, "two", {"k": 3.0}])
            f("some text", node, 2**40, b"bytes")
            echo(lambda: 1)
            echo(_core.DataType("int8"))
            try:
                echo(object())
            except TypeError:
                pass
            try:
                echo()
            except TypeError:
                pass

    work(3000)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work(20000)
    gc.collect()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert count(node) == 1
    assert grown < 3000, f"{grown} KiB more after 20,000 rounds"
