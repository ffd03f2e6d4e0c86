"""Operators and their attributes."""

from .._ffi.registry import get_global_func, register_func, register_object
from . import _ffi_api
from .base import astext
from .expr import RelayExpr


@register_object("Op")
class Op(RelayExpr):
    """An operator; one object for each name. Made by `register_op`, found by `Op.get`."""

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
            The name.

        Returns
        -------
        Op

        Raises
        ------
        AttributeError
            There is no operator of that name.
        """
        return _ffi_api.GetOp(op_name)

    @staticmethod
    def list_op_names():
        """Names of all operators, sorted; list of str."""
        return [str(name) for name in _ffi_api.ListOpNames()]

    def get_attr(self, attr_name):
        """Value of an attribute, None when it has none."""
        return _ffi_api.OpGetAttr(self, attr_name)

    def has_attr(self, attr_name):
        """Is the attribute set? bool."""
        return bool(_ffi_api.OpHasAttr(self, attr_name))

    def set_attr(self, attr_name, value, plevel=10):
        """Set an attribute.

        Parameters
        ----------
        attr_name : str
            Its name.
        value : Any
            Its value.
        plevel : int
            Level: of several registrations the highest holds; two of one level are an error.
        """
        _ffi_api.OpSetAttr(self, attr_name, value, plevel)

    def reset_attr(self, attr_name):
        """Forget an attribute."""
        _ffi_api.OpResetAttr(self, attr_name)

    def add_type_rel(self, rel_name, type_rel_func=None):
        """Add the type relation that relates the types of arguments and result.

        Parameters
        ----------
        rel_name : str
            Name of the relation, under which it is found if no function is given.
        type_rel_func : function, optional
            ``(types of the arguments, attrs) -> type of the result``, None while too little is
            known. Types not known yet are IncompleteType.
        """
        name = "tvm.relay.type_relation." + rel_name
        if type_rel_func is not None:
            if not callable(type_rel_func):
                raise TypeError("type_rel_func is expected to be a function")

            def relation(args, num_inputs, attrs, reporter):
                inputs, outputs = args[:num_inputs], args[num_inputs:]
                result = type_rel_func(inputs, attrs)
                if result is None:  # too little is known yet
                    return False
                for output in outputs:
                    reporter.assign(output, result)
                return True

            register_func(name, relation, override=True)
        elif get_global_func(name, allow_missing=True) is None:
            raise ValueError(f"add_type_rel: no relation is called {rel_name}")
        _ffi_api.OpAddTypeRel(self, rel_name, get_global_func(name))

    def add_argument(self, name, type, description):  # noqa: A002  the old interface's name
        """Describe the next argument: its name, type (as text) and meaning."""
        _ffi_api.OpAddArgument(self, name, type, description)

    def set_support_level(self, level):
        """Set how basic the operator is: 1 for the most basic."""
        _ffi_api.OpSetSupportLevel(self, level)

    def set_num_inputs(self, n):
        """Set the number of arguments."""
        _ffi_api.OpSetNumInputs(self, n)

    def set_attrs_type_key(self, key):
        """Set the type of the operator's attributes."""
        _ffi_api.OpSetAttrsTypeKey(self, key)


def register_op_attr(op_name, attr_key, value=None, level=10):
    """Set an attribute of an operator, which is made if there is none. Usable as a decorator.

    Parameters
    ----------
    op_name, attr_key : str
        Operator and attribute.
    value : Any, optional
        Its value; left out, a decorator is returned.
    level : int
        As in `Op.set_attr`.

    Returns
    -------
    Any
        `value`, or the decorator.
    """

    def register(v):
        _ffi_api.RegisterOpAttr(op_name, attr_key, v, level)
        return v

    return register if value is None else register(value)


def register_op(op_name, describe=""):
    """Make an operator.

    Parameters
    ----------
    op_name : str
        Its name.
    describe : str
        What it does.

    Returns
    -------
    Op

    Raises
    ------
    TVMError
        There is one of that name.
    """
    _ffi_api.RegisterOp(op_name, describe)
    return Op.get(op_name)


def register_intrin_lowering(op_name, target, *, f=None, level=10):
    """Say how a target computes an intrinsic. Usable as a decorator.

    Parameters
    ----------
    op_name : str
        The intrinsic, such as ``"tir.exp"``.
    target : str
        Name of the target, or ``"default"``.
    f : function, optional
        ``call -> expression``; left out, a decorator is returned.
    level : int
        As in `Op.set_attr`.
    """

    def register(func):
        _ffi_api.RegisterOpAttr(op_name, f"{target}.FLowerIntrinsic", func, level)
        return func

    return register if f is None else register(f)
