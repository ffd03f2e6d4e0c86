/* What two boxes have in common. */
#include "ops/vision/boxes.h"

#include "ir/imm.h"

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
