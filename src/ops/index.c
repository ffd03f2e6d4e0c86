/* Elements by index, and indices of elements.

     adv_index((%x, %i, %j))           x[i, j], the indices broadcast as numpy does
     strided_set(%x, %v, %b, %e, %s)   x with v in the place of x[b:e:s]
     searchsorted(%s, %v)              where the values belong in sorted rows
     unravel_index(%i, %shape)         coordinates of places in row-major order */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_SearchSortedAttrs(F, S)                                                          \
  F(S, BOOL, , right, 0, "behind equal elements, not before them", "False")                        \
  F(S, DTYPE, , dtype, 0, "type of the result", "\"int32\"")
#define INDEX_ATTRS(N)                                                                             \
  N(SearchSortedAttrs, Attrs, "relay.attrs.SearchSortedAttrs", NODE, TREE, tn_no_hooks,            \
    "attributes of searchsorted")
TN_NODES_LOCAL(INDEX_ATTRS)

static int check_integers(const relay_rel *r, const tn_TensorType *t, const char *what) {
  RELAY_CHECK(r, ir_is_integral(t->dtype), "%s must be integers, got %s", what, relay_type_text(t));
  return 0;
}

/* Negative ones count from the end. */
static tn_expr *from_end(tn_expr *i, tn_expr *extent) {
  if (!i) return NULL;
  tn_expr *zero = tir_zero(i->dtype), *n = tir_cast(i->dtype, extent, NULL);
  return tir_add(i, tir_select(tir_lt(i, zero), n, zero, NULL));
}

/* ---- adv_index ---- */

/* The shape that extents broadcast to, the shorter ones having 1 in front; NULL where they do not.
 */
static tn_arr *broadcast_all(const relay_rel *r, tn_arr *const *shapes, int64_t n) {
  tn_TensorType *all;
  TN_GETP(all, relay_tensor_type(shapes[0], TN_I64));
  for (int64_t i = 1; i < n; ++i) {
    tn_TensorType *next;
    tn_arr *shape;
    TN_GETP(next, relay_tensor_type(shapes[i], TN_I64));
    TN_GETP(shape, relay_broadcast_shapes(r, all, next));
    TN_GETP(all, relay_tensor_type(shape, TN_I64));
  }
  return all->shape;
}

static int adv_relation(relay_rel *r) {
  tn_arr *shapes[OPS_MAX_NDIM], *common;
  RELAY_TUPLE_OF(all, r, 0);
  int64_t n = all->fields->len - 1;
  const tn_TensorType *data = (const tn_TensorType *)tn_arr_obj(all->fields, 0);
  TN_VEC(out);
  RELAY_CHECK(r, n >= 1 && n <= OPS_MAX_NDIM && data && n <= data->shape->len,
              "expected data and up to as many indices as it has dimensions, got %s",
              relay_type_text(all));
  for (int64_t i = 0; i < n; ++i) {
    const tn_TensorType *t = (const tn_TensorType *)tn_arr_obj(all->fields, i + 1);
    TN_TRY(check_integers(r, t, "indices"));
    shapes[i] = t->shape;
  }
  TN_GET(common, broadcast_all(r, shapes, n));
  for (int64_t i = 0; i < common->len; ++i) TN_TRY(tn_vec_push(&out, common->items[i]));
  for (int64_t i = n; i < data->shape->len; ++i) TN_TRY(tn_vec_push(&out, data->shape->items[i]));
  tn_arr *shape;
  TN_GET(shape, tn_arr_from(&out));
  for (int64_t i = 0; i < n; ++i)
    TN_TRY(ops_rel_takes(r, relay_dim(data, i), shape, "an axis of data"));
  return relay_rel_result(r, relay_tensor_type(shape, data->dtype));
}

typedef struct {
  const relay_compute *c;
  tn_arr *common; /* shape that the indices broadcast to */
} indexed;

