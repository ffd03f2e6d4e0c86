/* Does a block run for all values of its iterators, and does it set all that it says it writes?

     for i in range(8):                              C_local[vi] is set for even vi only:
         with T.block("C"):                          a copy of C_local[0:8] would put into C
             vi = T.axis.spatial(8, i)               what C_local happens to hold
             if vi % 2 == 0:
                 C[vi] = A[vi]

   What is not proven counts as not set. */
#include "arith/region.h"
#include "ir/functor.h"
#include "tir/schedule/cache.h"

/* ---- conditions and domains ---- */

static int meet_var(void *loops, tn_obj *o) {
  tn_any range;
  return TN_IS(Var, o) && tn_map_get(loops, tn_any_obj(o), &range) ? 1 : 0;
}

/* Conditions over none of the loops hold in all iterations, or in none: that must be proven. */
static bool is_decided(sch_step *e, const tn_map *loops, tn_expr *predicate) {
  const tn_And *both = TN_AS(And, predicate);
  if (both) return is_decided(e, loops, both->a) && is_decided(e, loops, both->b);
  int uses = tn_post_order(predicate, meet_var, (void *)(uintptr_t)loops);
  if (uses < 0) tn_error_clear();
  return uses > 0 || arith_prove(&e->arith, predicate);
}

int sch_region_exact(sch_step *e, const tn_arr *region, const tn_map *loops, tn_expr *predicate,
                     tn_arr **out) {
  *out = NULL;
  if (!region || !loops) return -1;
  if (!is_decided(e, loops, predicate)) return 0;
  return arith_region_exact(&e->arith, region, loops, predicate, out);
}

static bool lies_in_set(sch_step *e, const tn_IntervalSet *set, const tn_Range *r) {
  tn_expr *last = tir_sub(tir_add(r->min, r->extent), tir_one(r->extent->dtype));
  return !arith_interval_is_none(set) && !arith_is_inf(set->min_value) &&
         !arith_is_inf(set->max_value) && arith_prove(&e->arith, tir_le(set->min_value, r->min)) &&
         arith_prove(&e->arith, tir_ge(set->max_value, last));
}

/* Does the region fill the box while the loops run? Regions: arrays of Range. */
static int fills(sch_step *e, const tn_arr *region, const tn_map *loops, tn_expr *predicate,
                 const tn_arr *box, bool *out) {
  tn_arr *sets;
  TN_TRY(sch_region_exact(e, region, loops, predicate, &sets));
  *out = sets != NULL;
  for (int64_t i = 0; *out && i < sets->len; ++i)
    *out = lies_in_set(e, (tn_IntervalSet *)tn_arr_obj(sets, i), (tn_Range *)tn_arr_obj(box, i));
  return 0;
}

/* Is the condition  value < end of the domain  of an iterator, as divided loops have it? */
static bool is_end_of_domain(sch_step *e, const tn_BlockRealize *r, const tn_LT *less) {
  for (int64_t i = 0; i < r->iter_values->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(r->block->iter_vars, i);
    tn_expr *value = (tn_expr *)tn_arr_obj(r->iter_values, i);
    tn_expr *end = tir_add(iv->dom->min, iv->dom->extent), *left = tir_sub(end, value),
            *beyond = left ? tir_sub(less->b, tir_add(less->a, left)) : NULL;
    if (beyond && arith_prove(&e->arith, tir_ge(beyond, tir_zero(beyond->dtype)))) return true;
  }
  return false;
}

static bool only_ends_domains(sch_step *e, const tn_BlockRealize *r, const tn_obj *predicate) {
  const tn_And *both = TN_AS(And, predicate);
  const tn_LT *less = TN_AS(LT, predicate);
  if (both)
    return only_ends_domains(e, r, (tn_obj *)both->a) && only_ends_domains(e, r, (tn_obj *)both->b);
  return tir_is_one(predicate) || (less && is_end_of_domain(e, r, less));
}

int sch_runs_everywhere(sch_step *e, const tn_BlockRealize *r, bool *out) {
  TN_VEC(points);
  TN_VEC(box);
  tn_map *loops;
  TN_TRY(sch_bind_loops_above(e, sch_parent(e, r)));
  *out = only_ends_domains(e, r, (tn_obj *)r->predicate);
  if (*out) return 0;
  for (int64_t i = 0; i < r->iter_values->len; ++i) {
    tn_expr *x = (tn_expr *)tn_arr_obj(r->iter_values, i);
    TN_TRY(tn_vec_push_obj(&points, tir_range(x, tir_one(x->dtype))));
    TN_TRY(tn_vec_push_obj(&box, ((tn_IterVar *)tn_arr_obj(r->block->iter_vars, i))->dom));
  }
  TN_GET(loops, sch_loop_domain(e, (const tn_obj *)r, NULL, ""));
  return fills(e, tn_arr_from(&points), loops, r->predicate, tn_arr_from(&box), out);
}

