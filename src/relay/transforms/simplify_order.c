/* Rules of SimplifyExpr for the order of axes: transpose and layout_transform (see simplify.h). */
#include <string.h>

#include "base/error.h"
#include "object/functions.h"
#include "relay/expr/expr_info.h"
#include "relay/transforms/simplify.h"

enum { MAX_AXES = 16 };

/* The order of axes of a call: axis i of the result is axis order[i] of its argument. */
typedef struct {
  int n;
  int64_t order[MAX_AXES];
} axes;

static bool read_transpose(const tn_RelayCall *c, int64_t ndim, axes *out) {
  const tn_arr *given = relay_attr_obj(c->attrs, "axes");
  out->n = (int)ndim;
  for (int64_t i = 0; i < ndim; ++i) {
    int64_t from = given && given->len ? relay_listed(given, i) : ndim - 1 - i;
    out->order[i] = from < 0 ? from + ndim : from;
  }
  return true;
}

/* Layouts without blocks are permutations of one another: NCHW -> NHWC. */
static bool read_layouts(const tn_RelayCall *c, int64_t ndim, axes *out) {
  const char *src = relay_attr_str(c->attrs, "src_layout"),
             *dst = relay_attr_str(c->attrs, "dst_layout");
  if ((int64_t)strlen(src) != ndim || (int64_t)strlen(dst) != ndim) return false;
  out->n = (int)ndim;
  for (int64_t i = 0; i < ndim; ++i) {
    const char *at = strchr(src, dst[i]);
    if (!at || dst[i] < 'A' || dst[i] > 'Z') return false;
    out->order[i] = at - src;
  }
  return true;
}

static bool read_order(const tn_RelayCall *c, axes *out) {
  const tn_TensorType *t = c ? relay_known_type(relay_arg(c, 0)) : NULL;
  if (!t || t->shape->len > MAX_AXES) return false;
  if (relay_as_call(c, "transpose")) return read_transpose(c, t->shape->len, out);
  return relay_as_call(c, "layout_transform") && read_layouts(c, t->shape->len, out);
}

static bool is_identity(const axes *a) {
  for (int i = 0; i < a->n; ++i)
    if (a->order[i] != i) return false;
  return true;
}

static const tn_RelayCall *as_reordering(const void *e) {
  const tn_RelayCall *c = relay_as_call(e, "transpose");
  return c ? c : relay_as_call(e, "layout_transform");
}

/* Layouts with blocks: a -> b -> c is a -> c, where the operator can do that. */
static relay_expr *layouts_twice(const tn_RelayCall *c, const tn_RelayCall *inner) {
  if (!relay_as_call(c, "layout_transform") || !relay_as_call(inner, "layout_transform"))
    return NULL;
  const char *src = relay_attr_str(inner->attrs, "src_layout"),
             *dst = relay_attr_str(c->attrs, "dst_layout");
  if (strcmp(relay_attr_str(inner->attrs, "dst_layout"), relay_attr_str(c->attrs, "src_layout")))
    return NULL;
  if (strcmp(src, dst) == 0)
    return relay_same_type(relay_arg(inner, 0), c) ? relay_arg(inner, 0) : NULL;
  void *attrs = relay_attrs("layout_transform", 2, "src_layout", tn_any_cstr(src), "dst_layout",
                            tn_any_cstr(dst));
  relay_expr *e = relay_call("layout_transform", attrs, 1, relay_arg(inner, 0));
  if (!e) return NULL;
  return relay_same_type(e, c) ? e : NULL;
}

static relay_expr *reorder(const tn_RelayCall *c) {
  axes own, before;
  const tn_RelayCall *inner = as_reordering(relay_arg(c, 0));
  bool known = read_order(c, &own);
  if (known && is_identity(&own)) return relay_arg(c, 0);
  if (!inner) return NULL;
  relay_expr *direct = layouts_twice(c, inner);
  if (direct || tn_error_pending() || !known || !read_order(inner, &before)) return direct;
  for (int i = 0; i < own.n; ++i) own.order[i] = before.order[own.order[i]];
  if (is_identity(&own)) return relay_arg(inner, 0);
  tn_arr *order;
  TN_GETP(order, relay_ints(own.order, own.n));
  return relay_call("transpose", relay_attrs("transpose", 1, "axes", tn_any_obj(order)), 1,
                    relay_arg(inner, 0));
}

const simplify_rule simplify_order_rules[] = {
    {"transpose", reorder},
    {"layout_transform", reorder},
    {NULL, NULL},
};
