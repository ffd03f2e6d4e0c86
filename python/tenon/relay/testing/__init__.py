"""What tests of Relay programs share: passes on single expressions, and networks."""

import collections

import numpy as np

from ...ir.module import IRModule
from ...ir.transform import Pass
from ...testing import enabled_targets
from ..function import Function
from ..transform import InferType
from . import (
    byoc,
    dcgan,
    densenet,
    dqn,
    inception_v3,
    init,
    layers,
    lstm,
    mlp,
    mobilenet,
    nat,
    resnet,
    squeezenet,
    synthetic,
    temp_op_attr,
    vgg,
)
from .gradients import check_grad
from .init import create_workload
from .nat import add_nat_definitions, count, make_nat_expr, make_nat_value
from .temp_op_attr import TempOpAttr


def run_opt_pass(expr, opt_pass, import_prelude=False):
    """Run a pass on an expression.

    Parameters
    ----------
    expr : RelayExpr
        The expression, which becomes the function ``main`` of a module.
    opt_pass : Pass
        The pass.
    import_prelude : bool
        Add the prelude to the module.

    Returns
    -------
    RelayExpr
        A function for a function, the body of ``main`` otherwise.
    """
    if not isinstance(opt_pass, Pass):
        raise TypeError(f"run_opt_pass: expected a pass, got {type(opt_pass).__name__}")
    mod = IRModule.from_expr(expr)
    if import_prelude:
        from ..prelude import Prelude

        Prelude(mod)
    entry = opt_pass(mod)["main"]
    return entry if isinstance(expr, Function) else entry.body


def run_infer_type(expr):
    """The expression with types; see `run_opt_pass`."""
    return run_opt_pass(expr, InferType())


def _np_randn_from_type(t, scale=1, mean=0):
    """Random numbers in the shape of a type."""
    shape = tuple(int(extent) for extent in t.shape)
    return (mean + scale * np.random.randn(*shape)).astype(t.dtype)


def rand(dtype, *shape):
    """An NDArray of random numbers from [0, 1)."""
    from ... import nd

    return nd.array(np.random.rand(*shape).astype(dtype))


def run_as_python(expr, mod=None, target="llvm"):
    """The value of an expression, as the interpreter finds it.

    Parameters
    ----------
    expr : RelayExpr
        The expression.
    mod : IRModule, optional
        Functions and types that it uses.
    target : str or Target
        What operators are compiled for.

    Returns
    -------
    NDArray, ADT, ConstructorValue or RefValue
        For a function without parameters of its own the value it gives; for others a Python
        function.
    """
    from ..build_module import create_executor

    executor = create_executor("debug", mod=mod, target=target)
    return executor.evaluate(expr)


def count_ops(expr):
    """How often each operator is called; a Counter of names."""
    from ..analysis import list_op_freqs

    mod = expr if isinstance(expr, IRModule) else IRModule.from_expr(expr)
    return collections.Counter(list_op_freqs(mod))
