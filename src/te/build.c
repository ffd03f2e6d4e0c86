/* Making tensor expressions from C (see build.h). */
#include "te/build.h"

#include <stdarg.h>

#include "ir/imm.h"

tn_Tensor *te_placeholder(tn_arr *shape, tn_dtype dtype, const char *name) {
  tn_str *none = tn_str_from("");
  tn_map *attrs = tn_scope_own(tn_map_new());
  tn_PlaceholderOp *op = TN_MAKE(PlaceholderOp, .name = tn_str_from(name), .tag = none,
                                 .attrs = attrs, .shape = shape, .dtype = dtype);
  return op ? te_output((tn_Operation *)op, 0) : NULL;
}

/* ---- computes ---- */

/* An axis 0, 1, ..., extent - 1. */
static tn_IterVar *axis(tn_expr *extent, const char *name, ir_iter_type type) {
  if (!extent) return NULL;
  tn_Range *dom = tir_range(tir_zero(extent->dtype), extent); /* an IterVar may have none */
  return dom ? tir_iter_var(dom, tir_var(name, extent->dtype), type, "") : NULL;
}

/* Axes i0, i1, ... over the extents, and their variables. */
static int make_axes(const tn_arr *shape, tn_vec *axes, tn_vec *vars) {
  for (int64_t i = 0; i < shape->len; ++i) {
    tn_str *name = tn_str_fmt("i%lld", (long long)i);
    tn_IterVar *iv =
        name ? axis((tn_expr *)tn_arr_obj(shape, i), tn_cstr(name), IR_ITER_DATA_PAR) : NULL;
    if (!iv) return -1;
    TN_TRY(tn_vec_push_obj(axes, iv));
    TN_TRY(tn_vec_push_obj(vars, iv->var));
  }
  return 0;
}

static tn_ComputeOp *compute_op(const tn_vec *axes, tn_arr *body, const char *name, const char *tag,
                                tn_map *attrs) {
  tn_map *none = attrs ? attrs : tn_scope_own(tn_map_new());
  return TN_MAKE(ComputeOp, .name = tn_str_from(name), .tag = tn_str_from(tag), .attrs = none,
                 .axis = tn_arr_from(axes), .reduce_axis = tn_arr_of(0), .body = body);
}

tn_Tensor *te_compute_attrs(tn_arr *shape, te_element_fn element, void *ctx, const char *name,
                            const char *tag, tn_map *attrs) {
  TN_VEC(axes);
  TN_VEC(vars);
  if (!shape || make_axes(shape, &axes, &vars)) return NULL;
  tn_arr *indices = tn_arr_from(&vars);
  tn_expr *e = indices ? element(ctx, indices) : NULL;
  tn_ComputeOp *op = e ? compute_op(&axes, tn_arr_of(1, e), name, tag, attrs) : NULL;
  return op ? te_output((tn_Operation *)op, 0) : NULL;
}

tn_Tensor *te_compute(tn_arr *shape, te_element_fn element, void *ctx, const char *name,
                      const char *tag) {
  return te_compute_attrs(shape, element, ctx, name, tag, NULL);
}

tn_arr *te_compute_many(tn_arr *shape, tn_arr *(*elements)(void *, tn_arr *), void *ctx,
                        const char *name, const char *tag) {
  TN_VEC(axes);
  TN_VEC(vars);
  TN_VEC(out);
  if (!shape || make_axes(shape, &axes, &vars)) return NULL;
  tn_arr *indices = tn_arr_from(&vars);
  tn_arr *body = indices ? elements(ctx, indices) : NULL;
  tn_ComputeOp *op = body ? compute_op(&axes, body, name, tag, NULL) : NULL;
  for (int64_t i = 0; op && i < body->len; ++i)
    TN_TRYP(tn_vec_push_obj(&out, te_output((tn_Operation *)op, i)));
  return op ? tn_arr_from(&out) : NULL;
}

