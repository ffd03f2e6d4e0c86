"""Questions about the program of a schedule."""

from . import _ffi_api


def is_output_block(sch, block):
    """Whether a block writes what the block around it does not allocate.

    Parameters
    ----------
    sch : Schedule
        The schedule.
    block : BlockRV
        One of its blocks.

    Returns
    -------
    bool
    """
    return bool(_ffi_api.IsOutputBlock(sch, block))


def has_block(sch, block_name):
    """Whether the program of a schedule has a block of a name.

    Parameters
    ----------
    sch : Schedule
        The schedule.
    block_name : str
        The name.

    Returns
    -------
    bool
    """
    return bool(_ffi_api.HasBlock(sch, block_name))
