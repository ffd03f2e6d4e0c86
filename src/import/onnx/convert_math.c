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

static const char *relay_name(const onnx_ctx *c) {
  for (int i = 0; i < TN_COUNT(names); ++i)
    if (strcmp(names[i].onnx, c->node->op_type) == 0) return names[i].relay;
  return TN_RAISEP(InternalError, NULL, "no name for %s", c->node->op_type);
}

static void *unary(onnx_ctx *c) {
  const char *op = relay_name(c);
  return op ? onnx_unary(op, onnx_in(c, 0)) : NULL;
}

/* Of a sequence too, which is a tuple: one result, not several. */
static void *same(onnx_ctx *c) { return onnx_results(tn_arr_of(1, onnx_in(c, 0))); }

/* The second operand. Before operator set 7 the attribute `axis` says which axes of the first it
   has:

     Add(a: [2, 3, 4], b: [3], broadcast=1, axis=1)   =>  a + b[:, None] */
static void *second(const onnx_ctx *c) {
  int64_t axis = onnx_int(c, "axis", -1), rank = onnx_rank(c, 0), own = onnx_rank(c, 1);
  void *b = onnx_in(c, 1);
  if (c->opset >= 7 || !onnx_node_attr(c, "axis") || rank < 0 || own < 0) return b;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis + own > rank)
    return onnx_fail(c, "axis %lld: an operand of %lld dimensions does not fit into one of %lld",
                     (long long)axis, (long long)own, (long long)rank);
  return axis + own < rank ? onnx_expand_dims(b, own, rank - axis - own) : b;
}

static void *binary(onnx_ctx *c) {
  const char *op = relay_name(c);
  void *b = op ? second(c) : NULL;
  return b ? onnx_binary(op, onnx_in(c, 0), b) : NULL;
}

static void *divide(onnx_ctx *c) {
  void *b = second(c);
  return b ? onnx_binary("divide", onnx_in(c, 0), b) : NULL;
}

/* The exponent may be of another type; an integer to the power of a float is computed with float64.
 */
static void *power(onnx_ctx *c) {
  void *e = second(c);
  const tn_TensorType *t = onnx_in_type(c, 0), *u = onnx_in_type(c, 1);
  if (e && t && u && ir_is_integral(t->dtype) && !ir_is_integral(u->dtype))
    return onnx_cast(onnx_binary("power", onnx_cast(onnx_in(c, 0), TN_F64), onnx_cast(e, TN_F64)),
                     t->dtype);
  if (e && t && u && !tn_dtype_eq(t->dtype, u->dtype)) {
    void *a = relay_attrs("cast", 1, "dtype", tn_any_dtype(t->dtype));
    e = a ? relay_call("cast", a, 1, e) : NULL;
  }
  return e ? onnx_binary("power", onnx_in(c, 0), e) : NULL;
}

/* The remainder with the sign of the divisor, also where one of them is 0 or infinite: the one of
   the division towards zero, and the divisor where the signs differ. */
static void *float_mod(onnx_ctx *c) {
  void *b = onnx_in(c, 1), *r = onnx_binary("mod", onnx_in(c, 0), b), *zero = onnx_scalar(c, 0, 0);
  void *below = onnx_binary("less", b, zero);
  void *differ = onnx_binary("not_equal", onnx_binary("less", r, zero), below);
  void *signed_zero = onnx_where(below, onnx_scalar(c, 0, -0.0), zero);
  void *other = onnx_where(differ, onnx_binary("add", r, b), r);
  return onnx_where(onnx_binary("equal", r, zero), signed_zero, other);
}

static void *mod(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  if (t && t->dtype.code != kDLInt && t->dtype.code != kDLUInt && !onnx_int(c, "fmod", 0))
    return float_mod(c);
  return onnx_binary(onnx_int(c, "fmod", 0) ? "mod" : "floor_mod", onnx_in(c, 0), onnx_in(c, 1));
}

