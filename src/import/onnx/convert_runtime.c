/* Operands that are computed at run time, where the model states the extents of the result: the
   program stays static, and the numbers decide which elements go where.

     Slice(x, starts, ends) -> y: [3]      take(x, starts[0] + steps[0] * [0, 1, 2])
     ReduceSum(x, axes, keepdims=1)        axes are those where the extents differ */
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"

static void *add(void *a, void *b) { return onnx_binary("add", a, b); }
static void *sub(void *a, void *b) { return onnx_binary("subtract", a, b); }
static void *mul(void *a, void *b) { return onnx_binary("multiply", a, b); }
static void *i64(int64_t v) { return relay_const_int(TN_I64, v); }
static void *least(void *a, void *b) { return onnx_binary("minimum", a, b); }
static void *most(void *a, void *b) { return onnx_binary("maximum", a, b); }

const tn_arr *onnx_expected(const onnx_ctx *c, int input, const char *what) {
  const tn_arr *shape = onnx_declared_shape(c, 0);
  if (shape) return shape;
  return TN_RAISEP(
      OpNotImplemented, NULL,
      "%s (node %s): %s (input %d) must be known while compiling: it is computed at run "
      "time, and the model does not state the extents of the result",
      c->node->op_type, onnx_name(c), what, input);
}

/* ---- numbers for axes ---- */

/* Is axis `j` of `rank` among the numbers of input `axes`? A bool scalar. */
static void *among(const onnx_ctx *c, int axes, int64_t j, int64_t rank) {
  void *v = onnx_cast(onnx_in(c, axes), TN_I64);
  void *hit = onnx_binary("logical_or", onnx_binary("equal", v, i64(j)),
                          onnx_binary("equal", v, i64(j - rank)));
  return onnx_reduce("any", hit, NULL, 0, false);
}

/* The number that input `values` has for axis j, `absent` where the axis is not among `axes`;
   without axes the numbers are those of the first ones, from `first` on. */
static void *number_for(const onnx_ctx *c, int values, int axes, int64_t first, int64_t j,
                        int64_t rank, void *absent) {
  const tn_TensorType *t = onnx_in_type(c, values);
  int64_t n, m;
  bool known = t && t->shape->len == 1 && relay_known_int(t->shape, 0, &n);
  void *v = onnx_cast(onnx_in(c, values), TN_I64);
  if (!onnx_in(c, axes))
    return !known || first + j < n ? onnx_squeeze(onnx_part(v, 0, first + j, first + j + 1), 0)
                                   : absent;
  TN_TRYP(onnx_known_extent(c, axes, 0, &m));
  v = onnx_part(v, 0, first, first + m);
  void *a = onnx_cast(onnx_in(c, axes), TN_I64);
  void *hit = onnx_binary("logical_or", onnx_binary("equal", a, i64(j)),
                          onnx_binary("equal", a, i64(j - rank)));
  void *sum = onnx_reduce("sum", onnx_where(hit, v, i64(0)), NULL, 0, false);
  return onnx_where(onnx_reduce("any", hit, NULL, 0, false), sum, absent);
}

static bool is_static(const onnx_ctx *c, int i) {
  const tn_TensorType *t = onnx_in_type(c, i);
  return t && relay_is_static((const tn_Type *)t);
}

/* ---- slices and borders ---- */

bool onnx_is_stated(const onnx_ctx *c) {
  if (!onnx_declared_shape(c, 0)) return false;
  for (int i = 0; i < c->nin; ++i)
    if (onnx_in(c, i) && onnx_in_type(c, i) && !is_static(c, i)) return false;
  return true;
}

