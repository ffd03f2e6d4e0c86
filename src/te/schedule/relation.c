/* Relations of iteration variables, from the axes of an operation to the loops and back.

     split i by 4 into (o, r), fuse o with j into f:      down: ranges of o, r, f from those of i, j
                                                            up: i = f // |j| * 4 + r, j = f % |j|

   The variables are keys of side tables: their ranges, values, sets of values or flags. */
#include "te/schedule/te_schedule_impl.h"

static tn_Range *range_of(const tn_pmap *dom, const tn_IterVar *iv) {
  return (tn_Range *)tn_pmap_get(dom, iv);
}

/* The layout of the result: a relation between the axes and the loops that took their places, which
   comes before all others. */
typedef struct {
  const tn_arr *axes, *loops;
  const tn_IndexMap *map, *back;
} transform;

static transform transform_of(const tn_TeStage *st) {
  const tn_ComputeOp *c = TN_AS(ComputeOp, st->op);
  if (!c || !st->layout_transforms->len) return (transform){0};
  return (transform){c->axis, st->layout_loops,
                     (const tn_IndexMap *)tn_arr_obj(st->layout_transforms, 0), st->layout_inverse};
}

/* ---- ranges, downwards ---- */

static int set_range(tn_pmap *dom, tn_IterVar *iv, tn_expr *extent, arith_analyzer *a) {
  const tn_Range *old = range_of(dom, iv);
  tn_Range *r = extent ? tir_range(tir_zero(extent->dtype), extent) : NULL;
  if (!r) return -1;
  if (!old) return tn_pmap_put(dom, iv, r) || arith_bind_range(a, iv->var, r, true) ? -1 : 0;
  TN_CHECK(tir_is_zero(old->min) && arith_prove_equal(a, old->extent, extent), TenonError, NULL,
           "%s domain already inferred, cannot prove their extents are the same",
           tn_cstr(iv->var->name));
  return 0;
}

static tn_expr *ceil_div(arith_analyzer *a, tn_expr *x, tn_expr *y) {
  if (arith_prove(a, tir_eq(tir_floormod(x, y), tir_zero(x->dtype))))
    return arith_simplify(a, tir_floordiv(x, y));
  tn_expr *up = tir_sub(tir_add(x, y), tir_one(x->dtype));
  return up ? arith_simplify(a, tir_floordiv(up, y)) : NULL;
}

/* Is one of the loops that come of `iv` bound to a thread? Then its extent is the caller's. */
static bool has_thread(const tn_TeStage *st, const tn_IterVar *iv) {
  if (te_thread(st, iv)) return true;
  for (int64_t i = 0; i < st->relations->len; ++i) {
    const tn_obj *r = tn_arr_obj(st->relations, i);
    const tn_TeSplit *s = TN_AS(TeSplit, r);
    const tn_TeFuse *f = TN_AS(TeFuse, r);
    if (s && s->parent == iv) return has_thread(st, s->outer) || has_thread(st, s->inner);
    if (f && (f->outer == iv || f->inner == iv)) return has_thread(st, f->fused);
  }
  return false;
}

/* A factor above the whole extent is the extent. */
static tn_expr *limited(const tn_TeStage *st, const tn_IterVar *iv, tn_expr *factor,
                        tn_expr *extent, arith_analyzer *a, bool partial) {
  bool keep = partial || tir_is_zero(extent) || has_thread(st, iv);
  return !keep && arith_prove(a, tir_lt(extent, factor)) ? extent : factor;
}

static int split_down(const tn_TeStage *st, const tn_TeSplit *s, tn_pmap *dom, arith_analyzer *a,
                      bool partial) {
  const tn_Range *parent = range_of(dom, s->parent);
  if (!parent) return 0;
  tn_expr *n = parent->extent;
  if (s->factor) {
    TN_TRY(set_range(dom, s->inner, limited(st, s->inner, s->factor, n, a, partial), a));
    return set_range(dom, s->outer, ceil_div(a, n, s->factor), a);
  }
  TN_TRY(set_range(dom, s->outer, limited(st, s->outer, s->nparts, n, a, partial), a));
  return set_range(dom, s->inner, ceil_div(a, n, s->nparts), a);
}

static int fuse_down(const tn_TeFuse *f, tn_pmap *dom, arith_analyzer *a) {
  const tn_Range *outer = range_of(dom, f->outer), *inner = range_of(dom, f->inner);
  tn_expr *both = outer && inner ? tir_mul(outer->extent, inner->extent) : NULL;
  if (!outer || !inner) return 0;
  return both ? set_range(dom, f->fused, arith_simplify(a, both), a) : -1;
}

