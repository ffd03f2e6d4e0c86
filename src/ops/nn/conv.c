/* Convolutions over one, two or three axes, of any layout, with groups.

     nn.conv2d(%data, %weight, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3])
         Tensor[(1, 4, 6, 6), float32], Tensor[(8, 4, 3, 3), float32]
         -> Tensor[(1, 8, 6, 6), float32]

   With as many groups as channels of data and of weight, the second axis of weight is how many
   channels of the result are made of each (a depthwise convolution). */
#include <string.h>

#include "ir/imm.h"
#include "ops/gradients.h"
#include "ops/layout.h"
#include "ops/nn/conv.h"
#include "ops/ops.h"
#include "ops/qnn.h"
#include "tir/layout.h"

#define CONV_FIELDS(F, S, ones, zeros, layout_, kernel_)                                           \
  F(S, REF, Array, strides, TN_INTS, "steps of the window", ones)                                  \
  F(S, REF, Array, padding, TN_INTS,                                                               \
    "zeros put around: one number, one for each axis, or those before and after", zeros)           \
  F(S, REF, Array, dilation, TN_INTS, "distance of neighbouring elements of the kernel", ones)     \
  F(S, I64, , groups, 0, "groups of channels that do not see each other", "1")                     \
  F(S, REF, PrimExpr, channels, TN_OPT, "channels of the result", "None")                          \
  F(S, REF, Array, kernel_size, TN_OPT | TN_INTS, "extents of the kernel", "None")                 \
  F(S, REF, String, data_layout, 0, "layout of data", layout_)                                     \
  F(S, REF, String, kernel_layout, 0, "layout of weight", kernel_)                                 \
  F(S, REF, String, out_layout, 0, "layout of the result, that of data when empty", "\"\"")        \
  F(S, DTYPE, , out_dtype, 0, "type of the result, that of data when empty", "\"\"")
#define REWRITE_FIELDS(F, S)                                                                       \
  F(S, REF, String, auto_scheduler_rewritten_layout, 0, "layout of weight after a rewrite",        \
    "\"\"")                                                                                        \
  F(S, REF, Array, meta_schedule_original_shape, 0, "shape of weight before a rewrite", "[]")
#define TN_FIELDS_Conv1DAttrs(F, S) CONV_FIELDS(F, S, "[1]", "[0]", "\"NCW\"", "\"OIW\"")
#define TN_FIELDS_Conv2DAttrs(F, S)                                                                \
  CONV_FIELDS(F, S, "[1, 1]", "[0, 0]", "\"NCHW\"", "\"OIHW\"") REWRITE_FIELDS(F, S)
#define TN_FIELDS_Conv3DAttrs(F, S)                                                                \
  CONV_FIELDS(F, S, "[1, 1, 1]", "[0, 0, 0]", "\"NCDHW\"", "\"OIDHW\"") REWRITE_FIELDS(F, S)
#define CONV_ATTRS(N)                                                                              \
  N(Conv1DAttrs, Attrs, "relay.attrs.Conv1DAttrs", NODE, TREE, tn_no_hooks,                        \
    "attributes of nn.conv1d")                                                                     \
  N(Conv2DAttrs, Attrs, "relay.attrs.Conv2DAttrs", NODE, TREE, tn_no_hooks,                        \
    "attributes of nn.conv2d")                                                                     \
  N(Conv3DAttrs, Attrs, "relay.attrs.Conv3DAttrs", NODE, TREE, tn_no_hooks,                        \
    "attributes of nn.conv3d")
TN_NODES_LOCAL(CONV_ATTRS)

enum { MAX_SPATIAL = 3 };

/* What all of them have, with their number of spatial axes. */
typedef struct {
  int n;
  const tn_arr *strides, *padding, *dilation, *kernel_size;
  int64_t groups;
  tn_expr *channels;
  const char *data_layout, *kernel_layout, *out_layout;
  tn_dtype out_dtype;
} conv_attrs;

