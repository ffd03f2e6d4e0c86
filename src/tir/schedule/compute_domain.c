/* Values of a block's iterators that make a run of it provide what is required (compute_at.c).

     provided  B[vi * 4 + vj]      over the block's iterators
     required  B[io * 16 .. io * 16 + 15]
       =>  vi in [io * 4, io * 4 + 3], vj in [0, 3]

   Indices that are a bijective map of the iterators are solved as a whole; else each index is
   solved by itself where it is an iterator, a multiple, a quotient or a remainder of one. */
#include "arith/iter_map.h"
#include "base/alloc.h"
#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/compute_at.h"

typedef struct {
  sch_step *e;
  const sch_move *m;
  sch_domain *of; /* for each iterator */
} solver;

static tn_IntervalSet *at(const tn_arr *sets, int64_t i) {
  return (tn_IntervalSet *)tn_arr_obj(sets, i);
}
static tn_expr *simple(solver *s, tn_expr *e) { return arith_simplify(&s->e->arith, e); }

/* max(extent - 1, 0) */
static tn_expr *last_index(tn_expr *extent) {
  return tir_max(tir_sub(extent, tir_one(extent->dtype)), tir_zero(extent->dtype));
}

static tn_IntervalSet *join(solver *s, tn_IntervalSet *x, tn_IntervalSet *y) {
  return x ? arith_interval_union(&s->e->arith, x, y) : y;
}

static int add_domain(solver *s, int64_t i, tn_expr *lo, tn_expr *hi, tn_expr *least,
                      tn_expr *most) {
  sch_domain *d = &s->of[i];
  tn_IntervalSet *dom = lo && hi ? arith_interval(lo, hi) : NULL,
                 *bound = least && most ? arith_interval(least, most) : NULL;
  if (!dom || !bound) return -1;
  TN_GET(d->dom, join(s, d->dom, dom));
  TN_GET(d->bound, join(s, d->bound, bound));
  return 0;
}

static int64_t iter_of(const solver *s, const tn_obj *var) {
  const tn_arr *iters = s->m->block->iter_vars;
  for (int64_t i = 0; i < iters->len; ++i) {
    if ((const tn_obj *)((const tn_IterVar *)tn_arr_obj(iters, i))->var == var) return i;
  }
  return -1;
}

/* ---- as a whole ---- */

static bool is_point(solver *s, const tn_IntervalSet *set) {
  return arith_interval_is_point(set) ||
         (!arith_is_inf(set->min_value) && !arith_is_inf(set->max_value) &&
          arith_prove_equal(&s->e->arith, set->min_value, set->max_value));
}

/* The bijective map from iterators to the index, or NULL. */
static tn_IterMapResult *detect(solver *s, const tn_arr *provided) {
  TN_VEC(indices);
  tn_map *ranges = tn_scope_own(tn_map_new());
  const tn_arr *iters = s->m->block->iter_vars;
  for (int64_t i = 0; i < provided->len; ++i) {
    if (!is_point(s, at(provided, i)) || tn_vec_push_obj(&indices, at(provided, i)->min_value))
      return NULL;
  }
  for (int64_t i = 0; ranges && i < iters->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(iters, i);
    if (tn_map_set(ranges, tn_any_obj(iv->var), tn_any_obj(iv->dom))) return NULL;
  }
  tn_arr *list = tn_arr_from(&indices);
  tn_IterMapResult *map =
      list && ranges ? iter_map_detect(&s->e->arith, list, ranges, NULL, ITER_MAP_BIJECTIVE, false)
                     : NULL;
  return map && map->indices->len == provided->len ? map : NULL;
}

/* The elements that a box of indices names. @param box NULL: all elements of the buffer */
static int ends_of(const tn_arr *box, const tn_Buffer *buffer, int64_t i, tn_expr *ends[2]) {
  tn_expr *extent = (tn_expr *)tn_arr_obj(buffer->shape, i);
  TN_GET(ends[0], box ? at(box, i)->min_value : tir_zero(extent->dtype));
  TN_GET(ends[1], box ? at(box, i)->max_value : last_index(extent));
  return 0;
}

/* The iterators' values over a box of indices, and the number of its elements. */
typedef struct {
  tn_map *corner[2]; /* at its first element and its last one */
  tn_map *over;      /* for a variable for each index */
  tn_map *ranges;    /* of these variables */
  tn_expr *elements;
} inverse;

