/* Operands that are computed at run time and decide the extents of the result, where the model does
   not state these: operators that take numbers as tensors (dyn.*), for the virtual machine.

   What is known of the numbers is kept: Reshape(x, [extent 0 of y, -1, 64]) has a result of
   [?, ?, 64], and where a single number is not known it is what is left, which needs no operator of
   its own. */
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"
#include "import/onnx/shape_values.h"
#include "relay/infer.h"

static void *i64(int64_t v) { return relay_const_int(TN_I64, v); }
static void *vector(int64_t v) { return relay_const_ints(TN_I64, &v, 1); }

static void *call(const char *op, void *attrs, void *x, void *y) {
  return attrs && x && y ? relay_call(op, attrs, 2, x, y) : NULL;
}

void *onnx_extent(void *x, int64_t axis, tn_dtype t) {
  const tn_TensorType *type = x ? TN_AS(TensorType, relay_type_of(x)) : NULL;
  int64_t n;
  if (type && axis < type->shape->len && tir_as_int(tn_arr_obj(type->shape, axis), &n))
    return relay_const_int(t, n);
  void *a = relay_attrs("shape_of", 1, "dtype", tn_any_dtype(t));
  void *shape = a && x ? relay_call("shape_of", a, 1, x) : NULL;
  return shape ? onnx_take(shape, relay_const_int(TN_I32, axis), 0) : NULL;
}

void *onnx_indices(void *x, int64_t axis, int64_t at, int64_t rank) {
  const tn_TensorType *t = x ? TN_AS(TensorType, relay_type_of(x)) : NULL;
  int64_t n, dims[ONNX_MAX_NDIM];
  if (t && axis < t->shape->len && tir_as_int(tn_arr_obj(t->shape, axis), &n))
    return onnx_count_along(TN_I64, n, at, rank);
  for (int64_t i = 0; i < rank && i < ONNX_MAX_NDIM; ++i) dims[i] = i == at ? -1 : 1;
  void *from = i64(0), *to = onnx_extent(x, axis, TN_I64), *step = i64(1);
  if (!from || !to || !step) return NULL;
  void *a = relay_attrs("arange", 4, "start", tn_any_obj(from), "stop", tn_any_obj(to), "step",
                        tn_any_obj(step), "dtype", tn_any_dtype(TN_I64));
  return a ? onnx_reshape(relay_call("arange", a, 3, from, to, step), dims, rank) : NULL;
}

/* The extents of x: int64[rank] */
static void *shape_of(void *x) {
  void *a = relay_attrs("shape_of", 1, "dtype", tn_any_dtype(TN_I64));
  return a && x ? relay_call("shape_of", a, 1, x) : NULL;
}

static void *wide(const onnx_ctx *c, int i) { return onnx_cast(onnx_in(c, i), TN_I64); }

void *onnx_with_known(void *x, const int64_t *dims, int64_t rank) {
  int64_t as[ONNX_MAX_NUMBERS];
  bool any = false;
  for (int64_t i = 0; i < rank; ++i) {
    as[i] = dims[i] > 0 ? dims[i] : 0; /* 0 copies */
    any = any || dims[i] > 0;
  }
  return any && rank <= ONNX_MAX_NUMBERS ? onnx_reshape(x, as, rank) : x;
}

/* Known numbers of an operand, -1 for the others. @return how many, -1 with an error */
static int64_t known_of(const onnx_ctx *c, int input, const char *what, int64_t *out) {
  onnx_number all[ONNX_MAX_NUMBERS];
  int64_t n = onnx_numbers(onnx_in(c, input), all);
  for (int64_t i = 0; i < n; ++i) out[i] = all[i].kind == ONNX_NUMBER ? all[i].value : -1;
  if (n >= 0) return n;
  onnx_fail(c, "%s (input %d) must be a vector whose length is known", what, input);
  return -1;
}

/* ---- Reshape ---- */

/* Where at most one number is not known, besides extents that stay where they are. */
static bool plain_shape(const onnx_ctx *c, const onnx_number *all, int64_t n, int64_t *dims) {
  bool zero = onnx_int(c, "allowzero", 0) != 0;
  int64_t rest = 0, rank = onnx_rank(c, 0);
  for (int64_t i = 0; i < n; ++i) {
    bool stays = all[i].kind == ONNX_EXTENT && all[i].of == onnx_in(c, 0) && all[i].value == i;
    dims[i] = all[i].kind == ONNX_NUMBER ? all[i].value : stays && !zero && i < rank ? 0 : -1;
    rest += dims[i] == -1;
    if (dims[i] < -1) return false;
  }
  return rest <= 1;
}

