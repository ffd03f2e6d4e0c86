"""Exception classes, and exceptions that pass through native code."""

import traceback

import pytest
import tenon
from tenon import error


def test_hierarchy():
    assert issubclass(tenon.TVMError, RuntimeError) and error.TenonError is tenon.TVMError
    assert tenon._ffi.base.TVMError is tenon.TVMError is tenon.TenonError
    for name in (
        "InternalError DiagnosticError ScheduleError CodegenError DeviceError RPCError OpError"
    ).split():
        assert issubclass(getattr(error, name), tenon.TVMError)
    assert issubclass(error.RPCSessionTimeoutError, (error.RPCError, TimeoutError))
    for name, builtin in (("ShapeError", ValueError), ("DTypeError", TypeError)):
        assert issubclass(getattr(error, name), builtin)
        assert issubclass(getattr(error, name), error.InternalError)
    assert issubclass(error.OpNotImplemented, NotImplementedError)
    assert issubclass(error.OpAttributeRequired, AttributeError)
    assert issubclass(error.OpAttributeInvalid, AttributeError)
    assert issubclass(error.OpAttributeUnImplemented, (error.OpError, NotImplementedError))


def test_native_errors_have_their_class():
    with pytest.raises(ValueError, match="expect x and y to be equal"):
        tenon.testing.ErrorTest(0, 1)
    with pytest.raises(error.InternalError, match="Check failed: .* is false: cannot reach here"):
        tenon.testing.ErrorTest(1, 1)
    with pytest.raises(TypeError, match="expected 2 arguments, got 1"):
        tenon.testing.ErrorTest(1)


@pytest.mark.parametrize("name", sorted(error.ERROR_TYPE))
def test_class_from_the_text(name):
    f = tenon.testing.test_raise_error_callback(f"{name}: the reason")
    with pytest.raises(error.ERROR_TYPE[name], match="the reason") as caught:
        f()
    assert type(caught.value) is error.ERROR_TYPE[name]


def test_text_without_a_class():
    with pytest.raises(tenon.TVMError, match="just text"):
        tenon.testing.test_raise_error_callback("just text")()


def test_registering_a_class():
    @error.register_error
    class MyOwnError(RuntimeError):
        pass

    @error.register_error("my.Name")
    class Other(ValueError):
        pass

    with pytest.raises(MyOwnError, match="here"):
        tenon.testing.test_raise_error_callback("MyOwnError: here")()
    with pytest.raises(Other, match="there"):
        tenon.testing.test_raise_error_callback("my.Name: there")()
    with pytest.raises(TypeError, match="exception class"):
        error.register_error("x", 3)


def test_a_python_exception_comes_back_as_itself():
    class Custom(Exception):
        pass

    raised = Custom("callback error", 42)

    def fail():
        raise raised

    wrapped = fail
    for _ in range(3):
        wrapped = tenon.testing.test_wrap_callback(wrapped)
    with pytest.raises(Custom) as caught:
        wrapped()
    assert caught.value is raised and caught.value.args == ("callback error", 42)
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "fail" in frames and any("call_wrapped" in name for name in frames)


def test_errors_of_checks_in_callbacks():
    check = tenon.testing.test_check_eq_callback("KeyError: they differ")
    check(1, 1)
    with pytest.raises(KeyError, match="they differ"):
        check(1, 2)
    wrapped = tenon.testing.test_wrap_callback(lambda: check(3, 4))
    with pytest.raises(KeyError):
        wrapped()


def test_after_an_error_everything_works():
    for _ in range(3):
        with pytest.raises(ValueError):
            tenon.testing.ErrorTest(0, 1)
        assert tenon.testing.echo(1) == 1


def test_waiting_can_be_interrupted():
    import signal
    import time

    def interrupt(signum, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            tenon.testing.run_check_signal(20)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - start < 10


def test_errors_of_nodes():
    with pytest.raises(AttributeError, match="has no attribute nothing"):
        tenon.tir.Var("x", "int32").nothing  # noqa: B018
    with pytest.raises(AttributeError):
        tenon.tir.Var("x", "int32").name = "y"
    with pytest.raises((AttributeError, TypeError), match="nothing"):
        tenon.ir.make_node("IntImm", dtype="int32", value=1, nothing=2)
    with pytest.raises(TypeError, match="value"):
        tenon.ir.make_node("IntImm", dtype="int32", value="text")
    with pytest.raises(ValueError, match="no.such.Type"):
        tenon.ir.make_node("no.such.Type")
