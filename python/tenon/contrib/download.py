"""Files that programs expect to fetch.

Nothing is downloaded: a file that is already where it should be is used, anything else is an error
that says where to put it.
"""

import os
import urllib.parse
from pathlib import Path

from .._ffi.files import write_file

TEST_DATA_ROOT_PATH = Path(
    os.environ.get("TEST_DATA_ROOT_PATH") or Path.home() / ".tvm_test_data"
).expanduser()


def download(url, path, overwrite=False, size_compare=False, retries=3):
    """Make sure that the file of a URL is at a path.

    Parameters
    ----------
    url : str
        ``file://`` URLs are copied; for others the file has to be there.
    path : str
        Where the file is expected.
    overwrite : bool
        Copy again although the file exists (``file://`` only).
    size_compare, retries : bool, int
        Accepted, without effect.

    Raises
    ------
    RuntimeError
        The file is missing; the text says where to put it.
    """
    path = Path(path).expanduser()
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "file" and (overwrite or not path.is_file()):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, Path(urllib.parse.unquote(parts.path)).read_bytes())
    if not path.is_file():
        raise RuntimeError(
            f"download: {path} is missing and tenon downloads nothing; "
            f"fetch {url} yourself and put it there"
        )


def download_testdata(url, relpath, module=None, overwrite=False):
    """Path of a test file, which has to be below ``TEST_DATA_ROOT_PATH`` already.

    Parameters
    ----------
    url : str
        Where the file comes from (named in the error).
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
