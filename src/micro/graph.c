/* Running graph.json: what is counted first gets its tables, then they are filled, then values get
   memory. Every number of the text is checked before it is used. */
#include <string.h>

#include "micro/graph_impl.h"

enum { MAX_COUNT = 1 << 20 }; /* of nodes, inputs, values: no microcontroller has room for more */

void *micro_take(tn_micro_graph *g, size_t n, size_t size) {
  size_t left = g->capacity - g->used;
  if (size && n > (SIZE_MAX - TN_MICRO_ALIGN) / size) {
    g->missing = SIZE_MAX;
    return NULL;
  }
  size_t bytes = (n * size + TN_MICRO_ALIGN - 1) / TN_MICRO_ALIGN * TN_MICRO_ALIGN;
  if (bytes > left) {
    g->missing = bytes - left;
    return NULL;
  }
  void *p = g->memory + g->used;
  g->used += bytes;
  memset(p, 0, bytes);
  return p;
}

int64_t micro_value_bytes(const DLTensor *t) {
  int64_t bits = t->dtype.bits == 1 ? 8 : (int64_t)t->dtype.bits * t->dtype.lanes, n = 1;
  for (int32_t d = 0; d < t->ndim; ++d) {
    if (t->shape[d] < 0 || (t->shape[d] > 0 && n > INT32_MAX / t->shape[d])) return -1;
    n *= t->shape[d];
  }
  return bits > 0 ? (n * bits + 7) / 8 : -1;
}

/* ---- places in the text ---- */

/* Goes into member `name` of the graph, an array. */
static int open_list(const tn_micro_model *m, const char *name, micro_scan *s) {
  *s = (micro_scan){m->graph, m->graph + m->graph_bytes};
  return micro_scan_member(s, name) || micro_scan_enter(s, '[') ? -1 : 0;
}

/* Goes into the list of attrs.NAME: [kind, [...]]. */
static int open_attr(const tn_micro_model *m, const char *name, micro_scan *s) {
  *s = (micro_scan){m->graph, m->graph + m->graph_bytes};
  if (micro_scan_member(s, "attrs") || micro_scan_member(s, name) || micro_scan_enter(s, '[') ||
      micro_scan_more(s, ']') != 1 || micro_scan_skip(s) || micro_scan_more(s, ']') != 1)
    return -1;
  return micro_scan_enter(s, '[');
}

/* Elements of the array that was entered. */
static int count(micro_scan *s, int32_t *n) {
  int more;
  for (*n = 0; (more = micro_scan_more(s, ']')) > 0; ++*n)
    if (micro_scan_skip(s) || *n >= MAX_COUNT) return -1;
  return more;
}

static int count_all(tn_micro_graph *g, const tn_micro_model *m) {
  micro_scan s;
  int more;
  int32_t n;
  if (open_list(m, "heads", &s) || count(&s, &g->nhead)) return -1;
  if (open_list(m, "arg_nodes", &s) || count(&s, &g->narg)) return -1;
  if (open_attr(m, "dltype", &s) || count(&s, &g->nentry)) return -1;
  if (open_attr(m, "shape", &s)) return -1;
  for (; (more = micro_scan_more(&s, ']')) > 0; g->ndim += n)
    if (micro_scan_enter(&s, '[') || count(&s, &n) || g->ndim > MAX_COUNT) return -1;
  if (more || open_list(m, "nodes", &s)) return -1;
  for (; (more = micro_scan_more(&s, ']')) > 0; ++g->nnode, g->ninput += n) {
    micro_scan inputs = s;
    if (micro_scan_member(&inputs, "inputs") || micro_scan_enter(&inputs, '[') ||
        count(&inputs, &n) || micro_scan_skip(&s) || g->nnode >= MAX_COUNT || g->ninput > MAX_COUNT)
      return -1;
  }
  return more;
}

