/* Tensors put one after another along an axis.

     concatenate((%a, %b), axis=1)    (Tensor[(2, 3), float32], Tensor[(2, 4), float32])
                                      -> Tensor[(2, 7), float32] */
#include "ir/imm.h"
#include "ops/gradients.h"
#include "ops/layout.h"
#include "ops/ops.h"
#include "ops/qnn.h"

#define TN_FIELDS_ConcatenateAttrs(F, S)                                                           \
  F(S, I64, , axis, 0, "axis that grows; negative ones count from the end", "0")
#define CONCATENATE_ATTRS(N)                                                                       \
  N(ConcatenateAttrs, Attrs, "relay.attrs.ConcatenateAttrs", NODE, TREE, tn_no_hooks,              \
    "attributes of concatenate")
TN_NODES_LOCAL(CONCATENATE_ATTRS)

/* Adds tensor `t` to the shape so far; extents that are known win over Any. */
static int join(const relay_rel *r, const tn_TensorType *t, int64_t axis, tn_expr **dims) {
  for (int64_t i = 0; i < t->shape->len; ++i) {
    tn_expr *e = relay_dim(t, i);
    if (i == axis) {
      TN_GET(dims[i], relay_dim_add(dims[i], e));
      continue;
    }
    RELAY_CHECK(r, relay_dim_equal(dims[i], e) != 0,
                "Concat requires all tensors have the same shape on non-concatenating axes, but "
                "axis %lld of %s differs",
                (long long)i, relay_type_text(t));
    if (relay_dim_is_any(dims[i])) dims[i] = e;
  }
  return 0;
}

static int relation(relay_rel *r) {
  enum { MAX_NDIM = 32 };
  const tn_ConcatenateAttrs *attrs = r->attrs;
  tn_expr *dims[MAX_NDIM];
  RELAY_TUPLE_OF(all, r, 0);
  RELAY_CHECK(r, all->fields->len > 0, "expected at least one tensor");
  const tn_TensorType *first = (tn_TensorType *)tn_arr_obj(all->fields, 0);
  int64_t ndim = first->shape->len, axis = relay_rel_axis(r, attrs->axis, ndim);
  if (axis < 0) return RELAY_FAILED;
  RELAY_CHECK(r, ndim <= MAX_NDIM, "too many dimensions");
  for (int64_t i = 0; i < ndim; ++i) dims[i] = relay_dim(first, i);
  for (int64_t i = 1; i < all->fields->len; ++i) {
    const tn_TensorType *t = (tn_TensorType *)tn_arr_obj(all->fields, i);
    RELAY_CHECK(r, t->shape->len == ndim,
                "Concat requires all tensors have the same ndim: %s and %s", relay_type_text(first),
                relay_type_text(t));
    RELAY_CHECK(r, tn_dtype_eq(t->dtype, first->dtype),
                "Concat requires all tensors have the same dtype: %s and %s",
                relay_type_text(first), relay_type_text(t));
    TN_TRY(join(r, t, axis, dims));
  }
  TN_VEC(shape);
  for (int64_t i = 0; i < ndim; ++i) TN_TRY(tn_vec_push_obj(&shape, dims[i]));
  return relay_rel_result(r, relay_tensor_type(tn_arr_from(&shape), first->dtype));
}

/* ---- compute ---- */

typedef struct {
  const tn_arr *inputs;
  int64_t axis;
} joined;

static tn_expr *element_of(const tn_Tensor *t, const tn_arr *at, int64_t axis, tn_expr *index) {
  TN_VEC(v);
  for (int64_t i = 0; i < at->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, i == axis ? index : te_index(at, i)));
  return te_at(t, tn_arr_from(&v));
}

