/* Discrete Fourier transforms, by the sums that define them.

     dft(%re, %im)                        along the last axis
     stft(%x, %window, n_fft=16, ...)     of windows that move along the last axis:
         Tensor[(b, n)], Tensor[(16)] -> Tensor[(b, frequencies, windows, 2)] */
#include <math.h>

#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_DFTAttrs(F, S) F(S, BOOL, , inverse, 0, "back from frequencies?", "False")
#define TN_FIELDS_StftAttrs(F, S)                                                                  \
  F(S, I64, , n_fft, 0, "elements of a transform")                                                 \
  F(S, I64, , hop_length, 0, "distance of windows")                                                \
  F(S, I64, , win_length, 0, "elements of a window; n_fft at most, it stands in the middle")       \
  F(S, BOOL, , normalized, 0, "divide by the root of n_fft?", "False")                             \
  F(S, BOOL, , onesided, 0, "only the frequencies up to half of n_fft?", "True")
#define FOURIER_ATTRS(N)                                                                           \
  N(DFTAttrs, Attrs, "relay.attrs.DFTAttrs", NODE, TREE, tn_no_hooks, "attributes of dft")         \
  N(StftAttrs, Attrs, "relay.attrs.StftAttrs", NODE, TREE, tn_no_hooks, "attributes of stft")
TN_NODES_LOCAL(FOURIER_ATTRS)

/* The angle of element k at frequency f, as an expression of the remainder of their product, which
   is exact: floats of large products are not. */
static tn_expr *angle(tn_dtype t, tn_expr *f, tn_expr *k, tn_expr *n) {
  tn_expr *turn = tir_floormod(tir_mul(tir_cast(TN_I64, f, NULL), tir_cast(TN_I64, k, NULL)),
                               tir_cast(TN_I64, n, NULL));
  tn_expr *part = tir_div(tir_cast(t, turn, NULL), tir_cast(t, n, NULL));
  return tir_mul(part, tir_const_float(t, 2 * acos(-1.0)));
}

static tn_expr *cosine(tn_expr *x) { return x ? tir_call(x->dtype, TIR_OP_cos, 1, x) : NULL; }
static tn_expr *sine(tn_expr *x) { return x ? tir_call(x->dtype, TIR_OP_sin, 1, x) : NULL; }

/* ---- dft ---- */

static int dft_relation(relay_rel *r) {
  RELAY_TENSOR(re, r, 0);
  RELAY_TENSOR(im, r, 1);
  RELAY_CHECK(r, re->shape->len == im->shape->len && re->shape->len > 0,
              "real and imaginary parts must have one shape, got %s and %s", relay_type_text(re),
              relay_type_text(im));
  for (int64_t i = 0; i < re->shape->len; ++i)
    RELAY_CHECK(r, relay_dim_equal(relay_dim(re, i), relay_dim(im, i)) != 0,
                "real and imaginary parts must have one shape, got %s and %s", relay_type_text(re),
                relay_type_text(im));
  RELAY_CHECK(r, ir_is_floating(re->dtype) && tn_dtype_eq(re->dtype, im->dtype),
              "real and imaginary parts must be floats of one type");
  return relay_rel_result(r, relay_tuple_type(tn_arr_of(2, re, re)));
}

typedef struct {
  const relay_compute *c;
  bool imaginary;
  const tn_Tensor *sums;
} part;

static tn_expr *dft_sum(void *ctx, tn_arr *at) {
  const part *p = ctx;
  const tn_DFTAttrs *a = p->c->attrs;
  const tn_Tensor *re = relay_input(p->c, 0), *im = relay_input(p->c, 1);
  int64_t last = at->len - 1;
  tn_expr *n = te_extent(re, last);
  tn_IterVar *k;
  tn_arr *from;
  TN_GETP(k, te_reduce_axis(n, "k"));
  TN_GETP(from, ops_with_index(at, last, k->var));
  tn_expr *x = angle(re->dtype, te_index(at, last), (tn_expr *)k->var, n);
  tn_expr *real = te_at(re, from), *other = te_at(im, from);
  /* (re + i im) (cos x - i sin x); back again the sign of the sine is the other one */
  tn_expr *first = tir_mul(p->imaginary ? other : real, cosine(x));
  tn_expr *second = tir_mul(p->imaginary ? real : other, sine(x));
  bool plus = p->imaginary == a->inverse;
  tn_expr *value = plus ? tir_add(first, second) : tir_sub(first, second);
  return te_reduce(TE_SUM, value, tn_arr_of(1, k), NULL);
}

static tn_expr *dft_scaled(void *ctx, tn_arr *at) {
  const part *p = ctx;
  tn_expr *v = te_at(p->sums, at);
  return v ? tir_div(v, tir_cast(v->dtype, te_extent(p->sums, -1), NULL)) : NULL;
}

static tn_arr *dft(const relay_compute *c) {
  tn_Tensor *out[2];
  for (int i = 0; i < 2; ++i) {
    part p = {.c = c, .imaginary = i == 1};
    TN_GETP(out[i], te_compute(relay_input(c, 0)->shape, dft_sum, &p, i ? "dft_im" : "dft_re", ""));
    p.sums = out[i];
    if (((const tn_DFTAttrs *)c->attrs)->inverse)
      TN_GETP(out[i], te_compute(out[i]->shape, dft_scaled, &p, "T_mean", TE_ELEMWISE));
  }
  return tn_arr_of(2, out[0], out[1]);
}

