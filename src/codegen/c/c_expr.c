/* Expressions as C. */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "ir/functor.h"
#include "codegen/c/gen.h"

const char *c_type(c_gen *g, tn_dtype t) {
  const char *type = g->d->type(t);
  if (type) return type;
  return TN_RAISEP(CodegenError, NULL, "%s: %s: %s has no type for %s", g->d->name, g->name,
                   g->d->language, TN_DT(t));
}

const char *c_memory_type(c_gen *g, tn_dtype t) {
  const char *type = g->d->stored(t);
  return type ? type : c_type(g, t);
}

tn_str *c_var_type(c_gen *g, const tn_Var *v) {
  const char *type;
  const tn_PointerType *p = TN_AS(PointerType, v->type_annotation);
  const tn_PrimType *to = p ? TN_AS(PrimType, p->element_type) : NULL;
  if (v->dtype.code == kDLOpaqueHandle && to && to->dtype.lanes == 1) {
    TN_GETP(type, c_memory_type(g, to->dtype));
    TN_TRYP(tn_pmap_put(&g->stored, v, type)); /* elements of this type need no cast */
    return tn_str_fmt("%s%s*", g->d->space ? g->d->space(c_scope_of(v)) : "", type);
  }
  TN_GETP(type, c_type(g, v->dtype));
  return tn_str_from(type);
}

/* ---- names ---- */

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

tn_str *c_name(c_gen *g, const tn_Var *v) {
  TN_BUF(b);
  const char *hint = tn_cstr(v->name);
  tn_any count;
  if (!is_word(*hint) || (*hint >= '0' && *hint <= '9')) tn_buf_putc(&b, 'v');
  for (; *hint; ++hint) tn_buf_putc(&b, is_word(*hint) ? *hint : '_');
  const char *base;
  TN_GETP(base, tn_buf_cstr(&b));
  tn_str *name;
  TN_GETP(name, tn_str_from(base));
  for (int64_t i = 1;
       c_is_taken_for(g, name->data) || tn_map_get(g->used, tn_any_obj(name), &count); ++i)
    TN_GETP(name, tn_str_fmt("%s_%lld", base, (long long)i));
  TN_TRYP(tn_map_set(g->used, tn_any_obj(name), tn_any_int(1)));
  TN_TRYP(tn_pmap_put(&g->names, v, name));
  return name;
}

tn_str *c_var(c_gen *g, const tn_Var *v, int lane) {
  tn_str *name = tn_pmap_get(&g->whole, v);
  if (name) return tn_str_fmt("%s[%d]", tn_cstr(name), lane);
  name = tn_pmap_get(&g->names, v);
  TN_CHECKP(name, CodegenError, v->span, "%s: %s: variable %s is used where it is not defined",
            g->d->name, g->name, tn_cstr(v->name));
  return v->dtype.lanes > 1 ? tn_str_fmt("%s_%d", tn_cstr(name), lane) : name;
}

tn_str *c_string(const char *text) {
  TN_BUF(b);
  tn_buf_quote(&b, text, strlen(text));
  return tn_scope_own(tn_buf_str(&b));
}

/* ---- constants ---- */

static tn_str *int_imm(c_gen *g, const tn_IntImm *e) {
  const char *type;
  long long v = (long long)e->value;
  if (ir_is_bool(e->dtype)) return tn_str_from(v ? "true" : "false");
  if (e->dtype.code == kDLOpaqueHandle) return tn_str_from("NULL");
  if (e->value == INT64_MIN) return tn_str_from("INT64_MIN");
  if (e->dtype.bits == 32 && e->value == INT32_MIN) return tn_str_from("INT32_MIN");
  if (e->dtype.bits == 32) return tn_str_fmt(ir_is_int(e->dtype) ? "%lld" : "%lldU", v);
  TN_GETP(type, c_type(g, e->dtype));
  return tn_str_fmt("((%s)%lld%s)", type, v, e->dtype.bits == 64 ? g->d->long_suffix : "");
}

