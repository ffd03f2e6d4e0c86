/* The nodes of a graph program, from a function in which kernels are primitive functions. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/pmap.h"
#include "driver/external.h"
#include "driver/graph.h"
#include "driver/kernel_names.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "object/functions.h"
#include "relay/type_text.h"
#include "tenon/object.h"

/* The results of an expression, flat: those of the fields of a tuple one after another. */
typedef struct {
  graph_entry *items;
  int64_t n;
} entries;

typedef struct {
  graph_program *g;
  const device_plan *plan;
  tn_pmap values; /* expression, or id of a variable -> entries */
  kernel_names names;
  const char *executor;
} maker;

static entries *new_entries(int64_t n) {
  entries *v = tn_alloc(tn_array_bytes(sizeof *v, n, sizeof *v->items));
  if (!v) return NULL;
  v->items = (graph_entry *)(void *)(v + 1);
  v->n = n;
  return v;
}

static const entries *entries_of(const maker *m, const void *expr) {
  const tn_RelayVar *v = TN_AS(RelayVar, expr);
  return tn_pmap_get(&m->values, v ? (const void *)v->vid : expr);
}

static const entries *need(const maker *m, const void *expr) {
  const entries *e = entries_of(m, expr);
  if (e) return e;
  const relay_expr *x = expr;
  return TN_RAISEP(
      ValueError, x->span,
      "the graph executor cannot run %s: it takes static programs without control flow; "
      "use relay.vm.compile",
      tn_obj_key(x));
}

/* ---- nodes ---- */

/* What an expression is called in messages: an operator, the last one of a kernel, or the kind of
   node. */
static const char *word_for(const void *expr) {
  const tn_RelayCall *c = TN_AS(RelayCall, expr);
  const tn_RelayFunction *f = c ? TN_AS(RelayFunction, c->op) : NULL;
  const char *op = relay_called_op(f ? f->body : expr);
  const tn_RelayVar *v = TN_AS(RelayVar, expr);
  if (v) return tn_cstr(v->vid->name_hint);
  return op ? op : tn_obj_key(expr);
}

/* @param expr what has the type */
static int flat_types(const maker *m, const tn_Type *t, const void *expr, tn_vec *out) {
  const tn_TupleType *tuple = TN_AS(TupleType, t);
  for (int64_t i = 0; tuple && i < tuple->fields->len; ++i)
    TN_TRY(flat_types(m, (const tn_Type *)tn_arr_obj(tuple->fields, i), expr, out));
  if (tuple) return 0;
  TN_CHECK(t && TN_AS(TensorType, t) && relay_is_static(t), ValueError,
           ((const relay_expr *)expr)->span,
           "%s only supports static graphs, got output type %s of %s", m->executor,
           t ? relay_type_text(t) : "unknown", word_for(expr));
  return tn_vec_push_obj(out, t);
}

/* @param expr what the node computes, for its device */
static graph_node *add_node(maker *m, const char *name, const tn_Type *type, const void *expr) {
  graph_program *g = m->g;
  TN_VEC(types);
  TN_TRYP(flat_types(m, type, expr, &types));
  TN_GROW(g->nodes, g->cap, g->n + 1, return NULL);
  graph_node *n = &g->nodes[g->n];
  *n = (graph_node){.name = name, .nresults = (int)types.len};
  if (m->plan) n->device = device_of(m->plan, expr);
  ++g->n;
  n->types = tn_alloc_zero((size_t)types.len + 1, sizeof *n->types);
  n->storage = tn_alloc_zero((size_t)types.len + 1, sizeof *n->storage);
  if (!n->types || !n->storage) return NULL;
  for (int64_t i = 0; i < types.len; ++i) n->types[i] = (tn_TensorType *)types.items[i].v.obj;
  return n;
}

