/* recast: chosen operators compute in another type, with casts around them.

     nn.conv2d(%x, %w)                         operators ["nn.conv2d"], "int8", results "int32"
   =>
     %0 = nn.conv2d(cast(%x, dtype="int8"), cast(%w, dtype="int8"), out_dtype="int32");
     cast(%0, dtype="float32")

   What it is for is the time that a network takes in a type: numbers are cast as they are, without
   scales, so that most are lost on the way to integers. Types of the program stay as they were. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/functor.h"
#include "relay/infer.h"
#include "relay/relay_impl.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/replace.h"
#include "relay/transforms/transforms.h"

typedef struct {
  tn_dtype to, out;
  const tn_arr *ops, *skipped; /* String; IntImm: numbers of calls, from the end when negative */
  int64_t seen, total;
} recasting;

static bool is_chosen(const recasting *x, const void *e) {
  const char *op = relay_called_op(e);
  for (int64_t i = 0; op && i < x->ops->len; ++i)
    if (tn_str_eq((const tn_str *)tn_arr_obj(x->ops, i), op)) return true;
  return false;
}

static bool is_skipped(const recasting *x, int64_t own) {
  for (int64_t i = 0; i < x->skipped->len; ++i) {
    int64_t v = relay_listed(x->skipped, i);
    if (v == own || v + x->total == own) return true;
  }
  return false;
}

static int count(void *ctx, tn_obj *e) {
  recasting *x = ctx;
  x->total += TN_AS(RelayCall, e) && is_chosen(x, e);
  return 0;
}

/* Element type of a tensor, or of the first tensor of a tuple; 0 bits: it has none. */
static tn_dtype dtype_of(const tn_Type *type) {
  const tn_TensorType *t = TN_AS(TensorType, type);
  const tn_TupleType *fields = TN_AS(TupleType, type);
  if (fields && fields->fields->len)
    return dtype_of((const tn_Type *)tn_arr_obj(fields->fields, 0));
  return t ? t->dtype : (tn_dtype){0};
}

/* The value of type `is` with tensors of type `from` as `to`, those in tuples too. */
static void *cast(void *e, const tn_Type *is, tn_dtype from, tn_dtype to) {
  const tn_TensorType *t = TN_AS(TensorType, is);
  const tn_TupleType *fields = TN_AS(TupleType, is);
  const tn_RelayTuple *tuple = TN_AS(RelayTuple, e);
  TN_VEC(all);
  if (!e || tn_dtype_eq(from, to)) return e;
  if (!fields) return t && tn_dtype_eq(t->dtype, from) ? relay_cast(e, to) : e;
  for (int64_t i = 0; i < fields->fields->len; ++i) {
    void *field = tuple ? (void *)tn_arr_obj(tuple->fields, i) : (void *)relay_get_item(e, i);
    TN_GETP(field, cast(field, (const tn_Type *)tn_arr_obj(fields->fields, i), from, to));
    TN_TRYP(tn_vec_push_obj(&all, field));
  }
  return relay_tuple(tn_arr_from(&all));
}

/* Arguments of the first one's type, data and weights, are cast; indices are not. */
static tn_arr *cast_args(const recasting *x, const tn_RelayCall *pre, const tn_RelayCall *post) {
  tn_dtype from = dtype_of(relay_type_of(relay_arg(pre, 0)));
  TN_VEC(args);
  for (int64_t i = 0; i < post->args->len; ++i) {
    void *e;
    TN_GETP(e, cast(relay_arg(post, i), relay_type_of(relay_arg(pre, i)), from, x->to));
    TN_TRYP(tn_vec_push_obj(&args, e));
  }
  return tn_arr_from(&args);
}

static tn_obj *rewrite_call(void *ctx, tn_obj *pre, tn_obj *post) {
  recasting *x = ctx;
  const tn_RelayCall *c = (const tn_RelayCall *)post;
  if (!is_chosen(x, pre) || is_skipped(x, x->seen++) || c->args->len == 0)
    return relay_stands_for(post, pre);
  const tn_Type *was = relay_type_of(pre), *is;
  void *attrs = c->attrs, *e;
  tn_arr *args;
  TN_GETP(args, cast_args(x, (const tn_RelayCall *)pre, c));
  if (attrs && tn_type_field(((const tn_obj *)attrs)->type, "out_dtype"))
    TN_GETP(attrs, relay_attrs_with(attrs, "out_dtype", tn_any_dtype(x->out)));
  TN_GETP(e, relay_call_new(c->op, args, attrs));
  TN_GETP(is, relay_infer_type(e, NULL));
  TN_GETP(e, cast(e, is, dtype_of(is), dtype_of(was)));
  return relay_stands_for(e, pre);
}

static void *recast(const void *e, tn_IRModule *m, recasting *x) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, rewrite_call)};
  const tn_RelayFunction *f = TN_AS(RelayFunction, e), *typed;
  void *body;
  TN_TRYP(tn_post_order(e, count, x));
  TN_GETP(e, relay_infer_expr(e, m));
  if (!f) return tn_rewrite((tn_obj *)(uintptr_t)e, cases, TN_COUNT(cases), x);
  typed = (const tn_RelayFunction *)e;
  TN_GETP(body, tn_rewrite((tn_obj *)typed->body, cases, TN_COUNT(cases), x));
  return relay_function(typed->params, body, f->ret_type, f->attrs);
}

/* (expression, type, type of results, names of operators, numbers of calls, module or None) ->
   expression */
static int api(TN_ARGS) {
  TN_NARGS("relay._transform.recast", 6);
  TN_ARG_OBJ(RelayExpr, e, 0);
  TN_ARG_ITEMS(Array(String), ops, 3);
  TN_ARG_ITEMS(Array(IntImm), skipped, 4);
  TN_ARG_OPT(IRModule, m, 5);
  recasting x = {.ops = ops, .skipped = skipped};
  TN_TRY(tn_any_to_dtype(&args[1], &x.to));
  TN_TRY(tn_any_to_dtype(&args[2], &x.out));
  for (int64_t i = 0; i < ops->len; ++i)
    TN_TRY(!ir_op_get(tn_cstr((const tn_str *)tn_arr_obj(ops, i))));
  return tn_ret_obj(ret, recast(e, m, &x));
}

static const tn_func_row rows[] = {{"relay._transform.recast", api}};

int relay_recast_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
