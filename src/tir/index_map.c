/* Maps from one index space to another: applying, inverting, comparing them. */
#include "tir/index_map.h"

#include <string.h>

#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "base/alloc.h"
#include "base/scope.h"
#include "object/functions.h"
#include "tenon/runtime.h"
#include "tir/tir_impl.h"

/* ---- indices ---- */

typedef struct {
  tn_pmap vars; /* old index -> what takes its place, of type t */
  tn_dtype t;
} typed;

static bool is_integer(tn_dtype t) { return t.code == kDLInt || t.code == kDLUInt; }

/* An expression over the old indices in type t, folded. */
static tn_obj *typed_expr(void *ctx, tn_obj *o) {
  typed *c = ctx;
  tn_obj *with = tn_pmap_get(&c->vars, o);
  int64_t k;
  const tn_BinaryOp *op = TN_AS_BINARY(o);
  const tn_Cast *cast = TN_AS(Cast, o);
  if (with) return with;
  bool number = TN_AS(IntImm, o) && ((tn_expr *)o)->dtype.bits > 1;
  if (number && tir_as_int(o, &k)) return (tn_obj *)tir_const_int(c->t, k);
  if (cast && is_integer(cast->dtype)) return typed_expr(ctx, (tn_obj *)cast->value);
  if (!op) return o->type_index == TN_TI_Op ? o : tn_map_children(o, typed_expr, ctx);
  tn_obj *a = typed_expr(ctx, (tn_obj *)op->a), *b = a ? typed_expr(ctx, (tn_obj *)op->b) : NULL;
  return b ? (tn_obj *)tir_binary(o->type_index, (tn_expr *)a, (tn_expr *)b, NULL) : NULL;
}

static int bind_old(const tn_IndexMap *m, const tn_arr *to, typed *c) {
  TN_CHECK(to->len == m->initial_indices->len, ValueError, NULL,
           "IndexMap: expected %lld indices, got %lld", (long long)m->initial_indices->len,
           (long long)to->len);
  c->t = to->len ? ((tn_expr *)tn_arr_obj(to, 0))->dtype : TN_I64;
  for (int64_t i = 0; i < to->len; ++i) {
    const tn_expr *e = tir_cast(c->t, (tn_expr *)tn_arr_obj(to, i), NULL);
    if (!e || tn_pmap_put(&c->vars, tn_arr_obj(m->initial_indices, i), e)) return -1;
  }
  return 0;
}

static tn_arr *apply(const tn_IndexMap *m, const tn_arr *to) {
  typed c = {.t = TN_I64};
  TN_VEC(out);
  int err = bind_old(m, to, &c);
  for (int64_t i = 0; !err && i < m->final_indices->len; ++i) {
    tn_expr *e = (tn_expr *)typed_expr(&c, tn_arr_obj(m->final_indices, i));
    if (e && is_integer(e->dtype)) e = tir_cast(c.t, e, NULL); /* values of padding may be floats */
    err = !e || tn_vec_push_obj(&out, e);
  }
  tn_pmap_fini(&c.vars);
  return err ? NULL : tn_arr_from(&out);
}

static tn_arr *simplified(arith_analyzer *a, const tn_arr *exprs) {
  TN_VEC(out);
  for (int64_t i = 0; exprs && i < exprs->len; ++i) {
    const tn_expr *e = arith_simplify(a, (tn_expr *)tn_arr_obj(exprs, i));
    if (!e || tn_vec_push_obj(&out, e)) return NULL;
  }
  return exprs ? tn_arr_from(&out) : NULL;
}

static int64_t index_of(const tn_arr *list, const tn_obj *o) {
  for (int64_t i = 0; i < list->len; ++i)
    if (tn_arr_obj(list, i) == o) return i;
  return -1;
}

/* What the map passes on stays as it is written. */
tn_arr *tir_index_map_indices(arith_analyzer *a, const tn_IndexMap *m, const tn_arr *indices) {
  TN_VEC(out);
  tn_arr *now;
  TN_GETP(now, apply(m, indices));
  for (int64_t i = 0; i < now->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(now, i);
    bool passed = index_of(m->initial_indices, tn_arr_obj(m->final_indices, i)) >= 0;
    if (!passed) TN_GETP(e, arith_simplify(a, e));
    if (tn_vec_push_obj(&out, e)) return NULL;
  }
  return tn_arr_from(&out);
}

