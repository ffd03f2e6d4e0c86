"""The steps of an ahead-of-time build one by one; `tenon.relay.build` with ``Executor("aot")``
takes them all."""

import enum

from ..._ffi import get_global_func
from ...ir.transform import module_pass


class CallType(enum.IntEnum):
    """How ``__tvm_main__`` calls operators."""

    #: as packed functions that are looked up by their names
    Packed = 0
    #: as packed functions, by their symbols
    CPacked = 1
    #: with data pointers
    Unpacked = 2


def AOTLowerMain(mod_name, config, call_type):
    """The pass that makes ``__tvm_main__`` of ``main``.

    ``main`` must be static and consist of calls of kernels: of primitive functions, as FuseOps
    makes them, or of functions of the module, as ``call_lowered(@name, (%a, %b))``.

    Parameters
    ----------
    mod_name : str
        Name of the model; the symbol is ``NAME___tvm_main__``.
    config : CompilationConfig or Target
        What is built for: one target.
    call_type : CallType
        How operators are called.

    Returns
    -------
    Pass
        Adds the tensor program ``__tvm_main__`` to a module. It takes the inputs, then the outputs;
        its attributes ``input_vars`` and ``output_vars`` list them.
    """

    @module_pass(opt_level=0, name="AOTLowerMain")
    def lower(mod, ctx):
        return get_global_func("driver.aot_lower_main")(mod, mod_name, config, int(call_type))

    return lower


def CreateFunctionMetadata(mod, workspace_byte_alignment, constant_byte_alignment):
    """What each tensor program of a module needs.

    Parameters
    ----------
    mod : IRModule
        Tensor programs, each with the attribute ``target`` unless there is one around.
    workspace_byte_alignment, constant_byte_alignment : int
        Bytes that allocations and constants are rounded up to.

    Returns
    -------
    Map of str to FunctionInfo
    """
    create = get_global_func("driver.aot_function_metadata")
    return create(mod, int(workspace_byte_alignment), int(constant_byte_alignment))


def CreateExecutorMetadata(
    mod, mod_name, executor, workspace_byte_alignment, constant_byte_alignment
):
    """What is known of the ahead-of-time program of a module.

    Parameters
    ----------
    mod : IRModule
        A module with ``__tvm_main__``, as `AOTLowerMain` makes it.
    mod_name : str
        Name of the model.
    executor : Executor
        Tells the interface.
    workspace_byte_alignment, constant_byte_alignment : int
        Bytes that allocations and constants are rounded up to.

    Returns
    -------
    ExecutorCodegenMetadata
        Without pools: what main allocates is its own.

    Raises
    ------
    ValueError
        There is no such function, or it does not say what its inputs and outputs are.
    """
    return get_global_func("driver.aot_executor_metadata")(
        mod,
        mod_name,
        executor,
        int(workspace_byte_alignment),
        int(constant_byte_alignment),
    )