/* The results of the node made last stand for an expression. */
static int set_results(maker *m, const void *key) {
  int64_t n = m->g->nodes[m->g->n - 1].nresults;
  entries *v = new_entries(n);
  if (!v) return -1;
  for (int64_t i = 0; i < n; ++i) v->items[i] = (graph_entry){(int32_t)m->g->n - 1, (int32_t)i};
  if (tn_pmap_put(&m->values, key, v) == 0) return 0;
  tn_free(v);
  return -1;
}

static int add_input(maker *m, const tn_RelayVar *v) {
  const tn_Type *type = relay_type_of(v);
  if (!type) type = v->type_annotation;
  TN_CHECK(TN_AS(TensorType, type), ValueError, v->span,
           "input %s: the graph executor takes tensors, got %s", tn_cstr(v->vid->name_hint),
           type ? tn_obj_key(type) : "an unknown type");
  const char *name;
  graph_node *n;
  TN_GET(name, kernel_names_unique(&m->names, tn_cstr(v->vid->name_hint)));
  TN_GET(n, add_node(m, name, type, v));
  return set_results(m, v->vid);
}

static int add_constant(maker *m, const tn_Constant *c) {
  tn_str *name = NULL;
  tn_any used;
  const DLTensor *t = tn_tensor_dl(c->data);
  for (int64_t i = m->g->params->len; !name || tn_map_get(m->names.taken, tn_any_obj(name), &used);
       ++i)
    TN_GET(name, tn_str_fmt("p%" PRId64, i));
  TN_TRY(tn_map_set(m->names.taken, tn_any_obj(name), tn_any_int(1)));
  TN_TRY(tn_map_set(m->g->params, tn_any_obj(name), tn_any_obj(c->data)));
  graph_node *n;
  const tn_Type *type = relay_type_of(c);
  if (!type) TN_GET(type, (tn_Type *)relay_tensor_type_of(t->shape, t->ndim, t->dtype));
  TN_GET(n, add_node(m, tn_cstr(name), type, c));
  return set_results(m, c);
}

static int put(maker *m, const void *key, entries *v) {
  if (tn_pmap_put(&m->values, key, v) == 0) return 0;
  tn_free(v);
  return -1;
}

/* ---- kernels ---- */

static tn_target *target_of(const maker *m, const void *expr) {
  const tn_VirtualDevice *d = m->plan ? device_of(m->plan, expr) : NULL;
  return d ? d->target : NULL;
}

/* @param first argument that is a tensor or a tuple of such */
static int set_inputs(maker *m, const tn_RelayCall *c, int64_t first, int64_t node) {
  int64_t total = 0, at = 0;
  for (int64_t i = first; i < c->args->len; ++i) {
    const entries *e;
    TN_GET(e, need(m, tn_arr_obj(c->args, i)));
    total += e->n;
  }
  graph_node *n = &m->g->nodes[node];
  n->inputs = tn_alloc_zero((size_t)total + 1, sizeof *n->inputs);
  if (!n->inputs) return -1;
  n->ninputs = (int)total;
  for (int64_t i = first; i < c->args->len; ++i) {
    const entries *e = entries_of(m, tn_arr_obj(c->args, i));
    for (int64_t k = 0; k < e->n; ++k) n->inputs[at++] = e->items[k];
  }
  return 0;
}

/* Its argument, on the same device. */
static int add_annotation(maker *m, const tn_RelayCall *c) {
  const entries *of;
  TN_GET(of, need(m, relay_arg(c, 0)));
  entries *v = new_entries(of->n);
  if (!v) return -1;
  memcpy(v->items, of->items, (size_t)of->n * sizeof *v->items);
  return put(m, c, v);
}