static tn_arr *vars_like(const tn_IndexMap *m, tn_dtype t) {
  TN_VEC(vars);
  for (int64_t i = 0; i < m->initial_indices->len; ++i) {
    const tn_Var *old = (const tn_Var *)tn_arr_obj(m->initial_indices, i);
    const tn_Var *v = tn_dtype_eq(old->dtype, t) ? old : tir_var(tn_cstr(old->name), t);
    if (!v || tn_vec_push_obj(&vars, v)) return NULL;
  }
  return tn_arr_from(&vars);
}

tn_IndexMap *tir_index_map_typed(const tn_IndexMap *m, tn_dtype t) {
  tn_arr *vars = vars_like(m, t), *exprs = vars ? apply(m, vars) : NULL;
  const tn_IndexMap *inverse = TN_AS(IndexMap, m->inverse_index_map);
  if (inverse) TN_GETP(inverse, tir_index_map_typed(inverse, t));
  return exprs ? TN_NEW(IndexMap, .initial_indices = vars, .final_indices = exprs,
                        .inverse_index_map = (tn_obj *)(uintptr_t)inverse)
               : NULL;
}

/* ---- ranges ---- */

static tn_map *ranges_of(arith_analyzer *a, const tn_arr *vars, const tn_arr *ranges) {
  tn_map *out = tn_scope_own(tn_map_new());
  TN_CHECKP(vars->len == ranges->len, ValueError, NULL, "IndexMap: expected %lld ranges, got %lld",
            (long long)vars->len, (long long)ranges->len);
  for (int64_t i = 0; out && i < vars->len; ++i) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(ranges, i);
    TN_TRYP(tn_map_set(out, tn_any_obj(tn_arr_obj(vars, i)), tn_any_obj(r)));
    TN_TRYP(arith_bind_range(a, (tn_Var *)tn_arr_obj(vars, i), r, true));
  }
  return out;
}

/* The terms of a sum do not meet, so the largest of them tells its extent. */
static tn_Range *range_of_sum(arith_analyzer *a, const tn_IterSumExpr *sum) {
  tn_expr *extent = NULL;
  for (int64_t i = 0; i < sum->args->len; ++i) {
    const tn_IterSplitExpr *s = (const tn_IterSplitExpr *)tn_arr_obj(sum->args, i);
    tn_expr *n = tir_mul(s->extent, s->scale);
    TN_GETP(extent, !n ? NULL : extent ? tir_max(extent, n) : n);
  }
  if (!extent) extent = tir_one(sum->base->dtype);
  TN_GETP(extent, arith_simplify(a, extent));
  return tir_range(sum->base, extent);
}

static tn_Range *range_of_set(arith_analyzer *a, tn_expr *e, const tn_map *sets) {
  const tn_IntervalSet *s = arith_int_set(a, e, sets);
  tn_Range *r = s ? arith_interval_range(a, s, NULL) : NULL;
  if (s && !r) TN_RAISE(ValueError, NULL, "IndexMap: the range of a new index has no bounds");
  return r;
}

/* ---- padding: old indices that are divided get a range that can be divided ---- */

/* An old index that is divided by `divisor`, after `offset` was added to it. */
typedef struct {
  int64_t divisor, offset;
} divided;

/* Is e  (v + offset) // divisor  for an old index? Its place, or -1. */
static int64_t quotient_of(const tn_IndexMap *m, const tn_obj *e, divided *out) {
  const tn_BinaryOp *op = TN_AS_BINARY(e);
  int64_t k, at;
  *out = (divided){1, 0};
  for (int64_t i = 0; i < m->initial_indices->len; ++i)
    if (tn_arr_obj(m->initial_indices, i) == e) return i;
  if (!op || !tir_as_int((tn_obj *)op->b, &k)) return -1;
  at = quotient_of(m, (tn_obj *)op->a, out);
  if (e->type_index == TN_TI_Add) out->offset += k * out->divisor;
  else if (e->type_index == TN_TI_Sub) out->offset -= k * out->divisor;
  else if (e->type_index == TN_TI_FloorDiv && k > 0) out->divisor *= k;
  else return -1;
  return at;
}

