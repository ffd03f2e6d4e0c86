"""Many threads, signals, and the end of the interpreter."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from tenon import _core


def run_python(code, timeout=60):
    """Runs code in its own process."""
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=env,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def test_threads_call_at_the_same_time():
    echo = _core.get_global_func("testing.echo")
    shared = _core.convert_to_object(["shared"])
    failures = []

    def work(k):
        def fails():
            raise ValueError(k)

        f = _core.Function(lambda x, y: echo([x, y, k]))
        g = _core.Function(fails)
        try:
            for i in range(300):
                a = f(shared, i)
                assert a[0].same_as(shared) and a[1].value == i and a[2].value == k
                try:
                    g()
                except ValueError as e:
                    assert e.args == (k,)
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    assert _core.use_count(shared) == 1


def test_calls_marked_so_release_the_gil():
    sleep = _core.get_global_func("testing.sleep_in_ffi")
    sleep.release_gil = True
    ticks = []
    thread = threading.Thread(target=sleep, args=(0.3,))
    thread.start()
    start = time.monotonic()
    while thread.is_alive():
        ticks.append(time.monotonic() - start)
        time.sleep(0.01)
    assert len([t for t in ticks if t < 0.25]) > 5


def test_callbacks_from_a_call_without_the_gil():
    wrap = _core.get_global_func("testing.test_wrap_callback")
    seen = []
    f = wrap(lambda: seen.append(threading.get_ident()))
    f.release_gil = True
    f()
    assert seen == [threading.get_ident()]

    def boom():
        raise KeyError("x")

    g = wrap(boom)
    g.release_gil = True
    with pytest.raises(KeyError):
        g()


def test_callbacks_reached_through_ctypes():
    """ctypes releases the GIL: a callback below it must take it again."""
    import ctypes

    path = os.path.join(os.path.dirname(_core.__file__), "libtenon_runtime.so")
    lib = ctypes.CDLL(path)

    class Any(ctypes.Structure):
        _fields_ = [
            ("type_index", ctypes.c_int32),
            ("aux", ctypes.c_uint32),
            ("value", ctypes.c_int64),
        ]

    lib.tn_func_call.argtypes = [
        ctypes.c_void_p,
        ctypes.POINTER(Any),
        ctypes.c_int32,
        ctypes.POINTER(Any),
    ]
    seen = []
    inner = _core.Function(lambda x: seen.append(x))

    def outer():
        arg, ret = Any(1, 0, 17), Any()
        assert lib.tn_func_call(inner.handle, arg, 1, ret) == 0

    _core.Function(outer)()
    outer()
    assert seen == [17, 17]


def test_keyboard_interrupts_reach_long_work():
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals arrive in the main thread")
    # a program that was started in the background ignores interrupts
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    wait = _core.get_global_func("testing.run_check_signal")
    wait.release_gil = True
    timer.start()
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            wait(20.0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - start < 10
    timer.join()


def test_the_end_with_live_callbacks():
    done = run_python(
        """
        import atexit, threading, time
        from tenon import _core
        class Noisy:
            def __call__(self): return 1
            def __del__(self): pass
        f = _core.Function(Noisy())
        _core.register_global_func("t.kept", Noisy())
        _core.register_global_func("t.late", lambda: 5)
        cycle = []
        cycle.append(_core.convert_to_object([lambda: cycle]))
        atexit.register(lambda: print(_core.get_global_func("t.late")()))
        def work():
            g = _core.get_global_func("t.kept")
            while True:
                try:
                    g()
                except RuntimeError:
                    return
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.1)
        print("end")
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["end", "5"], done.stderr
    assert done.stderr == ""


def test_the_end_inside_a_call():
    done = run_python(
        """
        import sys
        from tenon import _core
        _core.Function(lambda: sys.exit(7))()
        """
    )
    assert done.returncode == 7 and done.stderr == ""


def test_fork():
    done = run_python(
        """
        import os
        from tenon import _core
        f = _core.Function(lambda x: x + 1)
        pid = os.fork()
        assert f(1) == 2
        if pid:
            assert os.waitpid(pid, 0)[1] == 0
        """
    )
    assert done.returncode == 0, done.stderr


def test_import_is_light():
    done = run_python(
        """
        import sys
        import tenon._core
        print([m for m in ("numpy", "ctypes", "torch") if m in sys.modules])
        """
    )
    assert done.stdout.strip() == "[]", done.stderr
