/* Operators that move elements, and those about shapes and constants. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/scope.h"
#include "import/onnx/import.h"
#include "import/onnx/shape_values.h"
#include "relay/transforms/transforms.h"

enum { MAX_NDIM = 32 };

static void *reshape(onnx_ctx *c) {
  int64_t dims[MAX_NDIM], n, unknown = 0;
  if (c->opset >= 5 && onnx_runs(c, 1)) return onnx_reshape_at_run_time(c, 1, "shape");
  if (c->opset < 5) {
    const int64_t *v = onnx_ints(c, "shape", &n);
    if (n > MAX_NDIM) return onnx_fail(c, "a rank of %lld", (long long)n);
    if (n) memcpy(dims, v, (size_t)n * sizeof *v);
  } else TN_TRYP(onnx_values(c, 1, "shape", dims, MAX_NDIM, &n));
  for (int64_t i = 0; i < n; ++i) {
    if (dims[i] < -1) return onnx_fail(c, "shape: %lld is negative", (long long)dims[i]);
    unknown += dims[i] == -1;
  }
  if (unknown > 1) return onnx_fail(c, "shape: more than one -1");
  bool zero = onnx_int(c, "allowzero", 0) != 0;
  void *a = relay_attrs("reshape", 2, "newshape", tn_any_obj(relay_ints(dims, n)), "allowzero",
                        tn_any_bool(zero));
  return a ? relay_call("reshape", a, 1, onnx_in(c, 0)) : NULL;
}

static void *transpose(onnx_ctx *c) {
  int64_t n, rank = onnx_rank(c, 0), back[MAX_NDIM];
  const int64_t *perm = onnx_ints(c, "perm", &n);
  if (n) return onnx_transpose(onnx_in(c, 0), perm, n);
  if (rank < 0 || rank > MAX_NDIM)
    return onnx_fail(c, "a shape of %lld dimensions", (long long)rank);
  for (int64_t i = 0; i < rank; ++i) back[i] = rank - 1 - i;
  return onnx_transpose(onnx_in(c, 0), back, rank);
}

static void *all_inputs(onnx_ctx *c) {
  TN_VEC(v);
  for (int i = 0; i < c->nin; ++i) {
    if (!c->in[i]) return onnx_fail(c, "input %d is left out", i);
    TN_TRYP(tn_vec_push_obj(&v, c->in[i]));
  }
  return relay_tuple(tn_arr_from(&v));
}

static void *concat(onnx_ctx *c) {
  if (!onnx_node_attr(c, "axis") && c->opset >= 4)
    return onnx_fail(c, "the attribute axis is missing");
  void *all = all_inputs(c),
       *a = relay_attrs("concatenate", 1, "axis", tn_any_int(onnx_int(c, "axis", 1)));
  return a && all ? relay_call("concatenate", a, 1, all) : NULL;
}

/* Sizes of parts by the extents that the model states of the results. */
static int stated_sizes(onnx_ctx *c, const tn_TensorType *t, int64_t axis, int64_t *sizes,
                        int64_t *n) {
  *n = (int64_t)c->node->n_output;
  if (!t || *n > 256) return onnx_fail(c, "%lld outputs", (long long)*n), -1;
  if (axis < 0) axis += t->shape->len;
  for (int64_t i = 0; i < *n; ++i) {
    const tn_arr *shape = i == 0 ? onnx_expected(c, 1, "split") : onnx_declared_shape(c, (int)i);
    if (!shape && tn_error_pending()) return -1;
    if (!shape || axis < 0 || axis >= shape->len)
      return onnx_fail(c, "split: the extents of result %lld are not stated", (long long)i), -1;
    sizes[i] = onnx_stated_extent(shape, axis);
  }
  return 0;
}