static tn_str *float_imm(c_gen *g, const tn_FloatImm *e) {
  char text[TN_DOUBLE_TEXT];
  const char *type, *suffix = e->dtype.bits <= 32 ? "f" : "";
  TN_GETP(type, c_type(g, e->dtype));
  if (g->alone && !isfinite(e->value)) /* needs no math.h */
    return tn_str_fmt("(%s%s / 0.0%s)",
                      isnan(e->value) ? "0.0"
                      : e->value < 0  ? "-1.0"
                                      : "1.0",
                      suffix, suffix);
  if (isnan(e->value)) return tn_str_fmt("((%s)NAN)", type);
  if (isinf(e->value)) return tn_str_fmt("((%s)%sINFINITY)", type, e->value < 0 ? "-" : "");
  tn_double_text(e->value, text);
  return tn_str_fmt("%s%s%s", text, strpbrk(text, ".e") ? "" : ".0", suffix);
}

/* ---- arithmetic ---- */

/* Declares a temporary of a value. */
tn_str *c_new_temp(c_gen *g, tn_dtype t, const tn_str *value) {
  const char *type;
  if (!value) return NULL;
  TN_GETP(type, c_type(g, c_is_narrow(g, t) ? TN_I32 : t));
  int i = ++g->temps;
  c_line(g);
  tn_buf_printf(g->out, "%s t%d_ = %s;\n", type, i, tn_cstr(value));
  return tn_str_fmt("t%d_", i);
}

tn_str *c_temp(c_gen *g, const tn_expr *e, int lane) {
  uint32_t i = e->hdr.type_index;
  tn_str *s = c_expr(g, e, lane);
  if (!s || i == TN_TI_Var || i == TN_TI_SizeVar || i == TN_TI_IntImm || i == TN_TI_FloatImm)
    return s;
  return c_new_temp(g, e->dtype, s);
}

tn_str *c_lane_temp(c_gen *g, const tn_expr *e, int lane) {
  return c_new_temp(g, e->dtype, c_expr(g, e, lane));
}

static const char *const operators[] = {
    [TN_TI_Add] = "+", [TN_TI_Sub] = "-", [TN_TI_Mul] = "*",  [TN_TI_Div] = "/",
    [TN_TI_EQ] = "==", [TN_TI_NE] = "!=", [TN_TI_LT] = "<",   [TN_TI_LE] = "<=",
    [TN_TI_GT] = ">",  [TN_TI_GE] = ">=", [TN_TI_And] = "&&", [TN_TI_Or] = "||",
};

static bool is_number(const tn_expr *e) {
  const tn_FloatImm *f = TN_AS(FloatImm, e);
  return f && !isnan(f->value);
}

/* Of floats: b where it is better or NaN, else a. */
static tn_str *extreme(c_gen *g, const tn_BinaryOp *e, bool max, int lane) {
  tn_str *x, *y;
  const char *better = max ? ">" : "<";
  TN_GETP(x, c_temp(g, e->a, lane));
  TN_GETP(y, c_temp(g, e->b, lane));
  const char *a = tn_cstr(x), *b = tn_cstr(y);
  if (ir_is_integral(e->a->dtype)) return tn_str_fmt("(%s %s %s ? %s : %s)", a, better, b, a, b);
  if (is_number(e->b)) return tn_str_fmt("(%s %s %s ? %s : %s)", b, better, a, b, a);
  if (is_number(e->a)) return tn_str_fmt("(%s %s %s ? %s : %s)", b, max ? "<=" : ">=", a, a, b);
  return tn_str_fmt("(%s %s %s || %s != %s ? %s : %s)", b, better, a, b, b, b, a);
}

