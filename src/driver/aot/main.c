/* The function `main` of an ahead-of-time program. Every value of the graph has its place before
   the code is made: that of an argument, of a constant, or in the workspace, where values share
   memory that are not needed at the same time. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "driver/aot/aot.h"
#include "driver/external.h"
#include "ir/expr.h"
#include "ir/module.h"
#include "object/functions.h"
#include "tenon/runtime.h"
#include "tir/transforms/transforms.h"
#include "tir/usmp/algo.h"

/* Where a value is. */
typedef struct {
  tn_expr *pointer; /* NULL: not known yet */
  int64_t buffer;   /* number of its buffer in the plan, -1: none */
} value;

/* Outputs that are not computed into their place. */
typedef struct {
  int64_t from;
  int to;
} copy;

typedef struct {
  const graph_program *g;
  const aot_options *o;
  const tn_map *workspace; /* of kernels */
  int64_t *first;          /* of each node: number of its first value */
  value *values;
  pack_buffer *buffers;
  int64_t nvalue, nbuffer, nstep;
  int64_t *scratch; /* of each node: number of its own buffer, -1: none */
  tn_expr **outputs;
  int64_t *places; /* of each output in the workspace: number of its buffer, -1: not known yet */
  copy *copies;
  int ncopies;
  pack_pool *pools;
  tn_arr *pool_infos; /* PoolInfo of each */
  tn_Var **pool_vars;
  int32_t npools;
  pack_pool *constant_pools;
  int32_t nconstant_pools;
  tn_vec params, calls, lets, constants;
  tn_map *buffer_map;
} maker;

/* ---- values ---- */

static int64_t value_at(const maker *m, graph_entry e) { return m->first[e.node] + e.index; }

/* The value that one is a view of: itself for most. */
static graph_entry root_of(const maker *m, graph_entry e) {
  while (m->g->nodes[e.node].nop) e = m->g->nodes[e.node].inputs[0];
  return e;
}

static value *root_value(const maker *m, graph_entry e) {
  return &m->values[value_at(m, root_of(m, e))];
}

static bool is_kernel(const graph_node *n) { return n->op && !n->nop; }

static const tn_tensor *constant_of(const maker *m, const graph_node *n) {
  tn_any found;
  bool is = !n->op && tn_map_get(m->g->params, tn_any_cstr(n->name), &found);
  return is ? (const tn_tensor *)found.v.obj : NULL;
}

static int add_param(maker *m, const char *name, const tn_TensorType *t, tn_expr **pointer) {
  tn_Buffer *b;
  tn_Var *handle;
  tn_str *text[2]; /* no words of a language that code is made in */
  TN_GET(text[0], tn_str_fmt("%s_buffer", name));
  TN_GET(text[1], tn_str_fmt("%s_handle", name));
  TN_GET(b, tir_buffer(t->shape, t->dtype, tn_cstr(text[0]), ""));
  TN_GET(handle, tir_var(tn_cstr(text[1]), TN_HANDLE));
  TN_TRY(tn_vec_push_obj(&m->params, handle));
  TN_TRY(tn_map_set(m->buffer_map, tn_any_obj(handle), tn_any_obj(b)));
  *pointer = (tn_expr *)b->data;
  return 0;
}

static int64_t new_buffer(maker *m, const char *name, int64_t bytes, int64_t step) {
  int64_t room = bytes > 0 ? bytes : 1; /* values without elements have a place too */
  m->buffers[m->nbuffer] = (pack_buffer){.name = name, .bytes = room, .first = step, .last = step};
  return m->nbuffer++;
}

/* Inputs first, then constants: the graph has them in the order of their use. Inputs in the
   workspace are all there before the first step. */
