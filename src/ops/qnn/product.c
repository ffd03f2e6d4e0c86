/* Sums of products of quantized tensors: convolutions, dense layers, batches of matrices.

     qnn.conv2d(%x, %w, %zx, %zw, %sx, %sw)
   =>
     nn.conv2d(nn.pad(%x, zx), %w) + c      c = -zx * (sum of the weights of the channel)

   so that the products are those of the integers as they are stored; c is a constant and becomes
   part of the bias. Where the zero point of the weights is not 0 it is taken off the weights, which
   then have 16 bits; where that of the data is not a constant, of the data too. */
#include <string.h>

#include "base/error.h"
#include "kernels/layout_choice.h"
#include "ops/layout.h"
#include "ops/nn/conv.h"
#include "ops/ops.h"
#include "ops/qnn.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"

/* ---- types ---- */

/* The type that the operator on numbers would have. */
static int like(relay_rel *r, const char *op) {
  RELAY_TENSOR(data, r, 0);
  RELAY_TENSOR(weight, r, 1);
  tn_Op *plain;
  tn_Type *t;
  for (int i = 2; i < relay_rel_nargs(r); ++i) {
    RELAY_TENSOR(number, r, i);
    RELAY_CHECK(r, number->shape->len <= 1,
                "scales and zero points: expected numbers or vectors, got %s",
                relay_type_text(number));
  }
  RELAY_CHECK(r, ir_is_integral(data->dtype) && ir_is_integral(weight->dtype),
              "expected integers, got %s and %s", relay_type_text(data), relay_type_text(weight));
  TN_GET(plain, ir_op_get(op));
  TN_GET(t, relay_op_result_type(plain, r->attrs, tn_arr_of(2, data, weight), r->span));
  RELAY_CHECK(r, ir_is_int(((tn_TensorType *)t)->dtype) && ((tn_TensorType *)t)->dtype.bits >= 16,
              "out_dtype: expected int32 or int16, got %s", TN_DT(((tn_TensorType *)t)->dtype));
  return relay_rel_result(r, t);
}

int qnn_rel_conv2d(relay_rel *r) { return like(r, "nn.conv2d"); }
int qnn_rel_conv2d_transpose(relay_rel *r) { return like(r, "nn.conv2d_transpose"); }
int qnn_rel_dense(relay_rel *r) { return like(r, "nn.dense"); }
int qnn_rel_batch_matmul(relay_rel *r) { return like(r, "nn.batch_matmul"); }

/* ---- without zero points ---- */

static const tn_TensorType *type_of(const relay_replace *r, int i) {
  return TN_AS(TensorType, tn_arr_obj(r->types, i));
}

/* Argument i without its zero point, which is argument `zero`: as it is where that is 0. */
static void *shifted(const relay_replace *r, int i, int zero, int64_t axis) {
  const tn_TensorType *t = type_of(r, i);
  tn_dtype wide = {kDLInt, t->dtype.bits < 16 ? 16 : 32, 1};
  void *x = relay_arg(r->call, i), *z = relay_arg(r->call, zero);
  if (qnn_is_zero(z)) return x;
  z = relay_cast(qnn_along(z, t->shape->len, axis), wide);
  return relay_binary("subtract", relay_cast(x, wide), z);
}

/* -zero * sum of the weights that the results with one index along `axis` are made of */
static void *correction(void *weight, int64_t axis, int64_t zero, tn_dtype t) {
  void *a =
      relay_attrs("sum", 2, "axis", tn_any_obj(relay_ints(&axis, 1)), "exclude", tn_any_bool(true));
  void *sum = a && weight ? relay_call("sum", a, 1, relay_cast(weight, t)) : NULL;
  return relay_binary("multiply", sum, relay_const_int(t, -zero));
}

/* ---- convolutions ---- */

static int64_t place(const char *layout, char letter) {
  const char *at = strlen(layout) == 4 ? strchr(layout, letter) : NULL;
  return at ? at - layout : -1;
}

void *qnn_padded(const relay_replace *r, const char *layout, int64_t zero) {
  int64_t before[2], after[2];
  TN_VEC(widths);
  TN_TRYP(ops_get_pads(relay_attr_obj(r->call->attrs, "padding"), 2, before, after, r->row->name));
  if (!(before[0] | before[1] | after[0] | after[1])) return relay_arg(r->call, 0);
  for (int64_t i = 0; i < 4; ++i) {
    int64_t pair[2] = {0, 0};
    int axis = layout[i] == 'H' ? 0 : layout[i] == 'W' ? 1 : -1;
    if (axis >= 0) pair[0] = before[axis], pair[1] = after[axis];
    TN_TRYP(tn_vec_push_obj(&widths, relay_ints(pair, 2)));
  }
  void *a = relay_attrs("nn.pad", 1, "pad_width", tn_any_obj(tn_arr_from(&widths)));
  void *value = relay_const_int(TN_I32, zero); /* int32 becomes part of the kernel */
  return a && value ? relay_call("nn.pad", a, 2, relay_arg(r->call, 0), value) : NULL;
}

