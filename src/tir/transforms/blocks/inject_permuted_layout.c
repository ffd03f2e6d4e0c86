/* Rows of shared arrays lie in a permuted order, so that threads that read a column of 16-byte
   pieces meet different banks.

     with T.block("A_shared"):                      with T.block("A_shared"):
       T.block_attr({"permuted_layout": 1})           A_shared[i, T.bitwise_xor(j // 8, i % 8) * 8
       A_shared[i, j] = A[i, j]              ->                   + j % 8] = A[i, j]

   Pieces are 16 bytes. A row of 128 bytes or of a multiple has its pieces exchanged among eight by
   the number of the row; one of 64 bytes among four, by half the number. All accesses in marked
   blocks change alike: of elements, and tvm_access_ptr of a pointer into the array. Whoever marks a
   block marks all that use the array, and no block that spans accesses of others. */
#include <string.h>

#include "tir/device.h"
#include "tir/transforms/transforms.h"

#define MARK "permuted_layout"

typedef struct {
  bool inside;    /* of a marked block */
  tn_pmap arrays; /* data variable -> shared buffer that is permuted */
} permuter;

enum { PIECE_BYTES = 16 };

/* Elements of a piece and pieces of a group, 0: the buffer is not permuted. */
static int64_t pieces_of(const tn_Buffer *b, int64_t *elements) {
  int64_t row;
  int bits = b->dtype.bits * b->dtype.lanes;
  if (tir_memory_of(tir_buffer_scope(b)) != TIR_MEMORY_SHARED || b->shape->len < 2 ||
      b->strides->len || bits < 8 || bits > 64 ||
      !tir_as_int(tn_arr_obj(b->shape, b->shape->len - 1), &row))
    return 0;
  *elements = PIECE_BYTES * 8 / bits;
  return row % (*elements * 8) == 0 ? 8 : row % (*elements * 4) == 0 ? 4 : 0;
}

/* The column at which an element of a row lies. */
static tn_expr *permuted(tn_expr *row, tn_expr *column, int64_t elements, int64_t group) {
  tn_dtype t = column->dtype;
  tn_expr *size = tir_int(t, elements), *n = tir_int(t, group);
  tn_expr *piece = tir_floordiv(column, size);
  tn_expr *key = group == 8 ? row : tir_floordiv(row, tir_int(row->dtype, 2));
  if (!piece || !key) return NULL;
  key = tir_cast(t, tir_floormod(key, tir_int(row->dtype, group)), NULL);
  tn_expr *in_group = tir_bitwise(TIR_OP_bitwise_xor, tir_floormod(piece, n), key, NULL);
  tn_expr *first = tir_mul(tir_floordiv(piece, n), n);
  if (!in_group || !first) return NULL;
  return tir_add(tir_mul(tir_add(first, in_group), size), tir_floormod(column, size));
}

/* Vectors that stay in a piece are moved as they are. */
static tn_expr *moved(tn_expr *row, tn_expr *column, int64_t elements, int64_t group) {
  const tn_Ramp *r = TN_AS(Ramp, column);
  if (!r) return permuted(row, column, elements, group);
  TN_CHECKP(tir_is_const((tn_obj *)r->stride, 1) && r->lanes > 0 && elements % r->lanes == 0,
            ValueError, column->span,
            "tir.InjectPermutedLayout: a vector of %lld elements does not stay in a "
            "piece of %lld",
            (long long)r->lanes, (long long)elements);
  tn_expr *base = permuted(row, r->base, elements, group);
  return base ? (tn_expr *)TN_MAKE(Ramp, .base = base, .stride = r->stride, .lanes = r->lanes)
              : NULL;
}

static tn_arr *move_indices(tn_mut *m, const tn_Buffer *b, tn_arr *indices) {
  permuter *x = m->ctx;
  int64_t elements, group = x->inside ? pieces_of(b, &elements) : 0, n = indices->len;
  TN_VEC(v);
  TN_GETP(indices, tn_mut_visit(m, indices));
  if (!group || n != b->shape->len) return indices;
  for (int64_t i = 0; i < n; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(indices, i);
    if (i == n - 1) e = moved((tn_expr *)tn_arr_obj(indices, n - 2), e, elements, group);
    if (!e || tn_vec_push_obj(&v, e)) return NULL;
  }
  return tn_arr_from(&v);
}

