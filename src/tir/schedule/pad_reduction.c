/* pad_reduction: the last axis that a block reduces over gets an extent that is a multiple; beyond
   the old one the first value of the reduction, which changes nothing, takes the place of what is
   read.

     y[i] = max(y[i], x[i, k]), k < 197           factor 16
       =>
     y[i] = max(y[i], if_then_else(k < 197, x[i, k], -inf)), k < 208 */
#include "tir/schedule/blocks.h"
#include "tir/schedule/reducer.h"
#include "tir/schedule/regions.h"

typedef struct {
  sch_step *e;
  const tn_Block *block;
  const tn_BlockRealize *realize;
  const tn_IterVar *iter; /* that is reduced over */
  const tn_For *loop;     /* that it is bound to */
  tn_expr *extent, *padded;
} padding;

static int fail(const padding *p, const char *why) {
  return sch_fail(p->e, "The reduction cannot be padded", SCH_PLACES(p->block),
                  "The reduction of block {0} cannot be padded: %s", why);
}

static const tn_For *loop_of(const padding *p, const tn_obj *var) {
  for (const tn_obj *o = sch_parent(p->e, p->realize); o && o->type_index == TN_TI_For;
       o = sch_parent(p->e, o))
    if ((const tn_obj *)((const tn_For *)o)->loop_var == var) return (const tn_For *)o;
  return NULL;
}

static int find_axis(padding *p, int64_t factor) {
  const tn_arr *iters = p->block->iter_vars;
  int64_t n;
  for (int64_t i = 0; i < iters->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(iters, i);
    if (iv->iter_type != IR_ITER_COMM_REDUCE) continue;
    p->iter = iv;
    p->loop = loop_of(p, tn_arr_obj(p->realize->iter_values, i));
  }
  if (!p->iter || !p->loop || !tir_is_zero(p->iter->dom->min) || !tir_is_zero(p->loop->min) ||
      !tir_is_one(p->realize->predicate))
    return fail(p, "its axis is not bound to its own loop");
  p->extent = p->iter->dom->extent;
  bool known = tir_as_int((const tn_obj *)p->extent, &n);
  if (factor < 1 || factor > INT32_MAX || (known && (n <= 0 || n > INT32_MAX - factor)))
    return fail(p, "the factor is out of range");
  tn_expr *f;
  TN_GET(f, tir_int(p->extent->dtype, factor));
  TN_GET(p->padded, tir_mul(tir_ceildiv(p->extent, f, NULL), f));
  TN_GET(p->padded, arith_simplify(&p->e->arith, p->padded));
  return 0;
}

/* The update with what is read only inside the old extent. */
static tn_stmt *guarded(const padding *p) {
  sch_reduction r;
  tn_expr *inside, *value, *lhs, *combined;
  if (sch_match_reduction(p->e, p->block, &r)) return NULL;
  if (r.n != 1) return (void)fail(p, "it has several results"), NULL;
  TN_GETP(inside, tir_lt((tn_expr *)p->iter->var, p->extent));
  TN_GETP(value, tir_if_then_else(inside, r.rhs[0], r.init[0], NULL));
  const tn_BufferStore *store = r.stores[0];
  TN_GETP(lhs, tir_load(store->buffer, store->indices));
  TN_TRYP(sch_combine(&r, &lhs, &value, &combined));
  return tir_store(store->buffer, combined, store->indices);
}

static tn_Block *wider_block(const padding *p) {
  TN_VEC(iters);
  tn_Block copy = *p->block;
  for (int64_t i = 0; i < copy.iter_vars->len; ++i) {
    tn_obj *iv = tn_arr_obj(copy.iter_vars, i);
    if (iv == (const tn_obj *)p->iter) {
      tn_IterVar wide = *p->iter;
      TN_GETP(wide.dom, tir_range(p->iter->dom->min, p->padded));
      TN_GETP(iv, tn_node_copy(&tn_type_IterVar, &wide));
    }
    TN_TRYP(tn_vec_push_obj(&iters, iv));
  }
  TN_GETP(copy.iter_vars, tn_arr_from(&iters));
  TN_GETP(copy.body, guarded(p));
  return tn_node_copy(&tn_type_Block, &copy);
}

/* The block in its loops, of which one has become longer. */
static int replace(const padding *p) {
  sch_step *e = p->e;
  tn_BlockRealize realize = *p->realize;
  tn_stmt *s;
  TN_GET(realize.block, wider_block(p));
  TN_TRY(sch_moved(e, p->block, realize.block));
  TN_GET(s, tn_node_copy(&tn_type_BlockRealize, &realize));
  const tn_obj *at = (const tn_obj *)p->realize;
  while (at != (const tn_obj *)p->loop) { /* up to the loop */
    at = sch_parent(e, at);
    const tn_For *f = (const tn_For *)at;
    tn_For *now;
    TN_GET(now, sch_loop(f, f->loop_var, f->min, f == p->loop ? p->padded : f->extent, s));
    TN_TRY(sch_moved(e, f, now));
    s = (tn_stmt *)now;
  }
  TN_TRY(sch_replace(e, (const tn_stmt *)p->loop, s));
  return sch_commit(e);
}

int sch_pad_reduction(tn_TirSchedule *s, const tn_BlockRV *block, int64_t factor) {
  SCH_STEP(e, s, "pad-reduction");
  padding p = {.e = &e};
  TN_GET(p.block, sch_block_of(&e, block));
  p.realize = sch_realize_of(&e, p.block);
  TN_TRY(find_axis(&p, factor));
  return arith_prove_equal(&e.arith, p.padded, p.extent) ? 0 : replace(&p);
}
