/* Convolutions of 3 x 3 kernels by Winograd's minimal filtering (Lavin and Gray, 2015): m x m
   results from (m + 2) x (m + 2) data with as many products, m = 2 or 4.

     U = G weight G'                        once, at compile time
     V = B' data B                          for each tile and channel
     product[e, f] = U[e, f] V[e, f]        a matrix product for each of the (m + 2)^2 places
     result = A' product A

   A transform is two computes, one along each axis. All are marked as parts of
   their own kernel (kernels/winograd.c): they are worth nothing apart.

   int8 gives exact sums. Rows of G are multiplied until they are integers, so that U and V have 16
   bits; products are summed up modulo 2^32. What comes out is a multiple of the result, by 4 (m =
   2) or by up to 576 (m = 4): an inverse modulo 2^32 takes away the odd part, a shift the rest.
   That is exact where the result has so many bits left, see ops_conv2d_tile. */
#include <math.h>

#include "ir/imm.h"
#include "kernels/kernels.h"
#include "ops/layout.h"
#include "ops/nn/conv.h"
#include "ops/ops.h"

#define TN_FIELDS_ConvWinogradWeightTransformAttrs(F, S)                                           \
  F(S, I64, , tile_size, 0, "results along an axis of a tile", "4")
#define TN_FIELDS_Conv2DWinogradAttrs(F, S)                                                        \
  F(S, I64, , tile_size, 0, "results along an axis of a tile", "4")                                \
  F(S, REF, Array, strides, TN_INTS, "steps of the window", "[1, 1]")                              \
  F(S, REF, Array, padding, TN_INTS,                                                               \
    "zeros put around: one number, one for each axis, or those before and after", "[0, 0]")        \
  F(S, REF, Array, dilation, TN_INTS, "distance of neighbouring elements of the kernel", "[1, 1]") \
  F(S, I64, , groups, 0, "groups of channels that do not see each other", "1")                     \
  F(S, REF, PrimExpr, channels, TN_OPT, "channels of the result", "None")                          \
  F(S, REF, Array, kernel_size, TN_OPT | TN_INTS, "extents of the kernel", "None")                 \
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

enum { KERNEL = 3, MAX_SIDE = 6, MAX_TILE = 4 };

/* The matrices for m = 2 and m = 4, with places 0, 1, -1, (2, -2,) infinity. */
typedef struct {
  int m, side;
  double data[MAX_SIDE][MAX_SIDE], weight[MAX_SIDE][KERNEL], result[MAX_TILE][MAX_SIDE];
  /* with integers: factors of the rows of `weight`; what results are multiplied by along an axis,
     odd * 2^shift[y], and the inverse of odd^2 modulo 2^32 */
  double whole[MAX_SIDE], odd;
  int shift[MAX_TILE];
  int64_t inverse;
} filter;
static const filter filters[] = {
    {2,
     4,
     {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
     {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}},
     {{1, 1, 1, 0}, {0, 1, -1, -1}},
     {1, 2, 2, 1},
     1,
     {1, 1},
     1},
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
     {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
     {4, 6, 6, 24, 24, 1},
     3,
     {3, 2, 1, 1},
     0x38E38E39},
};

static const filter *filter_of(int64_t m) {
  for (int i = 0; i < TN_COUNT(filters); ++i)
    if (filters[i].m == m) return &filters[i];
  return NULL;
}

/* ---- sums with constant factors ---- */

/* Element number k along the axis that a transform goes over. */
typedef tn_expr *(*element_at)(const void *ctx, int64_t k);

static tn_expr *times(double f, tn_expr *x) {
  if (!x || f == 1) return x;
  return tir_mul(x, ir_is_integral(x->dtype) ? tir_const_int(x->dtype, (int64_t)f)
                                             : tir_const_float(x->dtype, f));
}

/* Terms of a sum: f * at(k), or f * (at(k) +- at(other)) where the factors have the same size:
   other rows of a matrix have that sum or difference too. */
typedef struct {
  double factor;
  int k, other;
  bool minus;
} term;

static int find_terms(const double *factors, int n, term *out) {
  bool used[MAX_SIDE] = {false};
  int count = 0;
  for (int k = n - 1; k >= 0; --k) {
    if (used[k] || factors[k] == 0) continue;
    term t = {.factor = factors[k], .k = k, .other = -1};
    for (int l = 0; l < k; ++l)
      if (!used[l] && fabs(factors[l]) == fabs(factors[k]))
        t = (term){factors[l], l, k, factors[l] != factors[k]};
    used[t.k] = true;
    out[count++] = t;
  }
  return count;
}

static tn_expr *term_value(const term *t, element_at at, const void *ctx) {
  tn_expr *x = at(ctx, t->k), *y = t->other < 0 ? NULL : at(ctx, t->other);
  if (!x || (t->other >= 0 && !y)) return NULL;
  if (y) x = t->minus ? tir_sub(x, y) : tir_add(x, y);
  return times(fabs(t->factor), x);
}