/* The last tensor that begins at or before the index. */
static tn_expr *element(void *ctx, tn_arr *at) {
  const joined *j = ctx;
  tn_expr *i = te_index(at, j->axis), *begin = tir_zero(i->dtype), *e = NULL;
  for (int64_t k = 0; k < j->inputs->len; ++k) {
    const tn_Tensor *t = (const tn_Tensor *)tn_arr_obj(j->inputs, k);
    tn_expr *x = element_of(t, at, j->axis, tir_sub(i, begin));
    TN_GETP(e, e ? tir_if_then_else(tir_ge(i, begin), x, e, NULL) : x);
    begin = tir_add(begin, te_extent(t, j->axis));
  }
  return e;
}

/* Extents of the first, with the sum of all along the axis. */
static tn_arr *joined_shape(const tn_arr *shapes, int64_t axis) {
  TN_VEC(out);
  const tn_arr *first = (tn_arr *)tn_arr_obj(shapes, 0);
  for (int64_t i = 0; i < first->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(first, i);
    for (int64_t k = 1; i == axis && k < shapes->len; ++k)
      e = tir_add(e, (tn_expr *)tn_arr_obj((tn_arr *)tn_arr_obj(shapes, k), i));
    TN_TRYP(tn_vec_push_obj(&out, e));
  }
  return tn_arr_from(&out);
}

static int64_t axis_of(const void *attrs, int64_t ndim) {
  int64_t axis = ((const tn_ConcatenateAttrs *)attrs)->axis;
  return axis < 0 ? axis + ndim : axis;
}

static tn_arr *compute(const relay_compute *c) {
  TN_VEC(shapes);
  for (int64_t i = 0; i < c->inputs->len; ++i)
    TN_TRYP(tn_vec_push_obj(&shapes, relay_input(c, i)->shape));
  joined j = {c->inputs, axis_of(c->attrs, relay_input(c, 0)->shape->len)};
  tn_arr *all = tn_arr_from(&shapes);
  if (!all) return NULL;
  return tn_arr_of(1, te_compute(joined_shape(all, j.axis), element, &j, "T_concat", TE_INJECTIVE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  return tn_arr_of(1, joined_shape(q->shapes, axis_of(q->attrs, relay_shape_of(q, 0)->len)));
}

/* Blocks of the axis that grows stay whole when every tensor has whole ones. */
int ops_layouts_concatenate(relay_layouts *q) {
  int64_t axis = ((const tn_ConcatenateAttrs *)q->attrs)->axis, lead = 0;
  while (lead < q->types->len && !relay_layout_at(q->given, lead)) ++lead;
  if (lead == q->types->len) lead = 0;
  tn_Layout *before = relay_layout_at(q->before, lead), *now = relay_layout_now(q, lead);
  if (!before) return 0;
  if (axis < 0) axis += before->axes->len;
  char letter = tir_layout_axis(before, axis);
  bool grows = tir_layout_factor(before, letter) < 0;
  if (!grows || !ops_blocks_fit(q, now, letter)) return relay_layouts_answer(q, before, before);
  if (!relay_layout_equal(before, now))
    TN_GET(q->attrs, relay_attrs_with(q->attrs, "axis", tn_any_int(tir_layout_index(now, letter))));
  return relay_layouts_answer(q, now, now);
}

static const relay_op_row rows[] = {
    {.name = "qnn.concatenate",
     .inputs = "data input_scales input_zero_points output_scale output_zero_point",
     .attrs = &tn_type_ConcatenateAttrs,
     .level = 11,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "QnnConcatenate",
     .rel = qnn_rel_concatenate,
     .layouts = qnn_layouts_concatenate,
     .legalize = qnn_lower_concatenate,
     .doc = "quantized tensors side by side, in the quanta of the result"},
    {.name = "concatenate",
     .inputs = "data",
     .attrs = &tn_type_ConcatenateAttrs,
     .level = 1,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "Concatenate",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .layouts = ops_layouts_concatenate,
     .grad = ops_grad_concatenate,
     .doc = "the tensors of a tuple put one after another along an axis",
     .precision = RELAY_FOLLOWS,
     .values = RELAY_MOVED,
     .apart = RELAY_IMAGES},
};

RELAY_FAMILY(concatenate, CONCATENATE_ATTRS)
