"""The system's C compiler, linker and archiver."""

import os
import shutil
import subprocess
import sys

from .._ffi import files as _files
from . import tar as _tar
from . import utils as _utils

_COMPILERS = ("g++", "gcc", "clang++", "clang", "c++", "cc")


def _is_linux_like():
    return sys.platform in ("darwin", "linux", "linux2") or sys.platform.startswith("freebsd")


def _is_windows_like():
    return sys.platform == "win32"


def get_cc():
    """Path of the C/C++ compiler: ``$CXX``, else the first of g++, gcc, clang++, clang, c++, cc.

    Returns
    -------
    str or None
        None where there is no compiler.
    """
    if not _is_linux_like():
        return None
    for name in (os.environ.get("CXX"), os.environ.get("CC"), *_COMPILERS):
        # the variables may hold options too: "ccache g++"
        found = shutil.which(name.split()[0]) if name and name.strip() else None
        if found:
            return name if " " in name else found
    return None


def _need_cc(cc):
    cc = cc or get_cc()
    if not cc:
        raise RuntimeError(
            "no C compiler found (looked at $CXX, $CC and for " + ", ".join(_COMPILERS) + "): "
            "install one (Debian and Ubuntu: apt install gcc; Fedora: dnf install gcc; "
            "macOS: xcode-select --install) or name it with cc="
        )
    return cc.split() if isinstance(cc, str) else list(cc)


def _as_list(objects):
    return [objects] if isinstance(objects, (str, os.PathLike)) else list(objects)


def _run(command, cwd=None, env=None):
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env={**os.environ, **env} if env else None,
            check=False,
        )
    except FileNotFoundError as err:
        raise RuntimeError(
            f"cannot run {command[0]}: not found; install the package that provides it"
        ) from err
    if done.returncode != 0:
        text = done.stdout.decode("utf-8", "replace")
        raise RuntimeError(f"Compilation error:\n{text}\nCommand line: {' '.join(command)}")


def create_shared(output, objects, options=None, cc=None, cwd=None, ccache_env=None):
    """Compile and link a shared library.

    Parameters
    ----------
    output : str
        The library.
    objects : list of str
        Object files, sources (``.c``, ``.cc``, ...) and archives; a ``.tar`` stands for what is in
        it.
    options : list of str, optional
        More arguments for the compiler.
    cc : str, optional
        The compiler (see `get_cc`).
    cwd : str, optional
        Where to run it.
    ccache_env : dict of str to str, optional
        Run it under ccache with these environment variables.

    Raises
    ------
    RuntimeError
        No compiler is installed (the text names the package), or it failed (its output follows).

    See Also
    --------
    link_objects : is used where there is no compiler and nothing but object files to link.
    """
    if not (cc or options or ccache_env or get_cc()) and link_objects.can_link(objects):
        link_objects(output, objects)
        return
    _compile(["-shared", "-fPIC"], output, objects, options, cc, cwd, ccache_env)


def link_objects(output, objects, options=None):
    """Link object files of generated code into a shared library, without any program.

    It may be given to `Module.export_library` as ``fcompile``.

    Parameters
    ----------
    output : str
        The library.
    objects : list of str
        Object files (ELF, x86-64 or aarch64), and archives (``.tar``) of them.
    options : list of str, optional
        Must be empty.

    Raises
    ------
    ValueError
        A file holds what only a linker can handle; the text names it.
    """
    from .._ffi import get_global_func

    if options:
        raise ValueError(f"link_objects: expected no options, got {options}")
    with _utils.tempdir() as temp:
        paths = [os.fspath(f) for f in _as_list(objects)]
        files = _tar.normalize_file_list_by_unpacking_tars(temp, paths)
        get_global_func("target.LinkSharedLibrary")(os.fspath(output), files)


def _can_link(objects):
    """Is there nothing but object files, and the part of the library that links them?"""
    from .._ffi import get_global_func

    names = [os.fspath(f) for f in _as_list(objects)]
    return (
        sys.platform.startswith("linux")
        and all(name.endswith((".o", ".tar")) for name in names)
        and get_global_func("target.LinkSharedLibrary", allow_missing=True) is not None
    )


# read by Module.export_library
link_objects.output_format = "so"
link_objects.can_link = _can_link


def create_object(output, objects, options=None, cc=None, cwd=None, ccache_env=None):
    """Put several object files and sources into one object file; parameters and errors as in
    `create_shared`."""
    _compile(["-r", "-nostdlib", "-fPIC"], output, objects, options, cc, cwd, ccache_env)


def create_executable(output, objects, options=None, cc=None, cwd=None, ccache_env=None):
    """Compile and link a program; parameters and errors as in `create_shared`."""
    _compile([], output, objects, options, cc, cwd, ccache_env)


