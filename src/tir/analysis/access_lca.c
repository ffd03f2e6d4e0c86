/* Where all uses of a buffer meet: the innermost loop or block that holds them.

     with T.block("root"):
       for i in range(8):          <- here meet the uses of B
         ... B[i] ...
         ... B[i] ...

   A buffer that a block accumulates into is used around the loops of its reduction; so is one that
   a block with opaque iterators writes, and where that is asked for reads, as it may count on
   earlier iterations. */
#include "base/arena.h"
#include "ir/functor.h"
#include "ir/expr.h"
#include "object/functions.h"
#include "base/error.h"
#include "tir/analysis.h"
#include "tir/device.h"

/* A loop or a block, on the way from the function. */
typedef struct place {
  const struct place *up;
  const tn_obj *node;
  int depth;
} place;

typedef struct {
  tn_arena arena;
  tn_pmap owner; /* buffer or data pointer -> the buffer that it accesses */
  tn_pmap lca;   /* buffer -> place */
  tn_pmap loop;  /* loop variable -> place of the loop */
  tn_vec *order; /* buffers as met */
  bool carried;  /* blocks with opaque iterators read what earlier iterations left */
  const place *here;
  const place *kernel; /* around the loops over thread axes; NULL outside of them */
} finder;

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

static int enter(finder *p, const void *node) {
  place *n;
  TN_GET(n, tn_arena_alloc(&p->arena, sizeof *n));
  *n = (place){p->here, node, p->here ? p->here->depth + 1 : 0};
  p->here = n;
  return 0;
}

static int use_at(finder *p, const void *what, const place *where) {
  const tn_Buffer *b = tn_pmap_get(&p->owner, what);
  if (!b) return 0;
  /* the device's memory is allocated by the host */
  if (p->kernel && tir_memory_of(tir_buffer_scope(b)) == TIR_MEMORY_GLOBAL)
    where = meet(where, p->kernel);
  return tn_pmap_put(&p->lca, b, meet(tn_pmap_get(&p->lca, b), where));
}

static tn_obj *use_var(tn_mut *m, tn_obj *v) {
  finder *p = m->ctx;
  TN_TRYP(use_at(p, v, p->here));
  return v;
}
static tn_obj *use_load(tn_mut *m, tn_BufferLoad *op) {
  finder *p = m->ctx;
  TN_TRYP(use_at(p, op->buffer, p->here));
  return tn_mut_visit(m, op->indices) ? (tn_obj *)op : NULL;
}
static tn_obj *use_store(tn_mut *m, tn_BufferStore *op) {
  finder *p = m->ctx;
  TN_TRYP(use_at(p, op->buffer, p->here));
  return tn_mut_visit(m, op->indices) && tn_mut_visit(m, op->value) ? (tn_obj *)op : NULL;
}
/* What a region or declaration says of a buffer is not a use of it. */
static tn_obj *skip_buffer(tn_mut *m, tn_obj *b) {
  (void)m;
  return b;
}

static tn_obj *walk_for(tn_mut *m, tn_For *op) {
  finder *p = m->ctx;
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

/* The outermost place among the loops that drive an iterator whose values depend on each other. */
typedef struct {
  finder *p;
  const place *outermost;
} reduce_loops;

static int note_loop(void *ctx, tn_obj *node) {
  reduce_loops *r = ctx;
  const place *l = tn_pmap_get(&r->p->loop, node);
  if (l && (!r->outermost || l->depth < r->outermost->depth)) r->outermost = l;
  return 0;
}

static int use_all_at(finder *p, const tn_arr *regions, const place *where) {
  for (int64_t i = 0; i < regions->len; ++i)
    TN_TRY(use_at(p, ((const tn_BufferRegion *)tn_arr_obj(regions, i))->buffer, where));
  return 0;
}

/* What a block accumulates into keeps its value over the loops of its reduction; what one with
 * opaque iterators writes, and may read, over theirs. */
static int keep_accumulators(finder *p, const tn_BlockRealize *op) {
  reduce_loops written = {p, NULL}, read = {p, NULL};
  const tn_Block *b = op->block;
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    bool opaque = iv->iter_type == IR_ITER_OPAQUE;
    if (!opaque && iv->iter_type != IR_ITER_COMM_REDUCE) continue;
    TN_TRY(tn_post_order(tn_arr_obj(op->iter_values, i), note_loop, &written));
    if (opaque && p->carried)
      TN_TRY(tn_post_order(tn_arr_obj(op->iter_values, i), note_loop, &read));
  }
  if (written.outermost) TN_TRY(use_all_at(p, b->writes, written.outermost->up));
  return read.outermost ? use_all_at(p, b->reads, read.outermost->up) : 0;
}

static int own(finder *p, const tn_Buffer *b, const void *of) {
  TN_TRY(tn_pmap_put(&p->owner, b, of));
  return tn_pmap_put(&p->owner, b->data, of);
}

static int declare(tn_mut *m, const tn_Block *b) {
  finder *p = m->ctx;
  for (int64_t i = 0; i < b->alloc_buffers->len; ++i) {
    const tn_Buffer *a = (const tn_Buffer *)tn_arr_obj(b->alloc_buffers, i);
    TN_TRY(own(p, a, a));
    TN_TRY(tn_vec_push_obj(p->order, a));
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
  finder *p = m->ctx;
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

static int signature(finder *f, const tn_PrimFunc *func) {
  for (int64_t i = 0; i < func->buffer_map->len; ++i) {
    const tn_Buffer *b = (const tn_Buffer *)func->buffer_map->entries[i].value.v.obj;
    TN_TRY(own(f, b, b));
    TN_TRY(tn_vec_push_obj(f->order, b));
  }
  return 0;
}

static void finder_fini(finder *f) {
  tn_arena_fini(&f->arena);
  tn_pmap_fini(&f->owner);
  tn_pmap_fini(&f->lca);
  tn_pmap_fini(&f->loop);
}

static int run(finder *f, const tn_PrimFunc *func, bool params) {
  static const tn_mut_case look[] = {
      TN_CASE(For, walk_for),          TN_CASE(BlockRealize, walk_block),
      TN_CASE(Var, use_var),           TN_CASE(BufferLoad, use_load),
      TN_CASE(BufferStore, use_store), TN_CASE(Buffer, skip_buffer)};
  TN_MUT(looking, look, f);
  TN_TRY(enter(f, func));
  if (params) TN_TRY(signature(f, func));
  return tn_mut_visit(&looking, func->body) ? 0 : -1;
}

int tir_access_lca_find(const tn_PrimFunc *func, int which, tir_access_lca *out) {
  __attribute__((cleanup(finder_fini)))
  finder f = {.order = &out->buffers, .carried = which & TIR_LCA_CARRIED};
  TN_TRY(run(&f, func, which & TIR_LCA_PARAMS));
  for (int64_t i = 0; i < out->buffers.len; ++i) {
    const place *at = tn_pmap_get(&f.lca, out->buffers.items[i].v.obj);
    if (at) TN_TRY(tn_pmap_put(&out->node, out->buffers.items[i].v.obj, at->node));
  }
  return 0;
}

void tir_access_lca_fini(tir_access_lca *l) {
  tn_pmap_fini(&l->node);
  tn_vec_fini(&l->buffers);
}
