/* Copies in which a block's own iterators are the indices: reindex, reindex_cache_read and _write.

     reindex(block, ("read", 0))

     B[vi] = A[vi % 8, vi // 8]      ->      A_reindex[v0] = A[v0 % 8, v0 // 8]
                                             ...
                                             B[vi] = A_reindex[vi]

   The block accesses the buffer at one place. With an index map the copy has the indices that the
   map gives for the iterators, and lies in another memory. */
#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "ir/functor.h"
#include "tir/schedule/cache.h"

typedef struct {
  sch_cache c;
  tn_arr *old, *mapped; /* indices of buffer and cache over the block's iterators */
  bool write;
} reindexing;

/* ---- the one place ---- */

typedef struct {
  const tn_Buffer *buffer;
  const tn_arr *indices;
  bool differ, opaque, loaded, stored;
} access;

static int meet_access(void *ctx, tn_obj *o) {
  access *a = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  const tn_BufferStore *store = TN_AS(BufferStore, o);
  const tn_MatchBufferRegion *match = TN_AS(MatchBufferRegion, o);
  if (o == (const tn_obj *)a->buffer->data || (match && match->source->buffer == a->buffer))
    a->opaque = true;
  const tn_Buffer *b = load ? load->buffer : store ? store->buffer : NULL;
  if (!b || b != a->buffer) return 0;
  if (load) a->loaded = true;
  if (store) a->stored = true;
  const tn_arr *indices = load ? load->indices : store->indices;
  if (a->indices && !sch_same_exprs(a->indices, indices)) a->differ = true;
  a->indices = indices;
  return 0;
}

/* Not what a buffer is made of: its pointer is not a use of the pointer. */
static bool see_use(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)field;
  (void)child;
  return parent->type_index != TN_TI_Buffer;
}

typedef struct {
  const tn_arr *indices;
  const tn_Var *found;
} inner_use;

static int meet_inner(void *ctx, tn_obj *o) {
  inner_use *u = ctx;
  const tn_For *loop = TN_AS(For, o);
  const tn_LetStmt *let = TN_AS(LetStmt, o);
  const tn_Var *v = loop ? loop->loop_var : let ? let->var : NULL;
  if (v && sch_uses_var(u->indices, v)) u->found = v;
  return 0;
}

/* The copy has the block's iterators and no other variable of the place. */
static int check_variables(const sch_step *e, const tn_Block *b, const tn_Buffer *buffer,
                           const tn_arr *indices) {
  inner_use u = {.indices = indices};
  TN_TRY(tn_post_order(b->body, meet_inner, &u));
  for (tn_obj *o = sch_parent(e, b); o && !u.found; o = sch_parent(e, o)) meet_inner(&u, o);
  if (!u.found) return 0;
  return sch_fail(e, "The indices depend on a variable that is not an iterator of the block",
                  SCH_PLACES(b),
                  "The block {0} accesses buffer %s at indices that depend on %s, which is not an "
                  "iterator of the block",
                  tn_cstr(buffer->name), tn_cstr(u.found->name));
}

static int find_access(sch_step *e, const tn_Block *b, const tn_Buffer *buffer, bool write,
                       tn_arr **out) {
  access a = {.buffer = buffer};
  TN_VEC(simple);
  TN_VEC(below);
  TN_TRY(sch_blocks_below((const tn_obj *)b->body, &below));
  if (below.len)
    return sch_fail(e, "The block is not a leaf block", SCH_PLACES(b),
                    "The block {0} has blocks in it: the copy cannot follow their iterators. Give "
                    "the block that accesses %s",
                    tn_cstr(buffer->name));
  TN_TRY(tn_post_order_if(b, see_use, meet_access, &a));
  if (a.opaque)
    return sch_fail(e, "The buffer is accessed opaquely", SCH_PLACES(b),
                    "The block {0} uses buffer %s other than by its elements",
                    tn_cstr(buffer->name));
  if (a.loaded && a.stored && !(write && b->init)) /* an init writes it first */
    return sch_fail(e, "The block reads the buffer that it writes", SCH_PLACES(b),
                    "The block {0} both reads and writes buffer %s: the copy would hold %s",
                    tn_cstr(buffer->name),
                    write ? "nothing when the block reads it" : "what was there before");
  if (a.differ || !a.indices)
    return sch_fail(e, "The buffer accesses in the block are not unique", SCH_PLACES(b),
                    "The block {0} accesses buffer %s with %s", tn_cstr(buffer->name),
                    a.differ ? "different indices" : "no indices");
  TN_TRY(check_variables(e, b, buffer, a.indices));
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    if (!tir_is_one(iv->dom->extent)) TN_TRY(arith_bind_range(&e->arith, iv->var, iv->dom, true));
  }
  for (int64_t i = 0; i < a.indices->len; ++i) {
    tn_expr *x;
    TN_GET(x, arith_simplify(&e->arith, (tn_expr *)tn_arr_obj(a.indices, i)));
    TN_TRY(tn_vec_push_obj(&simple, x));
  }
  TN_GET(*out, tn_arr_from(&simple));
  return 0;
}

