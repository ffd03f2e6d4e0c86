/* Loops of convolutions: cutting them, and moving into them the stage that puts a border around the
   data and the one that reads the result. */
#include "base/error.h"
#include "ir/imm.h"
#include "kernels/conv_impl.h"
#include "tir/schedule/blocks.h"

bool conv_has_vectors(const kernel_conv *c) {
  int64_t lanes = kernel_extent(c, c->lane);
  if (lanes > c->st->lanes) return lanes % c->st->lanes == 0;
  return lanes >= 4 && (lanes & (lanes - 1)) == 0;
}

int conv_cut(conv_nest *d, tn_LoopRV **loop, int64_t factor, tn_LoopRV **inner) {
  *inner = NULL;
  return factor > 1 ? kernel_split(d->conv.st, *loop, factor, loop, inner) : 0;
}

void conv_add(tn_LoopRV **list, int *n, tn_LoopRV *loop) {
  if (loop) list[(*n)++] = loop;
}

int conv_mark(const conv_nest *d, tn_LoopRV *loop, tir_for_kind kind) {
  return loop ? sch_set_kind(d->conv.st->sch, loop, kind, NULL) : 0;
}

int conv_partition(const conv_nest *d, tn_LoopRV *loop) {
  tn_expr *one;
  TN_GET(one, tir_i32(1));
  return sch_annotate(d->conv.st->sch, (tn_obj *)loop, KERNEL_PARTITION, tn_any_obj(one));
}

int conv_unroll_tile(const conv_nest *d, tn_LoopRV *lanes) {
  for (int i = 0; i < d->ninner; ++i) TN_TRY(conv_mark(d, d->inner[i], TIR_FOR_UNROLLED));
  return conv_mark(d, lanes, TIR_FOR_VECTORIZED);
}

int conv_parallel(conv_nest *d, int n) {
  tn_LoopRV *one;
  if (n == 0) return 0;
  TN_GET(one, kernel_fuse(d->conv.st, d->outer, n));
  for (int i = 0; i < n; ++i)
    if (d->outer[i] == d->band) d->band = one;
  d->outer[0] = one;
  for (int i = n; i < d->nouter; ++i) d->outer[i - n + 1] = d->outer[i];
  d->nouter -= n - 1;
  d->nband -= n - 1;
  return conv_mark(d, one, TIR_FOR_PARALLEL);
}

/* ---- what follows ---- */

tn_BlockRV *conv_find_store(const conv_nest *d) {
  kernel_stage *st = d->conv.st;
  tn_BlockRV *reader;
  tn_arr *none;
  int r = kernel_only_reader(st, &reader);
  if (r < 0) return NULL;
  if (r) {
    TN_TRYP(sch_set_scope(st->sch, st->rv, 0, "local"));
    return reader;
  }
  TN_GETP(none, tn_arr_of(0));
  return sch_cache_write(st->sch, st->rv, 0, "local", none);
}

int conv_place_store(const conv_nest *d, tn_BlockRV *store) {
  kernel_stage *st = d->conv.st;
  tn_arr *loops;
  TN_TRY(sch_reverse_compute_at(st->sch, store, d->outer[d->nouter - 1], false, -1));
  TN_GET(loops, sch_get_loops(st->sch, store));
  int64_t n = loops->len;
  tn_LoopRV *last = (tn_LoopRV *)loops->items[n - 1].v.obj, *around = NULL;
  for (int64_t i = st->outer + d->nouter; i < n - 1; ++i)
    TN_TRY(conv_mark(d, (tn_LoopRV *)loops->items[i].v.obj, TIR_FOR_UNROLLED));
  if (kernel_loop_extent(st, last) > st->lanes)
    TN_TRY(kernel_split(st, last, st->lanes, &around, &last));
  TN_TRY(conv_mark(d, around, TIR_FOR_UNROLLED));
  return conv_mark(d, last, TIR_FOR_VECTORIZED);
}

/* ---- the border ---- */

/* Loops of the block that copies, from number `first` on: vectors where channels are in blocks, and
   the zeros of the border apart from what is copied. */
int conv_arrange_copy(const conv_nest *d, const tn_BlockRV *rv, int64_t first) {
  const kernel_conv *c = &d->conv;
  kernel_stage *st = c->st;
  tn_arr *loops;
  TN_GET(loops, sch_get_loops(st->sch, rv));
  int64_t last = loops->len - 1;
  if (last < first) return 0;
  tn_LoopRV *loop = (tn_LoopRV *)loops->items[last].v.obj, *inner;
  const tn_obj *at = c->data->indices->items[c->data->indices->len - 1].v.obj;
  int channels = c->depthwise ? c->lane : c->channel;
  bool blocked = channels >= 0 && kernel_uses(at, &st->axis[channels]);
  if (!blocked) return conv_partition(d, loop);
  if (last > first) TN_TRY(conv_partition(d, (tn_LoopRV *)loops->items[last - 1].v.obj));
  int64_t n = kernel_loop_extent(st, loop);
  if (n <= st->lanes) return conv_mark(d, loop, TIR_FOR_VECTORIZED);
  if (n % st->lanes) return 0;
  TN_TRY(kernel_split(st, loop, st->lanes, &loop, &inner));
  return conv_mark(d, inner, TIR_FOR_VECTORIZED);
}

int conv_place_border(const conv_nest *d) {
  const kernel_stage *st = d->conv.st;
  tn_arr *producers;
  TN_GET(producers, sch_get_neighbours(st->sch, st->rv, true));
  for (int64_t i = 0; i < producers->len && d->nband > 0; ++i) {
    tn_BlockRV *rv = (tn_BlockRV *)producers->items[i].v.obj;
    const tn_Block *b;
    TN_GET(b, (const tn_Block *)sch_get(st->sch, (tn_obj *)rv));
    if (!kernel_writes(b, d->conv.data->buffer)) continue;
    int r = kernel_try(sch_compute_at(st->sch, rv, d->outer[d->nband - 1], false, -1));
    return r <= 0 ? r : conv_arrange_copy(d, rv, d->nband);
  }
  return 0;
}