static int invert(solver *s, const tn_IterMapResult *map, const tn_arr *box,
                  const tn_Buffer *buffer, inverse *out) {
  TN_VEC(first);
  TN_VEC(last);
  TN_VEC(vars);
  TN_GET(out->elements, tir_i32(1));
  TN_GET(out->ranges, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < map->indices->len; ++i) {
    tn_expr *ends[2], *n;
    tn_Var *v;
    TN_TRY(ends_of(box, buffer, i, ends));
    TN_GET(v, tir_var("x", ends[0]->dtype));
    TN_GET(n, tir_add(tir_sub(ends[1], ends[0]), tir_one(ends[0]->dtype)));
    TN_GET(out->elements, tir_mul(out->elements, n));
    TN_TRY(tn_vec_push_obj(&first, ends[0]));
    TN_TRY(tn_vec_push_obj(&last, ends[1]));
    TN_TRY(tn_vec_push_obj(&vars, v));
    TN_TRY(tn_map_set(out->ranges, tn_any_obj(v), tn_any_obj(arith_interval(ends[0], ends[1]))));
  }
  arith_analyzer *a = &s->e->arith;
  TN_GET(out->corner[0], iter_map_inverse(a, map->indices, tn_arr_from(&first)));
  TN_GET(out->corner[1], iter_map_inverse(a, map->indices, tn_arr_from(&last)));
  TN_GET(out->over, iter_map_inverse(a, map->indices, tn_arr_from(&vars)));
  return 0;
}

static int value_in(solver *s, const tn_map *m, const tn_any *var, tn_expr **out) {
  tn_any value;
  *out = NULL;
  if (tn_map_get(m, *var, &value)) TN_GET(*out, simple(s, (tn_expr *)value.v.obj));
  return 0;
}

/* Do the iterators between the corners name as many elements as the box has? Then these are the
   same; of 0 to 4 the digits in (2, 4) are not those from (0, 0) to (1, 0). */
static int is_between_corners(solver *s, const inverse *in, bool *yes) {
  tn_expr *n;
  TN_GET(n, tir_i32(1));
  *yes = true;
  for (int64_t j = 0; j < in->over->len && *yes; ++j) {
    tn_expr *lo, *hi;
    TN_TRY(value_in(s, in->corner[0], &in->over->entries[j].key, &lo));
    TN_TRY(value_in(s, in->corner[1], &in->over->entries[j].key, &hi));
    *yes = lo && hi;
    if (*yes) TN_GET(n, tir_mul(n, tir_add(tir_sub(hi, lo), tir_one(lo->dtype))));
  }
  *yes = *yes && arith_prove_equal(&s->e->arith, n, in->elements);
  return 0;
}

/* The values of one iterator over the box, or more of them. */
static int values_of(solver *s, const inverse *in, bool between, const tn_any *var,
                     const tn_Range *dom, tn_expr *out[2]) {
  tn_expr *over;
  if (between) {
    TN_TRY(value_in(s, in->corner[0], var, &out[0]));
    return value_in(s, in->corner[1], var, &out[1]);
  }
  const tn_IntervalSet *all, *set;
  TN_TRY(value_in(s, in->over, var, &over));
  TN_GET(all, arith_interval_of_range(&s->e->arith, dom));
  TN_GET(set, over ? arith_int_set(&s->e->arith, over, in->ranges) : all);
  TN_GET(out[0], simple(s, arith_is_inf(set->min_value) ? all->min_value : set->min_value));
  TN_GET(out[1], simple(s, arith_is_inf(set->max_value) ? all->max_value : set->max_value));
  return 0;
}

static int solve_whole(solver *s, const tn_IterMapResult *map, const tn_arr *required,
                       const tn_Buffer *buffer) {
  inverse in[2];
  bool between[2];
  for (int k = 0; k < 2; ++k) {
    TN_TRY(invert(s, map, k ? NULL : required, buffer, &in[k]));
    TN_TRY(is_between_corners(s, &in[k], &between[k]));
  }
  for (int64_t j = 0; j < in[0].over->len; ++j) {
    const tn_any *var = &in[0].over->entries[j].key;
    int64_t i = iter_of(s, var->v.obj);
    tn_expr *x[2][2];
    if (i < 0) continue;
    const tn_Range *dom = ((const tn_IterVar *)tn_arr_obj(s->m->block->iter_vars, i))->dom;
    for (int k = 0; k < 2; ++k) TN_TRY(values_of(s, &in[k], between[k], var, dom, x[k]));
    TN_TRY(add_domain(s, i, x[0][0], x[0][1], x[1][0], x[1][1]));
  }
  return 0;
}