typedef struct {
  const tn_IndexMap *m;
  divided *vars; /* for each old index */
} division_walk;

static int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }

static int note_division(void *ctx, tn_obj *o) {
  const division_walk *w = ctx;
  const tn_BinaryOp *op = TN_AS_BINARY(o);
  divided d;
  int64_t k;
  bool divides = o->type_index == TN_TI_FloorDiv || o->type_index == TN_TI_FloorMod;
  if (!op || !divides || !tir_as_int((tn_obj *)op->b, &k) || k <= 0) return 0;
  int64_t at = quotient_of(w->m, (tn_obj *)op->a, &d);
  if (at < 0) return 0;
  divided *v = &w->vars[at];
  d.divisor *= k;
  v->divisor = v->divisor / gcd(v->divisor, d.divisor) * d.divisor;
  v->offset = ((d.offset % v->divisor) + v->divisor) % v->divisor;
  return 0;
}

enum { MAX_INDICES = 32 };

typedef struct {
  divided vars[MAX_INDICES];
  tn_IndexMap *m; /* over indices that begin at the left padding */
  tn_arr *ranges; /* with the padding on both sides */
} padded;

static int pad_indices(arith_analyzer *a, const tn_IndexMap *m, const tn_arr *ranges, padded *p) {
  TN_PMAP(shifted);
  TN_VEC(wide);
  TN_CHECK(ranges->len <= MAX_INDICES, ValueError, NULL, "IndexMap: more than %d indices",
           MAX_INDICES);
  for (int i = 0; i < MAX_INDICES; ++i) p->vars[i] = (divided){1, 0};
  division_walk w = {m, p->vars};
  TN_TRY(tn_post_order(m->final_indices, note_division, &w));
  for (int64_t i = 0; i < ranges->len; ++i) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(ranges, i);
    tn_expr *v = (tn_expr *)tn_arr_obj(m->initial_indices, i), *n = r->extent;
    tn_expr *d = tir_const_int(n->dtype, p->vars[i].divisor),
            *left = tir_const_int(n->dtype, p->vars[i].offset);
    if (!tir_is_zero(r->min) || p->vars[i].divisor == 1) {
      p->vars[i].offset = 0;
      TN_TRY(tn_vec_push_obj(&wide, r));
      continue;
    }
    n = tir_mul(tir_ceildiv(tir_add(n, left), d, NULL), d);
    TN_GET(r, tir_range(tir_zero(d->dtype), n ? arith_simplify(a, n) : NULL));
    if (tn_vec_push_obj(&wide, r) || tn_pmap_put(&shifted, v, tir_sub(v, left))) return -1;
  }
  tn_arr *exprs = tir_substitute(m->final_indices, &shifted);
  exprs = simplified(a, exprs);
  p->ranges = tn_arr_from(&wide);
  p->m = exprs ? TN_NEW(IndexMap, .initial_indices = m->initial_indices, .final_indices = exprs)
               : NULL;
  return p->m && p->ranges ? 0 : -1;
}

static tn_dtype dtype_of(const tn_arr *ranges) {
  return ranges->len ? ((const tn_Range *)tn_arr_obj(ranges, 0))->extent->dtype : TN_I64;
}

tn_arr *tir_index_map_ranges(arith_analyzer *a, const tn_IndexMap *given, const tn_arr *ranges) {
  TN_VEC(out);
  tn_IndexMap *m;
  TN_GETP(m, tir_index_map_typed(given, dtype_of(ranges)));
  TN_ARITH(wide);
  padded p;
  TN_TRYP(pad_indices(&wide, m, ranges, &p));
  const tn_map *sets = ranges_of(a, m->initial_indices, ranges),
               *all = sets ? ranges_of(&wide, m->initial_indices, p.ranges) : NULL;
  const tn_IterMapResult *r =
      all ? iter_map_detect(&wide, p.m->final_indices, all, NULL, ITER_MAP_NO_CHECK, false) : NULL;
  if (!r) return NULL;
  for (int64_t i = 0; i < m->final_indices->len; ++i) {
    const tn_Range *one = r->indices->len
                              ? range_of_sum(a, (tn_IterSumExpr *)tn_arr_obj(r->indices, i))
                              : range_of_set(a, (tn_expr *)tn_arr_obj(m->final_indices, i), sets);
    if (!one || tn_vec_push_obj(&out, one)) return NULL;
  }
  return tn_arr_from(&out);
}

