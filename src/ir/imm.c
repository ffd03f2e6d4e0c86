/* Constants and their ranges. */
#include "ir/imm.h"

#include "ir/tir_ops.h"
#include "object/functions.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#define MAX_FLOAT16     65504.0
#define MAX_BFLOAT16    0x1.fep127
#define MAX_FLOAT8_E4M3 448.0
#define MAX_FLOAT8_E5M2 57344.0

/* Largest finite number of a floating point type; 0 for other types. */
double ir_float_limit(tn_dtype t) {
  if (t.code == kDLBfloat) return t.bits == 16 ? MAX_BFLOAT16 : 0;
  if (t.code == kDLFloat8_e4m3fn) return MAX_FLOAT8_E4M3;
  if (t.code == kDLFloat8_e5m2) return MAX_FLOAT8_E5M2;
  if (t.code != kDLFloat) return 0;
  switch (t.bits) {
  case 16: return MAX_FLOAT16;
  case 32: return FLT_MAX;
  case 64: return DBL_MAX;
  default: return 0;
  }
}

bool ir_is_floating(tn_dtype t) {
  return t.code == kDLFloat || t.code == kDLBfloat || t.code == kDLFloat8_e4m3fn ||
         t.code == kDLFloat8_e5m2 || tn_dtype_is_custom(t);
}

int64_t ir_wrap_int(int64_t x, tn_dtype t) {
  if (t.bits >= 64) return x;
  uint64_t mask = (UINT64_C(1) << t.bits) - 1, u = (uint64_t)x & mask;
  uint64_t sign = UINT64_C(1) << (t.bits - 1);
  return t.code == kDLInt ? (int64_t)((u ^ sign) - sign) : (int64_t)u;
}

/* To `digits` binary digits, with 2**least the smallest step, ties to even. All steps are exact. */
static double round_to(double x, int digits, int least, double limit) {
  int e;
  if (!isfinite(x) || x == 0) return x;
  frexp(x, &e); /* |x| < 2**e */
  int step = e - digits > least ? e - digits : least;
  x = ldexp(nearbyint(ldexp(x, -step)), step);
  return fabs(x) > limit ? copysign((double)INFINITY, x) : x;
}

double ir_round_float(double x, tn_dtype t) {
  if (t.code == kDLBfloat && t.bits == 16) return round_to((double)(float)x, 8, -133, MAX_BFLOAT16);
  if (t.code != kDLFloat || t.bits > 32) return x;
  return t.bits == 16 ? round_to(x, 11, -24, MAX_FLOAT16) : (double)(float)x;
}

double ir_float_of_int(int64_t x, tn_dtype from, tn_dtype t) {
  bool large = from.code == kDLUInt && x < 0;
  if ((t.code == kDLFloat && t.bits == 32) || t.code == kDLBfloat) /* rounded once */
    return ir_round_float((double)(large ? (float)(uint64_t)x : (float)x), t);
  return ir_round_float(large ? (double)(uint64_t)x : (double)x, t);
}