/* New axes begin at 0, as the result's do. */
static int transform_down(const transform *t, tn_pmap *dom, arith_analyzer *a) {
  const tn_arr *from = t->axes, *to = t->loops, *shape;
  TN_VEC(extents);
  for (int64_t i = 0; i < from->len; ++i) {
    const tn_Range *r = range_of(dom, te_iv(from, i));
    if (!r) return 0;
    TN_CHECK(tir_is_zero(r->min) && arith_prove_equal(a, r->extent, te_iv(from, i)->dom->extent),
             TenonError, NULL,
             "transform_layout: axis %s is computed in part: compute the stage at the root",
             tn_cstr(te_iv(from, i)->var->name));
    TN_TRY(tn_vec_push_obj(&extents, r->extent));
  }
  TN_GET(shape, tir_index_map_shape(a, t->map, tn_arr_from(&extents)));
  for (int64_t i = 0; i < to->len; ++i)
    TN_TRY(set_range(dom, te_iv(to, i), (tn_expr *)tn_arr_obj(shape, i), a));
  return 0;
}

int te_pass_down_domain(const tn_TeStage *st, tn_pmap *dom, arith_analyzer *a, bool partial) {
  transform t = transform_of(st);
  if (t.map) TN_TRY(transform_down(&t, dom, a));
  for (int64_t i = 0; i < st->relations->len; ++i) {
    const tn_obj *r = tn_arr_obj(st->relations, i);
    const tn_TeSingleton *one = TN_AS(TeSingleton, r);
    const tn_TeRebase *b = TN_AS(TeRebase, r);
    if (b && range_of(dom, b->parent))
      TN_TRY(set_range(dom, b->rebased, range_of(dom, b->parent)->extent, a));
    if (TN_AS(TeSplit, r)) TN_TRY(split_down(st, (const tn_TeSplit *)r, dom, a, partial));
    if (TN_AS(TeFuse, r)) TN_TRY(fuse_down((const tn_TeFuse *)r, dom, a));
    if (one) TN_TRY(set_range(dom, one->iter, tir_i32(1), a));
  }
  for (int64_t i = 0; i < st->leaf_iter_vars->len; ++i) {
    const tn_IterVar *iv = te_iv(st->leaf_iter_vars, i);
    tn_IterVar *thread = te_thread(st, iv);
    const tn_Range *r = range_of(dom, iv);
    if (!thread || !r) continue;
    TN_CHECK(!thread->dom || arith_prove_equal(a, thread->dom->extent, r->extent), TenonError, NULL,
             "%s is bound to %s of another extent", tn_cstr(iv->var->name),
             tn_cstr(thread->var->name));
    TN_TRY(set_range(dom, thread, r->extent, a));
  }
  return 0;
}

/* ---- sets, upwards ---- */

/* Does the set hold all of the range? */
static bool is_whole(const tn_IntervalSet *s, const tn_Range *r, arith_analyzer *a) {
  if (arith_is_inf(s->min_value) || arith_is_inf(s->max_value)) return false;
  tn_expr *last = tir_sub(tir_add(r->min, r->extent), tir_one(r->extent->dtype));
  return arith_prove_equal(a, s->min_value, r->min) && arith_prove_equal(a, s->max_value, last);
}

static tn_IntervalSet *set_of(const tn_pmap *set, const tn_IterVar *iv) {
  return (tn_IntervalSet *)tn_pmap_get(set, iv);
}

static tn_IntervalSet *split_up(const tn_TeSplit *s, const tn_pmap *dom, const tn_pmap *set,
                                arith_analyzer *a) {
  tn_IntervalSet *outer = set_of(set, s->outer), *inner = set_of(set, s->inner);
  const tn_Range *parent = range_of(dom, s->parent), *in = range_of(dom, s->inner);
  if (is_whole(outer, range_of(dom, s->outer), a) && is_whole(inner, in, a))
    return arith_interval_of_range(a, parent);
  tn_expr *at = tir_add(tir_mul((tn_expr *)s->outer->var, in->extent), (tn_expr *)s->inner->var);
  tn_map *known = tn_map_with(NULL, tn_any_obj(s->outer->var), tn_any_obj(outer));
  known = known ? tn_map_with(known, tn_any_obj(s->inner->var), tn_any_obj(inner)) : NULL;
  at = at ? tir_add(at, parent->min) : NULL;
  return at && known ? arith_int_set(a, at, known) : NULL;
}

