/* Operators element by element, reductions and matrix products. */
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"

enum { MAX_NDIM = 32 };

/* ONNX's name and Relay's. */
static const struct {
  const char *onnx, *relay;
} names[] = {
    {"Abs", "abs"},
    {"Acos", "acos"},
    {"Acosh", "acosh"},
    {"Asin", "asin"},
    {"Asinh", "asinh"},
    {"Atan", "atan"},
    {"Atanh", "atanh"},
    {"Ceil", "ceil"},
    {"Cos", "cos"},
    {"Cosh", "cosh"},
    {"Erf", "erf"},
    {"Exp", "exp"},
    {"Floor", "floor"},
    {"IsNaN", "isnan"},
    {"Log", "log"},
    {"Neg", "negative"},
    {"Not", "logical_not"},
    {"Relu", "nn.relu"},
    {"Sigmoid", "sigmoid"},
    {"Sign", "sign"},
    {"Sin", "sin"},
    {"Sinh", "sinh"},
    {"Sqrt", "sqrt"},
    {"Tan", "tan"},
    {"Tanh", "tanh"},
    {"Identity", "copy"},
    {"Add", "add"},
    {"Sub", "subtract"},
    {"Mul", "multiply"},
    {"And", "logical_and"},
    {"Or", "logical_or"},
    {"Xor", "logical_xor"},
    {"Equal", "equal"},
    {"Less", "less"},
    {"Greater", "greater"},
    {"LessOrEqual", "less_equal"},
    {"GreaterOrEqual", "greater_equal"},
    {"Max", "maximum"},
    {"Min", "minimum"},
    {"Sum", "add"},
    {"ReduceSum", "sum"},
    {"ReduceMean", "mean"},
    {"ReduceMax", "max"},
    {"ReduceMin", "min"},
    {"ReduceProd", "prod"},
    {"BitwiseNot", "bitwise_not"},
    {"BitwiseAnd", "bitwise_and"},
    {"BitwiseOr", "bitwise_or"},
    {"BitwiseXor", "bitwise_xor"},
};

static const char *relay_name(const oc *c) {
  for (int i = 0; i < TN_COUNT(names); ++i)
    if (strcmp(names[i].onnx, c->node->op_type) == 0) return names[i].relay;
  return TN_RAISEP(InternalError, NULL, "no name for %s", c->node->op_type);
}

static void *unary(oc *c) {
  const char *op = relay_name(c);
  return op ? oc_unary(op, oc_in(c, 0)) : NULL;
}

/* Of a sequence too, which is a tuple: one result, not several. */
static void *same(oc *c) { return oc_results(tn_arr_of(1, oc_in(c, 0))); }

/* The second operand. Before operator set 7 the attribute `axis` says which axes of the first it
   has:

     Add(a: [2, 3, 4], b: [3], broadcast=1, axis=1)   =>  a + b[:, None] */
static void *second(const oc *c) {
  int64_t axis = oc_int(c, "axis", -1), rank = oc_rank(c, 0), own = oc_rank(c, 1);
  void *b = oc_in(c, 1);
  if (c->opset >= 7 || !oc_attr(c, "axis") || rank < 0 || own < 0) return b;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis + own > rank)
    return oc_fail(c, "axis %lld: an operand of %lld dimensions does not fit into one of %lld",
                   (long long)axis, (long long)own, (long long)rank);
  return axis + own < rank ? oc_expand_dims(b, own, rank - axis - own) : b;
}

static void *binary(oc *c) {
  const char *op = relay_name(c);
  void *b = op ? second(c) : NULL;
  return b ? oc_binary(op, oc_in(c, 0), b) : NULL;
}

static void *divide(oc *c) {
  void *b = second(c);
  return b ? oc_binary("divide", oc_in(c, 0), b) : NULL;
}

/* The exponent may be of another type; an integer to the power of a float is computed with float64.
 */
