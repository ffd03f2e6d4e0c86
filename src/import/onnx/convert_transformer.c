/* Operators of transformers (operator sets 22 to 24): norms, rotary embeddings, attention. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"

enum { MAX_NDIM = 32 };

static void *add(void *a, void *b) { return onnx_binary("add", a, b); }
static void *sub(void *a, void *b) { return onnx_binary("subtract", a, b); }
static void *mul(void *a, void *b) { return onnx_binary("multiply", a, b); }

/* ---- norms ---- */

/* x / sqrt(mean(x^2) + epsilon) * scale over the axes from `axis` on, computed in stash_type. */
static void *rms_norm(onnx_ctx *c) {
  int64_t rank = onnx_rank(c, 0), axis = onnx_int(c, "axis", -1), axes[MAX_NDIM], n = 0;
  const tn_TensorType *t = onnx_in_type(c, 0);
  tn_dtype stash;
  if (axis < 0) axis += rank;
  if (rank < 1 || rank > MAX_NDIM || axis < 0 || axis >= rank)
    return onnx_fail(c, "axis %lld is out of range", (long long)axis);
  TN_TRYP(
      onnx_dtype((int32_t)onnx_int(c, "stash_type", 1), "RMSNormalization: stash_type", &stash));
  for (int64_t i = axis; i < rank; ++i) axes[n++] = i;
  void *x = onnx_cast(onnx_in(c, 0), stash), *square = mul(x, x);
  void *mean = square ? onnx_reduce("mean", square, axes, n, true) : NULL;
  void *epsilon = relay_const_float(stash, onnx_float(c, "epsilon", 1e-5));
  void *inverse = mean ? onnx_unary("rsqrt", add(mean, epsilon)) : NULL;
  void *y = inverse ? onnx_cast(mul(x, inverse), t->dtype) : NULL;
  const tn_TensorType *s = onnx_in_type(c, 1);
  y = y && s && !tn_dtype_eq(s->dtype, t->dtype) ? onnx_cast(y, s->dtype) : y;
  return y ? mul(y, onnx_in(c, 1)) : NULL;
}

/* x / norm along an axis, 0 where the norm is. */
static void *lp_norm(onnx_ctx *c) {
  int64_t rank = onnx_rank(c, 0), axis = onnx_int(c, "axis", -1), p = onnx_int(c, "p", 2);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || p < 1 || p > 2)
    return onnx_fail(c, "axis %lld or p = %lld is out of range", (long long)axis, (long long)p);
  void *x = onnx_in(c, 0), *part = p == 1 ? onnx_unary("abs", x) : mul(x, x);
  void *norm = part ? onnx_reduce("sum", part, &axis, 1, true) : NULL;
  if (p == 2 && norm) norm = onnx_unary("sqrt", norm);
  void *zero = norm ? onnx_binary("equal", norm, onnx_scalar(c, 0, 0)) : NULL;
  return zero ? onnx_binary("divide", x, onnx_where(zero, onnx_scalar(c, 0, 1), norm)) : NULL;
}

static void *swish(onnx_ctx *c) {
  void *x = onnx_in(c, 0);
  return mul(x, onnx_unary("sigmoid", mul(x, onnx_scalar(c, 0, onnx_float(c, "alpha", 1)))));
}

/* ---- extents ---- */

static int shape_of(const onnx_ctx *c, int i, int64_t *dims) {
  const tn_TensorType *t = onnx_in_type(c, i);
  if (!t || t->shape->len < 3 || t->shape->len > 4)
    return onnx_fail(c, "input %d: expected a shape of 3 or 4 dimensions", i), -1;
  for (int64_t k = 0; k < t->shape->len; ++k) {
    TN_TRY(onnx_known_extent(c, i, k, &dims[k]));
    if (dims[k] < 1 || dims[k] > INT32_MAX) /* products of two stay within 64 bits */
      return onnx_fail(c, "input %d: extent %lld is not supported", i, (long long)dims[k]), -1;
  }
  return (int)t->shape->len;
}

static void *swap_axes(void *x) { return x ? onnx_transpose(x, (int64_t[]){0, 2, 1, 3}, 4) : NULL; }