static int fused_point_up(const tn_TeFuse *f, const tn_pmap *dom, tn_expr *at, tn_pmap *set,
                          arith_analyzer *a) {
  const tn_Range *in = range_of(dom, f->inner), *out = range_of(dom, f->outer);
  tn_expr *o = tir_add(tir_floordiv(at, in->extent), out->min),
          *i = tir_add(tir_floormod(at, in->extent), in->min);
  TN_GET(o, arith_simplify(a, o));
  TN_GET(i, arith_simplify(a, i));
  return tn_pmap_put(set, f->outer, arith_interval(o, o)) ||
                 tn_pmap_put(set, f->inner, arith_interval(i, i))
             ? -1
             : 0;
}

/* A part of the fused loop that lies within one round of the inner one keeps its bounds: the part
   of the inner one then, else all of it. */
static tn_IntervalSet *inner_part(const tn_IntervalSet *fused, const tn_Range *in,
                                  arith_analyzer *a) {
  tn_expr *zero = tir_zero(in->extent->dtype), *one = tir_one(in->extent->dtype);
  tn_expr *n, *lo;
  TN_GETP(n, tir_add(tir_sub(fused->max_value, fused->min_value), one));
  TN_GETP(n, arith_simplify(a, n));
  bool fits = arith_prove(a, tir_eq(tir_floormod(in->extent, n), zero)) &&
              arith_prove(a, tir_eq(tir_floormod(fused->min_value, n), zero));
  if (!fits) return arith_interval_of_range(a, in);
  TN_GETP(lo, tir_add(in->min, tir_floormod(fused->min_value, in->extent)));
  TN_GETP(lo, arith_simplify(a, lo));
  return arith_interval(lo, tir_sub(tir_add(lo, n), one));
}

static int fuse_up(const tn_TeFuse *f, const tn_pmap *dom, tn_pmap *set, arith_analyzer *a) {
  const tn_IntervalSet *fused = set_of(set, f->fused);
  const tn_Range *in = range_of(dom, f->inner), *out = range_of(dom, f->outer);
  if (is_whole(fused, range_of(dom, f->fused), a)) {
    TN_TRY(tn_pmap_put(set, f->outer, arith_interval_of_range(a, out)));
    return tn_pmap_put(set, f->inner, arith_interval_of_range(a, in));
  }
  if (arith_interval_is_point(fused)) return fused_point_up(f, dom, fused->min_value, set, a);
  tn_expr *lo = tir_add(out->min, tir_floordiv(fused->min_value, in->extent)),
          *hi = tir_add(out->min, tir_floordiv(fused->max_value, in->extent));
  TN_GET(lo, arith_simplify(a, lo));
  TN_GET(hi, arith_simplify(a, hi));
  const tn_IntervalSet *inner = inner_part(fused, in, a);
  TN_TRY(tn_pmap_put(set, f->outer, arith_interval(lo, hi)));
  return inner ? tn_pmap_put(set, f->inner, inner) : -1;
}

static tn_IntervalSet *rebase_up(const tn_TeRebase *b, const tn_pmap *dom, const tn_pmap *set,
                                 arith_analyzer *a) {
  const tn_IntervalSet *s = set_of(set, b->rebased);
  const tn_Range *parent = range_of(dom, b->parent);
  if (is_whole(s, range_of(dom, b->rebased), a)) return arith_interval_of_range(a, parent);
  tn_expr *lo = tir_add(s->min_value, parent->min), *hi = tir_add(s->max_value, parent->min);
  return lo && hi ? arith_interval(lo, lo == hi || s->min_value == s->max_value ? lo : hi) : NULL;
}

static int transform_up(const transform *t, const tn_pmap *dom, tn_pmap *set, arith_analyzer *a) {
  const tn_IndexMap *back = t->back;
  tn_map *known = tn_scope_own(tn_map_new());
  for (int64_t i = 0; known && i < back->initial_indices->len; ++i)
    TN_TRY(tn_map_set(known, tn_any_obj(tn_arr_obj(back->initial_indices, i)),
                      tn_any_obj(set_of(set, te_iv(t->loops, i)))));
  for (int64_t i = 0; i < back->final_indices->len; ++i) {
    const tn_IterVar *iv = te_iv(t->axes, i);
    tn_IntervalSet *s, *whole;
    TN_GET(s,
           known ? arith_int_set(a, (tn_expr *)tn_arr_obj(back->final_indices, i), known) : NULL);
    TN_GET(whole, arith_interval_of_range(a, range_of(dom, iv)));
    TN_GET(s, arith_interval_is_point(s) ? s : arith_interval_intersect(a, s, whole));
    TN_TRY(tn_pmap_put(set, iv, s));
  }
  return 0;
}

