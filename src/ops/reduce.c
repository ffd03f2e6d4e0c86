/* Reductions over axes.

     sum(%x, axis=[1], keepdims=True)    Tensor[(2, 3), float32] -> Tensor[(2, 1), float32] */
#include <ctype.h>

#include "ir/imm.h"
#include "ops/gradients.h"
#include "ops/layout.h"
#include "ops/ops.h"

#define TN_FIELDS_ReduceAttrs(F, S)                                                                \
  F(S, REF, Array, axis, TN_OPT | TN_INTS,                                                         \
    "axes that are reduced, all of them when None or empty", "None")                               \
  F(S, BOOL, , keepdims, 0, "keep reduced axes, with extent 1", "False")                           \
  F(S, BOOL, , exclude, 0, "reduce the axes that are not in `axis` instead", "False")
#define REDUCE_ATTRS(N)                                                                            \
  N(ReduceAttrs, Attrs, "relay.attrs.ReduceAttrs", NODE, TREE, tn_no_hooks,                        \
    "attributes of reductions")
TN_NODES_LOCAL(REDUCE_ATTRS)

static int relation(relay_rel *r) {
  const tn_ReduceAttrs *a = r->attrs;
  bool reduced[OPS_MAX_NDIM];
  int64_t bad = 0;
  RELAY_TENSOR(data, r, 0);
  RELAY_CHECK(r, data->shape->len <= OPS_MAX_NDIM, "too many dimensions");
  RELAY_CHECK(r, ops_find_axes(a->axis, a->exclude, data->shape->len, reduced, &bad),
              "axis %lld is out of range for %s", (long long)bad, relay_type_text(data));
  return relay_rel_result(
      r, relay_tensor_type(ops_kept(data->shape, reduced, a->keepdims), data->dtype));
}

/* ---- compute ---- */

static tn_Tensor *reduce(const relay_compute *c, const bool *reduced, te_reducer kind) {
  tn_Tensor *data = relay_input(c, 0);
  bool keepdims = ((const tn_ReduceAttrs *)c->attrs)->keepdims;
  TN_BUF(name);
  tn_buf_printf(&name, "T_%s", c->row->name);
  TN_TRYP(tn_buf_ok(&name));
  return ops_reduce_over(data->shape, reduced, keepdims, kind, ops_element, data,
                         tn_buf_cstr(&name));
}

/* The relation has checked the axes. */
static void axes_of(const tn_ReduceAttrs *a, int64_t ndim, bool *reduced) {
  ops_find_axes(a->axis, a->exclude, ndim, reduced, &(int64_t){0});
}

static tn_arr *compute(const relay_compute *c) {
  bool reduced[OPS_MAX_NDIM];
  const tn_Tensor *data = relay_input(c, 0);
  axes_of(c->attrs, data->shape->len, reduced);
  te_reducer kind = (te_reducer)c->row->which;
  if (kind == TE_SUM && ir_is_bool(data->dtype)) kind = TE_ANY;
  return tn_arr_of(1, reduce(c, reduced, kind));
}

typedef struct {
  const tn_Tensor *sum;
  tn_expr *count;
} quotient;

static tn_expr *divided(void *ctx, tn_arr *at) {
  const quotient *q = ctx;
  return ops_mean("mean", te_at(q->sum, at), q->count);
}