def _compile(flags, output, objects, options, cc, cwd, ccache_env):
    if not _is_linux_like():
        raise ValueError(f"linking on {sys.platform} is not supported: pass fcompile=")
    command = _need_cc(cc)
    env = None
    if ccache_env is not None:
        if not shutil.which("ccache"):
            raise RuntimeError("ccache not found: install it, or leave ccache_env out")
        command, env = ["ccache", *command], dict(ccache_env)
    command += flags
    if "-shared" in flags and sys.platform == "darwin":
        command += ["-undefined", "dynamic_lookup"]
    with _utils.tempdir() as temp:
        files = _tar.normalize_file_list_by_unpacking_tars(
            temp, [os.fspath(f) for f in _as_list(objects)]
        )
        with _files.written_aside(os.path.join(cwd or "", os.fspath(output)), temp.path) as aside:
            command += ["-o", aside, *_as_c(command, files), *(options or ())]
            _run(command, cwd=cwd, env=env)


def _as_c(command, files):
    """The files as arguments; a C++ compiler is told that ``.c`` means C, so that names stay."""
    names = (os.path.basename(word).rstrip("-.0123456789") for word in command)
    is_cxx = any(name.endswith("++") for name in names)
    out = []
    for path in files:
        if is_cxx and path.endswith(".c"):
            out += ["-x", "c", path, "-x", "none"]
        else:
            out.append(path)
    return out


def create_staticlib(output, inputs, ar=None):
    """Make a static library.

    Parameters
    ----------
    output : str
        The library (``.a``).
    inputs : list of str
        Object files, other static libraries (merged), ``.tar`` archives of objects.
    ar : str, optional
        The archiver; default ``ar``.
    """
    if not _is_linux_like():
        raise ValueError(f"static libraries on {sys.platform} are not supported")
    ar = ar or "ar"
    with _utils.tempdir() as temp:
        files = _tar.normalize_file_list_by_unpacking_tars(
            temp, [os.path.abspath(f) for f in _as_list(inputs)]
        )
        members = []
        for i, path in enumerate(files):
            if not path.endswith(".a"):
                members.append(path)
                continue
            where = temp.relpath(f"lib{i}")
            os.mkdir(where)
            _run([ar, "x", path], cwd=where)
            members.extend(os.path.join(where, name) for name in sorted(os.listdir(where)))
        with _files.written_aside(output, temp.path) as aside:
            _run([ar, "qcs", aside, *members])


create_staticlib.output_format = "a"


def get_global_symbol_section_map(path, *, nm=None):
    """Section letter of each global symbol of a library or object, as ``nm`` prints it.

    Parameters
    ----------
    path : str
        The file.
    nm : str, optional
        The program to ask.

    Returns
    -------
    dict of str to str
        For example ``{"main": "T"}``.
    """
    try:
        done = subprocess.run(
            [nm or "nm", "-gU" if sys.platform == "darwin" else "-g", path],
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as err:
        raise RuntimeError("nm not found: install binutils") from err
    if done.returncode != 0:
        raise RuntimeError(f"nm {path}: {done.stderr.decode('utf-8', 'replace').strip()}")
    rows = (line.split() for line in done.stdout.decode().splitlines())
    return {row[-1]: row[-2] for row in rows if len(row) >= 2}


def get_target_by_dump_machine(compiler):
    """A function giving the target triple of a compiler, as ``compiler -dumpmachine`` prints it.

    Parameters
    ----------
    compiler : str
        Path of gcc, clang or one that understands ``-dumpmachine``.

    Returns
    -------
    function () -> str or None
        None where the compiler is missing or does not tell.
    """

    def get_target_triple():
        if not compiler:
            return None
        try:
            done = subprocess.run(
                [*compiler.split(), "-dumpmachine"], capture_output=True, check=False
            )
        except OSError:
            return None
        return done.stdout.decode().strip() or None if done.returncode == 0 else None

    return get_target_triple


# read by Module.export_library
create_shared.output_format = "dylib" if sys.platform == "darwin" else "so"
create_shared.get_target_triple = lambda: get_target_by_dump_machine(get_cc())()


def cross_compiler(
    compile_func, options=None, output_format=None, get_target_triple=None, add_files=None
):
    """Make a ``fcompile`` for `Module.export_library` out of a compiler.

    Parameters
    ----------
    compile_func : str or function
        The compiler's path, or a function like `create_shared`.
    options : list of str, optional
        Arguments that are always given.
    output_format : str, optional
        Ending of the library; default that of `create_shared`, or of `compile_func`.
    get_target_triple : function () -> str, optional
        Tells the triple the compiler makes code for; default: ask it.
    add_files : list of str, optional
        Files linked in addition.

    Returns
    -------
    function (output, objects, options=None)
    """
    base_options = list(options or ())
    more_files = list(add_files or ())
    if isinstance(compile_func, (str, os.PathLike)):
        compiler = os.fspath(compile_func)
        output_format = output_format or create_shared.output_format
        get_target_triple = get_target_triple or get_target_by_dump_machine(compiler)

        def base(output, objects, options=None):
            return create_shared(output, objects, options, cc=compiler)
    else:
        base = compile_func
        output_format = output_format or getattr(compile_func, "output_format", None)
        get_target_triple = get_target_triple or getattr(compile_func, "get_target_triple", None)

    def _fcompile(output, objects, options=None):
        return base(output, _as_list(objects) + more_files, base_options + list(options or ()))

    _fcompile.output_format = output_format or create_shared.output_format
    _fcompile.get_target_triple = get_target_triple
    return _fcompile
