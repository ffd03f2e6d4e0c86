/* Builders of calls of intrinsics, variables and ranges. */
#include <math.h>
#include <stdarg.h>

#include "ir/expr.h"
#include "ir/ir_impl.h"

tn_expr *tir_call_args(tn_dtype t, tir_op_id op, tn_arr *args, tn_Span *span) {
  return (tn_expr *)TN_MAKE(Call, .dtype = t, .op = (tn_BaseExpr *)tir_op(op), .args = args,
                            .span = span);
}

tn_expr *tir_call(tn_dtype t, tir_op_id op, int n, ...) {
  TN_VEC(v);
  va_list ap;
  int err = 0;
  va_start(ap, n);
  for (int i = 0; i < n && !err; ++i) {
    tn_expr *e = va_arg(ap, tn_expr *);
    err = e ? tn_vec_push_obj(&v, e) : -1;
  }
  va_end(ap);
  return err ? NULL : tir_call_args(t, op, tn_arr_from(&v), NULL);
}

tn_Call *tir_as_call(const tn_obj *e, tir_op_id op) {
  tn_Call *c = TN_AS(Call, e);
  return c && c->op == (tn_BaseExpr *)tir_op(op) ? c : NULL;
}

static tn_expr *float_imm(tn_dtype t, double v, tn_Span *span) {
  return (tn_expr *)TN_NEW(FloatImm, .dtype = t, .value = ir_round_float(v, t), .span = span);
}

/* A constant whose type the host computes exactly as targets do. */
static const tn_FloatImm *plain_float(const tn_expr *e) {
  const tn_FloatImm *f = TN_AS(FloatImm, e);
  return f && f->dtype.code == kDLFloat && f->dtype.bits >= 32 ? f : NULL;
}

tn_expr *tir_float_binary(tir_op_id op, tn_expr *a, tn_expr *b, tn_Span *span) {
  if (!a || !b) return NULL;
  TN_TRYP(tir_match_types(&a, &b, span));
  TN_CHECKP(ir_is_floating(a->dtype), TenonError, span, "%s only applies to float, got %s",
            op == TIR_OP_pow ? "power" : "fmod", TN_DT(a->dtype));
  const tn_FloatImm *x = plain_float(a), *y = plain_float(b);
  if (x && y) {
    double r = op == TIR_OP_pow ? pow(x->value, y->value) : fmod(x->value, y->value);
    return float_imm(a->dtype, r, span);
  }
  return tir_call_args(a->dtype, op, tn_arr_of(2, a, b), span);
}

/* x, x * x, x * x * x need no function. */
static tn_expr *small_power(tn_expr *x, int64_t n, tn_Span *span) {
  tn_expr *r = n == 0 ? tir_one(x->dtype) : x;
  for (int64_t i = 1; i < n; ++i) r = tir_binary(TN_TI_Mul, r, x, span);
  return r;
}

tn_expr *tir_power(tn_expr *a, tn_expr *b, tn_Span *span) {
  enum { SMALL = 3 };
  int64_t n;
  if (!a || !b) return NULL;
  TN_TRYP(tir_match_types(&a, &b, span));
  if (!ir_is_integral(a->dtype)) return tir_float_binary(TIR_OP_pow, a, b, span);
  const tn_IntImm *x = TN_AS(IntImm, a);
  if (tir_as_int((tn_obj *)b, &n)) {
    if (n >= 0 && n <= SMALL && !ir_is_bool(a->dtype)) return small_power(a, n, span);
    if (x && a->dtype.lanes == 1 && !(ir_is_uint(a->dtype) && a->dtype.bits == 64))
      return tir_int(a->dtype, ir_int_power(x->value, n, a->dtype));
  }
  return tir_call_args(a->dtype, TIR_OP_pow, tn_arr_of(2, a, b), span);
}

static double round_to(tir_op_id op, double x) {
  switch (op) {
  case TIR_OP_floor: return floor(x);
  case TIR_OP_ceil: return ceil(x);
  case TIR_OP_trunc: return trunc(x);
  case TIR_OP_round: return round(x);
  default: return nearbyint(x);
  }
}