static void *power(oc *c) {
  void *e = second(c);
  const tn_TensorType *t = oc_type(c, 0), *u = oc_type(c, 1);
  if (e && t && u && ir_is_integral(t->dtype) && !ir_is_integral(u->dtype))
    return oc_cast(oc_binary("power", oc_cast(oc_in(c, 0), TN_F64), oc_cast(e, TN_F64)), t->dtype);
  if (e && t && u && !tn_dtype_eq(t->dtype, u->dtype)) {
    void *a = relay_attrs("cast", 1, "dtype", tn_any_dtype(t->dtype));
    e = a ? relay_call("cast", a, 1, e) : NULL;
  }
  return e ? oc_binary("power", oc_in(c, 0), e) : NULL;
}

/* The remainder with the sign of the divisor, also where one of them is 0 or infinite: the one of
   the division towards zero, and the divisor where the signs differ. */
static void *float_mod(oc *c) {
  void *b = oc_in(c, 1), *r = oc_binary("mod", oc_in(c, 0), b), *zero = oc_scalar(c, 0, 0);
  void *below = oc_binary("less", b, zero);
  void *differ = oc_binary("not_equal", oc_binary("less", r, zero), below);
  void *signed_zero = oc_where(below, oc_scalar(c, 0, -0.0), zero);
  void *other = oc_where(differ, oc_binary("add", r, b), r);
  return oc_where(oc_binary("equal", r, zero), signed_zero, other);
}

static void *mod(oc *c) {
  const tn_TensorType *t = oc_type(c, 0);
  if (t && t->dtype.code != kDLInt && t->dtype.code != kDLUInt && !oc_int(c, "fmod", 0))
    return float_mod(c);
  return oc_binary(oc_int(c, "fmod", 0) ? "mod" : "floor_mod", oc_in(c, 0), oc_in(c, 1));
}

/* One operator between all inputs. */
static void *variadic(oc *c) {
  const char *op = relay_name(c);
  void *e = oc_in(c, 0);
  for (int i = 1; op && e && i < c->nin; ++i) e = oc_binary(op, e, oc_in(c, i));
  return op ? e : NULL;
}

static void *mean(oc *c) {
  void *e = oc_in(c, 0);
  for (int i = 1; e && i < c->nin; ++i) e = oc_binary("add", e, oc_in(c, i));
  return oc_binary("divide", e, oc_scalar(c, 0, c->nin));
}

static void *reciprocal(oc *c) { return oc_binary("divide", oc_scalar(c, 0, 1), oc_in(c, 0)); }

static void *round_even(oc *c) {
  const tn_TensorType *t = oc_type(c, 0);
  return t ? oc_round_even(oc_in(c, 0), t->dtype) : oc_fail(c, "the input is not a tensor");
}

/* ---- activations ---- */

static void *leaky_relu(oc *c) {
  void *a = relay_attrs("nn.leaky_relu", 1, "alpha", tn_any_float(oc_float(c, "alpha", 0.01)));
  return a ? relay_call("nn.leaky_relu", a, 1, oc_in(c, 0)) : NULL;
}

static void *clip_to(void *x, double low, double high) {
  void *a = relay_attrs("clip", 2, "a_min", tn_any_float(low), "a_max", tn_any_float(high));
  return a ? relay_call("clip", a, 1, x) : NULL;
}

/* max(0, min(1, alpha * x + beta)) */
static void *hard_sigmoid(oc *c) {
  bool swish = strcmp(c->node->op_type, "HardSwish") == 0;
  double alpha = swish ? (double)(float)(1.0 / 6) : oc_float(c, "alpha", 0.2),
         beta = oc_float(c, "beta", 0.5);
  void *y = oc_binary("add", oc_binary("multiply", oc_in(c, 0), oc_scalar(c, 0, alpha)),
                      oc_scalar(c, 0, beta));
  y = clip_to(y, 0, 1);
  return swish ? oc_binary("multiply", oc_in(c, 0), y) : y;
}

