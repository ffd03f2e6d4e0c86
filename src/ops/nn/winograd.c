/* Convolutions of 3 x 3 kernels by Winograd's minimal filtering (Lavin and Gray, 2015): m x m
   results from (m + 2) x (m + 2) data with as many products, m = 2 or 4.

     U = G weight G'                        once, at compile time
     V = B' data B                          for each tile and channel
     product[e, f] = U[e, f] V[e, f]        a matrix product for each of the (m + 2)^2 places
     result = A' product A

   A transform is two computes, one along each axis. All are marked as parts of a kernel of their
   own (kernels/winograd.c): they are worth nothing apart. */
#include "ir/imm.h"
#include "kernels/kernels.h"
#include "ops/layout.h"
#include "ops/nn/conv.h"
#include "ops/ops.h"

#define TN_FIELDS_ConvWinogradWeightTransformAttrs(F, S)                                           \
  F(S, I64, , tile_size, 0, "results along an axis of a tile", "4")
#define TN_FIELDS_Conv2DWinogradAttrs(F, S)                                                        \
  F(S, I64, , tile_size, 0, "results along an axis of a tile", "4")                                \
  F(S, REF, Array, strides, 0, "steps of the window", "[1, 1]")                                    \
  F(S, REF, Array, padding, 0,                                                                     \
    "zeros put around: one number, one for each axis, or those before and after", "[0, 0]")        \
  F(S, REF, Array, dilation, 0, "distance of neighbouring elements of the kernel", "[1, 1]")       \
  F(S, I64, , groups, 0, "groups of channels that do not see each other", "1")                     \
  F(S, REF, PrimExpr, channels, TN_OPT, "channels of the result", "None")                          \
  F(S, REF, Array, kernel_size, TN_OPT, "extents of the kernel", "None")                           \
  F(S, REF, String, data_layout, 0, "layout of data", "\"NCHW\"")                                  \
  F(S, REF, String, kernel_layout, 0, "layout of the transformed weight", "\"HWOI\"")              \
  F(S, REF, String, out_layout, 0, "layout of the result, that of data when empty", "\"\"")        \
  F(S, DTYPE, , out_dtype, 0, "type of the result, that of data when empty", "\"\"")               \
  F(S, REF, String, auto_scheduler_rewritten_layout, 0, "layout of weight after a rewrite",        \
    "\"\"")                                                                                        \
  F(S, REF, Array, meta_schedule_original_shape, 0, "shape of weight before a rewrite", "[]")
#define WINOGRAD_ATTRS(N)                                                                          \
  N(ConvWinogradWeightTransformAttrs, Attrs, "relay.attrs.ConvWinogradWeightTransformAttrs", NODE, \
    TREE, tn_no_hooks, "attributes of the transform of weights")                                   \
  N(Conv2DWinogradAttrs, Attrs, "relay.attrs.Conv2DWinogradAttrs", NODE, TREE, tn_no_hooks,        \
    "attributes of convolutions of transformed weights")
TN_NODES_LOCAL(WINOGRAD_ATTRS)

enum { KERNEL = 3, MAX_SIDE = 6 };

/* The matrices for m = 2 and m = 4, with places 0, 1, -1, (2, -2,) infinity. */
typedef struct {
  int m, side;
  double data[MAX_SIDE][MAX_SIDE], weight[MAX_SIDE][KERNEL], result[4][MAX_SIDE];
} filter;
static const filter filters[] = {
    {2,
     4,
     {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
     {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}},
     {{1, 1, 1, 0}, {0, 1, -1, -1}}},
    {4,
     6,
     {{4, 0, -5, 0, 1, 0},
      {0, -4, -4, 1, 1, 0},
      {0, 4, -4, -1, 1, 0},
      {0, -2, -1, 2, 1, 0},
      {0, 2, -1, -2, 1, 0},
      {0, 4, 0, -5, 0, 1}},
     {{1. / 4, 0, 0},
      {-1. / 6, -1. / 6, -1. / 6},
      {-1. / 6, 1. / 6, -1. / 6},
      {1. / 24, 1. / 12, 1. / 6},
      {1. / 24, -1. / 12, 1. / 6},
      {0, 0, 1}},
     {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}},
};

