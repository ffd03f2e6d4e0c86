/* An ahead-of-time program for a host is a graph of one node, whose function is main: executors,
   libraries and commands treat it like any model. */
#include "base/alloc.h"
#include "base/error.h"
#include "driver/aot/aot.h"
#include "object/functions.h"

/* The node has no Relay function of its own. */
static const tn_RelayFunction no_function;

static int add_node(graph_program *g, const char *name, int nresults) {
  graph_node *n = &g->nodes[g->n++];
  *n = (graph_node){.name = name, .nresults = nresults};
  TN_GET(n->types, tn_alloc_zero((size_t)nresults + 1, sizeof *n->types));
  TN_GET(n->storage, tn_alloc_zero((size_t)nresults + 1, sizeof *n->storage));
  return 0;
}

static int add_call(graph_program *g, const graph_call *c) {
  int32_t inputs = (int32_t)c->inputs->len;
  for (int32_t i = 0; i < inputs; ++i) {
    TN_TRY(add_node(g, tn_cstr((const tn_str *)tn_arr_obj(c->inputs, i)), 1));
    g->nodes[i].types[0] = (tn_TensorType *)tn_arr_obj(c->input_types, i);
    g->nodes[i].storage[0] = i;
  }
  TN_TRY(add_node(g, c->function, (int)c->output_types->len));
  graph_node *n = &g->nodes[inputs];
  n->op = true;
  n->kernel = &no_function;
  n->ninputs = inputs;
  TN_GET(n->inputs, tn_alloc_zero((size_t)inputs + 1, sizeof *n->inputs));
  TN_GET(g->heads, tn_alloc_zero((size_t)c->output_types->len + 1, sizeof *g->heads));
  for (int32_t i = 0; i < inputs; ++i) n->inputs[i] = (graph_entry){i, 0};
  for (int32_t k = 0; k < (int32_t)c->output_types->len; ++k) {
    n->types[k] = (tn_TensorType *)tn_arr_obj(c->output_types, k);
    n->storage[k] = inputs + k;
    g->heads[g->nheads++] = (graph_entry){inputs, k};
  }
  return 0;
}

int graph_of_call(const graph_call *c, tn_buf *out) {
  graph_program g = {.cap = c->inputs->len + 1};
  TN_GET(g.nodes, tn_alloc_zero((size_t)g.cap, sizeof *g.nodes));
  int err = add_call(&g, c) || graph_json(&g, out);
  graph_fini(&g);
  return err ? -1 : 0;
}

/* Constants that main takes come behind the inputs. */
static int add_params(const tn_map *params, tn_vec *names, tn_vec *types) {
  for (int64_t i = 0; i < params->len; ++i) {
    const tn_map_entry *e = &params->entries[i];
    const DLTensor *t = tn_tensor_dl((const tn_tensor *)e->value.v.obj);
    TN_TRY(tn_vec_push(names, e->key));
    TN_TRY(tn_vec_push_obj(types, relay_tensor_type_of(t->shape, t->ndim, t->dtype)));
  }
  return 0;
}

tn_str *driver_aot_graph(const aot_program *p) {
  const tn_ExecutorCodegenMetadata *m = p->metadata;
  graph_call call = {.output_types = m->output_tensor_types};
  tn_str *symbol;
  TN_VEC(names);
  TN_VEC(types);
  TN_BUF(json);
  TN_GETP(symbol, aot_symbol(tn_cstr(m->mod_name), "__tvm_main__"));
  for (int64_t i = 0; i < m->inputs->len; ++i) {
    TN_TRYP(tn_vec_push(&names, m->inputs->items[i]));
    TN_TRYP(tn_vec_push(&types, m->input_tensor_types->items[i]));
  }
  TN_TRYP(add_params(p->params, &names, &types));
  call.function = tn_cstr(symbol);
  TN_GETP(call.inputs, tn_arr_from(&names));
  TN_GETP(call.input_types, tn_arr_from(&types));
  TN_TRYP(graph_of_call(&call, &json));
  return tn_scope_own(tn_str_new_n(tn_buf_cstr(&json), json.len));
}
