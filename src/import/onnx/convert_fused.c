/* Operators of the domain com.microsoft that stand for several: what onnxruntime's optimiser makes
   of transformers (activations, norms after a sum, embeddings, attention over one product).

     BiasGelu(x, b)                 gelu(x + b)
     SkipLayerNormalization(x, s)   layer_norm(x + s)
     Attention(x, w, b, mask)       softmax(q k^T / sqrt(size) + mask) v, of [q, k, v] = x w + b

   The extents of embeddings and attention must be static. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"
#include "relay/infer.h"

static void *add(void *a, void *b) { return onnx_binary("add", a, b); }
static void *mul(void *a, void *b) { return onnx_binary("multiply", a, b); }
static void *typed(void *e) { return e ? relay_infer_new(e) : NULL; }

/* ---- activations ---- */

static void *with_bias(onnx_ctx *c) {
  return onnx_in(c, 1) ? add(onnx_in(c, 0), onnx_in(c, 1)) : onnx_in(c, 0);
}

static void *gelu(onnx_ctx *c) { return onnx_gelu(c, with_bias(c), false); }
static void *fast_gelu(onnx_ctx *c) { return onnx_gelu(c, with_bias(c), true); }

static void *quick_gelu(onnx_ctx *c) {
  void *x = onnx_in(c, 0);
  return mul(x, onnx_unary("sigmoid", mul(x, onnx_scalar(c, 0, onnx_float(c, "alpha", 1.702)))));
}

/* ---- norms ---- */

/* A vector for the last axis of input 0, if it is there. */
static int check_vector(const onnx_ctx *c, int i) {
  const tn_TensorType *x = onnx_in_type(c, 0), *v = onnx_in_type(c, i);
  if (!v || (v->shape->len == 1 && relay_dim_equal(relay_dim(v, 0), relay_dim(x, -1)) != 0))
    return 0;
  return onnx_fail(c, "input %d: expected one number for each element of the last axis of input 0",
                   i),
         -1;
}

/* x + skip + bias, normalised over the last axis; the fourth result is the sum. */
static void *skip_norm(onnx_ctx *c) {
  const int64_t last = -1;
  void *mean, *inverse;
  if (onnx_rank(c, 0) < 2) return onnx_fail(c, "input 0: expected at least two dimensions");
  for (int i = 2; i <= 4; ++i) TN_TRYP(check_vector(c, i));
  void *x = add(onnx_in(c, 0), onnx_in(c, 1));
  if (onnx_in(c, 4)) x = add(x, onnx_in(c, 4));
  void *epsilon = onnx_scalar(c, 2, onnx_float(c, "epsilon", 1e-12));
  void *y = onnx_layer_norm(x, &last, 1, epsilon, onnx_in(c, 2), onnx_in(c, 3), &mean, &inverse);
  return y && c->node->n_output > 1 ? relay_tuple(tn_arr_of(4, y, mean, inverse, x)) : y;
}

/* ---- embeddings ---- */

/* [batch, length] of input 0, and a table of `size` numbers a row; *size 0: it is not known yet. */
static int check_table(const onnx_ctx *c, int i, int64_t *size) {
  int64_t dims[2];
  if (onnx_rank(c, i) != 2) return onnx_fail(c, "input %d: expected two dimensions", i), -1;
  TN_TRY(onnx_known_shape(c, i, dims, 2) < 0);
  if (*size && dims[1] != *size)
    return onnx_fail(c, "input %d: expected %lld numbers a row, got %lld", i, (long long)*size,
                     (long long)dims[1]),
           -1;
  *size = dims[1];
  return dims[0] > 0 ? 0 : (onnx_fail(c, "input %d: the table is empty", i), -1);
}

/* Rows of the table of positions, one for each place of a sequence. */
static void *positions(const onnx_ctx *c, int64_t length) {
  int64_t rows;
  if (onnx_in(c, 8)) return onnx_take(onnx_in(c, 3), onnx_in(c, 8), 0);
  TN_TRYP(onnx_known_extent(c, 3, 0, &rows));
  if (rows < length)
    return onnx_fail(c, "input 3: %lld positions are too few for sequences of %lld",
                     (long long)rows, (long long)length);
  return onnx_part(onnx_in(c, 3), 0, 0, length);
}

