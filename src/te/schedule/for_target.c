/* A schedule for tensor expressions of which nothing is known but the target: what operators of
   topi are scheduled by where a program asks for no particular one.

     tenon.topi.generic.schedule_injective(C), tenon.topi.x86.schedule_softmax(B), ...

   What one other operation reads is computed in it; what several read, and every reduction, gets
   its own loops. On a CPU the outer of them run on the threads and the innermost one of an
   operation without reduction in vectors; on a GPU all are dealt out to blocks of threads. */
#include "ir/functor.h"
#include "ir/imm.h"
#include "te/schedule/te_schedule_impl.h"

static int64_t count_readers(const tn_TeSchedule *s, const tn_Operation *op, bool *computes) {
  int64_t n = 0;
  *computes = true;
  for (int64_t i = 0; i < s->stages->len; ++i) {
    const tn_Operation *reader = te_stage_at(s, i)->op;
    tn_arr *inputs = te_inputs(reader);
    if (!inputs) return -1;
    bool reads = false;
    for (int64_t k = 0; k < inputs->len; ++k)
      reads = reads || ((tn_Tensor *)tn_arr_obj(inputs, k))->op == op;
    if (!reads) continue;
    ++n;
    *computes = *computes && TN_AS(ComputeOp, reader);
  }
  return n;
}

static int find_call(void *found, tn_obj *o) {
  if (o->type_index == TN_TI_Tensor) return 1;
  if (TN_AS(Call, o)) *(bool *)found = true;
  return 0;
}

/* Computing an element again for each reader pays unless it takes a call (exp, tanh). */
static int inline_cheap(tn_TeSchedule *s) {
  for (int64_t i = 0; i < s->stages->len; ++i) {
    tn_TeStage *st = te_stage_at(s, i);
    const tn_ComputeOp *c = TN_AS(ComputeOp, st->op);
    bool computes, calls = false;
    if (!c || c->reduce_axis->len || st->is_output || te_scan_of(s, st->op)) continue;
    int64_t readers = count_readers(s, st->op, &computes);
    if (readers < 0 || tn_pre_order(c->body, find_call, &calls) < 0) return -1;
    if (computes && (readers == 1 || !calls)) TN_TRY(te_set_attach(st, TE_ATTACH_INLINE));
  }
  return 0;
}

/* The axes that are not reduced, without the last `keep` of them, as one loop. NULL also when there
   are none (*none). */
static tn_IterVar *fuse_axes(tn_TeStage *st, const tn_arr *axes, int64_t keep, bool *none) {
  *none = axes->len <= keep;
  if (*none) return NULL;
  TN_VEC(all);
  for (int64_t i = 0; i + keep < axes->len; ++i) TN_TRYP(tn_vec_push_obj(&all, te_iv(axes, i)));
  if (all.len == 1) return te_iv(axes, 0);
  tn_arr *list = tn_arr_from(&all);
  return list ? te_fuse(st, list) : NULL;
}

static int for_cpu(tn_TeStage *st, const tn_ComputeOp *c, int64_t lanes) {
  bool vector = !c->reduce_axis->len && c->axis->len && lanes > 1, none;
  tn_IterVar *outer = fuse_axes(st, c->axis, vector && c->axis->len > 1, &none);
  if (none) return 0;
  if (!outer) return -1;
  if (!vector) return te_set_kind(st, outer, IR_ITER_PARALLELIZED);
  tn_IterVar *last = te_iv(c->axis, c->axis->len - 1);
  tn_arr *parts = te_split(st, last, tir_i32((int32_t)lanes), NULL, false);
  if (!parts) return -1;
  TN_TRY(te_set_kind(st, te_iv(parts, 1), IR_ITER_VECTORIZED));
  return te_set_kind(st, c->axis->len > 1 ? outer : te_iv(parts, 0), IR_ITER_PARALLELIZED);
}

static tn_IterVar *thread(const char *tag) {
  return tir_iter_var(NULL, tir_var(tag, TN_I32), IR_ITER_THREAD_INDEX, tag);
}

static int for_gpu(tn_TeStage *st, const tn_ComputeOp *c, int64_t threads) {
  bool none;
  tn_IterVar *all = fuse_axes(st, c->axis, 0, &none);
  if (none) TN_GET(all, te_fuse(st, tn_arr_of(0))); /* one number: a single thread's */
  if (!all) return -1;
  tn_arr *parts = te_split(st, all, tir_i32((int32_t)threads), NULL, false);
  if (!parts) return -1;
  TN_TRY(te_bind(st, te_iv(parts, 0), thread("blockIdx.x")));
  return te_bind(st, te_iv(parts, 1), thread("threadIdx.x"));
}

tn_TeSchedule *te_schedule_for(const tn_arr *outs, int64_t lanes, int64_t threads) {
  TN_VEC(ops);
  tn_TeSchedule *s;
  for (int64_t i = 0; i < outs->len; ++i)
    TN_TRYP(tn_vec_push_obj(&ops, ((tn_Tensor *)tn_arr_obj(outs, i))->op));
  TN_GETP(s, te_create_schedule(tn_arr_from(&ops)));
  TN_TRYP(inline_cheap(s));
  for (int64_t i = 0; i < s->stages->len; ++i) {
    tn_TeStage *st = te_stage_at(s, i);
    const tn_ComputeOp *c = TN_AS(ComputeOp, st->op);
    if (!c || st->attach_type == TE_ATTACH_INLINE || te_scan_of(s, st->op)) continue;
    TN_TRYP(threads ? for_gpu(st, c, threads) : for_cpu(st, c, lanes));
  }
  return s;
}
