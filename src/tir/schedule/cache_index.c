/* Indices that are computed once: cache_index.

     B[vi, vj] = A[vi // 4 + vj // 4]        for ax0, ax1 in T.grid(n, m):
                                               with T.block("index_0"):
                                   ->            index_var_0[v0, v1] = v0 // 4 + v1 // 4
                                             ...
                                             B[vi, vj] = A[index_var_0[vi, vj]]

   An index is taken where a block reads, when it is more than an iterator or a number, needs
   nothing but iterators of the block, and occurs often enough. Of one that does not, the parts are
   looked at, and count together with others like them. */
#include "ir/functor.h"
#include "tir/schedule/cache.h"
#include "tir/schedule/blocks.h"
#include "tenon/object.h"

typedef struct {
  tn_expr *index;
  int64_t uses, size; /* size: number of its nodes */
  bool done;          /* its parts have been looked at, if they had to be */
  tn_vec iters;       /* IterVar of the block that it needs, in their order */
  tn_Buffer *cache;   /* NULL: it stays as it is */
} cached;

enum { MAX_CACHED = 256 };

typedef struct {
  const tn_Block *block;
  cached found[MAX_CACHED];
  int n;
} indices;

static void indices_fini(indices *x) {
  for (int i = 0; i < x->n; ++i) tn_vec_fini(&x->found[i].iters);
}

/* ---- which ---- */

static int is_foreign(void *ctx, tn_obj *o) {
  const tn_Block *b = ctx;
  if (o->type_index == TN_TI_BufferLoad || o->type_index == TN_TI_Call) return 2;
  if (!TN_IS(Var, o)) return 0;
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    if ((const tn_obj *)((const tn_IterVar *)tn_arr_obj(b->iter_vars, i))->var == o) return 0;
  }
  return 2;
}

static cached *known(const indices *x, const tn_obj *index) {
  for (int i = 0; i < x->n; ++i) {
    if (tn_equal(x->found[i].index, index, 0) == 1) return (cached *)(uintptr_t)&x->found[i];
  }
  return NULL;
}

static int count_node(void *ctx, tn_obj *o) {
  *(int64_t *)ctx += TN_IS(PrimExpr, o);
  return 0;
}

static int note_index(indices *x, tn_obj *index, int64_t uses) {
  int64_t number;
  if (TN_IS(Var, index) || tir_as_int(index, &number)) return 0;
  if (tn_pre_order(index, is_foreign, (void *)(uintptr_t)x->block)) return 0;
  cached *c = known(x, index);
  if (c) return c->uses += uses, 0;
  if (x->n == MAX_CACHED) return 0;
  c = &x->found[x->n++];
  *c = (cached){.index = (tn_expr *)index, .uses = uses};
  TN_TRY(tn_post_order(index, count_node, &c->size));
  for (int64_t i = 0; i < x->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(x->block->iter_vars, i);
    if (sch_uses_var(index, iv->var)) TN_TRY(tn_vec_push_obj(&c->iters, iv));
  }
  return 0;
}

static int find_indices(void *ctx, tn_obj *o) {
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  for (int64_t i = 0; load && i < load->indices->len; ++i)
    TN_TRY(note_index(ctx, tn_arr_obj(load->indices, i), 1));
  return 0;
}

typedef struct {
  indices *all;
  int64_t uses;
} parts;
static int note_part(void *ctx, tn_obj *o) {
  const parts *p = ctx;
  return TN_IS(PrimExpr, o) ? note_index(p->all, o, p->uses) : 0;
}

/* The largest first, so that a part has met all the indices it is in before its own turn. */
static int note_parts(indices *x, int64_t threshold) {
  while (true) {
    int at = -1;
    for (int i = 0; i < x->n; ++i)
      if (!x->found[i].done && (at < 0 || x->found[i].size > x->found[at].size)) at = i;
    if (at < 0) return 0;
    x->found[at].done = true;
    parts p = {x, x->found[at].uses};
    if (p.uses < threshold) TN_TRY(tn_visit_children((tn_obj *)x->found[at].index, note_part, &p));
  }
}

/* ---- the blocks that compute them ---- */

static tn_stmt *compute(cached *c, int number, const char *memory, tn_Block **block) {
  SCH_NEST(n);
  TN_PMAP(vars);
  TN_VEC(shape);
  for (int64_t i = 0; i < c->iters.len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)c->iters.items[i].v.obj;
    tn_expr *extent = iv->dom->extent;
    tn_Range *dom = tir_range(tir_zero(extent->dtype), extent);
    if (!dom || sch_nest_add(&n, extent, NULL, dom) || tn_vec_push_obj(&shape, extent)) return NULL;
    tn_expr *v = (tn_expr *)n.indices.items[i].v.obj;
    if (!tir_is_zero(iv->dom->min)) TN_GETP(v, tir_add(iv->dom->min, v));
    TN_TRYP(tn_pmap_put(&vars, iv->var, v));
  }
  tn_str *name = tn_str_fmt("index_var_%d", number), *of_block = tn_str_fmt("index_%d", number);
  tn_arr *extents = tn_arr_from(&shape), *at = tn_arr_from(&n.indices);
  if (!name || !of_block || !extents || !at) return NULL;
  TN_GETP(c->cache, tir_buffer(extents, c->index->dtype, name->data, memory));
  tn_expr *value = tir_substitute(c->index, &vars);
  return value ? sch_nest_make(&n, of_block, tir_store(c->cache, value, at), block) : NULL;
}

