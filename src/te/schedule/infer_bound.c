/* Bounds of all iteration variables of a schedule, from the results back to the inputs.

     B[i] computed in loop xo of  C[x] = B[x] + B[x + 1],  x split by 8:
     i in [xo * 8, xo * 8 + 9)

   The axes of a result range over their whole extent. Those of another stage range over what its
   consumers read: each consumer's loops outside the place the stage is computed at are fixed, those
   inside take all their values, and the sets of its indices follow. Threads count as inside where
   the memory of the stage is shared among them. */
#include "arith/int_set.h"
#include "ir/functor.h"
#include "te/schedule/te_schedule_impl.h"
#include "tir/device.h"

void te_bounds_fini(te_bounds *b) {
  tn_pmap_fini(&b->dom);
  tn_pmap_fini(&b->paths);
}

/* ---- threads and memories ---- */

static const char *tag_of(const tn_TeStage *st, const tn_IterVar *iv) {
  const tn_IterVar *thread = te_thread(st, iv);
  return tn_cstr(thread ? thread->thread_tag : iv->thread_tag);
}

/* The stage that has the loop, among those a stage is computed in. */
static const tn_TeStage *owner_of(const tn_TeStage *st, const tn_IterVar *iv) {
  for (; st; st = st->attach_stage) {
    if (te_index_of(st->leaf_iter_vars, iv) >= 0) return st;
  }
  return NULL;
}

const char *te_stage_scope(const te_bounds *b, const tn_TeStage *st) {
  const tn_arr *path = tn_pmap_get(&b->paths, st->op);
  bool blocks = false, threads = false;
  if (*tn_cstr(st->scope)) return tn_cstr(st->scope);
  for (int64_t i = 0; path && i < path->len; ++i) {
    const tn_TeStage *owner = owner_of(st->attach_stage, te_iv(path, i));
    const char *tag = owner ? tag_of(owner, te_iv(path, i)) : "";
    if (*tag) *(tir_is_block_axis(tag) ? &blocks : &threads) = true;
  }
  return threads ? "local" : blocks ? "shared" : "global";
}

bool te_is_private(const te_bounds *b, const tn_TeStage *st, const tn_IterVar *thread) {
  return !tir_is_shared_by(te_stage_scope(b, st), tn_cstr(thread->thread_tag));
}

/* ---- places ---- */

/* Loops that a stage is computed in, innermost first. */
static tn_arr *path_of(const tn_TeStage *st) {
  TN_VEC(path);
  for (; st->attach_type == TE_ATTACH_SCOPE; st = st->attach_stage) {
    const tn_arr *leaves = st->attach_stage->leaf_iter_vars;
    int64_t at = te_index_of(leaves, st->attach_ivar);
    TN_CHECKP(at >= 0, TenonError, NULL, "Invalid Schedule: %s is not a loop of %s any more",
              tn_cstr(st->attach_ivar->var->name), tn_cstr(st->attach_stage->op->name));
    for (int64_t i = at; i >= 0; --i) TN_TRYP(tn_vec_push_obj(&path, tn_arr_obj(leaves, i)));
    TN_CHECKP(path.len < 10000, TenonError, NULL, "compute_at of %s goes in a circle",
              tn_cstr(st->op->name));
  }
  return tn_arr_from(&path);
}

/* ---- what one consumer needs ---- */

typedef struct {
  const te_bounds *b;
  const tn_TeStage *producer;
  const tn_arr *attach; /* loops the producer is computed in */
  const char *memory;   /* of its results */
  bool found;           /* whether a loop around the producer was met, going outwards */
  bool placed;          /* whether it was the innermost of them */
  arith_analyzer *a;
  tn_IntervalSet **needed; /* for each axis of the producer; NULL: nothing yet */
  const tn_map *sets;      /* of the consumer's axes */
} need;

/* Does the producer see all values of the loop? */
static bool is_inside(const need *n, const char *tag) {
  return *tag == '\0' ? !n->found : tir_is_shared_by(n->memory, tag);
}

