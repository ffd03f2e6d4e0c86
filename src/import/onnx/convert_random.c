/* Random numbers. The key of a node comes from its seed, else from the name of its first result:
   a model gives the same numbers each time it is built and run. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "import/onnx/import.h"

/* A key as random.threefry_key makes it: four words of the seed, no path, no counter, and the place
   of the first bit of the path. */
static void *key_of(uint64_t low, uint64_t high) {
  const int64_t n = 10;
  uint64_t words[10] = {low, high, 0, 0, 0, 0, 0, 0, UINT64_C(1) << 63, 0};
  tn_tensor *t;
  TN_GETP(t, tn_scope_own(
                 tn_tensor_new(&n, 1, tn_dtype_of(kDLUInt, 64, 1), (tn_device){kDLCPU, 0}, NULL)));
  memcpy(tn_tensor_dl(t)->data, words, sizeof words);
  return relay_constant((tn_NDArray *)t);
}

static void *key(const onnx_ctx *c) {
  if (!onnx_node_attr(c, "seed")) {
    const char *name = c->node->n_output ? c->node->output[0] : "";
    return key_of(tn_hash_bytes(name, strlen(name)), 1);
  }
  double seed = trunc(onnx_float(c, "seed", 0));
  if (!(fabs(seed) < 0x1p63)) return onnx_fail(c, "seed: %g is out of range", seed);
  return seed < 0 ? key_of((uint64_t)-seed, 2) : key_of((uint64_t)seed, 0);
}

/* The type of the results from the attribute, else that of input 0, else float32. */
static int read_type(const onnx_ctx *c, tn_dtype *out) {
  const tn_TensorType *like = onnx_in_type(c, 0);
  *out = like ? like->dtype : TN_F32;
  if (!onnx_node_attr(c, "dtype")) return 0;
  return onnx_dtype((int32_t)onnx_int(c, "dtype", 1), c->node->op_type, out);
}

static tn_dtype drawn_type(tn_dtype t) {
  return t.code == kDLFloat && t.bits == 64 ? TN_F64 : TN_F32;
}

/* Numbers of a shape, from a to b or with the mean a and the deviation b; of `t`. */
static void *numbers(const onnx_ctx *c, const char *op, const int64_t *dims, int64_t rank,
                     tn_dtype t, double a, double b) {
  void *shape = relay_ints(dims, rank), *k = key(c);
  void *attrs =
      shape ? relay_attrs(op, 2, "out_shape", tn_any_obj(shape), "out_dtype", tn_any_dtype(t))
            : NULL;
  void *first = relay_const_float(t, a), *second = relay_const_float(t, b);
  if (!k || !attrs || !first || !second) return NULL;
  void *call = relay_call(op, attrs, 3, k, first, second);
  return call ? relay_get_item(call, 1) : NULL;
}

/* RandomNormal, RandomUniform and what takes the shape of an input. */
static void *random_numbers(onnx_ctx *c) {
  bool normal = strncmp(c->node->op_type, "RandomNormal", 12) == 0;
  int64_t dims[ONNX_MAX_NDIM], n;
  tn_dtype t;
  TN_TRYP(read_type(c, &t));
  if (!ir_is_floating(t)) return onnx_fail(c, "dtype: expected floats, got %s", TN_DT(t));
  if (onnx_in(c, 0)) {
    n = onnx_known_shape(c, 0, dims, ONNX_MAX_NDIM);
  } else {
    const int64_t *given = onnx_ints(c, "shape", &n);
    if (!onnx_node_attr(c, "shape") || n > ONNX_MAX_NDIM)
      return onnx_fail(c, "shape is missing or too long");
    if (n) memcpy(dims, given, (size_t)n * sizeof *dims);
  }
  if (n < 0) return NULL;
  double a = normal ? onnx_float(c, "mean", 0) : onnx_float(c, "low", 0);
  double b = normal ? onnx_float(c, "scale", 1) : onnx_float(c, "high", 1);
  void *x = numbers(c, normal ? "random.normal" : "random.uniform", dims, n, drawn_type(t), a, b);
  return x ? onnx_cast(x, t) : NULL;
}

/* 1 as often as input 0 says. */
static void *bernoulli(onnx_ctx *c) {
  int64_t dims[ONNX_MAX_NDIM], n = onnx_known_shape(c, 0, dims, ONNX_MAX_NDIM);
  tn_dtype t, in = onnx_in_type(c, 0) ? onnx_in_type(c, 0)->dtype : TN_F32;
  if (n < 0) return NULL;
  TN_TRYP(read_type(c, &t));
  if (!ir_is_floating(in)) return onnx_fail(c, "expected floats, got %s", TN_DT(in));
  tn_dtype drawn = drawn_type(in);
  void *u = numbers(c, "random.uniform", dims, n, drawn, 0, 1);
  void *one = u ? onnx_binary("less", u, onnx_cast(onnx_in(c, 0), drawn)) : NULL;
  return one ? onnx_cast(one, t) : NULL;
}

/* Indices along the last axis, whose elements are logarithms of weights. */
static void *multinomial(onnx_ctx *c) {
  const int64_t last = -1;
  tn_dtype t = TN_I32;
  const tn_TensorType *x = onnx_in_type(c, 0);
  if (onnx_rank(c, 0) < 1 || !ir_is_floating(x->dtype))
    return onnx_fail(c, "expected floats of at least one dimension");
  if (onnx_node_attr(c, "dtype"))
    TN_TRYP(onnx_dtype((int32_t)onnx_int(c, "dtype", 6), "Multinomial: dtype", &t));
  if (!ir_is_integral(t)) return onnx_fail(c, "dtype: expected integers, got %s", TN_DT(t));
  void *top = onnx_reduce("max", onnx_in(c, 0), &last, 1, true), *k = key(c);
  void *weights = top ? onnx_unary("exp", onnx_binary("subtract", onnx_in(c, 0), top)) : NULL;
  void *attrs = relay_attrs("random.multinomial", 1, "num_samples",
                            tn_any_int(onnx_int(c, "sample_size", 1)));
  if (!weights || !attrs || !k) return NULL;
  void *call = relay_call("random.multinomial", attrs, 2, k, weights);
  return call ? onnx_cast(relay_get_item(call, 1), t) : NULL;
}

static const onnx_row rows[] = {
    {"RandomNormal", random_numbers, 0, 0},
    {"RandomUniform", random_numbers, 0, 0},
    {"RandomNormalLike", random_numbers, 1, 1},
    {"RandomUniformLike", random_numbers, 1, 1},
    {"Bernoulli", bernoulli, 1, 1},
    {"Multinomial", multinomial, 1, 1},
};
const onnx_table onnx_random = {rows, TN_COUNT(rows), ""};
