/* Building a graph executor, and running it. Where values lie is decided in bind.c. */
#include "runtime/graph/executor.h"

#include <string.h>

#include "base/alloc.h"
#include "object/functions.h"
#include "runtime/library/library.h"
#include "runtime/tensor/tensor.h"

/* ---- devices and storages ---- */

static tn_device device_of(const tn_graph_executor *x, const tn_graph_entry *e) {
  for (int32_t i = 0; i < x->ndevice; ++i) {
    if ((int32_t)x->devices[i].device_type == e->device_type) return x->devices[i];
  }
  return x->devices[0];
}

static bool same_device(tn_device a, tn_device b) {
  return a.device_type == b.device_type && a.device_id == b.device_id;
}

static int plan_storages(tn_graph_executor *x) {
  for (int32_t i = 0; i < x->g.nentry; ++i) {
    const tn_graph_entry *e = &x->g.entries[i];
    tn_graph_storage *s = &x->storages[e->storage];
    tn_device dev = device_of(x, e);
    char a[TN_DEVICE_TEXT], b[TN_DEVICE_TEXT];
    TN_CHECK(!s->known || same_device(s->dev, dev), ValueError, NULL,
             "graph: entry %d is on %s, but shares its storage with an entry on %s", i,
             tn_device_text(dev, a), tn_device_text(s->dev, b));
    if (e->offset + e->nbytes > s->nbytes) s->nbytes = e->offset + e->nbytes;
    if (e->scope || !s->known) s->scope = e->scope;
    s->dev = dev;
    s->known = true;
  }
  return 0;
}

static int alloc_storage(tn_graph_storage *s) {
  int64_t nbytes = s->nbytes ? s->nbytes : 1; /* memory has an address, also of nothing */
  if (s->block) return 0;
  s->block = tn_tensor_new(&nbytes, 1, (tn_dtype){kDLUInt, 8, 1}, s->dev, s->scope);
  return s->block ? 0 : -1;
}

int tn_graph_need_home(tn_graph_executor *x, int32_t root) {
  const tn_graph_entry *e = &x->g.entries[root];
  tn_graph_value *v = &x->values[root];
  tn_graph_storage *s = &x->storages[e->storage];
  bool fresh = !s->block;
  if (v->home) return 0;
  TN_TRY(alloc_storage(s));
  if (fresh && tn_device_is_host(s->dev)) /* an input that nobody sets is zero, not just anything */
    memset(s->block->dl.data, 0, (size_t)tn_tensor_nbytes(&s->block->dl));
  TN_GET(v->home, tn_tensor_view(s->block, e->shape, e->ndim, e->dtype, e->offset));
  return 0;
}

/* ---- values ---- */

static bool is_nop(const tn_graph_node *n) { return n->func && strcmp(n->func, "__nop") == 0; }
static bool is_join(const tn_graph_node *n) { return n->func && strcmp(n->func, "__join") == 0; }
static bool is_copy(const tn_graph_node *n) { return n->func && strcmp(n->func, "__copy") == 0; }

/* The output of a `__nop` lies where its input does. */
static int link_nop(tn_graph_executor *x, const tn_graph_node *n) {
  TN_CHECK(n->ninput == 1 && n->noutput == 1, ValueError, NULL,
           "graph: node \"%s\": __nop has one input and one output", n->name);
  const tn_graph_entry *in = &x->g.entries[n->inputs[0]], *out = &x->g.entries[n->first_entry];
  TN_CHECK(in->nbytes == out->nbytes, ValueError, NULL,
           "graph: node \"%s\": __nop makes %lld bytes of %lld", n->name, (long long)out->nbytes,
           (long long)in->nbytes);
  TN_CHECK(same_device(device_of(x, in), device_of(x, out)), ValueError, NULL,
           "graph: node \"%s\": __nop cannot move data to another device", n->name);
  x->values[n->first_entry].root = x->values[n->inputs[0]].root;
  return 0;
}

static int link_values(tn_graph_executor *x) {
  for (int32_t i = 0; i < x->g.nentry; ++i) {
    int64_t item = tn_dtype_item_bytes(x->g.entries[i].dtype);
    x->values[i] =
        (tn_graph_value){.root = i, .input = -1, .align = item > 0 ? (uint32_t)(item & -item) : 1};
  }
  for (int32_t i = 0; i < x->g.nnode; ++i) {
    const tn_graph_node *n = &x->g.nodes[i];
    if (is_nop(n)) TN_TRY(link_nop(x, n));
    for (int32_t k = 0; k < n->noutput; ++k) {
      int32_t e = n->first_entry + k;
      x->values[e].given = !n->func;
      if (n->func && x->values[e].root == e) x->storages[x->g.entries[e].storage].written = true;
    }
  }
  for (int32_t i = 0; i < x->g.narg; ++i) x->values[tn_graph_input_entry(x, i)].input = i;
  return 0;
}