#define READ(T, count)                                                                             \
  static conv_attrs read_##count(const tn_##T *a) {                                                \
    return (conv_attrs){.n = count,                                                                \
                        .strides = a->strides,                                                     \
                        .padding = a->padding,                                                     \
                        .dilation = a->dilation,                                                   \
                        .kernel_size = a->kernel_size,                                             \
                        .groups = a->groups,                                                       \
                        .channels = a->channels,                                                   \
                        .data_layout = tn_cstr(a->data_layout),                                    \
                        .kernel_layout = tn_cstr(a->kernel_layout),                                \
                        .out_layout = tn_cstr(a->out_layout),                                      \
                        .out_dtype = a->out_dtype};                                                \
  }
READ(Conv1DAttrs, 1)
READ(Conv2DAttrs, 2)
READ(Conv3DAttrs, 3)
#undef READ

/* row->which: number of spatial axes */
static conv_attrs read_attrs(const relay_op_row *row, const void *attrs) {
  return row->which == 1 ? read_1(attrs) : row->which == 2 ? read_2(attrs) : read_3(attrs);
}

static const char *letters(int n) { return &"DHW"[MAX_SPATIAL - n]; }

static const char *out_layout(const conv_attrs *a) {
  return *a->out_layout ? a->out_layout : a->data_layout;
}

static tn_dtype out_dtype(const conv_attrs *a, tn_dtype data) {
  return a->out_dtype.bits == 0 ? data : a->out_dtype;
}

/* Is the second axis of weight a number of results for each channel? */
static bool multiplies(const conv_attrs *a, const ops_axes *data, const ops_axes *weight) {
  tn_expr *o = OPS_AXIS(weight, 'O'), *i = OPS_AXIS(weight, 'I');
  return a->groups > 1 && relay_dim_is(i, 1) != 1 && tir_is_const((tn_obj *)o, a->groups) &&
         tir_is_const((tn_obj *)OPS_AXIS(data, 'C'), a->groups);
}

/* Extents of the result from those of data and weight: for relations, shape functions, computes. */
static tn_arr *out_shape(const conv_attrs *a, const tn_arr *data, const tn_arr *weight) {
  ops_axes d, w, o = {{NULL}};
  int64_t before[MAX_SPATIAL], after[MAX_SPATIAL];
  TN_TRYP(ops_axes_of(a->data_layout, data, true, &d));
  TN_TRYP(ops_axes_of(a->kernel_layout, weight, true, &w));
  TN_TRYP(ops_get_pads(a->padding, a->n, before, after, "convolution"));
  OPS_AXIS(&o, 'N') = OPS_AXIS(&d, 'N');
  OPS_AXIS(&o, 'C') = OPS_AXIS(&w, 'O');
  if (multiplies(a, &d, &w))
    OPS_AXIS(&o, 'C') = relay_dim_mul(OPS_AXIS(&w, 'O'), OPS_AXIS(&w, 'I'));
  for (int i = 0; i < a->n; ++i) {
    char letter = letters(a->n)[i];
    OPS_AXIS(&o, letter) =
        ops_window_extent(OPS_AXIS(&d, letter), OPS_AXIS(&w, letter), before[i] + after[i],
                          relay_listed(a->strides, i), relay_listed(a->dilation, i));
  }
  return ops_axes_to(out_layout(a), &o, true);
}

/* ---- relation ---- */

static int check_attrs(const relay_rel *r, const conv_attrs *a) {
  RELAY_CHECK(r, a->groups > 0, "groups must be positive, got %lld", (long long)a->groups);
  RELAY_CHECK(r, a->strides->len == a->n && a->dilation->len == a->n,
              "strides and dilation must have %d numbers", a->n);
  for (int i = 0; i < a->n; ++i) {
    RELAY_CHECK(r, relay_listed(a->strides, i) > 0 && relay_listed(a->dilation, i) > 0,
                "strides and dilation must be positive");
    if (ops_check_32_bits("strides", relay_listed(a->strides, i)) ||
        ops_check_32_bits("dilation", relay_listed(a->dilation, i)))
      return ops_rel_failed(r);
  }
  return 0;
}

static bool has_kernel_size(const conv_attrs *a) {
  return a->kernel_size && a->kernel_size->len == a->n;
}

