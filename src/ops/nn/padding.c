/* Borders: of a value, of the nearest element, mirrored.

     nn.pad(%x, 0f, pad_width=[[0, 0], [1, 2]])    Tensor[(2, 3), float32], float32
                                                   -> Tensor[(2, 6), float32] */
#include <ctype.h>
#include <string.h>

#include "ir/imm.h"
#include "ops/gradients.h"
#include "ops/layout.h"
#include "ops/ops.h"

#define TN_FIELDS_PadAttrs(F, S)                                                                   \
  F(S, REF, Array, pad_width, 0, "elements before and after each axis; negative ones cut off")     \
  F(S, REF, String, pad_mode, 0, "\"constant\", \"edge\" or \"reflect\"", "\"constant\"")
#define TN_FIELDS_MirrorPadAttrs(F, S)                                                             \
  F(S, REF, String, mode, 0, "\"SYMMETRIC\": with the edge itself; \"REFLECT\": without",          \
    "\"SYMMETRIC\"")                                                                               \
  F(S, REF, Array, pad_width, 0, "elements before and after each axis")
#define PAD_ATTRS(N)                                                                               \
  N(PadAttrs, Attrs, "relay.attrs.PadAttrs", NODE, TREE, tn_no_hooks, "attributes of nn.pad")      \
  N(MirrorPadAttrs, Attrs, "relay.attrs.MirrorPadAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of nn.mirror_pad")
TN_NODES_LOCAL(PAD_ATTRS)

typedef enum { CONSTANT, EDGE, REFLECT, SYMMETRIC } border;

static int read_pads(const void *attrs, int64_t ndim, int64_t *before, int64_t *after) {
  const tn_arr *width = relay_attr_obj(attrs, "pad_width");
  TN_CHECK(ndim <= OPS_MAX_NDIM, ValueError, NULL, "too many dimensions");
  TN_CHECK(width && width->len == ndim, ValueError, NULL,
           "There should be as many pad width pairs as shape dimensions but the shape has %lld "
           "dimensions and there are %lld pad width pairs.",
           (long long)ndim, (long long)(width ? width->len : 0));
  for (int64_t i = 0; i < ndim; ++i) {
    const tn_arr *pair = TN_AS(Array, tn_arr_obj(width, i));
    TN_CHECK(pair && pair->len == 2, ValueError, NULL,
             "Each pad width element should be a pair but at index %lld it is not", (long long)i);
    before[i] = relay_int_at(pair, 0);
    after[i] = relay_int_at(pair, 1);
  }
  return 0;
}

static int read_border(const void *attrs, border *out) {
  const char *mode = relay_attr_str(attrs, "pad_mode"), *mirror = relay_attr_str(attrs, "mode");
  bool symmetric = strcmp(mirror, "SYMMETRIC") == 0;
  *out = symmetric                                                        ? SYMMETRIC
         : strcmp(mode, "edge") == 0                                      ? EDGE
         : strcmp(mode, "reflect") == 0 || strcmp(mirror, "REFLECT") == 0 ? REFLECT
                                                                          : CONSTANT;
  TN_CHECK(*out != CONSTANT || strcmp(mode, "constant") == 0, ValueError, NULL,
           "there is no mode \"%s\"", *mode ? mode : mirror);
  return 0;
}

static tn_arr *out_shape(const void *attrs, const tn_arr *shape) {
  int64_t before[OPS_MAX_NDIM], after[OPS_MAX_NDIM];
  TN_VEC(out);
  TN_TRYP(read_pads(attrs, shape->len, before, after));
  for (int64_t i = 0; i < shape->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(shape, i);
    TN_TRYP(tn_vec_push_obj(&out, relay_dim_add(e, tir_const_int(e->dtype, before[i] + after[i]))));
  }
  return tn_arr_from(&out);
}

static int relation(relay_rel *r) {
  border b;
  RELAY_TENSOR(data, r, 0);
  if (read_border(r->attrs, &b)) return ops_rel_failed(r);
  tn_arr *shape = out_shape(r->attrs, data->shape);
  return shape ? relay_rel_result(r, relay_tensor_type(shape, data->dtype)) : ops_rel_failed(r);
}

/* ---- compute ---- */

typedef struct {
  tn_Tensor *data;
  border kind;
  int64_t before[OPS_MAX_NDIM];
} padded;

