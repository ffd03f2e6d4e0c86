/* Expressions in hybrid script. Operators are those of Python with the same meaning; numbers of
   floating point say their type, so that arrays of NumPy compute in it, too. */
#include "ir/expr.h"
#include "ir/tir_ops.h"
#include "te/hybrid_impl.h"

int hybrid_no_form(const tn_Span *span, const char *what) {
  return TN_RAISE(ValueError, span, "te.hybrid.build: %s has no form in hybrid script", what);
}

tn_ExprDoc *hybrid_id(const char *name) {
  tn_str *s = tn_str_from(name);
  return s ? (tn_ExprDoc *)HYBRID_DOC(IdDoc, .name = s) : NULL;
}

tn_ExprDoc *hybrid_string(const char *text) {
  return (tn_ExprDoc *)HYBRID_DOC(LiteralDoc, .value = (tn_obj *)tn_str_from(text));
}

tn_ExprDoc *hybrid_int(int64_t value) {
  return (tn_ExprDoc *)HYBRID_DOC(LiteralDoc, .value = (tn_obj *)tir_i64(value));
}

tn_ExprDoc *hybrid_call(const char *name, int n, tn_ExprDoc *const *args) {
  TN_VEC(all);
  tn_arr *none = tn_arr_of(0);
  for (int i = 0; i < n; ++i)
    if (!args[i] || tn_vec_push_obj(&all, args[i])) return NULL;
  tn_ExprDoc *callee = hybrid_id(name);
  if (!callee) return NULL;
  return (tn_ExprDoc *)HYBRID_DOC(CallDoc, .callee = callee, .args = tn_arr_from(&all),
                                  .kwargs_keys = none, .kwargs_values = none);
}

static tn_ExprDoc *operation(int kind, int n, tn_ExprDoc *const *args) {
  TN_VEC(all);
  for (int i = 0; i < n; ++i)
    if (!args[i] || tn_vec_push_obj(&all, args[i])) return NULL;
  return (tn_ExprDoc *)HYBRID_DOC(OperationDoc, .kind = kind, .operands = tn_arr_from(&all));
}

tn_ExprDoc *hybrid_tuple(hybrid *h, const tn_arr *items) {
  TN_VEC(all);
  for (int64_t i = 0; i < items->len; ++i) {
    tn_ExprDoc *doc = hybrid_expr(h, tn_arr_obj(items, i));
    if (!doc || tn_vec_push_obj(&all, doc)) return NULL;
  }
  return (tn_ExprDoc *)HYBRID_DOC(TupleDoc, .elements = tn_arr_from(&all));
}

tn_ExprDoc *hybrid_element(hybrid *h, const tn_Buffer *b, const tn_arr *indices) {
  tn_ExprDoc *name = tn_pmap_get(&h->docs, b);
  TN_CHECKP(name, ValueError, b->span,
            "te.hybrid.build: buffer %s is neither an argument nor allocated", tn_cstr(b->name));
  const tn_TupleDoc *at = TN_AS(TupleDoc, hybrid_tuple(h, indices));
  if (!at) return NULL;
  tn_arr *all = at->elements->len ? at->elements : tn_arr_of(1, at); /* a[()] without axes */
  return all ? (tn_ExprDoc *)HYBRID_DOC(IndexDoc, .value = name, .indices = all) : NULL;
}

/* ---- operators ---- */