/* x where it is positive, alpha * (exp(x) - 1) elsewhere, all times gamma */
static void *exponential_unit(oc *c) {
  bool selu = strcmp(c->node->op_type, "Selu") == 0;
  double alpha = oc_float(c, "alpha", selu ? 1.67326319217681884765625 : 1),
         gamma = selu ? oc_float(c, "gamma", 1.05070102214813232421875) : 1;
  void *x = oc_in(c, 0), *zero = oc_scalar(c, 0, 0);
  void *low = oc_binary(
      "multiply", oc_scalar(c, 0, alpha),
      oc_binary("subtract", oc_unary("exp", oc_binary("minimum", x, zero)), oc_scalar(c, 0, 1)));
  void *y = oc_binary("add", oc_unary("nn.relu", x), low);
  return selu ? oc_binary("multiply", y, oc_scalar(c, 0, gamma)) : y;
}

static void *softplus(oc *c) {
  void *x = oc_in(c, 0), *magnitude = oc_unary("negative", oc_unary("abs", x));
  void *tail = oc_unary("log", oc_binary("add", oc_unary("exp", magnitude), oc_scalar(c, 0, 1)));
  return oc_binary("add", oc_unary("nn.relu", x), tail);
}

void *oc_gelu(const oc *c, void *x, bool by_tanh) {
  void *inner;
  if (!x) return NULL;
  if (by_tanh) {
    void *cube = oc_binary("multiply", oc_binary("multiply", x, x),
                           oc_binary("multiply", x, oc_scalar(c, 0, 0.044715)));
    inner = oc_unary("tanh", oc_binary("multiply", oc_binary("add", x, cube),
                                       oc_scalar(c, 0, 0.7978845608028654)));
  } else inner = oc_unary("erf", oc_binary("multiply", x, oc_scalar(c, 0, 0.7071067811865476)));
  return oc_binary("multiply", oc_binary("multiply", x, oc_scalar(c, 0, 0.5)),
                   oc_binary("add", inner, oc_scalar(c, 0, 1)));
}

static void *gelu(oc *c) {
  char text[16];
  const char *how = oc_text(c, "approximate", "none", text, sizeof text);
  return oc_gelu(c, oc_in(c, 0), strcmp(how, "tanh") == 0);
}

static void *softsign(oc *c) {
  return oc_binary("divide", oc_in(c, 0),
                   oc_binary("add", oc_unary("abs", oc_in(c, 0)), oc_scalar(c, 0, 1)));
}

/* Before operator set 7 a vector of slopes is one for each channel. */
static void *prelu(oc *c) {
  void *x = oc_in(c, 0), *zero = oc_scalar(c, 0, 0), *slope = oc_in(c, 1);
  int64_t after = oc_rank(c, 0) - 2;
  if (c->opset < 7 && oc_rank(c, 1) == 1 && after > 0) {
    void *a =
        relay_attrs("expand_dims", 2, "axis", tn_any_int(1), "num_newaxis", tn_any_int(after));
    slope = a ? relay_call("expand_dims", a, 1, slope) : NULL;
  }
  return oc_binary("add", oc_unary("nn.relu", x),
                   oc_binary("multiply", oc_binary("minimum", x, zero), slope));
}

/* Limits are inputs since operator set 11. */
static void *clip(oc *c) {
  void *x = oc_in(c, 0);
  if (c->opset < 11)
    return clip_to(x, oc_float(c, "min", -3.4028234663852886e38),
                   oc_float(c, "max", 3.4028234663852886e38));
  if (oc_in(c, 1)) x = oc_binary("maximum", x, oc_in(c, 1));
  if (x && oc_in(c, 2)) x = oc_binary("minimum", x, oc_in(c, 2));
  return x;
}

static void *where(oc *c) {
  return relay_call("where", NULL, 3, oc_in(c, 0), oc_in(c, 1), oc_in(c, 2));
}

