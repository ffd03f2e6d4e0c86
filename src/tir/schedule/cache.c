/* Steps that put a copy of a buffer between blocks: cache_read, cache_write, cache_inplace.

     C[vi, vj] = ...     cache_write("C", 0, "local")     C_local[vi, vj] = ...
                                   ->                     for ax0, ax1 in T.grid(n, m):
                                                              with T.block("C_local"):
                                                                  v0, v1 = T.axis.remap("SS", ...)
                                                                  C[v0, v1] = C_local[v0, v1]

   A copy is made where the block that writes the buffer and one that reads it have their innermost
   sequence in common: there it is of what one run of the loops around it touches. At the level of
   the scope the cache has just the shape of that region; within loops it has the buffer's. */
#include "arith/region.h"
#include "ir/functor.h"
#include "tir/schedule/cache.h"

/* The loop or block whose body the place is in. */
static const tn_obj *owner_of(const sch_step *e, const sch_place *p) {
  const tn_obj *o = sch_parent(e, p->site);
  while (o && o->type_index != TN_TI_For && o->type_index != TN_TI_Block) o = sch_parent(e, o);
  return o;
}

tn_arr *sch_region_of(const tn_arr *regions, const tn_Buffer *buffer) {
  for (int64_t i = 0; i < regions->len; ++i) {
    const tn_BufferRegion *r = (const tn_BufferRegion *)tn_arr_obj(regions, i);
    if (r->buffer == buffer) return r->region;
  }
  return NULL;
}

tn_Range *sch_whole_axis(const tn_Buffer *b, int64_t axis) {
  tn_expr *extent = (tn_expr *)tn_arr_obj(b->shape, axis);
  return tir_range(tir_zero(extent->dtype), extent);
}

static tn_arr *full_region(const tn_Buffer *b) {
  TN_VEC(out);
  for (int64_t i = 0; i < b->shape->len; ++i) TN_TRYP(tn_vec_push_obj(&out, sch_whole_axis(b, i)));
  return tn_arr_from(&out);
}

/* Conditions that keep a block within the buffer may be more than its bounds can tell. */
static tn_IntervalSet *within_buffer(sch_step *e, tn_IntervalSet *s, const tn_Range *all) {
  if (arith_is_inf(s->min_value) || arith_is_inf(s->max_value)) return s;
  tn_expr *lo = s->min_value, *hi = s->max_value, *last;
  TN_GETP(last, tir_sub(all->extent, tir_one(all->extent->dtype)));
  if (arith_prove(&e->arith, tir_lt(lo, all->min))) lo = all->min;
  if (arith_prove(&e->arith, tir_lt(last, hi))) hi = last;
  return lo == s->min_value && hi == s->max_value ? s : arith_interval(lo, hi);
}

/* What a block touches of the buffer while the loops below `high` run. */
static tn_arr *relaxed(sch_step *e, const tn_Block *b, const tn_arr *region,
                       const tn_Buffer *buffer, const tn_obj *high) {
  const tn_BlockRealize *r = sch_realize_of(e, b);
  tn_map *dom = sch_loop_domain(e, (const tn_obj *)r, high, "");
  tn_arr *bound = dom ? sch_bound_region(r, region) : NULL;
  tn_arr *sets = bound ? arith_region_upper(&e->arith, bound, dom, r->predicate) : NULL;
  TN_VEC(out);
  for (int64_t i = 0; sets && i < sets->len; ++i) {
    tn_Range *all = sch_whole_axis(buffer, i);
    const tn_IntervalSet *set =
        all ? within_buffer(e, (tn_IntervalSet *)tn_arr_obj(sets, i), all) : NULL;
    tn_Range *x = set ? arith_interval_range(&e->arith, set, all) : NULL;
    if (!x || tn_vec_push_obj(&out, x)) return NULL;
  }
  return sets ? tn_arr_from(&out) : NULL;
}

/* ---- the copy ---- */

static tn_arr *extents_of(const tn_arr *region) {
  TN_VEC(out);
  for (int64_t i = 0; i < region->len; ++i)
    TN_TRYP(tn_vec_push_obj(&out, ((const tn_Range *)tn_arr_obj(region, i))->extent));
  return tn_arr_from(&out);
}

