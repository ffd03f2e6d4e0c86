/* Transposed convolutions: each element of data puts a kernel's worth into the result.

     nn.conv2d_transpose(%data, %weight, channels=8, kernel_size=[3, 3], strides=[2, 2])
         Tensor[(1, 4, 5, 5), float32], Tensor[(4, 8, 3, 3), float32]
         -> Tensor[(1, 8, 11, 11), float32]

   Computed as a convolution with the kernel turned around, of data with strides - 1 zeros between
   its elements. */
#include <string.h>

#include "ir/imm.h"
#include "ops/layout.h"
#include "ops/nn/conv.h"
#include "ops/qnn.h"
#include "ops/ops.h"
#include "tir/layout.h"

#define CONV_FIELDS(F, S, ones, zeros, layout_, kernel_)                                           \
  F(S, REF, PrimExpr, channels, TN_OPT, "channels of the result", "None")                          \
  F(S, REF, Array, kernel_size, TN_OPT | TN_INTS, "extents of the kernel", "None")                 \
  F(S, REF, Array, strides, TN_INTS, "distance in the result of neighbouring elements of data",    \
    ones)                                                                                          \
  F(S, REF, Array, output_padding, TN_INTS, "what is added to the extents of the result", zeros)   \
  F(S, REF, Array, padding, TN_INTS,                                                               \
    "cut off around: one number, one for each axis, or those before and after", zeros)             \
  F(S, REF, Array, dilation, TN_INTS, "distance of neighbouring elements of the kernel", ones)     \
  F(S, I64, , groups, 0, "groups of channels that do not see each other", "1")                     \
  F(S, REF, String, data_layout, 0, "layout of data", layout_)                                     \
  F(S, REF, String, kernel_layout, 0, "layout of weight", kernel_)                                 \
  F(S, REF, String, out_layout, 0, "layout of the result, that of data when empty", "\"\"")        \
  F(S, DTYPE, , out_dtype, 0, "type of the result, that of data when empty", "\"\"")
#define TN_FIELDS_Conv1DTransposeAttrs(F, S) CONV_FIELDS(F, S, "[1]", "[0]", "\"NCW\"", "\"IOW\"")
#define TN_FIELDS_Conv2DTransposeAttrs(F, S)                                                       \
  CONV_FIELDS(F, S, "[1, 1]", "[0, 0]", "\"NCHW\"", "\"IOHW\"")
#define TN_FIELDS_Conv3DTransposeAttrs(F, S)                                                       \
  CONV_FIELDS(F, S, "[1, 1, 1]", "[0, 0, 0]", "\"NCDHW\"", "\"IODHW\"")
#define CONV_TRANSPOSE_ATTRS(N)                                                                    \
  N(Conv1DTransposeAttrs, Attrs, "relay.attrs.Conv1DTransposeAttrs", NODE, TREE, tn_no_hooks,      \
    "attributes of nn.conv1d_transpose")                                                           \
  N(Conv2DTransposeAttrs, Attrs, "relay.attrs.Conv2DTransposeAttrs", NODE, TREE, tn_no_hooks,      \
    "attributes of nn.conv2d_transpose")                                                           \
  N(Conv3DTransposeAttrs, Attrs, "relay.attrs.Conv3DTransposeAttrs", NODE, TREE, tn_no_hooks,      \
    "attributes of nn.conv3d_transpose")
TN_NODES_LOCAL(CONV_TRANSPOSE_ATTRS)

enum { MAX_SPATIAL = 3 };

/* What all of them have, with their number of spatial axes. */
typedef struct {
  int n;
  const tn_arr *kernel_size;
  int64_t groups;
  tn_expr *channels;
  const char *data_layout, *kernel_layout, *out_layout;
  int64_t stride[MAX_SPATIAL], dilation[MAX_SPATIAL], more[MAX_SPATIAL];
  int64_t before[MAX_SPATIAL], after[MAX_SPATIAL];
} conv_attrs;

