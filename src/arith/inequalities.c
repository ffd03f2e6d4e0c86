/* Linear inequalities over the integers, by the elimination of Fourier and Motzkin:

     x + y <= 20, x - y >= 10, 0 <= y < 10      =>     y + 10 <= x <= 20 - y,  0 <= y <= 5

   Every inequality is kept as e with e <= 0. For one variable after the other, each of its lower
   bounds is at most each of its upper bounds: these inequalities, in the variables that are left,
   take the place of those with the variable. One that follows from the ranges is dropped, factors
   that all terms share are divided out, rounding toward the inside. */
#include "arith/arith_impl.h"
#include "arith/region.h"
#include "arith/solve.h"
#include "base/arena.h"

enum { MAX_INEQUALITIES = 500 };

typedef struct {
  arith_analyzer *a; /* knows the ranges */
  const tn_arr *vars;
  tn_vec system; /* e with e <= 0 */
  tn_vec others; /* conditions */
  bool infeasible;
} eliminator;

/* ---- single inequalities ---- */

/* 2*x + 4*y - 5  =>  x + 2*y - 2: there is no solution between the two. */
static tn_expr *tighten(eliminator *s, tn_expr *e) {
  tn_arr *l;
  int64_t g = 0, k, rest;
  TN_GETP(l, arith_linear(e, s->vars));
  if (l->len != s->vars->len + 1 || !tir_as_int(tn_arr_obj(l, s->vars->len), &rest)) return e;
  for (int64_t i = 0; i < s->vars->len; ++i) {
    if (!tir_as_int(tn_arr_obj(l, i), &k)) return e;
    g = arith_gcd(g, k);
  }
  if (g <= 1 || rest == INT64_MIN) return e;
  tn_expr *r = tir_const_int(e->dtype, -arith_floordiv(-rest, g));
  for (int64_t i = 0; i < s->vars->len; ++i) {
    if (!tir_as_int(tn_arr_obj(l, i), &k) || k == 0) continue;
    r = tir_add(r, tir_mul((tn_expr *)tn_arr_obj(s->vars, i), tir_const_int(e->dtype, k / g)));
  }
  return r ? arith_simplify(s->a, r) : NULL;
}

static bool is_known(const eliminator *s, const tn_expr *e) {
  for (int64_t i = 0; i < s->system.len; ++i)
    if (arith_same((const tn_expr *)s->system.items[i].v.obj, e)) return true;
  return false;
}

/* Adds e <= 0. @param is_range it is what the ranges are known by: not to be proved by them */
static int add_inequality(eliminator *s, tn_expr *e, bool is_range) {
  int64_t k;
  if (!e) return -1;
  TN_GET(e, arith_simplify(s->a, e));
  TN_GET(e, tighten(s, e));
  if (tir_as_int((tn_obj *)e, &k)) {
    s->infeasible |= k > 0;
    return 0;
  }
  if (is_known(s, e)) return 0;
  if (!is_range && arith_prove(s->a, tir_le(e, tir_zero(e->dtype)))) return 0;
  TN_CHECK(s->system.len < MAX_INEQUALITIES, ValueError, NULL,
           "solve_linear_inequalities: elimination leads to more than %d inequalities",
           MAX_INEQUALITIES);
  return tn_vec_push_obj(&s->system, e);
}

