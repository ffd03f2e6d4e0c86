/* Tensors whose extents, or the extents of what is added to them, are given as tensors.

     dyn.full(%value, %shape)         %shape: Tensor[(2), int64]; result: (?, ?)
     dyn.tile(%x, %reps)              %x: (3), %reps: Tensor[(2), int64]; result: (?, ?)
     dyn.nn.pad(%x, %width, %value)   width[i] = elements before and after axis i */
#include <string.h>

#include "ir/expr.h"
#include "ir/imm.h"
#include "ops/dynamic.h"

#define TN_FIELDS_DynFullAttrs(F, S)                                                               \
  F(S, DTYPE, , dtype, 0, "type of the result; that of the value by default", "\"\"")
#define TN_FIELDS_DynOneHotAttrs(F, S)                                                             \
  F(S, I64, , axis, 0, "where the new axis is", "-1")                                              \
  F(S, DTYPE, , dtype, 0, "type of the result", "\"float32\"")
#define TN_FIELDS_DynPadAttrs(F, S)                                                                \
  F(S, REF, String, pad_mode, 0, "\"constant\", \"edge\" or \"reflect\"", "\"constant\"")
#define DYNAMIC_FILL_ATTRS(N)                                                                      \
  N(DynFullAttrs, Attrs, "relay.attrs.DynFullAttrs", NODE, TREE, tn_no_hooks,                      \
    "attributes of dyn.full")                                                                      \
  N(DynOneHotAttrs, Attrs, "relay.attrs.DynOneHotAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of dyn.one_hot")                                                                   \
  N(DynPadAttrs, Attrs, "relay.attrs.DynPadAttrs", NODE, TREE, tn_no_hooks,                        \
    "attributes of dyn.nn.pad")
TN_NODES_LOCAL(DYNAMIC_FILL_ATTRS)

/* ---- extents ---- */

tn_arr *ops_open_shape(int64_t n) {
  TN_VEC(v);
  for (int64_t i = 0; i < n; ++i) TN_TRYP(tn_vec_push_obj(&v, relay_any()));
  return tn_arr_from(&v);
}