/* Sizes that are written down: one for each result, which make up the axis. */
static int check_sizes(const onnx_ctx *c, const tn_TensorType *t, int64_t axis,
                       const int64_t *sizes, int64_t n) {
  int64_t sum = 0, extent;
  if (n != (int64_t)c->node->n_output)
    return onnx_fail(c, "split: %lld sizes for %lld results", (long long)n,
                     (long long)c->node->n_output),
           -1;
  for (int64_t i = 0; i < n; ++i) {
    if (sizes[i] < 0 || sizes[i] > INT32_MAX)
      return onnx_fail(c, "split: the size %lld of result %lld is not valid", (long long)sizes[i],
                       (long long)i),
             -1;
    sum += sizes[i];
  }
  if (!relay_known_int(t->shape, axis, &extent) || sum == extent) return 0;
  return onnx_suspect(c,
                      "split: the sizes add up to %lld, axis %lld has %lld elements; the last "
                      "result gets what is left",
                      (long long)sum, (long long)axis, (long long)extent);
}

/* Sizes of the parts, or as many as there are results. */
static void *split(onnx_ctx *c) {
  int64_t sizes[256], at[256], n, axis = onnx_int(c, "axis", 0), parts = (int64_t)c->node->n_output;
  const tn_TensorType *t = onnx_in_type(c, 0);
  if (onnx_runs(c, 1) && !onnx_is_stated(c) && t && axis >= -t->shape->len && axis < t->shape->len)
    return onnx_open_split(c, axis < 0 ? axis + t->shape->len : axis, parts);
  if (onnx_runs(c, 1)) TN_TRYP(stated_sizes(c, t, axis, sizes, &n));
  else TN_TRYP(onnx_axes(c, 1, "split", sizes, 256, &n));
  if (!t || axis >= t->shape->len || axis < -t->shape->len)
    return onnx_fail(c, "axis %lld is out of range of the shape", (long long)axis);
  if (axis < 0) axis += t->shape->len;
  int64_t extent;
  if (parts < 1 || parts > 256) return onnx_fail(c, "%lld outputs", (long long)parts);
  if (n < 0 && onnx_node_attr(c, "num_outputs") && !relay_known_int(t->shape, axis, &extent))
    return onnx_open_equal_split(c, axis, parts);
  if (n < 0 && !relay_known_int(t->shape, axis, &extent)) {
    void *a = relay_attrs("split", 2, "indices_or_sections", tn_any_obj(tir_i32((int32_t)parts)),
                          "axis", tn_any_int(axis));
    return a ? relay_call("split", a, 1, onnx_in(c, 0)) : NULL;
  }
  if (n < 0) { /* equal parts, the last one smaller */
    int64_t each = (extent + parts - 1) / parts;
    for (n = 0; n < parts; ++n) {
      int64_t left = extent - n * each;
      sizes[n] = left < 0 ? 0 : each < left ? each : left;
    }
  } else TN_TRYP(check_sizes(c, t, axis, sizes, n));
  for (int64_t i = 0, sum = 0; i + 1 < n; ++i) at[i] = sum += sizes[i];
  void *a = relay_attrs("split", 2, "indices_or_sections",
                        tn_any_obj(relay_ints(at, n > 0 ? n - 1 : 0)), "axis", tn_any_int(axis));
  return a ? relay_call("split", a, 1, onnx_in(c, 0)) : NULL;
}

/* Which axes go is known at run time only, and so is the rank of the result. Where the model does
   not state it and an operator reads the result, axes whose extents are not known are taken to
   stay: it is an error when one of them is 1. */
static void *squeeze_open(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  const char *name = c->node->output[0];
  TN_VEC(dims);
  void *y = onnx_unary("value.squeeze", onnx_in(c, 0));
  if (onnx_states_rank(c, name) || !onnx_is_read(c->graph, name)) return y;
  for (int64_t i = 0; i < t->shape->len; ++i)
    if (!relay_int_is(t->shape, i, 1)) TN_TRYP(tn_vec_push_obj(&dims, relay_dim(t, i)));
  void *to = relay_tensor_type(tn_arr_from(&dims), t->dtype);
  void *a = to ? relay_attrs("value.narrow", 1, "to", tn_any_obj(to)) : NULL;
  return a && y ? relay_call("value.narrow", a, 1, y) : NULL;
}

