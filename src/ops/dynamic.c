/* Operators whose extents are given as tensors, or depend on values: what the virtual machine
   computes with shapes that are known at run time only.

     dyn.reshape(%data, %newshape)    the result's extents are the elements of %newshape
     argwhere(%condition)             as many rows as there are elements that are not 0 */
#include "ir/expr.h"
#include "object/dtype.h"
#include "ops/dynamic.h"
#include "relay/op.h"
#include "te/build.h"
#include "tir/tir.h"

enum { MAX_NDIM = OPS_MAX_NDIM };

#define TN_FIELDS_DynReshapeAttrs(F, S)                                                            \
  F(S, BOOL, , allowzero, 0, "does 0 mean no elements, instead of the extent of data?", "False")
#define TN_FIELDS_DynSliceAttrs(F, S)                                                              \
  F(S, REF, String, slice_mode, 0, "\"end\" or \"size\": what the third argument holds", "\"end\"")
#define DYNAMIC_ATTRS(N)                                                                           \
  N(DynReshapeAttrs, Attrs, "relay.attrs.DynReshapeAttrs", NODE, TREE, tn_no_hooks,                \
    "attributes of dyn.reshape")                                                                   \
  N(DynSliceAttrs, Attrs, "relay.attrs.DynStridedSliceAttrs", NODE, TREE, tn_no_hooks,             \
    "attributes of dyn.strided_slice")
TN_NODES_LOCAL(DYNAMIC_ATTRS)

/* ---- dyn.reshape ---- */

static int reshape_relation(relay_rel *r) {
  int64_t n;
  RELAY_TENSOR(data, r, 0);
  int known = ops_vector_length(r, 1, &n);
  return known == RELAY_SOLVED
             ? relay_rel_result(r, relay_tensor_type(ops_open_shape(n), data->dtype))
             : known;
}

static tn_expr *product(const tn_arr *extents) {
  tn_expr *p = tir_i64(1);
  for (int64_t i = 0; i < extents->len; ++i) p = tir_mul(p, (tn_expr *)tn_arr_obj(extents, i));
  return p;
}

/* -1 is what is left, 0 the extent of data at that place. */
static tn_arr *reshape_shape(const relay_shape_query *q) {
  const tn_DynReshapeAttrs *a = q->attrs;
  const tn_arr *in = relay_shape_of(q, 0);
  const tn_TensorType *out = TN_AS(TensorType, q->out_type);
  tn_expr *zero = tir_i64(0), *one = tir_i64(1), *minus = tir_i64(-1), *known = one;
  TN_VEC(dims);
  TN_VEC(all);
  for (int64_t i = 0; i < out->shape->len; ++i) {
    tn_expr *d = ops_number_at(q, 1, i);
    bool copies = (!a || !a->allowzero) && i < in->len;
    if (copies) d = tir_select(tir_eq(d, zero), (tn_expr *)tn_arr_obj(in, i), d, NULL);
    known = tir_mul(known, tir_select(tir_eq(d, minus), one, d, NULL));
    TN_TRYP(tn_vec_push_obj(&dims, d));
  }
  tn_expr *rest = tir_floordiv(product(in), tir_max(known, one));
  for (int64_t i = 0; i < dims.len; ++i) {
    tn_expr *d = (tn_expr *)dims.items[i].v.obj;
    TN_TRYP(tn_vec_push_obj(&all, tir_select(tir_eq(d, minus), rest, d, NULL)));
  }
  tn_arr *shape;
  TN_GETP(shape, tn_arr_from(&all));
  relay_take_for_granted(tir_eq(product(in), product(shape)));
  return tn_arr_of(1, shape);
}

typedef struct {
  const tn_Tensor *data, *begin, *strides;
  const tn_arr *shape;
} source;

