/* Vectors as types of GNU C, where the target names the processor that the source is compiled on
   (c -mcpu=native):

     C[ramp(i, 1, 16)] = A[ramp(i, 1, 16)] * broadcast(b, 16)
   =>
     *(f32x16_*)(C + i) = (*(const f32x16_*)(A + i) * ((float)(b) - (f32x16_){0}));

   What has no operation of such types (calls, reads that are not neighbours) is computed lane by
   lane and put together. */
#include <math.h>
#include <string.h>

#include "codegen/c/gen.h"

/* ---- types ---- */

static char kind_of(tn_dtype t) { return t.code == kDLFloat ? 'f' : ir_is_uint(t) ? 'u' : 's'; }

bool c_has_vector(const c_gen *g, tn_dtype t) {
  bool number = (t.code == kDLFloat && t.bits >= 32) || (ir_is_integral(t) && !ir_is_bool(t));
  bool whole = t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64;
  return g->vectors_of_gnu && number && whole && t.lanes > 1 && (t.lanes & (t.lanes - 1)) == 0;
}

/* Compilers warn of vectors wider than those of the machine as arguments: how they are handed over
   depends on options. All functions with such arguments are static here. */
static const char no_abi_warning[] = "#pragma GCC diagnostic ignored \"-Wpsabi\"\n";

/* The name of a type, which is declared at first. It may lie anywhere and stand for its elements.
 */
const char *c_vector_type(c_gen *g, tn_dtype t) {
  tn_str *name;
  const char *element;
  tn_any seen;
  TN_GETP(element, c_type(g, ir_with_lanes(t, 1)));
  TN_GETP(name, tn_str_fmt("%c%dx%d_", kind_of(t), t.bits, t.lanes));
  if (tn_map_get(g->vector_types, tn_any_obj(name), &seen)) return tn_cstr(name);
  if (g->vector_types->len == 0) tn_buf_puts(&g->types, no_abi_warning);
  TN_TRYP(tn_map_set(g->vector_types, tn_any_obj(name), tn_any_int(1)));
  tn_buf_printf(&g->types,
                "typedef %s %s __attribute__((vector_size(%d), aligned(%d), may_alias));\n",
                element, tn_cstr(name), t.bits / 8 * t.lanes, t.bits / 8);
  return tn_cstr(name);
}

static tn_str *declare(c_gen *g, tn_dtype t, const tn_str *value) {
  const char *type;
  if (!value) return NULL;
  TN_GETP(type, c_vector_type(g, t));
  int i = ++g->temps;
  c_line(g);
  tn_buf_printf(g->out, "%s t%d_ = %s;\n", type, i, tn_cstr(value));
  return tn_str_fmt("t%d_", i);
}

/* ---- expressions ---- */

static tn_str *lanes_of(c_gen *g, const tn_expr *e) {
  TN_BUF(b);
  tn_str *lane;
  const char *type, *element;
  TN_GETP(type, c_vector_type(g, e->dtype));
  TN_GETP(element, c_type(g, ir_with_lanes(e->dtype, 1)));
  tn_buf_printf(&b, "((%s){", type);
  for (int i = 0; i < e->dtype.lanes; ++i) {
    TN_GETP(lane, c_expr(g, e, i));
    tn_buf_printf(&b, "%s(%s)%s", i ? ", " : "", element, tn_cstr(lane));
  }
  tn_buf_puts(&b, "})");
  return tn_scope_own(tn_buf_str(&b));
}

/* x - 0 is x, for zeros as well. */
static tn_str *broadcast(c_gen *g, const tn_Broadcast *e, tn_dtype t) {
  tn_str *v;
  const char *type, *element;
  TN_GETP(type, c_vector_type(g, t));
  TN_GETP(element, c_type(g, ir_with_lanes(t, 1)));
  TN_GETP(v, c_expr(g, e->value, 0));
  return tn_str_fmt("((%s)%s - (%s){0})", element, tn_cstr(v), type);
}