/* factors[0] * at(0) + factors[1] * at(1) + ...: terms with factor 1 first, zeros left out. */
static tn_expr *weighted(const double *factors, int n, element_at at, const void *ctx) {
  term terms[MAX_SIDE];
  tn_expr *sum = NULL, *x;
  int count = find_terms(factors, n, terms);
  for (int pass = 0; pass < 3; ++pass)
    for (int i = 0; i < count; ++i) {
      double f = terms[i].factor;
      if (pass != (f == 1 ? 0 : f > 0 ? 1 : 2)) continue;
      TN_GETP(x, term_value(&terms[i], at, ctx));
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

static const tn_dtype word = {kDLInt, 16, 1}, word_sum = {kDLUInt, 32, 1};

/* Of int8: sums of nine of them times up to 49. */
static tn_dtype transformed(tn_dtype t) { return ir_is_integral(t) ? word : t; }

static int weight_relation(relay_rel *r) {
  RELAY_TENSOR(weight, r, 0);
  tn_dtype t = weight->dtype;
  RELAY_CHECK(r, !ir_is_integral(t) || t.bits == 8, "expected int8, uint8 or floats, got %s",
              TN_DT(t));
  tn_arr *shape = weight_shape(r->attrs, weight->shape);
  return shape ? relay_rel_result(r, relay_tensor_type(shape, transformed(t))) : ops_rel_failed(r);
}

typedef struct {
  const filter *f;
  double rows[MAX_SIDE][KERNEL];
  const tn_Tensor *from;
  const tn_arr *at;
} weight_stage;

static tn_expr *weight_at(const void *ctx, int64_t k) {
  const weight_stage *w = ctx;
  tn_expr *x = te_at_of(w->from, 4, te_index(w->at, 2), te_index(w->at, 3), tir_i32((int32_t)k),
                        te_index(w->at, 1));
  return tir_cast(transformed(w->from->dtype), x, NULL);
}
static tn_expr *weight_rows(void *ctx, tn_arr *at) { /* [e, kw, o, i] */
  weight_stage *w = ctx;
  w->at = at;
  return chosen(w->rows[0], w->f->side, KERNEL, KERNEL, te_index(at, 0), weight_at, w);
}

static tn_expr *row_at(const void *ctx, int64_t k) {
  const weight_stage *w = ctx;
  return te_at_of(w->from, 4, te_index(w->at, 0), tir_i32((int32_t)k), te_index(w->at, 2),
                  te_index(w->at, 3));
}
static tn_expr *weight_cols(void *ctx, tn_arr *at) { /* [e, f, o, i] */
  weight_stage *w = ctx;
  w->at = at;
  return chosen(w->rows[0], w->f->side, KERNEL, KERNEL, te_index(at, 1), row_at, w);
}

static tn_arr *weight_compute(const relay_compute *c) {
  tn_Tensor *weight = relay_input(c, 0), *rows;
  weight_stage w = {.from = weight};
  TN_GETP(w.f, weight_filter(c->attrs, weight->shape));
  for (int i = 0; i < w.f->side; ++i)
    for (int k = 0; k < KERNEL; ++k)
      w.rows[i][k] = ir_is_integral(weight->dtype) ? round(w.f->weight[i][k] * w.f->whole[i])
                                                   : w.f->weight[i][k];
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

/* What the computes share. Extents: data [n, c, h, w, i], weight [side, side, o, channels, j], of
   integers [side, side, o, channels / 2, j, 2]. */
typedef struct {
  const filter *f;
  double result[MAX_TILE][MAX_SIDE];
  bool whole; /* integers */
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
  w->whole = weight->len == 6 && tir_is_const(tn_arr_obj(weight, 5), 2);
  TN_CHECK(data->len == 5 && (weight->len == 5 || w->whole), ValueError, NULL,
           "expected data of layout NCHWxc and weight of layout HWOIxo, of integers HWOIxo2i, got "
           "%lld and %lld axes",
           (long long)data->len, (long long)weight->len);
  TN_CHECK(tir_is_const(tn_arr_obj(weight, 0), w->f->side) &&
               tir_as_int(tn_arr_obj(data, 4), &w->block) && w->block > 0 &&
               tir_as_int(tn_arr_obj(weight, 3), &w->channels),
           ValueError, NULL, "weight: expected %d x %d transformed values", w->f->side, w->f->side);
  if (w->whole) w->channels *= 2;
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
  bool bytes = ir_is_integral(data->dtype);
  RELAY_CHECK(
      r,
      bytes ? data->dtype.bits == 8 && tn_dtype_eq(weight->dtype, word) &&
                  weight->shape->len == 6 && tn_dtype_eq(t, TN_I32)
            : weight->shape->len == 5,
      "expected data of int8 or uint8, int16 weights of layout HWOIxo2i and a result of int32, or "
      "floats with weights of layout HWOIxo");
  return shape ? relay_rel_result(r, relay_tensor_type(shape, t)) : ops_rel_failed(r);
}

static tn_arr *shapes(const relay_shape_query *q) {
  return tn_arr_of(1, out_shape(q->attrs, relay_shape_of(q, 0), relay_shape_of(q, 1)));
}

#define AT(i) te_index(w->at, i)

/* rows[n, c, ty, tx, e, x, i] = sum over y of B'[e, y] * data[n, c, ty * m + y, tx * m + x, i] */
static tn_expr *data_at(const void *ctx, int64_t k) {
  const winograd *w = ctx;
  tn_expr *x =
      te_at_of(w->from, 5, AT(0), AT(1), tir_add(tir_mul(AT(2), number(w->f->m)), number(k)),
               tir_add(tir_mul(AT(3), number(w->f->m)), AT(5)), AT(6));
  return w->whole ? tir_cast(word, x, NULL) : x;
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
  if (!w->whole) {
    tn_expr *u = te_at_of(w->weight, 5, AT(0), AT(1), AT(3), c, AT(6));
    return te_reduce(TE_SUM, tir_mul(v, u), tn_arr_of(1, k), NULL);
  }
  tn_expr *pair = number(2);
  tn_expr *u = te_at_of(w->weight, 6, AT(0), AT(1), AT(3), tir_floordiv(c, pair), AT(6),
                        tir_floormod(c, pair));
  tn_expr *both = tir_mul(tir_cast(TN_I32, v, NULL), tir_cast(TN_I32, u, NULL));
  return te_reduce(TE_SUM, both, tn_arr_of(1, k), NULL);
}

/* sums[n, o, ty, tx, y, f, j] = sum over e of A'[y, e] * product[e, f, n, o, ty, tx, j] */
static tn_expr *product_at(const void *ctx, int64_t k) {
  const winograd *w = ctx;
  tn_expr *x = te_at_of(w->from, 7, number(k), AT(5), AT(0), AT(1), AT(2), AT(3), AT(6));
  return w->whole ? tir_cast(word_sum, x, NULL) : x; /* modulo 2^32 */
}
static tn_expr *result_rows(void *ctx, tn_arr *at) {
  winograd *w = ctx;
  w->at = at;
  return chosen(w->result[0], w->f->m, MAX_SIDE, w->f->side, te_index(at, 4), product_at, w);
}

/* result[n, o, h, w, j] = sum over f of sums[n, o, h / m, w / m, h % m, f, j] * A[f, w % m] */
static tn_expr *sums_at(const void *ctx, int64_t k) {
  const winograd *w = ctx;
  tn_expr *m = number(w->f->m);
  return te_at_of(w->from, 7, AT(0), AT(1), tir_floordiv(AT(2), m), tir_floordiv(AT(3), m),
                  tir_floormod(AT(2), m), number(k), AT(4));
}
static tn_expr *shift_of(const winograd *w, tn_expr *y) {
  tn_expr *shift = number(w->f->shift[w->f->m - 1]);
  for (int i = w->f->m - 2; i >= 0; --i)
    shift = tir_select(tir_eq(y, number(i)), number(w->f->shift[i]), shift, NULL);
  return shift;
}
static tn_expr *result_cols(void *ctx, tn_arr *at) {
  winograd *w = ctx;
  w->at = at;
  tn_expr *m = number(w->f->m), *y = tir_floormod(te_index(at, 2), m),
          *x = tir_floormod(te_index(at, 3), m);
  tn_expr *sum = chosen(w->result[0], w->f->m, MAX_SIDE, w->f->side, x, sums_at, w);
  if (!w->whole) return sum;
  if (w->f->inverse != 1) sum = tir_mul(sum, tir_const_int(word_sum, w->f->inverse));
  tn_expr *shift = tir_add(shift_of(w, y), shift_of(w, x));
  return tir_shift(TIR_OP_shift_right, tir_reinterpret(TN_I32, sum, NULL), shift, NULL);
}

/* The matrix of the results, with integers multiplied until it has none but these. */
static void set_result(winograd *w) {
  for (int y = 0; y < w->f->m; ++y)
    for (int e = 0; e < w->f->side; ++e) {
      double factor = ldexp(w->f->odd, w->f->shift[y]) / w->f->whole[e];
      w->result[y][e] = w->whole ? round(w->f->result[y][e] * factor) : w->f->result[y][e];
    }
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
    TN_ICHECKP(relay_known_int(data->shape, 2 + i, &n)); /* the tiles have been counted */
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
  set_result(&w);
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
     .doc = "convolution of images, channels in blocks, with transformed 3 x 3 weights",
     .values = RELAY_COMPUTED,
     .apart = RELAY_IMAGES},
};

RELAY_FAMILY(winograd, WINOGRAD_ATTRS)
