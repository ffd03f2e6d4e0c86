/* Grayscale dilation of images.

     image.dilation2d(%data, %weight)     r[n][c][y][x] = largest over i, j of
                                          data[n][c][y + i][x + j] + weight[c][i][j] */
#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_Dilation2DAttrs(F, S)                                                            \
  F(S, REF, Array, strides, TN_INTS, "distance of windows", "[1, 1]")                              \
  F(S, REF, Array, padding, TN_INTS, "one number, two, or those before all axes and those after",  \
    "[0, 0]")                                                                                      \
  F(S, REF, Array, dilations, TN_INTS, "distance of elements in a window", "[1, 1]")               \
  F(S, REF, String, data_layout, 0, "\"NCHW\" or \"NHWC\"", "\"NCHW\"")                            \
  F(S, REF, String, kernel_layout, 0, "\"IHW\" or \"HWI\"", "\"IHW\"")                             \
  F(S, DTYPE, , out_dtype, 0, "type of the result, that of data when empty", "\"\"")
#define DILATION_ATTRS(N)                                                                          \
  N(Dilation2DAttrs, Attrs, "relay.attrs.Dilation2DAttrs", NODE, TREE, tn_no_hooks,                \
    "attributes of image.dilation2d")
TN_NODES_LOCAL(DILATION_ATTRS)

typedef struct {
  const tn_Dilation2DAttrs *a;
  const tn_Tensor *data, *weight, *sum;
  tn_dtype type; /* of the result */
  int h, kh;     /* where height is in data and in weight; width follows */
  int64_t before[2], after[2], stride[2], dilation[2];
} windows;

static int read_attrs(const tn_Dilation2DAttrs *a, windows *w) {
  bool first = tn_str_eq(a->data_layout, "NCHW"), kernel = tn_str_eq(a->kernel_layout, "IHW");
  TN_CHECK(first || tn_str_eq(a->data_layout, "NHWC"), ValueError, NULL,
           "data_layout must be NCHW or NHWC, got %s", tn_cstr(a->data_layout));
  TN_CHECK(kernel || tn_str_eq(a->kernel_layout, "HWI"), ValueError, NULL,
           "kernel_layout must be IHW or HWI, got %s", tn_cstr(a->kernel_layout));
  *w = (windows){.a = a, .h = first ? 2 : 1, .kh = kernel ? 1 : 0};
  TN_TRY(ops_get_pads(a->padding, 2, w->before, w->after, "image.dilation2d"));
  TN_TRY(ops_get_steps(a->strides, 2, w->stride, "strides"));
  return ops_get_steps(a->dilations, 2, w->dilation, "dilations");
}

static tn_arr *out_shape(const windows *w, const tn_arr *data, const tn_arr *weight) {
  TN_VEC(out);
  for (int i = 0; i < 4; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(data, i);
    int k = i - w->h;
    if (k == 0 || k == 1)
      e = ops_window_extent(e, (tn_expr *)tn_arr_obj(weight, w->kh + k), w->before[k] + w->after[k],
                            w->stride[k], w->dilation[k]);
    TN_TRYP(tn_vec_push_obj(&out, e));
  }
  return tn_arr_from(&out);
}

static int relation(relay_rel *r) {
  const tn_Dilation2DAttrs *a = r->attrs;
  windows w;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(weight, r, 1);
  if (read_attrs(a, &w)) return ops_rel_failed(r);
  RELAY_CHECK(r, data->shape->len == 4 && weight->shape->len == 3,
              "data must have 4 dimensions and weight 3, got %s and %s", relay_type_text(data),
              relay_type_text(weight));
  RELAY_CHECK(
      r,
      relay_dim_equal(relay_dim(data, w.h == 2 ? 1 : 3), relay_dim(weight, w.kh == 1 ? 0 : 2)) != 0,
      "data %s and weight %s have other channels", relay_type_text(data), relay_type_text(weight));
  RELAY_CHECK(r, tn_dtype_eq(data->dtype, weight->dtype), "data is %s, weight is %s",
              TN_DT(data->dtype), TN_DT(weight->dtype));
  tn_dtype t = a->out_dtype.bits ? a->out_dtype : data->dtype;
  return relay_rel_result(r, relay_tensor_type(out_shape(&w, data->shape, weight->shape), t));
}

