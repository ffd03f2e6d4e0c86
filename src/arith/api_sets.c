/* Global functions of interval sets, regions, linear expressions and iteration maps. Those that
   need an analyzer, and are not given one, use one of their own. */
#include "arith/arith_impl.h"
#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "arith/region.h"
#include "arith/solve.h"
#include "object/functions.h"

/* ---- arguments ---- */

static int take_expr(const tn_any *args, int32_t n, int32_t i, tn_expr **out) {
  *out = NULL;
  if (i >= n || args[i].type_index == TN_NONE) return 0;
  TN_GET(*out, ir_expr_from(&args[i]));
  return 0;
}
static int need_expr(const tn_any *args, int32_t n, int32_t i, tn_expr **out) {
  TN_TRY(take_expr(args, n, i, out));
  TN_CHECK(*out, TypeError, NULL, "argument %d: expected an expression", i);
  return 0;
}
static int need(const tn_any *args, int32_t n, int32_t i, const tn_type *type, void *out) {
  return tn_arg_obj(args, n, i, type, out);
}
static int items(const tn_any *args, int32_t n, int32_t i, const char *cls, void *out) {
  return tn_arg_items(args, n, i, cls, false, out);
}
static int take_map(const tn_any *args, int32_t n, int32_t i, tn_map **out) {
  *out = NULL;
  return tn_arg_items(args, n, i, "Map(Var, Object)", true, (tn_obj **)out);
}
static int take_flag(const tn_any *args, int32_t n, int32_t i, bool absent, bool *out) {
  *out = absent;
  return i < n && args[i].type_index != TN_NONE ? tn_any_to_bool(&args[i], out) : 0;
}

/* ---- sets ---- */

static int interval_set(TN_ARGS) {
  tn_expr *min, *max;
  TN_TRY(take_expr(args, n, 0, &min));
  TN_TRY(take_expr(args, n, 1, &max));
  return tn_ret_obj(ret, arith_interval(min ? min : arith_neg_inf(), max ? max : arith_pos_inf()));
}
static int pos_inf(TN_ARGS) { return tn_ret_obj(ret, arith_pos_inf()); }
static int neg_inf(TN_ARGS) { return tn_ret_obj(ret, arith_neg_inf()); }

static int single_point(TN_ARGS) {
  tn_expr *e;
  TN_TRY(need_expr(args, n, 0, &e));
  return tn_ret_obj(ret, arith_interval(e, e));
}

/* the lanes of a vector */
static int vector(TN_ARGS) {
  TN_ARITH(a);
  tn_expr *e;
  TN_TRY(need_expr(args, n, 0, &e));
  return tn_ret_obj(ret, arith_int_set(&a, e, NULL));
}

static int is_nothing(TN_ARGS) {
  tn_IntervalSet *s;
  TN_TRY(need(args, n, 0, &tn_type_IntervalSet, &s));
  *ret = tn_any_bool(arith_interval_is_none(s));
  return 0;
}
static int is_everything(TN_ARGS) {
  tn_IntervalSet *s;
  TN_TRY(need(args, n, 0, &tn_type_IntervalSet, &s));
  *ret = tn_any_bool(arith_interval_is_all(s));
  return 0;
}

static int unite(TN_ARGS) {
  TN_ARITH(a);
  tn_arr *sets;
  tn_IntervalSet *r;
  TN_TRY(items(args, n, 0, "Array(IntSet)", &sets));
  TN_GET(r, arith_interval_none());
  for (int64_t i = 0; i < sets->len; ++i)
    TN_GET(r, arith_interval_union(&a, r, arith_interval_from(&a, tn_arr_obj(sets, i))));
  return tn_ret_obj(ret, r);
}

/* (analyzer, expr, dom_map) */
static int int_set(TN_ARGS) {
  tn_expr *e;
  tn_map *dom;
  arith_analyzer *a = n > 0 && tn_any_is_obj(&args[0])
                          ? tn_opaque_get(args[0].v.obj, "arith.AnalyzerHandle")
                          : NULL;
  TN_CHECK(a, TypeError, NULL, "int_set: expected an Analyzer");
  TN_TRY(need_expr(args, n, 1, &e));
  TN_TRY(take_map(args, n, 2, &dom));
  return tn_ret_obj(ret, arith_int_set(a, e, dom));
}