/* How many keys of each sequence count: those whose mask is not 0; 0 without a mask. */
static void *mask_index(const onnx_ctx *c, int64_t batch) {
  const int64_t along = 1;
  if (!onnx_in(c, 7)) {
    void *shape = relay_ints(&batch, 1), *zero = relay_const_int(TN_I32, 0);
    void *a =
        shape ? relay_attrs("full", 2, "shape", tn_any_obj(shape), "dtype", tn_any_dtype(TN_I32))
              : NULL;
    return a && zero ? relay_call("full", a, 1, zero) : NULL;
  }
  if (onnx_rank(c, 7) != 2) return onnx_fail(c, "mask: expected two dimensions");
  void *set = onnx_binary("not_equal", onnx_in(c, 7), onnx_scalar(c, 7, 0));
  return set ? onnx_reduce("sum", onnx_cast(set, TN_I32), &along, 1, false) : NULL;
}

/* The sum of rows for words, places and segments, normalised. */
static void *embed_norm(onnx_ctx *c) {
  const int64_t last = -1;
  int64_t ids[2], size = 0;
  void *mean, *inverse;
  if (onnx_rank(c, 0) != 2) return onnx_fail(c, "input_ids: expected two dimensions");
  TN_TRYP(onnx_known_shape(c, 0, ids, 2) < 0);
  TN_TRYP(check_table(c, 2, &size));
  TN_TRYP(check_table(c, 3, &size));
  if (onnx_in(c, 4)) TN_TRYP(check_table(c, 4, &size));
  void *words = onnx_take(onnx_in(c, 2), onnx_in(c, 0), 0);
  void *x = add(words, positions(c, ids[1]));
  if (onnx_in(c, 4)) {
    if (!onnx_in(c, 1)) return onnx_fail(c, "segment_ids are missing for the table of segments");
    x = add(x, onnx_take(onnx_in(c, 4), onnx_in(c, 1), 0));
  }
  if (!x || !onnx_in(c, 5) || !onnx_in(c, 6))
    return x ? onnx_fail(c, "gamma and beta must be given") : NULL;
  void *epsilon = onnx_scalar(c, 5, onnx_float(c, "epsilon", 1e-12));
  void *y = onnx_layer_norm(x, &last, 1, epsilon, onnx_in(c, 5), onnx_in(c, 6), &mean, &inverse);
  if (!y || c->node->n_output < 2) return y;
  void *count = mask_index(c, ids[0]);
  return count ? relay_tuple(tn_arr_of(3, y, count, x)) : NULL;
}

/* ---- attention ---- */

/* Where its inputs are: Attention and QAttention have other orders. */
typedef struct {
  const onnx_ctx *c;
  int mask, past;
  int64_t batch, length, heads, before; /* `before`: keys of the past */
  int64_t size[3];                      /* of all heads: queries, keys, values */
  tn_dtype t;
} fused;

/* How `x w` is cut up: in three equal parts, or as the node says. */
static int read_sizes(fused *a) {
  int64_t n, whole;
  const onnx_ctx *c = a->c;
  const int64_t *given = onnx_ints(c, "qkv_hidden_sizes", &n);
  TN_TRY(onnx_known_extent(c, 1, 1, &whole));
  for (int i = 0; i < 3; ++i) a->size[i] = n ? 0 : whole / 3;
  if (n == 3) memcpy(a->size, given, sizeof a->size);
  int64_t rest = whole;
  for (int i = 0; i < 3; ++i) {
    bool fits = a->size[i] > 0 && a->size[i] <= rest && a->size[i] % a->heads == 0;
    if (!fits)
      return onnx_fail(
                 c,
                 "a weight of %lld columns cannot be divided into queries, keys and values of "
                 "%lld heads",
                 (long long)whole, (long long)a->heads),
             -1;
    rest -= a->size[i];
  }
  if (rest || a->size[0] != a->size[1])
    return onnx_fail(c, "queries and keys differ in size, or columns of the weight are left over"),
           -1;
  return 0;
}

/* The past: [2, batch, heads, before, size of a head]. */
static int read_past(fused *a) {
  int64_t dims[5];
  if (!onnx_in(a->c, a->past)) return 0;
  if (onnx_rank(a->c, a->past) != 5) return onnx_fail(a->c, "past: expected five dimensions"), -1;
  TN_TRY(onnx_known_shape(a->c, a->past, dims, 5) < 0);
  bool fits = dims[0] == 2 && dims[1] == a->batch && dims[2] == a->heads &&
              dims[4] == a->size[1] / a->heads && a->size[1] == a->size[2];
  if (!fits)
    return onnx_fail(a->c,
                     "past: expected the shape (2, %lld, %lld, ?, %lld), and keys and values of "
                     "one size",
                     (long long)a->batch, (long long)a->heads, (long long)(a->size[1] / a->heads)),
           -1;
  a->before = dims[3];
  return 0;
}

