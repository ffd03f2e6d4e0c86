/* Regions that schedules of tensor expressions realize become allocations, and accesses of many
   axes accesses of flat memory.

     with T.realize(B[4:12]):                   B = T.allocate([8], "float32")
       B[i + 4] = 0                        ->   B_1 = T.decl_buffer((8,), data=B)
                                                B_1[i] = 0

   Arguments: bytes of a cache line (kept for programs that give it) and whether the attribute
   "buffer_bound" tells the extents of the buffers, for InstrumentBoundCheckers. Prefetches become
   calls of T.prefetch. Schedules that are blocks, as schedule_to_module makes them, are lowered
   first, by the passes that tenon.lower runs. Programs without realized regions or the attribute
   "from_legacy_te_schedule" stay as they are. */
#include "arith/analyzer.h"
#include "tir/transforms/loops/prefetch.h"
#include "tir/transforms/transforms.h"

typedef struct {
  tn_pmap shifted; /* Buffer -> buffer of the realized region */
  tn_pmap bounds;  /* Buffer -> its region, array of Range */
  bool tell;
} flattener;

static tn_arr *shifted(const flattener *x, const tn_Buffer *b, tn_arr *indices) {
  const tn_arr *region = tn_pmap_get(&x->bounds, b);
  TN_VEC(v);
  TN_ARITH(a);
  if (!region) return indices;
  for (int64_t i = 0; i < indices->len; ++i) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(region, i);
    tn_expr *at = (tn_expr *)tn_arr_obj(indices, i);
    if (!tir_is_zero(r->min)) at = arith_simplify(&a, tir_index_sub(at, r->min));
    if (!at || tn_vec_push_obj(&v, at)) return NULL;
  }
  return tn_arr_from(&v);
}

static tn_obj *use_load(tn_mut *m, tn_BufferLoad *op) {
  const flattener *x = m->ctx;
  tn_Buffer *b = tn_pmap_get(&x->shifted, op->buffer);
  tn_arr *indices = tn_mut_visit(m, op->indices);
  if (!indices || (!b && indices == op->indices)) return indices ? (tn_obj *)op : NULL;
  return (tn_obj *)tir_load(b ? b : op->buffer, shifted(x, op->buffer, indices));
}

static tn_obj *use_store(tn_mut *m, tn_BufferStore *op) {
  const flattener *x = m->ctx;
  tn_Buffer *b = tn_pmap_get(&x->shifted, op->buffer);
  tn_arr *indices = tn_mut_visit(m, op->indices);
  tn_expr *value = tn_mut_visit(m, op->value);
  if (!indices || !value) return NULL;
  return (tn_obj *)tir_store(b ? b : op->buffer, value, shifted(x, op->buffer, indices));
}

static tn_stmt *with_bound(const tn_Buffer *b, tn_stmt *body) {
  tn_expr *tuple = tir_call_args(TN_HANDLE, TIR_OP_tvm_tuple, b->shape, NULL);
  return (tn_stmt *)TN_NEW(AttrStmt, .node = (tn_obj *)b->data,
                           .attr_key = tn_str_from("buffer_bound"), .value = tuple, .body = body);
}

static tn_obj *realize(tn_mut *m, tn_BufferRealize *op) {
  flattener *x = m->ctx;
  tn_Buffer copy = *op->buffer, *b;
  TN_VEC(shape);
  tn_map *hints = tn_scope_own(tn_map_new());
  for (int64_t i = 0; i < op->bounds->len; ++i)
    TN_TRYP(tn_vec_push_obj(&shape, ((tn_Range *)tn_arr_obj(op->bounds, i))->extent));
  TN_GETP(copy.shape, tn_arr_from(&shape));
  TN_GETP(copy.strides, tn_arr_of(0));
  TN_GETP(b, tn_node_copy(&tn_type_Buffer, &copy));
  TN_TRYP(tn_pmap_put(&x->shifted, op->buffer, b));
  TN_TRYP(tn_pmap_put(&x->bounds, op->buffer, op->bounds));
  tn_stmt *body = tn_mut_visit(m, op->body);
  if (x->tell && body) body = with_bound(b, body);
  body = (tn_stmt *)TN_NEW(DeclBuffer, .buffer = b, .body = body);
  return (tn_obj *)TN_NEW(Allocate, .buffer_var = b->data, .dtype = b->dtype, .extents = b->shape,
                          .condition = op->condition, .body = body, .annotations = hints);
}