/* Division rounded down, remainder with the sign of the divisor. */
static tn_str *divide_floats(c_gen *g, const tn_BinaryOp *e, int lane) {
  tn_str *x, *y, *r;
  uint32_t op = e->hdr.type_index;
  tn_dtype t = e->a->dtype;
  TN_GETP(x, c_temp(g, e->a, lane));
  TN_GETP(y, c_temp(g, e->b, lane));
  const char *a = tn_cstr(x), *b = tn_cstr(y), *f = t.bits <= 32 ? g->d->float_suffix : "";
  g->needs |= C_NEEDS_MATH;
  if (op == TN_TI_Mod) return tn_str_fmt("fmod%s(%s, %s)", f, a, b);
  if (op == TN_TI_FloorDiv) return tn_str_fmt("floor%s(%s / %s)", f, a, b);
  TN_GETP(r, c_new_temp(g, t, tn_str_fmt("fmod%s(%s, %s)", f, a, b)));
  const char *rest = tn_cstr(r);
  return c_in_type(
      g, t,
      tn_str_fmt("(%s == 0 ? copysign%s(%s, %s) : (%s < 0) != (%s < 0) ? %s + %s : %s)", rest, f,
                 rest, b, rest, b, rest, b, rest));
}

static int may_fail(void *ctx, tn_obj *o) {
  (void)ctx;
  bool divides = TN_IS(Div, o) || TN_IS(Mod, o) || TN_IS(FloorDiv, o) || TN_IS(FloorMod, o);
  return TN_IS(BufferLoad, o) || TN_IS(Call, o) || TN_IS(Select, o) || TN_IS(Let, o) || divides ? 2
                                                                                                : 0;
}

/* Comparisons of what is at hand. */
static bool is_test(const tn_expr *e) {
  return ir_is_bool(e->dtype) && e->dtype.lanes == 1 && tn_pre_order(e, may_fail, NULL) == 0 &&
         !TN_IS(Var, e) && !TN_IS(Or, e);
}

/* The second operand is evaluated where the first leaves the result open. If it needs statements,
   they become conditional. */
static tn_str *logic(c_gen *g, const tn_BinaryOp *e, int lane) {
  TN_BUF(needed);
  tn_str *a, *b;
  const char *text, *sign = e->hdr.type_index == TN_TI_Or ? "!" : "";
  TN_GETP(a, c_expr(g, e->a, lane));
  tn_buf *out = g->out;
  g->out = &needed;
  ++g->conditional;
  b = c_expr(g, e->b, lane);
  --g->conditional;
  g->out = out;
  if (!b) return NULL;
  const char *op = operators[e->hdr.type_index];
  /* without a jump: shorter where nothing must be left out */
  if (g->alone && e->hdr.type_index == TN_TI_And && is_test(e->a) && is_test(e->b)) op = "&";
  if (needed.len == 0) return tn_str_fmt("(%s %s %s)", tn_cstr(a), op, tn_cstr(b));
  TN_GETP(text, tn_buf_cstr(&needed));
  int t = ++g->temps;
  c_line(g);
  tn_buf_printf(g->out, "bool t%d_ = %s;\n", t, tn_cstr(a));
  c_line(g);
  tn_buf_printf(g->out, "if (%st%d_) {\n%s", sign, t, text);
  c_line(g);
  tn_buf_printf(g->out, "t%d_ = %s;\n", t, tn_cstr(b));
  c_line(g);
  tn_buf_puts(g->out, "}\n");
  return tn_str_fmt("t%d_", t);
}