static int take_tables(tn_micro_graph *g) {
  size_t nodes = (size_t)g->nnode, entries = (size_t)g->nentry;
  return !(g->nodes = micro_take(g, nodes, sizeof *g->nodes)) ||
         !(g->constant = micro_take(g, nodes, 1)) ||
         !(g->values = micro_take(g, entries, sizeof *g->values)) ||
         !(g->dims = micro_take(g, (size_t)g->ndim, sizeof *g->dims)) ||
         !(g->storages = micro_take(g, entries, sizeof *g->storages)) ||
         !(g->storage_of = micro_take(g, entries, sizeof *g->storage_of)) ||
         !(g->inputs = micro_take(g, (size_t)g->ninput, sizeof *g->inputs)) ||
         !(g->heads = micro_take(g, (size_t)g->nhead, sizeof *g->heads)) ||
         !(g->args = micro_take(g, (size_t)g->narg, sizeof *g->args));
}

/* ---- values ---- */

static int parse_type(micro_text t, DLDataType *out) {
  static const struct {
    const char *name;
    uint8_t code;
  } kinds[] = {{"float", kDLFloat}, {"uint", kDLUInt}, {"int", kDLInt}};
  *out = (DLDataType){kDLUInt, 1, 1};
  if (micro_text_is(t, "bool")) return 0;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
    size_t n = strlen(kinds[k].name), bits = 0;
    if (t.len <= n || t.len > n + 2 || memcmp(t.text, kinds[k].name, n) != 0) continue;
    for (size_t i = n; i < t.len; ++i) {
      if (t.text[i] < '0' || t.text[i] > '9') return -1;
      bits = bits * 10 + (size_t)(t.text[i] - '0');
    }
    *out = (DLDataType){kinds[k].code, (uint8_t)bits, 1};
    return bits > 0 ? 0 : -1;
  }
  return -1;
}

static int read_shape(tn_micro_graph *g, micro_scan *s, DLTensor *t, int32_t *dim) {
  int more;
  t->shape = g->dims + *dim;
  if (micro_scan_enter(s, '[')) return -1;
  for (; (more = micro_scan_more(s, ']')) > 0; ++t->ndim)
    if (*dim >= g->ndim || micro_scan_int(s, &g->dims[(*dim)++])) return -1;
  return more;
}

static int read_values(tn_micro_graph *g, const tn_micro_model *m) {
  micro_scan types, shapes, storages;
  int32_t dim = 0;
  if (open_attr(m, "dltype", &types) || open_attr(m, "shape", &shapes) ||
      open_attr(m, "storage_id", &storages))
    return -1;
  for (int32_t i = 0; i < g->nentry; ++i) {
    DLTensor *t = &g->values[i];
    micro_text type;
    int64_t id;
    t->device = (DLDevice){kDLCPU, 0};
    if (micro_scan_more(&types, ']') != 1 || micro_scan_string(&types, &type) ||
        parse_type(type, &t->dtype) || micro_scan_more(&shapes, ']') != 1 ||
        read_shape(g, &shapes, t, &dim) || micro_scan_more(&storages, ']') != 1 ||
        micro_scan_int(&storages, &id) || id < 0 || id >= g->nentry)
      return -1;
    int64_t bytes = micro_value_bytes(t);
    micro_storage *s = &g->storages[id];
    if (bytes < 0 || (uint64_t)bytes > SIZE_MAX / 2) return -1;
    g->storage_of[i] = (int32_t)id;
    ++s->users;
    if ((size_t)bytes > s->bytes) s->bytes = (size_t)bytes;
  }
  return 0;
}

/* ---- nodes ---- */

/* "[node, index, version]": a value of a node before `limit`. */
static int read_entry(const tn_micro_graph *g, micro_scan *s, int32_t limit, int32_t *out) {
  int64_t node, index, version;
  if (micro_scan_enter(s, '[') || micro_scan_more(s, ']') != 1 || micro_scan_int(s, &node) ||
      micro_scan_more(s, ']') != 1 || micro_scan_int(s, &index))
    return -1;
  int more = micro_scan_more(s, ']');
  if (more < 0 || (more && (micro_scan_int(s, &version) || micro_scan_more(s, ']')))) return -1;
  if (node < 0 || node >= limit || index < 0 || index >= g->nodes[node].noutput) return -1;
  *out = g->nodes[node].first_entry + (int32_t)index;
  return 0;
}