/* ---- the block ---- */

static bool used(const reindexing *r, const tn_IterVar *iv) {
  return sch_uses_var(r->old, iv->var);
}

/* The copy runs over the domains of all iterators that the buffer depends on. */
static int check_filled(sch_step *e, const reindexing *r) {
  TN_VEC(points);
  TN_VEC(box);
  const tn_arr *iters = r->c.block->iter_vars;
  for (int64_t i = 0; r->write && i < iters->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(iters, i);
    if (!used(r, iv)) continue;
    TN_TRY(tn_vec_push_obj(&points, tir_range((tn_expr *)iv->var, tir_one(iv->var->dtype))));
    TN_TRY(tn_vec_push_obj(&box, iv->dom));
  }
  tn_arr *all_points, *all_box;
  TN_GET(all_points, tn_arr_from(&points));
  TN_GET(all_box, tn_arr_from(&box));
  const tn_obj *high = (const tn_obj *)r->c.scope;
  return r->write ? sch_check_filled(e, &r->c, all_points, all_box, high) : 0;
}

/* Accesses to the cache get the new indices. */
static tn_obj *new_indices(sch_step *e, const tn_obj *was, tn_obj *now) {
  const reindexing *r = e->after_ctx;
  tn_BufferLoad *load = TN_AS(BufferLoad, now);
  tn_BufferStore *store = TN_AS(BufferStore, now);
  tn_BufferRegion *region = TN_AS(BufferRegion, now);
  TN_VEC(points);
  (void)was;
  if (load && load->buffer == r->c.cache) return (tn_obj *)tir_load(load->buffer, r->mapped);
  if (store && store->buffer == r->c.cache)
    return (tn_obj *)tir_store(store->buffer, store->value, r->mapped);
  if (!region || region->buffer != r->c.cache) return now;
  for (int64_t i = 0; i < r->mapped->len; ++i) {
    tn_expr *x = (tn_expr *)tn_arr_obj(r->mapped, i);
    TN_TRYP(tn_vec_push_obj(&points, tir_range(x, tir_one(x->dtype))));
  }
  return (tn_obj *)TN_NEW(BufferRegion, .buffer = region->buffer, .region = tn_arr_from(&points));
}

static int rewrite_block(sch_step *e, const reindexing *r) {
  const sch_cache *c = &r->c;
  TN_TRY(tn_pmap_put(&e->vars, c->buffer, c->cache));
  e->after = new_indices;
  e->after_ctx = r;
  tn_stmt *now = sch_rewrite(e, (const tn_stmt *)c->block);
  e->after = NULL;
  e->after_ctx = NULL;
  tn_pmap_fini(&e->vars);
  e->vars = (tn_pmap){0};
  return now ? sch_replace(e, (const tn_stmt *)c->block, now) : -1;
}

/* ---- the copy ---- */

static int unless_proven(sch_step *e, const tn_pmap *only, tn_expr *cond, tn_expr **all) {
  tn_expr *now;
  TN_GET(now, tir_substitute(cond, only));
  if (arith_prove(&e->arith, now)) return 0;
  TN_GET(*all, *all ? tir_and(*all, cond) : cond);
  return 0;
}

/* Is each index of the buffer proven to lie in its shape? If not, *inside is the condition: a block
   may read at such indices where it chooses another value. */