void *onnx_open_reshape(onnx_ctx *c) {
  onnx_number all[ONNX_MAX_NUMBERS];
  int64_t dims[ONNX_MAX_NUMBERS], n = onnx_numbers(onnx_in(c, 1), all);
  bool zero = onnx_int(c, "allowzero", 0) != 0;
  if (n < 0) return onnx_fail(c, "the rank of the result must be known: shape has an open length");
  if (plain_shape(c, all, n, dims)) {
    void *a = relay_attrs("reshape", 2, "newshape", tn_any_obj(relay_ints(dims, n)), "allowzero",
                          tn_any_bool(zero));
    return a ? relay_call("reshape", a, 1, onnx_in(c, 0)) : NULL;
  }
  for (int64_t i = 0; i < n; ++i) dims[i] = all[i].kind == ONNX_NUMBER ? all[i].value : -1;
  void *a = relay_attrs("dyn.reshape", 1, "allowzero", tn_any_bool(zero));
  return onnx_with_known(call("dyn.reshape", a, onnx_in(c, 0), wide(c, 1)), dims, n);
}

/* ---- tensors of a shape ---- */

void *onnx_open_fill(onnx_ctx *c, void *value) {
  int64_t dims[ONNX_MAX_NUMBERS], n = known_of(c, 0, "shape", dims);
  if (n < 0) return NULL;
  void *a = relay_attrs("dyn.full", 0);
  return onnx_with_known(call("dyn.full", a, value, wide(c, 0)), dims, n);
}

/* A vector with `n` ones before it. */
static void *after_ones(void *v, int64_t n) {
  int64_t ones[ONNX_MAX_NUMBERS];
  if (n <= 0) return v;
  for (int64_t i = 0; i < n; ++i) ones[i] = 1;
  void *k = relay_const_ints(TN_I64, ones, n);
  return k && v ? onnx_concat(tn_arr_of(2, k, v), 0) : NULL;
}

/* Broadcast both ways: where the shape has 1 the extent of the input stays. */
void *onnx_open_expand(onnx_ctx *c) {
  int64_t dims[ONNX_MAX_NUMBERS], rank = onnx_rank(c, 0), n = known_of(c, 1, "shape", dims);
  if (n < 0 || rank < 0) return NULL;
  int64_t all = n > rank ? n : rank, out[ONNX_MAX_NUMBERS];
  const tn_TensorType *t = onnx_in_type(c, 0);
  void *asked = after_ones(wide(c, 1), all - n),
       *own = after_ones(shape_of(onnx_in(c, 0)), all - rank);
  void *one = i64(1), *shape = onnx_where(onnx_binary("equal", asked, one), own, asked);
  for (int64_t i = 0; i < all; ++i) {
    int64_t have = 1, k = i - (all - rank), j = i - (all - n);
    if (k >= 0 && !tir_as_int(tn_arr_obj(t->shape, k), &have)) have = -1;
    int64_t want = j < 0 ? 1 : dims[j];
    out[i] = want > 1 ? want : want == 1 ? have : have > 1 ? have : -1;
  }
  void *y =
      onnx_in(c, 0) && shape ? relay_call("dyn.broadcast_to", NULL, 2, onnx_in(c, 0), shape) : NULL;
  return y ? onnx_with_known(y, out, all) : NULL;
}

void *onnx_open_tile(onnx_ctx *c) {
  int64_t dims[ONNX_MAX_NUMBERS], rank = onnx_rank(c, 0), n = known_of(c, 1, "repeats", dims);
  const tn_TensorType *t = onnx_in_type(c, 0);
  if (n < 0) return NULL;
  if (n != rank) return onnx_fail(c, "repeats: expected %lld numbers", (long long)rank);
  for (int64_t i = 0; i < n; ++i) {
    int64_t extent;
    bool known = tir_as_int(tn_arr_obj(t->shape, i), &extent) && dims[i] >= 0;
    if (!known || __builtin_mul_overflow(dims[i], extent, &dims[i])) dims[i] = -1;
  }
  void *y = relay_call("dyn.tile", NULL, 2, onnx_in(c, 0), wide(c, 1));
  return y ? onnx_with_known(y, dims, n) : NULL;
}

