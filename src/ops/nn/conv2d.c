/* Two-dimensional convolution of any layout, with groups.

     nn.conv2d(%data, %weight, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3])
         Tensor[(1, 4, 6, 6), float32], Tensor[(8, 4, 3, 3), float32]
         -> Tensor[(1, 8, 6, 6), float32] */
#include "ir/imm.h"
#include "ops/layout.h"
#include "ops/ops.h"

#define TN_FIELDS_Conv2DAttrs(F, S)                                                                \
  F(S, REF, Array, strides, 0, "steps of the window along height and width", "[1, 1]")             \
  F(S, REF, Array, padding, 0, "zeros put around: one number, 2 or 4 (top, left, bottom, right)",  \
    "[0, 0]")                                                                                      \
  F(S, REF, Array, dilation, 0, "distance of neighbouring elements of the kernel", "[1, 1]")       \
  F(S, I64, , groups, 0, "groups of channels that do not see each other", "1")                     \
  F(S, REF, PrimExpr, channels, TN_OPT, "channels of the result", "None")                          \
  F(S, REF, Array, kernel_size, TN_OPT, "height and width of the kernel", "None")                  \
  F(S, REF, String, data_layout, 0, "layout of data", "\"NCHW\"")                                  \
  F(S, REF, String, kernel_layout, 0, "layout of weight", "\"OIHW\"")                              \
  F(S, REF, String, out_layout, 0, "layout of the result, that of data when empty", "\"\"")        \
  F(S, DTYPE, , out_dtype, 0, "type of the result, that of data when empty", "\"\"")               \
  F(S, REF, String, auto_scheduler_rewritten_layout, 0, "layout of weight after a rewrite",        \
    "\"\"")                                                                                        \
  F(S, REF, Array, meta_schedule_original_shape, 0, "shape of weight before a rewrite", "[]")
#define CONV2D_ATTRS(N)                                                                            \
  N(Conv2DAttrs, Attrs, "relay.attrs.Conv2DAttrs", NODE, TREE, tn_no_hooks,                        \
    "attributes of nn.conv2d")
TN_NODES_LOCAL(CONV2D_ATTRS)

static const char *out_layout(const tn_Conv2DAttrs *a) {
  const char *own = tn_cstr(a->out_layout);
  return *own ? own : tn_cstr(a->data_layout);
}

static tn_dtype out_dtype(const tn_Conv2DAttrs *a, tn_dtype data) {
  return a->out_dtype.bits == 0 ? data : a->out_dtype;
}

/* Extents of the result from those of data and weight: for relations, shape functions, computes. */
static tn_arr *out_shape(const tn_Conv2DAttrs *a, const tn_arr *data, const tn_arr *weight) {
  ops_axes d, w, o = {{NULL}};
  int64_t before[2], after[2];
  TN_TRYP(ops_axes_of(tn_cstr(a->data_layout), data, true, &d));
  TN_TRYP(ops_axes_of(tn_cstr(a->kernel_layout), weight, true, &w));
  TN_TRYP(ops_get_pads(a->padding, 2, before, after, "nn.conv2d"));
  OPS_AXIS(&o, 'N') = OPS_AXIS(&d, 'N');
  OPS_AXIS(&o, 'C') = OPS_AXIS(&w, 'O');
  for (int i = 0; i < 2; ++i) {
    char letter = "HW"[i];
    OPS_AXIS(&o, letter) =
        ops_window_extent(OPS_AXIS(&d, letter), OPS_AXIS(&w, letter), before[i] + after[i],
                          relay_int_at(a->strides, i), relay_int_at(a->dilation, i));
  }
  return ops_axes_to(out_layout(a), &o, true);
}

/* ---- relation ---- */

static int check_attrs(const relay_rel *r) {
  const tn_Conv2DAttrs *a = r->attrs;
  RELAY_CHECK(r, a->groups > 0, "groups must be positive, got %lld", (long long)a->groups);
  RELAY_CHECK(r, a->strides->len == 2 && a->dilation->len == 2,
              "strides and dilation must have 2 numbers");
  for (int i = 0; i < 2; ++i) {
    RELAY_CHECK(r, relay_int_at(a->strides, i) > 0 && relay_int_at(a->dilation, i) > 0,
                "strides and dilation must be positive");
  }
  return 0;
}