/* Before operator set 13 all axes from `axis` on are one. */
static void *softmax(oc *c) {
  const char *op = strcmp(c->node->op_type, "Softmax") == 0 ? "nn.softmax" : "nn.log_softmax";
  int64_t rank = oc_rank(c, 0), axis = oc_int(c, "axis", c->opset >= 13 ? -1 : 1);
  if (axis < 0) axis += rank;
  if (rank < 0 || axis < 0 || axis >= rank + (rank == 0))
    return oc_fail(c, "axis %lld is out of range", (long long)axis);
  void *x = oc_in(c, 0);
  bool flat = c->opset < 13 && axis != rank - 1;
  const tn_TensorType *t = oc_type(c, 0);
  if (flat) x = oc_flatten(x, t, axis);
  void *a = relay_attrs(op, 1, "axis", tn_any_int(flat ? 1 : axis));
  x = a ? relay_call(op, a, 1, x) : NULL;
  return flat ? oc_reshape_like(x, oc_in(c, 0), t) : x;
}

/* ---- reductions ---- */

/* Axes in input 1, of a number that may be zero, or in an attribute: *n = 0 for none. */
int oc_reduced_axes(oc *c, int64_t *axes, int64_t *n) {
  const tn_TensorType *t = oc_type(c, 1);
  *n = 0;
  if (t && t->shape->len == 1 && tir_is_zero(relay_dim(t, 0))) return 0;
  TN_TRY(oc_axes(c, 1, "axes", axes, MAX_NDIM, n));
  return *n = *n < 0 ? 0 : *n, 0;
}

bool oc_axes_run(const oc *c) {
  const tn_TensorType *t = oc_type(c, 1);
  return oc_runs(c, 1) && !(t && t->shape->len == 1 && tir_is_zero(relay_dim(t, 0)));
}

static void *reduce_with(oc *c, const char *op, void *x) {
  int64_t axes[MAX_NDIM], n;
  bool keepdims = oc_int(c, "keepdims", 1) != 0;
  if (oc_axes_run(c)) return x ? oc_reduce_at_run_time(c, op, x, keepdims) : NULL;
  TN_TRYP(oc_reduced_axes(c, axes, &n));
  return n == 0 && oc_int(c, "noop_with_empty_axes", 0) ? x : oc_reduce(op, x, axes, n, keepdims);
}

static void *reduce(oc *c) {
  const char *op = relay_name(c);
  const tn_TensorType *t = oc_type(c, 0);
  bool flags = t && ir_is_bool(t->dtype); /* the greatest is whether there is one */
  if (flags && op) op = strcmp(op, "max") == 0 ? "any" : strcmp(op, "min") == 0 ? "all" : op;
  return op ? reduce_with(c, op, oc_in(c, 0)) : NULL;
}

static void *reduce_l1(oc *c) { return reduce_with(c, "sum", oc_unary("abs", oc_in(c, 0))); }
/* A function of floats of what may be integers. */
static void *through_floats(oc *c, const char *op, void *e) {
  const tn_TensorType *t = oc_type(c, 0);
  if (!e || !t || !ir_is_integral(t->dtype)) return e ? oc_unary(op, e) : NULL;
  void *y = oc_unary(op, oc_cast(e, TN_F64));
  return y ? oc_cast(y, t->dtype) : NULL;
}

static void *reduce_square(oc *c) {
  void *y = reduce_with(c, "sum", oc_binary("multiply", oc_in(c, 0), oc_in(c, 0)));
  return strcmp(c->node->op_type, "ReduceL2") == 0 ? through_floats(c, "sqrt", y) : y;
}
static void *reduce_log_sum(oc *c) {
  return through_floats(c, "log", reduce_with(c, "sum", oc_in(c, 0)));
}

static void *argument(oc *c) {
  const char *op = strcmp(c->node->op_type, "ArgMax") == 0 ? "argmax" : "argmin";
  int64_t axis = oc_int(c, "axis", 0);
  void *a = relay_attrs(op, 3, "axis", tn_any_obj(relay_ints(&axis, 1)), "keepdims",
                        tn_any_bool(oc_int(c, "keepdims", 1) != 0), "select_last_index",
                        tn_any_bool(oc_int(c, "select_last_index", 0) != 0));
  void *y = a ? relay_call(op, a, 1, oc_in(c, 0)) : NULL;
  a = relay_attrs("cast", 1, "dtype", tn_any_dtype(TN_I64));
  return a && y ? relay_call("cast", a, 1, y) : NULL;
}