/* One operator between all inputs. */
static void *variadic(onnx_ctx *c) {
  const char *op = relay_name(c);
  void *e = onnx_in(c, 0);
  for (int i = 1; op && e && i < c->nin; ++i) e = onnx_binary(op, e, onnx_in(c, i));
  return op ? e : NULL;
}

static void *mean(onnx_ctx *c) {
  void *e = onnx_in(c, 0);
  for (int i = 1; e && i < c->nin; ++i) e = onnx_binary("add", e, onnx_in(c, i));
  return onnx_binary("divide", e, onnx_scalar(c, 0, c->nin));
}

static void *reciprocal(onnx_ctx *c) {
  return onnx_binary("divide", onnx_scalar(c, 0, 1), onnx_in(c, 0));
}

static void *round_even(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  return t ? onnx_round_even(onnx_in(c, 0), t->dtype) : onnx_fail(c, "the input is not a tensor");
}

/* ---- activations ---- */

static void *leaky_relu(onnx_ctx *c) {
  void *a = relay_attrs("nn.leaky_relu", 1, "alpha", tn_any_float(onnx_float(c, "alpha", 0.01)));
  return a ? relay_call("nn.leaky_relu", a, 1, onnx_in(c, 0)) : NULL;
}

static void *clip_to(void *x, double low, double high) {
  void *a = relay_attrs("clip", 2, "a_min", tn_any_float(low), "a_max", tn_any_float(high));
  return a ? relay_call("clip", a, 1, x) : NULL;
}

/* max(0, min(1, alpha * x + beta)) */
static void *hard_sigmoid(onnx_ctx *c) {
  bool swish = strcmp(c->node->op_type, "HardSwish") == 0;
  double alpha = swish ? (double)(float)(1.0 / 6) : onnx_float(c, "alpha", 0.2),
         beta = onnx_float(c, "beta", 0.5);
  void *y = onnx_binary("add", onnx_binary("multiply", onnx_in(c, 0), onnx_scalar(c, 0, alpha)),
                        onnx_scalar(c, 0, beta));
  y = clip_to(y, 0, 1);
  return swish ? onnx_binary("multiply", onnx_in(c, 0), y) : y;
}

/* x where it is positive, alpha * (exp(x) - 1) elsewhere, all times gamma */
static void *exponential_unit(onnx_ctx *c) {
  bool selu = strcmp(c->node->op_type, "Selu") == 0;
  double alpha = onnx_float(c, "alpha", selu ? 1.67326319217681884765625 : 1),
         gamma = selu ? onnx_float(c, "gamma", 1.05070102214813232421875) : 1;
  void *x = onnx_in(c, 0), *zero = onnx_scalar(c, 0, 0);
  void *low =
      onnx_binary("multiply", onnx_scalar(c, 0, alpha),
                  onnx_binary("subtract", onnx_unary("exp", onnx_binary("minimum", x, zero)),
                              onnx_scalar(c, 0, 1)));
  void *y = onnx_binary("add", onnx_unary("nn.relu", x), low);
  return selu ? onnx_binary("multiply", y, onnx_scalar(c, 0, gamma)) : y;
}

static void *softplus(onnx_ctx *c) {
  void *x = onnx_in(c, 0), *magnitude = onnx_unary("negative", onnx_unary("abs", x));
  void *tail =
      onnx_unary("log", onnx_binary("add", onnx_unary("exp", magnitude), onnx_scalar(c, 0, 1)));
  return onnx_binary("add", onnx_unary("nn.relu", x), tail);
}

void *onnx_gelu(const onnx_ctx *c, void *x, bool by_tanh) {
  void *inner;
  if (!x) return NULL;
  if (by_tanh) {
    void *cube = onnx_binary("multiply", onnx_binary("multiply", x, x),
                             onnx_binary("multiply", x, onnx_scalar(c, 0, 0.044715)));
    inner = onnx_unary("tanh", onnx_binary("multiply", onnx_binary("add", x, cube),
                                           onnx_scalar(c, 0, 0.7978845608028654)));
  } else
    inner = onnx_unary("erf", onnx_binary("multiply", x, onnx_scalar(c, 0, 0.7071067811865476)));
  return onnx_binary("multiply", onnx_binary("multiply", x, onnx_scalar(c, 0, 0.5)),
                     onnx_binary("add", inner, onnx_scalar(c, 0, 1)));
}

