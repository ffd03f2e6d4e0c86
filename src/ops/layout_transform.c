/* A tensor in another layout.

     layout_transform(%x, src_layout="NCHW", dst_layout="NCHW4c")
         Tensor[(1, 8, 2, 3), float32] -> Tensor[(1, 2, 2, 3, 4), float32] */
#include <ctype.h>
#include <string.h>

#include "ir/imm.h"
#include "ops/layout.h"
#include "ops/ops.h"

#define TN_FIELDS_LayoutTransformAttrs(F, S)                                                       \
  F(S, REF, String, src_layout, 0, "layout of data")                                               \
  F(S, REF, String, dst_layout, 0, "layout of the result")
#define LAYOUT_TRANSFORM_ATTRS(N)                                                                  \
  N(LayoutTransformAttrs, Attrs, "relay.attrs.LayoutTransformAttrs", NODE, TREE, tn_no_hooks,      \
    "attributes of layout_transform")
TN_NODES_LOCAL(LAYOUT_TRANSFORM_ATTRS)

/* Axes that are in one layout and not in the other make it impossible. */
static int check_axes(const char *a, const char *b) {
  for (const char *p = a; *p; ++p) {
    if (isupper((unsigned char)*p))
      TN_CHECK(strchr(b, *p), ValueError, NULL, "layout %s has the axis %c, layout %s does not", a,
               *p, b);
  }
  return 0;
}

static tn_arr *out_shape(const tn_LayoutTransformAttrs *a, const tn_arr *data) {
  ops_axes axes;
  const char *src = tn_cstr(a->src_layout), *dst = tn_cstr(a->dst_layout);
  TN_TRYP(check_axes(src, dst));
  TN_TRYP(check_axes(dst, src));
  TN_TRYP(ops_axes_of(src, data, true, &axes));
  return ops_axes_to(dst, &axes, true);
}

static int relation(relay_rel *r) {
  RELAY_TENSOR(data, r, 0);
  tn_arr *shape = out_shape(r->attrs, data->shape);
  return shape ? relay_rel_result(r, relay_tensor_type(shape, data->dtype)) : ops_rel_failed(r);
}

typedef struct {
  const tn_LayoutTransformAttrs *attrs;
  const tn_Tensor *data;
} transform;

static tn_expr *element(void *ctx, tn_arr *at) {
  const transform *t = ctx;
  ops_axes axes;
  TN_TRYP(ops_axes_of(tn_cstr(t->attrs->dst_layout), at, false, &axes));
  return te_at(t->data, ops_axes_to(tn_cstr(t->attrs->src_layout), &axes, false));
}

static tn_arr *compute(const relay_compute *c) {
  transform t = {c->attrs, relay_input(c, 0)};
  return tn_arr_of(1, te_compute(out_shape(c->attrs, t.data->shape), element, &t, "T_layout_trans",
                                 TE_INJECTIVE));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  return tn_arr_of(1, out_shape(q->attrs, relay_shape_of(q, 0)));
}

static const relay_op_row rows[] = {
    {.name = "layout_transform",
     .inputs = "data",
     .attrs = &tn_type_LayoutTransformAttrs,
     .level = 5,
     .pattern = RELAY_INJECTIVE,
     .rel_name = "layout_transform",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .doc = "the tensor in another layout",
     .precision = RELAY_FOLLOWS,
     .values = RELAY_MOVED,
     .apart = RELAY_IMAGES},
};

RELAY_FAMILY(layout_transform, LAYOUT_TRANSFORM_ATTRS)
