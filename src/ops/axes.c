/* Operators that order, add and drop axes.

     transpose(%x, axes=[0, 2, 1])             (2, 3, 4) -> (2, 4, 3)
     squeeze(%x, axis=[1])                     (2, 1, 4) -> (2, 4)
     expand_dims(%x, axis=1, num_newaxis=2)    (2, 4) -> (2, 1, 1, 4)
     reverse(%x, axis=0)                       elements of an axis in the opposite order
 */
#include "ir/imm.h"
#include "ops/gradients.h"
#include "relay/layouts.h"
#include "ops/ops.h"

enum { MAX_NDIM = 32 };

#define TN_FIELDS_TransposeAttrs(F, S)                                                             \
  F(S, REF, Array, axes, TN_OPT | TN_INTS,                                                         \
    "which axis of the input each axis is; None: opposite order", "None")
#define TN_FIELDS_SqueezeAttrs(F, S)                                                               \
  F(S, REF, Array, axis, TN_OPT | TN_INTS, "axes of extent 1 to drop; None: all of them", "None")
#define TN_FIELDS_ExpandDimsAttrs(F, S)                                                            \
  F(S, I64, , axis, 0, "where new axes go; negative ones count from the end of the result")        \
  F(S, I64, , num_newaxis, 0, "how many", "1")
#define TN_FIELDS_ReverseAttrs(F, S) F(S, I64, , axis, 0, "axis to turn around")
#define AXES_ATTRS(N)                                                                              \
  N(TransposeAttrs, Attrs, "relay.attrs.TransposeAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of transpose")                                                                     \
  N(SqueezeAttrs, Attrs, "relay.attrs.SqueezeAttrs", NODE, TREE, tn_no_hooks,                      \
    "attributes of squeeze")                                                                       \
  N(ExpandDimsAttrs, Attrs, "relay.attrs.ExpandDimsAttrs", NODE, TREE, tn_no_hooks,                \
    "attributes of expand_dims")                                                                   \
  N(ReverseAttrs, Attrs, "relay.attrs.ReverseAttrs", NODE, TREE, tn_no_hooks,                      \
    "attributes of reverse")
TN_NODES_LOCAL(AXES_ATTRS)

/* Which axis of the input is where: axis i of the input is axis to[i] of the result, -1: dropped.
 */
typedef struct {
  const tn_Tensor *data;
  int64_t to[MAX_NDIM];
} moved;

static tn_expr *element(void *ctx, tn_arr *at) {
  const moved *m = ctx;
  TN_VEC(v);
  for (int64_t i = 0; i < m->data->shape->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, m->to[i] < 0 ? tir_i32(0) : te_index(at, m->to[i])));
  return te_at(m->data, tn_arr_from(&v));
}

/* ---- transpose ---- */

/* from[i]: the axis of the input that axis i of the result is. ValueError. */
static int transposed(const tn_TransposeAttrs *a, int64_t ndim, int64_t *from) {
  bool used[MAX_NDIM] = {false};
  TN_CHECK(ndim <= MAX_NDIM, ValueError, NULL, "transpose: too many dimensions");
  TN_CHECK(!a->axes || a->axes->len == ndim, ValueError, NULL,
           "transpose: Dimension mismatch: axes has %lld elements, but data.ndim = %lld",
           a->axes ? (long long)a->axes->len : 0, (long long)ndim);
  for (int64_t i = 0; i < ndim; ++i) {
    int64_t axis = a->axes ? relay_listed(a->axes, i) : ndim - 1 - i;
    if (axis < 0) axis += ndim;
    TN_CHECK(axis >= 0 && axis < ndim, ValueError, NULL,
             "transpose: axes should be within the bound of [%lld, %lld)", (long long)-ndim,
             (long long)ndim);
    TN_CHECK(!used[axis], ValueError, NULL, "transpose: Duplicate axes in axes parameter: %lld",
             (long long)axis);
    used[from[i] = axis] = true;
  }
  return 0;
}

static tn_arr *permuted(const tn_arr *shape, const int64_t *from) {
  TN_VEC(v);
  for (int64_t i = 0; i < shape->len; ++i) TN_TRYP(tn_vec_push_obj(&v, tn_arr_obj(shape, from[i])));
  return tn_arr_from(&v);
}

static int transpose_relation(relay_rel *r) {
  int64_t from[MAX_NDIM];
  RELAY_TENSOR(data, r, 0);
  TN_TRY(transposed(r->attrs, data->shape->len, from));
  return relay_rel_result(r, relay_tensor_type(permuted(data->shape, from), data->dtype));
}