static tn_expr *adv_element(void *ctx, tn_arr *at) {
  const indexed *x = ctx;
  const tn_Tensor *data = relay_input(x->c, 0);
  int64_t n = x->c->inputs->len - 1;
  tn_arr *own;
  TN_VEC(first);
  TN_VEC(v);
  for (int64_t i = 0; i < x->common->len; ++i) TN_TRYP(tn_vec_push(&first, at->items[i]));
  TN_GETP(own, tn_arr_from(&first));
  for (int64_t i = 0; i < n; ++i) {
    tn_expr *e;
    TN_GETP(e, ops_broadcast_at(relay_input(x->c, i + 1), x->common, own));
    TN_TRYP(tn_vec_push_obj(&v, ops_data_index(e, te_extent(data, i), OPS_FROM_END)));
  }
  for (int64_t i = x->common->len; i < at->len; ++i) TN_TRYP(tn_vec_push(&v, at->items[i]));
  return te_at(data, tn_arr_from(&v));
}

static tn_arr *adv_index(const relay_compute *c) {
  const tn_Tensor *data = relay_input(c, 0);
  int64_t n = c->inputs->len - 1;
  indexed x = {.c = c, .common = relay_input(c, 1)->shape};
  TN_VEC(out);
  for (int64_t i = 1; i < n; ++i)
    TN_GETP(x.common, ops_common_shape(x.common, relay_input(c, i + 1)->shape));
  for (int64_t i = 0; i < x.common->len; ++i) TN_TRYP(tn_vec_push(&out, x.common->items[i]));
  for (int64_t i = n; i < data->shape->len; ++i) TN_TRYP(tn_vec_push(&out, data->shape->items[i]));
  return tn_arr_of(1, te_compute(tn_arr_from(&out), adv_element, &x, "T_adv_index", TE_INJECTIVE));
}

/* ---- strided_set ---- */

static int set_relation(relay_rel *r) {
  static const char *const names[] = {"begin", "end", "strides"};
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(value, r, 1);
  for (int i = 0; i < 3; ++i) {
    RELAY_TENSOR(t, r, 2 + i);
    int64_t n;
    TN_TRY(check_integers(r, t, names[i]));
    RELAY_CHECK(r, t->shape->len == 1, "%s must have one dimension, got %s", names[i],
                relay_type_text(t));
    RELAY_CHECK(r, tir_as_int((tn_obj *)relay_dim(t, 0), &n) && n <= data->shape->len,
                "%s must have a number for each of the first axes of data, got %s", names[i],
                relay_type_text(t));
  }
  RELAY_CHECK(r, value->shape->len == data->shape->len && tn_dtype_eq(value->dtype, data->dtype),
              "expected values with the type and the axes of data, got %s", relay_type_text(value));
  return relay_rel_result(r, data);
}

/* Number i of begin, end or strides; NULL: none is given. */
static tn_expr *bound_of(const tn_Tensor *t, int64_t i) {
  int64_t n;
  if (!tir_as_int((tn_obj *)te_extent(t, 0), &n) || i >= n) return NULL;
  return tir_cast(TN_I64, te_at(t, tn_arr_of(1, tir_i32((int32_t)i))), NULL);
}

/* Steps are counted from the first or last element where the begin lies outside of them. */
static tn_expr *first_place(tn_expr *begin, tn_expr *n, tn_expr *up) {
  tn_expr *last = tir_sub(n, tir_i64(1));
  return tir_select(up, tir_max(begin, tir_i64(0)), tir_min(begin, last), NULL);
}