static int where_inside(sch_step *e, const reindexing *r, tn_expr **inside) {
  TN_PMAP(only); /* iterators of one value */
  const tn_arr *iters = r->c.block->iter_vars;
  *inside = NULL;
  for (int64_t i = 0; i < iters->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(iters, i);
    if (tir_is_one(iv->dom->extent)) TN_TRY(tn_pmap_put(&only, iv->var, iv->dom->min));
  }
  for (int64_t i = 0; i < r->old->len; ++i) {
    tn_expr *at = (tn_expr *)tn_arr_obj(r->old, i), *low, *high;
    TN_GET(low, tir_ge(at, tir_zero(at->dtype)));
    TN_GET(high, tir_lt(at, (tn_expr *)tn_arr_obj(r->c.buffer->shape, i)));
    TN_TRY(unless_proven(e, &only, low, inside));
    TN_TRY(unless_proven(e, &only, high, inside));
  }
  return 0;
}

/* The loops between the place of the copy and the block, outermost first. @return whether the copy
   can have them too: they are plain, no extent depends on another of them, and the place has loops
   around itself */
static bool inner_loops(const sch_step *e, const reindexing *r, tn_vec *loops) {
  const tn_BlockRealize *realize = sch_realize_of(e, r->c.block);
  const tn_obj *o = (const tn_obj *)realize;
  bool below = true, around = false;
  if (!tir_is_one(realize->predicate)) return false;
  for (; o && o->type_index != TN_TI_Block; o = sch_parent(e, o)) {
    const tn_For *f = TN_AS(For, o);
    if (below && !f && o != (const tn_obj *)realize && !TN_AS(SeqStmt, o)) return false;
    if (below && f) {
      bool plain = f->kind == TIR_FOR_SERIAL && tir_is_zero(f->min) && !f->thread_binding;
      for (int64_t i = 0; i < loops->len; ++i) /* the copy need not have all of them */
        plain =
            plain && !sch_uses_var(((const tn_For *)loops->items[i].v.obj)->extent, f->loop_var);
      if (!plain || tn_vec_push_obj(loops, f)) return false;
    }
    around = around || (!below && f);
    below = below && o != r->c.place.site;
  }
  for (int64_t i = 0, j = loops->len - 1; i < j; ++i, --j) {
    tn_any swap = loops->items[i];
    loops->items[i] = loops->items[j];
    loops->items[j] = swap;
  }
  return around && !below;
}

/* Does an iterator that the copy needs depend on the loop? */
static bool needs_loop(const reindexing *r, const tn_BlockRealize *realize, const tn_For *f) {
  for (int64_t i = 0; i < realize->iter_values->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(r->c.block->iter_vars, i);
    if (used(r, iv) && sch_uses_var(tn_arr_obj(realize->iter_values, i), f->loop_var)) return true;
  }
  return false;
}

/* Within loops the copy is of what the block accesses in this iteration: its iterators are bound as
   those of the block, in loops like those between. @return 1 when that is done, 0, or -1 */
static int follow_block(sch_step *e, const reindexing *r, sch_nest *n, tn_pmap *vars) {
  TN_VEC(loops);
  TN_PMAP(fresh);
  const tn_BlockRealize *realize = sch_realize_of(e, r->c.block);
  if (!inner_loops(e, r, &loops)) return tn_error_pending() ? -1 : 0;
  for (int64_t i = 0; i < loops.len; ++i) {
    const tn_For *f = (const tn_For *)loops.items[i].v.obj;
    if (!needs_loop(r, realize, f)) continue;
    tn_Var *v = tir_var_like(f->loop_var, tn_cstr(f->loop_var->name));
    if (!v || tn_pmap_put(&fresh, f->loop_var, v) || tn_vec_push_obj(&n->loops, v) ||
        tn_vec_push_obj(&n->extents, f->extent))
      return -1;
  }
  for (int64_t i = 0; i < realize->iter_values->len; ++i) {
    tn_IterVar copy = *(const tn_IterVar *)tn_arr_obj(r->c.block->iter_vars, i);
    const tn_Var *old = copy.var;
    if (!used(r, &copy)) continue;
    copy.iter_type = IR_ITER_DATA_PAR;
    TN_GET(copy.var, tir_var_like(old, tn_cstr(old->name)));
    tn_obj *iv = tn_node_copy(&tn_type_IterVar, &copy),
           *value = iv ? tir_substitute(tn_arr_obj(realize->iter_values, i), &fresh) : NULL;
    if (!value || tn_pmap_put(vars, old, copy.var) || tn_vec_push_obj(&n->iters, iv) ||
        tn_vec_push_obj(&n->values, value))
      return -1;
  }
  return 1;
}

