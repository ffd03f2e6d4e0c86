/* Sorting along an axis: sort, argsort, topk, and what takes a sorted order: unique.

     topk(%x, k=2)       Tensor[(3, 8), float32] -> (Tensor[(3, 2), float32], Tensor[(3, 2), int32])
     dyn.topk(%x, %k)    the same with k in a tensor: Tensor[(3, ?), float32], ...
     unique(%x)          Tensor[(8), int32] -> (values, indices, inverse: 8 elements each, number)
     rank_rows(%x)       Tensor[(8, 3), float32] -> Tensor[(8), int32]

   The order is found by merging runs of 1, 2, 4, ... elements, in a statement of loops: equal
   elements keep their order, and no library is called. The first few of it are kept while the data
   is looked through once. What follows picks elements by it. */
#include <string.h>

#include "ir/imm.h"
#include "ops/layout.h"
#include "ops/ops.h"

#define TN_FIELDS_ArgsortAttrs(F, S)                                                               \
  F(S, I64, , axis, 0, "axis that is sorted along", "-1")                                          \
  F(S, BOOL, , is_ascend, 0, "smallest first?", "True")                                            \
  F(S, DTYPE, , dtype, 0, "type of indices", "\"int32\"")
#define TN_FIELDS_TopKAttrs(F, S)                                                                  \
  F(S, I64, , k, 0, "how many elements, all of them when below 1", "1")                            \
  F(S, I64, , axis, 0, "axis that is searched", "-1")                                              \
  F(S, REF, String, ret_type, 0, "\"both\", \"values\" or \"indices\"", "\"both\"")                \
  F(S, BOOL, , is_ascend, 0, "the smallest elements?", "False")                                    \
  F(S, DTYPE, , dtype, 0, "type of indices", "\"int32\"")
#define TN_FIELDS_UniqueAttrs(F, S)                                                                \
  F(S, BOOL, , sorted, 0, "smallest value first, rather than in the order of data?", "True")       \
  F(S, BOOL, , return_counts, 0, "return the count of each value as the last result?", "False")
#define SORT_ATTRS(N)                                                                              \
  N(ArgsortAttrs, Attrs, "relay.attrs.ArgsortAttrs", NODE, TREE, tn_no_hooks,                      \
    "attributes of sort and argsort")                                                              \
  N(TopKAttrs, Attrs, "relay.attrs.TopkAttrs", NODE, TREE, tn_no_hooks, "attributes of topk")      \
  N(UniqueAttrs, Attrs, "relay.attrs.UniqueAttrs", NODE, TREE, tn_no_hooks, "attributes of unique")
TN_NODES_LOCAL(SORT_ATTRS)

/* ---- relations ---- */

static tn_dtype or_int32(tn_dtype t) { return t.bits ? t : TN_I32; }

static int relate_sort(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  if (relay_rel_axis(r, relay_attr_int(r->attrs, "axis", -1), data->shape->len) < 0)
    return RELAY_FAILED;
  return relay_rel_result(r, data);
}

static int relate_argsort(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  const tn_ArgsortAttrs *a = r->attrs;
  if (relay_rel_axis(r, a->axis, data->shape->len) < 0) return RELAY_FAILED;
  return relay_rel_result(r, relay_tensor_type(data->shape, or_int32(a->dtype)));
}

/* Extents of data, k along the axis. */
static tn_arr *top_shape(const tn_TopKAttrs *a, const tn_arr *shape) {
  int64_t axis = a->axis < 0 ? a->axis + shape->len : a->axis;
  return a->k > 0 ? ops_with_index(shape, axis, relay_dim_int(a->k)) : (tn_arr *)(uintptr_t)shape;
}

/* Values and indices of this shape, or one of them. */
static int top_result(relay_rel *r, const tn_TopKAttrs *a, tn_arr *shape, tn_dtype dtype) {
  tn_TensorType *values = relay_tensor_type(shape, dtype),
                *indices = relay_tensor_type(shape, or_int32(a->dtype));
  if (tn_str_eq(a->ret_type, "values")) return relay_rel_result(r, values);
  if (tn_str_eq(a->ret_type, "indices")) return relay_rel_result(r, indices);
  RELAY_CHECK(r, tn_str_eq(a->ret_type, "both"), "ret_type must be both, values or indices, got %s",
              tn_cstr(a->ret_type));
  return relay_rel_result(r, relay_tuple_type(tn_arr_of(2, values, indices)));
}