/* Input i as [batch, heads, length, size]; dims gets these. */
static void *with_heads(const onnx_ctx *c, int i, int64_t heads, int64_t *dims) {
  int rank = shape_of(c, i, dims);
  if (rank < 0) return NULL;
  if (rank == 4) return onnx_in(c, i);
  if (heads < 1 || dims[2] % heads)
    return onnx_fail(c, "input %d: %lld elements are not those of %lld heads", i,
                     (long long)dims[2], (long long)heads);
  int64_t size = dims[2] / heads;
  void *x = swap_axes(onnx_reshape(onnx_in(c, i), (int64_t[]){dims[0], dims[1], heads, size}, 4));
  dims[2] = dims[1], dims[1] = heads, dims[3] = size;
  return x;
}

/* ---- rotary embedding ---- */

/* Pairs of elements turned by angles whose cosines and sines are [batch, 1, length, half]. */
static void *turned(void *x, void *cosine, void *sine, const int64_t *d, int64_t size, bool mixed) {
  int64_t half = size / 2;
  void *a, *b, *part = onnx_part(x, 3, 0, size);
  if (mixed) {
    void *pairs = onnx_reshape(part, (int64_t[]){d[0], d[1], d[2], half, 2}, 5);
    a = onnx_squeeze(onnx_part(pairs, 4, 0, 1), 4), b = onnx_squeeze(onnx_part(pairs, 4, 1, 2), 4);
  } else {
    a = onnx_part(part, 3, 0, half), b = onnx_part(part, 3, half, size);
  }
  void *real = sub(mul(cosine, a), mul(sine, b)), *other = add(mul(sine, a), mul(cosine, b));
  if (!real || !other) return NULL;
  void *y =
      mixed ? onnx_concat(tn_arr_of(2, onnx_expand_dims(real, 4, 1), onnx_expand_dims(other, 4, 1)),
                          4)
            : onnx_concat(tn_arr_of(2, real, other), 3);
  if (mixed && y) y = onnx_reshape(y, (int64_t[]){d[0], d[1], d[2], size}, 4);
  if (size == d[3] || !y) return y;
  return onnx_concat(tn_arr_of(2, y, onnx_part(x, 3, size, d[3])), 3);
}

static void *rotary(onnx_ctx *c) {
  int64_t d[4], size = onnx_int(c, "rotary_embedding_dim", 0);
  bool flat = onnx_rank(c, 0) == 3;
  void *x = with_heads(c, 0, onnx_int(c, "num_heads", 0), d);
  if (!x) return NULL;
  if (size <= 0) size = d[3];
  if (size > d[3] || size % 2) return onnx_fail(c, "rotary_embedding_dim %lld", (long long)size);
  void *angle[2];
  for (int i = 0; i < 2; ++i) {
    angle[i] = onnx_in(c, 1 + i);
    if (onnx_in(c, 3)) angle[i] = onnx_take(angle[i], onnx_in(c, 3), 0);
    angle[i] = angle[i] ? onnx_expand_dims(onnx_part(angle[i], 2, 0, size / 2), 1, 1) : NULL;
    if (!angle[i]) return NULL;
  }
  void *y = turned(x, angle[0], angle[1], d, size, onnx_int(c, "interleaved", 0) != 0);
  return flat ? onnx_reshape(swap_axes(y), (int64_t[]){d[0], d[2], d[1] * d[3]}, 3) : y;
}

/* ---- attention ---- */

typedef struct {
  onnx_ctx *c;
  int64_t q[4], k[4], v[4];  /* [batch, heads, length, size] */
  int64_t total;             /* length of keys with those of the past */
  tn_dtype t;                /* of the scores */
  void *query, *key, *value; /* with heads */
  void *present_key, *present_value;
} attention;

/* Keys or values after those of the past. */
static void *after_past(const onnx_ctx *c, int past, void *x) {
  return onnx_in(c, past) && x ? onnx_concat(tn_arr_of(2, onnx_in(c, past), x), 2) : x;
}

/* Each head of keys serves several of queries. */
static void *repeated(const attention *a, void *x, int64_t heads) {
  int64_t times = heads ? a->q[1] / heads : 1;
  if (times == 1 || !x) return x;
  void *attrs = relay_attrs("repeat", 2, "repeats", tn_any_int(times), "axis", tn_any_int(1));
  return attrs ? relay_call("repeat", attrs, 1, x) : NULL;
}

