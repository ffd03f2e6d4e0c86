/* The table of passes over Relay programs. */
#include "base/error.h"
#include "ir/module.h"
#include "relay/infer.h"
#include "relay/relay_impl.h"
#include "relay/transforms/float_rules.h"
#include "relay/transforms/transforms.h"

static const ir_pass_row rows[] = {RELAY_PASSES(TN_AS_PASS_ROW)};

/* Functions that are kernels, or that a code generator of its own gets, are nothing for these
 * passes. */
static bool skip(const tn_BaseFunc *f) {
  tn_any found;
  return ir_attrs_flag(f->attrs, "Primitive") || ir_attrs_flag(f->attrs, "SkipOptimization") ||
         ir_attrs_get(f->attrs, "Compiler", &found);
}

tn_IRModule *relay_run_pass(const char *name, tn_IRModule *m, tn_PassContext *ctx) {
  const ir_pass_row *row;
  tn_Pass *pass;
  TN_GETP(row, ir_pass_named(name));
  TN_GETP(pass, ir_pass_new(row, NULL, 0));
  return ir_pass_run(pass, m, ctx);
}

int relay_transforms_init(void) {
  ir_pass_functions(IR_PASS_RELAYFUNC, &tn_type_RelayFunction, skip);
  ir_pass_finished(IR_PASS_RELAYFUNC, relay_infer_module);
  ir_pass_finished(IR_PASS_RELAYMODULE, relay_infer_module);
  TN_TRY(relay_gradient_init());
  TN_TRY(relay_convert_layout_init());
  TN_TRY(relay_alter_op_layout_init());
  TN_TRY(relay_to_cps_init());
  TN_TRY(relay_recast_init());
  TN_TRY(relay_float_rules_init());
  return ir_pass_register("relay._transform.", rows, TN_COUNT(rows));
}