/* A node for each tensor. */
static int add_copies(maker *m, const tn_RelayCall *c) {
  const entries *of;
  TN_VEC(types);
  TN_GET(of, need(m, relay_arg(c, 0)));
  TN_TRY(flat_types(m, relay_type_of(c), c, &types));
  entries *v = new_entries(of->n);
  if (!v || put(m, c, v)) return -1;
  for (int64_t i = 0; i < of->n && i < types.len; ++i) {
    graph_node *n;
    TN_GET(n, add_node(m, "__copy", (const tn_Type *)types.items[i].v.obj, c));
    n->op = true;
    TN_GET(n->inputs, tn_alloc_zero(1, sizeof *n->inputs));
    n->ninputs = 1;
    n->inputs[0] = of->items[i];
    v->items[i] = (graph_entry){(int32_t)m->g->n - 1, 0};
  }
  return 0;
}

/* A call of a function that is a kernel by its name: call_lowered(@f, (%a, %b)). */
static int add_lowered(maker *m, const tn_RelayCall *c) {
  static const tn_RelayFunction elsewhere; /* it has no Relay function of its own */
  const tn_GlobalVar *v = TN_AS(GlobalVar, relay_arg(c, 0));
  graph_node *n;
  TN_CHECK(v, ValueError, c->span, "call_lowered: expected a function of the module, got %s",
           tn_obj_key(relay_arg(c, 0)));
  TN_GET(n, add_node(m, tn_cstr(v->name_hint), relay_type_of(c), c));
  n->op = true;
  n->kernel = &elsewhere;
  TN_TRY(set_inputs(m, c, 1, m->g->n - 1));
  return set_results(m, c);
}

static int add_call(maker *m, const tn_RelayCall *c) {
  const tn_RelayFunction *f = TN_AS(RelayFunction, c->op);
  if (relay_as_call(c, "call_lowered")) return add_lowered(m, c);
  if (relay_as_call(c, "on_device")) return add_annotation(m, c);
  if (relay_as_call(c, "device_copy")) return add_copies(m, c);
  const char *own = TN_AS(Op, c->op) ? tn_cstr(((const tn_Op *)c->op)->name) : "";
  bool values = strncmp(own, "value.", 6) == 0 || strncmp(own, "sequence.", 9) == 0;
  TN_CHECK(!values, ValueError, c->span,
           "the graph executor cannot run %s: sequences, optional values and tensors of any rank "
           "are for the virtual machine; use relay.vm.compile",
           own);
  bool kernel = f && (ir_attrs_flag(f->attrs, "Primitive") || external_is(f));
  TN_CHECK(
      kernel || !TN_AS(Op, c->op), ValueError, c->span,
      "%s is called outside of a kernel: FuseOps makes kernels, which a build cannot leave out",
      own);
  TN_CHECK(kernel, ValueError, c->span,
           "the graph executor cannot run a call of %s: it takes static programs without control "
           "flow; use relay.vm.compile",
           tn_obj_key(c->op));
  bool nop = ir_attrs_flag(f->attrs, "relay.reshape_only");
  const char *name = "__nop";
  graph_node *n;
  if (!nop) TN_GET(name, kernel_names_of(&m->names, f, target_of(m, c)));
  TN_GET(n, add_node(m, name, relay_type_of(c), c));
  n->op = true;
  n->kernel = f;
  n->nop = nop;
  TN_TRY(set_inputs(m, c, 0, m->g->n - 1));
  return set_results(m, c);
}

/* ---- expressions that compute nothing ---- */

static int add_tuple(maker *m, const tn_RelayTuple *t) {
  int64_t total = 0, at = 0;
  for (int64_t i = 0; i < t->fields->len; ++i) {
    const entries *e;
    TN_GET(e, need(m, tn_arr_obj(t->fields, i)));
    total += e->n;
  }
  entries *v = new_entries(total);
  if (!v) return -1;
  for (int64_t i = 0; i < t->fields->len; ++i) {
    const entries *e = entries_of(m, tn_arr_obj(t->fields, i));
    for (int64_t k = 0; k < e->n; ++k) v->items[at++] = e->items[k];
  }
  return put(m, t, v);
}