static tn_micro_kernel find_kernel(const tn_micro_library *lib, micro_text name) {
  for (int32_t i = 0; i < lib->count; ++i)
    if (micro_text_is(name, lib->functions[i].name)) return lib->functions[i].call;
  return NULL;
}

/* A number in quotes. */
static int read_quoted(micro_scan attrs, const char *name, int64_t *out) {
  micro_text t;
  if (micro_scan_member(&attrs, name) || micro_scan_string(&attrs, &t)) return -1;
  micro_scan digits = {t.text, t.text + t.len};
  return micro_scan_int(&digits, out);
}

static tn_micro_status read_operator(tn_micro_graph *g, const tn_micro_model *m, micro_scan node,
                                     micro_node *n) {
  micro_text func;
  int64_t outputs, flatten;
  micro_scan attrs = node;
  if (micro_scan_member(&attrs, "attrs")) return TN_MICRO_BAD_GRAPH;
  micro_scan at = attrs;
  if (read_quoted(attrs, "num_outputs", &outputs) || outputs < 1 ||
      outputs > g->nentry - n->first_entry || micro_scan_member(&at, "func_name") ||
      micro_scan_string(&at, &func))
    return TN_MICRO_BAD_GRAPH;
  if (read_quoted(attrs, "flatten_data", &flatten) == 0 && flatten != 0) return TN_MICRO_BAD_GRAPH;
  n->noutput = (int32_t)outputs;
  if (micro_text_is(func, "__nop")) {
    /* a view: its value lies where the input does */
    return n->ninput == 1 && outputs == 1 &&
                   g->storage_of[n->first_entry] == g->storage_of[g->inputs[n->first_input]]
               ? TN_MICRO_OK
               : TN_MICRO_BAD_GRAPH;
  }
  n->call = find_kernel(m->library, func);
  return n->call ? TN_MICRO_OK : TN_MICRO_NO_FUNCTION;
}

static tn_micro_status read_node(tn_micro_graph *g, const tn_micro_model *m, micro_scan s,
                                 int32_t i, int32_t *input, int32_t *entry) {
  micro_node *n = &g->nodes[i];
  micro_text op;
  int more;
  micro_scan name = s, kind = s, inputs = s;
  n->first_input = *input;
  n->first_entry = *entry;
  n->noutput = 1;
  if (*entry >= g->nentry || micro_scan_member(&name, "name") ||
      micro_scan_string(&name, &n->name) || micro_scan_member(&kind, "op") ||
      micro_scan_string(&kind, &op) || micro_scan_member(&inputs, "inputs") ||
      micro_scan_enter(&inputs, '['))
    return TN_MICRO_BAD_GRAPH;
  for (; (more = micro_scan_more(&inputs, ']')) > 0; ++n->ninput, ++*input)
    if (*input >= g->ninput || read_entry(g, &inputs, i, &g->inputs[*input]))
      return TN_MICRO_BAD_GRAPH;
  if (more) return TN_MICRO_BAD_GRAPH;
  if (!micro_text_is(op, "null")) {
    tn_micro_status status = read_operator(g, m, s, n);
    if (status) return status;
  }
  *entry += n->noutput;
  if (n->ninput + n->noutput > g->most_args) g->most_args = n->ninput + n->noutput;
  return TN_MICRO_OK;
}

static tn_micro_status read_nodes(tn_micro_graph *g, const tn_micro_model *m) {
  micro_scan s;
  int32_t input = 0, entry = 0;
  if (open_list(m, "nodes", &s)) return TN_MICRO_BAD_GRAPH;
  for (int32_t i = 0; i < g->nnode; ++i) {
    if (micro_scan_more(&s, ']') != 1) return TN_MICRO_BAD_GRAPH;
    tn_micro_status status = read_node(g, m, s, i, &input, &entry);
    if (status) return status;
    if (micro_scan_skip(&s)) return TN_MICRO_BAD_GRAPH;
  }
  return entry == g->nentry ? TN_MICRO_OK : TN_MICRO_BAD_GRAPH;
}

