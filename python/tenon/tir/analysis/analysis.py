"""Questions about tensor programs."""

from . import _ffi_api


def expr_deep_equal(lhs, rhs):
    """Are two expressions the same, variables being equal only to themselves?

    Much faster than `tenon.ir.structural_equal`, which maps variables.

    Parameters
    ----------
    lhs, rhs : PrimExpr
        The expressions.

    Returns
    -------
    bool
    """
    return bool(_ffi_api.expr_deep_equal(lhs, rhs))


def verify_ssa(func):
    """Is every variable of a PrimFunc defined in one place?"""
    return bool(_ffi_api.verify_ssa(func))


def verify_gpu_code(func, constraints):
    """Do the kernels of a function keep within the limits of a device?

    Parameters
    ----------
    func : PrimFunc
        The function.
    constraints : dict from str to int
        Limits by name: ``max_local_memory_per_block``, ``max_shared_memory_per_block``,
        ``max_threads_per_block``, ``max_thread_x``, ``max_thread_y``, ``max_thread_z``,
        ``max_vthread``, ``max_vector_bytes``, ``max_kernels``.

    Returns
    -------
    bool
    """
    return bool(_ffi_api.verify_gpu_code(func, constraints))


def verify_memory(func):
    """Does the host leave the memory of the device alone?

    Parameters
    ----------
    func : PrimFunc
        A function with a target.

    Returns
    -------
    bool
    """
    return bool(_ffi_api.verify_memory(func))


def unbounded_data_indices(func):
    """Accesses at indices that a function has read, and that nothing proves to be within bounds.

    Parameters
    ----------
    func : PrimFunc
        The function.

    Returns
    -------
    list of str
        What says for each where it is.
    """
    return str(_ffi_api.unbounded_data_indices(func)).splitlines()


def verify_well_formed(obj, assert_mode=True):
    """Check that a program is well-formed.

    Variables are defined around their uses and in one place, blocks that have iterators use no loop
    variable of the loops around them, no memory has a negative extent.

    Parameters
    ----------
    obj : PrimFunc or IRModule
        The program.
    assert_mode : bool
        Raise an error rather than return False.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        Naming the variable, the place of its use and those of its definitions.
    """
    return bool(_ffi_api.verify_well_formed(obj, assert_mode))


def undefined_vars(node, defs=None):
    """Variables that are used without a definition.

    Parameters
    ----------
    node : Stmt or PrimExpr
        The program.
    defs : list of Var, optional
        Variables that count as defined.

    Returns
    -------
    list of Var
        In the order of their first use.
    """
    return _ffi_api.undefined_vars(node, list(defs or []))


def get_block_access_region(block, buffer_var_map):
    """Regions that a block accesses, from its body.

    Parameters
    ----------
    block : Block
        The block.
    buffer_var_map : dict of Var to Buffer
        Buffers of pointers that are used by themselves.

    Returns
    -------
    list of list of BufferRegion
        What it reads, what it writes, and what it may do either with.
    """
    return _ffi_api.GetBlockAccessRegion(block, buffer_var_map)


def get_block_read_write_region(block, buffer_var_map):
    """Regions that a block reads and writes, from its body; what may be either is both.

    Parameters
    ----------
    block : Block
        The block.
    buffer_var_map : dict of Var to Buffer
        Buffers of pointers that are used by themselves.

    Returns
    -------
    list of list of BufferRegion
        What it reads and what it writes.
    """
    return _ffi_api.GetBlockReadWriteRegion(block, buffer_var_map)


def calculate_workspace_bytes(func, workspace_byte_alignment):
    """The most bytes of workspace that a function needs at one time.

    Parameters
    ----------
    func : PrimFunc
        The function.
    workspace_byte_alignment : int
        Each allocation is rounded up to a multiple of this.

    Returns
    -------
    int
    """
    return int(_ffi_api.calculate_workspace_bytes(func, workspace_byte_alignment))


def calculate_constant_bytes(func, constant_byte_alignment):
    """Bytes of the constants of a function, each rounded up to the alignment."""
    return int(_ffi_api.calculate_constant_bytes(func, constant_byte_alignment))


def calculate_allocated_bytes(func_or_mod):
    """The most bytes that functions allocate at one time, by kind of memory.

    Parameters
    ----------
    func_or_mod : PrimFunc or IRModule
        The program.

    Returns
    -------
    dict of str to dict of str to int
        For each function (a function alone is called "main") its kinds of memory.
    """
    return _ffi_api.calculate_allocated_bytes(func_or_mod)


def detect_buffer_access_lca(func):
    """Where the uses of each buffer meet.

    Parameters
    ----------
    func : PrimFunc
        The function.

    Returns
    -------
    dict of Buffer to Stmt
        The innermost For or Block around all uses, None where that is the function itself.
    """
    return _ffi_api.detect_buffer_access_lca(func)


def estimate_tir_flops(stmt_or_mod):
    """Operations on numbers that a program executes.

    Parameters
    ----------
    stmt_or_mod : Stmt or IRModule
        The program; its loops have constant extents.

    Returns
    -------
    float
    """
    return float(_ffi_api.EstimateTIRFlops(stmt_or_mod))


def is_pure_function(func):
    """Does the function nothing but compute its result?"""
    return bool(_ffi_api.is_pure_function(func))


def assert_pure_function(func):
    """AssertionError unless the function is pure; see `is_pure_function`."""
    if not is_pure_function(func):
        raise AssertionError(f"the function does more than compute its result:\n{func}")
    return True


def has_if_then_else(stmt):
    """Is there a condition among the statements?"""
    return bool(_ffi_api.has_if_then_else(stmt))


def find_anchor_block(mod):
    """The block of a module that does most of the work: a reduction, or None.

    Parameters
    ----------
    mod : IRModule
        Its tensor programs.

    Returns
    -------
    Block or None
    """
    return _ffi_api.find_anchor_block(mod)


def OOBChecker():
    """A pass that fails with ScheduleError where an access is known to be outside of its buffer.

    Returns
    -------
    Pass
        It leaves modules as they are.
    """
    from ..transform import _ffi_api as passes

    return passes.OOBChecker()


def get_prim_func_arg_and_result_memory_constraints(func, relay_func_type):
    """In which memory a function wants its arguments and result.

    Parameters
    ----------
    func : PrimFunc
        The function.
    relay_func_type : FuncType
        Type of the relay function it computes; tensors of tuples are separate parameters.

    Returns
    -------
    list of str
        A memory scope for each argument and, last, for the result; "" where it does not matter
        (memory "global").

    Raises
    ------
    ValueError
        The function has fewer buffers than the type has tensors, or those of one tuple lie in
        different memories.
    """
    return _ffi_api.GetPrimFuncArgAndResultMemoryConstraints(func, relay_func_type)


def apply_prim_func_arg_and_result_memory_constraints(
    func, relay_func_type, arg_and_result_memory_scopes
):
    """A function with its arguments and result in given memory.

    Parameters
    ----------
    func : PrimFunc
        The function.
    relay_func_type : FuncType
        Type of the relay function it computes.
    arg_and_result_memory_scopes : list of str
        As `get_prim_func_arg_and_result_memory_constraints` gives them; "" changes nothing.

    Returns
    -------
    PrimFunc

    Raises
    ------
    ValueError
        A buffer lies in another memory already, or the number of scopes is wrong.
    """
    return _ffi_api.ApplyPrimFuncArgAndResultMemoryConstraints(
        func, relay_func_type, arg_and_result_memory_scopes
    )
