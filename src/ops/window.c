/* Windows that slide over axes: extents, paddings. */
#include "ir/imm.h"
#include "ops/ops.h"

tn_expr *ops_window_extent(tn_expr *x, tn_expr *kernel, int64_t pad, int64_t stride,
                           int64_t dilation) {
  tn_expr *reach, *room;
  int64_t spare, n, k;
  if (!x || !kernel) return NULL;
  TN_GETP(reach, relay_dim_plus(relay_dim_times(relay_dim_plus(kernel, -1), dilation), 1));
  TN_GETP(room, relay_dim_sub(relay_dim_plus(x, pad), reach));
  TN_CHECKP(!tir_as_int((tn_obj *)room, &spare) || spare >= 0 || !tir_as_int((tn_obj *)x, &n) ||
                !tir_as_int((tn_obj *)reach, &k),
            ValueError, NULL,
            "a window of %lld elements does not fit into an extent of %lld with %lld of padding",
            (long long)k, (long long)n, (long long)pad);
  relay_take_least(room, 0);
  return relay_dim_plus(relay_dim_over(room, stride), 1);
}

int ops_check_32_bits(const char *what, int64_t n) {
  TN_CHECK(n >= -INT32_MAX && n <= INT32_MAX, ValueError, NULL,
           "%s: expected numbers of 32 bits, got %lld", what, (long long)n);
  return 0;
}

int ops_get_pads(const tn_arr *padding, int n, int64_t *before, int64_t *after, const char *what) {
  int64_t len = padding->len;
  TN_CHECK(len == 1 || len == n || len == 2 * n, ValueError, NULL,
           "%s: padding must have 1, %d or %d numbers, got %lld", what, n, 2 * n, (long long)len);
  for (int i = 0; i < n; ++i) {
    before[i] = relay_listed(padding, len == 1 ? 0 : i);
    after[i] = relay_listed(padding, len == 1 ? 0 : len == n ? i : n + i);
    TN_TRY(ops_check_32_bits("padding", before[i]) || ops_check_32_bits("padding", after[i]));
  }
  return 0;
}

int ops_get_steps(const tn_arr *steps, int n, int64_t *out, const char *what) {
  TN_CHECK(steps->len == 1 || steps->len == n, ValueError, NULL,
           "%s: expected 1 or %d numbers, got %lld", what, n, (long long)steps->len);
  for (int i = 0; i < n; ++i) {
    out[i] = relay_listed(steps, steps->len == 1 ? 0 : i);
    TN_CHECK(out[i] > 0, ValueError, NULL, "%s must be positive", what);
    TN_TRY(ops_check_32_bits(what, out[i]));
  }
  return 0;
}

typedef struct {
  tn_Tensor *t;
  const int64_t *before, *after;
  tn_expr *value;
} padded;

static int64_t at(const int64_t *pads, int64_t i) { return pads ? pads[i] : 0; }

static tn_expr *element(void *ctx, tn_arr *indices) {
  const padded *p = ctx;
  tn_expr *inside = tir_bool(true);
  TN_VEC(index);
  for (int64_t i = 0; i < indices->len; ++i) {
    tn_expr *x = te_index(indices, i), *begin = tir_const_int(x->dtype, at(p->before, i));
    if (at(p->before, i)) inside = tir_and(inside, tir_ge(x, begin));
    if (at(p->after, i)) inside = tir_and(inside, tir_lt(x, tir_add(te_extent(p->t, i), begin)));
    TN_TRYP(tn_vec_push_obj(&index, tir_sub(x, begin)));
  }
  return tir_if_then_else(inside, te_at(p->t, tn_arr_from(&index)), p->value, NULL);
}

tn_Tensor *ops_pad(tn_Tensor *t, const int64_t *before, const int64_t *after, tn_expr *value,
                   const char *name) {
  TN_VEC(shape);
  bool any = false;
  for (int64_t i = 0; i < t->shape->len; ++i) {
    int64_t more = at(before, i) + at(after, i);
    any = any || at(before, i) || at(after, i);
    tn_expr *extent = te_extent(t, i);
    TN_TRYP(tn_vec_push_obj(&shape, tir_add(extent, tir_const_int(extent->dtype, more))));
  }
  if (!any) return t;
  padded p = {t, before, after, value};
  return te_compute(tn_arr_from(&shape), element, &p, name, "injective,pad");
}
