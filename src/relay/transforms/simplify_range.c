/* Rules of SimplifyExpr that follow from the range of integers (see simplify.h):

     clip(%x, a_min=0f, a_max=255f)                      of uint8             -> %x
     cast(cast(clip(%x, a_min=0f, a_max=255f), "uint8"), "int32")  of int32   -> clip(%x, ...)
     argmax(qnn.dequantize(%x, 0.5f, 3))                 of int8              -> argmax(%x) */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "ir/imm.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/transforms/simplify.h"

/* Integers of up to 16 bits, less a zero point that is not far away, are different floats, times a
   scale too. */
enum { MAX_BITS = 16, MAX_ZERO = 1 << 20 };

static bool is_small_int(tn_dtype t) {
  return (ir_is_integral(t) || ir_is_uint(t)) && t.bits <= MAX_BITS && t.bits > 1 && t.lanes == 1;
}

static double least(tn_dtype t) {
  return ir_is_uint(t) ? 0 : -(double)(INT64_C(1) << (t.bits - 1));
}
static double most(tn_dtype t) { return (double)((INT64_C(1) << (t.bits - !ir_is_uint(t))) - 1); }

/* clip to all numbers that the type has -> what is clipped */
static relay_expr *clip_of_range(const tn_RelayCall *c) {
  const tn_TensorType *t = relay_known_type(c);
  if (!t || !is_small_int(t->dtype)) return NULL;
  bool all = relay_attr_float(c->attrs, "a_min", 0) <= least(t->dtype) &&
             relay_attr_float(c->attrs, "a_max", 0) >= most(t->dtype);
  return all ? relay_arg(c, 0) : NULL;
}

/* A cast back from a type that has all the numbers that clip lets through. Floats are left alone:
   their fractions, and NaN, are something else in each type. */
static relay_expr *cast_of_range(const tn_RelayCall *c) {
  const tn_RelayCall *inner = relay_as_call(relay_arg(c, 0), "cast"),
                     *clip = inner ? relay_as_call(relay_arg(inner, 0), "clip") : NULL;
  const tn_TensorType *to = clip ? relay_known_type(c) : NULL,
                      *via = clip ? relay_known_type(inner) : NULL,
                      *from = clip ? relay_known_type(clip) : NULL;
  if (!to || !via || !from || !is_small_int(via->dtype) || !ir_is_integral(from->dtype))
    return NULL;
  double low = relay_attr_float(clip->attrs, "a_min", 0),
         high = relay_attr_float(clip->attrs, "a_max", 0);
  if (low > high || low < least(via->dtype) || high > most(via->dtype)) return NULL;
  relay_expr *x = relay_arg(inner, 0);
  return tn_dtype_eq(from->dtype, to->dtype) ? x : relay_cast(x, to->dtype);
}

/* Which is largest is the same before qnn.dequantize with one scale above 0. */
static relay_expr *order_of_quantized(const tn_RelayCall *c) {
  const tn_RelayCall *d = relay_as_call(relay_arg(c, 0), "qnn.dequantize");
  const tn_TensorType *t = d ? relay_known_type(relay_arg(d, 0)) : NULL,
                      *scale = d ? relay_known_type(relay_arg(d, 1)) : NULL;
  double s, z;
  bool one = scale && scale->shape->len == 0 && relay_uniform(relay_arg(d, 1), &s) && s > 0 &&
             relay_is_moderate(relay_arg(d, 1));
  const tn_TensorType *floats = one ? relay_known_type(d) : NULL;
  bool near = one && relay_uniform(relay_arg(d, 2), &z) && fabs(z) <= MAX_ZERO;
  if (!t || !is_small_int(t->dtype) || !near || !floats || floats->dtype.bits < 32) return NULL;
  return relay_call_args(relay_called_op(c), c->attrs, tn_arr_of(1, relay_arg(d, 0)));
}

const simplify_rule simplify_range_rules[] = {
    {"clip", clip_of_range},        {"cast", cast_of_range},         {"argmax", order_of_quantized},
    {"argmin", order_of_quantized}, {"argsort", order_of_quantized}, {NULL, NULL},
};