static const filter *filter_of(int64_t m) {
  for (int i = 0; i < TN_COUNT(filters); ++i)
    if (filters[i].m == m) return &filters[i];
  return NULL;
}

/* ---- sums with constant factors ---- */

/* Element number k along the axis that a transform goes over. */
typedef tn_expr *(*element_at)(const void *ctx, int64_t k);

/* factors[0] * at(0) + factors[1] * at(1) + ...: terms with factor 1 first, zeros left out. */
static tn_expr *weighted(const double *factors, int n, element_at at, const void *ctx) {
  tn_expr *sum = NULL;
  for (int pass = 0; pass < 3; ++pass)
    for (int k = 0; k < n; ++k) {
      double f = factors[k];
      if (f == 0 || pass != (f == 1 ? 0 : f > 0 ? 1 : 2)) continue;
      tn_expr *x = at(ctx, k);
      if (!x) return NULL;
      if (f != 1 && f != -1) x = tir_mul(x, tir_const_float(x->dtype, f < 0 ? -f : f));
      sum = f > 0 ? (sum ? tir_add(sum, x) : x) : sum ? tir_sub(sum, x) : tir_neg(x, NULL);
    }
  return sum;
}

/* The sum of row `which`, an expression that is constant once loops are unrolled. */
static tn_expr *chosen(const double *rows, int nrows, int stride, int n, tn_expr *which,
                       element_at at, const void *ctx) {
  tn_expr *e = weighted(rows + (nrows - 1) * stride, n, at, ctx);
  for (int i = nrows - 2; i >= 0 && e; --i)
    e = tir_select(tir_eq(which, tir_const_int(which->dtype, i)),
                   weighted(rows + i * stride, n, at, ctx), e, NULL);
  return e;
}

/* ---- weights ---- */

static const filter *weight_filter(const tn_ConvWinogradWeightTransformAttrs *a,
                                   const tn_arr *shape) {
  const filter *f = filter_of(a->tile_size);
  TN_CHECKP(f, ValueError, NULL, "tile_size: expected 2 or 4, got %lld", (long long)a->tile_size);
  TN_CHECKP(shape->len == 4 && tir_is_const(tn_arr_obj(shape, 2), KERNEL) &&
                tir_is_const(tn_arr_obj(shape, 3), KERNEL),
            ValueError, NULL, "weight: expected a shape [out, in, 3, 3] of layout OIHW");
  return f;
}

static tn_arr *weight_shape(const tn_ConvWinogradWeightTransformAttrs *a, const tn_arr *shape) {
  const filter *f;
  TN_GETP(f, weight_filter(a, shape));
  return tn_arr_of(4, tir_i32(f->side), tir_i32(f->side), tn_arr_obj(shape, 0),
                   tn_arr_obj(shape, 1));
}

static int weight_relation(relay_rel *r) {
  RELAY_TENSOR(weight, r, 0);
  tn_arr *shape = weight_shape(r->attrs, weight->shape);
  return shape ? relay_rel_result(r, relay_tensor_type(shape, weight->dtype)) : ops_rel_failed(r);
}

typedef struct {
  const filter *f;
  const tn_Tensor *from;
  const tn_arr *at;
} weight_stage;

static tn_expr *weight_at(const void *ctx, int64_t k) {
  const weight_stage *w = ctx;
  return te_at_of(w->from, 4, te_index(w->at, 2), te_index(w->at, 3), tir_i32((int32_t)k),
                  te_index(w->at, 1));
}
static tn_expr *weight_rows(void *ctx, tn_arr *at) { /* [e, kw, o, i] */
  weight_stage *w = ctx;
  w->at = at;
  return chosen(w->f->weight[0], w->f->side, KERNEL, KERNEL, te_index(at, 0), weight_at, w);
}

static tn_expr *row_at(const void *ctx, int64_t k) {
  const weight_stage *w = ctx;
  return te_at_of(w->from, 4, te_index(w->at, 0), tir_i32((int32_t)k), te_index(w->at, 2),
                  te_index(w->at, 3));
}
static tn_expr *weight_cols(void *ctx, tn_arr *at) { /* [e, f, o, i] */
  weight_stage *w = ctx;
  w->at = at;
  return chosen(w->f->weight[0], w->f->side, KERNEL, KERNEL, te_index(at, 1), row_at, w);
}

