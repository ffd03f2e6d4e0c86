/* Indices of blocks, simplified by what the iterators' domains tell:

     weight[(oc * 16 + lane) // 16, ..., (oc * 16 + lane) % 16]   =>   weight[oc, ..., lane]

   so that classes see which axis runs along which. */
#include "arith/analyzer.h"
#include "base/error.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "kernels/kernels_impl.h"

/* Iterators of one value are kept: their name tells which axis they belong to. */
static int bind_iterators(arith_analyzer *a, const tn_Block *b) {
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)b->iter_vars->items[i].v.obj;
    if (!tir_is_one((const tn_obj *)iv->dom->extent))
      TN_TRY(arith_bind_range(a, iv->var, iv->dom, true));
  }
  return 0;
}

static tn_obj *in_block(tn_mut *m, tn_Block *b) {
  TN_TRYP(bind_iterators(m->ctx, b));
  return tn_mut_children(m, b);
}

static tn_obj *in_load(tn_mut *m, tn_BufferLoad *op) {
  TN_VEC(v);
  bool same = true;
  TN_GETP(op, tn_mut_children(m, op));
  for (int64_t i = 0; i < op->indices->len; ++i) {
    tn_obj *was = op->indices->items[i].v.obj;
    tn_obj *now = (tn_obj *)arith_simplify(m->ctx, (tn_expr *)was);
    TN_TRYP(tn_vec_push_obj(&v, now));
    same = same && now == was;
  }
  return same ? (tn_obj *)op : (tn_obj *)tir_load(op->buffer, tn_arr_from(&v));
}

static tn_obj *in_region(tn_mut *m, tn_BufferRegion *r) {
  TN_VEC(v);
  for (int64_t i = 0; i < r->region->len; ++i) {
    const tn_Range *range = (const tn_Range *)r->region->items[i].v.obj;
    TN_TRYP(tn_vec_push_obj(
        &v, tir_range(arith_simplify(m->ctx, range->min), arith_simplify(m->ctx, range->extent))));
  }
  return (tn_obj *)TN_MAKE(BufferRegion, .buffer = r->buffer, .region = tn_arr_from(&v));
}

tn_PrimFunc *kernel_simplify_indices(tn_PrimFunc *f) {
  static const tn_mut_case cases[] = {TN_CASE(Block, in_block), TN_CASE(BufferLoad, in_load),
                                      TN_CASE(BufferRegion, in_region)};
  TN_ARITH(a);
  TN_MUT(m, cases, &a);
  tn_stmt *body;
  TN_GETP(body, tn_mut_visit(&m, f->body));
  return tir_with_body(f, body);
}
