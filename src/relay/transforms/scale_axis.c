/* Scales along an axis and layers with weights, see scale_axis.h. */
#include "relay/transforms/scale_axis.h"

#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "ir/imm.h"
#include "object/functions.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/transforms/float_rules.h"

enum { MAX_AXES = 8, MAX_GIVEN = 8 };

/* ---- scales ---- */

/* `e` without its axes of extent 1, but for `axis` (-1: with none left). */
static relay_expr *squeezed(relay_expr *e, int64_t ndim, int64_t axis) {
  int64_t others[MAX_AXES], n = 0;
  for (int64_t i = 0; i < ndim; ++i)
    if (i != axis) others[n++] = i;
  if (n == 0) return e;
  tn_arr *axes;
  TN_GETP(axes, relay_ints(others, n));
  return relay_call("squeeze", relay_attrs("squeeze", 1, "axis", tn_any_obj(axes)), 1, e);
}

/* Is it computed of constants and parameters, one by one? What layers compute changes with every
   call: weights that take it in would have to be multiplied each time. */
static bool is_given(const relay_expr *e, int depth) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  if (!c) return TN_AS(Constant, e) || TN_AS(RelayVar, e);
  if (depth > MAX_GIVEN || relay_op_pattern((const tn_obj *)c->op) > RELAY_INJECTIVE) return false;
  for (int64_t i = 0; i < c->args->len; ++i)
    if (!is_given(relay_arg(c, i), depth + 1)) return false;
  return true;
}

/* Is `e` a scale for tensors of `t`? */
static bool as_scale(relay_expr *e, const tn_TensorType *t, scale *s) {
  int64_t dims[MAX_AXES], axis = -1;
  const tn_TensorType *own = relay_known_type(e);
  int ndim = relay_static_shape(own, dims, MAX_AXES);
  if (!is_given(e, 0)) return false;
  if (ndim < 0 || ndim > t->shape->len || !tn_dtype_eq(own->dtype, t->dtype)) return false;
  for (int i = 0; i < ndim; ++i) {
    if (dims[i] == 1) continue;
    if (axis >= 0) return false;
    axis = i;
  }
  if (axis < 0 && relay_count_elements(t) == 1) return false; /* which is the scale? */
  s->value = squeezed(e, ndim, axis);
  s->axis = axis < 0 ? -1 : axis + t->shape->len - ndim;
  if (TN_AS(Constant, e) && !relay_is_moderate(e)) return false; /* products might not be numbers */
  s->positive = relay_all_positive(e);
  return s->value && (axis < 0 || relay_int_is(t->shape, s->axis, dims[axis]));
}

bool scale_match(const tn_RelayCall *c, relay_expr **x, scale *s) {
  const tn_TensorType *t = relay_known_type(c);
  if (!relay_as_call(c, "multiply") || !t || !ir_is_floating(t->dtype)) return false;
  for (int i = 0; i < 2; ++i) {
    *x = relay_arg(c, i);
    relay_expr *other = relay_arg(c, 1 - i);
    if (relay_same_type(other, c) && !TN_AS(Constant, other)) continue; /* element by element */
    if (!TN_AS(Constant, *x) && relay_same_type(*x, c) && as_scale(other, t, s)) return true;
    if (tn_error_pending()) return false;
  }
  return false;
}

relay_expr *scale_apply(const char *op, relay_expr *e, const scale *s, int64_t axis) {
  const tn_TensorType *t = relay_known_type(e);
  if (!t) return NULL;
  return relay_binary(op, e,
                      s->axis < 0 ? s->value : relay_spread(s->value, t->shape->len - axis - 1));
}

bool scale_is_small(const relay_expr *e, const tn_TensorType *t, const scale *s) {
  int64_t dims[MAX_AXES];
  int ndim = relay_static_shape(relay_known_type(e), dims, MAX_AXES);
  if (ndim < 0) return false;
  if (TN_AS(Constant, e)) return true;
  for (int i = 0; i < ndim; ++i)
    if (dims[i] != 1 && i + t->shape->len - ndim != s->axis) return false;
  return true;
}