static int make_cache(sch_step *e, sch_cache *c, const char *memory, bool write) {
  const tn_obj *owner = owner_of(e, &c->place);
  c->whole = owner && owner->type_index == TN_TI_For;
  if (!c->whole) TN_TRY(sch_leave_loops(e, c, write));
  tn_arr *shape = c->whole ? c->buffer->shape : extents_of(c->region);
  if (shape && sch_same_exprs(shape, c->buffer->shape)) shape = c->buffer->shape;
  TN_GET(c->cache, sch_buffer_like(c->buffer, shape, memory, memory));
  return 0;
}

static tn_arr *shifted(const tn_arr *region, const tn_vec *indices) {
  TN_VEC(out);
  for (int64_t i = 0; i < region->len; ++i) {
    tn_expr *x =
        tir_add(((const tn_Range *)tn_arr_obj(region, i))->min, (tn_expr *)indices->items[i].v.obj);
    if (!x || tn_vec_push_obj(&out, x)) return NULL;
  }
  return tn_arr_from(&out);
}

/* What the variables around the place range over: loops, and iterators of blocks. */
static int bind_around(sch_step *e, const tn_obj *place) {
  for (const tn_obj *o = place; o; o = sch_parent(e, o)) {
    const tn_For *f = TN_AS(For, o);
    const tn_Block *b = TN_AS(Block, o);
    if (f) TN_TRY(arith_bind_range(&e->arith, f->loop_var, tir_range(f->min, f->extent), true));
    for (int64_t i = 0; b && i < b->iter_vars->len; ++i) {
      const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
      TN_TRY(arith_bind_range(&e->arith, iv->var, iv->dom, true));
    }
  }
  return sch_bind_shapes(e);
}

/* A region within loops may reach beyond the buffer in iterations in which no block runs. */
static tn_stmt *make_copy(sch_step *e, sch_cache *c, const char *memory, bool to_cache) {
  SCH_NEST(n);
  TN_TRYP(bind_around(e, c->place.site ? c->place.site : (tn_obj *)c->block));
  for (int64_t i = 0; i < c->region->len; ++i) {
    tn_Range *r = (tn_Range *)tn_arr_obj(c->region, i);
    tn_Range *dom =
        c->whole ? sch_whole_axis(c->buffer, i) : tir_range(tir_zero(r->extent->dtype), r->extent);
    if (sch_nest_add(&n, r->extent, c->whole ? r->min : NULL, dom) ||
        sch_nest_bound(e, &n, r->min, (tn_expr *)tn_arr_obj(c->buffer->shape, i)))
      return NULL;
  }
  tn_arr *in_cache = tn_arr_from(&n.indices),
         *in_buffer = c->whole ? in_cache : shifted(c->region, &n.indices);
  tn_str *name = tn_str_fmt("%s_%s", tn_cstr(c->buffer->name), memory);
  if (!in_cache || !in_buffer) return NULL;
  tn_stmt *store = to_cache ? tir_store(c->cache, tir_load(c->buffer, in_buffer), in_cache)
                            : tir_store(c->buffer, tir_load(c->cache, in_cache), in_buffer);
  return sch_nest_make(&n, name, store, &c->copy);
}

static tn_BlockRV *finish(sch_step *e, const sch_cache *c) {
  return sch_commit(e) ? NULL : (tn_BlockRV *)sch_handle(e->s, (const tn_obj *)c->copy);
}

/* ---- who uses it ---- */

static int take_consumers(sch_step *e, sch_cache *c, const tn_arr *rvs) {
  TN_VEC(realizes);
  for (int64_t i = 0; i < rvs->len; ++i) {
    tn_Block *b;
    TN_GET(b, sch_block_of(e, TN_AS(BlockRV, tn_arr_obj(rvs, i))));
    TN_TRY(tn_vec_push_obj(&c->consumers, b));
    TN_TRY(sch_blocks_below((const tn_obj *)b->body, &realizes));
  }
  for (int64_t i = 0; i < realizes.len; ++i)
    TN_TRY(tn_vec_push_obj(&c->consumers, ((tn_BlockRealize *)realizes.items[i].v.obj)->block));
  return 0;
}

/* Blocks that read what `writer` has written. */
static int readers_of(const tn_Block *scope, const tn_Block *writer, tn_vec *out) {
  SCH_SCOPE_INFO(info);
  TN_TRY(sch_scope_info_of(scope, &info));
  for (int64_t i = 0; i < info.ndeps; ++i) {
    const sch_dep *d = &info.deps[i];
    if (d->src == writer && d->kind == SCH_RAW) TN_TRY(tn_vec_push_obj(out, d->dst));
  }
  return 0;
}

/* ---- cache_read ---- */

