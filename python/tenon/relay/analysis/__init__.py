"""What can be asked about Relay programs."""

from .analysis import (
    all_dtypes,
    all_type_vars,
    all_vars,
    bound_type_vars,
    bound_vars,
    check_basic_block_normal_form,
    check_constant,
    check_kind,
    detect_feature,
    extract_fused_functions,
    extract_intermdeiate_expr,
    free_type_vars,
    free_vars,
    get_total_mac_number,
    list_op_freqs,
    post_order_visit,
    search_fc_transpose,
    unmatched_cases,
    well_formed,
)
from .count_layers import count_layers
from .feature import Feature

__all__ = [
    "Feature",
    "all_dtypes",
    "all_type_vars",
    "all_vars",
    "bound_type_vars",
    "bound_vars",
    "check_basic_block_normal_form",
    "check_constant",
    "check_kind",
    "count_layers",
    "detect_feature",
    "extract_fused_functions",
    "extract_intermdeiate_expr",
    "free_type_vars",
    "free_vars",
    "get_total_mac_number",
    "list_op_freqs",
    "post_order_visit",
    "search_fc_transpose",
    "unmatched_cases",
    "well_formed",
]
