/* Finding matrix products among reductions: one reduction axis, a product of two loads, of which
   one depends on the innermost axis of the result and the other does not.

     D[b, i, j] = D[b, i, j] + A[b, i, k] * W[j // 32, k, j % 32]
                                                    rows i, columns j, W in panels of 32

   Elements of int8 lie in groups of the four that share a lane: W[j // 32, k // 4, j % 32, k % 4]. */
#include "arith/region.h"
#include "base/error.h"
#include "base/scope.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "kernels/gemm.h"

/* ---- the product ---- */

/* The two factors of `store`, which adds their product to what is there. */
static bool product_of(const tn_BufferStore *store, const tn_BufferLoad *factor[2]) {
  const tn_Add *sum = TN_AS(Add, store->value);
  const tn_BufferLoad *self = sum ? TN_AS(BufferLoad, sum->a) : NULL;
  const tn_Mul *product = sum ? TN_AS(Mul, sum->b) : NULL;
  if (!self || !product || self->buffer != store->buffer) return false;
  factor[0] = kernel_loaded(product->a);
  factor[1] = kernel_loaded(product->b);
  return factor[0] && factor[1] && factor[0]->buffer != factor[1]->buffer;
}

/* ---- operands ---- */

static bool reads_axis(const tn_BufferLoad *load, const kernel_axis *a) {
  return kernel_uses(load->indices, a);
}

static bool is_axis(const tn_obj *e, const kernel_axis *a) { return e == (const tn_obj *)a->var; }

/* Is the operand stored in panels of columns: [j // n, ..., j % n]? */
static int64_t panel_of(const tn_obj *last, const kernel_axis *column) {
  const tn_FloorMod *m = TN_AS(FloorMod, last);
  int64_t n;
  return m && is_axis((const tn_obj *)m->a, column) && tir_as_int((const tn_obj *)m->b, &n) ? n : 0;
}

static void set_columns(gemm *g, const tn_BufferLoad *load) {
  kernel_stage *st = g->st;
  const kernel_axis *column = &st->axis[g->column];
  g->b = load->buffer;
  g->dot = kernel_dot_group(load, column, &st->axis[st->nspatial]);
  const tn_obj *last = tn_arr_obj(load->indices, load->indices->len - (g->dot > 1 ? 2 : 1));
  g->panel = panel_of(last, column);
  g->along = g->panel > 0 || is_axis(last, column);
  /* the axis nearest to the columns over which the same columns of b are used */
  g->row = -1;
  for (int i = g->column - 1; i >= 0 && g->row < 0; --i)
    if (st->axis[i].extent != 1 && !reads_axis(load, &st->axis[i])) g->row = i;
}

/* The result is written along its axes in their order. */
static bool writes_in_order(const kernel_stage *st, const tn_BufferStore *store) {
  if (store->indices->len != st->nspatial) return false;
  for (int i = 0; i < st->nspatial; ++i)
    if (!is_axis(tn_arr_obj(store->indices, i), &st->axis[i])) return false;
  return true;
}

/* Is no iterator of the product empty? */
static bool has_extents(const kernel_stage *st) {
  for (int i = 0; i < st->naxes; ++i)
    if (st->axis[i].extent == 0) return false;
  return st->naxes == st->nspatial + 1 && st->nspatial > 0 && st->block->init != NULL;
}

int gemm_match(gemm *g, kernel_stage *st) {
  const tn_BufferStore *store = TN_AS(BufferStore, st->block->body);
  const tn_BufferLoad *factor[2];
  *g = (gemm){.st = st, .column = st->nspatial - 1};
  if (!has_extents(st) || !product_of(store, factor) || !writes_in_order(st, store)) return 0;
  const kernel_axis *column = &st->axis[g->column], *k = &st->axis[st->nspatial];
  bool first = reads_axis(factor[0], column), second = reads_axis(factor[1], column);
  if (first == second || !reads_axis(factor[0], k) || !reads_axis(factor[1], k)) return 0;
  set_columns(g, factor[first ? 0 : 1]);
  g->m = g->row < 0 ? 1 : st->axis[g->row].extent;
  g->n = column->extent;
  g->k = k->extent;
  return 1;
}
