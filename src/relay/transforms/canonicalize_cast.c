/* CanonicalizeCast: a cast to a wider type that several operators read is done by each of them, so
   that what lies between kernels stays narrow.

     %1 = cast(%0, dtype="int32"); (add(%1, %a), add(%1, %b))
   =>
     (add(cast(%0, dtype="int32"), %a), add(cast(%0, dtype="int32"), %b)) */
#include "base/error.h"
#include "base/pmap.h"
#include "base/scope.h"
#include "relay/infer.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/transforms/transforms.h"

/* Is the argument a cast to a wider type with several readers? */
static bool is_shared_widening(const tn_pmap *readers, const relay_expr *arg) {
  const tn_RelayCall *c = relay_as_call(arg, "cast");
  const tn_TensorType *to = c ? relay_tensor_type_of_expr(c) : NULL,
                      *from = c ? relay_tensor_type_of_expr(relay_arg(c, 0)) : NULL;
  return to && from && to->dtype.bits > from->dtype.bits && tn_pmap_get_int(readers, arg, 0) > 1;
}

/* Only what becomes part of the same kernel takes the cast in. */
static tn_obj *rewrite_call(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_RelayCall *before = (const tn_RelayCall *)pre, *c = (const tn_RelayCall *)post;
  bool any = false;
  TN_VEC(args);
  if (!relay_called_op(c) || relay_op_pattern((const tn_obj *)c->op) > RELAY_BROADCAST) return post;
  for (int64_t i = 0; i < c->args->len; ++i) {
    relay_expr *arg = relay_arg(c, i);
    if (is_shared_widening(ctx, relay_arg(before, i)) && TN_AS(RelayCall, arg)) {
      TN_GETP(arg, relay_fresh_copy(arg));
      any = true;
    }
    TN_TRYP(tn_vec_push_obj(&args, arg));
  }
  if (!any) return post;
  return relay_stands_for(relay_call_new(c->op, tn_arr_from(&args), c->attrs), pre);
}

static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, rewrite_call)};

tn_RelayFunction *relay_canonicalize_cast(tn_RelayFunction *f, const tn_pass_ctx *c) {
  TN_PMAP(readers);
  TN_GETP(f, relay_infer_expr(f, c->mod));
  TN_TRYP(relay_count_readers(f, &readers));
  return tn_rewrite(f, cases, TN_COUNT(cases), &readers);
}
