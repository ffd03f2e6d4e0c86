/* Fourier transforms as products with matrices of cosines and sines, and windows. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "import/onnx/import.h"

enum { MAX_LENGTH = 1 << 15 };

static void *add(void *a, void *b) { return onnx_binary("add", a, b); }
static void *sub(void *a, void *b) { return onnx_binary("subtract", a, b); }
static void *mul(void *a, void *b) { return onnx_binary("multiply", a, b); }
static void *real(tn_dtype t, double v) { return relay_const_float(t, v); }

typedef struct {
  onnx_ctx *c;
  tn_dtype dtype;
  int64_t rank, axis; /* the last axis holds real and imaginary part */
  int64_t dims[ONNX_MAX_NDIM];
  int64_t in, n, out; /* elements that are given, of the transform, of the result */
  bool inverse, onesided;
} dft;

/* Angles 2 * pi * k * t / n for k along the rows and t along the columns. */
static void *angles(const dft *d, int64_t rows, int64_t columns) {
  void *k = onnx_count_along(TN_I64, rows, 0, 2), *t = onnx_count_along(TN_I64, columns, 1, 2);
  void *turn = onnx_binary("floor_mod", mul(k, t), relay_const_int(TN_I64, d->n));
  void *angle =
      mul(onnx_cast(turn, TN_F64), real(TN_F64, 2 * 3.14159265358979323846 / (double)d->n));
  return angle;
}

/* The axis cut off, or with zeros behind it. */
static void *fitted(const dft *d, void *x, int64_t want) {
  TN_VEC(v);
  if (want <= d->in) return want == d->in ? x : onnx_part(x, d->axis, 0, want);
  for (int64_t i = 0; i < d->rank; ++i) {
    int64_t both[2] = {0, i == d->axis ? want - d->in : 0};
    TN_TRYP(tn_vec_push_obj(&v, relay_ints(both, 2)));
  }
  void *a = relay_attrs("nn.pad", 1, "pad_width", tn_any_obj(tn_arr_from(&v)));
  return a && x ? relay_call("nn.pad", a, 2, x, real(d->dtype, 0)) : NULL;
}

/* Real (0) or imaginary (1) part as a matrix, the axis along its rows. */
static void *as_rows(const dft *d, void *x, int part, int64_t n) {
  int64_t axes[ONNX_MAX_NDIM], k = 0;
  for (int64_t i = 0; i < d->rank; ++i)
    if (i != d->axis) axes[k++] = i;
  axes[k] = d->axis;
  x = onnx_transpose(onnx_part(x, d->rank - 1, part, part + 1), axes, d->rank);
  return onnx_reshape(x, (int64_t[]){-1, n}, 2);
}

/* Rows back to the extents of the input, with `out` elements along the axis. */
static void *from_rows(const dft *d, void *x) {
  int64_t dims[ONNX_MAX_NDIM], axes[ONNX_MAX_NDIM], k = 0;
  for (int64_t i = 0; i < d->rank; ++i) {
    if (i == d->axis) continue;
    axes[i] = k;
    dims[k++] = i == d->rank - 1 ? 1 : d->dims[i];
  }
  axes[d->axis] = k;
  dims[k++] = d->out;
  return onnx_transpose(onnx_reshape(x, dims, k), axes, d->rank);
}

static void *times(void *x, void *matrix, tn_dtype t) {
  return relay_call("nn.dense", NULL, 2, x, onnx_cast(matrix, t));
}

/* Weights of the given half of a spectrum: all but the ends occur twice. */
static void *halves(const dft *d, int64_t n, void *m) {
  void *k = onnx_count_along(TN_I64, n, 1, 2), *one = real(TN_F64, 1), *two = real(TN_F64, 2);
  void *end = onnx_binary("equal", k, relay_const_int(TN_I64, 0));
  if (d->n % 2 == 0)
    end =
        onnx_binary("logical_or", end, onnx_binary("equal", k, relay_const_int(TN_I64, d->n / 2)));
  return mul(m, onnx_where(end, one, two));
}

/* From the half of a spectrum to real numbers. */
static void *inverse_real(const dft *d, void *x) {
  int64_t bins = d->n / 2 + 1;
  void *angle = angles(d, d->n, bins), *size = real(TN_F64, 1 / (double)d->n);
  x = fitted(d, x, bins);
  void *c = mul(halves(d, bins, onnx_unary("cos", angle)), size),
       *s = mul(halves(d, bins, onnx_unary("sin", angle)), size);
  return from_rows(d, sub(times(as_rows(d, x, 0, bins), c, d->dtype),
                          times(as_rows(d, x, 1, bins), s, d->dtype)));
}

