/* Indices and slices of scripts: A[i, 0:n] reads an element, a vector or names a region. */
#include <string.h>

#include "arith/analyzer.h"
#include "base/alloc.h"
#include "base/log.h"
#include "tir/script/build_impl.h"

/* A region that stands in an expression is a read of it: a slice of constant length is a vector. */
tn_expr *region_as_load(builder *b, const ast *at, const tn_BufferRegion *r) {
  TN_VEC(indices);
  for (int64_t i = 0; i < r->region->len; ++i) {
    const tn_Range *range = (const tn_Range *)tn_arr_obj(r->region, i);
    int64_t lanes;
    tn_expr *index = range->min;
    if (tir_lanes_from("slice", range->extent, &lanes)) {
      tn_error_clear();
      return (void)ast_error(b->src, at, "a slice that is read must have a constant length"), NULL;
    }
    if (lanes != 1)
      index = (tn_expr *)TN_MAKE(Ramp, .base = range->min, .stride = tir_one(range->min->dtype),
                                 .lanes = lanes);
    if (!index || tn_vec_push_obj(&indices, index)) return NULL;
  }
  return tir_load(r->buffer, tn_arr_from(&indices));
}

/* to - from; i*4 + 6 - (i*4 + 2) is 4 whatever i is. What is not constant stays as it is written.
 */
static tn_expr *distance(tn_expr *from, tn_expr *to) {
  TN_ARITH(known);
  const tn_Add *sum = TN_AS(Add, to);
  int64_t n;
  if (sum && arith_same(sum->a, from)) return sum->b;
  tn_expr *d = tir_sub(to, from), *simple = d ? arith_simplify(&known, d) : NULL;
  return simple && tir_as_int((const tn_obj *)simple, &n) ? simple : simple ? d : NULL;
}

static tn_Range *slice_range(builder *b, const ast *s, const tn_expr *extent) {
  tn_expr *from = s->a ? eval_expr(b, s->a) : tir_zero(extent->dtype);
  tn_expr *to = from ? (s->b ? eval_expr(b, s->b) : (tn_expr *)(uintptr_t)extent) : NULL;
  return to ? TN_MAKE(Range, .min = from, .extent = distance(from, to)) : NULL;
}

/* A[i, 0:n]: a region when there is a slice, else a read. A slice with a step is a ramp. */
static tn_expr *strided_slice(builder *b, const ast *s, const tn_expr *extent) {
  int64_t step, lanes;
  tn_expr *from = s->a ? eval_expr(b, s->a) : tir_zero(extent->dtype);
  tn_expr *to = from && s->b ? eval_expr(b, s->b) : (tn_expr *)(uintptr_t)extent;
  if (!from || !to || eval_int(b, s->c, &step)) return NULL;
  if (step == 0) return (void)ast_error(b->src, s->c, "a slice needs a step that is not 0"), NULL;
  /* as many as Python takes: the last step may reach beyond the end */
  tn_expr *up = tir_const_int(from->dtype, step > 0 ? step - 1 : step + 1);
  tn_expr *length = tir_floordiv(tir_add(distance(from, to), up), tir_const_int(from->dtype, step));
  if (!length) return NULL;
  if (!tir_as_int((tn_obj *)length, &lanes))
    return (void)ast_error(b->src, s, "a slice with a step must have a constant length"), NULL;
  if (lanes == 1) return from;
  return (tn_expr *)TN_MAKE(Ramp, .base = from, .stride = tir_const_int(from->dtype, step),
                            .lanes = lanes);
}

/* One index of a list: a slice as it is written, or a value. */
typedef struct {
  const ast *at;
  val v;
} entry;

typedef struct {
  entry *items;
  int64_t n, cap;
} entries;

static int add_entry(entries *list, const ast *at, val v) {
  TN_GROW(list->items, list->cap, list->n + 1, return -1);
  list->items[list->n++] = (entry){at, v};
  return 0;
}

/* The indices in order. Lists count as their elements: A[(*spatial, k)], A[iters], A[()]. */
static int spread_indices(builder *b, const ast *n, entries *list) {
  for (int i = 0; i < n->items.n; ++i) {
    const ast *s = n->items.items[i];
    val v = {.kind = VAL_PLAIN};
    if (s->kind != AST_SLICE) TN_TRY(eval(b, s->kind == AST_STARRED ? s->a : s, &v));
    const tn_arr *many =
        s->kind != AST_SLICE && v.kind == VAL_PLAIN && v.v.type_index == TN_TI_Array
            ? (const tn_arr *)v.v.v.obj
            : NULL;
    if (s->kind == AST_STARRED && !many)
      return ast_error(b->src, s, "expected a list or tuple behind *");
    if (!many) TN_TRY(add_entry(list, s, v));
    for (int64_t j = 0; many && j < many->len; ++j)
      TN_TRY(add_entry(list, s, PLAIN(many->items[j])));
  }
  return 0;
}

/* An index that is known had better be one of the buffer's. Programs in the middle of their
   lowering hold others, where conditions that are false keep them from being read. */
static void check_index(const builder *b, const ast *s, const tn_expr *e, const tn_expr *extent,
                        const tn_Buffer *buf, int64_t axis) {
  int64_t at, n;
  if (!tir_as_int((const tn_obj *)e, &at) || !tir_as_int((const tn_obj *)extent, &n) ||
      (at >= 0 && at < n))
    return;
  TN_LOG(WARNING, "%s:%d: index %lld is outside of axis %lld of buffer %s: expected 0 to %lld",
         b->src->file, b->src->first_line + s->line - 1, (long long)at, (long long)axis,
         tn_cstr(buf->name), (long long)n - 1);
}

