/* Handles that are the same for a whole thread are asked for once.

     T.evaluate(T.call_extern("f", T.tvm_thread_context(ctx)))
     ->
     ctx_cache_ = ctx
     T.evaluate(T.call_extern("f", ctx_cache_))

   The value is computed at the top of the function, or of the body that a thread runs: that of a
   parallel loop and of the attributes "thread_extent" and "coproc_scope". Functions that are not
   known to be for a host, by their target, stay. */
#include "tir/device.h"
#include "tir/transforms/transforms.h"

#include "arith/analyzer.h"

/* The values of one thread: expression and variable in turns. */
typedef struct {
  tn_vec values;
} combiner;

static tn_expr *cached(combiner *x, tn_expr *value) {
  for (int64_t i = 0; i < x->values.len; i += 2)
    if (arith_same((tn_expr *)x->values.items[i].v.obj, value))
      return (tn_expr *)x->values.items[i + 1].v.obj;
  tn_Var *v = tir_var("ctx_cache_", value->dtype);
  if (!v || tn_vec_push_obj(&x->values, value) || tn_vec_push_obj(&x->values, v)) return NULL;
  return (tn_expr *)v;
}

static tn_obj *combine_call(tn_mut *m, tn_Call *op) {
  if (!tir_as_call((tn_obj *)op, TIR_OP_tvm_thread_context)) return tn_mut_children(m, op);
  TN_CHECKP(op->args->len == 1 && TN_IS(Call, tn_arr_obj(op->args, 0)), ValueError, op->span,
            "tvm_thread_context: expected a call as its argument");
  return (tn_obj *)cached(m->ctx, (tn_expr *)tn_arr_obj(op->args, 0));
}

/* A body that a thread runs. */
static tn_stmt *thread_body(tn_mut *m, tn_stmt *body) {
  combiner *x = m->ctx, outer = *x;
  x->values = (tn_vec){0};
  tn_stmt *r = tn_mut_visit(m, body);
  for (int64_t i = x->values.len; r && i > 0; i -= 2)
    r = (tn_stmt *)TN_NEW(LetStmt, .var = (tn_Var *)x->values.items[i - 1].v.obj,
                          .value = (tn_expr *)x->values.items[i - 2].v.obj, .body = r);
  tn_vec_fini(&x->values);
  *x = outer;
  return r;
}

static tn_obj *combine_attr(tn_mut *m, tn_AttrStmt *op) {
  bool thread = tn_str_eq(op->attr_key, "thread_extent") || tn_str_eq(op->attr_key, "coproc_scope");
  if (!thread) return tn_mut_children(m, op);
  tn_AttrStmt copy = *op;
  TN_GETP(copy.value, tn_mut_visit(m, op->value));
  TN_GETP(copy.body, thread_body(m, op->body));
  bool same = copy.value == op->value && copy.body == op->body;
  return same ? (tn_obj *)op : tn_node_copy(&tn_type_AttrStmt, &copy);
}

static tn_obj *combine_for(tn_mut *m, tn_For *op) {
  if (op->kind != TIR_FOR_PARALLEL) return tn_mut_children(m, op);
  tn_expr *min = tn_mut_visit(m, op->min), *extent = tn_mut_visit(m, op->extent);
  return (tn_obj *)tir_for_with(op, min, extent, thread_body(m, op->body));
}

/* Contexts are those of the host: a function for a device has none. */
static bool is_for_host(const tn_PrimFunc *f) {
  const tn_obj *host = tir_func_attr(f, "tir.is_host_func"), *target = tir_func_attr(f, "target");
  if (host) return !tir_is_zero(host);
  return target && tir_target_device_type(target) == kDLCPU;
}

tn_PrimFunc *tir_combine_context_call(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Call, combine_call), TN_CASE(For, combine_for),
                                      TN_CASE(AttrStmt, combine_attr)};
  (void)c;
  if (!is_for_host(f)) return f;
  combiner x = {0};
  TN_MUT(m, cases, &x);
  return tir_with_body(f, thread_body(&m, f->body));
}
