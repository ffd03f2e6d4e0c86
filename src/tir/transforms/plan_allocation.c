/* Buffers are allocated where all their uses meet: in the innermost block or loop body that holds
   them all.

     with T.block("root"):                      with T.block("root"):
       B = T.alloc_buffer((8,))                   for i in range(8):
       for i in range(8):                  ->       with T.block(""):
         ... B[i] ...                                 B = T.alloc_buffer((8,))
                                                      ... B[i] ...

   A buffer that a block accumulates into lives outside the loops of its reduction. Before
   CompactBufferAllocation, which shrinks what such a place does not need. */
#include "base/arena.h"
#include "tir/analysis.h"
#include "tir/transforms/device_impl.h"

/* A place where a buffer could be allocated: a loop body or a block. */
typedef struct place {
  const struct place *up;
  const tn_obj *node;
  int depth;
} place;

typedef struct {
  tn_arena arena;
  tn_pmap owner; /* buffer or data pointer -> buffer of an allocation that it accesses */
  tn_pmap lca;   /* allocated buffer -> place */
  tn_pmap loop;  /* loop variable -> place of the loop */
  tn_vec order;  /* allocated buffers as met */
  const place *here;
  const place *kernel; /* around the loops over thread axes; NULL outside of them */
} planner;

static const place *meet(const place *a, const place *b) {
  if (!a || !b) return a ? a : b;
  while (a != b) {
    if (a->depth >= b->depth) {
      a = a->up;
    } else {
      b = b->up;
    }
  }
  return a;
}

static int enter(planner *p, const void *node) {
  place *n;
  TN_GET(n, tn_arena_alloc(&p->arena, sizeof *n));
  *n = (place){p->here, node, p->here ? p->here->depth + 1 : 0};
  p->here = n;
  return 0;
}

static int use_at(planner *p, const void *what, const place *where) {
  const tn_Buffer *b = tn_pmap_get(&p->owner, what);
  if (!b) return 0;
  /* the device's memory is allocated by the host */
  if (p->kernel && tir_memory_of(tir_buffer_scope(b)) == TIR_MEMORY_GLOBAL)
    where = meet(where, p->kernel);
  return tn_pmap_put(&p->lca, b, meet(tn_pmap_get(&p->lca, b), where));
}

static tn_obj *use_var(tn_mut *m, tn_obj *v) {
  planner *p = m->ctx;
  TN_TRYP(use_at(p, v, p->here));
  return v;
}
static tn_obj *use_load(tn_mut *m, tn_BufferLoad *op) {
  planner *p = m->ctx;
  TN_TRYP(use_at(p, op->buffer, p->here));
  return tn_mut_visit(m, op->indices) ? (tn_obj *)op : NULL;
}
static tn_obj *use_store(tn_mut *m, tn_BufferStore *op) {
  planner *p = m->ctx;
  TN_TRYP(use_at(p, op->buffer, p->here));
  return tn_mut_visit(m, op->indices) && tn_mut_visit(m, op->value) ? (tn_obj *)op : NULL;
}
/* What a region or declaration says of a buffer is no use of it. */
static tn_obj *skip_buffer(tn_mut *m, tn_obj *b) {
  (void)m;
  return b;
}

static tn_obj *walk_for(tn_mut *m, tn_For *op) {
  planner *p = m->ctx;
  const place *outer = p->here, *kernel = p->kernel;
  if (!tn_mut_visit(m, op->min) || !tn_mut_visit(m, op->extent)) return NULL;
  if (op->kind == TIR_FOR_THREAD_BINDING && !kernel) p->kernel = outer;
  TN_TRYP(enter(p, op));
  TN_TRYP(tn_pmap_put(&p->loop, op->loop_var, p->here));
  if (!tn_mut_visit(m, op->body)) return NULL;
  p->here = outer;
  p->kernel = kernel;
  return (tn_obj *)op;
}

/* The outermost place among the loops that drive a reduction iterator of the block. */
typedef struct {
  planner *p;
  const place *outermost;
} reduce_loops;

static int note_loop(void *ctx, tn_obj *node) {
  reduce_loops *r = ctx;
  const place *l = tn_pmap_get(&r->p->loop, node);
  if (l && (!r->outermost || l->depth < r->outermost->depth)) r->outermost = l;
  return 0;
}

/* What a reduction writes keeps its value over the loops of the reduction. */
static int keep_accumulators(planner *p, const tn_BlockRealize *op) {
  reduce_loops r = {p, NULL};
  const tn_Block *b = op->block;
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    if (iv->iter_type == IR_ITER_COMM_REDUCE)
      TN_TRY(tn_post_order(tn_arr_obj(op->iter_values, i), note_loop, &r));
  }
  for (int64_t i = 0; r.outermost && i < b->writes->len; ++i) {
    const tn_BufferRegion *w = (const tn_BufferRegion *)tn_arr_obj(b->writes, i);
    TN_TRY(use_at(p, w->buffer, r.outermost->up));
  }
  return 0;
}

