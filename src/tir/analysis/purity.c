/* What a function does besides computing its result, and which of its blocks does most of the
   work. */
#include "base/pmap.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "ir/tir_ops.h"
#include "object/functions.h"
#include "tir/analysis.h"

/* ---- purity ---- */

typedef struct {
  tn_pmap own; /* pointers of the function's own memory */
  bool pure;
} purity;

static int note_memory(void *ctx, tn_obj *o) {
  purity *p = ctx;
  const tn_Block *b = TN_AS(Block, o);
  if (TN_AS(Allocate, o)) return tn_pmap_put(&p->own, ((tn_Allocate *)o)->buffer_var, o);
  for (int64_t i = 0; b && i < b->alloc_buffers->len; ++i)
    TN_TRY(tn_pmap_put(&p->own, ((tn_Buffer *)tn_arr_obj(b->alloc_buffers, i))->data, o));
  return 0;
}

static int note_effect(void *ctx, tn_obj *o) {
  purity *p = ctx;
  const tn_BufferStore *s = TN_AS(BufferStore, o);
  const tn_Call *c = TN_AS(Call, o);
  if (s && !tn_pmap_has(&p->own, s->buffer->data)) p->pure = false;
  bool ret = c && tir_op_number((const tn_obj *)c->op) == TIR_OP_ret;
  if (c && !ret && tir_call_effect((const tn_obj *)c->op) > TIR_EFFECT_READ) p->pure = false;
  return !p->pure;
}

bool tir_is_pure_func(const tn_PrimFunc *f) {
  purity p = {.pure = true};
  bool ok = tn_post_order(f->body, note_memory, &p) == 0;
  if (ok) tn_post_order(f->body, note_effect, &p);
  tn_pmap_fini(&p.own);
  return ok && p.pure;
}

/* ---- the anchor ---- */

typedef struct {
  const tn_Block *best;
  double most;
} anchor;

static bool reduces(const tn_Block *b) {
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    if (((tn_IterVar *)tn_arr_obj(b->iter_vars, i))->iter_type == IR_ITER_COMM_REDUCE) return true;
  }
  return false;
}

/* Of the blocks that reduce, the one with most operations over its iterators. */
static int note_block(void *ctx, tn_obj *o) {
  anchor *a = ctx;
  const tn_Block *b = TN_AS(Block, o);
  double n;
  int64_t extent;
  if (!b || !b->init || !reduces(b)) return 0;
  TN_TRY(tir_estimate_flops((tn_obj *)b->body, &n));
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    if (tir_as_int((tn_obj *)iv->dom->extent, &extent)) n *= (double)extent;
  }
  if (n > a->most) a->best = b, a->most = n;
  return 0;
}

const tn_Block *tir_anchor_block(const tn_IRModule *m) {
  anchor a = {NULL, -1};
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_PrimFunc *f = TN_AS(PrimFunc, m->functions->entries[i].value.v.obj);
    if (f && tn_post_order(f->body, note_block, &a)) return NULL;
  }
  return a.best;
}
