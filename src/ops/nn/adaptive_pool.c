/* Pooling to a given number of results, global pooling among it.

     nn.adaptive_avg_pool2d(%x, output_size=[2, 3])
         Tensor[(1, 8, 7, 7), float32] -> Tensor[(1, 8, 2, 3), float32]

   Result i of n along an axis of extent x is made of elements i * x / n to (i + 1) * x / n, the end
   rounded up. */
#include "ir/imm.h"
#include "ops/gradients.h"
#include "ops/layout.h"
#include "ops/ops.h"
#include "tir/layout.h"

#define ADAPTIVE_FIELDS(F, S, layout_)                                                             \
  F(S, REF, Array, output_size, TN_OPT, "extents of the result, those of data when empty", "None") \
  F(S, REF, String, layout, 0, "layout of data", layout_)                                          \
  F(S, REF, String, out_layout, 0, "layout of the result, that of data when empty", "\"\"")
#define TN_FIELDS_AdaptivePool1DAttrs(F, S) ADAPTIVE_FIELDS(F, S, "\"NCW\"")
#define TN_FIELDS_AdaptivePool2DAttrs(F, S) ADAPTIVE_FIELDS(F, S, "\"NCHW\"")
#define TN_FIELDS_AdaptivePool3DAttrs(F, S) ADAPTIVE_FIELDS(F, S, "\"NCDHW\"")
#define TN_FIELDS_GlobalPool2DAttrs(F, S)                                                          \
  F(S, REF, String, layout, 0, "layout of data", "\"NCHW\"")                                       \
  F(S, REF, String, out_layout, 0, "layout of the result, that of data when empty", "\"\"")
#define ADAPTIVE_POOL_ATTRS(N)                                                                     \
  N(AdaptivePool1DAttrs, Attrs, "relay.attrs.AdaptivePool1DAttrs", NODE, TREE, tn_no_hooks,        \
    "attributes of nn.adaptive_avg_pool1d")                                                        \
  N(AdaptivePool2DAttrs, Attrs, "relay.attrs.AdaptivePool2DAttrs", NODE, TREE, tn_no_hooks,        \
    "attributes of nn.adaptive_avg_pool2d")                                                        \
  N(AdaptivePool3DAttrs, Attrs, "relay.attrs.AdaptivePool3DAttrs", NODE, TREE, tn_no_hooks,        \
    "attributes of nn.adaptive_avg_pool3d")                                                        \
  N(GlobalPool2DAttrs, Attrs, "relay.attrs.GlobalPool2DAttrs", NODE, TREE, tn_no_hooks,            \
    "attributes of nn.global_avg_pool2d")
TN_NODES_LOCAL(ADAPTIVE_POOL_ATTRS)

enum { MAX_SPATIAL = 3, AVG = 8, GLOBAL = 16 };

/* row->which: number of spatial axes + AVG + GLOBAL */
typedef struct {
  int n;
  bool mean;
  tn_Tensor *data, *sum;
  int64_t axis[MAX_SPATIAL];
  tn_expr *out[MAX_SPATIAL];  /* extent of the result, NULL: that of data */
  tn_expr *size[MAX_SPATIAL]; /* extent of the longest window */
  bool even[MAX_SPATIAL];     /* are all windows that long? */
} pool;

static int read_pool(const relay_op_row *row, const void *attrs, const tn_arr *shape, pool *p) {
  *p = (pool){.n = (int)(row->which & 7), .mean = (row->which & AVG) != 0};
  const char *layout = relay_attr_str(attrs, "layout");
  const tn_arr *size = relay_attr_obj(attrs, "output_size");
  tn_Layout *l;
  TN_GET(l, tir_layout(layout, TN_I32));
  TN_CHECK(l->axes->len == shape->len, ValueError, NULL,
           "data of %lld dimensions does not have the layout %s", (long long)shape->len, layout);
  TN_CHECK(!size || size->len == 0 || size->len == 1 || size->len == p->n, ValueError, NULL,
           "output_size must have 0, 1 or %d numbers, got %lld", p->n,
           (long long)(size ? size->len : 0));
  for (int i = 0; i < p->n; ++i) {
    char letter = "DHW"[MAX_SPATIAL - p->n + i];
    p->axis[i] = tir_layout_index(l, letter);
    TN_CHECK(p->axis[i] >= 0 && tir_layout_factor(l, letter) < 0, ValueError, NULL,
             "layout %s: axis %c must be there and not be split", layout, letter);
    if (row->which & GLOBAL) p->out[i] = tir_one(TN_I32);
    else if (size && size->len) p->out[i] = (tn_expr *)tn_arr_obj(size, size->len == 1 ? 0 : i);
  }
  return 0;
}

