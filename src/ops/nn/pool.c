/* Pooling: the largest or the mean of a window that slides over the spatial axes.

     nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2])
         Tensor[(1, 8, 8, 8), float32] -> Tensor[(1, 8, 4, 4), float32]

   The mean counts what is data, and the border too when count_include_pad is set. With ceil_mode
   the last window may reach over the end; what is there is never counted. It may even begin in the
   border after the data: its mean is 0 then (that of the border when that counts, the same), its
   largest element the least number of the type. Importers whose format has no such window cut it
   off. */
#include <string.h>

#include "ir/imm.h"
#include "ops/gradients.h"
#include "ops/layout.h"
#include "ops/ops.h"
#include "tir/layout.h"

#define POOL_FIELDS(F, S, ones, zeros, layout_)                                                    \
  F(S, REF, Array, pool_size, TN_INTS, "extents of the window")                                    \
  F(S, REF, Array, strides, TN_INTS, "steps of the window", ones)                                  \
  F(S, REF, Array, dilation, TN_INTS, "distance of neighbouring elements of the window", ones)     \
  F(S, REF, Array, padding, TN_INTS,                                                               \
    "border: one number, one for each axis, or those before and after", zeros)                     \
  F(S, REF, String, layout, 0, "layout of data", layout_)                                          \
  F(S, REF, String, out_layout, 0, "layout of the result, that of data when empty", "\"\"")        \
  F(S, BOOL, , ceil_mode, 0, "round the extents of the result up", "False")
#define COUNT_FIELD(F, S)                                                                          \
  F(S, BOOL, , count_include_pad, 0, "does the border count in the mean?", "False")
#define TN_FIELDS_MaxPool1DAttrs(F, S) POOL_FIELDS(F, S, "[1]", "[0]", "\"NCW\"")
#define TN_FIELDS_MaxPool2DAttrs(F, S) POOL_FIELDS(F, S, "[1, 1]", "[0, 0]", "\"NCHW\"")
#define TN_FIELDS_MaxPool3DAttrs(F, S) POOL_FIELDS(F, S, "[1, 1, 1]", "[0, 0, 0]", "\"NCDHW\"")
#define TN_FIELDS_AvgPool1DAttrs(F, S) TN_FIELDS_MaxPool1DAttrs(F, S) COUNT_FIELD(F, S)
#define TN_FIELDS_AvgPool2DAttrs(F, S) TN_FIELDS_MaxPool2DAttrs(F, S) COUNT_FIELD(F, S)
#define TN_FIELDS_AvgPool3DAttrs(F, S) TN_FIELDS_MaxPool3DAttrs(F, S) COUNT_FIELD(F, S)
#define POOL_ATTRS(N)                                                                              \
  N(MaxPool1DAttrs, Attrs, "relay.attrs.MaxPool1DAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of nn.max_pool1d")                                                                 \
  N(MaxPool2DAttrs, Attrs, "relay.attrs.MaxPool2DAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of nn.max_pool2d")                                                                 \
  N(MaxPool3DAttrs, Attrs, "relay.attrs.MaxPool3DAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of nn.max_pool3d")                                                                 \
  N(AvgPool1DAttrs, Attrs, "relay.attrs.AvgPool1DAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of nn.avg_pool1d")                                                                 \
  N(AvgPool2DAttrs, Attrs, "relay.attrs.AvgPool2DAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of nn.avg_pool2d")                                                                 \
  N(AvgPool3DAttrs, Attrs, "relay.attrs.AvgPool3DAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of nn.avg_pool3d")
TN_NODES_LOCAL(POOL_ATTRS)

enum { MAX_SPATIAL = 3 };

/* row->which: the number of spatial axes, negative for means */
typedef struct {
  const tn_Layout *layout;
  tn_Tensor *data, *padded, *sum;
  int n;
  bool ceil, count_border;
  int64_t axis[MAX_SPATIAL], size[MAX_SPATIAL], stride[MAX_SPATIAL], dilation[MAX_SPATIAL];
  int64_t before[MAX_SPATIAL], after[MAX_SPATIAL]; /* border that was asked for */
} pool;

static const char *letters(int n) { return &"DHW"[MAX_SPATIAL - n]; }

