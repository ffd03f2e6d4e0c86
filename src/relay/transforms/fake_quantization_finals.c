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

static void *final_binary(const tn_RelayCall *c, const wanted *w) {
  fq_view a, b;
  const char *op = relay_called_op(c);
  if (!single8(relay_arg(c, 0), &a, w) || !single8(relay_arg(c, 1), &b, w)) return NULL;
  const char *name = strcmp(op, "add") == 0        ? "qnn.add"
                     : strcmp(op, "subtract") == 0 ? "qnn.subtract"
                                                   : "qnn.mul";
  return relay_call(name, NULL, 8, a.x, b.x, a.scale, a.zero, b.scale, b.zero, w->scale, w->zero);
}

static void *final_unary(const tn_RelayCall *c, const wanted *w) {
  fq_view v;
  const char *op = relay_called_op(c);
  if (!single8(relay_arg(c, 0), &v, w)) return NULL;
  tn_str *name = tn_str_fmt("qnn.%s", strncmp(op, "nn.", 3) == 0 ? op + 3 : op);
  void *own = strcmp(op, "nn.softmax") == 0 ? (void *)c->attrs : NULL;
  return name ? relay_call(tn_cstr(name), own, 5, v.x, v.scale, v.zero, w->scale, w->zero) : NULL;
}

static void *final_avg_pool(const tn_RelayCall *c, const wanted *w) {
  static const char *const names[] = {"pool_size", "strides", "padding", "dilation", "layout"};
  fq_view v;
  if (!single8(relay_arg(c, 0), &v, w)) return NULL;
  void *a = relay_attrs("qnn.avg_pool2d", 3, "pool_size",
                        tn_any_obj(relay_attr_obj(c->attrs, "pool_size")), "ceil_mode",
                        tn_any_bool(relay_attr_int(c->attrs, "ceil_mode", 0)), "count_include_pad",
                        tn_any_bool(relay_attr_int(c->attrs, "count_include_pad", 0)));
  for (int i = 0; a && i < TN_COUNT(names); ++i)
    a = relay_attrs_with(a, names[i], tn_any_obj(relay_attr_obj(c->attrs, names[i])));
  return a ? relay_call("qnn.avg_pool2d", a, 5, v.x, v.scale, v.zero, w->scale, w->zero) : NULL;
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

typedef struct {
  const char *op;
  void *(*final)(const tn_RelayCall *c, const wanted *w);
} final_row;

static const final_row finals[] = {
    {"abs", final_unary},
    {"add", final_binary},
    {"concatenate", final_concatenate},
    {"erf", final_unary},
    {"exp", final_unary},
    {"log", final_unary},
    {"multiply", final_binary},
    {"nn.avg_pool2d", final_avg_pool},
    {"nn.softmax", final_unary},
    {"rsqrt", final_unary},
    {"sigmoid", final_unary},
    {"sqrt", final_unary},
    {"subtract", final_binary},
    {"tanh", final_unary},
};

static void *final_of(const void *e, const wanted *w) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  const char *op = relay_called_op(e);
  for (int i = 0; op && i < TN_COUNT(finals); ++i)
    if (strcmp(op, finals[i].op) == 0) return finals[i].final(c, w);
  return NULL;
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
