"""Tensors of tensor expressions and the operations that compute them."""

from .. import _core
from .._ffi.registry import register_object
from ..runtime.object import Object
from ..runtime.object_generic import ObjectGeneric
from ..tir.buffer import DataProducer
from ..tir.expr import ExprOp, convert


class TensorSlice(ObjectGeneric, ExprOp):
    """Some indices of a tensor: an element once all are given."""

    def __init__(self, tensor, indices):
        self.tensor = tensor
        self.indices = indices if isinstance(indices, tuple) else (indices,)

    __iter__ = None  # nothing says where indices end

    def __getitem__(self, indices):
        more = indices if isinstance(indices, tuple) else (indices,)
        return TensorSlice(self.tensor, self.indices + more)

    def asobject(self):
        """The element; ValueError unless there is an index for every axis."""
        return self.tensor(*self.indices)

    @property
    def dtype(self):
        """Type of an element."""
        return self.tensor.dtype


@register_object("Tensor")
class Tensor(DataProducer, ExprOp):
    """Result of an operation; ``T[i, j]`` is an element."""

    __slots__ = ()

    def __call__(self, *indices):
        from ..tir.stmt import ProducerLoad

        if len(indices) != self.ndim:
            raise ValueError(
                f"Need to provide {self.ndim} index in tensor but {len(indices)} was provided"
            )
        return ProducerLoad(self, [convert(i) for i in indices])

    __iter__ = None  # nothing says where indices end

    def __getitem__(self, indices):
        return TensorSlice(self, indices)

    def _identity(self):
        return hash(self.op), int(self.value_index)

    def __hash__(self):
        return hash(self._identity())

    def __eq__(self, other):
        if not isinstance(other, Tensor):
            if isinstance(other, ExprOp):
                from ..tir.expr import EqualOp

                return EqualOp(self, other)
            return False
        if self.ndim == 0 and other.ndim == 0:
            raise ValueError(
                "Equal == comparison among rank-0 tensor is ambiguous, "
                "use Tensor.equal for content expression equvalence, "
                "use Tensor.same_as for exact reference comparison"
            )
        return self.op.same_as(other.op) and self.value_index == other.value_index

    def __ne__(self, other):
        return not self == other

    @property
    def ndim(self):
        """Number of axes; int."""
        return len(self.shape)

    @property
    def axis(self):
        """Axes of the operation."""
        return self.op.axis

    @property
    def name(self):
        """Name of the operation, with the number of the result where there are several."""
        op = self.op
        if op.num_outputs == 1:
            return str(op.name)
        return f"{op.name}.v{self.value_index}"


@register_object("Operation")
class Operation(Object):
    """What computes tensors."""

    __slots__ = ()

    def output(self, index):
        """Result `index`; Tensor."""
        return _core.get_global_func("te.OpGetOutput")(self, index)

    @property
    def num_outputs(self):
        """Number of results; int."""
        return _core.get_global_func("te.OpNumOutputs")(self)

    @property
    def input_tensors(self):
        """Tensors it reads."""
        return _core.get_global_func("te.OpInputTensors")(self)


@register_object("PlaceholderOp")
class PlaceholderOp(Operation):
    """A tensor that is given."""

    __slots__ = ()


@register_object("BaseComputeOp")
class BaseComputeOp(Operation):
    """Elements by axes."""

    __slots__ = ()


@register_object("ComputeOp")
class ComputeOp(BaseComputeOp):
    """Elements by an expression over axes."""

    __slots__ = ()


@register_object("TensorComputeOp")
class TensorComputeOp(BaseComputeOp):
    """Pieces by an intrinsic, from regions of tensors; made by `te.compute`."""

    __slots__ = ()


@register_object("ScanOp")
class ScanOp(Operation):
    """Results step by step, from earlier steps; made by `te.scan`."""

    __slots__ = ()


@register_object("ExternOp")
class ExternOp(Operation):
    """Results of a statement."""

    __slots__ = ()