static int add_inputs(maker *m, bool constants) {
  for (int64_t i = 0; i < m->g->n; ++i) {
    const graph_node *n = &m->g->nodes[i];
    if (n->op || (constant_of(m, n) != NULL) != constants) continue;
    if (!constants && m->o->workspace_io)
      m->values[m->first[i]].buffer = new_buffer(m, n->name, graph_type_bytes(n->types[0]), -1);
    else TN_TRY(add_param(m, n->name, n->types[0], &m->values[m->first[i]].pointer));
  }
  return 0;
}

/* Functions take pointers to what they may write: the address of the first element is one. */
static int add_constant(maker *m, const pack_buffer *place, const tn_tensor *data,
                        const tn_TensorType *t, tn_expr **pointer) {
  tn_str *name;
  tn_Buffer *b;
  TN_GET(name, tn_str_fmt("constant_%s", place->name));
  TN_GET(b, tir_buffer(tn_arr_of(1, tir_i64(graph_type_elements(t))), t->dtype, tn_cstr(name), ""));
  tn_map *hints;
  TN_GET(hints, tn_scope_own(tn_map_new()));
  if (m->nconstant_pools) {
    tn_str *pool = tn_str_from(m->constant_pools[place->pool].name);
    TN_GET(hints, tn_map_with(hints, tn_any_cstr("pool"), tn_any_obj(pool)));
  }
  if (m->o->constant_align)
    TN_GET(hints,
           tn_map_with(hints, tn_any_cstr("alignment"), tn_any_obj(tir_i64(m->o->constant_align))));
  tn_stmt *s = (tn_stmt *)TN_NEW(AllocateConst, .buffer_var = b->data,
                                 .data = (tn_NDArray *)(uintptr_t)data, .dtype = t->dtype,
                                 .extents = b->shape, .body = tir_nop(), .annotations = hints);
  if (!s || tn_vec_push_obj(&m->constants, s)) return -1;
  TN_GET(*pointer,
         tir_call(TN_HANDLE, TIR_OP_address_of, 1, tir_load(b, tn_arr_of(1, tir_i64(0)))));
  return 0;
}

/* Which of the given pools a constant is in; all constants live at the same time. */
static int place_constants(maker *m, pack_buffer *places, int64_t n) {
  const tn_arr *given = m->o->constant_pools;
  if (!given) return 0;
  m->nconstant_pools = (int32_t)given->len;
  TN_GET(m->constant_pools, tn_alloc_zero((size_t)given->len + 1, sizeof *m->constant_pools));
  for (int32_t k = 0; k < m->nconstant_pools; ++k) {
    const tn_PoolInfo *p = (const tn_PoolInfo *)tn_arr_obj(given, k);
    m->constant_pools[k] = (pack_pool){.name = tn_cstr(p->pool_name), .limit = usmp_pool_limit(p)};
  }
  pack_algorithm how;
  TN_TRY(usmp_algorithm(m->o->algorithm, &how));
  return pack_plan(places, n, m->constant_pools, m->nconstant_pools, 1, how);
}

/* What was asked for, else what an element needs. */
static int64_t constant_align(const maker *m, tn_dtype t) {
  int64_t own = tn_dtype_bytes(ir_with_lanes(t, 1), 1);
  return m->o->constant_align > own ? m->o->constant_align : own > 0 ? own : 1;
}

static int link_constants(maker *m, pack_buffer *places) {
  int64_t n = 0;
  for (int pass = 0; pass < 2; ++pass) {
    if (pass) TN_TRY(place_constants(m, places, n));
    n = 0;
    for (int64_t i = 0; i < m->g->n; ++i) {
      const graph_node *node = &m->g->nodes[i];
      const tn_tensor *data = constant_of(m, node);
      if (!data) continue;
      pack_buffer *p = &places[n++];
      if (!pass)
        *p = (pack_buffer){.name = node->name,
                           .bytes = graph_type_bytes(node->types[0]),
                           .align = constant_align(m, node->types[0]->dtype)};
      else TN_TRY(add_constant(m, p, data, node->types[0], &m->values[m->first[i]].pointer));
    }
  }
  return 0;
}