/* ---- elements ---- */

tn_expr *te_at(const tn_Tensor *t, tn_arr *indices) {
  if (!t || !indices) return NULL;
  TN_CHECKP(indices->len == t->shape->len, ValueError, NULL,
            "tensor %s has %lld dimensions, but %lld indices were given", tn_cstr(t->op->name),
            (long long)t->shape->len, (long long)indices->len);
  return (tn_expr *)TN_NEW(ProducerLoad, .dtype = t->dtype,
                           .producer = (tn_DataProducer *)(uintptr_t)t, .indices = indices);
}

tn_expr *te_at_of(const tn_Tensor *t, int n, ...) {
  TN_VEC(v);
  va_list ap;
  int err = 0;
  va_start(ap, n);
  for (int i = 0; i < n && !err; ++i) {
    tn_expr *e = va_arg(ap, tn_expr *);
    err = e ? tn_vec_push_obj(&v, e) : -1;
  }
  va_end(ap);
  return err ? NULL : te_at(t, tn_arr_from(&v));
}

/* ---- reductions ---- */

tn_IterVar *te_reduce_axis(tn_expr *extent, const char *name) {
  return axis(extent, name, IR_ITER_COMM_REDUCE);
}

static tn_expr *combine(te_reducer kind, tn_expr *x, tn_expr *y) {
  switch (kind) {
  case TE_SUM: return tir_add(x, y);
  case TE_PROD: return tir_mul(x, y);
  case TE_MAX: return tir_max(x, y);
  case TE_MIN: return tir_min(x, y);
  case TE_ANY: return tir_bitwise(TIR_OP_bitwise_or, x, y, NULL); /* both are read anyway */
  case TE_ALL: return tir_bitwise(TIR_OP_bitwise_and, x, y, NULL);
  }
  return NULL;
}

static bool has_infinity(tn_dtype t) { return t.code == kDLFloat || t.code == kDLBfloat; }

static tn_expr *identity(te_reducer kind, tn_dtype t) {
  switch (kind) {
  case TE_SUM: return tir_zero(t);
  case TE_PROD: return tir_one(t);
  case TE_MAX: return has_infinity(t) ? tir_neg(tir_infinity(t), NULL) : tir_min_value(t);
  case TE_MIN: return has_infinity(t) ? tir_infinity(t) : tir_max_value(t);
  case TE_ANY: return tir_bool(false);
  case TE_ALL: return tir_bool(true);
  }
  return NULL;
}

/* @param first of no elements: the identity */
static tn_expr *reduction(te_reducer kind, tn_expr *e, tn_arr *axes, tn_expr *where,
                          tn_arr *first) {
  if (!e || !axes || !first) return NULL;
  tn_Var *x = tir_var("x", e->dtype), *y = tir_var("y", e->dtype);
  tn_CommReducer *c = TN_MAKE(CommReducer, .lhs = tn_arr_of(1, x), .rhs = tn_arr_of(1, y),
                              .result = tn_arr_of(1, combine(kind, (tn_expr *)x, (tn_expr *)y)),
                              .identity_element = tn_arr_of(1, identity(kind, e->dtype)));
  if (!where) where = tir_bool(true);
  if (!c || !where) return NULL;
  return (tn_expr *)TN_MAKE(Reduce, .dtype = e->dtype, .axis = axes, .combiner = c,
                            .source = tn_arr_of(1, e), .init = first, .condition = where,
                            .value_index = 0);
}

tn_expr *te_reduce(te_reducer kind, tn_expr *e, tn_arr *axes, tn_expr *where) {
  return reduction(kind, e, axes, where, tn_arr_of(0));
}

tn_expr *te_sum_onto(tn_expr *first, tn_expr *e, tn_arr *axes) {
  return first ? reduction(TE_SUM, e, axes, NULL, tn_arr_of(1, first)) : NULL;
}