static void *transform(const dft *d, void *x, bool complex_) {
  void *angle = angles(d, d->out, d->n), *c = onnx_unary("cos", angle),
       *s = onnx_unary("sin", angle);
  if (d->inverse) {
    c = mul(c, real(TN_F64, 1 / (double)d->n));
    s = mul(s, real(TN_F64, -1 / (double)d->n));
  }
  x = fitted(d, x, d->n);
  void *re = as_rows(d, x, 0, d->n), *y = times(re, c, d->dtype),
       *z = onnx_unary("negative", times(re, s, d->dtype));
  if (complex_) {
    void *im = as_rows(d, x, 1, d->n);
    y = add(y, times(im, s, d->dtype));
    z = add(z, times(im, c, d->dtype));
  }
  y = from_rows(d, y), z = from_rows(d, z);
  return y && z ? onnx_concat(tn_arr_of(2, y, z), d->rank - 1) : NULL;
}

/* The transform along one axis; `length` -1: as long as the input. */
static void *dft_along(onnx_ctx *c, int64_t axis, int64_t length) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  dft d = {.c = c,
           .dtype = t->dtype,
           .rank = t->shape->len,
           .axis = axis,
           .inverse = onnx_int(c, "inverse", 0) != 0,
           .onesided = onnx_int(c, "onesided", 0) != 0};
  if (onnx_known_shape(c, 0, d.dims, ONNX_MAX_NDIM) < 0) return NULL;
  int64_t parts = d.dims[d.rank - 1];
  bool to_real = d.inverse && d.onesided;
  d.in = d.dims[axis];
  d.n = length >= 0 ? length : to_real ? 2 * (d.in - 1) : d.in;
  if (d.n < 1 || d.n > MAX_LENGTH || d.in < 1)
    return onnx_fail(c, "a transform of the size %lld", (long long)d.n);
  d.out = d.onesided && !to_real ? d.n / 2 + 1 : d.n;
  if (parts < 1 || parts > 2 || (to_real && parts != 2))
    return onnx_fail(c, "the last dimension of the shape must be 1 or 2 (real, complex)");
  return to_real ? inverse_real(&d, onnx_in(c, 0)) : transform(&d, onnx_in(c, 0), parts == 2);
}

/* The length: input 1, or what the model states of the result where that tells it. */
static int read_length(onnx_ctx *c, int64_t axis, int64_t *length) {
  int64_t n;
  *length = -1;
  if (!onnx_in(c, 1)) return 0;
  if (!onnx_runs(c, 1)) return onnx_values(c, 1, "dft_length", length, 1, &n);
  const tn_arr *shape;
  TN_GET(shape, onnx_expected(c, 1, "dft_length"));
  if (axis >= shape->len) return onnx_fail(c, "the stated extents do not fit"), -1;
  if (onnx_int(c, "onesided", 0) && !onnx_int(c, "inverse", 0))
    return onnx_fail(c, "dft_length must be known while compiling"), -1;
  return *length = onnx_stated_extent(shape, axis), 0;
}

static bool has_shape(const tn_arr *shape, const onnx_ctx *c, int64_t axis, int64_t parts) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  bool same = shape->len == t->shape->len && relay_int_is(shape, shape->len - 1, parts);
  for (int64_t i = 0; same && i + 1 < shape->len; ++i)
    same = i == axis || relay_ints_same(shape, i, t->shape, i);
  return same;
}

/* An axis that is computed at run time chooses one of the results of the stated extents. */
static void *dft_at_run_time(onnx_ctx *c) {
  int64_t rank = onnx_rank(c, 0), length;
  bool real_ = onnx_int(c, "inverse", 0) && onnx_int(c, "onesided", 0);
  const tn_arr *shape = onnx_expected(c, 2, "axis");
  void *y = NULL, *at = onnx_cast(onnx_reshape(onnx_in(c, 2), NULL, 0), TN_I64);
  if (!shape || !at) return NULL;
  for (int64_t j = 0; j + 1 < rank; ++j) {
    TN_TRYP(read_length(c, j, &length));
    int64_t in;
    TN_TRYP(onnx_known_extent(c, 0, j, &in));
    int64_t n = length >= 0 ? length : real_ ? 2 * (in - 1) : in;
    int64_t out = onnx_int(c, "onesided", 0) && !real_ ? n / 2 + 1 : n;
    if (!has_shape(shape, c, j, real_ ? 1 : 2) || !relay_int_is(shape, j, out)) continue;
    void *one,
        *chosen = onnx_binary("logical_or", onnx_binary("equal", at, relay_const_int(TN_I64, j)),
                              onnx_binary("equal", at, relay_const_int(TN_I64, j - rank)));
    TN_GETP(one, dft_along(c, j, length));
    TN_GETP(y, y ? onnx_where(chosen, one, y) : one);
  }
  return y ? y : onnx_fail(c, "no axis gives the stated extents");
}

