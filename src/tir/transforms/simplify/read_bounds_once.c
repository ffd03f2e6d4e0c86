/* Bounds of loops and values of block iterators that are read from memory are read once.

     for i in range(A[0]):                      n: T.int32 = A[0]
       A[0] = 3                          ->     for i in range(n):
       B[i] = 0                                   A[0] = 3
                                                  B[i] = 0

   First of the passes: what follows takes the values for expressions that mean the same wherever
   they stand, and puts them where they are used. */
#include "tir/transforms/transforms.h"

tn_stmt *tir_bind_read(const tn_vec *vars, const tn_vec *values, tn_stmt *body) {
  for (int64_t i = vars->len; body && i-- > 0;)
    body = (tn_stmt *)TN_NEW(LetStmt, .var = (tn_Var *)vars->items[i].v.obj,
                             .value = (tn_expr *)values->items[i].v.obj, .body = body);
  return body;
}

int tir_read_once(tn_vec *vars, tn_vec *values, const char *name, tn_expr **e) {
  tn_Var *v;
  tir_effect effect;
  TN_TRY(tir_effect_of(*e, &effect));
  if (effect <= TIR_EFFECT_PURE) return 0;
  TN_GET(v, tir_var(name, (*e)->dtype));
  TN_TRY(tn_vec_push_obj(vars, v));
  TN_TRY(tn_vec_push_obj(values, *e));
  *e = (tn_expr *)v;
  return 0;
}

static tn_stmt *bind_loop(tn_mut *m, tn_For *op) {
  tn_For *r = tn_mut_children(m, op);
  if (!r) return NULL;
  TN_VEC(vars);
  TN_VEC(values);
  tn_expr *min = r->min, *extent = r->extent;
  TN_TRYP(tir_read_once(&vars, &values, "begin", &min));
  TN_TRYP(tir_read_once(&vars, &values, "n", &extent));
  return vars.len ? tir_bind_read(&vars, &values, tir_for_with(r, min, extent, r->body))
                  : (tn_stmt *)r;
}

static tn_stmt *bind_block(tn_mut *m, tn_BlockRealize *op) {
  tn_BlockRealize *r = tn_mut_children(m, op);
  if (!r) return NULL;
  TN_VEC(vars);
  TN_VEC(values);
  TN_VEC(iters);
  for (int64_t i = 0; i < r->iter_values->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(r->block->iter_vars, i);
    tn_expr *v = (tn_expr *)tn_arr_obj(r->iter_values, i);
    TN_TRYP(tir_read_once(&vars, &values, tn_cstr(iv->var->name), &v));
    TN_TRYP(tn_vec_push_obj(&iters, v));
  }
  if (!vars.len) return (tn_stmt *)r;
  tn_BlockRealize copy = *r;
  TN_GETP(copy.iter_values, tn_arr_from(&iters));
  return tir_bind_read(&vars, &values, tn_node_copy(&tn_type_BlockRealize, &copy));
}

tn_PrimFunc *tir_read_bounds_once(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(For, bind_loop), TN_CASE(BlockRealize, bind_block)};
  (void)c;
  TN_MUT(m, cases, NULL);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
