/* Gradients of operators that reduce and move elements (gradients.h). */
#include "ops/gradients.h"

#include <string.h>

#include "base/error.h"
#include "ops/ops.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"

/* ---- small calls ---- */

void *ops_call_ints(const char *op, void *x, const char *attr, const int64_t *values, int64_t n) {
  if (!x) return NULL;
  void *attrs = relay_attrs(op, 1, attr, tn_any_obj(relay_ints(values, n)));
  return attrs ? relay_call(op, attrs, 1, x) : NULL;
}

void *ops_sum_axis(void *x, int64_t axis) {
  tn_arr *axes = relay_ints(&axis, 1);
  void *attrs =
      axes ? relay_attrs("sum", 2, "axis", tn_any_obj(axes), "keepdims", tn_any_bool(true)) : NULL;
  return x && attrs ? relay_call("sum", attrs, 1, x) : NULL;
}

static void *with_axis(const char *op, void *x, int64_t axis) {
  if (!x) return NULL;
  void *attrs = relay_attrs(op, 1, "axis", tn_any_int(axis));
  return attrs ? relay_call(op, attrs, 1, x) : NULL;
}

/* Extents that are known: how many, or an error that says which operator wants them. */
static int known_shape(const relay_grad *g, int64_t i, int64_t *dims) {
  int n = relay_static_shape(relay_grad_type(g, i), dims, OPS_MAX_NDIM);
  TN_CHECK(n >= 0, ValueError, g->call->span, "gradient of %s: extents must be known",
           relay_called_op(g->call));
  return n;
}

static void *call_with(const relay_grad *g, void *x, const void *attrs) {
  return x ? relay_call_new(g->call->op, tn_arr_of(1, x), (tn_Attrs *)(uintptr_t)attrs) : NULL;
}

/* ---- reductions ---- */

typedef struct {
  bool reduced[OPS_MAX_NDIM], keepdims;
  int64_t ndim;
} axes;

static int read_axes(const relay_grad *g, axes *a) {
  const void *attrs = g->call->attrs;
  a->ndim = relay_grad_type(g, 0)->shape->len;
  a->keepdims = relay_attr_int(attrs, "keepdims", 0) != 0;
  int64_t bad;
  TN_ICHECK(ops_find_axes(relay_attr_obj(attrs, "axis"), relay_attr_int(attrs, "exclude", 0) != 0,
                          a->ndim, a->reduced, &bad));
  return 0;
}

/* What a result and its adjoint are for each element. */
static void *spread(const relay_grad *g, const axes *a, void *e) {
  return relay_unreduce(e, a->reduced, a->ndim, a->keepdims, relay_grad_arg(g, 0));
}

/* How many elements make one of the result, in the type of the data; -1: an error. */
static void *count(const relay_grad *g, const axes *a, int64_t less) {
  int64_t dims[OPS_MAX_NDIM], n = 1;
  if (known_shape(g, 0, dims) < 0) return NULL;
  for (int64_t i = 0; i < a->ndim; ++i)
    if (a->reduced[i]) n *= dims[i];
  return relay_const_float(relay_grad_type(g, 0)->dtype, (double)(n - less));
}

/* The elements that are the largest share its adjoint. */
static void *of_extreme(const relay_grad *g, const axes *a, void *d) {
  void *x = relay_grad_arg(g, 0), *best = spread(g, a, g->y);
  void *is = relay_cast(relay_binary("equal", x, best), relay_grad_type(g, 0)->dtype);
  void *attrs = (void *)(uintptr_t)g->call->attrs;
  void *ties = is ? relay_call("sum", attrs, 1, is) : NULL;
  return relay_binary("divide", relay_binary("multiply", d, is), spread(g, a, ties));
}

/* For each element the product of the others. Where one of these is 0 the product says nothing
   about them: it is taken without the zeros, and counts only for elements that are the one 0. */
