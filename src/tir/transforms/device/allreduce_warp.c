/* Reductions over threads by exchanging values within warps.

     T.tvm_thread_allreduce(1, A[tx], True, R[0], tx)       (32 threads)
       ->
     red_buf0[0] = A[tx]
     mask[0] = T.tvm_warp_activemask()
     t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 16, 32, 32)
     red_buf0[0] = red_buf0[0] + t0[0]
     ...                                                     (8, 4, 2, 1)
     red_buf0[0] = T.tvm_warp_shuffle(mask[0], red_buf0[0], 0, 32, 32)

   Targets without masks give 0 for it. More threads than a warp's reduce in two rounds, with the
   results of the first in shared memory. Part of tir.LowerThreadAllreduce. */
#include "tir/transforms/device/allreduce_impl.h"

/* Memory of one round. */
typedef struct {
  tn_Buffer *value[MAX_REDUCED], *other[MAX_REDUCED], *mask;
} round_buffers;

static tn_expr *at_zero(tn_Buffer *b) { return b ? tir_load(b, tn_arr_of(1, tir_i32(0))) : NULL; }

static tn_stmt *set_zero(tn_Buffer *b, tn_expr *value) {
  return b && value ? tir_store(b, value, tn_arr_of(1, tir_i32(0))) : NULL;
}

static tn_expr *shuffle(const allreduce *r, tir_op_id op, tn_Buffer *mask, tn_expr *value,
                        tn_expr *lane) {
  tn_expr *warp = tir_i32((int32_t)r->warp);
  tn_expr *threads = r->masked ? at_zero(mask) : tir_i32(0);
  return value ? tir_call(value->dtype, op, 5, threads, value, lane, warp, warp) : NULL;
}

static int make_buffers(const allreduce *r, const tn_arr *values, round_buffers *b) {
  tn_str *name;
  for (int64_t i = 0; i < r->size; ++i) {
    tn_dtype t = ((tn_expr *)tn_arr_obj(values, i))->dtype;
    TN_GET(name, tn_str_fmt("red_buf%lld", (long long)i));
    TN_GET(b->value[i], tir_scratch(tn_cstr(name), t, 1, "local"));
    TN_GET(name, tn_str_fmt("t%lld", (long long)i));
    TN_GET(b->other[i], tir_scratch(tn_cstr(name), t, 1, "local"));
  }
  TN_GET(b->mask, tir_scratch("mask", tn_dtype_of(kDLUInt, 32, 1), 1, "local"));
  return 0;
}

/* One step: the value of the thread `offset` behind joins each thread's. */
static int step(allreduce *r, round_buffers *b, int64_t extent, int64_t offset) {
  for (int64_t i = 0; i < r->size; ++i) {
    tn_expr *other = shuffle(r, TIR_OP_tvm_warp_shuffle_down, b->mask, at_zero(b->value[i]),
                             tir_i32((int32_t)offset));
    TN_TRY(allreduce_do(r, set_zero(b->other[i], other)));
  }
  tn_arr *mine = allreduce_loads(b->value, r->size, tir_i32(0)),
         *theirs = allreduce_loads(b->other, r->size, tir_i32(0));
  tn_arr *both = mine && theirs ? allreduce_combine(r, mine, theirs) : NULL;
  tn_stmt *s = both ? allreduce_stores(b->value, both, tir_i32(0)) : NULL;
  /* what comes from behind the last thread is not a value of this reduction */
  if (offset * 2 > extent)
    s = allreduce_if(tir_lt(tir_add(r->index, tir_i32((int32_t)offset)), tir_i32((int32_t)extent)),
                     s);
  return allreduce_do(r, s);
}

static int push_all(tn_vec *to, tn_Buffer *const *b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) TN_TRY(tn_vec_push_obj(to, b[i]));
  return 0;
}

static int push_round(allreduce *r, const round_buffers *b) {
  if (r->masked) TN_TRY(tn_vec_push_obj(&r->buffers, b->mask));
  return push_all(&r->buffers, b->other, r->size);
}