tn_expr *tir_rounding(tir_op_id op, tn_expr *x, tn_Span *span) {
  if (!x || ir_is_integral(x->dtype)) return x;
  TN_CHECKP(ir_is_floating(x->dtype), TenonError, span, "%s: expected a number type, got %s",
            tn_cstr(tir_op(op)->name), TN_DT(x->dtype));
  const tn_FloatImm *f = TN_AS(FloatImm, x);
  if (f) return float_imm(f->dtype, round_to(op, ir_round_float(f->value, f->dtype)), span);
  return tir_call_args(x->dtype, op, tn_arr_of(1, x), span);
}

tn_expr *tir_abs(tn_expr *x, tn_Span *span) {
  if (!x || ir_is_uint(x->dtype)) return x;
  const tn_IntImm *i = TN_AS(IntImm, x);
  const tn_FloatImm *f = TN_AS(FloatImm, x);
  if (i) return i->value < 0 ? tir_neg(x, span) : x;
  if (ir_is_int(x->dtype))
    return tir_select(tir_binary(TN_TI_GE, x, tir_zero(x->dtype), span), x, tir_neg(x, span), span);
  TN_CHECKP(ir_is_floating(x->dtype), TenonError, span,
            "Data type %s not supported for absolute op", TN_DT(x->dtype));
  if (f) return float_imm(f->dtype, fabs(f->value), span);
  return tir_call_args(x->dtype, TIR_OP_fabs, tn_arr_of(1, x), span);
}

tn_expr *tir_isnan(tn_expr *x, tn_Span *span) {
  if (!x) return NULL;
  tn_dtype t = ir_with_lanes(TN_BOOL1, x->dtype.lanes);
  if (ir_is_integral(x->dtype)) return tir_const_int(t, 0);
  TN_CHECKP(ir_is_floating(x->dtype), TenonError, span, "Data type %s not supported for isnan op",
            TN_DT(x->dtype));
  const tn_FloatImm *f = TN_AS(FloatImm, x);
  if (f) return tir_bool(isnan(f->value));
  if (x->dtype.bits < 32) x = tir_cast(ir_with_lanes(TN_F32, x->dtype.lanes), x, span);
  return x ? tir_call_args(t, TIR_OP_isnan, tn_arr_of(1, x), span) : NULL;
}

tn_expr *tir_isinf(tn_expr *x, tn_Span *span) {
  if (!x) return NULL;
  if (ir_is_integral(x->dtype)) return tir_const_int(ir_with_lanes(TN_BOOL1, x->dtype.lanes), 0);
  TN_CHECKP(ir_is_floating(x->dtype), TenonError, span,
            "Data type %s not supported for finiteness ops", TN_DT(x->dtype));
  tn_expr *inf = tir_broadcast(tir_infinity(ir_with_lanes(x->dtype, 1)), x->dtype.lanes, span);
  return tir_binary(TN_TI_EQ, tir_abs(x, span), inf, span);
}

tn_expr *tir_isfinite(tn_expr *x, tn_Span *span) {
  tn_expr *inf = tir_isinf(x, span), *nan = tir_isnan(x, span);
  return tir_binary(TN_TI_And, tir_not(inf, span), tir_not(nan, span), span);
}

/* ---- variables and ranges ---- */

tn_Range *tir_range_to(tn_expr *begin, tn_expr *end, tn_Span *span) {
  tn_expr *extent = tir_is_zero(begin) ? end : tir_binary(TN_TI_Sub, end, begin, span);
  return TN_MAKE(Range, .min = begin, .extent = extent, .span = span);
}

tn_Var *tir_var(const char *name, tn_dtype t) {
  return TN_MAKE(Var, .name = tn_str_from(name), .dtype = t);
}

tn_Var *tir_var_like(const tn_Var *v, const char *name) {
  tn_Var copy = *v;
  copy.name = tn_str_from(name);
  return tn_node_copy(v->hdr.type, &copy);
}

tn_Var *tir_pointer_var(const char *name, tn_dtype t, const char *scope) {
  tn_Type *element = (tn_Type *)TN_NEW(PrimType, .dtype = t);
  tn_Type *type =
      (tn_Type *)TN_NEW(PointerType, .element_type = element, .storage_scope = tn_str_from(scope));
  return type ? TN_MAKE(Var, .name = tn_str_from(name), .type_annotation = type) : NULL;
}

tn_IterVar *tir_iter_var(tn_Range *dom, tn_Var *var, ir_iter_type type, const char *thread_tag) {
  return TN_MAKE(IterVar, .dom = dom, .var = var, .iter_type = (int32_t)type,
                 .thread_tag = tn_str_from(thread_tag));
}