static tn_arr *transpose(const relay_compute *c) {
  moved m = {.data = relay_input(c, 0)};
  int64_t from[MAX_NDIM];
  TN_TRYP(transposed(c->attrs, m.data->shape->len, from));
  for (int64_t i = 0; i < m.data->shape->len; ++i) m.to[from[i]] = i;
  return tn_arr_of(
      1, te_compute(permuted(m.data->shape, from), element, &m, "T_transpose", TE_INJECTIVE));
}

/* The result has the axes that it had, whatever the order they come in; none of them in blocks. */
static int transpose_layouts(relay_layouts *q) {
  int64_t from[MAX_NDIM], axes[MAX_NDIM];
  tn_Layout *before = relay_layout_at(q->before, 0), *now = relay_layout_now(q, 0), *out;
  if (!before) return 0;
  int64_t ndim = before->axes->len;
  TN_BUF(text);
  TN_TRY(transposed(q->attrs, ndim, from));
  for (int64_t i = 0; i < ndim; ++i) {
    char letter = tir_layout_axis(before, from[i]);
    if (letter < 'A' || letter > 'Z' || tir_layout_factor(before, letter) > 0) return 0;
    tn_buf_printf(&text, "%c", letter);
    axes[i] = relay_layout_axis_in(before, from[i], now);
    if (axes[i] < 0) now = before;
  }
  TN_TRY(tn_buf_ok(&text));
  TN_GET(out, tir_layout(tn_buf_cstr(&text), TN_I32));
  if (!relay_layout_equal(now, before))
    TN_GET(q->attrs, relay_attrs_with(q->attrs, "axes", tn_any_obj(relay_ints(axes, ndim))));
  return relay_layouts_answer(q, now, out);
}

/* ---- squeeze ---- */

/* to[i]: place of axis i, -1 when it is dropped. @return the number of axes left, -1: ValueError */
static int64_t squeezed(const tn_SqueezeAttrs *a, const tn_arr *shape, int64_t *to) {
  bool drop[MAX_NDIM] = {false};
  int64_t ndim = shape->len, n = 0;
  TN_CHECK(ndim <= MAX_NDIM, ValueError, NULL, "squeeze: too many dimensions");
  for (int64_t i = 0; !a->axis && i < ndim; ++i)
    drop[i] = relay_dim_is((tn_expr *)tn_arr_obj(shape, i), 1) == 1;
  for (int64_t i = 0; a->axis && i < a->axis->len; ++i) {
    int64_t axis = relay_listed(a->axis, i);
    if (axis < 0) axis += ndim;
    TN_CHECK(axis >= 0 && axis < ndim, ValueError, NULL,
             "squeeze: axis %lld is out of range for %lld dimensions",
             (long long)relay_listed(a->axis, i), (long long)ndim);
    tn_expr *extent = (tn_expr *)tn_arr_obj(shape, axis);
    int64_t own = 0; /* an extent that differs from 1 is known */
    TN_CHECK(relay_dim_equal(extent, tir_i64(1)) != 0 || !tir_as_int((tn_obj *)extent, &own),
             ValueError, NULL,
             "squeeze: axis %lld has extent %lld, only axes of extent 1 can be dropped",
             (long long)axis, (long long)own);
    drop[axis] = true;
  }
  for (int64_t i = 0; i < ndim; ++i) to[i] = drop[i] ? -1 : n++;
  return n;
}

static tn_arr *kept(const tn_arr *shape, const int64_t *to) {
  TN_VEC(v);
  for (int64_t i = 0; i < shape->len; ++i)
    if (to[i] >= 0) TN_TRYP(tn_vec_push_obj(&v, tn_arr_obj(shape, i)));
  return tn_arr_from(&v);
}

static int squeeze_relation(relay_rel *r) {
  int64_t to[MAX_NDIM];
  RELAY_TENSOR(data, r, 0);
  if (squeezed(r->attrs, data->shape, to) < 0) return RELAY_FAILED;
  return relay_rel_result(r, relay_tensor_type(kept(data->shape, to), data->dtype));
}

static tn_arr *squeeze(const relay_compute *c) {
  moved m = {.data = relay_input(c, 0)};
  if (squeezed(c->attrs, m.data->shape, m.to) < 0) return NULL;
  return tn_arr_of(1,
                   te_compute(kept(m.data->shape, m.to), element, &m, "T_squeeze", TE_INJECTIVE));
}

/* ---- expand_dims ---- */

static int64_t expanded_at(const tn_ExpandDimsAttrs *a, int64_t ndim) {
  return a->axis < 0 ? ndim + a->axis + 1 : a->axis;
}

static tn_arr *expanded(const tn_arr *shape, int64_t at, int64_t n) {
  TN_VEC(v);
  for (int64_t i = 0; i <= shape->len; ++i) {
    for (int64_t k = 0; i == at && k < n; ++k) TN_TRYP(tn_vec_push_obj(&v, tir_i32(1)));
    if (i < shape->len) TN_TRYP(tn_vec_push_obj(&v, tn_arr_obj(shape, i)));
  }
  return tn_arr_from(&v);
}