void *onnx_open_range(onnx_ctx *c) {
  void *v[3];
  for (int i = 0; i < 3; ++i) TN_GETP(v[i], onnx_reshape(onnx_in(c, i), NULL, 0));
  void *a = relay_attrs("arange", 4, "start", tn_any_obj(v[0]), "stop", tn_any_obj(v[1]), "step",
                        tn_any_obj(v[2]), "dtype",
                        tn_any_dtype(onnx_in_type(c, 0) ? onnx_in_type(c, 0)->dtype : TN_F32));
  return a ? relay_call("arange", a, 3, v[0], v[1], v[2]) : NULL;
}

/* ---- axes that a list names ---- */

/* The axes of input `i`, or the first n: 0, or -1 with an error. */
static int axes_of(const onnx_ctx *c, int i, int64_t n, int64_t rank, int64_t *axes) {
  int64_t m = n;
  for (int64_t k = 0; k < n; ++k) axes[k] = k;
  if (onnx_in(c, i)) TN_TRY(onnx_values(c, i, "axes", axes, ONNX_MAX_NDIM, &m));
  for (int64_t k = 0; k < n; ++k) {
    if (axes[k] < 0) axes[k] += rank;
    if (m != n || axes[k] < 0 || axes[k] >= rank)
      return onnx_fail(c, "axis %lld is out of range", (long long)axes[k]), -1;
  }
  return 0;
}

/* A vector with an element for each of `rank` axes: element k of v for axis axes[k], else what
   `absent` holds. */
static void *by_axis(void *v, const int64_t *axes, int64_t n, int64_t rank, void *absent) {
  TN_VEC(parts);
  for (int64_t j = 0; j < rank; ++j) {
    void *one = onnx_part(absent, 0, j, j + 1);
    for (int64_t k = 0; k < n; ++k)
      if (axes[k] == j) one = onnx_part(v, 0, k, k + 1);
    TN_TRYP(tn_vec_push_obj(&parts, one));
  }
  return onnx_concat(tn_arr_from(&parts), 0);
}

static void *repeated(int64_t value, int64_t n) {
  int64_t all[ONNX_MAX_NDIM];
  for (int64_t i = 0; i < n; ++i) all[i] = value;
  return relay_const_ints(TN_I64, all, n);
}

void *onnx_open_slice(onnx_ctx *c) {
  int64_t axes[ONNX_MAX_NDIM], dims[ONNX_MAX_NUMBERS], rank = onnx_rank(c, 0);
  const tn_TensorType *t = onnx_in_type(c, 0);
  int64_t n = known_of(c, 1, "starts", dims);
  if (n < 0) return NULL;
  if (rank < 1 || rank > ONNX_MAX_NDIM || n > rank)
    return onnx_fail(c, "more starts than dimensions");
  TN_TRYP(axes_of(c, 3, n, rank, axes));
  void *begin = by_axis(wide(c, 1), axes, n, rank, repeated(0, rank)),
       *end = by_axis(wide(c, 2), axes, n, rank, repeated(INT64_MAX, rank)),
       *step = onnx_in(c, 4) ? by_axis(wide(c, 4), axes, n, rank, repeated(1, rank))
                             : repeated(1, rank);
  void *a = relay_attrs("dyn.strided_slice", 0);
  if (!a || !begin || !end || !step) return NULL;
  for (int64_t i = 0; i < rank; ++i)
    if (!tir_as_int(tn_arr_obj(t->shape, i), &dims[i])) dims[i] = -1;
  for (int64_t k = 0; k < n; ++k) dims[axes[k]] = -1;
  void *y = relay_call("dyn.strided_slice", a, 4, onnx_in(c, 0), begin, end, step);
  return y ? onnx_with_known(y, dims, rank) : NULL;
}

