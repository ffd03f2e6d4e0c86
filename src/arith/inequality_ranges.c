/* Solved inequalities as ranges: for y + 10 <= x <= 20 - y, 0 <= y <= 5

     ranges      x: [y + 10, y + 21), y: [0, 6), and the condition x <= 20 - y
     deskewed    x = x' + y' + 10, y = y', x': [0, 11), y': [0, 6), and x' + 2*y' <= 10

   A range has a constant extent where one can be told: the largest distance of a lower and an
   upper bound over the variables behind. */
#include "arith/arith_impl.h"
#include "arith/int_set.h"
#include "arith/solve.h"
#include "ir/functor.h"

/* ---- the range of one variable ---- */

/* The most that e reaches over the ranges of the variables, one after the other; *out NULL: no
   limit is known. */
static int most(arith_analyzer *a, tn_expr *e, const tn_arr *vars, const tn_map *ranges,
                tn_expr **out) {
  tn_any r;
  *out = NULL;
  for (int64_t i = 0; i < vars->len; ++i) {
    tn_any v = vars->items[i];
    tn_map *dom;
    tn_IntervalSet *s;
    if (!tn_map_get(ranges, v, &r)) continue;
    TN_GET(dom, tn_map_with(NULL, v, r));
    TN_GET(s, arith_int_set(a, e, dom));
    if (arith_is_inf(s->max_value)) return 0;
    e = s->max_value;
  }
  *out = e;
  return 0;
}

/* The number of values between a lower and an upper bound of coef * v, at most. */
static int extent_of(arith_analyzer *a, tn_expr *coef, tn_expr *lower, tn_expr *upper,
                     const tn_arr *vars, const tn_map *ranges, tn_expr **min, tn_expr **extent) {
  tn_expr *n, *one = tir_one(lower->dtype);
  TN_GET(*min, arith_simplify(a, tir_is_one(coef) ? lower : tir_ceildiv(lower, coef, NULL)));
  TN_GET(n, tir_is_one(coef) ? upper : tir_floordiv(upper, coef));
  TN_GET(n, arith_simplify(a, tir_add(tir_sub(n, *min), one)));
  return most(a, n, vars, ranges, extent);
}

static bool is_better(tn_expr *a, const tn_expr *b) {
  int64_t x, y;
  if (!a) return false;
  if (!b) return true;
  bool known = tir_as_int((tn_obj *)a, &x);
  return known && (!tir_as_int((const tn_obj *)b, &y) || x < y);
}

static int check_bounds(const tn_arr *bounds) {
  for (int64_t i = 0; i < bounds->len; ++i)
    TN_CHECK(tn_arr_obj(bounds, i) && TN_IS(PrimExpr, tn_arr_obj(bounds, i)), TypeError, NULL,
             "IntGroupBounds: expected arrays of PrimExpr");
  return 0;
}

int arith_best_range(const tn_IntGroupBounds *b, const tn_arr *variables, const tn_map *ranges,
                     tn_Range **out) {
  TN_ARITH(a);
  const tn_arr *lows[] = {b->equal, b->lower}, *highs[] = {b->equal, b->upper};
  tn_expr *min = NULL, *extent = NULL;
  *out = NULL;
  TN_TRY(check_bounds(b->lower));
  TN_TRY(check_bounds(b->equal));
  TN_TRY(check_bounds(b->upper));
  for (int l = 0; l < 2; ++l) {
    for (int h = l; h < 2; ++h) {
      for (int64_t i = 0; i < lows[l]->len; ++i) {
        for (int64_t k = 0; k < highs[h]->len; ++k) {
          tn_expr *from, *n;
          TN_TRY(extent_of(&a, b->coef, (tn_expr *)tn_arr_obj(lows[l], i),
                           (tn_expr *)tn_arr_obj(highs[h], k), variables, ranges, &from, &n));
          if (is_better(n, extent)) extent = n, min = from;
        }
      }
    }
  }
  if (extent) TN_GET(*out, tir_range(min, extent));
  return 0;
}

/* ---- all ranges ---- */

typedef struct {
  arith_analyzer *a; /* knows the ranges of the new variables */
  const tn_arr *vars;
  tn_map *ranges;  /* of the variables */
  tn_pmap shifted; /* Var -> its value in new variables */
  tn_map *to_dst, *to_src, *fresh_ranges;
  tn_vec fresh; /* new variables, last one first */
  bool infeasible;
} ranger;

