/* One tensor into several, several into one.

     split(%x, indices_or_sections=2, axis=1)   (2, 6) -> two of (2, 3)
     stack((%a, %b), axis=0)                    two of (3) -> (2, 3) */
#include "ir/imm.h"
#include "ops/gradients.h"
#include "ops/layout.h"
#include "ops/ops.h"

#define TN_FIELDS_SplitAttrs(F, S)                                                                 \
  F(S, REF, Object, indices_or_sections, 0,                                                        \
    "number of equal parts, or where parts after the first begin")                                 \
  F(S, I64, , axis, 0, "axis that is divided", "0")
#define TN_FIELDS_StackAttrs(F, S) F(S, I64, , axis, 0, "place of the new axis", "0")
#define SPLIT_ATTRS(N)                                                                             \
  N(SplitAttrs, Attrs, "relay.attrs.SplitAttrs", NODE, TREE, tn_no_hooks, "attributes of split")   \
  N(StackAttrs, Attrs, "relay.attrs.StackAttrs", NODE, TREE, tn_no_hooks, "attributes of stack")
TN_NODES_LOCAL(SPLIT_ATTRS)

/* ---- split ---- */

enum { MAX_PARTS = 1 << 20 };

/* Begin of each part and, last, the end. NULL with ValueError. @return array of PrimExpr */
static tn_arr *bounds(const tn_SplitAttrs *a, tn_expr *extent) {
  TN_VEC(v);
  int64_t sections = 0, n;
  const tn_obj *given = (const tn_obj *)a->indices_or_sections;
  if (given->type_index == TN_TI_Array) {
    const tn_arr *at = (const tn_arr *)given;
    TN_TRYP(tn_vec_push_obj(&v, relay_dim_int(0)));
    for (int64_t i = 0; i < at->len; ++i) {
      TN_CHECKP(relay_known_int(at, i, &n), TypeError, NULL,
                "split: indices_or_sections: expected integers, got %s",
                tn_obj_key(tn_arr_obj(at, i)));
      TN_TRYP(tn_vec_push_obj(&v, relay_dim_int(n)));
    }
    TN_TRYP(tn_vec_push_obj(&v, extent));
    return tn_arr_from(&v);
  }
  TN_CHECKP(tir_as_int(given, &sections) && sections > 0, ValueError, NULL,
            "split: indices_or_sections: expected a positive number or a list");
  TN_CHECKP(!tir_as_int((tn_obj *)extent, &n) || n % sections == 0, ValueError, NULL,
            "split: indices_or_sections need to be able to divide input.shape[axis]: %lld by %lld",
            (long long)n, (long long)sections);
  relay_take_multiple(extent, sections);
  TN_CHECKP(sections <= MAX_PARTS, ValueError, NULL,
            "split: indices_or_sections: %lld parts, expected at most %d", (long long)sections,
            MAX_PARTS);
  tn_expr *part = relay_dim_over(extent, sections);
  for (int64_t i = 0; i <= sections; ++i) TN_TRYP(tn_vec_push_obj(&v, relay_dim_times(part, i)));
  return tn_arr_from(&v);
}

static tn_arr *with_extent(const tn_arr *shape, int64_t axis, tn_expr *extent) {
  TN_VEC(v);
  for (int64_t i = 0; i < shape->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, i == axis ? (tn_obj *)extent : tn_arr_obj(shape, i)));
  return tn_arr_from(&v);
}

static int split_relation(relay_rel *r) {
  const tn_SplitAttrs *a = r->attrs;
  RELAY_TENSOR(data, r, 0);
  TN_VEC(fields);
  tn_arr *at;
  int64_t axis = relay_rel_axis(r, a->axis, data->shape->len), n;
  if (axis < 0) return RELAY_FAILED;
  TN_GET(at, bounds(a, relay_dim(data, axis)));
  for (int64_t i = 0; i + 1 < at->len; ++i) {
    tn_expr *e;
    TN_GET(e, relay_dim_binary(TN_TI_Sub, (tn_expr *)tn_arr_obj(at, i + 1),
                               (tn_expr *)tn_arr_obj(at, i)));
    RELAY_CHECK(r, !tir_as_int((tn_obj *)e, &n) || n >= 0,
                "indices_or_sections need to be a sorted ascending list");
    relay_take_least(e, 0);
    TN_TRY(tn_vec_push_obj(&fields,
                           relay_tensor_type(with_extent(data->shape, axis, e), data->dtype)));
  }
  return relay_rel_result(r, relay_tuple_type(tn_arr_from(&fields)));
}

