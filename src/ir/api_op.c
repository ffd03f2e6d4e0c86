/* Global functions of the folding operators: "tir._OpAdd", "tir._cast", "tir.bitwise_and", ... */
#include "ir/expr.h"
#include "ir/ir_impl.h"

static bool is_f64(const tn_expr *e) {
  return e && e->dtype.code == kDLFloat && e->dtype.bits == 64;
}

/* A plain number that meets a float64 keeps all its digits; else it is the float32 nearest to it.
 */
static int arg_float(const tn_any *a, const tn_expr *other, tn_expr **out) {
  if (a->type_index != TN_FLOAT) return 0;
  tn_dtype t = is_f64(other) ? TN_F64 : (*out)->dtype;
  TN_GET(*out, tir_float(t, t.bits == 32 ? (double)(float)a->v.f64 : a->v.f64));
  return 0;
}

/* (a, b, span) */
static int operands(const char *func, const tn_any *args, int32_t n, tn_expr **a, tn_expr **b,
                    tn_Span **span) {
  TN_TRY(ir_arg_need(func, args, n, 0, a));
  TN_TRY(ir_arg_need(func, args, n, 1, b));
  TN_TRY(arg_float(&args[0], *b, a));
  TN_TRY(arg_float(&args[1], *a, b));
  return ir_arg_span(args, n, 2, span);
}

/* The same for operators on bits: a plain integer takes its partner's type. */
static int bit_operands(const char *func, const tn_any *args, int32_t n, tn_expr **a, tn_expr **b,
                        tn_Span **span) {
  TN_TRY(operands(func, args, n, a, b, span));
  if (args[0].type_index == TN_INT && ir_is_integral((*b)->dtype))
    TN_GET(*a, tir_const_int((*b)->dtype, args[0].v.i64));
  else if (args[1].type_index == TN_INT && ir_is_integral((*a)->dtype))
    TN_GET(*b, tir_const_int((*a)->dtype, args[1].v.i64));
  return 0;
}

/* self: the type of the node */
static int binary(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  const tn_type *t = self;
  tn_expr *a, *b;
  tn_Span *span;
  TN_TRY(operands(t->name, args, n, &a, &b, &span));
  TN_TRY(tir_check_written(t->index, b, span));
  return tn_ret_obj(ret, tir_binary(t->index, a, b, span));
}

typedef tn_expr *(*binary_fn)(tn_expr *, tn_expr *, tn_Span *);
typedef tn_expr *(*unary_fn)(tn_expr *, tn_Span *);
typedef tn_expr *(*op_binary_fn)(tir_op_id, tn_expr *, tn_expr *, tn_Span *);
typedef tn_expr *(*op_unary_fn)(tir_op_id, tn_expr *, tn_Span *);

static tn_expr *floordiv(tn_expr *a, tn_expr *b, tn_Span *s) {
  return tir_binary(TN_TI_FloorDiv, a, b, s);
}
static tn_expr *floormod(tn_expr *a, tn_expr *b, tn_Span *s) {
  return tir_binary(TN_TI_FloorMod, a, b, s);
}