/* The element that stands at place x of an axis of extent n, x from -n to 2n. */
static tn_expr *source(border kind, tn_expr *x, tn_expr *n) {
  tn_expr *zero = tir_zero(x->dtype), *one = tir_one(x->dtype), *last = tir_sub(n, one);
  if (kind == EDGE) return tir_max(tir_min(x, last), zero);
  tn_expr *low = tir_neg(x, NULL), *high = tir_sub(tir_mul(tir_const_int(x->dtype, 2), last), x);
  if (kind == SYMMETRIC) low = tir_sub(low, one), high = tir_add(high, one);
  return tir_select(tir_lt(x, zero), low, tir_select(tir_gt(x, last), high, x, NULL), NULL);
}

static tn_expr *element(void *ctx, tn_arr *at) {
  const padded *p = ctx;
  TN_VEC(index);
  for (int64_t i = 0; i < at->len; ++i) {
    tn_expr *x = te_index(at, i);
    x = tir_sub(x, tir_const_int(x->dtype, p->before[i]));
    TN_TRYP(tn_vec_push_obj(&index, source(p->kind, x, te_extent(p->data, i))));
  }
  return te_at(p->data, tn_arr_from(&index));
}

static tn_arr *compute(const relay_compute *c) {
  padded p = {.data = relay_input(c, 0)};
  int64_t after[OPS_MAX_NDIM];
  TN_TRYP(read_pads(c->attrs, p.data->shape->len, p.before, after));
  TN_TRYP(read_border(c->attrs, &p.kind));
  if (p.kind == CONSTANT) {
    tn_expr *value = tir_cast(p.data->dtype, te_at_of(relay_input(c, 1), 0), NULL);
    return tn_arr_of(1, ops_pad(p.data, p.before, after, value, "T_pad"));
  }
  tn_arr *shape = out_shape(c->attrs, p.data->shape);
  return tn_arr_of(1, te_compute(shape, element, &p, "T_pad", TE_INJECTIVE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  return tn_arr_of(1, out_shape(q->attrs, relay_shape_of(q, 0)));
}

/* ---- layouts ---- */

/* Border of axis i of layout `now`; a blocked axis must have none. */
static tn_arr *pair_at(const tn_arr *width, const tn_Layout *before, const tn_Layout *now,
                       int64_t i, bool *whole) {
  char letter = tir_layout_axis(now, i);
  int64_t none[2] = {0, 0}, axis = tir_layout_index(before, (char)toupper(letter));
  const tn_arr *pair = TN_AS(Array, tn_arr_obj(width, axis));
  if (tir_layout_factor(now, letter) < 0 && pair) return (tn_arr *)(uintptr_t)pair;
  *whole = *whole && pair && relay_int_at(pair, 0) == 0 && relay_int_at(pair, 1) == 0;
  return relay_ints(none, 2);
}

static int layouts(relay_layouts *q) {
  const tn_arr *width = relay_attr_obj(q->attrs, "pad_width");
  tn_Layout *before = relay_layout_at(q->before, 0), *now = relay_layout_now(q, 0);
  tn_arr *moved;
  bool whole = true;
  TN_VEC(pairs);
  TN_VEC(in);
  if (!before || !width || width->len != before->axes->len || !relay_layout_matches(before, now))
    return 0;
  for (int64_t i = 0; i < now->axes->len; ++i)
    TN_TRY(tn_vec_push_obj(&pairs, pair_at(width, before, now, i, &whole)));
  if (!whole) now = before;
  TN_GET(moved, tn_arr_from(&pairs));
  if (!relay_layout_equal(before, now))
    TN_GET(q->attrs, relay_attrs_with(q->attrs, "pad_width", tn_any_obj(moved)));
  for (int64_t i = 0; i < q->types->len; ++i) TN_TRY(tn_vec_push_obj(&in, i ? NULL : now));
  TN_GET(q->in, tn_arr_from(&in));
  TN_GET(q->out, tn_arr_of(1, now));
  return 1;
}

static const relay_op_row rows[] = {
    {.name = "nn.pad",
     .inputs = "data pad_value",
     .attrs = &tn_type_PadAttrs,
     .level = 2,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "Pad",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .layouts = layouts,
     .grad = ops_grad_pad,
     .doc = "data with a border"},
    {.name = "nn.mirror_pad",
     .inputs = "data",
     .attrs = &tn_type_MirrorPadAttrs,
     .level = 2,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "MirrorPad",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .layouts = layouts,
     .doc = "data with a border in which it is mirrored"},
};

RELAY_FAMILY(padding, PAD_ATTRS)