void *onnx_slice_at_run_time(onnx_ctx *c) {
  if (!onnx_is_stated(c)) return onnx_open_slice(c);
  const tn_arr *shape = onnx_expected(c, 1, "starts");
  const tn_TensorType *t = onnx_in_type(c, 0);
  void *x = onnx_in(c, 0);
  if (!shape) return NULL;
  if (!is_static(c, 0) || !is_static(c, 1) || t->shape->len != shape->len)
    return onnx_fail(c, "the stated extents do not fit the shape of the input");
  int64_t rank = shape->len;
  for (int64_t j = 0; x && j < rank; ++j) {
    int64_t n, out = onnx_stated_extent(shape, j);
    TN_TRYP(onnx_known_extent(c, 0, j, &n));
    void *step = onnx_in(c, 4) ? number_for(c, 4, 3, 0, j, rank, i64(1)) : i64(1);
    void *back = onnx_binary("less", step, i64(0));
    void *start = number_for(c, 1, 3, 0, j, rank, onnx_where(back, i64(n - 1), i64(0)));
    start = onnx_where(onnx_binary("less", start, i64(0)), add(start, i64(n)), start);
    start = least(most(start, i64(0)), onnx_where(back, i64(n - 1), i64(n)));
    x = onnx_take(x, add(start, mul(step, onnx_count_along(TN_I64, out, 0, 1))), j);
  }
  return x;
}

/* Where an element of the result comes from, for an index that may be outside of 0 ... n - 1. */
static void *wrapped(const char *mode, void *at, int64_t n) {
  if (strcmp(mode, "wrap") == 0) return onnx_binary("floor_mod", at, i64(n));
  if (strcmp(mode, "reflect") != 0 || n == 1) return at;
  void *r = onnx_binary("floor_mod", at, i64(2 * (n - 1)));
  return least(r, sub(i64(2 * (n - 1)), r));
}

void *onnx_pad_with(onnx_ctx *c, const tn_arr *shape, const char *mode, void *value) {
  const tn_TensorType *t = onnx_in_type(c, 0), *p = onnx_in_type(c, 1);
  void *x = onnx_in(c, 0), *inside = NULL;
  if (!is_static(c, 0) || !p || t->shape->len != shape->len)
    return onnx_fail(c, "the stated extents do not fit the shape of the input");
  int64_t rank = shape->len;
  for (int64_t j = 0; x && j < rank; ++j) {
    int64_t n, out = onnx_stated_extent(shape, j);
    TN_TRYP(onnx_known_extent(c, 0, j, &n));
    void *at = sub(onnx_count_along(TN_I64, out, 0, 1), number_for(c, 1, 3, 0, j, rank, i64(0)));
    if (strcmp(mode, "constant") == 0) {
      void *in = onnx_binary("logical_and", onnx_binary("greater_equal", at, i64(0)),
                             onnx_binary("less", at, i64(n)));
      if (j + 1 < rank) in = onnx_expand_dims(in, 1, rank - 1 - j);
      inside = inside ? onnx_binary("logical_and", inside, in) : in;
    }
    if (n > 0) x = onnx_take(x, wrapped(mode, at, n), j);
  }
  return inside && x ? onnx_where(inside, x, value) : x;
}

/* ---- extents ---- */

void *onnx_reshape_at_run_time(onnx_ctx *c, int input, const char *what) {
  if (!onnx_is_stated(c) && strcmp(what, "shape") == 0) return onnx_open_reshape(c);
  const tn_arr *shape = onnx_expected(c, input, what);
  void *a = shape ? relay_attrs("reshape", 2, "newshape", tn_any_obj(shape), "allowzero",
                                tn_any_bool(true))
                  : NULL;
  return a ? relay_call("reshape", a, 1, onnx_in(c, 0)) : NULL;
}

void *onnx_tile_at_run_time(onnx_ctx *c) {
  if (!onnx_is_stated(c)) return onnx_open_tile(c);
  const tn_arr *shape = onnx_expected(c, 1, "repeats");
  const tn_TensorType *t = onnx_in_type(c, 0);
  void *x = onnx_in(c, 0);
  if (!shape) return NULL;
  if (!is_static(c, 0) || t->shape->len != shape->len)
    return onnx_fail(c, "the stated extents do not fit the shape of the input");
  for (int64_t j = 0; x && j < shape->len; ++j) {
    int64_t n, out = onnx_stated_extent(shape, j);
    TN_TRYP(onnx_known_extent(c, 0, j, &n));
    if (n == out || n == 0) continue;
    x = onnx_take(x, onnx_binary("floor_mod", onnx_count_along(TN_I64, out, 0, 1), i64(n)), j);
  }
  return x;
}

