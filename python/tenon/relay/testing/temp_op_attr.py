"""Attributes of operators for the time of a ``with`` statement."""

from ..op import op as _op


class TempOpAttr:
    """Another value of an operator's attribute inside a ``with`` statement.

    Parameters
    ----------
    op_name : str
        Name of the operator.
    attr_key : str
        Name of the attribute.
    attr_value : Any
        Its value meanwhile.

    Examples
    --------
    >>> with TempOpAttr("nn.conv2d", "FTVMLegalize", legalize):
    ...     mod = relay.transform.Legalize()(mod)
    """

    def __init__(self, op_name, attr_key, attr_value):
        self.op = _op.get(op_name)
        self.attr_key = attr_key
        self.attr_value = attr_value
        self.older_attr = None

    def __enter__(self):
        self.older_attr = self.op.get_attr(self.attr_key)
        self.op.reset_attr(self.attr_key)
        self.op.set_attr(self.attr_key, self.attr_value)
        return self

    def __exit__(self, ptype, value, trace):
        self.op.reset_attr(self.attr_key)
        if self.older_attr is not None:
            self.op.set_attr(self.attr_key, self.older_attr)
