/* Builders of operators: operand types, checks, folding (see expr.h for the rules). */
#include <math.h>

#include "ir/expr.h"
#include "ir/ir_impl.h"

static int cannot_match(tn_dtype a, tn_dtype b, const tn_Span *span) {
  return TN_RAISE(TenonError, span, "Cannot match type %s vs %s", TN_DT(a), TN_DT(b));
}

/* The type in which scalars of types a and b meet. */
static int common_type(tn_dtype a, tn_dtype b, tn_dtype *out) {
  bool fa = ir_is_floating(a), fb = ir_is_floating(b);
  if (!(fa || ir_is_integral(a)) || !(fb || ir_is_integral(b))) return -1;
  if (fa != fb) *out = fa ? a : b;
  else if (tn_dtype_is_custom(a) != tn_dtype_is_custom(b)) *out = tn_dtype_is_custom(a) ? a : b;
  else if (tn_dtype_is_custom(a) && a.code != b.code) return -1;
  else if (a.code != b.code && (a.code == kDLFloat || b.code == kDLFloat))
    *out = a.code == kDLFloat ? a : b; /* bfloat16 and 8-bit floats meet the common ones */
  else if (a.bits != b.bits) *out = a.bits > b.bits ? a : b;
  else *out = a.code == kDLUInt ? a : b; /* one width: equal, or of two signednesses */
  return 0;
}

int tir_match_types(tn_expr **a, tn_expr **b, tn_Span *span) {
  tn_dtype ta = (*a)->dtype, tb = (*b)->dtype, common;
  if (tn_dtype_eq(ta, tb)) return 0;
  int lanes = ta.lanes > tb.lanes ? ta.lanes : tb.lanes;
  if ((ta.lanes != lanes && ta.lanes != 1) || (tb.lanes != lanes && tb.lanes != 1))
    return cannot_match(ta, tb, span);
  tn_dtype sa = ir_with_lanes(ta, 1), sb = ir_with_lanes(tb, 1);
  if (tn_dtype_eq(sa, sb)) common = sa;
  else if (common_type(sa, sb, &common)) return cannot_match(ta, tb, span);
  common = ir_with_lanes(common, lanes);
  TN_GET(*a, tir_cast(common, *a, span));
  TN_GET(*b, tir_cast(common, *b, span));
  return 0;
}

static const char *op_text(uint32_t op) {
  switch (op) {
  case TN_TI_And: return "&& operator (logical AND)";
  case TN_TI_Or: return "|| operator (logical OR)";
  default: return tn_type_get(op)->name;
  }
}

static int need_bool(const tn_expr *e, const char *what, const char *op, const tn_Span *span) {
  TN_CHECK(ir_is_bool(e->dtype), TenonError, span,
           "Expected boolean argument as %s of %s, but received an expression of type %s", what, op,
           TN_DT(e->dtype));
  return 0;
}

static int need_int(const tn_expr *e, const char *op, const tn_Span *span) {
  TN_CHECK(ir_is_integral(e->dtype), TenonError, span,
           "%s: expected an operand of integer type, got %s", op, TN_DT(e->dtype));
  return 0;
}

static int need_number(uint32_t op, const tn_expr *e, const tn_Span *span) {
  bool handles = op == TN_TI_EQ || op == TN_TI_NE;
  TN_CHECK(handles || ir_is_floating(e->dtype) || ir_is_integral(e->dtype), TenonError, span,
           "%s: expected operands of a number type, got %s", op_text(op), TN_DT(e->dtype));
  return 0;
}

static int prepare(uint32_t op, tn_expr **a, tn_expr **b, tn_Span *span) {
  if (op >= TN_TI_And) {
    TN_TRY(need_bool(*a, "LHS", op_text(op), span));
    TN_TRY(need_bool(*b, "RHS", op_text(op), span));
  }
  TN_TRY(tir_match_types(a, b, span));
  TN_TRY(need_number(op, *a, span));
  if (op <= TN_TI_FloorMod && ir_is_bool((*a)->dtype)) { /* arithmetic on truth values */
    tn_dtype t = ir_with_lanes(TN_I32, (*a)->dtype.lanes);
    TN_GET(*a, tir_cast(t, *a, span));
    TN_GET(*b, tir_cast(t, *b, span));
  }
  return 0;
}