static tn_arr *compute_mean(const relay_compute *c) {
  bool reduced[OPS_MAX_NDIM];
  const tn_Tensor *data = relay_input(c, 0);
  axes_of(c->attrs, data->shape->len, reduced);
  quotient q = {reduce(c, reduced, TE_SUM), ops_count(data->shape, reduced, data->dtype)};
  if (!q.sum || !q.count) return NULL;
  return tn_arr_of(1, te_compute(q.sum->shape, divided, &q, "T_divide", TE_ELEMWISE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  const tn_ReduceAttrs *a = q->attrs;
  bool reduced[OPS_MAX_NDIM];
  axes_of(a, relay_shape_of(q, 0)->len, reduced);
  return tn_arr_of(1, ops_kept(relay_shape_of(q, 0), reduced, a->keepdims));
}

/* ---- layouts ---- */

/* The same axes in layout `now`; blocked ones with their blocks. */
static tn_arr *moved_axes(const tn_Layout *before, const tn_Layout *now, const bool *reduced) {
  int64_t axes[OPS_MAX_NDIM], n = 0;
  for (int64_t i = 0; i < now->axes->len; ++i) {
    char letter = (char)toupper(tir_layout_axis(now, i));
    if (reduced[tir_layout_index(before, letter)]) axes[n++] = i;
  }
  return relay_ints(axes, n);
}

/* What is left of a layout; blocks of axes that are kept with extent 1 are of 1. */
static tn_Layout *reduced_layout(const tn_Layout *l, const tn_Layout *before, const bool *reduced,
                                 bool keepdims) {
  TN_BUF(text);
  for (int64_t i = 0; i < l->axes->len; ++i) {
    char letter = tir_layout_axis(l, i);
    bool gone = reduced[tir_layout_index(before, (char)toupper(letter))];
    if (gone && !keepdims) continue;
    if (islower((unsigned char)letter))
      tn_buf_printf(&text, "%lld", gone ? 1LL : (long long)tir_layout_factor(l, letter));
    tn_buf_printf(&text, "%c", letter);
  }
  TN_TRYP(tn_buf_ok(&text));
  return tir_layout(tn_buf_cstr(&text), TN_I32);
}

int ops_layouts_reduce(relay_layouts *q) {
  bool reduced[OPS_MAX_NDIM];
  tn_Layout *before = relay_layout_at(q->before, 0), *now = relay_layout_now(q, 0), *out;
  if (!before || !relay_layout_matches(before, now) ||
      before->axes->len != relay_layouts_type(q, 0)->shape->len || now->axes->len > OPS_MAX_NDIM)
    return 0;
  for (int64_t i = 0; i < before->axes->len; ++i)
    if (islower((unsigned char)tir_layout_axis(before, i))) return 0;
  ops_find_axes(relay_attr_obj(q->attrs, "axis"), relay_attr_int(q->attrs, "exclude", 0) != 0,
                before->axes->len, reduced, &(int64_t){0});
  bool keepdims = relay_attr_int(q->attrs, "keepdims", 0) != 0;
  TN_GET(out, reduced_layout(now, before, reduced, keepdims));
  if (relay_layout_equal(before, now)) return relay_layouts_answer(q, now, out);
  tn_any axes = tn_any_obj(moved_axes(before, now, reduced));
  TN_GET(q->attrs, relay_attrs_with(q->attrs, "axis", axes));
  if (tn_type_field(((const tn_obj *)q->attrs)->type, "exclude"))
    TN_GET(q->attrs, relay_attrs_with(q->attrs, "exclude", tn_any_bool(false)));
  return relay_layouts_answer(q, now, out);
}

/* What is dropped goes from the layout, as where axes are reduced. */
int ops_layouts_squeeze(relay_layouts *q) {
  const tn_TensorType *t = relay_layouts_type(q, 0);
  int64_t ones[OPS_MAX_NDIM], n = 0;
  if (t->shape->len > OPS_MAX_NDIM) return 0;
  for (int64_t i = 0; i < t->shape->len; ++i)
    if (relay_dim_is(relay_dim(t, i), 1) == 1) ones[n++] = i;
  if (!relay_attr_obj(q->attrs, "axis"))
    TN_GET(q->attrs, relay_attrs_with(q->attrs, "axis", tn_any_obj(relay_ints(ones, n))));
  const tn_arr *axes = relay_attr_obj(q->attrs, "axis");
  if (axes->len) return ops_layouts_reduce(q);
  tn_Layout *now = relay_layout_at(q->before, 0) ? relay_layout_now(q, 0) : NULL;
  return now ? relay_layouts_answer(q, now, now) : 0;
}

/* ---- rows ---- */

#define REDUCE(name_, flags_, compute_, which_, grad_, ...)                                        \
  {                                                                                                \
    .name = name_, .inputs = "data", .attrs = &tn_type_ReduceAttrs, .level = 4,                    \
    .pattern = RELAY_COMM_REDUCE, .rel_name = "Reduce", .rel = relation, .compute = compute_,      \
    .layouts = ops_layouts_reduce, .flags = flags_, .shape = shape_function, .which = which_,      \
    .grad = grad_, .doc = __VA_ARGS__                                                              \
  }

static const relay_op_row rows[] = {
    REDUCE("sum", 0, compute, TE_SUM, ops_grad_reduce,
           "sum of the elements over axes; of bools: is any of them true?", .precision = RELAY_FULL,
           .values = RELAY_COMPUTED),
    REDUCE("prod", RELAY_NUMBERS, compute, TE_PROD, ops_grad_reduce,
           "product of the elements over axes", .precision = RELAY_FULL, .values = RELAY_COMPUTED),
    REDUCE("max", 0, compute, TE_MAX, ops_grad_reduce, "largest element over axes",
           .precision = RELAY_FOLLOWS, .values = RELAY_CHOSEN, .range = RELAY_FINITE),
    REDUCE("min", 0, compute, TE_MIN, ops_grad_reduce, "smallest element over axes",
           .precision = RELAY_FOLLOWS, .values = RELAY_CHOSEN, .range = RELAY_FINITE),
    REDUCE("all", RELAY_BOOLS, compute, TE_ALL, NULL,
           "are all elements of a bool tensor true, over axes?", .values = RELAY_COMPUTED),
    REDUCE("any", RELAY_BOOLS, compute, TE_ANY, NULL,
           "is any element of a bool tensor true, over axes?", .values = RELAY_COMPUTED),
    REDUCE("mean", RELAY_NUMBERS, compute_mean, 0, ops_grad_reduce,
           "mean of the elements over axes", .precision = RELAY_FULL, .values = RELAY_COMPUTED,
           .range = RELAY_FINITE),
};

RELAY_FAMILY(reduce, REDUCE_ATTRS)
