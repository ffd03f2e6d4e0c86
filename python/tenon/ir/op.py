"""Operators: one object for each name."""

from .._ffi.registry import register_object
from . import _ffi_api
from .base import astext
from .expr import RelayExpr


@register_object("Op")
class Op(RelayExpr):
    """An operator: `name`, `description`, `arguments`, `num_inputs`, and attributes by key.

    There is one object for each name; get it with `Op.get`.
    """

    __slots__ = ()

    def __init__(self):
        raise RuntimeError("Cannot create op, use get instead")

    def astext(self, show_meta_data=True, annotate=None):
        """Text in the form of the language."""
        return astext(self, show_meta_data, annotate)

    @staticmethod
    def get(op_name):
        """The operator of a name.

        Parameters
        ----------
        op_name : str
            For example ``"tir.exp"``.

        Raises
        ------
        AttributeError
            No operator is called so.
        """
        return _ffi_api.GetOp(op_name)

    def get_attr(self, attr_name):
        """Value of an attribute; None if the operator has none of that key."""
        return _ffi_api.OpGetAttr(self, attr_name)

    def has_attr(self, attr_name):
        """Has the operator an attribute of that key?"""
        return bool(_ffi_api.OpHasAttr(self, attr_name))

    def set_attr(self, attr_name, value, plevel=10):
        """Set an attribute.

        Parameters
        ----------
        attr_name : str
            Its key.
        value : Any
            Its value; functions are fine.
        plevel : int
            A value of a higher level replaces one of a lower.
        """
        _ffi_api.OpSetAttr(self, attr_name, value, plevel)

    def reset_attr(self, attr_name):
        """Forget an attribute."""
        _ffi_api.OpResetAttr(self, attr_name)

    def add_argument(self, name, type, description):
        """Describe the next argument.

        Parameters
        ----------
        name, type, description : str
            Name, type and meaning.
        """
        _ffi_api.OpAddArgument(self, name, type, description)

    def set_support_level(self, level):
        """Say how basic the operator is: 1 for the most basic ones."""
        _ffi_api.OpSetSupportLevel(self, level)

    def set_num_inputs(self, n):
        """Say how many arguments the operator has; -1 when it varies."""
        _ffi_api.OpSetNumInputs(self, n)

    def set_attrs_type_key(self, key):
        """Say which type the attributes of a call have."""
        _ffi_api.OpSetAttrsTypeKey(self, key)

    @staticmethod
    def list_op_names():
        """Names of all operators; list of str."""
        return [str(name) for name in _ffi_api.ListOpNames()]


def register_op_attr(op_name, attr_key, value=None, level=10):
    """Set an attribute of an operator, which is made if there is none of that name.

    Parameters
    ----------
    op_name : str
        The operator.
    attr_key : str
        Key of the attribute.
    value : Any, optional
        Its value; left out, a decorator is returned.
    level : int
        A value of a higher level replaces one of a lower.

    Returns
    -------
    Any
        `value`, or the decorator.
    """

    def register(v):
        _ffi_api.RegisterOpAttr(op_name, attr_key, v, level)
        return v

    return register if value is None else register(value)
