/* Steps that put a copy of a buffer between blocks: cache_read, cache_write.

     C[vi, vj] = ...     cache_write("C", 0, "local")     C_local[vi, vj] = ...
                                   ->                     for ax0, ax1 in T.grid(n, m):
                                                              with T.block("C_local"):
                                                                  v0, v1 = T.axis.remap("SS", [ax0,
   ax1]) C[v0, v1] = C_local[v0, v1]

   The copy is of the whole buffer and lies in the block around, before the first user of it
   (reads: after what writes it) or after the block (writes). */
#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/schedule_impl.h"

typedef struct {
  tn_Block *block, *scope;
  tn_Buffer *buffer, *cache;
  tn_Block *copy; /* the new block */
} target;

static int find_target(sch_step *e, target *t, const tn_BlockRV *rv, int64_t index, bool read) {
  t->block = sch_block_of(e, rv);
  if (!t->block) return -1;
  const tn_arr *regions = read ? t->block->reads : t->block->writes;
  t->scope = sch_scope_block(e, sch_parent(e, t->block));
  if (!t->scope)
    return sch_fail(e, "A root block cannot be cached", SCH_PLACES(t->block),
                    "The block {0} is a root block: caches lie in the block around");
  if (index < 0 || index >= regions->len)
    return sch_fail(e, "The buffer index is out of range", SCH_PLACES(t->block),
                    "The block {0} has %lld such buffers, there is no number %lld",
                    (long long)regions->len, (long long)index);
  t->buffer = ((tn_BufferRegion *)tn_arr_obj(regions, index))->buffer;
  return 0;
}

static int make_cache(target *t, const char *scope) {
  tn_str *name = tn_str_fmt("%s_%s", tn_cstr(t->buffer->name), scope);
  if (!name) return -1;
  TN_GET(t->cache, tir_buffer(t->buffer->shape, t->buffer->dtype, name->data, scope));
  return 0;
}

/* ---- the copy ---- */

static int copy_axes(const target *t, tn_vec *loops, tn_vec *iters, tn_vec *indices) {
  for (int64_t i = 0; i < t->buffer->shape->len; ++i) {
    tn_expr *extent = (tn_expr *)tn_arr_obj(t->buffer->shape, i);
    tn_str *loop_name = tn_str_fmt("ax%lld", (long long)i),
           *name = tn_str_fmt("v%lld", (long long)i);
    tn_Var *loop = loop_name ? tir_var(loop_name->data, extent->dtype) : NULL,
           *v = name ? tir_var(name->data, extent->dtype) : NULL;
    tn_IterVar *iv =
        v ? tir_iter_var(tir_range(tir_zero(extent->dtype), extent), v, IR_ITER_DATA_PAR, "")
          : NULL;
    if (!loop || !iv || tn_vec_push_obj(loops, loop) || tn_vec_push_obj(iters, iv) ||
        tn_vec_push_obj(indices, v))
      return -1;
  }
  return 0;
}

static tn_stmt *make_copy(target *t, tn_Buffer *from, tn_Buffer *to) {
  TN_VEC(loops);
  TN_VEC(iters);
  TN_VEC(indices);
  if (copy_axes(t, &loops, &iters, &indices)) return NULL;
  tn_arr *none = tn_arr_of(0), *at = tn_arr_from(&indices);
  tn_map *hints = tn_scope_own(tn_map_new());
  tn_stmt *store = at ? tir_store(to, tir_load(from, at), at) : NULL;
  tn_Block *b = TN_NEW(Block, .iter_vars = tn_arr_from(&iters), .reads = none, .writes = none,
                       .name_hint = t->cache->name, .alloc_buffers = none, .match_buffers = none,
                       .annotations = hints, .body = store);
  t->copy = b ? tir_block_with_regions(b, true, true) : NULL;
  tn_stmt *s = t->copy ? (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = tn_arr_from(&loops),
                                            .predicate = tir_bool(true), .block = t->copy)
                       : NULL;
  for (int64_t i = loops.len; i-- > 0 && s;) {
    tn_expr *extent = (tn_expr *)tn_arr_obj(t->buffer->shape, i);
    s = (tn_stmt *)TN_MAKE(For, .loop_var = (tn_Var *)loops.items[i].v.obj,
                           .min = tir_zero(extent->dtype), .extent = extent, .kind = TIR_FOR_SERIAL,
                           .body = s, .annotations = hints);
  }
  return s;
}

/* ---- where it goes ---- */

/* The statement of the scope's sequence that a block lies in. */
static const tn_obj *top_of(const sch_step *e, const tn_Block *b, const tn_Block *scope) {
  const tn_obj *top = sch_parent(e, b);
  for (const tn_obj *up = sch_parent(e, top); up && up != (const tn_obj *)scope;
       up = sch_parent(e, up)) {
    if (up->type_index == TN_TI_SeqStmt && sch_parent(e, up) == (const tn_obj *)scope) break;
    top = up;
  }
  return top;
}

/* The block that writes the buffer in this scope, or NULL: then it comes from outside. */
static const tn_Block *writer_of(const target *t) {
  TN_VEC(blocks);
  const tn_Block *found = NULL;
  if (sch_blocks_below((const tn_obj *)t->scope->body, &blocks)) return NULL;
  for (int64_t i = 0; i < blocks.len; ++i) {
    const tn_Block *b = ((const tn_BlockRealize *)blocks.items[i].v.obj)->block;
    for (int64_t j = 0; j < b->writes->len; ++j) {
      if (((const tn_BufferRegion *)tn_arr_obj(b->writes, j))->buffer == t->buffer) found = b;
    }
  }
  return found;
}

/* The scope with the new buffer, and `copy` before or after one of its statements. The block itself
   is rewritten with the cache in place of the buffer. */
