/* SplitArgs(max_function_args): a concatenate of more tensors than a kernel may have arguments
   becomes several, which are not fused again.

     concatenate((%a, %b, %c), axis=1)           at most 2
   =>
     %0 = annotation.stop_fusion(concatenate((%a, %b), axis=1));
     annotation.stop_fusion(concatenate((%0, %c), axis=1)) */
#include "base/error.h"
#include "base/scope.h"
#include "relay/transforms/make.h"
#include "relay/transforms/transforms.h"

static void *stop(void *e) { return e ? relay_call("annotation.stop_fusion", NULL, 1, e) : NULL; }

/* `n` of the parts at a time. */
static tn_arr *join(const tn_arr *parts, int64_t n, int64_t axis) {
  TN_VEC(joined);
  for (int64_t i = 0; i < parts->len; i += n) {
    TN_VEC(some);
    for (int64_t k = i; k < parts->len && k < i + n; ++k)
      TN_TRYP(tn_vec_push(&some, parts->items[k]));
    void *one =
        some.len == 1 ? some.items[0].v.obj : stop(relay_concatenate(tn_arr_from(&some), axis));
    TN_TRYP(tn_vec_push_obj(&joined, one));
  }
  return tn_arr_from(&joined);
}

static tn_obj *split(void *ctx, tn_obj *pre, tn_obj *post) {
  int64_t most = *(const int64_t *)ctx;
  const tn_RelayCall *c = relay_as_call(post, "concatenate");
  const tn_RelayTuple *t = c ? TN_AS(RelayTuple, relay_arg(c, 0)) : NULL;
  if (!t || t->fields->len <= most) return post;
  const tn_arr *parts = t->fields;
  int64_t axis = relay_attr_int(c->attrs, "axis", 0);
  while (parts->len > most) TN_GETP(parts, join(parts, most, axis));
  tn_arr *rest;
  TN_GETP(rest, tn_scope_own(tn_arr_new(parts->items, parts->len)));
  return relay_stands_for(stop(relay_concatenate(rest, axis)), pre);
}

/* argument: most arguments of a kernel; below 2: any number */
tn_RelayFunction *relay_split_args(tn_RelayFunction *f, const tn_pass_ctx *c) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, split)};
  int64_t most = -1;
  if (c->nargs > 0) TN_TRYP(tn_any_to_int(&c->args[0], &most));
  return most < 2 ? f : tn_rewrite(f, cases, TN_COUNT(cases), &most);
}