tn_expr *tir_binary(uint32_t op, tn_expr *a, tn_expr *b, tn_Span *span) {
  tn_expr *folded;
  if (!a || !b) return NULL;
  TN_TRYP(prepare(op, &a, &b, span));
  TN_TRYP(tir_fold(op, a, b, span, &folded));
  if (folded) return folded;
  tn_BinaryOp proto = {.span = span, .dtype = a->dtype, .a = a, .b = b};
  if (op >= TN_TI_EQ) proto.dtype = ir_with_lanes(TN_BOOL1, a->dtype.lanes);
  return tn_node_copy(tn_type_get(op), &proto);
}

int tir_check_written(uint32_t op, const tn_expr *b, const tn_Span *span) {
  bool divides = op >= TN_TI_Div && op <= TN_TI_FloorMod;
  TN_CHECK(!divides || !b || !tir_is_zero(b), TenonError, span, "Divide by zero");
  return 0;
}

tn_expr *tir_truncdiv(tn_expr *a, tn_expr *b, tn_Span *span) {
  if (!a || !b) return NULL;
  TN_TRYP(need_int(a, "truncdiv", span));
  TN_TRYP(need_int(b, "truncdiv", span));
  return tir_binary(TN_TI_Div, a, b, span);
}

tn_expr *tir_truncmod(tn_expr *a, tn_expr *b, tn_Span *span) {
  if (!a || !b) return NULL;
  TN_TRYP(need_int(a, "truncmod", span));
  TN_TRYP(need_int(b, "truncmod", span));
  return tir_binary(TN_TI_Mod, a, b, span);
}

tn_expr *tir_ceildiv(tn_expr *a, tn_expr *b, tn_Span *span) {
  if (!a || !b) return NULL;
  TN_TRYP(need_int(a, "ceildiv", span));
  TN_TRYP(need_int(b, "ceildiv", span));
  tn_expr *up = tir_binary(TN_TI_Sub, tir_binary(TN_TI_Add, a, b, span), tir_one(a->dtype), span);
  return tir_binary(TN_TI_FloorDiv, up, b, span);
}

tn_expr *tir_neg(tn_expr *a, tn_Span *span) {
  if (!a) return NULL;
  const tn_IntImm *i = TN_AS(IntImm, a);
  const tn_FloatImm *f = TN_AS(FloatImm, a);
  if (f) return (tn_expr *)TN_NEW(FloatImm, .dtype = f->dtype, .value = -f->value, .span = span);
  return tir_binary(TN_TI_Sub, i ? tir_int(i->dtype, 0) : tir_zero(a->dtype), a, span);
}

tn_expr *tir_not(tn_expr *a, tn_Span *span) {
  if (!a) return NULL;
  TN_TRYP(need_bool(a, "operand", "! operator (logical NOT)", span));
  const tn_IntImm *i = TN_AS(IntImm, a);
  if (i) return (tn_expr *)TN_NEW(IntImm, .dtype = a->dtype, .value = !i->value, .span = span);
  return (tn_expr *)TN_MAKE(Not, .a = a, .span = span);
}

/* ---- conversions ---- */

/* Can the integer constant be converted now? To integers it wraps around. */
static bool int_folds(tn_dtype t) { return ir_is_integral(t) || ir_is_floating(t); }

static tn_expr *int_of_bits(tn_dtype t, int64_t v) {
  return t.code == kDLUInt && v < 0 ? tir_uint64((uint64_t)v) : tir_int(t, v);
}

static tn_expr *cast_int(tn_dtype t, const tn_IntImm *x) {
  if (ir_is_bool(t)) return tir_bool(x->value != 0);
  if (ir_is_floating(t)) return tir_float(t, ir_float_of_int(x->value, x->dtype, t));
  return int_of_bits(t, ir_wrap_int(x->value, t));
}

/* 8-bit floats stay as they are: what is too large for them is the target's business. */
static bool float_folds(tn_dtype from, tn_dtype t, double v) {
  if (tn_dtype_is_custom(from)) return false; /* its own functions convert it */
  if (tn_dtype_is_custom(t)) return true;
  if (ir_is_floating(t)) return t.bits > 8 || !isfinite(v) || fabs(v) <= ir_float_limit(t);
  return ir_is_integral(t);
}

static tn_expr *cast_float(tn_dtype t, const tn_FloatImm *x) {
  double v = ir_round_float(x->value, x->dtype);
  if (ir_is_bool(t)) return tir_bool(v != 0);
  if (ir_is_floating(t)) return tir_float(t, ir_round_float(v, t));
  return int_of_bits(t, ir_int_of_float(v, t));
}