/* The place in row-major order, and from it the indices of data. */
static tn_expr *reshape_element(void *ctx, tn_arr *at) {
  const source *s = ctx;
  tn_expr *place = tir_i64(0), *index[MAX_NDIM];
  for (int64_t i = 0; i < at->len; ++i)
    place = tir_add(tir_mul(place, tir_cast(TN_I64, (tn_expr *)tn_arr_obj(s->shape, i), NULL)),
                    tir_cast(TN_I64, te_index(at, i), NULL));
  for (int64_t i = s->data->shape->len; i-- > 0;) {
    tn_expr *extent = tir_cast(TN_I64, te_extent(s->data, i), NULL);
    index[i] = i ? tir_floormod(place, extent) : place;
    place = i ? tir_floordiv(place, extent) : place;
  }
  TN_VEC(v);
  for (int64_t i = 0; i < s->data->shape->len; ++i) TN_TRYP(tn_vec_push_obj(&v, index[i]));
  return te_at(s->data, tn_arr_from(&v));
}

tn_arr *ops_reshape_open(const relay_compute *c) {
  source s = {.data = relay_input(c, 0), .shape = ops_open_extents(relay_out(c))};
  if (!s.shape) return NULL;
  return tn_arr_of(
      1, te_compute((tn_arr *)(uintptr_t)s.shape, reshape_element, &s, "T_reshape", TE_INJECTIVE));
}

/* ---- dyn.strided_slice ---- */

/* Axes beyond a vector's end are whole: begin is 0, end their extent, the stride 1. */
static int slice_relation(relay_rel *r) {
  int64_t n = 0;
  RELAY_TENSOR(data, r, 0);
  for (int i = 1; i < 4; ++i) {
    int64_t len;
    int known = ops_vector_length(r, i, &len);
    if (known != RELAY_SOLVED) return known;
    RELAY_CHECK(r, len <= data->shape->len, "argument %d has %lld numbers, data %lld dimensions", i,
                (long long)len, (long long)data->shape->len);
    n = len > n ? len : n;
  }
  TN_VEC(v);
  for (int64_t i = 0; i < data->shape->len; ++i)
    if (tn_vec_push_obj(&v, i < n ? relay_any() : relay_dim(data, i))) return RELAY_FAILED;
  return relay_rel_result(r, relay_tensor_type(tn_arr_from(&v), data->dtype));
}

/* A number that may be anything, brought back to where it can be computed with: it is beyond all
   elements still. */
static tn_expr *near(tn_expr *e) {
  return tir_min(tir_max(e, tir_i64(-(INT64_MAX / 4))), tir_i64(INT64_MAX / 4));
}

/* The first index that is taken: counted from the end where negative, inside of the axis. */
static tn_expr *first_index(tn_expr *begin, tn_expr *extent, tn_expr *stride) {
  tn_expr *zero = tir_i64(0), *back = tir_lt(stride, zero);
  tn_expr *b = tir_select(tir_lt(begin, zero), tir_add(begin, extent), begin, NULL);
  tn_expr *low = tir_select(back, tir_i64(-1), zero, NULL),
          *high = tir_select(back, tir_sub(extent, tir_i64(1)), extent, NULL);
  return tir_min(tir_max(b, low), high);
}

static tn_arr *slice_shape(const relay_shape_query *q) {
  const tn_DynSliceAttrs *a = q->attrs;
  bool by_size = a && tn_str_eq(a->slice_mode, "size");
  const tn_arr *in = relay_shape_of(q, 0);
  int64_t n[4] = {0};
  tn_expr *zero = tir_i64(0), *one = tir_i64(1);
  TN_VEC(v);
  for (int i = 1; i < 4; ++i) /* the relation has seen them */
    TN_ICHECKP(relay_known_int(relay_shape_of(q, i), 0, &n[i]));
  for (int64_t i = 0; i < in->len; ++i) {
    tn_expr *extent = (tn_expr *)tn_arr_obj(in, i);
    if (i < n[1] || i < n[2] || i < n[3]) {
      tn_expr *step = by_size || i >= n[3] ? one : near(ops_number_at(q, 3, i));
      tn_expr *last = i < n[2] ? near(ops_number_at(q, 2, i)) : by_size ? tir_i64(-1) : extent;
      tn_expr *begin = first_index(i < n[1] ? ops_number_at(q, 1, i) : zero, extent, step);
      if (by_size) last = tir_select(tir_lt(last, zero), extent, tir_add(begin, last), NULL);
      tn_expr *end = first_index(last, extent, step);
      tn_expr *width =
          tir_select(tir_lt(step, zero), tir_sub(begin, end), tir_sub(end, begin), NULL);
      tn_expr *size = tir_max(step, tir_sub(zero, step));
      relay_take_for_granted(tir_ne(step, zero));
      tn_expr *steps = tir_floordiv(tir_sub(width, one), tir_max(size, one));
      extent = tir_max(tir_add(steps, one), zero);
    }
    TN_TRYP(tn_vec_push_obj(&v, extent));
  }
  return tn_arr_of(1, tn_arr_from(&v));
}

