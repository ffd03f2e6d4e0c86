"""Integer analysis: bounds, modular sets, simplification, proofs, interval sets, iteration maps."""

from .analyzer import Analyzer, ConstIntBound, Extension, ModularSet, ProofStrength
from .bound import deduce_bound
from .int_set import (
    IntervalSet,
    IntSet,
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
    neg_inf,
    pos_inf,
)
from .int_solver import (
    IntConstraints,
    IntConstraintsTransform,
    IntGroupBounds,
    solve_linear_equations,
    solve_linear_inequalities,
)
from .iter_affine_map import (
    IterMapExpr,
    IterMapLevel,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    detect_iter_map,
    inverse_affine_iter_map,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    normalize_to_iter_sum,
    subspace_divide,
)
from .pattern import detect_clip_bound, detect_common_subexpr, detect_linear_equation