static int add_condition(eliminator *s, tn_expr *e) {
  const tn_BinaryOp *op = TN_AS_BINARY(e);
  if (TN_AS(And, e)) return add_condition(s, op->a) || add_condition(s, op->b) ? -1 : 0;
  bool exact = op && arith_exact(s->a, op->a) && arith_exact(s->a, op->b) &&
               !arith_result_wraps(s->a, TN_TI_Sub, op->a, op->b);
  if (exact && arith_is_index(op->a->dtype)) {
    tn_expr *d = tir_sub(op->a, op->b), *back = tir_sub(op->b, op->a), *one = tir_one(op->a->dtype);
    switch (e->hdr.type_index) {
    case TN_TI_LE: return add_inequality(s, d, false);
    case TN_TI_GE: return add_inequality(s, back, false);
    case TN_TI_LT: return add_inequality(s, tir_add(d, one), false);
    case TN_TI_GT: return add_inequality(s, tir_add(back, one), false);
    case TN_TI_EQ: return add_inequality(s, d, false) || add_inequality(s, back, false) ? -1 : 0;
    default: break;
    }
  }
  TN_GET(e, arith_simplify(s->a, e));
  if (tir_is_zero(e)) s->infeasible = true;
  return tir_is_one(e) ? 0 : tn_vec_push_obj(&s->others, e);
}

/* ---- one variable ---- */

/* factor * v + e <= 0 */
typedef struct {
  int64_t *factors;
  tn_vec bounds; /* e */
} side;

static int split(eliminator *s, const tn_Var *v, side *lower, side *upper) {
  tn_arr *one;
  TN_VEC(rest);
  TN_GET(one, tn_arr_of(1, v));
  for (int64_t i = 0; i < s->system.len; ++i) {
    tn_expr *e = (tn_expr *)s->system.items[i].v.obj;
    tn_arr *l;
    int64_t k = 0;
    TN_GET(l, arith_linear(e, one));
    if (l->len != 2 || !tir_as_int(tn_arr_obj(l, 0), &k)) {
      TN_TRY(tn_vec_push_obj(&s->others, tir_le(e, tir_zero(e->dtype))));
    } else if (k == 0) {
      TN_TRY(tn_vec_push_obj(&rest, e));
    } else {
      side *to = k < 0 ? lower : upper;
      to->factors[to->bounds.len] = k < 0 ? -k : k;
      tn_expr *b = (tn_expr *)tn_arr_obj(l, 1);
      TN_TRY(tn_vec_push_obj(&to->bounds, k < 0 ? b : tir_neg(b, NULL)));
    }
  }
  s->system.len = 0;
  for (int64_t i = 0; i < rest.len; ++i) TN_TRY(tn_vec_push(&s->system, rest.items[i]));
  return 0;
}

static int common_factor(const side *x, int64_t *factor) {
  for (int64_t i = 0; i < x->bounds.len; ++i) {
    int64_t step = x->factors[i] / arith_gcd(*factor, x->factors[i]);
    TN_CHECK(!__builtin_mul_overflow(*factor, step, factor), ValueError, NULL,
             "solve_linear_inequalities: a factor leaves int64");
  }
  return 0;
}

/* Numbers in the bound may grow by `times` and be added up without leaving their type. */
static int check_growth(const eliminator *s, tn_expr *e, int64_t times) {
  int64_t k, grown, limit = (int64_t)1 << (e->dtype.bits - 3);
  tn_arr *l;
  TN_GET(l, arith_linear(e, s->vars));
  for (int64_t i = 0; i < l->len; ++i) {
    if (!tir_as_int(tn_arr_obj(l, i), &k)) continue;
    TN_CHECK(!__builtin_mul_overflow(k, times, &grown) && grown <= limit && grown >= -limit,
             ValueError, NULL, "solve_linear_inequalities: a number grows beyond int%d",
             e->dtype.bits);
  }
  return 0;
}

/* Bounds of factor * v. One that another always reaches is left out. */
static int scale(eliminator *s, const side *x, int64_t factor, bool is_lower, tn_vec *out) {
  for (int64_t i = 0; i < x->bounds.len; ++i) {
    tn_expr *e = (tn_expr *)x->bounds.items[i].v.obj;
    bool needed = true;
    TN_TRY(check_growth(s, e, factor / x->factors[i]));
    TN_GET(e, arith_simplify(s->a, tir_mul(e, tir_const_int(e->dtype, factor / x->factors[i]))));
    for (int64_t k = 0; k < out->len && needed; ++k) {
      tn_expr *have = (tn_expr *)out->items[k].v.obj;
      needed = !arith_prove(s->a, is_lower ? tir_le(e, have) : tir_ge(e, have));
    }
    if (!needed) continue;
    int64_t n = 0;
    for (int64_t k = 0; k < out->len; ++k) {
      tn_expr *have = (tn_expr *)out->items[k].v.obj;
      if (!arith_prove(s->a, is_lower ? tir_le(have, e) : tir_ge(have, e)))
        out->items[n++] = out->items[k];
    }
    out->len = n;
    TN_TRY(tn_vec_push_obj(out, e));
  }
  return 0;
}