/* (region, var_dom, predicate) */
static int region_exact(TN_ARGS) {
  TN_ARITH(a);
  tn_arr *region, *out;
  tn_map *dom;
  tn_expr *predicate;
  TN_TRY(items(args, n, 0, "Array(Range)", &region));
  TN_TRY(items(args, n, 1, "Map(Var, Object)", &dom));
  TN_TRY(take_expr(args, n, 2, &predicate));
  TN_TRY(arith_region_exact(&a, region, dom, predicate, &out));
  return out ? tn_ret_obj(ret, out) : 0;
}
static int region_upper(TN_ARGS) {
  TN_ARITH(a);
  tn_arr *region;
  tn_map *dom;
  tn_expr *predicate;
  TN_TRY(items(args, n, 0, "Array(Range)", &region));
  TN_TRY(items(args, n, 1, "Map(Var, Object)", &dom));
  TN_TRY(take_expr(args, n, 2, &predicate));
  return tn_ret_obj(ret, arith_region_upper(&a, region, dom, predicate));
}

/* (var, cond, hint_map, relax_map) */
static int deduce_bound(TN_ARGS) {
  TN_ARITH(a);
  tn_Var *v;
  tn_expr *cond;
  tn_map *hint, *relax;
  TN_TRY(need(args, n, 0, &tn_type_Var, &v));
  TN_TRY(need_expr(args, n, 1, &cond));
  TN_TRY(take_map(args, n, 2, &hint));
  TN_TRY(take_map(args, n, 3, &relax));
  return tn_ret_obj(ret, arith_deduce_bound(&a, v, cond, hint, relax));
}

static int linear_equation(TN_ARGS) {
  tn_expr *e;
  tn_arr *vars;
  TN_TRY(need_expr(args, n, 0, &e));
  TN_TRY(items(args, n, 1, "Array(Var)", &vars));
  return tn_ret_obj(ret, arith_linear(e, vars));
}
static int clip_bound(TN_ARGS) {
  TN_ARITH(a);
  tn_expr *e;
  tn_arr *vars;
  TN_TRY(need_expr(args, n, 0, &e));
  TN_TRY(items(args, n, 1, "Array(Var)", &vars));
  return tn_ret_obj(ret, arith_clip_bound(&a, e, vars));
}

/* ---- iteration maps ---- */

static int iter_mark(TN_ARGS) {
  tn_IterMark p = {0};
  TN_TRY(need_expr(args, n, 0, &p.source));
  TN_TRY(need_expr(args, n, 1, &p.extent));
  return tn_ret_obj(ret, tn_node_copy(&tn_type_IterMark, &p));
}
static int iter_split_expr(TN_ARGS) {
  tn_IterSplitExpr p = {0};
  TN_TRY(need(args, n, 0, &tn_type_IterMark, &p.source));
  TN_TRY(need_expr(args, n, 1, &p.lower_factor));
  TN_TRY(need_expr(args, n, 2, &p.extent));
  TN_TRY(need_expr(args, n, 3, &p.scale));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_IterSplitExpr, &p)));
}
static int iter_sum_expr(TN_ARGS) {
  tn_IterSumExpr p = {0};
  TN_TRY(items(args, n, 0, "Array(IterSplitExpr)", &p.args));
  TN_TRY(need_expr(args, n, 1, &p.base));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_IterSumExpr, &p)));
}

/* what detect_iter_map, iter_map_simplify and subspace_divide take: (indices, input_iters, ...,
   predicate, check_level, simplify_trivial_iterators) */
typedef struct {
  tn_arr *indices;
  tn_map *ranges;
  tn_expr *predicate;
  iter_map_level level;
  bool trivial;
} map_args;

static int take_map_args(const tn_any *args, int32_t n, int32_t rest, map_args *m) {
  int64_t level = ITER_MAP_SURJECTIVE;
  TN_TRY(items(args, n, 0, "Array(PrimExpr)", &m->indices));
  TN_TRY(items(args, n, 1, "Map(Var, Range)", &m->ranges));
  TN_TRY(take_expr(args, n, rest, &m->predicate));
  if (rest + 1 < n) TN_TRY(tn_any_to_int(&args[rest + 1], &level));
  TN_CHECK(level == ITER_MAP_BIJECTIVE || level == ITER_MAP_SURJECTIVE ||
               level == ITER_MAP_NO_CHECK,
           ValueError, NULL, "check_level: expected an IterMapLevel (0, 1 or 3), got %lld",
           (long long)level);
  m->level = (iter_map_level)level;
  return take_flag(args, n, rest + 2, true, &m->trivial);
}

