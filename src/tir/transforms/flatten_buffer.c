/* Accesses of many axes become accesses of flat memory; bool is stored as int8.

     A = T.match_buffer(a, (16, 16))            A = T.match_buffer(a, (16, 16))
     for i, j in T.grid(16, 16):                A_1 = T.decl_buffer((256,), data=A.data)
       B[i, j] = A[i, j]                   ->   for i, j in T.grid(16, 16):
                                                  B_1[i * 16 + j] = A_1[i * 16 + j]

   The buffers of the parameters stay as they are, since arguments are checked against them; their
   flat forms are declared at the top of the body. After LowerOpaqueBlock. */
#include "tir/transforms/prefetch_impl.h"
#include "tir/transforms/transforms.h"

typedef struct {
  tn_pmap used; /* buffers of the parameters that the body uses */
} flattener;

static tn_expr *expr_at(const tn_arr *a, int64_t i) { return (tn_expr *)tn_arr_obj(a, i); }

static bool is_bool_buffer(const tn_Buffer *b) { return ir_is_bool(ir_with_lanes(b->dtype, 1)); }

static tn_Buffer *flat_buffer(tn_Buffer *b) {
  tn_Buffer *flat = tir_buffer_flattened(b);
  if (!flat || !is_bool_buffer(b)) return flat;
  tn_Buffer copy = *flat;
  copy.dtype = tn_dtype_of(kDLInt, 8, b->dtype.lanes);
  return tn_node_copy(&tn_type_Buffer, &copy);
}

/* Seen through the mapper's memory of shared nodes: one flat buffer for each. */
static tn_obj *flatten_buffer(tn_mut *m, tn_Buffer *b) {
  flattener *x = m->ctx;
  TN_TRYP(tn_pmap_put_int(&x->used, b, 1));
  return (tn_obj *)flat_buffer(b);
}

/* The element in its stored form. */
static tn_BufferLoad *stored_load(tn_mut *m, const tn_BufferLoad *op) {
  tn_Buffer *flat;
  tn_arr *indices;
  TN_GETP(flat, tn_mut_visit(m, op->buffer));
  TN_GETP(indices, tn_mut_visit(m, op->indices));
  if (flat == op->buffer && indices == op->indices &&
      (!op->buffer->elem_offset || tir_is_zero(op->buffer->elem_offset)))
    return (tn_BufferLoad *)(uintptr_t)op;
  return (tn_BufferLoad *)tir_load(flat, tir_buffer_offset(op->buffer, indices));
}

static tn_obj *flatten_load(tn_mut *m, tn_BufferLoad *op) {
  tn_BufferLoad *r = stored_load(m, op);
  return r ? (tn_obj *)tir_cast(op->dtype, (tn_expr *)r, NULL) : NULL;
}

static tn_obj *flatten_store(tn_mut *m, tn_BufferStore *op) {
  tn_Buffer *flat;
  tn_arr *indices;
  tn_expr *value;
  TN_GETP(flat, tn_mut_visit(m, op->buffer));
  TN_GETP(indices, tn_mut_visit(m, op->indices));
  TN_GETP(value, tn_mut_visit(m, op->value));
  if (is_bool_buffer(op->buffer))
    value = tir_cast(tn_dtype_of(kDLInt, 8, value->dtype.lanes), value, NULL);
  return (tn_obj *)tir_store(flat, value, tir_buffer_offset(op->buffer, indices));
}

/* The address is that of the stored element, whatever its type. */
static tn_obj *flatten_call(tn_mut *m, tn_Call *op) {
  const tn_BufferLoad *l = tir_as_call((tn_obj *)op, TIR_OP_address_of)
                               ? TN_AS(BufferLoad, tn_arr_obj(op->args, 0))
                               : NULL;
  if (!l) return tn_mut_children(m, op);
  tn_BufferLoad *r = stored_load(m, l);
  if (r == l) return (tn_obj *)op;
  return (tn_obj *)tir_call_args(op->dtype, TIR_OP_address_of, tn_arr_of(1, r), op->span);
}

static tn_arr *flat_extents(const tn_arr *extents) {
  tn_expr *n = extents->len ? expr_at(extents, 0) : tir_i32(1);
  for (int64_t i = 1; i < extents->len; ++i) n = tir_mul(n, expr_at(extents, i));
  return tn_arr_of(1, n);
}

static tn_obj *flatten_allocate(tn_mut *m, tn_Allocate *op) {
  tn_Allocate *r = tn_mut_children(m, op);
  if (!r) return NULL;
  const tn_DeclBuffer *d = TN_AS(DeclBuffer, op->body);
  bool grouped = d && d->buffer->data == op->buffer_var && d->buffer->axis_separators->len;
  bool is_bool = ir_is_bool(ir_with_lanes(r->dtype, 1));
  if (grouped || (r->extents->len == 1 && !is_bool)) return (tn_obj *)r;
  tn_Allocate copy = *r;
  if (is_bool) copy.dtype = tn_dtype_of(kDLInt, 8, r->dtype.lanes);
  TN_GETP(copy.extents, flat_extents(r->extents));
  return tn_node_copy(&tn_type_Allocate, &copy);
}

static tn_obj *flatten_const(tn_mut *m, tn_AllocateConst *op) {
  tn_AllocateConst *r = tn_mut_children(m, op);
  if (!r || r->extents->len == 1) return (tn_obj *)r;
  tn_AllocateConst copy = *r;
  TN_GETP(copy.extents, flat_extents(r->extents));
  return tn_node_copy(&tn_type_AllocateConst, &copy);
}

static tn_obj *flatten_prefetch(tn_mut *m, tn_Prefetch *op) {
  tn_stmt *calls = tir_prefetch_calls(op);
  return calls ? tn_mut_visit(m, calls) : NULL;
}

static tn_obj *refuse_block(tn_mut *m, tn_BlockRealize *op) {
  (void)m;
  return TN_RAISEP(InternalError, op->span,
                   "block %s: blocks must be lowered before buffers are flattened",
                   tn_cstr(op->block->name_hint));
}

tn_PrimFunc *tir_flatten_buffer(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {
      TN_CASE(Buffer, flatten_buffer),       TN_CASE(BufferLoad, flatten_load),
      TN_CASE(BufferStore, flatten_store),   TN_CASE(Allocate, flatten_allocate),
      TN_CASE(AllocateConst, flatten_const), TN_CASE(Call, flatten_call),
      TN_CASE(Prefetch, flatten_prefetch),   TN_CASE(BlockRealize, refuse_block)};
  (void)c;
  if (tir_is_legacy(f)) return f;
  flattener x = {0};
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  for (int64_t i = f->params->len; body && i-- > 0;) {
    tn_any found;
    tn_any key = f->params->items[i];
    if (!tn_map_get(f->buffer_map, key, &found) || !tn_pmap_has(&x.used, found.v.obj)) continue;
    tn_Buffer *flat = tn_mut_visit(&m, found.v.obj);
    if (flat && flat == (tn_Buffer *)found.v.obj) continue;
    body = (tn_stmt *)TN_NEW(DeclBuffer, .buffer = flat, .body = body);
  }
  tn_pmap_fini(&x.used);
  return tir_with_body(f, body);
}