static tn_arr *out_shape(const pool *p, const tn_arr *data) {
  TN_VEC(out);
  for (int64_t i = 0; i < data->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(data, i);
    for (int k = 0; k < p->n; ++k) e = p->axis[k] == i && p->out[k] ? p->out[k] : e;
    TN_TRYP(tn_vec_push_obj(&out, e));
  }
  return tn_arr_from(&out);
}

static int relation(relay_rel *r) {
  pool p;
  RELAY_TENSOR(data, r, 0);
  const relay_op_row *row = relay_op_row_of((const tn_obj *)r->op);
  if (read_pool(row, r->attrs, data->shape, &p)) return ops_rel_failed(r);
  return relay_rel_result(r, relay_tensor_type(out_shape(&p, data->shape), data->dtype));
}

/* ---- compute ---- */

static void find_windows(pool *p) {
  for (int i = 0; i < p->n; ++i) {
    tn_expr *x = te_extent(p->data, p->axis[i]);
    int64_t from, to = 0;
    bool known = tir_as_int((tn_obj *)x, &from) && p->out[i] &&
                 tir_as_int((tn_obj *)p->out[i], &to) && to > 0;
    if (!p->out[i]) p->out[i] = x;
    p->even[i] = p->out[i] == x || relay_dim_is(p->out[i], 1) == 1 || (known && from % to == 0);
    tn_expr *one = tir_one(x->dtype);
    p->size[i] = relay_dim_is(p->out[i], 1) == 1 ? x
                 : p->even[i]                    ? tir_floordiv(x, p->out[i])
                                                 : tir_add(tir_ceildiv(x, p->out[i], NULL), one);
    if (p->out[i] == x) p->size[i] = one;
  }
}

static tn_expr *start_of(const pool *p, int i, tn_expr *o) {
  if (p->even[i]) return tir_mul(o, p->size[i]);
  return tir_floordiv(tir_mul(o, te_extent(p->data, p->axis[i])), p->out[i]);
}

static tn_expr *end_of(const pool *p, int i, tn_expr *o) {
  tn_expr *next = tir_add(o, tir_one(o->dtype));
  return tir_ceildiv(tir_mul(next, te_extent(p->data, p->axis[i])), p->out[i], NULL);
}

static tn_expr *reduced(const pool *p, tn_arr *at, te_reducer kind) {
  tn_expr *inside = tir_bool(true), *zero = tir_zero(p->data->dtype);
  TN_VEC(index);
  TN_VEC(axes);
  for (int64_t i = 0; i < at->len; ++i) {
    tn_expr *e = te_index(at, i), *o = e;
    for (int k = 0; k < p->n; ++k) {
      if (p->axis[k] != i) continue;
      tn_IterVar *rv = te_reduce_axis(p->size[k], ops_reduce_name(k));
      if (!rv) return NULL;
      TN_TRYP(tn_vec_push_obj(&axes, rv));
      e = tir_add(start_of(p, k, o), (tn_expr *)rv->var);
      if (!p->even[k]) inside = tir_and(inside, tir_lt(e, end_of(p, k, o)));
    }
    TN_TRYP(tn_vec_push_obj(&index, e));
  }
  tn_expr *x = te_at(p->data, tn_arr_from(&index));
  if (relay_dim_is(inside, 1) != 1)
    x = tir_if_then_else(inside, x, p->mean ? zero : ops_least(p->data->dtype), NULL);
  return te_reduce(kind, x, tn_arr_from(&axes), NULL);
}

static tn_expr *largest(void *ctx, tn_arr *at) { return reduced(ctx, at, TE_MAX); }
static tn_expr *summed(void *ctx, tn_arr *at) { return reduced(ctx, at, TE_SUM); }