static int detect_iter_map(TN_ARGS) {
  TN_ARITH(a);
  map_args m;
  TN_TRY(take_map_args(args, n, 2, &m));
  return tn_ret_obj(
      ret, iter_map_detect_padded(&a, m.indices, m.ranges, m.predicate, m.level, m.trivial));
}
static int simplify_map(TN_ARGS) {
  TN_ARITH(a);
  map_args m;
  TN_TRY(take_map_args(args, n, 2, &m));
  return tn_ret_obj(ret,
                    iter_map_simplify(&a, m.indices, m.ranges, m.predicate, m.level, m.trivial));
}
static int subspace_divide(TN_ARGS) {
  TN_ARITH(a);
  map_args m;
  tn_arr *sub;
  TN_TRY(items(args, n, 2, "Array(Var)", &sub));
  TN_TRY(take_map_args(args, n, 3, &m));
  return tn_ret_obj(
      ret, iter_map_subspace_divide(&a, m.indices, m.ranges, sub, m.predicate, m.level, m.trivial));
}
static int normalize_to_sum(TN_ARGS) {
  TN_ARITH(a);
  tn_expr *e;
  tn_map *ranges;
  TN_TRY(need_expr(args, n, 0, &e));
  TN_TRY(items(args, n, 1, "Map(Var, Range)", &ranges));
  return tn_ret_obj(ret, iter_map_sum(&a, e, ranges));
}
static int map_to_expr(TN_ARGS) {
  TN_ARITH(a);
  tn_expr *e;
  tn_obj *o;
  TN_TRY(need(args, n, 0, &tn_type_PrimExpr, &o));
  TN_GET(e, iter_map_expr(o));
  return tn_ret_obj(ret, arith_simplify(&a, e));
}
static int inverse_map(TN_ARGS) {
  TN_ARITH(a);
  tn_arr *sums, *outputs;
  TN_TRY(items(args, n, 0, "Array(IterSumExpr)", &sums));
  TN_TRY(items(args, n, 1, "Array(PrimExpr)", &outputs));
  return tn_ret_obj(ret, iter_map_inverse(&a, sums, outputs));
}

/* (equations, variables, ranges) */
static int solve_equations(TN_ARGS) {
  tn_arr *equations, *vars;
  tn_map *ranges;
  TN_TRY(items(args, n, 0, "Array(PrimExpr)", &equations));
  TN_TRY(items(args, n, 1, "Array(Var)", &vars));
  TN_TRY(items(args, n, 2, "Map(Var, Range)", &ranges));
  return tn_ret_obj(ret, arith_solve_equations(equations, vars, ranges));
}

typedef struct {
  tn_arr *conditions, *vars;
  tn_map *ranges;
} inequalities;

