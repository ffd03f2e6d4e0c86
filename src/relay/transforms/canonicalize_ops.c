/* CanonicalizeOps: operators that others can say become these, so that passes and kernels see less.

     nn.bias_add(%x, %b, axis=1) -> add(%x, expand_dims(%b, axis=1, num_newaxis=2)) */
#include "base/error.h"
#include "base/scope.h"
#include "relay/infer.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/replace.h"
#include "relay/transforms/transforms.h"

static tn_obj *rewrite_call(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)ctx;
  const tn_RelayCall *c = relay_as_call(post, "nn.bias_add");
  const tn_TensorType *t = relay_tensor_type_of_expr(pre);
  if (!c || !t) return relay_stands_for(post, pre);
  int64_t axis = relay_attr_int(c->attrs, "axis", 1);
  if (axis < 0) axis += t->shape->len;
  void *bias = relay_spread(relay_arg(c, 1), t->shape->len - axis - 1);
  void *sum = bias ? relay_binary("add", relay_arg(c, 0), bias) : NULL;
  return relay_replaced("CanonicalizeOps", sum, post, pre);
}

static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, rewrite_call)};

tn_RelayFunction *relay_canonicalize_ops(tn_RelayFunction *f, const tn_pass_ctx *c) {
  TN_GETP(f, relay_infer_expr(f, c->mod));
  return tn_rewrite(f, cases, TN_COUNT(cases), NULL);
}