static void *squeeze(onnx_ctx *c) {
  int64_t axes[MAX_NDIM], n;
  if (onnx_runs(c, 1)) return onnx_reshape_at_run_time(c, 1, "axes");
  TN_TRYP(onnx_axes(c, 1, "axes", axes, MAX_NDIM, &n));
  if (n < 0 && !relay_is_static((const tn_Type *)onnx_in_type(c, 0))) return squeeze_open(c);
  void *a =
      relay_attrs("squeeze", 1, "axis", n >= 0 ? tn_any_obj(relay_ints(axes, n)) : tn_any_none());
  return a ? relay_call("squeeze", a, 1, onnx_in(c, 0)) : NULL;
}

/* Axes count in the result, so the smallest goes first. */
static void *unsqueeze(onnx_ctx *c) {
  int64_t axes[MAX_NDIM], n, rank = onnx_rank(c, 0);
  void *x = onnx_in(c, 0);
  if (onnx_runs(c, 1)) return onnx_reshape_at_run_time(c, 1, "axes");
  TN_TRYP(onnx_axes(c, 1, "axes", axes, MAX_NDIM, &n));
  if (n < 0 || rank < 0) return onnx_fail(c, "the axes are missing");
  for (int64_t i = 0; i < n; ++i)
    if (axes[i] < 0) axes[i] += rank + n;
  for (int64_t at = 0; at < rank + n && x; ++at) {
    for (int64_t i = 0; i < n; ++i) {
      if (axes[i] != at) continue;
      void *a = relay_attrs("expand_dims", 1, "axis", tn_any_int(at));
      x = a ? relay_call("expand_dims", a, 1, x) : NULL;
      break;
    }
  }
  return x;
}

static void *slice(onnx_ctx *c) {
  int64_t begin[MAX_NDIM], end[MAX_NDIM], axes[MAX_NDIM], steps[MAX_NDIM], n, m;
  bool old = c->opset < 10;
  if (!old && (onnx_runs(c, 1) || onnx_runs(c, 2) || onnx_runs(c, 3) || onnx_runs(c, 4)))
    return onnx_slice_at_run_time(c);
  TN_TRYP(onnx_axes(c, old ? -1 : 1, "starts", begin, MAX_NDIM, &n));
  TN_TRYP(onnx_axes(c, old ? -1 : 2, "ends", end, MAX_NDIM, &m));
  if (n < 0 || n != m) return onnx_fail(c, "starts and ends must be lists of one length");
  TN_TRYP(onnx_axes(c, old ? -1 : 3, "axes", axes, MAX_NDIM, &m));
  for (int64_t i = 0; m < 0 && i < n; ++i) axes[i] = i;
  TN_TRYP(onnx_axes(c, old ? -1 : 4, "steps", steps, MAX_NDIM, &m));
  for (int64_t i = 0; m < 0 && i < n; ++i) steps[i] = 1;
  void *a = relay_attrs("strided_slice", 4, "begin", tn_any_obj(relay_ints(begin, n)), "end",
                        tn_any_obj(relay_ints(end, n)), "strides", tn_any_obj(relay_ints(steps, n)),
                        "axes", tn_any_obj(relay_ints(axes, n)));
  return a ? relay_call("strided_slice", a, 1, onnx_in(c, 0)) : NULL;
}