/* Sums of integers are wider, so that what lies outside stays below all of them. */
static tn_dtype sum_type(tn_dtype t) {
  return !ir_is_integral(t) ? t : t.bits < 32 ? TN_I32 : TN_I64;
}

static tn_expr *element(void *ctx, tn_arr *at) {
  const windows *w = ctx;
  tn_IterVar *k[2];
  tn_arr *from = at, *of;
  for (int i = 0; i < 2; ++i) {
    tn_expr *x = te_index(at, w->h + i);
    TN_GETP(k[i], te_reduce_axis(te_extent(w->weight, w->kh + i), i ? "kw" : "kh"));
    tn_expr *step = tir_mul((tn_expr *)k[i]->var, tir_const_int(TN_I32, w->dilation[i]));
    x = tir_add(tir_mul(x, tir_const_int(x->dtype, w->stride[i])), step);
    TN_GETP(from, ops_with_index(from, w->h + i, x));
  }
  tn_expr *channel = te_index(at, w->h == 2 ? 1 : 3);
  TN_GETP(of, w->kh == 1 ? tn_arr_of(3, channel, k[0]->var, k[1]->var)
                         : tn_arr_of(3, k[0]->var, k[1]->var, channel));
  tn_dtype t = sum_type(w->type);
  tn_expr *sum =
      tir_add(tir_cast(t, te_at(w->data, from), NULL), tir_cast(t, te_at(w->weight, of), NULL));
  return te_reduce(TE_MAX, sum, tn_arr_of(2, k[0], k[1]), NULL);
}

static tn_expr *widened(void *ctx, tn_arr *at) {
  const tn_Tensor *t = ctx;
  return tir_cast(sum_type(t->dtype), te_at(t, at), NULL);
}

/* The sum as the type of the result, the nearest number that this has. */
static tn_expr *narrowed(void *ctx, tn_arr *at) {
  const windows *w = ctx;
  tn_expr *x = te_at(w->sum, at);
  tn_dtype t = x ? x->dtype : TN_I32;
  x = tir_max(tir_min(x, tir_cast(t, tir_max_value(w->type), NULL)),
              tir_cast(t, tir_min_value(w->type), NULL));
  return tir_cast(w->type, x, NULL);
}

static tn_arr *compute(const relay_compute *c) {
  tn_Tensor *data = relay_input(c, 0);
  int64_t before[4] = {0}, after[4] = {0};
  windows w;
  TN_TRYP(read_attrs(c->attrs, &w));
  for (int i = 0; i < 2; ++i) before[w.h + i] = w.before[i], after[w.h + i] = w.after[i];
  w.weight = relay_input(c, 1);
  tn_arr *shape = out_shape(&w, data->shape, w.weight->shape);
  w.type = w.a->out_dtype.bits ? w.a->out_dtype : data->dtype;
  if (!ir_is_integral(w.type)) {
    TN_GETP(w.data, ops_pad(data, before, after, tir_min_value(data->dtype), "pad_temp"));
    return tn_arr_of(1, te_compute(shape, element, &w, "T_dilation2d", "dilation2d_nchw"));
  }
  tn_dtype t = sum_type(w.type);
  tn_expr *outside = tir_const_int(t, t.bits == 32 ? INT32_MIN / 2 : INT64_MIN / 2);
  TN_GETP(data, te_compute(data->shape, widened, data, "T_cast", TE_ELEMWISE));
  TN_GETP(w.data, ops_pad(data, before, after, outside, "pad_temp"));
  TN_GETP(w.sum, te_compute(shape, element, &w, "T_sums", "dilation2d_nchw"));
  return tn_arr_of(1, te_compute(shape, narrowed, &w, "T_dilation2d", TE_ELEMWISE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  windows w;
  TN_TRYP(read_attrs(q->attrs, &w));
  return tn_arr_of(1, out_shape(&w, relay_shape_of(q, 0), relay_shape_of(q, 1)));
}

static const relay_op_row rows[] = {
    {.name = "image.dilation2d",
     .inputs = "data weight",
     .attrs = &tn_type_Dilation2DAttrs,
     .level = 2,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "Dilation2D",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .doc = "the largest sum of a window and a weight"},
};

RELAY_FAMILY(dilation2d, DILATION_ATTRS)