/* ---- index by index ---- */

typedef struct {
  int64_t iter; /* -1: none is recognised */
  tn_expr *dom[2], *bound[2];
  bool free; /* the index says nothing of it */
} solution;

static void set_interval(tn_expr *out[2], tn_expr *lo, tn_expr *hi) {
  out[0] = lo;
  out[1] = hi;
}

static void solve_scaled(solution *r, tn_expr *factor, tn_expr *lo, tn_expr *hi, tn_expr *most) {
  set_interval(r->dom, tir_floordiv(lo, factor), tir_floordiv(hi, factor));
  set_interval(r->bound, tir_zero(lo->dtype), tir_floordiv(most, factor));
}

/* a <= x // k <= b is a * k <= x <= b * k + k - 1 */
static void solve_quotient(solver *s, solution *r, tn_expr *k, tn_expr *lo, tn_expr *hi,
                           tn_expr *most) {
  tn_expr *rest = tir_sub(k, tir_one(k->dtype));
  set_interval(r->dom, tir_mul(lo, k), simple(s, tir_add(tir_mul(hi, k), rest)));
  set_interval(r->bound, tir_zero(lo->dtype), simple(s, tir_add(tir_mul(most, k), rest)));
}

static void solve_index(solver *s, solution *r, const tn_IntervalSet *provided, tn_expr *lo,
                        tn_expr *hi, tn_expr *most) {
  tn_expr *p = simple(s, provided->min_value);
  const tn_BinaryOp *op = TN_AS_BINARY(p);
  bool point = is_point(s, provided);
  bool mul = op && p->hdr.type_index == TN_TI_Mul, swap = mul && iter_of(s, (tn_obj *)op->a) < 0;
  tn_expr *x = op ? (swap ? op->b : op->a) : p, *k = op ? (swap ? op->a : op->b) : NULL;
  r->iter = x ? iter_of(s, (tn_obj *)x) : -1;
  if (r->iter < 0) return;
  if (mul) {
    solve_scaled(r, k, lo, hi, most);
  } else if (!op && point) {
    set_interval(r->dom, lo, hi);
    set_interval(r->bound, tir_zero(lo->dtype), most);
  } else if (point && op && p->hdr.type_index == TN_TI_FloorDiv &&
             arith_prove_ge(&s->e->arith, k, 1)) {
    solve_quotient(s, r, k, lo, hi, most);
  } else if (point && op && p->hdr.type_index == TN_TI_FloorMod) {
    r->free = true;
  } else {
    r->iter = -1;
  }
}

static int solve_each(solver *s, const tn_arr *provided, const tn_arr *required,
                      const tn_Buffer *buffer) {
  for (int64_t i = 0; i < provided->len; ++i) {
    const tn_IntervalSet *p = at(provided, i), *q = at(required, i);
    solution r = {.iter = -1};
    int64_t k;
    if (is_point(s, p) && tir_as_int((tn_obj *)p->min_value, &k)) continue;
    tn_expr *most = last_index((tn_expr *)tn_arr_obj(buffer->shape, i));
    tn_expr *lo = simple(s, q->min_value), *hi = simple(s, q->max_value);
    if (!most || !lo || !hi) return -1;
    solve_index(s, &r, p, lo, hi, most);
    if (r.iter < 0 && arith_prove_equal(&s->e->arith, p->min_value, q->min_value) &&
        arith_prove_equal(&s->e->arith, p->max_value, q->max_value))
      continue; /* the same whatever the iterators are */
    if (r.iter < 0)
      return sch_fail(s->e, "BufferRegion pattern match failed", SCH_PLACES(s->m->block),
                      "ValueError: BufferRegion pattern match failed: index %lld of buffer %s in "
                      "block {0} is neither an iterator nor a multiple, quotient or remainder of "
                      "one",
                      (long long)i, tn_cstr(buffer->name));
    if (!r.free) TN_TRY(add_domain(s, r.iter, r.dom[0], r.dom[1], r.bound[0], r.bound[1]));
  }
  return 0;
}