/* Negative indices count from the end. */
static void *gather(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0), *u = onnx_in_type(c, 1);
  int64_t axis = onnx_int(c, "axis", 0);
  if (!t || !u || axis >= t->shape->len || axis < -t->shape->len)
    return onnx_fail(c, "axis %lld is out of range of the shape", (long long)axis);
  if (axis < 0) axis += t->shape->len;
  TN_TRYP(onnx_suspect_indices(c, 1, axis, false));
  void *i = onnx_in(c, 1), *zero = relay_const_int(u->dtype, 0);
  onnx_number known[ONNX_MAX_NUMBERS];
  int64_t n = TN_AS(Constant, i) ? onnx_numbers(i, known) : -1;
  bool negative = n < 0;
  for (int64_t k = 0; k < n; ++k) negative = negative || known[k].value < 0;
  if (negative) {
    void *extent = onnx_extent(onnx_in(c, 0), axis, u->dtype);
    i = onnx_where(onnx_binary("less", i, zero), onnx_binary("add", i, extent), i);
    if (n >= 0 && relay_is_static((const tn_Type *)t)) i = i ? relay_fold_expr(i) : NULL;
  }
  void *a = relay_attrs("take", 1, "axis", tn_any_obj(tir_i32((int32_t)axis)));
  return a && i ? relay_call("take", a, 2, onnx_in(c, 0), i) : NULL;
}

/* Indices may have smaller extents than the data along the other axes: they are for its first part.
 */
static void *gather_elements(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0), *u = onnx_in_type(c, 1);
  int64_t axis = onnx_int(c, "axis", 0), rank = onnx_rank(c, 0), n, m;
  void *x = onnx_in(c, 0);
  if (rank < 1 || onnx_rank(c, 1) != rank || axis >= rank || axis < -rank)
    return onnx_fail(c, "axis %lld, data of %lld dimensions, indices of %lld", (long long)axis,
                     (long long)rank, (long long)onnx_rank(c, 1));
  if (axis < 0) axis += rank;
  TN_TRYP(onnx_suspect_indices(c, 1, axis, false));
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis && relay_known_int(u->shape, i, &n) && relay_known_int(t->shape, i, &m) && n < m)
      x = onnx_part(x, i, 0, n);
  void *a = relay_attrs("gather", 1, "axis", tn_any_int(axis));
  return a && x ? relay_call("gather", a, 2, x, onnx_in(c, 1)) : NULL;
}

/* An index that counts from the end when negative, cut off at the ends. */
static int64_t within(int64_t i, int64_t n) {
  if (i < 0) i += n;
  return i < 0 ? 0 : i > n ? n : i;
}

/* Extents that are known are constants. */
static void *shape_of(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  int64_t rank = onnx_rank(c, 0), from = within(onnx_int(c, "start", 0), rank),
          to = within(onnx_int(c, "end", rank), rank), dims[MAX_NDIM], n = 0;
  bool known = true;
  if (rank < 0 || rank > MAX_NDIM)
    return onnx_fail(c, "a shape of %lld dimensions", (long long)rank);
  for (int64_t i = from; known && i < to; ++i)
    known = tir_as_int(tn_arr_obj(t->shape, i), &dims[n++]);
  if (known) return relay_const_ints(TN_I64, dims, n);
  void *a = relay_attrs("shape_of", 1, "dtype", tn_any_dtype(TN_I64)),
       *x = a ? relay_call("shape_of", a, 1, onnx_in(c, 0)) : NULL;
  return from == 0 && to == rank ? x : onnx_part(x, 0, from, to);
}

static void *size_of(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  int64_t count;
  if (!t) return onnx_fail(c, "the input is not a tensor");
  if (relay_known_product(t->shape, 0, t->shape->len, &count))
    return relay_const_int(TN_I64, count);
  if (relay_is_static((const tn_Type *)t))
    return onnx_fail(c, "the size of the shape is too large");
  void *a = relay_attrs("ndarray_size", 1, "dtype", tn_any_dtype(TN_I64));
  return a ? relay_call("ndarray_size", a, 1, onnx_in(c, 0)) : NULL;
}

static void *cast(onnx_ctx *c) {
  tn_dtype t;
  if (!onnx_node_attr(c, "to")) return onnx_fail(c, "the attribute to is missing");
  TN_TRYP(onnx_dtype((int32_t)onnx_int(c, "to", 0), "Cast: to", &t));
  const char *op = strcmp(c->node->op_type, "BitCast") == 0 ? "reinterpret" : "cast";
  void *a = relay_attrs(op, 1, "dtype", tn_any_dtype(t));
  return a ? relay_call(op, a, 1, onnx_in(c, 0)) : NULL;
}

