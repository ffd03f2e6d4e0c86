"""cuDNN: whether the library is there."""

import functools


@functools.lru_cache(None)
def exists():
    """Is there a cuDNN that this build can use?"""
    from .._ffi import get_global_func

    function = get_global_func("contrib.cudnn.exists", allow_missing=True)
    return bool(function()) if function is not None else False