/* Shape of a weight that nothing is known of but the attributes. */
static tn_arr *weight_shape(const tn_Conv2DAttrs *a, const ops_axes *data) {
  ops_axes w = {{NULL}};
  OPS_AXIS(&w, 'O') = a->channels;
  OPS_AXIS(&w, 'I') =
      relay_dim_binary(TN_TI_FloorDiv, OPS_AXIS(data, 'C'), tir_i32((int32_t)a->groups));
  OPS_AXIS(&w, 'H') = (tn_expr *)tn_arr_obj(a->kernel_size, 0);
  OPS_AXIS(&w, 'W') = (tn_expr *)tn_arr_obj(a->kernel_size, 1);
  return ops_axes_to(tn_cstr(a->kernel_layout), &w, true);
}

static int check_weight(const relay_rel *r, const ops_axes *data, const tn_TensorType *weight) {
  const tn_Conv2DAttrs *a = r->attrs;
  const char *layout = tn_cstr(a->kernel_layout);
  ops_axes w;
  TN_TRY(ops_axes_of(layout, weight->shape, true, &w));
  RELAY_CHECK(r, !a->channels || relay_dim_equal(a->channels, OPS_AXIS(&w, 'O')) != 0,
              "channels=%lld does not match weight %s of layout %s",
              (long long)relay_attr_int(a, "channels", 0), relay_type_text(weight), layout);
  for (int i = 0; a->kernel_size && a->kernel_size->len == 2 && i < 2; ++i) {
    tn_expr *size = (tn_expr *)tn_arr_obj(a->kernel_size, i);
    RELAY_CHECK(r, relay_dim_equal(size, OPS_AXIS(&w, "HW"[i])) != 0,
                "kernel_size=[%lld, %lld] does not match weight %s of layout %s",
                (long long)relay_int_at(a->kernel_size, 0),
                (long long)relay_int_at(a->kernel_size, 1), relay_type_text(weight), layout);
  }
  tn_expr *channels = relay_dim_mul(OPS_AXIS(&w, 'I'), tir_i32((int32_t)a->groups));
  RELAY_CHECK(r, relay_dim_equal(channels, OPS_AXIS(data, 'C')) != 0,
              "data has another number of channels than weight %s of layout %s with groups=%lld",
              relay_type_text(weight), layout, (long long)a->groups);
  return 0;
}

/* Rank mismatches and the like, told as errors of the call. */
static int at_call(const relay_rel *r, const tn_TensorType *t, const char *what, const char *layout,
                   ops_axes *out) {
  if (ops_axes_of(layout, t->shape, true, out) == 0) return 0;
  if (tn_error_get_kind() != TN_ValueError) return RELAY_FAILED;
  tn_error_clear();
  return relay_rel_fail(r, "%s %s does not have the layout %s", what, relay_type_text(t), layout);
}

static int relation(relay_rel *r) {
  const tn_Conv2DAttrs *a = r->attrs;
  ops_axes d, w;
  RELAY_TENSOR(data, r, 0);
  TN_TRY(check_attrs(r));
  TN_TRY(at_call(r, data, "data", tn_cstr(a->data_layout), &d));
  tn_TensorType *weight = TN_AS(TensorType, r->types[1]);
  if (weight) {
    TN_TRY(at_call(r, weight, "weight", tn_cstr(a->kernel_layout), &w));
    TN_TRY(check_weight(r, &d, weight));
  } else if (a->channels && a->kernel_size && a->kernel_size->len == 2) {
    tn_dtype t = data->dtype; /* uint8 data goes with int8 weights */
    if (ir_is_uint(t) && t.bits == 8) t = tn_dtype_of(kDLInt, 8, 1);
    TN_GET(weight, relay_tensor_type(weight_shape(a, &d), t));
    TN_TRY(relay_rel_assign(r, 1, (tn_Type *)weight));
  } else {
    return RELAY_WAIT;
  }
  return relay_rel_result(
      r, relay_tensor_type(out_shape(a, data->shape, weight->shape), out_dtype(a, data->dtype)));
}

/* ---- compute ---- */

typedef struct {
  const tn_Conv2DAttrs *attrs;
  tn_Tensor *data, *weight; /* data with its border */
  tn_dtype dtype;
} conv;

/* First channel of data that belongs to channel `oc` of the result. */
static tn_expr *first_channel(const conv *c, tn_expr *oc, tn_expr *out_channels, tn_expr *in) {
  tn_expr *groups = tir_i32((int32_t)c->attrs->groups);
  return tir_mul(tir_floordiv(oc, tir_floordiv(out_channels, groups)), in);
}

