"""Writing files: whole or not at all, and folders for temporary ones."""

import contextlib
import errno
import json
import os

_PROGRAM = 1


def write_file(path, data, program=False):
    """Write a whole file.

    The file that was there is replaced at once when all is on the disk; where that fails, it stays.
    It keeps its mode.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    data : str or bytes
        Its content; text is written as UTF-8.
    program : bool
        May it be executed?

    Raises
    ------
    OSError
        It cannot be written; the text names it.
    """
    from .registry import get_global_func

    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    flags = _PROGRAM if program else 0
    get_global_func("runtime.WriteFile")(os.fspath(path), bytearray(data), flags)


@contextlib.contextmanager
def written_aside(path, folder):
    """For other programs, which write in place: gives them a path in a temporary folder, and writes
    the file when the block has ended well.

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    folder : str
        Where the other program writes.
    """
    aside = os.path.join(folder, "written-" + os.path.basename(os.fspath(path)))
    yield aside
    with open(aside, "rb") as inp:
        write_file(path, inp.read(), program=os.access(aside, os.X_OK))


def append_line(path, line):
    """Add a line of JSON to a file that other processes may add to as well, all of it or nothing.

    Parameters
    ----------
    path : str or os.PathLike
        The file; made where it is missing. A last line that a killed process left unfinished goes.
    line : str
        Without the end of a line.
    """
    import fcntl

    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        whole, size = _whole_lines(fd)
        data = (b"\n" if whole > size else b"") + line.encode("utf-8") + b"\n"
        try:
            os.ftruncate(fd, min(whole, size))
            if os.write(fd, data) != len(data):
                raise OSError(errno.ENOSPC, f"cannot add a line to {path}: the disk is full")
            os.fsync(fd)
        except OSError:
            os.ftruncate(fd, min(whole, size))
            raise
    finally:
        os.close(fd)


def _whole_lines(fd):
    """Bytes of the lines that are whole; one more than the size where the last lacks its end."""
    size = os.fstat(fd).st_size
    tail = b""
    while len(tail) < size and b"\n" not in tail:
        n = min(size - len(tail), len(tail) + 4096)
        tail = os.pread(fd, n, size - len(tail) - n) + tail
    tail = tail[tail.rfind(b"\n") + 1 :]
    if not tail:
        return size, size
    try:
        json.loads(tail)
    except ValueError:
        return size - len(tail), size
    return size + 1, size
