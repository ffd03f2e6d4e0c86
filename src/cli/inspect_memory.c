/* tenon inspect: which values lie in which storage of the executor's memory. */
#include <string.h>

#include "cli/inspect.h"

static const char *kind_of(const cli_model *m, const tn_graph_storage *s, const tn_graph_node *n) {
  tn_any found;
  if (s->written) return "workspace";
  return tn_map_get(m->weights, tn_any_cstr(n->name), &found) ? "weight" : "input";
}

static void put_value(tn_buf *b, bool json, bool first, const char *name, const tn_graph_entry *e) {
  TN_BUF(type);
  cli_put_type(&type, e);
  if (!json) {
    tn_buf_printf(b, "    %s: %s\n", name, tn_buf_cstr(&type));
    return;
  }
  tn_buf_printf(b, "%s{\"name\": ", first ? "" : ", ");
  tn_buf_quote(b, name, strlen(name));
  tn_buf_puts(b, ", \"type\": ");
  tn_buf_quote(b, tn_buf_cstr(&type), type.len);
  tn_buf_puts(b, "}");
}

/* The storage with its values in the order in which they are made; output k of a node with several
   is "name:k". */
static void put_storage(tn_buf *b, bool json, const cli_model *m, int32_t id) {
  const tn_graph *g = &m->x->g;
  const tn_graph_storage *s = &m->x->storages[id];
  bool first = true;
  for (int32_t i = 0; i < g->nnode; ++i) {
    const tn_graph_node *n = &g->nodes[i];
    for (int32_t k = 0; k < n->noutput; ++k) {
      const tn_graph_entry *e = &g->entries[n->first_entry + k];
      TN_BUF(name);
      if (e->storage != id) continue;
      if (first)
        tn_buf_printf(b,
                      json ? "%s{\"id\": %d, \"bytes\": %lld, \"kind\": \"%s\", \"values\": ["
                           : "%s  %d: %lld bytes, %s\n",
                      json && id ? ", " : "", id, (long long)s->nbytes, kind_of(m, s, n));
      tn_buf_puts(&name, n->name);
      if (n->noutput > 1) tn_buf_printf(&name, ":%d", k);
      put_value(b, json, first, tn_buf_cstr(&name), e);
      first = false;
    }
  }
  if (json && !first) tn_buf_puts(b, "]}");
}

void cli_inspect_memory(tn_buf *b, bool json, const cli_model *m) {
  tn_buf_puts(b, json ? "\"storages\": [" : "storages\n");
  for (int32_t id = 0; id < m->x->g.nstorage; ++id) put_storage(b, json, m, id);
  if (json) tn_buf_puts(b, "], ");
}
