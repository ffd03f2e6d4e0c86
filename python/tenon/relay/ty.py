"""The types of Relay."""

from ..ir.adt import TypeData
from ..ir.tensor_type import TensorType
from ..ir.type import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    TupleType,
    Type,
    TypeConstraint,
    TypeKind,
    TypeVar,
)
from ..ir.type import RelayRefType as RefType
from ..ir.type_relation import TypeCall, TypeRelation
from ..tir.expr import Any


def is_dynamic(tensor_type):
    """Does a type hold extents that are known at run time only?

    Parameters
    ----------
    tensor_type : Type
        A type of tensors or tuples.

    Returns
    -------
    bool
    """
    if isinstance(tensor_type, TupleType):
        return any(is_dynamic(field) for field in tensor_type.fields)
    return any(isinstance(extent, Any) for extent in tensor_type.shape)


def ShapeVar(name):  # noqa: N802  the old interface's name
    """A type variable that stands for a shape.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    TypeVar
    """
    return TypeVar(name, kind=TypeKind.ShapeVar)


def scalar_type(dtype):
    """Type of tensors without dimensions.

    Parameters
    ----------
    dtype : str
        Type of the element.

    Returns
    -------
    TensorType
    """
    return TensorType((), dtype)


__all__ = [
    "Any",
    "FuncType",
    "GlobalTypeVar",
    "IncompleteType",
    "RefType",
    "ShapeVar",
    "TensorType",
    "TupleType",
    "Type",
    "TypeCall",
    "TypeConstraint",
    "TypeData",
    "TypeKind",
    "TypeRelation",
    "TypeVar",
    "is_dynamic",
    "scalar_type",
]