static int add_get_item(maker *m, const tn_TupleGetItem *e) {
  const tn_TupleType *type = TN_AS(TupleType, relay_type_of(e->tuple_value));
  const entries *all;
  TN_GET(all, need(m, e->tuple_value));
  TN_CHECK(type && e->index < type->fields->len, ValueError, e->span,
           "field %" PRId64 " of what is not a tuple with so many fields", e->index);
  int64_t from = 0;
  for (int64_t i = 0; i < e->index; ++i)
    from += relay_count_tensors((const tn_Type *)tn_arr_obj(type->fields, i));
  entries *v =
      new_entries(relay_count_tensors((const tn_Type *)tn_arr_obj(type->fields, e->index)));
  if (!v) return -1;
  for (int64_t i = 0; i < v->n; ++i) v->items[i] = all->items[from + i];
  return put(m, e, v);
}

static int visit(void *ctx, tn_obj *node) {
  maker *m = ctx;
  if (entries_of(m, node)) return 0;
  switch (node->type_index) {
  case TN_TI_Constant: return add_constant(m, (const tn_Constant *)node);
  case TN_TI_RelayCall: return add_call(m, (const tn_RelayCall *)node);
  case TN_TI_RelayTuple: return add_tuple(m, (const tn_RelayTuple *)node);
  case TN_TI_TupleGetItem: return add_get_item(m, (const tn_TupleGetItem *)node);
  default: return 0; /* an error where its value is needed */
  }
}

/* The inside of kernels and of what cannot be run is not part of the graph; lets are taken apart
 * one by one. */
static bool see(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)field;
  return !TN_AS(RelayFunction, parent) && !TN_AS(RelayLet, child);
}

static int add_body(maker *m, const relay_expr *e) {
  const tn_RelayLet *let;
  while ((let = TN_AS(RelayLet, e)) != NULL) {
    const entries *value;
    TN_TRY(tn_post_order_if(let->value, see, visit, m));
    TN_GET(value, need(m, let->value));
    entries *v = new_entries(value->n);
    if (!v) return -1;
    memcpy(v->items, value->items, (size_t)value->n * sizeof *v->items);
    TN_TRY(put(m, let->var->vid, v));
    e = let->body;
  }
  const entries *result;
  TN_TRY(tn_post_order_if(e, see, visit, m));
  TN_GET(result, need(m, e));
  m->g->heads = tn_alloc_zero((size_t)result->n + 1, sizeof *m->g->heads);
  if (!m->g->heads) return -1;
  m->g->nheads = (int)result->n;
  memcpy(m->g->heads, result->items, (size_t)result->n * sizeof *result->items);
  return 0;
}

static int make(maker *m, const tn_RelayFunction *f) {
  TN_GET(m->g->params, tn_scope_own(tn_map_new()));
  m->g->kernels = m->names.kernels;
  m->g->externals = m->names.externals;
  m->g->targets = m->names.targets;
  for (int64_t i = 0; i < f->params->len; ++i)
    TN_TRY(add_input(m, (const tn_RelayVar *)tn_arr_obj(f->params, i)));
  return add_body(m, f->body);
}

int graph_make(graph_program *g, const tn_RelayFunction *f, const device_plan *plan,
               const char *prefix, const char *executor) {
  maker m = {.g = g, .plan = plan, .executor = executor};
  *g = (graph_program){0};
  TN_TRY(kernel_names_init(&m.names, prefix));
  int err = make(&m, f);
  for (size_t i = 0; i < m.values.cap; ++i)
    tn_free(m.values.slots[i].key ? m.values.slots[i].v.ptr : NULL);
  tn_pmap_fini(&m.values);
  return err;
}

void graph_fini(graph_program *g) {
  for (int64_t i = 0; i < g->n; ++i) {
    tn_free(g->nodes[i].inputs);
    tn_free(g->nodes[i].types);
    tn_free(g->nodes[i].storage);
    tn_free(g->nodes[i].place);
  }
  tn_free(g->nodes);
  tn_free(g->heads);
  tn_free(g->block_bytes);
  *g = (graph_program){0};
}