static int read_operands(attention *a) {
  onnx_ctx *c = a->c;
  int64_t past[4] = {0};
  int64_t q_heads = onnx_int(c, "q_num_heads", 0), kv_heads = onnx_int(c, "kv_num_heads", 0);
  TN_GET(a->query, with_heads(c, 0, q_heads, a->q));
  TN_GET(a->key, with_heads(c, 1, kv_heads, a->k));
  TN_GET(a->value, with_heads(c, 2, kv_heads, a->v));
  if (onnx_in(c, 4) && shape_of(c, 4, past) != 4)
    return onnx_fail(c, "past_key: expected 4 dimensions"), -1;
  a->total = a->k[2] + past[2];
  if (a->k[1] < 1 || a->q[1] % a->k[1] || a->k[1] != a->v[1])
    return onnx_fail(c, "%lld heads of queries do not fit %lld of keys", (long long)a->q[1],
                     (long long)a->k[1]),
           -1;
  TN_GET(a->present_key, after_past(c, 4, a->key));
  TN_GET(a->present_value, after_past(c, 5, a->value));
  a->t = onnx_in_type(c, 0)->dtype;
  return 0;
}

/* Input 6, the valid keys of each batch, to be compared with [batch, heads, queries, keys]. */
static void *valid_keys(const onnx_ctx *c) {
  return onnx_reshape(onnx_cast(onnx_in(c, 6), TN_I64), (int64_t[]){-1, 1, 1, 1}, 4);
}

static void *scores_where(const attention *a, void *seen, void *scores) {
  return seen && scores ? onnx_where(seen, scores, relay_const_float(a->t, -INFINITY)) : NULL;
}

/* What input 3 says: keys behind its end are not seen. */
static void *with_mask(const attention *a, void *scores) {
  const onnx_ctx *c = a->c;
  const tn_TensorType *m = onnx_in_type(c, 3);
  void *mask = onnx_in(c, 3), *seen = NULL;
  if (!m) return scores;
  int64_t rank = m->shape->len, have = 1;
  if (rank) TN_TRYP(onnx_known_extent(c, 3, rank - 1, &have));
  if (have > 1 && have < a->total) {
    TN_VEC(widths);
    for (int64_t i = 0; i < rank; ++i) {
      int64_t pair[] = {0, i == rank - 1 ? a->total - have : 0};
      TN_TRYP(tn_vec_push_obj(&widths, relay_ints(pair, 2)));
    }
    void *attrs = relay_attrs("nn.pad", 1, "pad_width", tn_any_obj(tn_arr_from(&widths)));
    void *none = relay_const_float(m->dtype, 0);
    mask = attrs && none ? relay_call("nn.pad", attrs, 2, mask, none) : NULL;
    seen = onnx_binary("less", onnx_count_along(TN_I64, a->total, 3, 4),
                       relay_const_int(TN_I64, have));
  }
  scores =
      ir_is_bool(m->dtype) ? scores_where(a, mask, scores) : add(scores, onnx_cast(mask, a->t));
  return seen ? scores_where(a, seen, scores) : scores;
}

/* Which keys each query may see by its place: those before, and those in a window around. */
static void *in_order(const attention *a, void *scores) {
  onnx_ctx *c = a->c;
  int64_t left = onnx_int(c, "left_window_size", -1), right = onnx_int(c, "right_window_size", -1);
  bool causal = onnx_int(c, "is_causal", 0) != 0;
  if (!causal && left < 0 && right < 0) return scores;
  void *offset = relay_const_int(TN_I64, a->total - a->k[2]);
  if (onnx_in(c, 6)) /* queries are the last of the valid ones */
    offset = sub(valid_keys(c), relay_const_int(TN_I64, a->q[2]));
  void *place = add(onnx_count_along(TN_I64, a->q[2], 2, 4), offset),
       *key = onnx_count_along(TN_I64, a->total, 3, 4);
  if (causal) right = 0;
  if (right >= 0)
    scores = scores_where(
        a, onnx_binary("less_equal", key, add(place, relay_const_int(TN_I64, right))), scores);
  if (left >= 0)
    scores = scores_where(
        a, onnx_binary("greater_equal", key, sub(place, relay_const_int(TN_I64, left))), scores);
  return scores;
}

