"""Errors across the boundary, both ways."""

import pickle
import traceback

import pytest
from tenon import _core

error_test = _core.get_global_func("testing.ErrorTest")
raise_text = _core.get_global_func("testing.test_raise_error_callback")
wrap = _core.get_global_func("testing.test_wrap_callback")


def frames(error):
    return [(f.filename, f.name) for f in traceback.extract_tb(error.__traceback__)]


def test_places_in_the_library_are_frames():
    with pytest.raises(ValueError, match="expect x and y to be equal, got 1 and 2") as e:
        error_test(1, 2)
    found = frames(e.value)
    assert found[-1] == ("src/runtime/testing/testing.c", "error_test")
    assert found[0][1] == "test_places_in_the_library_are_frames"
    text = "".join(traceback.format_exception(e.value))
    assert 'File "src/runtime/testing/testing.c", line ' in text


def test_frames_are_those_of_each_error():
    lines = []
    for args in ((1, 2), (1, 1), (1, 2)):
        with pytest.raises((ValueError, RuntimeError)) as e:
            error_test(*args)
        lines.append(traceback.extract_tb(e.value.__traceback__)[-1].lineno)
    assert lines[0] == lines[2] != lines[1]


@pytest.mark.parametrize(
    "text, cls, message",
    [
        ("ValueError: bad", ValueError, "bad"),
        ("TypeError: bad: worse", TypeError, "bad: worse"),
        ("KeyError: k", KeyError, "k"),
        ("AttributeError: a", AttributeError, "a"),
        ("NotImplementedError: n", NotImplementedError, "n"),
        ("just text", RuntimeError, "just text"),
        ("InternalError: broken", RuntimeError, "broken"),
    ],
)
def test_the_class_is_named_by_the_text(text, cls, message):
    with pytest.raises(cls) as e:
        raise_text(text)()
    assert message in str(e.value)


def test_names_that_are_no_exceptions_are_not_called():
    for text in ("print: x", "int: x", "object: x", "NoSuchThing: x"):
        with pytest.raises(RuntimeError, match="x"):
            raise_text(text)()


def test_classes_can_be_set():
    class MyCoreError(LookupError):
        pass

    _core.set_error_class("MyCoreError", MyCoreError)
    with pytest.raises(MyCoreError, match="found nothing"):
        raise_text("MyCoreError: found nothing")()
    with pytest.raises(TypeError):
        _core.set_error_class("X", int)


def test_a_class_with_another_constructor_does_not_lose_the_error():
    class Picky(Exception):
        def __init__(self, a, b, c):
            super().__init__(a)

    _core.set_error_class("PickyCoreError", Picky)
    with pytest.raises(RuntimeError, match="the message"):
        raise_text("PickyCoreError: the message")()


class Custom(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)
        self.detail = b


def test_a_python_exception_comes_back_as_itself():
    raised = Custom("through", 42)

    def boom():
        raise raised

    for f in (_core.Function(boom), wrap(boom), wrap(wrap(boom))):
        with pytest.raises(Custom) as e:
            f()
        assert e.value is raised and e.value.detail == 42
        names = [name for _, name in frames(e.value)]
        assert names[0].startswith("test_a_python") and names[-1] == "boom"
    assert ("src/runtime/testing/testing.c", "call_wrapped") in frames(raised)


def test_frames_of_both_sides_are_in_order():
    def inner():
        raise KeyError("deep")

    def outer():
        wrap(inner)()

    with pytest.raises(KeyError) as e:
        wrap(outer)()
    names = [name for _, name in frames(e.value)]
    assert names == [
        "test_frames_of_both_sides_are_in_order",
        "call_wrapped",
        "outer",
        "call_wrapped",
        "inner",
    ]


def test_a_library_error_through_a_callback():
    with pytest.raises(ValueError, match="got 3 and 4") as e:
        wrap(lambda: error_test(3, 4))()
    names = [name for _, name in frames(e.value)]
    assert names[-1] == "error_test" and "call_wrapped" in names and "<lambda>" in names


def test_context_and_cause_are_kept():
    def boom():
        try:
            raise ValueError("first")
        except ValueError as first:
            raise TypeError("second") from first

    with pytest.raises(TypeError) as e:
        wrap(boom)()
    assert isinstance(e.value.__cause__, ValueError)
    try:
        raise LookupError("handled here")
    except LookupError:
        with pytest.raises(TypeError) as e:
            wrap(boom)()
    assert str(e.value.__context__) == "first"


@pytest.mark.parametrize("cls", [KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration])
def test_exceptions_of_every_kind_pass(cls):
    def boom():
        raise cls("stop")

    with pytest.raises(cls):
        wrap(boom)()


def test_an_exception_without_text():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    def boom():
        raise Mute()

    with pytest.raises(Mute):
        wrap(boom)()


def test_a_result_that_cannot_be_converted():
    with pytest.raises(TypeError, match="cannot pass a value"):
        wrap(object)()  # ignored results are converted too
    with pytest.raises(TypeError, match="cannot pass a value"):
        _core.Function(object)()


def test_errors_in_finalizers_do_not_hide_the_error():
    class Noisy:
        def __call__(self):
            return 1

        def __del__(self):
            with pytest.raises(ValueError):
                error_test(5, 6)

    def fail():
        _core.Function(Noisy())
        raise Custom("kept", 1)

    with pytest.raises(Custom):
        wrap(fail)()
    with pytest.raises(ValueError, match="got 1 and 2"):
        error_test(1, 2)


def test_raising_often_keeps_tracebacks_short():
    raised = ValueError("again and again")

    def boom():
        raise raised

    def once():
        with pytest.raises(ValueError):
            _core.Function(boom)()
        n = len(frames(raised))
        raised.__traceback__ = None
        return n

    assert {once() for _ in range(5)} == {once()}


def test_errors_pickle():
    with pytest.raises(ValueError) as e:
        error_test(1, 2)
    assert str(pickle.loads(pickle.dumps(e.value))) == str(e.value)


def test_attribute_errors_name_the_class_and_the_attribute():
    a = _core.convert_to_object([1])
    with pytest.raises(AttributeError, match=r"<class '.*Array'> has no attribute nothing") as e:
        a.nothing  # noqa: B018
    assert e.value.name == "nothing" and e.value.obj is a
    assert not hasattr(a, "nothing") and getattr(a, "nothing", 3) == 3


def test_errors_of_getters_are_not_replaced():
    class Holder(_core.Array):
        __slots__ = ()

        @property
        def fails(self):
            raise AttributeError("from within")

    with pytest.raises(AttributeError, match="from within"):
        Holder().fails  # noqa: B018