/* ---- one run of the block ---- */

typedef struct {
  sch_step *e;
  const tn_Block *block;
  const tn_Buffer *buffer;
  const tn_arr *region; /* to be set by one store; NULL: any element of it */
  bool stores, sets;
} run;

/* A loop of no iterations sets nothing. That is as it should be where the indices depend on it:
   then the region is empty too. */
static bool may_be_skipped(const run *x, const tn_BufferStore *store, const tn_For *loop) {
  return !sch_uses_var(store->indices, loop->loop_var) &&
         !arith_prove(&x->e->arith, tir_lt(tir_zero(loop->extent->dtype), loop->extent));
}

/* @param inner whether the store lies in a block of the block, over its own iterators */
static bool is_conditional(const run *x, const tn_BufferStore *store, bool *inner) {
  *inner = false;
  const tn_obj *o = sch_parent(x->e, store);
  for (; o && o != (const tn_obj *)x->block; o = sch_parent(x->e, o)) {
    const tn_BlockRealize *r = TN_AS(BlockRealize, o);
    const tn_For *loop = TN_AS(For, o);
    *inner = *inner || r;
    if (TN_IS(IfThenElse, o) || TN_IS(While, o) || (r && !tir_is_one(r->predicate)) ||
        (loop && may_be_skipped(x, store, loop)))
      return true;
  }
  return false;
}

static int meet_store(void *ctx, tn_obj *o) {
  run *x = ctx;
  bool inner;
  const tn_BufferStore *store = TN_AS(BufferStore, o);
  if (!store || store->buffer != x->buffer) return 0;
  x->stores = true;
  if (x->sets || is_conditional(x, store, &inner)) return 0;
  if (inner || !x->region) { /* the declared region tells what blocks in the block do */
    x->sets = true;
    return 0;
  }
  TN_VEC(points);
  for (int64_t i = 0; i < store->indices->len; ++i) {
    tn_expr *at = (tn_expr *)tn_arr_obj(store->indices, i);
    TN_TRY(tn_vec_push_obj(&points, tir_range(at, tir_one(at->dtype))));
  }
  tn_map *loops;
  TN_GET(loops, sch_loop_domain(x->e, (const tn_obj *)store, (const tn_obj *)x->block, ""));
  return fills(x->e, tn_arr_from(&points), loops, tir_bool(true), x->region, &x->sets);
}

int sch_sets_region(sch_step *e, const tn_Block *b, const tn_Buffer *buffer, bool any_element,
                    bool *out) {
  run x = {e, b, buffer, any_element ? NULL : sch_region_of(b->writes, buffer), false, false};
  TN_TRY(tn_post_order(b, meet_store, &x));
  *out = x.sets || !x.stores; /* without stores the block says itself what it writes */
  return 0;
}

/* ---- all runs ---- */

/* Where the scope allocates the buffer and the block alone writes it nothing was set before. */
static int nobody_sees(const sch_cache *c, bool *out) {
  TN_VEC(blocks);
  int64_t writers = 0;
  TN_TRY(sch_blocks_below((const tn_obj *)c->scope->body, &blocks));
  for (int64_t i = 0; i < blocks.len; ++i) {
    const tn_Block *b = ((const tn_BlockRealize *)blocks.items[i].v.obj)->block;
    writers += sch_has_buffer(b->writes, c->buffer);
  }
  *out = writers == 1 && sch_allocates(c->scope, c->buffer);
  return 0;
}

int sch_check_filled(sch_step *e, const sch_cache *c, const tn_arr *points, const tn_arr *box,
                     const tn_obj *high) {
  const tn_BlockRealize *r = sch_realize_of(e, c->block);
  tn_arr *region;
  tn_map *loops;
  bool fine;
  TN_TRY(nobody_sees(c, &fine));
  if (fine) return 0;
  TN_TRY(sch_sets_region(e, c->block, c->buffer, points != NULL, &fine));
  TN_GET(loops, sch_loop_domain(e, (const tn_obj *)r, high, ""));
  TN_GET(region, sch_bound_region(r, points ? points : sch_region_of(c->block->writes, c->buffer)));
  if (fine) TN_TRY(fills(e, region, loops, r->predicate, box, &fine));
  if (fine) return 0;
  return sch_fail(e, "The block may leave elements of the copy unset", SCH_PLACES(c->block),
                  "The copy would put back elements of %s that the block {0} is not proven to set: "
                  "it stores under a condition, or at indices that leave gaps. Take the copy "
                  "before that step, or use cache_inplace where the block also reads the buffer",
                  tn_cstr(c->buffer->name));
}
