/* Convolution of images at points that a second tensor moves (Dai et al., 2017).

     nn.deformable_conv2d(%data, %offset, %weight, kernel_size=[3, 3], channels=8)

   The offset of point k of the kernel is channels 2k (down) and 2k + 1 (right) of its group of
   input channels. Points between elements are interpolated, what is outside of the image is 0. */
#include "ir/imm.h"
#include "ops/layout.h"
#include "ops/nn/conv.h"

#define TN_FIELDS_DeformableConv2DAttrs(F, S)                                                      \
  F(S, REF, Array, strides, TN_INTS, "distance of windows", "[1, 1]")                              \
  F(S, REF, Array, padding, TN_INTS, "one number, two, or those before all axes and those after",  \
    "[0, 0]")                                                                                      \
  F(S, REF, Array, dilation, TN_INTS, "distance of points of the kernel", "[1, 1]")                \
  F(S, I64, , deformable_groups, 0, "groups of input channels that move together", "1")            \
  F(S, I64, , groups, 0, "groups of channels", "1")                                                \
  F(S, REF, PrimExpr, channels, TN_OPT, "number of output channels", "None")                       \
  F(S, REF, Array, kernel_size, TN_OPT | TN_INTS, "height and width of the kernel", "None")        \
  F(S, REF, String, data_layout, 0, "layout of data and offset", "\"NCHW\"")                       \
  F(S, REF, String, kernel_layout, 0, "layout of weight", "\"OIHW\"")                              \
  F(S, REF, String, out_layout, 0, "that of data when empty", "\"\"")                              \
  F(S, DTYPE, , out_dtype, 0, "type of the result, that of data when empty", "\"\"")
#define DEFORMABLE_ATTRS(N)                                                                        \
  N(DeformableConv2DAttrs, Attrs, "relay.attrs.DeformableConv2DAttrs", NODE, TREE, tn_no_hooks,    \
    "attributes of nn.deformable_conv2d")
TN_NODES_LOCAL(DEFORMABLE_ATTRS)

typedef tn_DeformableConv2DAttrs attributes;

typedef struct {
  const attributes *a;
  ops_axes data, offset, weight; /* extents */
  int64_t before[2], after[2], stride[2], dilation[2];
} problem;

static const char letters[2] = {'H', 'W'};

static int read_problem(const attributes *a, const tn_arr *data, const tn_arr *offset,
                        const tn_arr *weight, problem *p) {
  p->a = a;
  TN_TRY(ops_axes_of(tn_cstr(a->data_layout), data, true, &p->data));
  TN_TRY(ops_axes_of(tn_cstr(a->data_layout), offset, true, &p->offset));
  TN_TRY(ops_axes_of(tn_cstr(a->kernel_layout), weight, true, &p->weight));
  TN_CHECK(a->groups > 0 && a->deformable_groups > 0, ValueError, NULL, "groups must be positive");
  TN_CHECK(!a->out_layout->len || tn_str_eq(a->out_layout, tn_cstr(a->data_layout)), ValueError,
           NULL, "out_layout must be that of data, %s, got %s", tn_cstr(a->data_layout),
           tn_cstr(a->out_layout));
  TN_TRY(ops_get_pads(a->padding, 2, p->before, p->after, "nn.deformable_conv2d"));
  TN_TRY(ops_get_steps(a->strides, 2, p->stride, "strides"));
  return ops_get_steps(a->dilation, 2, p->dilation, "dilation");
}

static tn_arr *out_shape(const problem *p) {
  ops_axes out = p->data;
  OPS_AXIS(&out, 'C') = OPS_AXIS(&p->weight, 'O');
  for (int i = 0; i < 2; ++i)
    out.axis[letters[i] - 'A'] =
        ops_window_extent(p->data.axis[letters[i] - 'A'], p->weight.axis[letters[i] - 'A'],
                          p->before[i] + p->after[i], p->stride[i], p->dilation[i]);
  return ops_axes_to(tn_cstr(p->a->data_layout), &out, true);
}

static bool differ(tn_expr *a, tn_expr *b) { return relay_dim_equal(a, b) == 0; }

static tn_expr *times(tn_expr *a, int64_t n) { return relay_dim_times(a, n); }

