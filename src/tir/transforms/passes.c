/* Registers the passes and their options. */
#include "tir/tir_impl.h"
#include "tir/transforms/transforms.h"

TN_NODES_DEFINE(TIR_CONFIG_NODES, config_types)

static const ir_pass_row rows[] = {TIR_PASSES(TN_AS_PASS_ROW)};

int transforms_init(void) {
  TN_TRY(tn_type_register_table(config_types, TN_COUNT(config_types)));
  static ir_config_row options[TN_COUNT(rows)];
  int n = 0;
  for (int i = 0; i < TN_COUNT(rows); ++i) {
    if (rows[i].config) options[n++] = (ir_config_row){rows[i].name, rows[i].config, rows[i].doc};
  }
  ir_pass_functions(IR_PASS_PRIMFUNC, &tn_type_PrimFunc, NULL);
  ir_pass_around(IR_PASS_PRIMFUNC, tir_data_begin, tir_data_end);
  TN_TRY(ir_config_declare(options, n));
  return ir_pass_register("tir.transform.", rows, TN_COUNT(rows));
}
