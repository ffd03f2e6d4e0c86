/* Stages whose last axis goes through what they read in parts, as where channels go from blocks of
   one length to blocks of another:

     for c, p: for j in unrolled(2): for v in vectorized(16):
       B[c, p, j * 16 + v] = A[c * 2 + j, p, v]                  of A[.., j // 16, p, j % 16] */
#include "arith/analyzer.h"
#include "arith/region.h"
#include "base/error.h"
#include "base/pmap.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "kernels/kernels_impl.h"
#include "object/functions.h"

enum { MIN_LANES = 8, MAX_PARTS = 8 /* that are unrolled */ };

typedef struct {
  const kernel_axis *axis;
  arith_analyzer *a;
  const tn_pmap *vars; /* the axis as part * lanes + lane */
  tn_arr *lane;
  bool all;
} part_search;

/* Is the index the lane plus something (last), or without it? */
static bool fits(const part_search *s, tn_expr *index, bool last) {
  tn_expr *e = tir_substitute(index, s->vars);
  e = e ? arith_simplify(s->a, e) : NULL;
  tn_arr *factors = e ? arith_linear(e, s->lane) : NULL;
  return factors && factors->len == 2 &&
         (last ? tir_is_one(factors->items[0].v.obj) : tir_is_zero(factors->items[0].v.obj));
}

static int look_at_load(void *ctx, tn_obj *node) {
  part_search *s = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, node);
  if (!load || !kernel_uses(load->indices, s->axis)) return 0;
  int64_t last = load->indices->len - 1;
  for (int64_t i = 0; i <= last && s->all; ++i)
    s->all = fits(s, (tn_expr *)tn_arr_obj(load->indices, i), i == last);
  return !s->all;
}

static int bind(arith_analyzer *a, tn_Var *v, int64_t extent) {
  tn_Range *r = tir_range(tir_zero(v->dtype), tir_const_int(v->dtype, extent));
  return r ? arith_bind_range(a, v, r, true) : -1;
}

/* Do vectors of so many lanes read neighbours? @return 1, 0, -1 */
static int reads_neighbours(const kernel_stage *st, int64_t lanes) {
  const kernel_axis *axis = &st->axis[st->naxes - 1];
  TN_ARITH(a);
  TN_PMAP(vars);
  part_search s = {.axis = axis, .a = &a, .vars = &vars, .all = true};
  tn_Var *part, *lane;
  TN_GET(part, tir_var("part", axis->var->dtype));
  TN_GET(lane, tir_var("lane", axis->var->dtype));
  TN_GET(s.lane, tn_arr_of(1, lane));
  for (int i = 0; i < st->naxes; ++i)
    if (st->axis[i].extent > 0) TN_TRY(bind(&a, st->axis[i].var, st->axis[i].extent));
  TN_TRY(bind(&a, part, axis->extent / lanes));
  TN_TRY(bind(&a, lane, lanes));
  tn_expr *whole =
      tir_add(tir_mul((tn_expr *)part, tir_const_int(part->dtype, lanes)), (tn_expr *)lane);
  if (!whole || tn_pmap_put(&vars, axis->var, whole)) return -1;
  (void)tn_post_order(((const tn_BufferStore *)st->block->body)->value, look_at_load, &s);
  return tn_error_pending() ? -1 : s.all;
}

/* Lanes of the largest parts of the last axis that are contiguous; 0: there are none. */
static int part_lanes(const kernel_stage *st) {
  int64_t extent = st->axis[st->naxes - 1].extent;
  for (int v = st->lanes; v >= MIN_LANES; v /= 2) {
    if (extent <= v || extent % v || extent / v > MAX_PARTS) continue;
    int r = reads_neighbours(st, v);
    if (r) return r < 0 ? -1 : v;
  }
  return 0;
}

/* The last axis in parts, each a vector. */
static int cut_in_parts(kernel_stage *st, int lanes) {
  tn_LoopRV *outer[KERNEL_MAX_AXES], *parts, *inner;
  int last = st->naxes - 1;
  for (int i = 0; i < last; ++i) outer[i] = kernel_loop(st, i);
  TN_TRY(kernel_split(st, kernel_loop(st, last), lanes, &parts, &inner));
  TN_TRY(sch_set_kind(st->sch, parts, TIR_FOR_UNROLLED, NULL));
  TN_TRY(sch_set_kind(st->sch, inner, TIR_FOR_VECTORIZED, NULL));
  return kernel_parallel(st, outer, last);
}

int kernel_parts(kernel_stage *st) {
  int last = st->naxes - 1;
  if (st->nspatial != st->naxes || st->block->init || last == 0 || st->axis[last].contiguous)
    return 0;
  int lanes = part_lanes(st);
  return lanes <= 0 ? lanes : cut_in_parts(st, lanes) ? -1 : 1;
}
