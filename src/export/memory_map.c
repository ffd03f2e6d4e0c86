/* Which memory a graph needs, from the lists of its JSON. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "export/model_library.h"
#include "object/containers.h"
#include "object/dtype.h"
#include "object/functions.h"

typedef struct {
  tn_json_at *at;
  int64_t n;
} list;

typedef struct {
  tn_json j;
  list types, storages, shapes, nodes, rows, args;
  tn_json_at *bound; /* of each value: the name of the argument that it is, or 0 */
  bool *seen;        /* of each storage */
} graph;

static void graph_free(graph *g) {
  list *lists[] = {&g->types, &g->storages, &g->shapes, &g->nodes, &g->rows, &g->args};
  for (int i = 0; i < TN_COUNT(lists); ++i) tn_free(lists[i]->at);
  tn_free(g->bound);
  tn_free(g->seen);
  tn_json_fini(&g->j);
}

static int read_list(const tn_json *j, tn_json_at array, const char *name, list *out) {
  TN_CHECK(tn_json_is(j, array, TN_JSON_ARRAY), ValueError, NULL, "graph: expected a list %s",
           name);
  TN_GET(out->at, tn_alloc_zero((size_t)tn_json_count(j, array) + 1, sizeof *out->at));
  for (tn_json_at x = tn_json_first(j, array); x; x = tn_json_after(j, array, x))
    out->at[out->n++] = x;
  return 0;
}

/* attrs.NAME is [kind, [a value for each result of a node]]. */
static int read_attr(const tn_json *j, tn_json_at attrs, const char *name, list *out) {
  tn_json_at pair = tn_json_member(j, attrs, name);
  TN_CHECK(tn_json_is(j, pair, TN_JSON_ARRAY) && tn_json_count(j, pair) == 2, ValueError, NULL,
           "graph: expected attrs.%s as a pair of a kind and a list", name);
  return read_list(j, tn_json_after(j, pair, tn_json_first(j, pair)), name, out);
}

static int read_lists(graph *g) {
  const tn_json *j = &g->j;
  tn_json_at attrs = tn_json_kind_of(j, TN_JSON_ROOT) == TN_JSON_OBJECT
                         ? tn_json_member(j, TN_JSON_ROOT, "attrs")
                         : 0;
  TN_CHECK(tn_json_is(j, attrs, TN_JSON_OBJECT), ValueError, NULL,
           "graph: expected an object with attrs");
  TN_TRY(read_attr(j, attrs, "dltype", &g->types));
  TN_TRY(read_attr(j, attrs, "storage_id", &g->storages));
  TN_TRY(read_attr(j, attrs, "shape", &g->shapes));
  TN_TRY(read_list(j, tn_json_member(j, TN_JSON_ROOT, "nodes"), "nodes", &g->nodes));
  TN_TRY(read_list(j, tn_json_member(j, TN_JSON_ROOT, "arg_nodes"), "arg_nodes", &g->args));
  tn_json_at rows = tn_json_member(j, TN_JSON_ROOT, "node_row_ptr");
  if (rows) TN_TRY(read_list(j, rows, "node_row_ptr", &g->rows));
  TN_CHECK(g->types.n == g->storages.n && g->shapes.n == g->storages.n, ValueError, NULL,
           "graph: dltype, storage_id and shape have %" PRId64 ", %" PRId64 " and %" PRId64
           " values, expected the same number",
           g->types.n, g->storages.n, g->shapes.n);
  return 0;
}

