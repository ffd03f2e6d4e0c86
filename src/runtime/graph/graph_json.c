/* Reads a graph from JSON (the format is in graph.h). Nothing in the text is trusted: numbers of
   items are those of tokens that are there, each index is compared with what it counts. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/pmap.h"
#include "object/dtype.h"
#include "runtime/graph/graph.h"
#include "runtime/tensor/tensor.h"

typedef struct {
  tn_graph *g;
  tn_json j;
  tn_json_at attrs;   /* of the graph */
  const int32_t *row; /* node_row_ptr: nnode + 1 numbers */
} reader;

/* A place in the graph for messages: "nodes[3].inputs". */
enum { MAX_PLACE = 96 };
#define PLACE(...) place((char[MAX_PLACE]){0}, __VA_ARGS__)
static const char *place(char out[MAX_PLACE], const char *fmt, ...) TN_PRINTF(2, 3);
static const char *place(char out[MAX_PLACE], const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(out, MAX_PLACE, fmt, ap);
  va_end(ap);
  return out;
}

#define INVALID(...) TN_RAISE(ValueError, NULL, "graph JSON: invalid format: " __VA_ARGS__)

/* An array of the arena; one of no items is not NULL. */
static void *make(reader *r, int64_t n, size_t item) {
  return tn_arena_array(&r->g->arena, n > 0 ? n : 1, item);
}

/* ---- values ---- */

static int need_array(const reader *r, tn_json_at at, const char *where) {
  if (tn_json_is(&r->j, at, TN_JSON_ARRAY)) return 0;
  return INVALID("%s: %s", where, at ? "expected a list" : "missing");
}

static int read_int(const reader *r, tn_json_at at, int64_t least, int64_t most, const char *where,
                    int64_t *out) {
  bool ok = at && tn_json_int(&r->j, at, out);
  if (!ok) return INVALID("%s: expected an integer", where);
  if (*out < least || *out > most)
    return INVALID("%s: expected %lld to %lld, got %lld", where, (long long)least, (long long)most,
                   (long long)*out);
  return 0;
}

/* Text of a string (without NUL bytes), a number or a literal, in the arena. */
static int read_text(reader *r, tn_json_at at, const char *where, const char **out) {
  TN_BUF(b);
  if (!at) return INVALID("%s: missing", where);
  if (tn_json_is(&r->j, at, TN_JSON_STRING)) {
    tn_json_text(&r->j, at, &b);
  } else {
    tn_bytes_view raw = tn_json_raw(&r->j, at);
    tn_buf_put(&b, raw.data, raw.size);
  }
  TN_TRY(tn_buf_ok(&b));
  if (b.data && memchr(b.data, 0, b.len)) return INVALID("%s: text with a NUL byte", where);
  TN_GET(*out, tn_arena_strndup(&r->g->arena, b.data ? b.data : "", b.len));
  return 0;
}

static int read_string(reader *r, tn_json_at at, const char *where, const char **out) {
  if (!tn_json_is(&r->j, at, TN_JSON_STRING))
    return INVALID("%s: %s", where, at ? "expected text" : "missing");
  return read_text(r, at, where, out);
}

/* ---- lists of one value for each entry ---- */

/* The list below `name` of the graph's attrs, checked for its length; 0 when there is none. */
static int entry_list(const reader *r, const char *name, bool needed, tn_json_at *first,
                      tn_json_at *list) {
  tn_json_at tagged = tn_json_member(&r->j, r->attrs, name);
  *first = *list = 0;
  if (!tagged && !needed) return 0;
  if (!tagged) return INVALID("attrs.%s: missing", name);
  bool pair = tn_json_is(&r->j, tagged, TN_JSON_ARRAY) && tn_json_count(&r->j, tagged) == 2;
  *list = pair ? tn_json_after(&r->j, tagged, tn_json_first(&r->j, tagged)) : 0;
  if (!tn_json_is(&r->j, *list, TN_JSON_ARRAY))
    return INVALID("attrs.%s: expected [\"list_...\", [values]]", name);
  int64_t n = tn_json_count(&r->j, *list);
  if (n != r->g->nentry)
    return INVALID("attrs.%s: expected a value for each of %d entries, got %lld", name,
                   r->g->nentry, (long long)n);
  *first = tn_json_first(&r->j, *list);
  return 0;
}