static const char *letters(int n) { return &"DHW"[MAX_SPATIAL - n]; }

/* row->which: number of spatial axes */
static int read_attrs(const relay_op_row *row, const void *attrs, conv_attrs *a) {
  *a = (conv_attrs){.n = (int)row->which,
                    .kernel_size = relay_attr_obj(attrs, "kernel_size"),
                    .groups = relay_attr_int(attrs, "groups", 1),
                    .channels = relay_attr_obj(attrs, "channels"),
                    .data_layout = relay_attr_str(attrs, "data_layout"),
                    .kernel_layout = relay_attr_str(attrs, "kernel_layout"),
                    .out_layout = relay_attr_str(attrs, "out_layout")};
  const tn_arr *strides = relay_attr_obj(attrs, "strides"),
               *dilation = relay_attr_obj(attrs, "dilation"),
               *more = relay_attr_obj(attrs, "output_padding");
  if (!*a->out_layout) a->out_layout = a->data_layout;
  TN_CHECK(a->groups > 0, ValueError, NULL, "groups must be positive, got %lld",
           (long long)a->groups);
  TN_CHECK(strides->len == a->n && dilation->len == a->n && (more->len == a->n || more->len == 1),
           ValueError, NULL, "strides, dilation and output_padding must have %d numbers", a->n);
  TN_TRY(ops_get_pads(relay_attr_obj(attrs, "padding"), a->n, a->before, a->after, "padding"));
  for (int i = 0; i < a->n; ++i) {
    a->stride[i] = relay_listed(strides, i);
    a->dilation[i] = relay_listed(dilation, i);
    a->more[i] = relay_listed(more, more->len == 1 ? 0 : i);
    TN_CHECK(a->stride[i] > 0 && a->dilation[i] > 0, ValueError, NULL,
             "strides and dilation must be positive");
    TN_TRY(ops_check_32_bits("strides", a->stride[i]) ||
           ops_check_32_bits("dilation", a->dilation[i]) ||
           ops_check_32_bits("output_padding", a->more[i]));
    TN_CHECK(a->more[i] < a->stride[i] || a->more[i] < a->dilation[i] || a->more[i] == 0,
             ValueError, NULL, "output_padding must be smaller than strides");
  }
  return 0;
}

static tn_dtype out_dtype(const void *attrs, tn_dtype data) {
  const tn_type *type = ((const tn_obj *)attrs)->type;
  tn_dtype t = {0};
  if (type == &tn_type_Conv1DTransposeAttrs)
    t = ((const tn_Conv1DTransposeAttrs *)attrs)->out_dtype;
  if (type == &tn_type_Conv2DTransposeAttrs)
    t = ((const tn_Conv2DTransposeAttrs *)attrs)->out_dtype;
  if (type == &tn_type_Conv3DTransposeAttrs)
    t = ((const tn_Conv3DTransposeAttrs *)attrs)->out_dtype;
  return t.bits ? t : data;
}

/* (x - 1) * stride + (kernel - 1) * dilation + 1 - pads + output_padding */
static tn_expr *out_extent(const conv_attrs *a, int i, tn_expr *x, tn_expr *kernel) {
  int64_t rest = 1 - a->before[i] - a->after[i] + a->more[i];
  tn_expr *e = relay_dim_add(relay_dim_times(relay_dim_plus(x, -1), a->stride[i]),
                             relay_dim_times(relay_dim_plus(kernel, -1), a->dilation[i]));
  return relay_dim_plus(e, rest);
}

static tn_arr *out_shape(const conv_attrs *a, const tn_arr *data, const tn_arr *weight) {
  ops_axes d, w, o = {{NULL}};
  TN_TRYP(ops_axes_of(a->data_layout, data, true, &d));
  TN_TRYP(ops_axes_of(a->kernel_layout, weight, true, &w));
  OPS_AXIS(&o, 'N') = OPS_AXIS(&d, 'N');
  OPS_AXIS(&o, 'C') = relay_dim_times(OPS_AXIS(&w, 'O'), a->groups);
  for (int i = 0; i < a->n; ++i) {
    char letter = letters(a->n)[i];
    OPS_AXIS(&o, letter) = out_extent(a, i, OPS_AXIS(&d, letter), OPS_AXIS(&w, letter));
  }
  return ops_axes_to(a->out_layout, &o, true);
}