/* All that the block may access, in loops over the domains of its iterators. */
static int cover_domains(const reindexing *r, sch_nest *n, tn_pmap *vars) {
  const sch_cache *c = &r->c;
  for (int64_t i = 0; i < c->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(c->block->iter_vars, i);
    tn_Range *dom = iv->dom;
    if (!used(r, iv)) continue;
    if (sch_nest_add(n, dom->extent, tir_is_zero(dom->min) ? NULL : dom->min, dom) ||
        tn_pmap_put(vars, iv->var, n->indices.items[n->indices.len - 1].v.obj))
      return -1;
  }
  return 0;
}

static tn_stmt *make_copy(sch_step *e, reindexing *r, const char *suffix) {
  SCH_NEST(n);
  TN_PMAP(vars);
  sch_cache *c = &r->c;
  int done = follow_block(e, r, &n, &vars);
  if (done < 0 || (!done && cover_domains(r, &n, &vars))) return NULL;
  tn_arr *old = tir_substitute(r->old, &vars), *mapped = tir_substitute(r->mapped, &vars);
  tn_expr *inside, *value;
  if (!old || !mapped || where_inside(e, r, &inside)) return NULL;
  TN_GETP(value, r->write ? tir_load(c->cache, mapped) : tir_load(c->buffer, old));
  if (inside && !r->write)
    TN_GETP(value, tir_if_then_else(tir_substitute(inside, &vars), value,
                                    tir_zero(c->buffer->dtype), NULL));
  tn_stmt *store = r->write ? tir_store(c->buffer, value, old) : tir_store(c->cache, value, mapped);
  return sch_nest_make(&n, tn_str_fmt("%s_%s", tn_cstr(c->buffer->name), suffix), store, &c->copy);
}

static tn_BlockRV *finish(sch_step *e, reindexing *r, const char *suffix) {
  tn_stmt *copy = make_copy(e, r, suffix);
  if (!copy || rewrite_block(e, r) || sch_insert(e, r->c.scope, &r->c.place, copy, r->c.cache) ||
      sch_commit(e))
    return NULL;
  return (tn_BlockRV *)sch_handle(e->s, (const tn_obj *)r->c.copy);
}

/* ---- reindex ---- */

/* Iterators that the accesses use, and their extents as the shape. */
static int take_iters(reindexing *r) {
  TN_VEC(vars);
  TN_VEC(shape);
  const tn_Block *b = r->c.block;
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    if (!used(r, iv)) continue;
    tn_expr *at = (tn_expr *)iv->var; /* counted from the start of its domain */
    if (!tir_is_zero(iv->dom->min)) TN_GET(at, tir_sub(at, iv->dom->min));
    TN_TRY(tn_vec_push_obj(&vars, at));
    TN_TRY(tn_vec_push_obj(&shape, iv->dom->extent));
  }
  TN_GET(r->mapped, tn_arr_from(&vars));
  TN_GET(r->c.cache, sch_buffer_like(r->c.buffer, tn_arr_from(&shape), "reindex",
                                     tir_buffer_scope(r->c.buffer)));
  return 0;
}

/* The copy stands beside the loops around the block: no other block in them may need it there. */
static int check_neighbours(sch_step *e, const reindexing *r, const tn_obj *top) {
  TN_VEC(blocks);
  TN_TRY(sch_blocks_below(top, &blocks));
  for (int64_t i = 0; i < blocks.len; ++i) {
    const tn_Block *b = ((const tn_BlockRealize *)blocks.items[i].v.obj)->block;
    if (b == r->c.block) continue;
    if (sch_has_buffer(b->writes, r->c.buffer) ||
        (r->write && sch_has_buffer(b->reads, r->c.buffer)))
      return sch_fail(
          e, "Another block in the loops accesses the buffer", SCH_PLACES(r->c.block, b),
          "The copy stands beside the loops around block {0}; block {1} in them "
          "accesses the buffer %s too, and would do so %s",
          tn_cstr(r->c.buffer->name), r->write ? "before it is written" : "after it was copied");
  }
  return 0;
}