static tn_str *binary(c_gen *g, const tn_BinaryOp *e, int lane) {
  tn_str *a, *b;
  uint32_t op = e->hdr.type_index;
  bool ints = ir_is_integral(e->a->dtype), divides = op >= TN_TI_Div && op <= TN_TI_FloorMod;
  if (op == TN_TI_Min || op == TN_TI_Max) return extreme(g, e, op == TN_TI_Max, lane);
  if (divides && ints) return c_divide(g, e, lane);
  if (divides && op != TN_TI_Div) return divide_floats(g, e, lane);
  if (op == TN_TI_And || op == TN_TI_Or) return logic(g, e, lane);
  TN_GETP(a, c_expr(g, e->a, lane));
  TN_GETP(b, c_expr(g, e->b, lane));
  if (op <= TN_TI_Mul && c_may_overflow(g, e))
    return c_wrapping(g, e->a->dtype, operators[op], a, b);
  return c_in_type(g, e->dtype, tn_str_fmt("(%s %s %s)", tn_cstr(a), operators[op], tn_cstr(b)));
}

static tn_str *cast(c_gen *g, const tn_Cast *e, int lane) {
  tn_str *v;
  const char *type;
  TN_GETP(v, c_cast_value(g, e, lane));
  if (ir_is_bool(e->dtype)) return tn_str_fmt("(%s != 0)", tn_cstr(v));
  if (c_is_small_float(e->dtype)) return c_in_type(g, e->dtype, v);
  if (ir_is_integral(e->dtype) && ir_is_floating(ir_with_lanes(e->value->dtype, 1)))
    return c_to_integer(g, e->value->dtype, e->dtype, v);
  TN_GETP(type, c_type(g, e->dtype));
  return tn_str_fmt("((%s)%s)", type, tn_cstr(v));
}

static tn_str *not_expr(c_gen *g, const tn_Not *e, int lane) {
  tn_str *a;
  TN_GETP(a, c_expr(g, e->a, lane));
  return tn_str_fmt("(!%s)", tn_cstr(a));
}

static tn_str *select_expr(c_gen *g, const tn_Select *e, int lane) {
  tn_str *c, *a, *b;
  TN_GETP(c, c_expr(g, e->condition, lane));
  TN_GETP(a, c_expr(g, e->true_value, lane));
  TN_GETP(b, c_expr(g, e->false_value, lane));
  return tn_str_fmt("(%s ? %s : %s)", tn_cstr(c), tn_cstr(a), tn_cstr(b));
}

/* ---- vectors and memory ---- */

static tn_str *ramp(c_gen *g, const tn_Ramp *e, int lane) {
  tn_str *base, *stride;
  TN_GETP(base, c_expr(g, e->base, 0));
  if (lane == 0) return base;
  TN_GETP(stride, c_expr(g, e->stride, 0));
  if (tir_is_one(e->stride)) return tn_str_fmt("(%s + %d)", tn_cstr(base), lane);
  return tn_str_fmt("(%s + %s * %d)", tn_cstr(base), tn_cstr(stride), lane);
}

static tn_str *broadcast(c_gen *g, const tn_Broadcast *e, int lane) {
  (void)lane;
  return c_expr(g, e->value, 0);
}

static tn_str *shuffle(c_gen *g, const tn_Shuffle *e, int lane) {
  int64_t k;
  TN_CHECKP(tir_as_int(tn_arr_obj(e->indices, lane), &k) && k >= 0, CodegenError, e->span,
            "%s: %s: lanes of a shuffle have to be constants", g->d->name, g->name);
  for (int64_t i = 0; i < e->vectors->len; ++i) {
    const tn_expr *v = (const tn_expr *)tn_arr_obj(e->vectors, i);
    if (k < v->dtype.lanes) return c_expr(g, v, (int)k);
    k -= v->dtype.lanes;
  }
  return TN_RAISEP(CodegenError, e->span, "%s: %s: a shuffle takes a lane that is not there",
                   g->d->name, g->name);
}

static int changes_lanes(void *ctx, tn_obj *node) {
  (void)ctx;
  return TN_IS(Shuffle, node) || tir_as_call(node, TIR_OP_vectorhigh) ||
                 tir_as_call(node, TIR_OP_vectorlow) || tir_as_call(node, TIR_OP_vectorcombine)
             ? 2
             : 0;
}

/* A vector becomes a variable for each lane. Those of other lanes are needed only where lanes
   change places; there all of them are made. */
