/* Rules of SimplifyExpr for shapes and element types (see simplify.h). */
#include <string.h>

#include "base/error.h"
#include "ir/imm.h"
#include "object/functions.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/transforms/simplify.h"

/* ---- reshape ---- */

/* Does the operator only give its argument another shape? */
static const tn_RelayCall *as_reshaping(const void *e) {
  return RELAY_ASK(values, e) == RELAY_RESHAPED ? TN_AS(RelayCall, e) : NULL;
}

/* reshape(reshape(x)) -> reshape(x), and x itself when it comes back to its own shape */
static relay_expr *reshape_twice(const tn_RelayCall *c) {
  const tn_TensorType *t = relay_known_type(c);
  relay_expr *x = relay_arg(c, 0);
  const tn_RelayCall *inner;
  if (!t || !relay_is_static((const tn_Type *)t)) return NULL;
  while ((inner = as_reshaping(x)) != NULL && relay_known_type(x) &&
         relay_is_static((const tn_Type *)relay_known_type(x)))
    x = relay_arg(inner, 0);
  if (relay_same_type(x, c)) return x;
  return x != relay_arg(c, 0) ? relay_reshape(x, t->shape) : NULL;
}

/* ---- operators that take a shape from another tensor ---- */

static void *shaped(const char *op, const tn_TensorType *t, void *arg) {
  void *attrs = relay_attrs(op, 2, "shape", tn_any_obj(t->shape), "dtype", tn_any_dtype(t->dtype));
  return arg ? relay_call(op, attrs, 1, arg) : relay_call(op, attrs, 0);
}

static const tn_TensorType *static_type(const tn_RelayCall *c) {
  const tn_TensorType *t = relay_known_type(c);
  return t && relay_is_static((const tn_Type *)t) ? t : NULL;
}

static relay_expr *zeros_like(const tn_RelayCall *c) {
  const tn_TensorType *t = static_type(c);
  return t ? shaped("zeros", t, NULL) : NULL;
}
static relay_expr *ones_like(const tn_RelayCall *c) {
  const tn_TensorType *t = static_type(c);
  return t ? shaped("ones", t, NULL) : NULL;
}
static relay_expr *full_like(const tn_RelayCall *c) {
  const tn_TensorType *t = static_type(c);
  return t ? shaped("full", t, relay_arg(c, 1)) : NULL;
}
static relay_expr *broadcast_to_like(const tn_RelayCall *c) {
  const tn_TensorType *t = static_type(c);
  return t ? shaped("broadcast_to", t, relay_arg(c, 0)) : NULL;
}
static relay_expr *reshape_like(const tn_RelayCall *c) {
  const tn_TensorType *t = static_type(c);
  return t ? relay_reshape(relay_arg(c, 0), t->shape) : NULL;
}
static relay_expr *collapse_sum_like(const tn_RelayCall *c) {
  const tn_TensorType *t = static_type(c);
  if (!t) return NULL;
  void *attrs = relay_attrs("collapse_sum_to", 1, "shape", tn_any_obj(t->shape));
  return relay_call("collapse_sum_to", attrs, 1, relay_arg(c, 0));
}

/* ---- cast ---- */

static relay_expr *cast_like(const tn_RelayCall *c) {
  const tn_TensorType *t = relay_known_type(relay_arg(c, 1));
  return t ? relay_cast(relay_arg(c, 0), t->dtype) : NULL;
}

/* Does every number of type `from` survive a cast to `to`? */
static bool holds(tn_dtype to, tn_dtype from) {
  if (from.lanes != 1 || to.lanes != 1) return false;
  if (ir_is_bool(from)) return !ir_is_bool(to);
  if (from.code == to.code && from.code <= kDLFloat) return to.bits >= from.bits && !ir_is_bool(to);
  if (from.code == kDLUInt && to.code == kDLInt) return to.bits > from.bits;
  int exact = to.bits == 64 ? 53 : to.bits == 32 ? 24 : 11; /* bits of a float's mantissa */
  return to.code == kDLFloat && ir_is_integral(from) && from.bits <= exact;
}

/* cast to the type it has; a cast that loses nothing before another one */
static relay_expr *cast(const tn_RelayCall *c) {
  relay_expr *x = relay_arg(c, 0);
  const tn_TensorType *t = relay_known_type(c), *from = relay_known_type(x);
  if (!t || !from) return NULL;
  if (tn_dtype_eq(t->dtype, from->dtype)) return x;
  const tn_RelayCall *inner = relay_as_call(x, "cast");
  const tn_TensorType *first = inner ? relay_known_type(relay_arg(inner, 0)) : NULL;
  if (!first || !holds(from->dtype, first->dtype)) return NULL;
  /* a float that is too large for the integer does not wrap around as a uint32 does */
  bool cut = ir_is_integral(t->dtype) && t->dtype.bits < 64 && ir_is_floating(from->dtype);
  if (cut && ir_is_uint(first->dtype) && first->dtype.bits > 16) return NULL;
  return relay_cast(relay_arg(inner, 0), t->dtype);
}