static const struct {
  int doc;          /* operator of Python, or 0 */
  const char *name; /* or a function */
} binaries[] = {
    [TN_TI_Add - TN_TI_Add] = {DOC_ADD, NULL},
    [TN_TI_Sub - TN_TI_Add] = {DOC_SUB, NULL},
    [TN_TI_Mul - TN_TI_Add] = {DOC_MUL, NULL},
    [TN_TI_Div - TN_TI_Add] = {DOC_DIV, NULL},
    [TN_TI_Mod - TN_TI_Add] = {0, NULL},
    [TN_TI_FloorDiv - TN_TI_Add] = {DOC_FLOORDIV, NULL},
    [TN_TI_FloorMod - TN_TI_Add] = {DOC_MOD, NULL},
    [TN_TI_Min - TN_TI_Add] = {0, "min"},
    [TN_TI_Max - TN_TI_Add] = {0, "max"},
    [TN_TI_EQ - TN_TI_Add] = {DOC_EQ, NULL},
    [TN_TI_NE - TN_TI_Add] = {DOC_NE, NULL},
    [TN_TI_LT - TN_TI_Add] = {DOC_LT, NULL},
    [TN_TI_LE - TN_TI_Add] = {DOC_LE, NULL},
    [TN_TI_GT - TN_TI_Add] = {DOC_GT, NULL},
    [TN_TI_GE - TN_TI_Add] = {DOC_GE, NULL},
    [TN_TI_And - TN_TI_Add] = {DOC_AND, NULL},
    [TN_TI_Or - TN_TI_Add] = {DOC_OR, NULL},
};

static tn_ExprDoc *binary(hybrid *h, const tn_BinaryOp *e) {
  uint32_t row = e->hdr.type_index - TN_TI_Add;
  bool truncates = e->hdr.type_index == TN_TI_Mod ||
                   (e->hdr.type_index == TN_TI_Div && ir_is_integral(e->dtype));
  TN_TRYP(truncates ? hybrid_no_form(e->span, "a truncating division of integers") : 0);
  tn_ExprDoc *args[] = {hybrid_expr(h, e->a), NULL};
  args[1] = args[0] ? hybrid_expr(h, e->b) : NULL;
  return binaries[row].doc ? operation(binaries[row].doc, 2, args)
                           : hybrid_call(binaries[row].name, 2, args);
}

static const struct {
  int op;           /* the intrinsic */
  int doc;          /* operator of Python, or 0 */
  const char *name; /* or a function */
} calls[] = {
    {TIR_OP_bitwise_and, DOC_BITAND, NULL},
    {TIR_OP_bitwise_or, DOC_BITOR, NULL},
    {TIR_OP_bitwise_xor, DOC_BITXOR, NULL},
    {TIR_OP_bitwise_not, DOC_INVERT, NULL},
    {TIR_OP_shift_left, DOC_LSHIFT, NULL},
    {TIR_OP_shift_right, DOC_RSHIFT, NULL},
    {TIR_OP_if_then_else, DOC_IF_THEN_ELSE, NULL},
    {TIR_OP_likely, 0, "likely"},
    {TIR_OP_exp, 0, "exp"},
    {TIR_OP_log, 0, "log"},
    {TIR_OP_log2, 0, "log2"},
    {TIR_OP_log10, 0, "log10"},
    {TIR_OP_tanh, 0, "tanh"},
    {TIR_OP_sigmoid, 0, "sigmoid"},
    {TIR_OP_sqrt, 0, "sqrt"},
    {TIR_OP_rsqrt, 0, "rsqrt"},
    {TIR_OP_pow, 0, "power"},
    {TIR_OP_sin, 0, "sin"},
    {TIR_OP_cos, 0, "cos"},
    {TIR_OP_tan, 0, "tan"},
    {TIR_OP_atan, 0, "atan"},
    {TIR_OP_fabs, 0, "abs"},
    {TIR_OP_floor, 0, "floor"},
    {TIR_OP_ceil, 0, "ceil"},
    {TIR_OP_trunc, 0, "trunc"},
    {TIR_OP_round, 0, "round"},
    {TIR_OP_popcount, 0, "popcount"},
};

static tn_ExprDoc *call(hybrid *h, const tn_Call *e) {
  tn_ExprDoc *args[3];
  int row = 0, op = (int)tir_op_number((const tn_obj *)e->op);
  while (row < TN_COUNT(calls) && calls[row].op != op) ++row;
  if (row == TN_COUNT(calls) || e->args->len > TN_COUNT(args)) {
    const tn_Op *known = TN_AS(Op, e->op);
    tn_str *what = tn_str_fmt("the call of %s", known ? tn_cstr(known->name) : "a function");
    if (what) hybrid_no_form(e->span, tn_cstr(what));
    return NULL;
  }
  for (int64_t i = 0; i < e->args->len; ++i)
    TN_GETP(args[i], hybrid_expr(h, tn_arr_obj(e->args, i)));
  return calls[row].doc ? operation(calls[row].doc, (int)e->args->len, args)
                        : hybrid_call(calls[row].name, (int)e->args->len, args);
}