static int relate_topk(relay_rel *r) {
  const tn_TopKAttrs *a = r->attrs;
  int64_t n;
  RELAY_TENSOR(data, r, 0);
  int64_t axis = relay_rel_axis(r, a->axis, data->shape->len);
  if (axis < 0) return RELAY_FAILED;
  RELAY_CHECK(r, !tir_as_int((tn_obj *)relay_dim(data, axis), &n) || a->k <= n,
              "k=%lld is more than the %lld elements there are", (long long)a->k, (long long)n);
  relay_take_least(relay_dim(data, axis), a->k);
  return top_result(r, a, top_shape(a, data->shape), data->dtype);
}

static int relate_dyn_topk(relay_rel *r) {
  const tn_TopKAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(k, r, 1);
  int64_t axis = relay_rel_axis(r, a->axis, data->shape->len);
  if (axis < 0) return RELAY_FAILED;
  bool one = k->shape->len == 0 ||
             (k->shape->len == 1 && relay_dim_equal(relay_dim(k, 0), tir_i32(1)) != 0);
  RELAY_CHECK(r, one, "k must be one number, got %s", relay_type_text(k)); /* floats: cut off */
  return top_result(r, a, ops_with_index(data->shape, axis, relay_any()), data->dtype);
}

static int relate_unique(relay_rel *r) {
  const tn_UniqueAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, data->shape->len == 1, "data must have one dimension, got %s",
              relay_type_text(data));
  tn_TensorType *places = relay_tensor_type(data->shape, TN_I32),
                *number = relay_tensor_type(tn_arr_of(1, tir_i32(1)), TN_I32);
  tn_arr *fields = a->return_counts ? tn_arr_of(5, data, places, places, number, places)
                                    : tn_arr_of(4, data, places, places, number);
  return relay_rel_result(r, relay_tuple_type(fields));
}

static int relate_rank_rows(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, data->shape->len == 2, "data must have two dimensions, got %s",
              relay_type_text(data));
  return relay_rel_result(r, relay_tensor_type(tn_arr_of(1, relay_dim(data, 0)), TN_I32));
}

/* ---- the order ---- */

enum { PLACE_LEFT = 0, PLACE_RIGHT = 1 };

/* Buffers of a sort; `from` is merged to `to`. `places` holds how far both runs are used up. */
typedef struct {
  tn_Buffer *data, *from, *to, *places;
  tn_arr *row; /* index of the row, with a place for the axis */
  int64_t axis;
  tn_expr *n;
  bool ascend;
  tn_Buffer *verdict; /* of the comparison of rows; NULL: elements are compared */
} order;

static tn_arr *at(const order *s, tn_expr *i) {
  TN_VEC(v);
  for (int64_t k = 0; k < s->from->shape->len; ++k)
    TN_TRYP(tn_vec_push_obj(&v, k == s->axis ? i : te_index(s->row, k)));
  return tn_arr_from(&v);
}

static tn_expr *load(const order *s, tn_Buffer *b, tn_expr *i) { return tir_load(b, at(s, i)); }
static tn_expr *place(const order *s, int which) { return load(s, s->places, tir_i32(which)); }

static tn_stmt *set_place(const order *s, int which, tn_expr *value) {
  return tir_store(s->places, value, at(s, tir_i32(which)));
}

/* verdict[0]: is row a of the data less (-1), equal (0) or greater (1) than row b, by the first
   column in which they differ? */