/* Bounds that stand on both sides are values. */
static int take_equal(tn_vec *lower, tn_vec *upper, tn_vec *equal) {
  int64_t n = 0;
  for (int64_t i = 0; i < lower->len; ++i) {
    int64_t k = 0;
    while (k < upper->len && !arith_same((const tn_expr *)lower->items[i].v.obj,
                                         (const tn_expr *)upper->items[k].v.obj))
      ++k;
    if (k == upper->len) {
      lower->items[n++] = lower->items[i];
      continue;
    }
    TN_TRY(tn_vec_push(equal, lower->items[i]));
    for (--upper->len; k < upper->len; ++k) upper->items[k] = upper->items[k + 1];
  }
  lower->len = n;
  return 0;
}

static int combine_all(eliminator *s, const tn_vec *low, const tn_vec *high) {
  for (int64_t i = 0; i < low->len; ++i)
    for (int64_t k = 0; k < high->len; ++k)
      if (low->items[i].v.obj != high->items[k].v.obj)
        TN_TRY(add_inequality(
            s, tir_sub((tn_expr *)low->items[i].v.obj, (tn_expr *)high->items[k].v.obj), false));
  return 0;
}

static int bounds_of(eliminator *s, const tn_Var *v, side *low, side *high,
                     tn_IntGroupBounds **out) {
  int64_t factor = 1;
  TN_VEC(lower);
  TN_VEC(upper);
  TN_VEC(equal);
  TN_TRY(split(s, v, low, high));
  TN_TRY(common_factor(low, &factor));
  TN_TRY(common_factor(high, &factor));
  TN_TRY(scale(s, low, factor, true, &lower));
  TN_TRY(scale(s, high, factor, false, &upper));
  TN_TRY(take_equal(&lower, &upper, &equal));
  TN_TRY(combine_all(s, &lower, &upper));
  TN_TRY(combine_all(s, &equal, &equal));
  TN_TRY(combine_all(s, &lower, &equal));
  TN_TRY(combine_all(s, &equal, &upper));
  TN_GET(*out, TN_NEW(IntGroupBounds, .coef = tir_const_int(v->dtype, factor),
                      .lower = tn_arr_from(&lower), .equal = tn_arr_from(&equal),
                      .upper = tn_arr_from(&upper)));
  return 0;
}

static int eliminate(eliminator *s, const tn_Var *v, tn_IntGroupBounds **out) {
  TN_ARENA(arena);
  side low = {0}, high = {0};
  int64_t n = s->system.len + 1;
  TN_GET(low.factors, (int64_t *)tn_arena_array(&arena, n, sizeof *low.factors));
  TN_GET(high.factors, (int64_t *)tn_arena_array(&arena, n, sizeof *high.factors));
  int r = bounds_of(s, v, &low, &high, out);
  tn_vec_fini(&low.bounds);
  tn_vec_fini(&high.bounds);
  return r;
}

/* ---- all ---- */

