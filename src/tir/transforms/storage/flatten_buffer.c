/* Accesses of many axes become accesses of flat memory; bool is stored as int8.

     A = T.match_buffer(a, (16, 16))            A = T.match_buffer(a, (16, 16))
     for i, j in T.grid(16, 16):                for i, j in T.grid(16, 16):
       B[i, j] = A[i, j]                   ->     A_1 = T.Buffer((256,), data=A.data)
                                                  B_1[i * 16 + j] = A_1[i * 16 + j]

   The buffers of the parameters stay as they are, since arguments are checked against them. Flat
   buffers are not declared: they are views of the pointers that they name. Regions of blocks become
   the shortest stretches that hold them. After LowerMatchBuffer; builds run it after
   LowerOpaqueBlock.

   Tensors of int4 and uint4 are packed, the first of two in the low half of a byte. They are read
   as bytes; writing them is refused, since neighbours that share a byte may be written by
   different threads. */
#include <string.h>

#include "arith/analyzer.h"
#include "tir/transforms/loops/prefetch.h"
#include "tir/transforms/transforms.h"

static tn_expr *expr_at(const tn_arr *a, int64_t i) { return (tn_expr *)tn_arr_obj(a, i); }

static bool is_bool_buffer(const tn_Buffer *b) { return ir_is_bool(ir_with_lanes(b->dtype, 1)); }

/* Fragments of matrix units are addressed by the unit alone. */
static bool is_packed(const tn_Buffer *b) {
  return b->dtype.bits > 0 && b->dtype.bits < 8 && !is_bool_buffer(b) &&
         strncmp(tir_buffer_scope(b), "wmma.", 5) != 0;
}

/* Extents that a run tells, with what is constant of them in one factor. */
static tn_arr *simple_extents(tn_arr *extents) {
  TN_VEC(v);
  TN_ARITH(a);
  for (int64_t i = 0; i < extents->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, arith_simplify(&a, expr_at(extents, i))));
  return tn_arr_from(&v);
}

static tn_Buffer *simple_shape(tn_Buffer *flat) {
  tn_Buffer copy = *flat;
  TN_GETP(copy.shape, simple_extents(flat->shape));
  return tn_node_copy(&tn_type_Buffer, &copy);
}

static tn_Buffer *flat_buffer(tn_Buffer *b) {
  tn_Buffer *flat = tir_buffer_flattened(b);
  if (flat && flat != b) flat = simple_shape(flat);
  if (!flat || !(is_bool_buffer(b) || is_packed(b))) return flat;
  tn_Buffer copy = *flat;
  copy.dtype = tn_dtype_of(is_packed(b) ? kDLUInt : kDLInt, 8, b->dtype.lanes);
  if (is_packed(b) && copy.shape->len == 1) {
    tn_expr *n = expr_at(copy.shape, 0);
    n = tir_floordiv(tir_add(n, tir_one(n->dtype)), tir_const_int(n->dtype, 2));
    TN_GETP(copy.shape, tn_arr_of(1, n));
  }
  return tn_node_copy(&tn_type_Buffer, &copy);
}

static void *refuse_packed(const tn_Buffer *b, const char *what) {
  return TN_RAISEP(NotImplementedError, b->span,
                   "buffer %s: elements of %s share bytes and cannot be %s (keep them as int8 or "
                   "uint8)",
                   tn_cstr(b->name), TN_DT(b->dtype), what);
}

/* Half a byte as a number of type t. */
static tn_expr *unpacked(tn_Buffer *flat, const tn_Buffer *b, const tn_arr *indices, tn_dtype t) {
  if (b->dtype.bits != 4 || b->dtype.lanes != 1 || indices->len != 1)
    return refuse_packed(b, "read");
  tn_expr *i = expr_at(indices, 0);
  tn_dtype at = i ? i->dtype : TN_I32, byte = tn_dtype_of(kDLUInt, 8, t.lanes);
  tn_expr *two = tir_const_int(at, 2), *four = tir_const_int(byte, 4);
  tn_expr *v = tir_load(flat, tn_arr_of(1, tir_floordiv(i, two)));
  tn_expr *low = tir_cast(byte, tir_floormod(i, two), NULL);
  v = tir_shift(TIR_OP_shift_right, v, tir_mul(low, four), NULL);
  v = tir_shift(TIR_OP_shift_left, v, four, NULL); /* the high half of the byte decides the sign */
  if (t.code == kDLUInt) return tir_cast(t, tir_shift(TIR_OP_shift_right, v, four, NULL), NULL);
  tn_dtype wide = tn_dtype_of(kDLInt, 8, t.lanes);
  v = tir_cast(wide, v, NULL);
  return tir_cast(t, tir_shift(TIR_OP_shift_right, v, tir_const_int(wide, 4), NULL), NULL);
}

/* Seen through the mapper's memory of shared nodes: one flat buffer for each. */
static tn_obj *flatten_buffer(tn_mut *m, tn_Buffer *b) {
  (void)m;
  return (tn_obj *)flat_buffer(b);
}

/* ---- indices ---- */

