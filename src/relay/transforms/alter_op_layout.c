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
#include "relay/relay_impl.h"
#include "relay/transforms/transforms.h"

static tn_obj *choose(void *ctx, relay_replace *r) {
  (void)ctx;
  return relay_call_hook(r, "FTVMAlterOpLayout", r->row ? r->row->alter : NULL,
                         tn_any_obj(r->out_type));
}

/* What the library itself puts in the place of a call on the target that is current: the answer to
   hooks of programs that leave a case to it. (operator's name, attributes, arguments, their types)
   -> expression, None: the call stays */
static int own_choice(TN_ARGS) {
  TN_NARGS("OwnLayout", 4);
  const char *name;
  tn_Op *op;
  tn_RelayCall *call;
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  TN_ARG_OPT(Attrs, attrs, 1);
  TN_ARG_ITEMS(Array(RelayExpr), inputs, 2);
  TN_ARG_ITEMS(Array(Type), types, 3);
  tn_Type *out_type;
  TN_GET(op, ir_op_get(name));
  TN_CHECK(types->len == inputs->len, ValueError, NULL,
           "%s: expected a type for each of %lld arguments, got %lld", name, (long long)inputs->len,
           (long long)types->len);
  TN_GET(out_type, relay_op_result_type(op, attrs, types, NULL)); /* checks all */
  TN_GET(call, relay_call_new((tn_obj *)op, inputs, attrs));
  relay_replace r = {
      .row = relay_op_row_of((tn_obj *)op), .call = call, .types = types, .out_type = out_type};
  if (!r.row || !r.row->alter) return 0;
  tn_obj *e;
  TN_GET(e, r.row->alter(&r));
  return e == (tn_obj *)call ? 0 : tn_ret_obj(ret, e);
}

static const tn_func_row rows[] = {{"relay._transform.OwnLayout", own_choice}};

int relay_alter_op_layout_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }

tn_RelayFunction *relay_alter_op_layout(tn_RelayFunction *f, const tn_pass_ctx *c) {
  tn_RelayFunction *typed;
  TN_GETP(typed, relay_infer_expr(f, c->mod));
  return relay_carry_layouts(typed, choose, NULL);
}