static int read_pool(const void *attrs, int n, pool *p) {
  *p = (pool){.n = n,
              .ceil = relay_attr_int(attrs, "ceil_mode", 0) != 0,
              .count_border = relay_attr_int(attrs, "count_include_pad", 0) != 0};
  const char *layout = relay_attr_str(attrs, "layout"), *out = relay_attr_str(attrs, "out_layout");
  const tn_arr *size = relay_attr_obj(attrs, "pool_size"),
               *strides = relay_attr_obj(attrs, "strides"),
               *dilation = relay_attr_obj(attrs, "dilation");
  TN_GET(p->layout, tir_layout(layout, TN_I32));
  TN_CHECK(!*out || strcmp(out, layout) == 0, ValueError, NULL,
           "out_layout %s differs from layout %s", out, layout);
  TN_CHECK(size && size->len == n && strides->len == n && dilation->len == n, ValueError, NULL,
           "pool_size, strides and dilation must have %d numbers", n);
  TN_TRY(ops_get_pads(relay_attr_obj(attrs, "padding"), n, p->before, p->after, "padding"));
  for (int i = 0; i < n; ++i) {
    char letter = letters(n)[i];
    p->axis[i] = tir_layout_index(p->layout, letter);
    p->size[i] = relay_listed(size, i);
    p->stride[i] = relay_listed(strides, i);
    p->dilation[i] = relay_listed(dilation, i);
    TN_CHECK(p->axis[i] >= 0 && tir_layout_factor(p->layout, letter) < 0, ValueError, NULL,
             "Unsupported layout %s: axis %c must be there and not be split", layout, letter);
    TN_CHECK(p->size[i] > 0 && p->stride[i] > 0 && p->dilation[i] > 0, ValueError, NULL,
             "pool_size, strides and dilation must be positive");
    TN_TRY(ops_check_32_bits("pool_size", p->size[i]) ||
           ops_check_32_bits("strides", p->stride[i]) ||
           ops_check_32_bits("dilation", p->dilation[i]));
  }
  return 0;
}

static int ndim_of(const relay_op_row *row) {
  return (int)(row->which < 0 ? -row->which : row->which);
}

/* What ceil_mode adds to the border after axis i. */
static int64_t reach(const pool *p, int i) { return p->ceil ? p->stride[i] - 1 : 0; }

static tn_expr *pooled(const pool *p, int k, tn_expr *x) {
  return ops_window_extent(x, relay_dim_int(p->size[k]), p->before[k] + p->after[k] + reach(p, k),
                           p->stride[k], p->dilation[k]);
}

static tn_arr *out_shape(const pool *p, const tn_arr *data) {
  TN_VEC(out);
  for (int64_t i = 0; i < data->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(data, i);
    for (int k = 0; k < p->n; ++k) {
      if (p->axis[k] == i) e = pooled(p, k, e);
    }
    TN_TRYP(tn_vec_push_obj(&out, e));
  }
  return tn_arr_from(&out);
}

static int relation(relay_rel *r) {
  pool p;
  RELAY_TENSOR(data, r, 0);
  if (read_pool(r->attrs, ndim_of(relay_op_row_of((const tn_obj *)r->op)), &p))
    return ops_rel_failed(r);
  RELAY_CHECK(r, data->shape->len == p.layout->axes->len, "data %s does not have the layout %s",
              relay_type_text(data), relay_attr_str(r->attrs, "layout"));
  return relay_rel_result(r, relay_tensor_type(out_shape(&p, data->shape), data->dtype));
}

/* ---- compute ---- */

static tn_Tensor *with_border(const pool *p, tn_expr *value) {
  int64_t before[OPS_MAX_NDIM] = {0}, after[OPS_MAX_NDIM] = {0};
  for (int i = 0; i < p->n; ++i) {
    before[p->axis[i]] = p->before[i];
    after[p->axis[i]] = p->after[i] + reach(p, i);
  }
  return ops_pad(p->data, before, after, value, "pad_temp");
}

