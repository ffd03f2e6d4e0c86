/* Elements that several iterations of a loop write: the order of iterations decides which value
   stays. That iterators are declared as data parallel does not count, only what is proven.

     for i, j:  B[i, j] = A[i, j]        each iteration has its own elements
     for i, j:  B[i] = A[i, j]           i may change, the last j must stay the last one
     for i, j:  B[i + j] = A[i + j]      a block over v = i + j: a run that is repeated stores what
                                         it has stored before
     parallel i:  S[0] = A[i, 0]; ...    S is allocated in each iteration, if it is used there only
 */
#include "tir/schedule/writers.h"

#include "arith/iter_map.h"
#include "arith/region.h"
#include "ir/functor.h"
#include "tir/schedule/cache.h"

typedef struct {
  sch_step *e;
  const sch_loop_change *change;
  const tn_For *top; /* the outermost loop whose place or kind changes */
  const tn_Buffer *buffer;
  tn_vec blocks; /* BlockRealize: the writers right below the loops */
  tn_vec stores; /* BufferStore in these; empty where they do not tell all that is written */
  const tn_BlockRealize *only; /* the innermost block that has all the stores, or NULL */
  bool several;                /* regions of the buffer in what a block declares */
} writers;

static const tn_For *loop_at(const tn_vec *v, int64_t i) {
  return (const tn_For *)v->items[i].v.obj;
}
static const tn_BlockRealize *realize_at(const tn_vec *v, int64_t i) {
  return (const tn_BlockRealize *)v->items[i].v.obj;
}

/* ---- which elements ---- */

static tn_arr *points(const tn_BufferStore *store) {
  TN_VEC(v);
  for (int64_t i = 0; i < store->indices->len; ++i) {
    tn_expr *at = (tn_expr *)tn_arr_obj(store->indices, i);
    TN_TRYP(tn_vec_push_obj(&v, tir_range(at, tir_one(at->dtype))));
  }
  return tn_arr_from(&v);
}

/* What a block (as it declares) or a store writes of the buffer, over loops and what is bound above
   the outermost of them. */
static tn_arr *written(const writers *x, const tn_obj *writer) {
  const tn_BlockRealize *r = TN_AS(BlockRealize, writer);
  tn_arr *region = r ? sch_bound_region(r, sch_region_of(r->block->writes, x->buffer))
                     : points((const tn_BufferStore *)writer);
  for (const tn_obj *o = sch_parent(x->e, writer); region && o && o != (const tn_obj *)x->top;
       o = sch_parent(x->e, o)) {
    const tn_BlockRealize *around = TN_AS(BlockRealize, o);
    if (around) region = sch_bound_region(around, region);
  }
  return region;
}

/* A condition on the loops. */
static tn_expr *condition(const tn_obj *writer) {
  const tn_BlockRealize *r = TN_AS(BlockRealize, writer);
  return r ? r->predicate : NULL;
}

/* Is the step of each part of the index at least as long as the region? What may be 0 is not. */
static bool steps_over(sch_step *e, const tn_IterSumExpr *s, tn_expr *extent) {
  for (int64_t i = 0; i < s->args->len; ++i) {
    tn_expr *scale = ((const tn_IterSplitExpr *)tn_arr_obj(s->args, i))->scale,
            *back = tir_sub(tir_zero(scale->dtype), scale), *one = tir_one(scale->dtype);
    bool up = arith_prove(&e->arith, tir_ge(scale, one)) &&
              arith_prove(&e->arith, tir_ge(scale, extent)),
         down = back && arith_prove(&e->arith, tir_ge(back, one)) &&
                arith_prove(&e->arith, tir_ge(back, extent));
    if (!up && !down) return false;
  }
  return s->args->len < 2 || tir_is_one(extent);
}

/* Are the regions of two values of the variables (map to Range) always apart? */
static int tells_all(sch_step *e, const tn_arr *region, const tn_map *ranges, tn_expr *predicate,
                     bool *out) {
  TN_VEC(mins);
  tn_IterMapResult *map;
  for (int64_t i = 0; i < region->len; ++i)
    TN_TRY(tn_vec_push_obj(&mins, ((const tn_Range *)tn_arr_obj(region, i))->min));
  TN_GET(map, iter_map_detect(&e->arith, tn_arr_from(&mins), ranges, predicate, ITER_MAP_BIJECTIVE,
                              true));
  *out = map->indices->len == region->len;
  for (int64_t i = 0; *out && i < region->len; ++i)
    *out = steps_over(e, (tn_IterSumExpr *)tn_arr_obj(map->indices, i),
                      ((const tn_Range *)tn_arr_obj(region, i))->extent);
  return 0;
}