static int check_extents(const relay_rel *r, const problem *p, const tn_arr *shape,
                         const tn_TensorType *offset, const tn_TensorType *weight) {
  ops_axes out;
  TN_TRY(ops_axes_of(tn_cstr(p->a->data_layout), shape, true, &out));
  RELAY_CHECK(r, !differ(OPS_AXIS(&p->data, 'C'), times(OPS_AXIS(&p->weight, 'I'), p->a->groups)),
              "weight %s does not fit data in %lld groups", relay_type_text(weight),
              (long long)p->a->groups);
  tn_expr *points = relay_dim_mul(OPS_AXIS(&p->weight, 'H'), OPS_AXIS(&p->weight, 'W'));
  RELAY_CHECK(r, !differ(OPS_AXIS(&p->offset, 'C'), times(points, 2 * p->a->deformable_groups)),
              "offset %s: expected two channels for each point of the kernel of %lld groups",
              relay_type_text(offset), (long long)p->a->deformable_groups);
  for (int i = 0; i < 2; ++i)
    RELAY_CHECK(r, !differ(p->offset.axis[letters[i] - 'A'], out.axis[letters[i] - 'A']),
                "offset %s: expected the height and width of the result", relay_type_text(offset));
  RELAY_CHECK(r, !p->a->channels || !differ(p->a->channels, OPS_AXIS(&p->weight, 'O')),
              "channels does not match weight %s", relay_type_text(weight));
  return 0;
}

/* Weight follows from `channels` and `kernel_size` while it is not known. */
static int assign_weight(relay_rel *r, const attributes *a, const tn_TensorType *data) {
  ops_axes w = {{0}}, d;
  if (!a->channels || !a->kernel_size) return RELAY_WAIT;
  TN_TRY(ops_axes_of(tn_cstr(a->data_layout), data->shape, true, &d));
  RELAY_CHECK(r, a->kernel_size->len == 2 && a->groups > 0,
              "kernel_size must be two numbers and groups positive");
  OPS_AXIS(&w, 'O') = a->channels;
  OPS_AXIS(&w, 'I') = relay_dim_over(OPS_AXIS(&d, 'C'), a->groups);
  for (int i = 0; i < 2; ++i) w.axis[letters[i] - 'A'] = (tn_expr *)tn_arr_obj(a->kernel_size, i);
  tn_arr *shape = ops_axes_to(tn_cstr(a->kernel_layout), &w, true);
  return relay_rel_assign(r, 2, (tn_Type *)relay_tensor_type(shape, data->dtype)) ? RELAY_FAILED
                                                                                  : RELAY_SOLVED;
}

/* So does the offset, from the extents of the result. */
static int assign_offset(relay_rel *r, const attributes *a, const tn_TensorType *data,
                         const tn_TensorType *weight) {
  problem p;
  ops_axes of;
  /* data stands in for what is not known: only the two others say how large the result is */
  if (read_problem(a, data->shape, data->shape, weight->shape, &p)) return ops_rel_failed(r);
  tn_arr *shape = out_shape(&p);
  if (!shape || ops_axes_of(tn_cstr(a->data_layout), shape, true, &of)) return ops_rel_failed(r);
  tn_expr *points = relay_dim_mul(OPS_AXIS(&p.weight, 'H'), OPS_AXIS(&p.weight, 'W'));
  OPS_AXIS(&of, 'C') = times(points, 2 * a->deformable_groups);
  shape = ops_axes_to(tn_cstr(a->data_layout), &of, true);
  return relay_rel_assign(r, 1, (tn_Type *)relay_tensor_type(shape, data->dtype)) ? RELAY_FAILED
                                                                                  : RELAY_SOLVED;
}

static int relation(relay_rel *r) {
  const attributes *a = r->attrs;
  problem p;
  RELAY_TENSOR(data, r, 0);
  tn_TensorType *weight = TN_AS(TensorType, r->types[2]);
  if (!weight) {
    int state = assign_weight(r, a, data);
    if (state != RELAY_SOLVED) return state;
    weight = TN_AS(TensorType, r->types[2]);
    if (!weight) return RELAY_WAIT;
  }
  tn_TensorType *offset = TN_AS(TensorType, r->types[1]);
  if (!offset) {
    int state = assign_offset(r, a, data, weight);
    if (state != RELAY_SOLVED) return state;
    offset = TN_AS(TensorType, r->types[1]);
    if (!offset) return RELAY_WAIT;
  }
  if (read_problem(a, data->shape, offset->shape, weight->shape, &p)) return ops_rel_failed(r);
  RELAY_CHECK(r, ir_is_floating(data->dtype) && ir_is_floating(offset->dtype),
              "data and offset must be floating point");
  tn_arr *shape = out_shape(&p);
  if (!shape) return ops_rel_failed(r);
  TN_TRY(check_extents(r, &p, shape, offset, weight));
  return relay_rel_result(r,
                          relay_tensor_type(shape, a->out_dtype.bits ? a->out_dtype : data->dtype));
}

/* ---- compute ---- */

typedef struct {
  const problem *p;
  const tn_Tensor *data, *offset, *weight, *points;
} tensors;