/* sum over ic, kh, kw of data[n, ic, oh * stride + kh * dilation, ...] * weight[oc, ic, kh, kw] */
static tn_expr *element(void *ctx, tn_arr *at) {
  const conv *c = ctx;
  const tn_Conv2DAttrs *a = c->attrs;
  ops_axes extents, o, d = {{NULL}}, w = {{NULL}};
  TN_TRYP(ops_axes_of(tn_cstr(a->kernel_layout), c->weight->shape, true, &extents));
  TN_TRYP(ops_axes_of(out_layout(a), at, false, &o));
  TN_VEC(axes);
  tn_expr *in = OPS_AXIS(&extents, 'I');
  OPS_AXIS(&w, 'I') = tir_zero(TN_I32);
  if (!tir_is_one(in)) { /* depthwise convolutions have no sum over channels */
    tn_IterVar *ic = te_reduce_axis(in, "rc");
    if (!ic || tn_vec_push_obj(&axes, ic)) return NULL;
    OPS_AXIS(&w, 'I') = (tn_expr *)ic->var;
  }
  OPS_AXIS(&w, 'O') = OPS_AXIS(&o, 'C');
  OPS_AXIS(&d, 'N') = OPS_AXIS(&o, 'N');
  OPS_AXIS(&d, 'C') = OPS_AXIS(&w, 'I');
  if (a->groups > 1)
    OPS_AXIS(&d, 'C') = tir_add(first_channel(c, OPS_AXIS(&o, 'C'), OPS_AXIS(&extents, 'O'), in),
                                OPS_AXIS(&w, 'I'));
  for (int i = 0; i < 2; ++i) {
    char letter = "HW"[i];
    tn_IterVar *k = te_reduce_axis(OPS_AXIS(&extents, letter), i ? "rx" : "ry");
    if (!k || tn_vec_push_obj(&axes, k)) return NULL;
    OPS_AXIS(&w, letter) = (tn_expr *)k->var;
    OPS_AXIS(&d, letter) =
        tir_add(tir_mul(OPS_AXIS(&o, letter), tir_i32((int32_t)relay_int_at(a->strides, i))),
                tir_mul((tn_expr *)k->var, tir_i32((int32_t)relay_int_at(a->dilation, i))));
  }
  tn_expr *x = te_at(c->data, ops_axes_to(tn_cstr(a->data_layout), &d, false)),
          *y = te_at(c->weight, ops_axes_to(tn_cstr(a->kernel_layout), &w, false));
  return te_reduce(TE_SUM, tir_mul(tir_cast(c->dtype, x, NULL), tir_cast(c->dtype, y, NULL)),
                   tn_arr_from(&axes), NULL);
}

/* Data with zeros around height and width. */
static tn_Tensor *with_border(const tn_Conv2DAttrs *a, tn_Tensor *data) {
  enum { MAX_NDIM = 8 };
  int64_t before[MAX_NDIM] = {0}, after[MAX_NDIM] = {0}, pads[2][2];
  const char *layout = tn_cstr(a->data_layout);
  TN_TRYP(ops_get_pads(a->padding, 2, pads[0], pads[1], "nn.conv2d"));
  for (int64_t i = 0; i < data->shape->len && i < MAX_NDIM; ++i) {
    if (layout[i] != 'H' && layout[i] != 'W') continue;
    before[i] = pads[0][layout[i] == 'W'];
    after[i] = pads[1][layout[i] == 'W'];
  }
  return ops_pad(data, before, after, tir_zero(data->dtype), "pad_temp");
}

static const char *tag_of(const tn_Conv2DAttrs *a, const tn_arr *weight) {
  ops_axes w;
  if (a->groups > 1 && ops_axes_of(tn_cstr(a->kernel_layout), weight, true, &w) == 0)
    return tir_is_one(OPS_AXIS(&w, 'I')) ? "depthwise_conv2d" : "group_conv2d";
  tn_error_clear();
  return tn_str_eq(a->data_layout, "NCHW")   ? "conv2d_nchw"
         : tn_str_eq(a->data_layout, "NHWC") ? "conv2d_nhwc"
                                             : "conv2d";
}

static tn_arr *compute(const relay_compute *r) {
  const tn_Conv2DAttrs *a = r->attrs;
  tn_Tensor *data = relay_input(r, 0), *weight = relay_input(r, 1);
  tn_arr *shape = out_shape(a, data->shape, weight->shape);
  conv c = {a, with_border(a, data), weight, out_dtype(a, data->dtype)};
  if (!shape || !c.data) return NULL;
  return tn_arr_of(1, te_compute(shape, element, &c, "conv2d", tag_of(a, weight->shape)));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  return tn_arr_of(1, out_shape(q->attrs, relay_shape_of(q, 0), relay_shape_of(q, 1)));
}

static const relay_op_row rows[] = {
    {.name = "nn.conv2d",
     .inputs = "data weight",
     .attrs = &tn_type_Conv2DAttrs,
     .level = 2,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "Conv2D",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .doc = "convolution of images with learned kernels"},
};

RELAY_FAMILY(conv2d, CONV2D_ATTRS)