static int add_constants(maker *m) {
  if (!m->o->link_params) return add_inputs(m, true);
  TN_AUTOFREE pack_buffer *places = tn_alloc_zero((size_t)m->g->n + 1, sizeof *places);
  return places ? link_constants(m, places) : -1;
}

/* An output is where its value is computed, unless that is another one already, or no operator
   computes it. */
static int add_outputs(maker *m) {
  for (int k = 0; k < m->g->nheads; ++k) {
    const graph_entry head = m->g->heads[k];
    tn_str *name;
    value *v = root_value(m, head);
    m->places[k] = -1;
    if (m->o->workspace_io) { /* where the value is; a constant is copied */
      if (v->pointer) m->copies[m->ncopies++] = (copy){value_at(m, root_of(m, head)), k};
      continue;
    }
    TN_GET(name, m->g->nheads == 1 ? tn_str_from("output") : tn_str_fmt("output%d", k));
    TN_TRY(add_param(m, tn_cstr(name), m->g->nodes[head.node].types[head.index], &m->outputs[k]));
    if (!v->pointer && m->g->nodes[root_of(m, head).node].op) v->pointer = m->outputs[k];
    else m->copies[m->ncopies++] = (copy){value_at(m, root_of(m, head)), k};
  }
  return 0;
}

/* ---- the plan ---- */

static void use_at(maker *m, int64_t buffer, int64_t step) {
  if (buffer >= 0 && m->buffers[buffer].last < step) m->buffers[buffer].last = step;
}

/* Outputs in the workspace outlast the last step. */
static void keep_outputs(maker *m) {
  for (int k = 0; k < m->ncopies; ++k) {
    const graph_entry head = m->g->heads[m->copies[k].to];
    int64_t bytes = graph_type_bytes(m->g->nodes[head.node].types[head.index]);
    m->places[m->copies[k].to] = new_buffer(m, "output", bytes, m->nstep);
  }
  for (int k = 0; k < m->g->nheads; ++k) {
    if (m->places[k] < 0) m->places[k] = root_value(m, m->g->heads[k])->buffer;
    use_at(m, m->places[k], m->nstep + 1);
  }
}

/* Every operator is a step; outputs that are copies are made in a last one. */
static void find_lives(maker *m) {
  for (int64_t i = 0; i < m->g->n; ++i) {
    const graph_node *n = &m->g->nodes[i];
    tn_any bytes;
    m->scratch[i] = -1;
    if (!is_kernel(n)) continue;
    for (int k = 0; k < n->ninputs; ++k) use_at(m, root_value(m, n->inputs[k])->buffer, m->nstep);
    for (int k = 0; k < n->nresults; ++k) {
      value *v = &m->values[m->first[i] + k];
      if (!v->pointer) v->buffer = new_buffer(m, n->name, graph_type_bytes(n->types[k]), m->nstep);
    }
    if (m->workspace && tn_map_get(m->workspace, tn_any_cstr(n->name), &bytes))
      m->scratch[i] = new_buffer(m, n->name, bytes.v.i64, m->nstep);
    ++m->nstep;
  }
  for (int k = 0; k < m->ncopies; ++k) use_at(m, m->values[m->copies[k].from].buffer, m->nstep);
  if (m->o->workspace_io) keep_outputs(m);
}

static tn_PoolInfo *own_pool(const char *name) {
  const char *names[] = {"pool_name", "targets", "is_internal"};
  tn_any values[] = {tn_any_cstr(name), tn_any_obj(tn_arr_of(0)), tn_any_bool(true)};
  return tn_scope_own(tn_node_make(&tn_type_WorkspacePoolInfo, 3, names, values));
}

static int plan(maker *m) {
  const aot_options *o = m->o;
  if (o->custom)
    return usmp_plan_by(o->custom, m->buffers, m->nbuffer, m->pools, m->pool_infos,
                        o->workspace_align);
  pack_algorithm how;
  TN_TRY(usmp_algorithm(o->algorithm, &how));
  return pack_plan(m->buffers, m->nbuffer, m->pools, m->npools, o->workspace_align, how);
}

