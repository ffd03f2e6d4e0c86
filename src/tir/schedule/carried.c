/* What one iteration of a loop leaves to another: the order of iterations may change only where
   nothing is left, or where what is left still comes first.

     for i, j:  A[i, j] = A[i - 1, j + 1]     distance (1, -1): i must stay around j
     for i, j:  A[i, j] = A[i - 1, j]         (1, 0): any order of i and j
     for i:     B[i] = A[i];  C[i] = B[i]     nothing: each iteration uses its own B

   What cannot be told counts as something that is left. */
#include "tir/schedule/carried.h"

#include "arith/region.h"
#include "ir/functor.h"
#include "tir/schedule/regions.h"
#include "tir/schedule/writers.h"

enum { UNTOLD = 2 }; /* a direction that is not known, beside -1, 0 and 1 */

typedef struct {
  sch_step *e;
  const sch_loop_change *change;
  const tn_obj *top; /* the outermost loop whose place or kind changes */
  tn_vec realizes;   /* of the blocks below, in the order of the program */
} nest;

/* A block's use of a buffer, over loop variables. */
typedef struct {
  const tn_BlockRealize *realize;
  const tn_Buffer *buffer;
  tn_arr *region;
} use;

static const tn_For *loop_at(const tn_vec *v, int64_t i) {
  return (const tn_For *)v->items[i].v.obj;
}

/* ---- distances ---- */

/* Which way a distance points. @param known Var -> 3 + sign; absent: not told */
static int direction(const tn_vec *loops, const tn_pmap *known) {
  for (int64_t i = loops->len; i-- > 0;) {
    int sign = (int)tn_pmap_get_int(known, loop_at(loops, i)->loop_var, 3 + UNTOLD) - 3;
    if (sign) return sign;
  }
  return 0;
}

/* An index that is a multiple of one loop's variable and what stays the same: how many iterations
   of that loop lie between the write of an element and its read. */
static int note_distance(nest *n, tn_pmap *known, const tn_arr *vars, tn_expr *write,
                         tn_expr *read) {
  int64_t apart, factor;
  tn_Var *only = NULL;
  int64_t by = 0;
  tn_expr *diff;
  tn_arr *factors;
  TN_GET(diff, arith_simplify(&n->e->arith, tir_sub(write, read)));
  if (!tir_as_int((tn_obj *)diff, &apart)) return 0;
  TN_GET(factors, arith_linear(write, vars));
  for (int64_t i = 0; i + 1 < factors->len; ++i) {
    bool number = tir_as_int(tn_arr_obj(factors, i), &factor);
    if (number && !factor) continue;
    if (!number || only) return 0;
    only = (tn_Var *)tn_arr_obj(vars, i);
    by = factor;
  }
  int sign = apart == 0 ? 0 : (apart > 0) == (by > 0) ? 1 : -1;
  return only ? tn_pmap_put_int(known, only, 3 + sign) : 0;
}

static int distance(nest *n, const use *w, const use *r, tn_pmap *known) {
  TN_VEC(loops);
  TN_VEC(vars);
  TN_TRY(sch_loops_above(n->e, w->realize->block, &loops));
  for (int64_t i = 0; i < loops.len; ++i)
    TN_TRY(tn_vec_push_obj(&vars, loop_at(&loops, i)->loop_var));
  tn_arr *all;
  TN_GET(all, tn_arr_from(&vars));
  for (int64_t i = 0; i < w->region->len; ++i) {
    const tn_Range *a = (tn_Range *)tn_arr_obj(w->region, i),
                   *b = (tn_Range *)tn_arr_obj(r->region, i);
    if (tir_is_one(a->extent) && tir_is_one(b->extent))
      TN_TRY(note_distance(n, known, all, a->min, b->min));
  }
  return 0;
}

/* ---- pairs ---- */

static tn_arr *covered_while(nest *n, const use *u, const tn_obj *high) {
  tn_map *dom = sch_loop_domain(n->e, (const tn_obj *)u->realize, high, "");
  return dom ? arith_region_upper(&n->e->arith, u->region, dom, u->realize->predicate) : NULL;
}

static bool below(nest *n, tn_expr *a, tn_expr *b) {
  return !arith_is_inf(a) && !arith_is_inf(b) && arith_prove(&n->e->arith, tir_lt(a, b));
}