tn_arr *ops_open_extents(const tn_TensorType *t) {
  TN_VEC(v);
  for (int64_t i = 0; i < t->shape->len; ++i) {
    tn_expr *e = relay_dim(t, i);
    if (relay_dim_is_any(e))
      TN_GETP(e, (tn_expr *)TN_MAKE(SizeVar, .name = tn_str_from("n"), .dtype = TN_I64));
    TN_GETP(e, tir_cast(TN_I64, e, NULL)); /* one type, so that loops can be merged */
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return tn_arr_from(&v);
}

tn_expr *ops_number_at(const relay_shape_query *q, int64_t arg, int64_t i) {
  const tn_Tensor *t = q->values ? TN_AS(Tensor, tn_arr_obj(q->values, arg)) : NULL;
  TN_CHECKP(t, OpNotImplemented, NULL, "%s: its shape function reads argument %lld", q->row->name,
            (long long)arg);
  int64_t n = i + 1;
  if (t->shape->len == 0) return tir_cast(TN_I64, te_at(t, tn_arr_of(0)), NULL);
  TN_ICHECKP(i >= 0 && (!relay_known_int(t->shape, 0, &n) || i < n));
  return tir_cast(TN_I64, te_at_of(t, 1, tir_i64(i)), NULL);
}

int ops_vector_length(relay_rel *r, int i, int64_t *n) {
  RELAY_TENSOR(t, r, i);
  RELAY_CHECK(r, ir_is_integral(t->dtype), "argument %d must be a vector of whole numbers, got %s",
              i, relay_type_text(t));
  return ops_numbers_length(r, i, n);
}

int ops_numbers_length(relay_rel *r, int i, int64_t *n) {
  RELAY_TENSOR(t, r, i);
  RELAY_CHECK(r, t->shape->len == 1, "argument %d must be a vector of whole numbers, got %s", i,
              relay_type_text(t));
  RELAY_CHECK(r, tir_as_int((tn_obj *)relay_dim(t, 0), n) && *n <= OPS_MAX_NDIM,
              "argument %d must have a length that is known: it is the number of dimensions", i);
  return RELAY_SOLVED;
}

typedef struct {
  const tn_Tensor *data;
  const tn_arr *shape;
} source;

/* ---- dyn.full, dyn.broadcast_to ---- */

/* The value is argument 0, the extents are argument 1. */
static int fill_relation(relay_rel *r) {
  const tn_DynFullAttrs *a = r->attrs;
  int64_t n;
  RELAY_TENSOR(value, r, 0);
  int known = ops_vector_length(r, 1, &n);
  if (known != RELAY_SOLVED) return known;
  tn_dtype t = a && a->dtype.bits ? a->dtype : value->dtype;
  return relay_rel_result(r, relay_tensor_type(ops_open_shape(n), t));
}

static tn_arr *given_shape(const relay_shape_query *q) {
  const tn_TensorType *out = TN_AS(TensorType, q->out_type);
  const tn_arr *in = relay_shape_of(q, 0);
  int64_t more = out->shape->len - in->len;
  TN_VEC(v);
  for (int64_t i = 0; i < out->shape->len; ++i) {
    tn_expr *d;
    TN_GETP(d, ops_number_at(q, 1, i));
    if (i >= more) {
      tn_expr *from = (tn_expr *)tn_arr_obj(in, i - more);
      relay_take_for_granted(tir_or(tir_eq(from, tir_i64(1)), tir_eq(from, d)));
    }
    TN_TRYP(tn_vec_push_obj(&v, d));
  }
  return tn_arr_of(1, tn_arr_from(&v));
}

static tn_expr *spread_element(void *ctx, tn_arr *at) {
  const source *s = ctx;
  return ops_broadcast_at(s->data, s->shape, at);
}

typedef struct {
  source from;
  tn_dtype dtype;
} cast_source;

static tn_expr *fill_element(void *ctx, tn_arr *at) {
  const cast_source *s = ctx;
  return tir_cast(s->dtype, spread_element((void *)(uintptr_t)&s->from, at), NULL);
}

static tn_arr *fill(const relay_compute *c) {
  cast_source s = {{.data = relay_input(c, 0), .shape = ops_open_extents(relay_out(c))},
                   relay_out(c)->dtype};
  if (!s.from.shape) return NULL;
  return tn_arr_of(
      1, te_compute((tn_arr *)(uintptr_t)s.from.shape, fill_element, &s, "T_full", TE_BROADCAST));
}

/* ---- dyn.zeros, dyn.ones ---- */

enum { ZEROS, ONES };

static int number_relation(relay_rel *r) {
  const tn_DynFullAttrs *a = r->attrs;
  int64_t n;
  int known = ops_vector_length(r, 0, &n);
  tn_dtype t = a && a->dtype.bits ? a->dtype : TN_F32;
  return known == RELAY_SOLVED ? relay_rel_result(r, relay_tensor_type(ops_open_shape(n), t))
                               : known;
}

static tn_arr *number_shape(const relay_shape_query *q) {
  TN_VEC(v);
  for (int64_t i = 0; i < TN_AS(TensorType, q->out_type)->shape->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, ops_number_at(q, 0, i)));
  return tn_arr_of(1, tn_arr_from(&v));
}

static tn_expr *number_element(void *ctx, tn_arr *at) {
  (void)at;
  return ctx;
}

static tn_arr *numbers(const relay_compute *c) {
  tn_dtype t = relay_out(c)->dtype;
  tn_expr *value = c->row->which == ONES ? tir_one(t) : tir_zero(t);
  tn_arr *shape = ops_open_extents(relay_out(c));
  if (!shape || !value) return NULL;
  return tn_arr_of(1, te_compute(shape, number_element, value, "T_full", TE_ELEMWISE));
}