static tn_arr *from_zero(const tn_arr *shape) {
  TN_VEC(out);
  for (int64_t i = 0; i < shape->len; ++i) {
    tn_expr *n = (tn_expr *)tn_arr_obj(shape, i);
    const tn_Range *r = n ? tir_range(tir_zero(n->dtype), n) : NULL;
    if (!r || tn_vec_push_obj(&out, r)) return NULL;
  }
  return tn_arr_from(&out);
}

tn_arr *tir_index_map_shape(arith_analyzer *a, const tn_IndexMap *m, const tn_arr *shape) {
  TN_VEC(out);
  tn_arr *ranges = from_zero(shape), *mapped = ranges ? tir_index_map_ranges(a, m, ranges) : NULL;
  for (int64_t i = 0; mapped && i < mapped->len; ++i)
    TN_TRYP(tn_vec_push_obj(&out, ((const tn_Range *)tn_arr_obj(mapped, i))->extent));
  return mapped ? tn_arr_from(&out) : NULL;
}

/* ---- the way back ---- */

/* Variables for the new indices, named after the old one where that is passed through. */
static tn_arr *new_vars(const tn_IndexMap *m) {
  TN_VEC(vars);
  for (int64_t i = 0; i < m->final_indices->len; ++i) {
    const tn_expr *e = (tn_expr *)tn_arr_obj(m->final_indices, i);
    const tn_Var *same = TN_AS(Var, e);
    tn_str *name = same ? same->name : tn_str_fmt("axis%lld", (long long)i);
    if (!name || tn_vec_push_obj(&vars, tir_var(tn_cstr(name), e->dtype))) return NULL;
  }
  return tn_arr_from(&vars);
}

static const tn_IterMapResult *detect(arith_analyzer *a, const tn_IndexMap *m, const tn_map *sets,
                                      bool bijective) {
  const tn_IterMapResult *r = iter_map_detect(
      a, m->final_indices, sets, NULL, bijective ? ITER_MAP_BIJECTIVE : ITER_MAP_NO_CHECK, false);
  bool fine = r && r->errors->len == 0 && r->indices->len == m->final_indices->len;
  TN_CHECKP(!r || fine, TenonError, NULL, "Could not parse mapping as sum of iterators.  Error: %s",
            r->errors->len ? tn_cstr((tn_str *)tn_arr_obj(r->errors, 0)) : "not affine");
  return r;
}

/* @param vars the new indices */
static tn_arr *old_indices(arith_analyzer *a, const tn_IndexMap *m, const tn_arr *ranges,
                           const tn_map *found, const tn_arr *vars) {
  TN_VEC(out);
  for (int64_t i = 0; i < m->initial_indices->len; ++i) {
    tn_any e;
    const tn_Range *r = (const tn_Range *)tn_arr_obj(ranges, i);
    int64_t same = index_of(m->final_indices, tn_arr_obj(m->initial_indices, i));
    if (same >= 0) { /* passed on */
      TN_TRYP(tn_vec_push_obj(&out, tn_arr_obj(vars, same)));
      continue;
    }
    bool known = tn_map_get(found, tn_any_obj(tn_arr_obj(m->initial_indices, i)), &e);
    TN_CHECKP(known || tir_is_one(r->extent), TenonError, NULL,
              "IndexMap: the index %s does not follow from the new ones",
              tn_cstr(((tn_Var *)tn_arr_obj(m->initial_indices, i))->name));
    const tn_expr *old = arith_simplify(a, known ? (tn_expr *)e.v.obj : r->min);
    if (!old || tn_vec_push_obj(&out, old)) return NULL;
  }
  return tn_arr_from(&out);
}

/* The new indices of one edge of the padded range of an old one:  index // d == edge // d  and, on
   the left of it or not, index % d, which is the last one where only that is left. */