static tn_stmt *compare_rows(const order *s, tn_expr *a, tn_expr *b) {
  tn_Var *k = tir_var("column", TN_I32);
  tn_arr *zero = tn_arr_of(1, tir_i32(0));
  tn_expr *x = tir_load(s->data, tn_arr_of(2, a, k)), *y = tir_load(s->data, tn_arr_of(2, b, k));
  tn_expr *sign = tir_if_then_else(tir_gt(x, y), tir_i32(1), tir_i32(0), NULL);
  sign = tir_if_then_else(tir_lt(x, y), tir_i32(-1), sign, NULL);
  tn_stmt *look = ops_either(tir_eq(tir_load(s->verdict, zero), tir_i32(0)),
                             tir_store(s->verdict, sign, zero), NULL);
  tn_expr *columns = tir_cast(TN_I32, (tn_expr *)tn_arr_obj(s->data->shape, 1), NULL);
  return tir_seq2(tir_store(s->verdict, tir_i32(0), zero), ops_loop(k, columns, look));
}

/* Does element a of the data come before element b, wherever they are? NaN is larger than any
   number: without an order between all elements numbers would be lost behind it. */
static tn_expr *better(const order *s, tn_expr *a, tn_expr *b) {
  tn_expr *x = load(s, s->data, a), *y = load(s, s->data, b);
  if (!ir_is_floating(s->data->dtype)) return s->ascend ? tir_lt(x, y) : tir_gt(x, y);
  tn_expr *number = s->ascend ? x : y, *after = s->ascend ? tir_ge(x, y) : tir_le(x, y);
  return tir_and(tir_not(after, NULL), tir_eq(number, number));
}

/* One element of the merged run goes to place `k`: the left one unless the right one is better. */
static tn_stmt *merge_one(const order *s, tn_expr *k, tn_expr *middle, tn_expr *end) {
  tn_expr *l = place(s, PLACE_LEFT), *r = place(s, PLACE_RIGHT), *one = tir_i32(1);
  tn_expr *worse;
  tn_stmt *before = NULL;
  if (s->verdict) {
    before = compare_rows(s, load(s, s->from, l), load(s, s->from, r));
    before = ops_either(tir_and(tir_lt(l, middle), tir_lt(r, end)), before, NULL);
    worse = tir_le(tir_load(s->verdict, tn_arr_of(1, tir_i32(0))), tir_i32(0));
  } else {
    worse = tir_not(better(s, load(s, s->from, r), load(s, s->from, l)), NULL);
  }
  /* nothing is read behind the end of a run */
  worse = tir_if_then_else(tir_lt(r, end), worse, tir_bool(true), NULL);
  tn_expr *left = tir_if_then_else(tir_lt(l, middle), worse, tir_bool(false), NULL);
  tn_stmt *take_left = tir_seq2(tir_store(s->to, load(s, s->from, l), at(s, k)),
                                set_place(s, PLACE_LEFT, tir_add(l, one)));
  tn_stmt *take_right = tir_seq2(tir_store(s->to, load(s, s->from, r), at(s, k)),
                                 set_place(s, PLACE_RIGHT, tir_add(r, one)));
  tn_stmt *take = ops_either(left, take_left, take_right);
  return before ? tir_seq2(before, take) : take;
}

/* Merges all pairs of runs of `width` elements. */
static tn_stmt *merge_runs(const order *s, tn_expr *width) {
  tn_Var *pair = tir_var("pair", TN_I32), *k = tir_var("k", TN_I32), *c = tir_var("c", TN_I32);
  tn_expr *both = tir_mul(width, tir_i32(2)), *start = tir_mul((tn_expr *)pair, both);
  tn_expr *middle = tir_min(tir_add(start, width), s->n),
          *end = tir_min(tir_add(start, both), s->n);
  tn_stmt *merge = merge_one(s, tir_add(start, (tn_expr *)k), middle, end);
  tn_stmt *body =
      tir_seq2(tir_seq2(set_place(s, PLACE_LEFT, start), set_place(s, PLACE_RIGHT, middle)),
               ops_loop(k, tir_sub(end, start), merge));
  tn_stmt *copy = tir_store(s->from, load(s, s->to, (tn_expr *)c), at(s, (tn_expr *)c));
  return tir_seq2(ops_loop(pair, tir_ceildiv(s->n, both, NULL), body), ops_loop(c, s->n, copy));
}