static int make_pools(maker *m) {
  TN_VEC(infos);
  const tn_arr *given = m->o->pools ? m->o->workspace_pools : NULL;
  m->npools = given && given->len ? (int32_t)given->len : 1;
  TN_GET(m->pools, tn_alloc_zero((size_t)m->npools, sizeof *m->pools));
  TN_GET(m->pool_vars, tn_alloc_zero((size_t)m->npools, sizeof(void *)));
  for (int32_t k = 0; k < m->npools; ++k) {
    tn_PoolInfo *p = given ? (tn_PoolInfo *)tn_arr_obj(given, k) : own_pool("workspace");
    if (!p || tn_vec_push_obj(&infos, p)) return -1;
    m->pools[k] = (pack_pool){.name = tn_cstr(p->pool_name), .limit = usmp_pool_limit(p)};
    TN_GET(m->pool_vars[k], tir_pointer_var(m->pools[k].name, tn_dtype_of(kDLUInt, 8, 1), ""));
  }
  TN_GET(m->pool_infos, tn_arr_from(&infos));
  TN_TRY(plan(m));
  if (!given) m->pools[0].used = (m->pools[0].used + 7) / 8 * 8; /* memory of uint64_t */
  return 0;
}

static tn_expr *place_of(const maker *m, int64_t buffer) {
  const pack_buffer *b = &m->buffers[buffer];
  return tir_call(TN_HANDLE, TIR_OP_handle_add_byte_offset, 2, m->pool_vars[b->pool],
                  tir_i64(b->offset));
}

/* The pointer of a value; a variable where it is in the workspace. */
static tn_expr *pointer_of(maker *m, graph_entry e) {
  graph_entry root = root_of(m, e);
  value *v = root_value(m, e);
  if (v->pointer) return v->pointer;
  tn_str *name;
  tn_Var *var;
  TN_GETP(name, tn_str_fmt("value%" PRId64, value_at(m, root)));
  TN_GETP(var, tir_pointer_var(tn_cstr(name), m->g->nodes[root.node].types[root.index]->dtype, ""));
  tn_stmt *let =
      (tn_stmt *)TN_NEW(LetStmt, .var = var, .value = place_of(m, v->buffer), .body = tir_nop());
  if (!let || tn_vec_push_obj(&m->lets, let)) return NULL;
  return v->pointer = (tn_expr *)var;
}

/* ---- calls ---- */

/* The value as a DLTensor. */
static tn_expr *array_of(tn_expr *data, const tn_TensorType *t) {
  TN_VEC(dims);
  tn_arr *list;
  for (int64_t i = 0; i < t->shape->len; ++i)
    TN_TRYP(tn_vec_push_obj(&dims, tir_cast(TN_I64, (tn_expr *)tn_arr_obj(t->shape, i), NULL)));
  TN_GETP(list, tn_arr_from(&dims));
  tn_expr *shape = tir_call_args(TN_HANDLE, TIR_OP_tvm_stack_make_shape, list, NULL);
  return tir_call(TN_HANDLE, TIR_OP_tvm_stack_make_array, 6, data, shape, tir_i32(0),
                  tir_i32((int32_t)t->shape->len), tir_zero(t->dtype), tir_i64(0));
}

static int push_tensor(maker *m, graph_entry e, tn_vec *args) {
  tn_expr *p;
  TN_GET(p, pointer_of(m, e));
  if (!m->o->unpacked) p = array_of(p, m->g->nodes[e.node].types[e.index]);
  return tn_vec_push_obj(args, p);
}