static tn_expr *edge_of(tn_expr *index, tn_expr *edge, tn_expr *d, bool left) {
  int64_t first, end;
  tn_expr *rest = tir_floormod(index, d), *at = tir_floormod(edge, d);
  bool last = tir_as_int((tn_obj *)at, &first) && tir_as_int((tn_obj *)d, &end) && first == end - 1;
  tn_expr *inside = left ? tir_lt(rest, at) : last ? tir_eq(rest, at) : tir_ge(rest, at);
  return tir_and(tir_eq(tir_floordiv(index, d), tir_floordiv(edge, d)), inside);
}

/* Where old indices (over the new ones, counted from the left padding) lie in the padding. */
static tn_expr *padding_of(const padded *p, const tn_arr *ranges, const tn_arr *old) {
  tn_expr *all = tir_bool(false);
  for (int64_t i = 0; i < ranges->len && all; ++i) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(ranges, i),
                   *wide = (const tn_Range *)tn_arr_obj(p->ranges, i);
    tn_expr *index = (tn_expr *)tn_arr_obj(old, i);
    tn_expr *d = tir_const_int(index->dtype, p->vars[i].divisor),
            *left = tir_const_int(index->dtype, p->vars[i].offset);
    tn_expr *end = tir_add(left, r->extent);
    if (r == wide || !d || !end) continue;
    if (!tir_is_zero(left)) all = tir_or(all, edge_of(index, left, d, true));
    if (!arith_same(end, wide->extent)) all = tir_or(all, edge_of(index, end, d, false));
  }
  return all;
}

/* The old indices without the left padding. */
static tn_arr *unpadded(arith_analyzer *a, const padded *p, const tn_arr *old) {
  TN_VEC(out);
  for (int64_t i = 0; i < old->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(old, i);
    if (!TN_IS(Var, e) || p->vars[i].offset) {
      e = tir_sub(e, tir_const_int(e->dtype, p->vars[i].offset));
      e = e ? arith_simplify(a, e) : NULL;
    }
    if (!e || tn_vec_push_obj(&out, e)) return NULL;
  }
  return tn_arr_from(&out);
}

static int bind_new(arith_analyzer *a, const tn_IndexMap *m, const tn_arr *vars,
                    const tn_arr *ranges) {
  tn_arr *to;
  TN_GET(to, tir_index_map_ranges(a, m, ranges));
  for (int64_t i = 0; i < vars->len; ++i)
    TN_TRY(arith_bind_range(a, (tn_Var *)tn_arr_obj(vars, i), (tn_Range *)tn_arr_obj(to, i), true));
  return 0;
}

/* @param p with the padding it may have */
static tn_IndexMap *invert(arith_analyzer *a, const padded *p, const tn_arr *ranges, bool bijective,
                           tn_expr **padding) {
  const tn_map *sets = ranges_of(a, p->m->initial_indices, p->ranges);
  const tn_IterMapResult *r = sets ? detect(a, p->m, sets, bijective) : NULL;
  tn_arr *vars = r ? new_vars(p->m) : NULL;
  const tn_map *found = vars ? iter_map_inverse(a, r->indices, vars) : NULL;
  tn_arr *old = found ? old_indices(a, p->m, p->ranges, found, vars) : NULL;
  if (!old || bind_new(a, p->m, vars, p->ranges)) return NULL;
  tn_expr *pad = padding_of(p, ranges, old);
  TN_GETP(*padding, pad ? arith_simplify_steps(a, pad, 10) : NULL);
  tn_arr *exprs = unpadded(a, p, old);
  return exprs ? TN_NEW(IndexMap, .initial_indices = vars, .final_indices = exprs) : NULL;
}

tn_IndexMap *tir_index_map_inverse(arith_analyzer *a, const tn_IndexMap *given, const tn_arr *shape,
                                   tn_expr **padding) {
  tn_arr *ranges = from_zero(shape);
  tn_IndexMap *m = ranges ? tir_index_map_typed(given, dtype_of(ranges)) : NULL;
  tn_expr *none = NULL, **pad = padding ? padding : &none;
  padded p;
  if (!m) return NULL;
  if (TN_AS(IndexMap, m->inverse_index_map)) {
    TN_GETP(*pad, tir_bool(false));
    return (tn_IndexMap *)m->inverse_index_map;
  }
  TN_TRYP(pad_indices(a, m, ranges, &p));
  tn_IndexMap *back;
  TN_GETP(back, invert(a, &p, ranges, !padding, pad));
  TN_CHECKP(padding || tir_is_zero(*pad), TenonError, NULL,
            "Bijective inverse should not contain padding, but the map needs some over this shape");
  return back;
}