/* ---- dyn.tile ---- */

static int tile_relation(relay_rel *r) {
  int64_t n;
  RELAY_TENSOR(data, r, 0);
  int known = ops_numbers_length(r, 1, &n); /* floats are cut off */
  if (known != RELAY_SOLVED) return known;
  int64_t rank = data->shape->len > n ? data->shape->len : n;
  return relay_rel_result(r, relay_tensor_type(ops_open_shape(rank), data->dtype));
}

/* The product of an extent and of the number of repetitions in a tensor. */
static tn_expr *repeated(tn_expr *extent, tn_expr *times) {
  tn_expr *most = tir_floordiv(tir_i64(INT64_MAX), tir_max(extent, tir_i64(1)));
  relay_take_for_granted(tir_and(tir_ge(times, tir_i64(0)), tir_le(times, most)));
  return tir_mul(extent, times);
}

/* Missing extents and numbers are 1, those of the first axes. */
static tn_arr *tile_shape(const relay_shape_query *q) {
  const tn_arr *in = relay_shape_of(q, 0);
  int64_t rank = TN_AS(TensorType, q->out_type)->shape->len, n = 0;
  TN_VEC(v);
  TN_ICHECKP(relay_known_int(relay_shape_of(q, 1), 0, &n)); /* the relation has seen it */
  for (int64_t i = 0; i < rank; ++i) {
    int64_t axis = i - (rank - in->len), k = i - (rank - n);
    tn_expr *e = axis < 0 ? tir_i64(1) : (tn_expr *)tn_arr_obj(in, axis);
    TN_TRYP(tn_vec_push_obj(&v, k < 0 ? e : repeated(e, ops_number_at(q, 1, k))));
  }
  return tn_arr_of(1, tn_arr_from(&v));
}

static tn_expr *tile_element(void *ctx, tn_arr *at) {
  const tn_Tensor *data = ctx;
  TN_VEC(v);
  for (int64_t i = 0; i < data->shape->len; ++i) {
    tn_expr *x = te_index(at, at->len - data->shape->len + i);
    TN_TRYP(tn_vec_push_obj(&v, tir_floormod(x, tir_cast(x->dtype, te_extent(data, i), NULL))));
  }
  return te_at(data, tn_arr_from(&v));
}

static tn_arr *tile(const relay_compute *c) {
  tn_arr *shape = ops_open_extents(relay_out(c));
  return shape ? tn_arr_of(
                     1, te_compute(shape, tile_element, relay_input(c, 0), "T_tile", TE_BROADCAST))
               : NULL;
}

/* ---- dyn.nn.pad ---- */

static int pad_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(width, r, 1);
  const char *mode = tn_cstr(((const tn_DynPadAttrs *)r->attrs)->pad_mode);
  bool pairs = width->shape->len == 2 && tir_is_const((tn_obj *)relay_dim(width, 1), 2) &&
               tir_is_const((tn_obj *)relay_dim(width, 0), data->shape->len);
  RELAY_CHECK(r, pairs && ir_is_integral(width->dtype),
              "pad_width must have a pair of whole numbers for each of %lld axes, got %s",
              (long long)data->shape->len, relay_type_text(width));
  RELAY_CHECK(
      r, strcmp(mode, "constant") == 0 || strcmp(mode, "edge") == 0 || strcmp(mode, "reflect") == 0,
      "unknown mode \"%s\"", mode);
  return relay_rel_result(r, relay_tensor_type(ops_open_shape(data->shape->len), data->dtype));
}

static tn_expr *width_at(const tn_Tensor *t, int64_t axis, int64_t which) {
  return tir_cast(TN_I64, te_at_of(t, 2, tir_i64(axis), tir_i64(which)), NULL);
}

/* Of a border: two of them and an extent fit into 64 bits. */
static const int64_t MAX_WIDTH = (int64_t)1 << 60;