static tn_stmt *sort_row(const order *s) {
  tn_Var *i = tir_var("i", TN_I32), *pass = tir_var("pass", TN_I32);
  int64_t n, passes = 31;
  if (tir_as_int((tn_obj *)s->n, &n)) {
    for (passes = 0; (INT64_C(1) << passes) < n;) ++passes;
  }
  tn_expr *width = tir_shift(TIR_OP_shift_left, tir_i32(1), (tn_expr *)pass, NULL);
  tn_stmt *start = tir_store(s->from, (tn_expr *)i, at(s, (tn_expr *)i));
  tn_stmt *merge = ops_either(tir_lt(width, s->n), merge_runs(s, width), NULL);
  return tir_seq2(ops_loop(i, s->n, start), ops_loop(pass, tir_i32((int32_t)passes), merge));
}

/* All rows; `to` and `places` are what else is written. */
static tn_Tensor *order_rows(const order *s, tn_Tensor *data, tn_stmt *body) {
  for (int64_t i = data->shape->len - 1; body && i >= 0; --i) {
    if (i != s->axis) body = ops_loop((tn_Var *)te_index(s->row, i), te_extent(data, i), body);
  }
  tn_arr *written =
      s->to ? tn_arr_of(3, s->from, s->to, s->places) : tn_arr_of(2, s->from, s->places);
  tn_arr *all = ops_extern("order", tn_arr_of(1, data), tn_arr_of(1, s->data), written, body);
  return all ? (tn_Tensor *)tn_arr_obj(all, 0) : NULL;
}

/* Indices along the axis, best first: int32, of the shape of data. */
static tn_Tensor *order_of(tn_Tensor *data, int64_t axis, bool ascend) {
  tn_arr *places = ops_with_index(data->shape, axis, tir_i32(2));
  order s = {.data = tir_buffer(data->shape, data->dtype, "data", ""),
             .from = tir_buffer(data->shape, TN_I32, "order", ""),
             .to = tir_buffer(data->shape, TN_I32, "merged", ""),
             .places = places ? tir_buffer(places, TN_I32, "places", "") : NULL,
             .axis = axis,
             .n = tir_cast(TN_I32, te_extent(data, axis), NULL),
             .ascend = ascend};
  TN_GETP(s.row, ops_loop_vars("r", data->shape->len));
  if (!s.data || !s.from || !s.to || !s.places || !s.n) return NULL;
  return order_rows(&s, data, sort_row(&s));
}

/* ---- the first few of the order ---- */

enum { MAX_KEPT = 64 };

/* Element i goes to its place among the k best so far, those it is better than move on; places[0]
   is where there is room. */
static tn_stmt *insert(const order *s, tn_expr *i, int64_t k) {
  tn_Var *step = tir_var("step", TN_I32);
  tn_expr *last = tir_i32((int32_t)k - 1), *room = load(s, s->places, tir_i32(0));
  tn_expr *p = tir_sub(last, (tn_expr *)step), *before = tir_sub(p, tir_i32(1));
  tn_expr *kept = load(s, s->from, before);
  tn_stmt *move =
      tir_seq2(tir_store(s->from, kept, at(s, p)), tir_store(s->places, before, at(s, tir_i32(0))));
  move = ops_either(tir_eq(p, room), ops_either(better(s, i, kept), move, NULL), NULL);
  return tir_seq2(tir_store(s->places, tir_min(i, last), at(s, tir_i32(0))),
                  tir_seq2(ops_loop(step, last, move),
                           tir_store(s->from, i, at(s, load(s, s->places, tir_i32(0))))));
}

/* Indices of the k best, of the shape of data with k along the axis. Few elements are better than
   the last of those that are kept: most cost one comparison. */
