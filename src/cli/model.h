/* Compiled models as the commands use them: the library, an executor for it, what goes in and out.
 */
#ifndef TN_CLI_MODEL_H_
#define TN_CLI_MODEL_H_

#include "base/buf.h"
#include "cli/cli.h"
#include "runtime/graph/executor.h"
#include "runtime/vm/machine.h"

typedef struct {
  tn_module *library;   /* scope-owned */
  tn_graph_executor *x; /* belongs to a module that is scope-owned; NULL: it is for the machine */
  tn_map *weights;      /* name -> tensor, scope-owned */
  /* On the virtual machine: its function "main". */
  tn_vm_machine *vm;
  const tn_vm_function *main;
  tn_graph_entry *types; /* of the inputs, then the outputs; no bits: no tensor; extents -1: open */
  tn_any *args;          /* owned, None where not set */
  tn_any result;         /* owned */
  tn_arena arena;        /* extents that --input gives */
} cli_model;

#define CLI_MODEL(name) __attribute__((cleanup(cli_model_close))) cli_model name = {0}
void cli_model_close(cli_model *m);

/** Is it an archive in Model Library Format? */
bool cli_is_archive(const char *path);
/** Loads a library that `tenon compile` or export_library wrote, for the graph executor or the
 *  virtual machine, on the CPU, or an archive in Model Library Format, whose code is compiled. The
 *  first operand names it; --model a model of an archive, --input extents that are dynamic.
 *  @return 0, or -1: ValueError when it is not a library or holds no model called "default" */
int cli_model_open(cli_model *m, const cli_args *a);
/** How many inputs (weights among them) and outputs there are. */
int32_t cli_model_ninput(const cli_model *m);
int32_t cli_model_noutput(const cli_model *m);
/** Is input i given by the caller, and not a weight of the model? */
bool cli_model_is_given(const cli_model *m, int32_t i);
/** Can input i be left out? */
bool cli_model_may_miss(const cli_model *m, int32_t i);
/** TypeError where input i is nothing that one array can be. */
int cli_model_check_input(const cli_model *m, int32_t i);
/** Number, name, and content of input or output i. */
const char *cli_model_input(const cli_model *m, int32_t i, const tn_graph_entry **entry);
const char *cli_model_output(const cli_model *m, int32_t i, const tn_graph_entry **entry);
/** The array of an input, to write to; of the machine's a new one. Owned; ValueError where an
  * extent is dynamic. */
TN_OWNED tn_tensor *cli_model_get_input(cli_model *m, int32_t i);
/** Sets an input, whose type was checked. */
int cli_model_set_input(cli_model *m, int32_t i, const tn_tensor *t);
int cli_model_run(cli_model *m);
/** An output of the last run. Owned. */
TN_OWNED tn_tensor *cli_model_get_output(const cli_model *m, int32_t i);
/** "float32[1, 3, 224, 224]", "float32[?, 10]" */
void cli_put_type(tn_buf *out, const tn_graph_entry *e);

#endif /* TN_CLI_MODEL_H_ */