/* A loop of the consumer, as seen from the producer. */
static tn_IntervalSet *loop_set(const need *n, const tn_TeStage *st, const tn_IterVar *iv) {
  const tn_Range *r = te_range(n->b, iv);
  const tn_IterVar *thread = te_thread(st, iv);
  if (tir_is_one(r->extent)) return arith_interval(r->min, r->min);
  if (is_inside(n, tag_of(st, iv))) return arith_interval_of_range(n->a, r);
  tn_expr *v = (tn_expr *)(thread ? thread->var : iv->var);
  return arith_interval(v, v);
}

static void meet(need *n, const tn_IterVar *iv) {
  int64_t at = te_index_of(n->attach, iv);
  n->found = n->found || at >= 0;
  n->placed = n->placed || at == 0;
}

static int consumer_loops(need *n, const tn_TeStage *st, tn_pmap *set) {
  for (int64_t i = st->leaf_iter_vars->len; i-- > 0;) {
    const tn_IterVar *iv = te_iv(st->leaf_iter_vars, i);
    meet(n, iv);
    TN_CHECK(te_range(n->b, iv), InternalError, NULL, "no bounds of %s", tn_cstr(iv->var->name));
    const tn_IntervalSet *s = loop_set(n, st, iv);
    if (!s || tn_pmap_put(set, iv, s)) return -1;
  }
  return 0;
}

/* Loops around the consumer that the producer sees all values of, with their threads. */
static tn_map *outer_loops(need *n, const tn_TeStage *st) {
  const tn_arr *path = tn_pmap_get(&n->b->paths, st->op);
  tn_map *relax = tn_scope_own(tn_map_new());
  for (int64_t i = 0; relax && i < path->len; ++i) {
    const tn_IterVar *iv = te_iv(path, i);
    const tn_TeStage *owner = owner_of(st->attach_stage, iv);
    const tn_IterVar *thread = owner ? te_thread(owner, iv) : NULL;
    const tn_Range *r = te_range(n->b, iv);
    meet(n, iv);
    if (!owner || !r || !is_inside(n, tag_of(owner, iv))) continue;
    TN_TRYP(tn_map_set(relax, tn_any_obj(iv->var), tn_any_obj(r)));
    if (thread) TN_TRYP(tn_map_set(relax, tn_any_obj(thread->var), tn_any_obj(r)));
    /* updates are computed at the step of the scan, whatever its loops have become */
    const tn_ScanOp *scan = TN_AS(ScanOp, owner->op);
    const tn_Range *steps = scan ? te_range(n->b, scan->scan_axis) : NULL;
    if (steps) TN_TRYP(tn_map_set(relax, tn_any_obj(scan->scan_axis->var), tn_any_obj(steps)));
  }
  return relax;
}

/* Ranges of the consumer's axes that the producer has to serve: variable -> IntervalSet. */
static tn_map *consumer_axes(need *n, const tn_TeStage *st) {
  TN_PMAP(set);
  if (consumer_loops(n, st, &set)) return NULL;
  const tn_map *relax = outer_loops(n, st);
  TN_CHECKP(!relax || n->placed || !n->attach->len, TenonError, NULL,
            "Invalid Schedule, cannot find the producer %s along the loop nest specified by "
            "compute_at of consumer %s",
            tn_cstr(n->producer->op->name), tn_cstr(st->op->name));
  tn_arr *roots = relax ? te_root_iter_vars(st->op) : NULL;
  tn_map *out = roots ? tn_scope_own(tn_map_new()) : NULL;
  if (!out || te_pass_up_domain(st, &n->b->dom, &set, n->a)) return NULL;
  for (int64_t i = 0; i < roots->len; ++i) {
    const tn_IterVar *iv = te_iv(roots, i);
    const tn_IntervalSet *s = tn_pmap_get(&set, iv);
    tn_Range *r = s ? arith_interval_range(n->a, s, iv->dom) : iv->dom;
    tn_IntervalSet *all = r ? arith_int_set_of_range(n->a, r, relax) : NULL;
    if (!all || tn_map_set(out, tn_any_obj(iv->var), tn_any_obj(all)) ||
        arith_bind_range(n->a, iv->var, r, true))
      return NULL;
  }
  return out;
}