static int insert(sch_step *e, target *t, const tn_obj *at, tn_stmt *copy, bool after) {
  const tn_obj *top = top_of(e, t->block, t->scope);
  const tn_SeqStmt *seq = TN_AS(SeqStmt, t->scope->body);
  TN_VEC(stmts);
  TN_VEC(allocs);
  if (!copy) return -1;
  for (int64_t i = 0; i < (seq ? seq->seq->len : 1); ++i) {
    const tn_obj *s = seq ? tn_arr_obj(seq->seq, i) : (const tn_obj *)t->scope->body;
    const tn_obj *now = s == top ? (tn_obj *)sch_rewrite(e, (const tn_stmt *)s) : s;
    if (!now || (s == at && !after && tn_vec_push_obj(&stmts, copy)) ||
        tn_vec_push_obj(&stmts, now) || (s == at && after && tn_vec_push_obj(&stmts, copy)))
      return -1;
  }
  for (int64_t i = 0; i < t->scope->alloc_buffers->len; ++i)
    TN_TRY(tn_vec_push_obj(&allocs, tn_arr_obj(t->scope->alloc_buffers, i)));
  TN_TRY(tn_vec_push_obj(&allocs, t->cache));
  tn_Block now = *t->scope;
  now.alloc_buffers = tn_arr_from(&allocs);
  now.body = tir_seq(&stmts);
  tn_Block *block = now.alloc_buffers && now.body ? tn_node_copy(&tn_type_Block, &now) : NULL;
  if (!block || sch_moved(e, t->scope, block)) return -1;
  /* the rest of the function does not see the cache */
  tn_pmap_fini(&e->vars);
  e->vars = (tn_pmap){0};
  return sch_replace(e, (tn_stmt *)t->scope, (tn_stmt *)block);
}

static int use_cache(sch_step *e, const target *t) {
  TN_TRY(tn_pmap_put(&e->vars, t->buffer, t->cache));
  return tn_pmap_put(&e->vars, t->buffer->data, t->cache->data);
}

static tn_BlockRV *finish(sch_step *e, const target *t) {
  return sch_commit(e) ? NULL : (tn_BlockRV *)sch_handle(e->s, (const tn_obj *)t->copy);
}

tn_BlockRV *sch_cache_read(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index,
                           const char *scope) {
  SCH_STEP(e, s, "cache-read");
  target t = {0};
  if (find_target(&e, &t, block, index, true) || make_cache(&t, scope)) return NULL;
  const tn_Block *writer = writer_of(&t);
  if (writer == t.block)
    return sch_fail(&e, "The block writes the buffer itself", SCH_PLACES(t.block),
                    "The block {0} writes %s itself", tn_cstr(t.buffer->name)),
           NULL;
  const tn_SeqStmt *seq = TN_AS(SeqStmt, t.scope->body);
  const tn_obj *first = seq ? tn_arr_obj(seq->seq, 0) : (const tn_obj *)t.scope->body;
  const tn_obj *at = writer ? top_of(&e, writer, t.scope) : first;
  if (at == top_of(&e, t.block, t.scope) && writer)
    return sch_fail(&e, "Producer and consumer share a loop", SCH_PLACES(t.block, writer),
                    "The block {0} lies in one loop with {1}, which writes %s",
                    tn_cstr(t.buffer->name)),
           NULL;
  tn_stmt *copy = make_copy(&t, t.buffer, t.cache);
  if (!copy || use_cache(&e, &t) || insert(&e, &t, at, copy, writer != NULL)) return NULL;
  return finish(&e, &t);
}

/* Only then does the copy hold no element that nobody wrote. */
static bool writes_all(const target *t) {
  for (int64_t k = 0; k < t->block->writes->len; ++k) {
    const tn_BufferRegion *r = (const tn_BufferRegion *)tn_arr_obj(t->block->writes, k);
    for (int64_t i = 0; r->buffer == t->buffer && i < r->region->len; ++i) {
      const tn_Range *at = (const tn_Range *)tn_arr_obj(r->region, i);
      const tn_obj *extent = tn_arr_obj(t->buffer->shape, i);
      bool all = tir_is_one(extent) && tir_is_zero(at->min);
      for (int64_t j = 0; j < t->block->iter_vars->len; ++j) {
        const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(t->block->iter_vars, j);
        all = all || (at->min == (tn_expr *)iv->var && tir_is_zero(iv->dom->min) &&
                      tn_equal(iv->dom->extent, extent, 0) == 1);
      }
      if (!all) return false;
    }
  }
  return true;
}

tn_BlockRV *sch_cache_write(tn_TirSchedule *s, const tn_BlockRV *block, int64_t index,
                            const char *scope) {
  SCH_STEP(e, s, "cache-write");
  target t = {0};
  const char *why;
  if (find_target(&e, &t, block, index, false) || make_cache(&t, scope)) return NULL;
  if (!sch_is_complete(&e, t.block, &why) && !sch_is_reduction(&e, t.block, &why))
    return sch_fail(&e, "The block is neither complete nor a reduction", SCH_PLACES(t.block),
                    "The block {0} is neither complete nor a reduction, since %s", why),
           NULL;
  if (!writes_all(&t))
    return sch_fail(&e, "The block does not write the whole buffer", SCH_PLACES(t.block),
                    "The block {0} does not write all of %s", tn_cstr(t.buffer->name)),
           NULL;
  tn_stmt *copy = make_copy(&t, t.cache, t.buffer);
  const tn_obj *top = top_of(&e, t.block, t.scope);
  if (!copy || use_cache(&e, &t) || insert(&e, &t, top, copy, true)) return NULL;
  return finish(&e, &t);
}
