"""The layouts that the library chooses, for hooks that leave a case to it."""

from ... import _core


def _choice(op):
    def alter(attrs, inputs, tinfos, out_type):
        choose = _core.get_global_func("relay._transform.OwnLayout")
        del out_type  # follows from the others
        return choose(op, attrs, list(inputs), list(tinfos))

    alter.__name__ = alter.__qualname__ = f"{op[3:]}_alter_layout"
    alter.__doc__ = f"""What `{op}` becomes on the current target: for a program's own hook
    (`relay.op.register_alter_op_layout`).

    Parameters
    ----------
    attrs : Attrs
        Of the call.
    inputs : list of RelayExpr
        Its arguments.
    tinfos : list of Type
        Their types.
    out_type : Type
        That of the result.

    Returns
    -------
    RelayExpr or None
        None: the call stays as it is.
    """
    return alter


conv2d_alter_layout = _choice("nn.conv2d")
dense_alter_layout = _choice("nn.dense")

__all__ = ["conv2d_alter_layout", "dense_alter_layout"]