int te_pass_up_domain(const tn_TeStage *st, const tn_pmap *dom, tn_pmap *set, arith_analyzer *a) {
  for (int64_t i = st->relations->len; i-- > 0;) {
    const tn_obj *r = tn_arr_obj(st->relations, i);
    const tn_TeSplit *s = TN_AS(TeSplit, r);
    const tn_TeRebase *b = TN_AS(TeRebase, r);
    if (TN_AS(TeFuse, r)) TN_TRY(fuse_up((const tn_TeFuse *)r, dom, set, a));
    const tn_IntervalSet *all = b ? rebase_up(b, dom, set, a) : NULL;
    if (b && (!all || tn_pmap_put(set, b->parent, all))) return -1;
    tn_IntervalSet *parent = s ? split_up(s, dom, set, a) : NULL;
    if (s && (!parent || tn_pmap_put(set, s->parent, parent))) return -1;
  }
  transform t = transform_of(st);
  return t.map ? transform_up(&t, dom, set, a) : 0;
}

/* ---- values, upwards ---- */

static int split_value(const tn_TeSplit *s, const tn_pmap *dom, tn_pmap *value, bool partial) {
  tn_expr *o = tn_pmap_get(value, s->outer), *i = tn_pmap_get(value, s->inner);
  const tn_Range *parent = range_of(dom, s->parent), *in = range_of(dom, s->inner);
  if (partial && (!o || !i)) return 0;
  tn_expr *v = tir_add(i, tir_mul(o, in->extent));
  if (!tir_is_zero(parent->min)) v = tir_add(v, parent->min);
  return v ? tn_pmap_put(value, s->parent, v) : -1;
}

static int fuse_value(const tn_TeFuse *f, const tn_pmap *dom, tn_pmap *value, bool partial) {
  tn_expr *v = tn_pmap_get(value, f->fused);
  if (partial && !v) return 0;
  const tn_Range *in = range_of(dom, f->inner), *out = range_of(dom, f->outer);
  tn_expr *o = tir_floordiv(v, in->extent), *i = tir_floormod(v, in->extent);
  if (!tir_is_zero(out->min)) o = tir_add(o, out->min);
  if (!tir_is_zero(in->min)) i = tir_add(i, in->min);
  return o && i && tn_pmap_put(value, f->outer, o) == 0 ? tn_pmap_put(value, f->inner, i) : -1;
}

static int rebase_value(const tn_TeRebase *b, const tn_pmap *dom, tn_pmap *value) {
  tn_expr *v = tn_pmap_get(value, b->rebased);
  const tn_Range *parent = range_of(dom, b->parent);
  if (v && !tir_is_zero(parent->min)) TN_GET(v, tir_add(v, parent->min));
  return v ? tn_pmap_put(value, b->parent, v) : 0;
}

static int transform_value(const transform *t, tn_pmap *value, bool partial) {
  TN_ARITH(a);
  TN_VEC(at);
  const tn_arr *from;
  for (int64_t i = 0; i < t->loops->len; ++i) {
    const tn_expr *v = tn_pmap_get(value, te_iv(t->loops, i));
    if (!v && partial) return 0;
    TN_TRY(tn_vec_push_obj(&at, v));
  }
  TN_GET(from, tn_arr_from(&at));
  TN_GET(from, tir_index_map_indices(&a, t->back, from));
  for (int64_t i = 0; i < from->len; ++i)
    TN_TRY(tn_pmap_put(value, te_iv(t->axes, i), tn_arr_obj(from, i)));
  return 0;
}

int te_pass_up_index(const tn_TeStage *st, const tn_pmap *dom, tn_pmap *value, bool partial) {
  for (int64_t i = st->relations->len; i-- > 0;) {
    const tn_obj *r = tn_arr_obj(st->relations, i);
    if (TN_AS(TeSplit, r)) TN_TRY(split_value((const tn_TeSplit *)r, dom, value, partial));
    if (TN_AS(TeFuse, r)) TN_TRY(fuse_value((const tn_TeFuse *)r, dom, value, partial));
    if (TN_AS(TeRebase, r)) TN_TRY(rebase_value((const tn_TeRebase *)r, dom, value));
  }
  transform t = transform_of(st);
  return t.map ? transform_value(&t, value, partial) : 0;
}