static int is_dynamic_quotient(void *ctx, tn_obj *o) {
  (void)ctx;
  return TN_IS(FloorDiv, o) && !TN_IS(IntImm, ((tn_FloorDiv *)o)->b);
}

/* Quotients and remainders of one number by products of dynamic extents, as fused loops have them,
   become that number. Where an element is accessed no extent is 0. */
static tn_arr *offset_of(const tn_Buffer *b, const tn_arr *indices) {
  tn_arr *at = tir_buffer_offset(b, indices);
  if (!at || !tn_post_order(at, is_dynamic_quotient, NULL)) return at;
  TN_VEC(v);
  TN_ARITH(a);
  for (int64_t i = 0; i < b->shape->len; ++i) {
    tn_expr *n = expr_at(b->shape, i);
    if (!TN_IS(IntImm, n) && arith_enter(&a, tir_ge(n, tir_one(n->dtype))) < 0) return NULL;
  }
  for (int64_t i = 0; i < at->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, arith_simplify(&a, expr_at(at, i))));
  return tn_arr_from(&v);
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
  return (tn_BufferLoad *)tir_load(flat, offset_of(op->buffer, indices));
}

static tn_obj *flatten_packed_load(tn_mut *m, tn_BufferLoad *op) {
  tn_Buffer *flat;
  tn_arr *indices;
  TN_GETP(flat, tn_mut_visit(m, op->buffer));
  TN_GETP(indices, tn_mut_visit(m, op->indices));
  return (tn_obj *)unpacked(flat, op->buffer, offset_of(op->buffer, indices), op->dtype);
}

static tn_obj *flatten_load(tn_mut *m, tn_BufferLoad *op) {
  if (is_packed(op->buffer)) return flatten_packed_load(m, op);
  tn_BufferLoad *r = stored_load(m, op);
  return r ? (tn_obj *)tir_cast(op->dtype, (tn_expr *)r, NULL) : NULL;
}

/* The number in its byte is cast, for targets that have no type below a byte. */
static tn_obj *flatten_cast(tn_mut *m, tn_Cast *op) {
  const tn_BufferLoad *l = TN_AS(BufferLoad, op->value);
  tn_Cast *r = tn_mut_children(m, op);
  const tn_Cast *inner = r && l && is_packed(l->buffer) ? TN_AS(Cast, r->value) : NULL;
  return inner ? (tn_obj *)tir_cast(op->dtype, inner->value, op->span) : (tn_obj *)r;
}

static tn_obj *flatten_store(tn_mut *m, tn_BufferStore *op) {
  tn_Buffer *flat;
  tn_arr *indices;
  tn_expr *value;
  if (is_packed(op->buffer)) return refuse_packed(op->buffer, "written");
  TN_GETP(flat, tn_mut_visit(m, op->buffer));
  TN_GETP(indices, tn_mut_visit(m, op->indices));
  TN_GETP(value, tn_mut_visit(m, op->value));
  if (is_bool_buffer(op->buffer))
    value = tir_cast(tn_dtype_of(kDLInt, 8, value->dtype.lanes), value, NULL);
  return (tn_obj *)tir_store(flat, value, offset_of(op->buffer, indices));
}

/* The address is that of the stored element, whatever its type. */
static tn_obj *flatten_call(tn_mut *m, tn_Call *op) {
  const tn_BufferLoad *l = tir_as_call((tn_obj *)op, TIR_OP_address_of)
                               ? TN_AS(BufferLoad, tn_arr_obj(op->args, 0))
                               : NULL;
  if (!l) return tn_mut_children(m, op);
  if (is_packed(l->buffer)) return refuse_packed(l->buffer, "addressed");
  tn_BufferLoad *r = stored_load(m, l);
  if (r == l) return (tn_obj *)op;
  return (tn_obj *)tir_call_args(op->dtype, TIR_OP_address_of, tn_arr_of(1, r), op->span);
}

static tn_arr *flat_extents(const tn_arr *extents) {
  tn_expr *n = extents->len ? expr_at(extents, 0) : tir_i32(1);
  for (int64_t i = 1; i < extents->len; ++i) n = tir_mul(n, expr_at(extents, i));
  tn_arr *one = tn_arr_of(1, n);
  return one ? simple_extents(one) : NULL;
}

static tn_obj *flatten_allocate(tn_mut *m, tn_Allocate *op) {
  tn_Allocate *r = tn_mut_children(m, op);
  if (!r) return NULL;
  const tn_DeclBuffer *d = TN_AS(DeclBuffer, op->body);
  bool grouped = d && d->buffer->data == op->buffer_var && d->buffer->axis_separators->len;
  bool is_bool = ir_is_bool(ir_with_lanes(r->dtype, 1));
  if (r->extents->len == 1 && !is_bool) return (tn_obj *)r;
  tn_Allocate copy = *r;
  if (is_bool) copy.dtype = tn_dtype_of(kDLInt, 8, r->dtype.lanes);
  if (grouped) {
    const tn_Buffer *flat = tir_buffer_flattened(d->buffer);
    TN_GETP(copy.extents, flat ? flat->shape : NULL);
  } else {
    TN_GETP(copy.extents, flat_extents(r->extents));
  }
  return tn_node_copy(&tn_type_Allocate, &copy);
}