static tn_arr *pad_shape(const relay_shape_query *q) {
  const tn_arr *in = relay_shape_of(q, 0);
  const tn_Tensor *t = q->values ? TN_AS(Tensor, tn_arr_obj(q->values, 1)) : NULL;
  TN_VEC(v);
  TN_CHECKP(t, OpNotImplemented, NULL, "dyn.nn.pad: its shape function reads pad_width");
  for (int64_t i = 0; i < in->len; ++i) {
    tn_expr *n = (tn_expr *)tn_arr_obj(in, i);
    for (int64_t side = 0; side < 2; ++side) {
      tn_expr *width = width_at(t, i, side);
      relay_take_for_granted(tir_le(width, tir_i64(MAX_WIDTH)));
      relay_take_for_granted(tir_ge(width, tir_i64(-MAX_WIDTH)));
      n = tir_add(n, width);
    }
    relay_take_for_granted(tir_ge(n, tir_i64(0)));
    TN_TRYP(tn_vec_push_obj(&v, n));
  }
  return tn_arr_of(1, tn_arr_from(&v));
}

/* The element that stands at place x of an axis, which may lie outside; `in` stays true where it
   does not. */
static tn_expr *pad_source(const char *mode, tn_expr *x, tn_expr *n, tn_expr **in) {
  if (strcmp(mode, "edge") == 0) return ops_border_index(OPS_EDGE, x, n, -1);
  if (strcmp(mode, "reflect") == 0) return ops_border_index(OPS_REFLECT, x, n, -1);
  return ops_data_index_if(x, n, OPS_CLIP, in);
}

static tn_expr *pad_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_Tensor *data = relay_input(c, 0), *width = relay_input(c, 1);
  const char *mode = tn_cstr(((const tn_DynPadAttrs *)c->attrs)->pad_mode);
  tn_expr *in = NULL;
  TN_VEC(v);
  for (int64_t i = 0; i < at->len; ++i) {
    tn_expr *x = tir_sub(tir_cast(TN_I64, te_index(at, i), NULL), width_at(width, i, 0));
    TN_TRYP(tn_vec_push_obj(&v, pad_source(mode, x, te_extent(data, i), &in)));
  }
  tn_expr *value = te_at(data, tn_arr_from(&v));
  if (!in) return value;
  return tir_if_then_else(in, value, tir_cast(data->dtype, te_at_of(relay_input(c, 2), 0), NULL),
                          NULL);
}

static tn_arr *pad(const relay_compute *c) {
  tn_arr *shape = ops_open_extents(relay_out(c));
  return shape ? tn_arr_of(
                     1, te_compute(shape, pad_element, (void *)(uintptr_t)c, "T_pad", TE_INJECTIVE))
               : NULL;
}

/* ---- dyn.one_hot ---- */

static int64_t new_axis(const void *attrs, int64_t rank) {
  int64_t axis = ((const tn_DynOneHotAttrs *)attrs)->axis;
  return axis < 0 ? axis + rank : axis;
}

/* The extents with another one in between. */
static tn_arr *with_axis(const tn_arr *shape, int64_t axis, tn_expr *e) {
  TN_VEC(v);
  for (int64_t i = 0; i <= shape->len; ++i) {
    if (i == axis) TN_TRYP(tn_vec_push_obj(&v, e));
    if (i < shape->len) TN_TRYP(tn_vec_push_obj(&v, tn_arr_obj(shape, i)));
  }
  return tn_arr_from(&v);
}

static int one_hot_relation(relay_rel *r) {
  const tn_DynOneHotAttrs *a = r->attrs;
  RELAY_TENSOR(indices, r, 0);
  RELAY_TENSOR(depth, r, 3);
  int64_t rank = indices->shape->len + 1;
  RELAY_CHECK(r, depth->shape->len == 0 && ir_is_integral(depth->dtype),
              "depth must be one whole number, got %s", relay_type_text(depth));
  if (relay_rel_axis(r, a->axis, rank) < 0) return RELAY_FAILED;
  tn_arr *shape = with_axis(indices->shape, new_axis(a, rank), relay_any());
  return relay_rel_result(r, relay_tensor_type(shape, a->dtype));
}