/* ---- constants ---- */

static void *constant(onnx_ctx *c) {
  const onnx_attr *a = c->node->n_attribute ? c->node->attribute[0] : NULL;
  if (!a) return onnx_fail(c, "the value is missing");
  if (a->t) {
    tn_tensor *t = onnx_read_tensor(c->model, a->t);
    return t ? relay_constant((tn_NDArray *)t) : NULL;
  }
  if (a->has_i) return relay_const_int(TN_I64, a->i);
  if (a->has_f) return relay_const_float(TN_F32, (double)a->f);
  if (a->n_ints) return relay_const_ints(TN_I64, a->ints, (int64_t)a->n_ints);
  if (!a->n_floats)
    return onnx_fail(c, "a constant of the kind %s is not supported", a->name ? a->name : "?");
  int64_t n = (int64_t)a->n_floats;
  tn_tensor *t = tn_scope_own(tn_tensor_new(&n, 1, TN_F32, (tn_device){kDLCPU, 0}, NULL));
  if (t) memcpy(tn_tensor_dl(t)->data, a->floats, a->n_floats * sizeof *a->floats);
  return t ? relay_constant((tn_NDArray *)t) : NULL;
}

/* The numbers of an input, or the extents that the model states of the result. */
static int wanted_extents(onnx_ctx *c, int i, int64_t *dims, int64_t *n) {
  if (!onnx_runs(c, i)) return onnx_values(c, i, "shape", dims, MAX_NDIM, n);
  const tn_arr *shape;
  TN_GET(shape, onnx_expected(c, i, "shape"));
  *n = shape->len < MAX_NDIM ? shape->len : MAX_NDIM;
  for (int64_t k = 0; k < *n; ++k) dims[k] = onnx_stated_extent(shape, k);
  return 0;
}

static int check_size(onnx_ctx *c, const int64_t *dims, int64_t n) {
  int64_t count = 1;
  for (int64_t i = 0; i < n; ++i) {
    if (dims[i] < 0) return onnx_fail(c, "shape: %lld is negative", (long long)dims[i]), -1;
    if (dims[i] && count > (INT64_C(1) << 40) / dims[i])
      return onnx_fail(c, "the size of the shape is too large"), -1;
    count *= dims[i] ? dims[i] : 1;
  }
  return 0;
}

static void *constant_of_shape(onnx_ctx *c) {
  int64_t dims[MAX_NDIM], n;
  const onnx_attr *a = onnx_node_attr(c, "value");
  void *value = relay_const_float(TN_F32, 0);
  if (a && a->t) {
    tn_tensor *t = onnx_read_tensor(c->model, a->t);
    if (!t) return NULL;
    value = onnx_reshape(relay_constant((tn_NDArray *)t), NULL, 0);
  }
  if (onnx_runs(c, 0) && !onnx_is_stated(c)) return onnx_open_fill(c, value);
  TN_TRYP(wanted_extents(c, 0, dims, &n));
  TN_TRYP(check_size(c, dims, n));
  void *attrs = relay_attrs("full", 1, "shape", tn_any_obj(relay_ints(dims, n)));
  return attrs && value ? relay_call("full", attrs, 1, value) : NULL;
}