/* Bounds of parts, in blocks; NULL without an error when a block would be cut. */
static tn_obj *in_blocks(const tn_SplitAttrs *a, int64_t extent, int64_t factor) {
  const tn_arr *at = TN_AS(Array, a->indices_or_sections);
  int64_t sections = 1, all[64];
  if (!at) {
    bool whole = tir_as_int((const tn_obj *)a->indices_or_sections, &sections) && sections > 0 &&
                 extent / sections % factor == 0;
    return whole ? (tn_obj *)a->indices_or_sections : NULL;
  }
  for (int64_t i = 0; i < at->len; ++i) {
    if (i >= 64 || !relay_known_int(at, i, &all[i]) || all[i] % factor != 0) return NULL;
    all[i] /= factor;
  }
  return (tn_obj *)relay_ints(all, at->len);
}

static int split_layouts(relay_layouts *q) {
  const tn_SplitAttrs *a = q->attrs;
  tn_Layout *before = relay_layout_at(q->before, 0), *now = relay_layout_now(q, 0);
  int64_t extent, axis = a->axis;
  if (!before) return 0;
  if (relay_layout_equal(before, now)) return relay_layouts_answer(q, now, now);
  if (axis < 0) axis += before->axes->len;
  char letter = tir_layout_axis(before, axis);
  int64_t factor = tir_layout_factor(now, letter);
  tn_obj *parts = (tn_obj *)a->indices_or_sections;
  if (factor > 0)
    parts = tir_as_int((tn_obj *)relay_dim(relay_layouts_type(q, 0), axis), &extent) &&
                    extent % factor == 0
                ? in_blocks(a, extent, factor)
                : NULL;
  if (!parts) return tn_error_pending() ? -1 : relay_layouts_answer(q, before, before);
  TN_GET(q->attrs, relay_attrs_with(a, "indices_or_sections", tn_any_obj(parts)));
  TN_GET(q->attrs, relay_attrs_with(q->attrs, "axis", tn_any_int(tir_layout_index(now, letter))));
  return relay_layouts_answer(q, now, now);
}

typedef struct {
  const tn_Tensor *data;
  int64_t axis;
  tn_expr *begin;
} part;

static tn_expr *part_element(void *ctx, tn_arr *at) {
  const part *p = ctx;
  TN_VEC(v);
  for (int64_t i = 0; i < at->len; ++i)
    TN_TRYP(
        tn_vec_push_obj(&v, i == p->axis ? tir_add(te_index(at, i), p->begin) : te_index(at, i)));
  return te_at(p->data, tn_arr_from(&v));
}

static tn_arr *split(const relay_compute *c) {
  const tn_SplitAttrs *a = c->attrs;
  const tn_Tensor *data = relay_input(c, 0);
  int64_t axis = a->axis < 0 ? a->axis + data->shape->len : a->axis;
  TN_VEC(out);
  tn_arr *at;
  TN_GETP(at, bounds(a, te_extent(data, axis)));
  for (int64_t i = 0; i + 1 < at->len; ++i) {
    part p = {data, axis, (tn_expr *)tn_arr_obj(at, i)};
    tn_expr *e = relay_dim_binary(TN_TI_Sub, (tn_expr *)tn_arr_obj(at, i + 1), p.begin);
    TN_TRYP(tn_vec_push_obj(&out, te_compute(with_extent(data->shape, axis, e), part_element, &p,
                                             "T_split", TE_INJECTIVE)));
  }
  return tn_arr_from(&out);
}

/* ---- stack ---- */

