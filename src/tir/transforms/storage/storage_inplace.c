/* May a statement compute in place: part of tir.StorageRewrite.

     for i in range(8):
       B[i] = A[i] + 1      B may have the memory of A, if A is not used afterwards

   It may when every element of B is stored once, from no element of A but the same one, and B is
   not read: the index has to be one-to-one over the loops of the statement. */
#include <stdlib.h>

#include "arith/region.h"
#include "tir/transforms/storage/storage_impl.h"

enum { MAX_LOOPS = 32 };

typedef struct {
  const tn_Var *dst, *src;
  const tn_For *loops[MAX_LOOPS];
  int nloops, depth; /* depth of indices */
  int stores;
  const tn_BufferStore *store; /* the one that is visited */
  bool good;
} checker;

/* ---- one-to-one indices ---- */

typedef struct {
  int64_t factor, extent; /* extent -1: not constant */
} stride;

static int by_factor(const void *a, const void *b) {
  int64_t x = ((const stride *)a)->factor, y = ((const stride *)b)->factor;
  return (x > y) - (x < y);
}

/* Do different values of the iterators always give different sums? */
static bool is_one_to_one(stride *s, int n) {
  int64_t below = 0; /* largest sum of the smaller ones */
  qsort(s, (size_t)n, sizeof *s, by_factor);
  for (int i = 0; i < n; ++i) {
    if (s[i].factor <= below || below < 0) return false;
    below = s[i].extent < 0 || s[i].factor > INT32_MAX || s[i].extent > INT32_MAX
                ? -1
                : below + s[i].factor * (s[i].extent - 1);
  }
  return true;
}

/* Is the index that of a compact array over the loops, whose extents need not be constant? Each
 * factor is that of the loop inside times its extent. */
static bool is_row_major(const checker *x, tn_expr *index, const tn_arr *factors) {
  TN_ARITH(a);
  tn_expr *want = tir_one(index->dtype);
  for (int i = x->nloops; want && i-- > 0;) {
    if (!arith_prove_equal(&a, (tn_expr *)tn_arr_obj(factors, i), want)) return false;
    want = tir_mul(want, tir_cast(index->dtype, x->loops[i]->extent, NULL));
  }
  return want != NULL;
}

/* Is the index one-to-one over the loops that it depends on? These are marked in `seen`. */
static bool is_one_to_one_over(const checker *x, tn_expr *index, const tn_arr *factors,
                               bool *seen) {
  stride s[MAX_LOOPS + 1];
  int n = 0;
  int64_t k, extent;
  const tn_Ramp *r = TN_AS(Ramp, index);
  if (r) {
    if (r->lanes < 0 || !tir_as_int((tn_obj *)r->stride, &k)) return false;
    s[n++] = (stride){k < 0 ? -k : k, r->lanes};
  }
  for (int i = 0; i < x->nloops; ++i) {
    if (!tir_as_int((tn_obj *)x->loops[i]->extent, &extent)) extent = -1;
    if (extent == 1 || extent == 0) seen[i] = true;
    if (seen[i] && extent >= 0 && extent <= 1) continue;
    if (!tir_as_int(tn_arr_obj(factors, i), &k)) return false;
    if (k == 0) continue;
    s[n++] = (stride){k < 0 ? -k : k, extent};
    seen[i] = true;
  }
  return is_one_to_one(s, n);
}

/* Do different iterations store different elements? Each index tells the loops that it depends on
 * apart; all loops have to be among them. */
static bool covers_loops(const checker *x, const tn_arr *indices) {
  bool seen[MAX_LOOPS] = {false};
  TN_VEC(vars);
  for (int i = 0; i < x->nloops; ++i)
    if (tn_vec_push_obj(&vars, x->loops[i]->loop_var)) return false;
  tn_arr *all = tn_arr_from(&vars);
  for (int64_t d = 0; d < indices->len; ++d) {
    tn_expr *index = (tn_expr *)tn_arr_obj(indices, d);
    const tn_Ramp *r = TN_AS(Ramp, index);
    tn_arr *factors = arith_linear(r ? r->base : index, all);
    if (!factors || factors->len != x->nloops + 1) return false;
    if (!r && indices->len == 1 && is_row_major(x, index, factors)) return true;
    if (!is_one_to_one_over(x, index, factors, seen)) return false;
  }
  for (int i = 0; i < x->nloops; ++i)
    if (!seen[i]) return false;
  return true;
}

