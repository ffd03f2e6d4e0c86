/* Elements of images at coordinates that a grid holds.

     image.grid_sample(%data, %grid)     Tensor[(n, c, h, w)], Tensor[(n, 2, oh, ow)]
                                         -> Tensor[(n, c, oh, ow)]

   The second axis of the grid is the place from -1 to 1 along each axis, x (the last axis of data)
   first. The same with three axes in the layout NCDHW. */
#include <string.h>

#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_GridSampleAttrs(F, S)                                                            \
  F(S, REF, String, method, 0, "\"bilinear\", \"nearest\" or \"bicubic\"", "\"bilinear\"")         \
  F(S, REF, String, layout, 0, "\"NCHW\" or \"NCDHW\"", "\"NCHW\"")                                \
  F(S, REF, String, padding_mode, 0,                                                               \
    "what is outside: \"zeros\", \"border\" (the nearest element), \"reflection\"", "\"zeros\"")   \
  F(S, BOOL, , align_corners, 0, "is -1 the centre of the first element, not its border?", "True")
#define GRID_SAMPLE_ATTRS(N)                                                                       \
  N(GridSampleAttrs, Attrs, "relay.attrs.GridSampleAttrs", NODE, TREE, tn_no_hooks,                \
    "attributes of image.grid_sample")
TN_NODES_LOCAL(GRID_SAMPLE_ATTRS)

enum { MAX_SPATIAL = 3, MAX_TAPS = 4 };

/* ---- relation ---- */

static bool one_of(const tn_str *s, const char *a, const char *b, const char *c) {
  return tn_str_eq(s, a) || tn_str_eq(s, b) || tn_str_eq(s, c);
}

static tn_arr *out_shape(const tn_arr *data, const tn_arr *grid) {
  TN_VEC(v);
  for (int64_t i = 0; i < data->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, tn_arr_obj(i < 2 ? data : grid, i)));
  return tn_arr_from(&v);
}

static int relation(relay_rel *r) {
  const tn_GridSampleAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(grid, r, 1);
  int64_t rank = tn_str_eq(a->layout, "NCHW") ? 4 : tn_str_eq(a->layout, "NCDHW") ? 5 : 0;
  RELAY_CHECK(r, rank, "layout must be NCHW or NCDHW, got %s", tn_cstr(a->layout));
  RELAY_CHECK(r, data->shape->len == rank && grid->shape->len == rank,
              "expected data and grid of %lld dimensions, got %s", (long long)rank,
              relay_type_text(data));
  RELAY_CHECK(r, relay_dim_equal(relay_dim(grid, 1), tir_i64(rank - 2)) != 0,
              "the second extent of the grid must be %lld, got %s", (long long)rank - 2,
              relay_type_text(grid));
  RELAY_CHECK(r, relay_dim_equal(relay_dim(grid, 0), relay_dim(data, 0)) != 0,
              "data %s and grid %s have other batches", relay_type_text(data),
              relay_type_text(grid));
  RELAY_CHECK(r, one_of(a->method, "bilinear", "nearest", "bicubic"), "unknown method %s",
              tn_cstr(a->method));
  RELAY_CHECK(r, one_of(a->padding_mode, "zeros", "border", "reflection"),
              "unknown padding_mode %s", tn_cstr(a->padding_mode));
  RELAY_CHECK(r, ir_is_floating(data->dtype) && ir_is_floating(grid->dtype),
              "data and grid must be floating point");
  tn_arr *shape;
  TN_GET(shape, out_shape(data->shape, grid->shape));
  for (int64_t i = 2; i < rank; ++i)
    TN_TRY(ops_rel_takes(r, relay_dim(data, i), shape, "a spatial axis of data"));
  return relay_rel_result(r, relay_tensor_type(shape, data->dtype));
}

/* ---- places ---- */

/* What is read along one axis: indices and their weights. */
typedef struct {
  int n;
  tn_expr *at[MAX_TAPS], *weight[MAX_TAPS];
} taps;

static tn_expr *number(const tn_expr *like, double v) { return tir_const_float(like->dtype, v); }

static tn_expr *floor_of(tn_expr *x) { return tir_rounding(TIR_OP_floor, x, NULL); }

/* The distance from `low` in a mirror of `span` elements. */
static tn_expr *mirrored(tn_expr *x, double low, tn_expr *span) {
  tn_expr *d = tir_abs(tir_sub(x, number(x, low)), NULL);
  tn_expr *flips = floor_of(tir_div(d, span)), *rest = tir_sub(d, tir_mul(flips, span));
  tn_expr *half = floor_of(tir_div(flips, number(x, 2)));
  tn_expr *even = tir_eq(tir_mul(half, number(x, 2)), flips);
  return tir_add(tir_select(even, rest, tir_sub(span, rest), NULL), number(x, low));
}

/* A coordinate or index brought into range as the padding says. */
static tn_expr *in_range(const tn_GridSampleAttrs *a, tn_expr *x, tn_expr *extent) {
  tn_expr *one = number(x, 1), *zero = number(x, 0), *last = tir_sub(extent, one);
  if (tn_str_eq(a->padding_mode, "zeros")) return x;
  if (tn_str_eq(a->padding_mode, "reflection")) {
    if (a->align_corners) /* a single element has no distance to its mirror */
      x = tir_select(tir_gt(last, zero), mirrored(x, 0, tir_max(last, one)), zero, NULL);
    else x = mirrored(x, -0.5, extent);
  }
  return tir_min(tir_max(x, zero), last);
}

