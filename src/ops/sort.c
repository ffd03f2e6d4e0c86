/* Sorting along an axis: sort, argsort, topk.

     topk(%x, k=2)    Tensor[(3, 8), float32] -> (Tensor[(3, 2), float32], Tensor[(3, 2), int32])

   The order is found by merging runs of 1, 2, 4, ... elements, in a statement of loops: equal
   elements keep their order, and no library is called. What follows picks elements by it. */
#include <string.h>

#include "ir/imm.h"
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
#define SORT_ATTRS(N)                                                                              \
  N(ArgsortAttrs, Attrs, "relay.attrs.ArgsortAttrs", NODE, TREE, tn_no_hooks,                      \
    "attributes of sort and argsort")                                                              \
  N(TopKAttrs, Attrs, "relay.attrs.TopkAttrs", NODE, TREE, tn_no_hooks, "attributes of topk")
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
  TN_VEC(out);
  for (int64_t i = 0; i < shape->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(shape, i);
    TN_TRYP(tn_vec_push_obj(&out, i == axis && a->k > 0 ? tir_const_int(e->dtype, a->k) : e));
  }
  return tn_arr_from(&out);
}

static int relate_topk(relay_rel *r) {
  const tn_TopKAttrs *a = r->attrs;
  int64_t n;
  RELAY_TENSOR(data, r, 0);
  int64_t axis = relay_rel_axis(r, a->axis, data->shape->len);
  if (axis < 0) return RELAY_FAILED;
  RELAY_CHECK(r, !tir_as_int((tn_obj *)relay_dim(data, axis), &n) || a->k <= n,
              "k=%lld is more than the %lld elements there are", (long long)a->k, (long long)n);
  tn_arr *shape = top_shape(a, data->shape);
  tn_TensorType *values = relay_tensor_type(shape, data->dtype),
                *indices = relay_tensor_type(shape, or_int32(a->dtype));
  if (tn_str_eq(a->ret_type, "values")) return relay_rel_result(r, values);
  if (tn_str_eq(a->ret_type, "indices")) return relay_rel_result(r, indices);
  RELAY_CHECK(r, tn_str_eq(a->ret_type, "both"), "ret_type must be both, values or indices, got %s",
              tn_cstr(a->ret_type));
  return relay_rel_result(r, relay_tuple_type(tn_arr_of(2, values, indices)));
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
} order;

static tn_arr *at(const order *s, tn_expr *i) {
  TN_VEC(v);
  for (int64_t k = 0; k < s->data->shape->len; ++k)
    TN_TRYP(tn_vec_push_obj(&v, k == s->axis ? i : te_index(s->row, k)));
  return tn_arr_from(&v);
}

static tn_expr *load(const order *s, tn_Buffer *b, tn_expr *i) { return tir_load(b, at(s, i)); }
static tn_expr *place(const order *s, int which) { return load(s, s->places, tir_i32(which)); }

static tn_stmt *set_place(const order *s, int which, tn_expr *value) {
  return tir_store(s->places, value, at(s, tir_i32(which)));
}

/* One element of the merged run goes to place `k`: the left one unless the right one is better. */
static tn_stmt *merge_one(const order *s, tn_expr *k, tn_expr *middle, tn_expr *end) {
  tn_expr *l = place(s, PLACE_LEFT), *r = place(s, PLACE_RIGHT), *one = tir_i32(1);
  tn_expr *x = load(s, s->data, load(s, s->from, l)), *y = load(s, s->data, load(s, s->from, r));
  tn_expr *worse = tir_not(s->ascend ? tir_lt(y, x) : tir_gt(y, x), NULL);
  /* nothing is read behind the end of a run */
  worse = tir_if_then_else(tir_lt(r, end), worse, tir_bool(true), NULL);
  tn_expr *left = tir_if_then_else(tir_lt(l, middle), worse, tir_bool(false), NULL);
  tn_stmt *take_left = tir_seq2(tir_store(s->to, load(s, s->from, l), at(s, k)),
                                set_place(s, PLACE_LEFT, tir_add(l, one)));
  tn_stmt *take_right = tir_seq2(tir_store(s->to, load(s, s->from, r), at(s, k)),
                                 set_place(s, PLACE_RIGHT, tir_add(r, one)));
  return ops_either(left, take_left, take_right);
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
  tn_stmt *body = sort_row(&s);
  for (int64_t i = data->shape->len - 1; body && i >= 0; --i) {
    if (i != axis) body = ops_loop((tn_Var *)te_index(s.row, i), te_extent(data, i), body);
  }
  tn_arr *all = ops_extern("order", tn_arr_of(1, data), tn_arr_of(1, s.data),
                           tn_arr_of(3, s.from, s.to, s.places), body);
  return all ? (tn_Tensor *)tn_arr_obj(all, 0) : NULL;
}

