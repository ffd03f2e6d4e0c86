/* AlterOpLayout: operators work in the layouts that are fastest on the target.

     nn.conv2d(%x, %w, data_layout="NCHW", kernel_layout="OIHW")
   =>
     %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NCHW16c");
     %1 = layout_transform(%w, src_layout="OIHW", dst_layout="OIHW16i16o");
     %2 = nn.contrib_conv2d_NCHWc(%0, %1, data_layout="NCHW16c", kernel_layout="OIHW16i16o", ...);
     layout_transform(%2, src_layout="NCHW16c", dst_layout="NCHW")

   Which layouts is said by the attribute FTVMAlterOpLayout of an operator, or by its row. Weights
   that are constant are packed by the FoldConstant that follows. */
#include "base/error.h"
#include "base/scope.h"
#include "relay/infer.h"
#include "relay/layouts.h"
#include "relay/transforms/transforms.h"

static tn_obj *choose(void *ctx, relay_replace *r) {
  (void)ctx;
  return relay_call_hook(r, "FTVMAlterOpLayout", r->row ? r->row->alter : NULL,
                         tn_any_obj(r->out_type));
}

tn_RelayFunction *relay_alter_op_layout(tn_RelayFunction *f, const tn_pass_ctx *c) {
  tn_RelayFunction *typed;
  TN_GETP(typed, relay_infer_expr(f, c->mod));
  return relay_carry_layouts(typed, choose, NULL);
}
