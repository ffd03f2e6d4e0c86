"""Archives of object files."""

import io
import os
import tarfile

from .._ffi.files import write_file
from . import utils


def tar(output, files, options=None):
    """Write an archive holding `files` side by side.

    Parameters
    ----------
    output : str
        The archive; its ending does not matter (no compression).
    files : list of str
        Files to put in, under their base names. Files of equal base name are an error.
    options : list of str, optional
        Accepted for the sake of compiler-like callers; must be empty.

    Raises
    ------
    ValueError
        Two files would get one name in the archive.
    """
    if options:
        raise ValueError(f"tar: expected no options, got {options}")
    seen = set()
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for path in files:
            name = os.path.basename(path)
            if name in seen:
                raise ValueError(f"tar: two files are called {name}; rename one of them")
            seen.add(name)
            archive.add(path, arcname=name)
    write_file(output, content.getbuffer())


# read by Module.export_library: what this "compiler" makes
tar.output_format = "tar"


def untar(tar_file, directory):
    """Unpack an archive into a directory; entries that would land outside it are refused.

    Parameters
    ----------
    tar_file : str
        The archive, compressed or not.
    directory : str
        Where to put the files; created if missing.
    """
    with tarfile.open(tar_file) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(directory, filter="data")
        else:  # Python before 3.11.4
            archive.extractall(directory, [_plain(entry) for entry in archive])


def _plain(entry):
    """A file or folder below the archive's root, or TarError."""
    parts = entry.name.split("/")
    if not (entry.isfile() or entry.isdir()) or entry.name.startswith("/") or ".." in parts:
        raise tarfile.TarError(f"untar: {entry.name!r} is not a file or folder of its archive")
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry


def normalize_file_list_by_unpacking_tars(temp, file_list):
    """Replace each ``.tar`` of a list by the files in it.

    Parameters
    ----------
    temp : TempDirectory
        Where the files are unpacked; must outlive their use.
    file_list : list of str
        Paths; those not ending in ``.tar`` stay as they are.

    Returns
    -------
    list of str
    """
    out = []
    for i, path in enumerate(file_list):
        if not path.endswith(".tar"):
            out.append(path)
            continue
        where = temp.relpath(f"tar{i}")
        untar(path, where)
        for folder, _, names in sorted(os.walk(where)):
            out.extend(os.path.join(folder, name) for name in sorted(names))
    return out


__all__ = ["tar", "untar", "normalize_file_list_by_unpacking_tars", "utils"]