static tn_expr *cast_scalar(tn_dtype t, tn_expr *e, tn_Span *span) {
  const tn_IntImm *i = TN_AS(IntImm, e);
  const tn_FloatImm *f = TN_AS(FloatImm, e);
  if (i && int_folds(t)) return cast_int(t, i);
  if (f && float_folds(f->dtype, t, f->value)) return cast_float(t, f);
  return (tn_expr *)TN_MAKE(Cast, .dtype = t, .value = e, .span = span);
}

static tn_expr *cast_vector(tn_dtype t, tn_expr *e, tn_Span *span) {
  tn_dtype s = ir_with_lanes(t, 1);
  const tn_Broadcast *b = TN_AS(Broadcast, e);
  const tn_Ramp *r = TN_AS(Ramp, e);
  TN_CHECKP(e->dtype.lanes == t.lanes, TenonError, span,
            "cannot convert %s to %s: the lanes differ", TN_DT(e->dtype), TN_DT(t));
  if (b) return tir_broadcast(tir_cast(s, b->value, span), t.lanes, span);
  if (r && ir_is_integral(t) && t.bits >= e->dtype.bits)
    return (tn_expr *)TN_MAKE(Ramp, .base = tir_cast(s, r->base, span),
                              .stride = tir_cast(s, r->stride, span), .lanes = r->lanes,
                              .span = span);
  return (tn_expr *)TN_MAKE(Cast, .dtype = t, .value = e, .span = span);
}

tn_expr *tir_cast(tn_dtype t, tn_expr *e, tn_Span *span) {
  if (!e || tn_dtype_eq(e->dtype, t)) return e;
  TN_CHECKP(e->dtype.code != kDLOpaqueHandle, TenonError, span,
            "Can't cast a handle to other types (%s to %s)", TN_DT(e->dtype), TN_DT(t));
  if (t.lanes == 1 && e->dtype.lanes == 1) return cast_scalar(t, e, span);
  if (e->dtype.lanes == 1)
    return tir_broadcast(tir_cast(ir_with_lanes(t, 1), e, span), t.lanes, span);
  return cast_vector(t, e, span);
}

tn_expr *tir_broadcast(tn_expr *e, int lanes, tn_Span *span) {
  if (!e || lanes == 1) return e;
  return (tn_expr *)TN_MAKE(Broadcast, .value = e, .lanes = (int16_t)lanes, .span = span);
}

tn_expr *tir_lanes(tn_dtype t, int64_t lanes, int64_t more) {
  if (lanes >= 0) return tir_const_int(t, lanes + more);
  tn_expr *n = tir_call_args(TN_I32, TIR_OP_vscale, tn_arr_of(0), NULL);
  n = tir_cast(t, tir_mul(n, tir_i32((int32_t)-lanes)), NULL);
  return more ? tir_add(n, tir_const_int(t, more)) : n;
}

int tir_lanes_from(const char *what, tn_expr *e, int64_t *out) {
  const tn_Mul *times = TN_AS(Mul, e);
  bool left = times && TN_AS(IntImm, times->a);
  tn_expr *scale = times ? (left ? times->b : times->a) : e;
  int64_t n = 1;
  bool known = !times || tir_as_int((tn_obj *)(left ? times->a : times->b), &n);
  if (tir_as_int((tn_obj *)e, out) && *out >= 0) return 0;
  TN_CHECK(known && n > 0 && tir_as_call((tn_obj *)scale, TIR_OP_vscale), ValueError,
           e ? e->span : NULL,
           "%s: expected a positive constant or vscale() times one as the number of lanes, got %s",
           what, e ? e->hdr.type->key : "None");
  *out = -n;
  return 0;
}

tn_expr *tir_reinterpret(tn_dtype t, tn_expr *e, tn_Span *span) {
  if (!e || tn_dtype_eq(e->dtype, t)) return e;
  int from = e->dtype.bits * tn_dtype_lanes(e->dtype), to = t.bits * tn_dtype_lanes(t);
  TN_CHECKP(from == to || e->dtype.code == kDLOpaqueHandle || t.code == kDLOpaqueHandle, TenonError,
            span, "reinterpret: %s has %d bits and %s has %d", TN_DT(e->dtype), from, TN_DT(t), to);
  return tir_call_args(t, TIR_OP_reinterpret, tn_arr_of(1, e), span);
}

/* ---- choices ---- */