static const struct row {
  const char *name;
  tir_op_id op; /* of the op_ functions */
  binary_fn binary;
  unary_fn unary;
  op_binary_fn op_binary;
  op_unary_fn op_unary;
} rows[] = {
    {"tir._OpTruncDiv", .binary = tir_truncdiv},
    {"tir._OpTruncMod", .binary = tir_truncmod},
    {"tir._OpCeilDiv", .binary = tir_ceildiv},
    {"tir._OpShapeDiv", .binary = tir_ceildiv},
    {"tir._OpIndexDiv", .binary = floordiv},
    {"tir._OpIndexMod", .binary = floormod},
    {"tir._OpNot", .unary = tir_not},
    {"tir._OpNeg", .unary = tir_neg},
    {"tir._OpPow", .op = TIR_OP_pow, .op_binary = tir_float_binary},
    {"tir._OpFMod", .op = TIR_OP_fmod, .op_binary = tir_float_binary},
    {"tir.bitwise_and", .op = TIR_OP_bitwise_and, .op_binary = tir_bitwise},
    {"tir.bitwise_or", .op = TIR_OP_bitwise_or, .op_binary = tir_bitwise},
    {"tir.bitwise_xor", .op = TIR_OP_bitwise_xor, .op_binary = tir_bitwise},
    {"tir.left_shift", .op = TIR_OP_shift_left, .op_binary = tir_shift},
    {"tir.right_shift", .op = TIR_OP_shift_right, .op_binary = tir_shift},
    {"tir.bitwise_not", .unary = tir_bitwise_not},
    {"tir.abs", .unary = tir_abs},
    {"tir.likely", .unary = tir_likely},
    {"tir.isnan", .unary = tir_isnan},
    {"tir.isinf", .unary = tir_isinf},
    {"tir.isfinite", .unary = tir_isfinite},
    {"tir.floor", .op = TIR_OP_floor, .op_unary = tir_rounding},
    {"tir.ceil", .op = TIR_OP_ceil, .op_unary = tir_rounding},
    {"tir.trunc", .op = TIR_OP_trunc, .op_unary = tir_rounding},
    {"tir.round", .op = TIR_OP_round, .op_unary = tir_rounding},
    {"tir.nearbyint", .op = TIR_OP_nearbyint, .op_unary = tir_rounding},
};

static int call_binary(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  const struct row *r = self;
  tn_expr *a, *b;
  tn_Span *span;
  bool bits = r->op_binary == tir_bitwise || r->op_binary == tir_shift;
  TN_TRY((bits ? bit_operands : operands)(r->name, args, n, &a, &b, &span));
  if (r->binary) TN_TRY(tir_check_written(TN_TI_Div, b, span));
  if (r->op_binary == tir_shift) TN_TRY(tir_check_shift(a, b, span));
  return tn_ret_obj(ret, r->binary ? r->binary(a, b, span) : r->op_binary(r->op, a, b, span));
}

static int call_unary(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  const struct row *r = self;
  tn_expr *x;
  tn_Span *span;
  TN_TRY(ir_arg_need(r->name, args, n, 0, &x));
  TN_TRY(ir_arg_span(args, n, 1, &span));
  return tn_ret_obj(ret, r->unary ? r->unary(x, span) : r->op_unary(r->op, x, span));
}

/* (condition, true value, false value, span) */
static int choice(const char *func, const tn_any *args, int32_t n, tn_expr *v[3], tn_Span **span) {
  for (int i = 0; i < 3; ++i) TN_TRY(ir_arg_need(func, args, n, i, &v[i]));
  TN_TRY(arg_float(&args[1], v[2], &v[1]));
  TN_TRY(arg_float(&args[2], v[1], &v[2]));
  return ir_arg_span(args, n, 3, span);
}

static int if_then_else(TN_ARGS) {
  tn_expr *v[3];
  tn_Span *span;
  TN_TRY(choice("if_then_else", args, n, v, &span));
  return tn_ret_obj(ret, tir_if_then_else(v[0], v[1], v[2], span));
}

/* (dtype, value, span) */
static int typed(const char *func, const tn_any *args, int32_t n, tn_dtype *t, tn_expr **e,
                 tn_Span **span) {
  TN_CHECK(n >= 2, TypeError, NULL, "%s: expected dtype and value", func);
  TN_TRY(tn_any_to_dtype(&args[0], t));
  TN_TRY(ir_arg_need(func, args, n, 1, e));
  return ir_arg_span(args, n, 2, span);
}

static int cast(TN_ARGS) {
  tn_dtype t;
  tn_expr *e;
  tn_Span *span;
  TN_TRY(typed("cast", args, n, &t, &e, &span));
  return tn_ret_obj(ret, tir_cast(t, e, span));
}

static int reinterpret(TN_ARGS) {
  tn_dtype t;
  tn_expr *e;
  tn_Span *span;
  TN_TRY(typed("reinterpret", args, n, &t, &e, &span));
  return tn_ret_obj(ret, tir_reinterpret(t, e, span));
}