/* ---- flags ---- */

static int join(tn_pmap *flags, const tn_IterVar *iv, int64_t with) {
  return tn_pmap_put_int(flags, iv, tn_pmap_get_int(flags, iv, 0) | with);
}

/* Every variable of one side depends on all of the other. */
static int join_all(tn_pmap *flags, const tn_arr *of, const tn_arr *to) {
  int64_t all = 0;
  for (int64_t i = 0; i < of->len; ++i) all |= tn_pmap_get_int(flags, te_iv(of, i), 0);
  for (int64_t i = 0; i < to->len; ++i) TN_TRY(join(flags, te_iv(to, i), all));
  return 0;
}

int te_pass_down_flags(const tn_TeStage *st, tn_pmap *flags) {
  transform t = transform_of(st);
  if (t.map) TN_TRY(join_all(flags, t.axes, t.loops));
  for (int64_t i = 0; i < st->relations->len; ++i) {
    const tn_TeSplit *s = TN_AS(TeSplit, tn_arr_obj(st->relations, i));
    const tn_TeFuse *f = TN_AS(TeFuse, tn_arr_obj(st->relations, i));
    const tn_TeRebase *b = TN_AS(TeRebase, tn_arr_obj(st->relations, i));
    int64_t parent = s ? tn_pmap_get_int(flags, s->parent, 0) : 0;
    if (b) TN_TRY(join(flags, b->rebased, tn_pmap_get_int(flags, b->parent, 0)));
    if (s) TN_TRY(join(flags, s->outer, parent) || join(flags, s->inner, parent));
    if (f)
      TN_TRY(join(flags, f->fused,
                  tn_pmap_get_int(flags, f->outer, 0) | tn_pmap_get_int(flags, f->inner, 0)));
  }
  return 0;
}

int te_pass_up_flags(const tn_TeStage *st, tn_pmap *flags) {
  for (int64_t i = st->relations->len; i-- > 0;) {
    const tn_TeSplit *s = TN_AS(TeSplit, tn_arr_obj(st->relations, i));
    const tn_TeFuse *f = TN_AS(TeFuse, tn_arr_obj(st->relations, i));
    const tn_TeRebase *b = TN_AS(TeRebase, tn_arr_obj(st->relations, i));
    int64_t fused = f ? tn_pmap_get_int(flags, f->fused, 0) : 0;
    if (b) TN_TRY(join(flags, b->parent, tn_pmap_get_int(flags, b->rebased, 0)));
    if (f) TN_TRY(join(flags, f->outer, fused) || join(flags, f->inner, fused));
    if (s)
      TN_TRY(join(flags, s->parent,
                  tn_pmap_get_int(flags, s->outer, 0) | tn_pmap_get_int(flags, s->inner, 0)));
  }
  transform t = transform_of(st);
  return t.map ? join_all(flags, t.loops, t.axes) : 0;
}

/* ---- conditions ---- */

enum { MAY_EXCEED = 1, MAY_PRECEDE = 2 };

/* Which variables may leave their range: parents of splits that do not come out even, and what a
   place of padding stands for. */
static int note_excess(const tn_TeStage *st, const tn_pmap *dom, tn_pmap *state,
                       arith_analyzer *a) {
  for (int64_t i = st->relations->len; i-- > 0;) {
    const tn_TeSplit *s = TN_AS(TeSplit, tn_arr_obj(st->relations, i));
    const tn_TeFuse *f = TN_AS(TeFuse, tn_arr_obj(st->relations, i));
    const tn_TeRebase *b = TN_AS(TeRebase, tn_arr_obj(st->relations, i));
    int64_t fused = f ? tn_pmap_get_int(state, f->fused, 0) : 0;
    if (b) TN_TRY(tn_pmap_put_int(state, b->parent, tn_pmap_get_int(state, b->rebased, 0)));
    if (f)
      TN_TRY(tn_pmap_put_int(state, f->outer, fused) || tn_pmap_put_int(state, f->inner, fused));
    if (!s || !range_of(dom, s->parent)) continue;
    const tn_Range *o = range_of(dom, s->outer), *in = range_of(dom, s->inner);
    bool below = tn_pmap_get_int(state, s->outer, 0) || tn_pmap_get_int(state, s->inner, 0);
    bool even =
        o && in && !below &&
        arith_prove_equal(a, range_of(dom, s->parent)->extent, tir_mul(o->extent, in->extent));
    bool trusted = s->disable_predication && !below;
    TN_TRY(tn_pmap_put_int(state, s->parent, even || trusted ? 0 : MAY_EXCEED));
  }
  transform t = transform_of(st);
  for (int64_t i = 0; t.map && i < t.axes->len; ++i)
    TN_TRY(tn_pmap_put_int(state, te_iv(t.axes, i), MAY_EXCEED | MAY_PRECEDE));
  return 0;
}

