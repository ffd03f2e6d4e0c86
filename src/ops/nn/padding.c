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
  F(S, REF, Array, pad_width, TN_INTS,                                                             \
    "elements before and after each axis; negative ones cut off")                                  \
  F(S, REF, String, pad_mode, 0, "\"constant\", \"edge\" or \"reflect\"", "\"constant\"")
#define TN_FIELDS_MirrorPadAttrs(F, S)                                                             \
  F(S, REF, String, mode, 0, "\"SYMMETRIC\": with the edge itself; \"REFLECT\": without",          \
    "\"SYMMETRIC\"")                                                                               \
  F(S, REF, Array, pad_width, TN_INTS, "elements before and after each axis")
#define PAD_ATTRS(N)                                                                               \
  N(PadAttrs, Attrs, "relay.attrs.PadAttrs", NODE, TREE, tn_no_hooks, "attributes of nn.pad")      \
  N(MirrorPadAttrs, Attrs, "relay.attrs.MirrorPadAttrs", NODE, TREE, tn_no_hooks,                  \
    "attributes of nn.mirror_pad")
TN_NODES_LOCAL(PAD_ATTRS)

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
    before[i] = relay_listed(pair, 0);
    after[i] = relay_listed(pair, 1);
    TN_TRY(ops_check_32_bits("pad_width", before[i]) || ops_check_32_bits("pad_width", after[i]));
  }
  return 0;
}

static int read_border(const void *attrs, ops_border *out) {
  const char *mode = relay_attr_str(attrs, "pad_mode"), *mirror = relay_attr_str(attrs, "mode");
  bool symmetric = strcmp(mirror, "SYMMETRIC") == 0;
  *out = symmetric                                                        ? OPS_SYMMETRIC
         : strcmp(mode, "edge") == 0                                      ? OPS_EDGE
         : strcmp(mode, "reflect") == 0 || strcmp(mirror, "REFLECT") == 0 ? OPS_REFLECT
                                                                          : OPS_CONSTANT;
  TN_CHECK(*out != OPS_CONSTANT || strcmp(mode, "constant") == 0, ValueError, NULL,
           "unknown mode \"%s\"", *mode ? mode : mirror);
  return 0;
}

static tn_arr *out_shape(const void *attrs, const tn_arr *shape) {
  int64_t before[OPS_MAX_NDIM], after[OPS_MAX_NDIM];
  TN_VEC(out);
  TN_TRYP(read_pads(attrs, shape->len, before, after));
  for (int64_t i = 0; i < shape->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(shape, i);
    TN_TRYP(tn_vec_push_obj(&out, relay_dim_plus(e, before[i] + after[i])));
  }
  return tn_arr_from(&out);
}

static int is_one_number(relay_rel *r) {
  RELAY_TENSOR(value, r, 1);
  for (int64_t i = 0; i < value->shape->len; ++i)
    RELAY_CHECK(r, relay_dim_is(relay_dim(value, i), 1) != 0,
                "pad_value: expected one number, got %s", relay_type_text(value));
  return RELAY_SOLVED;
}

static int relation(relay_rel *r) {
  ops_border b;
  RELAY_TENSOR(data, r, 0);
  if (read_border(r->attrs, &b)) return ops_rel_failed(r);
  if (r->n > 2 && is_one_number(r) == RELAY_FAILED) return RELAY_FAILED; /* mirror_pad has none */
  tn_arr *shape = out_shape(r->attrs, data->shape);
  for (int64_t i = 0; shape && b != OPS_CONSTANT && i < shape->len; ++i)
    TN_TRY(ops_rel_takes(r, relay_dim(data, i), shape, "an axis that is mirrored or continued"));
  return shape ? relay_rel_result(r, relay_tensor_type(shape, data->dtype)) : ops_rel_failed(r);
}

/* ---- compute ---- */

typedef struct {
  tn_Tensor *data;
  ops_border kind;
  int64_t before[OPS_MAX_NDIM], after[OPS_MAX_NDIM];
} padded;