/* ---- reads ---- */

/* Does the node read what is computed? Where the loops of a producer begin, it need not be there.
 */
static int reads_computed(void *schedule, tn_obj *o) {
  const tn_ProducerLoad *load = TN_AS(ProducerLoad, o);
  const tn_Tensor *t = load ? TN_AS(Tensor, load->producer) : NULL;
  if (o->type_index == TN_TI_Tensor) return 1;
  return t && (!TN_AS(PlaceholderOp, t->op) || te_is_scan_state(schedule, t->op)) ? 2 : 0;
}

/* Is an end of the set known to the loops of the producer only when it is too late? 1, 0, -1. */
static int is_late(const need *n, const tn_IntervalSet *s) {
  const tn_expr *ends[] = {s->min_value, s->max_value};
  for (int i = 0; i < 2; ++i) {
    int r = tn_pre_order(ends[i], reads_computed, (void *)(uintptr_t)n->b->s);
    if (r) return r < 0 ? -1 : 1;
  }
  return 0;
}

/* A set of indices, or the whole axis where that is known to be less or nothing is known. */
static tn_IntervalSet *within_axis(const need *n, tn_IntervalSet *s, tn_expr *extent) {
  tn_expr *zero = tir_zero(extent->dtype), *last = tir_sub(extent, tir_one(extent->dtype));
  bool lo = arith_is_inf(s->min_value), hi = arith_is_inf(s->max_value);
  int late = is_late(n, s);
  if (late < 0) return NULL;
  bool tighter = !lo && !hi && arith_prove(n->a, tir_ge(zero, s->min_value)) &&
                 arith_prove(n->a, tir_le(last, s->max_value));
  return lo || hi || late || tighter ? arith_interval(zero, last) : s;
}

/* Adds what is read of axis i. */
static int need_set(need *n, int64_t i, tn_IntervalSet *s, const tn_Tensor *t) {
  if (s) s = within_axis(n, s, (tn_expr *)tn_arr_obj(t->shape, i));
  if (s && n->needed[i]) s = arith_interval_union(n->a, n->needed[i], s);
  if (!s) return -1;
  n->needed[i] = s;
  return 0;
}

static int need_load(void *ctx, tn_obj *o) {
  need *n = ctx;
  const tn_ProducerLoad *load = TN_AS(ProducerLoad, o);
  const tn_Tensor *t = load ? TN_AS(Tensor, load->producer) : NULL;
  if (t && t->op == n->producer->op) {
    for (int64_t i = 0; i < load->indices->len; ++i)
      TN_TRY(
          need_set(n, i, arith_int_set(n->a, (tn_expr *)tn_arr_obj(load->indices, i), n->sets), t));
  }
  return o->type_index == TN_TI_Tensor ? 1 : 0;
}

/* All indices of a range whose ends depend on the consumer's axes. */
static tn_IntervalSet *range_set(const need *n, const tn_Range *r) {
  tn_IntervalSet *first = arith_int_set(n->a, r->min, n->sets);
  tn_expr *last = first ? tir_sub(tir_add(r->min, r->extent), tir_one(r->extent->dtype)) : NULL;
  last = last ? arith_simplify(n->a, last) : NULL;
  tn_IntervalSet *end = last ? arith_int_set(n->a, last, n->sets) : NULL;
  return end ? arith_interval_union(n->a, first, end) : NULL;
}

