/* Indices that are the digits of one number, as axes that were merged leave them, become that
   number:

     A[c, (i * 16 + j) // 28, (i * 16 + j) % 28]   =>   A[c, 0, i * 16 + j]

   Simplified each by itself such digits no longer show that they belong together, and memory would
   not be read in vectors. An index may pass the end of its axis so, into what follows in memory:
   this is the last step of a schedule, for parameters that are one piece; what comes after it
   flattens them by the extents of their axes. */
#include "arith/analyzer.h"
#include "base/error.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "kernels/kernels_impl.h"
#include "object/functions.h"

static bool is_one_piece(const tn_PrimFunc *f, const tn_Buffer *b) {
  bool parameter = false;
  for (int64_t i = 0; i < f->buffer_map->len && !parameter; ++i)
    parameter = f->buffer_map->entries[i].value.v.obj == (const tn_obj *)b;
  return parameter && b->strides->len == 0 && tir_is_zero((const tn_obj *)b->elem_offset);
}

/* x of x // c or x % c for this c. */
static tn_expr *operand(const tn_obj *e, uint32_t type, int64_t c) {
  const tn_BinaryOp *o = e->type_index == type ? TN_AS_BINARY(e) : NULL;
  int64_t n;
  return o && tir_as_int((const tn_obj *)o->b, &n) && n == c ? o->a : NULL;
}

/* The number whose digits the indices from *first to `last` are; NULL: they are none. */
static tn_expr *number_of(const tn_arr *at, const tn_arr *shape, int64_t last, int64_t *first) {
  int64_t radix, extent;
  tn_expr *number = NULL, *x, *rest;
  if (tir_as_int(tn_arr_obj(shape, last), &radix))
    number = operand(tn_arr_obj(at, last), TN_TI_FloorMod, radix);
  for (int64_t i = last - 1; number && i >= 0; --i) {
    *first = i;
    if (!(x = operand(tn_arr_obj(at, i), TN_TI_FloorDiv, radix))) return NULL;
    if (arith_same(x, number)) return number;
    if (!tir_as_int(tn_arr_obj(shape, i), &extent) || __builtin_mul_overflow(radix, extent, &radix))
      return NULL;
    rest = operand((const tn_obj *)x, TN_TI_FloorMod, radix);
    if (!rest || !arith_same(rest, number)) return NULL;
  }
  return NULL;
}

enum { MAX_AXES = 32 };

/* The indices with numbers in the place of their last digits; the same list when there are none. */
static tn_arr *linear(tn_arr *at, const tn_Buffer *b) {
  const void *now[MAX_AXES];
  TN_VEC(v);
  bool any = false;
  if (at->len > MAX_AXES) return at;
  for (int64_t last = at->len - 1, first; last >= 0; --last) {
    tn_expr *number = number_of(at, b->shape, last, &first);
    now[last] = number ? (tn_obj *)number : tn_arr_obj(at, last);
    while (number && last > first) now[--last] = tir_zero(number->dtype);
    any = any || number;
  }
  for (int64_t i = 0; i < at->len && any; ++i) TN_TRYP(tn_vec_push_obj(&v, now[i]));
  return any ? tn_arr_from(&v) : at;
}

static tn_obj *in_load(tn_mut *m, tn_BufferLoad *op) {
  TN_GETP(op, tn_mut_children(m, op));
  if (!is_one_piece(m->ctx, op->buffer)) return (tn_obj *)op;
  tn_arr *at = linear(op->indices, op->buffer);
  return at == op->indices ? (tn_obj *)op : (tn_obj *)tir_load(op->buffer, at);
}

static tn_obj *in_store(tn_mut *m, tn_BufferStore *op) {
  TN_GETP(op, tn_mut_children(m, op));
  if (!is_one_piece(m->ctx, op->buffer)) return (tn_obj *)op;
  tn_arr *at = linear(op->indices, op->buffer);
  return at == op->indices ? (tn_obj *)op : (tn_obj *)tir_store(op->buffer, op->value, at);
}

tn_PrimFunc *kernel_linear_indices(tn_PrimFunc *f) {
  static const tn_mut_case cases[] = {TN_CASE(BufferLoad, in_load), TN_CASE(BufferStore, in_store)};
  TN_MUT(m, cases, f);
  tn_stmt *body;
  TN_GETP(body, tn_mut_visit(&m, f->body));
  return tir_with_body(f, body);
}