static int read_attention(fused *a) {
  const onnx_ctx *c = a->c;
  int64_t x[3], w[2];
  static const char *const others[] = {"do_rotary", "past_present_share_buffer"};
  for (int i = 0; i < TN_COUNT(others); ++i)
    if (onnx_int(c, others[i], 0)) return onnx_fail(c, "%s is not supported", others[i]), -1;
  a->heads = onnx_int(c, "num_heads", 0);
  if (onnx_rank(c, 0) != 3 || onnx_rank(c, 1) != 2)
    return onnx_fail(c, "expected an input of three dimensions and a weight of two"), -1;
  TN_TRY(onnx_known_shape(c, 0, x, 3) < 0);
  TN_TRY(onnx_known_shape(c, 1, w, 2) < 0);
  if (a->heads < 1 || x[0] < 1 || x[1] < 1 || x[2] != w[0])
    return onnx_fail(c,
                     "num_heads %lld, an input of %lld x %lld x %lld and a weight of %lld rows do "
                     "not fit",
                     (long long)a->heads, (long long)x[0], (long long)x[1], (long long)x[2],
                     (long long)w[0]),
           -1;
  a->batch = x[0], a->length = x[1];
  TN_TRY(read_sizes(a));
  return read_past(a);
}

/* Part `i` of [batch, length, sizes of queries, keys, values] as [batch, heads, length, size]. */
static void *heads_of(const fused *a, void *all, int i) {
  int64_t begin = 0;
  for (int k = 0; k < i; ++k) begin += a->size[k];
  const int64_t shape[] = {a->batch, a->length, a->heads, a->size[i] / a->heads};
  const int64_t order[] = {0, 2, 1, 3};
  void *part = all ? onnx_part(all, 2, begin, begin + a->size[i]) : NULL;
  return part ? onnx_transpose(onnx_reshape(part, shape, 4), order, 4) : NULL;
}

/* Keys (0) or values (1), after those of the past. */
static void *after_past(const fused *a, void *now, int which) {
  void *past = onnx_in(a->c, a->past);
  if (!past || !now) return now;
  void *part = onnx_squeeze(onnx_part(past, 0, which, which + 1), 0);
  return part ? onnx_concat(tn_arr_of(2, part, now), 2) : NULL;
}

static void *product(const fused *a, void *x, void *y) {
  if (!(x = typed(x)) || !(y = typed(y))) return NULL;
  return onnx_matmul(a->c, x, relay_tensor_type_of_expr(x), y, relay_tensor_type_of_expr(y));
}

/* Which keys count, from one or two numbers a sequence: those before its end and from its start. */
static void *within(const fused *a, int64_t total, bool starts) {
  void *mask = onnx_in(a->c, a->mask);
  const int64_t column[] = {a->batch, 1, 1, 1};
  tn_dtype t = onnx_in_type(a->c, a->mask)->dtype;
  void *key = onnx_count_along(t, total, 3, 4);
  void *end = onnx_reshape(starts ? onnx_part(mask, 0, 0, a->batch) : mask, column, 4);
  void *inside = onnx_binary("less", key, end);
  if (!starts || !inside) return inside;
  void *start = onnx_reshape(onnx_part(mask, 0, a->batch, 2 * a->batch), column, 4);
  return onnx_binary("logical_and", inside, onnx_binary("greater_equal", key, start));
}

/* Which keys count, of a shape that broadcasts to the scores. *counts NULL: all of them. */
static int read_mask(const fused *a, void **counts) {
  const onnx_ctx *c = a->c;
  int64_t m[3] = {0}, total = a->before + a->length, rank = onnx_rank(c, a->mask);
  *counts = NULL;
  if (!onnx_in(c, a->mask)) return 0;
  if (rank > 3) rank = 0;
  TN_TRY(rank && onnx_known_shape(c, a->mask, m, 3) < 0);
  bool ends = rank == 1 && m[0] == a->batch, both = rank == 1 && m[0] == 2 * a->batch;
  bool none = rank == 2 && m[1] == 1 && total != 1; /* such a mask stands for none */
  bool keys = rank == 2 && m[0] == a->batch && m[1] == total;
  bool pairs = rank == 3 && m[0] == a->batch && m[1] == a->length && m[2] == total;
  if (none) return 0;
  if (!ends && !both && !keys && !pairs)
    return onnx_fail(c,
                     "mask_index: a shape of %lld dimensions (%lld, ...) does not fit %lld "
                     "sequences of %lld queries and %lld keys",
                     (long long)onnx_rank(c, a->mask), (long long)m[0], (long long)a->batch,
                     (long long)a->length, (long long)total),
           -1;
  if (rank == 1) {
    TN_GET(*counts, within(a, total, both));
    return 0;
  }
  void *set = onnx_binary("greater", onnx_in(c, a->mask), onnx_scalar(c, a->mask, 0));
  TN_GET(*counts, set ? onnx_expand_dims(set, 1, pairs ? 1 : 2) : NULL);
  return 0;
}

