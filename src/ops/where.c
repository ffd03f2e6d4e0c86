/* Choice between two tensors, element by element, with broadcasting.

     where(%condition, %x, %y)     (2, 1), (3), (2, 3) -> (2, 3) */
#include "ir/imm.h"
#include "ops/ops.h"

static int relation(relay_rel *r) {
  RELAY_TENSOR(cond, r, 0);
  RELAY_TENSOR(x, r, 1);
  RELAY_TENSOR(y, r, 2);
  RELAY_CHECK(r, tn_dtype_eq(x->dtype, y->dtype), "x and y must have the same dtype: %s vs %s",
              TN_DT(x->dtype), TN_DT(y->dtype));
  tn_arr *shape;
  TN_GET(shape, relay_broadcast_shapes(r, x, y));
  TN_GET(shape, relay_broadcast_shapes(r, cond, relay_tensor_type(shape, x->dtype)));
  return relay_rel_result(r, relay_tensor_type(shape, x->dtype));
}

static tn_expr *element(const relay_op_row *row, const void *attrs, tn_expr *const *x) {
  (void)row, (void)attrs;
  tn_expr *cond = ir_is_bool(x[0]->dtype) ? x[0] : tir_ne(x[0], tir_zero(x[0]->dtype));
  return tir_select(cond, x[1], x[2], NULL);
}

static const relay_op_row rows[] = {
    {.name = "where",
     .inputs = "condition x y",
     .level = 4,
     .pattern = RELAY_BROADCAST,
     .rel_name = "Where",
     .rel = relation,
     .compute = ops_elementwise,
     .element = element,
     .grads = "((), collapse_sum_like(where(%a, %d, zeros_like(%d)), %b), "
              "collapse_sum_like(where(%a, zeros_like(%d), %d), %c))",
     .doc = "elements of x where the condition holds, of y elsewhere",
     .precision = RELAY_FOLLOWS,
     .range = RELAY_FINITE},
};

RELAY_FAMILY_PLAIN(where)