/* The element if no axis says otherwise; that of the values where all do. */
static tn_expr *set_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_Tensor *data = relay_input(c, 0), *value = relay_input(c, 1);
  tn_expr *inside = tir_bool(true), *zero = tir_i64(0);
  TN_VEC(from);
  for (int64_t i = 0; i < at->len; ++i) {
    tn_expr *x = tir_cast(TN_I64, te_index(at, i), NULL),
            *n = tir_cast(TN_I64, te_extent(data, i), NULL);
    tn_expr *begin = bound_of(relay_input(c, 2), i), *end = bound_of(relay_input(c, 3), i),
            *step = bound_of(relay_input(c, 4), i);
    if (!step) step = tir_i64(1);
    tn_expr *up = tir_gt(step, zero);
    begin = begin ? first_place(from_end(begin, n), n, up) : zero;
    end = end ? from_end(end, n) : n;
    tn_expr *away = tir_sub(x, begin);
    tn_expr *fits = tir_or(tir_and(up, tir_and(tir_ge(x, begin), tir_lt(x, end))),
                           tir_and(tir_lt(step, zero), tir_and(tir_le(x, begin), tir_gt(x, end))));
    tn_expr *by = tir_select(tir_eq(step, zero), tir_i64(1), step, NULL);
    inside = tir_and(inside, tir_and(fits, tir_eq(tir_floormod(away, by), zero)));
    tn_expr *k = tir_floordiv(away, by),
            *last = tir_sub(tir_cast(TN_I64, te_extent(value, i), NULL), tir_i64(1));
    inside = tir_and(inside, tir_and(tir_ge(k, zero), tir_le(k, last)));
    TN_TRYP(tn_vec_push_obj(&from, k));
  }
  return tir_if_then_else(inside, te_at(value, tn_arr_from(&from)), te_at(data, at), NULL);
}

static tn_arr *strided_set(const relay_compute *c) {
  return tn_arr_of(1, te_compute(relay_input(c, 0)->shape, set_element, (void *)(uintptr_t)c,
                                 "T_strided_set", TE_INJECTIVE));
}

/* ---- searchsorted ---- */

static int search_relation(relay_rel *r) {
  const tn_SearchSortedAttrs *a = r->attrs;
  RELAY_TENSOR(rows, r, 0);
  RELAY_TENSOR(values, r, 1);
  int64_t n = rows->shape->len;
  RELAY_CHECK(r, tn_dtype_eq(a->dtype, TN_I32) || tn_dtype_eq(a->dtype, TN_I64),
              "expected dtype int32 or int64, got %s", TN_DT(a->dtype));
  RELAY_CHECK(r, tn_dtype_eq(rows->dtype, values->dtype), "values %s are not of the type of %s",
              relay_type_text(values), relay_type_text(rows));
  RELAY_CHECK(r, n == 1 || (n > 1 && n == values->shape->len),
              "expected values with the axes of the sorted sequences, got %s for %s",
              relay_type_text(values), relay_type_text(rows));
  for (int64_t i = 0; i < n - 1; ++i)
    RELAY_CHECK(r, relay_dim_equal(relay_dim(rows, i), relay_dim(values, i)) != 0,
                "axis %lld of %s and %s differ", (long long)i, relay_type_text(rows),
                relay_type_text(values));
  return relay_rel_result(r, relay_tensor_type(values->shape, a->dtype));
}

/* As many as there are elements below the value, and equal ones where it goes behind them. */
static tn_expr *search_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_SearchSortedAttrs *a = c->attrs;
  const tn_Tensor *rows = relay_input(c, 0);
  int64_t n = rows->shape->len;
  tn_IterVar *k = te_reduce_axis(te_extent(rows, -1), "k");
  TN_VEC(v);
  for (int64_t i = 0; i < n - 1; ++i) TN_TRYP(tn_vec_push(&v, at->items[i]));
  if (!k) return NULL;
  TN_TRYP(tn_vec_push_obj(&v, k->var));
  tn_expr *x = te_at(rows, tn_arr_from(&v)), *value = te_at(relay_input(c, 1), at);
  tn_expr *before = a->right ? tir_le(x, value) : tir_lt(x, value);
  return te_reduce(TE_SUM, tir_cast(a->dtype, before, NULL), tn_arr_of(1, k), NULL);
}

static tn_arr *searchsorted(const relay_compute *c) {
  return tn_arr_of(1, te_compute(relay_input(c, 1)->shape, search_element, (void *)(uintptr_t)c,
                                 "T_searchsorted", TE_COMM_REDUCE));
}

static tn_arr *shape_of_second(const relay_shape_query *q) {
  return tn_arr_of(1, relay_shape_of(q, 1));
}