/* Keys that do not count get a large negative score; those behind the query's place none at all. */
static void *masked(const fused *a, void *scores) {
  const onnx_ctx *c = a->c;
  void *counts, *zero = relay_const_float(a->t, 0);
  int64_t total = a->before + a->length;
  TN_TRYP(read_mask(a, &counts));
  if (counts) {
    void *least = relay_const_float(a->t, onnx_float(c, "mask_filter_value", -10000));
    scores = add(scores, onnx_where(counts, zero, least));
  }
  if (!onnx_int(c, "unidirectional", 0)) return scores;
  void *query = add(onnx_count_along(TN_I32, a->length, 2, 4), relay_const_int(TN_I32, a->before));
  void *seen = onnx_binary("less_equal", onnx_count_along(TN_I32, total, 3, 4), query);
  return seen && scores ? onnx_where(seen, scores, relay_const_float(a->t, -INFINITY)) : NULL;
}

/* @param all x w + b, [batch, length, columns of the weight] @param bias of the scores, or NULL */
static void *attend(const fused *a, void *all, void *bias) {
  const onnx_ctx *c = a->c;
  const int64_t flip[] = {0, 1, 3, 2}, back[] = {0, 2, 1, 3},
                shape[] = {a->batch, a->length, a->size[2]};
  double scale = onnx_float(c, "scale", 0);
  if (scale == 0) scale = 1 / sqrt((double)(a->size[0] / a->heads));
  void *query = heads_of(a, all, 0), *key = after_past(a, heads_of(a, all, 1), 0),
       *value = after_past(a, heads_of(a, all, 2), 1);
  if (!query || !key || !value) return NULL;
  void *scores = product(a, query, onnx_transpose(key, flip, 4));
  scores = scores ? mul(scores, relay_const_float(a->t, scale)) : NULL;
  if (bias) scores = add(scores, bias);
  void *soft = relay_attrs("nn.softmax", 1, "axis", tn_any_int(-1));
  scores = scores ? masked(a, scores) : NULL;
  if (!soft || !scores) return NULL;
  void *y = product(a, relay_call("nn.softmax", soft, 1, scores), value);
  y = y ? onnx_reshape(onnx_transpose(y, back, 4), shape, 3) : NULL;
  if (!y || c->node->n_output < 2) return y;
  if (a->size[1] != a->size[2])
    return onnx_fail(c, "output 1 (present) needs keys and values of one size");
  void *stack = relay_attrs("stack", 1, "axis", tn_any_int(0)),
       *both = relay_tuple(tn_arr_of(2, key, value));
  void *present = stack && both ? relay_call("stack", stack, 1, both) : NULL;
  return present ? relay_tuple(tn_arr_of(2, y, present)) : NULL;
}

static void *attention(onnx_ctx *c) {
  fused a = {.c = c, .mask = 3, .past = 4, .t = onnx_in_type(c, 0)->dtype};
  TN_TRYP(read_attention(&a));
  if (onnx_in(c, 6)) return onnx_fail(c, "past_sequence_length is not supported");
  void *all = onnx_matmul(c, onnx_in(c, 0), onnx_in_type(c, 0), onnx_in(c, 1), onnx_in_type(c, 1));
  return attend(&a, onnx_in(c, 2) ? add(all, onnx_in(c, 2)) : all, onnx_in(c, 5));
}

/* Input i as int32 without its zero point, which is input `zero` or 0. */
static void *centered(const onnx_ctx *c, int i, int zero) {
  void *x = onnx_in(c, i) ? onnx_cast(onnx_in(c, i), TN_I32) : NULL;
  return x && onnx_in(c, zero) ? onnx_binary("subtract", x, onnx_cast(onnx_in(c, zero), TN_I32))
                               : x;
}

/* One number, or one for each column of the weight, as what broadcasts over rows. */
static void *per_column(const onnx_ctx *c, int i) {
  const tn_TensorType *t = onnx_in_type(c, i);
  if (!t || t->shape->len > 1)
    return onnx_fail(c, "input %d: expected one number, or one for each column of the weight", i);
  return t->shape->len == 1 && tir_is_one(relay_dim(t, 0)) ? onnx_reshape(onnx_in(c, i), NULL, 0)
                                                           : onnx_in(c, i);
}