static tn_Tensor *best_of(tn_Tensor *data, int64_t axis, bool ascend, int64_t k) {
  tn_arr *kept = ops_with_index(data->shape, axis, tir_i32((int32_t)k)),
         *room = ops_with_index(data->shape, axis, tir_i32(1));
  if (!kept || !room) return NULL;
  order s = {.data = tir_buffer(data->shape, data->dtype, "data", ""),
             .from = tir_buffer(kept, TN_I32, "order", ""),
             .places = tir_buffer(room, TN_I32, "places", ""),
             .axis = axis,
             .n = tir_cast(TN_I32, te_extent(data, axis), NULL),
             .ascend = ascend};
  TN_GETP(s.row, ops_loop_vars("r", data->shape->len));
  if (!s.data || !s.from || !s.places || !s.n) return NULL;
  tn_Var *v = tir_var("i", TN_I32);
  tn_expr *i = (tn_expr *)v, *last = tir_i32((int32_t)k - 1);
  tn_stmt *later = ops_either(better(&s, i, load(&s, s.from, last)), insert(&s, i, k), NULL);
  tn_stmt *each = ops_either(tir_le(i, last), insert(&s, i, k), later);
  tn_Var *j = tir_var("j", TN_I32);
  tn_stmt *start = tir_store(s.from, tir_i32(0), at(&s, (tn_expr *)j)); /* all are indices */
  start = ops_loop(j, tir_i32((int32_t)k), start);
  return order_rows(&s, data, tir_seq2(start, ops_loop(v, s.n, each)));
}

/* May so few be found without sorting? */
static bool is_few(const tn_Tensor *data, int64_t axis, int64_t k) {
  int64_t n;
  return k > 0 && k <= MAX_KEPT && tir_as_int((tn_obj *)te_extent(data, axis), &n) && k * 4 <= n;
}

/* ---- computes ---- */

typedef struct {
  const tn_Tensor *data, *order;
  int64_t axis;
  tn_dtype dtype; /* of indices */
} picked;

static tn_expr *value(void *ctx, tn_arr *index) {
  const picked *p = ctx;
  tn_expr *i = ops_data_index(te_at(p->order, index), te_extent(p->data, p->axis), OPS_CLIP);
  return te_at(p->data, ops_with_index(index, p->axis, i));
}

static tn_expr *index_of(void *ctx, tn_arr *index) {
  const picked *p = ctx;
  return tir_cast(p->dtype, te_at(p->order, index), NULL);
}

/* @param k how many are needed; 0: all */
static int start(const relay_compute *c, picked *p, tn_dtype dtype, int64_t k) {
  tn_Tensor *data = relay_input(c, 0);
  *p = (picked){data, NULL, relay_attr_int(c->attrs, "axis", -1), or_int32(dtype)};
  if (p->axis < 0) p->axis += data->shape->len;
  bool ascend = relay_attr_int(c->attrs, "is_ascend", 1) != 0;
  TN_GET(p->order, is_few(data, p->axis, k) ? best_of(data, p->axis, ascend, k)
                                            : order_of(data, p->axis, ascend));
  return 0;
}

static tn_arr *compute_sort(const relay_compute *c) {
  picked p;
  TN_TRYP(start(c, &p, TN_I32, 0));
  return tn_arr_of(1, te_compute(p.data->shape, value, &p, "T_sort", TE_INJECTIVE));
}

static tn_arr *compute_argsort(const relay_compute *c) {
  picked p;
  TN_TRYP(start(c, &p, ((const tn_ArgsortAttrs *)c->attrs)->dtype, 0));
  return tn_arr_of(1, te_compute(p.data->shape, index_of, &p, "T_argsort", TE_INJECTIVE));
}

static tn_arr *top_of(const tn_TopKAttrs *a, const picked *p, tn_arr *shape) {
  void *ctx = (void *)(uintptr_t)p;
  TN_VEC(out);
  if (!shape) return NULL;
  if (!tn_str_eq(a->ret_type, "indices"))
    TN_TRYP(tn_vec_push_obj(&out, te_compute(shape, value, ctx, "T_topk_values", TE_INJECTIVE)));
  if (!tn_str_eq(a->ret_type, "values"))
    TN_TRYP(
        tn_vec_push_obj(&out, te_compute(shape, index_of, ctx, "T_topk_indices", TE_INJECTIVE)));
  return tn_arr_from(&out);
}

static tn_arr *compute_topk(const relay_compute *c) {
  const tn_TopKAttrs *a = c->attrs;
  picked p;
  TN_TRYP(start(c, &p, a->dtype, a->k));
  return top_of(a, &p, top_shape(a, p.data->shape));
}