static int read_ends(tn_micro_graph *g, const tn_micro_model *m) {
  micro_scan s;
  int64_t node;
  if (open_list(m, "heads", &s)) return -1;
  for (int32_t i = 0; i < g->nhead; ++i)
    if (micro_scan_more(&s, ']') != 1 || read_entry(g, &s, g->nnode, &g->heads[i])) return -1;
  if (open_list(m, "arg_nodes", &s)) return -1;
  for (int32_t i = 0; i < g->narg; ++i) {
    if (micro_scan_more(&s, ']') != 1 || micro_scan_int(&s, &node) || node < 0 ||
        node >= g->nnode || g->nodes[node].call)
      return -1;
    g->args[i] = (int32_t)node;
  }
  return 0;
}

/* ---- the whole ---- */

static tn_micro_status give_memory(tn_micro_graph *g) {
  for (int32_t i = 0; i < g->nentry; ++i) {
    micro_storage *s = &g->storages[g->storage_of[i]];
    if (!s->data && !(s->data = micro_take(g, s->bytes ? s->bytes : 1, 1)))
      return TN_MICRO_NO_MEMORY;
    g->values[i].data = s->data;
  }
  return TN_MICRO_OK;
}

static tn_micro_status fill(tn_micro_graph *g, const tn_micro_model *m) {
  tn_micro_status status;
  if (count_all(g, m)) return TN_MICRO_BAD_GRAPH;
  if (take_tables(g)) return TN_MICRO_NO_MEMORY;
  if (read_values(g, m)) return TN_MICRO_BAD_GRAPH;
  if ((status = read_nodes(g, m))) return status;
  if (read_ends(g, m)) return TN_MICRO_BAD_GRAPH;
  if (!(g->call_values = micro_take(g, (size_t)g->most_args, sizeof *g->call_values)) ||
      !(g->call_codes = micro_take(g, (size_t)g->most_args, sizeof *g->call_codes)))
    return TN_MICRO_NO_MEMORY;
  if ((status = micro_read_params(g, m))) return status;
  return give_memory(g);
}

tn_micro_status tn_micro_graph_init(const tn_micro_model *m, tn_micro_graph **out,
                                    size_t *missing) {
  tn_micro_graph start = {0};
  *out = NULL;
  if (missing) *missing = 0;
  if ((uintptr_t)m->memory % TN_MICRO_ALIGN) return TN_MICRO_UNALIGNED;
  start.memory = m->memory;
  start.capacity = m->memory_bytes;
  tn_micro_graph *g = micro_take(&start, 1, sizeof start);
  tn_micro_status status = TN_MICRO_NO_MEMORY;
  if (g) {
    *g = start;
    status = fill(g, m);
  }
  if (status == TN_MICRO_NO_MEMORY && missing) *missing = g ? g->missing : start.missing;
  if (!status) *out = g;
  return status;
}

size_t tn_micro_graph_bytes(const tn_micro_graph *g) { return g->used; }

DLTensor *tn_micro_graph_input(tn_micro_graph *g, const char *name) {
  for (int32_t i = 0; i < g->narg; ++i) {
    int32_t node = g->args[i];
    if (micro_text_is(g->nodes[node].name, name))
      return g->constant[node] ? NULL : &g->values[g->nodes[node].first_entry];
  }
  return NULL;
}

const DLTensor *tn_micro_graph_output(const tn_micro_graph *g, int32_t i) {
  return i >= 0 && i < g->nhead ? &g->values[g->heads[i]] : NULL;
}

tn_micro_status tn_micro_graph_run(tn_micro_graph *g) {
  micro_workspace_set(g->memory + g->used, g->capacity - g->used);
  for (int32_t i = 0; i < g->nnode; ++i) {
    const micro_node *n = &g->nodes[i];
    int32_t total = n->ninput + n->noutput, code = 0;
    TVMValue result;
    if (!n->call) continue;
    for (int32_t k = 0; k < total; ++k) {
      int32_t value =
          k < n->ninput ? g->inputs[n->first_input + k] : n->first_entry + k - n->ninput;
      g->call_values[k].v_handle = &g->values[value];
      g->call_codes[k] = kTVMDLTensorHandle;
    }
    if (n->call(g->call_values, g->call_codes, total, &result, &code, NULL))
      return TN_MICRO_KERNEL_FAILED;
  }
  return TN_MICRO_OK;
}
