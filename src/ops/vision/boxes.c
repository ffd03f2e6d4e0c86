/* What operators on boxes share: lists of numbers as attributes, areas of two boxes. */
#include "ops/vision/boxes.h"

#include <math.h>

#include "ir/imm.h"

/* Number i of a list of constants: false where it is none. */
static bool number(const tn_arr *list, int64_t i, double *out) {
  const tn_FloatImm *x = i < list->len ? TN_AS(FloatImm, tn_arr_obj(list, i)) : NULL;
  int64_t whole;
  if (x) *out = x->value;
  else if (relay_known_int(list, i, &whole)) *out = (double)whole;
  else return false;
  return true;
}

int ops_box_numbers(const relay_rel *r, const char *what, const tn_arr *list, int64_t least,
                    int64_t most) {
  double x;
  RELAY_CHECK(r, list->len >= least && (!most || list->len <= most),
              "%s: expected %lld numbers, got %lld", what, (long long)least, (long long)list->len);
  for (int64_t i = 0; i < list->len; ++i)
    RELAY_CHECK(r, number(list, i, &x) && isfinite(x), "%s: element %lld is not a finite number",
                what, (long long)i);
  return 0;
}

double ops_box_number(const tn_arr *list, int64_t i) {
  double x = 0;
  (void)number(list, i, &x);
  return x;
}

int ops_box_areas(ops_box_side side, const void *ctx, tn_expr *i, tn_expr *j, tn_expr **shared,
                  tn_expr **both) {
  tn_expr *area_i = NULL, *area_j = NULL, *common;
  for (int axis = 0; axis < 2; ++axis) {
    tn_expr *i0, *i1, *j0, *j1;
    side(ctx, i, axis, &i0, &i1);
    side(ctx, j, axis, &j0, &j1);
    TN_GET(common, tir_sub(tir_min(i1, j1), tir_max(i0, j0)));
    common = tir_max(common, tir_zero(common->dtype));
    *shared = axis ? tir_mul(*shared, common) : common;
    area_i = axis ? tir_mul(area_i, tir_sub(i1, i0)) : tir_sub(i1, i0);
    area_j = axis ? tir_mul(area_j, tir_sub(j1, j0)) : tir_sub(j1, j0);
  }
  TN_GET(*both, tir_sub(tir_add(area_i, area_j), *shared));
  return 0;
}
