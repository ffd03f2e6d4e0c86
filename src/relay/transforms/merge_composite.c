/* MergeComposite: what patterns match becomes a function with the attribute Composite, for code
   generators that have one kernel for it.

     nn.relu(nn.conv2d(%x, %w))
   =>
     fn (%a, %b, Composite="dnnl.conv2d_relu", PartitionedFromPattern="nn.conv2d_nn.relu_") {
       nn.relu(nn.conv2d(%a, %b))
     }(%x, %w)

   Patterns are tried in order; what one has taken is not seen by the next ones. */
#include "base/error.h"
#include "base/scope.h"
#include "relay/dataflow/pattern.h"
#include "relay/infer.h"
#include "relay/transforms/transforms.h"

static relay_expr *merge(const tn_DFPattern *pattern, relay_expr *e, tn_any name, tn_func *check) {
  tn_map *attrs;
  TN_CHECKP(pattern && TN_IS(DFPattern, pattern), TypeError, NULL,
            "MergeComposite: expected a pattern");
  TN_GETP(attrs, tn_scope_own(tn_map_new()));
  TN_TRYP(tn_map_set(attrs, tn_any_cstr("Composite"), name));
  return df_partition(pattern, e, attrs, check);
}

/* arguments: names, patterns, then a check (expression) -> bool for each */
tn_RelayFunction *relay_merge_composite(tn_RelayFunction *f, const tn_pass_ctx *c) {
  tn_arr *names, *patterns;
  TN_CHECKP(c->nargs >= 2, TypeError, NULL, "MergeComposite: expected names and patterns");
  TN_TRYP(tn_any_to_obj(&c->args[0], "Array", (tn_obj **)&names));
  TN_TRYP(tn_any_to_obj(&c->args[1], "Array", (tn_obj **)&patterns));
  TN_CHECKP(names->len == patterns->len, ValueError, NULL,
            "MergeComposite: %lld names for %lld patterns", (long long)names->len,
            (long long)patterns->len);
  TN_GETP(f, relay_infer_expr(f, c->mod));
  for (int64_t i = 0; i < patterns->len; ++i) {
    tn_func *check = NULL;
    if (c->nargs > i + 2 && tn_any_is_obj(&c->args[i + 2]))
      TN_TRYP(tn_any_to_obj(&c->args[i + 2], "runtime.PackedFunc", (tn_obj **)&check));
    TN_GETP(f, (tn_RelayFunction *)merge((const tn_DFPattern *)tn_arr_obj(patterns, i),
                                         (relay_expr *)f, names->items[i], check));
  }
  return f;
}
