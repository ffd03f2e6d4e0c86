"""Named tensors (model parameters) as bytes and files."""

import os

from . import _ffi_api, ndarray


def _to_ndarray(params):
    return {
        name: value if isinstance(value, ndarray.NDArray) else ndarray.array(value)
        for name, value in params.items()
    }


def save_param_dict(params):
    """Put tensors into bytes.

    Parameters
    ----------
    params : dict of str to NDArray or array-like
        The tensors, on any device.

    Returns
    -------
    bytearray
        In the format that `load_param_dict` and graph executors read.

    Examples
    --------
    >>> data = tenon.runtime.save_param_dict({"weight": tenon.nd.array([1.0, 2.0])})
    >>> tenon.runtime.load_param_dict(data)["weight"].shape
    (2,)
    """
    return _ffi_api.SaveParams(_to_ndarray(params))


def save_param_dict_to_file(params, path):
    """Write tensors to a file, without holding the whole of it in memory.

    Parameters
    ----------
    params : dict of str to NDArray or array-like
        The tensors.
    path : str or path
        The file.
    """
    _ffi_api.SaveParamsToFile(_to_ndarray(params), os.fspath(path))


def load_param_dict(param_bytes):
    """Read tensors from bytes.

    Parameters
    ----------
    param_bytes : bytes or bytearray
        What `save_param_dict` made.

    Returns
    -------
    dict of str to NDArray
        On the CPU.

    Raises
    ------
    ValueError
        The bytes are not parameters, or cut off.
    """
    if isinstance(param_bytes, str):
        param_bytes = bytes(param_bytes, "latin-1")
    if isinstance(param_bytes, int):  # bytearray(n) would be n zeros
        raise TypeError("load_param_dict: expected bytes or bytearray, got int")
    loaded = _ffi_api.LoadParams(bytearray(param_bytes))
    return {str(name): value for name, value in loaded.items()}


def load_param_dict_from_file(path):
    """Read tensors from a file.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    dict of str to NDArray
        On the CPU.
    """
    loaded = _ffi_api.LoadParamsFromFile(os.fspath(path))
    return {str(name): value for name, value in loaded.items()}