static tn_arr *weight_compute(const relay_compute *c) {
  tn_Tensor *weight = relay_input(c, 0), *rows;
  weight_stage w = {.from = weight};
  TN_GETP(w.f, weight_filter(c->attrs, weight->shape));
  tn_arr *shape =
      tn_arr_of(4, tir_i32(w.f->side), tir_i32(KERNEL), te_extent(weight, 0), te_extent(weight, 1));
  TN_GETP(rows, te_compute(shape, weight_rows, &w, "winograd_weight_rows", TE_INJECTIVE));
  w.from = rows;
  return tn_arr_of(1, te_compute(weight_shape(c->attrs, weight->shape), weight_cols, &w,
                                 "winograd_weight", TE_INJECTIVE));
}

static tn_arr *weight_shapes(const relay_shape_query *q) {
  return tn_arr_of(1, weight_shape(q->attrs, relay_shape_of(q, 0)));
}

/* ---- the convolution ---- */

/* What the computes share. Extents: data [n, c, h, w, i], weight [side, side, o, channels, j]. */
typedef struct {
  const filter *f;
  const tn_Tensor *from, *weight;
  const tn_arr *at;
  int64_t block, channels, size[2], tiles[2], before[2];
  tn_expr *batch, *in, *out, *in_block, *out_block;
  tn_dtype dtype;
} winograd;

static int set_sizes(winograd *w, const tn_arr *padding, const tn_arr *data) {
  int64_t after[2], n;
  TN_TRY(ops_get_pads(padding, 2, w->before, after, "convolution"));
  for (int i = 0; i < 2; ++i) {
    TN_CHECK(tir_as_int(tn_arr_obj(data, 2 + i), &n), ValueError, NULL,
             "data: expected a constant height and width");
    w->size[i] = n + w->before[i] + after[i] - (KERNEL - 1);
    TN_CHECK(w->size[i] > 0, ValueError, NULL, "data: smaller than the kernel");
    w->tiles[i] = (w->size[i] + w->f->m - 1) / w->f->m;
  }
  return 0;
}

static int read_problem(winograd *w, const tn_Conv2DWinogradAttrs *a, const tn_arr *data,
                        const tn_arr *weight) {
  w->f = filter_of(a->tile_size);
  TN_CHECK(w->f, ValueError, NULL, "tile_size: expected 2 or 4, got %lld", (long long)a->tile_size);
  TN_CHECK(data->len == 5 && weight->len == 5, ValueError, NULL,
           "expected data of layout NCHWxc and weight of layout HWOIxo, got %lld and %lld axes",
           (long long)data->len, (long long)weight->len);
  TN_CHECK(tir_is_const(tn_arr_obj(weight, 0), w->f->side) &&
               tir_as_int(tn_arr_obj(data, 4), &w->block) && w->block > 0 &&
               tir_as_int(tn_arr_obj(weight, 3), &w->channels),
           ValueError, NULL, "weight: expected %d x %d transformed values", w->f->side, w->f->side);
  w->batch = (tn_expr *)tn_arr_obj(data, 0);
  w->in = (tn_expr *)tn_arr_obj(data, 1);
  w->in_block = (tn_expr *)tn_arr_obj(data, 4);
  w->out = (tn_expr *)tn_arr_obj(weight, 2);
  w->out_block = (tn_expr *)tn_arr_obj(weight, 4);
  return set_sizes(w, a->padding, data);
}

static tn_expr *number(int64_t n) { return tir_i32((int32_t)n); }

static tn_arr *out_shape(const tn_Conv2DWinogradAttrs *a, const tn_arr *data,
                         const tn_arr *weight) {
  winograd w = {0};
  TN_TRYP(read_problem(&w, a, data, weight));
  return tn_arr_of(5, w.batch, w.out, number(w.size[0]), number(w.size[1]), w.out_block);
}

