"""What the code generators of this build can do."""

from . import _ffi_api


def build_module(mod, target):
    """Generate code for lowered tensor programs.

    Parameters
    ----------
    mod : IRModule
        The programs.
    target : str or Target
        What for.

    Returns
    -------
    Module
    """
    return _ffi_api.Build(mod, target)


def llvm_version_major(allow_none=False):
    """Major version of LLVM.

    Parameters
    ----------
    allow_none : bool
        Return None where there is no LLVM; otherwise that is a RuntimeError.

    Returns
    -------
    int or None
    """
    version = _ffi_api.llvm_version_major()
    if version:
        return version
    if allow_none:
        return None
    raise RuntimeError("target llvm is not built: LLVM was not found")


def llvm_lookup_intrinsic_id(name):
    """Number of an intrinsic of LLVM.

    Parameters
    ----------
    name : str
        Its name, such as ``"llvm.fma.f32"``.

    Returns
    -------
    int
        The number; 0 where LLVM has no such intrinsic.
    """
    llvm_version_major()  # opens the code generator
    return _ffi_api.llvm_lookup_intrinsic_id(name)


def llvm_get_intrinsic_name(intrin_id):
    """Name of an intrinsic of LLVM.

    Parameters
    ----------
    intrin_id : int
        Its number, from `llvm_lookup_intrinsic_id`.

    Returns
    -------
    str
        The name without types; empty where there is no such intrinsic.
    """
    llvm_version_major()
    return str(_ffi_api.llvm_get_intrinsic_name(intrin_id))


def llvm_get_cpu_archlist(target="llvm"):
    """The processors that the option ``-mcpu`` of a target may name.

    Parameters
    ----------
    target : str or Target
        Of kind llvm; its triple decides.

    Returns
    -------
    list of str
    """
    llvm_version_major()
    return [str(name) for name in _ffi_api.llvm_get_cpu_archlist(target)]
