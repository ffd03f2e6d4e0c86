/* FakeQuantizationToInteger: what becomes of a quantize, see fake_quantization.c. */
#include <math.h>

#include "base/error.h"
#include "ir/imm.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/transforms/fake_quantization.h"

/* The quanta that the result is wanted in. */
typedef struct {
  void *scale, *zero;
  double s, z;
  tn_dtype to;
} wanted;

static bool single8(const void *e, fq_view *v, const wanted *w) {
  return fq_view_of(e, v) && v->one && tn_dtype_eq(v->type->dtype, w->to) && w->to.bits == 8;
}

/* ---- requantize ---- */

/* max(x, zero point) says nothing where the result cannot be below its own zero point. */
static void *without_relu(const fq_view *v, const wanted *w) {
  double floor;
  const tn_RelayCall *c = relay_as_call(v->x, "maximum");
  double least = ir_is_uint(w->to) ? 0 : -ldexp(1, w->to.bits - 1);
  bool same = c && w->z == least && relay_as_scalar(relay_arg(c, 1), &floor) && floor == v->z;
  return same ? relay_arg(c, 0) : v->x;
}

static void *requantized(const fq_view *v, const wanted *w) {
  if (v->one && v->s == w->s && v->z == w->z && tn_dtype_eq(v->type->dtype, w->to)) return v->x;
  /* what it replaces was computed in floats */
  void *a = relay_attrs("qnn.requantize", 3, "axis", tn_any_int(v->one ? -1 : v->axis),
                        "compute_dtype", tn_any_cstr("float32"), "out_dtype", tn_any_dtype(w->to));
  return a ? relay_call("qnn.requantize", a, 5, without_relu(v, w), v->scale, v->zero, w->scale,
                        w->zero)
           : NULL;
}

/* ---- operators that need to know the quanta of their result ---- */

/* The operator for quantized arguments that the row names: arguments, scale and zero point of each,
   then those of the result. */
static void *final_by_row(const tn_RelayCall *c, const wanted *w) {
  const relay_op_row *row = relay_op_row_of(relay_op_of(c));
  void *attrs;
  fq_view v;
  TN_VEC(args);
  if (!row || !row->quantized) return NULL;
  for (int64_t i = 0; i < c->args->len; ++i)
    if (!single8(relay_arg(c, i), &v, w)) return NULL;
  for (int64_t i = 0; i < c->args->len && fq_view_of(relay_arg(c, i), &v); ++i)
    TN_TRYP(tn_vec_push_obj(&args, v.x));
  for (int64_t i = 0; i < c->args->len && fq_view_of(relay_arg(c, i), &v); ++i)
    TN_TRYP(tn_vec_push_obj(&args, v.scale) || tn_vec_push_obj(&args, v.zero));
  TN_TRYP(tn_vec_push_obj(&args, w->scale) || tn_vec_push_obj(&args, w->zero));
  attrs = relay_attrs_like(row->quantized, c->attrs);
  if (!attrs && tn_error_pending()) return NULL;
  return relay_call_args(row->quantized, attrs, tn_arr_from(&args));
}

/* As what it replaces: each part is rounded as floats are. */
static void *final_concatenate(const tn_RelayCall *c, const wanted *w) {
  TN_VEC(parts);
  fq_view v;
  const tn_RelayTuple *t = TN_AS(RelayTuple, relay_arg(c, 0));
  for (int64_t i = 0; t && i < t->fields->len; ++i) {
    if (!single8(tn_arr_obj(t->fields, i), &v, w)) return NULL;
    TN_TRYP(tn_vec_push_obj(&parts, requantized(&v, w)));
  }
  return t ? relay_call("concatenate", c->attrs, 1, relay_tuple(tn_arr_from(&parts))) : NULL;
}

static void *final_of(const void *e, const wanted *w) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  if (!c || !relay_called_op(c)) return NULL;
  return relay_as_call(c, "concatenate") ? final_concatenate(c, w) : final_by_row(c, w);
}

/* ---- cut off before it is quantized ---- */

/* relu and clip of what is computed in the quanta of the result are maxima and minima there. */
static void *cut(const tn_RelayCall *c, void *x, const wanted *w) {
  if (relay_as_call(c, "nn.relu"))
    return relay_binary("maximum", x, relay_const_float(w->to, w->z));
  double low = nearbyint(relay_attr_float(c->attrs, "a_min", 0) / w->s) + w->z,
         high = nearbyint(relay_attr_float(c->attrs, "a_max", 0) / w->s) + w->z;
  double least = ir_is_uint(w->to) ? 0 : -128;
  low = fmax(least, fmin(least + 255, low));
  high = fmax(least, fmin(least + 255, high));
  void *a = relay_attrs("clip", 2, "a_min", tn_any_float(low), "a_max", tn_any_float(high));
  return a && x ? relay_call("clip", a, 1, x) : NULL;
}

static void *final_or_cut(const void *e, const wanted *w) {
  void *made = final_of(e, w);
  if (made || tn_error_pending()) return made;
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  if (!relay_as_call(c, "nn.relu") && !relay_as_call(c, "clip")) return NULL;
  made = final_of(relay_arg(c, 0), w);
  return made ? cut(c, made, w) : NULL;
}

void *fq_finish(const tn_RelayCall *q) {
  fq_view v;
  const tn_TensorType *t = relay_known_type(q);
  wanted w = {.scale = relay_arg(q, 1), .zero = relay_arg(q, 2)};
  if (!t || !relay_uniform(w.scale, &w.s) || !relay_uniform(w.zero, &w.z) || !(w.s > 0))
    return NULL;
  w.to = t->dtype;
  if (fq_view_of(relay_arg(q, 0), &v)) {
    bool small = v.type->dtype.bits <= 8 || tn_dtype_eq(v.type->dtype, TN_I32);
    return small && ir_is_integral(v.type->dtype) && w.to.bits <= 16 ? requantized(&v, &w) : NULL;
  }
  return final_or_cut(relay_arg(q, 0), &w);
}
