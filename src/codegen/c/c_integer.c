/* Integers where C has no answer (docs/semantics.md): sums that overflow, division by 0, shifts by
   all bits or more, powers, floats that are near to no integer. What is known of an operand keeps
   the text short: places do not overflow, constants need no guards. */
#include "ir/imm.h"
#include "codegen/c/gen.h"
#include "tir/analysis.h"

const char c_power_text[] = "  for (; n; n >>= 1, x *= x)\n"
                            "    if (n & 1) r *= x;\n"
                            "  return r;\n"
                            "}\n";

static tn_dtype unsigned_of(tn_dtype t) {
  return tn_dtype_of(kDLUInt, t.bits < 32 ? 32 : t.bits, 1);
}

/* ---- sums and products ---- */

/* Bits that hold every value of an expression, with its sign. */
static int bits_needed(const tn_expr *e, int depth) {
  const tn_Cast *cast = TN_AS(Cast, e);
  const tn_BinaryOp *op = TN_AS_BINARY(e);
  uint32_t kind = e->hdr.type_index;
  int64_t v;
  int own = e->dtype.bits + ir_is_uint(e->dtype);
  if (tir_as_int((const tn_obj *)e, &v))
    return 65 - __builtin_clzll((uint64_t)(v < 0 ? ~v : v) | 1);
  if (depth > 4) return own;
  if (cast && ir_is_integral(cast->value->dtype)) {
    int inner = bits_needed(cast->value, depth + 1);
    return inner < own ? inner : own;
  }
  if (!op || (kind != TN_TI_Add && kind != TN_TI_Sub && kind != TN_TI_Mul)) return own;
  int a = bits_needed(op->a, depth + 1), b = bits_needed(op->b, depth + 1);
  int sum = kind == TN_TI_Mul ? a + b : (a > b ? a : b) + 1;
  return sum < own ? sum : own;
}

bool c_may_overflow(const c_gen *g, const tn_BinaryOp *e) {
  tn_dtype t = e->a->dtype;
  if (!ir_is_integral(t)) return false;
  if (ir_is_uint(t)) return t.bits == 16 && e->hdr.type_index == TN_TI_Mul; /* which is an int's */
  if (t.bits < 32) return false;
  int a = bits_needed(e->a, 0), b = bits_needed(e->b, 0);
  int sum = e->hdr.type_index == TN_TI_Mul ? a + b : (a > b ? a : b) + 1;
  return sum > t.bits && !tir_is_place(&g->data, (const tn_expr *)e);
}

tn_str *c_wrapping(c_gen *g, tn_dtype t, const char *op, const tn_str *a, const tn_str *b) {
  const char *wide, *own;
  if (!a || !b) return NULL;
  TN_GETP(wide, c_type(g, unsigned_of(t)));
  TN_GETP(own, c_type(g, ir_with_lanes(t, 1)));
  return tn_str_fmt("((%s)((%s)%s %s (%s)%s))", own, wide, tn_cstr(a), op, wide, tn_cstr(b));
}

/* ---- division ---- */

static bool divides(const tn_expr *b) {
  int64_t v;
  return tir_as_int((const tn_obj *)b, &v) && v != 0 && (v != -1 || ir_is_uint(b->dtype));
}

/* Rounded toward zero: quotient or remainder. */
static tn_str *toward_zero(c_gen *g, tn_dtype t, bool mod, bool known, const char *a,
                           const char *b) {
  tn_str *minus, *r;
  const char *op = mod ? "%" : "/";
  if (known) return c_in_type(g, t, tn_str_fmt("(%s %s %s)", a, op, b));
  if (ir_is_uint(t)) return c_in_type(g, t, tn_str_fmt("(%s == 0 ? 0 : %s %s %s)", b, a, op, b));
  if (mod) return c_in_type(g, t, tn_str_fmt("(%s == 0 || %s == -1 ? 0 : %s %% %s)", b, b, a, b));
  TN_GETP(minus, c_wrapping(g, t, "-", tn_str_from("0"), tn_str_from(a)));
  TN_GETP(r, tn_str_fmt("(%s == 0 ? 0 : %s == -1 ? %s : %s / %s)", b, b, tn_cstr(minus), a, b));
  return c_in_type(g, t, r);
}

