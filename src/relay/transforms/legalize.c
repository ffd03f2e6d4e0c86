/* Legalize: calls become what the target computes better, or at all.

     nn.conv2d_transpose(%x, %w, strides=[2, 2])
   =>
     nn.depth_to_space(nn.conv2d(%x, %w2), block_size=2)

   What takes a call's place is said by an attribute of its operator (FTVMLegalize, or the one that
   the pass is given), else by the row of the operator. Quantized operators are those of
   CanonicalizeOps of qnn, which runs before (attribute FTVMQnnCanonicalize). RelaxPrecision is the
   same for what becomes less exact (`relax` of the row):

     nn.dense(%x, %w)
   =>
     nn.dense(cast(%x, "bfloat16"), cast(%w, "bfloat16"), out_dtype="float32")
 */
#include "base/error.h"
#include "base/scope.h"
#include "relay/infer.h"
#include "relay/layouts.h"
#include "relay/transforms/transforms.h"

static const char default_key[] = "FTVMLegalize", qnn_key[] = "FTVMQnnCanonicalize",
                  relax_key[] = "FTenonRelaxPrecision";

/* The row's hook that answers for the attribute; NULL: none. */
static relay_replace_fn hook_of(const relay_op_row *row, const char *key) {
  if (!row) return NULL;
  if (strcmp(key, relax_key) == 0) return row->relax;
  const char *own = strncmp(row->name, "qnn.", 4) == 0 ? qnn_key : default_key;
  return strcmp(key, own) == 0 ? row->legalize : NULL;
}

/* A hook in another language: (attributes, arguments, types of these and of the result) ->
   expression or None. */
static tn_obj *call_function(tn_func *f, const relay_replace *r, const char *key) {
  TN_VEC(types);
  tn_any ret;
  tn_arr *all;
  const tn_RelayCall *call = r->call;
  for (int64_t i = 0; i < r->types->len; ++i) TN_TRYP(tn_vec_push(&types, r->types->items[i]));
  TN_TRYP(tn_vec_push_obj(&types, r->out_type));
  TN_GETP(all, tn_arr_from(&types));
  tn_any args[] = {tn_any_obj(call->attrs), tn_any_obj(call->args), tn_any_obj(all)};
  TN_TRYP(tn_func_call(f, args, 3, &ret));
  tn_obj *e = tn_any_is_obj(&ret) ? tn_scope_own(ret.v.obj) : NULL;
  TN_CHECKP(!e || TN_IS(RelayExpr, e), TypeError, NULL, "%s of %s: expected an expression, got %s",
            key, tn_cstr(TN_AS(Op, call->op)->name), tn_obj_key(e));
  return e ? e : relay_leave(r);
}

/* ctx: the attribute */
static tn_obj *legalize(void *ctx, tn_obj *pre, tn_obj *post) {
  const char *key = ctx;
  const tn_RelayCall *before = (const tn_RelayCall *)pre;
  const tn_Op *op = TN_AS(Op, before->op);
  tn_any found;
  TN_VEC(types);
  if (!op || !relay_type_of(pre)) return post;
  const relay_op_row *row = relay_op_row_of((const tn_obj *)op);
  bool own = ir_op_attr(op, key, &found) && tn_any_is_obj(&found);
  relay_replace_fn hook = hook_of(row, key);
  if (!own && !hook) return post;
  relay_replace r = {
      .row = row, .call = (const tn_RelayCall *)post, .out_type = relay_type_of(pre)};
  for (int64_t i = 0; i < before->args->len; ++i)
    TN_TRYP(tn_vec_push_obj(&types, relay_type_of(relay_arg(before, i))));
  TN_GETP(r.types, tn_arr_from(&types));
  tn_func *f = own ? TN_AS(Function, found.v.obj) : NULL;
  TN_CHECKP(f || !own, TypeError, NULL, "%s of %s is not a function", key, tn_cstr(op->name));
  tn_obj *e = f ? call_function(f, &r, key) : hook(&r);
  if (e) return e;
  tn_error_note("in operator %s", tn_cstr(op->name));
  return tn_error_at((const tn_obj *)before->span), NULL;
}

static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, legalize)};

static tn_RelayFunction *legalized(tn_RelayFunction *f, const tn_pass_ctx *c, const char *key) {
  TN_GETP(f, relay_infer_expr(f, c->mod));
  return tn_rewrite(f, cases, TN_COUNT(cases), (void *)(uintptr_t)key);
}

/* argument: the attribute */
tn_RelayFunction *relay_legalize(tn_RelayFunction *f, const tn_pass_ctx *c) {
  const char *key = default_key;
  if (c->nargs > 0 && c->args[0].type_index != TN_NONE) TN_TRYP(tn_any_to_cstr(&c->args[0], &key));
  return legalized(f, c, key);
}

tn_RelayFunction *relay_relax_precision(tn_RelayFunction *f, const tn_pass_ctx *c) {
  return legalized(f, c, relax_key);
}

tn_RelayFunction *relay_qnn_canonicalize(tn_RelayFunction *f, const tn_pass_ctx *c) {
  return legalized(f, c, qnn_key);
}