static int add_name(tn_map *names, const char *name, int32_t number) {
  tn_any known;
  if (tn_map_get(names, tn_any_cstr(name), &known)) return 0; /* the first of that name counts */
  return tn_map_set(names, tn_any_cstr(name), tn_any_int(number));
}

static int32_t node_of_entry(const tn_graph *g, int32_t entry) {
  int32_t low = 0, high = g->nnode - 1;
  while (low < high) { /* the last node whose entries begin at or before this one */
    int32_t mid = low + (high - low + 1) / 2;
    if (g->nodes[mid].first_entry <= entry) low = mid;
    else high = mid - 1;
  }
  return low;
}

static int name_all(tn_graph_executor *x) {
  TN_GET(x->input_names, tn_map_new());
  TN_GET(x->output_names, tn_map_new());
  for (int32_t i = 0; i < x->g.narg; ++i) {
    const char *name = x->g.nodes[x->g.args[i]].name;
    tn_any known;
    bool twice = tn_map_get(x->input_names, tn_any_cstr(name), &known);
    TN_TRY(tn_map_set(x->input_names, tn_any_cstr(name), tn_any_int(twice ? TN_GRAPH_SEVERAL : i)));
  }
  for (int32_t i = 0; i < x->g.nhead; ++i) {
    const tn_graph_node *n = &x->g.nodes[node_of_entry(&x->g, x->g.heads[i])];
    TN_TRY(add_name(x->output_names, n->name, i));
  }
  return 0;
}

/* ---- operators ---- */

/* A function by name, each looked up once. Borrowed from `known`. */
static tn_func *find_function(tn_graph_executor *x, tn_map *known, const tn_graph_node *n) {
  tn_any found;
  tn_func *f = NULL;
  if (tn_map_get(known, tn_any_cstr(n->func), &found)) return (tn_func *)found.v.obj;
  if (x->lib) TN_TRYP(tn_module_get_function(x->lib, n->func, true, &f));
  TN_CHECKP(f, TenonError, NULL, "no such function in module: %s (node \"%s\" of the graph)%s",
            n->func, n->name, tn_module_why_missing(x->lib));
  int err = tn_map_set(known, tn_any_cstr(n->func), tn_any_obj(f));
  tn_release(f); /* the map has it */
  return err ? NULL : f;
}

/* Where the functions of compiled code ask more of memory than the alignment of an element. */
static void ask_alignment(tn_graph_executor *x, const tn_graph_node *n, uint32_t align) {
  for (int32_t i = 0; i < n->ninput + n->noutput; ++i) {
    int32_t e = i < n->ninput ? n->inputs[i] : n->first_entry + i - n->ninput;
    tn_graph_value *v = &x->values[x->values[e].root];
    if (v->align < align) v->align = align;
  }
}

static int set_tensor(tn_graph_executor *x, const tn_graph_node *n, int32_t entry, DLTensor *t) {
  const tn_graph_entry *e = &x->g.entries[entry];
  *t = (DLTensor){.device = device_of(x, e), .ndim = e->ndim, .dtype = e->dtype};
  t->shape = (int64_t *)(uintptr_t)e->shape;
  if (!n->flatten) return 0;
  TN_GET(t->shape, tn_arena_alloc(&x->g.arena, sizeof *t->shape));
  t->shape[0] = tn_shape_count("graph", e->shape, e->ndim);
  t->ndim = 1;
  return 0;
}

static int alloc_arguments(tn_graph_executor *x, tn_graph_op *op) {
  int64_t n = (int64_t)op->narg + 1; /* never of nothing */
  TN_GET(op->tensors, tn_arena_array(&x->g.arena, n, sizeof *op->tensors));
  if (op->code) {
    TN_GET(op->values, tn_arena_array(&x->g.arena, n, sizeof *op->values));
    TN_GET(op->codes, tn_arena_array(&x->g.arena, n, sizeof *op->codes));
  } else {
    TN_GET(op->args, tn_arena_array(&x->g.arena, n, sizeof *op->args));
  }
  return 0;
}

static int set_function(tn_graph_executor *x, tn_map *known, const tn_graph_node *n,
                        tn_graph_op *op) {
  tn_module *m;
  void *code;
  if (is_copy(n)) {
    TN_CHECK(n->ninput == 1 && n->noutput == 1, ValueError, NULL,
             "graph: node \"%s\": __copy has one input and one output", n->name);
    return 0;
  }
  TN_GET(op->func, find_function(x, known, n));
  tn_retain(op->func);
  if (!tn_func_is_bound(op->func, tn_legacy_compiled_call, &m, &code)) return 0;
  memcpy(&op->code, &code, sizeof code);
  ask_alignment(x, n, tn_library_alignment(m));
  return 0;
}

