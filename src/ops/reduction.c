/* Reductions over axes of any value, for the families that have one inside (see ops.h). */
#include "ops/ops.h"

#include <stdio.h>

#include "base/error.h"
#include "ir/imm.h"

bool ops_find_axes(const tn_arr *axis, bool exclude, int64_t ndim, bool *reduced, int64_t *bad) {
  bool all = !axis || axis->len == 0;
  for (int64_t i = 0; i < ndim; ++i) reduced[i] = all || exclude;
  for (int64_t i = 0; !all && i < axis->len; ++i) {
    int64_t k = relay_listed(axis, i);
    *bad = k;
    if (k < 0) k += ndim;
    if (k < 0 || k >= ndim) return false;
    reduced[k] = !exclude;
  }
  return true;
}

tn_arr *ops_kept(const tn_arr *values, const bool *reduced, bool keepdims) {
  TN_VEC(out);
  for (int64_t i = 0; i < values->len; ++i) {
    tn_expr *v = (tn_expr *)tn_arr_obj(values, i);
    if (!reduced[i]) TN_TRYP(tn_vec_push_obj(&out, v));
    else if (keepdims) TN_TRYP(tn_vec_push_obj(&out, tir_one(v->dtype)));
  }
  return tn_arr_from(&out);
}

typedef struct {
  const tn_arr *shape;
  const bool *reduced;
  bool keepdims;
  te_reducer kind;
  te_element_fn value;
  void *ctx;
} reduction;

/* the value at the indices of the result, with an axis of reduction where one was taken away */
static tn_expr *element(void *ctx, tn_arr *at) {
  const reduction *r = ctx;
  TN_VEC(index);
  TN_VEC(axes);
  int64_t next = 0;
  for (int64_t i = 0; i < r->shape->len; ++i) {
    if (!r->reduced[i]) {
      TN_TRYP(tn_vec_push_obj(&index, te_index(at, next++)));
      continue;
    }
    next += r->keepdims;
    tn_str *name = tn_str_fmt("k%lld", (long long)i);
    tn_expr *extent = (tn_expr *)tn_arr_obj(r->shape, i);
    tn_IterVar *k = name ? te_reduce_axis(extent, tn_cstr(name)) : NULL;
    if (!k) return NULL;
    TN_TRYP(tn_vec_push_obj(&axes, k));
    TN_TRYP(tn_vec_push_obj(&index, k->var));
  }
  tn_arr *all = tn_arr_from(&index);
  tn_expr *e = all ? r->value(r->ctx, all) : NULL;
  return e && axes.len ? te_reduce(r->kind, e, tn_arr_from(&axes), NULL) : e;
}

tn_Tensor *ops_reduce_over(const tn_arr *shape, const bool *reduced, bool keepdims, te_reducer kind,
                           te_element_fn value, void *ctx, const char *name) {
  reduction r = {shape, reduced, keepdims, kind, value, ctx};
  return te_compute(ops_kept(shape, reduced, keepdims), element, &r, name, TE_COMM_REDUCE);
}

tn_expr *ops_element(void *ctx, tn_arr *at) { return te_at(ctx, at); }

tn_expr *ops_count(const tn_arr *shape, const bool *reduced, tn_dtype t) {
  tn_expr *n = tir_one(TN_I32);
  for (int64_t i = 0; n && i < shape->len; ++i) {
    if (reduced[i]) n = tir_mul(n, (tn_expr *)tn_arr_obj(shape, i));
  }
  return n ? tir_cast(t, n, NULL) : NULL;
}

tn_expr *ops_mean(const char *op, tn_expr *sum, tn_expr *count) {
  const tn_FloatImm *x = TN_AS(FloatImm, count);
  int64_t n = 1;
  if (!sum || !count) return NULL;
  if (x && x->value <= 0) return tir_mul(sum, tir_const_float(sum->dtype, __builtin_nan("")));
  TN_CHECKP(!tir_as_int((tn_obj *)count, &n) || n > 0, ValueError, NULL,
            "%s: the mean of no elements does not exist in %s", op, TN_DT(sum->dtype));
  return tir_div(sum, count);
}

tn_expr *ops_least(tn_dtype t) {
  bool floats = t.code == kDLFloat || t.code == kDLBfloat;
  return floats ? tir_neg(tir_infinity(t), NULL) : tir_min_value(t);
}

const char *ops_reduce_name(int i) {
  static const char *const names[] = {"rv0", "rv1", "rv2", "rv3", "rv4", "rv5"};
  return names[i < TN_COUNT(names) ? i : TN_COUNT(names) - 1];
}

int ops_rel_failed(const relay_rel *r) {
  char text[512];
  const tn_error *e = tn_error_get();
  if (!e || tn_error_get_kind() != TN_ValueError) return RELAY_FAILED;
  snprintf(text, sizeof text, "%s", e->message ? e->message : "");
  tn_error_clear();
  return relay_rel_fail(r, "%s", text);
}