/* (conditions, variables, ranges) */
static int take_inequalities(const tn_any *args, int32_t n, inequalities *out) {
  TN_TRY(items(args, n, 0, "Array(PrimExpr)", &out->conditions));
  TN_TRY(items(args, n, 1, "Array(Var)", &out->vars));
  return items(args, n, 2, "Map(Var, Range)", &out->ranges);
}
static int inequality_ranges(TN_ARGS) {
  inequalities x;
  TN_TRY(take_inequalities(args, n, &x));
  return tn_ret_obj(ret, arith_inequality_ranges(x.conditions, x.vars, x.ranges));
}
static int inequality_deskew(TN_ARGS) {
  inequalities x;
  TN_TRY(take_inequalities(args, n, &x));
  return tn_ret_obj(ret, arith_inequality_deskew(x.conditions, x.vars, x.ranges));
}
/* (variables, ranges, conditions) */
static int inequality_conditions(TN_ARGS) {
  inequalities x;
  tn_arr *bounds, *others;
  TN_TRY(items(args, n, 0, "Array(Var)", &x.vars));
  TN_TRY(items(args, n, 1, "Map(Var, Range)", &x.ranges));
  TN_TRY(items(args, n, 2, "Array(PrimExpr)", &x.conditions));
  int solved = arith_solve_inequalities(x.conditions, x.vars, x.ranges, &bounds, &others);
  if (solved < 0) return -1;
  if (!solved) return tn_ret_obj(ret, tn_arr_of(1, tir_bool(false)));
  return tn_ret_obj(ret, arith_inequality_conditions(x.vars, bounds, others));
}
/* (coef, lower, equal, upper) */
static int group_bounds(TN_ARGS) {
  tn_expr *coef;
  tn_arr *parts[3];
  TN_NARGS("arith.IntGroupBounds", 4);
  TN_GET(coef, ir_expr_from(&args[0]));
  for (int i = 0; i < 3; ++i) TN_TRY(items(args, n, i + 1, "Array(PrimExpr)", &parts[i]));
  return tn_ret_obj(ret, TN_NEW_CHECKED(IntGroupBounds, .coef = coef, .lower = parts[0],
                                        .equal = parts[1], .upper = parts[2]));
}
static int group_bounds_of_range(TN_ARGS) {
  TN_ARITH(a);
  tn_Range *r;
  tn_expr *last;
  TN_TRY(need(args, n, 0, &tn_type_Range, &r));
  bool one = tir_is_one(r->extent);
  TN_GET(last, arith_simplify(&a, tir_sub(tir_add(r->min, r->extent), tir_one(r->min->dtype))));
  return tn_ret_obj(ret, TN_NEW(IntGroupBounds, .coef = tir_one(r->min->dtype),
                                .lower = one ? tn_arr_of(0) : tn_arr_of(1, r->min),
                                .equal = one ? tn_arr_of(1, r->min) : tn_arr_of(0),
                                .upper = one ? tn_arr_of(0) : tn_arr_of(1, last)));
}
static int best_range(TN_ARGS) {
  tn_IntGroupBounds *b;
  tn_Range *r;
  TN_TRY(need(args, n, 0, &tn_type_IntGroupBounds, &b));
  TN_TRY(arith_best_range(b, tn_arr_of(0), tn_scope_own(tn_map_new()), &r));
  return r ? tn_ret_obj(ret, r) : 0;
}
/* (variables, ranges, relations) */
static int constraints(TN_ARGS) {
  inequalities x;
  TN_TRY(items(args, n, 0, "Array(Var)", &x.vars));
  TN_TRY(items(args, n, 1, "Map(Var, Range)", &x.ranges));
  TN_TRY(items(args, n, 2, "Array(PrimExpr)", &x.conditions));
  return tn_ret_obj(ret, TN_NEW_CHECKED(IntConstraints, .variables = x.vars, .ranges = x.ranges,
                                        .relations = x.conditions));
}
/* (src, dst, src_to_dst, dst_to_src) */
static int constraints_transform(TN_ARGS) {
  tn_IntConstraints *src, *dst;
  tn_map *to_dst, *to_src;
  TN_TRY(need(args, n, 0, &tn_type_IntConstraints, &src));
  TN_TRY(need(args, n, 1, &tn_type_IntConstraints, &dst));
  TN_TRY(items(args, n, 2, "Map(Var, PrimExpr)", &to_dst));
  TN_TRY(items(args, n, 3, "Map(Var, PrimExpr)", &to_src));
  return tn_ret_obj(ret, TN_NEW_CHECKED(IntConstraintsTransform, .src = src, .dst = dst,
                                        .src_to_dst = to_dst, .dst_to_src = to_src));
}

static const tn_func_row rows[] = {
    {"arith.IntervalSet", interval_set},
    {"arith.PosInf", pos_inf},
    {"arith.NegInf", neg_inf},
    {"arith.intset_single_point", single_point},
    {"arith.intset_vector", vector},
    {"arith.IntSetIsNothing", is_nothing},
    {"arith.IntSetIsEverything", is_everything},
    {"arith.UnionLowerBound", unite},
    {"arith.AnalyzerIntSet", int_set},
    {"arith.EstimateRegionLowerBound", region_exact},
    {"arith.EstimateRegionStrictBound", region_exact},
    {"arith.EstimateRegionUpperBound", region_upper},
    {"arith.DeduceBound", deduce_bound},
    {"arith.DetectLinearEquation", linear_equation},
    {"arith.DetectClipBound", clip_bound},
    {"arith.IterMark", iter_mark},
    {"arith.IterSplitExpr", iter_split_expr},
    {"arith.IterSumExpr", iter_sum_expr},
    {"arith.DetectIterMap", detect_iter_map},
    {"arith.IterMapSimplify", simplify_map},
    {"arith.SubspaceDivide", subspace_divide},
    {"arith.NormalizeToIterSum", normalize_to_sum},
    {"arith.NormalizeIterMapToExpr", map_to_expr},
    {"arith.InverseAffineIterMap", inverse_map},
    {"arith.SolveLinearEquations", solve_equations},
    {"arith.SolveInequalitiesAsCondition", inequality_conditions},
    {"arith.SolveInequalitiesToRange", inequality_ranges},
    {"arith.SolveInequalitiesDeskewRange", inequality_deskew},
    {"arith.IntGroupBounds", group_bounds},
    {"arith.IntGroupBounds_from_range", group_bounds_of_range},
    {"arith.IntGroupBounds_FindBestRange", best_range},
    {"arith.IntConstraints", constraints},
    {"arith.IntConstraintsTransform", constraints_transform},
};

int arith_api_sets_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