static void *of_product(const relay_grad *g, const axes *a, void *d) {
  void *x = relay_grad_arg(g, 0), *attrs = (void *)(uintptr_t)g->call->attrs;
  tn_dtype t = relay_grad_type(g, 0)->dtype;
  void *none = relay_const_float(t, 0), *one = relay_const_float(t, 1);
  void *is = relay_cast(relay_binary("equal", x, none), t);
  void *filled = relay_binary("add", x, is);
  void *zeros = is ? relay_call("sum", attrs, 1, is) : NULL;
  void *rest = filled ? relay_call("prod", attrs, 1, filled) : NULL;
  /* zeros among the others are none */
  void *others = relay_binary("subtract", spread(g, a, zeros), is);
  void *counts = relay_cast(relay_binary("less", others, one), t);
  void *all = relay_binary("divide", spread(g, a, rest), filled);
  return relay_binary("multiply", d, relay_binary("multiply", counts, all));
}

tn_arr *ops_grad_reduce(const relay_grad *g) {
  const char *op = relay_called_op(g->call);
  axes a;
  void *d;
  TN_TRYP(read_axes(g, &a));
  TN_GETP(d, spread(g, &a, g->d));
  if (strcmp(op, "mean") == 0) d = relay_binary("divide", d, count(g, &a, 0));
  else if (strcmp(op, "prod") == 0) d = of_product(g, &a, d);
  else if (strcmp(op, "sum") != 0) d = of_extreme(g, &a, d);
  return d ? tn_arr_of(1, d) : NULL;
}

/* Of the data and of its mean, which is given: 2 (x - mean) / n and the other way around. */
tn_arr *ops_grad_variance(const relay_grad *g) {
  axes a;
  void *d, *x = relay_grad_arg(g, 0), *mean = relay_grad_arg(g, 1);
  TN_TRYP(read_axes(g, &a));
  void *n = count(g, &a, relay_attr_int(g->call->attrs, "unbiased", 0) != 0);
  void *away = relay_binary("subtract", x, mean);
  TN_GETP(d, spread(g, &a, g->d));
  d = relay_binary("multiply", relay_binary("divide", relay_binary("add", d, d), n), away);
  void *of_mean = d ? relay_call("negative", NULL, 1, d) : NULL;
  return of_mean ? tn_arr_of(2, d, relay_binary("collapse_sum_like", of_mean, mean)) : NULL;
}

/* ---- axes ---- */

tn_arr *ops_grad_transpose(const relay_grad *g) {
  const tn_arr *order = relay_attr_obj(g->call->attrs, "axes");
  int64_t n = relay_grad_type(g, 0)->shape->len, back[OPS_MAX_NDIM];
  TN_ICHECKP(n <= OPS_MAX_NDIM);
  for (int64_t i = 0; i < n; ++i) {
    int64_t from = order ? relay_listed(order, i) : n - 1 - i;
    back[from < 0 ? from + n : from] = i;
  }
  void *d = ops_call_ints("transpose", g->d, "axes", back, n);
  return d ? tn_arr_of(1, d) : NULL;
}

tn_arr *ops_grad_reverse(const relay_grad *g) {
  void *d = call_with(g, g->d, g->call->attrs);
  return d ? tn_arr_of(1, d) : NULL;
}

/* ---- parts ---- */

tn_arr *ops_grad_concatenate(const relay_grad *g) {
  const tn_TupleType *t = TN_AS(TupleType, relay_type_of(relay_grad_arg(g, 0)));
  int64_t axis = relay_attr_int(g->call->attrs, "axis", 0), at = 0, extent;
  TN_VEC(ends);
  for (int64_t i = 0; i < t->fields->len; ++i) {
    const tn_TensorType *field = (const tn_TensorType *)tn_arr_obj(t->fields, i);
    if (i) TN_TRYP(tn_vec_push_obj(&ends, tir_i32((int32_t)at)));
    TN_CHECKP(tir_as_int((tn_obj *)relay_dim(field, axis), &extent), ValueError, g->call->span,
              "gradient of concatenate: extents must be known");
    at += extent;
  }
  if (t->fields->len == 1) return tn_arr_of(1, relay_tuple(tn_arr_of(1, g->d)));
  void *attrs = relay_attrs("split", 2, "indices_or_sections", tn_any_obj(tn_arr_from(&ends)),
                            "axis", tn_any_int(axis));
  void *parts = attrs ? relay_call("split", attrs, 1, g->d) : NULL;
  return parts ? tn_arr_of(1, parts) : NULL;
}