/* ---- their use ---- */

static tn_obj *look_up(const cached *c) {
  TN_VEC(at);
  for (int64_t i = 0; i < c->iters.len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)c->iters.items[i].v.obj;
    tn_expr *v = (tn_expr *)iv->var;
    if (!tir_is_zero(iv->dom->min)) TN_GETP(v, tir_sub(v, iv->dom->min));
    TN_TRYP(tn_vec_push_obj(&at, v));
  }
  return (tn_obj *)tir_load(c->cache, tn_arr_from(&at));
}

static tn_obj *use_in_index(void *ctx, tn_obj *index) {
  const cached *c = TN_IS(PrimExpr, index) ? known(ctx, index) : NULL;
  if (c && c->cache) return look_up(c);
  return index->type_index == TN_TI_BufferLoad ? index : tn_map_children(index, use_in_index, ctx);
}

static tn_obj *use_cached(sch_step *e, const tn_obj *was, tn_obj *now) {
  const tn_BufferLoad *load = TN_AS(BufferLoad, now);
  TN_VEC(out);
  bool changed = false;
  (void)was;
  for (int64_t i = 0; load && i < load->indices->len; ++i) {
    tn_obj *index = tn_arr_obj(load->indices, i), *with;
    TN_GETP(with, use_in_index((void *)(uintptr_t)e->after_ctx, index));
    changed = changed || with != index;
    TN_TRYP(tn_vec_push_obj(&out, with));
  }
  return changed ? (tn_obj *)tir_load(load->buffer, tn_arr_from(&out)) : now;
}

/* The block, and those in it, read the cached indices. */
static int renew_reads(void *renewed, tn_obj *o) {
  return TN_IS(Block, o) ? tn_pmap_put_int(renewed, o, 1) : 0;
}

static tn_arr *insert_all(sch_step *e, indices *x, const char *memory, int64_t threshold) {
  TN_VEC(stmts);
  TN_VEC(blocks);
  TN_VEC(handles);
  tn_Buffer *buffers[MAX_CACHED];
  int n = 0;
  tn_Block *scope;
  TN_GETP(scope, sch_scope_root(e, x->block, false));
  for (int i = 0; i < x->n; ++i) {
    tn_Block *block;
    if (x->found[i].uses < threshold) continue;
    tn_stmt *s = compute(&x->found[i], n, memory, &block);
    if (!s || tn_vec_push_obj(&stmts, s) || tn_vec_push_obj(&blocks, block)) return NULL;
    buffers[n++] = x->found[i].cache;
  }
  if (!n) return tn_arr_of(0);
  e->after = use_cached;
  e->after_ctx = x;
  TN_TRYP(tn_post_order(x->block, renew_reads, &e->renewed));
  TN_TRYP(tn_vec_push_obj(&stmts, sch_rewrite(e, scope->body)));
  if (sch_replace(e, scope->body, tir_seq(&stmts))) return NULL;
  if (sch_add_buffers(e, scope, n, buffers) || sch_commit(e)) return NULL;
  for (int64_t i = 0; i < blocks.len; ++i)
    TN_TRYP(tn_vec_push_obj(&handles, sch_handle(e->s, blocks.items[i].v.obj)));
  return tn_arr_from(&handles);
}

tn_arr *sch_cache_index(tn_TirSchedule *s, const tn_BlockRV *block, const char *memory,
                        int64_t threshold) {
  SCH_STEP(e, s, "cache-index");
  indices x __attribute__((cleanup(indices_fini))) = {.n = 0};
  x.block = sch_block_of(&e, block);
  if (!x.block || sch_check_memory(&e, memory)) return NULL;
  TN_CHECKP(threshold >= 0, ValueError, NULL,
            "cache_index: cse_thresh: expected 0 or more, got %lld", (long long)threshold);
  if (!sch_parent(&e, x.block) || !sch_scope_block(&e, sch_parent(&e, x.block)))
    return sch_fail(&e, "The block is the root of its function", SCH_PLACES(x.block),
                    "The block {0} is the root of its function: nothing can be placed before it"),
           NULL;
  if (tn_pre_order(x.block->body, find_indices, &x) < 0) return NULL;
  TN_TRYP(note_parts(&x, threshold));
  return insert_all(&e, &x, memory, threshold);
}
