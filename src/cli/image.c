/* From images to tensors: which dimension is what, resizing, scaling. */
#include "cli/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "cli/png.h"
#include "object/dtype.h"
#include "runtime/tensor/float16.h"

/* ---- options ---- */

static int read_list(const cli_args *a, const char *option, double *out, int *n) {
  const char *at = cli_get(a, option, NULL);
  for (*n = 0; at && *at; at += *at == ',') {
    char *end;
    double v = strtod(at, &end);
    TN_CHECK(end != at && (*end == ',' || !*end) && isfinite(v) && *n < CLI_MAX_CHANNELS,
             ValueError, NULL,
             "tenon run: --%s: expected a number, or one for each channel as 0.5,0.5,0.5; got %s",
             option, cli_get(a, option, ""));
    out[(*n)++] = v;
    at = end;
  }
  return 0;
}

int cli_image_options_read(const cli_args *a, cli_image_options *out) {
  int nscale;
  double scale[CLI_MAX_CHANNELS] = {-1};
  *out = (cli_image_options){.resize = cli_has(a, "resize")};
  TN_TRY(read_list(a, "scale", scale, &nscale));
  TN_TRY(read_list(a, "mean", out->mean, &out->nmean));
  TN_TRY(read_list(a, "std", out->std, &out->nstd));
  TN_CHECK(!cli_has(a, "scale") || (nscale == 1 && scale[0] > 0), ValueError, NULL,
           "tenon run: --scale: expected one number above 0, got %s", cli_get(a, "scale", ""));
  for (int i = 0; i < out->nstd; ++i)
    TN_CHECK(out->std[i] > 0, ValueError, NULL, "tenon run: --std: expected numbers above 0");
  out->scale = scale[0];
  return 0;
}

/* ---- dimensions ---- */

typedef struct {
  int64_t batch, height, width;
  int channels;
  bool last; /* channels are the last dimension */
} place;

/* Which of two dimensions is that of channels: 0, 1, or -1. Where both may be ([3, 8, 3]) it is the
   first; 4 channels are less likely than a height or width of 4. */
static int channels_among(int64_t first, int64_t last) {
  if (first == 1 || first == 3) return 0;
  if (last == 1 || last == 3) return 1;
  return first == 4 ? 0 : last == 4 ? 1 : -1;
}

static bool find_place(const DLTensor *t, place *p) {
  const int64_t *s = t->shape;
  int32_t ndim = t->ndim;
  *p = (place){1, 0, 0, 1, false};
  if (ndim < 2 || ndim > 4) return false;
  if (ndim == 4) p->batch = *s++, --ndim;
  if (ndim == 3) {
    int at = channels_among(s[0], s[2]);
    if (at < 0) return false;
    p->last = at == 1;
    p->channels = (int)s[p->last ? 2 : 0];
    s += !p->last;
  }
  p->height = s[0];
  p->width = s[1];
  return p->height > 0 && p->width > 0;
}

int64_t cli_image_batch(const DLTensor *t) {
  place p;
  return find_place(t, &p) ? p.batch : 0;
}

/* ---- resizing ---- */

/* Weights of the samples from `first` to before `end` for sample i of n, made of `from`: a triangle
   over the samples around its place, as wide as a new sample where the image becomes smaller. */
static void triangle(int64_t from, int64_t n, int64_t i, int64_t *first, int64_t *end, float *w) {
  double step = (double)from / (double)n, reach = step > 1 ? step : 1;
  double centre = ((double)i + 0.5) * step, sum = 0;
  *first = (int64_t)fmax(0, floor(centre - reach));
  *end = (int64_t)fmin((double)from, ceil(centre + reach));
  for (int64_t k = *first; k < *end; ++k) {
    double far = fabs(((double)k + 0.5 - centre) / reach), v = far < 1 ? 1 - far : 0;
    w[k - *first] = (float)v;
    sum += v;
  }
  for (int64_t k = *first; k < *end; ++k) w[k - *first] = (float)((double)w[k - *first] / sum);
}

/* `rows` lines of `from` items of `size` numbers become lines of n items. Items lie `step` numbers
   apart, lines `line` before and `new_line` after. */
typedef struct {
  int64_t rows, from, n, size, step, line, new_line;
} axis;

static int resize_axis(const axis *a, const float *src, float *dst) {
  TN_AUTOFREE float *w = tn_alloc_zero((size_t)a->from + 1, sizeof *w);
  if (!w) return -1;
  for (int64_t i = 0; i < a->n; ++i) {
    int64_t first, end;
    triangle(a->from, a->n, i, &first, &end, w);
    for (int64_t r = 0; r < a->rows; ++r) {
      float *to = dst + r * a->new_line + i * a->step;
      for (int64_t k = first; k < end; ++k)
        for (int64_t j = 0; j < a->size; ++j)
          to[j] += w[k - first] * src[r * a->line + k * a->step + j];
    }
  }
  return 0;
}

static float *zeros(int64_t a, int64_t b, int64_t c) {
  int64_t n;
  if (__builtin_mul_overflow(a, b, &n) || __builtin_mul_overflow(n, c, &n)) n = INT64_MAX;
  return tn_alloc_zero((size_t)n, sizeof(float));
}