/* By sums of what is stored. NULL without an error: it cannot be said so. */
static void *conv_of_stored(const relay_replace *r, void *weight, int64_t zero) {
  static const int64_t none[] = {0, 0};
  void *attrs = r->call->attrs;
  const char *layout = relay_attr_str(attrs, "data_layout"),
             *kernel = relay_attr_str(attrs, "kernel_layout"),
             *out = relay_attr_str(attrs, "out_layout");
  int64_t o = place(kernel, 'O'), c = place(*out ? out : layout, 'C');
  const tn_TensorType *result = TN_AS(TensorType, r->out_type);
  if (o < 0 || c < 0 || place(layout, 'H') < 0 ||
      relay_dim_equal(relay_dim(type_of(r, 1), o), relay_dim(result, c)) != 1)
    return NULL;
  void *x = qnn_padded(r, layout, zero);
  attrs = x ? relay_attrs_with(attrs, "padding", tn_any_obj(relay_ints(none, 2))) : NULL;
  void *sum = attrs ? relay_call("nn.conv2d", attrs, 2, x, weight) : NULL;
  void *more = qnn_along(correction(weight, o, zero, result->dtype), 4, c);
  return relay_binary("add", sum, more);
}

/* Instructions for products of int8 take one factor without a sign: -128 ... 127 with zero point z
   are the same numbers as 0 ... 255 with z + 128. What computed them does so too. */
static const relay_replace *without_sign(const relay_replace *r, relay_replace *to) {
  target_machine m;
  double zero;
  const tn_dtype byte = {kDLUInt, 8, 1};
  const tn_TensorType *data = type_of(r, 0), *weight = type_of(r, 1);
  if (!data || !weight || data->dtype.code != kDLInt || data->dtype.bits != 8 ||
      weight->dtype.bits != 8 || !relay_uniform(relay_arg(r->call, 2), &zero) ||
      !kernels_machine(&m) || !m.dots)
    return r;
  void *x = relay_binary("bitwise_xor", relay_cast(relay_arg(r->call, 0), byte),
                         relay_const_int(byte, 128));
  void *z = relay_const_int(TN_I32, (int64_t)zero + 128);
  TN_VEC(args);
  TN_VEC(types);
  for (int64_t i = 0; i < r->call->args->len; ++i) {
    TN_TRYP(tn_vec_push_obj(&args, i == 0 ? x : i == 2 ? z : relay_arg(r->call, (int)i)));
    TN_TRYP(tn_vec_push_obj(&types, i == 0 ? (tn_obj *)relay_tensor_type(data->shape, byte)
                                           : tn_arr_obj(r->types, i)));
  }
  *to = *r;
  TN_GETP(to->types, tn_arr_from(&types));
  TN_GETP(to->call, relay_call_args(tn_cstr(TN_AS(Op, r->call->op)->name), r->call->attrs,
                                    tn_arr_from(&args)));
  return to;
}

void *qnn_lower_conv2d(const relay_replace *given) {
  double zero;
  relay_replace other;
  const relay_replace *r;
  TN_GETP(r, without_sign(given, &other));
  int64_t o = place(relay_attr_str(r->call->attrs, "kernel_layout"), 'O');
  void *weight = shifted(r, 1, 3, o < 0 ? 0 : o), *x = relay_arg(r->call, 2);
  bool known = weight && relay_uniform(x, &zero);
  if (known && zero == 0)
    return relay_call("nn.conv2d", r->call->attrs, 2, relay_arg(r->call, 0), weight);
  void *made = known ? conv_of_stored(r, weight, (int64_t)zero) : NULL;
  if (made || tn_error_pending()) return made;
  return relay_call("nn.conv2d", r->call->attrs, 2, shifted(r, 0, 2, 1), weight);
}

/* Scales and zero points go with any layout of the tensors. */
int qnn_layouts_conv(relay_layouts *q) { return ops_layouts_of_first(q, 2, ops_layouts_conv); }

/* What steps put between elements adds nothing: both tensors go without their zero points. */
void *qnn_lower_conv2d_transpose(const relay_replace *r) {
  int64_t o = place(relay_attr_str(r->call->attrs, "kernel_layout"), 'O');
  void *data = shifted(r, 0, 2, 1), *weight = shifted(r, 1, 3, o < 0 ? 0 : o);
  return data && weight ? relay_call("nn.conv2d_transpose", r->call->attrs, 2, data, weight) : NULL;
}

/* ---- matrices ---- */

void *qnn_lower_dense(const relay_replace *given) {
  double zero;
  relay_replace other;
  const relay_replace *r;
  TN_GETP(r, without_sign(given, &other));
  const tn_TensorType *result = TN_AS(TensorType, r->out_type);
  void *weight = shifted(r, 1, 3, 0);
  if (!weight || !relay_uniform(relay_arg(r->call, 2), &zero))
    return relay_call("nn.dense", r->call->attrs, 2, shifted(r, 0, 2, 1), weight);
  void *sum = relay_call("nn.dense", r->call->attrs, 2, relay_arg(r->call, 0), weight);
  if (zero == 0) return sum;
  return relay_binary("add", sum, correction(weight, 0, (int64_t)zero, result->dtype));
}

void *qnn_lower_batch_matmul(const relay_replace *r) {
  return relay_call("nn.batch_matmul", r->call->attrs, 2, shifted(r, 0, 2, 2), shifted(r, 1, 3, 1));
}