/* Broadcast both ways: the shape may have 1 where the input has more. */
static void *expand(onnx_ctx *c) {
  int64_t dims[MAX_NDIM], n;
  const tn_TensorType *t = onnx_in_type(c, 0);
  bool open = t && !relay_is_static((const tn_Type *)t);
  if (open || (onnx_runs(c, 1) && !onnx_is_stated(c))) return onnx_open_expand(c);
  TN_TRYP(wanted_extents(c, 1, dims, &n));
  TN_TRYP(check_size(c, dims, n));
  if (!t || t->shape->len > MAX_NDIM) return onnx_fail(c, "the input is not a tensor");
  int64_t rank = t->shape->len, all = rank > n ? rank : n, out[MAX_NDIM];
  for (int64_t i = 0; i < all; ++i) {
    int64_t own = 1, asked = i < all - n ? 1 : dims[i - (all - n)];
    if (i >= all - rank) TN_TRYP(onnx_known_extent(c, 0, i - (all - rank), &own));
    if (own != asked && own != 1 && asked != 1)
      return onnx_fail(c, "the shapes do not broadcast at dimension %lld", (long long)i);
    out[i] = asked == 1 ? own : asked;
  }
  void *a = relay_attrs("broadcast_to", 1, "shape", tn_any_obj(relay_ints(out, all)));
  return a ? relay_call("broadcast_to", a, 1, onnx_in(c, 0)) : NULL;
}

static void *tile(onnx_ctx *c) {
  int64_t reps[MAX_NDIM], n;
  if (onnx_runs(c, 1)) return onnx_tile_at_run_time(c);
  TN_TRYP(onnx_values(c, 1, "repeats", reps, MAX_NDIM, &n));
  void *a = relay_attrs("tile", 1, "reps", tn_any_obj(relay_ints(reps, n)));
  return a ? relay_call("tile", a, 1, onnx_in(c, 0)) : NULL;
}

static void *range(onnx_ctx *c) {
  if (onnx_runs(c, 0) || onnx_runs(c, 1) || onnx_runs(c, 2)) return onnx_range_at_run_time(c);
  void *a = relay_attrs("arange", 4, "start", tn_any_obj(onnx_in(c, 0)), "stop",
                        tn_any_obj(onnx_in(c, 1)), "step", tn_any_obj(onnx_in(c, 2)), "dtype",
                        tn_any_dtype(onnx_in_type(c, 0) ? onnx_in_type(c, 0)->dtype : TN_F32));
  return a ? relay_call("arange", a, 3, onnx_in(c, 0), onnx_in(c, 1), onnx_in(c, 2)) : NULL;
}

/* Extents with pads, in an array of PrimExpr; NULL where they cannot be told. */
static const tn_arr *padded_extents(onnx_ctx *c, const int64_t *pads, const int64_t *axes,
                                    int64_t n) {
  int64_t dims[MAX_NDIM], rank = onnx_known_shape(c, 0, dims, MAX_NDIM);
  if (rank < 0) return NULL;
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (at < 0 || at >= rank) return onnx_fail(c, "axis %lld is out of range", (long long)axes[i]);
    if (pads[i] < -INT32_MAX || pads[i] > INT32_MAX || pads[i + n] < -INT32_MAX ||
        pads[i + n] > INT32_MAX)
      return onnx_fail(c, "pads: a size of %lld is too large", (long long)pads[i]);
    dims[at] += pads[i] + pads[i + n];
    if (dims[at] < 0) return onnx_fail(c, "pads: more is cut off than the size of the axis");
  }
  TN_TRYP(check_size(c, dims, rank));
  return relay_ints(dims, rank);
}

/* Borders of zeros and the like that Relay has an operator for. */
static void *pad_all(onnx_ctx *c, const int64_t *pads, int64_t rank, const char *how, void *value) {
  TN_VEC(v);
  for (int64_t i = 0; i < rank; ++i) {
    int64_t both[2] = {pads[i], pads[i + rank]};
    TN_TRYP(tn_vec_push_obj(&v, relay_ints(both, 2)));
  }
  void *a = relay_attrs("nn.pad", 2, "pad_width", tn_any_obj(tn_arr_from(&v)), "pad_mode",
                        tn_any_cstr(how));
  return a && value ? relay_call("nn.pad", a, 2, onnx_in(c, 0), value) : NULL;
}

