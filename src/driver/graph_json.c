/* The JSON that graph executors read. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "driver/graph.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "object/functions.h"

static void put_entries(const graph_entry *e, int n, tn_buf *out) {
  tn_buf_putc(out, '[');
  for (int i = 0; i < n; ++i)
    tn_buf_printf(out, "%s[%d, %d, 0]", i ? ", " : "", e[i].node, e[i].index);
  tn_buf_putc(out, ']');
}

/* Texts among the kernel's own attributes (its hash, say) are kept. */
static void put_function_attrs(const tn_RelayFunction *f, tn_buf *out) {
  for (int64_t i = 0; f && f->attrs && i < f->attrs->dict->len; ++i) {
    const tn_map_entry *e = &f->attrs->dict->entries[i];
    const tn_str *value = tn_any_is_obj(&e->value) && e->value.v.obj->type_index == TN_TI_String
                              ? (const tn_str *)e->value.v.obj
                              : NULL;
    const char *key = tn_cstr((const tn_str *)e->key.v.obj);
    if (!value) continue;
    tn_buf_puts(out, ",\n        ");
    tn_buf_quote(out, key, strlen(key));
    tn_buf_puts(out, ": ");
    tn_buf_quote(out, tn_cstr(value), tn_str_len(value));
  }
}

static void put_node(const graph_node *n, const char *name, tn_buf *out) {
  tn_buf_printf(out, "    {\n      \"op\": \"%s\",\n      \"name\": ", n->op ? "tvm_op" : "null");
  tn_buf_quote(out, name, strlen(name));
  if (n->op) {
    tn_buf_printf(
        out,
        ",\n      \"attrs\": {\n        \"num_outputs\": \"%d\",\n        \"num_inputs\": \"%d\",\n"
        "        \"flatten_data\": \"0\",\n        \"func_name\": ",
        n->nresults, n->ninputs);
    const char *function = n->join ? "__join" : n->name;
    tn_buf_quote(out, function, strlen(function));
    if (!n->join) put_function_attrs(n->kernel, out);
    tn_buf_puts(out, "\n      }");
  }
  tn_buf_puts(out, ",\n      \"inputs\": ");
  put_entries(n->inputs, n->ninputs, out);
  tn_buf_puts(out, "\n    }");
}

/* A node's name: that of its kernel, with a number when the kernel is used more than once. */
static int put_nodes(const graph_program *g, tn_buf *out) {
  tn_map *used;
  TN_GET(used, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < g->n; ++i) {
    const graph_node *n = &g->nodes[i];
    tn_any found, key = tn_any_cstr(n->nop ? "reshape_nop" : n->name);
    int64_t times = n->op && tn_map_get(used, key, &found) ? found.v.i64 : 0;
    if (n->op) TN_TRY(tn_map_set(used, key, tn_any_int(times + 1)));
    tn_str *name;
    const char *base = n->nop ? "reshape_nop" : n->name;
    TN_GET(name, times ? tn_str_fmt("%s%" PRId64, base, times) : tn_str_from(base));
    tn_buf_puts(out, i ? ",\n" : "");
    put_node(n, tn_cstr(name), out);
  }
  return 0;
}

/* "key": ["list_str", [one item for each result of each node]] */
typedef void (*put_item)(const graph_node *n, int k, tn_buf *out);

static void put_dtype(const graph_node *n, int k, tn_buf *out) {
  tn_buf_printf(out, "\"%s\"", TN_DT(n->types[k]->dtype));
}
static void put_storage(const graph_node *n, int k, tn_buf *out) {
  tn_buf_printf(out, "%d", n->storage[k]);
}
static int64_t offset_of(const graph_node *n, int k) {
  return n->place && n->place[k].join >= 0 ? n->place[k].offset : 0;
}
static void put_offset(const graph_node *n, int k, tn_buf *out) {
  tn_buf_printf(out, "%" PRId64, offset_of(n, k));
}
static void put_device(const graph_node *n, int k, tn_buf *out) {
  (void)k;
  tn_buf_printf(out, "%d", n->device ? (int)n->device->device_type_int : 0);
}
static void put_shape(const graph_node *n, int k, tn_buf *out) {
  const tn_arr *shape = n->types[k]->shape;
  tn_buf_putc(out, '[');
  for (int64_t i = 0, v; i < shape->len; ++i)
    tn_buf_printf(out, "%s%" PRId64, i ? ", " : "", tir_as_int(tn_arr_obj(shape, i), &v) ? v : 0);
  tn_buf_putc(out, ']');
}

static void put_list(const graph_program *g, const char *key, const char *kind, put_item put,
                     tn_buf *out) {
  tn_buf_printf(out, "    \"%s\": [\"%s\", [", key, kind);
  bool first = true;
  for (int64_t i = 0; i < g->n; ++i) {
    for (int k = 0; k < g->nodes[i].nresults; ++k) {
      tn_buf_puts(out, first ? "" : ", ");
      put(&g->nodes[i], k, out);
      first = false;
    }
  }
  tn_buf_puts(out, "]]");
}

static bool has_offsets(const graph_program *g) {
  for (int64_t i = 0; i < g->n; ++i)
    for (int k = 0; k < g->nodes[i].nresults; ++k)
      if (offset_of(&g->nodes[i], k)) return true;
  return false;
}

int graph_json(const graph_program *g, tn_buf *out) {
  tn_buf_puts(out, "{\n  \"nodes\": [\n");
  TN_TRY(put_nodes(g, out));
  tn_buf_puts(out, "\n  ],\n  \"arg_nodes\": [");
  bool first = true;
  for (int64_t i = 0; i < g->n; ++i) {
    if (g->nodes[i].op) continue;
    tn_buf_printf(out, "%s%" PRId64, first ? "" : ", ", i);
    first = false;
  }
  tn_buf_puts(out, "],\n  \"heads\": ");
  put_entries(g->heads, g->nheads, out);
  tn_buf_puts(out, ",\n  \"attrs\": {\n");
  put_list(g, "dltype", "list_str", put_dtype, out);
  tn_buf_puts(out, ",\n");
  if (g->n > 0 && g->nodes[0].device) {
    put_list(g, "device_index", "list_int", put_device, out);
    tn_buf_puts(out, ",\n");
  }
  put_list(g, "storage_id", "list_int", put_storage, out);
  tn_buf_puts(out, ",\n");
  if (has_offsets(g)) {
    put_list(g, "storage_offset", "list_int", put_offset, out);
    tn_buf_puts(out, ",\n");
  }
  put_list(g, "shape", "list_shape", put_shape, out);
  tn_buf_puts(out, "\n  },\n  \"node_row_ptr\": [0");
  int64_t total = 0;
  for (int64_t i = 0; i < g->n; ++i)
    tn_buf_printf(out, ", %" PRId64, total += g->nodes[i].nresults);
  tn_buf_puts(out, "]\n}");
  return tn_buf_ok(out);
}
