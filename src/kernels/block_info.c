/* Looking at one stage: its axes, how its reads depend on them; and the steps that all classes
 * take. */
#include "arith/region.h"
#include "base/error.h"
#include "base/scope.h"
#include "ir/functor.h"
#include "kernels/kernels_impl.h"
#include "object/functions.h"

enum {
  PARALLEL_WORK = 1 << 15,    /* iterations below which a second thread does not pay */
  PARALLEL_PRODUCTS = 1 << 17 /* the same for multiplications in vectors, several in a cycle */
};

/* ---- reads ---- */

typedef struct {
  const kernel_axis *axis;
  bool found;
} var_search;

static int is_var(void *ctx, tn_obj *node) {
  var_search *s = ctx;
  s->found |= node == (tn_obj *)s->axis->var;
  return s->found;
}

bool kernel_uses(const void *e, const kernel_axis *a) {
  var_search s = {a, false};
  (void)tn_post_order(e, is_var, &s);
  return s.found;
}

int kernel_has_factor_one(tn_expr *e, const kernel_axis *a, bool *yes) {
  tn_arr *vars, *factors;
  tn_any v = tn_any_obj(a->var);
  TN_GET(vars, tn_scope_own(tn_arr_new(&v, 1)));
  TN_GET(factors, arith_linear(e, vars));
  *yes = factors->len == 2 && tir_is_one(factors->items[0].v.obj);
  return 0;
}

const tn_BufferLoad *kernel_loaded(const tn_expr *e) {
  const tn_Cast *cast = TN_AS(Cast, e);
  return TN_AS(BufferLoad, cast ? cast->value : e);
}

enum { LANE_BITS = 32 };

int64_t kernel_dot_group(const tn_BufferLoad *weight, const kernel_axis *lane,
                         const kernel_axis *sum) {
  const tn_arr *at = weight->indices, *shape = weight->buffer->shape;
  tn_dtype t = weight->buffer->dtype;
  int64_t last = at->len - 1, n;
  bool small =
      (ir_is_integral(t) && (t.bits == 8 || t.bits == 16)) || (t.code == kDLBfloat && t.bits == 16);
  bool group = last > 0 && small && t.lanes == 1 && tir_as_int(tn_arr_obj(shape, last), &n) &&
               n == LANE_BITS / t.bits && sum->extent % n == 0 &&
               kernel_uses(tn_arr_obj(at, last), sum) && !kernel_uses(tn_arr_obj(at, last), lane) &&
               kernel_uses(tn_arr_obj(at, last - 1), lane);
  return group ? n : 1;
}

static int look_at_read(kernel_stage *st, const tn_BufferLoad *load) {
  ++st->nreads;
  for (int i = 0; i < st->naxes; ++i) {
    kernel_axis *a = &st->axis[i];
    if (!kernel_uses(load->indices, a)) continue;
    ++a->reads;
    int64_t last = load->indices->len - 1;
    bool ok = true;
    for (int64_t k = 0; k < last; ++k) ok = ok && !kernel_uses(load->indices->items[k].v.obj, a);
    a->in_last = a->in_last && ok;
    if (ok) TN_TRY(kernel_has_factor_one((tn_expr *)load->indices->items[last].v.obj, a, &ok));
    a->contiguous = a->contiguous && ok;
  }
  return 0;
}

static int visit(void *ctx, tn_obj *node) {
  const tn_BufferLoad *load = TN_AS(BufferLoad, node);
  return load ? look_at_read(ctx, load) : 0;
}

/* ---- the stage ---- */

static int64_t times(int64_t a, int64_t b) {
  return a < 0 || b < 0 || (b && a > INT64_MAX / b) ? -1 : a * b;
}

/* Iterations of axis i: all of the domain, but of what is below loops of others a part. */
static int64_t extent_of(const kernel_stage *st, int64_t i, const tn_IterVar *iv, bool part) {
  int64_t n;
  if (part) return kernel_loop_extent(st, kernel_loop(st, (int)i));
  return tir_as_int((const tn_obj *)iv->dom->extent, &n) ? n : -1;
}

static int set_axes(kernel_stage *st, bool part) {
  const tn_arr *iters = st->block->iter_vars;
  st->spatial = st->reduction = 1;
  for (int64_t i = 0; i < iters->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)iters->items[i].v.obj;
    kernel_axis *a = &st->axis[st->naxes++];
    *a = (kernel_axis){.var = iv->var, .contiguous = true, .in_last = true};
    a->extent = extent_of(st, i, iv, part);
    a->reduce = iv->iter_type == IR_ITER_COMM_REDUCE;
    int64_t *total = a->reduce ? &st->reduction : &st->spatial;
    *total = times(*total, a->extent);
    /* spatial axes first, so that loops are where the classes look for them */
    if (!a->reduce && st->nspatial++ != i) return 0;
  }
  return 1;
}