/* ---- regions ---- */

/* One buffer's regions in a list, as intervals over the iterators; NULL in *out: none. */
static int provided_of(solver *s, const tn_arr *regions, const tn_Buffer *buffer, tn_arr **out) {
  tn_map *none = tn_scope_own(tn_map_new());
  *out = NULL;
  for (int64_t i = 0; i < regions->len; ++i) {
    const tn_BufferRegion *r = (const tn_BufferRegion *)tn_arr_obj(regions, i);
    tn_arr *sets;
    if (r->buffer != buffer) continue;
    TN_GET(sets, sch_relax_region(s->e, r->region, none));
    if (*out) TN_GET(sets, sch_union_region(s->e, *out, sets));
    *out = sets;
  }
  return 0;
}

/* What the others touch of the buffer in one iteration of the loop. */
static int required_of(solver *s, const tn_Buffer *buffer, tn_arr **out) {
  const sch_move *m = s->m;
  const tn_vec *others = m->reverse ? &m->producers : &m->consumers;
  const char *memory = m->reverse ? "" : tir_buffer_scope(buffer);
  *out = NULL;
  for (int64_t i = 0; i < others->len; ++i) {
    const tn_Block *b = (const tn_Block *)others->items[i].v.obj;
    const tn_BlockRealize *r = sch_realize_of(s->e, b);
    const tn_arr *regions = m->reverse ? b->writes : b->reads;
    tn_map *dom;
    TN_GET(dom, sch_loop_domain(s->e, (const tn_obj *)r, (const tn_obj *)m->loop, memory));
    for (int64_t j = 0; j < regions->len; ++j) {
      const tn_BufferRegion *x = (const tn_BufferRegion *)tn_arr_obj(regions, j);
      tn_arr *sets;
      if (x->buffer != buffer) continue;
      TN_GET(sets, sch_relax_region(s->e, sch_bound_region(r, x->region), dom));
      if (*out) TN_GET(sets, sch_union_region(s->e, *out, sets));
      *out = sets;
    }
  }
  return 0;
}

static bool is_bounded(const tn_arr *sets) {
  for (int64_t i = 0; i < sets->len; ++i) {
    if (arith_is_inf(at(sets, i)->min_value) || arith_is_inf(at(sets, i)->max_value)) return false;
  }
  return true;
}

/* Where an index cannot be bounded, all of the axis is required. */
static tn_arr *within(const tn_arr *sets, const tn_Buffer *buffer) {
  TN_VEC(out);
  for (int64_t i = 0; i < sets->len; ++i) {
    tn_expr *extent = (tn_expr *)tn_arr_obj(buffer->shape, i);
    tn_IntervalSet *s = at(sets, i);
    if (arith_is_inf(s->min_value) || arith_is_inf(s->max_value))
      s = arith_interval(tir_zero(extent->dtype), last_index(extent));
    if (!s || tn_vec_push_obj(&out, s)) return NULL;
  }
  return tn_arr_from(&out);
}

/* Is the index an iterator of the block that runs through all of an axis? What a prover makes of
   an extent that is a choice (of two that broadcast) it may not know again. */
static bool runs_through(const tn_Block *b, const tn_IntervalSet *index, const tn_expr *extent) {
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    const tn_expr *var = (const tn_expr *)iv->var;
    if (index->min_value == var && index->max_value == var)
      return tir_is_zero(iv->dom->min) && tn_equal(iv->dom->extent, extent, 0) == 1;
  }
  return false;
}

/* An iteration of a consumer that reads no element, since its index lies outside of the buffer, has
   no iteration of the producer that it would follow. */
