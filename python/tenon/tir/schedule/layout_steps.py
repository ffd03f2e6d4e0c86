"""Steps of schedules that change how buffers and blocks are indexed, as a part of Schedule."""

from ...ir.expr import PrimExpr
from ..expr import const
from ..index_map import IndexMap
from . import _ffi_api


def _padding(value, buffer, index_map):
    """A map from the new indices to the value of the padding."""
    if value is None or isinstance(value, IndexMap):
        return value
    ndim, dtype = len(index_map.final_indices), _index_dtype(buffer)
    if not callable(value) or isinstance(value, PrimExpr):
        given = value if isinstance(value, PrimExpr) else _number(value, str(buffer.dtype))
        return IndexMap.from_func(lambda *indices: [given], ndim=ndim, index_dtype=dtype)
    return IndexMap.from_func(value, ndim=ndim, index_dtype=dtype)


def _number(value, dtype):
    """Converts the value to the buffer's type if both are of one kind; 0 does not pad floats."""
    fits = dtype.startswith("float" if isinstance(value, float) else ("int", "uint", "bool"))
    return const(value, dtype) if fits else const(value)


def _index_dtype(buffer):
    return str(buffer.shape[0].dtype) if len(buffer.shape) else "int32"


class LayoutSteps:
    """What Schedule can do with the order of elements and of iterators."""

    __slots__ = ()

    def transform_layout(
        self,
        block,
        buffer,
        index_map,
        pad_value=None,
        *,
        assume_injective_transform=False,
    ):
        """Store the elements of a buffer at other places.

        Parameters
        ----------
        block : BlockRV or str
            A block that uses the buffer.
        buffer : (str, int), str or Buffer
            Which buffer: ("read" or "write", number), its name, or itself.
        index_map : IndexMap or callable
            From the old indices to the new ones. `IndexMap.AXIS_SEPARATOR` among these also sets
            the axis separators.
        pad_value : int, float, PrimExpr, IndexMap or callable, optional
            The value of the padding: elements of the new buffer that the old one does not have.
            It has the buffer's type (0.0 for floats) and may depend on the new indices. Without
            it, the map must not introduce padding.
        assume_injective_transform : bool
            Do not check the map; the values of the padding are undefined.

        Raises
        ------
        ScheduleError
            The map is not affine, or introduces padding.
        """
        block = self._block(block)
        side, index, which = _ffi_api.BufferOf(self, block, buffer)
        separators, given = [], which is not None
        if not isinstance(index_map, IndexMap):
            index_map, separators = IndexMap.from_func_with_separators(
                index_map,
                ndim=len(which.shape) if given else None,
                index_dtype=_index_dtype(which) if given else "int32",
            )
        pad = _padding(pad_value, which, index_map) if given else None
        place = (side, index)
        _ffi_api.TransformLayout(self, block, place, index_map, pad, assume_injective_transform)
        if separators:
            self.set_axis_separator(block, place, separators)

    def set_axis_separator(self, block, buffer, axis_separators):
        """Say where groups of axes that are flattened apart begin.

        Parameters
        ----------
        block : BlockRV or str
            A block that uses the buffer.
        buffer : (str, int), str or Buffer
            See `transform_layout`.
        axis_separators : list of int, optional
            Axes before which a group begins.
        """
        _ffi_api.SetAxisSeparator(self, block, buffer, axis_separators or [])

    def transform_block_layout(self, block, index_map):
        """Iterate over a block in other iterators.

        Parameters
        ----------
        block : BlockRV or str
            Its iterators are loops around nothing else.
        index_map : IndexMap or callable
            From its iterators to the new ones; a bijection.
        """
        block, index_map = self._iter_map(block, index_map)
        _ffi_api.TransformBlockLayout(self, block, index_map)

    def reorder_block_iter_var(self, block, new_order):
        """Put the iterators of a block into another order.

        Parameters
        ----------
        block : BlockRV or str
            The block.
        new_order : list of int
            Number of the old iterator for each new one.
        """
        _ffi_api.ReorderBlockIterVar(self, block, new_order)

    def storage_align(self, block, buffer_index, axis, factor, offset):
        """Make the stride of an axis of a buffer a multiple of `factor`, plus `offset`.

        Parameters
        ----------
        block : BlockRV or str
            The block that writes the buffer.
        buffer_index : int, str or Buffer
            Which of the buffers it writes.
        axis : int
            The axis; negative numbers count from the end.
        factor, offset : int
            Of the stride, in elements.
        """
        _ffi_api.StorageAlign(self, block, buffer_index, axis, factor, offset)

    def rolling_buffer(self, block, write_buffer_index):
        """Keep of a buffer what neighbouring iterations of a loop share, and compute only the rest.

        The outermost dimension whose region slides with a loop, by less than the region's extent,
        becomes circular: it is as long as the region, indices are taken modulo that. A predicate
        leaves out what the iteration before has computed. The block's sliding iterators become
        opaque, so that later steps keep the order of these loops.

        Parameters
        ----------
        block : BlockRV or str
            The block, computed at a loop of those that read the buffer (`compute_at`). Only what
            it writes may be read by others, who write it nowhere; it is not an output block.
        write_buffer_index : int, str or Buffer
            Which of the buffers it writes; one that the block around it allocates.

        Raises
        ------
        ScheduleError
            The block is an output block, has other dependencies than reads after its writes,
            meets its readers in no loop, or no dimension overlaps from iteration to iteration.
        """
        _ffi_api.RollingBuffer(self, block, write_buffer_index)

    def unsafe_set_dtype(self, block, buffer_index, dtype):
        """Keep the elements of a buffer in another type, whatever that loses.

        Parameters
        ----------
        block : BlockRV or str
            The block that writes the buffer.
        buffer_index : int, str or Buffer
            Which of the buffers it writes; one that a block allocates.
        dtype : str
            The type.
        """
        _ffi_api.UnsafeSetDType(self, block, buffer_index, dtype)

    def unsafe_hide_buffer_access(self, block, buf_type, buf_index_array):
        """Leave buffers out of what a block says that it reads or writes.

        Parameters
        ----------
        block : BlockRV or str
            The block.
        buf_type : str
            "read" or "write".
        buf_index_array : list of int
            Numbers of the buffers.
        """
        _ffi_api.UnsafeHideBufferAccess(self, block, buf_type, buf_index_array)