/* An element of the image times how near it is; 0 outside. */
static tn_expr *corner(const tensors *t, ops_axes *at, tn_expr *y, tn_expr *x, tn_expr *weight) {
  tn_expr *inside = NULL, *place[2] = {y, x};
  for (int i = 0; i < 2; ++i) {
    tn_expr *e = tir_cast(y->dtype, t->p->data.axis[letters[i] - 'A'], NULL), *k = place[i];
    tn_expr *last = tir_sub(e, tir_one(e->dtype)), *zero = tir_zero(k->dtype);
    tn_expr *in = tir_and(tir_ge(k, zero), tir_le(k, last));
    inside = inside ? tir_and(inside, in) : in;
    at->axis[letters[i] - 'A'] = ops_place_index(k, t->p->data.axis[letters[i] - 'A']);
  }
  tn_arr *index = ops_axes_to(tn_cstr(t->p->a->data_layout), at, false);
  tn_expr *v = tir_cast(weight->dtype, index ? te_at(t->data, index) : NULL, NULL);
  return tir_if_then_else(inside, tir_mul(v, weight), tir_zero(weight->dtype), NULL);
}

static tn_expr *interpolated(const tensors *t, ops_axes *at, tn_expr *const *where) {
  tn_expr *low[2], *high[2], *far[2], *near[2], *one = tir_one(where[0]->dtype);
  for (int i = 0; i < 2; ++i) {
    TN_GETP(low[i], tir_rounding(TIR_OP_floor, where[i], NULL));
    TN_GETP(high[i], tir_add(low[i], one));
    TN_GETP(far[i], tir_sub(where[i], low[i]));
    TN_GETP(near[i], tir_sub(one, far[i]));
  }
  tn_expr *parts[4];
  for (int k = 0; k < 4; ++k) {
    tn_expr *w = tir_mul(k & 2 ? far[0] : near[0], k & 1 ? far[1] : near[1]);
    if (!w) return NULL;
    TN_GETP(parts[k], corner(t, at, k & 2 ? high[0] : low[0], k & 1 ? high[1] : low[1], w));
  }
  return tir_add(tir_add(parts[0], parts[1]), tir_add(parts[2], parts[3]));
}

/* points[n][c][i][j][y][x]: what point (i, j) of the kernel at (y, x) sees of channel c */
static tn_expr *point(void *ctx, tn_arr *at) {
  const tensors *t = ctx;
  const problem *p = t->p;
  ops_axes from = {{0}}, moved = {{0}};
  tn_expr *where[2], *channels = OPS_AXIS(&p->data, 'C');
  OPS_AXIS(&from, 'N') = OPS_AXIS(&moved, 'N') = te_index(at, 0);
  OPS_AXIS(&from, 'C') = te_index(at, 1);
  tn_expr *per = tir_floordiv(channels, tir_const_int(channels->dtype, p->a->deformable_groups));
  tn_expr *kernel = tir_mul(OPS_AXIS(&p->weight, 'H'), OPS_AXIS(&p->weight, 'W'));
  tn_expr *k = tir_add(tir_mul(te_index(at, 2), OPS_AXIS(&p->weight, 'W')), te_index(at, 3));
  k = tir_add(tir_mul(tir_floordiv(te_index(at, 1), per), kernel), k);
  OPS_AXIS(&moved, 'H') = te_index(at, 4);
  OPS_AXIS(&moved, 'W') = te_index(at, 5);
  for (int i = 0; i < 2; ++i) {
    OPS_AXIS(&moved, 'C') = tir_add(tir_mul(k, tir_i32(2)), tir_i32(i));
    tn_arr *index = ops_axes_to(tn_cstr(p->a->data_layout), &moved, false);
    tn_expr *x = tir_mul(te_index(at, 4 + i), tir_i32((int32_t)p->stride[i]));
    x = tir_add(x, tir_mul(te_index(at, 2 + i), tir_i32((int32_t)p->dilation[i])));
    x = tir_sub(x, tir_i32((int32_t)p->before[i]));
    tn_expr *by = index ? te_at(t->offset, index) : NULL;
    if (!x || !by) return NULL;
    TN_GETP(where[i], tir_add(tir_cast(by->dtype, x, NULL), by));
  }
  return tir_cast(t->data->dtype, interpolated(t, &from, where), NULL);
}