static tn_expr *cubic(tn_expr *t, bool inner) {
  double a = -0.75;
  tn_expr *x = t;
  if (inner) /* (a + 2) x^3 - (a + 3) x^2 + 1 */
    return tir_add(tir_mul(tir_mul(tir_sub(tir_mul(number(x, a + 2), x), number(x, a + 3)), x), x),
                   number(x, 1));
  /* a x^3 - 5 a x^2 + 8 a x - 4 a */
  tn_expr *p = tir_sub(tir_mul(number(x, a), x), number(x, 5 * a));
  p = tir_add(tir_mul(p, x), number(x, 8 * a));
  return tir_sub(tir_mul(p, x), number(x, 4 * a));
}

static void cubic_taps(const tn_GridSampleAttrs *a, tn_expr *x, tn_expr *extent, taps *t) {
  tn_expr *low = floor_of(x), *f = tir_sub(x, low), *one = number(x, 1);
  t->n = 4;
  for (int i = 0; i < 4; ++i) t->at[i] = in_range(a, tir_add(low, number(x, i - 1)), extent);
  t->weight[0] = cubic(tir_add(f, one), false);
  t->weight[1] = cubic(f, true);
  t->weight[2] = cubic(tir_sub(one, f), true);
  t->weight[3] = cubic(tir_sub(number(x, 2), f), false);
}

/* @param g place from -1 to 1 */
static void find_taps(const tn_GridSampleAttrs *a, tn_expr *g, tn_expr *n, taps *t) {
  tn_expr *extent = tir_cast(g->dtype, n, NULL), *one = number(g, 1), *half = number(g, 0.5);
  tn_expr *scaled = tir_mul(tir_add(g, one), half);
  tn_expr *x = a->align_corners ? tir_mul(scaled, tir_sub(extent, one))
                                : tir_sub(tir_mul(scaled, extent), half);
  if (tn_str_eq(a->method, "bicubic")) {
    cubic_taps(a, x, extent, t);
    return;
  }
  x = in_range(a, x, extent);
  if (tn_str_eq(a->method, "nearest")) {
    *t = (taps){.n = 1, .at = {tir_rounding(TIR_OP_nearbyint, x, NULL)}, .weight = {one}};
    return;
  }
  tn_expr *low = floor_of(x), *f = tir_sub(x, low);
  *t = (taps){.n = 2, .at = {low, tir_add(low, one)}, .weight = {tir_sub(one, f), f}};
}

/* ---- compute ---- */

typedef struct {
  const tn_Tensor *data, *grid;
  const tn_GridSampleAttrs *a;
  int n;
  taps axis[MAX_SPATIAL];
} sample;

/* The element for one choice of taps, times their weights; 0 outside. */
static tn_expr *term(const sample *s, const int *choice, const tn_arr *at) {
  TN_VEC(index);
  tn_expr *inside = NULL, *weight = NULL;
  TN_TRYP(tn_vec_push_obj(&index, te_index(at, 0)));
  TN_TRYP(tn_vec_push_obj(&index, te_index(at, 1)));
  for (int i = 0; i < s->n; ++i) {
    tn_expr *x = s->axis[i].at[choice[i]], *w = s->axis[i].weight[choice[i]];
    tn_expr *last = tir_sub(te_extent(s->data, i + 2), tir_one(te_extent(s->data, i + 2)->dtype));
    if (!x || !w) return NULL;
    tn_expr *in = tir_and(tir_ge(x, number(x, 0)), tir_le(x, tir_cast(x->dtype, last, NULL)));
    inside = inside ? tir_and(inside, in) : in;
    weight = weight ? tir_mul(weight, w) : w;
    TN_TRYP(tn_vec_push_obj(&index, ops_place_index(x, te_extent(s->data, i + 2))));
  }
  tn_expr *v = te_at(s->data, tn_arr_from(&index));
  if (tn_str_eq(s->a->padding_mode, "zeros"))
    v = tir_if_then_else(inside, v, tir_zero(s->data->dtype), NULL);
  return tir_mul(tir_cast(s->grid->dtype, v, NULL), weight);
}

static tn_expr *element(void *ctx, tn_arr *at) {
  sample *s = ctx;
  tn_expr *sum = NULL;
  int choice[MAX_SPATIAL] = {0}, i;
  for (i = 0; i < s->n; ++i) { /* channel 0 of the grid is the last axis */
    tn_arr *place = ops_with_index(at, 1, tir_i32(s->n - 1 - i));
    if (!place) return NULL;
    find_taps(s->a, te_at(s->grid, place), te_extent(s->data, i + 2), &s->axis[i]);
  }
  do {
    tn_expr *e = term(s, choice, at);
    sum = sum ? tir_add(sum, e) : e;
    if (!sum) return NULL;
    for (i = 0; i < s->n && ++choice[i] == s->axis[i].n; ++i) choice[i] = 0;
  } while (i < s->n);
  return tir_cast(s->data->dtype, sum, NULL);
}

static tn_arr *compute(const relay_compute *c) {
  const tn_Tensor *data = relay_input(c, 0), *grid = relay_input(c, 1);
  sample s = {.data = data, .grid = grid, .a = c->attrs, .n = (int)data->shape->len - 2};
  return tn_arr_of(1, te_compute(out_shape(data->shape, grid->shape), element, &s, "T_grid_sample",
                                 TE_INJECTIVE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  return tn_arr_of(1, out_shape(relay_shape_of(q, 0), relay_shape_of(q, 1)));
}

static const relay_op_row rows[] = {
    {.name = "image.grid_sample",
     .inputs = "data grid",
     .attrs = &tn_type_GridSampleAttrs,
     .level = 5,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "GridSample",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .doc = "elements of images at the places that a grid holds",
     .values = RELAY_COMPUTED},
};

RELAY_FAMILY(grid_sample, GRID_SAMPLE_ATTRS)