bool tir_index_map_equal(const tn_IndexMap *x, const tn_IndexMap *y) {
  TN_ARITH(a);
  bool same = x->initial_indices->len == y->initial_indices->len &&
              x->final_indices->len == y->final_indices->len;
  tn_arr *other = same ? apply(y, x->initial_indices) : NULL;
  for (int64_t i = 0; other && i < other->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(x->final_indices, i);
    same =
        same && arith_prove_equal(&a, e, tir_cast(e->dtype, (tn_expr *)tn_arr_obj(other, i), NULL));
  }
  return same && other;
}

/* ---- moving the elements of a tensor ---- */

/* Value of an index expression for numbers in place of the old indices. */
static int number_of(const tn_IndexMap *m, const int64_t *at, const tn_obj *e, int64_t *out) {
  const tn_BinaryOp *op = TN_AS_BINARY(e);
  int64_t a, b;
  if (tir_as_int(e, out)) return 0;
  for (int64_t i = 0; i < m->initial_indices->len; ++i)
    if (tn_arr_obj(m->initial_indices, i) == e) return *out = at[i], 0;
  if (TN_AS(Cast, e)) return number_of(m, at, (tn_obj *)TN_AS(Cast, e)->value, out);
  TN_CHECK(op, ValueError, NULL, "IndexMap.map_ndarray: %s cannot be evaluated", tn_obj_key(e));
  TN_TRY(number_of(m, at, (tn_obj *)op->a, &a));
  TN_TRY(number_of(m, at, (tn_obj *)op->b, &b));
  tn_expr *r = tir_binary(e->type_index, tir_i64(a), tir_i64(b), NULL);
  TN_CHECK(r && tir_as_int((tn_obj *)r, out), ValueError, NULL,
           "IndexMap.map_ndarray: %s cannot be evaluated", tn_obj_key(e));
  return 0;
}

enum { MAX_DIM = 16 };

/* Place of the element `at` in the new tensor, in elements. */
static int new_place(const tn_IndexMap *m, const int64_t *at, const DLTensor *dst, int64_t *out) {
  *out = 0;
  for (int64_t i = 0; i < m->final_indices->len; ++i) {
    int64_t k;
    TN_TRY(number_of(m, at, tn_arr_obj(m->final_indices, i), &k));
    TN_CHECK(k >= 0 && k < dst->shape[i], ValueError, NULL,
             "IndexMap.map_ndarray: index %lld is out of range", (long long)i);
    *out = *out * dst->shape[i] + k;
  }
  return 0;
}

static int move_elements(const tn_IndexMap *m, const DLTensor *src, const char *from,
                         const DLTensor *dst, char *to) {
  int64_t at[MAX_DIM] = {0}, size = (src->dtype.bits * src->dtype.lanes + 7) / 8;
  for (int64_t n = tn_tensor_count(src), k = 0; k < n; ++k) {
    TN_SCOPE(scope);
    int64_t place;
    TN_TRY(new_place(m, at, dst, &place));
    memcpy(to + place * size, from + k * size, (size_t)size);
    for (int32_t i = src->ndim; i-- > 0 && ++at[i] == src->shape[i];) at[i] = 0;
  }
  return 0;
}

static tn_arr *shape_of(const DLTensor *t) {
  TN_VEC(v);
  for (int32_t i = 0; i < t->ndim; ++i) TN_TRYP(tn_vec_push_obj(&v, tir_i64(t->shape[i])));
  return tn_arr_from(&v);
}