static tn_str *load(c_gen *g, const tn_BufferLoad *e) {
  tn_str *at;
  const char *type;
  tn_dtype t = ((const tn_expr *)e)->dtype;
  const tn_Ramp *r = e->indices->len == 1 ? TN_AS(Ramp, tn_arr_obj(e->indices, 0)) : NULL;
  if (!r || !tir_is_one(r->stride) || c_is_wide(g, e->buffer->data))
    return lanes_of(g, (const tn_expr *)e);
  TN_GETP(type, c_vector_type(g, t));
  TN_GETP(at, c_vector_place(g, e->buffer, r->base));
  return tn_str_fmt("*(const %s*)(%s)", type, tn_cstr(at));
}

static bool is_number(const tn_expr *e) {
  const tn_Broadcast *same = TN_AS(Broadcast, e);
  const tn_FloatImm *f = same ? TN_AS(FloatImm, same->value) : NULL;
  return f && !isnan(f->value);
}

/* Of floats: b where it is better or NaN, else a. The function gives the second of its arguments
   unless the first is better. */
static tn_str *extreme(c_gen *g, const tn_BinaryOp *e, bool larger) {
  tn_str *a, *b, *function, *pick;
  tn_dtype t = e->a->dtype;
  if (!ir_is_integral(t) && is_number(e->a)) return lanes_of(g, (const tn_expr *)e);
  TN_GETP(function, c_vector_extreme(g, t, larger));
  TN_GETP(a, declare(g, t, c_vector(g, e->a)));
  TN_GETP(b, declare(g, t, c_vector(g, e->b)));
  const char *x = tn_cstr(a), *y = tn_cstr(b), *better = tn_cstr(function);
  if (ir_is_integral(t) || is_number(e->b)) return tn_str_fmt("%s(%s, %s)", better, y, x);
  TN_GETP(pick, c_vector_pick(g, t));
  return tn_str_fmt("%s(%s != %s, %s, %s(%s, %s))", tn_cstr(pick), y, y, y, better, y, x);
}

static const char *const arithmetic[] = {
    [TN_TI_Add] = "+", [TN_TI_Sub] = "-", [TN_TI_Mul] = "*", [TN_TI_Div] = "/"};
static const char *const comparisons[] = {[TN_TI_EQ] = "==", [TN_TI_NE] = "!=", [TN_TI_LT] = "<",
                                          [TN_TI_LE] = "<=", [TN_TI_GT] = ">",  [TN_TI_GE] = ">="};

static tn_str *binary(c_gen *g, const tn_BinaryOp *e, const char *op) {
  tn_str *a, *b;
  TN_GETP(a, c_vector(g, e->a));
  TN_GETP(b, c_vector(g, e->b));
  return tn_str_fmt("(%s %s %s)", tn_cstr(a), op, tn_cstr(b));
}

/* Signed integers wrap around as unsigned ones do. */
static tn_str *compute(c_gen *g, const tn_BinaryOp *e, const char *op) {
  tn_str *a, *b;
  const char *own, *wide;
  tn_dtype t = e->a->dtype;
  if (e->hdr.type_index == TN_TI_Div && ir_is_integral(t)) return lanes_of(g, (const tn_expr *)e);
  if (!ir_is_int(t)) return binary(g, e, op);
  TN_GETP(own, c_vector_type(g, t));
  TN_GETP(wide, c_vector_type(g, tn_dtype_of(kDLUInt, t.bits, t.lanes)));
  TN_GETP(a, c_vector(g, e->a));
  TN_GETP(b, c_vector(g, e->b));
  return tn_str_fmt("((%s)((%s)%s %s (%s)%s))", own, wide, tn_cstr(a), op, wide, tn_cstr(b));
}