static int check_cover(sch_step *e, const sch_cache *c) {
  SCH_SCOPE_INFO(info);
  TN_TRY(sch_scope_info_of(c->scope, &info));
  for (int64_t i = 0; i < info.blocks.len; ++i) {
    const tn_Block *b = (const tn_Block *)info.blocks.items[i].v.obj;
    bool covered = true;
    if (sch_has_buffer(b->reads, c->buffer)) TN_TRY(sch_region_cover(e, &info, b, &covered));
    if (!covered)
      return sch_fail(e, "The scope root's region cover is not complete", SCH_PLACES(c->scope, b),
                      "The scope {0} 's region cover is not complete: block {1} reads of %s what "
                      "no block before it has written",
                      tn_cstr(c->buffer->name));
  }
  return 0;
}

/* Does the first block run before the second one, in a sequence that the scope runs once? */
static bool ends_before(const sch_step *e, const tn_Block *first, const tn_Block *second) {
  const tn_obj *low = (const tn_obj *)first, *o = sch_parent(e, low);
  for (; o && !sch_lies_below(e, second, o); o = sch_parent(e, o)) low = o;
  const tn_SeqStmt *seq = TN_AS(SeqStmt, o);
  for (int64_t i = 0; seq && tn_arr_obj(seq->seq, i) != low; ++i)
    if (sch_lies_below(e, second, tn_arr_obj(seq->seq, i))) return false;
  for (; o && o->type_index != TN_TI_Block; o = sch_parent(e, o)) {
    const tn_For *loop = TN_AS(For, o);
    if (TN_IS(While, o) || (loop && !tir_is_one(loop->extent))) return false;
  }
  return seq != NULL;
}

/* Is the buffer read before the scope writes it, by the given blocks or by all that read it? */
static int reads_before(const sch_step *e, const sch_cache *c, const tn_vec *readers, bool *out) {
  TN_VEC(realizes);
  TN_TRY(sch_blocks_below((const tn_obj *)c->scope->body, &realizes));
  const tn_vec *all = readers->len ? readers : &realizes;
  bool written = false, read = false;
  *out = true;
  for (int64_t i = 0; i < realizes.len; ++i) {
    const tn_Block *writer = ((const tn_BlockRealize *)realizes.items[i].v.obj)->block;
    if (!sch_has_buffer(writer->writes, c->buffer)) continue;
    written = true;
    for (int64_t j = 0; *out && j < all->len; ++j) {
      const tn_obj *o = all->items[j].v.obj;
      const tn_Block *b = readers->len ? (const tn_Block *)o : ((const tn_BlockRealize *)o)->block;
      if (b == writer || !sch_has_buffer(b->reads, c->buffer)) continue;
      read = true;
      *out = ends_before(e, b, writer);
    }
  }
  *out = *out && (read || !written);
  return 0;
}

/* From right after the writer to right before the first of the given consumers. */
static void delay(const sch_step *e, sch_cache *c) {
  const tn_SeqStmt *seq = TN_AS(SeqStmt, c->place.site);
  for (int64_t i = c->place.at; seq && i < seq->seq->len; ++i) {
    for (int64_t j = 0; j < c->consumers.len; ++j) {
      if (!sch_lies_below(e, c->consumers.items[j].v.obj, tn_arr_obj(seq->seq, i))) continue;
      c->place.at = i;
      return;
    }
  }
}

static int place_read(sch_step *e, sch_cache *c) {
  tn_Block *writer;
  TN_VEC(readers);
  bool before;
  TN_TRY(reads_before(e, c, &c->consumers, &before));
  if (!before && !sch_scope_root(e, c->block, true)) return -1;
  if (before) writer = NULL;
  else TN_TRY(sch_only_writer(e, c->scope, c->buffer, &writer));
  if (!writer) { /* it comes from outside the scope */
    c->place = sch_place_first(e, c->scope, c->block, c->buffer);
    c->region = sch_region_of(c->scope->reads, c->buffer);
    if (!c->region) TN_GET(c->region, full_region(c->buffer));
    return 0;
  }
  if (!c->consumers.len) TN_TRY(readers_of(c->scope, writer, &readers));
  TN_TRY(
      sch_place_after(e, c->scope, writer, c->consumers.len ? &c->consumers : &readers, &c->place));
  delay(e, c);
  TN_GET(c->region, relaxed(e, writer, sch_region_of(writer->writes, c->buffer), c->buffer,
                            owner_of(e, &c->place)));
  return 0;
}