/* ---- products ---- */

static void *flip(void *x) { return oc_transpose(x, (const int64_t[]){1, 0}, 2); }

static void *gemm(oc *c) {
  void *a = oc_in(c, 0), *b = oc_in(c, 1), *bias = oc_in(c, 2);
  double alpha = oc_float(c, "alpha", 1), beta = oc_float(c, "beta", 1);
  if (oc_rank(c, 0) != 2 || oc_rank(c, 1) != 2)
    return oc_fail(c, "expected matrices, got shapes of %lld and %lld dimensions",
                   (long long)oc_rank(c, 0), (long long)oc_rank(c, 1));
  if (oc_int(c, "transA", 0)) a = flip(a);
  if (!oc_int(c, "transB", 0)) b = flip(b);
  void *y = relay_call("nn.dense", NULL, 2, a, b);
  if (alpha != 1) y = oc_binary("multiply", y, oc_scalar(c, 0, alpha));
  if (bias && beta != 1) bias = oc_binary("multiply", bias, oc_scalar(c, 0, beta));
  return bias && y ? oc_binary("add", y, bias) : y;
}

/* Extents of a product: those of the batch, which broadcast, then rows and columns. */
typedef struct {
  int64_t n, dims[MAX_NDIM];
} extents;

/* -1 where it is not known. */
static int64_t extent(const tn_TensorType *t, int64_t i) {
  int64_t v;
  if (i < 0) return 1;
  return tir_as_int(tn_arr_obj(t->shape, i), &v) ? v : -1;
}

static int broadcast_batch(const oc *c, const tn_TensorType *s, const tn_TensorType *t,
                           extents *out) {
  int64_t a = s->shape->len - 2, b = t->shape->len - 2;
  out->n = a > b ? a : b;
  for (int64_t i = 0; i < out->n; ++i) {
    int64_t x = extent(s, i - (out->n - a)), y = extent(t, i - (out->n - b));
    if (x != y && x != 1 && y != 1 && x >= 0 && y >= 0)
      return oc_fail(c, "the batch dimensions of the shapes do not broadcast"), -1;
    out->dims[i] = x == 1 || x < 0 ? y : x;
  }
  return 0;
}

/* A matrix for each of the batch, all of them along one axis. */
static void *as_batch(void *x, const tn_TensorType *t, const extents *e) {
  int64_t rows_ = extent(t, t->shape->len - 2), columns = extent(t, t->shape->len - 1);
  extents full = *e;
  bool same = t->shape->len == e->n + 2, known = rows_ >= 0 && columns >= 0;
  full.dims[full.n++] = rows_, full.dims[full.n++] = columns;
  for (int64_t i = 0; i < e->n; ++i) {
    same = same && extent(t, i) == e->dims[i];
    known = known && e->dims[i] >= 0;
  }
  if (!same && known) {
    void *a = relay_attrs("broadcast_to", 1, "shape", tn_any_obj(relay_ints(full.dims, full.n)));
    x = a ? relay_call("broadcast_to", a, 1, x) : NULL;
  } else if (!same) x = oc_expand_dims(x, 0, e->n + 2 - t->shape->len);
  /* -3 merges the first two axes, -2 keeps the others */
  for (int64_t i = e->n; i > 1; --i) x = oc_reshape(x, (int64_t[]){-3, -2}, 2);
  return x;
}