/* pads: before all axes, then after all. */
static void *pad(onnx_ctx *c) {
  int64_t pads[2 * MAX_NDIM], axes[MAX_NDIM], n, m, rank = onnx_rank(c, 0);
  char mode[16];
  const char *how = onnx_text(c, "mode", "constant", mode, sizeof mode);
  void *value = onnx_in(c, 2) ? onnx_reshape(onnx_in(c, 2), NULL, 0)
                              : onnx_scalar(c, 0, onnx_float(c, "value", 0));
  if (strcmp(how, "constant") != 0 && strcmp(how, "edge") != 0 && strcmp(how, "reflect") != 0 &&
      strcmp(how, "wrap") != 0)
    return onnx_fail(c, "mode: %s is not supported", how);
  if (c->opset >= 11 && (onnx_runs(c, 1) || onnx_runs(c, 3))) {
    if (!onnx_is_stated(c)) return onnx_open_pad(c, how, value);
    const tn_arr *shape = onnx_expected(c, 1, "pads");
    return shape ? onnx_pad_with(c, shape, how, value) : NULL;
  }
  TN_TRYP(onnx_axes(c, c->opset < 11 ? -1 : 1, "pads", pads, 2 * MAX_NDIM, &n));
  TN_TRYP(onnx_axes(c, onnx_in(c, 3) ? 3 : -1, "axes", axes, MAX_NDIM, &m));
  for (int64_t i = 0; m < 0 && i < rank && i < MAX_NDIM; ++i) axes[i] = i;
  int64_t count = m < 0 ? rank : m;
  if (n != 2 * count)
    return onnx_fail(c, "pads: expected %lld numbers for the shape, got %lld",
                     (long long)(2 * count), (long long)n);
  bool plain = m < 0 && strcmp(how, "wrap") != 0;
  for (int64_t i = 0; plain && i < n; ++i) plain = pads[i] >= 0 && pads[i] <= INT32_MAX;
  if (plain) return pad_all(c, pads, rank, how, value);
  const tn_arr *shape = padded_extents(c, pads, axes, count);
  return shape ? onnx_pad_with(c, shape, how, value) : NULL;
}

/* The k largest or smallest elements and where they are. The operator topk takes k = 0 for all
   elements, ONNX for none. */
static void *top_k(onnx_ctx *c) {
  int64_t k = onnx_int(c, "k", 1), axis = onnx_int(c, "axis", -1), rank = onnx_rank(c, 0), n = 1,
          extent;
  if (axis < -rank || axis >= rank)
    return onnx_fail(c, "axis %lld is out of range", (long long)axis);
  if (axis < 0) axis += rank;
  if (c->opset >= 10 && onnx_runs(c, 1)) {
    if (!onnx_is_stated(c)) return onnx_open_top_k(c, axis);
    const tn_arr *shape = onnx_expected(c, 1, "k");
    if (!shape) return NULL;
    if (shape->len != rank) return onnx_fail(c, "the model declares another rank of the result");
    k = onnx_stated_extent(shape, axis);
  } else if (c->opset >= 10) TN_TRYP(onnx_values(c, 1, "k", &k, 1, &n));
  if (n != 1 || k < 0 || (relay_known_int(onnx_in_type(c, 0)->shape, axis, &extent) && k > extent))
    return onnx_fail(c, "k: expected one number from 0 to the extent of axis %lld, got %lld",
                     (long long)axis, (long long)k);
  if (k == 0) {
    void *none = onnx_part(onnx_in(c, 0), axis, 0, 0);
    return none ? relay_tuple(tn_arr_of(2, none, onnx_cast(none, TN_I64))) : NULL;
  }
  void *a = relay_attrs("topk", 4, "k", tn_any_int(k), "axis", tn_any_int(axis), "is_ascend",
                        tn_any_bool(!onnx_int(c, "largest", 1)), "dtype", tn_any_dtype(TN_I64));
  return a ? relay_call("topk", a, 1, onnx_in(c, 0)) : NULL;
}