/* Loops around a writer, up to `high`, that its region uses. */
static tn_map *used_loops(const writers *x, const tn_obj *writer, const tn_arr *region,
                          const tn_obj *high) {
  tn_map *all = sch_loop_domain(x->e, writer, high, ""), *used;
  if (!all) return NULL;
  TN_GETP(used, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < all->len; ++i) {
    const tn_any *key = &all->entries[i].key;
    if (sch_uses_var(region, (const tn_Var *)key->v.obj))
      TN_TRYP(tn_map_set(used, *key, all->entries[i].value));
  }
  return used;
}

/* ---- loops ---- */

static bool below(sch_step *e, tn_expr *a, tn_expr *b) {
  return !arith_is_inf(a) && !arith_is_inf(b) && arith_prove(&e->arith, tir_lt(a, b));
}

/* Does what one value of a variable covers end before what the next one covers begins, or the other
   way round? Then so it is for all values. */
static int moves_on(sch_step *e, const tn_arr *sets, const tn_Var *v, bool *out) {
  TN_PMAP(next);
  tn_arr *after;
  TN_TRY(tn_pmap_put(&next, v, tir_add((tn_expr *)(uintptr_t)v, tir_one(v->dtype))));
  TN_GET(after, tir_substitute(sets, &next));
  *out = false;
  for (int64_t i = 0; !*out && i < sets->len; ++i) {
    const tn_IntervalSet *a = (const tn_IntervalSet *)tn_arr_obj(sets, i),
                         *b = (const tn_IntervalSet *)tn_arr_obj(after, i);
    *out = below(e, a->max_value, b->min_value) || below(e, b->max_value, a->min_value);
  }
  return 0;
}

/* Do different iterations of a loop touch different elements, whatever loops up to `high` do? For
   all writers of the list together. */
static int tells_loop(const writers *x, const tn_vec *list, const tn_For *loop, const tn_obj *high,
                      bool *out) {
  tn_arr *all = NULL, *sets;
  for (int64_t i = 0; i < list->len; ++i) {
    const tn_obj *writer = list->items[i].v.obj;
    tn_arr *region;
    tn_map *dom;
    TN_GET(region, written(x, writer));
    TN_GET(dom, sch_loop_domain(x->e, writer, high, ""));
    TN_GET(dom, tn_map_without(dom, tn_any_obj(loop->loop_var)));
    TN_GET(sets, arith_region_upper(&x->e->arith, region, dom, condition(writer)));
    if (all) TN_GET(sets, sch_union_region(x->e, all, sets));
    all = sets;
  }
  return moves_on(x->e, all, loop->loop_var, out);
}

/* The same, of writers of one region: it may tell several loops together, as i*4 + j does. */
static int tells_with_others(const writers *x, const tn_vec *list, const tn_For *loop,
                             const tn_obj *high, bool *out) {
  const tn_obj *first = list->items[0].v.obj;
  tn_arr *region, *other;
  tn_map *loops;
  *out = false;
  TN_GET(region, written(x, first));
  for (int64_t i = 1; i < list->len; ++i) {
    TN_GET(other, written(x, list->items[i].v.obj));
    if (!sch_same_region(region, other)) return 0;
  }
  if (!sch_uses_var(region, loop->loop_var)) return 0;
  TN_GET(loops, used_loops(x, first, region, high));
  TN_TRY(tells_all(x->e, region, loops, condition(first), out));
  return *out ? 0 : tells_all(x->e, region, loops, NULL, out);
}

static int tells_by(const writers *x, const tn_vec *list, const tn_For *loop, bool *out) {
  const tn_obj *high = sch_parent(x->e, x->top);
  if (list->len) TN_TRY(tells_loop(x, list, loop, high, out));
  return *out || !list->len ? 0 : tells_with_others(x, list, loop, high, out);
}

/* Does the element tell the iteration of the loop? */
static int tells(const writers *x, const tn_For *loop, bool *out) {
  *out = tir_is_one(loop->extent);
  if (!*out && !x->several) TN_TRY(tells_by(x, &x->blocks, loop, out));
  return *out ? 0 : tells_by(x, &x->stores, loop, out);
}

/* ---- runs that are repeated ---- */

