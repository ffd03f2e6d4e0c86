/* Variables of a program: single assignment, and those that come from outside. */
#include "arith/analyzer.h"
#include "base/pmap.h"
#include "ir/expr.h"
#include "object/functions.h"
#include "tir/analysis.h"
#include "tir/analysis/scope_walk.h"

/* ---- single assignment ---- */

typedef struct {
  tn_pmap values;  /* defined variable -> value of its let, or the variable itself */
  tn_pmap buffers; /* variables that buffers of the signature brought */
  bool ssa;
} ssa_checker;

static bool same_value(const void *before, const tn_expr *value) {
  return value && before && TN_IS(PrimExpr, before) && arith_same(before, value);
}

static int ssa_define(void *ctx, const scope_walk *w, tn_Var *v, scope_kind kind) {
  ssa_checker *c = ctx;
  const tn_expr *value = scope_walk_value(w);
  const void *before = tn_pmap_get(&c->values, v);
  if (kind == SCOPE_BUFFER) {
    if (!before) TN_TRY(tn_pmap_put(&c->values, v, v));
    return tn_pmap_put(&c->buffers, v, v);
  }
  /* the same value in two places is one definition; an axis is launched more than once */
  bool again = before && kind != SCOPE_THREAD && !(kind == SCOPE_LET && same_value(before, value));
  if (again && !(kind == SCOPE_PARAM && tn_pmap_has(&c->buffers, v))) {
    c->ssa = false;
    return 1;
  }
  return tn_pmap_put(&c->values, v, value ? (const void *)value : (const void *)v);
}

int tir_is_ssa(const tn_obj *program) {
  static const scope_visitor visitor = {.define = ssa_define};
  ssa_checker c = {.ssa = true};
  int r = scope_walk_run(program, &visitor, &c);
  tn_pmap_fini(&c.values);
  tn_pmap_fini(&c.buffers);
  return r < 0 ? -1 : c.ssa;
}

/* ---- free variables ---- */

typedef struct {
  tn_pmap depth; /* variable -> number of definitions around the current place */
  tn_pmap found;
  tn_vec *out;
} free_finder;

static int free_define(void *ctx, const scope_walk *w, tn_Var *v, scope_kind kind) {
  free_finder *f = ctx;
  (void)w, (void)kind;
  return tn_pmap_put_int(&f->depth, v, tn_pmap_get_int(&f->depth, v, 0) + 1);
}
static int free_end(void *ctx, const scope_walk *w, tn_Var *v, scope_kind kind) {
  free_finder *f = ctx;
  (void)w, (void)kind;
  return tn_pmap_put_int(&f->depth, v, tn_pmap_get_int(&f->depth, v, 0) - 1);
}
static int free_use(void *ctx, const scope_walk *w, tn_Var *v) {
  free_finder *f = ctx;
  (void)w;
  if (tn_pmap_get_int(&f->depth, v, 0) > 0 || tn_pmap_has(&f->found, v)) return 0;
  return tn_pmap_put(&f->found, v, v) ? -1 : tn_vec_push_obj(f->out, v);
}

tn_arr *tir_undefined_vars(const tn_obj *program, const tn_arr *defined) {
  static const scope_visitor visitor = {free_define, free_end, free_use, NULL, NULL};
  TN_VEC(out);
  free_finder f = {.out = &out};
  int r = 0;
  for (int64_t i = 0; defined && i < defined->len && !r; ++i)
    r = tn_pmap_put_int(&f.depth, tn_arr_obj(defined, i), 1);
  if (!r) r = scope_walk_run(program, &visitor, &f);
  tn_pmap_fini(&f.depth);
  tn_pmap_fini(&f.found);
  return r ? NULL : tn_arr_from(&out);
}