static tn_expr *sum(void *ctx, tn_arr *at) {
  const tensors *t = ctx;
  const problem *p = t->p;
  ops_axes out = {{0}}, of = {{0}};
  tn_IterVar *c, *k[2];
  TN_TRYP(ops_axes_of(tn_cstr(p->a->data_layout), at, false, &out));
  TN_GETP(c, te_reduce_axis(OPS_AXIS(&p->weight, 'I'), "rc"));
  TN_GETP(k[0], te_reduce_axis(OPS_AXIS(&p->weight, 'H'), "ry"));
  TN_GETP(k[1], te_reduce_axis(OPS_AXIS(&p->weight, 'W'), "rx"));
  tn_expr *outputs = OPS_AXIS(&p->weight, 'O'), *o = OPS_AXIS(&out, 'C');
  tn_expr *per = tir_floordiv(outputs, tir_const_int(outputs->dtype, p->a->groups));
  tn_expr *first = tir_mul(tir_floordiv(o, per), OPS_AXIS(&p->weight, 'I'));
  OPS_AXIS(&of, 'O') = o;
  OPS_AXIS(&of, 'I') = (tn_expr *)c->var;
  OPS_AXIS(&of, 'H') = (tn_expr *)k[0]->var;
  OPS_AXIS(&of, 'W') = (tn_expr *)k[1]->var;
  tn_arr *index = ops_axes_to(tn_cstr(p->a->kernel_layout), &of, false);
  tn_expr *channel = p->a->groups > 1 ? tir_add(first, (tn_expr *)c->var) : (tn_expr *)c->var;
  tn_expr *v = te_at_of(t->points, 6, OPS_AXIS(&out, 'N'), channel, k[0]->var, k[1]->var,
                        OPS_AXIS(&out, 'H'), OPS_AXIS(&out, 'W'));
  tn_dtype type = p->a->out_dtype.bits ? p->a->out_dtype : t->data->dtype;
  tn_expr *w = tir_cast(type, index ? te_at(t->weight, index) : NULL, NULL);
  return te_reduce(TE_SUM, tir_mul(tir_cast(type, v, NULL), w), tn_arr_of(3, c, k[0], k[1]), NULL);
}

static tn_arr *compute(const relay_compute *c) {
  problem p;
  tensors t = {.p = &p, relay_input(c, 0), relay_input(c, 1), relay_input(c, 2), NULL};
  ops_axes out;
  tn_arr *shape, *points;
  TN_TRYP(read_problem(c->attrs, t.data->shape, t.offset->shape, t.weight->shape, &p));
  TN_GETP(shape, out_shape(&p));
  TN_TRYP(ops_axes_of(tn_cstr(p.a->data_layout), shape, true, &out));
  TN_GETP(points,
          tn_arr_of(6, OPS_AXIS(&p.data, 'N'), OPS_AXIS(&p.data, 'C'), OPS_AXIS(&p.weight, 'H'),
                    OPS_AXIS(&p.weight, 'W'), OPS_AXIS(&out, 'H'), OPS_AXIS(&out, 'W')));
  TN_GETP(t.points, te_compute(points, point, &t, "data_deform", TE_INJECTIVE));
  return tn_arr_of(1, te_compute(shape, sum, &t, "T_deformable_conv2d", "deformable_conv2d"));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  problem p;
  TN_TRYP(
      read_problem(q->attrs, relay_shape_of(q, 0), relay_shape_of(q, 1), relay_shape_of(q, 2), &p));
  return tn_arr_of(1, out_shape(&p));
}

/* Offsets lie as the data does; nothing is in blocks. */
static int layouts(relay_layouts *q) {
  const tn_DeformableConv2DAttrs *a = q->attrs;
  tn_Layout *data, *kernel;
  if (q->types->len != 3) return 0;
  TN_GET(data, tir_layout(tn_cstr(a->data_layout), TN_I32));
  TN_GET(kernel, tir_layout(tn_cstr(a->kernel_layout), TN_I32));
  TN_GET(q->in, tn_arr_of(3, data, data, kernel));
  TN_GET(q->out, tn_arr_of(1, data));
  return 1;
}

static void *convert(const relay_replace *r) {
  const tn_str *data = (const tn_str *)tn_arr_obj(r->desired, 0);
  TN_CHECKP(tn_str_eq(data, "NCHW") || tn_str_eq(data, "NHWC") || tn_str_eq(data, "default"),
            ValueError, NULL,
            "nn.deformable_conv2d: layout %s is not supported: expected NCHW or NHWC",
            tn_cstr(data));
  return ops_convert_conv(r);
}

static const relay_op_row rows[] = {
    {.name = "nn.deformable_conv2d",
     .inputs = "data offset weight",
     .attrs = &tn_type_DeformableConv2DAttrs,
     .level = 5,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "DeformableConv2D",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .layouts = layouts,
     .convert = convert,
     .doc = "convolution of images at points that offsets move",
     .values = RELAY_COMPUTED},
};

RELAY_FAMILY(deformable_conv, DEFORMABLE_ATTRS)
