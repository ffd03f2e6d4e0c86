"""Files that programs fetch from the web, kept in a folder.

`TENON_OFFLINE=1` in the environment forbids requests: a file that is already where it should be is
used, anything else is an error that says where to put it.
"""

import os
import urllib.parse
from pathlib import Path

from .._ffi.files import write_file

TEST_DATA_ROOT_PATH = Path(
    os.environ.get("TEST_DATA_ROOT_PATH") or Path.home() / ".tvm_test_data"
).expanduser()
_SECONDS = 60  # a server that stays silent this long has failed


def download(url, path, overwrite=False, size_compare=False, retries=3):
    """Make sure that the file of a URL is at a path.

    Parameters
    ----------
    url : str
        ``http://``, ``https://`` or ``file://``.
    path : str
        Where the file goes.
    overwrite : bool
        Fetch it although it is there.
    size_compare : bool
        Fetch it if what is there has another size than the server says.
    retries : int
        How often to try.

    Raises
    ------
    RuntimeError
        The file could not be fetched, or requests are forbidden; the text says where to put it.
    """
    path = Path(path).expanduser()
    local = urllib.parse.urlsplit(url).scheme == "file"
    if path.is_file() and not overwrite:
        if not size_compare or _offline() or _size_at(url) in (None, path.stat().st_size):
            return
    if _offline() and not local:
        if path.is_file():
            return
        raise RuntimeError(
            f"download: {path} is missing and TENON_OFFLINE forbids requests; fetch {url} yourself "
            "and put it there"
        )
    content = _fetch(url, path, max(1, retries))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content)


def _offline():
    return os.environ.get("TENON_OFFLINE", "0") not in ("", "0")


def _open(url, method="GET"):
    import urllib.request  # takes long to import: only where something is fetched

    request = urllib.request.Request(url, headers={"User-Agent": "tenon"}, method=method)
    return urllib.request.urlopen(request, timeout=_SECONDS)


def _size_at(url):
    """Bytes of a URL's file; None where the server does not say."""
    if urllib.parse.urlsplit(url).scheme == "file":
        return None
    try:
        with _open(url, "HEAD") as reply:
            size = reply.headers.get("Content-Length")
    except OSError:
        return None
    return int(size) if size else None


def _fetch(url, path, tries):
    """The whole file, as bytes: none that was cut short is ever kept."""
    from http.client import HTTPException

    if urllib.parse.urlsplit(url).scheme not in ("http", "https", "file"):
        raise RuntimeError(f"download: expected a URL with http, https or file, got {url}")
    for left in reversed(range(tries)):
        try:
            with _open(url) as reply:
                size = reply.headers.get("Content-Length")
                content = reply.read()
            if size and len(content) != int(size):
                raise OSError(f"{len(content)} bytes came, of {size}")
            return content
        except (OSError, HTTPException) as error:
            if not left:
                raise RuntimeError(
                    f"download: {url}: {error}; fetch it yourself and put it at {path}"
                ) from error


def download_testdata(url, relpath, module=None, overwrite=False):
    """Path of a file below ``TEST_DATA_ROOT_PATH``, fetched where it is not there yet.

    Parameters
    ----------
    url : str
        Where the file comes from.
    relpath : str
        Its name.
    module : str or list of str, optional
        Folder below the root.
    overwrite : bool
        As in `download`.

    Returns
    -------
    str
        Full path.
    """
    if module is None:
        folders = []
    elif isinstance(module, str):
        folders = [module]
    elif isinstance(module, (list, tuple)):
        folders = list(module)
    else:
        raise ValueError(f"Unsupported module: {module}")
    path = TEST_DATA_ROOT_PATH.joinpath(*folders, relpath)
    download(url, path, overwrite)
    return str(path)