/* The axis of a batch made into its axes again, of which one may be open: -4 splits an axis. */
static void *split_batch(void *y, const extents *e) {
  for (int64_t i = 0; i + 1 < e->n; ++i) {
    int64_t dims[MAX_NDIM] = {0}, n = i, rest = 1;
    for (int64_t k = i + 1; k < e->n; ++k)
      if (e->dims[k] < 0 || __builtin_mul_overflow(rest, rest < 0 ? 1 : e->dims[k], &rest))
        rest = -1;
    dims[n++] = -4, dims[n++] = e->dims[i], dims[n++] = rest, dims[n++] = -2;
    y = oc_reshape(y, dims, n);
  }
  return y;
}

/* Several axes of the batch are dynamic: they are those of an operand. */
static void *split_open_batch(void *y, void *like, int64_t batch) {
  void *a = relay_attrs("shape_of", 1, "dtype", tn_any_dtype(TN_I64)), *own;
  void *b = relay_attrs("shape_of", 1, "dtype", tn_any_dtype(TN_I64)), *now;
  own = a && like ? oc_part(relay_call("shape_of", a, 1, like), 0, 0, batch) : NULL;
  now = b && y ? oc_part(relay_call("shape_of", b, 1, y), 0, 1, 3) : NULL;
  void *shape = own && now ? oc_concat(tn_arr_of(2, own, now), 0) : NULL;
  void *empty = relay_attrs("dyn.reshape", 1, "allowzero", tn_any_bool(true)); /* 0 is an extent */
  return shape && empty ? relay_call("dyn.reshape", empty, 2, y, shape) : NULL;
}

/* A matrix on the right is the weight of a dense layer. */
static void *product(const oc *c, void *a, const tn_TensorType *s, void *b,
                     const tn_TensorType *t) {
  int64_t open = 0;
  extents e;
  if (t->shape->len > 2) TN_TRYP(oc_meet_batches(&a, &s, &b, &t));
  void *y, *whole = a;
  TN_TRYP(broadcast_batch(c, s, t, &e));
  if (t->shape->len == 2) {
    y = relay_call("nn.dense", NULL, 2, a, flip(b)); /* of any number of dimensions */
  } else {
    a = as_batch(a, s, &e);
    b = as_batch(b, t, &e);
    void *as_they_are = relay_attrs("nn.batch_matmul", 1, "transpose_b", tn_any_int(0));
    y = a && b && as_they_are ? relay_call("nn.batch_matmul", as_they_are, 2, a, b) : NULL;
  }
  if (t->shape->len == 2 || e.n < 2) return y;
  for (int64_t i = 0; i < e.n; ++i) open += e.dims[i] < 0;
  if (open < 2) return split_batch(y, &e);
  if (s->shape->len != t->shape->len)
    return oc_fail(c, "a shape with several extents that are not known");
  return split_open_batch(y, whole, e.n);
}

/* A vector is one row on the left, one column on the right. */
static const tn_TensorType *as_matrix(const tn_TensorType *t, bool left) {
  tn_expr *one = tir_i32(1), *n = t->shape->len == 1 ? relay_dim(t, 0) : NULL;
  if (!n) return t;
  return relay_tensor_type(left ? tn_arr_of(2, one, n) : tn_arr_of(2, n, one), t->dtype);
}

void *oc_matmul(const oc *c, void *a, const tn_TensorType *s, void *b, const tn_TensorType *t) {
  if (!s || !t || s->shape->len < 1 || t->shape->len < 1 || s->shape->len > MAX_NDIM - 2 ||
      t->shape->len > MAX_NDIM - 2)
    return oc_fail(c, "expected shapes of at least one dimension");
  bool row = s->shape->len == 1, column = t->shape->len == 1;
  if (row) a = oc_expand_dims(a, 0, 1);
  if (column) b = oc_expand_dims(b, 1, 1);
  TN_GETP(s, as_matrix(s, true));
  TN_GETP(t, as_matrix(t, false));
  int64_t inner = extent(s, s->shape->len - 1), other = extent(t, t->shape->len - 2);
  if (inner != other && inner >= 0 && other >= 0)
    return oc_fail(c, "the inner dimensions of the shapes do not match");
  void *y = product(c, a, s, b, t);
  if (column) y = oc_squeeze(y, -1);
  return row ? oc_squeeze(y, column ? -1 : -2) : y;
}