static int check_reads_inside(solver *s, const tn_arr *provided, const tn_Buffer *buffer) {
  arith_analyzer *a = &s->e->arith;
  const tn_Block *b = s->m->block;
  tn_map *dom;
  TN_GET(dom, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    TN_TRY(tn_map_set(dom, tn_any_obj(iv->var), tn_any_obj(iv->dom)));
  }
  for (int64_t i = 0; i < provided->len; ++i) {
    tn_expr *extent = (tn_expr *)tn_arr_obj(buffer->shape, i);
    const tn_IntervalSet *lo, *hi;
    if (runs_through(b, at(provided, i), extent)) continue;
    TN_GET(lo, arith_int_set(a, at(provided, i)->min_value, dom));
    TN_GET(hi, arith_int_set(a, at(provided, i)->max_value, dom));
    if (arith_is_inf(lo->min_value) || arith_is_inf(hi->max_value)) continue; /* not affine */
    if (arith_prove_ge(a, lo->min_value, 0) && arith_prove(a, tir_lt(hi->max_value, extent)))
      continue;
    return sch_fail(s->e, "The block may read outside of the buffer", SCH_PLACES(b),
                    "Index %lld at which block {0} reads %s may lie outside of it: no iteration of "
                    "its producers stands for such an iteration of the block",
                    (long long)i, tn_cstr(buffer->name));
  }
  return 0;
}

static int solve_buffer(solver *s, const tn_arr *regions, const tn_Buffer *buffer) {
  tn_arr *provided, *required;
  TN_TRY(provided_of(s, regions, buffer, &provided));
  TN_TRY(required_of(s, buffer, &required));
  if (!provided || !required) return 0;
  if (s->m->reverse) TN_TRY(check_reads_inside(s, provided, buffer));
  if (!is_bounded(required)) TN_GET(required, within(required, buffer));
  tn_IterMapResult *map = detect(s, provided);
  return map ? solve_whole(s, map, required, buffer) : solve_each(s, provided, required, buffer);
}

/* ---- the domain of an iterator ---- */

static tn_IntervalSet *simplified(solver *s, const tn_IntervalSet *set) {
  tn_expr *lo = arith_is_inf(set->min_value) ? set->min_value : simple(s, set->min_value),
          *hi = arith_is_inf(set->max_value) ? set->max_value : simple(s, set->max_value);
  return lo && hi ? arith_interval(lo, hi) : NULL;
}

static bool same_set(solver *s, const tn_IntervalSet *x, const tn_IntervalSet *y) {
  return arith_prove_equal(&s->e->arith, x->min_value, y->min_value) &&
         arith_prove_equal(&s->e->arith, x->max_value, y->max_value);
}

/* The bound is left out where the domain lies in it, or takes the place of a domain around it. */
static int finish(solver *s, sch_domain *d, const tn_Range *whole) {
  tn_IntervalSet *all;
  TN_GET(all, arith_interval_of_range(&s->e->arith, whole));
  if (d->bound) TN_GET(all, arith_interval_intersect(&s->e->arith, d->bound, all));
  TN_GET(d->bound, simplified(s, all));
  if (!d->dom) {
    d->dom = d->bound;
    d->bound = NULL;
    return 0;
  }
  tn_IntervalSet *both;
  TN_GET(d->dom, simplified(s, d->dom));
  TN_GET(both, arith_interval_intersect(&s->e->arith, d->dom, d->bound));
  TN_GET(both, simplified(s, both));
  if (same_set(s, d->dom, both)) {
    d->bound = NULL;
  } else if (same_set(s, d->bound, both)) {
    d->dom = d->bound;
    d->bound = NULL;
  }
  return 0;
}

static int find_all(solver *s) {
  const tn_Block *b = s->m->block;
  const tn_arr *regions = s->m->reverse ? b->reads : b->writes;
  TN_PMAP(seen);
  for (int64_t i = 0; i < regions->len; ++i) {
    const tn_Buffer *buffer = ((const tn_BufferRegion *)tn_arr_obj(regions, i))->buffer;
    if (tn_pmap_has(&seen, buffer)) continue;
    TN_TRY(tn_pmap_put(&seen, buffer, buffer));
    TN_TRY(solve_buffer(s, regions, buffer));
  }
  for (int64_t i = 0; i < b->iter_vars->len; ++i)
    TN_TRY(finish(s, &s->of[i], ((const tn_IterVar *)tn_arr_obj(b->iter_vars, i))->dom));
  return 0;
}

int sch_find_domains(sch_step *e, sch_move *m) {
  m->domains = tn_alloc_zero((size_t)m->block->iter_vars->len + 1, sizeof *m->domains);
  solver s = {.e = e, .m = m, .of = m->domains};
  return m->domains ? find_all(&s) : -1;
}