tn_arr *ops_grad_split(const relay_grad *g) {
  void *d = with_axis("concatenate", g->d, relay_attr_int(g->call->attrs, "axis", 0));
  return d ? tn_arr_of(1, d) : NULL;
}

tn_arr *ops_grad_stack(const relay_grad *g) {
  const tn_TupleType *t = TN_AS(TupleType, relay_type_of(relay_grad_arg(g, 0)));
  const tn_TensorType *out = relay_tensor_type_of_expr(g->call);
  int64_t axis = relay_attr_int(g->call->attrs, "axis", 0), n = t->fields->len;
  if (axis < 0) axis += out->shape->len;
  TN_VEC(v);
  for (int64_t i = 0; i < n; ++i) {
    void *at = relay_const_int(TN_I32, i);
    void *attrs = relay_attrs("take", 1, "axis", tn_any_int(axis));
    void *part = at && attrs ? relay_call("take", attrs, 2, g->d, at) : NULL;
    if (!part) return NULL;
    TN_TRYP(tn_vec_push_obj(&v, part));
  }
  void *all = relay_tuple(tn_arr_from(&v));
  return all ? tn_arr_of(1, all) : NULL;
}

static void *pad(void *x, tn_dtype t, const int64_t *before, const int64_t *after, int64_t n) {
  TN_VEC(pairs);
  for (int64_t i = 0; i < n; ++i) {
    tn_arr *pair;
    int64_t both[] = {before[i], after[i]};
    TN_GETP(pair, relay_ints(both, 2));
    TN_TRYP(tn_vec_push_obj(&pairs, pair));
  }
  void *attrs = relay_attrs("nn.pad", 1, "pad_width", tn_any_obj(tn_arr_from(&pairs)));
  void *zero = relay_const_float(t, 0);
  return x && attrs && zero ? relay_call("nn.pad", attrs, 2, x, zero) : NULL;
}

/* Where the elements of an axis were taken from: begin, begin + step, ... */
static void place_of(const void *attrs, int64_t k, int64_t extent, int64_t *begin, int64_t *step) {
  const tn_arr *begins = relay_attr_obj(attrs, "begin"),
               *strides = relay_attr_obj(attrs, "strides");
  bool by_size = strcmp(relay_attr_str(attrs, "slice_mode"), "size") == 0;
  *step = by_size || !strides || k >= strides->len ? 1 : relay_listed(strides, k);
  bool given = begins && k < begins->len && tn_arr_obj(begins, k);
  *begin = given ? relay_listed(begins, k) : *step < 0 ? extent - 1 : 0;
  if (*begin < 0) *begin += extent;
  if (*begin < 0) *begin = *step < 0 ? -1 : 0;
  if (*begin >= extent) *begin = *step < 0 ? extent - 1 : extent;
}

tn_arr *ops_grad_strided_slice(const relay_grad *g) {
  int64_t dims[OPS_MAX_NDIM], out[OPS_MAX_NDIM], before[OPS_MAX_NDIM] = {0},
                                                 after[OPS_MAX_NDIM] = {0}, step[OPS_MAX_NDIM];
  const void *attrs = g->call->attrs;
  const tn_arr *axis = relay_attr_obj(attrs, "axes");
  int n = known_shape(g, 0, dims);
  void *d = g->d;
  if (n < 0 || relay_static_shape(relay_tensor_type_of_expr(g->call), out, n) != n) return NULL;
  for (int i = 0; i < n; ++i) step[i] = 1;
  for (int64_t k = 0; k < ops_sliced_axes(attrs); ++k) {
    int64_t i = axis ? relay_listed(axis, k) : k;
    if (i < 0) i += n;
    place_of(attrs, k, dims[i], &before[i], &step[i]);
    if (step[i] > 0) continue;
    step[i] = -step[i];
    before[i] -= (out[i] - 1) * step[i];
    d = with_axis("reverse", d, i);
  }
  for (int i = 0; i < n; ++i) {
    if (out[i] == 0) return tn_arr_of(1, NULL); /* nothing was taken */
    after[i] = dims[i] - before[i] - ((out[i] - 1) * step[i] + 1);
  }
  d = pad(ops_call_ints("nn.dilate", d, "strides", step, n), relay_grad_type(g, 0)->dtype, before,
          after, n);
  return d ? tn_arr_of(1, d) : NULL;
}