/* (value, dtype): a plain number as a constant of that type */
static int const_of(TN_ARGS) {
  tn_dtype t;
  double f;
  int64_t i;
  TN_CHECK(n >= 2, TypeError, NULL, "const: expected value and dtype");
  TN_TRY(tn_any_to_dtype(&args[1], &t));
  if (tn_any_to_int(&args[0], &i) == 0) return tn_ret_obj(ret, tir_const_int(t, i));
  tn_error_clear();
  TN_TRY(tn_any_to_float(&args[0], &f));
  return tn_ret_obj(ret, tir_const_float(t, f));
}

/* (dtype, low, high) */
static int large_uint_imm(TN_ARGS) {
  int64_t low, high;
  TN_CHECK(n >= 3, TypeError, NULL, "LargeUIntImm: expected dtype, low and high");
  TN_TRY(tn_any_to_int(&args[1], &low));
  TN_TRY(tn_any_to_int(&args[2], &high));
  TN_CHECK(low >= 0 && low <= UINT32_MAX && high >= 0 && high <= UINT32_MAX, TenonError, NULL,
           "Literal value %lld * 2**32 + %lld exceeds maximum of uint64", (long long)high,
           (long long)low);
  return tn_ret_obj(ret, tir_uint64((uint64_t)high << 32 | ((uint64_t)low & UINT32_MAX)));
}

static int limit(tn_expr *(*of)(tn_dtype), const tn_any *args, int32_t n, tn_any *ret) {
  tn_dtype t;
  TN_CHECK(n >= 1, TypeError, NULL, "expected dtype");
  TN_TRY(tn_any_to_dtype(&args[0], &t));
  return tn_ret_obj(ret, of(t));
}
static int max_value(TN_ARGS) { return limit(tir_max_value, args, n, ret); }
static int min_value(TN_ARGS) { return limit(tir_min_value, args, n, ret); }
static int infinity(TN_ARGS) { return limit(tir_infinity, args, n, ret); }

/* (begin, end, span), or (end) */
static int range(TN_ARGS) {
  tn_expr *begin, *end;
  tn_Span *span;
  TN_TRY(ir_arg_need("Range", args, n, 0, &begin));
  TN_TRY(ir_arg_expr(args, n, 1, &end));
  TN_TRY(ir_arg_span(args, n, 2, &span));
  if (end) return tn_ret_obj(ret, tir_range_to(begin, end, span));
  return tn_ret_obj(ret, tir_range_to(tir_zero(begin->dtype), begin, span));
}

/* The expression that a value stands for. */
static int convert(TN_ARGS) {
  tn_expr *e;
  TN_TRY(ir_arg_need("convert", args, n, 0, &e));
  return tn_ret_obj(ret, e);
}

static int call_effect(TN_ARGS) {
  TN_ARG_OBJ(BaseExpr, op, 0);
  *ret = tn_any_int(tir_call_effect((tn_obj *)op));
  return 0;
}

static const tn_func_row others[] = {
    {"tir._OpIfThenElse", if_then_else},
    {"tir._cast", cast},
    {"tir.reinterpret", reinterpret},
    {"node._const", const_of},
    {"node.LargeUIntImm", large_uint_imm},
    {"tir.max_value", max_value},
    {"tir.min_value", min_value},
    {"tir.infinity", infinity},
    {"ir.Range", range},
    {"tir.convert", convert},
    {"tir.call_effect", call_effect},
};

int ir_api_op_init(void) {
  TN_SCOPE(s);
  for (uint32_t i = TN_TI_Add; i <= TN_TI_Or; ++i) {
    const tn_type *t = tn_type_get(i);
    tn_str *name = tn_str_fmt("tir._Op%s", t->name);
    if (!name) return -1;
    TN_TRY(tn_func_register(tn_cstr(name), binary, (void *)(uintptr_t)t, NULL, 0));
  }
  for (int i = 0; i < TN_COUNT(rows); ++i) {
    bool two = rows[i].binary || rows[i].op_binary;
    TN_TRY(tn_func_register(rows[i].name, two ? call_binary : call_unary,
                            (void *)(uintptr_t)&rows[i], NULL, 0));
  }
  return tn_func_register_rows(others, TN_COUNT(others));
}