/* Directly before or after the outermost loop around the block. */
static int place_beside(sch_step *e, reindexing *r) {
  const tn_obj *top = NULL, *o = sch_parent(e, r->c.block);
  for (; o && o != (const tn_obj *)r->c.scope; o = sch_parent(e, o))
    if (!TN_IS(SeqStmt, o) && sch_within_definitions(o) == o) top = o;
  const tn_obj *around = sch_parent(e, top);
  const tn_SeqStmt *seq = TN_AS(SeqStmt, around);
  r->c.place = (sch_place){seq ? around : top, r->write ? 1 : 0};
  for (int64_t i = 0; seq && i < seq->seq->len; ++i) {
    if (tn_arr_obj(seq->seq, i) == top) r->c.place.at = i + (r->write ? 1 : 0);
  }
  return check_neighbours(e, r, top);
}

tn_BlockRV *sch_reindex(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index, bool write) {
  SCH_STEP(e, s, "reindex");
  reindexing r = {.write = write};
  if (sch_cache_find(&e, &r.c, block, index, write, "global", true) ||
      find_access(&e, r.c.block, r.c.buffer, write, &r.old) || take_iters(&r) ||
      place_beside(&e, &r) || check_filled(&e, &r))
    return NULL;
  return finish(&e, &r, "reindex");
}

/* ---- with an index map ---- */

static int map_indices(sch_step *e, reindexing *r, const tn_IndexMap *map, const char *memory) {
  TN_PMAP(vars);
  TN_VEC(indices);
  TN_VEC(shape);
  const tn_arr *iters = r->c.block->iter_vars;
  tn_map *dom = tn_scope_own(tn_map_new());
  TN_CHECK(map->initial_indices->len == iters->len, ValueError, NULL,
           "reindex_cache: the index map takes %lld indices, the block has %lld iterators",
           (long long)map->initial_indices->len, (long long)iters->len);
  for (int64_t i = 0; i < iters->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(iters, i);
    const tn_Var *v = (const tn_Var *)tn_arr_obj(map->initial_indices, i);
    tn_expr *value;
    TN_GET(value, tir_cast(v->dtype, (tn_expr *)iv->var, NULL));
    TN_TRY(tn_pmap_put(&vars, v, value));
    if (!dom || tn_map_set(dom, tn_any_obj(iv->var), tn_any_obj(iv->dom))) return -1;
  }
  for (int64_t i = 0; i < map->final_indices->len; ++i) {
    tn_expr *x = tir_substitute(tn_arr_obj(map->final_indices, i), &vars);
    TN_GET(x, arith_simplify(&e->arith, x));
    tn_IntervalSet *set;
    TN_GET(set, arith_int_set(&e->arith, x, dom));
    TN_CHECK(!arith_is_inf(set->max_value), ValueError, NULL,
             "reindex_cache: index %lld of the map has no upper bound", (long long)i);
    bool below = arith_is_inf(set->min_value) ||
                 arith_prove(&e->arith, tir_lt(set->min_value, tir_zero(set->min_value->dtype)));
    TN_CHECK(
        !below, ValueError, NULL,
        "reindex_cache: index %lld of the map can be negative: its smallest value must be 0 or "
        "more",
        (long long)i);
    tn_expr *extent =
        arith_simplify(&e->arith, tir_add(set->max_value, tir_one(set->max_value->dtype)));
    if (!extent || tn_vec_push_obj(&indices, x) || tn_vec_push_obj(&shape, extent)) return -1;
  }
  TN_GET(r->mapped, tn_arr_from(&indices));
  TN_GET(r->c.cache, sch_buffer_like(r->c.buffer, tn_arr_from(&shape), memory, memory));
  return 0;
}