static tn_arr *stacked_shape(const tn_arr *shape, int64_t axis, int64_t n) {
  TN_VEC(v);
  for (int64_t i = 0; i <= shape->len; ++i) {
    if (i == axis) TN_TRYP(tn_vec_push_obj(&v, tir_i32((int32_t)n)));
    if (i < shape->len) TN_TRYP(tn_vec_push_obj(&v, tn_arr_obj(shape, i)));
  }
  return tn_arr_from(&v);
}

static int stack_relation(relay_rel *r) {
  const tn_StackAttrs *a = r->attrs;
  RELAY_TUPLE_OF(all, r, 0);
  RELAY_CHECK(r, all->fields->len > 0, "expected at least one tensor");
  const tn_TensorType *first = (tn_TensorType *)tn_arr_obj(all->fields, 0);
  int64_t axis = relay_rel_axis(r, a->axis, first->shape->len + 1);
  if (axis < 0) return RELAY_FAILED;
  for (int64_t i = 1; i < all->fields->len; ++i) {
    const tn_TensorType *t = (tn_TensorType *)tn_arr_obj(all->fields, i);
    RELAY_CHECK(r, t->shape->len == first->shape->len,
                "all tensors must have the same ndim: %s and %s", relay_type_text(first),
                relay_type_text(t));
    RELAY_CHECK(r, tn_dtype_eq(t->dtype, first->dtype),
                "all tensors must have the same dtype: %s and %s", relay_type_text(first),
                relay_type_text(t));
    for (int64_t k = 0; k < t->shape->len; ++k)
      RELAY_CHECK(r, relay_dim_equal(relay_dim(t, k), relay_dim(first, k)) != 0,
                  "all tensors must have the same shape: %s and %s", relay_type_text(first),
                  relay_type_text(t));
  }
  return relay_rel_result(
      r, relay_tensor_type(stacked_shape(first->shape, axis, all->fields->len), first->dtype));
}

typedef struct {
  const tn_arr *inputs;
  int64_t axis;
} stacked;

static tn_expr *stack_element(void *ctx, tn_arr *at) {
  const stacked *s = ctx;
  TN_VEC(v);
  tn_expr *which = te_index(at, s->axis), *e = NULL;
  for (int64_t i = 0; i < at->len; ++i)
    if (i != s->axis) TN_TRYP(tn_vec_push_obj(&v, te_index(at, i)));
  tn_arr *rest;
  TN_GETP(rest, tn_arr_from(&v));
  for (int64_t k = 0; k < s->inputs->len; ++k) {
    tn_expr *x = te_at((const tn_Tensor *)tn_arr_obj(s->inputs, k), rest);
    TN_GETP(e, e ? tir_if_then_else(tir_eq(which, tir_const_int(which->dtype, k)), x, e, NULL) : x);
  }
  return e;
}

static tn_arr *stack(const relay_compute *c) {
  const tn_arr *shape = relay_input(c, 0)->shape;
  int64_t axis = ((const tn_StackAttrs *)c->attrs)->axis;
  stacked s = {c->inputs, axis < 0 ? axis + shape->len + 1 : axis};
  return tn_arr_of(1, te_compute(stacked_shape(shape, s.axis, c->inputs->len), stack_element, &s,
                                 "T_stack", TE_INJECTIVE));
}

static const relay_op_row rows[] = {
    {.name = "split",
     .inputs = "data",
     .attrs = &tn_type_SplitAttrs,
     .level = 3,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "Split",
     .rel = split_relation,
     .compute = split,
     .layouts = split_layouts,
     .grad = ops_grad_split,
     .doc = "parts of the tensor along an axis, as a tuple",
     .precision = RELAY_FOLLOWS,
     .values = RELAY_MOVED},
    {.name = "stack",
     .inputs = "data",
     .attrs = &tn_type_StackAttrs,
     .level = 3,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "Stack",
     .rel = stack_relation,
     .compute = stack,
     .grad = ops_grad_stack,
     .doc = "the tensors of a tuple along a new axis",
     .precision = RELAY_FOLLOWS,
     .values = RELAY_MOVED},
};

RELAY_FAMILY(split, SPLIT_ATTRS)
