/* Neighbouring axes of a stage that run through memory as one:

     for h, w: B[c, h, w] = A[c, h, w] * S[c]
       =>
     for k: B[c, k // 28, k % 28] = A[c, k // 28, k % 28] * S[c]

   which is B[c * 784 + k] once buffers are flat: as long a row as can be, whatever w is. */
#include "base/error.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "kernels/kernels_impl.h"
#include "object/functions.h"
#include "tir/schedule/layout.h"

enum { MAX_NODES = 4096, STOP = 2 };

typedef struct {
  const kernel_stage *st;
  const kernel_axis *outer, *inner;
  bool joined;
  int nodes;
} joint;

/* Is an index the inner axis from end to end? Axes of one value add nothing to it. */
static int is_whole(const joint *j, tn_expr *at, const tn_obj *extent, bool *yes) {
  int64_t n;
  *yes = tir_as_int(extent, &n) && n == j->inner->extent;
  for (int i = 0; i < j->st->naxes && *yes; ++i) {
    const kernel_axis *a = &j->st->axis[i];
    if (a != j->inner && a->extent != 1) *yes = !kernel_uses(at, a);
  }
  return *yes ? kernel_has_factor_one(at, j->inner, yes) : 0;
}

/* Is an index the outer axis, maybe plus something, and the next one the inner axis alone, which
   goes from end to end? */
static int is_pair(const joint *j, const tn_arr *at, const tn_arr *shape, int64_t i, bool *yes) {
  *yes = false;
  if (i + 1 >= at->len) return 0;
  TN_TRY(is_whole(j, (tn_expr *)tn_arr_obj(at, i + 1), tn_arr_obj(shape, i + 1), yes));
  return *yes ? kernel_has_factor_one((tn_expr *)tn_arr_obj(at, i), j->outer, yes) : 0;
}

/* Either not used, or both in neighbouring indices and nowhere else. */
static int side_by_side(const joint *j, const tn_arr *at, const tn_arr *shape, bool *yes) {
  int64_t first = -1, used = 0;
  for (int64_t i = 0; i < at->len; ++i) {
    const tn_obj *e = tn_arr_obj(at, i);
    bool outer = kernel_uses(e, j->outer), inner = kernel_uses(e, j->inner);
    used += outer || inner;
    if (outer && !inner && first < 0) first = i;
  }
  *yes = used == 0;
  return used == 2 && first >= 0 ? is_pair(j, at, shape, first, yes) : 0;
}

static int look(void *ctx, tn_obj *node) {
  joint *j = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, node);
  bool alone = node == (tn_obj *)j->outer->var || node == (tn_obj *)j->inner->var;
  bool fits = !alone;
  if (load) TN_TRY(side_by_side(j, load->indices, load->buffer->shape, &fits));
  j->joined = j->joined && fits && ++j->nodes <= MAX_NODES;
  if (!j->joined) return STOP;
  return load ? 0 : tn_visit_children(node, look, j);
}

int kernel_axes_join(const kernel_stage *st, int i, bool *yes) {
  const tn_BufferStore *store = (const tn_BufferStore *)st->block->body;
  joint j = {st, &st->axis[i], &st->axis[i + 1], true, 0};
  *yes = false;
  if (j.inner->extent <= 0 || j.outer->extent <= 0 || j.inner->reduce != j.outer->reduce ||
      j.outer->extent > INT32_MAX / j.inner->extent)
    return 0;
  if (look(&j, (tn_obj *)store->value) < 0) return -1;
  return j.joined ? side_by_side(&j, store->indices, store->buffer->shape, yes) : 0;
}

/* ---- other axes ---- */

/* A map from the stage's axes; what axis i becomes is added to `to`. */
typedef int (*axis_map)(const void *ctx, int i, tn_Var *v, tn_vec *to);

static int relayout(kernel_stage *st, axis_map f, const void *ctx) {
  TN_VEC(from);
  TN_VEC(to);
  tn_IndexMap *map;
  kernel_stage now;
  for (int i = 0; i < st->naxes; ++i) {
    const tn_Var *v = st->axis[i].var;
    tn_Var *x;
    TN_GET(x, tir_var(tn_cstr(v->name), v->dtype));
    TN_TRY(tn_vec_push_obj(&from, x));
    TN_TRY(f(ctx, i, x, &to));
  }
  TN_GET(map, TN_MAKE(IndexMap, .initial_indices = tn_arr_from(&from),
                      .final_indices = tn_arr_from(&to)));
  TN_TRY(sch_transform_block_layout(st->sch, st->rv, map));
  int r = kernel_stage_of(&now, st->sch, st->rv, st->machine);
  if (r <= 0) return r < 0 ? -1 : TN_RAISE(InternalError, NULL, "a stage with other axes is none");
  *st = now;
  return 0;
}

typedef struct {
  const kernel_stage *st;
  int first, last;
  tn_expr *merged;
} merging;

static int merged(const void *ctx, int i, tn_Var *v, tn_vec *to) {
  merging *m = (merging *)(uintptr_t)ctx;
  if (i < m->first || i > m->last) return tn_vec_push_obj(to, v);
  tn_expr *extent = tir_int(v->dtype, m->st->axis[i].extent);
  m->merged = i == m->first ? (tn_expr *)v : tir_add(tir_mul(m->merged, extent), (tn_expr *)v);
  return i == m->last ? tn_vec_push_obj(to, m->merged) : 0;
}

int kernel_merge_axes(kernel_stage *st, int first, int last) {
  kernel_stage before = *st;
  merging m = {&before, first, last, NULL};
  return first < last ? relayout(st, merged, &m) : 0;
}

typedef struct {
  int axis;
  int64_t size;
} splitting;

static int split(const void *ctx, int i, tn_Var *v, tn_vec *to) {
  const splitting *s = ctx;
  tn_expr *e = (tn_expr *)v, *size = tir_int(v->dtype, s->size);
  if (i != s->axis) return tn_vec_push_obj(to, v);
  TN_TRY(tn_vec_push_obj(to, tir_floordiv(e, size)));
  return tn_vec_push_obj(to, tir_floormod(e, size));
}

int kernel_split_axis(kernel_stage *st, int axis, int64_t size) {
  splitting s = {axis, size};
  return st->naxes < KERNEL_MAX_AXES ? relayout(st, split, &s) : 0;
}