tn_str *c_divide(c_gen *g, const tn_BinaryOp *e, int lane) {
  tn_str *x, *y, *r;
  uint32_t op = e->hdr.type_index;
  tn_dtype t = ir_with_lanes(e->a->dtype, 1);
  bool known = divides(e->b), mod = op == TN_TI_Mod || op == TN_TI_FloorMod;
  bool floored = op == TN_TI_FloorDiv || op == TN_TI_FloorMod;
  TN_GETP(x, c_temp(g, e->a, lane));
  TN_GETP(y, c_temp(g, e->b, lane));
  const char *a = tn_cstr(x), *b = tn_cstr(y);
  if (!floored || ir_is_uint(t)) return toward_zero(g, t, mod, known, a, b);
  TN_GETP(r, c_new_temp(g, t, toward_zero(g, t, true, known, a, b)));
  const char *rest = tn_cstr(r);
  if (op == TN_TI_FloorMod)
    return c_in_type(g, t,
                     tn_str_fmt("(%s != 0 && (%s < 0) != (%s < 0) ? %s + %s : %s)", rest, rest, b,
                                rest, b, rest));
  TN_GETP(x, toward_zero(g, t, false, known, a, b));
  return c_in_type(
      g, t, tn_str_fmt("(%s - (%s != 0 && (%s < 0) != (%s < 0)))", tn_cstr(x), rest, rest, b));
}

/* ---- shifts ---- */

/* In C a negative number must not be shifted to the left, and none out of its type. */
tn_str *c_shift(c_gen *g, const tn_Call *call, bool left, int lane) {
  tn_str *a, *b, *r;
  const char *wide, *type;
  int64_t n;
  tn_dtype t = ir_with_lanes(call->dtype, 1);
  const tn_expr *by = (const tn_expr *)tn_arr_obj(call->args, 1);
  bool known = tir_as_int((const tn_obj *)by, &n) && n >= 0 && n < t.bits;
  TN_GETP(a, c_expr(g, tn_arr_obj(call->args, 0), lane));
  TN_GETP(b, known ? c_expr(g, by, lane) : c_temp(g, by, lane));
  TN_GETP(wide, c_type(g, unsigned_of(t)));
  TN_GETP(type, c_type(g, t));
  const char *x = tn_cstr(a), *y = tn_cstr(b);
  if (!left && ir_is_int(t)) {
    if (known) return tn_str_fmt("((%s)(%s >> %s))", type, x, y);
    return tn_str_fmt("((%s)(%s >> ((%s)%s < %d ? %s : %d)))", type, x, wide, y, t.bits, y,
                      t.bits - 1);
  }
  TN_GETP(r, left && (ir_is_int(t) || t.bits < 32)
                 ? tn_str_fmt("((%s)((%s)%s << %s))", type, wide, x, y)
                 : tn_str_fmt("((%s)(%s %s %s))", type, x, left ? "<<" : ">>", y));
  if (known) return r;
  return tn_str_fmt("((%s)%s < %d ? %s : 0)", wide, y, t.bits, tn_cstr(r));
}

/* ---- powers ---- */

tn_str *c_int_power(c_gen *g, const tn_Call *call, int lane) {
  tn_str *a, *b, *r;
  const char *type, *wide;
  tn_dtype t = ir_with_lanes(call->dtype, 1);
  TN_GETP(a, c_temp(g, (const tn_expr *)tn_arr_obj(call->args, 0), lane));
  TN_GETP(b, c_temp(g, (const tn_expr *)tn_arr_obj(call->args, 1), lane));
  TN_GETP(type, c_type(g, t));
  TN_GETP(wide, c_type(g, tn_dtype_of(kDLUInt, 64, 1)));
  const char *x = tn_cstr(a), *n = tn_cstr(b);
  g->needs |= C_NEEDS_POWER;
  TN_GETP(r, tn_str_fmt("((%s)power_((%s)%s, (%s)%s))", type, wide, x, wide, n));
  if (ir_is_uint(t)) return r;
  return c_in_type(g, t,
                   tn_str_fmt("(%s >= 0 ? %s : %s == 1 ? 1 : %s == -1 ? 1 - 2 * (%s & 1) : 0)", n,
                              tn_cstr(r), x, x, n));
}

/* ---- floats as integers ---- */

tn_str *c_to_integer(c_gen *g, tn_dtype from, tn_dtype to, tn_str *value) {
  tn_str *v, *r;
  const char *type, *middle, *f = from.bits == 64 ? "" : "f";
  bool large = to.bits > (ir_is_uint(to) ? 16 : 32);
  TN_GETP(v, c_new_temp(g, ir_with_lanes(from, 1), value));
  TN_GETP(type, c_type(g, ir_with_lanes(to, 1)));
  TN_GETP(middle, c_type(g, tn_dtype_of(kDLInt, large ? 64 : 32, 1)));
  const char *x = tn_cstr(v), *least = large ? "INT64_MIN" : "INT32_MIN",
             *limit = large ? "9223372036854775808.0" : "2147483648.0";
  TN_GETP(r, tn_str_fmt("(%s > -%s%s && %s < %s%s ? (%s)%s : %s)", x, limit, f, x, limit, f, middle,
                        x, least));
  if (ir_is_uint(to) && to.bits == 64)
    return tn_str_fmt("(%s >= %s%s ? (%s < 18446744073709551616.0%s ? (%s)%s : 0) : (%s)%s)", x,
                      limit, f, x, f, type, x, type, tn_cstr(r));
  return tn_str_fmt("((%s)%s)", type, tn_cstr(r));
}
