/* Operators of two tensors, element by element with numpy's broadcasting: one row each.

     %2 = add(%0, %1)    Tensor[(2, 1), float32], Tensor[(3,), float32] -> Tensor[(2, 3), float32]
 */
#include "ops/ops.h"

/* ---- values ---- */

/* row->which is the node: TN_TI_Add, ... */
static tn_expr *node(const relay_op_row *row, const void *attrs, tn_expr *const *x) {
  (void)attrs;
  return tir_binary((uint32_t)row->which, x[0], x[1], NULL);
}

static tn_expr *truth(tn_expr *x) { return tir_cast(ir_with_lanes(TN_BOOL1, 1), x, NULL); }

#define ELEMENT(name, expression)                                                                  \
  static tn_expr *name(const relay_op_row *row, const void *attrs, tn_expr *const *args) {         \
    (void)row, (void)attrs;                                                                        \
    tn_expr *a = args[0], *b = args[1];                                                            \
    return expression;                                                                             \
  }
ELEMENT(bit_and, tir_bitwise(TIR_OP_bitwise_and, a, b, NULL))
ELEMENT(bit_or, tir_bitwise(TIR_OP_bitwise_or, a, b, NULL))
ELEMENT(bit_xor, tir_bitwise(TIR_OP_bitwise_xor, a, b, NULL))
ELEMENT(left_shift, tir_shift(TIR_OP_shift_left, a, b, NULL))
ELEMENT(right_shift, tir_shift(TIR_OP_shift_right, a, b, NULL))
ELEMENT(logical_xor, tir_ne(a, b))
/* Both sides are read in any case: no branch, which vectors do not have. */
ELEMENT(logical_and, tir_bitwise(TIR_OP_bitwise_and, truth(a), truth(b), NULL))
ELEMENT(logical_or, tir_bitwise(TIR_OP_bitwise_or, truth(a), truth(b), NULL))
#undef ELEMENT

/* Floats: divided and rounded down; integers have their own node. */
static tn_expr *floor_divide(const relay_op_row *row, const void *attrs, tn_expr *const *x) {
  (void)row, (void)attrs;
  if (ir_is_integral(x[0]->dtype)) return tir_floordiv(x[0], x[1]);
  return tir_rounding(TIR_OP_floor, tir_div(x[0], x[1]), NULL);
}

static tn_expr *trunc_divide(const relay_op_row *row, const void *attrs, tn_expr *const *x) {
  (void)row, (void)attrs;
  if (ir_is_integral(x[0]->dtype)) return tir_truncdiv(x[0], x[1], NULL);
  return tir_rounding(TIR_OP_trunc, tir_div(x[0], x[1]), NULL);
}

/* Remainder with the sign of a, as the machine's. */
static tn_expr *remainder_(const relay_op_row *row, const void *attrs, tn_expr *const *x) {
  (void)row, (void)attrs;
  if (ir_is_integral(x[0]->dtype)) return tir_truncmod(x[0], x[1], NULL);
  return tir_float_binary(TIR_OP_fmod, x[0], x[1], NULL);
}

static tn_expr *power(const relay_op_row *row, const void *attrs, tn_expr *const *x) {
  (void)row, (void)attrs;
  return tir_power(x[0], x[1], NULL);
}

/* ---- rows ---- */

#define ROW(name_, element_, which_, flags_, rel_name_, rel_, level_, grads_, ...)                 \
  {                                                                                                \
    .name = name_, .inputs = "lhs rhs", .level = level_, .flags = flags_,                          \
    .pattern = RELAY_BROADCAST, .rel_name = rel_name_, .rel = rel_, .compute = ops_elementwise,    \
    .element = element_, .shape = relay_shape_broadcast, .which = which_, .grads = grads_,         \
    .doc = __VA_ARGS__                                                                             \
  }
#define BINARY(name, element, level, grads, ...)                                                   \
  ROW(name, element, 0, 0, "Broadcast", relay_rel_broadcast, level, grads, __VA_ARGS__)