/* How many there are is an extent of the results, which the shape function has computed. */
static tn_arr *compute_dyn_topk(const relay_compute *c) {
  picked p;
  tn_expr *k;
  TN_TRYP(start(c, &p, ((const tn_TopKAttrs *)c->attrs)->dtype, 0));
  TN_GETP(k, (tn_expr *)TN_MAKE(SizeVar, .name = tn_str_from("k"), .dtype = TN_I64));
  return top_of(c->attrs, &p, ops_with_index(p.data->shape, p.axis, k));
}

static tn_arr *shape_of_topk(const relay_shape_query *q) {
  const tn_TopKAttrs *a = q->attrs;
  tn_arr *shape = top_shape(a, relay_shape_of(q, 0));
  return tn_str_eq(a->ret_type, "both") ? tn_arr_of(2, shape, shape) : tn_arr_of(1, shape);
}

static tn_arr *shape_of_dyn_topk(const relay_shape_query *q) {
  const tn_TopKAttrs *a = q->attrs;
  tn_arr *in = relay_shape_of(q, 0), *shape;
  const tn_Tensor *t = q->values ? TN_AS(Tensor, tn_arr_obj(q->values, 1)) : NULL;
  int64_t axis = a->axis < 0 ? a->axis + in->len : a->axis;
  TN_CHECKP(t, OpNotImplemented, NULL, "dyn.topk: its shape function reads k");
  tn_expr *k = te_at(t, t->shape->len ? tn_arr_of(1, tir_i64(0)) : tn_arr_of(0)),
          *n = (tn_expr *)tn_arr_obj(in, axis);
  k = tir_cast(TN_I64, k, NULL);
  k = tir_select(tir_lt(k, tir_i64(1)), n, k, NULL);
  relay_take_for_granted(tir_le(k, n));
  TN_GETP(shape, ops_with_index(in, axis, k));
  return tn_str_eq(a->ret_type, "both") ? tn_arr_of(2, shape, shape) : tn_arr_of(1, shape);
}

/* ---- rows ---- */

/* Rows in order get the numbers 0, 1, ...; equal ones the same. */
static tn_arr *compute_rank_rows(const relay_compute *c) {
  tn_Tensor *data = relay_input(c, 0);
  tn_arr *one = tn_arr_of(1, tir_i32(1)), *length = tn_arr_of(1, tn_arr_obj(data->shape, 0));
  order s = {.data = tir_buffer(data->shape, data->dtype, "data", ""),
             .from = tir_buffer(length, TN_I32, "order", ""),
             .to = tir_buffer(length, TN_I32, "merged", ""),
             .places = tir_buffer(tn_arr_of(1, tir_i32(2)), TN_I32, "places", ""),
             .verdict = tir_buffer(one, TN_I32, "verdict", ""),
             .n = tir_cast(TN_I32, te_extent(data, 0), NULL)};
  tn_Buffer *rank = tir_buffer(length, TN_I32, "rank", "");
  TN_GETP(s.row, ops_loop_vars("r", 1));
  if (!s.data || !s.from || !s.to || !s.places || !s.verdict || !s.n || !rank) return NULL;
  tn_Var *j = tir_var("j", TN_I32);
  tn_expr *i = (tn_expr *)j, *zero = tir_i32(0), *before = tir_max(tir_sub(i, tir_i32(1)), zero);
  tn_expr *at_j = load(&s, s.from, i), *at_b = load(&s, s.from, before);
  tn_expr *differs = tir_ne(tir_load(s.verdict, tn_arr_of(1, zero)), zero);
  tn_expr *next = tir_add(tir_load(rank, tn_arr_of(1, at_b)), tir_cast(TN_I32, differs, NULL));
  tn_stmt *first = tir_store(rank, zero, tn_arr_of(1, at_j));
  tn_stmt *other =
      tir_seq2(compare_rows(&s, at_b, at_j), tir_store(rank, next, tn_arr_of(1, at_j)));
  tn_stmt *number = ops_loop(j, s.n, ops_either(tir_eq(i, zero), first, other));
  tn_arr *all = ops_extern("rank_rows", tn_arr_of(1, data), tn_arr_of(1, s.data),
                           tn_arr_of(5, rank, s.from, s.to, s.places, s.verdict),
                           tir_seq2(sort_row(&s), number));
  return all ? tn_arr_of(1, tn_arr_obj(all, 0)) : NULL;
}