/* Shape of a weight that nothing is known of but the attributes. */
static tn_arr *weight_shape(const conv_attrs *a, const ops_axes *data) {
  ops_axes w = {{NULL}};
  OPS_AXIS(&w, 'O') = a->channels;
  OPS_AXIS(&w, 'I') = relay_dim_over(OPS_AXIS(data, 'C'), a->groups);
  for (int i = 0; i < a->n; ++i)
    OPS_AXIS(&w, letters(a->n)[i]) = (tn_expr *)tn_arr_obj(a->kernel_size, i);
  return ops_axes_to(a->kernel_layout, &w, true);
}

static int check_kernel_size(const relay_rel *r, const conv_attrs *a, const ops_axes *w,
                             const tn_TensorType *weight) {
  TN_BUF(text);
  for (int i = 0; i < a->n; ++i)
    tn_buf_printf(&text, i ? ", %lld" : "%lld", (long long)relay_listed(a->kernel_size, i));
  TN_TRY(tn_buf_ok(&text));
  for (int i = 0; i < a->n; ++i) {
    tn_expr *size = (tn_expr *)tn_arr_obj(a->kernel_size, i);
    RELAY_CHECK(r, relay_dim_equal(size, OPS_AXIS(w, letters(a->n)[i])) != 0,
                "kernel_size=[%s] does not match weight %s of layout %s", tn_buf_cstr(&text),
                relay_type_text(weight), a->kernel_layout);
  }
  return 0;
}