static void *gelu(onnx_ctx *c) {
  char text[16];
  const char *how = onnx_text(c, "approximate", "none", text, sizeof text);
  return onnx_gelu(c, onnx_in(c, 0), strcmp(how, "tanh") == 0);
}

static void *softsign(onnx_ctx *c) {
  return onnx_binary("divide", onnx_in(c, 0),
                     onnx_binary("add", onnx_unary("abs", onnx_in(c, 0)), onnx_scalar(c, 0, 1)));
}

/* Before operator set 7 a vector of slopes is one for each channel. */
static void *prelu(onnx_ctx *c) {
  void *x = onnx_in(c, 0), *zero = onnx_scalar(c, 0, 0), *slope = onnx_in(c, 1);
  int64_t after = onnx_rank(c, 0) - 2;
  if (c->opset < 7 && onnx_rank(c, 1) == 1 && after > 0) {
    void *a =
        relay_attrs("expand_dims", 2, "axis", tn_any_int(1), "num_newaxis", tn_any_int(after));
    slope = a ? relay_call("expand_dims", a, 1, slope) : NULL;
  }
  return onnx_binary("add", onnx_unary("nn.relu", x),
                     onnx_binary("multiply", onnx_binary("minimum", x, zero), slope));
}

/* Limits are inputs since operator set 11. */
static void *clip(onnx_ctx *c) {
  void *x = onnx_in(c, 0);
  if (c->opset < 11)
    return clip_to(x, onnx_float(c, "min", -3.4028234663852886e38),
                   onnx_float(c, "max", 3.4028234663852886e38));
  if (onnx_in(c, 1)) x = onnx_binary("maximum", x, onnx_in(c, 1));
  if (x && onnx_in(c, 2)) x = onnx_binary("minimum", x, onnx_in(c, 2));
  return x;
}

static void *where(onnx_ctx *c) {
  return relay_call("where", NULL, 3, onnx_in(c, 0), onnx_in(c, 1), onnx_in(c, 2));
}

/* Before operator set 13 all axes from `axis` on are one. */
static void *softmax(onnx_ctx *c) {
  const char *op = strcmp(c->node->op_type, "Softmax") == 0 ? "nn.softmax" : "nn.log_softmax";
  int64_t rank = onnx_rank(c, 0), axis = onnx_int(c, "axis", c->opset >= 13 ? -1 : 1);
  if (axis < 0) axis += rank;
  if (rank < 0 || axis < 0 || axis >= rank + (rank == 0))
    return onnx_fail(c, "axis %lld is out of range", (long long)axis);
  void *x = onnx_in(c, 0);
  bool flat = c->opset < 13 && axis != rank - 1;
  const tn_TensorType *t = onnx_in_type(c, 0);
  if (flat) x = onnx_flatten(x, t, axis);
  void *a = relay_attrs(op, 1, "axis", tn_any_int(flat ? 1 : axis));
  x = a ? relay_call(op, a, 1, x) : NULL;
  return flat ? onnx_reshape_like(x, onnx_in(c, 0), t) : x;
}

/* ---- reductions ---- */

/* Axes in input 1, of a number that may be zero, or in an attribute: *n = 0 for none. */
int onnx_reduced_axes(onnx_ctx *c, int64_t *axes, int64_t *n) {
  const tn_TensorType *t = onnx_in_type(c, 1);
  *n = 0;
  if (t && t->shape->len == 1 && tir_is_zero(relay_dim(t, 0))) return 0;
  TN_TRY(onnx_axes(c, 1, "axes", axes, MAX_NDIM, n));
  return *n = *n < 0 ? 0 : *n, 0;
}

bool onnx_axes_run(const onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 1);
  return onnx_runs(c, 1) && !(t && t->shape->len == 1 && tir_is_zero(relay_dim(t, 0)));
}