static tn_obj *flatten_const(tn_mut *m, tn_AllocateConst *op) {
  tn_AllocateConst *r = tn_mut_children(m, op);
  if (!r || r->extents->len == 1) return (tn_obj *)r;
  tn_AllocateConst copy = *r;
  TN_GETP(copy.extents, flat_extents(r->extents));
  return tn_node_copy(&tn_type_AllocateConst, &copy);
}

/* From here on a buffer is what its accesses say of it, unless declarations are kept. */
static tn_obj *flatten_declaration(tn_mut *m, tn_DeclBuffer *op) {
  const bool *keep = m->ctx;
  return *keep ? tn_mut_children(m, op) : tn_mut_visit(m, op->body);
}

static tn_obj *flatten_prefetch(tn_mut *m, tn_Prefetch *op) {
  tn_stmt *calls = tir_prefetch_calls(op);
  return calls ? tn_mut_visit(m, calls) : NULL;
}

/* Where the first and the last element of a region are. */
static int ends_of(const tn_BufferRegion *op, tn_arr **first, tn_arr **last) {
  TN_VEC(mins);
  TN_VEC(maxes);
  for (int64_t i = 0; i < op->region->len; ++i) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(op->region, i);
    tn_expr *end = tir_sub(tir_add(r->min, r->extent), tir_one(r->min->dtype));
    if (!end || tn_vec_push_obj(&mins, r->min) || tn_vec_push_obj(&maxes, end)) return -1;
  }
  TN_GET(*first, tir_buffer_offset(op->buffer, tn_arr_from(&mins)));
  TN_GET(*last, tir_buffer_offset(op->buffer, tn_arr_from(&maxes)));
  return 0;
}

/* Strides may descend: which element is first is not known. */
static tn_obj *whole_region(tn_Buffer *flat) {
  TN_VEC(v);
  for (int64_t i = 0; i < flat->shape->len; ++i) {
    tn_expr *n = expr_at(flat->shape, i);
    tn_Range *r = tir_range(tir_zero(n->dtype), n);
    if (!r || tn_vec_push_obj(&v, r)) return NULL;
  }
  return (tn_obj *)TN_NEW(BufferRegion, .buffer = flat, .region = tn_arr_from(&v));
}

static tn_obj *flatten_region(tn_mut *m, tn_BufferRegion *op) {
  tn_Buffer *flat;
  tn_arr *first, *last;
  TN_VEC(v);
  TN_GETP(flat, tn_mut_visit(m, op->buffer));
  if (flat == op->buffer) return tn_mut_children(m, op);
  if (op->buffer->strides->len) return whole_region(flat);
  TN_TRYP(ends_of(op, &first, &last));
  TN_ARITH(a);
  for (int64_t i = 0; i < first->len; ++i) {
    tn_expr *from = tn_mut_visit(m, expr_at(first, i)), *to = tn_mut_visit(m, expr_at(last, i));
    tn_expr *n = from && to ? tir_add(tir_sub(to, from), tir_one(from->dtype)) : NULL;
    n = n ? arith_simplify(&a, n) : NULL;
    tn_Range *r = n ? tir_range(from, n) : NULL;
    if (!r || tn_vec_push_obj(&v, r)) return NULL;
  }
  return (tn_obj *)TN_NEW(BufferRegion, .buffer = flat, .region = tn_arr_from(&v));
}

static tn_obj *flatten_block(tn_mut *m, tn_Block *op) {
  TN_CHECKP(op->match_buffers->len == 0, ValueError, op->span,
            "block %s: it matches buffers with regions; run tir.LowerMatchBuffer before "
            "tir.FlattenBuffer",
            tn_cstr(op->name_hint));
  return tn_mut_children(m, op);
}

static tn_PrimFunc *flatten(tn_PrimFunc *f, bool keep) {
  static const tn_mut_case cases[] = {TN_CASE(Buffer, flatten_buffer),
                                      TN_CASE(BufferLoad, flatten_load),
                                      TN_CASE(BufferStore, flatten_store),
                                      TN_CASE(Allocate, flatten_allocate),
                                      TN_CASE(AllocateConst, flatten_const),
                                      TN_CASE(Call, flatten_call),
                                      TN_CASE(Cast, flatten_cast),
                                      TN_CASE(Prefetch, flatten_prefetch),
                                      TN_CASE(DeclBuffer, flatten_declaration),
                                      TN_CASE(Block, flatten_block),
                                      TN_CASE(BufferRegion, flatten_region)};
  TN_MUT(m, cases, &keep);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}

tn_PrimFunc *tir_flatten_buffer(tn_PrimFunc *f, const tn_pass_ctx *c) {
  (void)c;
  return tir_is_legacy(f) ? f : flatten(f, false);
}

tn_PrimFunc *tir_flatten_declared(tn_PrimFunc *f) { return flatten(f, true); }
