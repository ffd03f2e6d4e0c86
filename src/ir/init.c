/* Start of the layer. */
#include "ir/ir_impl.h"
#include "ir/pass_impl.h"

int ir_init(void) {
  TN_TRY(ir_types_init());
  TN_TRY(ir_pass_types_init());
  TN_TRY(ir_pools_init());
  ir_imm_init();
  ir_diag_init();
  ir_functor_init();
  TN_TRY(ir_tir_ops_init());
  TN_TRY(ir_api_expr_init());
  TN_TRY(ir_api_op_init());
  TN_TRY(ir_api_types_init());
  TN_TRY(ir_api_module_init());
  TN_TRY(ir_api_registry_init());
  TN_TRY(ir_config_init());
  TN_TRY(ir_api_pass_init());
  TN_TRY(ir_names_init());
  return 0;
}