static void *masked(const attention *a, void *scores) {
  scores = with_mask(a, scores);
  if (onnx_in(a->c, 6)) { /* keys behind the valid ones of each batch */
    void *key = onnx_count_along(TN_I64, a->total, 3, 4);
    scores = scores_where(a, onnx_binary("less", key, valid_keys(a->c)), scores);
  }
  return in_order(a, scores);
}

static void *product(const attention *a, void *x, bool second_is_keys, void *y) {
  int64_t b = a->q[0] * a->q[1], n = a->q[2], m = a->total, d = a->q[3], e = a->v[3];
  void *p = onnx_reshape(x, (int64_t[]){b, n, second_is_keys ? d : m}, 3),
       *r = onnx_reshape(y, (int64_t[]){b, m, second_is_keys ? d : e}, 3);
  void *attrs = relay_attrs("nn.batch_matmul", 2, "transpose_a", tn_any_bool(false), "transpose_b",
                            tn_any_bool(second_is_keys));
  void *z = attrs && p && r ? relay_call("nn.batch_matmul", attrs, 2, p, r) : NULL;
  return z ? onnx_reshape(z, (int64_t[]){a->q[0], a->q[1], n, second_is_keys ? m : e}, 4) : NULL;
}

/* A query that sees no key at all gets zeros. */
static void *softmax(void *x, tn_dtype t) {
  const int64_t last = -1;
  void *attrs = relay_attrs("nn.softmax", 1, "axis", tn_any_int(-1));
  void *most = x ? onnx_reduce("max", x, &last, 1, true) : NULL;
  void *never = relay_const_float(t, -INFINITY), *zero = relay_const_float(t, 0);
  void *blind = most && never ? onnx_binary("equal", most, never) : NULL;
  return attrs && blind && zero ? onnx_where(blind, zero, relay_call("nn.softmax", attrs, 1, x))
                                : NULL;
}

/* The probabilities; *shown gets the scores at the stage that the node asks for. */
static void *probabilities(const attention *a, void **shown) {
  const onnx_ctx *c = a->c;
  int64_t stage = onnx_int(c, "qk_matmul_output_mode", 0);
  double scale = onnx_float(c, "scale", 0), cap = onnx_float(c, "softcap", 0);
  double root = sqrt(scale > 0 ? scale : 1 / sqrt((double)a->q[3]));
  void *factor = relay_const_float(a->t, root);
  void *s =
      product(a, mul(a->query, factor), true, mul(repeated(a, a->present_key, a->k[1]), factor));
  tn_dtype soft = a->t;
  if (onnx_node_attr(c, "softmax_precision"))
    TN_TRYP(onnx_dtype((int32_t)onnx_int(c, "softmax_precision", 1), "softmax_precision", &soft));
  *shown = s;
  if (cap > 0 && s) {
    void *limit = relay_const_float(a->t, cap);
    s = mul(onnx_unary("tanh", onnx_binary("divide", s, limit)), limit);
  }
  if (stage == 1) *shown = s;
  s = masked(a, s);
  if (stage == 2) *shown = s;
  void *p = s ? onnx_cast(softmax(onnx_cast(s, soft), soft), a->t) : NULL;
  if (stage == 3) *shown = p;
  return p;
}

static void *attend(onnx_ctx *c) {
  attention a = {.c = c};
  void *shown;
  TN_TRYP(read_operands(&a));
  void *p = probabilities(&a, &shown);
  void *y = p ? product(&a, p, false, repeated(&a, a.present_value, a.k[1])) : NULL;
  if (y && onnx_rank(c, 0) == 3)
    y = onnx_reshape(swap_axes(y), (int64_t[]){a.q[0], a.q[2], a.q[1] * a.v[3]}, 3);
  return y && shown ? relay_tuple(tn_arr_of(4, y, a.present_key, a.present_value, shown)) : NULL;
}

static const onnx_row rows[] = {
    {"RMSNormalization", rms_norm, 2, 2},
    {"LpNormalization", lp_norm, 1, 1},
    {"Swish", swish, 1, 1},
    {"RotaryEmbedding", rotary, 3, 4},
    {"Attention", attend, 3, 7},
};
const onnx_table onnx_transformer = {rows, TN_COUNT(rows), ""};