double ir_floor_mod(double a, double b) {
  double rest = fmod(a, b);
  if (rest == 0) return copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

static int64_t to_int64(double x) { return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN; }

int64_t ir_int_of_float(double x, tn_dtype t) {
  bool large = t.code == kDLUInt && t.bits > 16;
  if (ir_is_bool(t)) return x != 0;
  if (large && t.bits == 64 && x >= 0x1p63)
    return (int64_t)((uint64_t)to_int64(x - 0x1p63) ^ UINT64_C(1) << 63);
  if (large || t.bits > 32) return ir_wrap_int(to_int64(x), t);
  return ir_wrap_int(x > -0x1p31 - 1 && x < 0x1p31 ? (int64_t)x : INT32_MIN, t);
}

int64_t ir_int_power(int64_t x, int64_t n, tn_dtype t) {
  bool odd = n & 1;
  uint64_t r = 1, base = (uint64_t)x;
  if (n < 0 && t.code == kDLInt) return x == 1 ? 1 : x == -1 ? (odd ? -1 : 1) : 0;
  for (uint64_t left = (uint64_t)n; left; left >>= 1, base *= base)
    if (left & 1) r *= base;
  return ir_wrap_int((int64_t)r, t);
}

static int out_of_range(const char *value, const char *side, tn_dtype t, const void *span) {
  return TN_RAISE(TenonError, span, "Literal value %s exceeds %s of %s", value, side, TN_DT(t));
}

static int check_int(const tn_IntImm *x) {
  tn_dtype t = x->dtype;
  TN_CHECK(t.lanes == 1, TenonError, x->span, "IntImm can only take scalar, but %s was supplied",
           TN_DT(t));
  TN_CHECK(ir_is_integral(t) && t.bits >= 1 && t.bits <= 64, TenonError, x->span,
           "IntImm supports only int or uint type, but %s was supplied", TN_DT(t));
  bool negative = t.code == kDLUInt && x->value < 0;
  bool bit = t.bits == 1 && t.code == kDLInt && (x->value == 0 || x->value == 1);
  if (!negative && (bit || ir_wrap_int(x->value, t) == x->value)) return 0;
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)x->value);
  if (negative)
    return TN_RAISE(TenonError, x->span,
                    "Literal value %s is negative for unsigned integer type %s", text, TN_DT(t));
  return out_of_range(text, x->value < 0 ? "minimum" : "maximum", t, x->span);
}

static int check_float(const tn_FloatImm *x) {
  tn_dtype t = x->dtype;
  TN_CHECK(t.lanes == 1, TenonError, x->span, "FloatImm can only take scalar, but %s was supplied",
           TN_DT(t));
  double limit = ir_float_limit(t);
  if (tn_dtype_is_custom(t)) return 0; /* what it can hold is known where it is lowered */
  TN_CHECK(limit > 0, TenonError, x->span,
           "FloatImm supports only floating point types, but %s was supplied", TN_DT(t));
  if (t.code == kDLBfloat) limit = 0x1.fefffffffffffp127; /* what rounds to the largest */
  if (!isfinite(x->value) || fabs(x->value) <= limit) return 0;
  char text[40];
  snprintf(text, sizeof text, "%.10g", x->value);
  return out_of_range(text, x->value < 0 ? "minimum" : "maximum", t, x->span);
}

static int init_int(tn_obj *self) { return check_int((const tn_IntImm *)self); }
static int init_float(tn_obj *self) { return check_float((const tn_FloatImm *)self); }

static bool int_scalar(const tn_obj *self, tn_any *out) {
  const tn_IntImm *x = (const tn_IntImm *)self;
  *out = ir_is_bool(x->dtype) ? tn_any_bool(x->value != 0) : tn_any_int(x->value);
  return true;
}

static bool float_scalar(const tn_obj *self, tn_any *out) {
  *out = tn_any_float(((const tn_FloatImm *)self)->value);
  return true;
}

const tn_type_hooks ir_int_hooks = {.scalar = int_scalar, .init = init_int};
const tn_type_hooks ir_float_hooks = {.scalar = float_scalar, .init = init_float};

tn_expr *tir_int(tn_dtype t, int64_t value) {
  return (tn_expr *)TN_MAKE(IntImm, .dtype = t, .value = value);
}

tn_expr *tir_float(tn_dtype t, double value) {
  return (tn_expr *)TN_MAKE(FloatImm, .dtype = t, .value = value);
}

tn_expr *tir_uint64(uint64_t value) {
  tn_dtype t = tn_dtype_of(kDLUInt, 64, 1), half = tn_dtype_of(kDLUInt, 32, 1);
  if (value <= INT64_MAX) return tir_int(t, (int64_t)value);
  tn_arr *parts = tn_arr_of(2, tir_int(half, (int64_t)(value & UINT32_MAX)),
                            tir_int(half, (int64_t)(value >> 32)));
  return (tn_expr *)TN_MAKE(Call, .dtype = t, .args = parts,
                            .op = (tn_BaseExpr *)tir_op(TIR_OP_large_uint_imm));
}