/* ---- unique ---- */

enum { VALUES, INDICES, INVERSE, NUMBER, COUNTS, FIRST, NRESULTS };

/* Buffers of `unique`; `first` has for each element the place of the first one that is equal. */
typedef struct {
  tn_Buffer *data, *order, *out[NRESULTS];
  tn_expr *n;
} distinct;

static tn_arr *idx(void *i) { return tn_arr_of(1, i); }
static tn_expr *number(const distinct *u) { return tir_load(u->out[NUMBER], idx(tir_i32(0))); }

/* Element i, the first of its value, becomes the next of the results. */
static tn_stmt *begin_value(const distinct *u, tn_expr *i) {
  tn_expr *k = number(u), *zero = tir_i32(0);
  return tir_seq2(tir_seq2(tir_store(u->out[VALUES], tir_load(u->data, idx(i)), idx(k)),
                           tir_store(u->out[INDICES], i, idx(k))),
                  tir_seq2(tir_store(u->out[COUNTS], zero, idx(k)),
                           tir_store(u->out[NUMBER], tir_add(k, tir_i32(1)), idx(zero))));
}

/* Element i has the value at place k of the results. */
static tn_stmt *count_value(const distinct *u, tn_expr *i, tn_expr *k) {
  tn_expr *count = tir_load(u->out[COUNTS], idx(k));
  return tir_seq2(tir_store(u->out[INVERSE], k, idx(i)),
                  tir_store(u->out[COUNTS], tir_add(count, tir_i32(1)), idx(k)));
}

/* for j: i = order[j]; if data[i] != data[order[j - 1]]: a value begins; it is counted */
static tn_stmt *by_value(const distinct *u) {
  tn_Var *j = tir_var("j", TN_I32);
  tn_expr *one = tir_i32(1), *before = tir_max(tir_sub((tn_expr *)j, one), tir_i32(0));
  tn_expr *i = tir_load(u->order, idx(j)), *b = tir_load(u->order, idx(before));
  tn_expr *other = tir_ne(tir_load(u->data, idx(i)), tir_load(u->data, idx(b)));
  tn_expr *begins = tir_or(tir_eq((tn_expr *)j, tir_i32(0)), other);
  return ops_loop(j, u->n,
                  tir_seq2(ops_either(begins, begin_value(u, i), NULL),
                           count_value(u, i, tir_sub(number(u), one))));
}

/* The order is stable, so that the first of equal elements is the first in data too. */
static tn_stmt *by_place(const distinct *u) {
  tn_Var *j = tir_var("j", TN_I32), *e = tir_var("e", TN_I32);
  tn_expr *before = tir_max(tir_sub((tn_expr *)j, tir_i32(1)), tir_i32(0)), *i = (tn_expr *)e;
  tn_expr *at = tir_load(u->order, idx(j)), *b = tir_load(u->order, idx(before));
  tn_expr *other = tir_ne(tir_load(u->data, idx(at)), tir_load(u->data, idx(b)));
  tn_expr *begins = tir_or(tir_eq((tn_expr *)j, tir_i32(0)), other);
  tn_expr *first = tir_load(u->out[FIRST], idx(i));
  tn_stmt *find = ops_either(begins, tir_store(u->out[FIRST], at, idx(at)),
                             tir_store(u->out[FIRST], tir_load(u->out[FIRST], idx(b)), idx(at)));
  tn_stmt *begin = tir_seq2(tir_store(u->out[INVERSE], number(u), idx(i)), begin_value(u, i));
  return tir_seq2(ops_loop(j, u->n, find),
                  ops_loop(e, u->n,
                           tir_seq2(ops_either(tir_eq(first, i), begin, NULL),
                                    count_value(u, i, tir_load(u->out[INVERSE], idx(first))))));
}

/* What is behind the last value is 0. */
static tn_stmt *fill_rest(const distinct *u, int which) {
  tn_Var *i = tir_var("i", TN_I32);
  tn_Buffer *b = u->out[which];
  return ops_loop(i, tir_sub(u->n, number(u)),
                  tir_store(b, tir_zero(b->dtype), idx(tir_add(number(u), (tn_expr *)i))));
}

