/* LabelOps: primitive functions get the attribute `hash`, the structural hash of their program, by
   which equal kernels are known. */
#include <inttypes.h>

#include "base/error.h"
#include "base/scope.h"
#include "ir/module.h"
#include "relay/transforms/transforms.h"
#include "tenon/object.h"

static tn_obj *label(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_RelayFunction *f = (const tn_RelayFunction *)post;
  uint64_t hash;
  tn_str *text;
  (void)ctx, (void)pre;
  if (!ir_attrs_flag(f->attrs, "Primitive")) return post;
  TN_TRYP(tn_hash(f, 0, &hash));
  TN_GETP(text, tn_str_fmt("%016" PRIx64, hash));
  return (tn_obj *)ir_func_with_attr((const tn_BaseFunc *)f, "hash", tn_any_obj(text));
}

tn_RelayFunction *relay_label_ops(tn_RelayFunction *f, const tn_pass_ctx *c) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayFunction, label)};
  (void)c;
  return tn_rewrite(f, cases, TN_COUNT(cases), NULL);
}
