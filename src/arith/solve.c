/* Linear equations over the integers:  x + y = 20  =>  x = n0 + 20, y = -n0.

   A x = b, A an integer matrix, b symbolic. Column operations (Euclid's algorithm along each row)
   bring A to lower echelon form H = A U with U unimodular; H y = b is solved from the top, a row
   without a pivot being a condition; x = U y. Columns without a pivot are the new variables, and
   the rows of the inverse of U express them by the old ones. */
#include "arith/solve.h"

#include <stdlib.h>

#include "arith/arith_impl.h"
#include "arith/int_set.h"
#include "arith/region.h"
#include "base/alloc.h"
#include "ir/functor.h"

typedef struct {
  arith_analyzer *a;
  tn_arr *vars;
  int64_t n, m;          /* unknowns, equations */
  int64_t *A, *U, *V;    /* m x n, n x n, n x n: V is the inverse of U */
  tn_expr **b, **y, **x; /* m, n, n */
  int64_t pivots;
  tn_vec relations; /* conditions that remain */
  bool infeasible, overflow;
} system_;

static int64_t *cell(int64_t *m, int64_t n, int64_t i, int64_t j) { return &m[i * n + j]; }

static int alloc_system(system_ *s, int64_t m) {
  size_t n = (size_t)s->n, rows = (size_t)m;
  size_t row = tn_array_bytes(0, s->n, sizeof *s->A);
  TN_GET(s->A, tn_alloc_zero(rows + 1, row));
  TN_GET(s->U, tn_alloc_zero(n + 1, row));
  TN_GET(s->V, tn_alloc_zero(n + 1, row));
  TN_GET(s->b, tn_alloc_zero(rows + 1, sizeof *s->b));
  TN_GET(s->y, tn_alloc_zero(n + 1, sizeof *s->y));
  TN_GET(s->x, tn_alloc_zero(n + 1, sizeof *s->x));
  for (int64_t i = 0; i < s->n; ++i) *cell(s->U, s->n, i, i) = *cell(s->V, s->n, i, i) = 1;
  return 0;
}

static void free_system(system_ *s) {
  tn_free(s->A);
  tn_free(s->U);
  tn_free(s->V);
  tn_free(s->b);
  tn_free(s->y);
  tn_free(s->x);
  tn_vec_fini(&s->relations);
}

/* A row of the matrix from an equation; anything else is a condition. */
static int add_equation(system_ *s, tn_expr *e) {
  const tn_EQ *eq = TN_AS(EQ, e);
  tn_arr *l = NULL;
  tn_expr *d;
  bool exact = eq && arith_exact(s->a, eq->a) && arith_exact(s->a, eq->b) &&
               !arith_result_wraps(s->a, TN_TI_Sub, eq->a, eq->b);
  if (exact && arith_is_index(eq->a->dtype)) {
    TN_GET(d, arith_simplify(s->a, tir_sub(eq->a, eq->b)));
    TN_GET(l, arith_linear(d, s->vars));
  }
  bool linear = l && l->len == s->n + 1;
  for (int64_t j = 0; linear && j < s->n; ++j)
    linear = tir_as_int(tn_arr_obj(l, j), cell(s->A, s->n, s->m, j));
  if (!linear) {
    for (int64_t j = 0; j < s->n; ++j) *cell(s->A, s->n, s->m, j) = 0;
    return tn_vec_push_obj(&s->relations, e);
  }
  TN_GET(s->b[s->m], arith_simplify(s->a, tir_neg((tn_expr *)tn_arr_obj(l, s->n), NULL)));
  ++s->m;
  return 0;
}

/* ---- column operations ---- */

/* column j of the matrix -= q * column i */
static void subtract(system_ *s, int64_t *m, int64_t rows, int64_t j, int64_t i, int64_t q) {
  for (int64_t r = 0; r < rows; ++r) {
    int64_t t;
    if (__builtin_mul_overflow(q, *cell(m, s->n, r, i), &t) ||
        __builtin_sub_overflow(*cell(m, s->n, r, j), t, cell(m, s->n, r, j)))
      s->overflow = true;
  }
}

static void reduce(system_ *s, int64_t j, int64_t i, int64_t q) {
  subtract(s, s->A, s->m, j, i, q);
  subtract(s, s->U, s->n, j, i, q);
  for (int64_t k = 0; k < s->n; ++k) { /* row i of the inverse += q * row j */
    int64_t t;
    if (__builtin_mul_overflow(q, *cell(s->V, s->n, j, k), &t) ||
        __builtin_add_overflow(*cell(s->V, s->n, i, k), t, cell(s->V, s->n, i, k)))
      s->overflow = true;
  }
}

static void swap(int64_t *x, int64_t *y) {
  int64_t t = *x;
  *x = *y, *y = t;
}

static void exchange(system_ *s, int64_t i, int64_t j) {
  if (i == j) return;
  for (int64_t r = 0; r < s->m; ++r) swap(cell(s->A, s->n, r, i), cell(s->A, s->n, r, j));
  for (int64_t r = 0; r < s->n; ++r) {
    swap(cell(s->U, s->n, r, i), cell(s->U, s->n, r, j));
    swap(cell(s->V, s->n, i, r), cell(s->V, s->n, j, r));
  }
}