static int own(planner *p, const tn_Buffer *b, const void *of) {
  TN_TRY(tn_pmap_put(&p->owner, b, of));
  return tn_pmap_put(&p->owner, b->data, of);
}

static int declare(tn_mut *m, const tn_Block *b) {
  planner *p = m->ctx;
  for (int64_t i = 0; i < b->alloc_buffers->len; ++i) {
    const tn_Buffer *a = (const tn_Buffer *)tn_arr_obj(b->alloc_buffers, i);
    TN_TRY(own(p, a, a));
    TN_TRY(tn_vec_push_obj(&p->order, a));
  }
  for (int64_t i = 0; i < b->match_buffers->len; ++i) {
    const tn_MatchBufferRegion *r = (const tn_MatchBufferRegion *)tn_arr_obj(b->match_buffers, i);
    const void *of = tn_pmap_get(&p->owner, r->source->buffer);
    TN_TRY(use_at(p, r->source->buffer, p->here));
    if (of) TN_TRY(own(p, r->buffer, of));
    if (!tn_mut_visit(m, r->source->region)) return -1;
  }
  return 0;
}

static tn_obj *walk_block(tn_mut *m, tn_BlockRealize *op) {
  planner *p = m->ctx;
  const place *outer = p->here;
  if (!tn_mut_visit(m, op->iter_values) || !tn_mut_visit(m, op->predicate)) return NULL;
  TN_TRYP(keep_accumulators(p, op));
  TN_TRYP(enter(p, op->block));
  TN_TRYP(declare(m, op->block));
  if (op->block->init && !tn_mut_visit(m, op->block->init)) return NULL;
  if (!tn_mut_visit(m, op->block->body)) return NULL;
  p->here = outer;
  return (tn_obj *)op;
}

/* ---- moving the allocations ---- */

static tn_arr *allocated_at(const planner *p, const tn_obj *node) {
  TN_VEC(v);
  for (int64_t i = 0; i < p->order.len; ++i) {
    const place *at = tn_pmap_get(&p->lca, p->order.items[i].v.obj);
    if (at && at->node == node) TN_TRYP(tn_vec_push(&v, p->order.items[i]));
  }
  return tn_arr_from(&v);
}

static tn_obj *place_in_block(tn_mut *m, tn_Block *op) {
  tn_arr *here;
  tn_Block *b;
  TN_GETP(here, allocated_at(m->ctx, (tn_obj *)op));
  TN_GETP(b, tn_mut_children(m, op));
  bool same = here->len == b->alloc_buffers->len;
  for (int64_t i = 0; same && i < here->len; ++i)
    same = tn_arr_obj(here, i) == tn_arr_obj(b->alloc_buffers, i);
  if (same) return (tn_obj *)b;
  tn_Block copy = *b;
  copy.alloc_buffers = here;
  return tn_node_copy(&tn_type_Block, &copy);
}

/* A loop body has no place for allocations: it becomes an opaque block. */
static tn_obj *place_in_loop(tn_mut *m, tn_For *op) {
  tn_arr *here;
  tn_For *r;
  TN_GETP(here, allocated_at(m->ctx, (tn_obj *)op));
  TN_GETP(r, tn_mut_children(m, op));
  if (here->len == 0) return (tn_obj *)r;
  tn_arr *none = tn_arr_of(0);
  tn_Block *b = TN_NEW(Block, .iter_vars = none, .reads = none, .writes = none,
                       .name_hint = tn_str_from(""), .alloc_buffers = here, .match_buffers = none,
                       .annotations = tn_scope_own(tn_map_new()), .body = r->body);
  b = b ? tir_block_with_regions(b, true, true) : NULL;
  tn_stmt *body =
      (tn_stmt *)TN_NEW(BlockRealize, .iter_values = none, .predicate = tir_bool(true), .block = b);
  return (tn_obj *)tir_for_with(r, r->min, r->extent, body);
}

static void planner_fini(planner *p) {
  tn_arena_fini(&p->arena);
  tn_pmap_fini(&p->owner);
  tn_pmap_fini(&p->lca);
  tn_pmap_fini(&p->loop);
  tn_vec_fini(&p->order);
}

tn_PrimFunc *tir_plan_allocation(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case look[] = {
      TN_CASE(For, walk_for),          TN_CASE(BlockRealize, walk_block),
      TN_CASE(Var, use_var),           TN_CASE(BufferLoad, use_load),
      TN_CASE(BufferStore, use_store), TN_CASE(Buffer, skip_buffer)};
  static const tn_mut_case move[] = {TN_CASE(For, place_in_loop), TN_CASE(Block, place_in_block),
                                     TN_CASE(Buffer, skip_buffer)};
  (void)c;
  if (tir_is_legacy(f)) return f;
  __attribute__((cleanup(planner_fini))) planner p = {0};
  TN_MUT(looking, look, &p);
  TN_MUT(moving, move, &p);
  TN_TRYP(enter(&p, f));
  if (!tn_mut_visit(&looking, f->body)) return NULL;
  if (p.order.len == 0) return f;
  return tir_with_body(f, tn_mut_visit(&moving, f->body));
}