typedef struct {
  arith_analyzer *a;
  const tn_map *sets; /* variable -> Range */
  tn_vec *out;
} checker;

/* value - min in [0, extent), each side only where it is not always so. */
static int check_range(const checker *c, tn_expr *value, const tn_Range *r, bool lower) {
  tn_expr *zero = tir_zero(r->extent->dtype);
  if (!tir_is_zero(r->min)) TN_GET(value, tir_sub(value, r->min));
  TN_GET(value, arith_simplify(c->a, value));
  const tn_IntervalSet *s;
  TN_GET(s, arith_int_set(c->a, value, c->sets));
  bool above = !arith_is_inf(s->min_value) && arith_prove(c->a, tir_ge(s->min_value, zero));
  bool below =
      (!arith_is_inf(s->max_value) && arith_prove(c->a, tir_lt(s->max_value, r->extent))) ||
      arith_prove(c->a, tir_lt(value, r->extent));
  if (lower && !above && !arith_prove(c->a, tir_ge(value, zero)))
    TN_TRY(tn_vec_push_obj(c->out, tir_ge(value, zero)));
  return below ? 0 : tn_vec_push_obj(c->out, tir_lt(value, r->extent));
}

static bool is_skipped(const tn_pmap *skip, const tn_IterVar *iv) {
  return iv->iter_type == IR_ITER_OPAQUE || (skip && tn_pmap_has(skip, iv));
}

/* Ranges by variable, which the analyzer learns too. */
static tn_map *sets_of(const tn_pmap *dom, arith_analyzer *a) {
  tn_map *m = tn_scope_own(tn_map_new());
  for (size_t i = 0; m && i < dom->cap; ++i) {
    const tn_IterVar *iv = dom->slots[i].key;
    const tn_Range *r = iv ? dom->slots[i].v.ptr : NULL;
    if (!iv) continue;
    TN_TRYP(tn_map_set(m, tn_any_obj(iv->var), tn_any_obj(r)));
    TN_TRYP(arith_bind_range(a, iv->var, r, true));
  }
  return m;
}

static int checks(const tn_TeStage *st, const tn_pmap *dom, const tn_pmap *value, bool skip_roots,
                  const tn_pmap *skip, const checker *c) {
  TN_PMAP(state);
  TN_TRY(note_excess(st, dom, &state, c->a));
  for (int64_t i = 0; i < st->all_iter_vars->len; ++i) {
    const tn_IterVar *iv = te_iv(st->all_iter_vars, i);
    tn_expr *v = tn_pmap_get(value, iv);
    bool check = v && range_of(dom, iv) && !is_skipped(skip, iv);
    if (check && tn_pmap_get_int(&state, iv, 0))
      TN_TRY(check_range(c, v, range_of(dom, iv),
                         (tn_pmap_get_int(&state, iv, 0) & MAY_PRECEDE) != 0));
  }
  tn_arr *roots;
  TN_GET(roots, te_root_iter_vars(st->op));
  for (int64_t i = 0; !skip_roots && i < roots->len; ++i) {
    const tn_IterVar *iv = te_iv(roots, i);
    const tn_Range *r = range_of(dom, iv);
    if (!r || is_skipped(skip, iv)) continue;
    bool same = arith_prove_equal(c->a, r->min, iv->dom->min) &&
                arith_prove_equal(c->a, r->extent, iv->dom->extent);
    if (!same) TN_TRY(check_range(c, tn_pmap_get(value, iv), iv->dom, true));
  }
  return 0;
}

int te_bound_checks(const tn_TeStage *st, const tn_pmap *dom, const tn_pmap *value, bool skip_roots,
                    const tn_pmap *skip, tn_vec *out) {
  TN_ARITH(a);
  tn_map *sets = sets_of(dom, &a);
  checker c = {&a, sets, out};
  return sets ? checks(st, dom, value, skip_roots, skip, &c) : -1;
}
