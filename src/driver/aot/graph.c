/* An ahead-of-time program for a host is a graph of one node, whose function is main: executors,
   libraries and commands treat it like any model. */
#include "base/alloc.h"
#include "base/error.h"
#include "driver/aot/aot.h"
#include "driver/relay_build.h"
#include "object/functions.h"

static int add_node(graph_program *g, const char *name, int nresults) {
  graph_node *n = &g->nodes[g->n++];
  *n = (graph_node){.name = name, .nresults = nresults};
  TN_GET(n->types, tn_alloc_zero((size_t)nresults + 1, sizeof *n->types));
  TN_GET(n->storage, tn_alloc_zero((size_t)nresults + 1, sizeof *n->storage));
  return 0;
}

static int add_inputs(graph_program *g, const aot_program *p) {
  const tn_arr *names = p->metadata->inputs, *types = p->metadata->input_tensor_types;
  for (int64_t i = 0; i < names->len + p->params->len; ++i) {
    bool constant = i >= names->len;
    const tn_map_entry *e = constant ? &p->params->entries[i - names->len] : NULL;
    const tn_str *name = (const tn_str *)(e ? e->key.v.obj : tn_arr_obj(names, i));
    TN_TRY(add_node(g, tn_cstr(name), 1));
    graph_node *n = &g->nodes[g->n - 1];
    n->storage[0] = (int32_t)i;
    if (!e) {
      n->types[0] = (tn_TensorType *)tn_arr_obj(types, i);
    } else {
      const DLTensor *t = tn_tensor_dl((const tn_tensor *)e->value.v.obj);
      TN_GET(n->types[0], relay_tensor_type_of(t->shape, t->ndim, t->dtype));
    }
  }
  return 0;
}

static int add_main(graph_program *g, const aot_program *p) {
  const tn_arr *types = p->metadata->output_tensor_types;
  int32_t inputs = (int32_t)g->n;
  const tn_RelayFunction *f;
  tn_str *symbol;
  TN_GET(f, driver_relay_main(p->mod));
  TN_GET(symbol, aot_symbol(tn_cstr(p->metadata->mod_name), "__tvm_main__"));
  TN_TRY(add_node(g, tn_cstr(symbol), (int)types->len));
  graph_node *n = &g->nodes[inputs];
  n->op = true;
  n->kernel = f;
  n->ninputs = inputs;
  TN_GET(n->inputs, tn_alloc_zero((size_t)inputs + 1, sizeof *n->inputs));
  TN_GET(g->heads, tn_alloc_zero((size_t)types->len + 1, sizeof *g->heads));
  for (int32_t i = 0; i < inputs; ++i) n->inputs[i] = (graph_entry){i, 0};
  for (int32_t k = 0; k < (int32_t)types->len; ++k) {
    n->types[k] = (tn_TensorType *)tn_arr_obj(types, k);
    n->storage[k] = inputs + k;
    g->heads[g->nheads++] = (graph_entry){inputs, k};
  }
  return 0;
}

tn_str *driver_aot_graph(const aot_program *p) {
  graph_program g = {0};
  TN_BUF(json);
  g.cap = p->metadata->inputs->len + p->params->len + 1;
  TN_GETP(g.nodes, tn_alloc_zero((size_t)g.cap, sizeof *g.nodes));
  int err = add_inputs(&g, p) || add_main(&g, p) || graph_json(&g, &json);
  graph_fini(&g);
  return err ? NULL : tn_scope_own(tn_str_new_n(tn_buf_cstr(&json), json.len));
}