static tn_str *let_vector(c_gen *g, const tn_Let *e, int lane) {
  int lanes = e->var->dtype.lanes, t = ++g->temps;
  bool all = tn_pre_order(e->body, changes_lanes, NULL) > 0;
  const char *type;
  tn_str *v;
  TN_GETP(type, c_type(g, e->var->dtype));
  for (int i = all ? 0 : lane; i < (all ? lanes : lane + 1); ++i) {
    TN_GETP(v, c_expr(g, e->value, i));
    c_line(g);
    tn_buf_printf(g->out, "%s t%d_%d = %s;\n", type, t, i, tn_cstr(v));
  }
  TN_GETP(v, tn_str_fmt("t%d", t));
  TN_TRYP(tn_pmap_put(&g->names, e->var, v));
  return c_expr(g, e->body, lane);
}

/* All lanes, once in each statement: each branch of a choice has variables of its own. */
static int let_whole(c_gen *g, const tn_Let *e) {
  tn_pmap *names = c_has_vector(g, e->var->dtype) ? &g->whole : &g->names;
  tn_str *name = tn_pmap_get(&g->vectors, e);
  if (name) return tn_pmap_put(names, e->var, name);
  TN_TRY(c_define_vector(g, e->var, e->value));
  return g->conditional ? 0 : tn_pmap_put(&g->vectors, e, tn_pmap_get(names, e->var));
}

static tn_str *let(c_gen *g, const tn_Let *e, int lane) {
  tn_str *v;
  if (e->var->dtype.lanes > 1 && g->vectors_of_gnu) {
    TN_TRYP(let_whole(g, e));
    return c_expr(g, e->body, lane);
  }
  if (e->var->dtype.lanes > 1) return let_vector(g, e, lane);
  TN_GETP(v, c_temp(g, e->value, 0));
  TN_TRYP(tn_pmap_put(&g->names, e->var, v));
  return c_expr(g, e->body, lane);
}

static tn_str *string_imm(c_gen *g, const tn_StringImm *e) {
  (void)g;
  return c_string(tn_cstr(e->value));
}

/* ---- dispatch ---- */

typedef tn_str *(*expr_case)(c_gen *g, const tn_obj *e, int lane);
#define CASE(T, fn) [TN_TI_##T] = (expr_case)(void (*)(void))(fn)

static const expr_case cases[] = {
    CASE(IntImm, int_imm),
    CASE(FloatImm, float_imm),
    CASE(StringImm, string_imm),
    CASE(Var, c_var),
    CASE(SizeVar, c_var),
    CASE(Cast, cast),
    CASE(Add, binary),
    CASE(Sub, binary),
    CASE(Mul, binary),
    CASE(Div, binary),
    CASE(Mod, binary),
    CASE(FloorDiv, binary),
    CASE(FloorMod, binary),
    CASE(Min, binary),
    CASE(Max, binary),
    CASE(EQ, binary),
    CASE(NE, binary),
    CASE(LT, binary),
    CASE(LE, binary),
    CASE(GT, binary),
    CASE(GE, binary),
    CASE(And, binary),
    CASE(Or, binary),
    CASE(Not, not_expr),
    CASE(Select, select_expr),
    CASE(Ramp, ramp),
    CASE(Broadcast, broadcast),
    CASE(Shuffle, shuffle),
    CASE(Let, let),
    CASE(Call, c_call),
    CASE(BufferLoad, c_load),
};

tn_str *c_expr(c_gen *g, const void *e, int lane) {
  uint32_t i = ((const tn_obj *)e)->type_index;
  TN_CHECKP(i < (uint32_t)TN_COUNT(cases) && cases[i], CodegenError, ((const tn_expr *)e)->span,
            "%s: %s: an expression of type %s is left in the program", g->d->name, g->name,
            tn_obj_key(e));
  return cases[i](g, e, lane);
}