/* ---- relation ---- */

static tn_arr *weight_shape(const conv_attrs *a, const tn_arr *data) {
  ops_axes d, w = {{NULL}};
  TN_TRYP(ops_axes_of(a->data_layout, data, true, &d));
  OPS_AXIS(&w, 'I') = OPS_AXIS(&d, 'C');
  OPS_AXIS(&w, 'O') = relay_dim_over(a->channels, a->groups);
  for (int i = 0; i < a->n; ++i)
    OPS_AXIS(&w, letters(a->n)[i]) = (tn_expr *)tn_arr_obj(a->kernel_size, i);
  return ops_axes_to(a->kernel_layout, &w, true);
}

/* Does the weight fit data and attributes? ValueError if not. */
static int check_weight(const conv_attrs *a, const tn_TensorType *data,
                        const tn_TensorType *weight) {
  ops_axes d, w;
  TN_TRY(ops_axes_of(a->data_layout, data->shape, true, &d));
  TN_TRY(ops_axes_of(a->kernel_layout, weight->shape, true, &w));
  TN_CHECK(relay_dim_equal(OPS_AXIS(&d, 'C'), OPS_AXIS(&w, 'I')) != 0, ValueError, NULL,
           "data %s has another number of channels than weight %s of layout %s",
           relay_type_text(data), relay_type_text(weight), a->kernel_layout);
  tn_expr *made = relay_dim_times(OPS_AXIS(&w, 'O'), a->groups);
  TN_CHECK(!a->channels || relay_dim_equal(a->channels, made) != 0, ValueError, NULL,
           "channels does not match weight %s of layout %s with groups=%lld",
           relay_type_text(weight), a->kernel_layout, (long long)a->groups);
  for (int i = 0; a->kernel_size && a->kernel_size->len == a->n && i < a->n; ++i) {
    tn_expr *size = (tn_expr *)tn_arr_obj(a->kernel_size, i);
    TN_CHECK(relay_dim_equal(size, OPS_AXIS(&w, letters(a->n)[i])) != 0, ValueError, NULL,
             "kernel_size does not match weight %s of layout %s", relay_type_text(weight),
             a->kernel_layout);
  }
  return 0;
}

static int relation(relay_rel *r) {
  conv_attrs a;
  RELAY_TENSOR(data, r, 0);
  if (read_attrs(relay_op_row_of((const tn_obj *)r->op), r->attrs, &a)) return ops_rel_failed(r);
  tn_TensorType *weight = TN_AS(TensorType, r->types[1]);
  if (!weight && a.channels && a.kernel_size && a.kernel_size->len == a.n) {
    tn_arr *shape = weight_shape(&a, data->shape);
    if (!shape) return ops_rel_failed(r);
    TN_GET(weight, relay_tensor_type(shape, data->dtype));
    TN_TRY(relay_rel_assign(r, 1, (tn_Type *)weight));
  }
  if (!weight) return RELAY_WAIT;
  if (check_weight(&a, data, weight)) return ops_rel_failed(r);
  tn_arr *shape = out_shape(&a, data->shape, weight->shape);
  if (!shape) return ops_rel_failed(r);
  return relay_rel_result(r, relay_tensor_type(shape, out_dtype(r->attrs, data->dtype)));
}

/* ---- compute ---- */

typedef struct {
  conv_attrs attrs;
  tn_Tensor *data, *weight, *spread; /* spread: data with zeros between and around */
  ops_axes extents;                  /* of weight */
  const tn_Layout *layout;           /* of data */
  tn_dtype dtype;
} conv;