static int read_shape(reader *r, tn_json_at at, int32_t i) {
  tn_graph_entry *e = &r->g->entries[i];
  const char *where = PLACE("attrs.shape[%d]", i);
  TN_TRY(need_array(r, at, where));
  int64_t ndim = tn_json_count(&r->j, at), *shape;
  if (ndim > TN_MAX_NDIM)
    return INVALID("%s: %lld dimensions, at most %d", where, (long long)ndim, TN_MAX_NDIM);
  TN_GET(shape, make(r, ndim, sizeof *shape));
  int64_t k = 0;
  for (tn_json_at x = tn_json_first(&r->j, at); x; x = tn_json_after(&r->j, at, x), ++k)
    TN_TRY(read_int(r, x, 0, INT64_MAX, where, &shape[k]));
  e->shape = shape;
  e->ndim = (int32_t)ndim;
  return 0;
}

static int read_shapes(reader *r) {
  tn_json_at x, list;
  int32_t i = 0;
  TN_TRY(entry_list(r, "shape", true, &x, &list));
  for (; x; x = tn_json_after(&r->j, list, x), ++i) TN_TRY(read_shape(r, x, i));
  return 0;
}

static int read_dtypes(reader *r) {
  tn_json_at x, list;
  int32_t i = 0;
  TN_TRY(entry_list(r, "dltype", true, &x, &list));
  for (; x; x = tn_json_after(&r->j, list, x), ++i) {
    tn_graph_entry *e = &r->g->entries[i];
    const char *text, *where = PLACE("attrs.dltype[%d]", i);
    TN_TRY(read_string(r, x, where, &text));
    if (tn_dtype_parse(text, strlen(text), &e->dtype)) {
      tn_error_clear();
      return INVALID("%s: unknown type \"%.40s\"", where, text);
    }
    e->dtype = tn_dtype_canonical(e->dtype);
    e->nbytes = tn_shape_nbytes(PLACE("graph JSON: entry %d", i), e->shape, e->ndim, e->dtype);
    if (e->nbytes < 0) return -1;
  }
  return 0;
}

/* Storages get numbers without gaps; those in the file may be anything. */
static int read_storages(reader *r) {
  TN_PMAP(numbers);
  tn_json_at x, list;
  int32_t i = 0;
  TN_TRY(entry_list(r, "storage_id", true, &x, &list));
  for (; x; x = tn_json_after(&r->j, list, x), ++i) {
    int64_t id;
    TN_TRY(read_int(r, x, 0, INT32_MAX, PLACE("attrs.storage_id[%d]", i), &id));
    const void *key = (const void *)(uintptr_t)(id + 1);
    int64_t number = tn_pmap_get_int(&numbers, key, -1);
    if (number < 0) TN_TRY(tn_pmap_put_int(&numbers, key, number = r->g->nstorage++));
    r->g->entries[i].storage = (int32_t)number;
  }
  return 0;
}

static int read_places(reader *r) {
  tn_json_at x, list;
  int32_t i = 0;
  int64_t type;
  TN_TRY(entry_list(r, "device_index", false, &x, &list));
  for (; x; x = tn_json_after(&r->j, list, x), ++i) {
    TN_TRY(read_int(r, x, INT32_MIN, INT32_MAX, PLACE("attrs.device_index[%d]", i), &type));
    r->g->entries[i].device_type = type > 0 ? (int32_t)type : 0;
  }
  TN_TRY(entry_list(r, "storage_offset", false, &x, &list));
  for (i = 0; x; x = tn_json_after(&r->j, list, x), ++i) {
    tn_graph_entry *e = &r->g->entries[i];
    TN_TRY(
        read_int(r, x, 0, INT64_MAX - e->nbytes, PLACE("attrs.storage_offset[%d]", i), &e->offset));
  }
  TN_TRY(entry_list(r, "storage_scope", false, &x, &list));
  for (i = 0; x; x = tn_json_after(&r->j, list, x), ++i) {
    const char *scope;
    TN_TRY(read_string(r, x, PLACE("attrs.storage_scope[%d]", i), &scope));
    r->g->entries[i].scope = *scope && strcmp(scope, "global") ? scope : NULL;
  }
  return 0;
}

/* ---- nodes ---- */

/* An entry as [node, index] or [node, index, version]. @param before nodes that may be named */
static int read_entry(const reader *r, tn_json_at at, int32_t before, const char *where,
                      int32_t *out) {
  TN_TRY(need_array(r, at, where));
  int64_t n = tn_json_count(&r->j, at), node, index;
  if (n < 2) return INVALID("%s: expected [node, index, version]", where);
  tn_json_at x = tn_json_first(&r->j, at);
  TN_TRY(read_int(r, x, 0, (int64_t)before - 1, where, &node));
  x = tn_json_after(&r->j, at, x);
  TN_TRY(read_int(r, x, 0, r->row[node + 1] - r->row[node] - 1, where, &index));
  *out = (int32_t)(r->row[node] + index);
  return 0;
}