static int relation(relay_rel *r) {
  const tn_Conv2DWinogradAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(weight, r, 1);
  tn_arr *shape = out_shape(a, data->shape, weight->shape);
  tn_dtype t = a->out_dtype.bits ? a->out_dtype : data->dtype;
  return shape ? relay_rel_result(r, relay_tensor_type(shape, t)) : ops_rel_failed(r);
}

static tn_arr *shapes(const relay_shape_query *q) {
  return tn_arr_of(1, out_shape(q->attrs, relay_shape_of(q, 0), relay_shape_of(q, 1)));
}

#define AT(i) te_index(w->at, i)

/* rows[n, c, ty, tx, e, x, i] = sum over y of B'[e, y] * data[n, c, ty * m + y, tx * m + x, i] */
static tn_expr *data_at(const void *ctx, int64_t k) {
  const winograd *w = ctx;
  return te_at_of(w->from, 5, AT(0), AT(1), tir_add(tir_mul(AT(2), number(w->f->m)), number(k)),
                  tir_add(tir_mul(AT(3), number(w->f->m)), AT(5)), AT(6));
}
static tn_expr *data_rows(void *ctx, tn_arr *at) {
  winograd *w = ctx;
  w->at = at;
  return chosen(w->f->data[0], w->f->side, MAX_SIDE, w->f->side, te_index(at, 4), data_at, w);
}

/* V[e, f, n, c, ty, tx, i] = sum over x of rows[n, c, ty, tx, e, x, i] * B[x, f] */
static tn_expr *rows_at(const void *ctx, int64_t k) {
  const winograd *w = ctx;
  return te_at_of(w->from, 7, AT(2), AT(3), AT(4), AT(5), AT(0), number(k), AT(6));
}
static tn_expr *data_cols(void *ctx, tn_arr *at) {
  winograd *w = ctx;
  w->at = at;
  return chosen(w->f->data[0], w->f->side, MAX_SIDE, w->f->side, te_index(at, 1), rows_at, w);
}

/* product[e, f, n, o, ty, tx, j] = sum over c of V[e, f, n, c, ty, tx] * U[e, f, o, c, j] */
static tn_expr *product(void *ctx, tn_arr *at) {
  winograd *w = ctx;
  tn_IterVar *k;
  w->at = at;
  TN_GETP(k, te_reduce_axis(number(w->channels), "k"));
  tn_expr *c = (tn_expr *)k->var, *block = number(w->block);
  tn_expr *v = te_at_of(w->from, 7, AT(0), AT(1), AT(2), tir_floordiv(c, block), AT(4), AT(5),
                        tir_floormod(c, block));
  tn_expr *u = te_at_of(w->weight, 5, AT(0), AT(1), AT(3), c, AT(6));
  return te_reduce(TE_SUM, tir_mul(v, u), tn_arr_of(1, k), NULL);
}

/* sums[n, o, ty, tx, y, f, j] = sum over e of A'[y, e] * product[e, f, n, o, ty, tx, j] */
static tn_expr *product_at(const void *ctx, int64_t k) {
  const winograd *w = ctx;
  return te_at_of(w->from, 7, number(k), AT(5), AT(0), AT(1), AT(2), AT(3), AT(6));
}
static tn_expr *result_rows(void *ctx, tn_arr *at) {
  winograd *w = ctx;
  w->at = at;
  return chosen(w->f->result[0], w->f->m, MAX_SIDE, w->f->side, te_index(at, 4), product_at, w);
}

/* result[n, o, h, w, j] = sum over f of sums[n, o, h / m, w / m, h % m, f, j] * A[f, w % m] */
static tn_expr *sums_at(const void *ctx, int64_t k) {
  const winograd *w = ctx;
  tn_expr *m = number(w->f->m);
  return te_at_of(w->from, 7, AT(0), AT(1), tir_floordiv(AT(2), m), tir_floordiv(AT(3), m),
                  tir_floormod(AT(2), m), number(k), AT(4));
}
static tn_expr *result_cols(void *ctx, tn_arr *at) {
  winograd *w = ctx;
  w->at = at;
  return chosen(w->f->result[0], w->f->m, MAX_SIDE, w->f->side,
                tir_floormod(te_index(at, 3), number(w->f->m)), sums_at, w);
}