/* pads: before all axes, then after all; [rank, 2] as Relay has it. */
void *onnx_open_pad(onnx_ctx *c, const char *mode, void *value) {
  int64_t axes[ONNX_MAX_NDIM], dims[ONNX_MAX_NUMBERS], rank = onnx_rank(c, 0);
  const tn_TensorType *t = onnx_in_type(c, 0);
  int64_t n = known_of(c, 1, "pads", dims) / 2, pairs[] = {2, rank}, order[] = {1, 0};
  if (tn_error_pending()) return NULL;
  if (rank < 1 || rank > ONNX_MAX_NDIM || n > rank)
    return onnx_fail(c, "more pads than dimensions");
  if (strcmp(mode, "wrap") == 0)
    return onnx_fail(c, "mode: wrap is not supported with dynamic extents");
  TN_TRYP(axes_of(c, 3, n, rank, axes));
  void *pads = wide(c, 1), *none = repeated(0, rank);
  void *before = by_axis(onnx_part(pads, 0, 0, n), axes, n, rank, none),
       *after = by_axis(onnx_part(pads, 0, n, 2 * n), axes, n, rank, none);
  if (!before || !after || !value) return NULL;
  void *width = onnx_reshape(onnx_concat(tn_arr_of(2, before, after), 0), pairs, 2);
  void *a = relay_attrs("dyn.nn.pad", 1, "pad_mode", tn_any_cstr(mode));
  width = onnx_transpose(width, order, 2);
  for (int64_t i = 0; i < rank; ++i) {
    bool padded = false;
    for (int64_t k = 0; k < n; ++k) padded = padded || axes[k] == i;
    if (padded || !tir_as_int(tn_arr_obj(t->shape, i), &dims[i])) dims[i] = -1;
  }
  void *y = a && width ? relay_call("dyn.nn.pad", a, 3, onnx_in(c, 0), width, value) : NULL;
  return y ? onnx_with_known(y, dims, rank) : NULL;
}

/* ---- elements that are chosen ---- */

/* The first rows of a tensor, as many as a vector of one element says. */
static void *first_rows(void *x, void *count) {
  void *a = relay_attrs("dyn.strided_slice", 0), *zero = vector(0), *one = vector(1);
  return a && x && count && zero && one
             ? relay_call("dyn.strided_slice", a, 4, x, zero, onnx_cast(count, TN_I64), one)
             : NULL;
}

void *onnx_open_top_k(onnx_ctx *c, int64_t axis) {
  void *k = onnx_reshape(wide(c, 1), NULL, 0);
  void *a = relay_attrs("dyn.topk", 3, "axis", tn_any_int(axis), "is_ascend",
                        tn_any_bool(!onnx_int(c, "largest", 1)), "dtype", tn_any_dtype(TN_I64));
  void *all = call("dyn.topk", a, onnx_in(c, 0), k), *parts[2];
  TN_GETP(all, all ? relay_infer_new(all) : NULL);
  for (int i = 0; i < 2; ++i) /* the operator takes k = 0 for all elements */
    TN_GETP(parts[i], onnx_open_first(relay_get_item(all, i), axis, k));
  return relay_tuple(tn_arr_of(2, parts[0], parts[1]));
}

void *onnx_open_rows(void *all, int64_t rows, int64_t count) {
  return all ? first_rows(relay_get_item(all, rows), relay_get_item(all, count)) : NULL;
}

/* Coordinates of the elements that are not 0: [n, rank] */
void *onnx_open_places(void *x) {
  return onnx_cast(x ? relay_call("argwhere", NULL, 1, x) : NULL, TN_I64);
}

/* Numbers by which parts along an axis are told apart and ordered, as their elements are. */
static void *ranks_along(const onnx_ctx *c, int64_t axis, int64_t rank) {
  int64_t order[ONNX_MAX_NDIM], dims[] = {0, -1}, k = 1;
  const tn_TensorType *t = onnx_in_type(c, 0);
  void *x = ir_is_bool(t->dtype) ? onnx_cast(onnx_in(c, 0), TN_I32) : onnx_in(c, 0);
  if (rank < 2) return x;
  order[0] = axis;
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis) order[k++] = i;
  if (axis) x = onnx_transpose(x, order, rank);
  x = onnx_reshape(x, dims, 2);
  return x ? relay_call("rank_rows", NULL, 1, x) : NULL;
}