static int read_inputs(reader *r, tn_json_at at, int32_t i) {
  tn_graph_node *node = &r->g->nodes[i];
  const char *where = PLACE("nodes[%d].inputs", i);
  TN_TRY(need_array(r, at, where));
  int64_t n = tn_json_count(&r->j, at);
  int32_t *inputs, k = 0;
  TN_GET(inputs, make(r, n, sizeof *inputs));
  for (tn_json_at x = tn_json_first(&r->j, at); x; x = tn_json_after(&r->j, at, x))
    TN_TRY(read_entry(r, x, i, where, &inputs[k++]));
  node->inputs = inputs;
  node->ninput = k;
  return 0;
}

static int read_attrs(reader *r, tn_json_at at, int32_t i) {
  tn_graph_node *node = &r->g->nodes[i];
  if (!tn_json_is(&r->j, at, TN_JSON_OBJECT))
    return INVALID("nodes[%d].attrs: %s", i, at ? "expected an object" : "missing");
  tn_graph_attr *attrs;
  TN_GET(attrs, make(r, tn_json_count(&r->j, at), sizeof *attrs));
  node->attrs = attrs;
  for (tn_json_at k = tn_json_first(&r->j, at); k; k = tn_json_after(&r->j, at, k)) {
    tn_graph_attr *a = &attrs[node->nattr];
    TN_TRY(read_text(r, k, PLACE("nodes[%d].attrs", i), &a->key));
    TN_TRY(read_text(r, k + 1, PLACE("nodes[%d].attrs.%.40s", i, a->key), &a->value));
    node->nattr++;
  }
  return 0;
}

const char *tn_graph_attr_of(const tn_graph_node *node, const char *key) {
  for (int32_t i = 0; i < node->nattr; ++i) {
    if (strcmp(node->attrs[i].key, key) == 0) return node->attrs[i].value;
  }
  return NULL;
}

/* A number that is an attribute of an operator, and so a text. */
static int attr_int(const tn_graph_node *node, int32_t i, const char *key, int64_t *out) {
  const char *text = tn_graph_attr_of(node, key);
  if (!text) return INVALID("nodes[%d].attrs.%s: missing", i, key);
  if (!tn_text_int(text, strlen(text), out))
    return INVALID("nodes[%d].attrs.%s: expected a number as text, got \"%.40s\"", i, key, text);
  return 0;
}

/* What a call needs to know, from the attributes. */
static int read_operator(reader *r, int32_t i) {
  tn_graph_node *node = &r->g->nodes[i];
  int64_t ninput, noutput, flatten;
  node->func = tn_graph_attr_of(node, "func_name");
  if (!node->func) return INVALID("nodes[%d].attrs.func_name: missing", i);
  TN_TRY(attr_int(node, i, "num_inputs", &ninput) || attr_int(node, i, "num_outputs", &noutput) ||
         attr_int(node, i, "flatten_data", &flatten));
  if (ninput != node->ninput)
    return INVALID("nodes[%d] (\"%.60s\"): num_inputs is %lld, but inputs has %d", i, node->name,
                   (long long)ninput, node->ninput);
  if (noutput != node->noutput)
    return INVALID("nodes[%d] (\"%.60s\"): num_outputs is %lld, but node_row_ptr has room for %d",
                   i, node->name, (long long)noutput, node->noutput);
  node->flatten = flatten != 0;
  return 0;
}

static int read_node(reader *r, tn_json_at at, int32_t i) {
  tn_graph_node *node = &r->g->nodes[i];
  const char *op;
  if (!tn_json_is(&r->j, at, TN_JSON_OBJECT)) return INVALID("nodes[%d]: expected an object", i);
  TN_TRY(read_string(r, tn_json_member(&r->j, at, "op"), PLACE("nodes[%d].op", i), &op));
  TN_TRY(
      read_string(r, tn_json_member(&r->j, at, "name"), PLACE("nodes[%d].name", i), &node->name));
  node->first_entry = r->row[i];
  node->noutput = r->row[i + 1] - r->row[i];
  TN_TRY(read_inputs(r, tn_json_member(&r->j, at, "inputs"), i));
  if (strcmp(op, "null") == 0) {
    if (node->noutput < 1) return INVALID("node_row_ptr: input \"%.60s\" has no entry", node->name);
    return 0;
  }
  if (strcmp(op, "tvm_op") != 0)
    return INVALID("nodes[%d].op: expected \"null\" or \"tvm_op\", got \"%.40s\"", i, op);
  static const char *const names[] = {"attrs", "attr", "param"};
  tn_json_at attrs = 0;
  for (int k = 0; k < 3 && !attrs; ++k) attrs = tn_json_member(&r->j, at, names[k]);
  TN_TRY(read_attrs(r, attrs, i));
  return read_operator(r, i);
}

