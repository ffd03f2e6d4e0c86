/* Rules of SimplifyExprPostAlterOp: what no longer moves anything (see simplify.h).

     layout_transform(%x: Tensor[(1, 4, 1, 1, 16), float32], NCHW16c -> NCHW)
       -> reshape(%x, [1, 64, 1, 1])          images of one pixel
     layout_transform(cast(layout_transform(%x, NCHW8c -> NCHW)), NCHW -> NCHW8c) -> cast(%x)
     nn.batch_flatten(reshape(%x)) -> reshape(%x)
     nn.dense(nn.batch_flatten(NHWC -> NCHW (%x)), constant) -> the same without the transform */
#include <string.h>

#include "base/error.h"
#include "object/functions.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/transforms/simplify.h"
#include "tenon/object.h"
#include "tir/layout.h"

enum { MAX_PARTS = 32 };

/* Axes of more than one element, in order; an axis that one of the layouts blocks is two of them.
 */
typedef struct {
  char axis[MAX_PARTS];
  int n;
} parts;

static bool add_part(parts *p, char axis, int64_t extent) {
  if (extent == 1) return true;
  if (p->n == MAX_PARTS) return false;
  p->axis[p->n++] = axis;
  return true;
}

/* @param other the layout on the other side @return false where the two do not divide the axes
 * alike */
static bool read_parts(const tn_Layout *l, const tn_Layout *other, const tn_TensorType *t,
                       parts *out) {
  *out = (parts){.n = 0};
  if (l->axes->len != t->shape->len) return false;
  for (int64_t i = 0; i < l->axes->len; ++i) {
    char axis = tir_layout_axis(l, i);
    bool whole = axis >= 'A' && axis <= 'Z';
    char block = whole ? (char)(axis - 'A' + 'a') : axis;
    int64_t own = tir_layout_factor(l, axis), wanted = tir_layout_factor(other, axis);
    int64_t extent;
    if (!relay_known_int(t->shape, i, &extent)) return false;
    if (own > 0 && wanted > 0 && own != wanted) return false;
    if (!whole || own > 0 || wanted < 0) {
      if (!add_part(out, axis, extent)) return false;
    } else if (extent % wanted != 0 || !add_part(out, axis, extent / wanted) ||
               !add_part(out, block, wanted)) {
      return false;
    }
  }
  return true;
}

static relay_expr *transform_in_place(const tn_RelayCall *c) {
  const tn_TensorType *from = relay_known_type(relay_arg(c, 0)), *to = relay_known_type(c);
  const tn_Layout *src, *dst;
  parts a, b;
  if (!from || !to || !relay_is_static((const tn_Type *)from) ||
      !relay_is_static((const tn_Type *)to))
    return NULL;
  TN_GETP(src, tir_layout(relay_attr_str(c->attrs, "src_layout"), TN_I32));
  TN_GETP(dst, tir_layout(relay_attr_str(c->attrs, "dst_layout"), TN_I32));
  if (!read_parts(src, dst, from, &a) || !read_parts(dst, src, to, &b) || a.n != b.n ||
      memcmp(a.axis, b.axis, (size_t)a.n) != 0)
    return NULL;
  return relay_reshape(relay_arg(c, 0), to->shape);
}

static bool has_same_text(const tn_RelayCall *a, const char *of_a, const tn_RelayCall *b,
                          const char *of_b) {
  return strcmp(relay_attr_str(a->attrs, of_a), relay_attr_str(b->attrs, of_b)) == 0;
}

/* There and back, with a cast between. */
static relay_expr *transform_back(const tn_RelayCall *c) {
  const tn_RelayCall *cast = relay_as_call(relay_arg(c, 0), "cast");
  const tn_RelayCall *there = cast ? relay_as_call(relay_arg(cast, 0), "layout_transform") : NULL;
  const tn_TensorType *from = there ? relay_known_type(relay_arg(there, 0)) : NULL,
                      *to = relay_known_type(c);
  if (!from || !to || !has_same_text(there, "src_layout", c, "dst_layout") ||
      !has_same_text(there, "dst_layout", c, "src_layout") ||
      tn_equal(from->shape, to->shape, 0) != 1)
    return NULL;
  return relay_call_args("cast", cast->attrs, tn_arr_of(1, relay_arg(there, 0)));
}

static relay_expr *flatten_reshaped(const tn_RelayCall *c) {
  const tn_TensorType *to = relay_known_type(c);
  const tn_RelayCall *inner = relay_as_call(relay_arg(c, 0), "reshape");
  if (!inner || !to || !relay_is_static((const tn_Type *)to)) return NULL;
  return relay_reshape(relay_arg(inner, 0), to->shape);
}

/* What a dense layer reads, as the images that it was flattened from, channels first of channels
   last; NULL when it is something else. */
static const tn_RelayCall *flattened(const void *data) {
  const tn_RelayCall *flat = relay_as_call(data, "nn.batch_flatten");
  if (!flat) flat = relay_as_call(data, "reshape");
  const tn_RelayCall *moved = flat ? relay_as_call(relay_arg(flat, 0), "layout_transform") : NULL;
  const tn_TensorType *t = moved ? relay_known_type(moved) : NULL, *own = relay_known_type(data);
  bool same = t && own && t->shape->len == 4 && own->shape->len == 2 &&
              relay_is_static((const tn_Type *)t) && relay_is_static((const tn_Type *)own) &&
              relay_ints_same(t->shape, 0, own->shape, 0);
  return same && strcmp(relay_attr_str(moved->attrs, "src_layout"), "NHWC") == 0 &&
                 strcmp(relay_attr_str(moved->attrs, "dst_layout"), "NCHW") == 0
             ? moved
             : NULL;
}

/* dense(flat(NHWC -> NCHW(x)), w) -> dense(reshape(x), w'), where the columns of the constant w'
   are in the order of x */
static relay_expr *dense_of_moved(const tn_RelayCall *c) {
  const tn_RelayCall *moved = flattened(relay_arg(c, 0));
  const tn_TensorType *w = relay_known_type(relay_arg(c, 1));
  if (!moved || !w || !TN_AS(Constant, relay_arg(c, 1))) return NULL;
  const tn_arr *to = relay_known_type(moved)->shape;
  const int64_t order[] = {0, 2, 3, 1};
  int64_t dims[4];
  if (relay_known_ints(to, dims, 4) != 4 || !relay_known_int(w->shape, 0, &dims[0])) return NULL;
  void *axes = relay_attrs("transpose", 1, "axes", tn_any_obj(relay_ints(order, 4)));
  void *weight = relay_reshape(relay_arg(c, 1), relay_ints(dims, 4));
  weight = axes && weight ? relay_call("transpose", axes, 1, weight) : NULL;
  weight = relay_reshape(weight, w->shape);
  void *x = relay_reshape(relay_arg(moved, 0), relay_known_type(relay_arg(c, 0))->shape);
  return x && weight ? relay_call("nn.dense", c->attrs, 2, x, weight) : NULL;
}

const simplify_rule simplify_layout_rules[] = {
    {"nn.dense", dense_of_moved},
    {"layout_transform", transform_in_place},
    {"layout_transform", transform_back},
    {"nn.batch_flatten", flatten_reshaped},
    {"squeeze", flatten_reshaped},
    {"expand_dims", flatten_reshaped},
    {NULL, NULL},
};