static tn_arr *one_hot_shape(const relay_shape_query *q) {
  const tn_arr *in = relay_shape_of(q, 0);
  const tn_Tensor *t = q->values ? TN_AS(Tensor, tn_arr_obj(q->values, 3)) : NULL;
  TN_CHECKP(t, OpNotImplemented, NULL, "dyn.one_hot: its shape function reads depth");
  tn_expr *depth = tir_cast(TN_I64, te_at_of(t, 0), NULL);
  relay_take_for_granted(tir_ge(depth, tir_i64(0)));
  return tn_arr_of(1, with_axis(in, new_axis(q->attrs, in->len + 1), depth));
}

static tn_expr *one_hot_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_DynOneHotAttrs *a = c->attrs;
  int64_t axis = new_axis(a, at->len);
  TN_VEC(v);
  for (int64_t i = 0; i < at->len; ++i)
    if (i != axis) TN_TRYP(tn_vec_push_obj(&v, te_index(at, i)));
  tn_expr *i, *on, *off;
  TN_GETP(i, te_at(relay_input(c, 0), tn_arr_from(&v)));
  TN_GETP(on, tir_cast(a->dtype, te_at_of(relay_input(c, 1), 0), NULL));
  TN_GETP(off, tir_cast(a->dtype, te_at_of(relay_input(c, 2), 0), NULL));
  return tir_select(tir_eq(i, tir_cast(i->dtype, te_index(at, axis), NULL)), on, off, NULL);
}

static tn_arr *one_hot(const relay_compute *c) {
  tn_arr *shape = ops_open_extents(relay_out(c));
  return shape ? tn_arr_of(1, te_compute(shape, one_hot_element, (void *)(uintptr_t)c, "T_one_hot",
                                         TE_INJECTIVE))
               : NULL;
}

static const relay_op_row rows[] = {
    OPS_DYNAMIC("dyn.full", "fill_value shape", &tn_type_DynFullAttrs, 2, "DynamicFull",
                fill_relation, given_shape, fill,
                "a tensor of one value, of the shape that another one holds"),
    OPS_DYNAMIC("dyn.broadcast_to", "data shape", NULL, 2, "DynamicBroadCastTo", fill_relation,
                given_shape, fill, "the tensor broadcast to the shape that another one holds"),
    OPS_DYNAMIC("dyn.zeros", "shape", &tn_type_DynFullAttrs, 1, "DynamicInitOp", number_relation,
                number_shape, numbers, "zeros of the shape that a tensor holds", .which = ZEROS),
    OPS_DYNAMIC("dyn.ones", "shape", &tn_type_DynFullAttrs, 1, "DynamicInitOp", number_relation,
                number_shape, numbers, "ones of the shape that a tensor holds", .which = ONES),
    OPS_DYNAMIC("dyn.tile", "data reps", NULL, 2, "DynamicTile", tile_relation, tile_shape, tile,
                "the tensor repeated along each axis as often as another one says"),
    OPS_DYNAMIC("dyn.nn.pad", "data pad_width pad_value", &tn_type_DynPadAttrs, 2, "DynamicPad",
                pad_relation, pad_shape, pad, "a border whose widths are given as a tensor"),
    OPS_DYNAMIC("dyn.one_hot", "indices on_value off_value depth", &tn_type_DynOneHotAttrs, 8,
                "DynamicOneHot", one_hot_relation, one_hot_shape, one_hot,
                "one value where the index says, another one elsewhere, along an axis as long as a "
                "tensor says"),
};

RELAY_FAMILY(dynamic_fill, DYNAMIC_FILL_ATTRS)