static int make_op(tn_graph_executor *x, tn_map *known, int32_t node) {
  const tn_graph_node *n = &x->g.nodes[node];
  tn_graph_op *op = &x->ops[x->nop];
  x->op_of_node[node] = x->nop++;
  op->node = node;
  op->narg = n->ninput + n->noutput;
  TN_TRY(set_function(x, known, n, op));
  TN_TRY(alloc_arguments(x, op));
  for (int32_t i = 0; i < op->narg; ++i) {
    int32_t e = i < n->ninput ? n->inputs[i] : n->first_entry + i - n->ninput;
    TN_TRY(set_tensor(x, n, e, &op->tensors[i]));
    if (op->code) {
      op->values[i].v_handle = &op->tensors[i];
      op->codes[i] = kTVMDLTensorHandle;
    } else {
      op->args[i] = (tn_any){.type_index = TN_DLTENSOR, .v.dltensor = &op->tensors[i]};
    }
    x->values[x->values[e].root].nslot++;
  }
  return 0;
}

static int make_ops(tn_graph_executor *x) {
  tn_map *known;
  int err = 0;
  TN_GET(known, tn_map_new());
  for (int32_t i = 0; i < x->g.nnode && !err; ++i) {
    const tn_graph_node *n = &x->g.nodes[i];
    x->op_of_node[i] = -1;
    if (n->func && !is_nop(n) && !is_join(n)) err = make_op(x, known, i);
  }
  tn_release(known);
  return err;
}

/* Sorts the arguments by root, so that all of a value's can be moved at once. */
static int make_slots(tn_graph_executor *x) {
  int32_t total = 0;
  for (int32_t i = 0; i < x->g.nentry; ++i) {
    x->values[i].first_slot = total;
    total += x->values[i].nslot;
    x->values[i].nslot = 0;
  }
  TN_GET(x->slots, tn_arena_array(&x->g.arena, (int64_t)total + 1, sizeof(DLTensor *)));
  TN_GET(x->slot_args, tn_arena_array(&x->g.arena, (int64_t)total + 1, sizeof(tn_any *)));
  for (int32_t k = 0; k < x->nop; ++k) {
    tn_graph_op *op = &x->ops[k];
    const tn_graph_node *n = &x->g.nodes[op->node];
    for (int32_t i = 0; i < op->narg; ++i) {
      int32_t e = i < n->ninput ? n->inputs[i] : n->first_entry + i - n->ninput;
      tn_graph_value *v = &x->values[x->values[e].root];
      if (op->func && !op->code) x->slot_args[v->first_slot + v->nslot] = &op->args[i];
      x->slots[v->first_slot + v->nslot++] = &op->tensors[i];
    }
  }
  return 0;
}

/* ---- making and freeing ---- */

#define ARENA_ARRAY(field, n)                                                                      \
  TN_GET(x->field, tn_arena_array(&x->g.arena, (int64_t)(n) + 1, sizeof *x->field))

static int alloc_arrays(tn_graph_executor *x) {
  ARENA_ARRAY(storages, x->g.nstorage);
  ARENA_ARRAY(values, x->g.nentry);
  ARENA_ARRAY(ops, x->g.nnode);
  ARENA_ARRAY(op_of_node, x->g.nnode);
  ARENA_ARRAY(inputs, x->g.narg);
  ARENA_ARRAY(outputs, x->g.nhead);
  return 0;
}

static int set_devices(tn_graph_executor *x, const tn_device *devices, int32_t n) {
  TN_CHECK(n > 0, ValueError, NULL, "graph executor: expected at least one device");
  ARENA_ARRAY(devices, n);
  memcpy(x->devices, devices, (size_t)n * sizeof *devices);
  x->ndevice = n;
  return 0;
}

/* A value lies where the planner put it in its storage: code reads whole words there. */
static int check_offset(const tn_graph_executor *x, int32_t entry) {
  const tn_graph_entry *e = &x->g.entries[entry];
  uint32_t align = x->values[x->values[entry].root].align;
  TN_CHECK(e->offset % align == 0, ValueError, NULL,
           "graph: attrs.storage_offset[%d]: expected a multiple of %u bytes, got %lld", entry,
           align, (long long)e->offset);
  return 0;
}