static tn_obj *move_load(tn_mut *m, tn_BufferLoad *op) {
  tn_arr *indices = move_indices(m, op->buffer, op->indices);
  if (!indices || indices == op->indices) return indices ? (tn_obj *)op : NULL;
  return (tn_obj *)tir_load(op->buffer, indices);
}

static tn_obj *move_store(tn_mut *m, tn_BufferStore *op) {
  tn_arr *indices = move_indices(m, op->buffer, op->indices);
  tn_expr *value = indices ? tn_mut_visit(m, op->value) : NULL;
  return value ? (tn_obj *)tir_store(op->buffer, value, indices) : NULL;
}

/* tvm_access_ptr(type, data, offset, extent, mask): the offset is split by the row. */
static tn_obj *move_pointer(tn_mut *m, tn_Call *op) {
  permuter *x = m->ctx;
  tn_Call *r;
  TN_GETP(r, tn_mut_children(m, op));
  const tn_Buffer *b = x->inside && tir_as_call((tn_obj *)r, TIR_OP_tvm_access_ptr)
                           ? tn_pmap_get(&x->arrays, tn_arr_obj(r->args, 1))
                           : NULL;
  int64_t elements, group = b ? pieces_of(b, &elements) : 0, row;
  if (!group) return (tn_obj *)r;
  tir_as_int(tn_arr_obj(b->shape, b->shape->len - 1), &row);
  tn_expr *offset = (tn_expr *)tn_arr_obj(r->args, 2), *n = tir_int(offset->dtype, row);
  tn_expr *at = tir_floordiv(offset, n), *column = tir_floormod(offset, n);
  if (at && column) column = permuted(at, column, elements, group);
  if (!at || !column) return NULL;
  TN_GETP(offset, tir_add(tir_mul(at, n), column));
  TN_VEC(args);
  for (int64_t i = 0; i < r->args->len; ++i)
    TN_TRYP(tn_vec_push_obj(&args, i == 2 ? (tn_obj *)offset : tn_arr_obj(r->args, i)));
  return (tn_obj *)tir_call_args(r->dtype, TIR_OP_tvm_access_ptr, tn_arr_from(&args), NULL);
}

static tn_obj *enter_block(tn_mut *m, tn_Block *op) {
  permuter *x = m->ctx;
  bool outside = x->inside;
  const tn_obj *mark = tn_map_find(op->annotations, MARK);
  for (int64_t i = 0; i < op->alloc_buffers->len; ++i) {
    tn_Buffer *b = (tn_Buffer *)tn_arr_obj(op->alloc_buffers, i);
    TN_TRYP(tn_pmap_put(&x->arrays, b->data, b));
  }
  tn_Block copy = *op;
  if (mark) TN_GETP(copy.annotations, tn_map_without(op->annotations, tn_any_cstr(MARK)));
  /* an empty text and 0 say no */
  const tn_StringImm *text = TN_AS(StringImm, mark);
  if (mark) x->inside = text ? *tn_cstr(text->value) != 0 : !tir_is_zero((const tn_expr *)mark);
  tn_Block *b = mark ? tn_node_copy(&tn_type_Block, &copy) : op;
  b = b ? tn_mut_children(m, b) : NULL;
  x->inside = outside;
  return (tn_obj *)b;
}

/* Regions that blocks say they use are of whole rows of pieces: they stay. */
static tn_obj *keep(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

tn_PrimFunc *tir_inject_permuted_layout(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(Block, enter_block), TN_CASE(BufferLoad, move_load),
                                      TN_CASE(BufferStore, move_store), TN_CASE(Call, move_pointer),
                                      TN_CASE(BufferRegion, keep)};
  (void)c;
  if (!tir_has_block_mark(f->body, MARK)) return f;
  permuter x = {0};
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, f->body);
  tn_pmap_fini(&x.arrays);
  return tir_with_body(f, body);
}