/* Does the block use anything between the loops and itself other than through its iterators? */
static bool uses_outside(const writers *x, const tn_Block *b) {
  const tn_obj *end = sch_parent(x->e, x->top), *o = sch_parent(x->e, sch_parent(x->e, b));
  for (; o && o != end; o = sch_parent(x->e, o)) {
    const tn_For *f = TN_AS(For, o);
    const tn_Block *around = TN_AS(Block, o);
    if (f && sch_uses_var(b, f->loop_var)) return true;
    for (int64_t i = 0; around && i < around->iter_vars->len; ++i)
      if (sch_uses_var(b, ((const tn_IterVar *)tn_arr_obj(around->iter_vars, i))->var)) return true;
  }
  return false;
}

/* The elements of one run: of its only store, or as the block declares. */
static tn_arr *of_one_run(const writers *x) {
  const tn_obj *store = x->stores.items[0].v.obj;
  if (x->stores.len > 1 || sch_parent(x->e, store) != (const tn_obj *)x->only->block)
    return sch_region_of(x->only->block->writes, x->buffer);
  return points((const tn_BufferStore *)store);
}

/* Does an element tell the run of the block that writes it, so that any other run that writes it
   stores the same value? */
static int repeats_itself(const writers *x, bool *out) {
  tn_arr *region;
  tn_map *iters;
  *out = false;
  const tn_Block *b = x->only ? x->only->block : NULL;
  if (!b || x->several || b->init || sch_has_buffer(b->reads, x->buffer) || uses_outside(x, b))
    return 0;
  TN_GET(region, of_one_run(x));
  TN_GET(iters, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    if (iv->iter_type != IR_ITER_DATA_PAR) return 0;
    TN_TRY(tn_map_set(iters, tn_any_obj(iv->var), tn_any_obj(iv->dom)));
  }
  return tells_all(x->e, region, iters, NULL, out);
}

/* ---- one buffer ---- */

/* Is the buffer one for each iteration? It is allocated where all its uses meet, which has to be in
   the loop, and threads may not share its memory. Of what virtual threads share, only global memory
   is not multiplied. */
static int is_private(const writers *x, bool *out) {
  const char *memory = tir_buffer_scope(x->buffer), *thread = x->change->thread;
  tir_access_lca lca = {0};
  *out = false;
  if (thread && tir_is_shared_by(memory, thread) &&
      (!tir_is_virtual_axis(thread) || sch_is_global(memory)))
    return 0;
  int r = tir_access_lca_find(x->e->func, 0, &lca);
  *out = r == 0 && sch_lies_below(x->e, tn_pmap_get(&lca.node, x->buffer), x->top);
  tir_access_lca_fini(&lca);
  return r;
}

/* Does the first writer add to what it finds? Then the memory is not that of an iteration alone. */
static bool adds(const writers *x) {
  const tn_Block *b = realize_at(&x->blocks, 0)->block;
  return !b->init && sch_has_buffer(b->reads, x->buffer);
}

/* Threads reduce together what iterators of a reduction say. */
static bool reduces(const tn_BlockRealize *r, const tn_Var *v) {
  for (int64_t i = 0; i < r->iter_values->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(r->block->iter_vars, i);
    if (iv->iter_type == IR_ITER_COMM_REDUCE && sch_uses_var(tn_arr_obj(r->iter_values, i), v))
      return true;
  }
  return false;
}

static int refuse(const writers *x) {
  const tn_Block *b = realize_at(&x->blocks, 0)->block;
  const char *name = tn_cstr(x->buffer->name);
  if (x->change->after)
    return sch_fail(x->e, "The order of the loops matters", SCH_PLACES(b),
                    "The loops cannot change places: the block {0} may write an element of %s in "
                    "several iterations, and nothing proves that the last one stays the last",
                    name);
  return sch_fail(
      x->e, "Iterations of the loop write the same elements", SCH_PLACES(x->top, b),
      "The loop {0} cannot run its iterations at once: nothing proves that each of them "
      "writes elements of %s that no other one writes. See the block {1}",
      name);
}

static int check_at_once(writers *x) {
  bool fine = false;
  for (int64_t i = 0; i < x->blocks.len; ++i)
    if (reduces(realize_at(&x->blocks, i), x->top->loop_var)) return 0;
  TN_TRY(tells(x, x->top, &fine));
  if (!fine) TN_TRY(repeats_itself(x, &fine));
  if (!fine && !adds(x)) TN_TRY(is_private(x, &fine));
  return fine ? 0 : refuse(x);
}