/* Reduces `extent` neighbouring threads of a warp; the first has the result. */
static int reduce_round(allreduce *r, const tn_arr *values, int64_t extent, tn_expr *only,
                        round_buffers *b) {
  TN_TRY(make_buffers(r, values, b));
  tn_stmt *first = allreduce_stores(b->value, values, tir_i32(0));
  TN_TRY(allreduce_do(r, only ? allreduce_if(only, first) : first));
  tn_expr *mask = tir_call(tn_dtype_of(kDLUInt, 32, 1), TIR_OP_tvm_warp_activemask, 0);
  if (r->masked) TN_TRY(allreduce_do(r, set_zero(b->mask, mask)));
  int64_t offset = 1;
  while (offset * 2 < extent) offset *= 2;
  for (; offset > 0; offset /= 2) TN_TRY(step(r, b, extent, offset));
  return 0;
}

static int add_results(allreduce *r, tn_Buffer *const *from, tn_expr *index) {
  for (int64_t i = 0; i < r->size; ++i) {
    tn_expr *load = index ? tir_load(from[i], tn_arr_of(1, index)) : NULL;
    if (!load || tn_vec_push_obj(&r->results, load)) return -1;
  }
  return 0;
}

/* All threads are of one warp, which takes the value of the first. */
static int within_warp(allreduce *r) {
  round_buffers b;
  TN_TRY(reduce_round(r, r->values, r->extent, NULL, &b));
  TN_TRY(push_round(r, &b));
  tn_expr *first = tir_mul(tir_i32((int32_t)r->extent), r->group);
  for (int64_t i = 0; i < r->size; ++i) {
    tn_expr *all = shuffle(r, TIR_OP_tvm_warp_shuffle, b.mask, at_zero(b.value[i]), first);
    TN_TRY(allreduce_do(r, set_zero(b.value[i], all)));
  }
  return add_results(r, b.value, tir_i32(0));
}

static int shared_buffers(allreduce *r, const char *name, int64_t n, tn_Buffer **out) {
  for (int64_t i = 0; i < r->size; ++i)
    TN_GET(out[i], tir_scratch(name, ((tn_expr *)tn_arr_obj(r->values, i))->dtype, n, "shared"));
  return 0;
}

/* The results of all warps are reduced by the first one. */
static int over_warps(allreduce *r) {
  round_buffers first, second;
  tn_Buffer *staging[MAX_REDUCED], *result[MAX_REDUCED];
  int64_t warps = r->extent / r->warp;
  tn_expr *n = tir_i32((int32_t)warps), *width = tir_i32((int32_t)r->warp);
  TN_TRY(shared_buffers(r, "red_buf_staging", warps * r->groups, staging));
  TN_TRY(reduce_round(r, r->values, r->warp, NULL, &first));
  tn_expr *begin = tir_mul(r->group, n), *warp = tir_floordiv(r->index, width);
  tn_arr *sums = allreduce_loads(first.value, r->size, tir_i32(0));
  tn_stmt *keep = sums ? allreduce_stores(staging, sums, tir_add(begin, warp)) : NULL;
  TN_TRY(allreduce_do(r, allreduce_if(tir_eq(tir_floormod(r->index, width), tir_i32(0)), keep)));
  TN_TRY(allreduce_do(r, tir_sync("shared")));
  tn_arr *staged = allreduce_loads(staging, r->size, tir_add(begin, r->index));
  if (!staged) return -1;
  TN_TRY(reduce_round(r, staged, warps, tir_lt(r->index, n), &second));
  TN_TRY(push_all(&r->buffers, second.value, r->size));
  TN_TRY(push_round(r, &second));
  TN_TRY(push_all(&r->buffers, first.value, r->size));
  TN_TRY(push_round(r, &first));
  TN_TRY(push_all(&r->buffers, staging, r->size));
  TN_TRY(shared_buffers(r, "red_result", r->groups, result));
  tn_arr *total = allreduce_loads(second.value, r->size, tir_i32(0));
  tn_stmt *tell = total ? allreduce_stores(result, total, r->group) : NULL;
  TN_TRY(allreduce_do(r, allreduce_if(tir_eq(r->index, tir_i32(0)), tell)));
  TN_TRY(allreduce_do(r, tir_sync("shared")));
  return add_results(r, result, r->group);
}

int allreduce_by_warps(allreduce *r) {
  return r->extent <= r->warp ? within_warp(r) : over_warps(r);
}