static tn_arr *dft_shapes(const relay_shape_query *q) {
  return tn_arr_of(2, relay_shape_of(q, 0), relay_shape_of(q, 0));
}

/* ---- stft ---- */

static tn_arr *stft_shape(const tn_StftAttrs *a, const tn_arr *data) {
  TN_VEC(out);
  tn_expr *n = (tn_expr *)tn_arr_obj(data, data->len - 1);
  if (data->len == 2) TN_TRYP(tn_vec_push_obj(&out, tn_arr_obj(data, 0)));
  int64_t frequencies = a->onesided ? a->n_fft / 2 + 1 : a->n_fft;
  TN_TRYP(tn_vec_push_obj(&out, relay_dim_int(frequencies)));
  TN_TRYP(
      tn_vec_push_obj(&out, ops_window_extent(n, relay_dim_int(a->n_fft), 0, a->hop_length, 1)));
  TN_TRYP(tn_vec_push_obj(&out, tir_i32(2)));
  return tn_arr_from(&out);
}

static int stft_relation(relay_rel *r) {
  const tn_StftAttrs *a = r->attrs;
  int64_t extent;
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(window, r, 1);
  RELAY_CHECK(r, data->shape->len == 1 || data->shape->len == 2,
              "data must have 1 or 2 dimensions, got %s", relay_type_text(data));
  RELAY_CHECK(r,
              a->n_fft > 0 && a->n_fft <= INT32_MAX && a->hop_length > 0 && a->win_length > 0 &&
                  a->win_length <= a->n_fft,
              "expected 0 < win_length <= n_fft and 0 < hop_length, got %lld, %lld and %lld",
              (long long)a->win_length, (long long)a->n_fft, (long long)a->hop_length);
  RELAY_CHECK(
      r,
      window->shape->len == 1 && relay_dim_equal(relay_dim(window, 0), tir_i64(a->win_length)) != 0,
      "window must have %lld elements, got %s", (long long)a->win_length, relay_type_text(window));
  RELAY_CHECK(r,
              ir_is_floating(data->dtype) &&
                  (ir_is_integral(window->dtype) || tn_dtype_eq(data->dtype, window->dtype)),
              "data must be floats and window of the same type or integers, got %s and %s",
              TN_DT(data->dtype), TN_DT(window->dtype));
  RELAY_CHECK(r, !tir_as_int((tn_obj *)relay_dim(data, -1), &extent) || extent >= a->n_fft,
              "data %s is shorter than n_fft, %lld", relay_type_text(data), (long long)a->n_fft);
  return relay_rel_result(r, relay_tensor_type(stft_shape(a, data->shape), data->dtype));
}

static tn_expr *stft_sum(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  const tn_StftAttrs *a = c->attrs;
  const tn_Tensor *data = relay_input(c, 0), *window = relay_input(c, 1);
  int64_t row = at->len - 3; /* where the frequency is */
  tn_dtype t = data->dtype;
  tn_IterVar *k;
  TN_VEC(from);
  TN_GETP(k, te_reduce_axis(tir_const_int(TN_I32, a->win_length), "k"));
  tn_expr *place =
      tir_add((tn_expr *)k->var, tir_const_int(TN_I32, (a->n_fft - a->win_length) / 2));
  tn_expr *x = angle(t, te_index(at, row), place, tir_const_int(TN_I32, a->n_fft));
  tn_expr *begin = tir_mul(te_index(at, row + 1), tir_const_int(TN_I32, a->hop_length));
  if (row) TN_TRYP(tn_vec_push_obj(&from, te_index(at, 0)));
  TN_TRYP(tn_vec_push_obj(&from, tir_add(begin, place)));
  tn_expr *v =
      tir_mul(te_at(data, tn_arr_from(&from)), tir_cast(t, te_at_of(window, 1, k->var), NULL));
  if (!v || !x) return NULL;
  if (a->normalized) v = tir_mul(v, tir_const_float(t, 1 / sqrt((double)a->n_fft)));
  tn_expr *real = tir_eq(te_index(at, row + 2), tir_i32(0));
  tn_expr *wave = tir_select(real, cosine(x), tir_sub(tir_zero(t), sine(x)), NULL);
  return te_reduce(TE_SUM, tir_mul(v, wave), tn_arr_of(1, k), NULL);
}

static tn_arr *stft(const relay_compute *c) {
  return tn_arr_of(1, te_compute(stft_shape(c->attrs, relay_input(c, 0)->shape), stft_sum,
                                 (void *)(uintptr_t)c, "T_stft", ""));
}

static tn_arr *stft_shapes(const relay_shape_query *q) {
  return tn_arr_of(1, stft_shape(q->attrs, relay_shape_of(q, 0)));
}

static const relay_op_row rows[] = {
    {.name = "dft",
     .inputs = "re_data im_data",
     .attrs = &tn_type_DFTAttrs,
     .level = 3,
     .pattern = RELAY_OPAQUE,
     .rel_name = "DFT",
     .rel = dft_relation,
     .compute = dft,
     .shape = dft_shapes,
     .doc = "discrete Fourier transform along the last axis"},
    {.name = "stft",
     .inputs = "data window",
     .attrs = &tn_type_StftAttrs,
     .level = 3,
     .pattern = RELAY_OPAQUE,
     .rel_name = "STFT",
     .rel = stft_relation,
     .compute = stft,
     .shape = stft_shapes,
     .doc = "Fourier transforms of windows that move along the last axis"},
};

RELAY_FAMILY(fourier, FOURIER_ATTRS)
