"""The CUDA compiler and what a compute capability offers."""

import os
import re
import shutil
import subprocess

from .._ffi import files as _files
from . import utils as _utils


def find_cuda_path():
    """Folder of the CUDA toolkit: ``$CUDA_PATH``, that of ``nvcc``, or ``/usr/local/cuda``.

    Raises
    ------
    RuntimeError
        There is none.
    """
    if os.environ.get("CUDA_PATH"):
        return os.environ["CUDA_PATH"]
    nvcc = shutil.which("nvcc")
    if nvcc:
        return os.path.realpath(os.path.join(os.path.dirname(nvcc), ".."))
    if os.path.exists("/usr/local/cuda/bin/nvcc"):
        return "/usr/local/cuda"
    raise RuntimeError("cannot find CUDA: install the toolkit or set CUDA_PATH")


def get_cuda_version(cuda_path=None):
    """Version of the toolkit as (major, minor, patch)."""
    nvcc = os.path.join(cuda_path or find_cuda_path(), "bin", "nvcc")
    if not os.path.exists(nvcc):
        raise RuntimeError(f"cannot read the CUDA version: {nvcc} does not exist")
    text = subprocess.run([nvcc, "--version"], capture_output=True, check=True).stdout.decode()
    match = re.search(r"release .*V(\d+)\.(\d+)\.(\d+)", text)
    if not match:
        raise RuntimeError(f"cannot read the CUDA version from: {text}")
    return tuple(int(part) for part in match.groups())


def compile_cuda(code, target_format=None, arch=None, options=None, path_target=None):
    """Compile CUDA source with nvcc.

    Parameters
    ----------
    code : str
        The source.
    target_format : str
        ``"ptx"`` (default), ``"cubin"`` or ``"fatbin"``.
    arch : str or list of str, optional
        ``"sm_80"`` or a list of ``-gencode`` arguments; default: that of the current target, else
        of device 0.
    options : str or list of str, optional
        More arguments for nvcc.
    path_target : str, optional
        Also write the result here.

    Returns
    -------
    bytearray
    """
    target_format = target_format or "ptx"
    if target_format not in ("cubin", "ptx", "fatbin"):
        raise ValueError(f"target_format must be cubin, ptx or fatbin, got {target_format}")
    if arch is None:
        arch = f"sm_{get_target_compute_version().replace('.', '')}"
    with _utils.tempdir() as temp:
        source = temp.relpath("my_kernel.cu")
        result = temp.relpath(f"my_kernel.{target_format}")
        with open(source, "w", encoding="utf-8") as out:
            out.write(code)
        command = ["nvcc", f"--{target_format}", "-O3"]
        command += list(arch) if isinstance(arch, list) else ["-arch", arch]
        command += [options] if isinstance(options, str) else list(options or ())
        try:
            done = subprocess.run(
                [*command, "-o", result, source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        except FileNotFoundError as err:
            raise RuntimeError("nvcc not found: install the CUDA toolkit") from err
        if done.returncode != 0:
            text = done.stdout.decode("utf-8", "replace")
            raise RuntimeError(f"{code}\nCompilation error:\n{text}")
        with open(result, "rb") as inp:
            data = bytearray(inp.read())
    if not data:
        raise RuntimeError("Compilation error: empty result is generated")
    if path_target:
        _files.write_file(path_target, data)
    return data


def parse_compute_version(compute_version):
    """``"8.6"`` or ``"sm_86"`` -> (8, 6).

    Raises
    ------
    RuntimeError
        The text is not a version.
    """
    text = str(compute_version)
    match = re.fullmatch(r"(\d+)\.(\d+)[a-z]?", text) or re.fullmatch(r"sm_(\d+)(\d)[a-z]?", text)
    if not match:
        raise RuntimeError(f"Compute version parsing error: {compute_version!r}")
    return int(match[1]), int(match[2])


def get_target_compute_version(target=None):
    """Compute capability as ``"major.minor"`` of a target's ``arch``, else of CUDA device 0.

    Raises
    ------
    ValueError
        Neither is known.
    """
    arch = getattr(target, "arch", None)
    if arch:
        return ".".join(map(str, parse_compute_version(arch)))
    from .. import runtime

    device = runtime.cuda(0)
    if device.exist:
        return device.compute_version
    raise ValueError(
        "No CUDA architecture was specified or GPU detected."
        "Try specifying it by adding '-arch=sm_xx' to your target."
    )


def have_fp16(compute_version):
    """Does the compute capability have float16 arithmetic?"""
    major, minor = parse_compute_version(compute_version)
    return (major, minor) == (5, 3) or major >= 6


def have_int8(compute_version):
    """Does the compute capability have the dp4a instructions?"""
    return parse_compute_version(compute_version) >= (6, 1)


def have_tensorcore(compute_version=None, target=None):
    """Does the compute capability (default: that of the target or device 0) have tensor cores?"""
    if compute_version is None:
        try:
            compute_version = get_target_compute_version(target)
        except ValueError:
            return False
    return parse_compute_version(compute_version)[0] >= 7


def have_cudagraph():
    """Does the installed toolkit know CUDA graphs?"""
    try:
        return get_cuda_version() >= (10, 0)
    except (RuntimeError, OSError, subprocess.SubprocessError):
        return False


def have_bf16(compute_version):
    """Does the compute capability have bfloat16 arithmetic?"""
    return parse_compute_version(compute_version)[0] >= 8


def have_fp8(compute_version):
    """Does the compute capability have 8-bit floats?"""
    return parse_compute_version(compute_version) >= (8, 9)


def find_libdevice_path(arch):
    """Path of the newest ``libdevice`` bitcode of the toolkit that serves `arch` (as in 80)."""
    folder = os.path.join(find_cuda_path(), "nvvm", "libdevice")
    if not os.path.isdir(folder):
        raise RuntimeError(f"cannot find libdevice: {folder} does not exist")
    best, best_version = None, -1
    for name in os.listdir(folder):
        match = re.fullmatch(r"libdevice(?:\.compute_(\d+))?\.10\.bc", name)
        version = int(match[1] or 0) if match else -1
        if best_version < version <= int(arch):
            best, best_version = os.path.join(folder, name), version
    if best is None:
        raise RuntimeError(f"cannot find libdevice for compute capability {arch} in {folder}")
    return best