/* Both kinds of indices must depend on the same iterators. */
static int check_iters(const sch_step *e, const reindexing *r) {
  for (int64_t i = 0; i < r->c.block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(r->c.block->iter_vars, i);
    bool before = used(r, iv), after = sch_uses_var(r->mapped, iv->var);
    if (before != after)
      return sch_fail(e, "The new indices do not depend on the same iterators",
                      SCH_PLACES(r->c.block),
                      "Iterator %s of block {0} is used by the %s indices of buffer %s, but not by "
                      "the %s ones",
                      tn_cstr(iv->var->name), before ? "old" : "new", tn_cstr(r->c.buffer->name),
                      before ? "new" : "old");
  }
  return 0;
}

/* Is the index of the buffer one of those of the map, or its negative, but for a constant? */
static int is_mapped(sch_step *e, const reindexing *r, tn_expr *old, bool *out) {
  int64_t constant;
  *out = tir_as_int((tn_obj *)old, &constant);
  for (int64_t i = 0; !*out && i < r->mapped->len; ++i) {
    tn_expr *x = tir_cast(old->dtype, (tn_expr *)tn_arr_obj(r->mapped, i), NULL), *less, *more;
    TN_GET(less, arith_simplify(&e->arith, tir_sub(old, x)));
    TN_GET(more, arith_simplify(&e->arith, tir_add(old, x)));
    *out = tir_as_int((tn_obj *)less, &constant) || tir_as_int((tn_obj *)more, &constant);
  }
  return 0;
}

/* Elements of the buffer must not share a place of the cache: each index of the buffer is one of
   the map's, or the map gives each value of the iterators a place. */
static int check_apart(sch_step *e, const reindexing *r) {
  bool all = true;
  tn_map *ranges;
  tn_IterMapResult *found;
  for (int64_t i = 0; all && i < r->old->len; ++i)
    TN_TRY(is_mapped(e, r, (tn_expr *)tn_arr_obj(r->old, i), &all));
  if (all) return 0;
  TN_GET(ranges, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < r->c.block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(r->c.block->iter_vars, i);
    if (used(r, iv)) TN_TRY(tn_map_set(ranges, tn_any_obj(iv->var), tn_any_obj(iv->dom)));
  }
  TN_GET(found, iter_map_detect(&e->arith, r->mapped, ranges, NULL, ITER_MAP_BIJECTIVE, true));
  if (found->indices->len > 0) return 0;
  return sch_fail(
      e, "The map may put several elements in one place", SCH_PLACES(r->c.block),
      "The index map of block {0} is not shown to keep the elements of buffer %s apart: "
      "use the indices of the buffer, or give each value of the iterators a place",
      tn_cstr(r->c.buffer->name));
}

/* Where cache_read and cache_write would put it, for this block only. */
static int place_cache(sch_step *e, reindexing *r) {
  SCH_SCOPE_INFO(info);
  TN_VEC(others);
  sch_cache *c = &r->c;
  tn_Block *writer;
  TN_TRY(sch_only_writer(e, c->scope, c->buffer, &writer));
  TN_TRY(sch_scope_info_of(c->scope, &info));
  if (!r->write && !writer) {
    c->place = sch_place_first(e, c->scope, c->block, c->buffer);
    return 0;
  }
  if (!r->write) TN_TRY(tn_vec_push_obj(&others, c->block));
  for (int64_t i = 0; r->write && i < info.ndeps; ++i) {
    if (info.deps[i].src == writer && info.deps[i].kind == SCH_RAW)
      TN_TRY(tn_vec_push_obj(&others, info.deps[i].dst));
  }
  return sch_place_after(e, c->scope, writer, &others, &c->place);
}

tn_BlockRV *sch_reindex_cache(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index,
                              const char *memory, const tn_IndexMap *map, bool write) {
  SCH_STEP(e, s, write ? "reindex-cache-write" : "reindex-cache-read");
  reindexing r = {.write = write};
  if (sch_cache_find(&e, &r.c, block, index, write, memory, true) ||
      find_access(&e, r.c.block, r.c.buffer, write, &r.old) || map_indices(&e, &r, map, memory) ||
      check_iters(&e, &r) || check_apart(&e, &r) || place_cache(&e, &r) || check_filled(&e, &r))
    return NULL;
  return finish(&e, &r, memory);
}