static tn_str *select(c_gen *g, const tn_Select *e, tn_dtype t) {
  tn_str *a, *b, *mask, *pick;
  const tn_BinaryOp *c = (const tn_BinaryOp *)e->condition;
  uint32_t i = c->hdr.type_index;
  bool compares = i < (uint32_t)TN_COUNT(comparisons) && comparisons[i];
  if (!compares || c->a->dtype.bits != t.bits || !c_has_vector(g, c->a->dtype))
    return lanes_of(g, (const tn_expr *)e);
  TN_GETP(pick, c_vector_pick(g, t));
  TN_GETP(mask, binary(g, c, comparisons[i]));
  TN_GETP(a, c_vector(g, e->true_value));
  TN_GETP(b, c_vector(g, e->false_value));
  return tn_str_fmt("%s(%s, %s, %s)", tn_cstr(pick), tn_cstr(mask), tn_cstr(a), tn_cstr(b));
}

/* Of float32 as int32: what does not fit is the smallest. */
static tn_str *cut_off(c_gen *g, tn_dtype t, tn_str *value) {
  tn_str *pick, *x;
  const char *type, *whole;
  TN_GETP(pick, c_vector_pick(g, t));
  TN_GETP(type, c_vector_type(g, t));
  TN_GETP(whole, c_vector_type(g, tn_dtype_of(kDLInt, 32, t.lanes)));
  TN_GETP(x, declare(g, t, value));
  const char *v = tn_cstr(x);
  return tn_str_fmt("__builtin_convertvector(%s((%s > -0x1p31f) & (%s < 0x1p31f), %s, "
                    "-0x1p31f - (%s){0}), %s)",
                    tn_cstr(pick), v, v, v, type, whole);
}

static tn_str *cast(c_gen *g, const tn_Cast *e, tn_dtype t) {
  tn_str *v;
  const char *type;
  tn_dtype from = e->value->dtype;
  bool cut = ir_is_integral(t) && from.code == kDLFloat;
  bool large = t.bits > (ir_is_uint(t) ? 16 : 32);
  if (!c_has_vector(g, from) || (cut && (large || from.bits != 32)))
    return lanes_of(g, (const tn_expr *)e);
  TN_GETP(type, c_vector_type(g, t));
  TN_GETP(v, c_vector(g, e->value));
  if (cut) TN_GETP(v, cut_off(g, from, v));
  return tn_str_fmt("__builtin_convertvector(%s, %s)", tn_cstr(v), type);
}

static tn_str *call(c_gen *g, const tn_Call *e, tn_dtype t) {
  static const struct {
    tir_op_id op;
    const char *text;
  } infix[] = {{TIR_OP_shift_left, "<<"},
               {TIR_OP_shift_right, ">>"},
               {TIR_OP_bitwise_and, "&"},
               {TIR_OP_bitwise_or, "|"},
               {TIR_OP_bitwise_xor, "^"}};
  tn_str *a, *b;
  const char *type;
  const tn_obj *o = (const tn_obj *)e;
  if (tir_as_call(o, TIR_OP_reinterpret)) {
    const tn_expr *from = (const tn_expr *)tn_arr_obj(e->args, 0);
    if (!c_has_vector(g, from->dtype) || from->dtype.bits != t.bits)
      return lanes_of(g, (const tn_expr *)e);
    TN_GETP(type, c_vector_type(g, t));
    TN_GETP(a, c_vector(g, from));
    return tn_str_fmt("((%s)%s)", type, tn_cstr(a));
  }
  for (int i = 0; i < TN_COUNT(infix); ++i) {
    int64_t n;
    if (!tir_as_call(o, infix[i].op)) continue;
    bool shifts = infix[i].text[0] == '<' || infix[i].text[0] == '>';
    if (shifts && !(tir_as_int(tn_arr_obj(e->args, 1), &n) && n >= 0 && n < t.bits))
      return lanes_of(g, (const tn_expr *)e);
    TN_GETP(a, c_vector(g, (const tn_expr *)tn_arr_obj(e->args, 0)));
    TN_GETP(b, c_vector(g, (const tn_expr *)tn_arr_obj(e->args, 1)));
    return tn_str_fmt("(%s %s %s)", tn_cstr(a), infix[i].text, tn_cstr(b));
  }
  tn_str *function =
      TN_IS(Op, e->op) ? c_vector_function(g, t, tir_op_number((tn_obj *)e->op)) : NULL;
  if (!function) return tn_error_pending() ? NULL : lanes_of(g, (const tn_expr *)e);
  TN_GETP(a, c_vector(g, (const tn_expr *)tn_arr_obj(e->args, 0)));
  return tn_str_fmt("%s(%s)", tn_cstr(function), tn_cstr(a));
}