/* The distinct values of the flat input, or parts along an axis. */
static void *unique(onnx_ctx *c) {
  int64_t flat = -1, rank = onnx_rank(c, 0), axis = onnx_int(c, "axis", 0);
  bool parts = onnx_node_attr(c, "axis") != NULL;
  if (axis < 0) axis += rank;
  if (rank < 0 || rank > ONNX_MAX_NDIM || (parts && (axis < 0 || axis >= rank)))
    return onnx_fail(c, "axis %lld is out of range", (long long)axis);
  void *values = parts ? ranks_along(c, axis, rank) : onnx_reshape(onnx_in(c, 0), &flat, 1);
  void *a = relay_attrs("unique", 2, "sorted", tn_any_bool(onnx_int(c, "sorted", 1) != 0),
                        "return_counts", tn_any_bool(true));
  void *all, *number, *y, *first, *which, *counts;
  TN_GETP(all, a && values ? relay_call("unique", a, 1, values) : NULL);
  TN_GETP(all, relay_infer_new(all));
  number = relay_get_item(all, 3);
  TN_GETP(y, first_rows(relay_get_item(all, 0), number));
  TN_GETP(first, onnx_cast(first_rows(relay_get_item(all, 1), number), TN_I64));
  if (parts) TN_GETP(y, onnx_take(onnx_in(c, 0), first, axis));
  TN_GETP(which, onnx_cast(relay_get_item(all, 2), TN_I64));
  TN_GETP(counts, onnx_cast(first_rows(relay_get_item(all, 4), number), TN_I64));
  return relay_tuple(tn_arr_of(4, y, first, which, counts));
}

/* Parts of given sizes along an axis. */
void *onnx_open_split(onnx_ctx *c, int64_t axis, int64_t n) {
  void *from = vector(0), *sizes = wide(c, 1);
  TN_VEC(parts);
  int64_t rank = onnx_rank(c, 0);
  if (rank > ONNX_MAX_NDIM) return onnx_fail(c, "too many dimensions");
  for (int64_t i = 0; i < n; ++i) {
    void *to = onnx_binary("add", from, onnx_part(sizes, 0, i, i + 1));
    void *begin, *end, *step = repeated(1, rank), *a = relay_attrs("dyn.strided_slice", 0), *y;
    TN_GETP(begin, by_axis(from, &axis, 1, rank, repeated(0, rank)));
    TN_GETP(end, by_axis(to, &axis, 1, rank, repeated(INT64_MAX, rank)));
    TN_GETP(y, a && step ? relay_call("dyn.strided_slice", a, 4, onnx_in(c, 0), begin, end, step)
                         : NULL);
    TN_TRYP(tn_vec_push_obj(&parts, y));
    from = to;
  }
  return relay_tuple(tn_arr_from(&parts));
}

/* Elements begin to before end of an axis, both vectors of one element. */
static void *open_part(void *x, int64_t axis, void *begin, void *end) {
  TN_GETP(x, x ? relay_infer_new(x) : NULL);
  const tn_TensorType *t = relay_tensor_type_of_expr(x);
  int64_t dims[ONNX_MAX_NDIM], rank = t->shape->len;
  TN_CHECKP(rank <= ONNX_MAX_NDIM, ValueError, NULL, "too many dimensions");
  void *a = relay_attrs("dyn.strided_slice", 0), *step = repeated(1, rank);
  TN_GETP(begin, by_axis(begin, &axis, 1, rank, repeated(0, rank)));
  TN_GETP(end, by_axis(end, &axis, 1, rank, repeated(INT64_MAX, rank)));
  for (int64_t i = 0; i < rank; ++i)
    if (i == axis || !relay_known_int(t->shape, i, &dims[i])) dims[i] = -1;
  void *y = a && step ? relay_call("dyn.strided_slice", a, 4, x, begin, end, step) : NULL;
  return y ? onnx_with_known(y, dims, rank) : NULL;
}

void *onnx_open_first(void *x, int64_t axis, void *n) {
  return open_part(x, axis, vector(0), onnx_reshape(n, (int64_t[]){1}, 1));
}

void *onnx_open_equal_split(onnx_ctx *c, int64_t axis, int64_t n) {
  TN_VEC(parts);
  void *extent = onnx_reshape(onnx_extent(onnx_in(c, 0), axis, TN_I64), (int64_t[]){1}, 1);
  void *each = onnx_binary("floor_divide", onnx_binary("add", extent, i64(n - 1)), i64(n));
  for (int64_t i = 0; i < n; ++i)
    TN_TRYP(tn_vec_push_obj(&parts,
                            open_part(onnx_in(c, 0), axis, onnx_binary("multiply", each, i64(i)),
                                      onnx_binary("multiply", each, i64(i + 1)))));
  return relay_tuple(tn_arr_from(&parts));
}

static const onnx_row rows[] = {{"Unique", unique, 1, 1}};
const onnx_table onnx_open = {rows, TN_COUNT(rows), ""};