static tn_tensor *map_tensor(arith_analyzer *a, const tn_IndexMap *m, const DLTensor *src) {
  int64_t dims[MAX_DIM];
  TN_CHECKP(src->ndim == m->initial_indices->len && src->ndim <= MAX_DIM &&
                m->final_indices->len <= MAX_DIM,
            ValueError, NULL, "IndexMap.map_ndarray: expected %lld dimensions, got %d",
            (long long)m->initial_indices->len, src->ndim);
  tn_arr *old = shape_of(src), *shape = old ? tir_index_map_shape(a, m, old) : NULL;
  if (!shape) return NULL;
  for (int64_t i = 0; i < shape->len; ++i)
    TN_CHECKP(tir_as_int(tn_arr_obj(shape, i), &dims[i]), ValueError, NULL,
              "IndexMap.map_ndarray: the new shape is not constant");
  tn_tensor *out =
      tn_tensor_new(dims, (int32_t)shape->len, src->dtype, (tn_device){kDLCPU, 0}, NULL);
  if (!out) return NULL;
  const DLTensor *dst = tn_tensor_dl(out);
  size_t from_size = (size_t)tn_tensor_nbytes(src), to_size = (size_t)tn_tensor_nbytes(dst);
  char *from = tn_alloc(from_size + 1), *to = tn_alloc(to_size + 1);
  int err = !from || !to || tn_tensor_copy_to_bytes(src, from, from_size);
  if (!err) memset(to, 0, to_size);
  err = err || move_elements(m, src, from, dst, to) ||
        tn_tensor_copy_from_bytes(tn_tensor_dl(out), to, to_size);
  tn_free(from);
  tn_free(to);
  if (err) tn_release(out);
  return err ? NULL : out;
}

/* ---- functions for Python ---- */

#define MAP_ARG(name, nargs)                                                                       \
  TN_NARGS("IndexMap." name, nargs);                                                               \
  TN_ARG_OBJ(IndexMap, m, 0);                                                                      \
  TN_ARITH(a)

static int f_indices(TN_ARGS) {
  MAP_ARG("map_indices", 2);
  TN_ARG_ITEMS(Array(PrimExpr), indices, 1);
  return tn_ret_obj(ret, tir_index_map_indices(&a, m, indices));
}

static int f_shape(TN_ARGS) {
  MAP_ARG("map_shape", 2);
  TN_ARG_ITEMS(Array(PrimExpr), shape, 1);
  return tn_ret_obj(ret, tir_index_map_shape(&a, m, shape));
}

static int f_ranges(TN_ARGS) {
  MAP_ARG("map_ranges", 2);
  TN_ARG_ITEMS(Array(Range), ranges, 1);
  return tn_ret_obj(ret, tir_index_map_ranges(&a, m, ranges));
}

/* (map, shape) -> IndexMap */
static int f_inverse(TN_ARGS) {
  MAP_ARG("inverse", 2);
  TN_ARG_ITEMS(Array(PrimExpr), shape, 1);
  return tn_ret_obj(ret, tir_index_map_inverse(&a, m, shape, NULL));
}

/* (map, shape) -> [IndexMap, condition of the padding] */
static int f_non_surjective_inverse(TN_ARGS) {
  MAP_ARG("non_surjective_inverse", 2);
  TN_ARG_ITEMS(Array(PrimExpr), shape, 1);
  tn_expr *padding = NULL;
  const tn_IndexMap *back = tir_index_map_inverse(&a, m, shape, &padding);
  return back ? tn_ret_obj(ret, tn_arr_of(2, back, padding)) : -1;
}

/* (map, tensor) -> the tensor with its elements at their new places */
static int f_tensor(TN_ARGS) {
  tn_tensor *src;
  MAP_ARG("map_ndarray", 2);
  TN_TRY(tn_any_to_tensor(&args[1], &src));
  return tn_ret_owned(ret, map_tensor(&a, m, tn_tensor_dl(src)));
}

static int f_equal(TN_ARGS) {
  TN_NARGS("IndexMap.is_equivalent_to", 2);
  TN_ARG_OBJ(IndexMap, x, 0);
  TN_ARG_OBJ(IndexMap, y, 1);
  *ret = tn_any_bool(x && y && tir_index_map_equal(x, y));
  return 0;
}

static const tn_func_row rows[] = {
    {"tir.IndexMapMapIndices", f_indices},
    {"tir.IndexMapMapShape", f_shape},
    {"tir.IndexMapMapRanges", f_ranges},
    {"tir.IndexMapInverse", f_inverse},
    {"tir.IndexMapNonSurjectiveInverse", f_non_surjective_inverse},
    {"tir.IndexMapMapNDArray", f_tensor},
    {"tir.IndexMapIsEquivalent", f_equal},
};

int index_map_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
