"""Buffers: symbolic multi-dimensional storage."""

from .. import _core
from .._ffi.registry import register_object
from ..ir.expr import PrimExpr
from ..ir.type import PointerType, PrimType
from ..runtime.object import Object
from ..runtime.script_printer import Scriptable
from .expr import IntImm, Ramp, Var, convert

READ, WRITE = 1, 2


def _array(value):
    return list(value) if isinstance(value, tuple | list) or hasattr(value, "__len__") else [value]


@register_object("tir.Buffer")
class Buffer(Scriptable, Object):
    """Symbolic storage; made by `decl_buffer`."""

    __slots__ = ()

    READ = READ
    WRITE = WRITE

    def access_ptr(self, access_mask, ptr_type="handle", content_lanes=1, offset=0, extent=None):
        """Pointer into the buffer, for an extern call.

        Parameters
        ----------
        access_mask : int or str
            Buffer.READ, Buffer.WRITE, both, or "r", "w", "rw".
        ptr_type : str
            Type of the pointer.
        content_lanes : int
            Lanes of the type that is pointed to.
        offset, extent : PrimExpr
            First element and number of elements; None for all that follow.

        Returns
        -------
        PrimExpr
        """
        if isinstance(access_mask, str):
            mask = 0
            for letter in access_mask:
                if letter not in "rw":
                    raise ValueError(f"Unknown access_mask {access_mask}")
                mask |= READ if letter == "r" else WRITE
            access_mask = mask
        extent = None if extent is None else convert(extent)
        call = _core.get_global_func("tir.BufferAccessPtr")
        return call(self, access_mask, content_lanes, convert(offset), extent)

    def vload(self, begin, dtype=None):
        """Read one element, or a vector starting at ``begin``.

        Parameters
        ----------
        begin : list of PrimExpr
            Indices.
        dtype : str, optional
            Type with the number of lanes to read.

        Returns
        -------
        BufferLoad
        """
        from .stmt import BufferLoad

        return BufferLoad(self, self._vector_indices(begin, dtype))

    def vstore(self, begin, value):
        """Write one element, or a vector starting at ``begin``; returns the BufferStore."""
        from .stmt import BufferStore

        value = convert(value)
        return BufferStore(self, value, self._vector_indices(begin, value.dtype))

    def _vector_indices(self, begin, dtype):
        indices = [convert(i) for i in _array(begin)]
        lanes = (_core.DataType(str(dtype)).lanes if dtype else 1) // _core.DataType(
            str(self.dtype)
        ).lanes
        if lanes > 1 and indices:
            indices[-1] = Ramp(indices[-1], IntImm(indices[-1].dtype, 1), lanes)
        return indices

    def scope(self):
        """Memory the buffer is in: "global", "shared", ..."""
        return str(_core.get_global_func("tir.BufferStorageScope")(self))

    def get_flattened_buffer(self):
        """The buffer with one axis (one for each group of axes) over the same memory."""
        return _core.get_global_func("tir.BufferGetFlattenedBuffer")(self)

    def offset_of(self, indices):
        """Where an element is in the flattened buffer.

        Parameters
        ----------
        indices : list of PrimExpr
            One for each axis.

        Returns
        -------
        list of PrimExpr
            In elements; one for each axis of the flattened buffer.
        """
        indices = [convert(i) for i in _array(indices)]
        return _core.get_global_func("tir.BufferOffsetOf")(self, indices)

    def __getitem__(self, indices):
        from .stmt import BufferLoad, BufferRegion

        if not isinstance(indices, tuple | list):
            indices = [indices]
        if not any(isinstance(i, slice) for i in indices):
            return BufferLoad(self, indices)
        from ..ir.expr import Range

        region = []
        for i, index in enumerate(indices):
            if isinstance(index, slice):
                start = 0 if index.start is None else index.start
                stop = self.shape[i] if index.stop is None else index.stop
                region.append(Range(start, stop))
            else:
                region.append(Range.from_min_extent(index, 1))
        return BufferRegion(self, region)


def decl_buffer(
    shape,
    dtype=None,
    name="buffer",
    data=None,
    strides=None,
    elem_offset=None,
    scope="",
    data_alignment=-1,
    offset_factor=0,
    buffer_type="",
    axis_separators=None,
    span=None,
):
    """Declare a buffer.

    Parameters
    ----------
    shape : tuple of PrimExpr
        Extents.
    dtype : str
        Type of an element, float32 by default.
    name : str
        Name.
    data : Var, optional
        Pointer to the storage; a new one by default.
    strides : list of PrimExpr, optional
        Strides in elements; compact by default.
    elem_offset : PrimExpr, optional
        Offset of the first element from data.
    scope : str
        Memory, "global" by default.
    data_alignment : int
        Alignment of data in bytes, 64 by default.
    offset_factor : int
        elem_offset is a multiple of this; where it is given without elem_offset, that is a new
        variable.
    buffer_type : str
        "" or "auto_broadcast": an axis of one element is read by any index. Its strides are
        variables that the argument binds.
    axis_separators : list of int, optional
        Where groups of axes are flattened apart.
    span : Span, optional
        Place in a source text.

    Returns
    -------
    Buffer
    """
    shape = [convert(i) for i in _array(shape)]
    dtype = "float32" if dtype is None else str(dtype)
    integer = shape and isinstance(shape[0], PrimExpr) and "int" in shape[0].dtype
    index_dtype = shape[0].dtype if integer else "int32"
    if offset_factor != 0 and elem_offset is None:
        elem_offset = Var(f"{name}_elem_offset", index_dtype)
    broadcast = buffer_type in ("auto_broadcast", "auto")
    if broadcast and strides is None:
        # bound to 0 where the axis has one element
        strides = [Var("stride", index_dtype) for _ in shape]
    if data is None:
        storage = "int8" if dtype == "bool" else dtype
        data = Var(name, PointerType(PrimType(storage), scope or "global"), span)
    fields = {
        "data": data,
        "dtype": dtype,
        "shape": shape,
        "strides": [convert(i) for i in (strides or [])],
        "axis_separators": [IntImm("int32", int(i)) for i in (axis_separators or [])],
        "elem_offset": IntImm(index_dtype, 0) if elem_offset is None else convert(elem_offset),
        "name": name,
        "data_alignment": 64 if data_alignment <= 0 else data_alignment,
        "offset_factor": offset_factor or 1,
        "buffer_type": 2 if broadcast else 1,
        "span": span,
    }
    return _core.make_node("tir.Buffer", fields)


@register_object("tir.DataProducer")
class DataProducer(Object):
    """What a ProducerLoad reads."""

    __slots__ = ()