static int64_t length_of(const tn_Tensor *t) {
  int64_t n = 0;
  return t && relay_known_int(t->shape, 0, &n) ? n : 0;
}

/* The i-th number of a vector, or what stands beyond its end. */
static tn_expr *number_or(const tn_Tensor *t, int64_t i, int64_t beyond) {
  if (i >= length_of(t)) return tir_i64(beyond);
  return near(tir_cast(TN_I64, te_at_of(t, 1, tir_i64(i)), NULL));
}

static tn_expr *slice_element(void *ctx, tn_arr *at) {
  const source *s = ctx;
  TN_VEC(v);
  for (int64_t i = 0; i < at->len; ++i) {
    tn_expr *index = tir_cast(TN_I64, te_index(at, i), NULL);
    if (i < length_of(s->begin) || i < length_of(s->strides)) {
      tn_expr *step = number_or(s->strides, i, 1), *begin = number_or(s->begin, i, 0);
      begin = first_index(begin, tir_cast(TN_I64, te_extent(s->data, i), NULL), step);
      index = tir_add(begin, tir_mul(index, step)); /* within, says the shape function */
      index = ops_data_index(index, te_extent(s->data, i), OPS_CLIP);
    }
    TN_TRYP(tn_vec_push_obj(&v, index));
  }
  return te_at(s->data, tn_arr_from(&v));
}

static tn_arr *slice(const relay_compute *c) {
  const tn_DynSliceAttrs *a = c->attrs;
  bool by_size = a && tn_str_eq(a->slice_mode, "size");
  source s = {.data = relay_input(c, 0),
              .begin = relay_input(c, 1),
              .strides = by_size ? NULL : relay_input(c, 3),
              .shape = ops_open_extents(relay_out(c))};
  if (!s.shape) return NULL;
  return tn_arr_of(1, te_compute((tn_arr *)(uintptr_t)s.shape, slice_element, &s, "T_strided_slice",
                                 TE_INJECTIVE));
}

/* ---- argwhere ---- */

static int argwhere_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  return relay_rel_result(
      r, relay_tensor_type(tn_arr_of(2, relay_any(), tir_i32((int32_t)data->shape->len)), TN_I32));
}

/* Is an element not 0? */
static tn_expr *is_set(const tn_Tensor *t, tn_arr *at) {
  tn_expr *e = te_at(t, at);
  return ir_is_bool(t->dtype) ? e : tir_ne(e, tir_zero(t->dtype));
}

static tn_expr *count_element(void *ctx, tn_arr *at) {
  const tn_Tensor *t = ctx;
  TN_VEC(axes);
  TN_VEC(index);
  (void)at;
  for (int64_t i = 0; i < t->shape->len; ++i) {
    tn_IterVar *k = te_reduce_axis(te_extent(t, i), "k");
    TN_TRYP(tn_vec_push_obj(&axes, k));
    TN_TRYP(tn_vec_push_obj(&index, k ? k->var : NULL));
  }
  return te_reduce(TE_SUM, tir_cast(TN_I64, is_set(t, tn_arr_from(&index)), NULL),
                   tn_arr_from(&axes), NULL);
}