#define LOGIC(name, ...)                                                                           \
  ROW(#name, name, 0, RELAY_BOOLS, "Broadcast", relay_rel_broadcast, 4, NULL, __VA_ARGS__)
#define NODE(name, Node, level, grads, ...)                                                        \
  ROW(name, node, TN_TI_##Node, 0, "Broadcast", relay_rel_broadcast, level, grads, __VA_ARGS__)
#define COMPARE(name, Node, ...)                                                                   \
  ROW(name, node, TN_TI_##Node, 0, "BroadcastComp", relay_rel_broadcast_comp, 4, NULL, __VA_ARGS__)
/* what the arguments get, summed up where they were repeated */
#define GRADS(a, b) "(collapse_sum_like(" a ", %a), collapse_sum_like(" b ", %b))"
#define CHOSEN(compare)                                                                            \
  GRADS("where(" compare "(%a, %b), %d, zeros_like(%d))",                                          \
        "where(" compare "(%a, %b), zeros_like(%d), %d)")

static const relay_op_row rows[] = {
    NODE("add", Add, 1, GRADS("%d", "%d"), "a + b with broadcasting", .precision = RELAY_FOLLOWS,
         .range = RELAY_FINITE, .quantized = "qnn.add"),
    NODE("subtract", Sub, 1, GRADS("%d", "negative(%d)"), "a - b with broadcasting",
         .precision = RELAY_FOLLOWS, .range = RELAY_FINITE, .quantized = "qnn.subtract"),
    NODE("multiply", Mul, 1, GRADS("%d * %b", "%d * %a"), "a * b with broadcasting",
         .precision = RELAY_FOLLOWS, .range = RELAY_FINITE, .quantized = "qnn.mul"),
    NODE("divide", Div, 1, GRADS("%d / %b", "negative(%d * %y / %b)"),
         "a / b with broadcasting; integers are divided toward zero", .precision = RELAY_FOLLOWS,
         .range = RELAY_UNBOUNDED),
    BINARY("mod", remainder_, 1, NULL, "remainder of a / b, with the sign of a",
           .range = RELAY_UNBOUNDED),
    BINARY("floor_divide", floor_divide, 1, "((), ())", "a / b rounded down",
           .range = RELAY_UNBOUNDED),
    NODE("floor_mod", FloorMod, 1, NULL, "remainder of floor_divide, with the sign of b",
         .range = RELAY_UNBOUNDED),
    BINARY("trunc_divide", trunc_divide, 1, "((), ())", "a / b rounded toward zero",
           .range = RELAY_UNBOUNDED),
    BINARY("trunc_mod", remainder_, 1, NULL, "remainder of trunc_divide, with the sign of a",
           .range = RELAY_UNBOUNDED),
    BINARY("power", power, 4, GRADS("%d * %b * power(%a, %b - ones_like(%b))", "%d * log(%a) * %y"),
           "a to the power of b", .precision = RELAY_FULL, .range = RELAY_UNBOUNDED),
    NODE("maximum", Max, 4, CHOSEN("greater_equal"), "the larger of a and b",
         .precision = RELAY_FOLLOWS, .range = RELAY_FINITE),
    NODE("minimum", Min, 4, CHOSEN("less_equal"), "the smaller of a and b",
         .precision = RELAY_FOLLOWS, .range = RELAY_FINITE),
    LOGIC(logical_and, "a and b of bool tensors", .range = RELAY_FINITE),
    LOGIC(logical_or, "a or b of bool tensors", .range = RELAY_FINITE),
    LOGIC(logical_xor, "either a or b of bool tensors", .range = RELAY_FINITE),
    BINARY("bitwise_and", bit_and, 4, NULL, "and of the bits of a and b", .range = RELAY_FINITE),
    BINARY("bitwise_or", bit_or, 4, NULL, "or of the bits of a and b", .range = RELAY_FINITE),
    BINARY("bitwise_xor", bit_xor, 4, NULL, "exclusive or of the bits of a and b",
           .range = RELAY_FINITE),
    BINARY("left_shift", left_shift, 4, NULL, "a * 2**b of integers", .range = RELAY_UNBOUNDED),
    BINARY("right_shift", right_shift, 4, NULL, "a / 2**b of integers, rounded down",
           .range = RELAY_UNBOUNDED),
    COMPARE("equal", EQ, "a == b with broadcasting, of type bool", .precision = RELAY_FOLLOWS,
            .range = RELAY_FINITE),
    COMPARE("not_equal", NE, "a != b with broadcasting, of type bool", .precision = RELAY_FOLLOWS,
            .range = RELAY_FINITE),
    COMPARE("less", LT, "a < b with broadcasting, of type bool", .precision = RELAY_FOLLOWS,
            .range = RELAY_FINITE),
    COMPARE("less_equal", LE, "a <= b with broadcasting, of type bool", .precision = RELAY_FOLLOWS,
            .range = RELAY_FINITE),
    COMPARE("greater", GT, "a > b with broadcasting, of type bool", .precision = RELAY_FOLLOWS,
            .range = RELAY_FINITE),
    COMPARE("greater_equal", GE, "a >= b with broadcasting, of type bool",
            .precision = RELAY_FOLLOWS, .range = RELAY_FINITE),
};

RELAY_FAMILY_PLAIN(binary)
