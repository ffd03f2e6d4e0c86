/* ONNX models for the commands. */
#ifndef TN_CLI_ONNX_H_
#define TN_CLI_ONNX_H_

#include "cli/cli.h"
#include "relay/relay.h"

/** The model that the first operand names, with the extents of the options --input; weights are
 * constants of the program. Scope-owned; NULL: what the importer says, ValueError for a wrong
 * --input */
tn_IRModule *cli_onnx_read(const cli_args *a);
/** What the options --input say: from names to arrays of numbers. Scope-owned; ValueError. */
tn_map *cli_input_shapes(const cli_args *a);
/** Does a name end like that of an ONNX model? */
bool cli_onnx_named(const char *path);
/** Tells inputs, outputs, operators and weights of a model. */
int cli_onnx_inspect(const cli_args *a);
/** Calls a global function; ValueError where this installation has none of that name. */
int cli_call(const char *name, const tn_any *args, int32_t n, tn_any *ret);

#endif /* TN_CLI_ONNX_H_ */