/* ---- uses ---- */

static tn_obj *fail(checker *x, void *op) {
  x->good = false;
  return op;
}

static bool same_indices(const tn_arr *a, const tn_arr *b) {
  bool same = a->len == b->len;
  for (int64_t i = 0; same && i < a->len; ++i)
    same = arith_same((tn_expr *)tn_arr_obj(a, i), (tn_expr *)tn_arr_obj(b, i));
  return same;
}

static bool same_offset(const tn_expr *a, const tn_expr *b) {
  bool none_a = !a || tir_is_zero(a), none_b = !b || tir_is_zero(b);
  return none_a || none_b ? none_a == none_b : arith_same(a, b);
}

/* Are elements of the same indices in the same place? */
static bool same_layout(const tn_Buffer *a, const tn_Buffer *b) {
  bool flat = a->shape->len == 1; /* the places do not depend on the shape */
  return tn_dtype_eq(a->dtype, b->dtype) && a->shape->len == b->shape->len &&
         same_offset(a->elem_offset, b->elem_offset) && same_indices(a->strides, b->strides) &&
         (flat || same_indices(a->shape, b->shape));
}

static tn_obj *check_load(tn_mut *m, tn_BufferLoad *op) {
  checker *x = m->ctx;
  const tn_Var *v = op->buffer->data;
  if (v == x->dst) return fail(x, op);
  if (v == x->src &&
      (!x->store || x->depth || !tn_dtype_eq(x->store->value->dtype, op->dtype) ||
       !same_layout(x->store->buffer, op->buffer) || !same_indices(op->indices, x->store->indices)))
    return fail(x, op);
  x->depth += 1;
  const void *r = tn_mut_visit(m, op->indices);
  x->depth -= 1;
  return r ? (tn_obj *)op : NULL;
}

static tn_obj *check_store(tn_mut *m, tn_BufferStore *op) {
  checker *x = m->ctx;
  const tn_Var *v = op->buffer->data;
  if (v == x->src) return fail(x, op);
  if (v == x->dst) {
    x->stores += 1;
    if (x->stores > 1 || !covers_loops(x, op->indices)) return fail(x, op);
    x->store = op;
  }
  bool good = tn_mut_visit(m, op->value) != NULL;
  x->depth += 1;
  good = good && tn_mut_visit(m, op->indices);
  x->depth -= 1;
  x->store = NULL;
  return good ? (tn_obj *)op : NULL;
}

static tn_obj *check_for(tn_mut *m, tn_For *op) {
  checker *x = m->ctx;
  if (x->nloops == MAX_LOOPS) return fail(x, op);
  if (!tn_mut_visit(m, op->min) || !tn_mut_visit(m, op->extent)) return NULL;
  x->loops[x->nloops++] = op;
  const void *body = tn_mut_visit(m, op->body);
  x->nloops -= 1;
  return body ? (tn_obj *)op : NULL;
}

static tn_obj *check_var(tn_mut *m, tn_obj *v) {
  checker *x = m->ctx;
  if (v == (const tn_obj *)x->src || v == (const tn_obj *)x->dst) x->good = false;
  return v;
}
static tn_obj *refuse(tn_mut *m, tn_obj *op) { return fail(m->ctx, op); }
static tn_obj *skip_buffer(tn_mut *m, tn_obj *b) {
  (void)m;
  return b;
}

bool storage_is_inplace(const tn_stmt *s, const tn_Var *dst, const tn_Var *src) {
  static const tn_mut_case cases[] = {
      TN_CASE(Var, check_var),         TN_CASE(Buffer, skip_buffer),     TN_CASE(While, refuse),
      TN_CASE(AttrStmt, refuse),       TN_CASE(Allocate, refuse),        TN_CASE(For, check_for),
      TN_CASE(BufferLoad, check_load), TN_CASE(BufferStore, check_store)};
  checker x = {.dst = dst, .src = src, .good = true};
  TN_MUT(m, cases, &x);
  return tn_mut_visit(&m, s) && x.good && x.stores == 1;
}