static tn_expr *call_of(const maker *m, const graph_node *n, tn_vec *args) {
  tn_arr *list;
  if (m->o->by_name) {
    TN_GETP(list, tn_arr_from(args));
    return tir_call_args(TN_I32, TIR_OP_tvm_call_packed, list, NULL);
  }
  if (!m->o->unpacked) {
    tn_expr *null =
        tir_call(TN_HANDLE, TIR_OP_reinterpret, 1, tir_int(tn_dtype_of(kDLUInt, 64, 1), 0));
    TN_TRYP(tn_vec_push_obj(args, null));
    TN_GETP(list, tn_arr_from(args));
    return tir_call_args(TN_I32, TIR_OP_tvm_call_cpacked, list, NULL);
  }
  tn_GlobalVar *v;
  TN_GETP(list, tn_arr_from(args));
  if (external_is(n->kernel)) return tir_call_args(TN_I32, TIR_OP_call_extern, list, NULL);
  TN_GETP(v, ir_global_var(n->name));
  return (tn_expr *)TN_NEW(Call, .op = (tn_BaseExpr *)v, .args = list, .dtype = TN_VOID);
}

static int add_call(maker *m, int64_t i) {
  const graph_node *n = &m->g->nodes[i];
  TN_VEC(args);
  if (!m->o->unpacked || external_is(n->kernel)) TN_TRY(tn_vec_push_obj(&args, tir_str(n->name)));
  for (int k = 0; k < n->ninputs; ++k) TN_TRY(push_tensor(m, n->inputs[k], &args));
  for (int k = 0; k < n->nresults; ++k) TN_TRY(push_tensor(m, (graph_entry){(int32_t)i, k}, &args));
  if (m->scratch[i] >= 0) TN_TRY(tn_vec_push_obj(&args, place_of(m, m->scratch[i])));
  tn_stmt *s = (tn_stmt *)TN_NEW(Evaluate, .value = call_of(m, n, &args));
  return s ? tn_vec_push_obj(&m->calls, s) : -1;
}

/* Bytes from one place to another, in a loop: the same in every language. */
static int add_copy(maker *m, const copy *c) {
  const graph_entry head = m->g->heads[c->to];
  int64_t bytes = graph_type_bytes(m->g->nodes[head.node].types[head.index]);
  tn_dtype u8 = tn_dtype_of(kDLUInt, 8, 1);
  tn_arr *shape = tn_arr_of(1, tir_i64(bytes));
  tn_Buffer *b[2];
  tn_Var *i;
  tn_expr *pointer[2] = {m->outputs[c->to], NULL};
  TN_GET(pointer[1], pointer_of(m, head));
  TN_GET(i, tir_var("i", TN_I64));
  for (int k = 0; k < 2; ++k) {
    TN_GET(b[k], tir_buffer(shape, u8, k ? "from" : "to", ""));
    tn_stmt *let =
        (tn_stmt *)TN_NEW(LetStmt, .var = b[k]->data, .value = pointer[k], .body = tir_nop());
    if (!let || tn_vec_push_obj(&m->lets, let)) return -1;
  }
  tn_stmt *body = tir_store(b[0], tir_load(b[1], tn_arr_of(1, i)), tn_arr_of(1, i));
  tn_stmt *loop = (tn_stmt *)TN_NEW(For, .loop_var = i, .min = tir_i64(0), .extent = tir_i64(bytes),
                                    .kind = TIR_FOR_SERIAL, .body = body,
                                    .annotations = tn_scope_own(tn_map_new()));
  return loop ? tn_vec_push_obj(&m->calls, loop) : -1;
}

/* ---- the whole ---- */

static tn_stmt *around(const tn_vec *nest, tn_stmt *body) {
  for (int64_t i = nest->len; body && i-- > 0;) {
    const tn_AllocateConst *constant = TN_AS(AllocateConst, nest->items[i].v.obj);
    if (constant) {
      tn_AllocateConst r = *constant;
      r.body = body;
      body = tn_node_copy(&tn_type_AllocateConst, &r);
    } else {
      tn_LetStmt r = *(const tn_LetStmt *)nest->items[i].v.obj;
      r.body = body;
      body = tn_node_copy(&tn_type_LetStmt, &r);
    }
  }
  return body;
}