static void negate(system_ *s, int64_t j) {
  for (int64_t r = 0; r < s->m; ++r) *cell(s->A, s->n, r, j) *= -1;
  for (int64_t r = 0; r < s->n; ++r) {
    *cell(s->U, s->n, r, j) *= -1;
    *cell(s->V, s->n, j, r) *= -1;
  }
}

/* Leaves one entry of the row, in column `pivots`, besides those of earlier pivots. True if any. */
static bool clear_row(system_ *s, int64_t row) {
  int64_t p = s->pivots, *A = s->A, n = s->n;
  while (!s->overflow) {
    int64_t least = -1, others = 0;
    for (int64_t j = p; j < n; ++j) {
      int64_t v = *cell(A, n, row, j);
      if (v == 0) continue;
      ++others;
      if (least < 0 || llabs(v) < llabs(*cell(A, n, row, least))) least = j;
    }
    if (least < 0) return false;
    exchange(s, p, least);
    if (others == 1) break;
    for (int64_t j = p + 1; j < n; ++j)
      if (*cell(A, n, row, j)) reduce(s, j, p, *cell(A, n, row, j) / *cell(A, n, row, p));
  }
  if (*cell(A, n, row, p) < 0) negate(s, p);
  return true;
}

/* ---- solution ---- */

static int condition(system_ *s, tn_expr *e) {
  TN_GET(e, arith_simplify(s->a, e));
  if (tir_is_one(e)) return 0;
  if (tir_is_zero(e)) s->infeasible = true;
  return tn_vec_push_obj(&s->relations, e);
}

static int solve_row(system_ *s, int64_t row) {
  bool pivot = clear_row(s, row);
  tn_expr *rest = s->b[row], *d;
  for (int64_t k = 0; k < s->pivots; ++k) {
    if (*cell(s->A, s->n, row, k) == 0) continue;
    TN_GET(d, tir_const_int(rest->dtype, *cell(s->A, s->n, row, k)));
    TN_GET(rest, tir_sub(rest, tir_mul(s->y[k], d)));
  }
  TN_GET(rest, arith_simplify(s->a, rest));
  if (!pivot) return condition(s, tir_eq(rest, tir_zero(rest->dtype)));
  TN_GET(d, tir_const_int(rest->dtype, *cell(s->A, s->n, row, s->pivots)));
  TN_TRY(condition(s, tir_eq(tir_floormod(rest, d), tir_zero(rest->dtype))));
  TN_GET(s->y[s->pivots], arith_simplify(s->a, tir_floordiv(rest, d)));
  ++s->pivots;
  return 0;
}

/* sum of  factors[k * step] * terms[k] */
static tn_expr *weighted(system_ *s, const int64_t *factors, int64_t step, tn_expr **terms) {
  tn_expr *e, *f;
  TN_GETP(e, tir_zero(terms[0]->dtype));
  for (int64_t k = 0; k < s->n; ++k) {
    if (factors[k * step] == 0) continue;
    TN_GETP(f, tir_const_int(e->dtype, factors[k * step]));
    TN_GETP(e, tir_add(e, tir_mul(terms[k], f)));
  }
  return arith_simplify(s->a, e);
}

static int new_variables(system_ *s, tn_vec *fresh) {
  for (int64_t k = s->pivots; k < s->n; ++k) {
    for (int64_t r = 0; r < s->n; ++r) { /* the first unknown that depends on it grows with it */
      if (*cell(s->U, s->n, r, k) == 0) continue;
      if (*cell(s->U, s->n, r, k) < 0) negate(s, k);
      break;
    }
    tn_str *name;
    TN_GET(name, tn_str_fmt("n%lld", (long long)(k - s->pivots)));
    TN_GET(s->y[k], (tn_expr *)tir_var(tn_cstr(name), ((tn_expr *)tn_arr_obj(s->vars, 0))->dtype));
    TN_TRY(tn_vec_push_obj(fresh, s->y[k]));
  }
  return 0;
}

typedef struct {
  tn_map *ranges, *to_dst, *to_src;
  tn_vec fresh;
} solution;

static int name_solution(system_ *s, const tn_map *ranges, solution *out) {
  TN_TRY(new_variables(s, &out->fresh));
  for (int64_t k = 0; k < s->n; ++k) s->x[k] = (tn_expr *)tn_arr_obj(s->vars, k);
  for (int64_t k = s->pivots; k < s->n; ++k) {
    tn_expr *e;
    tn_IntervalSet *set;
    tn_Range *r;
    TN_GET(e, weighted(s, cell(s->V, s->n, k, 0), 1, s->x));
    TN_TRY(tn_map_set(out->to_src, tn_any_obj(s->y[k]), tn_any_obj(e)));
    TN_GET(set, arith_int_set(s->a, e, ranges));
    bool limited = !arith_is_inf(set->min_value) && !arith_is_inf(set->max_value);
    for (int64_t j = 0; j < s->n; ++j) /* of every unknown in it a range must be known */
      if (*cell(s->V, s->n, k, j) && !tn_map_get(ranges, tn_any_obj(s->x[j]), &(tn_any){0}))
        limited = false;
    if (!limited) continue;
    TN_GET(r, arith_interval_range(s->a, set, NULL));
    TN_TRY(tn_map_set(out->ranges, tn_any_obj(s->y[k]), tn_any_obj(r)));
    TN_TRY(arith_bind_range(s->a, (tn_Var *)s->y[k], r, true));
  }
  return 0;
}

