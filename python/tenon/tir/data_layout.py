"""Layouts of tensors."""

from .._ffi.registry import register_object
from ..runtime.object import Object
from . import _ffi_api


@register_object("tir.Layout")
class Layout(Object):
    """Order and blocking of the axes of a tensor; made by `layout`.

    ``name`` is its text. In ``"NCHW16c"`` an upper-case letter is an axis and a lower-case one,
    with a factor, a block of it.
    """

    __slots__ = ()

    def __len__(self):
        return _ffi_api.LayoutNdim(self)

    def __contains__(self, axis):
        return axis in self.name

    def __getitem__(self, index):
        """Letter of an axis; IndexError when there are fewer."""
        return _ffi_api.LayoutGetItem(self, index)

    def index_of(self, axis):
        """Place of an axis, -1 when the layout does not have it.

        Parameters
        ----------
        axis : str
            A letter.
        """
        return _ffi_api.LayoutIndexOf(self, axis)

    def factor_of(self, axis):
        """Size of the blocks of an axis (either letter), -1 when it is not blocked.

        Parameters
        ----------
        axis : str
            A letter.
        """
        return _ffi_api.LayoutFactorOf(self, axis)


@register_object("tir.BijectiveLayout")
class BijectiveLayout(Object):
    """The mapping between two layouts of the same axes; made by `bijective_layout`."""

    __slots__ = ()

    def forward_index(self, index):
        """Index in the destination of an index in the source; Array of PrimExpr."""
        return _ffi_api.BijectiveLayoutForwardIndex(self, index)

    def backward_index(self, index):
        """Index in the source of an index in the destination; Array of PrimExpr."""
        return _ffi_api.BijectiveLayoutBackwardIndex(self, index)

    def forward_shape(self, shape):
        """Shape in the destination of a shape in the source; Array of PrimExpr."""
        return _ffi_api.BijectiveLayoutForwardShape(self, shape)

    def backward_shape(self, shape):
        """Shape in the source of a shape in the destination; Array of PrimExpr."""
        return _ffi_api.BijectiveLayoutBackwardShape(self, shape)


def layout(layout_str, dtype="int32"):
    """The layout of a text.

    Parameters
    ----------
    layout_str : str
        For example ``"NCHW16c"``; ``"__undef__"`` gives None.
    dtype : str
        Type of its axes.

    Returns
    -------
    Layout or None

    Raises
    ------
    ValueError
        The text is not a layout.

    Examples
    --------
    >>> tenon.tir.layout("NCHW16c").factor_of("C")
    16
    """
    return _ffi_api.Layout(layout_str, dtype)


def bijective_layout(src_layout, dst_layout):
    """The mapping between two layouts.

    Parameters
    ----------
    src_layout, dst_layout : str or Layout
        The layouts.

    Returns
    -------
    BijectiveLayout or None
        None when one of them is empty or undefined, or their axes differ.

    Examples
    --------
    >>> tenon.tir.bijective_layout("NCHW", "NCHW16c").forward_shape((1, 32, 7, 7))
    [1, 2, 7, 7, 16]
    """
    src, dst = (layout(x) if isinstance(x, str) else x for x in (src_layout, dst_layout))
    return _ffi_api.BijectiveLayout(src, dst)