static tn_arr *compute_unique(const relay_compute *c) {
  const tn_UniqueAttrs *a = c->attrs;
  tn_Tensor *data = relay_input(c, 0), *sorted;
  TN_GETP(sorted, order_of(data, 0, true));
  distinct u = {.data = tir_buffer(data->shape, data->dtype, "data", ""),
                .order = tir_buffer(data->shape, TN_I32, "order", ""),
                .n = tir_cast(TN_I32, te_extent(data, 0), NULL)};
  static const char *const names[] = {"values", "indices", "inverse", "number", "counts", "first"};
  TN_VEC(results);
  TN_VEC(written);
  for (int i = 0; i < NRESULTS; ++i) {
    tn_arr *shape = i == NUMBER ? idx(tir_i32(1)) : data->shape;
    TN_GETP(u.out[i], tir_buffer(shape, i == VALUES ? data->dtype : TN_I32, names[i], ""));
    TN_TRYP(tn_vec_push_obj(&written, u.out[i]));
  }
  tn_stmt *body = tir_store(u.out[NUMBER], tir_i32(0), idx(tir_i32(0)));
  body = tir_seq2(body, a->sorted ? by_value(&u) : by_place(&u));
  body = tir_seq2(body, tir_seq2(fill_rest(&u, VALUES),
                                 tir_seq2(fill_rest(&u, INDICES), fill_rest(&u, COUNTS))));
  tn_arr *all = ops_extern("unique", tn_arr_of(2, data, sorted), tn_arr_of(2, u.data, u.order),
                           tn_arr_from(&written), body);
  for (int i = 0; all && i < (a->return_counts ? FIRST : COUNTS); ++i)
    TN_TRYP(tn_vec_push_obj(&results, tn_arr_obj(all, i)));
  return all ? tn_arr_from(&results) : NULL;
}

/* Lines of an axis are sorted wherever it lies; unique has no axes. */
static int layouts(relay_layouts *q) {
  return strcmp(q->row->name, "unique") == 0 ? 0 : ops_layouts_axis(q);
}

#define SORT(name_, Attrs, relation_, compute_, shape_, rel_name_, ...)                            \
  {                                                                                                \
    .name = name_, .inputs = "data", .attrs = &tn_type_##Attrs, .level = 6,                        \
    .pattern = RELAY_OPAQUE, .rel_name = rel_name_, .rel = relation_, .compute = compute_,         \
    .shape = shape_, .layouts = layouts, .doc = __VA_ARGS__                                        \
  }

static const relay_op_row rows[] = {
    SORT("sort", ArgsortAttrs, relate_sort, compute_sort, relay_shape_same, "Sort",
         "the elements in order along an axis; NaN is larger than any number",
         .precision = RELAY_FULL),
    SORT("argsort", ArgsortAttrs, relate_argsort, compute_argsort, relay_shape_same, "Argsort",
         "indices of the elements in order along an axis", .precision = RELAY_FULL),
    SORT("topk", TopKAttrs, relate_topk, compute_topk, shape_of_topk, "TopK",
         "the k best elements along an axis and their indices", .precision = RELAY_FULL),
    {.name = "dyn.topk",
     .inputs = "data k",
     .attrs = &tn_type_TopKAttrs,
     .level = 6,
     .pattern = RELAY_OPAQUE,
     .rel_name = "DynTopK",
     .rel = relate_dyn_topk,
     .compute = compute_dyn_topk,
     .shape = shape_of_dyn_topk,
     .data_mask = 2,
     .doc = "the best elements along an axis and their indices, as many as a tensor says"},
    {.name = "rank_rows",
     .inputs = "data",
     .level = 6,
     .pattern = RELAY_OPAQUE,
     .rel_name = "RankRows",
     .rel = relate_rank_rows,
     .compute = compute_rank_rows,
     .doc = "for each row of a matrix how many different rows are less, by the first column in "
            "which they differ"},
    SORT("unique", UniqueAttrs, relate_unique, compute_unique, NULL, "Unique",
         "the distinct elements, the places of their first ones, for each element which of them it "
         "is, their number, and the count of each; what is after the last one is 0"),
};

RELAY_FAMILY(sort, SORT_ATTRS)