static int need_regions(need *n, const tn_TensorComputeOp *op) {
  for (int64_t k = 0; k < op->inputs->len; ++k) {
    const tn_Tensor *t = (const tn_Tensor *)tn_arr_obj(op->inputs, k);
    const tn_arr *region = te_region_of(op, k);
    for (int64_t i = 0; t->op == n->producer->op && i < region->len; ++i)
      TN_TRY(need_set(n, i, range_set(n, (const tn_Range *)tn_arr_obj(region, i)), t));
  }
  TN_TRY(tn_pre_order(op->input_regions, need_load, n) < 0);
  return tn_pre_order(op->scalar_inputs, need_load, n) < 0 ? -1 : 0;
}

/* A scan takes of an update the step it is at, and all first values. */
static int need_scan(need *n, const tn_ScanOp *s) {
  const tn_ComputeOp *c = (const tn_ComputeOp *)n->producer->op;
  for (int64_t i = 0; i < c->axis->len; ++i)
    TN_GET(n->needed[i], arith_interval_of_range(n->a, te_iv(c->axis, i)->dom));
  for (int64_t i = 0; i < s->update->len; ++i) {
    tn_expr *step = (tn_expr *)s->scan_axis->var;
    if (((const tn_Tensor *)tn_arr_obj(s->update, i))->op == n->producer->op)
      TN_GET(n->needed[0], arith_interval(step, step));
  }
  return 0;
}

/* An opaque consumer reads all of its inputs. */
static int need_all(need *n, const tn_BaseComputeOp *c) {
  for (int64_t i = 0; i < c->axis->len; ++i) {
    tn_IntervalSet *s = arith_interval_of_range(n->a, te_iv(c->axis, i)->dom);
    if (!s) return -1;
    n->needed[i] = s;
  }
  return 0;
}

static bool reads(const tn_arr *inputs, const tn_Operation *op) {
  for (int64_t i = 0; i < inputs->len; ++i) {
    if (((const tn_Tensor *)tn_arr_obj(inputs, i))->op == op) return true;
  }
  return false;
}

/* Later stages among them are all consumers. */
static int need_of_consumers(need *n, int64_t at) {
  const tn_TeSchedule *s = n->b->s;
  for (int64_t i = at + 1; i < s->stages->len; ++i) {
    const tn_TeStage *st = te_stage_at(s, i);
    const tn_ComputeOp *c = TN_AS(ComputeOp, st->op);
    const tn_TensorComputeOp *region = TN_AS(TensorComputeOp, st->op);
    tn_arr *inputs = st->attach_type == TE_ATTACH_INLINED ? NULL : te_inputs(st->op);
    if (!inputs || !reads(inputs, n->producer->op)) continue;
    TN_ARITH(a);
    n->a = &a;
    n->found = n->placed = false;
    TN_GET(n->sets, consumer_axes(n, st));
    if (TN_AS(ScanOp, st->op)) TN_TRY(need_scan(n, (const tn_ScanOp *)st->op));
    else if (region) TN_TRY(need_regions(n, region));
    else if (!c) TN_TRY(need_all(n, te_axes_op(n->producer->op)));
    else TN_TRY(tn_pre_order(c->body, need_load, n) < 0);
  }
  return 0;
}

/* ---- axes of one stage ---- */

static int take_domains(te_bounds *b, const tn_arr *ivs) {
  for (int64_t i = 0; i < ivs->len; ++i)
    TN_TRY(tn_pmap_put(&b->dom, te_iv(ivs, i), te_iv(ivs, i)->dom));
  return 0;
}

enum { MAX_AXES = 64 };

