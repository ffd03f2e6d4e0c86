"""What the partitions for libraries have in common."""

from ....ir.transform import PassContext, Sequential
from ... import transform
from ...build_module import bind_params_by_name
from ...expr import Call


def partition(mod, compiler, table, params=None, **options):
    """Cut out of a program what a library computes.

    Parameters
    ----------
    mod : IRModule
        The program.
    compiler : str
        Name of the library's code generator.
    table : list
        Its patterns.
    params : dict of str to NDArray, optional
        Values of parameters of ``main``; batch norms are then folded into weights first.
    **options
        Of the cut: ``bind_constants``, ``include_non_call_ops``.

    Returns
    -------
    IRModule
    """
    if params is not None:
        mod = _with_constants(mod, params)
    calls_only = not options.get("include_non_call_ops", True)
    annotate = transform.AnnotateTarget([compiler], include_non_call_ops=not calls_only)
    cut = transform.PartitionGraph(bind_constants=options.get("bind_constants", True))
    steps = [transform.InferType(), transform.MergeComposite(table), annotate, cut]
    return Sequential([*steps, transform.InferType()])(mod)


def _with_constants(mod, params):
    from ....ir.module import IRModule

    functions = dict(mod.functions.items())
    main = mod.get_global_var("main")
    functions[main] = bind_params_by_name(mod["main"], params)
    steps = [transform.InferType(), transform.SimplifyInference(), transform.FoldConstant()]
    with PassContext(opt_level=3):
        whole = IRModule(functions, mod.type_definitions)
        return Sequential([*steps, transform.FoldScaleAxis()])(whole)


def find_call(expr, operator):
    """The first call of an operator on the way along first arguments; None where there is none."""
    while isinstance(expr, Call):
        if getattr(expr.op, "name", None) == operator:
            return expr
        expr = expr.args[0] if len(expr.args) else None
    return None


def types_of(call):
    """Element types of the first two arguments."""
    return tuple(argument.checked_type.dtype for argument in call.args[:2])
