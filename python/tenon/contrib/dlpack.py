"""Compiled functions called with other frameworks' tensors."""

from ..runtime import ndarray


def convert_func(tvm_func, tensor_type, to_dlpack_func):
    """Wrap a function so that it takes tensors of a framework, without copying them.

    Parameters
    ----------
    tvm_func : PackedFunc or Module
        The function.
    tensor_type : type
        Arguments of this type are converted.
    to_dlpack_func : function (tensor) -> capsule
        The framework's export to DLPack.

    Returns
    -------
    function
    """
    if not callable(tvm_func):
        raise TypeError(f"convert_func: expected a function, got {type(tvm_func).__name__}")

    def _wrapper(*args):
        return tvm_func(
            *(
                ndarray.from_dlpack(to_dlpack_func(arg)) if isinstance(arg, tensor_type) else arg
                for arg in args
            )
        )

    return _wrapper


def to_pytorch_func(tvm_func):
    """Wrap a function so that it takes PyTorch tensors, without copying them.

    Parameters
    ----------
    tvm_func : PackedFunc or Module
        The function.

    Returns
    -------
    function
    """
    import torch
    import torch.utils.dlpack

    return convert_func(tvm_func, torch.Tensor, torch.utils.dlpack.to_dlpack)