static tn_expr *shift(ranger *x, tn_expr *e) {
  e = tir_substitute(e, &x->shifted);
  return e ? arith_simplify(x->a, e) : NULL;
}

/* v = fresh + min, or v = min. */
static int shift_variable(ranger *x, tn_Var *v, const tn_Range *r) {
  tn_expr *value, *back;
  tn_Range *whole;
  TN_GET(value, shift(x, r->min));
  if (!tir_is_one(r->extent)) {
    tn_str *name;
    tn_Var *fresh;
    TN_GET(name, tn_str_fmt("%s.shifted", tn_cstr(v->name)));
    TN_GET(fresh, tir_var_like(v, tn_cstr(name)));
    TN_GET(value, tir_add((tn_expr *)fresh, value));
    TN_GET(back, arith_simplify(x->a, tir_sub((tn_expr *)v, r->min)));
    TN_GET(whole, tir_range(tir_zero(v->dtype), r->extent));
    TN_TRY(tn_map_set(x->to_src, tn_any_obj(fresh), tn_any_obj(back)));
    TN_TRY(tn_map_set(x->fresh_ranges, tn_any_obj(fresh), tn_any_obj(whole)));
    TN_TRY(arith_bind_range(x->a, fresh, whole, true));
    TN_TRY(tn_vec_push_obj(&x->fresh, fresh));
  }
  TN_TRY(tn_map_set(x->to_dst, tn_any_obj(v), tn_any_obj(value)));
  return tn_pmap_put(&x->shifted, v, value);
}

/* A variable without limits stays itself. */
static int keep_variable(ranger *x, tn_Var *v) {
  TN_TRY(tn_map_set(x->to_dst, tn_any_obj(v), tn_any_obj(v)));
  TN_TRY(tn_map_set(x->to_src, tn_any_obj(v), tn_any_obj(v)));
  return tn_vec_push_obj(&x->fresh, v);
}

/* A variable with one value is that value in the ranges of others. */
static int find_range(ranger *x, const tn_IntGroupBounds *b, tn_Var *v) {
  TN_PMAP(values);
  tn_Range *r;
  tn_any key, value;
  int64_t n;
  TN_TRY(arith_best_range(b, x->vars, x->ranges, &r));
  if (!r) return keep_variable(x, v);
  x->infeasible |= tir_as_int((tn_obj *)r->extent, &n) && n <= 0;
  for (int64_t i = 0; tn_map_at(x->ranges, i, &key, &value); ++i) {
    const tn_Range *other = (const tn_Range *)value.v.obj;
    if (tir_is_one(other->extent)) TN_TRY(tn_pmap_put(&values, key.v.obj, other->min));
  }
  tn_expr *min, *extent;
  TN_GET(min, arith_simplify(x->a, tir_substitute(r->min, &values)));
  TN_GET(extent, arith_simplify(x->a, tir_substitute(r->extent, &values)));
  TN_GET(r, tir_range(min, extent));
  TN_TRY(tn_map_set(x->ranges, tn_any_obj(v), tn_any_obj(r)));
  return shift_variable(x, v, r);
}

static int find_ranges(ranger *x, const tn_arr *bounds) {
  for (int64_t i = x->vars->len; i-- > 0 && !x->infeasible;)
    TN_TRY(find_range(x, (const tn_IntGroupBounds *)tn_arr_obj(bounds, i),
                      (tn_Var *)tn_arr_obj(x->vars, i)));
  return 0;
}

/* x + y + 10 <= 20 - y  =>  x + 2*y <= 10: the number alone on the right side. */
static tn_expr *gather(ranger *x, tn_expr *e) {
  const tn_BinaryOp *op = TN_AS_BINARY(e);
  if (!op || !arith_is_index(op->a->dtype)) return e;
  uint32_t kind = e->hdr.type_index;
  if (kind != TN_TI_LE && kind != TN_TI_GE && kind != TN_TI_EQ) return e;
  tn_expr *terms;
  TN_GETP(terms, arith_simplify(x->a, tir_sub(op->a, op->b)));
  const tn_BinaryOp *sum = TN_AS_BINARY(terms);
  bool add = terms->hdr.type_index == TN_TI_Add, sub = terms->hdr.type_index == TN_TI_Sub;
  int64_t k = 0;
  if (sum && (add || sub) && tir_as_int((tn_obj *)sum->b, &k) && k > INT64_MIN) {
    terms = sum->a;
    k = add ? -k : k;
  }
  return tir_binary(kind, terms, tir_const_int(terms->dtype, k), NULL);
}

