/* tenon inspect: what goes into a compiled model and what comes out, its kernels and its memory. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/inspect.h"
#include "cli/onnx.h"
#include "object/containers.h"
#include "runtime/tensor/tensor.h"

const cli_option cli_inspect_options[] = {
    {"input", 'i', "NAME:SHAPE", "extents of an ONNX model's input; may be repeated", NULL},
    {"strict", 0, NULL, "warnings about suspicious ONNX models are errors", NULL},
    {"model", 'm', "NAME", "which model of an archive in Model Library Format (default: all)",
     NULL},
    {"compiler", 'c', "COMMAND",
     "of an archive: what its code takes when this makes it, as \"arm-none-eabi-gcc -Os -mthumb "
     "-mcpu=cortex-m4\"",
     NULL},
    {"json", 0, NULL, "as JSON; of an archive its metadata.json", NULL},
    {0},
};

typedef const char *(*value_fn)(const cli_model *m, int32_t i, const tn_graph_entry **entry);

static void put_value(tn_buf *b, bool json, const char *name, const tn_graph_entry *e) {
  if (!json) {
    tn_buf_printf(b, "  %s: ", name);
    cli_put_type(b, e);
    tn_buf_putc(b, '\n');
    return;
  }
  TN_BUF(type);
  cli_put_type(&type, e);
  tn_buf_puts(b, "{\"name\": ");
  tn_buf_quote(b, name, strlen(name));
  tn_buf_puts(b, ", \"type\": ");
  tn_buf_quote(b, tn_buf_cstr(&type), type.len);
  tn_buf_puts(b, "}");
}

/* A list of inputs (those that are not weights) or outputs. */
static void put_values(tn_buf *b, bool json, const cli_model *m, bool inputs) {
  const char *what = inputs ? "inputs" : "outputs", *comma = "";
  value_fn get = inputs ? cli_model_input : cli_model_output;
  tn_buf_printf(b, json ? "\"%s\": [" : "%s\n", what);
  for (int32_t i = 0; i < (inputs ? cli_model_ninput(m) : cli_model_noutput(m)); ++i) {
    const tn_graph_entry *e;
    const char *name = get(m, i, &e);
    if (inputs && !cli_model_is_given(m, i)) continue;
    if (json) tn_buf_puts(b, comma);
    put_value(b, json, name, e);
    comma = ", ";
  }
  if (json) tn_buf_puts(b, "], ");
}

/* Name of kernel i, NULL where the node is none; views, joins and moves to a device have no code.
 */
static const char *kernel_at(const cli_model *m, int64_t i) {
  if (!m->x) return m->vm->x->prims[i];
  static const char *const none[] = {"__nop", "__join", "__copy"};
  const char *name = m->x->g.nodes[i].func;
  for (int k = 0; name && k < TN_COUNT(none); ++k)
    if (strcmp(name, none[k]) == 0) return NULL;
  return name;
}

static void put_kernels(tn_buf *b, bool json, const cli_model *m) {
  const char *comma = "";
  int64_t n = m->x ? m->x->g.nnode : m->vm->x->nprim;
  tn_buf_puts(b, json ? "\"kernels\": [" : "kernels\n");
  for (int64_t i = 0; i < n; ++i) {
    const char *name = kernel_at(m, i);
    if (!name) continue;
    if (json) {
      tn_buf_puts(b, comma);
      tn_buf_quote(b, name, strlen(name));
    } else tn_buf_printf(b, "  %s\n", name);
    comma = ", ";
  }
  if (json) tn_buf_puts(b, "], ");
}

static int64_t bytes_of_weights(const cli_model *m) {
  int64_t sum = 0;
  for (int64_t i = 0; !m->x && i < m->vm->x->nconst; ++i)
    if (m->vm->x->consts[i].value) sum += tn_tensor_nbytes(&m->vm->x->consts[i].value->dl);
  if (!m->x) return sum;
  for (int32_t i = 0; i < m->x->g.narg; ++i) {
    const tn_graph_entry *e;
    cli_model_input(m, i, &e);
    if (!cli_model_is_given(m, i)) sum += e->nbytes;
  }
  return sum;
}

/* Memory of the blocks that functions write to. */
static int64_t bytes_of_workspace(const cli_model *m) {
  int64_t sum = 0;
  for (int32_t i = 0; i < m->x->g.nstorage; ++i)
    if (m->x->storages[i].written) sum += m->x->storages[i].nbytes;
  return sum;
}

/* What the machine needs besides the weights depends on its inputs. */
static void put_memory(tn_buf *b, bool json, const cli_model *m) {
  if (m->x) cli_inspect_memory(b, json, m);
  tn_buf_printf(b, json ? "\"weights_bytes\": %lld" : "weights    %lld bytes\n",
                (long long)bytes_of_weights(m));
  if (m->x)
    tn_buf_printf(b, json ? ", \"workspace_bytes\": %lld" : "workspace  %lld bytes\n",
                  (long long)bytes_of_workspace(m));
  tn_buf_printf(b, json ? ", \"executor\": \"%s\"}\n" : "executor   %s\n", m->x ? "graph" : "vm");
}

int cli_inspect(const cli_args *a) {
  CLI_MODEL(m);
  TN_BUF(b);
  bool json = cli_has(a, "json");
  if (cli_onnx_named(a->operands[0])) return cli_onnx_inspect(a);
  if (cli_is_archive(a->operands[0])) return cli_archive_inspect(a);
  TN_CHECK(!cli_has(a, "input"), ValueError, NULL,
           "tenon inspect: --input is for ONNX models: a library says its own shapes");
  TN_TRY(cli_model_open(&m, a));
  if (json) tn_buf_putc(&b, '{');
  put_values(&b, json, &m, true);
  put_values(&b, json, &m, false);
  put_kernels(&b, json, &m);
  put_memory(&b, json, &m);
  TN_TRY(tn_buf_ok(&b));
  fputs(tn_buf_cstr(&b), stdout);
  return 0;
}