static tn_expr *reduced(pool *p, tn_arr *at, te_reducer kind) {
  TN_VEC(index);
  TN_VEC(axes);
  for (int64_t i = 0; i < at->len; ++i) {
    tn_expr *e = te_index(at, i);
    for (int k = 0; k < p->n; ++k) {
      if (p->axis[k] != i) continue;
      tn_IterVar *rv = te_reduce_axis(tir_i32((int32_t)p->size[k]), ops_reduce_name(k));
      if (!rv) return NULL;
      TN_TRYP(tn_vec_push_obj(&axes, rv));
      e = tir_add(tir_mul(e, tir_i32((int32_t)p->stride[k])),
                  tir_mul((tn_expr *)rv->var, tir_i32((int32_t)p->dilation[k])));
    }
    TN_TRYP(tn_vec_push_obj(&index, e));
  }
  return te_reduce(kind, te_at(p->padded, tn_arr_from(&index)), tn_arr_from(&axes), NULL);
}

static tn_expr *largest(void *ctx, tn_arr *at) { return reduced(ctx, at, TE_MAX); }
static tn_expr *summed(void *ctx, tn_arr *at) { return reduced(ctx, at, TE_SUM); }

/* How many elements of the window at index `o` of spatial axis i count. */
static tn_expr *count_along(const pool *p, int i, tn_expr *o) {
  int64_t size = p->size[i];
  bool inside = p->count_border || (p->before[i] == 0 && p->after[i] == 0);
  if (inside && !p->ceil) return tir_const_int(o->dtype, size);
  tn_expr *one = tir_one(o->dtype), *step = tir_const_int(o->dtype, p->dilation[i]);
  tn_expr *start = tir_sub(tir_mul(o, tir_const_int(o->dtype, p->stride[i])),
                           tir_const_int(o->dtype, p->before[i]));
  tn_expr *last = tir_add(start, tir_const_int(o->dtype, (size - 1) * p->dilation[i]));
  tn_expr *limit = tir_sub(te_extent(p->data, p->axis[i]), one);
  if (p->count_border) limit = tir_add(limit, tir_const_int(o->dtype, p->after[i]));
  last = tir_min(last, limit);
  if (!p->count_border) { /* the first element that is not in the border */
    tn_expr *skipped = tir_floordiv(tir_sub(tir_sub(step, one), start), step);
    start = tir_add(start, tir_mul(tir_max(skipped, tir_zero(o->dtype)), step));
  }
  tn_expr *n = tir_add(tir_floordiv(tir_sub(last, start), step), one);
  return tir_max(n, tir_zero(o->dtype));
}

static tn_expr *mean(void *ctx, tn_arr *at) {
  const pool *p = ctx;
  tn_expr *n = tir_one(TN_I32);
  for (int i = 0; i < p->n && n; ++i) n = tir_mul(n, count_along(p, i, te_index(at, p->axis[i])));
  if (!n) return NULL;
  return tir_div(te_at(p->sum, at), tir_cast(p->sum->dtype, tir_max(n, tir_one(n->dtype)), NULL));
}