/* Memory that main itself asks for. Elements of eight bytes, for their alignment. */
static tn_stmt *allocated(const maker *m, tn_stmt *body) {
  int64_t words = m->pools[0].used / 8;
  tn_dtype u64 = tn_dtype_of(kDLUInt, 64, 1);
  tn_Var *memory;
  if (m->o->pools || !words) return body;
  TN_GETP(memory, tir_pointer_var("memory", u64, "global"));
  body =
      (tn_stmt *)TN_NEW(LetStmt, .var = m->pool_vars[0], .value = (tn_expr *)memory, .body = body);
  return (tn_stmt *)TN_NEW(Allocate, .buffer_var = memory, .dtype = u64,
                           .extents = tn_arr_of(1, tir_i64(words)), .condition = tir_bool(true),
                           .body = body, .annotations = tn_scope_own(tn_map_new()));
}

static tn_PrimFunc *function(maker *m, const char *name) {
  tn_stmt *body;
  tn_arr *params;
  for (int64_t i = 0; i < m->g->n; ++i)
    if (is_kernel(&m->g->nodes[i])) TN_TRYP(add_call(m, i));
  for (int k = 0; k < m->ncopies; ++k) TN_TRYP(add_copy(m, &m->copies[k]));
  TN_GETP(body, around(&m->lets, tir_seq(&m->calls)));
  TN_GETP(body, allocated(m, body));
  TN_GETP(body, around(&m->constants, body));
  for (int32_t k = 0; k < m->npools && m->o->pools; ++k)
    TN_TRYP(tn_vec_push_obj(&m->params, m->pool_vars[k]));
  TN_GETP(params, tn_arr_from(&m->params));
  tn_PrimFunc *f =
      (tn_PrimFunc *)TN_MAKE(PrimFunc, .params = params, .body = body, .buffer_map = m->buffer_map);
  f = f ? tir_with_attr(f, "global_symbol", (tn_obj *)tn_str_from(name)) : NULL;
  return f ? tir_with_attr(f, "runner_function", (tn_obj *)tir_bool(true)) : NULL;
}

static tn_AllocatedPoolInfo *pool_info(tn_obj *given, const pack_pool *p, int64_t param) {
  const char *names[] = {"pool_info", "allocated_size", "pool_var_idx"};
  tn_any values[] = {tn_any_obj(given), tn_any_int(p->used), tn_any_int(param)};
  return tn_scope_own(tn_node_make(&tn_type_AllocatedPoolInfo, 3, names, values));
}

static int list_pools(const maker *m, aot_main *out) {
  TN_VEC(pools);
  TN_VEC(constant);
  for (int32_t k = 0; k < m->npools && m->o->pools; ++k)
    TN_TRY(tn_vec_push_obj(&pools, pool_info(tn_arr_obj(m->pool_infos, k), &m->pools[k],
                                             m->params.len - m->npools + k)));
  for (int32_t k = 0; k < m->nconstant_pools; ++k)
    TN_TRY(tn_vec_push_obj(
        &constant, pool_info(tn_arr_obj(m->o->constant_pools, k), &m->constant_pools[k], -1)));
  TN_GET(out->pools, tn_arr_from(&pools));
  TN_GET(out->constant_pools, tn_arr_from(&constant));
  return 0;
}

static int push_place(const maker *m, int64_t buffer, tn_vec *out) {
  const pack_buffer *b = &m->buffers[buffer];
  return tn_vec_push_obj(out, TN_NEW(PoolAllocation,
                                     .pool_info = (tn_PoolInfo *)tn_arr_obj(m->pool_infos, b->pool),
                                     .byte_offset = (tn_IntImm *)tir_i64(b->offset)));
}

