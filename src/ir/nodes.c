/* Type descriptions of the layer's nodes, and the hooks that belong to no other file. */
#include "ir/ir_impl.h"

const tn_type_hooks ir_env_func_hooks = {.global_name = ir_env_func_name,
                                         .from_global_name = ir_env_func_from_name};
const tn_type_hooks ir_op_hooks = {.global_name = ir_op_name, .from_global_name = ir_op_from_name};
const tn_type_hooks ir_source_name_hooks = {.global_name = ir_source_name_text,
                                            .from_global_name = ir_source_name_from_text};
const tn_type_hooks ir_module_hooks = {.init = ir_module_check};

TN_NODES_DEFINE(TN_IR_NODES, ir_types)
TN_NODES_DEFINE(TN_EXPR_NODES, expr_types)

int ir_types_init(void) {
  TN_TRY(tn_type_register_table(ir_types, TN_COUNT(ir_types)));
  TN_TRY(tn_type_register_table(expr_types, TN_COUNT(expr_types)));
  return 0;
}