/* All blocks of the scope that do not write the buffer, or the given ones. */
static int use_read(sch_step *e, const sch_cache *c) {
  TN_VEC(realizes);
  const tn_arr *offset = c->whole ? NULL : c->region;
  if (!c->consumers.len) TN_TRY(sch_blocks_below((const tn_obj *)c->scope->body, &realizes));
  for (int64_t i = 0; i < realizes.len; ++i) {
    const tn_Block *b = ((const tn_BlockRealize *)realizes.items[i].v.obj)->block;
    if (!sch_has_buffer(b->writes, c->buffer))
      TN_TRY(sch_redirect(e, b, c->buffer, c->cache, offset));
  }
  for (int64_t i = 0; i < c->consumers.len; ++i) {
    const tn_Block *b = (const tn_Block *)c->consumers.items[i].v.obj;
    const tn_obj *up = sch_parent(e, b);
    bool inside = false;
    for (; up && !inside; up = sch_parent(e, up)) inside = sch_place_of(&c->consumers, up) >= 0;
    if (!inside && !sch_has_buffer(b->writes, c->buffer))
      TN_TRY(sch_redirect(e, b, c->buffer, c->cache, offset));
  }
  return 0;
}

tn_BlockRV *sch_cache_read(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index,
                           const char *memory, const tn_arr *consumers) {
  SCH_STEP(e, s, "cache-read");
  SCH_CACHE(c);
  if (sch_cache_find(&e, &c, block, index, false, memory, false) || check_cover(&e, &c) ||
      take_consumers(&e, &c, consumers) || place_read(&e, &c) || make_cache(&e, &c, memory, false))
    return NULL;
  tn_stmt *copy = make_copy(&e, &c, memory, true);
  if (!copy || use_read(&e, &c) || sch_insert(&e, c.scope, &c.place, copy, c.cache)) return NULL;
  return finish(&e, &c);
}

/* ---- cache_write ---- */

/* Does a block read of a buffer what was there before it? With blocks in it the first tells. */
static int reads_first(const tn_Block *b, const tn_Buffer *buffer, bool *out) {
  TN_VEC(below);
  *out = !b->init && sch_has_buffer(b->reads, buffer);
  if (!*out) return 0;
  TN_TRY(sch_blocks_below((const tn_obj *)b->body, &below));
  for (int64_t i = 0; i < below.len; ++i) {
    const tn_Block *inner = ((const tn_BlockRealize *)below.items[i].v.obj)->block;
    if (sch_has_buffer(inner->reads, buffer) || sch_has_buffer(inner->writes, buffer))
      return reads_first(inner, buffer, out);
  }
  return 0;
}

static int place_write(sch_step *e, sch_cache *c) {
  TN_VEC(readers);
  TN_VEC(others);
  tn_Block *writer;
  TN_TRY(sch_only_writer(e, c->scope, c->buffer, &writer));
  bool reads;
  TN_TRY(reads_first(c->block, c->buffer, &reads));
  if (reads)
    return sch_fail(e, "The block reads the buffer that it writes", SCH_PLACES(c->block),
                    "The block {0} reads what was in buffer %s before it writes it: the copy would "
                    "not hold that. Use cache_inplace",
                    tn_cstr(c->buffer->name));
  bool before;
  TN_TRY(reads_before(e, c, &others, &before)); /* `others` is empty: by all */
  if (!before && !sch_scope_root(e, c->block, true)) return -1;
  if (!before) TN_TRY(readers_of(c->scope, c->block, &readers));
  for (int64_t i = 0; i < readers.len; ++i) {
    const tn_obj *b = readers.items[i].v.obj;
    if (sch_place_of(&c->consumers, b) < 0) TN_TRY(tn_vec_push_obj(&others, b));
  }
  TN_TRY(sch_place_after(e, c->scope, c->block, &others, &c->place));
  const tn_obj *owner = owner_of(e, &c->place);
  TN_GET(c->region,
         relaxed(e, c->block, sch_region_of(c->block->writes, c->buffer), c->buffer, owner));
  return sch_check_filled(e, c, NULL, c->region, owner);
}