static int add_ranges(eliminator *s, const tn_map *ranges) {
  for (int64_t i = 0; i < s->vars->len; ++i) {
    tn_Var *v = (tn_Var *)tn_arr_obj(s->vars, i);
    tn_any known;
    TN_CHECK(v && TN_IS(Var, v), TypeError, NULL,
             "solve_linear_inequalities: expected an array of Var");
    if (!tn_map_get(ranges, tn_any_obj(v), &known)) continue;
    tn_Range *r = tn_any_is_obj(&known) ? TN_AS(Range, known.v.obj) : NULL;
    TN_CHECK(r, TypeError, NULL, "ranges: expected a map from Var to Range");
    tn_expr *x = (tn_expr *)v, *last = tir_sub(tir_add(r->min, r->extent), tir_one(r->min->dtype));
    TN_TRY(add_inequality(s, tir_sub(r->min, x), true));
    TN_TRY(add_inequality(s, tir_sub(x, last), true));
  }
  for (int64_t i = 0; i < s->vars->len; ++i) {
    tn_Var *v = (tn_Var *)tn_arr_obj(s->vars, i);
    tn_any known;
    if (tn_map_get(ranges, tn_any_obj(v), &known))
      TN_TRY(arith_bind_range(s->a, v, (tn_Range *)known.v.obj, true));
  }
  return 0;
}

static int solve(eliminator *s, const tn_arr *conditions, const tn_map *ranges, tn_arr **bounds,
                 tn_arr **others) {
  TN_VEC(found);
  TN_TRY(add_ranges(s, ranges));
  for (int64_t i = 0; i < conditions->len; ++i) {
    tn_expr *e;
    e = ir_expr_from(&conditions->items[i]);
    if (!e && tn_error_pending()) return -1;
    TN_CHECK(e, TypeError, NULL, "solve_linear_inequalities: condition %lld is None", (long long)i);
    TN_TRY(add_condition(s, e));
  }
  for (int64_t i = 0; i < s->vars->len && !s->infeasible; ++i) {
    tn_IntGroupBounds *b;
    TN_TRY(eliminate(s, (const tn_Var *)tn_arr_obj(s->vars, i), &b));
    TN_TRY(tn_vec_push_obj(&found, b));
  }
  for (int64_t i = 0; i < s->system.len; ++i) {
    tn_expr *e = (tn_expr *)s->system.items[i].v.obj;
    TN_TRY(tn_vec_push_obj(&s->others, tir_le(e, tir_zero(e->dtype))));
  }
  TN_GET(*bounds, tn_arr_from(&found));
  TN_GET(*others, tn_arr_from(&s->others));
  return s->infeasible ? 0 : 1;
}

int arith_solve_inequalities(const tn_arr *conditions, const tn_arr *variables,
                             const tn_map *ranges, tn_arr **bounds, tn_arr **others) {
  TN_ARITH(a);
  if (!conditions || !variables || !ranges) return -1; /* an error is pending */
  eliminator s = {.a = &a, .vars = variables};
  int r = solve(&s, conditions, ranges, bounds, others);
  tn_vec_fini(&s.system);
  tn_vec_fini(&s.others);
  return r;
}

static int add_bounds(tn_vec *out, uint32_t op, tn_expr *v, const tn_arr *bounds) {
  for (int64_t i = 0; i < bounds->len; ++i)
    TN_TRY(tn_vec_push_obj(out, tir_binary(op, v, (tn_expr *)tn_arr_obj(bounds, i), NULL)));
  return 0;
}

tn_arr *arith_inequality_conditions(const tn_arr *variables, const tn_arr *bounds,
                                    const tn_arr *others) {
  TN_VEC(out);
  for (int64_t i = 0; i < bounds->len; ++i) {
    const tn_IntGroupBounds *b = (const tn_IntGroupBounds *)tn_arr_obj(bounds, i);
    tn_expr *v;
    TN_GETP(v, tir_mul((tn_expr *)tn_arr_obj(variables, i), b->coef));
    TN_TRYP(add_bounds(&out, TN_TI_EQ, v, b->equal));
    TN_TRYP(add_bounds(&out, TN_TI_GE, v, b->lower));
    TN_TRYP(add_bounds(&out, TN_TI_LE, v, b->upper));
  }
  for (int64_t i = 0; i < others->len; ++i) TN_TRYP(tn_vec_push(&out, others->items[i]));
  return tn_arr_from(&out);
}