/* A compute that belongs to the kernel; its result is what the next one reads. */
static int stage(winograd *w, tn_arr *shape, te_element_fn element, const char *name,
                 const char *part) {
  tn_map *attrs;
  TN_GET(attrs, tn_map_with(NULL, tn_any_cstr(KERNEL_CLASS), tn_any_cstr(part)));
  TN_GET(w->from, te_compute_attrs(shape, element, w, name, name, attrs));
  return 0;
}

/* Zeros around, and behind where the last tiles reach over the edge. */
static tn_Tensor *with_border(const winograd *w, tn_Tensor *data) {
  int64_t before[5] = {0}, after[5] = {0}, n;
  for (int i = 0; i < 2; ++i) {
    (void)tir_as_int((tn_obj *)te_extent(data, 2 + i), &n);
    before[2 + i] = w->before[i];
    int64_t rest = w->tiles[i] * w->f->m + KERNEL - 1 - n - w->before[i];
    after[2 + i] = rest > 0 ? rest : 0;
  }
  return ops_pad(data, before, after, tir_zero(data->dtype), "pad_temp");
}

static tn_arr *compute(const relay_compute *c) {
  tn_Tensor *data = relay_input(c, 0);
  winograd w = {.weight = relay_input(c, 1), .dtype = data->dtype};
  TN_TRYP(read_problem(&w, c->attrs, data->shape, w.weight->shape));
  TN_GETP(w.from, with_border(&w, data));
  tn_expr *side = number(w.f->side), *m = number(w.f->m), *th = number(w.tiles[0]),
          *tw = number(w.tiles[1]);
  TN_TRYP(stage(&w, tn_arr_of(7, w.batch, w.in, th, tw, side, side, w.in_block), data_rows,
                "winograd_data_rows", KERNEL_PART));
  TN_TRYP(stage(&w, tn_arr_of(7, side, side, w.batch, w.in, th, tw, w.in_block), data_cols,
                "winograd_data", KERNEL_PART));
  TN_TRYP(stage(&w, tn_arr_of(7, side, side, w.batch, w.out, th, tw, w.out_block), product,
                "winograd_product", KERNEL_WINOGRAD));
  TN_TRYP(stage(&w, tn_arr_of(7, w.batch, w.out, th, tw, m, side, w.out_block), result_rows,
                "winograd_sums", KERNEL_PART));
  TN_TRYP(stage(&w, tn_arr_of(5, w.batch, w.out, number(w.size[0]), number(w.size[1]), w.out_block),
                result_cols, "conv2d_winograd", KERNEL_PART));
  return tn_arr_of(1, w.from);
}

/* The weight stays as it is. */
static int layouts(relay_layouts *q) {
  tn_Layout *data, *out;
  TN_GET(data, tir_layout(relay_attr_str(q->attrs, "data_layout"), TN_I32));
  TN_GET(out, tir_layout(relay_attr_str(q->attrs, "out_layout"), TN_I32));
  TN_GET(q->in, tn_arr_of(2, data, NULL));
  TN_GET(q->out, tn_arr_of(1, out));
  return 1;
}

static const relay_op_row rows[] = {
    {.name = "nn.contrib_conv2d_winograd_weight_transform",
     .inputs = "weight",
     .attrs = &tn_type_ConvWinogradWeightTransformAttrs,
     .level = 5,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "Conv2DWinogradWeightTransform",
     .rel = weight_relation,
     .compute = weight_compute,
     .shape = weight_shapes,
     .doc = "weights of layout OIHW as convolutions by tiles take them, [e, f, out, in]"},
    {.name = "nn.contrib_conv2d_winograd_NCHWc",
     .inputs = "data weight",
     .attrs = &tn_type_Conv2DWinogradAttrs,
     .level = 10,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "Conv2DWinogradNCHWc",
     .rel = relation,
     .compute = compute,
     .shape = shapes,
     .layouts = layouts,
     .doc = "convolution of images, channels in blocks, with transformed 3 x 3 weights"},
};

RELAY_FAMILY(winograd, WINOGRAD_ATTRS)