/* Which spatial axis is axis k of data? -1: none. */
static int spatial(const conv *c, int64_t k) {
  for (int i = 0; i < c->attrs.n; ++i) {
    if (tir_layout_index(c->layout, letters(c->attrs.n)[i]) == k) return i;
  }
  return -1;
}

/* Zeros before data along spatial axis i. */
static tn_expr *lead(const conv *c, int i) {
  tn_expr *kernel = OPS_AXIS(&c->extents, letters(c->attrs.n)[i]);
  tn_expr *reach =
      tir_mul(tir_sub(kernel, tir_one(kernel->dtype)), tir_i32((int32_t)c->attrs.dilation[i]));
  return tir_sub(reach, tir_i32((int32_t)c->attrs.before[i]));
}

static tn_expr *spread_element(void *ctx, tn_arr *at) {
  const conv *c = ctx;
  tn_expr *inside = tir_bool(true);
  TN_VEC(index);
  for (int64_t k = 0; k < at->len; ++k) {
    tn_expr *x = te_index(at, k);
    int i = spatial(c, k);
    if (i >= 0) {
      tn_expr *step = tir_const_int(x->dtype, c->attrs.stride[i]), *zero = tir_zero(x->dtype);
      x = tir_sub(x, lead(c, i));
      inside = tir_and(inside, tir_ge(x, zero));
      inside = tir_and(inside, tir_lt(x, tir_mul(te_extent(c->data, k), step)));
      if (c->attrs.stride[i] > 1) inside = tir_and(inside, tir_eq(tir_floormod(x, step), zero));
      x = tir_floordiv(x, step);
    }
    TN_TRYP(tn_vec_push_obj(&index, x));
  }
  return tir_if_then_else(inside, te_at(c->data, tn_arr_from(&index)), tir_zero(c->data->dtype),
                          NULL);
}

/* Extents of the result and the reach of the kernel. */
static tn_Tensor *spread(conv *c, const ops_axes *out) {
  TN_VEC(shape);
  for (int64_t k = 0; k < c->data->shape->len; ++k) {
    tn_expr *e = te_extent(c->data, k);
    int i = spatial(c, k);
    if (i >= 0) {
      tn_expr *kernel = OPS_AXIS(&c->extents, letters(c->attrs.n)[i]);
      e = tir_add(
          OPS_AXIS(out, letters(c->attrs.n)[i]),
          tir_mul(tir_sub(kernel, tir_one(kernel->dtype)), tir_i32((int32_t)c->attrs.dilation[i])));
    }
    TN_TRYP(tn_vec_push_obj(&shape, e));
  }
  return te_compute(tn_arr_from(&shape), spread_element, c, "data_dilate", "injective,pad");
}

static int reduce_along(tn_expr *extent, const char *name, tn_vec *axes, tn_expr **var) {
  tn_IterVar *k = te_reduce_axis(extent, name);
  if (!k) return -1;
  *var = (tn_expr *)k->var;
  return tn_vec_push_obj(axes, k);
}

static tn_expr *element(void *ctx, tn_arr *at) {
  const conv *c = ctx;
  const conv_attrs *a = &c->attrs;
  ops_axes o, d = {{NULL}}, w = {{NULL}};
  TN_VEC(axes);
  tn_expr *k, *groups = tir_i32((int32_t)a->groups);
  TN_TRYP(ops_axes_of(a->out_layout, at, false, &o));
  tn_expr *in = tir_floordiv(OPS_AXIS(&c->extents, 'I'), groups);
  tn_expr *oc = OPS_AXIS(&o, 'C'), *out = OPS_AXIS(&c->extents, 'O');
  TN_TRYP(reduce_along(in, "dc", &axes, &k));
  OPS_AXIS(&d, 'N') = OPS_AXIS(&o, 'N');
  OPS_AXIS(&d, 'C') = a->groups == 1 ? k : tir_add(tir_mul(tir_floordiv(oc, out), in), k);
  OPS_AXIS(&w, 'I') = OPS_AXIS(&d, 'C');
  OPS_AXIS(&w, 'O') = a->groups == 1 ? oc : tir_floormod(oc, out);
  for (int i = 0; i < a->n; ++i) {
    char letter = letters(a->n)[i];
    tn_expr *extent = OPS_AXIS(&c->extents, letter);
    TN_TRYP(reduce_along(extent, (const char *[]){"dd", "dh", "dw"}[MAX_SPATIAL - a->n + i], &axes,
                         &k));
    OPS_AXIS(&w, letter) = tir_sub(tir_sub(extent, tir_one(extent->dtype)), k);
    OPS_AXIS(&d, letter) =
        tir_add(OPS_AXIS(&o, letter), tir_mul(k, tir_i32((int32_t)a->dilation[i])));
  }
  tn_expr *x = te_at(c->spread, ops_axes_to(a->data_layout, &d, false)),
          *y = te_at(c->weight, ops_axes_to(a->kernel_layout, &w, false));
  return te_reduce(TE_SUM, tir_mul(tir_cast(c->dtype, x, NULL), tir_cast(c->dtype, y, NULL)),
                   tn_arr_from(&axes), NULL);
}