static tn_arr *compute(const relay_compute *c) {
  pool p;
  TN_TRYP(read_pool(c->attrs, ndim_of(c->row), &p));
  p.data = relay_input(c, 0);
  tn_dtype t = p.data->dtype;
  tn_arr *shape = out_shape(&p, p.data->shape);
  if (!shape) return NULL;
  if (c->row->which > 0) {
    TN_GETP(p.padded, with_border(&p, ops_least(t)));
    return tn_arr_of(1, te_compute(shape, largest, &p, "pool_max", "pool_max"));
  }
  TN_GETP(p.padded, with_border(&p, tir_zero(t)));
  TN_GETP(p.sum, te_compute(shape, summed, &p, "pool_sum", "pool_sum"));
  return tn_arr_of(1, te_compute(shape, mean, &p, "pool_avg", TE_ELEMWISE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  pool p;
  TN_TRYP(read_pool(q->attrs, ndim_of(q->row), &p));
  return tn_arr_of(1, out_shape(&p, relay_shape_of(q, 0)));
}

#define POOL(name_, Attrs, rel_name_, which_, grad_, ...)                                          \
  {                                                                                                \
    .name = name_, .inputs = "data", .attrs = &tn_type_##Attrs, .level = 2,                        \
    .pattern = RELAY_OUT_ELEMWISE_FUSABLE, .rel_name = rel_name_, .rel = relation,                 \
    .compute = compute, .shape = shape_function, .layouts = relay_layouts_by_attr,                 \
    .convert = ops_convert_by_attr, .which = which_, .grad = grad_, .doc = __VA_ARGS__             \
  }

/* ---- gradients of two-dimensional pooling ---- */

static int grad_relation(relay_rel *r) {
  pool p;
  RELAY_TENSOR(d, r, 0);
  RELAY_TENSOR(data, r, 1);
  if (read_pool(r->attrs, 2, &p)) return ops_rel_failed(r);
  RELAY_CHECK(r, data->shape->len == p.layout->axes->len, "data %s does not have the layout %s",
              relay_type_text(data), relay_attr_str(r->attrs, "layout"));
  tn_arr *shape = out_shape(&p, data->shape);
  RELAY_CHECK(r, shape && shape->len == d->shape->len, "out_grad %s has not the axes of data",
              relay_type_text(d));
  for (int64_t i = 0; i < shape->len; ++i)
    RELAY_CHECK(r, relay_dim_equal(relay_dim(d, i), (tn_expr *)tn_arr_obj(shape, i)) != 0,
                "out_grad %s is not of the shape of the result", relay_type_text(d));
  return relay_rel_result(r, data);
}

typedef struct {
  pool *p;
  const tn_Tensor *d,
      *first; /* adjoint of the result; place in each window of its largest element */
} pool_grad;

/* Element `place` of a window is the largest: that of the first one. */
static tn_expr *place_of_largest(void *ctx, tn_arr *at) {
  const pool_grad *g = ctx;
  pool *p = g->p;
  tn_expr *value = reduced(p, at, TE_MIN), *place = tir_i32(0);
  const tn_Reduce *r = TN_AS(Reduce, value);
  if (!r) return NULL;
  for (int k = 0; k < p->n; ++k) {
    const tn_IterVar *rv = (const tn_IterVar *)tn_arr_obj(r->axis, k);
    place = tir_add(tir_mul(place, tir_i32((int32_t)p->size[k])), (tn_expr *)rv->var);
  }
  tn_expr *is = tir_eq((tn_expr *)tn_arr_obj(r->source, 0), te_at(p->sum, at));
  return te_reduce(TE_MIN, tir_select(is, place, tir_max_value(TN_I32), NULL), r->axis, NULL);
}

/* The sum over windows in which the element is: as element k of each axis of window o. */
static tn_expr *from_windows(void *ctx, tn_arr *at) {
  const pool_grad *g = ctx;
  const pool *p = g->p;
  TN_VEC(axes);
  tn_arr *o = at;
  tn_expr *inside = tir_bool(true), *place = tir_i32(0), *n = tir_one(TN_I32);
  for (int k = 0; k < p->n; ++k) {
    tn_expr *i = te_index(at, p->axis[k]), *step = tir_i32((int32_t)p->stride[k]);
    tn_IterVar *rv = te_reduce_axis(tir_i32((int32_t)p->size[k]), ops_reduce_name(k));
    if (!rv) return NULL;
    TN_TRYP(tn_vec_push_obj(&axes, rv));
    tn_expr *start = tir_sub(tir_add(i, tir_i32((int32_t)p->before[k])),
                             tir_mul((tn_expr *)rv->var, tir_i32((int32_t)p->dilation[k])));
    tn_expr *w = tir_floordiv(start, step);
    inside = tir_and(inside, tir_and(tir_and(tir_ge(start, tir_i32(0)),
                                             tir_eq(tir_floormod(start, step), tir_i32(0))),
                                     tir_lt(w, te_extent(g->d, p->axis[k]))));
    place = tir_add(tir_mul(place, tir_i32((int32_t)p->size[k])), (tn_expr *)rv->var);
    n = tir_mul(n, count_along(p, k, w));
    TN_GETP(o, ops_with_index(o, p->axis[k], w));
  }
  tn_expr *e = te_at(g->d, o);
  if (g->first) inside = tir_and(inside, tir_eq(te_at(g->first, o), place));
  else e = tir_div(e, tir_cast(g->d->dtype, tir_max(n, tir_i32(1)), NULL));
  e = tir_if_then_else(inside, e, tir_zero(g->d->dtype), NULL);
  return te_reduce(TE_SUM, e, tn_arr_from(&axes), NULL);
}

static tn_arr *compute_grad(const relay_compute *c) {
  pool p;
  pool_grad g = {.p = &p, .d = relay_input(c, 0)};
  TN_TRYP(read_pool(c->attrs, 2, &p));
  p.data = relay_input(c, 1);
  if (c->row->which > 0) {
    TN_GETP(p.padded, with_border(&p, ops_least(p.data->dtype)));
    TN_GETP(p.sum, te_compute(g.d->shape, largest, &p, "pool_max", "pool_max"));
    TN_GETP(g.first, te_compute(g.d->shape, place_of_largest, &g, "pool_place", TE_COMM_REDUCE));
  }
  return tn_arr_of(1, te_compute(p.data->shape, from_windows, &g, "pool_grad", "pool_grad"));
}

static tn_arr *grad_shape(const relay_shape_query *q) { return tn_arr_of(1, relay_shape_of(q, 1)); }

#define POOL_GRAD(name_, Attrs, rel_name_, which_, doc_)                                           \
  {                                                                                                \
    .name = name_, .inputs = "out_grad data", .attrs = &tn_type_##Attrs, .level = 2,               \
    .flags = RELAY_NUMBERS, .pattern = RELAY_OPAQUE, .rel_name = rel_name_, .rel = grad_relation,  \
    .compute = compute_grad, .shape = grad_shape, .which = which_, .doc = doc_                     \
  }

static const relay_op_row rows[] = {
    POOL("nn.max_pool1d", MaxPool1DAttrs, "MaxPool1D", 1, NULL,
         "largest element of a sliding window", .precision = RELAY_FOLLOWS, .values = RELAY_CHOSEN,
         .apart = RELAY_CHANNELS, .scaling = RELAY_SCALES_POSITIVE, .range = RELAY_FINITE,
         .form = RELAY_WINDOW_MAX),
    POOL("nn.max_pool2d", MaxPool2DAttrs, "MaxPool2D", 2, ops_grad_pool2d,
         "largest element of a sliding window", .precision = RELAY_FOLLOWS, .values = RELAY_CHOSEN,
         .apart = RELAY_IMAGES_AND_CHANNELS, .scaling = RELAY_SCALES_POSITIVE,
         .range = RELAY_FINITE, .form = RELAY_WINDOW_MAX),
    POOL("nn.max_pool3d", MaxPool3DAttrs, "MaxPool3D", 3, NULL,
         "largest element of a sliding window", .precision = RELAY_FOLLOWS, .values = RELAY_CHOSEN,
         .apart = RELAY_CHANNELS, .scaling = RELAY_SCALES_POSITIVE, .range = RELAY_FINITE,
         .form = RELAY_WINDOW_MAX),
    POOL("nn.avg_pool1d", AvgPool1DAttrs, "AvgPool1D", -1, NULL, "mean of a sliding window",
         .precision = RELAY_FOLLOWS, .values = RELAY_COMPUTED, .apart = RELAY_CHANNELS,
         .scaling = RELAY_SCALES, .range = RELAY_FINITE, .form = RELAY_WINDOW_MEAN),
    POOL("nn.avg_pool2d", AvgPool2DAttrs, "AvgPool2D", -2, ops_grad_pool2d,
         "mean of a sliding window", .precision = RELAY_FOLLOWS, .values = RELAY_COMPUTED,
         .apart = RELAY_IMAGES_AND_CHANNELS, .scaling = RELAY_SCALES, .range = RELAY_FINITE,
         .quantized = "qnn.avg_pool2d", .form = RELAY_WINDOW_MEAN),
    POOL("nn.avg_pool3d", AvgPool3DAttrs, "AvgPool3D", -3, NULL, "mean of a sliding window",
         .precision = RELAY_FOLLOWS, .values = RELAY_COMPUTED, .apart = RELAY_CHANNELS,
         .scaling = RELAY_SCALES, .range = RELAY_FINITE, .form = RELAY_WINDOW_MEAN),
    POOL_GRAD("nn.max_pool2d_grad", MaxPool2DAttrs, "MaxPool2DGrad", 2,
              "gradient of nn.max_pool2d: each largest element gets what its windows got"),
    POOL_GRAD("nn.avg_pool2d_grad", AvgPool2DAttrs, "AvgPool2DGrad", -2,
              "gradient of nn.avg_pool2d: each element gets its part of its windows"),
};

RELAY_FAMILY(pool, POOL_ATTRS)