/* Without node_row_ptr every node has one result. */
static int bind_args(graph *g) {
  TN_GET(g->bound, tn_alloc_zero((size_t)g->storages.n + 1, sizeof *g->bound));
  TN_GET(g->seen, tn_alloc_zero((size_t)g->storages.n + 1, sizeof *g->seen));
  for (int64_t i = 0; i < g->args.n; ++i) {
    int64_t node, value;
    TN_CHECK(tn_json_int(&g->j, g->args.at[i], &node) && node >= 0 && node < g->nodes.n, ValueError,
             NULL, "graph: arg_nodes[%" PRId64 "] is not a node", i);
    value = node;
    if (g->rows.n)
      TN_CHECK(node < g->rows.n && tn_json_int(&g->j, g->rows.at[node], &value), ValueError, NULL,
               "graph: node_row_ptr[%" PRId64 "] is not a number", node);
    TN_CHECK(value >= 0 && value < g->storages.n, ValueError, NULL,
             "graph: the argument %" PRId64 " has no storage", node);
    tn_json_at name = tn_json_kind_of(&g->j, g->nodes.at[node]) == TN_JSON_OBJECT
                          ? tn_json_member(&g->j, g->nodes.at[node], "name")
                          : 0;
    TN_CHECK(tn_json_is(&g->j, name, TN_JSON_STRING), ValueError, NULL,
             "graph: node %" PRId64 " has no name", node);
    g->bound[value] = name;
  }
  return 0;
}

static int size_of(const graph *g, int64_t value, int64_t *bytes) {
  const tn_json *j = &g->j;
  tn_bytes_view type = {0};
  tn_json_at shape = g->shapes.at[value], dltype = g->types.at[value];
  int64_t n = 1, extent;
  tn_dtype t;
  TN_CHECK(tn_json_is(j, shape, TN_JSON_ARRAY) && tn_json_is(j, dltype, TN_JSON_STRING), ValueError,
           NULL, "graph: value %" PRId64 ": expected a shape and a dltype", value);
  for (tn_json_at x = tn_json_first(j, shape); x; x = tn_json_after(j, shape, x)) {
    bool ok = tn_json_int(j, x, &extent) && extent >= 0 && !__builtin_mul_overflow(n, extent, &n);
    TN_CHECK(ok, ValueError, NULL, "graph: the shape of value %" PRId64 " is none", value);
  }
  type = tn_json_raw(j, dltype);
  bool known = tn_dtype_parse((const char *)type.data, type.size, &t) == 0 && t.bits > 0;
  tn_error_clear();
  TN_CHECK(known, ValueError, NULL, "Exported graph contains unknown dltype %.*s", (int)type.size,
           (const char *)type.data);
  *bytes = tn_dtype_bytes(t, n);
  TN_CHECK(*bytes >= 0, ValueError, NULL, "graph: value %" PRId64 " is too large", value);
  return 0;
}

static void put_entry(const graph *g, int64_t value, int64_t storage, int64_t bytes, bool first,
                      tn_buf *out) {
  tn_buf_puts(out, first ? "\n    {" : ",\n    {");
  if (g->bound[value]) {
    tn_bytes_view name = tn_json_raw(&g->j, g->bound[value]); /* still escaped */
    tn_buf_puts(out, "\n      \"input_binding\": \"");
    tn_buf_put(out, name.data, name.size);
    tn_buf_puts(out, "\",");
  }
  tn_buf_printf(out,
                "\n      \"size_bytes\": %" PRId64 ",\n      \"storage_id\": %" PRId64 "\n    }",
                bytes, storage);
}

static int put_map(graph *g, tn_buf *out) {
  bool first = true;
  tn_buf_putc(out, '[');
  for (int64_t i = 0; i < g->storages.n; ++i) {
    int64_t storage, bytes;
    TN_CHECK(tn_json_int(&g->j, g->storages.at[i], &storage) && storage >= 0 &&
                 storage < g->storages.n,
             ValueError, NULL, "graph: storage_id[%" PRId64 "] is not a number of a storage", i);
    if (g->seen[storage]) continue;
    g->seen[storage] = true;
    TN_TRY(size_of(g, storage, &bytes));
    put_entry(g, i, storage, bytes, first, out);
    first = false;
  }
  tn_buf_puts(out, first ? "]" : "\n  ]");
  return tn_buf_ok(out);
}

int mlf_memory_map(const char *text, size_t n, tn_buf *out) {
  graph g = {0};
  int err = tn_json_parse(&g.j, text, n);
  if (!err) err = read_lists(&g);
  if (!err) err = bind_args(&g);
  if (!err) err = put_map(&g, out);
  graph_free(&g);
  return err;
}