static tn_arr *compute(const relay_compute *r) {
  conv c = {.data = relay_input(r, 0), .weight = relay_input(r, 1)};
  ops_axes out;
  TN_TRYP(read_attrs(r->row, r->attrs, &c.attrs));
  TN_TRYP(ops_axes_of(c.attrs.kernel_layout, c.weight->shape, true, &c.extents));
  TN_GETP(c.layout, tir_layout(c.attrs.data_layout, TN_I32));
  c.dtype = out_dtype(r->attrs, c.data->dtype);
  tn_arr *shape = out_shape(&c.attrs, c.data->shape, c.weight->shape);
  if (!shape) return NULL;
  TN_TRYP(ops_axes_of(c.attrs.out_layout, shape, true, &out));
  TN_GETP(c.spread, spread(&c, &out));
  const char *name =
      (const char *[]){"conv1d_transpose", "conv2d_transpose", "conv3d_transpose"}[c.attrs.n - 1];
  return tn_arr_of(1, te_compute(shape, element, &c, name, name));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  conv_attrs a;
  TN_TRYP(read_attrs(q->row, q->attrs, &a));
  return tn_arr_of(1, out_shape(&a, relay_shape_of(q, 0), relay_shape_of(q, 1)));
}

#define CONV(n_, doc_)                                                                             \
  {                                                                                                \
    .name = "nn.conv" #n_ "d_transpose", .inputs = "data weight",                                  \
    .attrs = &tn_type_Conv##n_##DTransposeAttrs, .level = 2,                                       \
    .pattern = RELAY_OUT_ELEMWISE_FUSABLE, .rel_name = "Conv" #n_ "DTranspose", .rel = relation,   \
    .compute = compute, .shape = shape_function, .layouts = ops_layouts_conv,                      \
    .convert = ops_convert_conv, .legalize = ops_legalize_conv_transpose, .which = n_,             \
    .doc = doc_, .precision = RELAY_LOW, .values = RELAY_COMPUTED,                                 \
    .form = RELAY_CONVOLUTION_TRANSPOSED                                                           \
  }

static const relay_op_row rows[] = {
    CONV(1, "transposed convolution of rows"),
    CONV(2, "transposed convolution of images"),
    CONV(3, "transposed convolution of volumes"),
    {.name = "qnn.conv2d_transpose",
     .inputs = "data weight input_zero_point kernel_zero_point input_scale kernel_scale",
     .attrs = &tn_type_Conv2DTransposeAttrs,
     .level = 11,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "QnnConv2DTranspose",
     .rel = qnn_rel_conv2d_transpose,
     .layouts = qnn_layouts_conv,
     .convert = ops_convert_conv,
     .legalize = qnn_lower_conv2d_transpose,
     .which = 2,
     .doc = "transposed convolution of quantized images, in quanta of the product of scales"},
};

RELAY_FAMILY(conv_transpose, CONV_TRANSPOSE_ATTRS)
