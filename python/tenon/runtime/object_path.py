"""Places inside an object, as `tenon.ir.get_first_structural_mismatch` reports them."""

from .._ffi.registry import register_object
from . import _ffi_node_api
from .object import Object

__all__ = [
    "ArrayIndexPath",
    "AttributeAccessPath",
    "MapValuePath",
    "MissingArrayElementPath",
    "MissingMapEntryPath",
    "ObjectPath",
    "ObjectPathPair",
    "RootPath",
    "UnknownAttributeAccessPath",
]


@register_object("ObjectPath")
class ObjectPath(Object):
    """A place in an object: fields, elements and keys from a root.

    Begin with `ObjectPath.root` and go on with `attr`, `array_index`, `map_value`. Paths compare by
    content; ``str`` gives text such as ``<root>.body[2]["k"]``.
    """

    __slots__ = ()

    def __init__(self):
        raise ValueError(
            "ObjectPath can't be initialized directly: use ObjectPath.root() and go on"
        )

    @staticmethod
    def root(root_name=None):
        """The whole object.

        Parameters
        ----------
        root_name : str, optional
            How it is called in the text.
        """
        return _ffi_node_api.ObjectPathRoot(root_name)

    def __eq__(self, other):
        return isinstance(other, ObjectPath) and bool(_ffi_node_api.ObjectPathEqual(self, other))

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(str(self))

    @property
    def parent(self):
        """Path to what holds this place; None for a root."""
        return _ffi_node_api.ObjectPathGetParent(self)

    def __len__(self):
        return _ffi_node_api.ObjectPathLength(self)

    def get_prefix(self, length):
        """The path of the first steps.

        Parameters
        ----------
        length : int
            Number of steps, the root counted.

        Raises
        ------
        IndexError
            Less than one, or more than there are.
        """
        return _ffi_node_api.ObjectPathGetPrefix(self, length)

    def is_prefix_of(self, other):
        """Does the path `other` begin with this one? Equal paths do."""
        return bool(_ffi_node_api.ObjectPathIsPrefixOf(self, other))

    def attr(self, attr_key):
        """A field; None for one without a name."""
        return _ffi_node_api.ObjectPathAttr(self, attr_key)

    def array_index(self, index):
        """An element of an array."""
        return _ffi_node_api.ObjectPathArrayIndex(self, index)

    def missing_array_element(self, index):
        """An element that only the other array has."""
        return _ffi_node_api.ObjectPathMissingArrayElement(self, index)

    def map_value(self, key):
        """The value of a key."""
        return _ffi_node_api.ObjectPathMapValue(self, key)

    def missing_map_entry(self):
        """An entry that only the other map has."""
        return _ffi_node_api.ObjectPathMissingMapEntry(self)


@register_object("RootPath")
class RootPath(ObjectPath):
    """The whole object."""

    __slots__ = ()


@register_object("AttributeAccessPath")
class AttributeAccessPath(ObjectPath):
    """A field."""

    __slots__ = ()


@register_object("UnknownAttributeAccessPath")
class UnknownAttributeAccessPath(ObjectPath):
    """A field that has no name."""

    __slots__ = ()


@register_object("ArrayIndexPath")
class ArrayIndexPath(ObjectPath):
    """An element of an array."""

    __slots__ = ()


@register_object("MissingArrayElementPath")
class MissingArrayElementPath(ObjectPath):
    """An element that only the other array has."""

    __slots__ = ()


@register_object("MapValuePath")
class MapValuePath(ObjectPath):
    """The value of a key."""

    __slots__ = ()


@register_object("MissingMapEntryPath")
class MissingMapEntryPath(ObjectPath):
    """An entry that only the other map has."""

    __slots__ = ()


@register_object("ObjectPathPair")
class ObjectPathPair(Object):
    """Where two objects differ: `lhs_path` in the one, `rhs_path` in the other."""

    __slots__ = ()