tn_arr *ops_grad_pad(const relay_grad *g) {
  const tn_arr *width = relay_attr_obj(g->call->attrs, "pad_width");
  int64_t dims[OPS_MAX_NDIM], begin[OPS_MAX_NDIM], end[OPS_MAX_NDIM];
  int n = known_shape(g, 0, dims);
  bool constant = strcmp(relay_attr_str(g->call->attrs, "pad_mode"), "constant") == 0;
  TN_CHECKP(constant, OpNotImplemented, g->call->span,
            "gradient of nn.pad: only borders of one value have one");
  for (int i = 0; i < n; ++i) {
    begin[i] = relay_listed((const tn_arr *)tn_arr_obj(width, i), 0);
    TN_CHECKP(begin[i] >= 0 && relay_listed((const tn_arr *)tn_arr_obj(width, i), 1) >= 0,
              OpNotImplemented, g->call->span, "gradient of nn.pad: a border is negative");
    end[i] = begin[i] + dims[i];
  }
  if (n < 0) return NULL;
  void *attrs = relay_attrs("strided_slice", 2, "begin", tn_any_obj(relay_ints(begin, n)), "end",
                            tn_any_obj(relay_ints(end, n)));
  void *d = attrs ? relay_call("strided_slice", attrs, 1, g->d) : NULL;
  return d ? tn_arr_of(2, d, NULL) : NULL;
}

/* ---- indices ---- */

/* Adjoints added up where their elements were taken from. @param at coordinates in axis 0 */
static void *scattered(void *zeros, void *at, void *d) {
  void *attrs = relay_attrs("scatter_nd", 1, "mode", tn_any_cstr("add"));
  return zeros && at && d && attrs ? relay_call("scatter_nd", attrs, 3, zeros, at, d) : NULL;
}

tn_arr *ops_grad_gather_nd(const relay_grad *g) {
  TN_CHECKP(relay_attr_int(g->call->attrs, "batch_dims", 0) == 0, OpNotImplemented, g->call->span,
            "gradient of gather_nd: with batch_dims there is none");
  void *zeros = relay_call("zeros_like", NULL, 1, relay_grad_arg(g, 0));
  void *d = scattered(zeros, relay_grad_arg(g, 1), g->d);
  return d ? tn_arr_of(2, d, NULL) : NULL;
}

/* Indices as the mode makes them valid, with an axis of extent 1 before all. */
static void *valid_indices(const relay_grad *g, int64_t extent) {
  const char *mode = relay_attr_str(g->call->attrs, "mode");
  void *at = relay_grad_arg(g, 1), *attrs = NULL;
  tn_dtype t = relay_grad_type(g, 1)->dtype;
  if (t.bits < 32) { /* the extent may not fit */
    t = TN_I32;
    at = relay_cast(at, t);
  }
  if (strcmp(mode, "wrap") == 0) at = relay_binary("floor_mod", at, relay_const_int(t, extent));
  else if (strcmp(mode, "clip") == 0) {
    TN_GETP(attrs, relay_attrs("clip", 2, "a_min", tn_any_float(0), "a_max",
                               tn_any_float((double)(extent - 1))));
    at = relay_call("clip", attrs, 1, at);
  }
  return with_axis("expand_dims", at, 0);
}