static tn_obj *prefetch(tn_mut *m, tn_Prefetch *op) {
  tn_stmt *calls = tir_prefetch_calls(op);
  return calls ? tn_mut_visit(m, calls) : NULL;
}

static tn_stmt *with_parameter_bounds(const tn_PrimFunc *f, tn_stmt *body) {
  tn_any k, v;
  for (int64_t i = f->buffer_map->len; body && i-- > 0;)
    if (tn_map_at(f->buffer_map, i, &k, &v)) body = with_bound((tn_Buffer *)v.v.obj, body);
  return body;
}

static tn_PrimFunc *allocate_realized(tn_PrimFunc *f, flattener *x) {
  static const tn_mut_case cases[] = {TN_CASE(BufferLoad, use_load),
                                      TN_CASE(BufferStore, use_store),
                                      TN_CASE(BufferRealize, realize), TN_CASE(Prefetch, prefetch)};
  TN_MUT(m, cases, x);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  if (body && x->tell) body = with_parameter_bounds(f, body);
  tn_pmap_fini(&x->shifted);
  tn_pmap_fini(&x->bounds);
  return tir_with_body(f, body);
}

tn_PrimFunc *tir_allocate_realized(tn_PrimFunc *f) {
  flattener x = {0};
  return allocate_realized(f, &x);
}

/* All that gives blocks their meaning, in the order of tenon.lower; reductions over threads too. */
static tn_PrimFunc *without_blocks(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static tn_PrimFunc *(*const steps[])(tn_PrimFunc *, const tn_pass_ctx *) = {
      tir_inject_prefetch,   tir_lower_cross_thread_reduction, tir_lower_init_block,
      tir_plan_allocation,   tir_convert_blocks_to_opaque,     tir_compact_buffer_allocation,
      tir_lower_auto_copy,   tir_unify_thread_binding,         tir_lower_match_buffer,
      tir_lower_opaque_block};
  tn_pass_ctx own = *c;
  own.nargs = 0; /* the arguments are those of StorageFlatten */
  for (size_t i = 0; f && i < sizeof steps / sizeof *steps; ++i) f = steps[i](f, &own);
  return f;
}

static bool is_of_schedule(const tn_stmt *s, const void *arg) {
  (void)arg;
  return TN_IS(BufferRealize, s) || TN_IS(Prefetch, s);
}

/* Other programs than those of schedules are for FlattenBuffer. */
tn_PrimFunc *tir_storage_flatten(tn_PrimFunc *f, const tn_pass_ctx *c) {
  flattener x = {0};
  bool legacy = tir_is_legacy(f);
  if (c->nargs > 1 && c->args[1].type_index != TN_NONE)
    TN_TRYP(tn_any_to_bool(&c->args[1], &x.tell));
  if (!legacy && !tir_has_stmt(f->body, is_of_schedule, NULL)) return f;
  if (legacy) TN_GETP(f, tir_with_attr(f, "from_legacy_te_schedule", NULL));
  if (TN_AS(BlockRealize, f->body)) TN_GETP(f, without_blocks(f, c));
  TN_GETP(f, allocate_realized(f, &x));
  TN_GETP(f, tir_flatten_declared(f));
  return legacy ? tir_with_attr(f, "from_legacy_te_schedule", (tn_obj *)tir_bool(true)) : f;
}
