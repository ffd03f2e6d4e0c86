/* Global functions that make expression nodes as they are: "tir.Add", "tir.Var", "ir.IntImm", ...
   The folding operators are in api_op.c. */
#include "ir/expr.h"
#include "ir/ir_impl.h"

/* self: the type of a binary operator */
static int binary_node(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  const tn_type *t = self;
  tn_BinaryOp proto = {0};
  TN_TRY(ir_arg_expr(args, n, 0, &proto.a));
  TN_TRY(ir_arg_expr(args, n, 1, &proto.b));
  TN_TRY(ir_arg_span(args, n, 2, &proto.span));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(t, &proto)));
}

static int int_imm(TN_ARGS) {
  tn_IntImm p = {0};
  TN_CHECK(n >= 2, TypeError, NULL, "IntImm: expected dtype and value");
  TN_TRY(tn_any_to_dtype(&args[0], &p.dtype));
  TN_TRY(tn_any_to_int(&args[1], &p.value));
  TN_TRY(ir_arg_span(args, n, 2, &p.span));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_IntImm, &p)));
}

static int float_imm(TN_ARGS) {
  tn_FloatImm p = {0};
  TN_CHECK(n >= 2, TypeError, NULL, "FloatImm: expected dtype and value");
  TN_TRY(tn_any_to_dtype(&args[0], &p.dtype));
  TN_TRY(tn_any_to_float(&args[1], &p.value));
  TN_TRY(ir_arg_span(args, n, 2, &p.span));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_FloatImm, &p)));
}

static int string_imm(TN_ARGS) {
  const char *text;
  tn_Span *span;
  TN_TRY(ir_arg_text(args, n, 0, "", &text));
  TN_TRY(ir_arg_span(args, n, 1, &span));
  return tn_ret_obj(ret, TN_MAKE(StringImm, .span = span, .value = tn_str_from(text)));
}

/* self: Var or SizeVar. (name, dtype or type annotation, span) */
static int var_node(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  tn_Var p = {0};
  const char *name;
  TN_CHECK(n >= 2, TypeError, NULL, "Var: expected a name and a dtype or type");
  TN_TRY(ir_arg_text(args, n, 0, "", &name));
  if (tn_any_is_obj(&args[1]) && TN_IS(Type, args[1].v.obj))
    p.type_annotation = (tn_Type *)args[1].v.obj;
  else TN_TRY(tn_any_to_dtype(&args[1], &p.dtype));
  TN_TRY(ir_arg_span(args, n, 2, &p.span));
  p.name = tn_str_from(name);
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(self, &p)));
}

static int cast_node(TN_ARGS) {
  tn_Cast p = {0};
  TN_CHECK(n >= 2, TypeError, NULL, "Cast: expected dtype and value");
  TN_TRY(tn_any_to_dtype(&args[0], &p.dtype));
  TN_TRY(ir_arg_expr(args, n, 1, &p.value));
  TN_TRY(ir_arg_span(args, n, 2, &p.span));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_Cast, &p)));
}

static int not_node(TN_ARGS) {
  tn_Not p = {0};
  TN_TRY(ir_arg_expr(args, n, 0, &p.a));
  TN_TRY(ir_arg_span(args, n, 1, &p.span));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_Not, &p)));
}

static int select_node(TN_ARGS) {
  tn_Select p = {0};
  TN_TRY(ir_arg_expr(args, n, 0, &p.condition));
  TN_TRY(ir_arg_expr(args, n, 1, &p.true_value));
  TN_TRY(ir_arg_expr(args, n, 2, &p.false_value));
  TN_TRY(ir_arg_span(args, n, 3, &p.span));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_Select, &p)));
}

/* A plain number or an expression; the stride has the base's type. */
static int arg_lanes(const char *what, const tn_any *args, int32_t n, int32_t i, int64_t *out) {
  tn_expr *e;
  TN_TRY(ir_arg_need(what, args, n, i, &e));
  return tir_lanes_from(what, e, out);
}

static int ramp_node(TN_ARGS) {
  tn_Ramp p = {0};
  TN_CHECK(n >= 3, TypeError, NULL, "Ramp: expected base, stride and lanes");
  TN_TRY(ir_arg_expr(args, n, 0, &p.base));
  TN_TRY(ir_arg_expr(args, n, 1, &p.stride));
  TN_TRY(arg_lanes("Ramp", args, n, 2, &p.lanes));
  if (p.base && p.stride) TN_GET(p.stride, tir_cast(p.base->dtype, p.stride, NULL));
  TN_TRY(ir_arg_span(args, n, 3, &p.span));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_Ramp, &p)));
}

static int broadcast_node(TN_ARGS) {
  tn_Broadcast p = {0};
  TN_CHECK(n >= 2, TypeError, NULL, "Broadcast: expected value and lanes");
  TN_TRY(ir_arg_expr(args, n, 0, &p.value));
  TN_TRY(arg_lanes("Broadcast", args, n, 1, &p.lanes));
  TN_TRY(ir_arg_span(args, n, 2, &p.span));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_Broadcast, &p)));
}

