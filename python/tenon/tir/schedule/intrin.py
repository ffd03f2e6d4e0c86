"""Tensorized instructions."""

from ..._ffi.registry import register_object
from ...runtime.object import Object
from . import _ffi_api


@register_object("tir.TensorIntrin")
class TensorIntrin(Object):
    """An instruction for a whole block.

    Parameters
    ----------
    desc : PrimFunc
        What it computes.
    impl : PrimFunc
        How it is called; the same buffers and scalars as parameters. A scalar stands for what a
        program has in its place: anything that reads no memory and is the same for the whole block.
    """

    __slots__ = ()

    def __init__(self, desc, impl):
        self.__init_handle_by_constructor__(_ffi_api.TensorIntrin, desc, impl)

    @staticmethod
    def register(name, desc, impl, override=False):
        """Make an instruction known by a name.

        Parameters
        ----------
        name : str
            The name.
        desc, impl : PrimFunc
            See the class.
        override : bool
            Whether another one of the name may be replaced.

        Returns
        -------
        TensorIntrin

        Raises
        ------
        ValueError
            The name is taken, or the functions take different buffers.
        """
        intrin = TensorIntrin(desc, impl)
        _ffi_api.TensorIntrinRegister(name, intrin, override)
        return intrin

    @staticmethod
    def get(name, allow_missing=False):
        """The instruction of a name; ValueError, or None where it may be missing."""
        return _ffi_api.TensorIntrinGet(name, allow_missing)