/* Place x of an axis that goes on in mirrors on both sides. */
static tn_expr *mirrored(ops_border kind, tn_expr *x, tn_expr *n) {
  tn_expr *one = tir_one(x->dtype), *two = tir_const_int(x->dtype, 2);
  tn_expr *period = tir_mul(kind == OPS_REFLECT ? tir_sub(n, one) : n, two);
  period = tir_max(period, one); /* a single element has no mirror in REFLECT */
  x = tir_floormod(x, period);
  return tir_min(x, tir_sub(kind == OPS_REFLECT ? period : tir_sub(period, one), x));
}

/* The same where the mirror beside the axis is far enough. */
static tn_expr *mirrored_once(ops_border kind, tn_expr *x, tn_expr *n) {
  tn_expr *zero = tir_zero(x->dtype), *one = tir_one(x->dtype), *last = tir_sub(n, one);
  tn_expr *low = tir_neg(x, NULL), *high = tir_sub(tir_mul(tir_const_int(x->dtype, 2), last), x);
  if (kind == OPS_SYMMETRIC) low = tir_sub(low, one), high = tir_add(high, one);
  return tir_select(tir_lt(x, zero), low, tir_select(tir_gt(x, last), high, x, NULL), NULL);
}

tn_expr *ops_border_index(ops_border kind, tn_expr *x, tn_expr *extent, int64_t width) {
  int64_t n;
  if (!x || !extent) return NULL;
  if (kind == OPS_EDGE) return ops_data_index(x, extent, OPS_CLIP);
  tn_expr *own = tir_cast(x->dtype, extent, NULL), *i;
  bool known = tir_as_int((tn_obj *)extent, &n);
  if (known && width >= 0 && width <= n - (kind == OPS_REFLECT)) return mirrored_once(kind, x, own);
  tn_expr *inside = tir_and(tir_ge(x, tir_zero(x->dtype)), tir_lt(x, own));
  TN_GETP(i, tir_if_then_else(inside, x, mirrored(kind, x, own), NULL)); /* mostly no division */
  return ops_data_index(i, extent, OPS_CLIP);
}

static tn_expr *element(void *ctx, tn_arr *at) {
  const padded *p = ctx;
  TN_VEC(index);
  for (int64_t i = 0; i < at->len; ++i) {
    tn_expr *x = te_index(at, i);
    x = tir_sub(x, tir_const_int(x->dtype, p->before[i]));
    int64_t wider = p->before[i] > p->after[i] ? p->before[i] : p->after[i];
    wider = wider < 0 ? 0 : wider;
    TN_TRYP(tn_vec_push_obj(&index, ops_border_index(p->kind, x, te_extent(p->data, i), wider)));
  }
  return te_at(p->data, tn_arr_from(&index));
}

static tn_expr *only_element(const tn_Tensor *t) {
  TN_VEC(at);
  for (int64_t i = 0; i < t->shape->len; ++i) TN_TRYP(tn_vec_push_obj(&at, tir_i32(0)));
  return te_at(t, tn_arr_from(&at));
}

static tn_arr *compute(const relay_compute *c) {
  padded p = {.data = relay_input(c, 0)};
  TN_TRYP(read_pads(c->attrs, p.data->shape->len, p.before, p.after));
  TN_TRYP(read_border(c->attrs, &p.kind));
  if (p.kind == OPS_CONSTANT) {
    tn_expr *value = tir_cast(p.data->dtype, only_element(relay_input(c, 1)), NULL);
    return tn_arr_of(1, ops_pad(p.data, p.before, p.after, value, "T_pad"));
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
  *whole = *whole && pair && relay_listed(pair, 0) == 0 && relay_listed(pair, 1) == 0;
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
     .doc = "data with a border",
     .precision = RELAY_FOLLOWS,
     .values = RELAY_FILLED},
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
     .doc = "data with a border in which it is mirrored",
     .values = RELAY_MOVED},
};

RELAY_FAMILY(padding, PAD_ATTRS)
