"""Temporary directories, file locks and other small helpers."""

import atexit
import contextlib
import os
import pathlib
import shutil
import tempfile
import threading

_DEBUG_ROOT_NAME = "tenon-debug-mode-tempdirs"


class DirectoryCreatedPastAtExit(Exception):
    """A temporary directory was asked for after the process began to exit."""


class TempDirectory:
    """A directory that is removed with this object, or at the end of the process at the latest.

    Parameters
    ----------
    custom_path : str, optional
        Use this path (created if missing) instead of a fresh one.
    keep_for_debug : bool, optional
        Keep the directory: it is then made below ``<tmp>/tenon-debug-mode-tempdirs`` with a running
        number. None takes the class-wide setting (see `set_keep_for_debug`; environment variable
        ``TVM_KEEP_DEBUG_DIRS``).
    """

    _KEEP_FOR_DEBUG = os.environ.get("TVM_KEEP_DEBUG_DIRS", "") not in ("", "0")
    _NUM_TEMPDIR_CREATED = 0
    _DEBUG_PARENT_DIR = None
    # paths to remove at exit; a forked child must not remove what its parent made
    TEMPDIRS = set()
    _OWNER = os.getpid()
    _ROOT = _ROOT_OWNER = None
    _EXITING = False
    _LOCK = threading.Lock()

    def __init__(self, custom_path=None, keep_for_debug=None):
        if TempDirectory._EXITING:
            raise DirectoryCreatedPastAtExit("the process is exiting: no temporary directories")
        self._created_with_keep_for_debug = (
            self._KEEP_FOR_DEBUG if keep_for_debug is None else bool(keep_for_debug)
        )
        self.temp_dir = None
        if custom_path is not None:
            os.makedirs(custom_path, exist_ok=True)
            self.temp_dir = os.fspath(custom_path)
        elif self._created_with_keep_for_debug:
            self.temp_dir = self._debug_dir()
        else:
            self.temp_dir = self._fresh()
        if not self._created_with_keep_for_debug:
            self._forget_after_fork()
            TempDirectory.TEMPDIRS.add(self.temp_dir)

    @classmethod
    def _fresh(cls):
        """A folder inside that of the process, which is locked: what a killed process leaves is
        removed by a later one."""
        from .._ffi import get_global_func

        with cls._LOCK:
            if cls._ROOT_OWNER != os.getpid() or not os.path.isdir(cls._ROOT):
                cls._ROOT = str(get_global_func("runtime.MakeTempFolder")())
                cls._ROOT_OWNER = os.getpid()
            return tempfile.mkdtemp(prefix="tenon-", dir=cls._ROOT)

    @classmethod
    def _forget_after_fork(cls):
        if cls._OWNER != os.getpid():
            cls._OWNER = os.getpid()
            cls.TEMPDIRS = set()

    @classmethod
    def _debug_dir(cls):
        with cls._LOCK:
            if cls._DEBUG_PARENT_DIR is None:
                root = os.path.join(tempfile.gettempdir(), _DEBUG_ROOT_NAME)
                os.makedirs(root, exist_ok=True)
                cls._DEBUG_PARENT_DIR = tempfile.mkdtemp(dir=root)
            path = os.path.join(cls._DEBUG_PARENT_DIR, f"{cls._NUM_TEMPDIR_CREATED:05d}")
            cls._NUM_TEMPDIR_CREATED += 1
        os.mkdir(path)
        return path

    @classmethod
    @contextlib.contextmanager
    def set_keep_for_debug(cls, set_to=True):
        """Keep (or not) the directories made inside a ``with`` block."""
        before = cls._KEEP_FOR_DEBUG
        try:
            cls._KEEP_FOR_DEBUG = set_to
            yield
        finally:
            cls._KEEP_FOR_DEBUG = before

    @classmethod
    def remove_tempdirs(cls):
        """Remove every directory of this process that is not kept."""
        if cls._OWNER != os.getpid():
            return
        for path in tuple(cls.TEMPDIRS):
            shutil.rmtree(path, ignore_errors=True)
        cls.TEMPDIRS.clear()

    def remove(self):
        """Remove the directory now, unless it is kept for debugging."""
        if self.temp_dir and not self._created_with_keep_for_debug:
            if self.temp_dir in TempDirectory.TEMPDIRS and TempDirectory._OWNER == os.getpid():
                TempDirectory.TEMPDIRS.discard(self.temp_dir)
                shutil.rmtree(self.temp_dir, ignore_errors=True)
            self.temp_dir = None

    @property
    def path(self):
        """The directory's path."""
        return self.temp_dir

    def __truediv__(self, other):
        if not isinstance(other, (str, os.PathLike)):
            raise TypeError(
                f"TempDirectory / {type(other).__name__}: expected a relative path as str"
            )
        return pathlib.Path(self.relpath(other))

    def __del__(self):
        # modules may be half gone at interpreter exit; then the exit handler has done the work
        with contextlib.suppress(Exception):
            self.remove()

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc, traceback):
        self.remove()

    def relpath(self, name):
        """Path of `name` inside the directory."""
        return os.path.join(self.temp_dir, name)

    def listdir(self):
        """Names of what is in the directory."""
        return os.listdir(self.temp_dir)


@atexit.register
def _at_exit():
    TempDirectory._EXITING = True
    TempDirectory.remove_tempdirs()
    if TempDirectory._ROOT_OWNER == os.getpid():
        shutil.rmtree(TempDirectory._ROOT, ignore_errors=True)


def tempdir(custom_path=None, keep_for_debug=None):
    """A fresh `TempDirectory`; see there for the parameters."""
    return TempDirectory(custom_path=custom_path, keep_for_debug=keep_for_debug)


class FileLock:
    """Holds an exclusive lock on a file until `release`.

    Parameters
    ----------
    path : str
        The lock file; created if missing.
    """

    def __init__(self, path):
        import fcntl

        self.lock_file = open(path, "w", encoding="utf-8")
        fcntl.lockf(self.lock_file, fcntl.LOCK_EX)

    def release(self):
        """Give the lock up."""
        import fcntl

        if self.lock_file:
            fcntl.lockf(self.lock_file, fcntl.LOCK_UN)
            self.lock_file.close()
            self.lock_file = None


def filelock(path):
    """Lock the file `path`; returns a `FileLock`."""
    return FileLock(path)


def is_source_path(path):
    """Does the path name C, C++, CUDA or LLVM source?"""
    return os.path.splitext(path)[1] in (".c", ".cc", ".cpp", ".cu", ".cl", ".ll")


def which(exec_name):
    """Path of an executable of the search path, or None."""
    return shutil.which(exec_name)