/* The unknowns by the new variables; their ranges become conditions where they do not follow. */
static int express(system_ *s, const tn_map *ranges, solution *out) {
  for (int64_t j = 0; j < s->n; ++j) {
    tn_obj *v = tn_arr_obj(s->vars, j);
    tn_expr *e;
    tn_any known;
    TN_GET(e, weighted(s, cell(s->U, s->n, j, 0), 1, s->y));
    TN_TRY(tn_map_set(out->to_dst, tn_any_obj(v), tn_any_obj(e)));
    if (!tn_map_get(ranges, tn_any_obj(v), &known)) continue;
    const tn_Range *r = tn_any_is_obj(&known) ? TN_AS(Range, known.v.obj) : NULL;
    TN_CHECK(r, TypeError, NULL, "ranges: expected a map from Var to Range");
    TN_TRY(condition(s, tir_le(r->min, e)));
    TN_TRY(condition(s, tir_lt(e, tir_add(r->min, r->extent))));
  }
  return 0;
}

static int substitute_relations(system_ *s, solution *out, int64_t given) {
  TN_PMAP(map);
  tn_any k, v;
  for (int64_t i = 0; tn_map_at(out->to_dst, i, &k, &v); ++i)
    TN_TRY(tn_pmap_put(&map, k.v.obj, v.v.obj));
  for (int64_t i = 0; i < given; ++i) {
    tn_expr *e;
    TN_GET(e, tir_substitute(s->relations.items[i].v.obj, &map));
    TN_GET(e, arith_simplify(s->a, e));
    s->relations.items[i] = tn_any_obj(e);
  }
  return 0;
}

static int solve(system_ *s, const tn_arr *equations, const tn_map *ranges, solution *out) {
  TN_TRY(alloc_system(s, equations->len));
  for (int64_t i = 0; i < equations->len; ++i) {
    tn_expr *e;
    TN_GET(e, ir_expr_from(&equations->items[i]));
    TN_TRY(add_equation(s, e));
  }
  int64_t given = s->relations.len;
  for (int64_t i = 0; i < s->m && !s->infeasible; ++i) TN_TRY(solve_row(s, i));
  TN_CHECK(!s->overflow, ValueError, NULL, "solve_linear_equations: a factor leaves int64");
  if (s->infeasible || s->n == 0) return 0;
  TN_TRY(name_solution(s, ranges, out));
  TN_TRY(express(s, ranges, out));
  return substitute_relations(s, out, given);
}

static tn_IntConstraintsTransform *result(system_ *s, tn_IntConstraints *src, solution *o) {
  tn_arr *relations, *fresh;
  if (s->infeasible) {
    TN_GETP(o->ranges, tn_scope_own(tn_map_new()));
    TN_GETP(o->to_dst, tn_scope_own(tn_map_new()));
    TN_GETP(o->to_src, tn_scope_own(tn_map_new()));
    o->fresh.len = 0;
    TN_GETP(relations, tn_arr_of(1, tir_bool(false)));
  } else {
    TN_GETP(relations, tn_arr_from(&s->relations));
  }
  TN_GETP(fresh, tn_arr_from(&o->fresh));
  tn_IntConstraints *dst;
  TN_GETP(dst,
          TN_NEW(IntConstraints, .variables = fresh, .ranges = o->ranges, .relations = relations));
  return TN_NEW(IntConstraintsTransform, .src = src, .dst = dst, .src_to_dst = o->to_dst,
                .dst_to_src = o->to_src);
}

tn_IntConstraintsTransform *arith_solve_equations(tn_arr *equations, tn_arr *variables,
                                                  tn_map *ranges) {
  TN_ARITH(a);
  if (!equations || !variables || !ranges) return NULL; /* an error is pending */
  for (int64_t i = 0; i < variables->len; ++i)
    TN_CHECKP(tn_arr_obj(variables, i) && TN_IS(Var, tn_arr_obj(variables, i)), TypeError, NULL,
              "solve_linear_equations: expected an array of Var");
  system_ s = {.a = &a, .vars = variables, .n = variables->len};
  solution o = {.ranges = tn_scope_own(tn_map_new()),
                .to_dst = tn_scope_own(tn_map_new()),
                .to_src = tn_scope_own(tn_map_new())};
  tn_IntConstraintsTransform *r = NULL;
  tn_IntConstraints *src =
      TN_NEW(IntConstraints, .variables = variables, .ranges = ranges, .relations = equations);
  if (src && o.ranges && o.to_dst && o.to_src && !solve(&s, equations, ranges, &o))
    r = result(&s, src, &o);
  free_system(&s);
  tn_vec_fini(&o.fresh);
  return r;
}