static void *matmul(oc *c) {
  return oc_matmul(c, oc_in(c, 0), oc_type(c, 0), oc_in(c, 1), oc_type(c, 1));
}

static const onnx_row rows[] = {
    {"Abs", unary, 1, 1},
    {"Acos", unary, 1, 1},
    {"Acosh", unary, 1, 1},
    {"Asin", unary, 1, 1},
    {"Asinh", unary, 1, 1},
    {"Atan", unary, 1, 1},
    {"Atanh", unary, 1, 1},
    {"Ceil", unary, 1, 1},
    {"Cos", unary, 1, 1},
    {"Cosh", unary, 1, 1},
    {"Erf", unary, 1, 1},
    {"Exp", unary, 1, 1},
    {"Floor", unary, 1, 1},
    {"IsNaN", unary, 1, 1},
    {"Log", unary, 1, 1},
    {"Neg", unary, 1, 1},
    {"Not", unary, 1, 1},
    {"Relu", unary, 1, 1},
    {"Sigmoid", unary, 1, 1},
    {"Sign", unary, 1, 1},
    {"Sin", unary, 1, 1},
    {"Sinh", unary, 1, 1},
    {"Sqrt", unary, 1, 1},
    {"Tan", unary, 1, 1},
    {"Tanh", unary, 1, 1},
    {"BitwiseNot", unary, 1, 1},
    {"Identity", same, 1, 1, true},
    {"Add", binary, 2, 2},
    {"Sub", binary, 2, 2},
    {"Mul", binary, 2, 2},
    {"Div", divide, 2, 2},
    {"Pow", power, 2, 2},
    {"Mod", mod, 2, 2},
    {"And", binary, 2, 2},
    {"Or", binary, 2, 2},
    {"Xor", binary, 2, 2},
    {"Equal", binary, 2, 2},
    {"Less", binary, 2, 2},
    {"Greater", binary, 2, 2},
    {"LessOrEqual", binary, 2, 2},
    {"GreaterOrEqual", binary, 2, 2},
    {"BitwiseAnd", binary, 2, 2},
    {"BitwiseOr", binary, 2, 2},
    {"BitwiseXor", binary, 2, 2},
    {"Max", variadic, 1, -1},
    {"Min", variadic, 1, -1},
    {"Sum", variadic, 1, -1},
    {"Mean", mean, 1, -1},
    {"Reciprocal", reciprocal, 1, 1},
    {"Round", round_even, 1, 1},
    {"LeakyRelu", leaky_relu, 1, 1},
    {"HardSigmoid", hard_sigmoid, 1, 1},
    {"HardSwish", hard_sigmoid, 1, 1},
    {"Elu", exponential_unit, 1, 1},
    {"Selu", exponential_unit, 1, 1},
    {"Softplus", softplus, 1, 1},
    {"Gelu", gelu, 1, 1},
    {"Softsign", softsign, 1, 1},
    {"PRelu", prelu, 2, 2},
    {"Clip", clip, 1, 3},
    {"Where", where, 3, 3},
    {"Softmax", softmax, 1, 1},
    {"LogSoftmax", softmax, 1, 1},
    {"ReduceSum", reduce, 1, 2},
    {"ReduceMean", reduce, 1, 2},
    {"ReduceMax", reduce, 1, 2},
    {"ReduceMin", reduce, 1, 2},
    {"ReduceProd", reduce, 1, 2},
    {"ReduceL1", reduce_l1, 1, 2},
    {"ReduceL2", reduce_square, 1, 2},
    {"ReduceSumSquare", reduce_square, 1, 2},
    {"ReduceLogSum", reduce_log_sum, 1, 2},
    {"ArgMax", argument, 1, 1},
    {"ArgMin", argument, 1, 1},
    {"Gemm", gemm, 2, 3},
    {"MatMul", matmul, 2, 2},
};
const onnx_table onnx_math = {rows, TN_COUNT(rows), ""};