static bool keeps_order(const tn_vec *loops, const tn_vec *after) {
  for (int64_t i = 1; i < loops->len; ++i)
    if (sch_place_of(after, loop_at(loops, i - 1)) > sch_place_of(after, loop_at(loops, i)))
      return false;
  return true;
}

/* Loops whose values the element does not tell keep their order, unless they are reduced over. What
   calls write through a pointer only the iterators say: here they are believed. */
static int check_order(writers *x) {
  const tn_vec *before = x->change->before;
  TN_VEC(open);
  bool fine = false, reduced = true;
  for (int64_t i = 0; !fine && i < x->blocks.len; ++i)
    fine = sch_uses_pointer(realize_at(&x->blocks, i)->block, x->buffer);
  if (!fine) TN_TRY(repeats_itself(x, &fine));
  for (int64_t i = 0; !fine && i < before->len; ++i) {
    bool told;
    TN_TRY(tells(x, loop_at(before, i), &told));
    if (told) continue;
    TN_TRY(tn_vec_push_obj(&open, loop_at(before, i)));
    for (int64_t j = 0; j < x->blocks.len; ++j)
      reduced = reduced && reduces(realize_at(&x->blocks, j), loop_at(before, i)->loop_var);
  }
  return fine || reduced || keeps_order(&open, x->change->after) ? 0 : refuse(x);
}

/* ---- the blocks below ---- */

static int meet_store(void *ctx, tn_obj *o) {
  writers *x = ctx;
  const tn_BufferStore *store = TN_AS(BufferStore, o);
  if (!store || store->buffer != x->buffer) return 0;
  const tn_obj *r = o;
  while (!TN_IS(BlockRealize, r)) r = sch_parent(x->e, r);
  bool same = !x->stores.len || x->only == (const tn_BlockRealize *)r;
  x->only = same ? (const tn_BlockRealize *)r : NULL;
  return tn_vec_push_obj(&x->stores, o);
}

/* Blocks of blocks may write through a buffer that they match against a part of this one. */
static int meet_match(void *ctx, tn_obj *o) {
  const tn_MatchBufferRegion *m = TN_AS(MatchBufferRegion, o);
  return m && m->source->buffer == ctx;
}

static bool only_stores(const tn_Block *b, const tn_Buffer *buffer) {
  int r = tn_post_order(b, meet_match, (void *)(uintptr_t)buffer);
  if (r < 0) tn_error_clear();
  return r == 0 && !sch_uses_pointer(b, buffer);
}

static int64_t regions_of(const tn_arr *regions, const tn_Buffer *b) {
  int64_t n = 0;
  for (int64_t i = 0; i < regions->len; ++i)
    n += ((const tn_BufferRegion *)tn_arr_obj(regions, i))->buffer == b;
  return n;
}

static int check_buffer(writers *x, const tn_vec *realizes) {
  bool told = true;
  for (int64_t i = 0; i < realizes->len; ++i) {
    const tn_BlockRealize *r = realize_at(realizes, i);
    int64_t n = regions_of(r->block->writes, x->buffer);
    if (!n) continue;
    x->several = x->several || n > 1;
    TN_TRY(tn_vec_push_obj(&x->blocks, r));
    TN_TRY(tn_post_order(r->block, meet_store, x));
    told = told && only_stores(r->block, x->buffer);
  }
  if (!told) {
    x->stores.len = 0;
    x->only = NULL;
  }
  return x->change->after ? check_order(x) : check_at_once(x);
}

int sch_check_writers(sch_step *e, const sch_loop_change *change, const tn_vec *realizes) {
  TN_PMAP(seen);
  const tn_vec *loops = change->before;
  const tn_For *top = loop_at(loops, loops->len - 1);
  for (int64_t i = 0; i < realizes->len; ++i) {
    const tn_arr *writes = realize_at(realizes, i)->block->writes;
    for (int64_t j = 0; j < writes->len; ++j) {
      const tn_Buffer *b = ((const tn_BufferRegion *)tn_arr_obj(writes, j))->buffer;
      if (tn_pmap_has(&seen, b)) continue;
      TN_TRY(tn_pmap_put(&seen, b, b));
      writers x = {e, change, top, b, {0}, {0}, NULL, false};
      int r = check_buffer(&x, realizes);
      tn_vec_fini(&x.blocks);
      tn_vec_fini(&x.stores);
      if (r) return -1;
    }
  }
  return 0;
}