/* One plain loop directly in the other, around the block alone. */
static int is_nest(const kernel_stage *st, bool *yes) {
  const tn_stmt *next = NULL;
  *yes = true;
  for (int64_t i = 0; i < st->loops->len && *yes; ++i) {
    const tn_For *loop;
    TN_GET(loop, (const tn_For *)sch_get(st->sch, st->loops->items[i].v.obj));
    *yes = loop->kind == TIR_FOR_SERIAL && (i == 0 || next == (const tn_stmt *)loop);
    next = loop->body;
  }
  const tn_BlockRealize *r = TN_AS(BlockRealize, next);
  *yes = *yes && r && r->block == st->block;
  return 0;
}

/* Of an element of the result; bfloat16 that is not only copied is computed as float32. */
static int lane_bits(const tn_BufferStore *store) {
  tn_dtype t = store->buffer->dtype;
  bool half = t.code == kDLBfloat && t.bits == 16;
  return half && !TN_IS(BufferLoad, store->value) ? LANE_BITS : t.bits;
}

static tn_arr *loops_below(const kernel_stage *st, int64_t outer) {
  TN_VEC(v);
  const tn_arr *all = sch_get_loops(st->sch, st->rv);
  for (int64_t i = outer; all && i < all->len; ++i) TN_TRYP(tn_vec_push(&v, all->items[i]));
  return all ? tn_scope_own(tn_arr_new(v.items, v.len)) : NULL;
}

int kernel_stage_below(kernel_stage *st, tn_TirSchedule *s, tn_BlockRV *rv, const target_machine *m,
                       int64_t outer) {
  *st = (kernel_stage){.sch = s, .rv = rv, .machine = m, .outer = outer, .lanes = 1};
  TN_GET(st->block, (const tn_Block *)sch_get(s, (tn_obj *)rv));
  const tn_BufferStore *store = TN_AS(BufferStore, st->block->body);
  int64_t n = st->block->iter_vars->len;
  if (!store) return 0;
  int bits = lane_bits(store);
  if (m->vector_bytes && bits >= 8 && store->buffer->dtype.lanes == 1)
    st->lanes = m->vector_bytes * 8 / bits;
  if (n == 0 || n > KERNEL_MAX_AXES) return 0;
  TN_GET(st->loops, loops_below(st, outer));
  if (st->loops->len != n) return 0;
  bool nest;
  TN_TRY(is_nest(st, &nest));
  if (!nest) return 0;
  if (!set_axes(st, outer > 0)) return 0;
  TN_TRY(tn_post_order(store->value, visit, st));
  return 1;
}

int kernel_stage_of(kernel_stage *st, tn_TirSchedule *s, tn_BlockRV *rv, const target_machine *m) {
  return kernel_stage_below(st, s, rv, m, 0);
}

/* ---- steps ---- */

int kernel_split(kernel_stage *st, tn_LoopRV *loop, int64_t factor, tn_LoopRV **outer,
                 tn_LoopRV **inner) {
  tn_expr *f;
  tn_arr *factors, *parts;
  TN_GET(f, tir_i32((int32_t)factor));
  tn_any both[] = {{.type_index = TN_NONE}, tn_any_obj(f)};
  TN_GET(factors, tn_scope_own(tn_arr_new(both, 2)));
  TN_GET(parts, sch_split(st->sch, loop, factors, true, false));
  *outer = (tn_LoopRV *)parts->items[0].v.obj;
  *inner = (tn_LoopRV *)parts->items[1].v.obj;
  return 0;
}

static tn_arr *loop_list(tn_LoopRV *const *loops, int n) {
  TN_VEC(v);
  for (int i = 0; i < n; ++i) TN_TRYP(tn_vec_push_obj(&v, loops[i]));
  return tn_scope_own(tn_arr_new(v.items, v.len));
}

int kernel_reorder(kernel_stage *st, tn_LoopRV *const *loops, int n) {
  tn_arr *list;
  TN_GET(list, loop_list(loops, n));
  return sch_reorder(st->sch, list);
}

tn_LoopRV *kernel_fuse(kernel_stage *st, tn_LoopRV *const *loops, int n) {
  tn_arr *list;
  if (n == 1) return loops[0];
  TN_GETP(list, loop_list(loops, n));
  return sch_fuse(st->sch, list, true);
}

int64_t kernel_loop_extent(const kernel_stage *st, const tn_LoopRV *loop) {
  const tn_For *f = (const tn_For *)sch_get(st->sch, (const tn_obj *)loop);
  int64_t n;
  return f && tir_as_int((const tn_obj *)f->extent, &n) ? n : -1;
}

int kernel_parallel(kernel_stage *st, tn_LoopRV *const *loops, int n) {
  int64_t work = times(st->spatial, st->reduction);
  int64_t least = st->reduction > 1 && st->lanes > 1 ? PARALLEL_PRODUCTS : PARALLEL_WORK;
  if (n == 0 || st->machine->threads <= 1 || (work >= 0 && work < least)) return 0;
  tn_LoopRV *one;
  int fused = 1; /* behind the first only extents that are known: others could not be told apart */
  while (fused < n && kernel_loop_extent(st, loops[fused]) > 0) ++fused;
  TN_GET(one, kernel_fuse(st, loops, fused));
  return sch_set_kind(st->sch, one, TIR_FOR_PARALLEL, NULL);
}
