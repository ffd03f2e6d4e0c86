/* Other element types, and limits.

     cast(%x, dtype="int32")                    Tensor[(2, 3), float32] -> Tensor[(2, 3), int32]
     clip(%x, a_min=0f, a_max=6f)               Tensor[(2, 3), float32] -> Tensor[(2, 3), float32]
 */
#include <math.h>

#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_CastAttrs(F, S) F(S, DTYPE, , dtype, 0, "type of the result's elements")
#define TN_FIELDS_ClipAttrs(F, S)                                                                  \
  F(S, F64, , a_min, 0, "least value")                                                             \
  F(S, F64, , a_max, 0, "greatest value")
#define CAST_ATTRS(N)                                                                              \
  N(CastAttrs, Attrs, "relay.attrs.CastAttrs", NODE, TREE, tn_no_hooks, "attributes of cast")      \
  N(ClipAttrs, Attrs, "relay.attrs.ClipAttrs", NODE, TREE, tn_no_hooks, "attributes of clip")
TN_NODES_LOCAL(CAST_ATTRS)

static int cast_relation(relay_rel *r) {
  const tn_CastAttrs *attrs = r->attrs;
  RELAY_TENSOR(data, r, 0);
  return relay_rel_result(r, relay_tensor_type(data->shape, attrs->dtype));
}

static tn_expr *cast_element(const relay_op_row *row, const void *attrs, tn_expr *const *x) {
  (void)row;
  return tir_cast(((const tn_CastAttrs *)attrs)->dtype, x[0], NULL);
}

/* Bits of memory that an element takes: a bool has a byte. */
static int64_t stored_bits(tn_dtype t) { return (int64_t)(ir_is_bool(t) ? 8 : t.bits) * t.lanes; }

static int reinterpret_relation(relay_rel *r) {
  const tn_CastAttrs *attrs = r->attrs;
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, stored_bits(attrs->dtype) == stored_bits(data->dtype),
              "elements of %s cannot be taken as %s: they must have as many bits",
              TN_DT(data->dtype), TN_DT(attrs->dtype));
  return relay_rel_result(r, relay_tensor_type(data->shape, attrs->dtype));
}

static tn_expr *reinterpret_element(const relay_op_row *row, const void *attrs, tn_expr *const *x) {
  tn_dtype t = ((const tn_CastAttrs *)attrs)->dtype;
  (void)row;
  if (ir_is_bool(t) || ir_is_bool(x[0]->dtype)) return tir_cast(t, x[0], NULL);
  return tir_reinterpret(t, x[0], NULL);
}

/* The second argument only gives its type. */
static int cast_like_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(like, r, 1);
  return relay_rel_result(r, relay_tensor_type(data->shape, like->dtype));
}

static tn_expr *cast_like_element(void *ctx, tn_arr *at) {
  const relay_compute *c = ctx;
  return tir_cast(relay_input(c, 1)->dtype, te_at(relay_input(c, 0), at), NULL);
}

static tn_arr *cast_like(const relay_compute *c) {
  return tn_arr_of(1, te_compute(relay_input(c, 0)->shape, cast_like_element, (void *)(uintptr_t)c,
                                 "T_cast", TE_ELEMWISE));
}

/* A limit in the elements' type: beyond what an integer type holds it is the end of that. */
static tn_expr *limit(tn_dtype t, double value, bool low) {
  if (!ir_is_integral(t)) return tir_const_float(t, ir_round_float(value, t));
  double bits = t.bits - (t.code == kDLInt), most = ldexp(1.0, (int)bits) - 1;
  double least = t.code == kDLInt ? -ldexp(1.0, (int)bits) : 0;
  if (value <= least || (low && isnan(value))) return tir_min_value(t);
  if (value >= most || isnan(value)) return tir_max_value(t);
  return tir_const_int(t, (int64_t)(low ? ceil(value) : floor(value)));
}

/* Where the limits are the wrong way round the upper one is the result. */
static tn_expr *clip_element(const relay_op_row *row, const void *attrs, tn_expr *const *x) {
  const tn_ClipAttrs *a = attrs;
  tn_dtype t = x[0]->dtype;
  double low = a->a_min > a->a_max ? a->a_max : a->a_min;
  (void)row;
  return tir_max(tir_min(x[0], limit(t, a->a_max, false)), limit(t, low, a->a_min <= a->a_max));
}

static const relay_op_row rows[] = {
    {.name = "cast",
     .inputs = "data",
     .attrs = &tn_type_CastAttrs,
     .level = 3,
     .pattern = RELAY_ELEMWISE,
     .rel_name = "Cast",
     .rel = cast_relation,
     .compute = ops_elementwise,
     .element = cast_element,
     .shape = relay_shape_same,
     .grads = "(cast_like(%d, %a),)",
     .doc = "the elements converted to another type",
     .precision = RELAY_FULL,
     .scaling = RELAY_SCALES_NOT,
     .range = RELAY_FINITE},
    {.name = "reinterpret",
     .inputs = "data",
     .attrs = &tn_type_CastAttrs,
     .level = 3,
     .pattern = RELAY_ELEMWISE,
     .rel_name = "Reinterpret",
     .rel = reinterpret_relation,
     .compute = ops_elementwise,
     .element = reinterpret_element,
     .shape = relay_shape_same,
     .doc = "the bits of the elements taken as another type",
     .scaling = RELAY_SCALES_NOT,
     .range = RELAY_UNBOUNDED},
    {.name = "cast_like",
     .inputs = "data dtype_like",
     .level = 3,
     .pattern = RELAY_ELEMWISE,
     .rel_name = "CastLike",
     .rel = cast_like_relation,
     .compute = cast_like,
     .shape = relay_shape_same,
     .grads = "(cast_like(%d, %a), ())",
     .doc = "the elements converted to the type of another tensor's",
     .precision = RELAY_FULL,
     .values = RELAY_COMPUTED},
    {.name = "clip",
     .inputs = "a",
     .attrs = &tn_type_ClipAttrs,
     .level = 3,
     .pattern = RELAY_ELEMWISE,
     .rel_name = "Identity",
     .rel = relay_rel_identity,
     .compute = ops_elementwise,
     .element = clip_element,
     .shape = relay_shape_same,
     .grads = "(where(equal(%y, %a), %d, zeros_like(%d)),)",
     .doc = "the elements, those outside of limits replaced by the limit",
     .precision = RELAY_FOLLOWS,
     .scaling = RELAY_SCALES_NOT,
     .range = RELAY_FINITE},
};

RELAY_FAMILY(cast, CAST_ATTRS)