static int check_weight(const relay_rel *r, const conv_attrs *a, const ops_axes *data,
                        const tn_TensorType *weight) {
  const char *layout = a->kernel_layout;
  ops_axes w;
  TN_TRY(ops_axes_of(layout, weight->shape, true, &w));
  bool multiplied = multiplies(a, data, &w);
  tn_expr *made = OPS_AXIS(&w, 'O');
  if (multiplied) made = relay_dim_mul(made, OPS_AXIS(&w, 'I'));
  RELAY_CHECK(r, !a->channels || relay_dim_equal(a->channels, made) != 0,
              "channels=%lld does not match weight %s of layout %s",
              (long long)relay_attr_int(r->attrs, "channels", 0), relay_type_text(weight), layout);
  if (has_kernel_size(a)) TN_TRY(check_kernel_size(r, a, &w, weight));
  tn_expr *channels = relay_dim_times(OPS_AXIS(&w, 'I'), a->groups);
  RELAY_CHECK(r, multiplied || relay_dim_equal(channels, OPS_AXIS(data, 'C')) != 0,
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
  conv_attrs a = read_attrs(relay_op_row_of((const tn_obj *)r->op), r->attrs);
  ops_axes d, w;
  RELAY_TENSOR(data, r, 0);
  TN_TRY(check_attrs(r, &a));
  TN_TRY(at_call(r, data, "data", a.data_layout, &d));
  tn_TensorType *weight = TN_AS(TensorType, r->types[1]);
  if (weight) {
    TN_TRY(at_call(r, weight, "weight", a.kernel_layout, &w));
    TN_TRY(check_weight(r, &a, &d, weight));
  } else if (a.channels && has_kernel_size(&a)) {
    tn_dtype t = data->dtype; /* uint8 data goes with int8 weights */
    if (ir_is_uint(t) && t.bits == 8) t = tn_dtype_of(kDLInt, 8, 1);
    TN_GET(weight, relay_tensor_type(weight_shape(&a, &d), t));
    TN_TRY(relay_rel_assign(r, 1, (tn_Type *)weight));
  } else {
    return RELAY_WAIT;
  }
  tn_arr *shape = out_shape(&a, data->shape, weight->shape);
  if (!shape) return ops_rel_failed(r);
  return relay_rel_result(r, relay_tensor_type(shape, out_dtype(&a, data->dtype)));
}

/* ---- compute ---- */

typedef struct {
  conv_attrs attrs;
  bool multiplied;          /* see multiplies() */
  tn_Tensor *data, *weight; /* data with its border */
  ops_axes extents;         /* of weight */
  tn_dtype dtype;
} conv;

/* Channels of data and weight for channel `oc` of the result, without the sum over channels. */
static void place_channels(const conv *c, tn_expr *oc, ops_axes *d, ops_axes *w) {
  tn_expr *in = OPS_AXIS(&c->extents, 'I'), *out = OPS_AXIS(&c->extents, 'O');
  tn_expr *groups = tir_i32((int32_t)c->attrs.groups), *zero = tir_zero(TN_I32);
  OPS_AXIS(w, 'O') = c->multiplied ? tir_floordiv(oc, in) : oc;
  OPS_AXIS(w, 'I') = c->multiplied ? tir_floormod(oc, in) : zero;
  OPS_AXIS(d, 'C') = c->attrs.groups == 1 ? zero
                     : c->multiplied      ? OPS_AXIS(w, 'O')
                                     : tir_mul(tir_floordiv(oc, tir_floordiv(out, groups)), in);
}

static int reduce_along(const conv *c, char letter, const char *name, tn_vec *axes, tn_expr **var) {
  tn_IterVar *k = te_reduce_axis(OPS_AXIS(&c->extents, letter), name);
  if (!k) return -1;
  *var = (tn_expr *)k->var;
  return tn_vec_push_obj(axes, k);
}

/* sum over ic, kh, kw of data[n, ic, oh * stride + kh * dilation, ...] * weight[oc, ic, kh, kw] */
static tn_expr *element(void *ctx, tn_arr *at) {
  const conv *c = ctx;
  const conv_attrs *a = &c->attrs;
  ops_axes o, d = {{NULL}}, w = {{NULL}};
  tn_expr *k;
  TN_VEC(axes);
  TN_TRYP(ops_axes_of(out_layout(a), at, false, &o));
  OPS_AXIS(&d, 'N') = OPS_AXIS(&o, 'N');
  place_channels(c, OPS_AXIS(&o, 'C'), &d, &w);
  if (!c->multiplied && relay_dim_is(OPS_AXIS(&c->extents, 'I'), 1) != 1) {
    TN_TRYP(reduce_along(c, 'I', "rc", &axes, &k));
    OPS_AXIS(&w, 'I') = k;
    OPS_AXIS(&d, 'C') = tir_add(OPS_AXIS(&d, 'C'), k);
  }
  for (int i = 0; i < a->n; ++i) {
    char letter = letters(a->n)[i];
    const char *name = (const char *[]){"rz", "ry", "rx"}[MAX_SPATIAL - a->n + i];
    TN_TRYP(reduce_along(c, letter, name, &axes, &k));
    OPS_AXIS(&w, letter) = k;
    OPS_AXIS(&d, letter) =
        tir_add(tir_mul(OPS_AXIS(&o, letter), tir_i32((int32_t)relay_listed(a->strides, i))),
                tir_mul(k, tir_i32((int32_t)relay_listed(a->dilation, i))));
  }
  tn_expr *x = te_at(c->data, ops_axes_to(a->data_layout, &d, false)),
          *y = te_at(c->weight, ops_axes_to(a->kernel_layout, &w, false));
  return te_reduce(TE_SUM, tir_mul(tir_cast(c->dtype, x, NULL), tir_cast(c->dtype, y, NULL)),
                   tn_arr_from(&axes), NULL);
}

/* Data with zeros around the spatial axes. */
static tn_Tensor *with_border(const conv_attrs *a, tn_Tensor *data) {
  int64_t before[OPS_MAX_NDIM] = {0}, after[OPS_MAX_NDIM] = {0};
  int64_t pads[2][MAX_SPATIAL];
  tn_Layout *layout;
  TN_TRYP(ops_get_pads(a->padding, a->n, pads[0], pads[1], "convolution"));
  TN_GETP(layout, tir_layout(a->data_layout, TN_I32));
  for (int i = 0; i < a->n; ++i) {
    int64_t axis = tir_layout_index(layout, letters(a->n)[i]);
    before[axis] = pads[0][i];
    after[axis] = pads[1][i];
  }
  return ops_pad(data, before, after, tir_zero(data->dtype), "pad_temp");
}

static const char *tag_of(const conv *c) {
  if (c->attrs.n == 1) return "conv1d";
  if (c->attrs.n == 3) return "conv3d";
  if (c->attrs.groups > 1)
    return c->multiplied || relay_dim_is(OPS_AXIS(&c->extents, 'I'), 1) == 1 ? "depthwise_conv2d"
                                                                             : "group_conv2d";
  return strcmp(c->attrs.data_layout, "NCHW") == 0   ? "conv2d_nchw"
         : strcmp(c->attrs.data_layout, "NHWC") == 0 ? "conv2d_nhwc"
                                                     : "conv2d";
}

static tn_arr *compute(const relay_compute *r) {
  conv c = {.attrs = read_attrs(r->row, r->attrs), .weight = relay_input(r, 1)};
  ops_axes d;
  tn_Tensor *data = relay_input(r, 0);
  TN_TRYP(ops_axes_of(c.attrs.data_layout, data->shape, true, &d));
  TN_TRYP(ops_axes_of(c.attrs.kernel_layout, c.weight->shape, true, &c.extents));
  c.multiplied = multiplies(&c.attrs, &d, &c.extents);
  c.dtype = out_dtype(&c.attrs, data->dtype);
  tn_arr *shape = out_shape(&c.attrs, data->shape, c.weight->shape);
  TN_GETP(c.data, with_border(&c.attrs, data));
  const char *name = (const char *[]){"conv1d", "conv2d", "conv3d"}[c.attrs.n - 1];
  return tn_arr_of(1, te_compute(shape, element, &c, name, tag_of(&c)));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  conv_attrs a = read_attrs(q->row, q->attrs);
  return tn_arr_of(1, out_shape(&a, relay_shape_of(q, 0), relay_shape_of(q, 1)));
}

#define CONV(name_, inputs_, n_, rel_name_, grad_, ...)                                            \
  {                                                                                                \
    .name = name_, .inputs = inputs_, .attrs = &tn_type_Conv##n_##DAttrs, .level = 2,              \
    .pattern = RELAY_OUT_ELEMWISE_FUSABLE, .rel_name = rel_name_, .rel = relation,                 \
    .compute = compute, .shape = shape_function, .layouts = ops_layouts_conv,                      \
    .legalize = ops_legalize_conv, .alter = ops_alter_conv, .relax = ops_relax_conv2d,             \
    .whole = ops_whole_conv, .convert = ops_convert_conv, .which = n_, .grad = grad_,              \
    .doc = __VA_ARGS__                                                                             \
  }

static const relay_op_row rows[] = {
    {.name = "qnn.conv2d",
     .inputs = "data kernel input_zero_point kernel_zero_point input_scale kernel_scale",
     .attrs = &tn_type_Conv2DAttrs,
     .level = 11,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "QnnConv2D",
     .rel = qnn_rel_conv2d,
     .layouts = qnn_layouts_conv,
     .convert = ops_convert_conv,
     .legalize = qnn_lower_conv2d,
     .which = 2,
     .doc = "convolution of quantized images; the result is in quanta of the product of scales"},
    CONV("nn.conv1d", "data weight", 1, "Conv1D", NULL, "convolution of rows with learned kernels",
         .precision = RELAY_LOW, .values = RELAY_COMPUTED, .form = RELAY_CONVOLUTION),
    CONV("nn.conv2d", "data weight", 2, "Conv2D", ops_grad_conv2d,
         "convolution of images with learned kernels", .precision = RELAY_LOW,
         .values = RELAY_COMPUTED, .apart = RELAY_IMAGES, .form = RELAY_CONVOLUTION),
    CONV("nn.conv3d", "data weight", 3, "Conv3D", NULL,
         "convolution of volumes with learned kernels", .precision = RELAY_LOW,
         .values = RELAY_COMPUTED, .form = RELAY_CONVOLUTION),
    CONV("nn.contrib_conv2d_NCHWc", "data kernel", 2, "Conv2D", NULL,
         "convolution of images whose channels are in blocks", .values = RELAY_COMPUTED,
         .apart = RELAY_IMAGES, .form = RELAY_CONVOLUTION),
    CONV("nn.contrib_depthwise_conv2d_NCHWc", "data kernel", 2, "Conv2D", NULL,
         "convolution of each channel with its own kernels, channels in blocks",
         .values = RELAY_COMPUTED, .apart = RELAY_IMAGES, .form = RELAY_CONVOLUTION),
};

RELAY_FAMILY(conv, CONV_ATTRS)