static tn_expr *mean(void *ctx, tn_arr *at) {
  const pool *p = ctx;
  tn_expr *n = tir_one(TN_I32);
  for (int i = 0; i < p->n && n; ++i) {
    tn_expr *o = te_index(at, p->axis[i]);
    n = tir_mul(n, p->even[i] ? p->size[i] : tir_sub(end_of(p, i, o), start_of(p, i, o)));
  }
  return n ? ops_mean("an average pool", te_at(p->sum, at), tir_cast(p->sum->dtype, n, NULL))
           : NULL;
}

static tn_arr *compute(const relay_compute *c) {
  pool p;
  tn_Tensor *data = relay_input(c, 0);
  TN_TRYP(read_pool(c->row, c->attrs, data->shape, &p));
  p.data = data;
  tn_arr *shape = out_shape(&p, data->shape);
  find_windows(&p);
  if (!shape) return NULL;
  if (!p.mean)
    return tn_arr_of(1, te_compute(shape, largest, &p, "adaptive_pool_max", "adaptive_pool_max"));
  TN_GETP(p.sum, te_compute(shape, summed, &p, "adaptive_pool_sum", "adaptive_pool_sum"));
  return tn_arr_of(1, te_compute(shape, mean, &p, "adaptive_pool_avg", TE_ELEMWISE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  pool p;
  TN_TRYP(read_pool(q->row, q->attrs, relay_shape_of(q, 0), &p));
  return tn_arr_of(1, out_shape(&p, relay_shape_of(q, 0)));
}

#define POOL(name_, Attrs, rel_name_, level_, which_, grad_, ...)                                  \
  {                                                                                                \
    .name = name_, .inputs = "data", .attrs = &tn_type_##Attrs, .level = level_,                   \
    .pattern = RELAY_OUT_ELEMWISE_FUSABLE, .rel_name = rel_name_, .rel = relation,                 \
    .compute = compute, .shape = shape_function, .layouts = relay_layouts_by_attr,                 \
    .convert = ops_convert_by_attr, .which = which_, .grad = grad_, .doc = __VA_ARGS__             \
  }
#define ADAPTIVE(d)                                                                                \
  POOL("nn.adaptive_max_pool" #d "d", AdaptivePool##d##DAttrs, "AdaptiveMaxPool" #d "D", 10, d,    \
       NULL, "largest elements of windows that make a result of a given extent",                   \
       .precision = RELAY_FOLLOWS, .values = RELAY_CHOSEN, .apart = RELAY_CHANNELS,                \
       .scaling = RELAY_SCALES_POSITIVE, .range = RELAY_FINITE),                                   \
      POOL("nn.adaptive_avg_pool" #d "d", AdaptivePool##d##DAttrs, "AdaptiveAvgPool" #d "D", 10,   \
           d + AVG, NULL, "means of windows that make a result of a given extent",                 \
           .precision = RELAY_FULL, .values = RELAY_COMPUTED, .apart = RELAY_CHANNELS,             \
           .scaling = RELAY_SCALES, .range = RELAY_FINITE)

static const relay_op_row rows[] = {
    ADAPTIVE(1),
    ADAPTIVE(2),
    ADAPTIVE(3),
    POOL("nn.global_max_pool2d", GlobalPool2DAttrs, "GlobalMaxPool2D", 2, 2 + GLOBAL,
         ops_grad_global_pool, "largest element of each channel of each image",
         .precision = RELAY_FOLLOWS, .values = RELAY_CHOSEN, .apart = RELAY_IMAGES_AND_CHANNELS,
         .scaling = RELAY_SCALES_POSITIVE, .range = RELAY_FINITE),
    POOL("nn.global_avg_pool2d", GlobalPool2DAttrs, "GlobalAvgPool2D", 2, 2 + AVG + GLOBAL,
         ops_grad_global_pool, "mean of each channel of each image", .precision = RELAY_FULL,
         .values = RELAY_COMPUTED, .apart = RELAY_IMAGES_AND_CHANNELS, .scaling = RELAY_SCALES,
         .range = RELAY_FINITE),
};

RELAY_FAMILY(adaptive_pool, ADAPTIVE_POOL_ATTRS)