/* ---- numbers ---- */

/* The types that scripts can name. */
static bool has_name(tn_dtype t) {
  bool number = t.code == kDLInt || t.code == kDLUInt;
  return t.lanes == 1 && ((number && t.bits >= 8) || (t.code == kDLFloat && t.bits >= 16));
}

static tn_ExprDoc *typed(tn_dtype t, tn_ExprDoc *value, const tn_Span *span) {
  TN_TRYP(has_name(t) ? 0 : hybrid_no_form(span, TN_DT(t)));
  return hybrid_call(TN_DT(t), 1, &value);
}

static tn_ExprDoc *number(const tn_FloatImm *e) {
  bool finite = e->value - e->value == 0;
  const char *text = e->value != e->value ? "nan" : e->value < 0 ? "-inf" : "inf";
  tn_ExprDoc *value = finite ? (tn_ExprDoc *)HYBRID_DOC(LiteralDoc, .value = (tn_obj *)(uintptr_t)e)
                             : hybrid_string(text);
  return typed(e->dtype, value, e->span);
}

static tn_ExprDoc *integer(const tn_IntImm *e) {
  if (ir_is_bool(e->dtype)) return hybrid_id(e->value ? "True" : "False");
  return (tn_ExprDoc *)HYBRID_DOC(LiteralDoc, .value = (tn_obj *)(uintptr_t)e);
}

static tn_ExprDoc *cast(hybrid *h, const tn_Cast *e) {
  tn_ExprDoc *args[] = {hybrid_expr(h, e->value), NULL};
  if (!args[0] || !ir_is_bool(e->dtype)) return args[0] ? typed(e->dtype, args[0], e->span) : NULL;
  args[1] = hybrid_int(0);
  return operation(DOC_NE, 2, args);
}

static tn_ExprDoc *variable(const hybrid *h, const tn_Var *v) {
  tn_ExprDoc *doc = tn_pmap_get(&h->docs, v);
  TN_CHECKP(doc, ValueError, v->span,
            "te.hybrid.build: variable %s is neither an input nor the extent of one",
            tn_cstr(v->name));
  return doc;
}

static tn_ExprDoc *expression(hybrid *h, const tn_obj *o) {
  const tn_BinaryOp *two = TN_AS_BINARY(o);
  const tn_Select *select = TN_AS(Select, o);
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  if (two) return binary(h, two);
  if (load) return hybrid_element(h, load->buffer, load->indices);
  if (select) {
    tn_ExprDoc *args[] = {hybrid_expr(h, select->condition), hybrid_expr(h, select->true_value),
                          hybrid_expr(h, select->false_value)};
    return operation(DOC_IF_THEN_ELSE, 3, args);
  }
  switch ((int)o->type_index) {
  case TN_TI_Var:
  case TN_TI_SizeVar: return variable(h, (const tn_Var *)o);
  case TN_TI_IntImm: return integer((const tn_IntImm *)o);
  case TN_TI_FloatImm: return number((const tn_FloatImm *)o);
  case TN_TI_Cast: return cast(h, (const tn_Cast *)o);
  case TN_TI_Call: return call(h, (const tn_Call *)o);
  case TN_TI_Not: {
    tn_ExprDoc *arg = hybrid_expr(h, ((const tn_Not *)o)->a);
    return operation(DOC_NOT, 1, &arg);
  }
  default: TN_TRYP(hybrid_no_form(NULL, tn_obj_key(o))); return NULL;
  }
}

tn_ExprDoc *hybrid_expr(hybrid *h, const void *e) {
  TN_CHECKP(e && h->depth < HYBRID_DEPTH_MAX, ValueError, NULL,
            "te.hybrid.build: the program is nested too deeply");
  h->depth += 1;
  tn_ExprDoc *doc = expression(h, e);
  h->depth -= 1;
  return doc;
}
