"""Registration of global functions and of the Python classes of native types."""

import sys

from .. import _core


def register_object(type_key=None):
    """Class decorator: results of a native type arrive as this class.

    Parameters
    ----------
    type_key : str or class
        Key of the type; used bare, the class's name.

    Returns
    -------
    class or function

    Raises
    ------
    ValueError
        There is no such native type.

    Examples
    --------
    >>> @tenon.register_object("MyNode")
    ... class MyNode(tenon.runtime.Object):
    ...     pass
    """
    name = type_key if isinstance(type_key, str) else type_key.__name__

    def register(cls):
        _core.register_class(name, cls)
        return cls

    return register if isinstance(type_key, str) else register(type_key)


def register_extension(cls, fcreate=None):
    """Let a class of another library be passed as an argument.

    Parameters
    ----------
    cls : class
        Has ``_tvm_tcode`` (one of `runtime_ctypes.ArgTypeCode`) and the property ``_tvm_handle``
        (an int or ctypes pointer).
    fcreate : None
        No longer supported.

    Returns
    -------
    class
        `cls`.
    """
    if not hasattr(cls, "_tvm_tcode"):
        raise TypeError(f"register_extension: {cls.__name__} has no _tvm_tcode")
    if fcreate is not None:
        raise ValueError("Extension with fcreate is no longer supported")
    if cls._tvm_tcode in _TENSOR_CODES and not hasattr(cls, "asobject"):
        cls.asobject = _tensor_of_extension
    return cls


_TENSOR_CODES = (7, 13)  # ArgTypeCode.DLTENSOR_HANDLE, NDARRAY_HANDLE


def _tensor_of_extension(self):
    """The tensor whose C description an instance of an extension class points to."""
    import ctypes

    return get_global_func("runtime.TensorFromHandle")(ctypes.c_void_p(self._tvm_handle))


def extract_ext_funcs(finit):
    """The functions that a library of C or C++ declares.

    Parameters
    ----------
    finit : ctypes function
        ``int f(void *declare)``, which calls the function ``declare(name, function)`` for each.

    Returns
    -------
    dict of str
        Functions by name.

    Raises
    ------
    RuntimeError
        The function returned another number than 0.
    """
    functions = {}
    declare = _core.convert_to_object(functions.__setitem__)
    result = finit(declare.handle)
    if result != 0:
        raise RuntimeError(f"extract_ext_funcs: the library's function returned {result}")
    return functions


def register_func(func_name, f=None, override=False):
    """Make a Python function callable by name from everywhere. Can be used as a decorator.

    Parameters
    ----------
    func_name : str or function
        The name; given a function, its own name.
    f : function, optional
        The function; left out, a decorator is returned.
    override : bool
        Replace a function of that name.

    Returns
    -------
    function
        `f`, or the decorator.

    Raises
    ------
    TVMError
        The name is taken and `override` is False.

    Examples
    --------
    >>> @tenon.register_func("my.add")
    ... def add(a, b):
    ...     return a + b
    >>> tenon.get_global_func("my.add")(1, 2)
    3
    """
    if callable(func_name):
        f, func_name = func_name, func_name.__name__
    if not isinstance(func_name, str):
        raise ValueError(f"expect string function name, got {type(func_name).__name__}")

    def register(myf):
        _core.register_global_func(func_name, myf, override)
        return myf

    return register if f is None else register(f)


def get_global_func(name, allow_missing=False):
    """The global function of a name.

    Parameters
    ----------
    name : str
        Its name.
    allow_missing : bool
        Return None when there is none.

    Returns
    -------
    PackedFunc or None

    Raises
    ------
    ValueError
        There is none and `allow_missing` is False.
    """
    function = _core.get_global_func(name)
    if function is None and not allow_missing:
        raise ValueError(f"Cannot find global function {name}")
    return function


def list_global_func_names():
    """Names of all global functions, sorted; list of str."""
    return [str(name) for name in _core.list_global_func_names()]


def remove_global_func(name):
    """Take a function out of the global table.

    Raises
    ------
    KeyError
        There is no function of that name.
    """
    _core.remove_global_func(name)


def _init_api(namespace, target_module_name=None):
    """Give a Python module the global functions of a namespace.

    ``_init_api("a.b", __name__)`` makes ``a.b.Name`` the module's attribute ``Name``. The functions
    are looked up when first used, so those registered later are found too.

    Parameters
    ----------
    namespace : str
        Names in front of the last dot; a leading ``tvm.`` or ``tenon.`` is left out.
    target_module_name : str, optional
        The module; default: the one named by `namespace`.
    """
    target = sys.modules[target_module_name or namespace]
    for top in ("tvm.", "tenon."):
        namespace = namespace.removeprefix(top)
    _init_api_prefix(target, namespace)


def _init_api_prefix(target, prefix):
    earlier = target.__dict__.get("__getattr__")

    def fetch(name):
        # "a.b.c" belongs to the namespace a.b, not to a
        if not name.startswith("__") and "." not in name:
            function = _core.get_global_func(f"{prefix}.{name}")
            if function is not None:
                setattr(target, name, function)
                return function
        if earlier is not None:
            return earlier(name)
        raise AttributeError(
            f"module {target.__name__!r} has no attribute {name!r}, and the global function "
            f"{prefix}.{name} is unknown"
        )

    def listing():
        start = prefix + "."
        names = (n for n in list_global_func_names() if n.startswith(start))
        found = {n[len(start) :] for n in names}
        return sorted({*vars(target), *(n for n in found if "." not in n)})

    target.__getattr__ = fetch
    target.__dir__ = listing
