"""Sets of attributes."""

from .. import _core
from .._ffi.registry import register_object
from ..runtime.object import Object
from . import _ffi_api

_OF_REWRITES = ("auto_scheduler_rewritten_layout", "meta_schedule_original_shape")


@register_object("AttrFieldInfo")
class AttrFieldInfo(Object):
    """Description of an attribute: `name`, `type_info`, `description`."""

    __slots__ = ()


@register_object("Attrs")
class Attrs(Object):
    """A set of attributes; they are the fields of the node, and its items by name."""

    __slots__ = ()

    def list_field_info(self):
        """Descriptions of the attributes; list of AttrFieldInfo."""
        return list(_ffi_api.AttrsListFieldInfo(self))

    def keys(self):
        """Names of the attributes; list of str. Without those that only rewrites of schedules fill
        in: functions that make calls do not take them."""
        names = [field[0] for field in _core.type_info(self.type_key)["fields"]]
        return [name for name in names if name not in _OF_REWRITES]

    def get_int_tuple(self, key):
        """Attribute `key` as a tuple of int."""
        return tuple(int(x) for x in self[key])

    def get_int(self, key):
        """Attribute `key` as an int."""
        return int(self[key])

    def get_str(self, key):
        """Attribute `key` as a str."""
        return str(self[key])

    def __getitem__(self, item):
        try:
            return getattr(self, item)
        except AttributeError as err:
            raise KeyError(item) from err


@register_object("DictAttrs")
class DictAttrs(Attrs):
    """Attributes by name, each of any kind."""

    __slots__ = ()

    def keys(self):
        """Names of the attributes; list of str."""
        return [str(key) for key in self.dict]

    def __getattr__(self, name):  # only when the node itself has no such field
        if name in self.dict:
            return self.dict[name]
        raise AttributeError(f"{type(self)} has no attribute {name}")

    def __getitem__(self, k):
        return self.dict[k]

    def get(self, key, default=None):
        """The attribute of a name, or `default`."""
        return self.dict.get(key, default)

    def __contains__(self, k):
        return k in self.dict

    def items(self):
        """Pairs of name and value."""
        return self.dict.items()

    def __len__(self):
        return len(self.dict)


def make_node(type_key, **kwargs):
    """Make a node from its fields; see `tenon.ir.make_node`."""
    from .base import make_node as make

    return make(type_key, **kwargs)


def make_attrs(**kwargs):
    """A `DictAttrs` of the given attributes."""
    return _ffi_api.DictAttrs(kwargs)