/* The indexed axis goes to the front, where scatter_nd has its coordinates. */
tn_arr *ops_grad_take(const relay_grad *g) {
  const tn_expr *given = relay_attr_obj(g->call->attrs, "axis");
  int64_t dims[OPS_MAX_NDIM], to[2 * OPS_MAX_NDIM], from[OPS_MAX_NDIM], axis = 0, all = 1;
  int n = known_shape(g, 0, dims), k = (int)relay_grad_type(g, 1)->shape->len;
  void *x = relay_grad_arg(g, 0), *d = g->d, *zeros;
  TN_CHECKP(relay_attr_int(g->call->attrs, "batch_dims", 0) == 0, OpNotImplemented, g->call->span,
            "gradient of take: with batch_dims there is none");
  if (n < 0 || k > OPS_MAX_NDIM) return NULL;
  bool flat = !given || !tir_as_int((const tn_obj *)given, &axis);
  if (axis < 0) axis += n;
  for (int i = 0; i < n; ++i) all *= dims[i];
  int64_t minus = -1;
  if (flat) {
    zeros = relay_call("zeros_like", NULL, 1, ops_call_ints("reshape", x, "newshape", &minus, 1));
    d = scattered(zeros, valid_indices(g, all), d);
    d = relay_binary("reshape_like", d, x);
    return d ? tn_arr_of(2, d, NULL) : NULL;
  }
  for (int i = 0; i < k; ++i) to[i] = axis + i;
  for (int i = 0; i < n - 1; ++i) to[k + i] = i < axis ? i : i + k;
  from[0] = axis;
  for (int i = 1; i < n; ++i) from[i] = i - 1 < axis ? i - 1 : i;
  zeros = ops_call_ints("transpose", relay_call("zeros_like", NULL, 1, x), "axes", from, n);
  d = scattered(zeros, valid_indices(g, dims[axis]),
                ops_call_ints("transpose", d, "axes", to, k + n - 1));
  for (int i = 0; i < n; ++i) to[from[i]] = i;
  d = ops_call_ints("transpose", d, "axes", to, n);
  return d ? tn_arr_of(2, d, NULL) : NULL;
}

/* ---- repetitions ---- */

/* Sums the axes of repetitions of d, which has axes [outer, extent, inner] for each of the result.
 */
static tn_arr *sum_repeats(const relay_grad *g, const int64_t *shape, const int64_t *axis,
                           int64_t n, int64_t naxis) {
  void *d = ops_call_ints("reshape", g->d, "newshape", shape, n);
  d = ops_call_ints("sum", d, "axis", axis, naxis);
  d = relay_binary("reshape_like", d, relay_grad_arg(g, 0));
  return d ? tn_arr_of(1, d) : NULL;
}

tn_arr *ops_grad_tile(const relay_grad *g) {
  const tn_arr *reps = relay_attr_obj(g->call->attrs, "reps");
  int64_t dims[OPS_MAX_NDIM], shape[2 * OPS_MAX_NDIM], axis[OPS_MAX_NDIM];
  int n = known_shape(g, 0, dims);
  int64_t m = reps->len > n ? reps->len : n;
  if (n < 0 || m > OPS_MAX_NDIM) return NULL;
  for (int64_t i = 0; i < m; ++i) {
    shape[2 * i] = i < m - reps->len ? 1 : relay_listed(reps, i - (m - reps->len));
    shape[2 * i + 1] = i < m - n ? 1 : dims[i - (m - n)];
    axis[i] = 2 * i;
  }
  return sum_repeats(g, shape, axis, 2 * m, m);
}

tn_arr *ops_grad_repeat(const relay_grad *g) {
  int64_t dims[OPS_MAX_NDIM], shape[OPS_MAX_NDIM + 1];
  int64_t axis = relay_attr_int(g->call->attrs, "axis", 0);
  int n = known_shape(g, 0, dims);
  if (n < 0 || n == OPS_MAX_NDIM) return NULL;
  if (axis < 0) axis += n;
  for (int64_t i = 0; i <= n; ++i)
    shape[i] = i <= axis       ? dims[i]
               : i == axis + 1 ? relay_attr_int(g->call->attrs, "repeats", 1)
                               : dims[i - 1];
  ++axis;
  return sum_repeats(g, shape, &axis, n + 1, 1);
}