/* The number of classes: input 1, or what the model states of the result. */
static int read_depth(onnx_ctx *c, int64_t axis, int64_t *depth) {
  int64_t n;
  const tn_TensorType *t = onnx_in_type(c, 1);
  if (onnx_runs(c, 1)) {
    const tn_arr *shape;
    TN_GET(shape, onnx_expected(c, 1, "depth"));
    *depth = onnx_stated_extent(shape, axis < 0 ? axis + shape->len : axis);
    return 0;
  }
  double v;
  if (t && !ir_is_integral(t->dtype) && relay_as_scalar(onnx_in(c, 1), &v) && v >= 0 && v < 1e9)
    return *depth = (int64_t)v, 0;
  return onnx_values(c, 1, "depth", depth, 1, &n);
}

/* As many classes as a number that is computed at run time. */
static void *open_one_hot(onnx_ctx *c, int64_t axis) {
  void *depth = onnx_reshape(onnx_cast(onnx_in(c, 1), TN_I64), NULL, 0),
       *index = onnx_cast(onnx_in(c, 0), TN_I64), *zero = relay_const_int(TN_I64, 0);
  index = onnx_where(onnx_binary("less", index, zero), onnx_binary("add", index, depth), index);
  void *off = onnx_take(onnx_in(c, 2), relay_const_int(TN_I32, 0), 0),
       *on = onnx_take(onnx_in(c, 2), relay_const_int(TN_I32, 1), 0);
  void *a = relay_attrs("dyn.one_hot", 2, "axis", tn_any_int(axis), "dtype",
                        tn_any_dtype(onnx_in_type(c, 2)->dtype));
  return a && on && off && depth ? relay_call("dyn.one_hot", a, 4, index, on, off, depth) : NULL;
}

/* values holds what stands for off and on; negative indices count from the end. */
static void *one_hot(onnx_ctx *c) {
  const tn_TensorType *i = onnx_in_type(c, 0), *v = onnx_in_type(c, 2);
  int64_t depth, axis = onnx_int(c, "axis", -1);
  if (onnx_runs(c, 1) && v && !(onnx_is_stated(c) && onnx_declared_shape(c, 0)))
    return open_one_hot(c, axis);
  TN_TRYP(read_depth(c, axis, &depth));
  if (!i || !v || depth < 1 || depth > INT32_MAX)
    return onnx_fail(c, "depth: the size %lld is too large, or not positive", (long long)depth);
  void *index = onnx_cast(onnx_in(c, 0), TN_I64), *zero = relay_const_int(TN_I64, 0),
       *extent = relay_const_int(TN_I64, depth);
  index = onnx_where(onnx_binary("less", index, zero), onnx_binary("add", index, extent), index);
  void *off = onnx_take(onnx_in(c, 2), relay_const_int(TN_I32, 0), 0),
       *on = onnx_take(onnx_in(c, 2), relay_const_int(TN_I32, 1), 0);
  void *a = relay_attrs("one_hot", 3, "depth", tn_any_int(depth), "axis", tn_any_int(axis), "dtype",
                        tn_any_dtype(v->dtype));
  return a && on && off ? relay_call("one_hot", a, 3, index, on, off) : NULL;
}

static const onnx_row rows[] = {
    {"Reshape", reshape, 1, 2},
    {"Transpose", transpose, 1, 1},
    {"Concat", concat, 1, -1},
    {"Split", split, 1, 2},
    {"Squeeze", squeeze, 1, 2},
    {"Unsqueeze", unsqueeze, 1, 2},
    {"Slice", slice, 1, 5},
    {"Gather", gather, 2, 2},
    {"GatherElements", gather_elements, 2, 2},
    {"Shape", shape_of, 1, 1},
    {"Size", size_of, 1, 1},
    {"Cast", cast, 1, 1},
    {"BitCast", cast, 1, 1},
    {"Constant", constant, 0, 0},
    {"ConstantOfShape", constant_of_shape, 1, 1},
    {"Expand", expand, 2, 2},
    {"Tile", tile, 2, 2},
    {"Range", range, 3, 3},
    {"Pad", pad, 1, 4},
    {"TopK", top_k, 1, 2},
    {"OneHot", one_hot, 3, 3},
};
const onnx_table onnx_shape = {rows, TN_COUNT(rows), ""};