tn_BlockRV *sch_cache_write(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index,
                            const char *memory, const tn_arr *consumers) {
  SCH_STEP(e, s, "cache-write");
  SCH_CACHE(c);
  if (sch_cache_find(&e, &c, block, index, true, memory, false) ||
      take_consumers(&e, &c, consumers) || place_write(&e, &c) || make_cache(&e, &c, memory, true))
    return NULL;
  const tn_arr *offset = c.whole ? NULL : c.region;
  tn_stmt *copy = make_copy(&e, &c, memory, false);
  if (!copy || sch_redirect(&e, c.block, c.buffer, c.cache, offset)) return NULL;
  for (int64_t i = 0; i < c.consumers.len; ++i)
    TN_TRYP(sch_redirect(&e, (tn_Block *)c.consumers.items[i].v.obj, c.buffer, c.cache, offset));
  if (sch_insert(&e, c.scope, &c.place, copy, c.cache)) return NULL;
  return finish(&e, &c);
}

/* ---- cache_inplace ---- */

/* The smallest box that holds what the block reads (if asked) and writes of the buffer. */
static tn_arr *box_of(sch_step *e, const sch_cache *c, const tn_BlockRealize *r, bool reads) {
  TN_VEC(out);
  const tn_arr *lists[] = {c->block->writes, c->block->reads};
  tn_arr *all = NULL, *bound = NULL;
  int64_t n = 0;
  for (int k = 0; k < (reads ? 2 : 1); ++k) {
    for (int64_t i = 0; i < lists[k]->len; ++i) {
      TN_VEC(sets);
      const tn_BufferRegion *region = (const tn_BufferRegion *)tn_arr_obj(lists[k], i);
      if (region->buffer != c->buffer) continue;
      tn_arr *before = bound;
      TN_GETP(bound, sch_bound_region(r, region->region));
      if (before && sch_same_region(before, bound)) continue;
      ++n;
      for (int64_t d = 0; d < bound->len; ++d) {
        tn_IntervalSet *set = arith_interval_of_range(&e->arith, (tn_Range *)tn_arr_obj(bound, d));
        if (!set || tn_vec_push_obj(&sets, set)) return NULL;
      }
      tn_arr *one = tn_arr_from(&sets);
      TN_GETP(all, one && all ? sch_union_region(e, all, one) : one);
    }
  }
  if (n == 1) return bound;
  for (int64_t d = 0; d < all->len; ++d) {
    tn_Range *whole, *x;
    TN_GETP(whole, sch_whole_axis(c->buffer, d));
    TN_GETP(x, arith_interval_range(&e->arith, (tn_IntervalSet *)tn_arr_obj(all, d), whole));
    TN_TRYP(tn_vec_push_obj(&out, x));
  }
  return tn_arr_from(&out);
}

/* Both copies lie directly around the block, within its loops. What it writes is fetched, too: it
 * may leave some of that as it is. */
static tn_arr *copy_around(sch_step *e, sch_cache *c, const char *memory) {
  const tn_BlockRealize *r = sch_realize_of(e, c->block);
  c->whole = true;
  TN_TRYP(sch_bind_loops_above(e, (const tn_obj *)r));
  TN_GETP(c->region, box_of(e, c, r, true));
  TN_GETP(c->cache, sch_buffer_like(c->buffer, c->buffer->shape, memory, memory));
  TN_TRYP(sch_redirect(e, c->block, c->buffer, c->cache, NULL));
  tn_stmt *in = make_copy(e, c, memory, true);
  tn_Block *first = c->copy;
  TN_GETP(c->region, box_of(e, c, r, false));
  tn_stmt *out = in ? make_copy(e, c, memory, false) : NULL;
  tn_stmt *both = out ? tir_seq2(in, tir_seq2(sch_rewrite(e, (const tn_stmt *)r), out)) : NULL;
  if (!both || sch_replace(e, (const tn_stmt *)r, both)) return NULL;
  if (sch_add_buffers(e, c->scope, 1, &c->cache) || sch_commit(e)) return NULL;
  tn_obj *a = sch_handle(e->s, (tn_obj *)first), *b = sch_handle(e->s, (tn_obj *)c->copy);
  return a && b ? tn_arr_of(2, a, b) : NULL;
}

tn_arr *sch_cache_inplace(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index,
                          const char *memory) {
  SCH_STEP(e, s, "cache-inplace");
  SCH_CACHE(c);
  if (sch_cache_find(&e, &c, block, index, false, memory, false) || check_cover(&e, &c))
    return NULL;
  if (!sch_has_buffer(c.block->writes, c.buffer))
    return sch_fail(&e, "The block does not both read and write target buffer", SCH_PLACES(c.block),
                    "The block {0} does not both read and write target buffer %s",
                    tn_cstr(c.buffer->name)),
           NULL;
  return copy_around(&e, &c, memory);
}
