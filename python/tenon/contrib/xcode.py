"""Apple: the tools that ``xcrun`` knows."""

import os
import shutil
import subprocess

from .._ffi import files as _files
from . import cc as _cc
from . import utils as _utils


def xcrun(cmd):
    """Run ``xcrun`` with arguments; returns its output. RuntimeError away from macOS."""
    if not shutil.which("xcrun"):
        raise RuntimeError("xcrun not found: it comes with Xcode and needs macOS")
    return subprocess.run(["xcrun", *cmd], capture_output=True, check=True).stdout.strip()


def create_dylib(output, objects, arch, sdk="macosx", min_os_version=None):
    """Link a dynamic library.

    Parameters
    ----------
    output : str
        The library.
    objects : list of str
        Object files.
    arch : str
        For example ``"arm64"``.
    sdk : str
        For example ``"macosx"`` or ``"iphoneos"``.
    min_os_version : str, optional
        Oldest system to run on.
    """
    clang = xcrun(["-sdk", sdk, "-find", "clang"]).decode()
    sdk_path = xcrun(["-sdk", sdk, "--show-sdk-path"]).decode()
    options = ["-dynamiclib", "-arch", arch, "-isysroot", sdk_path]
    if min_os_version:
        options.append(f"-mmacosx-version-min={min_os_version}")
    _cc.create_shared(output, objects, options, cc=clang)


create_dylib.output_format = "dylib"


def compile_metal(code, path_target=None, sdk="macosx", min_os_version=None):
    """Compile Metal source to a library; returns its bytes.

    Parameters
    ----------
    code : str
        Metal source.
    path_target : str, optional
        Also write the library here.
    sdk, min_os_version : str
        As in `create_dylib`.
    """
    with _utils.tempdir() as temp:
        source, ir, library = (temp.relpath("lib" + e) for e in (".metal", ".air", ".metallib"))
        with open(source, "w", encoding="utf-8") as out:
            out.write(code)
        version = [f"-mmacosx-version-min={min_os_version}"] if min_os_version else []
        xcrun(["-sdk", sdk, "metal", "-O3", *version, "-c", source, "-o", ir])
        xcrun(["-sdk", sdk, "metallib", ir, "-o", library])
        if not os.path.isfile(library):
            raise RuntimeError("Compilation error: metallib wrote nothing")
        with open(library, "rb") as inp:
            data = bytearray(inp.read())
    if path_target:
        _files.write_file(path_target, data)
    return data