static tn_arr *argwhere_shape(const relay_shape_query *q) {
  const tn_Tensor *t = q->values ? TN_AS(Tensor, tn_arr_obj(q->values, 0)) : NULL;
  tn_expr *n;
  TN_CHECKP(t, OpNotImplemented, NULL, "argwhere: its shape function reads the condition");
  if (t->shape->len == 0) n = tir_cast(TN_I64, is_set(t, tn_arr_of(0)), NULL);
  else {
    tn_Tensor *count;
    TN_GETP(count, te_compute(tn_arr_of(1, tir_i64(1)), count_element, (void *)(uintptr_t)t,
                              "count", TE_COMM_REDUCE));
    n = te_at_of(count, 1, tir_i64(0));
  }
  return tn_arr_of(1, tn_arr_of(2, n, tir_i64(t->shape->len)));
}

/* for i: for j: if data[i, j] != 0 and there is room: out[n, 0] = i; out[n, 1] = j; n += 1
   Rows behind them, where more are wanted than there are, hold 0. */
static tn_arr *argwhere(const relay_compute *c) {
  tn_Tensor *data = relay_input(c, 0);
  tn_arr *shape, *vars;
  TN_GETP(shape, ops_open_extents(relay_out(c)));
  TN_GETP(vars, ops_loop_vars("i", data->shape->len));
  tn_Buffer *in = tir_buffer(data->shape, data->dtype, "data", ""),
            *out = tir_buffer(shape, TN_I32, "places", ""),
            *next = tir_buffer(tn_arr_of(1, tir_i32(1)), TN_I32, "next", "");
  tn_expr *zero = tir_i32(0), *n = next ? tir_load(next, tn_arr_of(1, zero)) : NULL;
  if (!in || !out || !n) return NULL;
  tn_stmt *body = tir_store(next, tir_add(n, tir_i32(1)), tn_arr_of(1, zero));
  for (int64_t i = data->shape->len - 1; i >= 0; --i)
    body = tir_seq2(tir_store(out, tir_cast(TN_I32, te_index(vars, i), NULL),
                              tn_arr_of(2, n, tir_i32((int32_t)i))),
                    body);
  tn_expr *e = tir_load(in, vars), *rows = tir_cast(TN_I32, (tn_expr *)tn_arr_obj(shape, 0), NULL);
  e = ir_is_bool(data->dtype) ? e : tir_ne(e, tir_zero(data->dtype));
  body = ops_either(tir_and(e, tir_lt(n, rows)), body, NULL);
  for (int64_t i = data->shape->len - 1; i >= 0; --i)
    body = ops_loop((tn_Var *)te_index(vars, i), te_extent(data, i), body);
  body = tir_seq2(tir_store(next, zero, tn_arr_of(1, zero)), body);
  tn_Var *more = tir_var("more", TN_I32), *axis = tir_var("axis", TN_I32);
  tn_stmt *fill = tir_store(out, zero, tn_arr_of(2, tir_add(n, (tn_expr *)more), axis));
  fill = ops_loop(axis, tir_i32((int32_t)data->shape->len), fill);
  body = tir_seq2(body, ops_loop(more, tir_sub(rows, n), fill));
  tn_arr *all =
      ops_extern("argwhere", tn_arr_of(1, data), tn_arr_of(1, in), tn_arr_of(2, out, next), body);
  return all ? tn_arr_of(1, tn_arr_obj(all, 0)) : NULL;
}

static const relay_op_row rows[] = {
    OPS_DYNAMIC("dyn.reshape", "data newshape", &tn_type_DynReshapeAttrs, 2, "DynamicReshape",
                reshape_relation, reshape_shape, ops_reshape_open,
                "the tensor in the shape that another one holds: -1 what is left, 0 as it was",
                .grads = "(reshape_like(%d, %a), ())"),
    OPS_DYNAMIC("dyn.strided_slice", "data begin end strides", &tn_type_DynSliceAttrs, 14,
                "DynamicStridedSlice", slice_relation, slice_shape, slice,
                "a part of a tensor whose bounds are tensors"),
    OPS_DYNAMIC("argwhere", "condition", NULL, 1, "ArgWhere", argwhere_relation, argwhere_shape,
                argwhere, "indices of the elements that are not 0, one row each, int32"),
};

RELAY_FAMILY(dynamic, DYNAMIC_ATTRS)