static void *convert_dft(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0);
  int64_t rank = onnx_rank(c, 0), axis = c->opset < 20 ? onnx_int(c, "axis", 1) : -2, n, length;
  if (rank < 2 || rank > ONNX_MAX_NDIM || !relay_is_static((const tn_Type *)t))
    return onnx_fail(c, "expected a static shape of at least two dimensions");
  if (onnx_runs(c, 2)) return dft_at_run_time(c);
  if (onnx_in(c, 2)) TN_TRYP(onnx_values(c, 2, "axis", &axis, 1, &n));
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank - 1)
    return onnx_fail(c, "axis %lld is out of range", (long long)axis);
  TN_TRYP(read_length(c, axis, &length));
  return dft_along(c, axis, length);
}

/* ---- STFT ---- */

/* Of real signals [batch, length, 1]; windows [frequencies][windows] are turned to the order of
   ONNX. */
static void *stft(onnx_ctx *c) {
  const tn_TensorType *t = onnx_in_type(c, 0), *w = onnx_in_type(c, 2);
  int64_t step, length = -1, n, rank = onnx_rank(c, 0);
  if (!t || rank < 2 || rank > 3 || (rank == 3 && !relay_int_is(t->shape, 2, 1)))
    return onnx_fail(c, "the signal must be real: [batch, length] or [batch, length, 1]");
  TN_TRYP(onnx_values(c, 1, "frame_step", &step, 1, &n));
  if (onnx_in(c, 3)) TN_TRYP(onnx_values(c, 3, "frame_length", &length, 1, &n));
  else if (w && w->shape->len == 1) TN_TRYP(onnx_known_extent(c, 2, 0, &length));
  if (length < 1 || length > MAX_LENGTH || step < 1)
    return onnx_fail(c, "frame_step and frame_length must be positive and known while compiling");
  void *x = onnx_in(c, 0), *weights = onnx_in(c, 2);
  if (rank == 3) x = onnx_reshape(x, (int64_t[]){0, 0}, 2);
  if (!weights) {
    void *shape = relay_attrs("full", 1, "shape", tn_any_obj(relay_ints(&length, 1)));
    weights = shape ? relay_call("full", shape, 1, real(t->dtype, 1)) : NULL;
  }
  int64_t taps = length;
  if (w) TN_TRYP(onnx_known_extent(c, 2, 0, &taps));
  void *a = relay_attrs("stft", 4, "n_fft", tn_any_int(length), "hop_length", tn_any_int(step),
                        "win_length", tn_any_int(taps), "onesided",
                        tn_any_bool(onnx_int(c, "onesided", 1) != 0));
  void *y = a && x && weights ? relay_call("stft", a, 2, x, weights) : NULL;
  return onnx_transpose(y, (int64_t[]){0, 2, 1, 3}, 4);
}

/* ---- windows ---- */

/* a - b * cos(2 pi i / n) + c * cos(4 pi i / n) */
static void *window(onnx_ctx *c) {
  bool hann = strcmp(c->node->op_type, "HannWindow") == 0,
       hamming = strcmp(c->node->op_type, "HammingWindow") == 0;
  const double factors[3][3] = {{0.5, 0.5, 0}, {25.0 / 46, 1 - 25.0 / 46, 0}, {0.42, 0.5, 0.08}};
  const double *f = factors[hann ? 0 : hamming ? 1 : 2];
  int64_t n, count;
  tn_dtype type = TN_F32;
  if (onnx_runs(c, 0)) {
    const tn_arr *shape = onnx_expected(c, 0, "size");
    if (!shape) return NULL;
    n = onnx_stated_extent(shape, 0);
  } else TN_TRYP(onnx_values(c, 0, "size", &n, 1, &count));
  if (n < 1 || n > INT32_MAX) return onnx_fail(c, "a window of the size %lld", (long long)n);
  if (onnx_node_attr(c, "output_datatype"))
    TN_TRYP(onnx_dtype((int32_t)onnx_int(c, "output_datatype", 1), "output_datatype", &type));
  double turn = 2 * 3.14159265358979323846 / (double)(onnx_int(c, "periodic", 1) ? n : n - 1);
  void *i = onnx_count_along(TN_F64, n, 0, 1), *once = mul(i, real(TN_F64, turn));
  void *twice = mul(i, real(TN_F64, 2 * turn));
  void *y = sub(real(TN_F64, f[0]), mul(onnx_unary("cos", once), real(TN_F64, f[1])));
  return onnx_cast(add(y, mul(onnx_unary("cos", twice), real(TN_F64, f[2]))), type);
}

static const onnx_row rows[] = {
    {"DFT", convert_dft, 1, 3},       {"STFT", stft, 2, 4},
    {"HannWindow", window, 1, 1},     {"HammingWindow", window, 1, 1},
    {"BlackmanWindow", window, 1, 1},
};
const onnx_table onnx_signal = {rows, TN_COUNT(rows), ""};