static int shuffle_node(TN_ARGS) {
  tn_Shuffle p = {0};
  TN_TRY(ir_arg_exprs(args, n, 0, &p.vectors));
  TN_TRY(ir_arg_exprs(args, n, 1, &p.indices));
  TN_TRY(ir_arg_span(args, n, 2, &p.span));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_Shuffle, &p)));
}

static int let_node(TN_ARGS) {
  tn_Let p = {0};
  TN_TRY(tn_arg_obj(args, n, 0, &tn_type_Var, (tn_obj **)&p.var));
  TN_TRY(ir_arg_expr(args, n, 1, &p.value));
  TN_TRY(ir_arg_expr(args, n, 2, &p.body));
  TN_TRY(ir_arg_span(args, n, 3, &p.span));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_Let, &p)));
}

static int call_node(TN_ARGS) {
  tn_Call p = {0};
  TN_CHECK(n >= 3, TypeError, NULL, "Call: expected dtype, op and args");
  TN_TRY(tn_any_to_dtype(&args[0], &p.dtype));
  TN_TRY(tn_arg_obj(args, n, 1, &tn_type_BaseExpr, (tn_obj **)&p.op));
  TN_TRY(ir_arg_exprs(args, n, 2, &p.args));
  TN_TRY(ir_arg_span(args, n, 3, &p.span));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_Call, &p)));
}

static int reducer_node(TN_ARGS) {
  tn_CommReducer p = {0};
  TN_TRY(ir_arg_exprs(args, n, 0, &p.lhs));
  TN_TRY(ir_arg_exprs(args, n, 1, &p.rhs));
  TN_TRY(ir_arg_exprs(args, n, 2, &p.result));
  TN_TRY(ir_arg_exprs(args, n, 3, &p.identity_element));
  TN_TRY(ir_arg_span(args, n, 4, &p.span));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_CommReducer, &p)));
}

static int reduce_node(TN_ARGS) {
  tn_Reduce p = {0};
  TN_TRY(tn_arg_opt(args, n, 0, &tn_type_CommReducer, (tn_obj **)&p.combiner));
  TN_TRY(ir_arg_exprs(args, n, 1, &p.source));
  TN_TRY(tn_arg_items(args, n, 2, "Array(IterVar)", false, (tn_obj **)&p.axis));
  TN_TRY(ir_arg_expr(args, n, 3, &p.condition));
  TN_TRY(ir_arg_int(args, n, 4, 0, &p.value_index));
  TN_TRY(ir_arg_exprs(args, n, 5, &p.init));
  TN_TRY(ir_arg_span(args, n, 6, &p.span));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_Reduce, &p)));
}

static int any_node(TN_ARGS) {
  tn_Span *span;
  TN_TRY(ir_arg_span(args, n, 0, &span));
  return tn_ret_obj(ret, TN_MAKE(Any, .span = span));
}

/* (dom, var, iter_type, thread_tag, span) */
static int iter_var_node(TN_ARGS) {
  tn_IterVar p = {0};
  int64_t type;
  const char *tag;
  TN_TRY(tn_arg_opt(args, n, 0, &tn_type_Range, (tn_obj **)&p.dom));
  TN_TRY(tn_arg_obj(args, n, 1, &tn_type_Var, (tn_obj **)&p.var));
  TN_TRY(ir_arg_int(args, n, 2, IR_ITER_DATA_PAR, &type));
  TN_TRY(ir_arg_text(args, n, 3, "", &tag));
  TN_TRY(ir_arg_span(args, n, 4, &p.span));
  p.iter_type = (int32_t)type;
  p.thread_tag = tn_str_from(tag);
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_IterVar, &p)));
}

/* (min, extent, span) */
static int range_from_min_extent(TN_ARGS) {
  tn_Range p = {0};
  TN_TRY(ir_arg_expr(args, n, 0, &p.min));
  TN_TRY(ir_arg_expr(args, n, 1, &p.extent));
  TN_TRY(ir_arg_span(args, n, 2, &p.span));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_Range, &p)));
}

static const tn_func_row rows[] = {
    {"ir.IntImm", int_imm},         {"ir.FloatImm", float_imm},
    {"tir.StringImm", string_imm},  {"tir.Cast", cast_node},
    {"tir.Not", not_node},          {"tir.Select", select_node},
    {"tir.Ramp", ramp_node},        {"tir.Broadcast", broadcast_node},
    {"tir.Shuffle", shuffle_node},  {"tir.Let", let_node},
    {"tir.Call", call_node},        {"tir.CommReducer", reducer_node},
    {"tir.Reduce", reduce_node},    {"tir.Any", any_node},
    {"tir.IterVar", iter_var_node}, {"ir.Range_from_min_extent", range_from_min_extent},
};

static int register_type(const tn_type *t, tn_call call) {
  return tn_func_register(t->key, call, (void *)(uintptr_t)t, NULL, 0);
}

int ir_api_expr_init(void) {
  for (uint32_t i = TN_TI_Add; i <= TN_TI_Or; ++i)
    TN_TRY(register_type(tn_type_get(i), binary_node));
  TN_TRY(register_type(&tn_type_Var, var_node));
  TN_TRY(register_type(&tn_type_SizeVar, var_node));
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