static void *reduce_with(onnx_ctx *c, const char *op, void *x) {
  int64_t axes[MAX_NDIM], n;
  bool keepdims = onnx_int(c, "keepdims", 1) != 0;
  if (onnx_axes_run(c)) return x ? onnx_reduce_at_run_time(c, op, x, keepdims) : NULL;
  TN_TRYP(onnx_reduced_axes(c, axes, &n));
  return n == 0 && onnx_int(c, "noop_with_empty_axes", 0) ? x
                                                          : onnx_reduce(op, x, axes, n, keepdims);
}

static void *reduce(onnx_ctx *c) {
  const char *op = relay_name(c);
  const tn_TensorType *t = onnx_in_type(c, 0);
  bool flags = t && ir_is_bool(t->dtype); /* the greatest is whether there is one */
  if (flags && op) op = strcmp(op, "max") == 0 ? "any" : strcmp(op, "min") == 0 ? "all" : op;
  return op ? reduce_with(c, op, onnx_in(c, 0)) : NULL;
}

static void *reduce_l1(onnx_ctx *c) {
  return reduce_with(c, "sum", onnx_unary("abs", onnx_in(c, 0)));
}
/* A function of floats of what may be integers. */
static void *through_floats(onnx_ctx *c, const char *op, void *e) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  if (!e || !t || !ir_is_integral(t->dtype)) return e ? onnx_unary(op, e) : NULL;
  void *y = onnx_unary(op, onnx_cast(e, TN_F64));
  return y ? onnx_cast(y, t->dtype) : NULL;
}

static void *reduce_square(onnx_ctx *c) {
  void *y = reduce_with(c, "sum", onnx_binary("multiply", onnx_in(c, 0), onnx_in(c, 0)));
  return strcmp(c->node->op_type, "ReduceL2") == 0 ? through_floats(c, "sqrt", y) : y;
}
static void *reduce_log_sum(onnx_ctx *c) {
  return through_floats(c, "log", reduce_with(c, "sum", onnx_in(c, 0)));
}

static void *argument(onnx_ctx *c) {
  const char *op = strcmp(c->node->op_type, "ArgMax") == 0 ? "argmax" : "argmin";
  int64_t axis = onnx_int(c, "axis", 0);
  void *a = relay_attrs(op, 3, "axis", tn_any_obj(relay_ints(&axis, 1)), "keepdims",
                        tn_any_bool(onnx_int(c, "keepdims", 1) != 0), "select_last_index",
                        tn_any_bool(onnx_int(c, "select_last_index", 0) != 0));
  void *y = a ? relay_call(op, a, 1, onnx_in(c, 0)) : NULL;
  a = relay_attrs("cast", 1, "dtype", tn_any_dtype(TN_I64));
  return a && y ? relay_call("cast", a, 1, y) : NULL;
}

/* ---- products ---- */

static void *flip(void *x) { return onnx_transpose(x, (const int64_t[]){1, 0}, 2); }

static void *gemm(onnx_ctx *c) {
  void *a = onnx_in(c, 0), *b = onnx_in(c, 1), *bias = onnx_in(c, 2);
  double alpha = onnx_float(c, "alpha", 1), beta = onnx_float(c, "beta", 1);
  if (onnx_rank(c, 0) != 2 || onnx_rank(c, 1) != 2)
    return onnx_fail(c, "expected matrices, got shapes of %lld and %lld dimensions",
                     (long long)onnx_rank(c, 0), (long long)onnx_rank(c, 1));
  if (onnx_int(c, "transA", 0)) a = flip(a);
  if (!onnx_int(c, "transB", 0)) b = flip(b);
  void *y = relay_call("nn.dense", NULL, 2, a, b);
  if (alpha != 1) y = onnx_binary("multiply", y, onnx_scalar(c, 0, alpha));
  if (bias && beta != 1) bias = onnx_binary("multiply", bias, onnx_scalar(c, 0, beta));
  return bias && y ? onnx_binary("add", y, bias) : y;
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

static int broadcast_batch(const onnx_ctx *c, const tn_TensorType *s, const tn_TensorType *t,
                           extents *out) {
  int64_t a = s->shape->len - 2, b = t->shape->len - 2;
  out->n = a > b ? a : b;
  for (int64_t i = 0; i < out->n; ++i) {
    int64_t x = extent(s, i - (out->n - a)), y = extent(t, i - (out->n - b));
    if (x != y && x != 1 && y != 1 && x >= 0 && y >= 0)
      return onnx_fail(c, "the batch dimensions of the shapes do not broadcast"), -1;
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
  } else if (!same) x = onnx_expand_dims(x, 0, e->n + 2 - t->shape->len);
  /* -3 merges the first two axes, -2 keeps the others */
  for (int64_t i = e->n; i > 1; --i) x = onnx_reshape(x, (int64_t[]){-3, -2}, 2);
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
    y = onnx_reshape(y, dims, n);
  }
  return y;
}