/* ---- layers ---- */

int64_t layer_axis_of(const char *layout, char axis) {
  const char *at = strchr(layout, axis);
  for (const char *p = layout; *p; ++p)
    if (*p < 'A' || *p > 'Z') return -1;
  return at ? at - layout : -1;
}

/* As many groups as channels, one channel each: weights of a group are one slice of the first axis.
 */
static bool is_depthwise(const tn_TensorType *weight, const layer *l, int64_t groups) {
  return relay_int_is(weight->shape, l->weight_out, groups) &&
         relay_int_is(weight->shape, l->weight_in, 1);
}

static bool conv_match(const tn_RelayCall *c, bool transposed, layer *l) {
  const char *data = relay_attr_str(c->attrs, "data_layout"),
             *out = relay_attr_str(c->attrs, "out_layout"),
             *kernel = relay_attr_str(c->attrs, "kernel_layout");
  const tn_TensorType *weight = relay_known_type(relay_arg(c, 1));
  int64_t groups = relay_attr_int(c->attrs, "groups", 1);
  l->data_axis = layer_axis_of(data, 'C');
  l->out_axis = layer_axis_of(*out ? out : data, 'C');
  l->weight_in = layer_axis_of(kernel, 'I');
  l->weight_out = layer_axis_of(kernel, 'O');
  if (l->data_axis < 0 || l->out_axis < 0 || l->weight_in < 0 || l->weight_out < 0 || !weight)
    return false;
  if (groups == 1) return true;
  if (transposed) return false;
  l->weight_in = is_depthwise(weight, l, groups) ? l->weight_out : -1;
  /* with a multiplier, results may lie along two axes of the weights */
  const tn_TensorType *t = relay_known_type(c);
  return t && relay_dim_equal(relay_dim(weight, l->weight_out), relay_dim(t, l->out_axis)) == 1;
}

bool layer_match(const tn_RelayCall *c, layer *l) {
  const char *op = relay_called_op(c);
  const tn_TensorType *t = relay_known_type(c);
  if (!op || !t || c->args->len != 2) return false;
  const tn_TensorType *weight = relay_known_type(relay_arg(c, 1));
  if (!weight || !tn_dtype_eq(weight->dtype, t->dtype)) return false;
  if (strcmp(op, "nn.dense") == 0) {
    *l = (layer){t->shape->len - 1, t->shape->len - 1, 1, 0};
    return true;
  }
  relay_form form = RELAY_ASK(form, c);
  if (form != RELAY_CONVOLUTION && form != RELAY_CONVOLUTION_TRANSPOSED) return false;
  return conv_match(c, form == RELAY_CONVOLUTION_TRANSPOSED, l);
}

/* ---- rewriting ---- */

/* What is not known was made by the pass itself, for one reader. */
bool folding_single(const folding *f, const relay_expr *e) {
  return tn_pmap_get_int(&f->now, e, 1) == 1;
}

tn_obj *folding_done(folding *f, const tn_obj *pre, relay_expr *post) {
  if (!relay_stands_for(post, pre)) return NULL;
  int64_t n = tn_pmap_get_int(f->readers, pre, 0);
  return tn_pmap_put_int(&f->now, post, n) ? NULL : (tn_obj *)post;
}

relay_expr *folding_call(const tn_RelayCall *c, int n, ...) {
  TN_VEC(args);
  va_list ap;
  int err = 0;
  va_start(ap, n);
  for (int i = 0; i < n && !err; ++i) {
    const void *arg = va_arg(ap, void *);
    err = arg ? tn_vec_push_obj(&args, arg) : -1;
  }
  va_end(ap);
  for (int64_t i = n; i < c->args->len && !err; ++i) err = tn_vec_push(&args, c->args->items[i]);
  if (err) return NULL;
  void *made = relay_call_new(c->op, tn_arr_from(&args), c->attrs);
  return made ? relay_stands_for(relay_of_type("FoldScaleAxis", made, c), c) : NULL;
}
