/* Compiled models as the commands use them: the library, an executor for it, what goes in and out.
 */
#ifndef TN_CLI_MODEL_H_
#define TN_CLI_MODEL_H_

#include "base/buf.h"
#include "runtime/graph/executor.h"

typedef struct {
  tn_module *library;   /* scope-owned */
  tn_graph_executor *x; /* belongs to a module that is scope-owned */
  tn_map *weights;      /* name -> tensor, scope-owned */
} cli_model;

/** Is it an archive in Model Library Format? */
bool cli_is_archive(const char *path);
/** Loads a library that `tenon compile` or export_library wrote, on the CPU, or an archive in Model
 *  Library Format, whose code is compiled.
 *  @param model name of a model of an archive, NULL: its only one
 *  @return 0, or -1: ValueError when it is no library or holds no model called "default" */
int cli_model_open(cli_model *m, const char *path, const char *model);
/** Is input i given by the caller, and not a weight of the model? */
bool cli_model_is_given(const cli_model *m, int32_t i);
/** Number, name, and content of input or output i. */
const char *cli_model_input(const cli_model *m, int32_t i, const tn_graph_entry **entry);
const char *cli_model_output(const cli_model *m, int32_t i, const tn_graph_entry **entry);
/** "float32[1, 3, 224, 224]" */
void cli_put_type(tn_buf *out, const tn_graph_entry *e);

#endif /* TN_CLI_MODEL_H_ */