static int axes_of(te_bounds *b, int64_t at) {
  const tn_TeStage *st = te_stage_at(b->s, at);
  const tn_BaseComputeOp *c = te_axes_op(st->op);
  const tn_TensorComputeOp *pieces = TN_AS(TensorComputeOp, st->op);
  tn_arr *roots;
  TN_GET(roots, te_root_iter_vars(st->op));
  TN_CHECK(!st->is_output || st->attach_type == TE_ATTACH_ROOT, TenonError, NULL,
           "Output must be attached at root: %s", tn_cstr(st->op->name));
  if (st->is_output || !c) return take_domains(b, roots);
  tn_IntervalSet *needed[MAX_AXES] = {0};
  TN_CHECK(c->axis->len <= MAX_AXES, ValueError, NULL, "%s has more than %d axes",
           tn_cstr(st->op->name), MAX_AXES);
  need n = {.b = b,
            .producer = st,
            .attach = tn_pmap_get(&b->paths, st->op),
            .needed = needed,
            .memory = te_stage_scope(b, st)};
  TN_TRY(need_of_consumers(&n, at));
  TN_TRY(take_domains(b, c->reduce_axis));
  TN_ARITH(a);
  for (int64_t i = 0; i < c->axis->len; ++i) {
    tn_IterVar *iv = te_iv(c->axis, i);
    bool whole = !needed[i] || (pieces && i >= pieces->schedulable_ndim);
    tn_Range *r = whole ? iv->dom : arith_interval_range(&a, needed[i], iv->dom);
    if (!r || tn_pmap_put(&b->dom, iv, r)) return -1;
  }
  return 0;
}

static int stage_bounds(te_bounds *b, int64_t at, arith_analyzer *a) {
  const tn_TeStage *st = te_stage_at(b->s, at);
  tn_arr *roots;
  if (st->attach_type == TE_ATTACH_INLINED) return 0;
  TN_CHECK(st->attach_type != TE_ATTACH_INLINE, ValueError, NULL,
           "InferBound: call schedule.normalize() first");
  TN_TRY(axes_of(b, at));
  TN_GET(roots, te_root_iter_vars(st->op));
  for (int64_t i = 0; i < roots->len; ++i)
    TN_TRY(arith_bind_range(a, te_iv(roots, i)->var, te_range(b, te_iv(roots, i)), true));
  TN_TRY(te_pass_down_domain(st, &b->dom, a, false));
  for (int64_t i = 0; i < st->env_threads->len; ++i) {
    const tn_IterVar *iv = te_iv(st->env_threads, i);
    if (iv->dom) TN_TRY(tn_pmap_put(&b->dom, iv, iv->dom));
  }
  return 0;
}

int te_bounds_of(te_bounds *b, const tn_TeSchedule *s) {
  TN_ARITH(a);
  b->s = s;
  for (int64_t i = 0; i < s->stages->len; ++i) {
    const tn_TeStage *st = te_stage_at(s, i);
    const tn_arr *path = path_of(st);
    if (!path || tn_pmap_put(&b->paths, st->op, path)) return -1;
  }
  for (int64_t i = s->stages->len; i-- > 0;) TN_TRY(stage_bounds(b, i, &a));
  for (size_t i = 0; i < b->dom.cap; ++i) {
    if (!b->dom.slots[i].key) continue;
    const tn_Range *r = b->dom.slots[i].v.ptr;
    tn_Range *now = tir_range(arith_simplify(&a, r->min), arith_simplify(&a, r->extent));
    if (!now) return -1;
    b->dom.slots[i].v.ptr = now;
  }
  return 0;
}

/* In the order of the stages and their variables. */
static int list_bounds(const te_bounds *b, tn_map *out) {
  for (int64_t i = 0; i < b->s->stages->len; ++i) {
    const tn_TeStage *st = te_stage_at(b->s, i);
    for (int64_t j = 0; j < st->all_iter_vars->len; ++j) {
      const tn_IterVar *iv = te_iv(st->all_iter_vars, j), *thread = te_thread(st, iv);
      const tn_Range *r = te_range(b, iv), *of_thread = thread ? te_range(b, thread) : NULL;
      if (r) TN_TRY(tn_map_set(out, tn_any_obj(iv), tn_any_obj(r)));
      if (of_thread) TN_TRY(tn_map_set(out, tn_any_obj(thread), tn_any_obj(of_thread)));
    }
  }
  return 0;
}

tn_map *te_infer_bound(const tn_TeSchedule *s) {
  TE_BOUNDS(b);
  tn_map *out = tn_scope_own(tn_map_new());
  return out && te_bounds_of(&b, s) == 0 && list_bounds(&b, out) == 0 ? out : NULL;
}
