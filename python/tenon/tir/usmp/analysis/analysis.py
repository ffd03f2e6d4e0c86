"""What memory a program needs, and when."""

from ...._ffi import get_global_func


def extract_buffer_info(main_func, mod):
    """The memory that a program needs, and what of it is needed at the same time.

    Parameters
    ----------
    main_func : PrimFunc
        What runs: it calls functions of the module.
    mod : IRModule
        The functions.

    Returns
    -------
    BufferInfoAnalysis
        A BufferInfo for each allocation whose annotation ``candidate_memory_pools`` lists pools.
        Their conflicts are known as long as this object lives.
    """
    return get_global_func("tir.usmp.analysis.extract_buffer_info")(main_func, mod)