static tn_str *let(c_gen *g, const tn_Let *e) {
  if (e->var->dtype.lanes == 1) {
    tn_str *v;
    TN_GETP(v, c_temp(g, e->value, 0));
    TN_TRYP(tn_pmap_put(&g->names, e->var, v));
  } else {
    TN_TRYP(c_define_vector(g, e->var, e->value));
  }
  return c_vector(g, e->body);
}

tn_str *c_vector(c_gen *g, const tn_expr *e) {
  uint32_t i = e->hdr.type_index;
  tn_dtype t = e->dtype;
  if (i < (uint32_t)TN_COUNT(arithmetic) && arithmetic[i])
    return compute(g, (const tn_BinaryOp *)e, arithmetic[i]);
  switch (i) {
  case TN_TI_Var: return tn_pmap_get(&g->whole, e) ? tn_pmap_get(&g->whole, e) : lanes_of(g, e);
  case TN_TI_Broadcast: return broadcast(g, (const tn_Broadcast *)e, t);
  case TN_TI_BufferLoad: return load(g, (const tn_BufferLoad *)e);
  case TN_TI_Min: return extreme(g, (const tn_BinaryOp *)e, false);
  case TN_TI_Max: return extreme(g, (const tn_BinaryOp *)e, true);
  case TN_TI_Select: return select(g, (const tn_Select *)e, t);
  case TN_TI_Cast: return cast(g, (const tn_Cast *)e, t);
  case TN_TI_Call: return call(g, (const tn_Call *)e, t);
  case TN_TI_Let: return let(g, (const tn_Let *)e);
  default: return lanes_of(g, e);
  }
}

/* ---- statements ---- */

int c_define_vector(c_gen *g, const tn_Var *v, const tn_expr *value) {
  tn_str *name;
  bool whole = c_has_vector(g, v->dtype);
  if (whole) {
    TN_GET(name, declare(g, v->dtype, c_vector(g, value)));
    return tn_pmap_put(&g->whole, v, name);
  }
  int t = ++g->temps;
  const char *type;
  TN_GET(type, c_type(g, v->dtype));
  for (int i = 0; i < v->dtype.lanes; ++i) {
    tn_str *lane;
    TN_GET(lane, c_expr(g, value, i));
    c_line(g);
    tn_buf_printf(g->out, "%s t%d_%d = %s;\n", type, t, i, tn_cstr(lane));
  }
  TN_GET(name, tn_str_fmt("t%d", t));
  return tn_pmap_put(&g->names, v, name);
}

int c_store_vector(c_gen *g, const tn_BufferStore *s) {
  tn_str *at, *v;
  const char *type;
  const tn_Ramp *r = TN_AS(Ramp, tn_arr_obj(s->indices, 0));
  if (!r || !tir_is_one(r->stride) || !c_has_vector(g, s->value->dtype)) return 0;
  TN_GET(type, c_vector_type(g, s->value->dtype));
  TN_GET(v, c_vector(g, s->value));
  TN_GET(at, c_vector_place(g, s->buffer, r->base));
  c_line(g);
  tn_buf_printf(g->out, "*(%s*)(%s) = %s;\n", type, tn_cstr(at), tn_cstr(v));
  return 1;
}