/* ---- unravel_index ---- */

static int unravel_relation(relay_rel *r) {
  RELAY_TENSOR(places, r, 0);
  RELAY_TENSOR(shape, r, 1);
  int64_t n;
  TN_VEC(out);
  TN_TRY(check_integers(r, places, "indices"));
  TN_TRY(check_integers(r, shape, "shape"));
  RELAY_CHECK(r, shape->shape->len == 1 && tir_as_int((tn_obj *)relay_dim(shape, 0), &n),
              "shape must be a vector of known length, got %s", relay_type_text(shape));
  TN_TRY(tn_vec_push_obj(&out, relay_dim(shape, 0)));
  for (int64_t i = 0; i < places->shape->len; ++i)
    TN_TRY(tn_vec_push(&out, places->shape->items[i]));
  return relay_rel_result(r, relay_tensor_type(tn_arr_from(&out), places->dtype));
}

/* The place divided by the extents of the axes behind this one. */
static tn_expr *unravel_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_Tensor *places = relay_input(c, 0), *shape = relay_input(c, 1);
  tn_expr *axis = te_index(at, 0), *result;
  int64_t n = 0;
  TN_VEC(own);
  for (int64_t i = 1; i < at->len; ++i) TN_TRYP(tn_vec_push(&own, at->items[i]));
  tn_expr *rest = te_at(places, tn_arr_from(&own));
  if (!rest || !tir_as_int((tn_obj *)te_extent(shape, 0), &n)) return NULL;
  result = tir_zero(rest->dtype);
  for (int64_t i = n; i-- > 0;) {
    tn_expr *extent = tir_cast(rest->dtype, te_at(shape, tn_arr_of(1, tir_i32((int32_t)i))), NULL);
    tn_expr *by = tir_max(extent, tir_one(rest->dtype));
    tn_expr *here = i ? tir_floormod(rest, by) : rest;
    result = tir_select(tir_eq(axis, tir_const_int(axis->dtype, i)), here, result, NULL);
    rest = tir_floordiv(rest, by);
  }
  return result;
}

static tn_arr *unravel(const relay_compute *c) {
  const tn_Tensor *places = relay_input(c, 0);
  TN_VEC(out);
  TN_TRYP(tn_vec_push_obj(&out, te_extent(relay_input(c, 1), 0)));
  for (int64_t i = 0; i < places->shape->len; ++i)
    TN_TRYP(tn_vec_push(&out, places->shape->items[i]));
  return tn_arr_of(1, te_compute(tn_arr_from(&out), unravel_element, (void *)(uintptr_t)c,
                                 "T_unravel_index", TE_INJECTIVE));
}

static const relay_op_row rows[] = {
    {.name = "adv_index",
     .inputs = "inputs",
     .level = 3,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "AdvIndex",
     .rel = adv_relation,
     .compute = adv_index,
     .doc = "elements of the first tensor of a tuple by tensors of indices of its first axes",
     .values = RELAY_MOVED},
    {.name = "strided_set",
     .inputs = "data v begin end strides",
     .level = 4,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "StridedSet",
     .rel = set_relation,
     .compute = strided_set,
     .shape = relay_shape_same,
     .doc = "data with values in the place of a part by begin, end and step along axes",
     .values = RELAY_MOVED},
    {.name = "searchsorted",
     .inputs = "sorted_sequence values",
     .attrs = &tn_type_SearchSortedAttrs,
     .level = 6,
     .pattern = RELAY_COMM_REDUCE,
     .rel_name = "SearchSorted",
     .rel = search_relation,
     .compute = searchsorted,
     .shape = shape_of_second,
     .doc = "where in sorted rows values have to be put for them to stay sorted"},
    {.name = "unravel_index",
     .inputs = "indices shape",
     .level = 3,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "UnRavelIndexRel",
     .rel = unravel_relation,
     .compute = unravel,
     .doc = "coordinates of places in row-major order, for each axis",
     .values = RELAY_COMPUTED},
};

RELAY_FAMILY(index, INDEX_ATTRS)