/* What does not follow from the ranges, in the given variables and in the new ones. */
static int remaining(ranger *x, const tn_arr *conditions, tn_vec *old, tn_vec *fresh) {
  for (int64_t i = 0; i < conditions->len && !x->infeasible; ++i) {
    tn_expr *e;
    TN_GET(e, shift(x, (tn_expr *)tn_arr_obj(conditions, i)));
    if (tir_is_zero(e)) x->infeasible = true;
    if (tir_is_one(e) || arith_prove(x->a, e)) continue;
    TN_TRY(tn_vec_push(old, conditions->items[i]));
    TN_TRY(tn_vec_push_obj(fresh, gather(x, e)));
  }
  return 0;
}

static tn_IntConstraints *no_solution(void) {
  return TN_NEW(IntConstraints, .variables = tn_arr_of(0), .ranges = tn_scope_own(tn_map_new()),
                .relations = tn_arr_of(1, tir_bool(false)));
}

/* *ranges over the given variables, *deskewed over the new ones. */
static int solve(ranger *x, tn_arr *conditions, const tn_map *given, tn_IntConstraints **ranges,
                 tn_IntConstraints **deskewed) {
  TN_VEC(old);
  TN_VEC(fresh);
  TN_VEC(in_order);
  tn_arr *bounds, *others;
  int solved = arith_solve_inequalities(conditions, x->vars, given, &bounds, &others);
  if (solved < 0) return -1;
  x->infeasible = solved == 0;
  TN_TRY(find_ranges(x, bounds));
  if (!x->infeasible) {
    tn_arr *all;
    TN_GET(all, arith_inequality_conditions(x->vars, bounds, others));
    TN_TRY(remaining(x, all, &old, &fresh));
  }
  if (x->infeasible) {
    TN_GET(*ranges, no_solution());
    TN_GET(x->to_dst, tn_scope_own(tn_map_new()));
    TN_GET(x->to_src, tn_scope_own(tn_map_new()));
    *deskewed = *ranges;
    return 0;
  }
  for (int64_t i = x->fresh.len; i-- > 0;) TN_TRY(tn_vec_push(&in_order, x->fresh.items[i]));
  TN_GET(*ranges, TN_NEW(IntConstraints, .variables = (tn_arr *)(uintptr_t)x->vars,
                         .ranges = x->ranges, .relations = tn_arr_from(&old)));
  TN_GET(*deskewed, TN_NEW(IntConstraints, .variables = tn_arr_from(&in_order),
                           .ranges = x->fresh_ranges, .relations = tn_arr_from(&fresh)));
  return 0;
}

static int run(tn_arr *conditions, tn_arr *variables, tn_map *given, tn_IntConstraints **ranges,
               tn_IntConstraintsTransform **deskewed) {
  TN_ARITH(a);
  ranger x = {.a = &a, .vars = variables};
  tn_IntConstraints *src, *dst;
  if (!conditions || !variables || !given) return -1; /* an error is pending */
  TN_GET(x.ranges, tn_scope_own(tn_map_new()));
  TN_GET(x.to_dst, tn_scope_own(tn_map_new()));
  TN_GET(x.to_src, tn_scope_own(tn_map_new()));
  TN_GET(x.fresh_ranges, tn_scope_own(tn_map_new()));
  int failed = solve(&x, conditions, given, ranges, &dst);
  tn_pmap_fini(&x.shifted);
  tn_vec_fini(&x.fresh);
  if (failed) return -1;
  TN_GET(src,
         TN_NEW(IntConstraints, .variables = variables, .ranges = given, .relations = conditions));
  TN_GET(*deskewed, TN_NEW(IntConstraintsTransform, .src = src, .dst = dst, .src_to_dst = x.to_dst,
                           .dst_to_src = x.to_src));
  return 0;
}

tn_IntConstraints *arith_inequality_ranges(tn_arr *conditions, tn_arr *variables, tn_map *ranges) {
  tn_IntConstraints *r;
  tn_IntConstraintsTransform *t;
  return run(conditions, variables, ranges, &r, &t) ? NULL : r;
}

tn_IntConstraintsTransform *arith_inequality_deskew(tn_arr *conditions, tn_arr *variables,
                                                    tn_map *ranges) {
  tn_IntConstraints *r;
  tn_IntConstraintsTransform *t;
  return run(conditions, variables, ranges, &r, &t) ? NULL : t;
}