/* Several axes of the batch are dynamic: they are those of an operand. */
static void *split_open_batch(void *y, void *like, int64_t batch) {
  void *a = relay_attrs("shape_of", 1, "dtype", tn_any_dtype(TN_I64)), *own;
  void *b = relay_attrs("shape_of", 1, "dtype", tn_any_dtype(TN_I64)), *now;
  own = a && like ? onnx_part(relay_call("shape_of", a, 1, like), 0, 0, batch) : NULL;
  now = b && y ? onnx_part(relay_call("shape_of", b, 1, y), 0, 1, 3) : NULL;
  void *shape = own && now ? onnx_concat(tn_arr_of(2, own, now), 0) : NULL;
  void *empty = relay_attrs("dyn.reshape", 1, "allowzero", tn_any_bool(true)); /* 0 is an extent */
  return shape && empty ? relay_call("dyn.reshape", empty, 2, y, shape) : NULL;
}

/* A matrix on the right is the weight of a dense layer. */
static void *product(const onnx_ctx *c, void *a, const tn_TensorType *s, void *b,
                     const tn_TensorType *t) {
  int64_t open = 0;
  extents e;
  if (t->shape->len > 2) TN_TRYP(onnx_meet_batches(&a, &s, &b, &t));
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
    return onnx_fail(c, "a shape with several extents that are not known");
  return split_open_batch(y, whole, e.n);
}

/* A vector is one row on the left, one column on the right. */
static const tn_TensorType *as_matrix(const tn_TensorType *t, bool left) {
  tn_expr *one = tir_i32(1), *n = t->shape->len == 1 ? relay_dim(t, 0) : NULL;
  if (!n) return t;
  return relay_tensor_type(left ? tn_arr_of(2, one, n) : tn_arr_of(2, n, one), t->dtype);
}

void *onnx_matmul(const onnx_ctx *c, void *a, const tn_TensorType *s, void *b,
                  const tn_TensorType *t) {
  if (!s || !t || s->shape->len < 1 || t->shape->len < 1 || s->shape->len > MAX_NDIM - 2 ||
      t->shape->len > MAX_NDIM - 2)
    return onnx_fail(c, "expected shapes of at least one dimension");
  bool row = s->shape->len == 1, column = t->shape->len == 1;
  if (row) a = onnx_expand_dims(a, 0, 1);
  if (column) b = onnx_expand_dims(b, 1, 1);
  TN_GETP(s, as_matrix(s, true));
  TN_GETP(t, as_matrix(t, false));
  int64_t inner = extent(s, s->shape->len - 1), other = extent(t, t->shape->len - 2);
  if (inner != other && inner >= 0 && other >= 0)
    return onnx_fail(c, "the inner dimensions of the shapes do not match");
  void *y = product(c, a, s, b, t);
  if (column) y = onnx_squeeze(y, -1);
  return row ? onnx_squeeze(y, column ? -1 : -2) : y;
}

static void *matmul(onnx_ctx *c) {
  return onnx_matmul(c, onnx_in(c, 0), onnx_in_type(c, 0), onnx_in(c, 1), onnx_in_type(c, 1));
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