/* Attention of integers: the product is one of int32, the rest is computed with floats. */
static void *quantized_attention(onnx_ctx *c) {
  fused a = {.c = c, .mask = 5, .past = 8, .t = onnx_in_type(c, 2)->dtype};
  TN_TRYP(read_attention(&a));
  void *scale[2] = {per_column(c, 3), per_column(c, 4)};
  for (int i = 6; i <= 7; ++i)
    if (onnx_in(c, i) && !per_column(c, i)) return NULL;
  void *x = centered(c, 0, 6), *w = centered(c, 1, 7);
  if (!scale[0] || !scale[1] || !x || !w) return NULL;
  void *sum = onnx_matmul(c, x, onnx_in_type(c, 0), w, onnx_in_type(c, 1));
  void *all = sum ? mul(onnx_cast(sum, a.t), mul(scale[0], scale[1])) : NULL;
  return attend(&a, add(all, onnx_in(c, 2)), NULL);
}

/* ---- products ---- */

static void *matmul_16(onnx_ctx *c) {
  void *a = onnx_cast(onnx_in(c, 0), TN_I32), *b = onnx_cast(onnx_in(c, 1), TN_I32);
  return a && b ? onnx_matmul(c, a, onnx_in_type(c, 0), b, onnx_in_type(c, 1)) : NULL;
}

/* A list of floats as a constant, 0s where it is not there; as many as `n`. */
static void *float_list(const onnx_ctx *c, const char *name, const int64_t *shape, int64_t rank) {
  const onnx_attr *a = onnx_node_attr(c, name);
  int64_t n = 1;
  for (int64_t i = 0; i < rank; ++i) n *= shape[i]; /* of 31 bits each */
  if (!a) return relay_const_float(TN_F32, 0);
  if ((int64_t)a->n_floats != n)
    return onnx_fail(c, "%s: expected %lld numbers, got %zu", name, (long long)n, a->n_floats);
  tn_tensor *t;
  TN_GETP(t,
          tn_scope_own(tn_tensor_new(shape, (int32_t)rank, TN_F32, (tn_device){kDLCPU, 0}, NULL)));
  memcpy(tn_tensor_dl(t)->data, a->floats, (size_t)n * sizeof(float));
  return relay_constant((tn_NDArray *)t);
}

/* ai.onnx.ml: a row of coefficients for each target. */
static void *regressor(onnx_ctx *c) {
  char text[16];
  int64_t x[2], targets = onnx_int(c, "targets", 1);
  const char *after = onnx_text(c, "post_transform", "NONE", text, sizeof text);
  if (strcmp(after, "NONE") != 0)
    return onnx_fail(c, "post_transform: expected NONE, got %s", after);
  if (onnx_rank(c, 0) != 2) return onnx_fail(c, "expected two dimensions");
  TN_TRYP(onnx_known_extent(c, 0, 1, &x[1]));
  if (targets < 1 || targets > INT32_MAX || x[1] > INT32_MAX)
    return onnx_fail(c, "targets: %lld", (long long)targets);
  const int64_t shape[] = {targets, x[1]};
  void *w = float_list(c, "coefficients", shape, 2), *b = float_list(c, "intercepts", shape, 1);
  if (!onnx_node_attr(c, "coefficients")) return onnx_fail(c, "coefficients are missing");
  void *y = w && b ? relay_call("nn.dense", NULL, 2, onnx_cast(onnx_in(c, 0), TN_F32), w) : NULL;
  return y ? add(y, b) : NULL;
}

static const onnx_row ml_rows[] = {{"LinearRegressor", regressor, 1, 1}};
const onnx_table onnx_ml = {ml_rows, TN_COUNT(ml_rows), "ai.onnx.ml"};

static const onnx_row rows[] = {
    {"Gelu", gelu, 1, 1},
    {"BiasGelu", gelu, 2, 2},
    {"FastGelu", fast_gelu, 1, 2},
    {"QuickGelu", quick_gelu, 1, 1},
    {"SkipLayerNormalization", skip_norm, 3, 5},
    {"EmbedLayerNormalization", embed_norm, 1, 9},
    {"Attention", attention, 2, 7},
    {"QAttention", quantized_attention, 5, 9},
    {"MatMulInteger16", matmul_16, 2, 2},
};
const onnx_table onnx_fused = {rows, TN_COUNT(rows), "com.microsoft"};