/* ---- concatenate of the parts of one tensor ---- */

/* Is `e` the elements of `x` from `at` on along `axis`, and all along the others? */
static bool is_slice_from(const void *e, relay_expr **x, int64_t axis, int64_t at) {
  const tn_RelayCall *c = relay_as_call(e, "strided_slice");
  if (!c || relay_attr_obj(c->attrs, "axes") || c->args->len != 1) return false;
  relay_expr *whole = relay_arg(c, 0);
  const tn_arr *strides = relay_attr_obj(c->attrs, "strides"),
               *begin = relay_attr_obj(c->attrs, "begin");
  const tn_TensorType *t = relay_known_type(whole), *own = relay_known_type(c);
  if (!t || !own || !begin || begin->len <= axis || (*x && *x != whole)) return false;
  *x = whole;
  for (int64_t i = 0; strides && i < strides->len; ++i)
    if (relay_listed(strides, i) != 1) return false;
  for (int64_t i = 0; i < t->shape->len; ++i)
    if (i != axis && !relay_ints_same(t->shape, i, own->shape, i)) return false;
  int64_t from, extent;
  if (!relay_known_int(begin, axis, &from) || !relay_known_int(t->shape, axis, &extent))
    return false;
  return (from < 0 ? from + extent : from) == at;
}

/* Is `e` a part of a split of x along `axis` that begins at `at`? Parts may be of several splits,
   and stand beside slices, so that their number does not tell their place. */
static bool is_part(const void *e, relay_expr **x, int64_t axis, int64_t at) {
  const tn_TupleGetItem *item = TN_AS(TupleGetItem, e);
  const tn_RelayCall *c = item ? relay_as_call(item->tuple_value, "split") : NULL;
  const tn_TupleType *all = c ? TN_AS(TupleType, relay_type_of(c)) : NULL;
  if (!all || item->index >= all->fields->len) return false;
  relay_expr *whole = relay_arg(c, 0);
  const tn_TensorType *t = relay_known_type(whole);
  int64_t own = relay_attr_int(c->attrs, "axis", 0);
  if (!t || (own < 0 ? own + t->shape->len : own) != axis || (*x && *x != whole)) return false;
  for (int64_t k = 0, extent; k < item->index; ++k) {
    const tn_TensorType *part = TN_AS(TensorType, tn_arr_obj(all->fields, k));
    if (!part || !relay_known_int(part->shape, axis, &extent)) return false;
    at -= extent;
  }
  if (at != 0) return false;
  *x = whole;
  return true;
}

/* concatenate of all parts of x in their order -> x */
static relay_expr *concatenate_parts(const tn_RelayCall *c) {
  const tn_RelayTuple *parts = TN_AS(RelayTuple, relay_arg(c, 0));
  const tn_TensorType *t = static_type(c);
  relay_expr *x = NULL;
  if (!t || !parts) return NULL;
  int64_t axis = relay_attr_int(c->attrs, "axis", 0), at = 0;
  if (axis < 0) axis += t->shape->len;
  for (int64_t i = 0; i < parts->fields->len; ++i) {
    const void *e = tn_arr_obj(parts->fields, i);
    const tn_TensorType *own = relay_known_type(e);
    int64_t extent;
    if (!own || !(is_part(e, &x, axis, at) || is_slice_from(e, &x, axis, at))) return NULL;
    if (!relay_known_int(own->shape, axis, &extent)) return NULL;
    at += extent;
  }
  return x && relay_same_type(x, c) ? x : NULL;
}

/* strided_slice of everything, forward -> x */
static relay_expr *whole_slice(const tn_RelayCall *c) {
  const tn_arr *strides = relay_attr_obj(c->attrs, "strides");
  relay_expr *x = relay_arg(c, 0);
  for (int64_t i = 0; strides && i < strides->len; ++i)
    if (relay_listed(strides, i) < 0) return NULL;
  return c->args->len == 1 && static_type(c) && relay_same_type(x, c) ? x : NULL;
}

const simplify_rule simplify_shape_rules[] = {
    {"reshape", reshape_twice},
    {"contrib_reverse_reshape", reshape_twice},
    {"zeros_like", zeros_like},
    {"ones_like", ones_like},
    {"full_like", full_like},
    {"broadcast_to_like", broadcast_to_like},
    {"reshape_like", reshape_like},
    {"collapse_sum_like", collapse_sum_like},
    {"cast_like", cast_like},
    {"cast", cast},
    {"concatenate", concatenate_parts},
    {"strided_slice", whole_slice},
    {NULL, NULL},
};