static int build(tn_graph_executor *x, const char *json, size_t n, const tn_device *devices,
                 int32_t ndevice) {
  TN_TRY(tn_graph_parse(&x->g, json, n));
  TN_TRY(set_devices(x, devices, ndevice));
  TN_TRY(alloc_arrays(x));
  TN_TRY(plan_storages(x));
  TN_TRY(link_values(x));
  TN_TRY(name_all(x));
  TN_TRY(make_ops(x));
  TN_TRY(make_slots(x));
  for (int32_t i = 0; i < x->g.nstorage; ++i) {
    if (x->storages[i].written) TN_TRY(alloc_storage(&x->storages[i]));
  }
  for (int32_t i = 0; i < x->g.nentry; ++i) {
    TN_TRY(check_offset(x, i));
    if (x->g.entries[i].offset && x->values[i].root == i) TN_TRY(tn_graph_need_home(x, i));
    tn_graph_locate(x, i);
  }
  return 0;
}

tn_graph_executor *tn_graph_executor_new(const char *json, size_t n, tn_module *lib,
                                         const tn_device *devices, int32_t ndevice) {
  tn_graph_executor *x = tn_alloc_zero(1, sizeof *x);
  if (!x) return NULL;
  tn_retain(x->lib = lib);
  if (build(x, json, n, devices, ndevice) == 0) return x;
  tn_graph_executor_free(x);
  return (void)tn_trace(__FILE__, __LINE__, __func__), NULL;
}

static void release_binding(tn_graph_binding *b) {
  tn_release(b->tensor);
  tn_release(b->from);
}

static void free_op(tn_graph_op *op) {
  for (int32_t i = 0; op->args && i < op->narg; ++i)
    if (tn_any_is_obj(&op->args[i])) tn_release(op->args[i].v.obj);
  tn_release(op->func);
}

/* Also of one that was not finished: what is missing is zero. */
void tn_graph_executor_free(tn_graph_executor *x) {
  for (int32_t i = 0; x->inputs && i < x->g.narg; ++i) release_binding(&x->inputs[i]);
  for (int32_t i = 0; x->outputs && i < x->g.nhead; ++i) release_binding(&x->outputs[i]);
  for (int32_t i = 0; x->values && i < x->g.nentry; ++i) tn_release(x->values[i].home);
  for (int32_t i = 0; x->storages && i < x->g.nstorage; ++i) tn_release(x->storages[i].block);
  for (int32_t i = 0; i < x->nop; ++i) free_op(&x->ops[i]);
  tn_release(x->input_names);
  tn_release(x->output_names);
  tn_release(x->loaded);
  tn_graph_fini(&x->g);
  tn_release(x->lib);
  tn_free(x);
}

/* ---- running ---- */

/* Memory for inputs that nobody has touched. */
static int make_ready(tn_graph_executor *x) {
  for (int32_t i = 0; i < x->g.nnode; ++i) {
    const tn_graph_node *n = &x->g.nodes[i];
    for (int32_t k = 0; !n->func && k < n->noutput; ++k) {
      int32_t e = n->first_entry + k;
      if (x->values[e].data) continue;
      TN_TRY(tn_graph_need_home(x, e));
      tn_graph_locate(x, e);
    }
  }
  x->ready = true;
  return 0;
}

int tn_graph_run_begin(tn_graph_executor *x) {
  if (!x->ready) TN_TRY(make_ready(x));
  if (!x->any_bound) return 0;
  for (int32_t i = 0; i < x->g.narg; ++i) {
    const tn_graph_binding *b = &x->inputs[i];
    if (!b->tensor || b->direct) continue;
    TN_TRY(tn_tensor_copy(&b->tensor->dl, &x->values[tn_graph_input_entry(x, i)].home->dl));
  }
  return 0;
}

int tn_graph_run_op(tn_graph_op *op) {
  tn_any ret;
  if (op->code) return tn_legacy_call_values(op->code, op->values, op->codes, op->narg);
  if (!op->func) return tn_tensor_copy(&op->tensors[0], &op->tensors[1]);
  if (tn_func_call(op->func, op->args, op->narg, &ret)) return -1;
  tn_any_release(&ret);
  return 0;
}

int tn_graph_run_end(tn_graph_executor *x) {
  for (int32_t i = 0; x->any_bound && i < x->g.nhead; ++i) {
    const tn_graph_binding *b = &x->outputs[i];
    if (b->from) TN_TRY(tn_tensor_copy(&b->from->dl, &b->tensor->dl));
  }
  return 0;
}

int tn_graph_run(tn_graph_executor *x) {
  TN_TRY(tn_graph_run_begin(x));
  for (int32_t i = 0; i < x->nop; ++i) {
    if (!tn_graph_run_op(&x->ops[i])) continue;
    const tn_graph_node *n = &x->g.nodes[x->ops[i].node];
    tn_error_note("in node \"%s\" of the graph, function %s", n->name, n->func);
    return tn_trace(__FILE__, __LINE__, __func__);
  }
  return tn_graph_run_end(x);
}
