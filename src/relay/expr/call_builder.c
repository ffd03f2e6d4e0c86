/* Small calls that several passes and operators make, see call_builder.h. */
#include "relay/expr/call_builder.h"

void *relay_binary(const char *op, void *a, void *b) {
  return a && b ? relay_call(op, NULL, 2, a, b) : NULL;
}

void *relay_cast(void *e, tn_dtype t) {
  return e ? relay_call("cast", relay_attrs("cast", 1, "dtype", tn_any_dtype(t)), 1, e) : NULL;
}

void *relay_reshape(void *e, const tn_arr *shape) {
  bool empty = false;
  if (!e || !shape) return NULL;
  for (int64_t i = 0; i < shape->len; ++i) empty = empty || relay_int_is(shape, i, 0);
  void *attrs = relay_attrs("reshape", 2, "newshape", tn_any_obj(shape), "allowzero",
                            tn_any_bool(empty)); /* else 0 copies an extent */
  return relay_call("reshape", attrs, 1, e);
}

void *relay_spread(void *e, int64_t after) {
  if (!e || after <= 0) return e;
  void *attrs =
      relay_attrs("expand_dims", 2, "axis", tn_any_int(1), "num_newaxis", tn_any_int(after));
  return relay_call("expand_dims", attrs, 1, e);
}

void *relay_concatenate(tn_arr *parts, int64_t axis) {
  void *attrs = relay_attrs("concatenate", 1, "axis", tn_any_int(axis));
  return parts ? relay_call("concatenate", attrs, 1, relay_tuple(parts)) : NULL;
}
