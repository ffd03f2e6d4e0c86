"""Changes to a model before it is compiled."""

from ... import relay
from ...transform import PassContext, Sequential
from .model import TVMCException

_OPERATORS = ("nn.conv2d", "nn.conv2d_transpose", "qnn.conv2d")


def convert_graph_layout(mod, desired_layouts, ops=None):
    """Convert operators to other layouts.

    Parameters
    ----------
    mod : IRModule
        The program.
    desired_layouts : str or list of str
        ``NCHW``, ``NHWC`` or ``NHWC:HWIO`` (of the data and the weights); one, or one for each
        operator.
    ops : list of str, optional
        Operators; convolutions by default.

    Returns
    -------
    IRModule

    Raises
    ------
    TVMCException
        There are several layouts, and not one for each operator.
    """
    given = [desired_layouts] if isinstance(desired_layouts, str) else list(desired_layouts)
    names = list(ops or _OPERATORS)
    if len(given) != 1 and len(given) != len(names):
        raise TVMCException(f"{len(given)} layouts for {len(names)} operators: give one for each")
    given = given * len(names) if len(given) == 1 else given
    table = {}
    for name, layout in zip(names, given, strict=True):
        data, _, kernel = layout.partition(":")
        table[name] = [data, kernel or "default"]
    passes = [
        relay.transform.RemoveUnusedFunctions(),
        relay.transform.ConvertLayout(table),
        relay.transform.FoldConstant(),
    ]
    with (
        PassContext.current() if PassContext.current().opt_level >= 3 else PassContext(opt_level=3)
    ):
        return Sequential(passes)(mod)


def apply_graph_transforms(mod, args):
    """What options ask for.

    Parameters
    ----------
    mod : IRModule
        The program.
    args : dict or None
        ``desired_layout`` (list of str), ``desired_layout_ops`` (list of str), ``mixed_precision``.

    Returns
    -------
    IRModule
    """
    args = args or {}
    if args.get("mixed_precision"):
        steps = [relay.transform.InferType(), relay.transform.ToMixedPrecision()]
        mod = Sequential(steps)(mod)
    if args.get("desired_layout"):
        mod = convert_graph_layout(mod, args["desired_layout"], args.get("desired_layout_ops"))
    return mod