/* The samples as numbers, of the extents that the place has. Freed by the caller. */
static float *resized(const cli_image *x, const place *p) {
  int64_t c = x->channels, w = x->width, h = x->height;
  TN_AUTOFREE float *whole = zeros(h, w, c);
  if (!whole) return NULL;
  const uint8_t *samples = (const uint8_t *)x->samples.data;
  for (int64_t i = 0; i < h * w * c; ++i) whole[i] = samples[i];
  if (w == p->width && h == p->height) {
    float *same = whole;
    whole = NULL;
    return same;
  }
  TN_AUTOFREE float *narrow = zeros(h, p->width, c);
  const axis across = {h, w, p->width, c, c, w * c, p->width * c};
  if (!narrow || resize_axis(&across, whole, narrow)) return NULL;
  float *out = zeros(p->height, p->width, c);
  const axis down = {1, h, p->height, p->width * c, p->width * c, 0, 0};
  if (out && resize_axis(&down, narrow, out)) {
    tn_free(out);
    return NULL;
  }
  return out;
}

/* ---- numbers ---- */

static int put_integer(const DLTensor *t, char *at, double v) {
  bool is_signed = t->dtype.code == kDLInt;
  int bits = t->dtype.bits;
  double low = is_signed ? -ldexp(1, bits - 1) : 0, high = ldexp(1, is_signed ? bits - 1 : bits);
  v = nearbyint(v);
  TN_CHECK(v >= low && v < high, ValueError, NULL,
           "a sample becomes %.9g, which is outside of %s (see --scale and --mean)", v,
           TN_DT(t->dtype));
  uint64_t word = v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
  memcpy(at, &word, (size_t)bits / 8); /* little-endian, as every supported host */
  return 0;
}

/* Element i of the tensor. */
static int put(const DLTensor *t, int64_t i, double v) {
  int bits = t->dtype.bits, code = t->dtype.code;
  char *at = (char *)t->data + t->byte_offset + i * (bits / 8);
  float single = (float)v;
  uint16_t half = tn_float_to_f16(single);
  if (code == kDLFloat && bits == 32) memcpy(at, &single, sizeof single);
  else if (code == kDLFloat && bits == 64) memcpy(at, &v, sizeof v);
  else if (code == kDLFloat && bits == 16) memcpy(at, &half, sizeof half);
  else if ((code == kDLInt || code == kDLUInt) && bits >= 8) return put_integer(t, at, v);
  else return TN_RAISE(TypeError, NULL, "images do not become tensors of %s", TN_DT(t->dtype));
  return 0;
}

static int put_samples(const cli_image_options *o, const float *samples, const place *p,
                       const DLTensor *t, int64_t image) {
  double scale = o->scale > 0 ? o->scale : t->dtype.code == kDLFloat ? 1.0 / 255 : 1;
  int64_t pixels = p->height * p->width, c = p->channels;
  for (int64_t k = 0; k < c; ++k) {
    double mean = o->nmean ? o->mean[o->nmean > 1 ? k : 0] : 0;
    double std = o->nstd ? o->std[o->nstd > 1 ? k : 0] : 1;
    for (int64_t i = 0; i < pixels; ++i) {
      int64_t at = image * pixels * c + (p->last ? i * c + k : k * pixels + i);
      TN_TRY(put(t, at, ((double)samples[i * c + k] * scale - mean) / std));
    }
  }
  return 0;
}

static int check_extents(const cli_image_options *o, const char *path, const char *name,
                         const cli_image *x, const place *p) {
  TN_CHECK(o->resize || (x->width == p->width && x->height == p->height), ValueError, NULL,
           "%s: an image of %lld x %lld, the input %s takes %lld x %lld (--resize makes it fit)",
           path, (long long)x->width, (long long)x->height, name, (long long)p->width,
           (long long)p->height);
  for (int i = 0; i < 2; ++i) {
    int n = i ? o->nstd : o->nmean;
    TN_CHECK(n < 2 || n == p->channels, ValueError, NULL,
             "tenon run: --%s: %d numbers, the input %s has %d channels", i ? "std" : "mean", n,
             name, p->channels);
  }
  return 0;
}

static int put_image(const cli_image_options *o, const char *path, const cli_image *x,
                     const char *name, const place *p, const DLTensor *t, int64_t i) {
  TN_TRY(check_extents(o, path, name, x, p));
  TN_AUTOFREE float *samples = resized(x, p);
  if (!samples) return -1;
  return put_samples(o, samples, p, t, i);
}

int cli_image_put(const cli_image_options *o, const char *path, const void *data, size_t n,
                  const char *name, const DLTensor *t, int64_t i) {
  place p;
  cli_image x;
  TN_CHECK(find_place(t, &p) && i < p.batch, ValueError, NULL,
           "%s: the input %s does not take an image: expected [H, W], [C, H, W] or [H, W, C] with "
           "1, 3 or 4 channels, or a batch of such",
           path, name);
  int err = cli_png_read(path, data, n, p.channels, &x);
  if (!err) err = put_image(o, path, &x, name, &p, t, i);
  tn_buf_fini(&x.samples);
  return err;
}