void *onnx_range_at_run_time(onnx_ctx *c) {
  if (!onnx_is_stated(c)) return onnx_open_range(c);
  const tn_arr *shape = onnx_expected(c, 1, "limit");
  const tn_TensorType *t = onnx_in_type(c, 0);
  if (!shape) return NULL;
  if (!t || shape->len != 1) return onnx_fail(c, "the stated extents are not those of a vector");
  void *i = onnx_cast(onnx_count_along(TN_I64, onnx_stated_extent(shape, 0), 0, 1), t->dtype);
  return add(onnx_in(c, 0), mul(i, onnx_in(c, 2)));
}

/* ---- reductions ---- */

/* x with each axis that is among the numbers of input 1 reduced, and repeated to its extent. */
void *onnx_reduce_in_place(const onnx_ctx *c, const char *op, void *x) {
  int64_t rank = onnx_rank(c, 0);
  for (int64_t j = 0; x && j < rank; ++j)
    x = onnx_where(among(c, 1, j, rank), onnx_reduce(op, x, &j, 1, true), x);
  return x;
}

/* Element 0 of the axes that are reduced; the others make up the result, flat. */
static void *kept_elements(const onnx_ctx *c, void *x, const tn_arr *shape) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  int64_t rank = t->shape->len, count = 1, stride = 1;
  for (int64_t i = 0; i < shape->len; ++i) count *= onnx_stated_extent(shape, i);
  void *rest = onnx_count_along(TN_I64, count, 0, 1), *flat = i64(0);
  for (int64_t j = rank; x && j-- > 0;) {
    int64_t n;
    TN_TRYP(onnx_known_extent(c, 0, j, &n));
    void *extent = onnx_where(among(c, 1, j, rank), i64(1), i64(n));
    flat = add(flat, mul(onnx_binary("floor_mod", rest, extent), i64(stride)));
    rest = onnx_binary("floor_divide", rest, extent);
    stride *= n;
  }
  void *all = onnx_reshape(x, (int64_t[]){-1}, 1), *picked = onnx_take(all, flat, 0);
  void *a = relay_attrs("reshape", 1, "newshape", tn_any_obj(shape));
  return a && picked ? relay_call("reshape", a, 1, picked) : NULL;
}

/* Axes by the extents that are left: those are 1 in the result. */
static int64_t shrunk_axes(const tn_TensorType *t, const tn_arr *shape, int64_t *axes) {
  int64_t n = 0;
  for (int64_t i = 0; i < shape->len; ++i)
    if (!relay_ints_same(t->shape, i, shape, i)) axes[n++] = i;
  return n;
}

static int check_reduced(const onnx_ctx *c, const tn_arr *shape, bool keepdims) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  if (!shape) return -1;
  if (is_static(c, 0) && t->shape->len <= ONNX_MAX_NDIM && shape->len <= t->shape->len &&
      (!keepdims || shape->len == t->shape->len))
    return 0;
  return onnx_fail(c, "the stated extents do not fit the shape of the input"), -1;
}

void *onnx_keep_elements(const onnx_ctx *c, void *x, bool keepdims) {
  const tn_arr *shape = onnx_expected(c, 1, "axes");
  TN_TRYP(check_reduced(c, shape, keepdims));
  return kept_elements(c, x, shape);
}

void *onnx_reduce_at_run_time(onnx_ctx *c, const char *op, void *x, bool keepdims) {
  const tn_arr *shape = onnx_expected(c, 1, "axes");
  int64_t axes[ONNX_MAX_NDIM], n;
  TN_TRYP(check_reduced(c, shape, keepdims));
  if (!keepdims) return kept_elements(c, onnx_reduce_in_place(c, op, x), shape);
  n = shrunk_axes(onnx_in_type(c, 0), shape, axes);
  return n ? onnx_reduce(op, x, axes, n, true) : x;
}