tn_expr *tir_str(const char *text) {
  return (tn_expr *)TN_MAKE(StringImm, .value = tn_str_from(text));
}

static tn_expr *spread(tn_dtype t, tn_expr *scalar) {
  if (t.lanes == 1) return scalar;
  return (tn_expr *)TN_MAKE(Broadcast, .value = scalar, .lanes = tn_dtype_lanes(t));
}

static tn_expr *cannot(const char *what, tn_dtype t) {
  return TN_RAISEP(TenonError, NULL, "cannot make %s of type %s", what, TN_DT(t));
}

tn_expr *tir_const_int(tn_dtype t, int64_t value) {
  tn_dtype s = ir_with_lanes(t, 1);
  if (ir_is_integral(t)) return spread(t, tir_int(s, value));
  if (ir_is_floating(t)) return spread(t, tir_float(s, (double)value));
  return cannot("a constant", t);
}

tn_expr *tir_const_float(tn_dtype t, double value) {
  tn_dtype s = ir_with_lanes(t, 1);
  if (ir_is_floating(t)) return spread(t, tir_float(s, value));
  TN_CHECKP(ir_is_integral(t), TenonError, NULL, "cannot make a constant of type %s", TN_DT(t));
  if (!(value >= -0x1p63 && value < 0x1p63)) { /* also NaN */
    char text[40];
    snprintf(text, sizeof text, "%.10g", value);
    out_of_range(text, value < 0 ? "minimum" : "maximum", t, NULL);
    return NULL;
  }
  return spread(t, tir_int(s, (int64_t)value));
}

tn_expr *tir_max_value(tn_dtype t) {
  TN_CHECKP(t.lanes == 1, TenonError, NULL, "max_value: expected a scalar type, got %s", TN_DT(t));
  if (ir_is_uint(t) && t.bits == 64) return tir_uint64(UINT64_MAX);
  if (ir_is_uint(t)) return tir_int(t, (int64_t)((UINT64_C(1) << t.bits) - 1));
  if (ir_is_int(t)) return tir_int(t, (int64_t)((UINT64_C(1) << (t.bits - 1)) - 1));
  if (ir_float_limit(t) > 0) return tir_float(t, ir_float_limit(t));
  return TN_RAISEP(TenonError, NULL, "Cannot decide max_value for type %s", TN_DT(t));
}

/* The smallest number of a registered type, as its program says (tvm.datatype.min.NAME). */
static tn_expr *custom_min(tn_dtype t) {
  const char *name = tn_dtype_custom_name(t.code);
  tn_str *full = tn_str_fmt("tvm.datatype.min.%s", name ? name : "?");
  if (!full) return NULL;
  tn_func *f = tn_scope_own(tn_func_find(tn_cstr(full)));
  TN_CHECKP(f, TenonError, NULL, "min_value of %s: register_min_func says what it is", TN_DT(t));
  tn_any bits = tn_any_int(t.bits), out = tn_any_none();
  TN_TRYP(tn_func_call(f, &bits, 1, &out));
  if (tn_any_is_obj(&out) && TN_IS(PrimExpr, tn_scope_own(out.v.obj))) return (tn_expr *)out.v.obj;
  return TN_RAISEP(TypeError, NULL, "min_value of %s: the registered function gives no expression",
                   TN_DT(t));
}

tn_expr *tir_min_value(tn_dtype t) {
  TN_CHECKP(t.lanes == 1, TenonError, NULL, "min_value: expected a scalar type, got %s", TN_DT(t));
  if (ir_is_uint(t)) return tir_int(t, 0);
  if (ir_is_int(t)) return tir_int(t, ir_wrap_int((int64_t)(UINT64_C(1) << (t.bits - 1)), t));
  if (ir_float_limit(t) > 0) return tir_float(t, -ir_float_limit(t));
  if (tn_dtype_is_custom(t)) return custom_min(t);
  return TN_RAISEP(TenonError, NULL, "Cannot decide min_value for type %s", TN_DT(t));
}

