"""Steps of schedules that change how buffers and blocks are indexed, as a part of Schedule."""

from ...ir.expr import PrimExpr
from ..buffer import Buffer
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

    @staticmethod
    def _place_of(block, buffer):
        """Side and number of a buffer of the block. A name of one that is read and written means
        the write, a Buffer the read, as in existing programs."""
        places = [
            (side, i, region.buffer)
            for side, regions in (("read", block.reads), ("write", block.writes))
            for i, region in enumerate(regions)
            if region.buffer.same_as(buffer)
            or (isinstance(buffer, str) and str(region.buffer.name) == buffer)
        ]
        if not places:
            name = buffer.name if isinstance(buffer, Buffer) else buffer
            raise ValueError(f"the block {block.name_hint} neither reads nor writes {name}")
        if not all(p[2].same_as(places[0][2]) for p in places):
            raise ValueError(
                f"the block {block.name_hint} has several buffers named {buffer}: give the Buffer"
            )
        return places[-1 if isinstance(buffer, str) else 0][:2]

    def _which_buffer(self, block, buffer):
        """[number, whether it is written] and the Buffer."""
        found = self.get(block)
        if isinstance(buffer, tuple | list):
            side, index = buffer
            if side not in ("read", "write") or not isinstance(index, int):
                raise ValueError(f'buffer: expected ("read" or "write", number), got {buffer!r}')
        else:
            side, index = self._place_of(found, buffer)
        regions = found.writes if side == "write" else found.reads
        buffer = regions[index].buffer if 0 <= index < len(regions) else None
        return index, side == "write", buffer

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
        index, write, which = self._which_buffer(block, buffer)
        separators = []
        if not isinstance(index_map, IndexMap):
            index_map, separators = IndexMap.from_func_with_separators(
                index_map,
                ndim=len(which.shape) if which is not None else None,
                index_dtype=_index_dtype(which) if which is not None else "int32",
            )
        index_map = _ffi_api.KnownIndexMap(self, index_map)
        pad = _padding(pad_value, which, index_map) if which is not None else None
        args = [index, write, index_map, pad, assume_injective_transform]
        _ffi_api.TransformLayout(self, block, *args)
        attrs = [index, int(write), index_map, pad, int(assume_injective_transform)]
        self._note("TransformLayout", [block], attrs)
        if separators:
            self.set_axis_separator(block, ("write" if write else "read", index), separators)

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
        block = self._block(block)
        index, write, _ = self._which_buffer(block, buffer)
        axes = [int(i) for i in axis_separators or []]
        _ffi_api.SetAxisSeparator(self, block, index, write, [const(i, "int32") for i in axes])
        self._note("SetAxisSeparator", [block], [index, int(write), axes])

    def transform_block_layout(self, block, index_map):
        """Iterate over a block in other iterators.

        Parameters
        ----------
        block : BlockRV or str
            Its iterators are loops around nothing else.
        index_map : IndexMap or callable
            From its iterators to the new ones; a bijection.
        """
        block = self._block(block)
        if not isinstance(index_map, IndexMap):
            iters = self.get(block).iter_vars
            dtype = str(iters[0].var.dtype) if len(iters) else "int32"
            index_map = IndexMap.from_func(index_map, ndim=len(iters), index_dtype=dtype)
        index_map = _ffi_api.KnownIndexMap(self, index_map)
        _ffi_api.TransformBlockLayout(self, block, index_map)
        self._note("TransformBlockLayout", [block], [index_map])

    def reorder_block_iter_var(self, block, new_order):
        """Put the iterators of a block into another order.

        Parameters
        ----------
        block : BlockRV or str
            The block.
        new_order : list of int
            Number of the old iterator for each new one.
        """
        block, order = self._block(block), [int(i) for i in new_order]
        _ffi_api.ReorderBlockIterVar(self, block, [const(i, "int32") for i in order])
        self._note("ReorderBlockIterVar", [block], [order])

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
        block = self._block(block)
        index = self._buffer_index(block, buffer_index, "writes")
        _ffi_api.StorageAlign(self, block, index, axis, factor, offset)
        self._note("StorageAlign", [block], [index, axis, factor, offset])

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
        block = self._block(block)
        index = self._buffer_index(block, write_buffer_index, "writes")
        _ffi_api.RollingBuffer(self, block, index)
        self._note("RollingBuffer", [block], [index])

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
        block = self._block(block)
        index = self._buffer_index(block, buffer_index, "writes")
        _ffi_api.UnsafeSetDType(self, block, index, dtype)
        self._note("UnsafeSetDType", [block], [index, str(dtype)])

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
        if buf_type not in ("read", "write"):
            raise ValueError(f"Unrecognized buffer type {buf_type}, expected read or write")
        block, numbers = self._block(block), [int(i) for i in buf_index_array]
        write = buf_type == "write"
        handles = [const(i, "int32") for i in numbers]
        _ffi_api.UnsafeHideBufferAccess(self, block, write, handles)
        self._note("UnsafeHideBufferAccess", [block], [buf_type, numbers])