static int expand_relation(relay_rel *r) {
  const tn_ExpandDimsAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  int64_t ndim = data->shape->len, at = expanded_at(a, ndim);
  RELAY_CHECK(r, a->num_newaxis >= 0 && a->num_newaxis <= MAX_NDIM - ndim,
              "only accepts `num_newaxis >= 0`, and %d dimensions at most, but got num_newaxis = "
              "%lld for data of %lld",
              MAX_NDIM, (long long)a->num_newaxis, (long long)ndim);
  RELAY_CHECK(r, at >= 0 && at <= ndim, "axis should be in range [%lld, %lld], but got axis = %lld",
              (long long)(-ndim - 1), (long long)ndim, (long long)a->axis);
  return relay_rel_result(
      r, relay_tensor_type(expanded(data->shape, at, a->num_newaxis), data->dtype));
}

static tn_arr *expand(const relay_compute *c) {
  const tn_ExpandDimsAttrs *a = c->attrs;
  moved m = {.data = relay_input(c, 0)};
  int64_t ndim = m.data->shape->len, at = expanded_at(a, ndim);
  for (int64_t i = 0; i < ndim; ++i) m.to[i] = i < at ? i : i + a->num_newaxis;
  return tn_arr_of(1, te_compute(expanded(m.data->shape, at, a->num_newaxis), element, &m,
                                 "T_expand_dims", TE_BROADCAST));
}

/* ---- reverse ---- */

static int reverse_relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  if (relay_rel_axis(r, ((const tn_ReverseAttrs *)r->attrs)->axis, data->shape->len) < 0)
    return RELAY_FAILED;
  return relay_rel_result(r, data);
}

static tn_expr *reversed_element(void *ctx, tn_arr *at) {
  const moved *m = ctx;
  TN_VEC(v);
  for (int64_t i = 0; i < at->len; ++i) {
    tn_expr *x = te_index(at, i);
    if (i == m->to[0]) x = tir_sub(tir_sub(te_extent(m->data, i), tir_one(x->dtype)), x);
    TN_TRYP(tn_vec_push_obj(&v, x));
  }
  return te_at(m->data, tn_arr_from(&v));
}

static tn_arr *reverse(const relay_compute *c) {
  moved m = {.data = relay_input(c, 0)};
  int64_t axis = ((const tn_ReverseAttrs *)c->attrs)->axis;
  m.to[0] = axis < 0 ? axis + m.data->shape->len : axis;
  return tn_arr_of(1, te_compute(m.data->shape, reversed_element, &m, "T_reverse", TE_INJECTIVE));
}

#define ROW(name_, attrs_, pattern_, rel_name_, rel_, compute_, grads_, grad_, ...)                \
  {                                                                                                \
    .name = name_, .inputs = "data", .attrs = &tn_type_##attrs_, .level = 3, .pattern = pattern_,  \
    .rel_name = rel_name_, .rel = rel_, .compute = compute_, .grads = grads_, .grad = grad_,       \
    .doc = __VA_ARGS__                                                                             \
  }
static const relay_op_row rows[] = {
    {.name = "transpose",
     .inputs = "data",
     .attrs = &tn_type_TransposeAttrs,
     .level = 3,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "Transpose",
     .rel = transpose_relation,
     .compute = transpose,
     .layouts = transpose_layouts,
     .grad = ops_grad_transpose,
     .doc = "the axes in another order",
     .precision = RELAY_FOLLOWS,
     .values = RELAY_MOVED},
    {.name = "squeeze",
     .inputs = "data",
     .attrs = &tn_type_SqueezeAttrs,
     .level = 3,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "Squeeze",
     .rel = squeeze_relation,
     .compute = squeeze,
     .layouts = ops_layouts_squeeze,
     .grads = "(reshape_like(%d, %a),)",
     .doc = "the tensor without axes of extent 1",
     .precision = RELAY_FOLLOWS,
     .values = RELAY_RESHAPED},
    ROW("expand_dims", ExpandDimsAttrs, RELAY_BROADCAST, "ExpandDims", expand_relation, expand,
        "(reshape_like(%d, %a),)", NULL, "the tensor with new axes of extent 1",
        .precision = RELAY_FOLLOWS, .values = RELAY_RESHAPED),
    ROW("reverse", ReverseAttrs, RELAY_INJECTIVE, "Reverse", reverse_relation, reverse, NULL,
        ops_grad_reverse, "the elements of an axis in the opposite order",
        .precision = RELAY_FOLLOWS, .values = RELAY_MOVED),
};

RELAY_FAMILY(axes, AXES_ATTRS)