/* ---- computes ---- */

typedef struct {
  const tn_Tensor *data, *order;
  int64_t axis;
  tn_dtype dtype; /* of indices */
} picked;

static tn_expr *value(void *ctx, tn_arr *index) {
  const picked *p = ctx;
  return te_at(p->data, ops_with_index(index, p->axis, te_at(p->order, index)));
}

static tn_expr *index_of(void *ctx, tn_arr *index) {
  const picked *p = ctx;
  return tir_cast(p->dtype, te_at(p->order, index), NULL);
}

static int start(const relay_compute *c, picked *p, tn_dtype dtype) {
  tn_Tensor *data = relay_input(c, 0);
  *p = (picked){data, NULL, relay_attr_int(c->attrs, "axis", -1), or_int32(dtype)};
  if (p->axis < 0) p->axis += data->shape->len;
  TN_GET(p->order, order_of(data, p->axis, relay_attr_int(c->attrs, "is_ascend", 1) != 0));
  return 0;
}

static tn_arr *compute_sort(const relay_compute *c) {
  picked p;
  TN_TRYP(start(c, &p, TN_I32));
  return tn_arr_of(1, te_compute(p.data->shape, value, &p, "T_sort", TE_INJECTIVE));
}

static tn_arr *compute_argsort(const relay_compute *c) {
  picked p;
  TN_TRYP(start(c, &p, ((const tn_ArgsortAttrs *)c->attrs)->dtype));
  return tn_arr_of(1, te_compute(p.data->shape, index_of, &p, "T_argsort", TE_INJECTIVE));
}

static tn_arr *compute_topk(const relay_compute *c) {
  const tn_TopKAttrs *a = c->attrs;
  picked p;
  TN_TRYP(start(c, &p, a->dtype));
  tn_arr *shape = top_shape(a, p.data->shape);
  TN_VEC(out);
  if (!shape) return NULL;
  if (!tn_str_eq(a->ret_type, "indices"))
    TN_TRYP(tn_vec_push_obj(&out, te_compute(shape, value, &p, "T_topk_values", TE_INJECTIVE)));
  if (!tn_str_eq(a->ret_type, "values"))
    TN_TRYP(tn_vec_push_obj(&out, te_compute(shape, index_of, &p, "T_topk_indices", TE_INJECTIVE)));
  return tn_arr_from(&out);
}

static tn_arr *shape_of_topk(const relay_shape_query *q) {
  const tn_TopKAttrs *a = q->attrs;
  tn_arr *shape = top_shape(a, relay_shape_of(q, 0));
  return tn_str_eq(a->ret_type, "both") ? tn_arr_of(2, shape, shape) : tn_arr_of(1, shape);
}

#define SORT(name_, Attrs, relation_, compute_, shape_, rel_name_, doc_)                           \
  {                                                                                                \
    .name = name_, .inputs = "data", .attrs = &tn_type_##Attrs, .level = 6,                        \
    .pattern = RELAY_OPAQUE, .rel_name = rel_name_, .rel = relation_, .compute = compute_,         \
    .shape = shape_, .doc = doc_                                                                   \
  }

static const relay_op_row rows[] = {
    SORT("sort", ArgsortAttrs, relate_sort, compute_sort, relay_shape_same, "Sort",
         "the elements in order along an axis"),
    SORT("argsort", ArgsortAttrs, relate_argsort, compute_argsort, relay_shape_same, "Argsort",
         "indices of the elements in order along an axis"),
    SORT("topk", TopKAttrs, relate_topk, compute_topk, shape_of_topk, "TopK",
         "the k best elements along an axis and their indices"),
};

RELAY_FAMILY(sort, SORT_ATTRS)