tn_expr *tir_if_then_else(tn_expr *cond, tn_expr *t, tn_expr *f, tn_Span *span) {
  if (!cond || !t || !f) return NULL;
  TN_CHECKP(tn_dtype_eq(cond->dtype, TN_BOOL1), TenonError, span,
            "if_then_else only accept the condition to be boolean type, got %s",
            TN_DT(cond->dtype));
  TN_TRYP(tir_match_types(&t, &f, span));
  const tn_IntImm *c = TN_AS(IntImm, cond);
  if (c) return c->value ? t : f;
  return tir_call_args(t->dtype, TIR_OP_if_then_else, tn_arr_of(3, cond, t, f), span);
}

tn_expr *tir_select(tn_expr *cond, tn_expr *t, tn_expr *f, tn_Span *span) {
  if (!cond || !t || !f) return NULL;
  TN_TRYP(tir_match_types(&t, &f, span));
  const tn_IntImm *c = TN_AS(IntImm, cond);
  if (c) return c->value ? t : f;
  return (tn_expr *)TN_MAKE(Select, .condition = cond, .true_value = t, .false_value = f,
                            .span = span);
}

tn_expr *tir_likely(tn_expr *cond, tn_Span *span) {
  if (!cond || TN_AS(IntImm, cond)) return cond;
  return tir_call_args(cond->dtype, TIR_OP_likely, tn_arr_of(1, cond), span);
}

/* ---- bits ---- */

static const char *op_name(tir_op_id op) { return tn_cstr(tir_op(op)->name) + sizeof "tir." - 1; }

static int match_ints(tir_op_id op, tn_expr **a, tn_expr **b, tn_Span *span) {
  TN_TRY(need_int(*a, op_name(op), span));
  TN_TRY(need_int(*b, op_name(op), span));
  return tir_match_types(a, b, span);
}

static tn_expr *bits_imm(tn_dtype t, uint64_t v) {
  int64_t w = ir_wrap_int((int64_t)v, t);
  return t.code == kDLUInt && w < 0 ? tir_uint64((uint64_t)w) : tir_int(t, w);
}

tn_expr *tir_bitwise(tir_op_id op, tn_expr *a, tn_expr *b, tn_Span *span) {
  if (!a || !b) return NULL;
  TN_TRYP(match_ints(op, &a, &b, span));
  const tn_IntImm *x = TN_AS(IntImm, a), *y = TN_AS(IntImm, b);
  if (x && y) {
    uint64_t u = (uint64_t)x->value, v = (uint64_t)y->value;
    return bits_imm(a->dtype, op == TIR_OP_bitwise_and  ? u & v
                              : op == TIR_OP_bitwise_or ? u | v
                                                        : u ^ v);
  }
  return tir_call_args(a->dtype, op, tn_arr_of(2, a, b), span);
}

tn_expr *tir_bitwise_not(tn_expr *a, tn_Span *span) {
  if (!a) return NULL;
  TN_TRYP(need_int(a, "bitwise_not", span));
  const tn_IntImm *x = TN_AS(IntImm, a);
  if (x) return bits_imm(a->dtype, ~(uint64_t)x->value);
  return tir_call_args(a->dtype, TIR_OP_bitwise_not, tn_arr_of(1, a), span);
}

int tir_check_shift(const tn_expr *a, const tn_expr *b, const tn_Span *span) {
  const tn_IntImm *n = TN_AS(IntImm, b);
  TN_CHECK(!a || !n || (n->value >= 0 && n->value < a->dtype.bits), TenonError, span,
           "Shift amount must be non-negative and less than %d for type %s", a->dtype.bits,
           TN_DT(a->dtype));
  return 0;
}

tn_expr *tir_shift(tir_op_id op, tn_expr *a, tn_expr *b, tn_Span *span) {
  if (!a || !b) return NULL;
  TN_TRYP(match_ints(op, &a, &b, span));
  const tn_IntImm *x = TN_AS(IntImm, a), *y = TN_AS(IntImm, b);
  tn_dtype t = a->dtype;
  if (y && (y->value < 0 || y->value >= t.bits)) { /* nothing is left but the sign */
    if (op == TIR_OP_shift_left || !ir_is_int(t)) return tir_zero(t);
    return tir_shift(op, a, tir_const_int(t, t.bits - 1), span);
  }
  if (y && y->value == 0) return a;
  if (x && y && op == TIR_OP_shift_left) return bits_imm(a->dtype, (uint64_t)x->value << y->value);
  if (x && y) return tir_int(a->dtype, x->value >> y->value); /* the value fits; >> is arithmetic */
  return tir_call_args(a->dtype, op, tn_arr_of(2, a, b), span);
}