/* The ranges and indices of a list; `region` tells whether there is a slice, `vector` where an
   index is one. */
static int read_indices(builder *b, const entries *list, const tn_Buffer *buf, tn_vec *ranges,
                        tn_vec *indices, bool *region, const ast **vector) {
  for (int64_t i = 0; i < list->n; ++i) {
    const ast *s = list->items[i].at;
    if (i >= buf->shape->len)
      return ast_error(b->src, s, "buffer %s has %lld dimensions", tn_cstr(buf->name),
                       (long long)buf->shape->len);
    const tn_expr *extent = (const tn_expr *)tn_arr_obj(buf->shape, i);
    if (s->kind == AST_SLICE && !s->c) {
      tn_Range *r = slice_range(b, s, extent);
      if (!r || tn_vec_push_obj(ranges, r)) return place_error(b, s);
      *region = true;
      continue;
    }
    tn_expr *e =
        s->kind == AST_SLICE ? strided_slice(b, s, extent) : to_expr(b, s, &list->items[i].v);
    if (!e || tn_vec_push_obj(indices, e)) return place_error(b, s);
    check_index(b, s, e, extent, buf, i);
    if (e->dtype.lanes != 1) {
      *vector = s;
      continue;
    }
    tn_Range *r = tir_range(e, tir_one(e->dtype));
    if (!r || tn_vec_push_obj(ranges, r)) return place_error(b, s);
  }
  return 0;
}

static int index_buffer(builder *b, const ast *n, tn_Buffer *buf, val *out) {
  TN_VEC(ranges);
  TN_VEC(indices);
  bool region = false;
  const ast *vector = NULL;
  entries list = {0};
  int err = spread_indices(b, n, &list) ||
            read_indices(b, &list, buf, &ranges, &indices, &region, &vector);
  tn_free(list.items);
  if (err) return -1;
  if (region && vector)
    return ast_error(b->src, vector, "an index that is a vector cannot stand beside a slice");
  tn_obj *o = region
                  ? (tn_obj *)TN_MAKE(BufferRegion, .buffer = buf, .region = tn_arr_from(&ranges))
                  : (tn_obj *)tir_load(buf, tn_arr_from(&indices));
  *out = PLAIN_OBJ(o);
  return o ? 0 : place_error(b, n);
}

/* m["key"], of a dictionary that the script knows */
static int index_map(builder *b, const ast *n, const tn_map *m, val *out) {
  val key;
  tn_any found;
  TN_TRY(eval(b, n->items.items[0], &key));
  if (key.kind != VAL_PLAIN || !tn_map_get(m, key.v, &found))
    return ast_error(b->src, n, "the dictionary has no such key");
  *out = PLAIN(found);
  return 0;
}

int eval_index(builder *b, const ast *n, val *out) {
  val base, i;
  TN_TRY(eval(b, n->a, &base));
  if (base.kind == VAL_PLAIN && base.v.type_index == TN_TI_Buffer)
    return index_buffer(b, n, (tn_Buffer *)base.v.v.obj, out);
  const tn_Var *var = (const tn_Var *)val_obj(&base);
  if (base.kind == VAL_PLAIN && TN_IS(Var, var))
    return ast_error(b->src, n, "%s is a variable of %s and has no elements: expected a buffer",
                     tn_cstr(var->name), TN_DT(var->dtype));
  bool single = base.kind == VAL_PLAIN && n->items.n == 1 && n->items.items[0]->kind != AST_SLICE;
  if (single && base.v.type_index == TN_TI_Map) return index_map(b, n, (tn_map *)base.v.v.obj, out);
  bool array = single && base.v.type_index == TN_TI_Array;
  if (!array) return host_eval(b, n, out);
  int64_t at;
  const tn_arr *a = (tn_arr *)base.v.v.obj;
  TN_TRY(eval(b, n->items.items[0], &i));
  TN_TRY(eval_int(b, n->items.items[0], &at));
  if (at < 0) at += a->len;
  if (at < 0 || at >= a->len)
    return ast_error(b->src, n, "index %lld is out of range: %lld elements", (long long)at,
                     (long long)a->len);
  *out = PLAIN(a->items[at]);
  return 0;
}

tn_arr *eval_indices(builder *b, const ast *index) {
  val v;
  if (eval(b, index, &v)) return NULL;
  tn_expr *e = to_expr(b, index, &v);
  const tn_BufferLoad *load = TN_AS(BufferLoad, e);
  return load ? load->indices : NULL;
}

tn_BufferRegion *to_region(builder *b, const ast *at, const val *v) {
  tn_obj *o = val_obj(v);
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  const tn_Buffer *whole = TN_AS(Buffer, o);
  TN_VEC(ranges);
  if (TN_AS(BufferRegion, o)) return (tn_BufferRegion *)o;
  if (!load && !whole)
    return (void)ast_error(b->src, at, "expected a region of a buffer such as A[0:16, i]"), NULL;
  const tn_arr *parts = load ? load->indices : whole->shape;
  for (int64_t i = 0; i < parts->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(parts, i);
    const tn_Ramp *ramp = TN_AS(Ramp, e);
    tn_Range *r =
        whole  ? tir_range(tir_zero(e->dtype), e)
        : ramp ? tir_range(ramp->base,
                           tir_mul(ramp->stride, tir_lanes(ramp->stride->dtype, ramp->lanes, 0)))
               : tir_range(e, tir_one(e->dtype));
    if (!r || tn_vec_push_obj(&ranges, r)) return NULL;
  }
  return TN_MAKE(BufferRegion, .buffer = load ? load->buffer : (tn_Buffer *)o,
                 .region = tn_arr_from(&ranges));
}