tn_expr *tir_infinity(tn_dtype t) {
  if (t.lanes == 1 && ir_float_limit(t) > 0) return tir_float(t, (double)INFINITY);
  return TN_RAISEP(TenonError, NULL, "Cannot decide infinity for type %s", TN_DT(t));
}

bool tir_as_int(const tn_obj *e, int64_t *value) {
  const tn_Broadcast *b = TN_AS(Broadcast, e);
  const tn_IntImm *x = b ? TN_AS(IntImm, b->value) : TN_AS(IntImm, e);
  if (x) *value = x->value;
  return x != NULL;
}

bool tir_is_const(const tn_obj *e, int64_t value) {
  int64_t v;
  if (tir_as_int(e, &v)) return v == value;
  const tn_Broadcast *b = TN_AS(Broadcast, e);
  const tn_FloatImm *f = b ? TN_AS(FloatImm, b->value) : TN_AS(FloatImm, e);
  return f && f->value == (double)value;
}

/* ---- plain numbers as constants ---- */

static tn_expr *from_int(int64_t v) {
  return tir_int(v >= INT32_MIN && v <= INT32_MAX ? TN_I32 : TN_I64, v);
}
static tn_expr *from_float(double v) {
  return tir_float(!isfinite(v) || fabs(v) <= (double)FLT_MAX ? TN_F32 : TN_F64, v);
}

static tn_expr *from_plain(const tn_any *a) {
  switch (a->type_index) {
  case TN_INT: return from_int(a->v.i64);
  case TN_BOOL: return tir_bool(a->v.i64 != 0);
  case TN_FLOAT: return from_float(a->v.f64);
  case TN_CSTR: return tir_str(a->v.cstr);
  default:
    return TN_RAISEP(TypeError, NULL, "expected PrimExpr, got %s",
                     tn_type_key((uint32_t)a->type_index));
  }
}

static int box(tn_any *value, const char *cls) {
  (void)cls;
  TN_SCOPE(s);
  int plain =
      value->type_index == TN_INT || value->type_index == TN_BOOL || value->type_index == TN_FLOAT;
  tn_expr *e = plain ? from_plain(value)
                     : TN_RAISEP(TypeError, NULL, "expected an object, got %s",
                                 tn_type_key((uint32_t)value->type_index));
  tn_retain(e);
  *value = tn_any_obj(e);
  return e ? 0 : -1;
}

static tn_expr *(*converters[TN_TI_BEGIN_DYNAMIC])(tn_obj *);

void ir_set_expr_from(uint32_t type_index, tn_expr *(*convert)(tn_obj *)) {
  if (type_index < TN_TI_BEGIN_DYNAMIC) converters[type_index] = convert;
}

tn_expr *ir_expr_from(const tn_any *value) {
  tn_any a = *value;
  if (a.type_index == TN_RVALUE) a = tn_any_obj(*a.v.rvalue);
  if (a.type_index == TN_NONE) return NULL;
  if (!tn_any_is_obj(&a)) return from_plain(&a);
  tn_obj *o = a.v.obj;
  if (TN_IS(PrimExpr, o)) return (tn_expr *)o;
  if (o->type_index == TN_TI_String) return (tn_expr *)TN_MAKE(StringImm, .value = (tn_str *)o);
  if (o->type_index < TN_TI_BEGIN_DYNAMIC && converters[o->type_index])
    return converters[o->type_index](o);
  if (o->type->hooks->scalar && o->type->hooks->scalar(o, &a)) return from_plain(&a);
  return TN_RAISEP(TypeError, NULL, "expected PrimExpr, got %s", o->type->key);
}

static tn_expr *iter_var_expr(tn_obj *o) { return (tn_expr *)((tn_IterVar *)o)->var; }

void ir_imm_init(void) {
  tn_set_scalar_box(box);
  ir_set_expr_from(TN_TI_IterVar, iter_var_expr);
}
