"""What holds for all nodes: places in sources, JSON, structural comparison, making by name."""

from .. import _core
from .._ffi.registry import get_global_func, register_object
from ..runtime import _ffi_node_api
from ..runtime.object import Object
from . import _ffi_api


class Node(Object):
    """Base of the nodes of the IR."""

    __slots__ = ()


@register_object("SourceName")
class SourceName(Object):
    """Name of a source text; one object for each name.

    Parameters
    ----------
    name : str
        File name, or what stands for it.
    """

    __slots__ = ()

    def __init__(self, name):
        self.__init_handle_by_constructor__(_ffi_api.SourceName, name)


@register_object("Span")
class Span(Object):
    """A place in a source text.

    Parameters
    ----------
    source_name : SourceName
        The text.
    line, end_line : int
        First and last line, from 1.
    column, end_column : int
        First column, from 1, and one past the last.
    """

    __slots__ = ()

    def __init__(self, source_name, line, end_line, column, end_column):
        self.__init_handle_by_constructor__(
            _ffi_api.Span, source_name, line, end_line, column, end_column
        )


@register_object("SequentialSpan")
class SequentialSpan(Object):
    """Several places, of an expression that was made from several.

    Parameters
    ----------
    spans : list of Span
        The places.
    """

    __slots__ = ()

    def __init__(self, spans):
        self.__init_handle_by_constructor__(_ffi_api.SequentialSpan, spans)


@register_object("EnvFunc")
class EnvFunc(Object):
    """A global function (`func`) as part of the IR; saved by its `name`."""

    __slots__ = ()

    def __call__(self, *args):
        return _ffi_api.EnvFuncCall(self, *args)

    @staticmethod
    def get(name):
        """The object of a global function.

        Parameters
        ----------
        name : str
            Its name.

        Raises
        ------
        ValueError
            There is no such function.
        """
        return _ffi_api.EnvFuncGet(name)


def load_json(json_str):
    """Read an object from JSON.

    Parameters
    ----------
    json_str : str
        What `save_json` wrote, this version's or an older one's.

    Returns
    -------
    Object

    Raises
    ------
    ValueError
        The text is not JSON of an object.
    """
    return _ffi_node_api.LoadJSON(json_str)


def save_json(node):
    """Write an object, with all that it refers to, as JSON.

    Parameters
    ----------
    node : Object
        The object; Python lists, dicts and the like are converted.

    Returns
    -------
    str
        Sharing and arrays are kept.
    """
    return str(_ffi_node_api.SaveJSON(node))


def structural_equal(lhs, rhs, map_free_vars=False):
    """Do two objects have the same structure and content?

    Variables that are bound inside (parameters, loops, let) are equal when they are bound at the
    same place; others only to themselves.

    Parameters
    ----------
    lhs, rhs : Object
        What to compare.
    map_free_vars : bool
        Let unbound variables stand for one another too.

    Returns
    -------
    bool
    """
    return bool(_ffi_node_api.StructuralEqual(_obj(lhs), _obj(rhs), False, map_free_vars))


def get_first_structural_mismatch(lhs, rhs, map_free_vars=False):
    """Where two objects first differ.

    Parameters
    ----------
    lhs, rhs, map_free_vars
        As in `structural_equal`.

    Returns
    -------
    None or (ObjectPath, ObjectPath)
        None when they are equal, else the place in each.
    """
    pair = _ffi_node_api.GetFirstStructuralMismatch(_obj(lhs), _obj(rhs), map_free_vars)
    return None if pair is None else (pair.lhs_path, pair.rhs_path)


def assert_structural_equal(lhs, rhs, map_free_vars=False):
    """Check that two objects have the same structure and content.

    Parameters
    ----------
    lhs, rhs, map_free_vars
        As in `structural_equal`.

    Raises
    ------
    ValueError
        They differ; the text shows both with the place marked.
    """
    _ffi_node_api.StructuralEqual(_obj(lhs), _obj(rhs), True, map_free_vars)


def structural_hash(node, map_free_vars=False):
    """A hash that agrees with `structural_equal`.

    Parameters
    ----------
    node : Object
        The object.
    map_free_vars : bool
        As in `structural_equal`.

    Returns
    -------
    int
        The same in every process, unless there are unbound variables or functions inside.
    """
    return _ffi_node_api.StructuralHash(_obj(node), map_free_vars)


def _obj(value):
    return value if isinstance(value, _core.Object) else _core.convert_to_object(value)


def make_node(type_key, **kwargs):
    """Make a node from its fields.

    Parameters
    ----------
    type_key : str
        Key of its type.
    kwargs
        The fields by name; those with a default may be left out.

    Returns
    -------
    Object

    Raises
    ------
    AttributeError
        There is no such field; the text lists those there are.
    TypeError
        A value does not fit, or a field without default is missing.

    Examples
    --------
    >>> tenon.ir.make_node("IntImm", dtype="int32", value=10, span=None)
    10
    """
    if type_key == "DictAttrs" and "dict" not in kwargs:  # its fields are whatever is given
        kwargs = {"dict": kwargs}
    return _core.make_node(type_key, kwargs)


def pretty_print(obj):
    """Print an object in the form of its language."""
    print(_astext(obj))


def astext(obj, show_meta_data=True, annotate=None):
    """Text of an object in the form of its language; see the objects' own ``astext``."""
    return _astext(obj, show_meta_data, annotate)


def _astext(obj, show_meta_data=True, annotate=None):
    function = get_global_func("relay.ir.AsText", allow_missing=True)
    if function is None:
        return str(obj)
    return str(function(obj, show_meta_data, annotate))
