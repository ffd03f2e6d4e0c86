"""Worker processes started afresh (not forked), with a time limit for each call.

The limit holds even when the called function hangs in native code: the worker is killed and a new
one is started. A worker starts at its first call and serves until it is killed.
"""

import collections
import concurrent.futures
import contextlib
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from enum import IntEnum

try:  # closures and lambdas travel only with cloudpickle
    import cloudpickle as _pickler
except ImportError:
    _pickler = pickle


class StatusKind(IntEnum):
    """First field of what a worker sends back."""

    RUNNING = 0
    COMPLETE = 1
    EXCEPTION = 2
    TIMEOUT = 3


class MapResult(collections.namedtuple("MapResult", ("status", "value"))):
    """An element of `PopenPoolExecutor.map_with_error_catching`.

    Parameters
    ----------
    status : StatusKind
        How the call ended.
    value : Any
        Result, or the exception.
    """

    __slots__ = ()


def kill_child_processes(pid):
    """Kill the process group of a worker, so that compilers it started end as well."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


class PopenWorker:
    """One worker process.

    Parameters
    ----------
    initializer : function, optional
        Called in the process once it has started.
    initargs : tuple
        Its arguments.
    maximum_uses : int, optional
        Start a new process after this many calls; None never.
    stdout, stderr : file or int, optional
        Where the process writes; default: as this process.
    """

    def __init__(self, initializer=None, initargs=(), maximum_uses=None, stdout=None, stderr=None):
        self._proc = None
        self._initializer = initializer
        self._initargs = initargs
        self._maximum_uses = maximum_uses
        self._remaining_uses = None
        self._stdout = stdout
        self._stderr = stderr
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be callable for PopenWorker")

    def __del__(self):
        with contextlib.suppress(Exception):
            self.kill()

    def kill(self):
        """End the process, if there is one. The worker can be used again."""
        if self._proc is None:
            return
        for pipe in (self._writer, self._reader):
            with contextlib.suppress(OSError):
                pipe.close()
        kill_child_processes(self._proc.pid)
        self._proc.kill()
        self._proc.wait()
        self._proc = None
        self._remaining_uses = None

    def join(self, timeout=None):
        """Wait for the process to end, at most `timeout` seconds."""
        if self._proc:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._proc.wait(timeout)

    def is_alive(self):
        """Is the process running?"""
        return self._proc is not None and self._proc.poll() is None

    def _start(self):
        main_read, worker_write = os.pipe()
        worker_read, main_write = os.pipe()
        # `-c` instead of `-m` keeps sys.path[0] what it is here, through PYTHONPATH
        path = os.pathsep.join(p or os.getcwd() for p in sys.path)
        self._proc = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from tenon.exec.popen_worker import main; main()",
                str(worker_read),
                str(worker_write),
                "1" if "tenon.as_tvm" in sys.modules else "0",
            ],
            pass_fds=(worker_read, worker_write),
            stdout=self._stdout,
            stderr=self._stderr,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )
        os.close(worker_read)
        os.close(worker_write)
        self._reader = os.fdopen(main_read, "rb")
        self._writer = os.fdopen(main_write, "wb")

    def send(self, fn, args=(), kwargs=None, timeout=None):
        """Begin a call; `recv` fetches its result.

        Parameters
        ----------
        fn : function
            What to call in the process.
        args, kwargs : tuple, dict
            Its arguments.
        timeout : float, optional
            Seconds it may take.
        """
        if self._proc is not None and self._maximum_uses and self._remaining_uses == 0:
            self.kill()
        if self._proc is None:
            self._start()
            self._remaining_uses = self._maximum_uses
            if self._initializer is not None:
                self._write(self._initializer, self._initargs, {}, None)
                self.recv()
        if self._remaining_uses is not None:
            self._remaining_uses -= 1
        self._write(fn, args, kwargs or {}, timeout)

    def _write(self, fn, args, kwargs, timeout):
        data = _pickler.dumps((fn, args, kwargs, timeout), protocol=pickle.HIGHEST_PROTOCOL)
        try:
            self._writer.write(struct.pack("<Q", len(data)))
            self._writer.write(data)
            self._writer.flush()
        except OSError:
            pass  # the process is gone: recv says so

    def _read_exactly(self, count):
        data = self._reader.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def recv(self):
        """Wait for the call begun by `send`.

        Returns
        -------
        Any
            What the function returned.

        Raises
        ------
        TimeoutError
            The time limit passed; the process was killed.
        ChildProcessError
            The process died.
        Exception
            What the function raised.
        """
        try:
            (count,) = struct.unpack("<Q", self._read_exactly(8))
            status, value = pickle.loads(self._read_exactly(count))
        except (EOFError, OSError, ValueError, AttributeError) as err:
            self.kill()
            raise ChildProcessError("Subprocess terminated") from err
        if status == StatusKind.COMPLETE:
            return value
        if status == StatusKind.EXCEPTION:
            raise value
        self.kill()
        raise TimeoutError()


class PopenPoolExecutor:
    """A pool of `PopenWorker` behind the interface of ``concurrent.futures``.

    Parameters
    ----------
    max_workers : int, optional
        Number of processes; default: the number of cores.
    timeout : float, optional
        Seconds that each call may take.
    initializer, initargs, stdout, stderr
        As in `PopenWorker`.
    maximum_process_uses : int, optional
        Start a new process after this many calls of one; None never.
    """

    def __init__(
        self,
        max_workers=None,
        timeout=None,
        initializer=None,
        initargs=(),
        maximum_process_uses=None,
        stdout=None,
        stderr=None,
    ):
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be callable for PopenPoolExecutor")
        self._threadpool = concurrent.futures.ThreadPoolExecutor(
            max_workers=max_workers or os.cpu_count()
        )
        self._timeout = timeout
        self._worker_args = (initializer, initargs, maximum_process_uses, stdout, stderr)
        self._workers = {}
        self._lock = threading.Lock()

    def __del__(self):
        with contextlib.suppress(Exception):
            self._lock.acquire(timeout=1)
            for worker in self._workers.values():
                with contextlib.suppress(Exception):
                    worker.kill()
            self._threadpool.shutdown(wait=False)

    def _call(self, fn, args, kwargs):
        thread = threading.get_ident()
        with self._lock:
            if thread not in self._workers:
                self._workers[thread] = PopenWorker(*self._worker_args)
            worker = self._workers[thread]
        worker.send(fn, args, kwargs, self._timeout)
        return worker.recv()

    def _call_catching(self, fn, value):
        try:
            return MapResult(StatusKind.COMPLETE, self._call(fn, (value,), {}))
        except TimeoutError as err:
            return MapResult(StatusKind.TIMEOUT, err)
        except Exception as err:
            return MapResult(StatusKind.EXCEPTION, err)

    def submit(self, fn, *args, **kwargs):
        """Begin ``fn(*args, **kwargs)`` in a worker; returns a ``concurrent.futures.Future``."""
        return self._threadpool.submit(self._call, fn, args, kwargs)

    def map_with_error_catching(self, fn, iterator):
        """Call `fn` on each value; iterate over `MapResult` in their order."""
        return self._threadpool.map(lambda value: self._call_catching(fn, value), iterator)