/* Do two uses never meet, whatever the iterations of the loops that change? */
static int are_apart(nest *n, const use *w, const use *r, bool *out) {
  const tn_obj *high = sch_parent(n->e, n->top);
  tn_arr *a, *b;
  TN_GET(a, covered_while(n, w, high));
  TN_GET(b, covered_while(n, r, high));
  for (int64_t i = 0; !*out && i < a->len; ++i) {
    const tn_IntervalSet *x = (tn_IntervalSet *)tn_arr_obj(a, i),
                         *y = (tn_IntervalSet *)tn_arr_obj(b, i);
    *out = below(n, x->max_value, y->min_value) || below(n, y->max_value, x->min_value);
  }
  return 0;
}

/* May what `w` writes and `r` reads change places as the loops do? */
static int may_change(nest *n, const use *w, const use *r, bool *out) {
  TN_PMAP(known);
  const sch_loop_change *c = n->change;
  *out = sch_same_region(w->region, r->region);
  if (*out && (c->after || w->realize == r->realize)) return 0;
  *out = false;
  TN_TRY(are_apart(n, w, r, out));
  if (*out) return 0;
  TN_TRY(distance(n, w, r, &known));
  int was = direction(c->before, &known);
  *out = was != UNTOLD && (c->after ? direction(c->after, &known) == was : was == 0);
  return 0;
}

/* Does the predicate leave out nothing of the buffer that the indices of the block name? */
static int leaves_out_nothing(nest *n, const tn_BlockRealize *p, const tn_BufferRegion *w,
                              bool *out) {
  *out = tir_is_one(p->predicate);
  if (*out) return 0;
  TN_TRY(sch_runs_everywhere(n->e, p, out));
  for (int64_t i = 0; *out && i < w->region->len; ++i) {
    const tn_obj *at = (const tn_obj *)((const tn_Range *)tn_arr_obj(w->region, i))->min;
    bool whole = false;
    for (int64_t j = 0; !whole && j < p->block->iter_vars->len; ++j) {
      const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(p->block->iter_vars, j);
      whole = at == (const tn_obj *)iv->var && tir_is_zero(iv->dom->min) &&
              arith_same(iv->dom->extent, (tn_expr *)tn_arr_obj(w->buffer->shape, i));
    }
    *out = whole;
  }
  return 0;
}

static tn_arr *as_ranges(arith_analyzer *a, const tn_arr *sets) {
  TN_VEC(out);
  for (int64_t i = 0; i < sets->len; ++i) {
    tn_Range *r = arith_interval_range(a, (tn_IntervalSet *)tn_arr_obj(sets, i), NULL);
    TN_TRYP(!r || tn_vec_push_obj(&out, r));
  }
  return tn_arr_from(&out);
}

/* What the block writes, exactly, while the loops run: of all loops together, or of one after the
   other from the inside, as of tiles that overlap. NULL in *out when that cannot be told. */
static int made_while(nest *n, const tn_BlockRealize *p, const tn_BufferRegion *w,
                      const tn_map *dom, tn_arr **out) {
  tn_arr *region;
  bool all;
  TN_GET(region, sch_bound_region(p, w->region));
  TN_TRY(arith_region_exact(&n->e->arith, region, dom, p->predicate, out));
  if (*out) return 0;
  TN_TRY(leaves_out_nothing(n, p, w, &all));
  for (int64_t i = 0; all && i < dom->len; ++i) {
    tn_map *one;
    TN_GET(one, tn_scope_own(tn_map_new()));
    TN_TRY(tn_map_set(one, dom->entries[i].key, dom->entries[i].value));
    TN_TRY(arith_region_exact(&n->e->arith, region, one, NULL, out));
    all = *out != NULL;
    if (all) TN_GET(region, as_ranges(&n->e->arith, *out));
  }
  return 0;
}

