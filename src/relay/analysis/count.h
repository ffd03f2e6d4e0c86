/* What the operators of a program are, how many there are of each, and how much they compute. */
#ifndef TN_RELAY_ANALYSIS_COUNT_H_
#define TN_RELAY_ANALYSIS_COUNT_H_

#include "relay/relay.h"

/** Parts of the language, with the numbers that programs know them by. */
typedef enum {
  RELAY_F_VAR = 0,
  RELAY_F_GLOBAL_VAR,
  RELAY_F_CONSTANT,
  RELAY_F_TUPLE,
  RELAY_F_TUPLE_GET_ITEM,
  RELAY_F_FUNCTION,
  RELAY_F_OP,
  RELAY_F_CALL,
  RELAY_F_LET,
  RELAY_F_IF,
  RELAY_F_REF_CREATE,
  RELAY_F_REF_READ,
  RELAY_F_REF_WRITE,
  RELAY_F_CONSTRUCTOR,
  RELAY_F_MATCH,
  RELAY_F_GRAPH,  /**< something is used more than once */
  RELAY_F_LET_REC /**< a function bound by let calls itself */
} relay_feature;

/** The parts of the language an expression uses: bit f for each relay_feature; -1 with an error. */
TN_API int64_t relay_features(const void *expr);
/** How often each operator is called in a module: map from name to number. */
TN_API tn_map *relay_op_freqs(const tn_IRModule *m);
/** Multiplications with addition in convolutions, dense layers and batched products. The types must
 * be known; operators of other kinds and of unknown extents count as 0. -1 with an error */
TN_API int64_t relay_mac_number(const void *expr);
/** The largest number of calls of the given operators (array of names) on any path. */
TN_API int64_t relay_count_layers(const void *expr, const tn_arr *ops);
/** The data types of all expressions, as an array of text. */
TN_API tn_arr *relay_dtypes(const void *expr);
/** Is it a constant, or a tuple of constants? */
TN_API bool relay_is_constant(const void *expr);
/** Names of parameters w in nn.dense(x, transpose(w)): array of text. */
TN_API tn_arr *relay_fc_transposes(const void *expr);
/** Call, tuple or field number `at`, operands first, as a module. NULL with IndexError. */
TN_API tn_IRModule *relay_intermediate(const tn_IRModule *m, int64_t at);
/** The primitive functions that `main` calls: map from the text of a hash to the function. */
TN_API tn_map *relay_kernels(const tn_IRModule *m);

/** The same of the operators whose values go from dequantize to quantize: those that
 * FakeQuantizationToInteger may compute with integers. */
tn_map *relay_fake_quantized_ops(const tn_IRModule *m);

/** GlobalVar of each function -> Array of the GlobalVars that it refers to, each once. Scope-owned;
 * NULL: TypeError for functions that are not Relay's. */
tn_map *relay_call_graph(const tn_IRModule *m);
/** For get_calibration_data: a module whose main gives the arguments and results of calls of
 * functions with the attribute Compiler, and a map from their GlobalVars to [first, number of
 * arguments, number of results] among these. Scope-owned; NULL: ValueError. */
tn_arr *relay_calibration(tn_IRModule *m);

#endif /* TN_RELAY_ANALYSIS_COUNT_H_ */