/* Inputs in their order, then outputs. */
static int list_places(const maker *m, aot_main *out) {
  TN_VEC(places);
  for (int64_t i = 0; i < m->g->n && m->o->workspace_io; ++i)
    if (!m->g->nodes[i].op && !constant_of(m, &m->g->nodes[i]))
      TN_TRY(push_place(m, m->values[m->first[i]].buffer, &places));
  for (int k = 0; k < m->g->nheads && m->o->workspace_io; ++k)
    TN_TRY(push_place(m, m->places[k], &places));
  TN_GET(out->places, tn_arr_from(&places));
  return 0;
}

static int tell(const maker *m, aot_main *out) {
  for (int32_t k = 0; k < m->npools; ++k) {
    bool stack = !m->o->pools && m->pools[k].used < TIR_STACK_BYTES;
    out->workspace += stack ? 0 : m->pools[k].used;
  }
  for (int64_t i = 0; i < m->g->n; ++i) {
    const graph_node *n = &m->g->nodes[i];
    if (n->op) continue;
    *(constant_of(m, n) ? &out->constants : &out->io) += graph_type_bytes(n->types[0]);
  }
  for (int k = 0; k < m->g->nheads; ++k) {
    const graph_entry e = m->g->heads[k];
    out->io += graph_type_bytes(m->g->nodes[e.node].types[e.index]);
  }
  int64_t align = m->npools > 1 ? 1 : m->o->workspace_align;
  out->live = pack_lower_bound(m->buffers, m->nbuffer, align);
  return out->live < 0 || list_places(m, out) ? -1 : list_pools(m, out);
}

static int make(maker *m, const char *name, aot_main *out) {
  const graph_program *g = m->g;
  TN_GET(m->first, tn_alloc_zero((size_t)g->n + 1, sizeof *m->first));
  TN_GET(m->scratch, tn_alloc_zero((size_t)g->n + 1, sizeof *m->scratch));
  for (int64_t i = 0; i < g->n; ++i) {
    m->first[i] = m->nvalue;
    m->nvalue += g->nodes[i].nresults;
  }
  TN_GET(m->values, tn_alloc_zero((size_t)m->nvalue + 1, sizeof *m->values));
  int64_t most = m->nvalue + g->n + g->nheads;
  TN_GET(m->buffers, tn_alloc_zero((size_t)most + 1, sizeof *m->buffers));
  TN_GET(m->places, tn_alloc_zero((size_t)g->nheads + 1, sizeof *m->places));
  TN_GET(m->outputs, tn_alloc_zero((size_t)g->nheads + 1, sizeof(void *)));
  TN_GET(m->copies, tn_alloc_zero((size_t)g->nheads + 1, sizeof *m->copies));
  TN_GET(m->buffer_map, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < m->nvalue; ++i) m->values[i].buffer = -1;
  TN_TRY(add_inputs(m, false));
  TN_TRY(add_constants(m));
  TN_TRY(add_outputs(m));
  find_lives(m);
  TN_TRY(make_pools(m));
  for (int k = 0; k < m->ncopies && m->o->workspace_io; ++k)
    TN_GET(m->outputs[m->copies[k].to], place_of(m, m->places[m->copies[k].to]));
  TN_GET(out->func, function(m, name));
  return tell(m, out);
}

int aot_make_main(const graph_program *g, const aot_options *o, const char *name,
                  const tn_map *workspace, aot_main *out) {
  maker m = {.g = g, .o = o, .workspace = workspace};
  *out = (aot_main){0};
  int err = make(&m, name, out);
  void *memory[] = {m.first,  m.scratch, m.values,    m.buffers,        m.outputs,
                    m.copies, m.pools,   m.pool_vars, m.constant_pools, m.places};
  for (int i = 0; i < TN_COUNT(memory); ++i) tn_free(memory[i]);
  tn_vec *lists[] = {&m.params, &m.calls, &m.lets, &m.constants};
  for (int i = 0; i < TN_COUNT(lists); ++i) tn_vec_fini(lists[i]);
  return err;
}
