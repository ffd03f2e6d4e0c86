"""Questions about tensor programs."""

from .analysis import (
    OOBChecker,
    apply_prim_func_arg_and_result_memory_constraints,
    assert_pure_function,
    calculate_allocated_bytes,
    calculate_constant_bytes,
    calculate_workspace_bytes,
    detect_buffer_access_lca,
    estimate_tir_flops,
    expr_deep_equal,
    find_anchor_block,
    get_block_access_region,
    get_block_read_write_region,
    get_prim_func_arg_and_result_memory_constraints,
    has_if_then_else,
    is_pure_function,
    undefined_vars,
    verify_gpu_code,
    verify_memory,
    verify_ssa,
    verify_well_formed,
)