static int read_rows(reader *r, tn_json_at at) {
  TN_TRY(need_array(r, at, "node_row_ptr"));
  int64_t n = tn_json_count(&r->j, at), value;
  if (n != (int64_t)r->g->nnode + 1)
    return INVALID("node_row_ptr: expected %lld numbers, got %lld", (long long)r->g->nnode + 1,
                   (long long)n);
  int32_t *row, i = 0, last = 0;
  TN_GET(row, make(r, n, sizeof *row));
  for (tn_json_at x = tn_json_first(&r->j, at); x; x = tn_json_after(&r->j, at, x)) {
    TN_TRY(read_int(r, x, last, i ? INT32_MAX : 0, PLACE("node_row_ptr[%d]", i), &value));
    row[i++] = last = (int32_t)value;
  }
  r->row = row;
  r->g->nentry = last;
  return 0;
}

static int read_nodes(reader *r, tn_json_at at) {
  int32_t i = 0;
  for (tn_json_at x = tn_json_first(&r->j, at); x; x = tn_json_after(&r->j, at, x))
    TN_TRY(read_node(r, x, i++));
  return 0;
}

static int read_args(reader *r, tn_json_at at) {
  TN_TRY(need_array(r, at, "arg_nodes"));
  bool *seen;
  TN_GET(seen, make(r, r->g->nnode, sizeof *seen));
  TN_GET(r->g->args, make(r, tn_json_count(&r->j, at), sizeof *r->g->args));
  for (tn_json_at x = tn_json_first(&r->j, at); x; x = tn_json_after(&r->j, at, x)) {
    int64_t node;
    const char *where = PLACE("arg_nodes[%d]", r->g->narg);
    TN_TRY(read_int(r, x, 0, (int64_t)r->g->nnode - 1, where, &node));
    if (r->g->nodes[node].func) return INVALID("%s: node %d is not an input", where, (int)node);
    if (seen[node]) return INVALID("%s: node %d for the second time", where, (int)node);
    seen[node] = true;
    r->g->args[r->g->narg++] = (int32_t)node;
  }
  return 0;
}

static int read_heads(reader *r, tn_json_at at) {
  TN_TRY(need_array(r, at, "heads"));
  TN_GET(r->g->heads, make(r, tn_json_count(&r->j, at), sizeof *r->g->heads));
  for (tn_json_at x = tn_json_first(&r->j, at); x; x = tn_json_after(&r->j, at, x)) {
    TN_TRY(
        read_entry(r, x, r->g->nnode, PLACE("heads[%d]", r->g->nhead), &r->g->heads[r->g->nhead]));
    r->g->nhead++;
  }
  return 0;
}

static int read_graph(reader *r) {
  tn_json_at nodes = tn_json_member(&r->j, TN_JSON_ROOT, "nodes");
  if (tn_json_kind_of(&r->j, TN_JSON_ROOT) != TN_JSON_OBJECT)
    return INVALID("expected an object with nodes, arg_nodes, heads, attrs and node_row_ptr");
  TN_TRY(need_array(r, nodes, "nodes"));
  int64_t nnode = tn_json_count(&r->j, nodes);
  if (nnode >= INT32_MAX) return INVALID("nodes: too many");
  r->g->nnode = (int32_t)nnode;
  r->attrs = tn_json_member(&r->j, TN_JSON_ROOT, "attrs");
  if (!tn_json_is(&r->j, r->attrs, TN_JSON_OBJECT)) return INVALID("attrs: expected an object");
  TN_TRY(read_rows(r, tn_json_member(&r->j, TN_JSON_ROOT, "node_row_ptr")));
  /* read before anything of that size is made: there are as many shapes as entries */
  tn_json_at x, list;
  TN_TRY(entry_list(r, "shape", true, &x, &list));
  TN_GET(r->g->nodes, make(r, nnode, sizeof *r->g->nodes));
  TN_GET(r->g->entries, make(r, r->g->nentry, sizeof *r->g->entries));
  TN_TRY(read_shapes(r) || read_dtypes(r) || read_storages(r) || read_places(r));
  TN_TRY(read_nodes(r, nodes));
  TN_TRY(read_args(r, tn_json_member(&r->j, TN_JSON_ROOT, "arg_nodes")));
  return read_heads(r, tn_json_member(&r->j, TN_JSON_ROOT, "heads"));
}

int tn_graph_parse(tn_graph *out, const char *text, size_t n) {
  reader r = {.g = out};
  int err = tn_json_parse(&r.j, text, n);
  if (!err) err = read_graph(&r);
  tn_json_fini(&r.j);
  return err ? tn_trace(__FILE__, __LINE__, __func__) : 0;
}

void tn_graph_fini(tn_graph *g) {
  tn_arena_fini(&g->arena);
  *g = (tn_graph){0};
}