/* Does the block write, in one iteration of the loop `at`, all that is read in it? */
static int writes_all(nest *n, const tn_BlockRealize *p, const use *r, const tn_obj *at,
                      bool *out) {
  tn_arr *used;
  tn_map *dom;
  TN_GET(used, covered_while(n, r, at));
  TN_GET(dom, sch_loop_domain(n->e, (const tn_obj *)p, at, ""));
  for (int64_t i = 0; !*out && i < p->block->writes->len; ++i) {
    const tn_BufferRegion *w = (const tn_BufferRegion *)tn_arr_obj(p->block->writes, i);
    tn_arr *made = NULL;
    if (w->buffer != r->buffer) continue;
    TN_TRY(made_while(n, p, w, dom, &made));
    *out = made && sch_holds(n->e, made, used, r->buffer);
  }
  return 0;
}

/* Has the same iteration written, before the read, all that is read? Of the loop, or of one in it
   that both blocks are in. */
static int is_own(nest *n, const use *r, int64_t place, bool *out) {
  const tn_obj *bottom = n->change->before->items[0].v.obj;
  for (int64_t i = 0; !*out && i < place; ++i) {
    const tn_BlockRealize *p = (const tn_BlockRealize *)n->realizes.items[i].v.obj;
    const tn_obj *at = (const tn_obj *)r->realize;
    do {
      at = sch_parent(n->e, at);
      if (at && TN_IS(For, at) && sch_lies_below(n->e, p, at)) TN_TRY(writes_all(n, p, r, at, out));
    } while (!*out && at && at != bottom);
  }
  return 0;
}

static int refuse(nest *n, const use *w, const use *r) {
  const char *name = tn_cstr(r->buffer->name), *writer = tn_cstr(w->realize->block->name_hint);
  if (n->change->after)
    return sch_fail(n->e, "The order of the loops matters", SCH_PLACES(r->realize->block),
                    "The loops cannot change places: the block {0} reads elements of %s that block "
                    "\"%s\" writes in other iterations, and nothing proves that they come as early "
                    "or late as before",
                    name, writer);
  return sch_fail(n->e, "The iterations of the loop need each other",
                  SCH_PLACES(n->top, r->realize->block),
                  "The loop {0} cannot run its iterations at once: the block {1} reads elements of "
                  "%s that block \"%s\" may write in other iterations",
                  name, writer);
}

/* Threads that see one memory wait for each other before they read it; virtual ones do not. */
static bool is_waited_for(const nest *n, const tn_Buffer *b) {
  const char *memory = tir_buffer_scope(b), *thread = n->change->thread;
  return thread && !sch_is_global(memory) && !tir_is_virtual_axis(thread) &&
         tir_is_shared_by(memory, thread);
}

static int check_read(nest *n, const use *r, int64_t place) {
  bool own = false;
  for (int64_t i = 0; i < n->realizes.len; ++i) {
    const tn_BlockRealize *p = (const tn_BlockRealize *)n->realizes.items[i].v.obj;
    for (int64_t j = 0; j < p->block->writes->len; ++j) {
      const tn_BufferRegion *region = (const tn_BufferRegion *)tn_arr_obj(p->block->writes, j);
      bool fine;
      if (region->buffer != r->buffer) continue;
      use w = {p, r->buffer, sch_bound_region(p, region->region)};
      if (!w.region) return -1;
      TN_TRY(may_change(n, &w, r, &fine));
      if (!fine && !own) TN_TRY(is_own(n, r, place, &own));
      if (!fine && !own) return refuse(n, &w, r);
    }
  }
  return 0;
}

int sch_check_carried(sch_step *e, const sch_loop_change *change) {
  TN_VEC(found);
  const tn_vec *loops = change->before;
  nest n = {e, change, loops->items[loops->len - 1].v.obj, {0}};
  TN_TRY(sch_blocks_below(loops->items[0].v.obj, &found));
  n.realizes = found;
  TN_TRY(sch_bind_loops_above(e, loops->items[0].v.obj));
  TN_TRY(sch_bind_shapes(e));
  for (int64_t i = 0; i < found.len; ++i) {
    const tn_BlockRealize *p = (const tn_BlockRealize *)found.items[i].v.obj;
    for (int64_t j = 0; j < p->block->reads->len; ++j) {
      const tn_BufferRegion *region = (const tn_BufferRegion *)tn_arr_obj(p->block->reads, j);
      use r = {p, region->buffer, sch_bound_region(p, region->region)};
      if (!r.region) return -1;
      if (is_waited_for(&n, r.buffer)) continue;
      TN_TRY(check_read(&n, &r, i));
    }
  }
  return sch_check_writers(e, change, &found);
}
